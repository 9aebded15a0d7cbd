"""Solvers side by side: each model by each solver, the answers certified, the re-solves timed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import median
from time import perf_counter
from typing import Any

from caet_opt.bandits.modelfile import ModelFile
from caet_opt.errors import CaetError
from caet_opt.solving.backends import BACKENDS
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.profiles import Profile
from caet_opt.solving.result import CharacteristicTime


@dataclass(frozen=True)
class Measurement:
    """One model by one solver: the certified answer and the median time of a re-solve, or why there is none.

    Attributes
    ----------
    answered_by : the backend that produced the answer; another than the solver's when that fell back
    provider : who provides that backend's solver, where more than one can: "Ipopt 3.14.19 by casadi 3.8.2"
    gap, solver_gap : certified relative gap, and that of the solver's own point before it was polished
    seconds : median over the re-solves, everything from model to certified answer included
    ratio : to the fastest solver of the model
    error : what went wrong; then there is no answer
    """

    model: str
    family: str
    task: str
    arms: int
    solver: str
    answered_by: str | None = None
    provider: str | None = None
    characteristic_time: float | None = None
    lower: float | None = None
    upper: float | None = None
    gap: float | None = None
    solver_gap: float | None = None
    iterations: int | None = None
    seconds: float | None = None
    ratio: float | None = None
    error: str | None = None


#: Names of the fields, as they are written to CSV.
COLUMNS = tuple(field.name for field in fields(Measurement))


def prepare(solvers: Mapping[str, Profile]) -> None:
    """Have the compiled kernel at hand, where the native solver takes part."""
    if any("native" in (profile.backend, profile.fallback) for profile in solvers.values()):
        from caet_opt.solving.native.compiled import compiled_kernel

        compiled_kernel()


def compare_solvers(name: str, entry: ModelFile, solvers: Mapping[str, Profile], repeat: int) -> list[Measurement]:
    """Measure one model by every solver, in their order."""
    return with_ratios([measure(name, entry, label, profile, repeat) for label, profile in solvers.items()])


def measure(name: str, entry: ModelFile, label: str, profile: Profile, repeat: int) -> Measurement:
    """Solve once, which builds what is kept, then ``repeat`` times by the clock; an error is a measurement too."""
    model, task = entry.model, entry.task
    row = Measurement(name, str(model.family), str(task), len(model.means), label)

    def solve() -> CharacteristicTime:
        return characteristic_time(model, task, solver=profile)

    try:
        result = solve()
        seconds = median_seconds(solve, repeat)
    except CaetError as error:
        return replace(row, error=str(error))
    return replace(
        row,
        answered_by=result.solver,
        provider=BACKENDS[result.solver].provider(),
        characteristic_time=result.value,
        lower=result.lower,
        upper=result.upper,
        gap=result.gap,
        solver_gap=result.solver_gap if result.solver_gap < float("inf") else None,
        iterations=result.iterations,
        seconds=seconds,
    )


def median_seconds(call: Callable[[], Any], repeat: int) -> float:
    """Median time of so many calls."""
    times = []
    for _ in range(repeat):
        started = perf_counter()
        call()
        times.append(perf_counter() - started)
    return median(times)


def with_ratios(rows: Sequence[Measurement]) -> list[Measurement]:
    """Set each time in relation to the shortest one."""
    fastest = min((row.seconds for row in rows if row.seconds is not None), default=None)
    return [
        row if row.seconds is None or fastest is None else replace(row, ratio=row.seconds / fastest) for row in rows
    ]


def agree(rows: Sequence[Measurement]) -> bool:
    """Whether the certified intervals of one model have a point in common; true where nothing was solved."""
    lowers = [row.lower for row in rows if row.lower is not None]
    uppers = [row.upper for row in rows if row.upper is not None]
    return max(lowers, default=0.0) <= min(uppers, default=float("inf"))
