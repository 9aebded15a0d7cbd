"""T* of rewards in a range: against an independent program, Bernoulli, other solvers; and what is refused."""

import json
import math
import warnings
from decimal import Decimal
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import log as mplog
from mpmath import mpf, workdps
from scipy.optimize import minimize_scalar

from caet_opt import (
    BanditModel,
    Bounded,
    InputError,
    Profile,
    SolverError,
    TieError,
    certify,
    characteristic_time,
    read_model,
)
from caet_opt.cli import main
from caet_opt.exploring.settings import Parameters
from caet_opt.kernels import bounded_term
from caet_opt.kernels.bounded_term import HIGH_INVERSE, LOW_INVERSE
from caet_opt.simulating.comparison import name_policies
from caet_opt.simulating.runs import Experiment
from caet_opt.simulating.studies.cells import make_cells
from caet_opt.simulating.studies.study import read_study
from caet_opt.solving.backends import native
from caet_opt.solving.backends.base import Point
from caet_opt.solving.certificate import certify_columns
from caet_opt.solving.rebalance import ratios_of, rebalance, relieve
from caet_opt.solving.result import AnswerTime
from caet_opt.solving.several import conclude
from cases.instances import hostile_range_instance

SCORES = [0, 0.25, 0.5, 0.75, 1]
EXAMPLE = BanditModel(
    "bounded:0,1", levels=SCORES, probabilities=[[0.01, 0.02, 0.12, 0.55, 0.30], [0.02, 0.04, 0.18, 0.52, 0.24]]
)
INSIDE = BanditModel(  # no value at an end: bets reach their limits, and curvatures jump
    "bounded:0,1", levels=[0.33, 0.47, 0.52, 0.61], probabilities=[[0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.3, 0.2]]
)
#: The exact value of which would take minutes and all memory.
TINY = Decimal("1e-99999999")
TASKS = ["best-arm", "ranking", "above:0.5", "control:1+0.05", "control:1-0.2", "comparisons:0-1+0.02"]


