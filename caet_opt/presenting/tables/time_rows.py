"""The rows of a table of characteristic times: each model by its solvers and deltas, errors kept as rows; computed here
or in worker processes, the same whatever their number."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from caet_opt.bandits.limits import Limit, parse_limit, read_limits, write_limits
from caet_opt.bandits.modelfile import ModelFile, read_model
from caet_opt.bandits.tasks import Statement, Task
from caet_opt.common.numbers import relative_deviation
from caet_opt.errors import CaetError, InputError, SolverError, TieError
from caet_opt.presenting.tables.layout import ERROR
from caet_opt.simulating.pool import check_workers, run_jobs
from caet_opt.solving.backends import BACKENDS
from caet_opt.solving.certificate import statement_terms
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.compare import prepare
from caet_opt.solving.profiles import Profile
from caet_opt.solving.result import CharacteristicTime

#: The entry of a failed row that says whether the input was bad or a solver failed.
KIND, BAD_INPUT, SOLVER_FAILED = "error_kind", "input", "solver"

#: The entry of a row whose digits cannot be proven, though they were asked for: why.
NOT_PROVEN = "not_proven"

Rows = list[dict[str, Any]]

#: So many solves by the native solver are over before worker processes have started or its compiled code is loaded.
QUICK_SOLVES = 300


class Source(NamedTuple):
    """A model by its name in the table: its file, or the model itself."""

    name: str
    where: Path | ModelFile


@dataclass(frozen=True)
class Request:
    """What to compute for every model.

    Attributes
    ----------
    solvers : profiles by their names in the table
    deltas : one row for each; none for a single row without lower bound
    blind : whether to compare with the cost-blind proportions
    digits : proven digits of T*; None for what double precision certifies
    limits : for every model in place of its own; None for its own
    half : whether to solve for T* with half of the pulls for the best arm, too
    """

    solvers: Mapping[str, Profile]
    deltas: tuple[float, ...] = ()
    blind: bool = True
    digits: int | None = None
    half: bool = False
    limits: tuple[str, ...] | None = None


#: The limit of T*(1/2): half of the pulls are the best arm's.
HALF_LEADER = parse_limit("pulls:leader=0.5")


class Asserted(Task):
    """The same answer, whatever the means and costs: that of the cheapest arm is another question for other costs."""

    name = "asserted"

    def __init__(self, stated: tuple[Statement, ...]) -> None:
        self.stated = stated

    def answer(self, means: Sequence[Any]) -> Hashable:
        return 0

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        return self.stated


def rows_of(source: Source, request: Request) -> Rows:
    """The rows of one model; what goes wrong becomes a row that says so."""
    name, where = source
    row: dict[str, Any] = {"model": name} | ({"file": str(where)} if isinstance(where, Path) else {})
    try:
        entry = read_model(where) if isinstance(where, Path) else where
        if request.limits is not None:
            entry = limit_entry(entry, request.limits)
    except CaetError as error:
        return [row | failure(error, str(where))]
    model = entry.model
    row |= {
        "title": entry.title,
        "family": str(model.family),
        "task": str(entry.task),
        "arms": len(model.means),
        "names": list(model.arms),
        "means": list(model.means),
        "costs": list(model.costs),
        "expected": entry.characteristic_time,
    }
    return [
        found
        for label, profile in request.solvers.items()
        for found in solve_row(row | {"solver": label}, entry, profile, request)
    ]


def solve_row(row: Mapping[str, Any], entry: ModelFile, profile: Profile, request: Request) -> Rows:
    """The row of one solver, for every delta, with its answer or its error."""
    try:
        result = solve_entry(entry, profile)
        expected = entry.characteristic_time
        deviation = inf if expected is None else relative_deviation(result.value, expected)
        found = {**result.to_record(), **row, "deviation": deviation if isfinite(deviation) else None}
        if request.blind and not result.limits:
            found |= compare_blind(result, profile)
        if request.half:
            found |= halve_leader(entry, profile)
        if request.digits is not None:
            found |= prove_row(result, request.digits)
    except CaetError as error:
        told = [{"limit": text} for text in write_limits(entry.limits, entry.model.arms)]
        return [{**row, **({"limits": told} if told else {}), **failure(error)}]
    if result.solver != profile.label:
        found["solver"] += f" ({result.solver})"
    several = entry.task.several_right  # there is no bound at a delta then
    return [
        found | {"delta": d, "lower_bound": None if several else result.lower_bound(d)} for d in request.deltas
    ] or [found]


def limit_entry(entry: ModelFile, limits: tuple[str, ...]) -> ModelFile:
    """A model under other limits, of which no answer is expected."""
    found = read_limits(limits, entry.model.arms)
    if found == entry.limits:
        return entry
    return replace(entry, limits=found, characteristic_time=None, sampling_proportions=None)


def solve_entry(entry: ModelFile, profile: Profile, limits: tuple[Limit, ...] = ()) -> CharacteristicTime:
    """T* under the limits of the model and more; by the solver that is asked for, or one that takes limits."""
    limits = (*entry.limits, *limits)
    able = not limits or BACKENDS[profile.backend].takes_limits
    return characteristic_time(entry.model, entry.task, solver=profile if able else None, limits=limits)


def halve_leader(entry: ModelFile, profile: Profile) -> dict[str, Any]:
    """T* where half of the pulls are the best arm's, of tasks that name one that costs something; else nothing."""
    try:
        return {"half_leader_time": solve_entry(entry, profile, (HALF_LEADER,)).value}
    except InputError:
        return {}


