"""How much of the allowance for rounding is ever used: python analysis/rounding.py [POINTS] [--seed S] [--workers N]

Certified intervals are widened by proven bounds on rounding (`caet_opt.bandits.families`, `native.bounds` of solving).
This searches for the worst case: random means, ratios, shares, costs and dispersions over the whole range, with what
rounding took from typed decimals, and hill climbing from the worst points found. Every point is compared with ball
arithmetic. Prints, for each family and branch, the largest fraction of the allowance that was ever used; the
status is 1 when it reaches 1. A tenth of the points judge whole certificates, a tenth the rates of margins at their
points and what is proven of their least values, the others single divergences.
"""

import argparse
import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import exp, inf, log10, ulp
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from flint import arb, ctx

from caet_opt.bandits.families import Family, parse_family
from caet_opt.bandits.families.numerics import SERIES_END, UNIT
from caet_opt.kernels.compile import Kernel
from caet_opt.kernels.elimination_order import columns
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.margin_floor import margin_error
from caet_opt.kernels.margin_term import HOLDS
from caet_opt.kernels.native import compiled_kernel
from caet_opt.kernels.records import COLUMN_ROWS, ModelNumbers
from caet_opt.kernels.term import TINY, means_differ
from caet_opt.proving.balls import divergence

FAMILIES = ("gaussian", "bernoulli", "poisson", "exponential", "geometric")
CERTIFICATES = (*FAMILIES, "gaussian:1,2", "gamma:2.5")

#: Those with margins that have terms of their own.
MARGINS = ("bernoulli", "poisson", "exponential", "geometric")

#: What `floor_at` allows beyond the error of the rates.
FLOOR_ERROR = 4.0

#: Bits of a ball: nearly equal means and small shares cancel most of them.
PRECISION = 400

#: Points of the climb that start anew, and how many of the worst points of a branch it climbs from.
FRESH, KEPT = 0.2, 12


class Worst(NamedTuple):
    """The most of the allowance that was used in a branch, and where."""

    family: str
    branch: str
    points: int
    fraction: float
    where: tuple[float, ...]


Point = tuple[float, ...]
Judge = Callable[[Point], tuple[str, float]]


def climb(draw: Callable[[], Point], judge: Judge, points: int, name: str) -> list[Worst]:
    """Random points, and steps from the worst of each branch; the worst of each."""
    kept: dict[str, list[tuple[float, Point]]] = {}
    counts: dict[str, int] = {}
    for _ in range(points):
        point = draw() if not kept or random.random() < FRESH else step(random.choice(kept[random.choice([*kept])])[1])
        branch, fraction = judge(point)
        if not branch:
            continue
        counts[branch] = counts.get(branch, 0) + 1
        best = kept.setdefault(branch, [])
        if len(best) < KEPT or fraction > best[-1][0]:
            best.append((fraction, point))
            best.sort(reverse=True)
            del best[KEPT:]
    return [Worst(name, branch, counts[branch], *best[0]) for branch, best in sorted(kept.items())]


def step(point: Point) -> Point:
    """One coordinate moved by a few units in the last place, or by a factor that is log-uniform in size."""
    values = list(point)
    place = random.randrange(len(values))
    if random.random() < 0.5:
        values[place] += random.randint(-8, 8) * ulp(values[place])
    else:
        values[place] *= exp(random.choice((-1, 1)) * 10.0 ** random.uniform(-12, 0))
    return tuple(values)


def draw_means(family: str) -> tuple[float, float]:
    """Two means from nearly equal to far apart, near the ends of the mean space and in its middle."""
    x = 10.0 ** (random.uniform(-12, 0) if family == "bernoulli" else random.uniform(-12, 12))
    other = x * exp(random.choice((-1, 1)) * 10.0 ** random.uniform(-12, 1.4))
    if family == "bernoulli" and random.random() < 0.5:
        return 1.0 - min(x, 1.0), 1.0 - min(other, 1.0)
    return (-x if family == "gaussian" and random.random() < 0.3 else x), other


