"""Whole random runs, by compiled code or without any, compared bit for bit.

Short runs over policies, families, tasks, batches, exact and lazy targets, sources of costs, tracking rules, thresholds
and deltas, in stretches. All that is seen at the end is compared: sums, what the policy remembers, pairs, evidence, the
target and how long it is kept; and where a solve failed, in which round and why.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import TASKS as KINDS
from caet_opt.bandits.tasks import Custom, Task, parse_task, pose_task, read_custom
from caet_opt.errors import SolverError
from caet_opt.exploring import compiling
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.policies import POLICIES
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.kernels import native
from caet_opt.kernels.aiming import Pursuit
from caet_opt.kernels.ledger import Seen
from caet_opt.simulating import runs as loops
from caet_opt.simulating.runs import compile_run, run, run_in_batches
from caet_opt.simulating.streams import BLOCK, ArmStreams
from caet_opt.solving.characteristic import characteristic_time
from cases.instances import FAMILIES, TASKS, ordinary_instance

#: Families whose empirical means tie, so that answers change often and arms tie in their lag.
DISCRETE = ("bernoulli", "poisson", "geometric")


class End(NamedTuple):
    """How a run ended: its state, whether it stopped, what a failed solve said, and each array of the last view."""

    state: State
    stopped: bool
    failure: str
    arrays: dict[str, bytes]


class Case(NamedTuple):
    """A run: what is simulated, with which parameters, and in stretches of how many rounds."""

    number: int
    model: BanditModel
    task: Task
    parameters: Parameters
    block: int
    stretches: tuple[int, ...]

    def __str__(self) -> str:
        given = self.parameters
        return (
            f"run {self.number}: {given.policy}, {self.model.family}, {self.task}, {given.tracking}-tracking, "
            f"{given.solve}, batch {given.batch}, {given.cost_source} costs, {given.threshold}, "
            f"log(1/delta) = {given.log_inv_delta:g}, "
            f"{sum(self.stretches)} rounds"
        )


def covered_tasks(policy: str) -> list[str]:
    """The names of the tasks that a policy covers."""
    covered = POLICIES[policy].covered
    return [task for task in TASKS if covered is None or issubclass(KINDS[task], covered)]


#: Tasks with levels, margins or ratios, and such in which the lower mean is the better one.
STATED = ("above", "control", "ratio", "comparisons", "cheapest-above", "cheapest-control", "levels", "lower")


#: Tasks with a tolerance, of which several answers may be right.
TOLERANT = "tolerant"


#: Rewards in a range, with tasks of every other kind.
RANGE = "range"


def spread_out(rng: np.random.Generator, model: BanditModel) -> BanditModel:
    """A model of rewards in a range with the costs of a model: scores on few levels, or numbers between them."""
    rows = []
    for _ in model.means:
        many = int(rng.integers(1, 7))
        values = rng.choice(21, many, replace=False) / 20.0 if rng.integers(3) else rng.uniform(0.0, 1.0, many).round(3)
        rows.append(rng.choice(values, 12).tolist())
    costs = "gaps" if model.cost_rule == "gaps" else model.given_costs
    family = f"bounded:0,1{('', ',4', ',1')[rng.integers(3)]}" if rng.integers(4) else "bounded:0/0.3/0.5/1"
    return BanditModel.from_samples(family, rows, costs, lower_is_better=model.lower_is_better)


def draw_tolerant(rng: np.random.Generator, model: BanditModel) -> tuple[BanditModel, Task]:
    """A task with a tolerance for a model, whose means are near each other then."""
    arms, given, lower = len(model.means), np.array(model.means), bool(rng.integers(4) == 0)
    means = np.round(given.mean() + rng.choice([0.0, 0.1, 1.0]) * (given - given.mean()), 2)
    means = means if model.family.mean_space.low < min(means) else given
    number = f"~{float(np.round(rng.uniform(0.1, 0.6) * min(max(np.ptp(means), 0.2), 1.0), 2)) or 0.05}"
    rest = ",".join(map(str, range(2, arms)))
    words = ["best-arm", "best-arm", "top-arms:2", "comparisons:0-1,1-2", "comparisons:0-1+0.1"]
    words += ["ranking"] if arms < 6 else []
    words += [f"groups:0,1/{rest}"] if arms > 3 else []
    costs = "gaps" if model.cost_rule == "gaps" else model.given_costs
    model = BanditModel(model.family, means.tolist(), costs, lower_is_better=lower)
    if rng.integers(6) == 0:
        return model, read_custom(f"custom{number}", [[(0, 1), (0, 2)], [(1, 0), (1, 2)], [(2, 0), (2, 1)]])
    return model, parse_task(words[rng.integers(len(words))] + number, lower_is_better=lower)


def draw_stated(rng: np.random.Generator, model: BanditModel, kind: str) -> tuple[BanditModel, Task]:
    """A task of a kind for a model, and the model as it has to be for it: numbers are short, so that empirical means
    of discrete families tie with them."""
    means, arms = np.array(model.means), len(model.means)
    low, high, *_ = model.family.mean_space
    level = float(np.round(rng.choice(means) + 0.1 * np.ptp(means), 1))
    level = level if low < level < high else (0.5 if high == 1.0 else 1.0)
    margin = max(0.1, float(np.round(rng.uniform(0.0, 0.6) * min(np.ptp(means), 1.0), 1)))
    control, signed = int(rng.integers(arms)), f"{'+-'[rng.integers(2)]}{margin}"
    if kind == "ratio":
        kind = kind if model.family.has_ratios else "control"
    if kind == "lower":
        text = (f"above:{level}", "best-arm", "ranking", f"control:{control}{signed}", "top-arms:2")[rng.integers(5)]
        costs = "gaps" if model.cost_rule == "gaps" else model.given_costs
        model = BanditModel(model.family, model.given_means, costs, lower_is_better=True)
        return model, parse_task(text, lower_is_better=True)
    if kind == "levels":
        a, b = (int(arm) for arm in rng.choice(arms, 2, replace=False))
        return model, Custom(
            [
                [f"{a} > {level}", f"{b} > {level}"],
                [f"{a} > {level}", f"{b} < {level}"],
                [f"{a} < {level}", f"{a} > {b} {signed[0]} {margin}"],
                [f"{a} < {level}", f"{b} > {a} {'-' if signed[0] == '+' else '+'} {margin}"],
            ]
        )
    texts = {
        "above": f"above:{level}",
        "control": f"control:{control}{signed}",
        "ratio": f"control:{control}*{rng.choice([0.5, 0.9, 1.1, 2.0])}",
        "comparisons": f"comparisons:{control}-{(control + 1) % arms}{signed},{control}-{(control + 2) % arms}",
        "cheapest-above": f"cheapest:above:{level}",
        "cheapest-control": f"cheapest:control:{int(np.argmax(model.costs))}-{margin}",
    }
    return model, pose_task(model, texts[kind])


def draw_case(number: int, discrete: bool = False, policy: str = "caet", kind: str | None = None) -> Case:
    """Run ``number`` of a policy, drawn from this number alone; with ``discrete`` of families whose means tie, by
    D-tracking; of a kind of task, if that is given."""
    rng = np.random.default_rng([9, number])

    def pick(*values: object) -> str:
        return str(values[rng.integers(len(values))])

    family, task = (
        pick(*(DISCRETE if discrete else FAMILIES)),
        pick(*covered_tasks(policy), *(() if POLICIES[policy].covered else (*STATED, TOLERANT))),
    )
    in_range = kind == RANGE
    family, kind = ("bernoulli", None) if in_range else (family, kind)
    source, arms, task = pick("known", "observed", "gaps"), int(pick(3, 3, 4, 5, 9)), kind or task
    source = "known" if task.startswith("cheapest") else source
    model, posed = ordinary_instance(rng, family, "best-arm" if task in (*STATED, TOLERANT) else task, arms)
    if source == "gaps":
        model = BanditModel(model.family, model.means, "gaps")
    if task in STATED:
        model, posed = draw_stated(rng, model, task)
    if task == TOLERANT:
        model, posed = draw_tolerant(rng, model)
    if in_range:
        model = spread_out(rng, model)
    level, tracking = float(pick(1, 3, 10, 30)), "d" if discrete else pick("c", "d")
    return Case(
        number,
        model,
        posed,
        Parameters(
            log_inv_delta=level,
            policy=policy,
            tracking=tracking,  # type: ignore[arg-type]
            cost_source=source,  # type: ignore[arg-type]
            threshold="e-process" if in_range else pick(*THRESHOLDS),
            cost_distribution=pick("constant", "exponential", "uniform") if source == "observed" else "constant",
            zero_cost_share=float(pick(0.3, 0.9)),
            solve=pick("exact", "lazy", "lazy:0.05"),
            batch=pick_batch(pick("1", "1", "7", "growing")),
        ),
        int(pick(BLOCK, 8)),
        tuple(rng.integers(1, 100, 2).tolist()),
    )


def pick_batch(word: str) -> float | str:
    """A batch as `Parameters` takes it."""
    return word if word == "growing" else float(word)


@contextmanager
def without_compiled() -> Iterator[None]:
    """As in a process that has no compiled code, and compiles none, not even for a run that asks for it."""
    with (
        patch.object(compiling, "_loaded", {}),
        patch.object(native, "_compiled", None),
        native.without_compiling(),
        patch.object(loops, "compile_rounds"),
    ):
        yield
        assert not compiling._loaded


def follow(case: Case, compiled: bool) -> End:
    """A run by compiled code, or without any."""
    return go_through(case, itertools.repeat(compiled))


def start(case: Case) -> tuple[Explorer, ArmStreams]:
    """The explorer of a run before its first round, and its outcomes."""
    model, given = case.model, case.parameters
    costs = model.costs if given.cost_source == "known" else None
    truth = characteristic_time(model, case.task) if POLICIES[given.policy].needs_truth else None
    explorer = Explorer(case.task, model.family, len(model.means), given, costs, seed=case.number, truth=truth)
    return explorer, ArmStreams(model, np.random.SeedSequence(case.number), given.cost_distribution, case.block)


def go_through(case: Case, ways: Iterable[bool]) -> End:
    """The stretches of a run one after the other, each compiled or not, and how they end."""
    explorer, streams = start(case)
    in_batches = isinstance(explorer.policy, IndexPolicy) and case.parameters.batch_rule != (1.0, 0.0)
    stopped, failure = False, ""
    compile_run(explorer)
    try:
        for rounds, compiled in zip(case.stretches, ways, strict=False):
            with nullcontext() if compiled else without_compiled():
                stopped = (run_in_batches if in_batches else run)(explorer, streams, rounds)
    except SolverError as error:
        failure = str(error)
    return End(explorer.state, stopped, failure, arrays_of(explorer.view))


def arrays_of(view: Seen) -> dict[str, bytes]:
    """What is seen, without the space that a solver works in."""
    found = {name: getattr(view, name) for name in ("arms", "clock", "pairs", "margins", "evidence")}
    if isinstance(view, Pursuit):
        found |= view.aim._asdict()
    return {name: array.tobytes() for name, array in found.items()}


def difference(case: Case) -> str | None:
    """What differs first between the two ways; None when nothing does."""
    one, two = follow(case, compiled=True), follow(case, compiled=False)
    for name, found, expected in zip(End._fields, one, two, strict=True):
        if found != expected and name != "arrays":
            return f"{name} {found!r}, not {expected!r}"
    unlike = [name for name, array in one.arrays.items() if array != two.arrays[name]]
    return f"the bits of {', '.join(unlike)}" if unlike else None


def differences(
    numbers: range, discrete: bool = False, policies: Sequence[str] = ("caet",), kind: str | None = None
) -> Iterator[str]:
    """The runs of these numbers, of each policy in turn, that end otherwise, with what differs."""
    for number in numbers:
        case = draw_case(number, discrete, policies[number % len(policies)], kind)
        found = difference(case)
        if found is not None:
            yield f"{case}: {found}"
