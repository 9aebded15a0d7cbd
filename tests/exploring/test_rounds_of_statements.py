"""Rounds of tasks with levels, margins and ratios: evidence, stopping, policies, saving, errors, exclusion."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inverse_gaussian import InverseGaussian
from whole_runs import bits_of, run_compiled, run_interpreted

from caet_opt import BanditModel, Custom, Explorer, InputError, compare_policies, parse_task, plan, simulate
from caet_opt.bandits.tasks import Statement
from caet_opt.exploring.policies import list_policies
from caet_opt.exploring.prediction import threshold_table
from caet_opt.exploring.settings import Parameters
from caet_opt.kernels.ledger import COST
from caet_opt.simulating.runs import Experiment, run_many
from caet_opt.simulating.streams import ArmStreams
from caet_opt.simulating.summary import SIGNIFICANCE, tail_probability
from cases.runs import STATED, TOLERANT, difference, draw_case

FAMILIES = ("gaussian:2", "bernoulli", "poisson", "exponential", "gamma:2.5", "geometric")
TASKS = ("above:0.5", "control:1+0.1", "control:1-0.1", "comparisons:0-1+0.2,1-2-0.1", "cheapest:control:2-0.1")
MEANS = (0.8, 0.6, 0.3)


def explored(task, family, rounds, seed=0, policy="uniform", **others):
    """An explorer after some interpreted rounds, and where its outcomes come from."""
    model = BanditModel(family, MEANS, [1, 2, 3])
    explorer = Explorer.start(task, family, arms=3, delta=0.05, costs=[1, 2, 3], policy=policy, seed=seed, **others)
    streams = ArmStreams(model, np.random.SeedSequence(seed))
    run_interpreted(explorer, streams, rounds)
    return explorer, streams


def slow_evidence(explorer, statement):
    """The least sum of divergences over points where a statement is false, by trying many."""
    state, family = explorer.state, explorer.family
    low, high, *_ = family.mean_space
    means, weights = state.means(), np.array(state.counts) / explorer.setup.dispersions

    def part(arm, points):
        found = [family.mixture_divergence(means[arm], point, 0.0, 1.0, 0.0, 0.0) for point in points]
        return weights[arm] * np.array(found)

    margin, ratio = float(statement.margin), float(statement.ratio)
    if statement.loser is None:
        return part(statement.winner, [margin])[0]
    if statement.winner is None:
        return part(statement.loser, [-margin / ratio])[0]
    x, y = means[statement.winner], means[statement.loser]
    points = np.linspace(ratio * y + margin, x, 4001)
    inside = (points >= low) & (points <= high) & (points - margin >= ratio * low) & (points - margin <= ratio * high)
    points = points[inside]
    return np.nanmin(part(statement.winner, points) + part(statement.loser, (points - margin) / ratio))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("task", [*TASKS, "control:1*1.1"])
def test_evidence_is_the_least_sum_of_divergences(family, task):
    if "*" in task and family not in ("poisson", "exponential", "gamma:2.5"):
        with pytest.raises(InputError, match="ratios of means are for"):
            explored(task, family, 0)
        return
    explorer, _ = explored(task, family, 90)
    found = explorer.diagnostics
    for statement, evidence in zip(found.statements, found.evidence, strict=True):
        slow = slow_evidence(explorer, statement)
        assert evidence <= slow * (1 + 1e-12)
        assert evidence == pytest.approx(slow, rel=1e-5, abs=1e-9)
    seen = explorer.view.evidence
    assert seen[: len(found.evidence)].tolist() == found.evidence.tolist()
    assert np.all(seen[len(found.evidence) :] == np.inf)  # what is left of the columns says nothing


@pytest.mark.parametrize("threshold", ["e-process", "mixture", "customary", "informational"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_round_stops_where_the_stopping_rule_says_so(family, threshold):
    """`short_pair` of rounds against `Threshold.needed`, in every round of runs that do stop."""
    for number, task in enumerate(TASKS):
        explorer, streams = explored(task, family, 3, seed=number, threshold=threshold)
        for _ in range(150):
            run_interpreted(explorer, streams, 1)
            settled = explorer.diagnostics.settled
            assert (explorer.policy.functions["short_pair"](explorer.view) < 0) == settled == explorer.stopped
            if settled:
                break


@given(
    number=st.integers(0, 10**6),
    kind=st.sampled_from((*STATED, TOLERANT)),
    policy=st.sampled_from(list_policies("above:0.5")),
    discrete=st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_compiled_rounds_are_interpreted_ones(number, kind, policy, discrete):
    assert difference(draw_case(number, discrete, policy, kind)) is None


@pytest.mark.parametrize("solve", ["exact", "lazy"])
@pytest.mark.parametrize("policy", ["caet", "ctas", "top-two-ids", "thompson-top-two"])
@pytest.mark.parametrize(
    "task", [*TASKS, Custom([["0 > 0.5"], ["0 < 0.5", "1 > 2 + 0.1"], ["0 < 0.5", "2 > 1 - 0.1"]])]
)
def test_a_resumed_experiment_goes_on_as_the_saved_one(tmp_path, task, policy, solve):
    explorer, streams = explored(task, "geometric", 40, seed=3, policy=policy, solve=solve)
    explorer.save(tmp_path / "saved.json")
    resumed = Explorer.resume(tmp_path / "saved.json")
    assert resumed.task == explorer.task
    assert repr(resumed.diagnostics) == repr(explorer.diagnostics)
    for _ in range(25):
        arm = explorer.next_arm()
        assert resumed.next_arm() == arm
        reward = streams.draw(arm)[0]
        for each in (explorer, resumed):
            each.observe(arm, reward)
    found, expected = bits_of(resumed), bits_of(explorer)
    lasting = ("arms", "pairs", "margins", "effort", "weights", "solved")  # the others say what was looked at, and when
    assert [name for name in found if name in lasting and found[name] != expected[name]] == []
    assert resumed.state == explorer.state


@pytest.mark.parametrize(
    ("family", "means", "task", "false"),
    [
        ("bernoulli", ["0.3", "0.2"], "control:1+0.1", (0,)),  # a tie, which is no difference of more than 0.1
        ("bernoulli", ["0.9", "0.95"], "control:1-0.05", (0,)),
        ("exponential", ["1.5", "1"], "control:1+0.5", (0,)),
        ("poisson", ["1.1", "1"], "control:1*1.1", (0,)),
        ("geometric", ["0.5", "2"], "above:0.5", (0, 1)),
        ("gaussian", ["0.5", "3"], "cheapest:above:0.5", 0),
    ],
)
def test_errors_at_the_margin_are_as_rare_as_promised(family, means, task, false):
    """Where the means are on the boundary one direction is counted, in whole runs; those that never end are right."""
    delta, runs = 0.3, 60
    model = BanditModel(family, list(map(Decimal, means)), [1, 2])
    settings = Parameters(delta=delta, policy="top-two", max_rounds=400)
    records = run_many(Experiment(model, task, settings), runs, seed=5)
    wrong = sum(record.stopped and record.answer == str(false) for record in records)
    assert tail_probability(wrong, runs, delta) >= SIGNIFICANCE


def test_the_declared_answer_is_held_against_the_exact_means():
    model = BanditModel("gaussian", [Decimal("0.3"), Decimal("0.2"), 5], [1, 1, 1])
    experiment = Experiment(model, "control:1+0.1", Parameters(delta=0.05))
    assert experiment.right_answer == (2,)
    found = simulate(BanditModel("bernoulli", [0.2, 0.45, 0.7], [1, 2, 0.5]), "above:0.5", delta=0.1, runs=20, seed=1)
    assert found.characteristic_time == pytest.approx(410.59657735948, rel=1e-12)
    assert found.records["correct"].mean() > 0.8


@pytest.mark.parametrize("task", ["above:0.5", "control:1+0.1", "cheapest:above:0.5"])
def test_lazy_costs_are_those_of_exact_targets(task):
    model = BanditModel("exponential", [1.4, 0.9, 0.2], costs=[3, 1, 2])
    costs = [
        simulate(model, task, delta=0.05, runs=60, seed=3, solve=solve).records["cost"].to_numpy()
        for solve in ("exact", "lazy")
    ]
    difference = costs[1] - costs[0]
    assert abs(difference.mean()) <= 3 * difference.std() / np.sqrt(difference.size) + 1e-9


@pytest.mark.parametrize("task", ["above:0.5", "control:1-0.1", "cheapest:control:2-0.1"])
def test_policies_are_compared_and_plans_made(task):
    model = BanditModel("bernoulli", [0.85, 0.6, 0.3], costs=[2, 1, 3])
    policies = list_policies(task)
    assert "kl-lucb" not in policies
    assert "top-two-ids" in policies
    table = compare_policies(model, task, policies, delta=0.1, runs=4, seed=1, workers=1)
    assert sorted(table["policy"]) == sorted(policies)
    assert (table["mean_cost"] > 0).all()
    found = plan(model, task, delta=0.1, budget=1000, runs=4, seed=1, workers=1)
    assert found.predicted_cost > 0
    assert found.difference is None
    assert (threshold_table(model, task, delta=0.1)["predicted_cost"] > 0).all()


def test_what_cannot_be_asked_is_said():
    with pytest.raises(InputError, match="needs costs that are known beforehand"):
        Explorer.start("cheapest:above:0.5", "bernoulli", arms=2, delta=0.1, cost_source="observed")
    model = BanditModel("bernoulli", [0.2, 0.7], [1, 2])
    with pytest.raises(InputError, match="needs costs that are known beforehand, not observed ones"):
        simulate(model, "cheapest:above:0.5", delta=0.1, runs=1, cost_source="observed")
    with pytest.raises(InputError, match="needs known costs, and gaps depend on the means"):
        simulate(BanditModel("bernoulli", [0.2, 0.7], "gaps"), "cheapest:above:0.5", delta=0.1, runs=1)
    with pytest.raises(InputError, match="margins and ratios are for the shipped families"):
        Explorer.start("control:0+0.1", InverseGaussian(), arms=2, delta=0.1)
    with pytest.raises(InputError, match=r"'kl-lucb' covers best-arm and top-arms, not above:0\.5"):
        Explorer.start("above:0.5", "bernoulli", arms=2, delta=0.1, policy="kl-lucb")
    with pytest.raises(InputError, match=r"'kl-racing' covers best-arm, not best-arm \(lower is better\)"):
        Explorer.start(parse_task("best-arm", lower_is_better=True), "poisson", arms=2, delta=0.1, policy="kl-racing")


def test_a_family_of_ones_own_has_levels():
    explorer = Explorer.start("above:1.5", InverseGaussian(), arms=2, delta=0.1, costs=[1, 2])
    for _ in range(40):
        arm = explorer.next_arm()
        explorer.observe(arm, [1.0, 2.2][arm])
    assert explorer.answer == (1,)
    for statement, evidence in zip(explorer.diagnostics.statements, explorer.diagnostics.evidence, strict=True):
        assert evidence == pytest.approx(slow_evidence(explorer, statement), rel=1e-9)


def test_gaps_are_distances_to_the_lowest_mean_where_that_is_the_best():
    task = parse_task("best-arm", lower_is_better=True)
    explorer = Explorer.start(task, "gaussian", arms=3, delta=0.05, cost_source="gaps", solve="lazy")
    for arm, reward in ((0, 3.0), (1, 1.0), (2, 1.5)):
        explorer.observe(arm, reward)
    assert explorer.diagnostics.costs.tolist() == explorer.view.arms[COST].tolist() == [2.0, 0.0, 0.5]
    assert explorer.answer == 1
    model = BanditModel("gaussian", [3.0, 1.0, 1.5], "gaps", lower_is_better=True)
    compiled = [
        simulate(model, "best-arm", delta=0.1, runs=10, seed=2, solve=solve).records["correct"].mean()
        for solve in ("exact", "lazy")
    ]
    assert min(compiled) > 0.5


def test_what_is_established_excludes_its_reverse():
    explorer, _ = explored("above:0.5", "gaussian", 0)
    for _ in range(80):
        arm = explorer.next_arm()
        explorer.observe(arm, [3.0, 0.55, -3.0][arm])
    left = explorer.not_excluded
    assert left.answers == ((0,), (0, 1))
    assert [str(statement) for statement in left.established] == ["0 > 0.5", "2 < 0.5"]
    assert left.established[0] == Statement(0, None, explorer.task.level)


def test_a_compiled_run_goes_on_where_an_interpreted_one_was():
    for task in TASKS:
        one, streams = explored(task, "exponential", 30, policy="caet", solve="lazy")
        two, others = explored(task, "exponential", 30, policy="caet", solve="lazy")
        run_compiled(one, streams, 60)
        run_interpreted(two, others, 60)
        assert bits_of(one) == bits_of(two)
