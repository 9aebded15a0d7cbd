"""Experiments with rewards in a range: what is counted, stopped, kept in files and refused."""

import json
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caet_opt import POLICIES, BanditModel, Bounded, Caet, Explorer, InputError, parse_family
from caet_opt.exploring.counted import count_rewards, empirical
from caet_opt.exploring.policies.tracking import own_lines
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping import make_threshold
from caet_opt.simulating.streams import ArmStreams
from caet_opt.solving.characteristic import characteristic_time

BY_MEANS = [name for name, policy in POLICIES.items() if policy.by_means]
ALLOWED = [name for name, policy in POLICIES.items() if not (policy.by_means or policy.needs_truth)]

#: What each arm brings, over and over: scores between levels and on them.
SCORES = [[0.75, 1, 0.95, 0.6], [0.25, 0.5, 0.05, 0.25], [0.0, 0.33, 0.25, 0.25]]


def started(task="best-arm", family="bounded:0,1,4", **changes):
    return Explorer.start(task, family, **{"arms": 3, "delta": 0.2, "costs": [1, 2, 1], **changes})


def play(explorer, rounds=300):
    """Rounds on the scores, until it stops."""
    while not explorer.stopped and explorer.state.round < rounds:
        arm = explorer.next_arm()
        explorer.observe(arm, SCORES[arm][explorer.state.counts[arm] % 4])
    return explorer


@pytest.mark.parametrize("limit", [k / 100 for k in range(5, 100, 5)] + [0.07, 0.57])
def test_an_arm_that_always_brings_an_end_of_the_range(limit, tmp_path):
    """A command that always times out: rounding may take the mean of equal rewards beyond them."""
    for family, reward, other in (
        (f"bounded:0,{limit}", limit, limit / 2),
        (f"bounded:-{limit},0", -limit, -limit / 2),
        (f"bounded:{limit},2", limit, 1.5),
        (f"bounded:-3,{limit}", limit, -1.5),
    ):
        explorer = Explorer.start("best-arm", family, arms=2, delta=1e-9, costs=[1, 1])
        for _ in range(30):
            explorer.observe(0, reward)
            explorer.observe(1, other)
        explorer.save(tmp_path / "saved.json")
        resumed = Explorer.resume(tmp_path / "saved.json")
        assert resumed.state == explorer.state
        assert resumed.next_arm() == explorer.next_arm()
        assert empirical(explorer.family, explorer.state.histograms).means()[0] == Decimal(str(reward))
    with pytest.raises(InputError, match="outside"):
        explorer.observe(0, limit + 1e-9)


@pytest.mark.parametrize(
    ("policy", "solve"),
    [(name, solve) for name in ALLOWED for solve in ("exact", "lazy") if solve == "exact" or POLICIES[name].tracks],
)
def test_policies_that_go_by_statements_find_the_best_arm(policy, solve):
    explorer = play(started(policy=policy, solve=solve))
    assert explorer.stopped
    assert explorer.answer == 0
    assert min(explorer.state.counts) >= 3


@pytest.mark.parametrize("policy", BY_MEANS)
def test_policies_that_go_by_means_are_refused(policy):
    with pytest.raises(InputError, match=f"policy '{policy}' goes by formulas in means") as refused:
        started(policy=policy)
    assert "\n" not in str(refused.value)


def test_the_lists_of_policies_are_not_empty():
    assert {"caet", "track-and-stop", "top-two-ids", "uniform"} <= set(ALLOWED)
    assert {"kl-lucb", "thompson-top-two", "kl-racing"} <= set(BY_MEANS)


def test_what_was_observed_is_counted_by_arm():
    explorer = started()
    for arm, reward in ((0, 0.75), (0, 0.6), (1, 0.0), (2, 1.0)):
        explorer.observe(arm, reward)
    expected = ((0, 0, 0.6, 1.4, 0), (1, 0, 0, 0, 0), (0, 0, 0, 0, 1))
    assert explorer.state.histograms == tuple(pytest.approx(row, abs=1e-14) for row in expected)
    assert explorer.state.means() == pytest.approx([0.675, 0, 1])


