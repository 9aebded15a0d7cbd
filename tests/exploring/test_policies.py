"""What each policy does in a given state against its formula, and each as an object that asks and is told."""

import json
from math import exp, isclose, log, sqrt

import numpy as np
import pytest
from inverse_gaussian import InverseGaussian
from scipy.optimize import brentq
from scipy.special import rel_entr
from scipy.stats import binomtest
from whole_runs import bits_of, run_compiled, run_interpreted

from caet_opt import POLICIES, BanditModel, Custom, Explorer, InputError, characteristic_time, parse_task
from caet_opt.exploring.policies import list_policies
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.state import State
from caet_opt.kernels import ledger
from caet_opt.simulating.runs import compile_loop
from caet_opt.simulating.streams import ArmStreams

LIVE = [name for name in POLICIES if name != "oracle"]
ELIMINATION = ("chernoff-overlap", "kl-racing", "chernoff-racing")

#: Divergences as textbooks write them, and how rewards with a mean between 0 and 1 are drawn.
DIVERGENCES = {
    "gaussian": lambda x, y: (x - y) ** 2 / 2,
    "bernoulli": lambda x, y: rel_entr(x, y) + rel_entr(1 - x, 1 - y),
    "poisson": lambda x, y: rel_entr(x, y) + y - x,
}


def started(policy, task="best-arm", family="gaussian", *, costs=(1.0, 2.0, 0.5, 1.0), **settings):
    settings = {"delta": 0.1, **settings}
    return Explorer.start(task, family, arms=len(costs), costs=list(costs), policy=policy, **settings)


def at(explorer, counts, means, memory=None):
    """The experiment in a state with these pulls and empirical means."""
    counts, costs = [int(count) for count in counts], explorer.known_costs
    spent = [float(cost * count) for cost, count in zip(costs, counts, strict=True)]
    remembered = memory or (0.0,) * len(counts)
    rewards = tuple(float(mean * count) for mean, count in zip(means, counts, strict=True))
    rests = (0.0,) * len(counts)
    state = State(sum(counts), tuple(counts), rewards, tuple(spent), tuple(remembered), sum(spent), rests)
    explorer.continue_from(state)
    return explorer


def random_states(family, number, arms=4):
    """Pulls and sums of whole rewards, so that ties occur and the boundary is met."""
    rng = np.random.default_rng(number)
    counts = rng.integers(1, 40, arms)
    return counts, rng.binomial(counts, rng.uniform(0.0, 1.0, arms)) / counts


def evidence(family, counts, means, a, b):
    """Z_ab and the share of a in it."""
    divergence = DIVERGENCES[family]
    centre = (counts[a] * means[a] + counts[b] * means[b]) / (counts[a] + counts[b])
    first, second = counts[a] * divergence(means[a], centre), counts[b] * divergence(means[b], centre)
    return first + second, first / (first + second) if first + second > 0 else 0.5


def weakest(family, task, counts, means, penalty, usable=lambda a, b: True):
    """The pairs of the answer with the least evidence, up to rounding."""
    pairs = [pair for pair in parse_task(task).pairs(list(means)) if usable(*pair)]
    index = [evidence(family, counts, means, a, b)[0] + penalty * log(counts[b]) for a, b in pairs]
    return [pair for pair, value in zip(pairs, index, strict=True) if value <= min(index) + 1e-9]


CASES = [(family, task) for family in DIVERGENCES for task in ("best-arm", "ranking", "top-arms:2", "control:1")]


@pytest.mark.parametrize("policy", ["top-two", "top-two-ids"])
@pytest.mark.parametrize(("family", "task"), CASES)
def test_the_top_two_rules_take_the_pair_with_least_evidence_and_log_count(policy, family, task):
    telling = 0
    for number in range(25):
        counts, means = random_states(family, number)
        pairs = weakest(family, task, counts, means, 1.0)
        found = {at(started(policy, task, family, seed=seed), counts, means).next_arm() for seed in range(20)}
        assert any(found == set(pair) or (policy == "top-two-ids" and found < set(pair)) for pair in pairs)
        telling += not any(found <= set(pair) for pair in weakest(family, task, counts, means, 0.0))
    assert telling > 0


