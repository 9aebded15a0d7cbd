"""Proven digits against double precision: python analysis/proven_digits.py [MODELS] [--digits N] [--seed S]
[--forgeries N]

Random models of every family and task, 2 to 10 arms. The model's doubles are taken at their exact binary values, so
that both answers are about the same numbers, and every proven interval must lie inside the one that the double's
answer certifies. The certificate of each proof is checked. Prints the counts and the time per model.

With --forgeries, certificates of levels, margins and ratios are forged so many times instead: a margin, level, ratio,
direction, point, weight or input is changed, and everything that follows from it made to fit. Prints how many were
accepted.
"""

import argparse
import sys
from fractions import Fraction
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

from caet_opt.kernels.native import compiled_kernel
from caet_opt.proving.certificates import certificate
from caet_opt.proving.check import Rejected, canonical_json, check
from caet_opt.proving.prove import proven_time
from caet_opt.solving.characteristic import characteristic_time
from cases.forging import is_accepted, random_forgery, stated_certificates
from cases.instances import FAMILIES, TASKS, of_doubles, ordinary_instance


class Outcome(NamedTuple):
    """What happened to one model: times are those of the proof and of checking its certificate."""

    kind: str
    inside: bool
    accepted: bool
    prove_seconds: float
    check_seconds: float


def attempt(seed: int, index: int, digits: int) -> Outcome:
    """Solve one model in double precision, prove it, and check the certificate."""
    rng = np.random.default_rng([seed, index])
    family, task_name = FAMILIES[index % len(FAMILIES)], TASKS[index // len(FAMILIES) % len(TASKS)]
    drawn, task = ordinary_instance(rng, family, task_name, int(rng.integers(2, 11)))
    model = of_doubles(drawn)
    double = characteristic_time(model, task)
    started = perf_counter()
    proven = proven_time(model, task, digits)
    proved = perf_counter()
    document = certificate(proven)
    written = perf_counter()
    try:
        check(document)
        accepted = True
    except Rejected:
        accepted = False
    inside = Fraction(double.lower) <= proven.lower <= proven.upper <= Fraction(double.upper)
    return Outcome(f"{family} {task_name}", inside, accepted, proved - started, perf_counter() - written)


def forge(seed: int, times: int) -> int:
    """Try forgeries of certificates with statements, and print how many were accepted; exit status 1 for any."""
    rng, genuine, started = np.random.default_rng(seed), stated_certificates(), process_time()
    accepted = []
    for _ in range(times):
        document = random_forgery(rng, genuine)
        if is_accepted(document):
            accepted.append(document)
    print(f"genuine certificates                {len(genuine)}, {sum(map(is_accepted, genuine))} accepted")
    print(f"forgeries                           {times} (seed {seed}), {len(accepted)} accepted")
    print(f"processor time                      {process_time() - started:.0f} s")
    for document in accepted[:5]:
        print(f"accepted: {canonical_json(document)}")
    return 1 if accepted else 0


def main() -> int:
    """Run the study; exit status 1 when an interval is not inside or a certificate is rejected."""
    parser = argparse.ArgumentParser(description="Proven digits against double precision.")
    parser.add_argument("models", nargs="?", type=int, default=100, metavar="MODELS")
    parser.add_argument("--digits", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forgeries", type=int, metavar="N", help="forge certificates with statements so many times")
    arguments = parser.parse_args()
    if arguments.forgeries is not None:
        return forge(arguments.seed, arguments.forgeries)
    compiled_kernel()
    found = [attempt(arguments.seed, index, arguments.digits) for index in range(arguments.models)]
    inside, accepted = sum(outcome.inside for outcome in found), sum(outcome.accepted for outcome in found)
    proving = 1e3 * np.array([outcome.prove_seconds for outcome in found])
    checking = 1e3 * np.array([outcome.check_seconds for outcome in found])
    print(f"models                              {len(found)} (seed {arguments.seed}, {arguments.digits} digits)")
    print(f"inside the double's interval        {inside}")
    print(f"certificates accepted               {accepted}")
    print(f"solve and prove, ms per model       median {np.median(proving):.1f}, largest {np.max(proving):.1f}")
    print(f"check the certificate, ms per model median {np.median(checking):.1f}, largest {np.max(checking):.1f}")
    for index, outcome in enumerate(found):
        if not (outcome.inside and outcome.accepted):
            print(f"failed: [{arguments.seed}, {index}] {outcome.kind}")
    return 0 if inside == accepted == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
