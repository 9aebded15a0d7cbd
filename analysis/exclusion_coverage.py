"""Whether what is not excluded has a right answer: python analysis/exclusion_coverage.py [--runs N] [--rounds N]

Experiments of every task and family, three or four arms that are hard to tell apart, sampled by top-two at delta = 0.3,
are looked at after every round. Prints in how many of them the right answer was excluded at some look, over all looks
together, with the Clopper-Pearson interval, and how many answers were left in the end. Status 1 where that is
significantly more often than delta.
"""

import argparse
from typing import Any

import numpy as np

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import pose_task
from caet_opt.common.numbers import table, write_interval
from caet_opt.exploring.explorer import Explorer
from caet_opt.simulating.streams import ArmStreams
from caet_opt.simulating.summary import SIGNIFICANCE, error_interval, tail_probability

DELTA = 0.3

#: Means by family: near together, and the right order known.
MEANS = {
    "gaussian": (0.3, 0.15, 0.0, -0.15),
    "bernoulli": (0.6, 0.55, 0.5, 0.45),
    "poisson": (1.3, 1.15, 1.0, 0.9),
    "exponential": (1.3, 1.15, 1.0, 0.9),
    "gamma:2": (1.3, 1.15, 1.0, 0.9),
    "geometric": (1.3, 1.15, 1.0, 0.9),
}
TASKS = ("best-arm", "ranking", "top-arms:2", "groups:0,1/2,3", "control:1", "comparisons:0-1,2-3")

#: With margins and a level that is between the second mean and the third one.
STATED = ("control:1-0.03", "comparisons:0-1+0.1,2-3-0.1", "above:LEVEL", "cheapest:above:LEVEL")


def follow(family: str, task: str, rounds: int, run: int) -> tuple[bool, int]:
    """Whether the right answer was excluded at some look, and how many answers are left after the last."""
    model, middle = BanditModel(family, MEANS[family], [1.0] * 4), sum(MEANS[family][1:3]) / 2
    posed = pose_task(model, task.replace("LEVEL", f"{middle:.3f}"))
    right = posed.answer(model.exact_means)
    told: dict[str, Any] = {"costs": model.given_costs, "delta": DELTA, "policy": "top-two"}
    explorer = Explorer.start(posed, model.family, arms=4, seed=run, **told)
    streams = ArmStreams(model, np.random.SeedSequence([run, 5]))
    excluded, left = False, 0
    for _ in range(rounds):
        arm = explorer.next_arm()
        explorer.observe(arm, *streams.draw(arm)[:1])
        answers = explorer.not_excluded.answers
        assert answers is not None
        excluded, left = excluded or right not in answers, len(answers)
    return excluded, left


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Whether what is not excluded has a right answer.")
    parser.add_argument("--runs", type=int, default=100, metavar="N", help="of every task and family (100)")
    parser.add_argument("--rounds", type=int, default=200, metavar="N", help="of each run (200)")
    arguments = parser.parse_args()
    rows, bad = [], 0
    for family in MEANS:
        for task in (*TASKS, *STATED):
            found = [follow(family, task, arguments.rounds, run) for run in range(arguments.runs)]
            wrong = sum(excluded for excluded, _ in found)
            interval = write_interval(*error_interval(wrong, wrong, arguments.runs), 3)
            left = f"{np.mean([left for _, left in found]):.3g}"
            rows.append([family, task, str(arguments.runs), f"{wrong / arguments.runs:.3g}", interval, left])
            bad += tail_probability(wrong, arguments.runs, DELTA) < SIGNIFICANCE
    print(table(["family", "task", "runs", "excluded", "95 % interval", "answers left"], rows, left=(0, 1)))
    print(f"delta = {DELTA:g}: significantly more often in {bad} of {len(rows)} rows")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
