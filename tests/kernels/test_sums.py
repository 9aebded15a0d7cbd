"""Sums of rewards of any size: what rounding leaves of them, the same in every path, and never taken for evidence."""

import json
from dataclasses import asdict
from fractions import Fraction
from math import nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from whole_runs import run_compiled, run_interpreted

from caet_opt import BanditModel, Custom, Explorer, InputError, LiveExperiment, simulate
from caet_opt.exploring.compiling import compiled_shared
from caet_opt.exploring.explorer import Caet
from caet_opt.exploring.state import State
from caet_opt.kernels import ledger
from caet_opt.kernels.compile import compile_functions, find_compiler, is_counted
from caet_opt.kernels.e_values import BLUR, needed_by, needed_evidence, told_apart
from caet_opt.kernels.ledger import add
from caet_opt.kernels.native import compiled_kernel
from caet_opt.kernels.term import EXPONENTIAL, GAUSSIAN
from caet_opt.live.intervals import Intervals
from caet_opt.simulating.streams import ArmStreams

UNIT = Fraction(1, 2**53)

#: Numbers whose sums lose digits.
AWKWARD = st.one_of(st.floats(-1e20, 1e20), st.floats(-1, 1), st.sampled_from([0.1, 333333333333.35, -1e16, 1e16]))


def sum_up(amounts):
    """The sum and its rest."""
    total = rest = 0.0
    for amount in amounts:
        total, rest = add(total, rest, amount)
    return total, rest


@given(st.lists(AWKWARD, max_size=40))
def test_a_sum_is_within_two_units_of_the_sizes(amounts):
    total, rest = sum_up(amounts)
    exact, size = sum(map(Fraction, amounts)), sum(abs(Fraction(amount)) for amount in amounts)
    allowed = (2 * UNIT + 8 * len(amounts) * UNIT**2) * size
    assert abs(Fraction(total) - exact) <= allowed
    assert abs(rest) <= 2.0**-50 * abs(total)  # what `State.check` accepts


@given(st.lists(st.integers(-(2**46), 2**46), max_size=40))
def test_sums_of_whole_numbers_are_exact_and_have_no_rest(amounts):
    assert sum_up(map(float, amounts)) == (sum(amounts), 0.0)


def test_compiled_sums_have_the_same_bits():
    add_up = compile_functions((add, fold), compiled_kernel())["fold"]
    amounts = np.random.default_rng(1).normal(333333333333.35, 1.0, 100_000)
    found = add_up(amounts)
    assert found == fold(amounts) == sum_up(amounts.tolist())
    exact = sum(map(Fraction, amounts.tolist()))
    assert abs(Fraction(found[0]) - exact) <= 3 * UNIT * exact
    assert abs(Fraction(float(np.add.accumulate(amounts)[-1])) - exact) > 1000 * UNIT * exact  # plain ones


def fold(amounts: np.ndarray) -> tuple[float, float]:
    """`sum_up` for numba."""
    total, rest = 0.0, 0.0
    for at in range(amounts.size):
        total, rest = add(total, rest, amounts[at])
    return total, rest


