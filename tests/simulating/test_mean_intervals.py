"""Intervals of means, and what a mean is at least: whether they hold, and where there is none."""

import numpy as np
import pytest
from commands import read_json, run_command
from scipy.optimize import brentq
from scipy.stats import skew
from scipy.stats import t as student

from caet_opt import POLICIES, BanditModel, compare_policies, simulate
from caet_opt.simulating.mean_intervals import mean_at_least, mean_band, mean_interval
from caet_opt.simulating.regret import explore_then_commit

EASY = BanditModel("gaussian", [1.5, 0.5, 0.0], costs=[1, 0.1, 0.01])
FLAGS = ["--family", "gaussian", "--means", "1.5,0.5,0", "--costs", "1,0.1,0.01", "--task", "best-arm"]
QUICK = ["simulate", *FLAGS, "--delta", "0.1", "--seed", "1", "--workers", "1"]

#: Samples of a Monte Carlo estimate, whose standard error is then below 0.2 %.
SAMPLES = 20_000


def students(samples):
    """Student's interval of every column."""
    half = student.ppf(0.975, len(samples) - 1) * samples.std(axis=0, ddof=1) / len(samples) ** 0.5
    return samples.mean(axis=0) - half, samples.mean(axis=0) + half


def coverage(band, truth):
    return np.mean((band[0] <= truth) & (truth <= band[1]))


# whether they hold


@pytest.mark.parametrize("runs", [10, 30])
def test_the_interval_holds_for_skewed_costs_where_students_does_not(runs):
    """Exponential costs are skewed (2) like the most skewed ones of CAET."""
    drawn = np.random.default_rng(1).exponential(size=(runs, SAMPLES))
    assert coverage(students(drawn), 1.0) < 0.93
    assert 0.95 < coverage(mean_band(drawn), 1.0) < 0.98


@pytest.mark.parametrize("runs", [10, 30, 100])
def test_where_nothing_is_skewed_the_interval_is_little_more_than_students(runs):
    drawn = np.random.default_rng(2).normal(size=(runs, SAMPLES))
    new, old = mean_band(drawn), students(drawn)
    assert 0.95 < coverage(new, 0.0) < 0.98
    assert 1.0 <= np.mean(new[1] - new[0]) / np.mean(old[1] - old[0]) < {10: 1.5, 30: 1.15, 100: 1.05}[runs]
    assert np.all((new[0] <= old[0] + 1e-12) & (old[1] <= new[1] + 1e-12))


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda rng, size: rng.exponential(size=size), id="skewed"),
        pytest.param(lambda rng, size: 1.0 * (rng.random(size) < 0.97), id="equal but for a few"),
        pytest.param(lambda rng, size: np.where(rng.random(size) < 0.01, 100.0, 1.0), id="rare and large"),
        pytest.param(lambda rng, size: np.minimum(rng.exponential(size=size), 0.5), id="cut off"),
    ],
)
@pytest.mark.parametrize("runs", [1, 3, 10, 100])
def test_the_mean_is_at_least_what_is_said(draw, runs):
    rng = np.random.default_rng(3)
    truth = draw(rng, 10**6).mean()
    found = [mean_at_least(sample) for sample in draw(rng, (1000, runs))]
    assert np.mean(np.array(found) <= truth) >= 0.95


def test_the_bound_comes_near_the_mean():
    costs = np.random.default_rng(4).exponential(size=10_000)
    assert 0.96 < mean_at_least(costs) / costs.mean() < 1


# formulas


def test_a_single_value_bounds_the_mean_by_a_twentieth_of_it():
    assert mean_at_least(np.array([7.0])) == pytest.approx(7 / 20, rel=1e-3)
    assert mean_at_least(np.zeros(3)) == 0.0
    assert 0.0 <= mean_at_least(np.array([1.0, *np.zeros(10**4)])) < 1e-20


def test_symmetric_values_have_a_symmetric_interval():
    values = np.arange(1.0, 12.0)
    half = student.ppf(0.975, 5) * values.std(ddof=1) / 11**0.5
    assert mean_interval(values) == pytest.approx((6 - half, 6 + half), rel=1e-12)


def test_a_skewed_end_solves_the_cubic_equation():
    values = np.array([1.0, 1.2, 1.3, 1.5, 1.7, 2.0, 2.4, 3.0, 4.5, 9.0])
    error, a = values.std(ddof=1) / 10**0.5, skew(values, bias=False) / 10**0.5
    cube = brentq(lambda x: x + a * x**2 / 3 + a**2 * x**3 / 27 + a / 6 + student.ppf(0.975, 4.5), -50, 0)
    low, high = mean_interval(values)
    assert high == pytest.approx(values.mean() - error * cube)
    assert low == pytest.approx(students(values)[0])
    mirrored = mean_interval(-values)
    assert mirrored == pytest.approx((-high, -low))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_no_scale_is_too_large_or_too_small(scale):
    values = np.array([1.0, 1.2, 1.3, 1.5, 1.7, 2.0, 2.4, 3.0, 4.5, 9.0])
    assert mean_interval(scale * values) == pytest.approx(tuple(scale * end for end in mean_interval(values)))
    assert mean_at_least(scale * values) == pytest.approx(scale * mean_at_least(values))
    assert mean_interval(np.full(10, scale)) == pytest.approx((scale, scale), rel=1e-12)