def least_by_program(model, effort):
    """f of "0 > 1" as the least divergence to distributions in the range, by a conic program."""
    cp = pytest.importorskip("cvxpy")
    low, high = map(float, model.family.ends)
    total, means = 0.0, []
    constraints = []
    for arm in range(2):
        values = [*map(float, model.distributions.values[arm]), low, high]
        masses = np.array([*map(float, model.distributions.probabilities[arm]), 0.0, 0.0])
        other = cp.Variable(len(values), nonneg=True)
        total += effort[arm] * cp.sum(cp.kl_div(masses, other))
        constraints.append(cp.sum(other) == 1)
        means.append(np.array(values) @ other)
    problem = cp.Problem(cp.Minimize(total), [*constraints, means[0] <= means[1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it may be inaccurate, which the comparison shows
        return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)


@pytest.mark.parametrize("model", [EXAMPLE, INSIDE], ids=["ends", "inside"])
@pytest.mark.parametrize("effort", [(1.0, 1.0), (1.0, 3.0), (5.0, 0.2)])
def test_the_term_is_the_least_divergence_to_distributions_in_the_range(model, effort):
    upper = certify(model, [(0, 1)], effort, [1.0]).value
    assert sum(effort) / upper == pytest.approx(least_by_program(model, effort), rel=1e-6)


def test_the_example_by_three_solvers():
    found = [characteristic_time(EXAMPLE, "best-arm", solver=solver) for solver in ("native", "ipopt", "clarabel")]
    for one in found:
        assert one.value == pytest.approx(148.4176962342608, rel=1e-12)
        assert one.gap < 1e-12
    assert characteristic_time(BanditModel("bernoulli", EXAMPLE.means), "best-arm").value > 4.4 * found[0].value


def test_the_time_of_values_between_levels_is_theirs():
    """Split between 20 steps it would be larger, and no lower bound."""
    own = characteristic_time(INSIDE, "best-arm")
    assert own.value == pytest.approx(characteristic_time(INSIDE, "best-arm", solver="clarabel").value, rel=1e-12)
    steps = [k / 20 for k in range(21)]
    rows = np.zeros((2, 21))
    for arm in range(2):
        for value, mass in zip(INSIDE.distributions.values[arm], INSIDE.distributions.probabilities[arm], strict=True):
            place = int(value * 20)
            rest = float(value * 20 - place)
            rows[arm, place] += float(mass) * (1 - rest)
            rows[arm, place + 1] += float(mass) * rest
    split = BanditModel("bounded:0,1", levels=steps, probabilities=rows.tolist())
    assert characteristic_time(split, "best-arm").lower > own.upper


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("costs", [(1, 2, 1), (1, 0, 3)])
def test_two_levels_are_bernoulli_rewards(task, costs):
    means = [0.8, 0.6, 0.3]
    rows = [[1 - mean, mean] for mean in means]
    bounded = BanditModel("bounded:0,1", levels=[0, 1], probabilities=rows, costs=costs)
    known = characteristic_time(BanditModel("bernoulli", means, costs), task)
    found = characteristic_time(bounded, task)
    assert found.value == pytest.approx(known.value, rel=1e-9)
    assert found.sampling_proportions == pytest.approx(known.sampling_proportions, abs=1e-6)
    assert found.cost_sensitivities == pytest.approx(known.cost_sensitivities, rel=1e-5)


def test_gaps_and_the_direction_of_better():
    rows = EXAMPLE.distributions.probabilities
    lower = BanditModel("bounded:0,1", EXAMPLE.distributions, costs=[1, 2], lower_is_better=True)
    mirrored = BanditModel("bounded:0,1", levels=SCORES, probabilities=[row[::-1] for row in rows], costs=[1, 2])
    first, second = (characteristic_time(model, "best-arm").value for model in (lower, mirrored))
    assert first == pytest.approx(second, rel=1e-12)
    by_gaps = BanditModel("bounded:0,1", EXAMPLE.distributions, costs="gaps")
    gap = by_gaps.means[0] - by_gaps.means[1]
    assert by_gaps.costs == pytest.approx((0.0, gap))


def test_the_range_is_a_scale():
    rows = EXAMPLE.distributions.probabilities
    wide = BanditModel("bounded:-10,30", levels=[-10 + 40 * score for score in SCORES], probabilities=rows)
    assert characteristic_time(wide, "best-arm").value == pytest.approx(148.4176962342608, rel=1e-11)


VALUES = st.lists(st.floats(0.0, 1.0).map(lambda value: round(value, 6)), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(VALUES, VALUES, st.floats(0.05, 20.0), st.sampled_from([0.0, -0.2, 0.05]))
def test_bounds_of_a_term_hold_at_every_point(first, second, ratio, margin):
    """The floor is below what the best bets give at every point, and the rates at the point of the term above it."""
    model = BanditModel.from_samples("bounded:0,1", [first, second])
    if model.means[0] - model.means[1] - margin < 1e-3:
        return
    table = model.distribution_table
    rows = [bounded_term.row_of(table, 0, arm) for arm in range(2)]
    gap = model.means[0] - model.means[1] - margin
    with np.errstate(all="ignore"):
        f, floor, da, db = bounded_term.bounded_proof(table, *rows, 1.0, ratio, gap, margin)
    assert floor <= f * (1.0 + 1e-12)
    assert f <= (da + ratio * db) * (1.0 + 1e-9)
    low, high = max(0.0, model.means[1] + margin), min(1.0 + margin, model.means[0])
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        x = low + share * (high - low)
        if 0.0 < x < 1.0 + margin:
            at_x = best_bet(x, first, 1.0) + ratio * best_bet(1.0 - (x - margin), second, -1.0)
            assert at_x >= floor * (1.0 - 1e-7) - 1e-9


def best_bet(limit, sample, sign):
    """max over bets of E log(1 + l (u - limit)), u being distances from an end."""
    distances = np.array(sample) if sign > 0 else 1.0 - np.array(sample)

    def loss(share):
        return -np.mean(np.log1p(share / limit * (distances - limit)))

    return -minimize_scalar(loss, bounds=(0.0, 1.0 - 1e-12), method="bounded", options={"xatol": 1e-12}).fun


def test_random_samples_are_certified():
    rng = np.random.default_rng(5)
    for _ in range(25):
        samples = [rng.beta(*rng.uniform(0.3, 5, 2), size=12).round(3).tolist() for _ in range(3)]
        model = BanditModel.from_samples("bounded:0,1", samples, costs=rng.uniform(0.1, 3, 3).tolist())
        try:
            found = characteristic_time(model, "ranking")
        except TieError:
            continue
        assert found.gap <= 1e-9


def exact_rate(values, masses, point):
    """D at a point below the mean, the best bet found by halving, with 60 digits."""
    with workdps(60):
        gaps = [mpf(float(value)) - mpf(point) for value in values]
        low, high = mpf(0), 1 / mpf(point)
        for _ in range(180):
            bet = (low + high) / 2
            grows = sum(mass * gap / (1 + bet * gap) for gap, mass in zip(gaps, masses, strict=True)) > 0
            low, high = (bet, high) if grows else (low, bet)
        return sum(mass * mplog(1 + low * gap) for gap, mass in zip(gaps, masses, strict=True))


@pytest.mark.parametrize("mass", [1e-4, 1e-7, 1e-8, 1e-10, 1e-13])
@pytest.mark.parametrize("point", [0.3, 0.45, 0.52])
def test_a_rate_is_known_to_its_last_digits_where_an_end_has_little_mass(mass, point):
    """The best bet is within about the mass of its limit there."""
    values, masses = [0.0, 0.4, 0.5, 0.6], [mass, 0.2, 0.3, 0.5 - mass]
    model = BanditModel("bounded:0,1", levels=values, probabilities=[masses, masses])
    table = model.distribution_table
    start, mean = bounded_term.row_of(table, 0, 0), sum(map(np.prod, zip(values, masses, strict=True)))
    bet, _ = bounded_term.find_bet(table, start, 0, point, mean - point, 0.0)
    low, high = bounded_term.rate_bounds(table, start, 0, point, mean - point, bet, 0.0, 1e-16)
    assert low <= exact_rate(values, masses, point) <= high
    assert high - low <= 1e-12 * high


@pytest.mark.parametrize("t", [1e-2, 1e-10, 1e-16, 1e-20, 1e-100])
@pytest.mark.parametrize("guess", [0.0, 1.0, 1e15])
def test_the_best_bet_near_an_end_with_mass(t, guess):
    """Two values, u = 0 with mass p and u = 1: psi' = 0 at l = (1 - t - p) / (t (1 - t))."""
    model = BanditModel("bounded:0,1", levels=[0, 1], probabilities=[[0.25, 0.75], [0.5, 0.5]])
    start = bounded_term.row_of(model.distribution_table, 0, 0)
    bet, _ = bounded_term.find_bet(model.distribution_table, start, bounded_term.LOWER_END, t, 0.75 - t, guess)
    assert bet * t == pytest.approx((0.75 - t) / (1 - t), rel=1e-12)


@pytest.mark.parametrize("costs", [(1, 1), (1, 1e-4), (1e-4, 1), (1e-9, 1)])
@pytest.mark.parametrize("means", [(0.79, 0.75), (0.804, 0.2), (0.25, 0.2499)])
def test_point_masses_have_kinks_at_their_means(means, costs):
    """D_a = log(mu_a / x) and D_b = log((1 - mu_b) / (1 - x)): x is at a mean beyond some quotient of efforts."""
    high, low = means
    model = BanditModel("bounded:0,1", levels=[low, high], probabilities=[[0, 1], [1, 0]], costs=costs)

    def rate(share):
        """f at efforts ``share`` and ``1 - share``, whose least x is the share itself, inside the range."""
        x = min(max(share, low), high)
        return share * log(high / x) + (1 - share) * log((1 - low) / (1 - x))

    def cost(share):
        return (costs[0] * share + costs[1] * (1 - share)) / rate(share)

    best = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-14})
    least = min(best.fun, cost(low), cost(high))
    result = characteristic_time(model, "best-arm")
    assert result.gap < 1e-9
    assert result.value == pytest.approx(least, rel=1e-7)


@pytest.mark.parametrize("margin", ["0.9", "0.9993", "0.9999", "0.999999", "0.99999993", "0.999999999"])
@pytest.mark.parametrize("values", [("0.25", "0.75"), ("0.3", "0.4"), ("0.5", "0.5"), ("0.7", "0.2")])
def test_margins_as_wide_as_the_range_have_intervals_that_contain_the_time(values, margin):
    """Of points at u and v it is 1 / log((1 + u - v) / (1 - m)), as both distances from the ends sum to 1 - m."""
    levels = sorted(set(map(Decimal, values)))
    rows = [[float(level == Decimal(value)) for level in levels] for value in values]
    model = BanditModel("bounded:0,1", levels=levels, probabilities=rows, costs=[1, 1])
    try:
        found = characteristic_time(model, f"comparisons:0-1-{margin}", tolerance=1e-6)
    except SolverError:
        assert Decimal(margin) > Decimal("0.9999")
        return
    first, second = map(mpf, values)
    with workdps(50):
        expected = 1 / mplog((first + 1 - second) / (1 - mpf(margin)))
    assert found.lower <= expected <= found.upper


def test_hostile_instances_are_certified():
    """Point masses, near ties, jackpots, margins that leave the range, costs over eight orders of magnitude."""
    for index in range(150):
        model, task = hostile_range_instance(np.random.default_rng([3, index]))
        result = characteristic_time(model, task)
        again = certify(model, result.statements, result.effort, result.multipliers)
        assert again.gap <= 1e-9, index


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-9, 1e-2))
def test_no_load_exceeds_its_cost_after_relief(seed, size):
    """Weights off by a part of themselves: relief bounds T* from below no worse than the largest load does."""
    rng = np.random.default_rng(seed)
    means = rng.choice(np.linspace(0.1, 0.9, 17), 4, replace=False)
    model = BanditModel("bernoulli", means.tolist(), costs=(10.0 ** rng.uniform(-3, 3, 4)).tolist())
    result = characteristic_time(model, "ranking")
    weights, load = result.multipliers * np.exp(size * rng.standard_normal(3)), np.zeros((2, 4))
    before = certify_columns(model, result.columns, result.effort, weights, load=load)
    after = relieve(result.columns, weights, ratios_of(model, load))
    found = certify_columns(model, result.columns, result.effort, after, load=load)
    assert np.all(ratios_of(model, load) <= 1 + 1e-12)
    assert found.lower >= before.lower * (1 - 1e-12)
    point, certificate = rebalance(model, result.columns, Point(result.effort, weights), before, 1e-13)
    assert certificate.gap <= before.gap
    assert certify_columns(model, result.columns, point.effort, point.weights) == certificate


