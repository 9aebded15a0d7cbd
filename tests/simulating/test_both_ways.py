"""A run by compiled code and one without any end in the same bits; analysis/both_ways.py compares any number."""

import itertools

import numpy as np
import pytest

from caet_opt import POLICIES, BanditModel
from caet_opt.exploring import compiling
from caet_opt.exploring.policies import base
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.kernels import aiming, ledger
from caet_opt.simulating.runs import run, run_in_batches
from caet_opt.simulating.streams import BLOCK
from caet_opt.solving.profiles import Profile
from cases.instances import FAMILIES, hostile_instance, ordinary_instance
from cases.runs import Case, arrays_of, covered_tasks, difference, differences, draw_case, follow, go_through, start

SOURCES, LEVELS = ("known", "observed", "gaps"), (1.0, 3.0, 10.0, 30.0)
SOLVES, BATCHES = ("exact", "lazy", "lazy:0.05"), (1, 1, 7, "growing")

#: Runs of each policy: every family meets every task, source of costs and threshold in them.
SAMPLE = range(49)

INDEX = [name for name, policy in POLICIES.items() if issubclass(policy, IndexPolicy)]
SOLVING = [name for name in POLICIES if name not in INDEX]


def covering_case(policy, number, **more):
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
    settings = {
        "log_inv_delta": LEVELS[(number + number // 7) % 4],
        "policy": policy,
        "tracking": ("c", "d")[number // 2 % 2],
        "cost_source": source,
        "threshold": list(THRESHOLDS)[number % 5],
        "cost_distribution": ("constant", "exponential", "uniform")[number // 3 % 3]
        if source == "observed"
        else "constant",
        "zero_cost_share": (0.9, 0.3)[number // 5 % 2],
        "solve": SOLVES[number // 7 % 3],
        "batch": BATCHES[number // 3 % 4],
    }
    model = BanditModel(model.family, model.means, "gaps") if source == "gaps" else model
    stretches = 1 + 23 * number % 70, 60
    return Case(number, model, task, Parameters(**settings | more), (BLOCK, 8)[number % 2], stretches)


def hostile_case(policy, number):
    """Near and extreme means, costs over twelve orders of magnitude, up to 20 arms."""
    rng = np.random.default_rng([23, number])
    model, task = hostile_instance(rng)
    while len(model.means) > 20 or not POLICIES[policy].covers(task):
        model, task = hostile_instance(rng)
    parameters = Parameters(
        log_inv_delta=LEVELS[number % 4],
        policy=policy,
        threshold=list(THRESHOLDS)[number % 5],
        solve=SOLVES[number % 3],
        batch=BATCHES[number // 2 % 4],
    )
    return Case(number, model, task, parameters, BLOCK, (len(model.means) + 7, 20))


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
        ("solve", SOLVES),
        ("batch", BATCHES),
    ):
        assert {getattr(parameters, name) for parameters in found} == set(values)
    assert {(case.parameters.cost_source, 0.0 in case.model.costs) for case in cases} >= {
        (source, free) for source in SOURCES[:2] for free in (True, False)
    }
    assert {(parameters.solve, parameters.batch) for parameters in found} == {
        (solve, batch) for solve in SOLVES for batch in BATCHES
    }
    assert {case.block for case in cases} == {8, BLOCK}


@pytest.mark.parametrize("policy", POLICIES)
def test_both_ways_end_in_the_same_bits(policy):
    for number in SAMPLE:
        case = covering_case(policy, number)
        assert difference(case) is None, str(case)


@pytest.mark.parametrize("policy", POLICIES)
def test_so_they_do_on_hostile_models(policy):
    for number in range(6):
        case = hostile_case(policy, number)
        assert difference(case) is None, str(case)


@pytest.mark.parametrize("discrete", [False, True], ids=["any", "discrete"])
@pytest.mark.parametrize("runs", [30, pytest.param(250, marks=pytest.mark.slow)])
def test_so_they_do_where_means_tie(runs, discrete):
    assert list(differences(range(runs), discrete)) == []


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_both_ways_end_in_the_same_bits_of_many_runs(policy):
    for number in range(len(SAMPLE), 84):
        case = covering_case(policy, number)
        assert difference(case) is None, str(case)
    assert list(differences(range(40), True, [policy])) == []


@pytest.mark.parametrize("policy", POLICIES)
def test_stretches_of_any_length_and_either_way_make_the_same_run(policy):
    for number in range(0, 12, 2):
        case = covering_case(policy, number, batch=1 if policy in INDEX else BATCHES[number // 2 % 4])
        rounds = sum(case.stretches)
        whole = follow(case._replace(stretches=(rounds,)), compiled=True)
        single = case._replace(stretches=(1,) * rounds)
        assert go_through(single, itertools.cycle([True, False, False])) == whole, str(case)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_goes_as_an_experiment_that_is_asked_and_told(policy):
    """`next_arms` and `observe`, batch by batch, as people do it."""
    for number in range(1, 15):
        case = covering_case(policy, number, batch=1 if policy in INDEX else BATCHES[number % 4])
        played, asked = start(case), start(case)
        rounds = sum(case.stretches)
        assert run(*played, rounds) == run_in_batches(*asked, rounds), str(case)
        assert played[0].state == asked[0].state, str(case)
        if policy in SOLVING:
            assert arrays_of(played[0].view) == arrays_of(asked[0].view), str(case)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_runs_meet_every_way_out_of_compiled_code(monkeypatch, policy):
    """So that the comparison says something: stops, limits, used up streams, and all that Python has to supply."""
    kind, met = POLICIES[policy], set()
    real = compiling.compiled_play(kind)

    def play(*arguments):
        reason, done = real(*arguments)
        met.add(reason)
        return reason, done

    play.overloads = real.overloads
    monkeypatch.setitem(compiling._loaded, (kind, False), play)
    for number in range(50):
        follow(draw_case(number, policy=policy), compiled=True)
        follow(covering_case(policy, number, batch=1), compiled=True)
    expected = {ledger.STOPPED, ledger.REFILL, ledger.LIMIT}
    if "custom" in covered_tasks(policy):
        expected |= {ledger.NEED_ANSWER}
    if policy in SOLVING and not kind.needs_truth:
        expected |= {ledger.NEED_LAYOUT}
        if not kind.blind:  # which knows no free arms, and so none at the boundary
            expected |= {ledger.NEED_SOLUTION}
    if policy == "thompson-top-two":
        expected |= {ledger.NEED_CHOICE}
    assert met == expected
    assert len(real.signatures) == 1  # whatever is played: nobody waits for a compiler a second time


def share_out(pairs, costs, effort, alpha, target):
    """The rule with an ulp more for the first arm."""
    aiming.share_out(pairs, costs, effort, alpha, target)
    target[0] *= 1.0 + 2.0**-52


@pytest.fixture
def other_rule(monkeypatch):
    """Interpreted code has a rule of its own."""
    shared = tuple(share_out if rule is aiming.share_out else rule for rule in compiling.SHARED)
    monkeypatch.setattr(compiling, "SHARED", shared)
    base.interpret_play.cache_clear()
    yield
    base.interpret_play.cache_clear()


@pytest.mark.usefixtures("other_rule")
def test_a_difference_of_an_ulp_is_noticed():
    found = [difference(draw_case(number)) for number in range(20)]
    assert any(found)
    assert any(told is not None and told.startswith(("state State(", "the bits of arms")) for told in found)


@pytest.mark.parametrize("batch", BATCHES[1:])
@pytest.mark.parametrize("policy", SOLVING)
def test_a_solve_that_fails_does_so_both_ways(policy, batch):
    """In the same round and with the same words; some of those that fail from the last solution succeed from none."""
    failures = set()
    for number in range(8):
        solver = Profile("native", max_iterations=2 + number % 4)
        case = covering_case(policy, number, batch=batch, solver=solver)
        assert difference(case) is None, str(case)
        failures.add(follow(case, compiled=True).failure.partition(": ")[0])
    if not POLICIES[policy].needs_truth:
        assert len(failures) > 1
        assert all(words.startswith("round ") for words in failures - {""})