def draw_rests() -> tuple[float, float]:
    """What rounding took away from two means, in units in the last place; nothing from half of them."""
    return (random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5)) if random.random() < 0.5 else (0.0, 0.0)


def draw_share() -> float:
    """The smaller share of a pair."""
    return 10.0 ** random.uniform(-12, log10(0.5)) if random.random() < 0.7 else random.uniform(0.0, 0.5)


def is_admissible(family: Family, means: tuple[float, float], rests: tuple[float, float]) -> bool:
    """Whether two means are inside the mean space, also with their rests, and can be told apart."""
    space = family.mean_space
    inside = all(space.low < mean - ulp(mean) and mean + ulp(mean) < space.high for mean in means)
    return inside and max(map(abs, rests)) <= 0.5 and means_differ(*means, *scale(means, rests))


def scale(means: tuple[float, float], rests: tuple[float, float]) -> tuple[float, float]:
    """Rests in units in the last place of their means, as numbers."""
    return rests[0] * ulp(means[0]), rests[1] * ulp(means[1])


def draw_divergence(family: str) -> Point:
    """Two means, their rests, and a share that is the first arm's if negative."""
    return (*draw_means(family), *draw_rests(), random.choice((-1, 1)) * draw_share())


def judge_divergence(family: Family, compute: Callable[..., float], point: Point) -> tuple[str, float]:
    """The branch of a divergence, and its error over the family's bound."""
    x, other, rest, other_rest, small = point
    means, rests = (x, other), (rest, other_rest)
    if not 0.0 < abs(small) <= 0.5 or not is_admissible(family, means, rests):
        return "", 0.0
    rest, other_rest = scale(means, rests)
    large = 1.0 - abs(small)
    shares = (-small, large) if small < 0 else (large, small)
    value = compute(FAMILY_CODES[type(family)], x, other, *shares, rest, other_rest)
    share = 1 - arb(-small) if small < 0 else arb(small)
    true_x, true_other = arb(x) + arb(rest), arb(other) + arb(other_rest)
    m = true_x + share * (true_other - true_x)
    expected = divergence(family, true_x, m)
    error = abs(arb(value) / expected - 1)
    return branch(family, x, float(m)), float(error.upper()) / (family.divergence_error * UNIT)


def branch(family: Family, x: float, m: float) -> str:
    """Which forms of `kl_div` a divergence takes."""

    def form(y: float, z: float) -> str:
        return "series" if abs(z - y) <= SERIES_END * (y + z) else "direct"

    if family.name == "gaussian":
        return "square"
    if family.name == "bernoulli":
        return f"{form(x, m)}, {form(1.0 - x, 1.0 - m)}"
    if family.name == "geometric":
        return f"{form(1.0, (1.0 + x) / (1.0 + m))}, {form(x, m * (1.0 + x) / (1.0 + m))}"
    return form(x, m)


def draw_certificate(family: str) -> Point:
    """Means and rests, log-efforts and costs of two arms, and what rounding took from costs and dispersions."""
    efforts = [10.0 ** random.uniform(-6, 6) for _ in range(2)]
    costs = [10.0 ** random.uniform(-6, 6) for _ in range(2)]
    return (*draw_means(family), *draw_rests(), *efforts, *costs, *(random.uniform(-1, 1) for _ in range(4)))


