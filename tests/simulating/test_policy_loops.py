"""Every policy: its compiled loop and its Python object go the same way, bit for bit, from the same seed."""

import numpy as np
import pytest
from instances import FAMILIES, ordinary_instance
from two_loops import Case, covered_tasks, difference, differences, draw_case, follow

from caet_opt import POLICIES, BanditModel, Parameters
from caet_opt.exploring import tally
from caet_opt.exploring.policies import top_two
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.simulating import loops
from caet_opt.simulating.streams import BLOCK

SOURCES, LEVELS = ("known", "observed", "gaps"), (1.0, 3.0, 10.0, 30.0)

#: Runs of each policy: every family meets every task, source of costs and threshold in them.
SAMPLE = range(49)

INDEX = [name for name, policy in POLICIES.items() if issubclass(policy, IndexPolicy)]


def covering_case(policy, number):
    """A case whose parts run through all that there is, each at a pace of its own."""
    rng, tasks = np.random.default_rng([17, number]), covered_tasks(policy)
    source = SOURCES[number % 3]
    model, task = ordinary_instance(
        rng,
        FAMILIES[number % 7],
        tasks[(number + number // 7) % len(tasks)],
        arms=(3, 4, 5, 9)[number // 2 % 4],
        free_share=(0.0, 0.5)[number // 3 % 2],
    )
    parameters = Parameters(
        log_inv_delta=LEVELS[(number + number // 7) % 4],
        policy=policy,
        tracking=("c", "d")[number // 2 % 2],
        cost_source=source,
        threshold=list(THRESHOLDS)[number % 5],
        cost_distribution=("constant", "exponential", "uniform")[number // 3 % 3]
        if source == "observed"
        else "constant",
        zero_cost_share=(0.9, 0.3)[number // 5 % 2],
    )
    model = BanditModel(model.family, model.means, "gaps") if source == "gaps" else model
    return Case(number, model, task, parameters, (BLOCK, 8)[number % 2], (1 + 23 * number % 70, 60))


@pytest.mark.parametrize("policy", POLICIES)
def test_the_sample_has_everything(policy):
    cases = [covering_case(policy, number) for number in SAMPLE]
    found = [case.parameters for case in cases]
    assert {type(case.task).name for case in cases} == set(covered_tasks(policy))
    assert {str(case.model.family).split(":")[0] for case in cases} == {name.split(":")[0] for name in FAMILIES}
    assert any("," in str(case.model.family) for case in cases)
    for name, values in (
        ("cost_source", SOURCES),
        ("threshold", THRESHOLDS),
        ("tracking", "cd"),
        ("log_inv_delta", LEVELS),
    ):
        assert {getattr(parameters, name) for parameters in found} == set(values)
    assert {(case.parameters.cost_source, 0.0 in case.model.costs) for case in cases} >= {
        (source, free) for source in SOURCES[:2] for free in (True, False)
    }
    assert {case.block for case in cases} == {8, BLOCK}


@pytest.mark.parametrize("policy", POLICIES)
def test_both_loops_end_in_the_same_state(policy):
    for number in SAMPLE:
        case = covering_case(policy, number)
        assert difference(case) is None, str(case)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_both_loops_end_in_the_same_state_of_many_runs(policy):
    for number in range(len(SAMPLE), 84):
        case = covering_case(policy, number)
        assert difference(case) is None, str(case)
    assert list(differences(range(40), True, [policy])) == []


@pytest.mark.parametrize("policy", INDEX)
def test_the_runs_meet_every_way_out_of_compiled_code(monkeypatch, policy):
    """So that the comparison says something: changes of the answer, used up streams, stops and limits."""
    met, real = set(), loops.compiled_play(POLICIES[policy])

    def play(*arguments):
        reason, done = real(*arguments)
        met.add((reason, done > 0))
        return reason, done

    play.signatures = real.signatures
    monkeypatch.setattr(loops, "compiled_play", lambda policy: play)
    for number in range(50):
        follow(draw_case(number, policy=policy), compiled=True)
        follow(covering_case(policy, number), compiled=True)
    assert {(reason, True) for reason in (tally.STOPPED, tally.REFILL, tally.LIMIT)} <= met
    custom = "custom" in covered_tasks(policy)
    assert ((tally.CHANGED, True) in met) == ((tally.CHANGED, False) in met) == custom


def test_a_difference_is_noticed(monkeypatch):
    drawn = top_two.uniform
    monkeypatch.setattr(top_two, "uniform", lambda *given: 1.0 - drawn(*given))
    assert any(difference(covering_case("top-two", number)) for number in SAMPLE)