@pytest.mark.parametrize(("family", "task"), CASES)
def test_best_challenger_takes_the_arm_with_more_divergence_per_cost(family, task):
    costs = (1.0, 2.0, 0.5, 1.0)
    for number in range(40):
        counts, means = random_states(family, number)
        found = at(started("best-challenger", task, family, costs=costs), counts, means).next_arm()
        allowed = set()
        for a, b in weakest(family, task, counts, means, 0.0):
            _, share = evidence(family, counts, means, a, b)
            gain = share / (counts[a] * costs[a]), (1 - share) / (counts[b] * costs[b])
            if isclose(*gain, rel_tol=1e-9):
                allowed |= {a, b}
            else:
                allowed.add(a if gain[0] > gain[1] else b)
        assert found in allowed


def test_top_two_ids_splits_the_cost_of_the_pair_by_the_shares():
    for counts, means, costs in (
        ((20, 12, 9, 14), (0.8, 0.75, 0.1, 0.2), (1.0, 0.3, 0.5, 1.0)),
        ((5, 40, 30, 90), (0.5, 0.2, 0.6, 0.3), (0.1, 1.0, 2.0, 1.0)),
    ):
        for family in DIVERGENCES:
            ((a, b),) = weakest(family, "best-arm", counts, means, 1.0)
            _, share = evidence(family, counts, means, a, b)
            first, second = share / costs[a], (1 - share) / costs[b]
            drawn = [
                at(started("top-two-ids", family=family, costs=costs, seed=s), counts, means).next_arm()
                for s in range(600)
            ]
            assert set(drawn) == {a, b}
            assert binomtest(drawn.count(a), len(drawn), first / (first + second)).pvalue > 1e-3


def test_the_coin_of_the_top_two_rules_is_fair():
    counts, means = (20, 12, 9, 14), (0.8, 0.75, 0.1, 0.2)
    for policy in ("top-two", "thompson-top-two"):
        drawn = [at(started(policy, seed=s), (1000 * np.array(counts)).tolist(), means).next_arm() for s in range(600)]
        assert set(drawn) == {0, 1}
        assert binomtest(drawn.count(0), len(drawn), 0.5).pvalue > 1e-3


def test_thompson_top_two_draws_its_leader_from_the_posterior():
    """Frequencies of the arms: that of an answer is how often a draw has it; then its pair with the least evidence.

    Pairs that the means contradict have none. Where arm 3 is drawn best, its three pairs are equally likely.
    """
    counts, means = (20, 20, 20, 1), (0.35, 0.3, 0.25, 0.0)
    rng = np.random.default_rng(1)
    draws = rng.normal(means, 1 / np.sqrt(counts), (200_000, 4))
    leads = np.bincount(np.argmax(draws, 1), minlength=4) / len(draws)
    expected = np.zeros(4)
    for leader, chance in enumerate(leads):
        others = [arm for arm in range(4) if arm != leader]
        index = [evidence("gaussian", counts, means, leader, b)[0] if means[leader] > means[b] else 0.0 for b in others]
        chosen = [b for b, value in zip(others, index, strict=True) if value == min(index)]
        expected[leader] += chance / 2
        for b in chosen:
            expected[b] += chance / 2 / len(chosen)
    runs = 3000
    drawn = [at(started("thompson-top-two", seed=s), counts, means).next_arm() for s in range(runs)]
    found = np.bincount(drawn, minlength=4)
    assert min(expected) > 0.05
    assert np.sum((found - runs * expected) ** 2 / (runs * expected)) < 16.3  # chi-squared, three degrees, 0.1 %


