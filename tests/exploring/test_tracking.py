"""CAET: its rules, its guarantees along trajectories, its state, and its rounds, compiled and interpreted."""

import json
from contextlib import suppress
from dataclasses import asdict, replace
from fractions import Fraction
from math import sqrt
from sys import float_info

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import FAMILIES, TASKS, random_instance
from scipy.optimize import brentq, linprog
from whole_runs import bits_of, fail_to_solve, run_compiled, run_interpreted

from caet_opt import (
    BanditModel,
    Bernoulli,
    Exponential,
    Gaussian,
    InputError,
    SolverError,
    parse_family,
)
from caet_opt.exploring.explorer import Caet
from caet_opt.exploring.prediction import project
from caet_opt.exploring.settings import LEAST_SHARE, Parameters
from caet_opt.exploring.state import State
from caet_opt.kernels import ledger
from caet_opt.kernels.aiming import share_out
from caet_opt.simulating.streams import ArmStreams


def caet_on(model, task, log_inv_delta=10.0, threshold="customary", solver="native", **options):
    """CAET for a model with known costs unless told otherwise."""
    source = options.get("cost_source", "known")
    settings = {"log_inv_delta": log_inv_delta, "threshold": threshold, "solver": solver, **options}
    costs = model.costs if source == "known" else None
    return Caet.start(task, model.family, arms=len(model.means), costs=costs, **settings)


def streams_of(model, seed=0):
    return ArmStreams(model, np.random.SeedSequence(seed))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.floats(0.01, 1))
