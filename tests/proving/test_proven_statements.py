"""Proven digits of statements: levels, margins and ratios, against numbers that were computed in other ways."""

import json
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from inverse_gaussian import InverseGaussian

from caet_opt import BanditModel, Custom, Exponential, InputError, TieError, characteristic_time, proven_time
from caet_opt.bandits.tasks import parse_task
from caet_opt.proving import check as checker
from caet_opt.proving.balls import working_precision
from caet_opt.proving.certificates import certificate
from caet_opt.proving.floor import Boundary, is_one_or_more
from caet_opt.proving.problem import pose_exactly
from cases.forging import STATED, is_accepted, restate, sign

#: T* to the digits that are known from elsewhere.
KNOWN = (
    ("bernoulli", [0.2, 0.45, 0.7], [1, 2, 0.5], "above:0.5", "410.59657735948"),
    ("bernoulli", [0.8, 0.86], [0.006, 0.03], "control:1-0.1", "9.7500401845439"),
    ("exponential", [2, 1.2, 0.7], [1, 1, 3], "control:1+0.1", "63.054247495882"),
    ("poisson", [7, 5, 4], [1, 2, 1], "control:0-1.5", "277.17345972143"),
    ("exponential", [5, 0.03], [3.455, 1], "comparisons:0-1+1", "1.8226"),
)

DIVERGENCES = {
    "gaussian": lambda x, y: (x - y) ** 2 / 2,
    "bernoulli": lambda x, y: x * mpmath.log(x / y) + (1 - x) * mpmath.log((1 - x) / (1 - y)),
    "poisson": lambda x, y: x * mpmath.log(x / y) + y - x,
    "exponential": lambda x, y: x / y - 1 - mpmath.log(x / y),
    "gamma:2.5": lambda x, y: mpmath.mpf("2.5") * (x / y - 1 - mpmath.log(x / y)),
    "geometric": lambda x, y: x * mpmath.log(x / y) - (1 + x) * mpmath.log((1 + x) / (1 + y)),
}


def prove(family, means, costs, task, digits=20):
    task = parse_task(task) if isinstance(task, str) else task
    return proven_time(BanditModel(family, means, costs, lower_is_better=task.lower_is_better), task, digits)


@pytest.mark.parametrize(("family", "means", "costs", "task", "known"), KNOWN)
def test_references_to_twenty_digits(family, means, costs, task, known):
    proven = prove(family, means, costs, task)
    assert f"{Decimal(proven.value):.{len(known.partition('.')[2])}f}" == known
    assert proven.gap <= Fraction(1, 10**20)
    assert checker.check(certificate(proven))


@pytest.mark.parametrize("margin", ["0.05", "-0.05", "-0.2"])
@pytest.mark.parametrize("family", DIVERGENCES)
def test_two_arms_with_a_margin(family, margin):
    """At the optimum one point has ``q d(mu_a, x) = c_a`` and ``q d(mu_b, x - e) = c_b``, so that q = T*."""
    means, costs = ["0.7", "0.4"], [2, 3]
    proven = prove(family, list(map(Fraction, means)), costs, f"comparisons:0-1{'+' * (margin > '0')}{margin}", 30)
    with mpmath.workdps(60):
        (mua, mub), e, d = map(mpmath.mpf, means), mpmath.mpf(margin), DIVERGENCES[family]
        ends = max(mub + e, 0) + mpmath.mpf(10) ** -40, mua - mpmath.mpf(10) ** -40
        x = mpmath.findroot(lambda x: d(mua, x) / 2 - d(mub, x - e) / 3, ends, solver="anderson", tol=1e-90)
        time = 2 / d(mua, x)
        assert abs(mpmath.mpf(proven.value) / time - 1) < mpmath.mpf(10) ** -29


@pytest.mark.parametrize(("family", "factor"), [("exponential", 1), ("gamma:2.5", 1), ("poisson", "1.3")])
def test_a_ratio_is_a_scaled_arm(family, factor):
    """``d(y, z)`` is ``d(1.3 y, 1.3 z)``, for Poisson divided by 1.3: a loser of mean 1.3 y that costs 1.3 as much."""
    asked = prove(family, [7, 4], [2, 3], "comparisons:0-1*1.3")
    scaled = prove(family, [7, Fraction("5.2")], [2, 3 * Fraction(factor)], "best-arm")
    assert asked.value == scaled.value