@pytest.mark.parametrize("mass", [1e-6, 1e-8, 1e-12])
def test_little_mass_at_both_ends_is_certified(mass):
    rows = [[mass, 0.2, 0.3, 0.5 - 2 * mass, mass], [mass, 0.4, 0.3, 0.3 - 2 * mass, mass]]
    model = BanditModel("bounded:0,1", levels=[0, 0.4, 0.5, 0.6, 1], probabilities=rows)
    first, second = (characteristic_time(model, "best-arm", solver=solver) for solver in ("native", "clarabel"))
    assert max(first.gap, second.gap) <= 1e-12
    assert max(first.lower, second.lower) <= min(first.upper, second.upper)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"means": [0.5, 0.4]}, "means do not say what rewards of family bounded:0,1 are"),
        ({"levels": [0, 1]}, "probabilities is missing"),
        ({"levels": [0, 1], "probabilities": [[0.5, 0.4], [0.5, 0.5]]}, "arm 0 sum to 0.9, not to 1"),
        ({"levels": [1, 0], "probabilities": [[0.5, 0.5], [0.4, 0.6]]}, "levels must be in order"),
        ({"levels": [0, 2], "probabilities": [[0.5, 0.5], [0.4, 0.6]]}, r"a level is 2, outside \[0, 1\]"),
        ({"levels": [0, 1], "probabilities": [[1.5, -0.5], [0.4, 0.6]]}, "negative"),
        ({"levels": [0, 1], "probabilities": [[0.5], [0.4, 0.6]]}, "arm 0 has 1 probabilities for 2 levels"),
        ({"levels": [0, float("nan")], "probabilities": [[0.5, 0.5], [0.4, 0.6]]}, "finite number"),
        ({"levels": [0, 1], "probabilities": [[float("nan"), 0.5], [0.4, 0.6]]}, "finite number"),
        ({"levels": [], "probabilities": [[], []]}, "levels are empty"),
        ({"levels": np.eye(2), "probabilities": [[0.5, 0.5], [0.4, 0.6]]}, "a level must be a finite number"),
        ({"levels": [0, 1], "probabilities": {"a": [0.5, 0.5]}}, "probabilities must be a list of numbers, got {'a'"),
        ({"levels": [0, TINY, 1], "probabilities": [[0.5, 0, 0.5], [0.4, 0, 0.6]]}, f"precision, got {TINY}"),
        ({"levels": [0, 1], "probabilities": [[TINY, 1], [0.4, 0.6]]}, "fits double precision"),
    ],
)
def test_models_that_are_none(arguments, words):
    with pytest.raises(InputError, match=words):
        BanditModel("bounded:0,1", **arguments)


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([[0.5], []], "sample of arm 1 is empty"),
        ([[0.5], [1.2]], r"reward of arm 1 is 1.2, outside \[0, 1\]"),
        ([[0.5], [float("nan")]], "finite number"),
        ([[0.5], [5e-324]], "too close to an end of the range"),
        ([[0.5], [TINY]], f"a reward of arm 1 must be a finite number that fits double precision, got {TINY}"),
        ([[0.5], [10**5000]], r"precision, got a number beyond 10\^30"),
        (np.zeros((2, 2, 2)), "a reward of arm 0 must be a finite number"),
        ([0.5, 0.4], "must be a list"),
    ],
)
def test_samples_that_are_none(samples, words):
    with pytest.raises(InputError, match=words):
        BanditModel.from_samples("bounded:0,1", samples)