@pytest.mark.parametrize("policy", ["caet", "uniform"])
@pytest.mark.parametrize("family", ["gaussian:2", "exponential"])
def test_three_paths_have_equal_sums(tmp_path, family, policy):
    """The object in memory, compiled code, and a file that is opened again and again."""
    model = BanditModel(family, [1e11 / 3, 1e11 / 7, 1.0], [1, 1, 2])
    settings = {"log_inv_delta": 1e30, "policy": policy, "threshold": "customary", "tracking": "d"}
    runs = []
    for run in (run_interpreted, run_compiled):
        explorer = Explorer.start("best-arm", family, arms=3, costs=model.costs, **settings)
        run(explorer, ArmStreams(model, np.random.SeedSequence(3)), 60)
        runs.append(explorer.state)
    assert runs[0] == runs[1]
    streams, counts = ArmStreams(model, np.random.SeedSequence(3)), list(runs[0].counts)
    file = tmp_path / "sums.caet"
    LiveExperiment.start(file, "best-arm", family, arms=3, costs=model.costs, unproven=True, **settings).close()
    while any(counts):
        with LiveExperiment.open(file) as experiment:
            arm = int(np.argmax(counts))
            (pull,) = experiment.next(arm=arm)
            experiment.record(arm, streams.draw(arm)[0], pull=pull.number)
            counts[arm] -= 1
    with LiveExperiment.open(file) as experiment:
        with experiment._store.reading() as db:
            state = experiment._load(db).state
        assert (state.reward_sums, state.reward_rests) == (runs[0].reward_sums, runs[0].reward_rests)
        assert (state.cost_sums, state.total_cost) == (runs[0].cost_sums, runs[0].total_cost)
        assert experiment.verify() == []
        moment = experiment.history()["moments"][-1]
        assert moment["means"] == state.means().tolist()
    assert any(state.reward_rests)


def test_a_response_that_is_entered_again_absorbs_nothing_twice():
    """Where Python has to find an answer, the outcome stays absorbed: once, with its rest."""
    task = Custom([[(0, 1)], [(1, 0)]])
    explorer = Explorer.start(task, "gaussian", arms=2, costs=[1, 1], delta=1e-9, policy="uniform")
    rewards, asked = np.full((2, 30), 1e10 / 3), []
    rewards[0] += 1e9 / 7 * np.array([1, -2] + [2, -2] * 14)  # so that its mean is above and below in turns
    ask = explorer.policy.ask
    explorer.policy.ask = lambda view: asked.append(view.clock[ledger.ROUND]) or ask(view)
    for pull in range(30):
        for arm in range(2):
            explorer.observe(arm, rewards[arm, pull])
    assert len(asked) >= 29
    sums = [sum_up(row.tolist()) for row in rewards]
    assert (explorer.state.round, explorer.state.counts) == (60, (30, 30))
    assert list(zip(explorer.state.reward_sums, explorer.state.reward_rests, strict=True)) == sums
    assert any(rest != 0 for _, rest in sums)


def test_states_without_rests_are_those_of_plain_sums():
    state = State(2, (1, 1), (0.1, 0.2), (1.0, 1.0), (1.5, 1.5), 2.0, (0.0, 0.0))
    record = json.loads(json.dumps(asdict(state)))
    assert record.pop("reward_rests") == [0.0, 0.0]
    assert State.from_record(record) == state
    with pytest.raises(InputError, match=r"what rounding took from a sum of 0.1 cannot be 1e-10"):
        State.from_record({**record, "reward_rests": [1e-10, 0.0]})


def test_means_that_rounding_cannot_have_moved_far_stay():
    for x, y in ((0.5, 0.25), (1.0, -1.0), (1e6 + 1, 1e6 - 1), (1e200, -1e200), (0.0, 1.0)):
        assert told_apart(GAUSSIAN, x, y) == (x, y)


@given(st.floats(1.0, 1e300), st.integers(0, 40), st.sampled_from([GAUSSIAN, EXPONENTIAL]))
def test_means_that_rounding_may_have_moved_come_nearer_to_each_other(low, steps, family):
    high = low
    for _ in range(steps):
        high = nextafter(high, np.inf)
    winner, loser = told_apart(family, high, low)
    blur = 5 * UNIT * (Fraction(high) + Fraction(low))
    left, moved = max(Fraction(high) - Fraction(low) - blur, 0), Fraction(winner) - Fraction(loser)
    assert 0 <= moved <= left + 4 * UNIT * (left + blur)
    assert moved >= left - (blur if family == EXPONENTIAL else 4 * UNIT * (left + blur))
    assert np.ptp(told_apart(family, low, high)) == pytest.approx(winner - loser)