@pytest.mark.parametrize("task", ["best-arm", "ranking"])
def test_equal_spending_and_uniform_take_the_least(task):
    costs = np.array([1.0, 2.0, 0.5, 1.0])
    for number in range(40):
        counts, means = random_states("gaussian", number)
        assert at(started("uniform", task), counts, means).next_arm() == np.argmin(counts)
        assert at(started("equal-spending", task, costs=costs), counts, means).next_arm() == np.argmin(counts * costs)


@pytest.mark.parametrize("task", ["best-arm", "ranking"])
def test_ctas_follows_the_shares_of_the_money(task):
    costs, seen = np.array([1.0, 2.0, 0.5, 1.0]), set()
    for number in range(30):
        counts, means = random_states("gaussian", number)
        counts, means = counts + 20, means + 0.01 * np.arange(4)
        if number % 3 == 0:
            counts[number % 4] = 2
        uniform = ((sum(counts) + 1) / 4,) * 4
        explorer = at(started("ctas", task, costs=costs), counts, means, uniform)
        found = characteristic_time(BanditModel("gaussian", means.tolist(), costs.tolist()), task)
        lag = found.cost_proportions - costs * counts / np.sum(costs * counts)
        forced = min(counts) < sqrt(sum(counts))
        seen.add(forced)
        assert explorer.next_arm() == (np.argmin(counts) if forced else np.argmax(lag))
    assert seen == {True, False}


FREE = ("equal-spending", "top-two-ids", "best-challenger", "chernoff-overlap", "ctas")


@pytest.mark.parametrize("policy", FREE)
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_free_arms_take_the_zero_cost_share(policy, share):
    """Two of four arms are free; below the share the less pulled of them is next, above it a costly arm."""
    costs = (0.0, 1.0, 0.0, 2.0)
    means = (0.5, 0.4, 0.3, 0.2)
    for free in (20, 40, 100, 180, 300, 500, 1000, 2000):
        counts = (free, 30, free - 1, 25)
        memory = ((sum(counts) + 1) / 4,) * 4 if policy == "ctas" else None
        explorer = at(
            started(policy, costs=costs, zero_cost_share=share, log_inv_delta=1e4, delta=None), counts, means, memory
        )
        if policy == "ctas" and min(counts) < sqrt(sum(counts)):
            assert explorer.next_arm() == np.argmin(counts)
        elif 2 * free - 1 < share * sum(counts):
            assert explorer.next_arm() == 2
        else:
            assert explorer.next_arm() in (1, 3)


@pytest.mark.parametrize("policy", FREE)
def test_when_every_arm_is_free_the_least_pulled_is_next(policy):
    memory = (15.25,) * 4 if policy == "ctas" else None
    explorer = at(started(policy, costs=(0.0,) * 4), (20, 15, 9, 16), (0.5, 0.4, 0.3, 0.2), memory)
    assert explorer.next_arm() == 2


def test_a_free_arm_that_no_pair_needs_gets_no_share():
    explorer = started("equal-spending", "comparisons:0-1", costs=(1.0, 2.0, 0.0), zero_cost_share=0.9)
    assert at(explorer, (10, 10, 1), (0.5, 0.2, 0.9)).next_arm() == 0


@pytest.mark.parametrize("policy", ["top-two-ids", "best-challenger"])
def test_of_a_pair_with_a_free_arm_the_costly_one_is_pulled(policy):
    costs, counts, means = (0.0, 1.0, 2.0), (1000, 30, 20), (0.5, 0.4, -0.9)
    for seed in range(20):
        explorer = started(policy, costs=costs, zero_cost_share=0.1, seed=seed)
        assert at(explorer, counts, means).next_arm() == 1


def bound(family, mean, target, above):
    """Where the divergence from a mean reaches a target."""
    low, high = {"gaussian": (-100.0, 100.0), "bernoulli": (0.0, 1.0), "poisson": (0.0, 1e4)}[family]
    outer = high if above else low
    divergence = DIVERGENCES[family]
    if mean == outer or not divergence(mean, outer) > target:
        return outer
    return brentq(lambda q: divergence(mean, q) - target, mean, outer, xtol=1e-15)