def judge_certificate(family: Family, certify: Callable[..., Any], side: int, point: Point) -> tuple[str, float]:
    """One bound of a certificate, and its error over the allowance by which it was widened."""
    means, rests, effort, costs, lost = point[:2], point[2:4], point[4:6], point[6:8], point[8:]
    if not (is_admissible(family, means, rests) and min(*effort, *costs) > 1e-9 and max(map(abs, lost)) <= 1.0):  # type: ignore[arg-type]
        return "", 0.0
    rests = scale(means, rests)  # type: ignore[arg-type]
    phi = family.dispersions(2)
    space = family.mean_space
    numbers = (np.array(means), np.array(rests), np.array(costs), phi)
    given = ModelNumbers(FAMILY_CODES[type(family)], family.divergence_error, space.low, space.high, *numbers)
    pairs = columns([(0, 1)], 2)
    value, lower, upper = certify(
        given, pairs, np.zeros((COLUMN_ROWS, 0)), np.array(effort), np.ones(1), np.zeros((2, 2))
    )
    if not (lower > 0.0 and upper < inf):  # near the ends of double precision, where nothing is proven
        return "", 0.0
    true_means = [arb(mean) + arb(rest) for mean, rest in zip(means, rests, strict=True)]
    true_costs = [arb(cost) * (1 + arb(d) * UNIT) for cost, d in zip(costs, lost[:2], strict=True)]
    dispersed = any(float(p) != 1.0 for p in phi)
    true_phi = [arb(float(p)) * (1 + arb(d) * UNIT * dispersed) for p, d in zip(phi, lost[2:], strict=True)]
    weights = [arb(w) / p for w, p in zip(effort, true_phi, strict=True)]
    if side:
        m = (weights[0] * true_means[0] + weights[1] * true_means[1]) / (weights[0] + weights[1])
        rates = [divergence(family, mean, m) / p for mean, p in zip(true_means, true_phi, strict=True)]
        exact = sum(c * w for c, w in zip(true_costs, effort, strict=True)) / sum(
            d * w for d, w in zip(rates, effort, strict=True)
        )
        return "upper bound", used_fraction(exact - arb(value), upper - value)
    raw = float(lower) / (1.0 - (family.divergence_error + 8.0 + 2.0 * dispersed) * UNIT)
    small = min(effort[0] / phi[0], effort[1] / phi[1]) / (effort[0] / phi[0] + effort[1] / phi[1])
    share = arb(float(small)) if effort[1] / phi[1] <= effort[0] / phi[0] else 1 - arb(float(small))
    m = true_means[0] + share * (true_means[1] - true_means[0])
    rates = [divergence(family, mean, m) / p for mean, p in zip(true_means, true_phi, strict=True)]
    exact = 1 / max(rate / cost for rate, cost in zip(rates, true_costs, strict=True))
    return "lower bound", used_fraction(arb(raw) - exact, raw - lower)


def draw_margin(family: str) -> Point:
    """Means and rests, a margin from nearly a tie to nearly the whole mean space, its rest, and the efforts' ratio."""
    means = draw_means(family)
    gap = means[0] - means[1]
    near = gap - abs(gap) * 10.0 ** random.uniform(-12, 0)
    margin = random.choice((near, near, -max(means) * 10.0 ** random.uniform(-12, 0), gap * random.uniform(-1, 1)))
    return (*means, *draw_rests(), margin, random.uniform(-0.5, 0.5), 10.0 ** random.uniform(-12, 12))