@pytest.mark.parametrize("threshold", ["e-process", "mixture"])
def test_rounding_is_no_evidence(threshold):
    """Two arms whose means are a few doubles apart, after so many pulls that this would be enough."""
    counts, low = 10**9, 1e13
    high = low
    for _ in range(3):
        high = nextafter(high, np.inf)
    caet = Caet.start("best-arm", "gaussian", arms=2, delta=0.1, costs=[1, 1], threshold=threshold)
    sums, memory = (high * counts, low * counts), (counts + 0.5,) * 2
    caet.continue_from(State(2 * counts, (counts,) * 2, sums, (float(counts),) * 2, memory, 2.0 * counts, (0.0,) * 2))
    found = caet.diagnostics
    assert found.evidence[0] > 5 * caet.threshold.value(2 * counts, counts, counts)
    assert not found.settled
    assert not caet.stopped
    apart = low + 100 * (high - low)
    sums = (apart * counts, sums[1])
    caet.continue_from(State(2 * counts, (counts,) * 2, sums, (float(counts),) * 2, memory, 2e9, (0.0,) * 2))
    assert caet.diagnostics.settled
    assert caet.stopped


@pytest.mark.parametrize("policy", ["caet", "chernoff-racing", "kl-lucb"])
def test_large_means_are_right_as_often_as_small_ones(policy):
    """Plainly summed, most of these runs were wrong: rounds times mean over standard deviation is 1e17."""
    model = BanditModel("gaussian", [1e13 + 0.125, 1e13], costs=[1, 1])
    found = simulate(model, "best-arm", policy=policy, delta=0.05, runs=40, seed=1, solve="lazy", max_rounds=100_000)
    records = found.records
    assert records["stopped"].sum() >= 35
    assert (records["correct"] == False).sum() <= 4  # noqa: E712  # of 40 at delta = 0.05, 2 on average at most


def test_means_that_rewards_cannot_tell_apart_are_refused():
    with pytest.raises(InputError, match="the means of arms 1 and 0 differ by 2, and rounding may move means near 1e"):
        simulate(BanditModel("gaussian", [1e16, 1e16 + 2], costs=[1, 1]), "best-arm", delta=0.1, runs=2)
    caet = Caet.start("best-arm", "gaussian", arms=3, delta=0.1, costs=[1, 1, 1])
    caet.observe(0, 3e16)
    before = caet.state
    with pytest.raises(InputError, match=r"near 3e.16, where doubles are 4 apart, and their standard deviation is 1:"):
        caet.observe(1, 3e16 + 4)
    assert caet.state == before
    caet.observe(1, -3e16)
    caet.observe(2, 0.0)
    caet.observe(2, 9e16)  # no longer its first: its mean is what it is
    wide = Caet.start("best-arm", "gaussian:1e6", arms=2, delta=0.1, costs=[1, 1])
    wide.observe(0, 3e16)
    wide.observe(1, 3e16 + 4)


def test_intervals_count_rounding_where_it_counts():
    caet = Caet.start("best-arm", "gaussian", arms=2, delta=0.1, costs=[1, 1])
    widths = []
    for shift in (0.0, 1e13):
        sums, memory = (1e6 * (shift + 1.0), 1e6 * shift), (1e6 + 0.5,) * 2
        state = State(2 * 10**6, (10**6,) * 2, sums, (1e6,) * 2, memory, 2e6, (0.0,) * 2)
        intervals = Intervals(caet.setup, state, 0.95)
        low, high = intervals.difference(0, 1)
        assert low < 1.0 < high
        assert intervals.mean(0)[0] < shift + 1.0 < intervals.mean(0)[1]
        widths.append(high - low)
    assert 0.9 * 4 * BLUR * 1e13 < widths[1] - widths[0] < 4 * 4 * BLUR * 1e13


@pytest.mark.skipif(find_compiler().__name__.endswith("plain"), reason="by its public functions numba always counts")
def test_no_round_counts_who_holds_an_array():
    """A function that returns anything but numbers does, by locked instructions: a round took three times as long."""
    parts = compiled_shared(False).parts
    for function in (ledger.add, ledger.absorb, told_apart, needed_evidence, needed_by):
        assert not is_counted(parts[function.__name__]), function