def bounds_of(explorer, family):
    """LCB and UCB of every arm at the customary threshold."""
    counts, means = np.array(explorer.state.counts), explorer.state.means()
    level = explorer.parameters.log_inv_delta + log(1 + log(sum(counts)))
    lower = np.array([bound(family, mean, level / count, False) for mean, count in zip(means, counts, strict=True)])
    upper = np.array([bound(family, mean, level / count, True) for mean, count in zip(means, counts, strict=True)])
    return counts, means, lower, upper


def observed(policy, task, family, number):
    """An experiment in a random state after an observation, with the customary threshold."""
    counts, means = random_states(family, number, arms=5)
    explorer = started(policy, task, family, costs=(1.0,) * 5, threshold="customary")
    at(explorer, counts, means).observe(number % 5, float(number % 2))
    return explorer


@pytest.mark.parametrize("family", DIVERGENCES)
@pytest.mark.parametrize("task", ["best-arm", "top-arms:2", "top-arms:3"])
def test_kl_lucb_takes_the_weakest_leader_and_its_strongest_challenger(family, task):
    apart = 0
    for number in range(40):
        explorer = observed("kl-lucb", task, family, number)
        _, means, lower, upper = bounds_of(explorer, family)
        pairs = explorer.task.pairs(means.tolist())
        leaders = sorted({a for a, _ in pairs})
        rivals = [a for a in range(5) if a not in leaders]
        first, second = min(lower[leaders]), max(upper[rivals])
        memory = np.array(explorer.state.memory)
        if first >= second:
            apart += 1
            marked = {(int(np.argmax(memory == 1)), int(np.argmax(memory == 2)))} if memory.any() else set()
            assert marked <= set(pairs)
            assert explorer.stopped == (not marked)
            continue
        leader, rival = explorer.next_arm(), int(np.flatnonzero(memory == 2.0)[0])
        assert (memory[leader], sorted(memory)) == (1.0, [0, 0, 0, 1, 2])
        assert leader in leaders
        assert rival in rivals
        assert isclose(lower[leader], first, rel_tol=1e-9, abs_tol=1e-11)
        assert isclose(upper[rival], second, rel_tol=1e-9, abs_tol=1e-11)
        explorer.observe(leader, 1.0)
        assert explorer.next_arm() == rival
    assert apart < 30


@pytest.mark.parametrize("family", DIVERGENCES)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_ugape_takes_the_less_pulled_of_the_surest_arm_and_its_rival(family, size):
    judged = 0
    for number in range(40):
        explorer = observed("ugape", f"top-arms:{size}" if size > 1 else "best-arm", family, number)
        counts, _, lower, upper = bounds_of(explorer, family)
        loss = np.array([sorted(np.delete(upper, a))[-size] for a in range(5)]) - lower
        order = np.argsort(loss, kind="stable")
        ties = np.diff(sorted(loss)).min() < 1e-9 or np.diff(sorted(upper)).min() < 1e-9
        if ties or abs(loss[order[size - 1]]) < 1e-9:
            continue
        judged += 1
        if loss[order[size - 1]] <= 0:
            continue
        surest = min(order[:size], key=lambda a: lower[a])
        rival = max(order[size:], key=lambda a: upper[a])
        assert explorer.next_arm() == (surest if counts[surest] <= counts[rival] else rival)
    assert judged >= 10


def test_ugape_counts_an_arm_with_less_loss_among_the_surest_where_others_tie():
    """Arms 0 and 1 are alike and arm 2 is the best: of two surest arms, arm 2 is one, and so no rival."""
    explorer = started(
        "ugape", "top-arms:2", "gaussian", costs=(1.0,) * 4, threshold="customary", log_inv_delta=5.0, delta=None
    )
    at(explorer, (10, 10, 9, 10), (0.5, 0.5, 1.0, 0.0)).observe(2, 1.0)
    _, _, lower, upper = bounds_of(explorer, "gaussian")
    assert upper[2] > upper[1] > upper[3]
    assert lower[0] == lower[1] < lower[2]
    assert explorer.next_arm() == 0  # of l = 0 and u = 1, pulled as often; with u = 2 it were 0 as well
    at(explorer, (10, 10, 7, 10), (0.5, 0.5, 1.0, 0.0)).observe(2, 1.0)
    assert explorer.next_arm() == 0  # with u = 2 it were 2, which has fewer pulls
    at(explorer, (10, 10, 7, 5), (0.5, 0.5, 1.0, -5.0)).observe(2, 1.0)
    assert explorer.next_arm() == 0  # with u = 3 it were 3


