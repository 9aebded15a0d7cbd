"""What the proof in docs/mathematics/d_tracking.md uses: one optimum, continuous, and the bounds of lemma 4."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import FAMILIES, TASKS, random_instance

from caet_opt import BanditModel, Caet, characteristic_time, parse_family, simulate
from caet_opt.kernels import ledger
from caet_opt.kernels.aiming import next_arm

SEEDS = st.integers(0, 2**32 - 1)

#: Proportions converge like the root of the gap: what two answers with gaps of 1e-9 may differ by.
APART = 1e-3


def posed(seed, family, task, arms=4):
    """A random model and task; costs over two orders of magnitude, one arm in four free."""
    return random_instance(np.random.default_rng(seed), family, task, arms)


def term(family, means, effort):
    """``w_a d(mu_a, m) + w_b d(mu_b, m)`` at the weighted mean."""
    middle = float(np.dot(effort, means) / np.sum(effort))
    return sum(weight * float(family.divergence(mean, middle)) for weight, mean in zip(effort, means, strict=True))


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "poisson", "exponential", "geometric"])
@given(st.lists(st.floats(0.05, 0.95), min_size=6, max_size=6))
def test_a_term_is_strictly_concave_but_along_rays(name, numbers):
    family, means, one, other = parse_family(name), numbers[:2], np.array(numbers[2:4]), np.array(numbers[4:])
    assume(abs(means[0] - means[1]) > 0.05)
    mean_of_values = 0.5 * (term(family, means, one) + term(family, means, other))
    value_of_mean = term(family, means, 0.5 * (one + other))
    if abs(one[0] * other[1] - one[1] * other[0]) > 0.01:
        assert value_of_mean > mean_of_values * (1 + 1e-9)
    assert value_of_mean >= mean_of_values * (1 - 1e-12)
    assert term(family, means, 3.0 * one) == pytest.approx(3.0 * term(family, means, one), rel=1e-12)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(FAMILIES), st.sampled_from(TASKS), st.lists(st.floats(-2, 2), min_size=4, max_size=4))
def test_every_start_leads_to_the_same_proportions(seed, family, task, logs):
    """From a solution whose efforts are off by up to a factor of seven, each in its own way."""
    model, asked = posed(seed, family, task)
    cold = characteristic_time(model, asked)
    assume(cold.value > 0)
    start = replace(cold, effort=cold.effort * np.exp(logs))
    warm = characteristic_time(model, asked, warm_start=start)
    assert warm.sampling_proportions == pytest.approx(cold.sampling_proportions, abs=APART)
    assert warm.cost_proportions == pytest.approx(cold.cost_proportions, abs=APART)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_every_solver_finds_the_same_proportions(solver, family, task):
    for seed in range(3):
        model, asked = posed(seed, family, task)
        native, other = (characteristic_time(model, asked, solver=name) for name in ("native", solver))
        assert other.sampling_proportions == pytest.approx(native.sampling_proportions, abs=APART)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(FAMILIES), st.sampled_from(TASKS))
def test_proportions_are_continuous_in_means_and_costs(seed, family, task):
    """A relative step moves them by no more than a hundred times as much, beyond what the gaps leave."""
    rng = np.random.default_rng(seed)
    model, asked = posed(seed, family, task)
    means, costs = np.array(model.means, dtype=float), np.array(model.costs, dtype=float)
    there = characteristic_time(model, asked).sampling_proportions
    for step in (1e-4, 1e-6):
        factors = 1.0 + step * rng.uniform(-1, 1, (2, means.size))
        near = BanditModel(model.family, (means * factors[0]).tolist(), (costs * factors[1]).tolist())
        moved = np.max(np.abs(characteristic_time(near, asked).sampling_proportions - there))
        assert moved < APART + 100 * step


def conditions(arms):
    """What `next_arm` needs to know of an experiment that tracks the present target."""
    caet = Caet.start("best-arm", "gaussian", arms=arms, delta=0.05, tracking="d")
    return caet.policy.setting


def track(targets):
    """Counts after each round in which these targets are tracked, a row per round from the first pull on."""
    arms = targets.shape[1]
    setting, state = conditions(arms), np.zeros((ledger.ARM_ROWS, arms))
    state[ledger.ORDER] = np.arange(arms)
    found = np.zeros(targets.shape)
    for now, target in enumerate(targets):
        state[ledger.TARGET] = target
        state[ledger.COUNT, next_arm(setting, state, float(now))] += 1.0
        found[now] = state[ledger.COUNT]
    return found


def floors(rounds, arms):
    """``sqrt(t) - K / 2 - 1`` after 1, 2, ... pulls."""
    return np.sqrt(np.arange(1, rounds + 1)) - arms / 2 - 1


@settings(max_examples=40)
@given(SEEDS, st.integers(2, 7), st.integers(1, 40), st.booleans())
def test_the_floor_holds_for_targets_that_mean_harm(seed, arms, stay, ahead):
    """All of the target on one arm for some rounds, then on another one: the least pulled or any."""
    rng, rounds = np.random.default_rng(seed), 600
    starved = int(rng.integers(arms))
    targets = np.zeros((rounds, arms))
    for start in range(0, rounds, stay):
        arm = int(rng.integers(arms))
        if ahead and arm == starved:
            arm = (arm + 1) % arms
        targets[start : start + stay, arm] = 1.0
    assert np.all(track(targets) >= floors(rounds, arms)[:, None])


@settings(max_examples=40)
@given(SEEDS, st.integers(2, 6), st.integers(0, 60), st.sampled_from([0.15, 0.3]))
def test_counts_are_as_near_as_lemma_4_says(seed, arms, first, eta):
    """Any targets at first, then any within eta of one; compared from ``max(t_0, eta^-2) / eta`` pulls on."""
    rng = np.random.default_rng(seed)
    wanted = rng.dirichlet(np.full(arms, 0.5))
    begin = int(max(first, eta**-2) / eta) + 1
    rounds = 2 * begin + 50
    others = rng.dirichlet(np.full(arms, 0.5), rounds)
    near = wanted + eta * (others - wanted)  # differences of two points of the simplex are at most one
    targets = np.where(np.arange(rounds)[:, None] < first, others, near)
    assert np.all(np.abs(targets[first:] - wanted) <= eta)
    pulls = np.arange(1, rounds + 1)[:, None]
    excess = (track(targets) - pulls * wanted)[begin:] / pulls[begin:]
    assert np.all(excess <= 2 * eta)
    assert np.all(excess >= -2 * (arms - 1) * eta)


@settings(max_examples=8)
@given(st.data(), st.sampled_from(["exact", "lazy"]), st.sampled_from([1, 7, "growing:0.3"]))
def test_the_floor_holds_in_experiments_whatever_the_rewards(data, solve, batch):
    """Rewards that hypothesis chooses; pulls that are handed out count, answered or not."""
    caet = Caet.start(
        "best-arm", "bernoulli", arms=3, delta=1e-9, costs=[1, 0, 3], tracking="d", solve=solve, batch=batch
    )
    rewards = data.draw(st.lists(st.booleans(), min_size=120, max_size=120))
    for reward in rewards:
        caet.observe(caet.next_arm(), float(reward))
    assert min(caet.state.counts) >= sqrt(len(rewards)) - 1.5 - 1


@pytest.mark.parametrize("settings", [{}, {"solve": "lazy"}, {"batch": "growing:0.2"}], ids=str)
@pytest.mark.parametrize("costs", [[1, 2, 1], [1, 0, 1], "gaps"], ids=str)
def test_shares_of_the_pulls_tend_to_the_target(costs, settings):
    """In a run that is not allowed to stop, with a given alpha: within some standard deviations, 0.003 each."""
    model, share, rounds = BanditModel("gaussian", [3.0, 1.2, 0.0], costs), 0.5, 40_000
    asked = {
        "log_inv_delta": 1e5,
        "zero_cost_share": share,
        "max_rounds": rounds,
        "tracking": "d",
        "runs": 3,
        "seed": 1,
    }
    best = characteristic_time(model, "ranking").sampling_proportions
    free = np.array(model.costs, dtype=float) == 0
    target = (1 - share * free.any()) * best + share * free
    found = [record.counts for record in simulate(model, "ranking", **asked, **settings).run_records]
    assert np.mean(found, axis=0) / rounds == pytest.approx(target, abs=0.02)
