"""Rewards between 0 and 1 of the bernoulli family, where the user says so."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import BanditModel, Caet, Explorer, InputError, LiveExperiment, characteristic_time
from caet_opt.bandits.families import parse_family
from caet_opt.cli import main

SHARES = st.floats(0.01, 0.99)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), SHARES, SHARES, SHARES)
def test_the_factor_of_a_fraction_has_an_expectation_of_at_most_one(first, second, share, x, p):
    """The docstring's proof, on distributions of two values whose mean is on the other side of x than p."""
    mean = share * first + (1.0 - share) * second
    if (mean - x) * (p - x) > 0.0:
        return
    factors = [(p / x) ** v * ((1.0 - p) / (1.0 - x)) ** (1.0 - v) for v in (first, second)]
    assert share * factors[0] + (1.0 - share) * factors[1] <= 1.0 + 1e-12


def test_fractions_are_taken_where_the_user_says_so(tmp_path):
    explorer = Caet.start("best-arm", "bernoulli", arms=2, delta=0.05, costs=[1, 2], fractions=True)
    while not explorer.stopped:
        arm = explorer.next_arm()
        explorer.observe(arm, [0.85, 0.25][arm])
    assert explorer.answer == 0
    explorer.save(tmp_path / "saved.json")
    resumed = Explorer.resume(tmp_path / "saved.json")
    assert resumed.parameters.fractions is True
    assert resumed.family.describe_assumption() == "independent rewards in [0, 1] of any distribution"
    resumed.observe(1, 0.5)


def test_a_missing_word_means_no_fractions(tmp_path):
    explorer = Explorer.start("best-arm", "bernoulli", arms=2, delta=0.05)
    record = json.loads(explorer.to_text())
    del record["settings"]["fractions"]
    (tmp_path / "old.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"reward 0\.7 is outside the bernoulli family.*--fractions"):
        Explorer.resume(tmp_path / "old.json").observe(0, 0.7)


@pytest.mark.parametrize("reward", [1.2, -0.1, float("nan"), float("inf"), "0.5"])
def test_what_is_no_fraction_is_refused(reward):
    explorer = Explorer.start("best-arm", "bernoulli", arms=2, delta=0.05, fractions=True)
    with pytest.raises(InputError, match="reward"):
        explorer.observe(0, reward)


@pytest.mark.parametrize(
    ("family", "settings", "words"),
    [
        ("poisson", {"fractions": True}, "fractions are for the bernoulli family"),
        ("bernoulli", {"fractions": True, "threshold": "mixture"}, "the threshold must be 'e-process'"),
        ("bernoulli", {"fractions": "yes"}, "fractions must be true or false, got 'yes'"),
        ("bernoulli", {"fractions": 1}, "fractions must be true or false, got 1"),
    ],
)
def test_where_fractions_are_refused(family, settings, words):
    with pytest.raises(InputError, match=words):
        Explorer.start("best-arm", family, arms=2, delta=0.05, **settings)


def test_a_live_experiment_says_of_which_rewards_its_time_is(tmp_path, capsys):
    file = str(tmp_path / "trial.caet")
    start = ["start", file, "--task", "best-arm", "--family", "bernoulli", "--arms", "a,b", "--delta", "0.05"]
    assert main(["experiment", *start, "--fractions"]) == 0
    assert "guaranteed for independent rewards in [0, 1] of any distribution" in capsys.readouterr().out
    with LiveExperiment.open(file) as experiment:
        for _ in range(4):
            for pull in experiment.next(2):
                experiment.record(pull.arm, [0.7, 0.6][pull.arm], pull=pull.number)
        status, words = experiment.status(), str(experiment)
        assert experiment.verify() == []
    time = characteristic_time(BanditModel(parse_family("bernoulli"), [0.7, 0.6], [1, 1]), "best-arm").value
    assert status["ahead"]["characteristic_time"] == pytest.approx(time, rel=1e-9)
    assert status["fractions"] is True
    assert "(of yes-or-no rewards with the present means)" in words
    assert main(["experiment", "record", file, "a", "1.5"]) == 2


def test_simulations_take_no_fractions(capsys):
    assert main(["simulate", "--family", "bernoulli", "--fractions"]) == 2
    assert "--fractions" in capsys.readouterr().err


def test_the_status_says_of_which_rewards_the_time_is(tmp_path):
    with LiveExperiment.start(tmp_path / "x", "best-arm", "bounded:0,1", arms=2, costs=[1, 1], delta=0.1) as experiment:
        for pull, reward in zip(experiment.next(2), (0.7, 0.33), strict=True):
            experiment.record(pull.arm, reward, pull=pull.number)
        assert "of the rewards as counted so far" in str(experiment)