def test_the_kink_has_two_points_that_carry_weight():
    """Both minima are active: F = 1 and F' = 0 at two points, four equations for two efforts and two points."""
    proven = prove("exponential", [5, Fraction("0.03")], [Fraction("3.455"), 1], "comparisons:0-1+1", 40)
    ((first, second),) = proven.weights
    assert min(first, second) > 0
    d = DIVERGENCES["exponential"]
    with mpmath.workdps(60):
        c, b = mpmath.mpf("3.455"), mpmath.mpf("0.03")

        def conditions(wa, wb, x, z):
            def slope(p):
                return -wa * (5 - p) / p**2 + wb * (p - 1 - b) / (p - 1) ** 2

            return [wa * d(5, p) + wb * d(b, p - 1) - 1 for p in (x, z)] + [slope(x), slope(z)]

        start = [float(w) for w in proven.effort] + [float(point[0]) for point in proven.points[0]]
        wa, wb, *_ = mpmath.findroot(conditions, start, tol=1e-100)
        assert abs(mpmath.mpf(proven.value) / (c * wa + wb) - 1) < mpmath.mpf(10) ** -39


def test_a_missing_piece_of_the_kink_is_noticed():
    document = certificate(prove("exponential", [5, 0.03], [3.455, 1], "comparisons:0-1+1", 9))
    for gone in (0, 1):
        weights, points = ([[row[1 - gone]] for row in document[key]] for key in ("weights", "points"))
        lower = weights[0][0]
        assert not is_accepted(sign({**document, "weights": weights, "points": points, "lower": lower}))


@pytest.mark.parametrize(
    ("family", "means", "costs", "task"),
    [
        ("poisson", [3, 0], [1, 2], "comparisons:0-1+1"),
        ("geometric", [3, 0], [1, 2], "comparisons:0-1+1"),
        ("bernoulli", [1, 0.5], [1, 2], "comparisons:0-1+0.3"),
        ("bernoulli", [1, 0], [1, 2], "comparisons:0-1+0.3"),
        ("bernoulli", [0.95, 0.96], [1, 100], "control:1-0.1"),
        ("exponential", [2, 1], [1, 50], "comparisons:0-1-3"),
        ("geometric", [0.2, 0.1], [1, 50], "comparisons:0-1-3"),
        ("exponential", [2, 1, 0.4], [1, 0, 1], "control:1-0.3"),
        ("bernoulli", [0.7, 0.9, 0.4], [1, 0, 1], "control:1-0.3"),
        ("bernoulli", [0.7, 0.2], [1, 0], "comparisons:0-1-0.3"),
    ],
)
def test_means_and_levels_at_the_ends(family, means, costs, task):
    """Points at an end of the means, ends that come first, free arms whose level is no mean."""
    proven = prove(family, means, costs, task)
    double = characteristic_time(BanditModel(family, means, costs), task)
    little = Fraction(1, 10**12)  # what typed decimals and the doubles that stand for them may differ by
    assert Fraction(double.lower) * (1 - little) <= proven.lower
    assert proven.upper <= Fraction(double.upper) * (1 + little)
    assert checker.check(certificate(proven))


FAMILIES = (*DIVERGENCES, "gaussian:2")


def random_problem(rng):
    """Two to five arms of any family, and a level, margins or ratios between means a few per cent apart or more."""
    family, arms = FAMILIES[rng.integers(len(FAMILIES))], int(rng.integers(2, 6))
    top = 0.95 if family == "bernoulli" else float(10.0 ** rng.uniform(-1, 1))
    means = [round(top * (k + 0.5) / (3 * arms), 6) for k in rng.choice(3 * arms, arms, replace=False)]
    costs = [0 if rng.random() < 0.15 else round(float(10.0 ** rng.uniform(-2, 2)), 4) for _ in means]
    number = f"{top * rng.uniform(0.03, 0.5):.4f}"
    sign = "+-"[rng.integers(2)]
    if family in ("poisson", "exponential", "gamma:2.5") and rng.random() < 0.3:
        sign, number = "*", f"{rng.uniform(0.5, 2):.3f}"
    tasks = [f"above:{number}", f"control:0{sign}{number}", f"comparisons:0-1{sign}{number}"]
    suffix = " (lower is better)" if rng.random() < 0.2 else ""
    return family, means, costs, tasks[rng.integers(3)] + suffix


