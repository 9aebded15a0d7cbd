"""Real calls of the library, followed: every function that they enter, interpreted, file by file."""

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any, NamedTuple

import caet_opt
from caet_opt.bandits.model import BanditModel
from caet_opt.exploring.explorer import Explorer
from caet_opt.solving.characteristic import characteristic_time
from cases.runs import without_compiled

ROOT = Path(caet_opt.__file__).parent

#: Where a call is from, and what is called: files relative to the package, and the names of the functions.
Call = tuple[str, str, str, str]


class Trace(NamedTuple):
    """Calls of our functions by our functions, in their order, once for each time."""

    calls: list[Call]

    def functions(self) -> dict[str, list[str]]:
        """The functions that were entered, by file, in the order of the first call."""
        found: dict[str, dict[str, None]] = {}
        for _, _, file, name in self.calls:
            found.setdefault(file, {})[name] = None
        return {file: list(names) for file, names in found.items()}

    def across(self, place: Callable[[str], str]) -> int:
        """Calls that lead from one place to another."""
        return sum(place(origin) != place(file) for origin, _, file, _ in self.calls if origin)


def room_of(file: str) -> str:
    """The room of a file: its first folder."""
    return file.partition("/")[0]


def purpose(file: str) -> str:
    """What a file of the package is for: the first paragraph of its docstring."""
    told = ast.get_docstring(ast.parse((ROOT / file).read_text(encoding="utf-8"))) or ""
    return " ".join(told.partition("\n\n")[0].split())


@contextmanager
def following() -> Iterator[Trace]:
    """Note every call of a function of the package while this lasts; comprehensions belong to their functions."""
    trace = Trace([])

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (here := own_file(frame.f_code)) is not None:
            caller = frame.f_back
            while caller is not None and own_file(caller.f_code) is None:
                caller = caller.f_back
            origin = ("", "") if caller is None else (own_file(caller.f_code) or "", caller.f_code.co_qualname)
            trace.calls.append((*origin, here, frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield trace
    finally:
        sys.setprofile(before)


def own_file(code: CodeType) -> str | None:
    """The file of a function relative to the package; None for others' code and for comprehensions."""
    if code.co_name in ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<module>", "<lambda>"):
        return None
    try:
        return Path(code.co_filename).relative_to(ROOT).as_posix()
    except ValueError:
        return None


def follow_solve() -> Trace:
    """T* of three arms, by the native solver."""
    model = BanditModel("gaussian", [0.5, 0.4, 0.1], [1, 2, 3])
    characteristic_time(model, "ranking")  # so that nothing is built for the first time
    model = BanditModel("gaussian", [0.6, 0.4, 0.1], [1, 2, 3])
    with following() as trace:
        characteristic_time(model, "ranking")
    return trace


def started(policy: str, **settings: Any) -> Explorer:
    """An experiment of three arms after some rounds."""
    explorer = Explorer.start("best-arm", "bernoulli", arms=3, costs=[1, 1, 2], delta=1e-9, policy=policy, **settings)
    for round_ in range(60):
        explorer.observe(explorer.next_arm(), (round_ * round_) % 7 % 2)
    return explorer


def follow_round(policy: str, **settings: Any) -> Trace:
    """One round by the object: which arm, its outcome, whether it is over; with lazy targets, one that solves."""
    explorer = started(policy, **settings)
    while True:
        solves = explorer.solves
        with following() as trace:
            explorer.observe(explorer.next_arm(), explorer.state.round % 2)
            explorer.stopped  # noqa: B018
        if explorer.solves > solves or not settings or explorer.state.round > 1000:
            return trace


def follow_record() -> Trace:
    """An outcome recorded in a live experiment by CAET, the file being open already."""
    from caet_opt import LiveExperiment

    with TemporaryDirectory() as folder:
        path = Path(folder) / "trial.caet"
        with LiveExperiment.start(path, "best-arm", "bernoulli", arms=3, costs=[1, 1, 2], delta=1e-9) as experiment:
            for round_ in range(20):
                (pull,) = experiment.next()
                experiment.record(pull.arm, round_ % 2, pull=pull.number)
            (pull,) = experiment.next()
            with following() as trace:
                experiment.record(pull.arm, 1, pull=pull.number)
    return trace


#: The paths, by what they are called in the table.
PATHS: dict[str, Callable[[], Trace]] = {
    "characteristic_time": follow_solve,
    "exact round of caet": lambda: follow_round("caet"),
    "lazy round of caet": lambda: follow_round("caet", solve="lazy"),
    "round of top-two": lambda: follow_round("top-two"),
    "experiment record": follow_record,
}


def follow(path: str) -> Trace:
    """The trace of a path, whatever this process has compiled."""
    with without_compiled():
        return PATHS[path]()