def test_other_families_have_no_histograms():
    caet = Caet.start("best-arm", "bernoulli", arms=2, delta=0.1)
    caet.observe(0, 1)
    assert caet.state.histograms == ()
    assert "histograms" not in json.loads(caet.to_text())["state"]


def test_levels_that_are_listed_are_those_that_rewards_are_counted_on():
    explorer = play(started(family="bounded:0/0.3/0.5/1"))
    assert explorer.stopped
    assert explorer.answer == 0
    assert {len(row) for row in explorer.state.histograms} == {4}
    rewards = [(arm, SCORES[arm][k % 4]) for arm in range(3) for k in range(explorer.state.counts[arm])]
    again = count_rewards(explorer.family, ((0.0,) * 4,) * 3, rewards)
    assert again == explorer.state.histograms


def test_the_target_is_that_of_the_distributions_that_were_counted():
    caet = play(started(delta=1e-9), rounds=40)
    model = BanditModel(caet.family, empirical(caet.family, caet.state.histograms), [1, 2, 1])
    expected = characteristic_time(model, "best-arm").sampling_proportions
    assert caet.diagnostics.target == pytest.approx(expected, rel=1e-6)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0.0, 1.0)), max_size=25), st.sampled_from(["exact", "lazy"]))
def test_it_stops_exactly_when_the_capital_exceeds_its_level(outcomes, solve):
    caet = started(arms=2, costs=None, solve=solve)
    for arm, reward in [(0, 0.5), (1, 0.5), *outcomes]:
        caet.observe(arm, reward)
    if caet.explored:
        statements = caet.task.statements(caet.state.means().tolist())
        seen, level = caet.setup.counted(caet.state), caet.threshold.level
        apart = len(statements) and abs(np.diff(caet.state.means())[0]) > 1e-12
        assert caet.stopped == (bool(apart) and all(seen.exceeds(one, level) for one in statements))


def test_the_tie_of_a_level_and_a_mean_does_not_stop():
    caet = Caet.start("above:0.5", "bounded:0,1", arms=1, delta=0.2)
    for _ in range(50):
        caet.observe(0, 0.5)
    assert not caet.stopped


def test_in_one_range_scores_are_as_in_another():
    unit = play(started(family=Bounded(0, 1, steps=4)))
    wide = started(family="bounded:-10,30,4")
    while not wide.stopped:
        arm = wide.next_arm()
        wide.observe(arm, 40 * SCORES[arm][wide.state.counts[arm] % 4] - 10)
    assert wide.state.counts == unit.state.counts
    assert wide.answer == unit.answer


@cache
def pilot(costs):
    return BanditModel.from_samples("bounded:0,1,4", [[0.75, 1, 0.5, 0.75], [0.25, 0.75, 0.5, 0.5], [0.1, 0.3]], costs)


@pytest.mark.parametrize("solve", ["exact", "lazy", "lazy:0.3"])
@pytest.mark.parametrize("costs", [(1, 2, 1), (1, 0, 2)])
@pytest.mark.parametrize("task", ["best-arm", "above:0.5", "control:0-0.1"])
def test_a_resumed_experiment_goes_on_exactly(tmp_path, task, costs, solve):
    caet = started(task, delta=1e-30, costs=costs, solve=solve)
    streams, path = ArmStreams(pilot(costs), np.random.SeedSequence(4)), tmp_path / "experiment.json"
    for rounds in (1, 3, 30):
        for _ in range(rounds):
            arm = caet.next_arm()
            caet.observe(arm, *streams.draw(arm))
        caet.save(path)
        resumed = Caet.resume(path)
        assert (resumed.state, resumed.family) == (caet.state, caet.family)
        for _ in range(12):
            arm = caet.next_arm()
            assert resumed.next_arm() == arm
            drawn = streams.draw(arm)
            caet.observe(arm, *drawn)
            resumed.observe(arm, *drawn)
            assert (resumed.state, resumed.solves) == (caet.state, caet.solves)
    assert repr(resumed.diagnostics) == repr(caet.diagnostics)


