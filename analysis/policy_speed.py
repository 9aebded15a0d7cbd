"""Rounds per second of every policy: python analysis/policy_speed.py [--quick] [--family NAME]

One core, compiled, best arm of K equally spaced arms with unit costs, in the thick of a run that does not
stop: what each policy costs beside CAET, which solves exactly in every round.
"""

import argparse
import sys
from time import perf_counter

import numpy as np

from caet_opt.bandits.families import parse_family
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import BestArm
from caet_opt.common.numbers import table
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.policies import POLICIES
from caet_opt.exploring.settings import Parameters
from caet_opt.simulating.runs import compile_run, run
from caet_opt.simulating.streams import ArmStreams
from caet_opt.solving.characteristic import characteristic_time

#: log(1/delta) is so many times what the rounds can reach at T*, so that no run stops.
MARGIN = 4.0

#: Numbers of arms, with the rounds of a stretch.
SIZES = {3: 40_000, 10: 20_000, 50: 5_000}


def rate(policy: str, family: str, arms: int, rounds: int, stretches: int) -> float:
    """The median rounds per second of some stretches."""
    model = BanditModel(parse_family(family), np.linspace(0.7, 0.3, arms).tolist(), [1.0] * arms)
    truth = characteristic_time(model, BestArm())
    level = MARGIN * (300 * arms + rounds * stretches) / truth.value
    parameters = Parameters(log_inv_delta=level, threshold="customary", policy=policy)
    explorer = Explorer("best-arm", model.family, arms, parameters, model.costs, seed=1, truth=truth)
    streams = ArmStreams(model, np.random.SeedSequence(1))
    compile_run(explorer)
    run(explorer, streams, 300 * arms)
    rates = []
    for _ in range(stretches):
        started = perf_counter()
        run(explorer, streams, rounds)
        rates.append(rounds / (perf_counter() - started))
    assert not explorer.stopped
    return float(np.median(rates))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Rounds per second of every policy.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter stretches")
    parser.add_argument("--family", default="gaussian", help="of the rewards (gaussian)")
    arguments = parser.parse_args()
    scale, stretches = (1, 5) if arguments.quick else (5, 9)
    rows, first = [], dict[int, float]()
    for policy in POLICIES:
        cells = []
        for arms, rounds in SIZES.items():
            found = rate(policy, arguments.family, arms, rounds * scale, stretches)
            first.setdefault(arms, found)
            cells += [f"{found:,.0f}", f"{found / first[arms]:.1f}"]
        rows.append([policy, *cells])
    headers = ["policy", *(text for arms in SIZES for text in (f"K = {arms}", "times caet"))]
    print(table(headers, rows, left=(0,)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
