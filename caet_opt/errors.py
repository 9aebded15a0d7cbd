"""The library's own exceptions; every message says what is wrong and what would be right."""

from collections.abc import Iterable
from difflib import get_close_matches


class CaetError(Exception):
    """Base of every error that the library raises on purpose."""


class InputError(CaetError, ValueError):
    """The model, task, profile or option given by the user is not a valid one."""


class TieError(InputError):
    """Two arms of a needed pair have equal means, so that T* is infinite."""


class MissingExtraError(CaetError, ImportError):
    """An optional dependency is needed and not installed."""


class SolverError(CaetError):
    """No certified answer: the solver failed, or its gap exceeds the tolerance.

    Attributes
    ----------
    gap : float
        The relative gap that was certified; infinite when there was no point to certify.
    """

    def __init__(self, message: str, gap: float = float("inf")) -> None:
        super().__init__(message)
        self.gap = gap


def missing_extra(need: str, extra: str) -> MissingExtraError:
    """The error for a missing optional dependency, with the commands that install it."""
    return MissingExtraError(f"{need}; {install_hint(extra)}")


def install_hint(extra: str) -> str:
    """The commands that install an extra: by name, and in a clone."""
    return f"install it with: pip install 'caet-opt[{extra}]', or in a clone: pip install '.[{extra}]'"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, with the nearest known name, or all of them."""
    known = sorted(known)
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return f"unknown {kind} {name!r}; {hint}"