@pytest.fixture
def saved(tmp_path):
    """A saved experiment whose target is kept by lines."""
    path = tmp_path / "experiment.json"
    caet = started(delta=1e-30, solve="lazy:0.5")
    while not (caet.explored and np.isfinite(own_lines(caet.view.aim)).all()) or caet.state.round < 20:
        arm = caet.next_arm()
        caet.observe(arm, SCORES[arm][caet.state.counts[arm] % 4])
    caet.save(path)
    return path


HISTOGRAMS = {
    "missing": (None, "a histogram of 5 counts for every arm"),
    "of one arm": ([[1, 2, 3, 4, 5]], "a histogram of 5 counts for every arm"),
    "of other levels": ([[1, 2]] * 3, "a histogram of 5 counts for every arm"),
    "no list": (3, "must be a list of counts for every arm"),
    "no list of lists": ([1, 2, 3], "must be a list of counts for every arm"),
    "texts": ([["1", 0, 0, 0, 0]] * 3, "must be numbers of zero or more"),
    "nothing": ([[None, 0, 0, 0, 0]] * 3, "must be numbers of zero or more"),
    "truth values": ([[True, 0, 0, 0, 0]] * 3, "must be numbers of zero or more"),
    "lists": ([[[1], 0, 0, 0, 0]] * 3, "must be numbers of zero or more"),
    "negative": ([[-1.0, 1, 1, 1, 1]] * 3, "must be numbers of zero or more"),
    "not a number": ([[float("nan"), 0, 0, 0, 0]] * 3, "NaN is not a JSON number"),
    "huge": ([[10**400, 0, 0, 0, 0]] * 3, "numbers"),
    "too few": ([[1, 0, 0, 0, 0]] * 3, "counts 1 rewards, but there were"),
}


def test_a_histogram_of_another_sum_is_refused(saved):
    """Counts that were moved to another level by hand, as many as before."""
    record = json.loads(saved.read_text())
    first = record["state"]["histograms"][0]
    record["state"]["histograms"][0] = first[::-1] if first != first[::-1] else [sum(first), 0, 0, 0, 0]
    saved.write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"the histogram of arm 0 adds up to .*, but its rewards to"):
        Caet.resume(saved)


@pytest.mark.parametrize("case", HISTOGRAMS)
def test_wrong_histograms_in_a_file_are_refused(saved, case):
    histograms, words = HISTOGRAMS[case]
    record = json.loads(saved.read_text())
    record["state"]["histograms"] = histograms
    if histograms is None:
        del record["state"]["histograms"]
    saved.write_text(json.dumps(record))
    with pytest.raises(InputError, match=words) as refused:
        Caet.resume(saved)
    assert "\n" not in str(refused.value)


def test_histograms_of_another_family_are_refused():
    caet = Caet.start("best-arm", "bernoulli", arms=2, delta=0.1)
    record = json.loads(caet.to_text())["state"]
    with pytest.raises(InputError, match="a saved state of family bernoulli has no histograms"):
        caet.continue_from(State.from_record({**record, "histograms": [[0, 0], [0, 0]]}))


@pytest.mark.parametrize("lines", [3, [], [[1, 2]] * 3, [[1, 2], [1], [1, 2], [1, 2]], [["1", "2"]] * 4, [[-1, 0]] * 4])
def test_wrong_lines_in_a_file_are_refused(saved, lines):
    record = json.loads(saved.read_text())
    assert len(record["kept"]["lines"]) == 4
    record["kept"]["lines"] = lines
    saved.write_text(json.dumps(record))
    with pytest.raises(InputError, match="'lines'"):
        Caet.resume(saved)


