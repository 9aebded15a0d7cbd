"""Every problem meets every backend through these fixtures."""

import pytest
from hypothesis import settings

from caet_opt.backends import BACKENDS

settings.register_profile("caet-opt", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("caet-opt")


@pytest.fixture(params=list(BACKENDS))
def solver(request):
    """The name of a backend; skipped, with its reason, where the backend is not installed."""
    backend = BACKENDS[request.param]
    if not backend.installed():
        pytest.skip(f"{backend.requires} is not installed (extra: {backend.extra})")
    return request.param
