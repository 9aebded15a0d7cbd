"""The library's own exceptions; every message says what is wrong and what would be right."""

from collections.abc import Iterable
from difflib import get_close_matches

#: How much of an unknown name an error shows.
LONGEST_NAME = 80


class CaetError(Exception):
    """Base of every error that the library raises on purpose.

    >>> try:
    ...     parse_task("rank")
    ... except CaetError as error:
    ...     print(error)
    unknown task 'rank'; did you mean 'ranking'?
    """


class InputError(CaetError, ValueError):
    """The given model, task, profile or option is not valid.

    >>> parse_family("gausian")
    Traceback (most recent call last):
        ...
    caet_opt.errors.InputError: unknown family 'gausian'; did you mean 'gaussian'?
    """


class TieError(InputError):
    """Two arms of a needed pair have equal means, so T* is infinite.

    >>> try:
    ...     characteristic_time(BanditModel("gaussian", [1, 1], costs=[1, 1]), "best-arm")
    ... except TieError as error:
    ...     print(str(error).partition(" in a pair")[0])
    arms 0 and 1 have equal means (1)
    """


class BusyError(CaetError, TimeoutError):
    """Another process has locked the file of a live experiment for more than ``wait`` seconds; nothing was changed.

    >>> with LiveExperiment.start("busy.caet", "best-arm", "bernoulli", arms=2, costs=[1, 2], delta=0.05) as experiment:
    ...     try:
    ...         pulls = experiment.next()
    ...     except BusyError:
    ...         pulls = ()  # try again later
    """


class MissingExtraError(CaetError, ImportError):
    """An optional dependency is needed but not installed.

    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> try:
    ...     result = characteristic_time(model, "ranking", solver="ipopt")
    ... except MissingExtraError:
    ...     result = characteristic_time(model, "ranking")
    >>> f"{result.value:.6f}"
    '11.656854'
    """


class SolverError(CaetError):
    """No certified answer: the solver failed, or its gap exceeds the tolerance.

    Attributes
    ----------
    gap : float
        The certified relative gap; infinite if there was no point to certify.

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> try:
    ...     characteristic_time(model, "ranking", tolerance=1e-18)
    ... except SolverError as error:
    ...     print(error.gap < 1e-12)
    True
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


def list_words(names: Iterable[str]) -> str:
    """Names in a line, in quotes where a comma or a space would tear them apart.

    >>> list_words(["large", "a, x"])
    "large, 'a, x'"
    """
    return ", ".join(repr(name) if "," in name or " " in name else name for name in names)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, with the nearest known name, or all of them."""
    known = sorted(known)
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {list_words(known)}"
    shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
    return f"unknown {kind} {shown!r}; {hint}"