def compare_blind(result: CharacteristicTime, profile: Profile) -> dict[str, Any]:
    """What tracking the cost-blind proportions pays: ``T = c . u / min_e f_e(u)``, u optimal for unit costs.

    A player that does not see the costs samples free arms in proportion too, so that f_e has the finite weights of both
    arms. The ratio is missing where T* is zero, and everything where unit costs leave nothing to pay.
    """
    model = result.model
    unaware = model.with_numbers(costs=[1] * len(model.means))
    asked = Asserted(result.statements) if result.task.needs_costs else result.task
    optimum = characteristic_time(unaware, asked, solver=profile)
    if optimum.value == 0:
        return {}
    time = float(
        np.array(model.costs) @ optimum.effort / np.min(statement_terms(unaware, optimum.statements, optimum.effort))
    )
    return {
        "cost_blind_time": time,
        "cost_blind_ratio": time / result.value if result.value > 0 else None,
        "cost_blind_proportions": optimum.sampling_proportions.tolist(),
    }


def prove_row(result: CharacteristicTime, digits: int) -> dict[str, Any]:
    """What a row says of a T* whose digits are proven, starting from the double's answer; or why they cannot be, and
    T* is certified alone."""
    from caet_opt.proving.prove import proven_time

    if result.limits:
        return {NOT_PROVEN: "digits are proven without limits"}
    try:
        proof = proven_time(result.model, result.task, digits, start=result)
    except TieError:
        raise
    except InputError as error:
        return {NOT_PROVEN: str(error)}
    lower, upper = proof.bounds
    seconds = result.seconds + proof.seconds
    return {"proven": proof.value, "proven_lower": lower, "proven_upper": upper, "seconds": seconds}


def failure(error: CaetError, file: str = "") -> dict[str, Any]:
    """An error as the entries of a row, without the file's name in front, which the row has already."""
    kind = SOLVER_FAILED if isinstance(error, SolverError) else BAD_INPUT
    return {ERROR: str(error).removeprefix(f"{file}: "), KIND: kind}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a table; ``rows`` are those of the ``models`` that were finished, in their order."""

    def __init__(self, rows: Rows, models: int) -> None:
        super().__init__(f"{models} models are finished")
        self.rows, self.models = rows, models


def compute(
    sources: Sequence[Source], request: Request, workers: int = 1, progress: Callable[[], None] = lambda: None
) -> Rows:
    """The rows of every model in order; ``progress`` is called for each that is finished.

    A table that is done in a moment is made in this process. Rows do not depend on the number of workers: for any other
    table the native solver is compiled first, so that all of them run the same code.
    """
    check_workers(workers)
    native = all(profile.backend == "native" for profile in request.solvers.values())
    solves = len(sources) * len(request.solvers) * (1 + request.blind)
    quick = len(sources) < 2 or (native and request.digits is None and solves <= QUICK_SOLVES)
    found: dict[int, Rows] = {}
    try:
        if not quick:
            prepare(request.solvers)
        jobs = run_jobs(rows_at, (sources, request, quick), range(len(sources)), 1 if quick else workers)
        with closing(jobs) as finished:
            for index, rows in finished:
                found[index] = rows
                progress()
    except KeyboardInterrupt as interrupt:
        raise Interrupted(sort_rows(found), len(found)) from interrupt
    return sort_rows(found)


def sort_rows(found: dict[int, Rows]) -> Rows:
    """The rows of the models, by their index."""
    return [row for index in sorted(found) for row in found[index]]


def rows_at(shared: tuple[Sequence[Source], Request, bool], index: int) -> tuple[int, Rows]:
    """The index and the rows of a model, for `run_jobs`; unless it is quick, by compiled code in every process."""
    sources, request, quick = shared
    if not quick:
        prepare(request.solvers)
    return index, rows_of(sources[index], request)
