"""A round that needs something of Python: an answer, a layout, a solution that fails; saved wherever it may be; and by
formulas of a user's own."""

from dataclasses import dataclass
from math import log

import numpy as np
import pytest
from inverse_gaussian import InverseGaussian
from whole_runs import bits_of, fail_to_solve, run_compiled, run_interpreted

from caet_opt import POLICIES, BanditModel, Custom, Explorer, SolverError, characteristic_time
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.state import State
from caet_opt.exploring.stopping import THRESHOLDS, Customary
from caet_opt.kernels import boxes, ledger
from caet_opt.live.replay import absorb_outcome
from caet_opt.simulating.runs import compile_loop
from caet_opt.simulating.streams import ArmStreams
from caet_opt.solving.certificate import statement_terms

#: Answers of two pairs and of three: arm 1 is the best, or else all three are put in order.
UNEVEN = Custom(
    [[(0, 1), (0, 2), (1, 2)], [(0, 2), (2, 1)], [(1, 0), (1, 2)], [(2, 0), (2, 1), (0, 1)], [(2, 1), (1, 0)]]
)

LIVE = [name for name, policy in POLICIES.items() if not policy.needs_truth]
SOLVING = [name for name in LIVE if not issubclass(POLICIES[name], IndexPolicy)]


def start(task, family, means, *, policy="caet", seed=1, **settings):
    """An experiment, and streams of outcomes for it."""
    source = settings.get("cost_source", "known")
    costs = settings.pop("costs", [1.0] * len(means))
    asked = {"log_inv_delta": 40.0, "threshold": "customary", **settings}
    explorer = Explorer.start(
        task, family, arms=len(means), costs=costs if source == "known" else None, policy=policy, **asked
    )
    return explorer, ArmStreams(BanditModel(family, means, costs), np.random.SeedSequence(seed))


def is_best(explorer):
    """Whether the effort that is aimed at costs no more than the best for the present means and costs."""
    aim, arms = explorer.view.aim, explorer.view.arms
    model = BanditModel(explorer.family, arms[ledger.MEAN].tolist(), arms[ledger.COST].tolist())
    pairs = explorer.task.pairs(arms[ledger.MEAN].tolist())
    assert [list(pair) for pair in pairs] == aim.solved.T.tolist() == explorer.view.pairs.T.tolist()
    best = characteristic_time(model, explorer.task)
    if best.value == 0:
        return not np.any(aim.effort)
    return arms[ledger.COST] @ aim.effort / min(statement_terms(model, pairs, aim.effort)) <= (1 + 1e-7) * best.upper


TROUBLED = [
    {"task": "ranking", "costs": [1.0, 2.0, 0.0, 1.0]},
    {"task": "best-arm", "costs": [1.0, 0.0, 0.0, 1.0]},
    {"task": "top-arms:2", "costs": [1.0, 0.0, 3.0, 1.0]},
    {"task": "groups:0,1/2,3", "cost_source": "gaps"},
    {"task": "ranking", "cost_source": "observed"},
    {"task": UNEVEN, "costs": [1.0, 2.0, 0.5, 1.0]},
    {"task": UNEVEN, "costs": [0.0, 2.0, 0.5, 1.0], "policy": "track-and-stop"},
]


@pytest.mark.parametrize("settings", TROUBLED, ids=str)
@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_after_solves_that_fail_targets_are_those_of_the_present_answer(monkeypatch, family, settings):
    """Answers change, arms tie and free ones are others, in rounds whose solve fails and in others: whatever layout was
    at hand before, what a solve that succeeds aims at is the best for the pairs of its round."""
    settings = dict(settings)
    explorer, streams = start(settings.pop("task"), family, [0.5, 0.45, 0.55, 0.5], **settings)
    rng, solved, changed, failed = np.random.default_rng(5), 0, 0, 0
    for _ in range(150):
        arm, before = int(rng.integers(4)), explorer.view.pairs.copy()
        drawn = streams.draw(arm)
        with monkeypatch.context() as patch:
            if rng.random() < 0.3:
                fail_to_solve(patch, SolverError("no"))
            setting = explorer.policy.setting = explorer.policy.make_setting()
            explorer.view = explorer.view._replace(setting=setting)
            absorb_outcome(explorer, arm, *drawn)
        if not explorer.explored:
            continue
        assert explorer.stopped <= explorer.diagnostics.settled
        differs = not np.array_equal(before, explorer.view.pairs)
        if explorer.view.aim.numbers[boxes.TIED] == 0.0:
            solved += 1
            changed += differs
            assert is_best(explorer)
        else:
            failed += differs
    assert min(solved, changed, failed) > 1