def test_columns_are_intervals_by_themselves():
    samples = np.random.default_rng(5).exponential(size=(12, 3))
    low, high = mean_band(samples)
    for column in range(3):
        assert mean_interval(samples[:, column]) == pytest.approx((low[column], high[column]), rel=1e-14)


# where there is none


def test_fewer_than_ten_runs_have_a_bound_and_no_interval(capsys):
    assert mean_interval(np.arange(9.0)) is None
    assert np.isnan(mean_band(np.ones((9, 2)))).all()
    text = run_command(capsys, *QUICK, "--runs", 9)
    assert "no interval for fewer than 10 runs" in text
    assert " 95 % in [" not in next(line for line in text.splitlines() if line.startswith("mean cost"))
    found = read_json(run_command(capsys, *QUICK, "--runs", 9, "--json"))
    assert found["cost_ci"] is None
    assert 0 < found["cost_at_least"] < found["mean_cost"]
    low, high = read_json(run_command(capsys, *QUICK, "--runs", 10, "--json"))["cost_ci"]
    assert low < high


def test_unfinished_runs_have_a_bound_and_no_interval(capsys):
    """Costs that are cut off say nothing of what the mean is at most; what was printed excluded it."""
    whole = simulate(EASY, "best-arm", delta=0.1, runs=50, seed=1)
    cut = simulate(EASY, "best-arm", delta=0.1, runs=50, seed=1, max_rounds=40)
    assert cut.unfinished > 0
    assert cut.cost_ci is None
    assert 0.5 * cut.mean_cost < cut.cost_at_least < cut.mean_cost < whole.cost_ci[0]
    assert "no upper end while runs are unfinished" in str(cut)
    assert " 95 % in [" not in str(cut).split("errors")[0]
    frame = compare_policies(EASY, "best-arm", "uniform,caet", delta=0.1, runs=20, max_rounds=120)
    assert (frame["unfinished"] > 0).tolist() == [False, True]
    assert frame["cost_low"].isna().tolist() == [False, True]
    assert frame["difference_low"].isna().tolist() == [False, True]


def test_policies_that_may_starve_an_arm_have_a_bound_and_no_interval(capsys):
    names = {"chernoff-overlap", "chernoff-racing", "kl-racing", "kl-lucb", "ugape", "best-challenger"}
    assert {name for name, policy in POLICIES.items() if policy.may_starve} == names
    text = run_command(capsys, *QUICK, "--runs", 12, "--policy", "chernoff-racing")
    assert "no upper end, as the policy may, rarely, neglect the right arm" in text
    found = read_json(run_command(capsys, *QUICK, "--runs", 12, "--policy", "caet,chernoff-racing", "--json"))
    assert [one["cost_ci"] is None for one in found] == [False, True]
    assert [one["difference_ci"] is None for one in found] == [False, True]
    text = run_command(capsys, *QUICK, "--runs", 12, "--policy", "caet,chernoff-racing,kl-racing")
    assert text.count(">= ") == 2
    assert text.rstrip().endswith("any length of time: chernoff-racing, kl-racing")


@pytest.mark.slow
def test_a_race_without_the_best_arm_decides_the_mean_and_is_seldom_seen():
    """Why racing has no interval: it would hold in a minority of the samples, while the bound holds."""
    close = BanditModel("bernoulli", [0.6, 0.5, 0.49], costs=[1, 1, 1])
    found = simulate(close, "best-arm", policy="chernoff-racing", delta=0.2, runs=2000, seed=7, max_rounds=10**5)
    costs = np.array([record.cost for record in found.run_records])
    drawn = costs[np.random.default_rng(1).integers(len(costs), size=(30, 1000))]
    assert coverage(mean_band(drawn), costs.mean()) < 0.6
    assert np.mean([mean_at_least(sample) <= costs.mean() for sample in drawn.T]) >= 0.95


def test_regret_has_an_interval_from_ten_runs_on():
    model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    few, enough = (explore_then_commit(model, horizon=200, runs=runs, seed=2, checkpoints=3) for runs in (9, 10))
    assert np.isnan(few.ci).all()
    low, high = enough.ci
    assert np.all(low <= enough.mean_regret)
    assert np.all(enough.mean_regret <= high)
    assert low[-1] < high[-1]