@pytest.mark.parametrize(
    "text",
    [
        *("bounded", "bounded:1", "bounded:1,0", "bounded:0,1,0", "bounded:0,1,2.5", "bounded:0,x"),
        *(f"bounded:{TINY},1", f"bounded:0/{TINY}/1"),
    ],
)
def test_ranges_that_are_none(text):
    with pytest.raises(InputError, match=r"bounded|range"):
        BanditModel(text, levels=[0, 1], probabilities=[[0.5, 0.5], [0.4, 0.6]])


def test_listed_levels_are_any_list_of_numbers():
    assert Bounded(0, 1, levels=np.array([0, 0.5, 1])).exact_levels == Bounded(0, 1, levels=[0, 0.5, 1]).exact_levels
    with pytest.raises(InputError, match="levels of a range must be a list of numbers, got 3"):
        Bounded(0, 1, levels=3)


def test_inverse_distances_of_many_values_are_those_of_fractions():
    rng = np.random.default_rng(1)
    found = BanditModel.from_samples("bounded:0,1", [rng.random(300).tolist(), rng.random(200).tolist()])
    row = found.distribution_table[1:]
    values = found.distributions.values[0]
    for place, distances in ((LOW_INVERSE, values), (HIGH_INVERSE, [1 - value for value in values])):
        assert row[place] == pytest.approx(float(sum(1 / distance for distance in distances) / 300), rel=1e-15)


