"""Targets that are kept: what the box certifies, when it is left, and pulls that are handed out in batches."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from whole_runs import run_compiled, run_interpreted

from caet_opt import BanditModel, Caet, Explorer, InputError, characteristic_time, simulate
from caet_opt.exploring.policies import POLICIES
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.settings import Parameters
from caet_opt.kernels import boxes
from caet_opt.kernels.boxes import HIGH, LOW
from caet_opt.kernels.statement_columns import list_columns
from caet_opt.simulating.streams import ArmStreams
from caet_opt.solving.certificate import statement_terms
from caet_opt.solving.characteristic import solve_question
from caet_opt.solving.problem import Question
from caet_opt.solving.profiles import Profile
from cases.instances import FAMILIES, TASKS, ordinary_instance
from cases.runs import STATED, draw_stated

MODEL = BanditModel("gaussian", [1.0, 0.6, 0.0], costs=[1, 2, 1])

OTHERS = [name for name, policy in POLICIES.items() if issubclass(policy, IndexPolicy) and not policy.needs_truth]


def explored(seed, family, task, source, rounds, solve="lazy"):
    """A lazy CAET after some rounds on a random model."""
    rng = np.random.default_rng(seed)
    model, posed = ordinary_instance(rng, family, task, int(rng.integers(3, 6)))
    if source == "gaps":
        model = BanditModel(model.family, model.means, "gaps")
    parameters = Parameters(log_inv_delta=1e5, cost_source=source, solve=solve, threshold="customary")
    caet = Explorer(posed, model.family, len(model.means), parameters, model.costs if source == "known" else None)
    distribution = "exponential" if source == "observed" else "constant"
    run_interpreted(caet, ArmStreams(model, np.random.SeedSequence(seed), distribution), rounds)
    return caet, rng


def costs_in_box(caet, box, means, rng):
    """Costs that go with some means in the box."""
    if caet.parameters.cost_source == "known":
        return caet.known_costs
    if caet.parameters.cost_source == "gaps":
        gaps = means.max() - means
        return np.where(gaps > caet.parameters.negligible_cost, gaps, 0.0)
    paid = box[boxes.PAID]
    drawn = rng.uniform(box[boxes.CHEAP], box[boxes.DEAR])
    return np.where(paid > 0, drawn, 0.0)


@given(
    seed=st.integers(0, 10**6),
    family=st.sampled_from(FAMILIES),
    task=st.sampled_from(TASKS),
    source=st.sampled_from(["known", "observed", "gaps"]),
)
def test_the_box_certifies_what_it_says(seed, family, task, source):
    """At any means and costs in the box, the effort that is kept costs at most 1 + gap times the best."""
    caet, rng = explored(seed, family, task, source, rounds=60)
    aim = caet.view.aim
    assume(np.all(aim.box[LOW] <= aim.box[HIGH]))
    pairs = tuple((int(a), int(b)) for a, b in aim.solved.T)
    allowed = caet.parameters.solve_gap
    for _ in range(4):
        ends = rng.integers(0, 2, caet.arms)
        corner = np.where(ends == 1, aim.box[LOW], aim.box[HIGH])
        means = corner if rng.random() < 0.5 else rng.uniform(aim.box[LOW], aim.box[HIGH])
        costs = costs_in_box(caet, aim.box, means, rng)
        assert caet.task.pairs(means.tolist()) == pairs
        model = BanditModel(caet.family, means.tolist(), costs.tolist())
        best = characteristic_time(model, caet.task)
        assert costs @ aim.effort / min(statement_terms(model, pairs, aim.effort)) <= (1 + allowed) * best.upper


@given(
    number=st.integers(0, 10**6),
    kind=st.sampled_from(STATED),
    family=st.sampled_from(FAMILIES),
    source=st.sampled_from(["known", "observed", "gaps"]),
)
def test_a_box_of_statements_certifies_what_it_says(number, kind, family, source):
    """The same with levels, margins and ratios."""
    rng = np.random.default_rng(number)
    model, _ = ordinary_instance(rng, family, "best-arm", int(rng.integers(3, 6)))
    source = "known" if kind.startswith("cheapest") else source
    if source == "gaps":
        model = BanditModel(model.family, model.means, "gaps")
    model, posed = draw_stated(rng, model, kind)
    assume(not posed.lower_is_better or source != "gaps")
    parameters = Parameters(log_inv_delta=1e5, cost_source=source, solve="lazy", threshold="customary")
    caet = Explorer(posed, model.family, len(model.means), parameters, model.costs if source == "known" else None)
    distribution = "exponential" if source == "observed" else "constant"
    run_interpreted(caet, ArmStreams(model, np.random.SeedSequence(number), distribution), 60)
    aim, allowed = caet.view.aim, caet.parameters.solve_gap
    assume(np.all(aim.box[LOW] <= aim.box[HIGH]))
    statements = caet.task.statements(caet.state.means().tolist())
    for _ in range(4):
        corner = np.where(rng.integers(0, 2, caet.arms) == 1, aim.box[LOW], aim.box[HIGH])
        means = corner if rng.random() < 0.5 else rng.uniform(aim.box[LOW], aim.box[HIGH])
        costs = costs_in_box(caet, aim.box, means, rng)
        assert caet.task.statements(means.tolist()) == statements
        inside = BanditModel(caet.family, means.tolist(), costs.tolist())
        question = Question(inside, caet.task, list_columns(statements, type(caet.family)))
        best = solve_question(question, Profile("native"))
        assert costs @ aim.effort / min(statement_terms(inside, statements, aim.effort)) <= (1 + allowed) * best.upper


def test_a_lazy_run_solves_seldom_and_an_exact_one_always():
    found = {}
    for solve in ("exact", "lazy", "lazy:0.01"):
        caet = Caet("ranking", "gaussian", 3, Parameters(log_inv_delta=1e5, solve=solve), MODEL.costs)
        run_compiled(caet, ArmStreams(MODEL, np.random.SeedSequence(1)), 20_000)
        found[solve] = caet.solves, caet.widest_gap
    assert found["exact"] == (20_000 - 2, 1e-8)
    assert found["lazy"][0] < found["lazy:0.01"][0] < 20_000
    assert 1e-3 < found["lazy:0.01"][1] <= 0.01 < found["lazy"][1] <= 0.1


def test_lazy_costs_are_those_of_exact_targets():
    """On the same draws; the paired difference is within three standard errors of nothing."""
    costs = [
        simulate(MODEL, "ranking", delta=0.05, runs=300, seed=3, solve=solve).records["cost"].to_numpy()
        for solve in ("exact", "lazy")
    ]
    difference = costs[1] - costs[0]
    assert abs(difference.mean()) <= 3 * difference.std() / np.sqrt(difference.size)


def bring_mean_to(caet, arm, mean):
    """Observe what makes this the mean of an arm."""
    pulls, total = caet.state.counts[arm], caet.state.reward_sums[arm]
    caet.observe(arm, mean * (pulls + 1) - total)


def test_a_mean_that_leaves_the_box_is_followed_while_that_is_certified_and_then_solved_for():
    caet = Caet("best-arm", "gaussian", 2, Parameters(log_inv_delta=1e5, solve="lazy"), [1, 1])
    for reward in (1.0, 1.1, 0.9, 1.0) * 20:
        caet.observe(0, reward)
        caet.observe(1, reward - 1.0)
    before, box = caet.solves, caet.view.aim.box.copy()
    bring_mean_to(caet, 0, caet.state.means()[0])
    assert caet.solves == before
    assert np.array_equal(caet.view.aim.box[[LOW, HIGH]], box[[LOW, HIGH]])
    bring_mean_to(caet, 0, box[HIGH, 0] + 0.001)
    assert caet.solves == before
    assert np.allclose(np.diff(caet.view.aim.box[[LOW, HIGH]], axis=0), np.diff(box[[LOW, HIGH]], axis=0))
    assert caet.view.aim.box[LOW, 0] < caet.state.means()[0] < caet.view.aim.box[HIGH, 0]
    bring_mean_to(caet, 0, box[HIGH, 0] + 0.5)
    assert caet.solves == before + 1


def followed_rounds(caet, streams, rounds):
    """Yields after each round in which a mean had left its interval and nothing was solved."""
    for _ in range(rounds):
        solves, ends = caet.solves, caet.view.aim.box[[LOW, HIGH]].copy()
        run_compiled(caet, streams, 1)
        box = caet.view.aim.box
        if caet.solves == solves and np.all(box[LOW] <= box[HIGH]) and not np.array_equal(box[[LOW, HIGH]], ends):
            yield


@pytest.mark.parametrize("family", FAMILIES)
def test_efforts_that_follow_the_means_are_certified_at_them(family):
    """f_e >= 1 for each pair at its corner of the box, and the cost is at most 1 + GAP times the best at the means."""
    followed = 0
    for task in TASKS:
        rng = np.random.default_rng([5, FAMILIES.index(family), TASKS.index(task)])
        model, posed = ordinary_instance(rng, family, task, 5)
        parameters = Parameters(log_inv_delta=1e5, solve="lazy", threshold="customary")
        caet = Explorer(posed, model.family, 5, parameters, model.costs)
        streams = ArmStreams(model, np.random.SeedSequence(3))
        run_compiled(caet, streams, 100)
        for _ in followed_rounds(caet, streams, 150):
            followed += 1
            aim, means = caet.view.aim, caet.state.means()
            assert np.all((aim.box[LOW] <= means) & (means <= aim.box[HIGH]))
            for a, b in aim.solved.T:
                corner = means.copy()
                corner[a], corner[b] = aim.box[LOW, a], aim.box[HIGH, b]
                there = BanditModel(model.family, corner.tolist(), model.costs)
                assert statement_terms(there, ((int(a), int(b)),), aim.effort)[0] >= 1
            best = characteristic_time(BanditModel(model.family, means.tolist(), model.costs), posed)
            assert model.costs @ aim.effort <= (1 + parameters.solve_gap) * best.upper
    assert followed > 50


@pytest.mark.parametrize("family", FAMILIES)
def test_efforts_follow_the_means_with_levels_margins_and_ratios_too(family):
    """f_e >= 1 for each statement at its corner, the cost is at most 1 + GAP times the best, and most means that leave
    their interval are followed."""
    followed = solved = 0
    for number, kind in enumerate(STATED):
        rng = np.random.default_rng([6, FAMILIES.index(family), number])
        model, posed = draw_stated(rng, ordinary_instance(rng, family, "best-arm", 5)[0], kind)
        parameters = Parameters(log_inv_delta=1e5, solve="lazy", threshold="customary")
        caet = Explorer(posed, model.family, 5, parameters, model.costs)
        streams = ArmStreams(model, np.random.SeedSequence(3))
        run_compiled(caet, streams, 150)
        before = caet.solves
        for _ in followed_rounds(caet, streams, 100):
            followed += 1
            aim, means = caet.view.aim, caet.state.means()
            assert np.all((aim.box[LOW] <= means) & (means <= aim.box[HIGH]))
            asserted = caet.task.statements(means.tolist())
            for statement in asserted:
                corner = means.copy()
                if statement.winner is not None:
                    corner[statement.winner] = aim.box[LOW, statement.winner]
                if statement.loser is not None:
                    corner[statement.loser] = aim.box[HIGH, statement.loser]
                there = BanditModel(model.family, corner.tolist(), model.costs)
                assert statement_terms(there, (statement,), aim.effort)[0] >= 1
            present = BanditModel(model.family, means.tolist(), model.costs)
            question = Question(present, caet.task, list_columns(asserted, type(model.family)))
            best = solve_question(question, Profile("native"))
            assert np.dot(model.costs, aim.effort) <= (1 + parameters.solve_gap) * best.upper
        solved += caet.solves - before
    assert followed > 50, (followed, solved)


def test_estimated_costs_are_solved_for():
    """Their boxes are made by solves alone."""
    for source, distribution in (("observed", "exponential"), ("gaps", "constant")):
        model = BanditModel("gaussian", [1.5, 1.0, 0.0], "gaps" if source == "gaps" else [1, 2, 1])
        caet = Explorer("ranking", "gaussian", 3, Parameters(log_inv_delta=1e5, cost_source=source, solve="lazy"))
        streams = ArmStreams(model, np.random.SeedSequence(3), distribution)
        assert list(followed_rounds(caet, streams, 200)) == []


@pytest.mark.parametrize("tracking", ["c", "d"])
@pytest.mark.parametrize("policy", ["caet", "track-and-stop", "ctas"])
def test_a_batch_is_shared_out_before_it_is_answered(policy, tracking):
    """`next_arms` says what `next_arm` will say one by one, whatever the pulls bring."""
    caet = Caet.start(
        "ranking", "gaussian", arms=3, delta=1e-9, costs=[1, 2, 0], policy=policy, batch=9, tracking=tracking
    )
    rng = np.random.default_rng(5)
    for arm in range(3):
        caet.observe(arm, MODEL.means[arm])
    for _ in range(20):
        planned = caet.next_arms()
        assert len(planned) == 9
        for left, arm in enumerate(planned):
            assert caet.next_arm() == arm
            assert caet.batch_left == 9 - left
            caet.observe(arm, rng.normal(MODEL.means[arm]))


def test_a_run_in_batches_stops_where_one_ends_and_solves_once_for_each():
    parameters = Parameters(delta=0.05, batch=50)
    for loop in (run_compiled, run_interpreted):
        caet = Caet("ranking", "gaussian", 3, parameters, MODEL.costs)
        assert loop(caet, ArmStreams(MODEL, np.random.SeedSequence(4)), 10**6)
        assert caet.stopped
        assert (caet.state.round - 3) % 50 == 0
        assert caet.solves == 1 + (caet.state.round - 3) // 50
        for _ in range(3):
            caet.observe(0, 1.0)
        assert not caet.stopped  # in the middle of a batch


def test_batches_grow():
    caet = Caet("ranking", "gaussian", 3, Parameters(log_inv_delta=1e5, batch="growing:0.5"), MODEL.costs)
    ends = []
    streams = ArmStreams(MODEL, np.random.SeedSequence(4))
    run_interpreted(caet, streams, 3)
    for _ in range(6):
        left = caet.batch_left
        run_compiled(caet, streams, left)
        ends.append(caet.state.round)
    assert ends == [4, 6, 9, 13, 19, 28]
    assert caet.solves == 7


@pytest.mark.parametrize("policy", OTHERS)
def test_every_policy_hands_out_several_pulls(policy):
    """The first is the one that it would hand out alone, pending pulls change the choice, and nothing is changed."""
    explorer = Explorer.start("best-arm", "bernoulli", arms=3, delta=1e-6, costs=[1, 2, 1], policy=policy)
    for arm, reward in [(0, 1), (1, 0), (2, 1), (0, 1), (1, 1), (2, 0)] * 3:
        explorer.observe(arm, reward)
    state, first = explorer.state, explorer.next_arm()
    many = explorer.next_arms(200)
    assert many[0] == first
    assert len(set(many)) > 1
    assert (explorer.state, explorer.next_arm()) == (state, first)
    assert explorer.next_arms(20, pending=many[:10]) == many[10:30]


def test_arms_without_an_observation_come_first():
    caet = Caet.start("best-arm", "bernoulli", arms=4, delta=0.05, costs=[1] * 4)
    caet.observe(1, 1)
    assert caet.next_arms(5, pending=[0]) == [2, 3, 0, 1, 2]


@pytest.mark.parametrize(
    "settings",
    [{"solve": "lazy"}, {"batch": 7}, {"solve": "lazy:0.2", "batch": "growing"}, {"batch": 5, "tracking": "d"}],
)
def test_a_resumed_experiment_goes_on_to_the_last_bit(tmp_path, settings):
    rng = np.random.default_rng(6)
    rewards = [rng.binomial(1, mean, 400).tolist() for mean in (0.7, 0.5, 0.2)]
    caet = Caet.start("ranking", "bernoulli", arms=3, delta=1e-9, cost_source="gaps", **settings)
    for step in range(120):
        arm = caet.next_arm()
        caet.observe(arm, rewards[arm][caet.state.counts[arm]])
        if step % 17 == 0:
            caet.save(tmp_path / "experiment.json")
            resumed = Caet.resume(tmp_path / "experiment.json")
            assert (resumed.state, resumed.solves, resumed.widest_gap) == (caet.state, caet.solves, caet.widest_gap)
            caet = resumed
    straight = Caet.start("ranking", "bernoulli", arms=3, delta=1e-9, cost_source="gaps", **settings)
    for _ in range(120):
        arm = straight.next_arm()
        straight.observe(arm, rewards[arm][straight.state.counts[arm]])
    assert caet.state == straight.state


@pytest.mark.parametrize("solve", ["eager", "lazy:", "lazy:0", "lazy:11", "lazy:nan", "exact:1", ""])
def test_other_words_for_solve_are_refused(solve):
    with pytest.raises(InputError, match=r"solve must be exact, lazy, or lazy:GAP"):
        Parameters(delta=0.05, solve=solve)


@pytest.mark.parametrize("batch", [0, -1, 1.5, 1e13, "many", "growing:", "growing:0", "growing:2", "growing:nan"])
def test_other_batches_are_refused(batch):
    with pytest.raises(InputError, match=r"batch must be a whole number from 1 to 10\^12, growing, or growing:RATIO"):
        Parameters(delta=0.05, batch=batch)


def test_pulls_and_pending_ones_are_checked():
    caet = Caet.start("best-arm", "bernoulli", arms=2, delta=0.05, costs=[1, 1])
    for pulls in (0, -1, 1.5, True, "2"):
        with pytest.raises(InputError, match="pulls must be a positive whole number"):
            caet.next_arms(pulls)
    for pending in ([2], [0, -1], [0.5], ["0"]):
        with pytest.raises(InputError, match="does not exist; arms are 0 to 1"):
            caet.next_arms(1, pending=pending)


@pytest.mark.parametrize("policy", ["caet", "top-two"])
def test_a_batch_beyond_the_last_round_is_not_planned(policy):
    """Runs end in the middle of a batch that would fill the memory."""
    model = BanditModel("gaussian", [1.0, 0.6, 0.0], costs=[1, 2, 1])
    found = simulate(model, "ranking", delta=0.05, runs=1, policy=policy, batch=10**12, max_rounds=60)
    assert (found.unfinished, found.mean_samples) == (1, 60)
