"""Proven digits: T* of rational inputs between two rational bounds, by ball arithmetic, with a certificate to check.

A proof is a pair of points. An effort w with ``f_e(w) >= 1`` for every statement costs ``c . w >= T*``. Weights q of
points lambda at which statements are false, with ``sum of q d(mu_a, lambda_a) <= c_a`` at every costly arm, add up to
``sum(q) <= T*``. How the points were found does not matter, and `check` verifies them without the code that found them.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import lazy_loader

from caet_opt.errors import MissingExtraError, SolverError, missing_extra

if not TYPE_CHECKING:  # a checker finds the package by itself; at run time it brings SymPy, on first use
    __getattr__ = lazy_loader.attach(__name__, ["closed_forms"])[0]


def has_flint() -> bool:
    """Whether ball arithmetic is installed."""
    return find_spec("flint") is not None


def missing_flint() -> MissingExtraError:
    """The error that says how to install ball arithmetic."""
    return missing_extra("proven digits need the module 'flint'", "proofs")


def require_flint() -> None:
    """Raise `MissingExtraError` unless ball arithmetic is installed."""
    if not has_flint():
        raise missing_flint()


def check_certificate(path: str | Path) -> str:
    """The theorem that the certificate in a file proves, in words.

    `InputError` if the file cannot be read or is not a certificate, `SolverError` if it is rejected.

    After ``caet-opt solve models/paper-instance-1.toml --digits 20 --certificate cert.json``:

    >>> "T* is at least 11.65685424949238019520" in check_certificate("cert.json")
    True
    """
    require_flint()
    from caet_opt.proving.certificates import read_certificate  # the checker imports flint
    from caet_opt.proving.check import Rejected, check

    try:
        return check(read_certificate(path))
    except Rejected as reason:
        raise SolverError(f"{path}: rejected: {' '.join(str(reason).split())}") from reason