ENDS = [k / 10 for k in range(1, 10)] + [0.07, 0.35, 0.55, 0.57]


@pytest.mark.parametrize("end", ENDS)
def test_a_level_at_an_end_leaves_nothing_to_find_out(end):
    """As decimals, whatever doubles are nearest to them."""
    for family, level in ((f"bounded:{end},1.5", end), (f"bounded:-1,{end}", end)):
        values = [level + 0.2, level + 0.3] if family.endswith("1.5") else [level - 0.3, level - 0.2]
        model = BanditModel(family, levels=values, probabilities=[[0.5, 0.5], [0.3, 0.7]])
        with pytest.raises(InputError, match="otherwise there is nothing to find out"):
            characteristic_time(model, f"above:{level}")
    wide = BanditModel(f"bounded:0.3,{0.3 + end:.2f}", levels=[0.31, 0.32], probabilities=[[0.5, 0.5], [0.3, 0.7]])
    for task in (f"control:0+{end}", f"control:0-{end}", f"best-arm~{end}"):
        with pytest.raises(InputError, match="as large as the difference"):
            characteristic_time(wide, task)


@pytest.mark.parametrize("end", ENDS)
def test_arms_at_an_end_of_any_range(end):
    """Samples that are all at an end: T* is that of the same rewards in [0, 1]."""
    low, high = Decimal(str(end)), Decimal(str(end)) + Decimal("0.4")
    scaled = BanditModel("bounded:0,1", levels=[0, 0.5, 1], probabilities=[[1, 0, 0], [0.2, 0.5, 0.3], [0, 0, 1]])
    samples = [[low] * 4, [low] * 2 + [low + Decimal("0.2")] * 5 + [high] * 3, [high] * 3]
    moved = BanditModel.from_samples(f"bounded:{low},{high}", samples)
    expected = characteristic_time(scaled, "ranking").value
    assert characteristic_time(moved, "ranking").value == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("distance", ["1e-3", "1e-8", "1e-13"])
