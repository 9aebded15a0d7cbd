"""Live experiments whose rewards spread more than assumed: the test is what its docstring says, and it is heard."""

import json
import shutil
from itertools import product
from math import exp, lgamma, log
from pathlib import Path

import numpy as np
import pytest

from caet_opt import Gaussian, InputError, LiveExperiment, Poisson, parse_family
from caet_opt.cli import main
from caet_opt.exploring.policies import POLICIES
from caet_opt.live import experiment as live
from caet_opt.live import replay, watch
from caet_opt.version import __version__
from cases import spread

LIVE = [name for name, policy in POLICIES.items() if not policy.needs_truth]
KEPT = Path(__file__).parents[1] / "kept" / "0.2.0" / "live"


def start(folder, family="gaussian:1", **changes):
    """A small experiment in a new file."""
    asked = {"arms": ["old", "new"], "costs": [1, 1], "delta": 0.05, **changes}
    return LiveExperiment.start(folder / "trial.caet", "best-arm", family, **asked)


def record(experiment, *outcomes):
    """Outcomes of arms that are asked for, whatever the policy says."""
    for arm, reward in outcomes:
        (pull,) = experiment.next(arm=arm)
        experiment.record(arm, reward, pull=pull.number)
    return experiment


#: Nodes and weights on (0, 1), exact for polynomials of degree 199.
U, WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(100))
U = U + 0.5

REVENUE = [(0, 0.0), (1, 31.0), (0, 33.0), (1, 0.0)]


# what has to be told


@pytest.mark.parametrize("family", ["gaussian", Gaussian()])
def test_a_live_gaussian_experiment_needs_its_variance(tmp_path, family):
    with pytest.raises(InputError, match=r"needs its variance here.*gaussian:VAR, for example gaussian:4, or one per"):
        start(tmp_path, family)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("family", ["gaussian:1", "gaussian:1,1", Gaussian(1), Gaussian([1.0, 1.0])])
def test_a_variance_of_one_is_one_that_is_told(tmp_path, family):
    assert "guaranteed for independent Gaussian rewards of variance 1: wrong with" in str(start(tmp_path, family))


def test_a_default_variance_is_the_same_family():
    assert Gaussian() == Gaussian(1.0)
    assert hash(Gaussian()) == hash(Gaussian(1))


# the e-processes


def gaussian_directly(arms, rewards, variances):
    """The average over v of the products, by quadrature in u = 1/v."""
    total = sum(
        ((rewards[arms == arm] - rewards[arms == arm].mean()) ** 2).sum() / variance
        for arm, variance in enumerate(variances)
        if np.any(arms == arm)
    )
    return log(np.sum(WEIGHTS * watch.SHAPE * U ** (watch.SHAPE - 1 + len(arms) / 2) * np.exp((1 - U) * total / 2)))


@pytest.mark.parametrize("centre", [0.0, 1e9])
def test_the_gaussian_average_is_the_formula(centre):
    rng, variances = np.random.default_rng(1), np.array([1.0, 4.0, 0.5])
    arms = rng.integers(0, 3, 60)
    rewards = np.round(rng.normal(centre, 1.5 * np.sqrt(variances[arms])), 3)
    found = watch.gaussian_log_e(arms, watch.residual_squares(arms, rewards, 3), variances)
    expected = [gaussian_directly(arms[:n], rewards[:n] - centre, variances) for n in range(1, 61)]
    assert found == pytest.approx(expected, abs=1e-4 if centre else 1e-9)


def poisson_directly(arms, rewards):
    """The average of the products, each factor by its formula."""
    found = []
    for begin, dispersion in product((0, 1), watch.DISPERSIONS):
        total = 0.0
        for arm in set(arms):
            x = [reward for one, reward in zip(arms, rewards, strict=True) if one == arm]
            if begin == 0:
                total -= log((x[0] + 1) * (x[0] + 2))
            for m in range(1, len(x)):
                mean, ratio = (sum(x[:m]) + 0.5) / m, dispersion * (1 + 1 / m)
                size = mean / (ratio - 1)
                total += lgamma(x[m] + size) - lgamma(size) - lgamma(x[m] + 1)
                total += x[m] * log(1 - 1 / ratio) - size * log(ratio)
            rest = x[begin:]
            if sum(rest):
                best = sum(rest) / len(rest)
                total -= sum(one * log(best) - best - lgamma(one + 1) for one in rest)
        found.append(total)
    return log(np.mean(np.exp(np.array(found) - max(found)))) + max(found)