def test_a_solve_that_fails_ends_nothing_whose_answer_has_changed(monkeypatch):
    """Old pairs (0, 1) and (1, 2) have enough evidence at the new means, by which arm 2 is just ahead of arm 0."""
    explorer, _ = start("ranking", "gaussian", [10.0, 0.0, -10.0])
    explorer.observe(2, -10.0)
    for _ in range(30):
        explorer.observe(0, 10.0)
        explorer.observe(1, 0.0)
    assert explorer.stopped
    fail_to_solve(monkeypatch, SolverError("no"))
    explorer.policy.setting = explorer.policy.make_setting()
    explorer.view = explorer.view._replace(setting=explorer.policy.setting)
    absorb_outcome(explorer, 2, 30.02, None)
    assert explorer.state.means().tolist()[2] == pytest.approx(10.01)
    assert explorer.answer == (2, 0, 1)
    assert not explorer.diagnostics.settled
    assert not explorer.stopped


#: With the rounds before the first save: a target is kept for some rounds once there were many.
RESUMED = [
    {"batch": 7},
    {"batch": 5, "tracking": "d", "cost_source": "gaps"},
    {"batch": "growing:0.4", "solve": "lazy", "cost_source": "observed"},
    {"solve": "lazy", "rounds": 500},
    {"solve": "lazy:0.5", "tracking": "d", "rounds": 500},
    {"solve": "lazy", "cost_source": "observed", "rounds": 500},
    {"solve": "lazy", "cost_source": "gaps", "rounds": 500},
    {"batch": 6, "costs": [0.0, 1.0, 2.0]},
    {"batch": 4, "policy": "ctas"},
    {"batch": 4, "policy": "track-and-stop", "solve": "lazy"},
]


@pytest.mark.parametrize("settings", RESUMED, ids=str)
@pytest.mark.parametrize("task", ["ranking", "best-arm", UNEVEN], ids=["ranking", "best-arm", "uneven"])
@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_saved_anywhere_it_goes_on_to_the_same_bits(tmp_path, family, task, settings):
    """In the middle of a batch, at a tie, with a target that is kept; and what was resumed is saved as well."""
    asked = dict(settings)
    rounds = asked.pop("rounds", 0)
    means = [0.5, 0.9, 0.1] if rounds else [0.5, 0.45, 0.55]
    explorer, streams = start(task, family, means, log_inv_delta=1e4, **asked)
    run_interpreted(explorer, streams, rounds)
    others, tied, between = [], 0, 0
    for number in range(36):
        arm = explorer.next_arm()
        drawn = streams.draw(arm)
        others = [other for other in others if other[1] > number - 12]
        for one in (explorer, *(other for other, _ in others)):
            assert one.next_arm() == arm
            one.observe(arm, *drawn)
            assert (one.to_text(), one.stopped) == (explorer.to_text(), explorer.stopped)
            assert one.view.arms.tobytes() == explorer.view.arms.tobytes()
        if explorer.explored:
            numbers = explorer.view.aim.numbers
            tied += numbers[boxes.TIED] > 0.0
            between += numbers[boxes.SOLVED] != explorer.state.round
        explorer.save(tmp_path / "experiment.json")
        others.append((Explorer.resume(tmp_path / "experiment.json"), number))
    assert between > 2
    assert tied > 0 or not (family == "bernoulli" and task == "ranking" and rounds == 0)


@pytest.mark.parametrize("arms", [3, 9])  # nine times a ninth is more than one
def test_saved_after_a_solve_that_failed_it_goes_on_to_the_same_bits(tmp_path, monkeypatch, arms):
    explorer, streams = start("best-arm", "gaussian", [0.1 * arm for arm in range(arms)], batch=8)
    fail_to_solve(monkeypatch, SolverError("no"))
    explorer.policy.setting = explorer.policy.make_setting()
    explorer.view = explorer.view._replace(setting=explorer.policy.setting)
    for _ in range(arms + 3):
        arm = explorer.next_arm()
        absorb_outcome(explorer, arm, *streams.draw(arm))
    monkeypatch.undo()
    explorer.save(tmp_path / "experiment.json")
    explorer.policy.setting = explorer.policy.make_setting()
    explorer.view = explorer.view._replace(setting=explorer.policy.setting)
    resumed = Explorer.resume(tmp_path / "experiment.json")
    assert explorer.solves == 0
    for _ in range(20):
        assert resumed.view.arms.tobytes() == explorer.view.arms.tobytes()
        arm = explorer.next_arm()
        drawn = streams.draw(arm)
        for one in (explorer, resumed):
            one.observe(arm, *drawn)
    assert resumed.to_text() == explorer.to_text()
    assert explorer.solves > 0


# Tasks whose answers have different numbers of pairs


@pytest.mark.parametrize("policy", [name for name in LIVE if POLICIES[name].covers(UNEVEN)])
@pytest.mark.parametrize("settings", [{}, {"solve": "lazy", "cost_source": "observed"}, {"batch": 3}], ids=str)
def test_answers_of_different_numbers_of_pairs_are_played_to_the_same_bits(policy, settings):
    runs, sizes = ([], []), set()
    for found, run in zip(runs, (run_compiled, run_interpreted), strict=True):
        for seed in range(3):
            explorer, streams = start(UNEVEN, "bernoulli", [0.5, 0.4, 0.45], policy=policy, seed=seed, **settings)
            for rounds in (3, 1, 1, 1, 1, 1, 30, 1, 100):
                run(explorer, streams, rounds)
                found.append((bits_of(explorer), explorer.stopped))
                sizes.add(explorer.view.pairs.shape[1])
                pairs = explorer.task.pairs(explorer.state.means().tolist())
                if "batch" not in settings:
                    assert explorer.view.pairs.T.tolist() == [list(pair) for pair in pairs]
    assert runs[0] == runs[1]
    assert sizes == {2, 3}