@pytest.mark.parametrize("low", ["0", "0.1", "0.3", "-0.7"])
def test_a_level_near_an_end_is_as_far_from_it_as_was_said(low, distance):
    """One arm with the values 0.1 and 0.6 above the low end, evenly: the best bet is 1 / t, as t E 1 / u <= 1."""
    foot, t = Decimal(low), Decimal(distance)
    values = [foot + Decimal("0.1"), foot + Decimal("0.6")]
    model = BanditModel(f"bounded:{foot},{foot + 1}", levels=values, probabilities=[[0.5, 0.5]])
    with workdps(40):
        first, second = mpf("0.1") - mpf(distance), mpf("0.6") - mpf(distance)
        limit = 1 / mpf(distance)
        least = (mplog(1 + limit * first) + mplog(1 + limit * second)) / 2
        expected = float(1 / least)
    assert characteristic_time(model, f"above:{foot + t}").value == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("levels", "rows", "costs", "task"),
    [
        ([0.2, 0.76, 0.949], [[0, 0, 1], [0.3, 0.4, 0.3], [0.3, 0.5, 0.2]], [0, 1, 1], "ranking"),
        ([0, 0.25, 0.5, 0.75, 1], [[0, 0, 0, 1, 0], [0.2] * 5], [0, 1], "best-arm"),
        ([0, 0.25, 0.5, 0.75, 1], [[0.2] * 5, [0, 1, 0, 0, 0]], [1, 0], "best-arm"),
        ([0, 0.25, 0.5, 0.75, 1], [[0, 0, 0, 1, 0], [0.2] * 5], [0, 1], "control:1+0.1"),
    ],
)
def test_what_a_free_arm_of_one_value_would_cost_at_first(levels, rows, costs, task):
    """The derivative to the right, by a difference: a point mass has a kink at its mean."""
    model = BanditModel("bounded:0,1", levels=levels, probabilities=rows, costs=costs)
    result, free = characteristic_time(model, task), costs.index(0)
    dearer = [1e-6 if arm == free else cost for arm, cost in enumerate(costs)]
    change = characteristic_time(model.with_numbers(costs=dearer), task).value - result.value
    assert result.cost_sensitivities[free] == pytest.approx(change / 1e-6, rel=1e-4)


def test_samples_of_many_values_ask_for_compiled_code(monkeypatch):
    asked = []
    real = native.kernel_for
    monkeypatch.setattr(native, "kernel_for", lambda family, edges: asked.append(edges) or real(family, edges))
    for many in (2, 300):
        rows = [[k / many for k in range(many)], [k / many / 2 for k in range(many)]]
        characteristic_time(BanditModel.from_samples("bounded:0,1", rows), "best-arm")
    assert asked == [1, 101]