def judge_margin(family: Family, kernel: Kernel, side: int, point: Point) -> tuple[str, float]:
    """The larger error of the two rates of a margin at its point over what is proven; on the other side, how much
    rounding takes of what the floor was lowered by, held against the term at that point, which is not below the least
    value."""
    (x, y, rest_x, rest_y, margin, lost, heavier), code = point, FAMILY_CODES[type(family)]
    if not is_admissible(family, (x, y), (rest_x, rest_y)) or not 1e-15 < heavier < 1e15 or abs(lost) > 0.5:
        return "", 0.0
    numbers = (x, y, *scale((x, y), (rest_x, rest_y)), margin, lost * ulp(margin))
    if margin == 0.0 or kernel["statement_side"](*numbers, 1.0, 0.0) != HOLDS:
        return "", 0.0
    if not kernel["margin_frame"](code, *numbers)[1] > 0.0:
        return "", 0.0
    first, _ = kernel["margin_bends"](code, *numbers)
    _, da, db, _, odds = kernel["margin_term"](code, heavier, 1.0, *numbers, 0.0, first)
    if not (kernel["is_resolved"](code, *numbers, odds) and min(da, db) >= TINY and 0.0 < odds < inf):
        return "", 0.0
    mean_a, mean_b, beyond = (arb(numbers[k]) + arb(numbers[k + step]) for k, step in ((0, 2), (1, 2), (4, 1)))
    start, end = mean_b + beyond, mean_a
    start = start if start > 0 else arb(0)
    if family.name == "bernoulli" and beyond < 0 and 1 + beyond < end:
        end = 1 + beyond
    small = min(kernel["shares_of"](odds))
    at = start + arb(small) * (end - start) if odds <= 1.0 else end - arb(small) * (end - start)
    true_a, true_b = divergence(family, mean_a, at), divergence(family, mean_b, at - beyond)
    sign = "+" if margin > 0.0 else "-"
    if side == 0:
        worst = max(float(abs(arb(rate) / true - 1).upper()) for rate, true in ((da, true_a), (db, true_b)))
        return f"rates, margin {sign}", worst / (margin_error(code) * UNIT)
    floor = kernel["margin_floor"](code, heavier, 1.0, *numbers, 0.0, 1.0)
    if not 0.0 < floor < inf:
        return "", 0.0
    over = arb(floor) / (arb(heavier) * true_a + true_b) - 1
    allowed = (margin_error(code) + FLOOR_ERROR) * UNIT
    return f"floor, margin {sign}", max(1.0 + float(over.upper()) / allowed, 0.0)


def used_fraction(error: Any, allowance: float) -> float:
    """The fraction of the allowance that an error takes."""
    return float(error.upper()) / allowance


def search(points: int, seed: int, name: str, kind: str) -> list[Worst]:
    """Search one family, in a worker."""
    random.seed(f"{seed} {name} {kind}")
    family, kernel = parse_family(name), compiled_kernel()
    with ctx.workprec(PRECISION):
        if kind == "divergence":
            judge = partial(judge_divergence, family, kernel["mixture_divergence"])
            return climb(partial(draw_divergence, name), judge, points, name)
        if kind == "margin":
            judges = [partial(judge_margin, family, kernel, side) for side in (0, 1)]
            draw = partial(draw_margin, family.name)
        else:
            judges = [partial(judge_certificate, family, kernel["certify_pairs"], side) for side in (0, 1)]
            draw = partial(draw_certificate, family.name)
        return [worst for judge in judges for worst in climb(draw, judge, points // 2, name)]


def main() -> int:
    """Search, print, and return 1 when an allowance was exceeded."""
    parser = argparse.ArgumentParser(description="The largest fraction of the allowance for rounding ever used.")
    parser.add_argument("points", nargs="?", type=int, default=20_000_000, metavar="POINTS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    compiled_kernel()
    started = perf_counter()
    jobs = [(0.8 / len(FAMILIES), name, "divergence") for name in FAMILIES]
    jobs += [(0.1 / len(MARGINS), name, "margin") for name in MARGINS]
    jobs += [(0.1 / len(CERTIFICATES), name, "certificate") for name in CERTIFICATES]
    with ProcessPoolExecutor(arguments.workers) as pool:
        waiting = [pool.submit(search, int(part * arguments.points), arguments.seed, *job) for part, *job in jobs]
        found = [worst for future in waiting for worst in future.result()]
    print(f"{'family':<14} {'branch':<16} {'points':>10}  largest fraction of the allowance used")
    for worst in found:
        print(f"{worst.family:<14} {worst.branch:<16} {worst.points:>10}  {worst.fraction:.3f}  at {worst.where}")
    largest = max(worst.fraction for worst in found)
    total = sum(worst.points for worst in found)
    print(f"{total} points, largest fraction {largest:.3f} ({perf_counter() - started:.0f} s)")
    return int(largest >= 1.0)


if __name__ == "__main__":
    sys.exit(main())
