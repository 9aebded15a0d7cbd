"""Which of several right answers is followed, when another is found to be settled, and what is saved of it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caet_opt import POLICIES, BanditModel, Explorer, InputError, parse_task
from caet_opt.bandits.tasks import read_custom
from caet_opt.bandits.tasks.statements import judge
from caet_opt.exploring.following import MOST_LISTED, list_compared
from caet_opt.exploring.saving import from_text
from caet_opt.exploring.settings import Parameters
from caet_opt.kernels import ledger
from caet_opt.kernels.answer_choice import MOST_COMPARED, slack
from caet_opt.kernels.several import CHOICE_GROWTH, LOOK_GROWTH
from caet_opt.simulating.runs import Experiment, run, start_explorer
from caet_opt.simulating.streams import ArmStreams
from cases.runs import TOLERANT, arrays_of, draw_case, start

FOLLOWING = [name for name, policy in POLICIES.items() if policy.covered is None and not policy.needs_truth]

#: Arm 0 leads by little and is dear: telling that arm 1 is good enough costs less.
DEAR = {"outcomes": [(0.501, 0.5, *[0.49] * 8)] * 40, "costs": [10, *[1] * 9]}
CUSTOM = read_custom("custom~0.2", [[(a, b) for b in range(10) if b != a] for a in range(10)])


def explore(task, outcomes, policy="caet", **settings):
    """An explorer that was told so many times the same rewards of each arm."""
    arms = len(outcomes[0])
    explorer = Explorer.start(task, "gaussian", arms=arms, delta=0.05, policy=policy, **settings)
    for rewards in outcomes:
        for arm, reward in enumerate(rewards):
            explorer.observe(arm, reward)
    return explorer


@pytest.mark.parametrize("task", ["best-arm~0.2", CUSTOM, "top-arms:1~0.2"], ids=str)
def test_the_easiest_answer_is_followed(task):
    explorer = explore(task, **DEAR)
    assert explorer.answer in (1, (1,))
    assert explorer.task.answer(explorer.state.means().tolist()) in (0, (0,))
    assert [statement.winner for statement in explorer.diagnostics.statements] == [1] * 9


def test_it_is_kept_while_others_are_easier_by_little():
    explorer = explore("best-arm~0.5", [(0.5, 0.5, 0.5)] * 30)
    followed = explorer.answer
    for _ in range(40):
        explorer.observe((followed + 1) % 3, 0.52)
        explorer.observe(followed, 0.5)
        explorer.observe((followed + 2) % 3, 0.5)
        assert explorer.answer == followed
        if explorer.stopped:
            break
    leader = explorer.task.answer(explorer.state.means().tolist())
    assert leader != followed


def test_it_is_left_where_it_is_no_longer_right():
    explorer = explore("best-arm~0.1", [(0.5, 0.3)] * 5)
    assert explorer.answer == 0
    for _ in range(10):
        explorer.observe(1, 2.0)
    assert explorer.answer == 1


def test_choices_are_made_as_rounds_grow():
    explorer = explore("best-arm~0.1", [(0.5, 0.4, 0.3)] * 200, solve="lazy")
    assert not explorer.stopped
    clock = explorer.view.clock
    assert 0 < clock[ledger.CHOSEN] <= clock[ledger.ROUND] < CHOICE_GROWTH * clock[ledger.CHOSEN] + 4
    assert clock[ledger.ROUND] <= LOOK_GROWTH * clock[ledger.LOOKED] + 1
    plain = explore("best-arm", [(0.5, 0.4, 0.3)] * 5)
    assert plain.view.clock[ledger.CHOSEN] == plain.view.clock[ledger.LOOKED] == 0


def test_others_have_their_turn():
    right = list(range(20))
    seen = set()
    for step in range(1, 12):
        compared = list_compared(right, CHOICE_GROWTH**step * 1.001)
        assert compared[0] == 0
        assert len(compared) == len(set(compared)) == MOST_COMPARED
        seen.update(compared)
    assert seen == set(right)
    assert list_compared(right[:5], 9.0) == right[:5]
    assert slack(1.0) > slack(10.0) > slack(1e9) > 0
    assert MOST_LISTED >= MOST_COMPARED


@pytest.mark.parametrize("policy", FOLLOWING)
@pytest.mark.parametrize("task", ["best-arm~0.4", "comparisons:0-1,1-2~0.4"])
def test_any_answer_may_be_declared(policy, task):
    """Where the one that is followed is made another that is not settled, the next look finds one that is."""
    explorer = explore(task, [(1.0, 0.9, 0.0)] * 2, policy)
    rounds = 0
    while not explorer.stopped:
        explorer.observe(explorer.next_arm(), (1.0, 0.9, 0.0)[explorer.next_arm()])
        rounds += 1
        assert rounds < 5000
    answer = explorer.answer
    means, state = explorer.state.means(), explorer.state
    stated = explorer.task.answer_statements(answer, 3)
    evidence = explorer.setup.evidence(state, stated, means)
    assert (evidence > explorer.setup.needed(state, stated, means, evidence)).all()
    assert explorer.diagnostics.answer == answer
    assert explorer.diagnostics.settled


def test_a_settled_answer_is_found_that_is_not_followed():
    explorer = explore("best-arm~0.4", [(1.0, 0.9, 0.0)] * 3)
    view = explorer.view
    while not explorer.stopped:
        explorer.observe(explorer.next_arm(), (1.0, 0.9, 0.0)[explorer.next_arm()])
    view = explorer.policy.follow(explorer.view, 2)
    assert explorer.policy.followed(view) == 2
    assert explorer.policy.functions["find_settled"](view)
    assert explorer.policy.followed(view) in (0, 1)
    unsettled = explore("best-arm~0.4", [(1.0, 0.9, 0.0)])
    before = unsettled.view.pairs.copy()
    assert not unsettled.policy.functions["find_settled"](unsettled.view)
    assert np.array_equal(unsettled.view.pairs, before)


@given(number=st.integers(0, 10**6), policy=st.sampled_from(FOLLOWING), discrete=st.booleans())
@settings(max_examples=15, deadline=None)
def test_saved_and_resumed_it_goes_on_as_it_would(number, policy, discrete):
    case = draw_case(number, discrete, policy, TOLERANT)
    (one, streams), (two, others) = start(case), start(case)
    for rounds in (*case.stretches, 40):
        run(one, streams, rounds)
        run(two, others, rounds)
        two = type(two).from_saved(from_text(two.to_text()))
    assert one.state == two.state
    assert one.stopped == two.stopped
    assert arrays_of(one.view)["pairs"] == arrays_of(two.view)["pairs"]
    assert one.next_arm() == two.next_arm()
    if one.explored:
        assert one.answer == two.answer


def test_the_answer_is_in_the_file(tmp_path):
    explorer = explore("best-arm~0.2", **DEAR)
    explorer.save(tmp_path / "explorer.json")
    record = json.loads((tmp_path / "explorer.json").read_text())
    assert record["followed"]["pairs"] == [[1, arm] for arm in range(10) if arm != 1]
    assert Explorer.resume(tmp_path / "explorer.json").answer == 1
    assert "followed" not in json.loads(explore("best-arm", [(0.5, 0.4)]).to_text())
    del record["followed"]
    (tmp_path / "explorer.json").write_text(json.dumps(record))
    assert Explorer.resume(tmp_path / "explorer.json").answer in (0, 1)


@pytest.mark.parametrize(
    "followed",
    [
        [],
        {"pairs": [[0, 1]], "chosen": 1.0},
        {"pairs": [[0, 0]], "chosen": 1.0, "looked": 1.0},
        {"pairs": [[0, 9]], "chosen": 1.0, "looked": 1.0},
        {"pairs": [[0, 1]], "chosen": None, "looked": 1.0},
        {"pairs": [[0, 1]], "chosen": -1.0, "looked": 1.0},
        {"pairs": [], "chosen": 1.0, "looked": 1.0},
    ],
)
def test_what_is_no_answer_is_refused(followed):
    record = json.loads(explore("best-arm~0.1", [(0.5, 0.499, 0.49)] * 4).to_text())
    with pytest.raises(InputError):
        Explorer.from_saved(from_text(json.dumps(record | {"followed": followed})))


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("arms", [2, 4])
def test_tied_arms_end(family, arms):
    model = BanditModel(family, [0.5] * arms, costs=[1] * arms)
    tolerance = "0.5" if family == "gaussian" else "0.25"
    experiment = Experiment(model, f"best-arm~{tolerance}", Parameters(delta=0.05, solve="lazy"))
    for seed in range(5):
        explorer = start_explorer(experiment, seed)
        assert run(explorer, ArmStreams(model, np.random.SeedSequence(seed)), 20_000)
        assert experiment.is_right(explorer.answer)


def test_rules_that_drop_arms_are_for_tasks_without_a_tolerance():
    for policy in ("kl-lucb", "chernoff-racing"):
        with pytest.raises(InputError, match=r"not best-arm~0\.1"):
            Explorer.start("best-arm~0.1", "gaussian", arms=3, delta=0.05, policy=policy)


def test_what_is_not_excluded_is_right_up_to_the_tolerance():
    explorer = explore("best-arm~0.5", [(1.0, 0.9, -2.0)] * 20)
    left = explorer.not_excluded.answers
    assert set(left) == {0, 1}
    task = parse_task("best-arm~0.5")
    assert all(judge(one, [1.0, 0.9, -2.0]) > 0 for answer in left for one in task.answer_statements(answer, 3))