def test_ratios_and_ties_are_refused():
    with pytest.raises(InputError, match="ratio"):
        characteristic_time(EXAMPLE, "control:1*1.1")
    with pytest.raises(TieError):
        characteristic_time(BanditModel.from_samples("bounded:0,1", [[0.1, 0.3], [0.2]]), "best-arm")


def test_what_needs_a_formula_in_means_is_refused():
    with pytest.raises(InputError, match="cannot be changed"):
        EXAMPLE.with_numbers(means=[0.5, 0.4])
    with pytest.raises(InputError, match="no sensitivity to means"):
        _ = characteristic_time(EXAMPLE, "best-arm").mean_sensitivities
    with pytest.raises((InputError, SolverError), match="no formula in their means"):
        characteristic_time(EXAMPLE, "best-arm", solver="pyomo")


def test_a_file_of_samples(tmp_path, capsys):
    (tmp_path / "pilot.csv").write_text("arm,reward,who\nold,0.5,x\nnew,0.7,y\nold,0.25,x\nnew,0.9,y\n")
    model = tmp_path / "model.toml"
    model.write_text('family = "bounded:0,1"\nsamples = "pilot.csv"\ncosts = [1, 2]\ntask = "best-arm"\n')
    assert main(["solve", str(model), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    flags = [
        "--family",
        "bounded:0,1",
        "--samples",
        str(tmp_path / "pilot.csv"),
        "--costs",
        "1,2",
        "--task",
        "best-arm",
    ]
    assert main(["solve", *flags, "--delta", "0.05", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert first["characteristic_time"] == second["characteristic_time"]
    assert second["lower_bound"]["kl"] > 0
    assert second["threshold"] == "e-process"
    assert second["predicted_cost"] > second["lower_bound"]["kl"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arm,reward\na,1.5\nb,0\n", "outside [0, 1]"),
        ("arm,reward\na,nan\nb,0\n", "must be a number"),
        ("arm,value\na,1\nb,0\n", "columns arm and reward"),
        ("arm,reward\nc,1\n", "unknown arm 'c'"),
        ("arm,reward\na,1\n", "sample of arm 'b' is empty"),
        ("arm,reward\na,1e-99999999\nb,0\n", "fits double precision, got 1E-99999999"),
    ],
)
def test_files_of_samples_that_are_none(text, words, tmp_path, capsys):
    (tmp_path / "pilot.csv").write_text(text)
    flags = ["--family", "bounded:0,1", "--samples", str(tmp_path / "pilot.csv"), "--arms", "a,b", "--task", "best-arm"]
    assert main(["solve", *flags]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('samples = "pilot.csv"\narms = [1, 2]', "arm names must be a list of non-empty strings, got [1, 2]"),
        ('samples = "pilot.csv"\narms = [["a"], ["b"]]', "arm names must be a list of non-empty strings"),
        ('samples = "pilot.csv"\narms = ["a", "a"]', "arm names must differ"),
        ('samples = "none.csv"', "none.csv: there is no reward; give a row"),
        (r'samples = "a\u0000.csv"', "no file has such a name"),
        ("levels = []\nprobabilities = [[], []]", "levels are empty"),
        ("levels = 0.5\nprobabilities = [[1], [1]]", "levels must be a list of numbers, got 0.5"),
        (f"levels = [0, {TINY}, 1]\nprobabilities = [[0.5, 0, 0.5], [0.4, 0, 0.6]]", "fits double precision"),
    ],
)
def test_model_files_that_are_none(lines, words, tmp_path, capsys):
    (tmp_path / "pilot.csv").write_text("arm,reward\na,1\nb,0\n")
    (tmp_path / "none.csv").write_text("arm,reward\n")
    model = tmp_path / "model.toml"
    model.write_text(f'family = "bounded:0,1"\ntask = "best-arm"\n{lines}\n')
    assert main(["solve", str(model)]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "judge-scores", "--digits", "20"],
        ["solve", "judge-scores", "--show-program"],
        ["curve", "judge-scores", "--sweep", "mean:0", "--from", "0.7", "--to", "0.9", "--no-figure"],
    ],
)
def test_commands_that_refuse_in_one_line(words, capsys):
    assert main(words) == 2
    told = capsys.readouterr().err
    assert "bounded:0,1" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ["solve", "judge-scores"],
        ["plan", "judge-scores", "--runs", "2"],
        ["simulate", "judge-scores", "--runs", "2"],
        ["thresholds", "judge-scores"],
        ["table", "judge-scores"],
    ],
)
def test_a_lower_bound_says_for_whom_it_holds(command, capsys):
    assert main([*command, "--delta", "0.05"]) == 0
    scope = "for all distributions in the range" if command[0] == "table" else "for all distributions in [0, 1]"
    assert scope in capsys.readouterr().out
    assert main([*["bernoulli-two-arms" if word == "judge-scores" else word for word in command], "--delta=0.05"]) == 0
    assert "all distributions" not in capsys.readouterr().out