def test_the_poisson_average_is_the_formula():
    rng = np.random.default_rng(2)
    arms = rng.integers(0, 3, 50)
    rewards = rng.poisson(np.array([0.2, 5.0, 400.0])[arms]).astype(float)
    rewards[20] *= 3
    found = watch.poisson_log_e(arms, rewards, 3)
    expected = [poisson_directly(arms[:n].tolist(), rewards[:n].tolist()) for n in range(1, 51)]
    assert found == pytest.approx(expected, abs=1e-8)


def expected_e(means, choose, most=8):
    """The expectation of E under Poisson rewards below ``most``, after two outcomes if these are equal, else three."""
    total = 0.0
    for first in product(range(most), repeat=2):
        rest = [()] if first[0] == first[1] else [(last,) for last in range(most)]
        for rewards in (first + last for last in rest):
            arms = [0, 1, choose(first)][: len(rewards)]
            pairs = zip(arms, rewards, strict=True)
            chance = exp(sum(x * log(means[arm]) - means[arm] - lgamma(x + 1) for arm, x in pairs))
            total += chance * exp(watch.poisson_log_e(np.array(arms), np.array(rewards, dtype=float), 2)[-1])
    return total


def test_the_poisson_test_is_at_most_one_on_average_whatever_chooses_and_stops():
    for choose in (lambda seen: int(seen[0] < seen[1]), lambda seen: int(seen[0] >= seen[1])):
        for means in ((0.02, 0.01), (0.7, 1.2)):
            assert 0.1 < expected_e(means, choose) < 1.0


def test_residuals_that_a_policy_has_chosen_are_not_independent():
    """With many arms the adversary, and a leader that is followed, make the plain test false, and not ours."""
    truth = np.zeros(50)
    for rule in (spread.look_for_alarm, spread.follow_leader):
        paths = spread.draw_paths(Gaussian().sample, truth, rule, 300, 100, seed=1)
        ours = spread.largest_log_e(paths, lambda *one: spread.log_e(Gaussian(), *one, 50))
        plain = spread.largest_log_e(paths, lambda *one: spread.naive_log_e(*one, 50))
        assert spread.is_consistent(spread.count_alarms(ours)[1], 0.05, 300)
        assert not spread.is_consistent(spread.count_alarms(plain)[1], 0.05, 300)


@pytest.mark.parametrize("family", [Gaussian(1), Poisson()])
@pytest.mark.parametrize("rule", spread.RULES.values())
def test_clean_experiments_raise_as_few_alarms_as_the_level_allows(family, rule):
    paths = spread.draw_paths(family.sample, np.array([2.0, 1.0]), rule, 400, 100, seed=3)
    found = spread.largest_log_e(paths, lambda *one: spread.log_e(family, *one, 2))
    for count, level in zip(spread.count_alarms(found), spread.LEVELS, strict=True):
        assert spread.is_consistent(count, level, 400)


@pytest.mark.parametrize(
    ("family", "draw"),
    [
        ("gaussian", spread.draw_normal(2.0)),
        ("poisson", spread.draw_counts(2.0)),
    ],
)
def test_twice_the_variance_is_found(family, draw):
    kind = Gaussian(1) if family == "gaussian" else Poisson()
    truth, rule = np.array([5.0, 4.0]), spread.follow_leader
    paths = spread.draw_paths(draw, truth, rule, 40, 600, seed=4)
    found = [spread.first_alarm(spread.log_e(kind, *one, 2)) for one in zip(*paths, strict=True)]
    assert None not in found
    assert 20 < np.median(found) < 150


@pytest.mark.parametrize("family", [Gaussian(1), Poisson()])
def test_numbers_at_the_end_of_doubles_are_no_error(family):
    arms = np.array([0, 1, 0, 1, 0])
    for big in (1e15, 1e150, 1.7e308):
        seen = watch.see_spread(family, arms, np.array([0.0, big, 0.0, big, big]), 2)
        assert seen.log_e >= 0.0
        json.dumps(seen, allow_nan=False)
    assert watch.see_spread(Gaussian(1), arms, np.array([1e308, 0, -1e308, 0, 1e308]), 2).since == 3
    assert watch.see_spread(family, arms[:0], np.zeros(0), 2) == ([0, 0], [None, None], 0.0, None)


