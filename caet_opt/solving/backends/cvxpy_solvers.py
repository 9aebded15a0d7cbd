"""The conic program by any solver that CVXPY has installed: ECOS, MOSEK, SCS and others."""

from typing import Any

from caet_opt.errors import InputError
from caet_opt.solving.backends.clarabel import Clarabel
from caet_opt.solving.profiles import Profile


class Cvxpy(Clarabel):
    """The program of `Clarabel`, solved by the solver that the profile names."""

    name = "cvxpy"
    requires = "cvxpy"
    solvers = "one"

    def options(self, profile: Profile) -> dict[str, Any]:
        return {**profile.options, "solver": find_solver(str(profile.solver))}


def find_solver(name: str) -> str:
    """The name by which CVXPY knows an installed solver; `InputError`, which names those that are, for others."""
    import cvxpy as cp

    found = {str(one).lower(): str(one) for one in cp.installed_solvers()}
    if name.lower() not in found:
        raise InputError(f"CVXPY has no solver {name!r} installed; it has {', '.join(sorted(found.values()))}")
    return found[name.lower()]
