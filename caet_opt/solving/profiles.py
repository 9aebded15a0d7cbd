"""Solver profiles: with what, and how exactly, a problem is to be solved."""

from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from caet_opt.common.checks import check_whole, is_number, show_value
from caet_opt.common.files import read_toml
from caet_opt.common.shipped import find_shipped
from caet_opt.errors import InputError, unknown_name

#: Certified relative gap that every answer meets unless another tolerance is asked for.
DEFAULT_TOLERANCE = 1e-9

#: Limit on a solver's iterations unless another one is given.
MAX_ITERATIONS = 500

#: Iterations are counted in 32 bits by some solvers, and none that converges needs nearly so many.
MOST_ITERATIONS = 10**9


@dataclass(frozen=True)
class Profile:
    """A backend with its tolerance, limits and options.

    Attributes
    ----------
    backend : name of the backend
    tolerance : largest certified relative gap that is accepted
    max_iterations : limit on the solver's iterations
    time_limit : limit on the solver's time in seconds; none by default
    fallback : backend to try when this one has no certified answer; none by default
    solver : for ``"cvxpy"``, required: a solver that CVXPY has installed, as ``"ECOS"``; for ``"pyomo"``, optional: an
        executable that Pyomo finds, as ``"ipopt"``, instead of Ipopt as a library
    options : the solver's own options, passed on unchanged

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> profile = Profile("clarabel", tolerance=1e-8, options={"tol_gap_rel": 1e-12})
    >>> f"{characteristic_time(model, 'ranking', solver=profile).value:.6f}"
    '11.656854'
    """

    backend: str
    tolerance: float = DEFAULT_TOLERANCE
    max_iterations: int = MAX_ITERATIONS
    time_limit: float | None = None
    fallback: str | None = None
    solver: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What results call it: the backend, and behind a colon the solver of its language, where one is named."""
        return self.backend if self.solver is None else f"{self.backend}:{self.solver}"

    def __post_init__(self) -> None:
        from caet_opt.solving.backends import BACKENDS

        for name in (self.backend, self.backend if self.fallback is None else self.fallback):
            if not isinstance(name, str) or name not in BACKENDS:
                raise InputError(unknown_name("solver", str(name), BACKENDS))
        if self.fallback is not None and BACKENDS[self.fallback].solvers == "one":
            raise InputError(f"fallback must be a backend that needs no further name, got {self.fallback!r}")
        check_positive(self.tolerance, "tolerance")
        if self.tolerance >= 1:
            raise InputError(f"tolerance is a relative gap below 1, got {self.tolerance:g}")
        check_whole(self.max_iterations, "max_iterations", 1, MOST_ITERATIONS)
        if self.time_limit is not None:
            check_positive(self.time_limit, "time_limit")
        if not isinstance(self.options, dict):
            raise InputError(f"options must be a table of the solver's own options, got {self.options!r}")
        self._check_solver(BACKENDS[self.backend].solvers)
        if self.options and not BACKENDS[self.backend].takes_options:
            raise InputError(f"solver {self.backend!r} has no options of its own, got {next(iter(self.options))!r}")

    def _check_solver(self, solvers: str) -> None:
        """Raise `InputError` for a solver that the backend does not ask for, or asks for in vain: `Backend.solvers`."""
        if self.solver is None:
            if solvers == "one":
                raise InputError(f"backend {self.backend!r} needs the key 'solver', as in solver = \"ECOS\"")
            return
        if solvers == "none":
            raise InputError(f"backend {self.backend!r} has one solver, its own; leave out 'solver'")
        if not isinstance(self.solver, str) or not self.solver.replace("_", "").replace("-", "").isalnum():
            raise InputError(f"solver must be a name such as 'ECOS' or 'ipopt', got {self.solver!r}")
        if self.max_iterations != MAX_ITERATIONS or self.time_limit is not None:
            raise InputError(
                f"max_iterations and time_limit are not passed on to {self.solver!r}; give its own in 'options'"
            )


def check_positive(value: Any, what: str) -> None:
    """Raise `InputError` unless the value is a positive finite number."""
    if not is_number(value) or value <= 0:
        raise InputError(f"{what} must be a positive number, got {show_value(value)}")


def read_profile(path: str | Path) -> Profile:
    """Read a profile from TOML, a file or one that is shipped; unknown keys are errors.

    >>> from caet_opt.solving.profiles import read_profile
    >>> read_profile("solvers/clarabel.toml").options["tol_gap_rel"]
    1e-12
    """
    table = read_toml(find_shipped(path, "solvers"))
    known = [entry.name for entry in fields(Profile)]
    for key in table:
        if key not in known:
            raise InputError(f"{path}: {unknown_name('key', key, known)}")
    if "backend" not in table:
        raise InputError(f"{path}: a solver profile needs the key 'backend'")
    try:
        return Profile(**table)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def find_profile(solver: "str | Path | Profile") -> Profile:
    """A profile from a backend's name, a path to a TOML profile, the name of one that is shipped, as ``ipopt.toml``, or
    a profile itself."""
    if isinstance(solver, Profile):
        return solver
    if str(solver).endswith(".toml"):
        return read_profile(solver)
    return named_profile(str(solver))


@cache
def named_profile(name: str) -> Profile:
    """The default profile of a backend, or of ``backend:solver``, as ``"cvxpy:ECOS"``."""
    backend, colon, solver = name.partition(":")
    return Profile(backend, solver=solver if colon else None)
