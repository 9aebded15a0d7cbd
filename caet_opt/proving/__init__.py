"""Proven digits: T* of rational inputs between two rational bounds, by ball arithmetic, with a certificate to check.

A proof is a pair of points. An effort w with ``f_e(w) >= 1`` for every needed pair costs ``c . w >= T*``. Weights q and
points m with ``sum_e q_e d(mu_a, m_e) <= c_a`` at every costly arm add up to ``sum(q) <= T*``. How the points
were found does not matter, and `check` verifies them without the code that found them.
"""

from importlib.util import find_spec

from caet_opt.errors import MissingExtraError, missing_extra


def has_flint() -> bool:
    """Whether ball arithmetic is installed."""
    return find_spec("flint") is not None


def missing_flint() -> MissingExtraError:
    """The error that says how to install ball arithmetic."""
    return missing_extra("proven digits need the module 'flint'", "proofs")
