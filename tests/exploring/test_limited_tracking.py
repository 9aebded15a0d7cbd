"""CAET under limits: targets that meet them, lazily and exactly, kept in files, and who refuses them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from caet_opt import BanditModel, Caet, InputError, LiveExperiment, SolverError, characteristic_time, plan, simulate
from caet_opt.bandits.limits import read_limits
from caet_opt.kernels import boxes
from caet_opt.live.status_text import to_words
from caet_opt.solving.certificate import statement_terms
from caet_opt.solving.limits import build_rows, nearest_shares
from caet_opt.solving.rows import round_rows

COSTS = [1.0, 0.5, 2.0]
MODEL = BanditModel("bernoulli", [0.7, 0.5, 0.4], costs=COSTS)
LIMITS = ["pulls:leader=0.5", "pulls:2>=0.25"]


def start(**settings):
    told = {"arms": 3, "delta": 0.05, "costs": COSTS, "limits": LIMITS, **settings}
    return Caet.start("best-arm", "bernoulli", **told)


def play(caet, rounds):
    """Rounds up to this one, whose outcomes depend on the arm and on its pulls so far alone."""
    while caet.state.round < rounds:
        arm = caet.next_arm()
        rng = np.random.default_rng([arm, caet.state.counts[arm]])
        caet.observe(arm, float(rng.random() < MODEL.means[arm]))
    return caet


def test_the_target_is_the_optimum_of_the_present_means_under_the_limits():
    caet = play(start(), 60)
    means = caet.state.means().tolist()
    expected = characteristic_time(BanditModel("bernoulli", means, costs=COSTS), "best-arm", limits=LIMITS)
    target = caet.diagnostics.target
    np.testing.assert_allclose(target, expected.sampling_proportions, atol=1e-6)
    assert target[np.argmax(means)] == pytest.approx(0.5, abs=1e-9)
    assert target[2] >= 0.25 - 1e-9
    assert caet.setup.profile.backend == "clarabel"


@pytest.mark.parametrize("gap", [0.1, 0.5])
def test_a_lazy_target_is_certified_at_every_mean_of_its_box(gap):
    caet = play(start(solve=f"lazy:{gap}"), 150)
    assert 1 <= caet.solves < 149
    aim = caet.view.aim
    low, high = aim.box[boxes.LOW], aim.box[boxes.HIGH]
    assert np.all(low <= high)
    rng, effort = np.random.default_rng(1), aim.effort
    for _ in range(10):
        model = BanditModel("bernoulli", rng.uniform(low, high).tolist(), costs=COSTS)
        best = characteristic_time(model, "best-arm", limits=LIMITS)
        tracked = float(np.dot(COSTS, effort)) / np.min(statement_terms(model, best.statements, effort))
        assert best.lower * (1 - 1e-9) <= tracked <= (1 + gap) * best.upper


def test_an_experiment_that_is_saved_goes_on_under_its_limits(tmp_path):
    whole, part = play(start(solve="lazy"), 40), play(start(solve="lazy"), 25)
    part.save(tmp_path / "part.json")
    again = Caet.resume(tmp_path / "part.json")
    assert again.parameters.limits == "pulls:leader=0.5; pulls:2>=0.25"
    assert play(again, 40).state.counts == whole.state.counts


def test_a_live_experiment_keeps_limits_by_name(tmp_path):
    told = {"arms": ["old", "new"], "costs": [1, 2], "delta": 0.1, "limits": ["pulls:new<=0.3"]}
    with LiveExperiment.start(tmp_path / "limited.caet", "best-arm", "bernoulli", **told) as experiment:
        for reward in (1, 0, 1):
            (pull,) = experiment.next()
            experiment.record(pull.arm, reward, pull=pull.number)
        assert experiment.status()["share_limits"] == ["pulls:new<=0.3"]
        counts = [arm["pulls"] for arm in experiment.status()["arms"]]
        assert experiment.status()["shares"] == [counts[1] / sum(counts)]
        assert f"policy caet within pulls:new<=0.3 (now {counts[1] / 3:.3g})\n" in to_words(experiment.status())
    with LiveExperiment.open(tmp_path / "limited.caet") as experiment:
        assert experiment.verify() == []
    with LiveExperiment.open_or_start(tmp_path / "limited.caet", "best-arm", "bernoulli", **told) as experiment:
        assert experiment.status()["recorded"] == 3
    with pytest.raises(InputError, match=r"its limits is pulls:1<=0\.3, not None"):
        LiveExperiment.open_or_start(tmp_path / "limited.caet", "best-arm", "bernoulli", **told | {"limits": None})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"policy": "top-two"}, "policy 'top-two' cannot keep to limits; use 'caet'"),
        ({"policy": "track-and-stop"}, "cannot keep to limits"),
        ({"costs": None, "cost_source": "observed"}, "limits need costs that are known beforehand, not observed ones"),
        ({"costs": None, "cost_source": "gaps"}, "not gaps ones"),
        ({"costs": [0, 1, 1]}, "arm 0 is free"),
        ({"limits": ["cost:0<=0.3", "cost:0>=0.5"]}, "limits cannot be met together"),
        ({"limits": ["pulls:leader=0.5", "cost:2<=0.2"]}, "where arm 2 leads, limits cannot be met together"),
        ({"limits": ["pulls:7<=0.3"]}, "names arm 7"),
        ({"limits": 7}, "limits are a list of texts"),
    ],
)
def test_limits_that_are_not_met_are_refused_before_the_first_round(changed, message):
    with pytest.raises(InputError) as refusal:
        start(**changed)
    assert message in str(refusal.value)
    if "policy" in changed:
        with pytest.raises(InputError, match="cannot keep to limits"):
            simulate(MODEL, "best-arm", delta=0.1, runs=1, limits=LIMITS, **changed)


def test_simulations_and_plans_are_about_the_limited_time():
    asked = {"delta": 0.2, "runs": 2, "seed": 1, "limits": LIMITS, "solve": "lazy:0.5"}
    time = characteristic_time(MODEL, "best-arm", limits=LIMITS)
    found = simulate(MODEL, "best-arm", **asked)
    assert found.characteristic_time == pytest.approx(time.value)
    assert found.upper_bound is None  # with D-tracking, as the optimum need not be unique
    assert simulate(MODEL, "best-arm", **asked, tracking="c").upper_bound is not None
    assert plan(MODEL, "best-arm", **asked).lower_bound == pytest.approx(time.lower_bound(0.2))


@pytest.mark.parametrize(
    ("limit", "least", "most"),
    [
        ("pulls:0<=0.1", 0.0, 0.11),
        ("pulls:0,1>=0.8", 0.78, 1.0),
        ("cost:2<=0.2", 0.0, 0.21),
        ("pulls:leader=0.6", 0, 1),
    ],
)
def test_pulls_keep_to_limits_while_all_means_are_equal(limit, least, most):
    """Shares that no solve has given, at a tie, are the nearest to equal ones that the limits allow."""
    caet = start(limits=[limit])
    for _ in range(300):
        caet.observe(caet.next_arm(), 0)
    counts = np.array(caet.state.counts)
    amounts = counts * COSTS if limit.startswith("cost") else counts
    arms = [int(arm) for arm in limit.partition(":")[2].partition("<")[0].partition(">")[0].split(",") if arm.isdigit()]
    assert least <= amounts[arms].sum() / amounts.sum() <= most
    assert caet.diagnostics.target.sum() == pytest.approx(1, abs=1e-9)
    if limit == "pulls:leader=0.6":
        assert caet.diagnostics.target[0] == pytest.approx(0.6, abs=1e-9)


def test_an_outcome_whose_target_cannot_be_solved_for_keeps_to_limits(tmp_path, monkeypatch):
    with LiveExperiment.start(
        tmp_path / "x.caet", "best-arm", "bernoulli", arms=3, delta=0.05, costs=COSTS, limits=["pulls:0<=0.1"]
    ) as experiment:
        experiment.record_counts([(0, 5, 10), (1, 60, 100), (2, 50, 100)])
        monkeypatch.setattr("caet_opt.exploring.policies.tracking.solve_question", fail)
        for _ in range(5):
            for pull in experiment.next(20):
                experiment.record(pull.arm, 0, pull=pull.number)
        counts = [arm["pulls"] for arm in experiment.status()["arms"]]
    assert counts[0] <= 0.12 * sum(counts)


def fail(*_):
    """No target can be solved for."""
    raise SolverError("none")


def test_nearest_shares_are_the_nearest():
    """No shares that meet the limits are nearer than those that are found."""
    rows = build_rows(
        tuple(read_limits(["pulls:0,1<=0.3", "cost:2>=0.5"])), (Fraction(1), Fraction(2), Fraction(3)), None
    )
    wanted = (0.5, 0.3, 0.2)
    found = np.array(nearest_shares(rows, wanted))
    lines = round_rows(rows)
    assert np.max(lines @ found) <= 1e-9
    for shares in np.random.default_rng(1).dirichlet(np.ones(3), 2000):
        if np.max(lines @ shares) <= 0:
            assert np.sum((found - wanted) ** 2) <= np.sum((shares - wanted) ** 2) + 1e-9


@pytest.mark.parametrize("limits", [["pulls:0=0.3", "pulls:1=0.3", "pulls:2=0.4"], ["pulls:0=0.3", "pulls:1,2=0.7"]])
def test_equations_that_follow_from_one_another_are_met_at_ties(tmp_path, limits):
    told = {"arms": 3, "delta": 0.05, "costs": COSTS, "limits": limits}
    with LiveExperiment.start(tmp_path / "x.caet", "best-arm", "bernoulli", **told) as experiment:
        for _ in range(20):
            for pull in experiment.next(5):
                experiment.record(pull.arm, 1, pull=pull.number)
        assert experiment.verify() == []
        assert experiment.status()["shares"][0] == pytest.approx(0.3, abs=0.03)


def test_an_outcome_is_taken_where_no_shares_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("caet_opt.exploring.policies.tracking.nearest_shares", fail)
    told = {"arms": 2, "delta": 0.05, "costs": [1, 1], "limits": ["pulls:0<=0.2"]}
    with LiveExperiment.start(tmp_path / "x.caet", "best-arm", "bernoulli", **told) as experiment:
        for pull in experiment.next(6):
            experiment.record(pull.arm, 0, pull=pull.number)
        assert experiment.status()["recorded"] == 6


def test_the_known_cost_may_be_told_as_it_was_given():
    caet = Caet.start("best-arm", "bernoulli", arms=2, delta=0.05, costs=[Decimal("0.1"), Fraction(1, 3)])
    caet.observe(0, 1, Decimal("0.1"))
    caet.observe(1, 1, Fraction(1, 3))
    with pytest.raises(InputError, match="known to be"):
        caet.observe(0, 1, 0.2)
    assert tuple(caet.state.counts) == (1, 1)
