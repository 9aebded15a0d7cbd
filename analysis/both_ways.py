"""Interpreted runs against compiled ones: python analysis/both_ways.py [--runs N] [--policy P] [--kind K] [--discrete]

Random runs as `cases/runs.py` draws them, each once by compiled code and once without any. Prints every run that
differs in a bit, which is status 1.
"""

import argparse

from caet_opt.exploring.policies import POLICIES
from cases.runs import RANGE, STATED, TOLERANT, differences


def main() -> int:
    """Compare, print what differs."""
    parser = argparse.ArgumentParser(description="Interpreted runs against compiled ones.")
    parser.add_argument("--runs", type=int, default=10_000, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first run (0)")
    parser.add_argument("--policy", choices=POLICIES, help="of all runs (all in turn)")
    parser.add_argument("--discrete", action="store_true", help="families whose means tie, by D-tracking")
    parser.add_argument("--kind", choices=(*STATED, TOLERANT, RANGE), help="of all tasks, for policies that cover it")
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.runs)
    policies = [arguments.policy] if arguments.policy else list(POLICIES)
    policies = [name for name in policies if arguments.kind is None or POLICIES[name].covered is None]
    policies = [name for name in policies if arguments.kind != RANGE or not POLICIES[name].by_means]
    unlike = 0
    for line in differences(numbers, arguments.discrete, policies, arguments.kind):
        print(line, flush=True)
        unlike += 1
    print(f"{arguments.runs} runs, {unlike} differ")
    return 1 if unlike else 0


if __name__ == "__main__":
    raise SystemExit(main())
