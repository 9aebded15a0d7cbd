"""Every problem meets every backend through these fixtures."""

import pytest
from hypothesis import settings

from caet_opt import BanditModel, Experiment, Gaussian, Parameters, parse_task, run_many
from caet_opt.solving.backends import BACKENDS

settings.register_profile("caet-opt", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("caet-opt")


@pytest.fixture(scope="session", autouse=True)
def _compiled():
    """Compile before the first test, so that no test meets the notice that this takes a while."""
    model = BanditModel(Gaussian(), [1.0, 0.0], [1.0, 1.0])
    experiment = Experiment(model, parse_task("best-arm"), Parameters(delta=0.1, max_rounds=20))
    run_many(experiment, 1, seed=0)


@pytest.fixture(params=list(BACKENDS))
def solver(request):
    """The name of a backend; skipped, with its reason, where the backend is not installed."""
    backend = BACKENDS[request.param]
    if not backend.is_installed():
        pytest.skip(f"needs {backend.needs()} (extra: {backend.extra})")
    return request.param