@pytest.mark.parametrize("seed", range(60))
def test_random_problems_inside_the_interval_of_the_doubles(seed):
    family, means, costs, text = random_problem(np.random.default_rng([3, seed]))
    task = parse_task(text)
    exact = [Fraction(mean) for mean in means]
    model = BanditModel(family, exact, list(map(Fraction, costs)), lower_is_better=task.lower_is_better)
    double, proven = characteristic_time(model, task), proven_time(model, task, 25)
    assert Fraction(double.lower) <= proven.lower <= proven.upper <= Fraction(double.upper)
    document = certificate(proven)
    assert is_accepted(document)
    assert document["statements"] == [checker.statement_text(checker.Statement(*one)) for one in proven.statements]


@pytest.mark.parametrize("index", range(len(STATED)))
def test_certificates_say_statements_as_text_and_as_numbers(index):
    family, means, costs, asked = STATED[index]
    proven = prove(family, means, costs, asked if isinstance(asked, str) else Custom(asked), 12)
    document = json.loads(json.dumps(certificate(proven)))
    for text, (winner, loser, margin, ratio) in zip(document["statements"], document["numbers"], strict=True):
        assert text == checker.statement_text(checker.Statement(winner, loser, Fraction(margin), Fraction(ratio)))
        assert text in document["theorem"]
    assert document["version"] == checker.VERSION == 2


def test_a_boundary_that_dips_below_one_is_not_accepted():
    """Two minima, and the point is the higher one: its tangent says nothing of the other."""
    with working_precision(200):
        means, margin = (Fraction(5), Fraction("0.03")), Fraction(1)
        efforts = Fraction("0.5"), Fraction("0.25")
        boundary = Boundary(Exponential(), efforts, means, margin, Fraction("1.03"), Fraction(5))
        values = [(float(boundary.value(x).mid()), x) for x in (Fraction(k, 100) for k in range(104, 500))]
        low = min(values)
        scale = 1 / Fraction(low[0])
        for factor, expected in ((Fraction("1.01"), True), (Fraction("0.99"), False)):
            scaled = boundary._replace(efforts=(efforts[0] * scale * factor, efforts[1] * scale * factor))
            for point in (low[1], Fraction("1.2"), Fraction(4)):
                assert is_one_or_more(scaled, [point]) is expected


@pytest.mark.parametrize(
    ("means", "margin", "point", "paying"),
    [(["0", "0.3"], "-0.7", ["0", "0.7"], 1), (["0.4", "1"], "-0.7", ["0.3", "1"], 0)],
)
def test_where_one_point_alone_contradicts_a_statement(means, margin, point, paying):
    """A mean at an end of the mean space stays where it is, and its arm pays nothing."""
    task = f"comparisons:0-1{margin}"
    model = BanditModel("bernoulli", list(map(Fraction, means)), [1, 1])
    (column,) = pose_exactly(model, parse_task(task)).columns(model)
    assert (column.arms, column.fixed) == ((paying,), Fraction(point[0]))
    with mpmath.workdps(30):
        rate = DIVERGENCES["bernoulli"](*map(mpmath.mpf, (means[paying], point[paying])))
        time = mpmath.nstr(1 / rate, 20)
    up, down = (checker.text(Fraction(time) * (1 + sign * Fraction(1, 10**12))) for sign in (1, -1))
    effort = [up, "0"] if paying == 0 else ["0", up]
    document = {
        "format": checker.FORMAT, "version": 2, "family": "bernoulli", "task": task, "digits": 9, "means": means,
        "costs": ["1", "1"], "dispersions": ["1", "1"], "effort": effort,
        "statements": [f"arm 0 > arm 1 - {margin[1:]}"], "numbers": [[0, 1, margin, "1"]], "weights": [[down]],
        "points": [[point]], "lower": down, "upper": up,
    }  # fmt: skip
    assert checker.check(restate(document))
    less = {**document, "effort": [down if w == up else w for w in effort], "upper": down}
    with pytest.raises(checker.Rejected, match="is below 1, so the upper bound fails"):
        checker.check(restate(less))
    more = {**document, "weights": [[up]], "lower": up}
    with pytest.raises(checker.Rejected, match="exceed its cost, so the lower bound fails"):
        checker.check(restate(more))


def test_ties_and_families_without_a_formula_are_refused():
    with pytest.raises(TieError, match="equals"):
        prove("bernoulli", [0.3, 0.2], [1, 1], "comparisons:0-1+0.1")
    with pytest.raises(InputError, match="margins and ratios are for the families"):
        prove(InverseGaussian(), [2, 1], [1, 1], "comparisons:0-1+0.5")
