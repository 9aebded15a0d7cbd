"""Live experiments of which several answers may be right, and those whose arms are level."""

from itertools import cycle

import pytest

from caet_opt import LiveExperiment
from caet_opt.live import status_text
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