def test_projection_is_nearest_in_the_largest_coordinate(raw, share):
    if sum(raw) == 0:
        return
    target, arms = np.array(raw) / sum(raw), len(raw)
    floor = share / (2 * arms)
    projected = project(target, floor)
    assert projected.sum() == pytest.approx(1.0, abs=1e-12)
    assert projected.min() >= floor
    # min r  s.t.  |v - u| <= r,  v >= floor,  sum v = 1
    up = np.hstack([np.eye(arms), -np.ones((arms, 1))])
    down = np.hstack([-np.eye(arms), -np.ones((arms, 1))])
    best = linprog(
        np.append(np.zeros(arms), 1.0),
        A_ub=np.vstack([up, down]),
        b_ub=np.concatenate([target, -target]),
        A_eq=[[1.0] * arms + [0.0]],
        b_eq=[1.0],
        bounds=[(floor, None)] * arms + [(0, None)],
    )
    assert np.max(np.abs(projected - target)) == pytest.approx(best.fun, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tracking", ["c", "d"])
def test_forced_exploration_and_tracking_error(family, tracking):
    rng = np.random.default_rng(FAMILIES.index(family))
    model, task = random_instance(rng, family, TASKS[FAMILIES.index(family)], 5)
    algorithm, streams = caet_on(model, task, 1000.0, tracking=tracking), streams_of(model)
    arms, followed = 5, np.full(5, 0.2)
    for _ in range(600):
        arm = algorithm.next_arm()
        algorithm.observe(arm, *streams.draw(arm))
        t, counts = algorithm.state.round, np.array(algorithm.state.counts)
        if tracking == "c":
            assert counts.min() >= sqrt(t + arms**2) - 2 * arms
            assert np.max(np.abs(counts - followed)) <= arms * (1 + sqrt(t))
        elif t > arms:
            assert counts.min() >= sqrt(t) - arms / 2 - 1
        seen = counts.min() > 0
        followed = followed + (algorithm.diagnostics.target if seen else 0.2)


def garivier_kaufmann(means):
    """Track-and-Stop's proportions from its own equations: sum over a of d(mu_1, m_a) / d(mu_a, m_a) = 1."""
    from scipy.special import rel_entr

    def kl(x, y):
        return rel_entr(x, y) + rel_entr(1 - x, 1 - y)

    order = np.argsort(means)[::-1]
    best, others = means[order[0]], [means[a] for a in order[1:]]

    def cost(x, mean):
        m = (best + x * mean) / (1 + x)
        return kl(best, m) + x * kl(mean, m)

    def ratio(level):
        xs = [brentq(lambda x, mean=mean: cost(x, mean) - level, 0, 1e5, xtol=1e-14) for mean in others]
        ms = [(best + x * mean) / (1 + x) for x, mean in zip(xs, others, strict=True)]
        return sum(kl(best, m) / kl(mean, m) for m, mean in zip(ms, others, strict=True)) - 1, xs

    top = min(kl(best, mean) for mean in others)
    level = brentq(lambda value: ratio(value)[0], 1e-9 * top, (1 - 1e-3) * top, xtol=1e-16)
    weights = np.zeros(len(means))
    weights[order] = [1.0, *ratio(level)[1]]
    return weights / weights.sum()


def test_with_unit_costs_it_is_track_and_stop():
    model = BanditModel(Bernoulli(), [0.5, 0.45, 0.3, 0.2], [1, 1, 1, 1])
    algorithm, streams = caet_on(model, "best-arm"), streams_of(model, 3)
    compared = 0
    for _ in range(300):
        arm = algorithm.next_arm()
        algorithm.observe(arm, *streams.draw(arm))
        means = algorithm.state.means()
        apart = np.min(np.diff(np.sort(means)))
        if min(algorithm.state.counts) > 3 and apart > 0.01 and 0 < means.min() <= means.max() < 1:
            np.testing.assert_allclose(algorithm.diagnostics.target, garivier_kaufmann(means), atol=1e-5)
            compared += 1
    assert compared > 100


def test_two_free_arms_share_the_rounds():
    model = BanditModel(Gaussian(), [3.0, 2.0, 1.0, 0.0], [0.0, 1.0, 0.0, 2.0])
    algorithm = caet_on(model, "ranking", 500.0)
    assert run_compiled(algorithm, streams_of(model), 10**6)
    shares = np.array(algorithm.state.counts) / algorithm.state.round
    alpha = algorithm.parameters.free_share
    np.testing.assert_allclose(shares[[0, 2]], alpha / 2, atol=0.01)
    np.testing.assert_allclose(alpha, 1 - 500.0**-0.4)


class TestRules:
    """What the paper leaves out; numbers as in `caet_opt.kernels.aiming`."""

    def test_1_every_arm_is_pulled_once_in_order(self):
        model = BanditModel(Gaussian(), [1.0, 2.0, 3.0], [1, 1, 1])
        for tracking in ("c", "d"):
            algorithm, streams = caet_on(model, "ranking", tracking=tracking), streams_of(model)
            pulled = []
            for _ in range(3):
                pulled.append(algorithm.next_arm())
                algorithm.observe(pulled[-1], *streams.draw(pulled[-1]))
            assert pulled == [0, 1, 2]
            assert not caet_on(model, "ranking").stopped

    def test_2_ties_are_sampled_first(self):
        for costs, target in (
            ([1.0, 1.0, 1.0], [0.5, 0.5, 0.0]),
            ([0.0, 1.0, 1.0], [0.0, 1.0, 0.0]),
            ([0.0, 0.0, 1.0], [0.5, 0.5, 0.0]),
        ):
            algorithm = caet_on(BanditModel(Gaussian(), [0.5, 0.4, 0.1], costs), "ranking")
            for arm, reward in enumerate((0.5, 0.5, 0.1)):
                algorithm.observe(arm, reward)
            assert algorithm.diagnostics.target.tolist() == target
            assert algorithm.solves == 0

    def test_2_a_bernoulli_run_survives_its_ties(self):
        model = BanditModel(Bernoulli(), [0.6, 0.5, 0.4], [1, 1, 1])
        algorithm, streams = caet_on(model, "ranking"), streams_of(model)
        ties = 0
        for _ in range(100):
            arm = algorithm.next_arm()
            algorithm.observe(arm, *streams.draw(arm))
            ties += len(set(algorithm.state.means().tolist())) < 3
        assert ties > 3

    def test_3_boundary_of_the_family(self):
        algorithm = caet_on(BanditModel(Bernoulli(), [0.5, 0.4], [1, 0]), "best-arm")
        algorithm.observe(0, 1.0)
        algorithm.observe(1, 0.0)
        np.testing.assert_allclose(algorithm.diagnostics.target, [0.0, 1.0])
        assert np.all(np.isfinite(algorithm.diagnostics.evidence))

    def test_4_every_arm_or_no_arm_free(self):
        pairs, effort = np.array([[0, 1], [1, 2]]), np.array([0.0, 2.5, 7.5])

        def shared(effort, costs, pairs=pairs):
            target = np.full(3, np.nan)
            share_out(pairs, np.array(costs), effort, 0.9, target)
            return target

        assert shared(effort, [1.0, 1.0, 1.0]).tolist() == [0.0, 0.25, 0.75]
        np.testing.assert_allclose(shared(effort, [0.0, 1.0, 1.0]), [0.9, 0.025, 0.075])
        np.testing.assert_allclose(shared(0 * effort, [0.0, 0.0, 0.0]), [1 / 3] * 3)
        np.testing.assert_allclose(shared(0 * effort, [0.0, 1.0, 0.0]), [0.5, 0.0, 0.5])
        np.testing.assert_allclose(shared(effort, [0.0, 1.0, 1.0], pairs[:, 1:]), [0.0, 0.25, 0.75])

    def test_4_negligible_costs_count_as_zero(self):
        parameters = Parameters(log_inv_delta=100.0, cost_source="gaps")
        assert parameters.negligible_cost == pytest.approx(0.1 * 100.0**-0.1)
        algorithm = Caet("best-arm", "gaussian", 3, parameters)
        for arm, reward in enumerate((0.0, -0.06, -0.07)):
            algorithm.observe(arm, reward)
        assert algorithm.diagnostics.costs.tolist() == [0.0, 0.0, 0.07]
        assert algorithm.view.arms[ledger.COST].tolist() == [0.0, 0.0, 0.07]

    def test_5_the_answer_may_change(self):
        model = BanditModel(Gaussian(), [0.1, 0.0], [1, 1])
        algorithm = caet_on(model, "best-arm")
        answers = []
        for arm, reward in ((0, 0.0), (1, 1.0), (0, 3.0), (1, 0.0)):
            algorithm.observe(arm, reward)
            answers.append(None if min(algorithm.state.counts) == 0 else algorithm.answer)
        assert answers == [None, 1, 0, 0]


SAVED = State(3, (2, 1), (1.5, 0.0), (2.0, 1.0), (1.5, 2.5), 3.0, (0.0, 0.0))
ODD = (None, True, "1", [], [1], {}, {"a": 1}, -1, 0.5, 1e400, 10**400, -(10**400), float("nan"))


@pytest.mark.parametrize(
    "record",
    [None, 3, [1], {}, {"round": 1}, asdict(State(1, (0, 0), (0.0,) * 2, (0.0,) * 2, (0.5,) * 2, 0.0, (0.0,) * 2)),
     asdict(State(0, (0, 0), (0.0,) * 3, (0.0,) * 2, (0.5,) * 2, 0.0, (0.0,) * 2))],
)  # fmt: skip
def test_a_broken_state_is_refused(record):
    with pytest.raises(InputError):
        State.from_record(json.loads(json.dumps(record)))


@pytest.mark.parametrize("name", [name for name in asdict(SAVED) if name != "histograms"])
def test_a_state_of_wrong_types_is_refused(name):
    given = json.loads(json.dumps(asdict(SAVED)))
    assert State.from_record(given) == SAVED
    wrong = [{**given, name: value} for value in ODD]
    if isinstance(given[name], list):
        wrong += [{**given, name: [given[name][0], value]} for value in ODD]
        wrong += [{**given, name: given[name][:1]}, {**given, name: [*given[name], 0]}]
    refused = 0
    for record in wrong:
        with suppress(InputError):
            State.from_record(record)
            continue
        refused += 1
    assert len(wrong) - refused == {"reward_sums": 2, "memory": 1}.get(name, 0)  # a sum of -1 or 0.5 may be


COUNTED = replace(SAVED, histograms=((0.5, 1.5), (1.0, 0.0)))


def test_a_state_with_histograms_is_read_back():
    assert State.from_record(json.loads(json.dumps(COUNTED.to_record()))) == COUNTED
    assert "histograms" not in SAVED.to_record()


@pytest.mark.parametrize("value", [*ODD, (0.5, 1.5)])
def test_histograms_of_wrong_types_are_refused(value):
    """In place of all of them, of an arm's, or of a count; in one line."""
    caet, given = Caet.start("best-arm", "bounded:0,1,1", arms=2, delta=0.1), COUNTED.to_record()
    caet.continue_from(State.from_record(json.loads(json.dumps(given))))
    rows = [list(row) for row in COUNTED.histograms]
    for wrong in (value, [value, rows[1]], [[value, 0.5], rows[1]], [*rows, value]):
        with pytest.raises(InputError, match="histogram") as refused:
            caet.continue_from(State.from_record({**json.loads(json.dumps(given)), "histograms": wrong}))
        assert "\n" not in str(refused.value)


def test_a_state_of_another_experiment_is_refused():
    algorithm = caet_on(BanditModel(Bernoulli(), [0.5, 0.4], [1, 1]), "best-arm")
    for state, words in (
        (replace(SAVED, reward_sums=(5.0, 0.0)), "mean 2.5, outside the bernoulli family"),
        (State(0, (0,) * 3, (0.0,) * 3, (0.0,) * 3, (1 / 3,) * 3, 0.0, (0.0,) * 3), "3 arms, not 2"),
        (replace(SAVED, round=4), "counts that sum to it"),
    ):
        before = algorithm.state
        with pytest.raises(InputError, match=words):
            algorithm.continue_from(state)
        assert algorithm.state == before


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("task", TASKS)
def test_compiled_and_interpreted_rounds_follow_one_trajectory(family, task):
    rng = np.random.default_rng([5, FAMILIES.index(family), TASKS.index(task)])
    model, posed = random_instance(rng, family, task, 4)
    compiled, interpreted = caet_on(model, posed, 1000.0), caet_on(model, posed, 1000.0)
    one, two = streams_of(model, 9), streams_of(model, 9)
    for _ in range(8):
        run_compiled(compiled, one, 50)
        run_interpreted(interpreted, two, 50)
        assert bits_of(compiled) == bits_of(interpreted)
        assert compiled.stopped == interpreted.stopped


@pytest.mark.parametrize("tracking", ["c", "d"])
@pytest.mark.parametrize("costs", ["known", "observed", "gaps"])
def test_compiled_and_interpreted_rounds_agree_for_every_rule(tracking, costs):
    model = BanditModel(Gaussian(), [3.0, 4.0, 2.0], "gaps")
    runs = []
    for run in (run_compiled, run_interpreted):
        algorithm = caet_on(model, "ranking", 20.0, tracking=tracking, cost_source=costs)
        assert run(algorithm, streams_of(model, 4), 20_000)
        runs.append(bits_of(algorithm))
    assert runs[0] == runs[1]


def test_every_backend_follows_the_same_trajectory(solver):
    model = BanditModel(Gaussian(), [3.0, 4.0, 2.0], "gaps")
    native, other = (caet_on(model, "ranking", 20.0, cost_source="gaps", solver=name) for name in ("native", solver))
    run_compiled(native, streams_of(model, 2), 150)
    run_interpreted(other, streams_of(model, 2), 150)
    assert other.state.counts == native.state.counts


@pytest.mark.parametrize(
    "options",
    [
        {"log_inv_delta": 0.0},
        {"log_inv_delta": float("nan")},
        {"r": 0.0},
        {"r_prime": 0.0},
        {"gamma0": 0.0},
        {"tracking": "e"},
        {"cost_source": "free"},
    ],
    ids=str,
)
def test_parameters_are_checked(options):
    with pytest.raises(InputError):
        Parameters(**{"log_inv_delta": 10.0, **options})


def test_outside_the_theory_runs_too():
    told = Parameters(log_inv_delta=10.0, r=0.7, zero_cost_share="paper")
    assert told.free_share == pytest.approx(1 - 10**-0.7)


def test_the_share_of_free_arms():
    def share(level, word):
        return Parameters(log_inv_delta=level, zero_cost_share=word).free_share

    assert share(3.0, "paper") == pytest.approx(1 - 3.0**-0.4)
    assert share(0.5, "paper") == 0.0
    assert share(3.0, "auto") == LEAST_SHARE > share(3.0, "paper")
    assert share(500.0, "auto") == share(500.0, "paper") > LEAST_SHARE
    assert share(3.0, 0.3) == 0.3


def test_observations_are_checked():
    model = BanditModel(Gaussian(), [1.0, 0.0], [1, 1])
    algorithm = caet_on(model, "best-arm", cost_source="observed")
    for arm, reward, cost in ((2, 0.0, 1.0), (-1, 0.0, 1.0), (0, float("nan"), 1.0), (0, 0.0, None), (0, 0.0, -1.0)):
        with pytest.raises(InputError):
            algorithm.observe(arm, reward, cost)
    assert algorithm.state.round == 0
    for arm in (True, 0.0, "0", None, np.nan):
        with pytest.raises(InputError, match="does not exist"):
            algorithm.observe(arm, 0.0, 1.0)
    for odd in ("1", None, [1], {}, np.inf, 10**400, 1j):
        for reward, cost in ((odd, 1.0), (0.0, odd)):
            with pytest.raises(InputError):
                algorithm.observe(0, reward, cost)
    assert algorithm.state.round == 0
    algorithm.observe(np.int64(0), np.float32(0.5), Fraction(1, 2))
    assert algorithm.state.reward_sums == algorithm.state.cost_sums == (0.5, 0.0)
    with pytest.raises(InputError, match="cost_source is 'known' but no costs are given"):
        Caet(algorithm.task, Gaussian(), 2, Parameters(log_inv_delta=10.0, cost_source="known"))
    unit = Caet(algorithm.task, Gaussian(), 2, Parameters(log_inv_delta=10.0))
    assert (unit.known_costs.tolist(), unit.parameters.cost_source) == ([1.0, 1.0], "known")
    with pytest.raises(InputError, match="observed once"):
        _ = algorithm.answer


IMPOSSIBLE = {
    "gaussian": (),
    "bernoulli": (-1, 2, 0.5, 1.0000000001),
    "poisson": (-1, 0.5, -1e-300),
    "geometric": (-1, 2.5),
    "exponential": (-1, -1e-300),
    "gamma:2.5": (-1, -0.5),
}


def told(algorithm):
    """Everything that an observation may change."""
    shown = algorithm.diagnostics if min(algorithm.state.counts) > 0 else None
    return algorithm.state, algorithm.next_arm(), repr(shown), bits_of(algorithm), algorithm.to_text()


@pytest.mark.parametrize("family", IMPOSSIBLE)
@pytest.mark.parametrize("tracking", ["c", "d"])
def test_an_impossible_observation_changes_nothing(family, tracking):
    means = [0.8, 0.5, 0.3]
    model = BanditModel(parse_family(family), means, [1, 2, 1])
    algorithm = caet_on(model, "ranking", tracking=tracking, cost_source="observed")
    streams = streams_of(model)
    for _ in range(12):
        before = told(algorithm)
        for reward in (*IMPOSSIBLE[family], np.nan, np.inf, "1"):
            with pytest.raises(InputError):
                algorithm.observe(1, reward, 1.0)
        for cost in (-1, np.nan, np.inf, None, "1"):
            with pytest.raises(InputError):
                algorithm.observe(1, 1.0, cost)
        assert told(algorithm) == before
        arm = algorithm.next_arm()
        algorithm.observe(arm, *streams.draw(arm))


def test_an_observation_that_no_sum_holds_changes_nothing():
    model = BanditModel(Gaussian(), [1.0, 0.0], [1, 1])
    algorithm = caet_on(model, "best-arm", cost_source="observed")
    algorithm.observe(0, 1e300, 1e300)
    before = told(algorithm)
    with pytest.raises(InputError, match="reward -1e\\+301 is too large to be added up"):
        algorithm.observe(0, -1e301, 1.0)
    with pytest.raises(InputError, match="cost 1e\\+301 is too large to be added up"):
        algorithm.observe(0, 1.0, 1e301)
    with pytest.raises(InputError, match="total cost out of double precision"):
        algorithm.absorb(0, 1.0, float_info.max, is_new=False)
    with pytest.raises(InputError, match="mean inf"):
        algorithm.absorb(0, float_info.max, 1.0, is_new=False)
    assert told(algorithm) == before
    with pytest.raises(InputError, match="costs must be at most 1e\\+300"):
        Caet.start("best-arm", "gaussian", arms=2, delta=0.1, costs=[1, 1e301])


def test_an_exponential_arm_may_begin_with_zero():
    """Which stands for a reward too small for a double, and counts as the least that has all its digits."""
    algorithm = caet_on(BanditModel(Exponential(), [1.0, 2.0], [1, 1]), "best-arm")
    algorithm.observe(0, 0.0)
    algorithm.observe(0, 5e-324)
    assert algorithm.state.means()[0] == float_info.min
    algorithm.observe(0, 1.0)
    assert algorithm.state.reward_sums == (1.0, 0.0)
    assert algorithm.state.counts == (3, 0)


@pytest.mark.parametrize("error", [SolverError("no"), KeyboardInterrupt(), ZeroDivisionError()], ids=repr)
@pytest.mark.parametrize("settings", [{}, {"solve": "lazy"}, {"tracking": "d"}, {"policy": "ctas"}], ids=str)
def test_an_observation_whose_target_fails_changes_nothing(monkeypatch, error, settings):
    """To the bit; and it goes on as one that never failed."""
    model = BanditModel(Bernoulli(), [0.8, 0.5, 0.3], [1, 1, 0])
    failing, other = (caet_on(model, "ranking", **settings) for _ in range(2))
    streams, failures = streams_of(model), 0
    for _ in range(60):
        arm = other.next_arm()
        drawn = streams.draw(arm)
        other.observe(arm, *drawn)
        before = told(failing)
        with monkeypatch.context() as patch:
            fail_to_solve(patch, error)
            failing.policy.setting = failing.policy.make_setting()
            failing.view = failing.view._replace(setting=failing.policy.setting)
            try:
                failing.observe(arm, *drawn)
            except type(error):
                failures += 1
                assert told(failing) == before
        failing.policy.setting = failing.policy.make_setting()
        failing.view = failing.view._replace(setting=failing.policy.setting)
        if failing.state.round < other.state.round:
            failing.observe(arm, *drawn)
        assert told(failing) == told(other)
    assert failures > 3
