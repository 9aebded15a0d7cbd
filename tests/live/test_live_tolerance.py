"""Live experiments of which several answers may be right, and those whose arms are level."""

from itertools import cycle

import pytest

from caet_opt import Explorer, LiveExperiment
from caet_opt.live import level_arms, status_text
from caet_opt.presenting.report.experiment import experiment_page


def play(path, task, rounds, **asked):
    """An experiment with so many outcomes, or fewer where it stops; the coins have means 1/2, 1/2 and 1/4."""
    coins = {"A": cycle([1, 0]), "B": cycle([0, 1]), "C": cycle([0, 0, 0, 1])}
    experiment = LiveExperiment.start(path, task, "bernoulli", arms=list(coins), delta=0.1, **asked)
    for _ in range(rounds):
        if experiment.stopped:
            break
        (pull,) = experiment.next()
        experiment.record(None, next(coins[pull.name]), pull=pull.number)
    return experiment


@pytest.mark.parametrize("policy", ["caet", "top-two"])
def test_level_arms_end_with_a_tolerance(tmp_path, policy):
    with play(tmp_path / "one.caet", "best-arm~0.2", 2000, costs=[3, 1, 1], policy=policy) as experiment:
        assert experiment.stopped
        assert experiment.answer in ("A (within 0.2 of the best)", "B (within 0.2 of the best)")
        assert experiment.verify() == []
        status = experiment.status()
        assert status["good_enough"] is None
        assert f"STOPPED: {experiment.answer}" in status_text.to_words(status)
        assert "(within 0.2 of the best)" in experiment_page(experiment)
        declared = experiment.answer
    with LiveExperiment.open(tmp_path / "one.caet") as again:
        assert again.answer == declared


def test_it_goes_on_where_it_was(tmp_path):
    """Opened anew before every outcome, it hands out the same pulls as in one go."""
    arms = []
    coins = {"A": cycle([1, 0]), "B": cycle([0, 1]), "C": cycle([0, 0, 0, 1])}
    with LiveExperiment.start(
        tmp_path / "two.caet", "best-arm~0.2", "bernoulli", arms=list(coins), delta=0.1, costs=[3, 1, 1]
    ):
        pass
    for _ in range(80):
        with LiveExperiment.open(tmp_path / "two.caet") as experiment:
            (pull,) = experiment.next()
            arms.append(pull.arm)
            experiment.record(None, next(coins[pull.name]), pull=pull.number)
    with play(tmp_path / "one.caet", "best-arm~0.2", 80, costs=[3, 1, 1]) as whole:
        rows = whole.status()["arms"]
    assert [row["pulls"] for row in rows] == [arms.count(arm) for arm in range(3)]


def test_status_of_level_arms_says_what_a_tolerance_would_cost(tmp_path):
    with play(tmp_path / "one.caet", "best-arm", 400) as experiment:
        status = experiment.status()
        found = status["good_enough"]
        assert set(found["arms"]) == {"A", "B"}
        assert found["task"].startswith("best-arm~0.")
        assert 0 < found["cost"] <= status["spent"]
        assert f"a new experiment with {found['task']}" in status_text.to_words(status)
        assert "have been nearly equal for a long time" in experiment_page(experiment)
    with play(tmp_path / "few.caet", "best-arm", 20) as experiment:
        assert experiment.status()["good_enough"] is None


def test_not_excluded_answers_say_the_tolerance(tmp_path):
    with play(tmp_path / "one.caet", "best-arm~0.05", 200) as experiment:
        status = experiment.status()
        assert "A (within 0.05 of the best)" in status["not_excluded"]
        assert status["ahead"]["cost"] > 0


@pytest.mark.parametrize(
    ("family", "mean", "most"),
    [
        ("bernoulli", 0.1, 0.05),
        ("bernoulli", 0.9, 0.05),
        ("bounded:10,30", 28.0, 1.0),
        ("poisson", 0.1, 0.05),
        ("geometric", 1.5, 0.75),
        ("gaussian:4", 0.1, 1.0),
    ],
)
def test_a_tolerance_with_which_any_arm_would_do_is_none(family, mean, most):
    """With rewards near an end of their range; the zero of Gaussian rewards is where somebody has put it."""
    explorer = Explorer.start("best-arm", family, arms=2, delta=0.1)
    low, high = {"bounded:10,30": (26.0, 30.0), "geometric": (1.0, 2.0)}.get(family, (0.0, 1.0))
    for number in range(80):
        reward = high if (number // 2) % 10 < 10 * (mean - low) / (high - low) - 1e-9 else low
        explorer.observe(number % 2, mean if family.startswith("gaussian") else reward)
    assert explorer.state.means().tolist() == pytest.approx([mean, mean])
    assert level_arms.largest_tolerance(explorer) == pytest.approx(most)


def test_rare_successes_are_not_said_to_be_as_good_as_none(tmp_path):
    with LiveExperiment.start(tmp_path / "rare.caet", "best-arm", "bernoulli", arms=["a", "b"], delta=0.1) as live:
        live.record_counts([("a", 4, 40), ("b", 4, 40)])
        assert live.status()["good_enough"] is None
        live.record_counts([("a", 996, 9960), ("b", 996, 9960)])
        assert live.status()["good_enough"]["task"] == "best-arm~0.02"
