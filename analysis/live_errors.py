"""Error rates of live experiments with workers: python analysis/live_errors.py [--runs N] [--workers N] [--hard]

Eight workers share an experiment: each takes a pull, is away for a random time, and records its outcome, so that
outcomes come in any order; one in twenty never comes back, and its pull stays out for ever. Delays and losses do not
depend on the outcomes. Every policy that covers the task runs on a Bernoulli model with costs, and counts what is out;
with ``--hard`` on two arms that are nearly tied, where errors are likeliest, at delta = 0.3. A run that has not stopped
after `MOST` outcomes is no error. Exit status 1 when a rate is not consistent with delta.
"""

import argparse
import heapq
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from caet_opt.common.numbers import table
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.policies import POLICIES
from caet_opt.live.replay import absorb_outcome, has_ended
from caet_opt.simulating.pool import cores
from caet_opt.simulating.summary import SIGNIFICANCE, tail_probability


class Case(NamedTuple):
    """Means and costs of Bernoulli arms, of which the first is the best, and delta."""

    means: tuple[float, ...]
    costs: tuple[float, ...]
    delta: float


EASY = Case((0.8, 0.5, 0.3), (1.0, 2.0, 0.5), 0.1)
HARD = Case((0.505, 0.5), (1.0, 1.0), 0.3)

WORKERS, LOST, MOST, RUNS = 8, 0.05, 600, 200


def run_once(case: Case, policy: str, run: int) -> tuple[bool, bool, int]:
    """Whether one experiment stopped, whether its answer was wrong, and after how many outcomes."""
    rng, arms = np.random.default_rng([run, 23]), len(case.means)
    explorer = Explorer.start(
        "best-arm", "bernoulli", arms=arms, costs=case.costs, delta=case.delta, policy=policy, seed=run
    )
    pending: dict[int, int] = {}
    away: list[tuple[float, int]] = []
    clock, number = 0.0, 0
    while explorer.state.round < MOST:
        while len(away) < WORKERS:
            (pending[number],) = explorer.next_arms(1, list(pending.values()))
            if rng.random() >= LOST:
                heapq.heappush(away, (clock + rng.exponential(), number))
            number += 1
        clock, returned = heapq.heappop(away)
        arm = pending.pop(returned)
        absorb_outcome(explorer, arm, float(rng.random() < case.means[arm]), None)
        if has_ended(explorer):
            return True, explorer.answer != 0, explorer.state.round
    return False, False, MOST


def main() -> int:
    """Run every policy, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"experiments per policy ({RUNS})")
    parser.add_argument("--workers", type=int, default=cores(), help="processes (one per core)")
    parser.add_argument("--hard", action="store_true", help="two arms that are nearly tied, at delta = 0.3")
    parser.add_argument("--policy", help="only this one")
    arguments = parser.parse_args()
    case = HARD if arguments.hard else EASY
    names = [name for name, policy in POLICIES.items() if not policy.needs_truth]
    rows, bad = [], False
    with ProcessPoolExecutor(arguments.workers) as pool:
        for name in [arguments.policy] if arguments.policy else names:
            found = list(pool.map(partial(run_once, case, name), range(arguments.runs), chunksize=5))
            errors, stopped = sum(wrong for _, wrong, _ in found), sum(done for done, _, _ in found)
            chance = tail_probability(errors, arguments.runs, case.delta)
            bad = bad or chance < SIGNIFICANCE
            mean = float(np.mean([outcomes for _, _, outcomes in found]))
            rate = errors / arguments.runs
            rows.append([name, str(arguments.runs), str(stopped), f"{mean:.0f}", f"{rate:.4f}", f"{chance:.3g}"])
    print(f"delta = {case.delta:g}, {WORKERS} workers, {100 * LOST:g} % of the outcomes never come")
    print(table(("policy", "runs", "stopped", "mean outcomes", "error rate", "p-value"), rows))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
