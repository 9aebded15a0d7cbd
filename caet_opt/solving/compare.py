"""Solvers side by side: one model by each of them, the answers certified, the re-solves timed. Do they agree?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from caet_opt.bandits.limits import Limit, read_limits
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.common.checks import check_whole
from caet_opt.common.files import shortest_names
from caet_opt.common.numbers import certified_parts, duration, format_ratio, html_table, table, write_gap
from caet_opt.errors import CaetError, InputError
from caet_opt.kernels.native import compiled_kernel
from caet_opt.solving.backends import BACKENDS, installed_backends
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.problem import ask, read_task
from caet_opt.solving.profiles import Profile, find_profile
from caet_opt.solving.result import CharacteristicTime

if TYPE_CHECKING:
    import pandas as pd

#: A backend by name, a profile, or the path of one.
Solver = str | Path | Profile

#: Timed re-solves unless told otherwise; the median counts.
REPEAT = 5


@dataclass(frozen=True)
class Measurement:
    """One model by one solver: the certified answer and the median time of a re-solve, or why there is none.

    Attributes
    ----------
    solver : the name of the solver in the comparison
    seconds : median over the re-solves, everything from model to certified answer included; without any, of the solve
    ratio : to the fastest solver of the model
    error : what went wrong; then there is no result

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> (one,) = compare_solvers(model, "ranking", "clarabel", repeat=1).measurements
    >>> one.solver, f"{one.result.value:.6f}", one.ratio
    ('clarabel', '11.656854', 1.0)
    """

    solver: str
    result: CharacteristicTime | None = None
    seconds: float | None = None
    ratio: float | None = None
    error: CaetError | None = None

    def to_record(self) -> dict[str, Any]:
        """The answer's record and what was measured; ``answered_by`` is another backend where the solver fell back."""
        answer = {} if self.result is None else self.result.to_record()
        own_gap = None if self.result is None else self.result.solver_gap
        return answer | {
            "solver": self.solver,
            "answered_by": answer.get("solver"),
            "provider": self.provider,
            "solver_gap": own_gap if own_gap is not None and own_gap < float("inf") else None,
            "seconds": self.seconds,
            "ratio": self.ratio,
            "error": None if self.error is None else str(self.error),
        }

    @property
    def provider(self) -> str | None:
        """Who provides the backend that answered, where more than one can: "Ipopt 3.14.19 by casadi 3.8.2"."""
        return None if self.result is None else BACKENDS[self.result.solver.partition(":")[0]].provider()

    def cells(self) -> dict[str, str]:
        """The measurement for people, by heading; own gap is the solver's, before its answer was polished."""
        if self.result is None:
            return {**dict.fromkeys(HEADINGS, ""), "solver": self.solver, "T*": "failed"}
        result, by = self.result, self.result.solver
        shown = certified_parts(result.value, result.lower, result.upper, result.gap)
        own = write_gap(result.solver_gap) if result.solver_gap < float("inf") else ""
        return {
            "solver": self.solver if by == Path(self.solver).stem else f"{self.solver} ({by})",
            **dict(zip(("T*", "lower", "upper"), shown, strict=True)),
            "gap": write_gap(result.gap),
            "own gap": own,
            "iterations": str(result.iterations),
            "time": "" if self.seconds is None else duration(self.seconds),
            "ratio": "" if self.ratio is None else format_ratio(self.ratio),
        }


#: What a comparison shows of each solver.
HEADINGS = ("solver", "T*", "lower", "upper", "gap", "own gap", "iterations", "time", "ratio")

#: Names in the rows of a comparison, of its model and of each measurement.
COLUMNS = (
    *("family", "task", "arms", "solver", "answered_by", "provider", "characteristic_time", "lower", "upper", "gap"),
    *("solver_gap", "iterations", "seconds", "ratio", "error"),
)


