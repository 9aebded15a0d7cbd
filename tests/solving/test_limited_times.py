"""T* under limits: references, the certificate, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caet_opt import BanditModel, InputError, SolverError, certify, characteristic_time, characteristic_times
from caet_opt.bandits.limits import read_limits
from caet_opt.solving.backends import BACKENDS, installed_backends
from caet_opt.solving.compare import compare_solvers
from caet_opt.solving.feasible import largest_least
from caet_opt.solving.limits import build_rows
from caet_opt.solving.problem import ask, read_task
from caet_opt.solving.programs.cache import program_counts
from caet_opt.solving.programs.text import show_program
from caet_opt.solving.rows import Row, dot, meet_rows

SOLVERS = [name for name in installed_backends() if BACKENDS[name].takes_limits]

BERNOULLI = BanditModel("bernoulli", [0.5, 0.45, 0.43, 0.4])
COSTLY = BanditModel("gaussian", [1.5, 1, 0.5], costs=[1, 0.1, 0.01])

REFERENCES = [
    (BERNOULLI, "pulls:leader=0.5", 1019.37157323),
    (BERNOULLI, "pulls:1<=0.3", 1042.73091858),
    (COSTLY, "cost:0<=0.5", 17.6047181224),
]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("model", "limit", "expected"), REFERENCES)
def test_references_are_met(model, limit, expected, solver):
    result = characteristic_time(model, "best-arm", limits=[limit], solver=solver)
    assert result.gap <= 1e-12
    assert result.value == pytest.approx(expected, rel=5e-12)
    assert result.solver == solver
    (price,) = result.limits
    assert price.share == pytest.approx(float(price.limit.share), abs=1e-12)


def test_the_default_solver_is_one_that_takes_limits_and_native_says_which_do():
    assert characteristic_time(COSTLY, "best-arm", limits="cost:0<=0.5").solver == "clarabel"
    assert characteristic_time(COSTLY, "best-arm").solver == "native"
    with pytest.raises(InputError, match="solver 'native' takes no limits; leave it out, or name one of clarabel"):
        characteristic_time(COSTLY, "best-arm", limits="cost:0<=0.5", solver="native")
    with pytest.raises(InputError, match="characteristic_times takes no limits"):
        characteristic_times("gaussian", [[1, 0]], [1, 1], "best-arm", limits=["cost:0<=0.5"])


def test_a_limit_that_does_not_bind_changes_nothing():
    free, limited = (characteristic_time(COSTLY, "best-arm", limits=text) for text in ((), "pulls:0<=0.9"))
    assert limited.value == pytest.approx(free.value, rel=1e-12)
    assert limited.limits[0].price == 0
    assert "does not bind" in str(limited)
    assert "limits" in limited.to_record()
    assert "limits" not in free.to_record()


@pytest.mark.parametrize(
    ("model", "text"), [(BERNOULLI, "pulls:1<=0.3"), (COSTLY, "cost:0<=0.5"), (BERNOULLI, "pulls:3>=0.2")]
)
def test_a_price_is_the_derivative_of_the_time(model, text):
    (limit,) = read_limits(text)
    step = Fraction(1, 10**5)
    times = [
        characteristic_time(model, "best-arm", limits=limit.with_share(limit.share + sign * step)).value
        for sign in (1, -1)
    ]
    (found,) = characteristic_time(model, "best-arm", limits=limit).limits
    assert found.price == pytest.approx((times[0] - times[1]) / float(2 * step), rel=1e-5)
    assert (found.price < 0) == (limit.relation == "<=")


def test_variances_are_costs():
    """A Gaussian arm of variance v is one of unit variance that costs v times as much, with v times as many pulls."""
    limit = "cost:0<=0.3"
    one = characteristic_time(BanditModel("gaussian:4,1,0.25", [1, 0, 0.5], costs=[1, 2, 3]), "ranking", limits=limit)
    other = characteristic_time(BanditModel("gaussian", [1, 0, 0.5], costs=[4, 2, 0.75]), "ranking", limits=limit)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    pulls = characteristic_time(BanditModel("gaussian:4,1", [1, 0], costs=[1, 1]), "best-arm", limits="pulls:0=0.5")
    assert pulls.value == pytest.approx(2 * 2 * (4 + 1))  # w / (4 + 1) = 2 / gap^2 for w pulls of each


def test_arms_without_a_statement_are_paid_for_where_limits_ask_for_them():
    model = BanditModel("gaussian", [1, 0, 3], costs=[1, 1, 1])
    for solver in SOLVERS:
        forced = characteristic_time(model, "comparisons:0-1", limits="pulls:2>=0.1", solver=solver)
        assert forced.value == pytest.approx(8 / 0.9, rel=1e-12)
        wasted = characteristic_time(model, "comparisons:0-1", limits=["cost:0<=0.1", "cost:1<=0.1"], solver=solver)
        assert wasted.cost_proportions == pytest.approx([0.1, 0.1, 0.8])


def test_where_nothing_is_to_be_paid_limits_ask_for_nothing():
    model = BanditModel("gaussian", [1, 0, 3], costs=[0, 0, 1])
    for solver in SOLVERS:
        found = characteristic_time(model, "comparisons:0-1", limits="cost:2<=0.5", solver=solver)
        assert (found.value, found.upper) == (0, 0)
        assert found.limits[0].price == 0


def test_gaps_are_costs_and_the_free_arm_has_no_share_of_the_pulls():
    model = BanditModel("gaussian", [1.5, 1, 0.5], costs="gaps")
    found = characteristic_time(model, "best-arm", limits="pulls:1<=0.3")
    assert found.value == pytest.approx(68 / 3, rel=1e-12)  # w_1 = 8, w_2 = 8 * 7 / 3 where 2 would do
    with pytest.raises(InputError, match="arm 0 is free"):
        characteristic_time(model, "best-arm", limits="pulls:leader<=0.3")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(REFERENCES), st.floats(-6, 0))
def test_bounds_bracket_the_truth_whatever_the_point_and_the_prices(seed, reference, size):
    model, text, _ = reference
    rng, truth = np.random.default_rng(seed), TRUTHS[text]
    rows = ask(model, read_task("best-arm"), read_limits(text)).rows
    spread = 10.0**size
    effort = truth.effort * np.exp(spread * rng.standard_normal(truth.effort.size))
    weights = truth.multipliers * np.exp(spread * rng.standard_normal(truth.multipliers.size))
    prices = [truth.limits[0].multiplier + spread * rng.standard_normal()]
    found = certify(model, truth.statements, effort, weights, rows, prices)
    assert found.lower <= truth.upper
    assert found.upper >= truth.lower
    assert certify(model, truth.statements, effort, weights, rows, [np.nan]).lower == 0


TRUTHS = {text: characteristic_time(model, "best-arm", limits=text) for model, text, _ in REFERENCES}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_an_effort_that_is_changed_to_meet_rows_meets_them_exactly(seed):
    rng = np.random.default_rng(seed)
    costs = tuple(Fraction(int(x), 7) for x in rng.integers(1, 50, 5))
    shares = rng.dirichlet(np.ones(5))
    limits = read_limits([f"cost:0={shares[0]:.3f}", f"pulls:1,2<={min(shares[1] + shares[2], 0.99):.3f}"])
    rows = build_rows(limits, costs, None)
    found = meet_rows(rows, rng.exponential(size=5))
    if found is not None:
        assert dot(rows[0].coefficients, found) == 0
        assert dot(rows[1].coefficients, found) <= 0
        assert min(found) >= 0
    assert meet_rows(rows, np.array([np.nan] * 5)) is None


def test_a_wrong_certificate_is_none():
    truth, rows = TRUTHS["pulls:1<=0.3"], ask(BERNOULLI, read_task("best-arm"), read_limits("pulls:1<=0.3")).rows
    without = characteristic_time(BERNOULLI, "best-arm")
    cheaper = certify(BERNOULLI, without.statements, without.effort, without.multipliers, rows, [0.0])
    assert cheaper.upper > truth.lower > without.upper  # the better effort is made to meet the limit first
    negative = certify(BERNOULLI, truth.statements, truth.effort, truth.multipliers, rows, [-10.0])
    assert negative.lower <= without.upper  # a negative price of an inequality proves what none does
    too_high = certify(BERNOULLI, truth.statements, truth.effort, truth.multipliers, rows, [1e9])
    assert too_high.lower <= truth.lower
    with pytest.raises(ValueError, match="1 prices are needed"):
        certify(BERNOULLI, truth.statements, truth.effort, truth.multipliers, rows)
    free = BanditModel("gaussian", [1, 0], costs=[0, 1])
    with pytest.raises(InputError, match="which costs nothing"):
        certify(free, [(0, 1)], [0, 1], [1], [Row((Fraction(1), Fraction(0)))], [1.0])


@pytest.mark.parametrize(
    ("task", "limits", "message"),
    [
        ("best-arm", ["cost:0<=0.3", "pulls:1<=0.9", "cost:0>=0.4"], "met together: 'cost:0<=0.3' and 'cost:0>=0.4'"),
        ("best-arm", ["cost:0<=0.3", "cost:0>=0.30000000001"], "met together: 'cost:0<=0.3' and"),
        ("best-arm", ["cost:0,1,2<=0.9"], "limits cannot be met: 'cost:0,1,2<=0.9'"),
        (
            "best-arm",
            ["pulls:2<=0.5", "cost:1<=0"],
            "leave nothing for arm 1, which the task needs, so T* is infinite: 'cost:1<=0'",
        ),
        ("best-arm", ["cost:0>=1"], "leave nothing for arm 1"),
        ("ranking", ["pulls:leader=0.5"], "task 'ranking' has no leader"),
        ("ranking", ["pulls:3<=0.5"], "names arm 3, but the model has arms 0 to 2"),
    ],
)
def test_limits_that_cannot_be_are_named(task, limits, message):
    for solver in SOLVERS[:2]:
        with pytest.raises(InputError) as refusal:
            characteristic_time(COSTLY, task, limits=limits, solver=solver)
        assert message in str(refusal.value)


def test_limits_that_leave_one_point_are_met():
    found = characteristic_time(COSTLY, "best-arm", limits=["cost:0<=0.3", "cost:0>=0.3", "pulls:1,2<=0.999"])
    again = characteristic_time(COSTLY, "best-arm", limits=["cost:0=0.3"])
    assert found.value == pytest.approx(again.value, rel=1e-11)
    first, second, _ = found.limits
    assert first.price + second.price == pytest.approx(again.limits[0].price, rel=1e-6)
    assert 0.0 in (first.price, second.price)


def test_an_answer_that_is_not_certified_is_refused_with_its_gap():
    with pytest.raises(SolverError) as refusal:
        characteristic_time(COSTLY, "best-arm", limits="pulls:0=0.999999999999999")
    assert 0 < refusal.value.gap <= 1
    assert "native" not in str(refusal.value)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_exact_feasibility_agrees_with_another_code(seed):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    costs = tuple(Fraction(int(x), 3) for x in rng.integers(1, 9, 4))
    texts = [
        f"{rng.choice(['cost', 'pulls'])}:{rng.integers(4)}{rng.choice(['<=', '>=', '='])}{rng.integers(0, 11) / 10}"
        for _ in range(int(rng.integers(1, 5)))
    ]
    rows, needed = build_rows(read_limits(texts), costs, None), (0, 2)
    found = largest_least(rows, costs, needed)
    lines = np.array([[float(part / cost) for part, cost in zip(row.coefficients, costs, strict=True)] for row in rows])
    lines, equal = np.column_stack([lines, np.zeros(len(rows))]), np.array([row.equal for row in rows])
    least = np.array([[-1.0, 0, 0, 0, 1], [0, 0, -1, 0, 1]])
    other = linprog(
        [0, 0, 0, 0, -1],
        A_ub=np.vstack([lines[~equal], least]),
        b_ub=np.zeros(np.count_nonzero(~equal) + 2),
        A_eq=np.vstack([lines[equal], [1, 1, 1, 1, 0]]),
        b_eq=np.append(np.zeros(np.count_nonzero(equal)), 1),
    )
    assert (found is None) == (other.x is None)
    if found is not None:
        assert float(found) == pytest.approx(other.x[-1], abs=1e-8)


def test_programs_are_built_once_for_all_shares():
    for solver in SOLVERS:
        characteristic_time(COSTLY, "best-arm", limits=["cost:1<=0.4", "pulls:2=0.5"], solver=solver)
        builds = program_counts(solver).builds
        characteristic_time(COSTLY, "best-arm", limits=["pulls:0<=0.3", "cost:0=0.6"], solver=solver)
        assert program_counts(solver).builds == builds


def test_costs_are_felt_through_limits_on_money():
    """dT*/dc by differences, where the limit is about shares of the money."""
    limits, step = ["cost:0<=0.5"], 1e-6
    found = characteristic_time(COSTLY, "best-arm", limits=limits)
    for arm in range(3):
        times = []
        for sign in (1, -1):
            costs = list(COSTLY.costs)
            costs[arm] *= 1 + sign * step
            times.append(characteristic_time(COSTLY.with_numbers(costs=costs), "best-arm", limits=limits).value)
        slope = (times[0] - times[1]) / (2 * step * COSTLY.costs[arm])
        assert found.cost_sensitivities[arm] == pytest.approx(slope, rel=1e-5)


def test_solvers_are_compared_and_the_program_shown_with_limits():
    found = compare_solvers(COSTLY, "best-arm", repeat=0, limits="cost:0<=0.5")
    assert found.agree
    assert "native" not in [one.solver for one in found.measurements]
    shown = show_program(COSTLY, read_task("best-arm"), read_limits("cost:0<=0.5"))
    assert "0.5 w_0 - 0.05 w_1 - 0.005 w_2 <= 0    (cost:0<=0.5)" in shown