# A threshold, and a family, of a user's own


@dataclass(frozen=True)
class Twice(Customary):
    """Twice the customary one, which no compiled code knows."""

    name = "twice"

    def value(self, t, n_a, n_b):
        return 2.0 * (self.log_inv_delta + log(1 + log(max(t, 1.0))))


@dataclass(frozen=True)
class Higher(Customary):
    """The customary formula with another number, which compiled code knows."""

    name = "higher"

    @property
    def level(self):
        return self.log_inv_delta + 3.0


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("family", ["bernoulli", InverseGaussian()], ids=str)
@pytest.mark.parametrize("policy", LIVE)
def test_a_threshold_of_the_users_own_is_interpreted(monkeypatch, policy, family, is_listed):
    """Whether it is in the list of thresholds or was, and whatever is compiled."""
    if policy == "thompson-top-two" and family != "bernoulli":
        pytest.skip("knows the shipped families only")
    compile_loop(policy)
    means, runs = [0.9, 0.5, 0.2], []
    for run in (run_compiled, run_interpreted):
        with monkeypatch.context() as patch:
            patch.setitem(THRESHOLDS, "twice", Twice)
            asked = {"policy": policy, "threshold": "twice", "log_inv_delta": 2.0}
            explorer, streams = start("best-arm", family, means, **asked)
            if is_listed:
                assert run(explorer, streams, 3000)
        if not is_listed:
            assert run(explorer, streams, 3000)
        assert (explorer.setup.is_shipped, explorer.stopped, explorer.answer) == (False, True, 0)
        runs.append(bits_of(explorer))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("policy", ["caet", "top-two", "uniform", "ctas"])
def test_it_is_over_when_evidence_exceeds_the_threshold_of_the_users_own(monkeypatch, policy):
    monkeypatch.setitem(THRESHOLDS, "twice", Twice)
    asked = {"policy": policy, "threshold": "twice", "log_inv_delta": 3.0}
    explorer, streams = start("ranking", "gaussian", [2.0, 1.0, 0.0], **asked)
    most = 0.0
    while not explorer.stopped:
        arm = explorer.next_arm()
        explorer.observe(arm, *streams.draw(arm))
        if explorer.explored:
            needed = 2.0 * (3.0 + log(1 + log(explorer.state.round)))
            least = min(explorer.diagnostics.evidence)
            assert explorer.stopped == (least > needed)
            most = max(most, least / needed)
    assert 0.5 < most < 2.0


def test_a_threshold_with_a_known_formula_is_compiled(monkeypatch):
    monkeypatch.setitem(THRESHOLDS, "higher", Higher)
    runs = []
    for run in (run_compiled, run_interpreted):
        explorer, streams = start("best-arm", "gaussian", [1.0, 0.0], threshold="higher", log_inv_delta=2.0)
        assert explorer.setup.is_shipped
        assert run(explorer, streams, 3000)
        runs.append(bits_of(explorer))
        assert explorer.diagnostics.thresholds[0] == pytest.approx(5.0 + log(1 + log(explorer.state.round)))
    assert runs[0] == runs[1]


def test_rounding_is_no_evidence_for_a_threshold_of_the_users_own(monkeypatch):
    monkeypatch.setitem(THRESHOLDS, "twice", Twice)
    counts, low = 10**9, 1e13
    high = low + 3 * np.spacing(low)
    for policy in ("caet", "uniform"):
        explorer, _ = start("best-arm", "gaussian", [1.0, 0.0], policy=policy, threshold="twice", log_inv_delta=2.0)
        memory = (counts + 0.5,) * 2 if policy == "caet" else (0.0,) * 2
        sums, spent = (high * counts, low * counts), (float(counts),) * 2
        explorer.continue_from(State(2 * counts, (counts,) * 2, sums, spent, memory, 2.0 * counts, (0.0,) * 2))
        assert explorer.diagnostics.evidence[0] > 5 * explorer.threshold.value(2 * counts, counts, counts)
        assert not explorer.diagnostics.settled
        assert not explorer.stopped


@pytest.mark.parametrize("policy", SOLVING)
@pytest.mark.parametrize("settings", [{}, {"solve": "lazy"}, {"batch": 5}, {"cost_source": "gaps"}], ids=str)
def test_a_family_of_the_users_own_is_tracked_to_the_best(policy, settings):
    explorer, streams = start("ranking", InverseGaussian(), [1.0, 1.4, 2.0], policy=policy, **settings)
    compile_loop(policy)
    for _ in range(40):
        run_compiled(explorer, streams, 1)
        numbers = explorer.view.aim.numbers
        if numbers[boxes.SOLVED] == explorer.state.round and numbers[boxes.TIED] == 0.0:
            assert is_best(explorer)
    assert explorer.solves > 3
