"""Solver backends, in the order of preference; a solver's package is imported only when it is used."""

from caet_opt.common.registry import Registry
from caet_opt.solving.backends.base import Answer, Backend, Point
from caet_opt.solving.backends.clarabel import Clarabel
from caet_opt.solving.backends.cvxpy_solvers import Cvxpy
from caet_opt.solving.backends.ipopt import Ipopt, Pyomo
from caet_opt.solving.backends.native import Native

BACKENDS: Registry[type[Backend]] = Registry(
    """Solvers by name, the default first.

    >>> list(BACKENDS)
    ['native', 'clarabel', 'ipopt', 'pyomo', 'cvxpy']
    >>> BACKENDS["ipopt"].extra
    'ipopt'
    """,
    *(Native, Clarabel, Ipopt, Pyomo, Cvxpy),
)

DEFAULT_SOLVER = next(iter(BACKENDS))


def installed_backends() -> tuple[str, ...]:
    """Names of the backends whose solver can be imported, without those for which a profile has to name one.

    >>> from caet_opt.solving.backends import installed_backends
    >>> installed_backends()[:2]
    ('native', 'clarabel')
    """
    return tuple(name for name, one in BACKENDS.items() if one.solvers != "one" and one.is_installed())


__all__ = ["BACKENDS", "DEFAULT_SOLVER", "Answer", "Backend", "Point", "installed_backends"]