@pytest.mark.parametrize("policy", ["kl-lucb", "ugape"])
def test_bounds_that_are_apart_do_not_suffice_where_evidence_is_short(policy):
    """The level of an arm at the e-process is that of many pulls: log(1 / delta) + log(1 + N / 8) - 2 log 2."""
    explorer = started(policy, costs=(1.0, 1.0), threshold="e-process")
    at(explorer, (5, 1999), (1.2, 0.0)).observe(1, 0.0)
    many = log(10) + log(1 + 2000 / 8) - 2 * log(2)
    assert 1.2 - sqrt(2 * log(10) / 5) > sqrt(2 * many / 2000)
    assert not explorer.diagnostics.settled
    assert not explorer.stopped
    assert explorer.next_arm() == 0
    at(explorer, (5, 1999), (3.0, 0.0)).observe(1, 0.0)
    assert explorer.diagnostics.settled
    assert explorer.stopped


def test_kl_racing_drops_nobody_where_evidence_is_short():
    explorer = started("kl-racing", family="bernoulli", costs=(1.0, 1.0), threshold="e-process")
    at(explorer, (5, 4), (0.9, 0.0125)).observe(1, 0.0)
    assert bound("bernoulli", 0.9, log(10) / 5, False) > bound("bernoulli", 0.01, log(10) / 5, True)
    assert explorer.state.memory == (0.0, 0.0)
    at(explorer, (50, 49), (0.9, 0.0125)).observe(1, 0.0)
    assert explorer.state.memory == (0.0, 1.0)


def threshold_customary(explorer):
    return explorer.parameters.log_inv_delta + log(1 + log(explorer.state.round))


@pytest.mark.parametrize("family", DIVERGENCES)
def test_racing_drops_the_worst_at_the_end_of_a_lap(family):
    dropped = {"kl-racing": 0, "chernoff-racing": 0}
    for number in range(60):
        rng = np.random.default_rng(number)
        pulls = int(rng.integers(20, 120))
        means = rng.binomial(pulls, rng.uniform(0.0, 1.0, 4)) / pulls
        for policy in dropped:
            explorer = started(policy, family=family, costs=(1.0,) * 4, threshold="customary")
            at(explorer, (pulls, pulls, pulls, pulls - 1), means)
            early = at(
                started(policy, family=family, costs=(1.0,) * 4, threshold="customary"),
                (pulls, pulls, pulls - 2, pulls),
                means,
            )
            explorer.observe(3, float(means[3]) if family == "gaussian" else float(round(means[3])))
            early.observe(2, 1.0)
            assert early.state.memory == (0.0,) * 4  # the lap is not over
            found = explorer.state.means()
            best, worst = int(np.argmax(found)), 3 - int(np.argmin(found[::-1]))
            beaten = evidence(family, explorer.state.counts, found, best, worst)[0] > threshold_customary(explorer)
            if policy == "kl-racing":
                _, _, lower, upper = bounds_of(explorer, family)
                beaten = beaten and upper[worst] < lower[best]
            assert explorer.state.memory == tuple(float(beaten and a == worst) for a in range(4))
            assert explorer.next_arm() == (1 if beaten and worst == 0 else 0)
            dropped[policy] += beaten
    assert min(dropped.values()) > 5
    assert dropped["kl-racing"] < dropped["chernoff-racing"] < 60


