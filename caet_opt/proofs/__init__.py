"""Proven digits: T* of rational inputs between two rational bounds, by ball arithmetic, with a certificate to check.

A proof is a pair of points. An effort w with ``f_e(w) >= 1`` for every needed pair costs ``c . w >= T*``. Weights q and
points m with ``sum_e q_e d(mu_a, m_e) <= c_a`` at every costly arm add up to ``sum(q) <= T*``. How the points
were found does not matter, and `check` verifies them without the code that found them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caet_opt.proofs.prove import proven_time

__all__ = ["proven_time"]


def __getattr__(name: str) -> Any:
    """`proven_time` on first use: the checker imports this package without the code that finds certificates."""
    if name != "proven_time":
        raise AttributeError(f"module 'caet_opt.proofs' has no attribute {name!r}")
    from caet_opt.proofs.prove import proven_time

    return proven_time
