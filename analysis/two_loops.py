"""The compiled loop against the reference loop: python analysis/two_loops.py [--runs N] [--policy P] [--discrete]

Short random runs over policies, families, tasks, sources of costs, tracking rules, thresholds and deltas, each by both
loops. Whole states are compared, bit for bit: counts, sums, what the policy remembers and the cost. Prints every run
that differs, which is status 1.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from instances import FAMILIES, TASKS, ordinary_instance

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import TASKS as KINDS
from caet_opt.bandits.tasks import Task
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.policies import POLICIES
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.simulating.loops import run_compiled, run_reference
from caet_opt.simulating.streams import BLOCK, ArmStreams
from caet_opt.solving.characteristic import characteristic_time

#: Families whose empirical means tie, so that answers change often and arms tie in their lag.
DISCRETE = ("bernoulli", "poisson", "geometric")

#: Fields of a state, in the order in which a difference is told.
FIELDS = ("round", "counts", "reward_sums", "reward_rests", "cost_sums", "total_cost", "memory")


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


def draw_case(number: int, discrete: bool = False, policy: str = "caet") -> Case:
    """Run ``number`` of a policy, drawn from this number alone; with ``discrete`` of families whose means tie, by
    D-tracking."""
    rng = np.random.default_rng([9, number])

    def pick(*values: object) -> str:
        return str(values[rng.integers(len(values))])

    family, task = pick(*(DISCRETE if discrete else FAMILIES)), pick(*covered_tasks(policy))
    source, arms = pick("known", "observed", "gaps"), int(pick(3, 3, 4, 5, 9))
    model, posed = ordinary_instance(rng, family, task, arms)
    if source == "gaps":
        model = BanditModel(model.family, model.means, "gaps")
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
            threshold=pick(*THRESHOLDS),
            cost_distribution=pick("constant", "exponential", "uniform") if source == "observed" else "constant",
            zero_cost_share=float(pick(0.3, 0.9)),
            solve=pick("exact", "lazy", "lazy:0.05"),
            batch=1 if issubclass(POLICIES[policy], IndexPolicy) else pick_batch(pick("1", "1", "7", "growing")),
        ),
        int(pick(BLOCK, 8)),
        tuple(rng.integers(1, 100, 2).tolist()),
    )


def pick_batch(word: str) -> float | str:
    """A batch as `Parameters` takes it."""
    return word if word == "growing" else float(word)


def follow(case: Case, compiled: bool) -> tuple[State, bool]:
    """The state at the end of a run, and whether it stopped."""
    model, given = case.model, case.parameters
    costs = model.costs if given.cost_source == "known" else None
    truth = characteristic_time(model, case.task) if POLICIES[given.policy].needs_truth else None
    explorer = Explorer(case.task, model.family, len(model.means), given, costs, seed=case.number, truth=truth)
    streams = ArmStreams(model, np.random.SeedSequence(case.number), given.cost_distribution, case.block)
    loop, stopped = run_compiled if compiled else run_reference, False
    for rounds in case.stretches:
        stopped = loop(explorer, streams, rounds)
    return explorer.state, stopped


def difference(case: Case) -> str | None:
    """What differs first between the two loops; None when nothing does."""
    (one, one_stopped), (two, two_stopped) = follow(case, compiled=True), follow(case, compiled=False)
    for name in FIELDS:
        found, expected = getattr(one, name), getattr(two, name)
        if found != expected:
            return f"{name} {found!r}, not {expected!r}"
    return None if one_stopped == two_stopped else f"stopped {one_stopped}, not {two_stopped}"


def differences(numbers: range, discrete: bool = False, policies: Sequence[str] = ("caet",)) -> Iterator[str]:
    """The runs of these numbers, of each policy in turn, in which the loops differ, with what differs."""
    for number in numbers:
        case = draw_case(number, discrete, policies[number % len(policies)])
        found = difference(case)
        if found is not None:
            yield f"{case}: {found}"


def main() -> int:
    """Compare, print what differs."""
    parser = argparse.ArgumentParser(description="The compiled loop against the reference loop.")
    parser.add_argument("--runs", type=int, default=10_000, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first run (0)")
    parser.add_argument("--policy", choices=POLICIES, help="of all runs (all in turn)")
    parser.add_argument("--discrete", action="store_true", help="families whose means tie, by D-tracking")
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.runs)
    policies = [arguments.policy] if arguments.policy else list(POLICIES)
    unlike = 0
    for line in differences(numbers, arguments.discrete, policies):
        print(line, flush=True)
        unlike += 1
    print(f"{arguments.runs} runs, {unlike} differ")
    return 1 if unlike else 0


if __name__ == "__main__":
    raise SystemExit(main())