@pytest.mark.parametrize("family", DIVERGENCES)
def test_chernoff_overlap_drops_every_arm_that_the_best_beats(family):
    costs, sizes = np.array([1.0, 4.0, 0.25, 1.0]), set()
    for number in range(40):
        counts, means = random_states(family, number)
        explorer = started("chernoff-overlap", family=family, costs=costs, threshold="customary")
        at(explorer, 4 * counts, means)
        explorer.observe(0, 1.0)
        counts, found = np.array(explorer.state.counts), explorer.state.means()
        best = int(np.argmax(found))
        kept = [
            a
            for a in range(4)
            if a == best or evidence(family, counts, found, best, a)[0] <= threshold_customary(explorer)
        ]
        assert [a for a in range(4) if explorer.state.memory[a] == 0.0] == kept
        assert explorer.next_arm() == min(kept, key=lambda a: sqrt(costs[a]) * counts[a])
        assert explorer.stopped == (len(kept) == 1)
        assert explorer.answer == best
        sizes.add(len(kept))
    assert len(sizes) >= 3


@pytest.mark.parametrize("policy", ELIMINATION)
def test_what_was_dropped_is_neither_pulled_nor_the_answer(policy):
    explorer = at(
        started(policy, log_inv_delta=100.0, delta=None), (10, 10, 10, 10), (0.1, 0.2, 0.9, 0.3), (0, 0, 1, 0)
    )
    assert explorer.answer == 3
    for _ in range(12):
        arm = explorer.next_arm()
        assert arm != 2
        explorer.observe(arm, 0.2)
    assert explorer.state.counts[2] == 10
    explorer.observe(2, 50.0)  # one may look at it all the same
    assert explorer.answer == 3
    assert explorer.state.memory[2] == 1.0


@pytest.mark.parametrize("policy", LIVE)
def test_rewards_on_the_boundary_are_no_trouble(policy):
    """Bernoulli arms that always bring 0 or always 1: ties for ever, or an answer."""
    for rewards, ends in (((0, 0, 0), False), ((1, 1, 1), False), ((0, 1, 0), True), ((1, 1, 0), False)):
        explorer = started(policy, family="bernoulli", costs=(1.0, 2.0, 0.0), zero_cost_share=0.5)
        for _ in range(100):
            if explorer.stopped:
                break
            arm = explorer.next_arm()
            explorer.observe(arm, rewards[arm])
        assert explorer.stopped == ends
        assert explorer.answer == rewards.index(max(rewards))


@pytest.mark.parametrize("policy", [name for name in LIVE if issubclass(POLICIES[name], IndexPolicy)])
def test_what_leaves_double_precision_warns_of_nothing(policy):
    """Evidence that is infinite or no number, as compiled code has it; pytest takes a warning for an error."""
    rng = np.random.default_rng(3)
    for variance, scale in ((1e-200, 1e120), (1e200, 1e280), (1e-200, 1e40)):
        explorer = started(
            policy, family=f"gaussian:{variance}", costs=(1e-300, 1.0, 0.0), log_inv_delta=1e9, delta=None
        )
        for _ in range(40):
            arm = explorer.next_arm()
            explorer.observe(arm, scale * rng.normal())
            assert explorer.stopped in (True, False)


# Ask and tell

MODEL = BanditModel("bernoulli", [0.8, 0.6, 0.5, 0.3], [1.0, 0.0, 2.0, 0.5])


def live(policy, **changes):
    settings = {"family": "bernoulli", "costs": MODEL.costs, "delta": 1e-6, "seed": 5, **changes}
    return started(policy, **settings)


def tasks_of(policy):
    tasks = ["best-arm", "ranking", "top-arms:2", Custom([[(0, 1)], [(1, 0)]])]
    return [task for task in tasks if policy in list_policies(task)]


