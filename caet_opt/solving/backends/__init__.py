"""Solver backends, in the order of preference; a solver's package is imported only when it is used."""

from collections.abc import Sequence

from caet_opt.bandits.limits import Limit
from caet_opt.bandits.model import BanditModel
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


def backends_for(model: BanditModel, limits: Sequence[Limit], but: str = "") -> list[str]:
    """Names of the backends, installed or not, that take a model under these limits, but for one of them.

    >>> from caet_opt.solving.backends import backends_for
    >>> backends_for(BanditModel("gaussian", [3, 4, 2]), (), but="native")
    ['clarabel', 'ipopt', 'pyomo']
    >>> backends_for(BanditModel.from_samples("bounded:0,1", [[0, 1], [1, 1]]), (), but="native")
    ['clarabel', 'ipopt']
    """
    return [
        name for name, kind in BACKENDS.items() if name != but and kind.solvers != "one" and kind.takes(model, limits)
    ]


__all__ = ["BACKENDS", "DEFAULT_SOLVER", "Answer", "Backend", "Point", "backends_for", "installed_backends"]
