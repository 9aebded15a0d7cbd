"""The comparison of two arms: sizes and looks by formulas that are known, and numbers that fit each other."""

import json
from dataclasses import replace
from math import ceil, sqrt

import numpy as np
import pytest
from commands import run_script
from scipy.stats import norm

from caet_opt import Explorer, simulate
from caet_opt.exploring.settings import Parameters
from cases import two_arms

GAUSSIAN, BERNOULLI, UNEQUAL = two_arms.PLANS


@pytest.fixture(scope="module")
def rows():
    """Of a quick run, by plan, true effect and rule."""
    return {(row.plan, row.truth, row.rule): row for row in two_arms.compare(200, seed=3)}


def test_sizes_are_those_of_the_textbook():
    assert GAUSSIAN.test_blocks == ceil(2 * (2 * norm.isf(0.05)) ** 2 / 0.25**2) == 347
    assert GAUSSIAN.choice_blocks == ceil(2 * norm.isf(0.05) ** 2 / 0.25**2)
    assert UNEQUAL.test_blocks == ceil(1.25 * (2 * norm.isf(0.05)) ** 2 / 0.25**2)
    for blocks in (BERNOULLI.test_blocks, 300):
        rng, draws = np.random.default_rng(1), 40_000
        treated, base = (rng.binomial(blocks, mean, draws) / blocks for mean in (0.15, 0.10))
        z = (treated - base) * sqrt(blocks) / np.sqrt(BERNOULLI.variance_found(treated, base, pooled=True))
        assert np.mean(z > two_arms.Z) == pytest.approx(BERNOULLI.power(blocks), abs=0.01)
    assert BERNOULLI.power(BERNOULLI.test_blocks) >= 0.95 > BERNOULLI.power(BERNOULLI.test_blocks - 1)
    assert BERNOULLI.error_of_choice(BERNOULLI.choice_blocks) <= 0.05
    assert BERNOULLI.significance(BERNOULLI.test_blocks, 0.0) == pytest.approx(0.05, abs=0.002)


def test_critical_values_are_those_that_were_published():
    """Pocock 1977: 2.555 for ten looks at a two-sided level of 0.05, 2.178 for two; Armitage et al. 1969: 0.193."""
    assert 2 * two_arms.crossing(2.555, 10, 0.0)[0] == pytest.approx(0.05, abs=1e-4)
    assert 2 * two_arms.crossing(2.178, 2, 0.0)[0] == pytest.approx(0.05, abs=1e-4)
    assert sum(two_arms.crossing(1.96, 10, 0.0)) == pytest.approx(0.193, abs=5e-4)
    assert two_arms.crossing(two_arms.pocock_bound(10), 10, 0.0)[1] == pytest.approx(0.05, abs=1e-9)


def test_all_rules_see_the_rewards_of_a_simulated_run():
    """The rewards that the other rules are given, handed to an explorer one by one, end it where the run ended."""
    seed, run = 3, 5
    asked = {"policy": "uniform", "delta": 0.05}
    record = simulate(GAUSSIAN.model(1.0), "best-arm", **asked, runs=run + 1, seed=seed).run_records[run]
    paths = two_arms.draw_paths(GAUSSIAN, 1.0, range(run, run + 1), seed)
    rewards = [np.diff(sums[0], prepend=0.0) for sums in (paths.base, paths.treated)]
    ends = set()
    for order in ((0, 1), (1, 0)):  # the run has drawn one of them
        explorer = Explorer("best-arm", "gaussian", 2, Parameters(**asked), costs=[1, 1], tie_order=order)
        while not explorer.stopped:
            arm = explorer.next_arm()
            explorer.observe(arm, float(rewards[arm][explorer.state.counts[arm]]))
        ends.add(explorer.state.counts)
    assert record.counts in ends


@pytest.mark.slow
def test_rules_keep_what_they_promise(rows):
    assert two_arms.broken(list(rows.values())) == []
    promised = [row for row in rows.values() if row.promised]
    assert {row.rule for row in promised} == {
        name for name, rule in two_arms.RULES.items() if rule.promise != "nothing"
    }
    assert all(low <= row.wrong <= high for row in rows.values() for low, high in [row.wrong_ci])


@pytest.mark.slow
def test_a_promise_that_is_broken_is_named(rows):
    row = rows["gaussian", 0.0, "z test, 100 looks"]
    assert two_arms.broken([row]) == []  # it promises nothing
    assert two_arms.broken([replace(row, promised=True)]) != []


@pytest.mark.slow
@pytest.mark.parametrize("looks", [10, 100])
def test_peeking_makes_errors(rows, looks):
    """As many as the integral says, and more than are allowed, beyond chance."""
    exact = two_arms.crossing(two_arms.Z, looks, 0.0)[0]
    for plan in (GAUSSIAN, UNEQUAL):
        found = rows[plan.name, 0.0, f"z test, {looks} looks"]
        assert found.wrong_ci[0] > two_arms.DELTA
        assert abs(found.wrong - exact) < 4 * sqrt(exact * (1 - exact) / found.runs)
    assert rows["bernoulli", 0.0, f"z test, {looks} looks"].wrong_ci[0] > two_arms.DELTA


@pytest.mark.slow
def test_costs_are_those_of_the_plans(rows):
    for plan in two_arms.PLANS:
        for truth in two_arms.PATIENCE:
            assert rows[plan.name, truth, "z test, one look"].mean_cost == plan.block_cost * plan.test_blocks
            assert rows[plan.name, truth, "larger mean, one look"].mean_cost == plan.block_cost * plan.choice_blocks
        planned = rows[plan.name, 1.0, "z test, one look"]
        assert planned.right_ci[0] <= 0.951
        assert planned.right_ci[1] >= 0.949
        assert rows[plan.name, 2.0, "e-process, caet"].mean_cost < planned.mean_cost
        assert rows[plan.name, 0.5, "e-process, caet"].mean_cost > planned.mean_cost
    sprt = rows["gaussian", 1.0, "SPRT"]
    low, high = sprt.cost_ci
    wald = (
        2 * (1 - 2 * 0.05) * np.log(19) / 0.25**2
    )  # two pulls per block; without the overshoot, so a little too small
    assert low < 1.3 * wald
    assert high > wald


@pytest.mark.slow
def test_the_script_prints_tables_and_json(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: plot)")
    status, lines = run_script("two_arms.py", "--runs", "20", "--figure", tmp_path / "two")
    assert (status, len(lines)) == (0, 3 + 4 + len(two_arms.PLANS) * len(two_arms.RULES))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["two.pdf", "two.png"]
    status, lines = run_script("two_arms.py", "--runs", "20", "--json")
    found = json.loads(" ".join(cell for line in lines for cell in line))
    assert (found["delta"], len({row["rule"] for row in found["rows"]})) == (0.05, len(two_arms.RULES) + 4)