@pytest.mark.parametrize("level", ["0.69999999999999999", "0.6999999999999999"])
def test_a_level_within_rounding_of_an_end_settles_nothing(level):
    """Every reward is at the end, so that its mean is above the level; as doubles the two are as good as equal."""
    explorer = Explorer.start(f"above:{level}", "bounded:0,0.7", arms=1, delta=1e-9)
    for _ in range(20):
        explorer.observe(0, 0.7)
        assert not explorer.stopped or explorer.answer == (0,)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold": "mixture"}, "threshold 'mixture' is not defined for rewards in a range"),
        ({"threshold": "customary"}, "threshold 'customary' is not defined for rewards in a range"),
        ({"rho": 4}, "takes no rho for rewards in a range"),
        ({"fractions": True}, "fractions are for the bernoulli family"),
        ({"task": "control:0*1.1"}, "ratio"),
        ({"solver": "pyomo"}, "no formula in their means alone"),
        ({"family": "bounded"}, "needs its range"),
        ({"family": "bounded:0"}, "has the form bounded:LO,HI"),
        ({"family": "bounded:1,0"}, "a low end below its high end"),
        ({"family": "bounded:0,1,0"}, "steps of a range must be a whole number from 1 to 1000"),
        ({"family": "bounded:0,1,2.5"}, "has the form bounded:LO,HI"),
        ({"family": "bounded:nan,1"}, "must be numbers"),
        ({"family": "bounded:0,1e-400"}, "double precision"),
        ({"family": "bounded:0,1e-200"}, "too narrow"),
        ({"family": "bounded:0/2/1"}, "levels must ascend"),
        ({"family": "bounded:0/0.5/0.5/1"}, "levels must ascend"),
        ({"family": "bounded:0/nan/1"}, "numbers separated by slashes"),
        ({"family": "bounded:0/0.5/1,20"}, "numbers separated by slashes"),
    ],
)
def test_an_impossible_start_is_refused_in_one_line(changes, words):
    with pytest.raises(InputError, match=words) as refused:
        started(**changes)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("reward", [1.5, -0.1, np.nextafter(1, 2), float("nan"), float("inf"), "0.5", None])
def test_a_reward_that_is_none_changes_nothing(reward):
    caet = play(started(), rounds=4)
    before = caet.state
    with pytest.raises(InputError, match="reward") as refused:
        caet.observe(0, reward)
    assert "\n" not in str(refused.value)
    assert caet.state == before


def test_a_threshold_by_betting_says_so():
    rule = make_threshold("e-process", "bounded:0,1", arms=3, delta=0.05)
    assert rule.describe() == "log E > log(3 / delta) = 4.09434, by betting on each mean"
    assert rule.guarantees(parse_family("bounded:0,1"))
    assert rule.value(100, 50, 50) == rule.level


@pytest.mark.parametrize("policy", ["caet", "top-two-ids"])
def test_pulls_that_are_handed_out_at_once(policy):
    explorer = play(started(policy=policy, delta=1e-9), rounds=12)
    arms = explorer.next_arms(6)
    assert arms[0] == explorer.next_arm()
    assert len(arms) == 6
    assert len(set(arms)) > 1


def test_a_batch_is_decided_on_at_its_end():
    solves = {}
    for solve in ("exact", "lazy:0.5"):
        caet = started(delta=1e-9, batch=5, solve=solve)
        while caet.state.round < 83:
            for arm in caet.next_arms():
                caet.observe(arm, SCORES[arm][caet.state.counts[arm] % 4])
        solves[solve] = caet.solves
    assert solves["exact"] == 17
    assert solves["lazy:0.5"] < 17


def test_what_was_seen_of_odd_numbers_is_diagnosed_without_a_warning():
    """Point masses at the ends and a hair from them, where doubles underflow."""
    for rewards in ((1e-293, 0.0), (5e-324, 0.0), (1 - 1e-16, 1.0), (0.0, 0.0), (1.0, 0.0), (0.5, 0.5 + 1e-16)):
        caet = started("control:0-0.1", arms=2, costs=None, delta=1e-3)
        for arm in (0, 1) * 4:
            caet.observe(arm, rewards[arm])
        assert caet.next_arm() in (0, 1)
        assert np.all(caet.diagnostics.evidence >= 0)
        assert caet.not_excluded