@dataclass(frozen=True)
class Comparison:
    """One model by several solvers; prints as a table, and `to_frame` is a pandas frame with a row per solver.

    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> compare_solvers(model, "ranking", ["native", "clarabel"], repeat=0).verdict()
    ['the certified intervals of all 2 answers overlap']
    """

    model: BanditModel
    task: Task
    measurements: tuple[Measurement, ...]

    @property
    def solved(self) -> list[CharacteristicTime]:
        """The certified answers."""
        return [one.result for one in self.measurements if one.result is not None]

    @property
    def agree(self) -> bool:
        """Whether there are answers and their certified intervals have a point in common."""
        solved = self.solved
        return bool(solved) and max(one.lower for one in solved) <= min(one.upper for one in solved)

    @property
    def disagree(self) -> bool:
        """Whether there are answers of which at least one is wrong."""
        return bool(self.solved) and not self.agree

    @property
    def complete(self) -> bool:
        """Whether every solver has an answer and they agree."""
        return self.agree and len(self.solved) == len(self.measurements)

    def rows(self) -> list[dict[str, Any]]:
        """A flat row per solver; what is missing is None."""
        known = {"family": str(self.model.family), "task": str(self.task), "arms": len(self.model.means)}
        records = [{**one.to_record(), **known} for one in self.measurements]
        return [{name: record.get(name) for name in COLUMNS} for record in records]

    def to_frame(self) -> "pd.DataFrame":
        """The rows as a frame."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS))

    def lines(self, headings: Sequence[str] = HEADINGS) -> list[list[str]]:
        """The cells of each solver under these headings."""
        return [[one.cells()[heading] for heading in headings] for one in self.measurements]

    def verdict(self) -> list[str]:
        """Who failed and why, and whether the answers agree."""
        failed = [f"{one.solver} failed: {one.error}" for one in self.measurements if one.error is not None]
        if not self.solved:
            return [*failed, "no solver has a certified answer"]
        if self.agree:
            return [*failed, f"the certified intervals of all {len(self.solved)} answers overlap"]
        return [*failed, "the certified intervals do NOT all overlap: at least one of them is wrong"]

    def describe(self, headings: Sequence[str] = HEADINGS) -> str:
        """A table under these headings, and the verdict."""
        return "\n".join([table(headings, self.lines(headings)), "", *self.verdict()])

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return html_table(HEADINGS, self.lines()) + "".join(f"<p>{escape(line)}</p>" for line in self.verdict())


def compare_solvers(
    model: BanditModel,
    task: Task | str,
    solvers: Solver | Sequence[Solver] | Mapping[str, Solver] | None = None,
    *,
    repeat: int = REPEAT,
    tolerance: float | None = None,
    limits: Sequence[Limit | str] | Limit | str = (),
) -> Comparison:
    """Solve a model with several solvers, and check whether their certified intervals overlap.

    A solver without a certified answer keeps its row. An invalid model, such as a tie, raises `InputError`.

    Parameters
    ----------
    model, task
        What to solve; the task may be given in the grammar.
    solvers
        Backends, profiles or paths of profiles; a mapping gives them names; by default every installed backend.
    repeat
        Number of timed re-solves, whose median is reported; with 0, the time of the one solve.
    tolerance
        Largest accepted relative gap; by default that of each profile.
    limits
        As for `characteristic_time`; backends without limits are left out unless you name them.

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> comparison = compare_solvers(model, "ranking", ["native", "clarabel"], repeat=1)
    >>> comparison.agree, comparison.to_frame()["characteristic_time"].round(6).tolist()
    (True, [11.656854, 11.656854])
    """
    check_whole(repeat, "repeat")
    task = read_task(task, model)
    profiles = name_solvers(solvers)
    if tolerance is not None:
        profiles = {name: replace(profile, tolerance=tolerance) for name, profile in profiles.items()}
    asked = read_limits(limits, model.arms)
    if solvers is None:
        profiles = those_able(profiles, model, asked)
    _ = ask(model, task, asked).problem  # what cannot be solved fails here
    if repeat > 0:
        prepare(profiles)
    return measure(model, task, profiles, repeat, asked)


def those_able(profiles: Mapping[str, Profile], model: BanditModel, limits: Sequence[Limit]) -> dict[str, Profile]:
    """The profiles whose backends take a model under these limits."""
    return {name: one for name, one in profiles.items() if BACKENDS[one.backend].takes(model, limits)}


def name_solvers(solvers: Solver | Sequence[Solver] | Mapping[str, Solver] | None) -> dict[str, Profile]:
    """Profiles by name: backends by their own, files by the shortest that tells them apart; each must be installed."""
    if solvers is None:
        solvers = installed_backends()
    if isinstance(solvers, Mapping):
        names, listed = list(solvers), list(solvers.values())
    else:
        listed = [solvers] if isinstance(solvers, Solver) else list(solvers)
        whole = [solver.label if isinstance(solver, Profile) else str(solver) for solver in listed]
        names = shortest_names(whole, [Path(name).name for name in whole])
    if not names:
        raise InputError("no solver is named")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"solver {name!r} is named twice")
    profiles = dict(zip(names, map(find_profile, listed), strict=True))
    for profile in profiles.values():
        BACKENDS[profile.backend].require()
    return profiles


def prepare(solvers: Mapping[str, Profile]) -> None:
    """Compile the native solver, if it takes part, before anything is timed."""
    if any("native" in (profile.backend, profile.fallback) for profile in solvers.values()):
        compiled_kernel()


def measure(
    model: BanditModel, task: Task, solvers: Mapping[str, Profile], repeat: int, limits: tuple[Limit, ...] = ()
) -> Comparison:
    """One model by every solver, in their order, each time set in relation to the shortest one."""
    found = [measure_solver(model, task, name, profile, repeat, limits) for name, profile in solvers.items()]
    fastest = min((one.seconds for one in found if one.seconds is not None), default=0.0)
    ratios = [one if one.seconds is None else replace(one, ratio=one.seconds / fastest) for one in found]
    return Comparison(model, task, tuple(ratios))


def measure_solver(
    model: BanditModel, task: Task, name: str, profile: Profile, repeat: int, limits: tuple[Limit, ...] = ()
) -> Measurement:
    """Solve once, which builds the program, then ``repeat`` times with a clock; an error is kept in the measurement."""

    def solve() -> CharacteristicTime:
        return characteristic_time(model, task, solver=profile, limits=limits)

    try:
        result = solve()
        return Measurement(name, result, median_seconds(solve, repeat) if repeat > 0 else result.seconds)
    except CaetError as error:
        return Measurement(name, error=error)


def median_seconds(call: Callable[[], Any], repeat: int) -> float:
    """Median time of so many calls."""
    seconds = []
    for _ in range(repeat):
        started = perf_counter()
        call()
        seconds.append(perf_counter() - started)
    return median(seconds)
