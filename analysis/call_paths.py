"""What one call passes through: python analysis/call_paths.py [--path NAME] [--files]

Follows real calls of the library, interpreted, and counts the functions and files on the way, and the calls from one
file or room to another. With --files it lists the files in the order in which they are first entered, with the
functions called in each.
"""

import argparse
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


def main() -> int:
    """Print the table, and the files of a path where they are asked for."""
    parser = argparse.ArgumentParser(description="What one call passes through.")
    parser.add_argument("--path", choices=PATHS, help="this one alone")
    parser.add_argument("--files", action="store_true", help="list the files and functions")
    arguments = parser.parse_args()
    print(f"{'path':<22} functions  files  calls across files  across rooms")
    for name in [arguments.path] if arguments.path else PATHS:
        trace = PATHS[name]()
        found = trace.functions()
        functions = sum(map(len, found.values()))
        across = trace.across(str), trace.across(room_of)
        print(f"{name:<22} {functions:>9}  {len(found):>5}  {across[0]:>18}  {across[1]:>12}")
        if arguments.files:
            print("".join(f"    {file}: {', '.join(names)}\n" for file, names in found.items()), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