def test_large_counts_do_not_raise_alarms_by_rounding():
    rng = np.random.default_rng(5)
    for mean in (1e6, 1e10, 1e13, 1e15):
        rewards = np.round(rng.normal(mean, np.sqrt(mean), 400))
        assert watch.see_spread(Poisson(), np.arange(400) % 2, rewards, 2).since is None


# what an experiment says


def test_revenue_as_unit_variance_is_warned_of_wherever_a_guarantee_is_printed(tmp_path, capsys):
    experiment = start(tmp_path)
    assert "guaranteed for independent Gaussian rewards of variance 1" in str(experiment)
    record(experiment, *REVENUE)
    status, words = experiment.status(), str(experiment)
    assert (status["guaranteed"], status["watch"]["alarm"], status["watch"]["since"]) == (False, True, 3)
    assert status["watch"]["variances"] == [544.5, 480.5]
    assert status["assumes"] == "independent Gaussian rewards of variance 1"
    assert "WARNING: the rewards spread more than independent Gaussian rewards of variance 1, so the guaran" in words
    assert "gaussian:VAR with VAR at least the variance of the rewards (so far 544.5 in one arm)" in words
    assert "NOT GUARANTEED: the rewards spread more than" in words
    assert "guaranteed for" not in words
    assert "variance 1, which these are not. However often you look, all intervals of means hold at once" in words
    assert main(["experiment", "status", str(tmp_path / "trial.caet"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["watch"] == status["watch"]


def test_a_stop_after_an_alarm_is_not_guaranteed(tmp_path):
    experiment = record(start(tmp_path), *REVENUE, (1, 90.0))
    assert experiment.stopped
    assert experiment.status()["stopped"]["guaranteed"] is False
    assert "spent; NOT GUARANTEED: the rewards spread more than" in str(experiment)
    assert experiment.verify() == []


def test_an_alarm_stays(tmp_path):
    experiment = record(start(tmp_path), (0, 0.0), (1, 0.0), (0, 6.5), (1, 0.0))
    first = experiment.status()["watch"]
    assert not first["alarm"]
    record(experiment, (1, 12.0))
    alarm = experiment.status()["watch"]
    assert (alarm["alarm"], alarm["since"]) == (True, 5)
    for _ in range(60):
        (pull,) = experiment.next(arm=0) or [None]
        if pull is None:
            break
        experiment.record(0, 3.25, pull=pull.number)
    assert experiment.status()["watch"]["since"] == 5
    assert experiment.status()["watch"]["log_e"] >= alarm["log_e"]


def test_a_fitting_variance_raises_no_alarm(tmp_path):
    experiment = record(start(tmp_path, "gaussian:900,1000"), *REVENUE)
    words = str(experiment)
    assert "guaranteed for independent Gaussian rewards of variances 900 and 1000 by arm: wrong with" in words
    assert "spread: no more than assumed so far (log e-value 0, alarm at 6.908)" in words
    assert experiment.status()["guaranteed"] is True


def test_each_arm_has_its_own_variance(tmp_path):
    """The same outcomes, once in the arm that may have them."""
    for name, outcomes in (("wide", [(1, 0.0), (1, 30.0)]), ("narrow", [(0, 0.0), (0, 30.0)])):
        (tmp_path / name).mkdir()
        experiment = record(start(tmp_path / name, "gaussian:1,900"), *outcomes)
        assert experiment.status()["watch"]["alarm"] is (name == "narrow")


def test_counts_that_vary_more_than_poisson_counts_are_warned_of(tmp_path):
    experiment = record(start(tmp_path, "poisson", delta=1e-300), (0, 3), (1, 2), (0, 2), (1, 4))
    assert "spread: no more than assumed" in str(experiment)
    record(experiment, (0, 0), (0, 40), (0, 1))
    watched = experiment.status()["watch"]
    assert (watched["alarm"], watched["since"]) == (True, 6)
    assert "more than independent Poisson rewards" in str(experiment)
    assert any("groups" in one for one in watched["fits"])


@pytest.mark.parametrize(
    ("family", "said"),
    [("bernoulli", None), ("bounded:0,1", None), ("exponential", "not watched for exponential rewards")],
)
def test_what_is_not_watched_is_said_unless_it_cannot_be_false(tmp_path, family, said):
    experiment = record(start(tmp_path, family), (0, 1), (1, 1))
    status = experiment.status()
    assert (status["watch"]["watched"], status["watch"]["alarm"], status["watch"]["reason"]) == (False, False, said)
    assert ("spread: " in str(experiment)) is (said is not None)


# an answer waits until there is a spread to be seen


@pytest.mark.parametrize("policy", LIVE)
def test_an_answer_is_declared_when_every_arm_has_two_outcomes(tmp_path, policy):
    """Gaps so large that the first outcome of each arm settles everything."""
    experiment = start(tmp_path, arms=4, costs=[1, 2, 3, 4], policy=policy)
    counts, rewards = [0, 0, 0, 0], (1000.0, 500.0, 0.0, -500.0)
    while handed := experiment.next():
        (pull,) = handed
        experiment.record(pull.arm, rewards[pull.arm] + 0.1 * counts[pull.arm], pull=pull.number)
        counts[pull.arm] += 1
        assert experiment.stopped is (min(counts) >= 2)
        if sum(counts) == 4:
            assert "and no answer is declared before that" in str(experiment)
    assert sum(counts) <= 12
    assert experiment.answer == "0"
    assert experiment.verify() == []


def test_where_an_answer_waits_pulls_that_are_out_count(tmp_path):
    experiment = record(start(tmp_path), (0, 100.0), (1, 0.0))
    assert not experiment.stopped
    assert [pull.arm for pull in experiment.next(2)] == [0, 1]
    assert [pull.arm for pull in experiment.next(1)] == [0]


@pytest.mark.parametrize(
    ("family", "outcomes"), [("gaussian:4", 2), ("poisson", 2), ("bernoulli", 1), ("exponential", 1), ("gamma:2", 1)]
)
def test_what_is_not_watched_does_not_wait(family, outcomes):
    assert watch.least_outcomes(parse_family(family)) == outcomes


def test_a_file_that_did_not_wait_is_still_verified(tmp_path, monkeypatch):
    """As versions up to 0.2.0 wrote it."""
    monkeypatch.setattr(live, "may_declare", replay.has_ended)
    experiment = record(start(tmp_path), (0, 100.0), (1, 0.0))
    monkeypatch.undo()
    assert experiment.stopped
    assert any(line.startswith("stopped by outcome") for line in experiment.verify())
    with experiment._store.writing() as db:
        db.execute("UPDATE experiment SET version = '0.2.0', saved = replace(saved, ?, '0.2.0')", (__version__,))
        db.execute("UPDATE checkpoint SET saved = replace(saved, ?, '0.2.0')", (__version__,))
    assert experiment.verify() == []
    assert "the spread of old, new shows only from the second outcome on, and the answer was declared before" in str(
        experiment
    )
    with experiment._store.writing() as db:
        db.execute("UPDATE stop SET position = 1")
    assert any(line.startswith("stopped by outcome") for line in experiment.verify())


def test_a_file_without_a_variance_means_variance_one(tmp_path):
    shutil.copy(KEPT / "caet-stopped.caet", tmp_path)
    with LiveExperiment.open(tmp_path / "caet-stopped.caet") as experiment:
        assert "guaranteed for independent Gaussian rewards of variance 1: wrong with" in str(experiment)
        assert experiment.verify() == []


# every file that people keep still says what it is worth


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.caet")), ids=lambda path: path.stem)
def test_kept_files_raise_no_alarm(tmp_path, path):
    shutil.copy(path, tmp_path)
    with LiveExperiment.open(tmp_path / path.name) as experiment:
        assert experiment.status()["watch"]["alarm"] is False


def test_a_watch_of_nothing_has_the_keys_of_one_that_watches(tmp_path):
    (tmp_path / "other").mkdir()
    one, other = start(tmp_path).status()["watch"], start(tmp_path / "other", "bernoulli").status()["watch"]
    assert one.keys() == other.keys()