@pytest.mark.parametrize("policy", LIVE)
def test_a_resumed_experiment_goes_on_exactly(tmp_path, policy):
    path = tmp_path / "experiment.json"
    for task in tasks_of(policy):
        explorer = live(policy, task=task)
        streams = ArmStreams(MODEL, np.random.SeedSequence(3))
        for loop, rounds in ((run_interpreted, 0), (run_interpreted, 3), (run_compiled, 40), (run_interpreted, 7)):
            loop(explorer, streams, rounds)
            explorer.save(path)
            resumed = Explorer.resume(path)
            for _ in range(10):
                arm = explorer.next_arm()
                assert (resumed.next_arm(), resumed.state, resumed.stopped) == (arm, explorer.state, explorer.stopped)
                drawn = streams.draw(arm)
                explorer.observe(arm, *drawn)
                resumed.observe(arm, *drawn)
            assert repr(resumed.diagnostics) == repr(explorer.diagnostics)


@pytest.mark.parametrize("policy", LIVE)
def test_asking_again_changes_nothing_and_another_arm_may_be_observed(policy):
    explorer, streams = live(policy), ArmStreams(MODEL, np.random.SeedSequence(4))
    for number in range(60):
        before = explorer.state
        asked = [explorer.next_arm() for _ in range(3)]
        stopped = explorer.stopped
        assert (asked, explorer.next_arm(), explorer.stopped) == ([asked[0]] * 3, asked[0], stopped)
        assert explorer.state == before
        arm = asked[0] if number % 3 else number % 4
        explorer.observe(arm, *streams.draw(arm))
        assert explorer.state.counts[arm] == before.counts[arm] + 1
    fresh = live(policy)
    fresh.continue_from(explorer.state)
    if issubclass(POLICIES[policy], IndexPolicy):  # the others solve again, from another start
        assert fresh.next_arm() == explorer.next_arm()


@pytest.mark.parametrize("policy", LIVE)
def test_a_refused_observation_leaves_everything_as_it_was(policy):
    explorer, streams = live(policy), ArmStreams(MODEL, np.random.SeedSequence(4))
    run_interpreted(explorer, streams, 20)
    state, arm = explorer.state, explorer.next_arm()
    for bad in ((0, 0.5), (0, float("nan")), (7, 1.0), (-1, 1.0), (0, 1.0, -3.0)):
        with pytest.raises(InputError):
            explorer.observe(*bad)
    assert (explorer.state, explorer.next_arm()) == (state, arm)


@pytest.mark.parametrize("policy", LIVE)
def test_it_can_go_on_after_it_has_stopped(policy):
    explorer = started(policy, family="bernoulli", costs=(1.0, 1.0, 2.0))
    while not explorer.stopped:
        arm = explorer.next_arm()
        explorer.observe(arm, (1, 0, 0)[arm])
    assert explorer.answer == 0
    for _ in range(5):
        arm = explorer.next_arm()
        assert arm in (0, 1, 2)
        explorer.observe(arm, (1, 0, 0)[arm])
    assert (explorer.stopped, explorer.answer) == (True, 0)


@pytest.mark.parametrize("policy", [name for name in LIVE if POLICIES[name].covered is not None])
def test_a_task_that_is_not_covered_is_refused(policy):
    with pytest.raises(
        InputError, match=rf"policy '{policy}' covers best-arm.*, not ranking; 'caet' covers every task"
    ):
        started(policy, "ranking")
    if policy in ELIMINATION:
        with pytest.raises(InputError, match="covers best-arm, not top-arms:2"):
            started(policy, "top-arms:2")


@pytest.mark.parametrize(
    ("policy", "changes", "words"),
    [
        ("oracle", {}, "policy 'oracle' knows the true model, so it is for simulations only; use 'caet'"),
        ("top-too", {}, "unknown policy 'top-too'; did you mean 'top-two'?"),
        ("", {}, "unknown policy ''; known: best-challenger, "),
        (None, {}, "polic"),
        (3, {}, "polic"),
        *(
            ("top-two", {"seed": seed}, "seed must be a whole number, zero or more")
            for seed in (-1, 1.0, True, "1", None)
        ),
        ("top-two", {"seed": 2**63}, "seed must be at most 9223372036854775807"),
    ],
)
def test_an_impossible_policy_or_seed_is_refused(policy, changes, words):
    with pytest.raises(InputError, match=words):
        started(policy, **changes)