def test_all_solvers_and_policies_are_those_that_take_rewards_in_a_range(capsys):
    assert main(["solve", "judge-scores", "--cross-check", "--json"]) == 0
    assert {one["solver"] for one in json.loads(capsys.readouterr().out)["solvers"]} == {"native", "clarabel", "ipopt"}
    assert main(["compare", "judge-scores", "--repeat", "1"]) == 0
    assert "pyomo" not in capsys.readouterr().out
    named = name_policies("all", EXAMPLE, "best-arm")
    assert {"caet", "top-two-ids", "uniform"} < set(named)
    assert not {"kl-lucb", "thompson-top-two", "chernoff-racing"} & set(named)
    for policy in named:
        Experiment(EXAMPLE, "best-arm", Parameters(delta=0.1, policy=policy))


def test_a_study_of_all_policies_takes_those_for_the_family(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('models = ["judge-scores"]\ndeltas = [0.1]\npolicy = "all"\n')
    found = {cell.experiment.parameters.policy for cell in make_cells(read_study(path))}
    assert found == set(name_policies("all", EXAMPLE, "best-arm"))


def test_samples_without_a_task_are_told_what_is_missing(capsys):
    assert main(["plan", "--samples", "pilot.csv", "--family", "bounded:0,1", "--delta", "0.05"]) == 2
    assert "missing --task; a model without a file needs --family, --samples and --task" in capsys.readouterr().err


@pytest.mark.parametrize("sweep", [["--sweep", "cost:large", "--from", "0.01", "--to", "0.1"]])
def test_curves_over_costs(sweep, capsys):
    assert main(["curve", "judge-scores", *sweep, "--points", "3", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["points"]) >= 3


def test_a_point_mass_has_a_divergence_by_hand():
    """D of a point mass c to a mean x below it: mass goes to the lower end, so that it is log(c / x)."""
    model = BanditModel.from_samples("bounded:0,1", [[0.8], [0.5]], costs=[1, 0])
    assert characteristic_time(model, "best-arm").value == pytest.approx(1 / log(0.8 / 0.5), rel=1e-12)


def test_no_solver_is_advised_that_does_not_take_rewards_in_a_range():
    """Pyomo needs a formula in the means; clarabel and Ipopt do not."""
    entry = read_model("judge-scores")
    with pytest.raises(InputError, match=r"takes no limits; leave it out, or name one of clarabel, ipopt$"):
        characteristic_time(entry.model, entry.task, solver="native", limits="pulls:large>=0.5")
    with pytest.raises(SolverError, match=r"try another solver \(clarabel, ipopt\) or a larger tolerance$"):
        characteristic_time(entry.model, entry.task, tolerance=1e-17)
    best = characteristic_time(entry.model, "best-arm~0.01")
    easier = AnswerTime(1, math.nan, 0.5 * best.lower, math.inf)
    with pytest.raises(SolverError, match=r"try another solver \(clarabel, ipopt\)$"):
        conclude(best.task, Profile("native"), best, [*best.times, easier], 0.0)
