"""Solver profiles: with what, and how exactly, a problem is to be solved."""

from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from caet_opt.common.checks import check_whole, is_number
from caet_opt.common.files import read_toml
from caet_opt.common.shipped import find_shipped
from caet_opt.errors import InputError, unknown_name

#: Certified relative gap that every answer meets unless another tolerance is asked for.
DEFAULT_TOLERANCE = 1e-9

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
    options : the solver's own options, passed on as they are

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> profile = Profile("clarabel", tolerance=1e-8, options={"tol_gap_rel": 1e-12})
    >>> f"{characteristic_time(model, 'ranking', solver=profile).value:.6f}"
    '11.656854'
    """

    backend: str
    tolerance: float = DEFAULT_TOLERANCE
    max_iterations: int = 500
    time_limit: float | None = None
    fallback: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What results call the solver."""
        return self.backend

    def __post_init__(self) -> None:
        from caet_opt.solving.backends import BACKENDS

        for name in (self.backend, self.backend if self.fallback is None else self.fallback):
            if not isinstance(name, str) or name not in BACKENDS:
                raise InputError(unknown_name("solver", str(name), BACKENDS))
        check_positive(self.tolerance, "tolerance")
        if self.tolerance >= 1:
            raise InputError(f"tolerance is a relative gap below 1, got {self.tolerance:g}")
        check_whole(self.max_iterations, "max_iterations", 1, MOST_ITERATIONS)
        if self.time_limit is not None:
            check_positive(self.time_limit, "time_limit")
        if not isinstance(self.options, dict):
            raise InputError(f"options must be a table of the solver's own options, got {self.options!r}")
        if self.options and not BACKENDS[self.backend].takes_options:
            raise InputError(f"solver {self.backend!r} has no options of its own, got {next(iter(self.options))!r}")


def check_positive(value: Any, what: str) -> None:
    """Raise `InputError` unless the value is a positive finite number."""
    if not is_number(value) or value <= 0:
        raise InputError(f"{what} must be a positive number, got {value!r}")


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
def named_profile(backend: str) -> Profile:
    """The default profile of a backend."""
    return Profile(backend)
