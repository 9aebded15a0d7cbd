"""Every problem meets every backend through these fixtures; the kernel is compiled where tests need it."""

import signal
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from caet_opt.kernels import native
from caet_opt.simulating.runs import compile_loop
from caet_opt.solving.backends import BACKENDS

settings.register_profile("caet-opt", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("caet-opt")

# Who starts the tests in the background (nohup, `make test &`, many runners) has Ctrl-C ignored, in this process and in
# all that it starts; the tests send it. A handler of Python's is not inherited: what is started has the default again.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Folders and files of tests that simulate, or solve so much that the kernel is compiled in the midst of it.
COMPILED = {"cli", "presenting", "simulating", "test_kept", "test_readme"}
COMPILED |= {"test_saving", "test_tracking", "test_verify"}
COMPILED |= {"test_batch", "test_certificate", "test_characteristic", "test_compare", "test_native"}


def pytest_collection_modifyitems(items):
    """Have it compiled before the first test that needs it, so that none meets the notice that this takes a while."""
    for item in items:
        if COMPILED & {item.path.stem, item.path.parent.name}:
            item.fixturenames.insert(0, "compiled_loop")


@pytest.fixture(scope="session")
def compiled_loop():
    """The kernel and the loop of CAET, compiled in this process and on disk."""
    compile_loop()


@pytest.fixture(autouse=True)
def _interpreted_budget():
    """Elsewhere the few solves of a test are interpreted, whatever was solved before it: the same digits every time."""
    native._spent = 0.0


@pytest.fixture(params=[name for name, backend in BACKENDS.items() if backend.solvers != "one"])
def solver(request):
    """The name of a backend; skipped, with its reason, where the backend is not installed."""
    backend = BACKENDS[request.param]
    if not backend.is_installed():
        pytest.skip(f"needs {backend.needs()} (extra: {backend.extra})")
    return request.param


@pytest.fixture(scope="session")
def pounce():
    """An executable that reads .nl files, which pip installs."""
    spec = find_spec("pounce")
    found = [] if spec is None else [Path(place) / "bin" / "pounce" for place in spec.submodule_search_locations]
    if not found or not found[0].exists():
        pytest.skip("needs pounce-solver (extra: dev)")
    return found[0]