def test_a_saved_experiment_knows_its_policy_and_seed(tmp_path):
    path = tmp_path / "experiment.json"
    live("top-two").save(path)
    resumed = Explorer.resume(path)
    assert (resumed.parameters.policy, resumed.setup.seed) == ("top-two", 5)


@pytest.mark.parametrize("policy", LIVE)
def test_a_memory_that_is_none_is_refused_or_goes_on(tmp_path, policy):
    """Whatever a file says that the policy remembers: one `InputError`, or an experiment that can go on."""
    path, explorer = tmp_path / "experiment.json", live(policy)
    run_interpreted(explorer, ArmStreams(MODEL, np.random.SeedSequence(3)), 30)
    explorer.save(path)
    record = json.loads(path.read_text())
    refused = []
    for memory in [[value] * 4 for value in (0, 1, 2, 0.5, 1e300, -1, None)] + [[1, 1, 1, 0], [0, 1, 1, 2], [1, 1], []]:
        path.write_text(json.dumps({**record, "state": {**record["state"], "memory": memory}}))
        try:
            resumed = Explorer.resume(path)
        except InputError as error:
            refused.append(str(error))
            continue
        for _ in range(5):
            arm = resumed.next_arm()
            resumed.observe(arm, 1.0)
            assert resumed.answer in range(4)
    assert len(refused) >= 4
    assert all(message.startswith(f"{path}: ") and "\n" not in message for message in refused)


@pytest.mark.parametrize("policy", LIVE)
def test_a_family_of_the_users_own(policy):
    model = BanditModel(InverseGaussian(), [1.0, 2.0, 4.0], [1.0, 0.5, 2.0])
    settings = {"family": InverseGaussian(), "costs": model.costs, "delta": 0.1}
    if policy == "thompson-top-two":
        with pytest.raises(InputError, match="knows the shipped families only, not inverse-gaussian; use 'top-two'"):
            started(policy, **settings)
        return
    explorer = started(policy, **settings)
    assert run_interpreted(explorer, ArmStreams(model, np.random.SeedSequence(3)), 3000)
    assert explorer.answer == 2
    compile_loop(policy)
    again = started(policy, **settings)
    assert run_compiled(again, ArmStreams(model, np.random.SeedSequence(3)), 3000)
    assert bits_of(again) == bits_of(explorer)  # by its own formulas where compiled code of the policy is at hand


def test_a_users_family_is_played_by_its_own_formulas():
    """The pair of top-two and the bounds of kl-lucb with d(x, y) = (x - y)^2 / (2 x y^2)."""

    def divergence(x, y):
        return (x - y) ** 2 / (2 * x * y * y)

    counts, means = (20, 30, 40), (1.0, 2.0, 2.2)
    explorer = started("kl-lucb", family=InverseGaussian(), costs=(1, 1, 1), threshold="customary")
    at(explorer, counts, means).observe(0, 1.0)
    view = explorer.view
    for p, (a, b) in enumerate(view.pairs.T):
        n, m = view.arms[ledger.COUNT], view.arms[ledger.MEAN]
        centre = (n[a] * m[a] + n[b] * m[b]) / (n[a] + n[b])
        assert isclose(
            view.evidence[p], n[a] * divergence(m[a], centre) + n[b] * divergence(m[b], centre), rel_tol=1e-12
        )
    level = log(10) + log(1 + log(91))
    upper = [
        brentq(lambda q, x=x, n=n: n * divergence(x, q) - level, x, 1e3 * x) if n * 0.5 / x > level else exp(99)
        for x, n in zip((1.0, 2.0), (21, 30), strict=True)
    ]
    assert explorer.next_arm() == 2
    explorer.observe(2, 2.2)
    assert explorer.next_arm() == int(np.argmax(upper))
