"""Times of levels, margins and ratios: T* against references, closed forms, and a slow solver that shares no code."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from problems import STATED_REFERENCES
from scipy.optimize import linprog, minimize_scalar

from caet_opt import (
    BanditModel,
    InputError,
    Statement,
    TieError,
    certify,
    characteristic_time,
    characteristic_times,
    parse_task,
)
from caet_opt.bandits.tasks import Task
from caet_opt.kernels.native import compiled_kernel, interpreted_kernel
from caet_opt.solving.certificate import column_terms
from caet_opt.solving.problem import pose
from cases.instances import STATED_FAMILIES, bits_of, stated_instance


def decimals(*texts):
    return [Decimal(text) for text in texts]


class Stated(Task):
    """Asserts what it is told, at means of which that is true."""

    name = "stated"

    def __init__(self, *statements):
        self.stated = statements

    def answer(self, means):
        return 0

    def answer_statements(self, answer, arms):
        return self.stated


@pytest.mark.parametrize("problem", STATED_REFERENCES, ids=lambda problem: problem.name)
def test_references(problem):
    model, value = problem.model, problem.characteristic_time
    result = characteristic_time(model, problem.task)
    assert result.value == pytest.approx(value, rel=2e-13)
    assert result.lower <= value * (1 + 2e-13)
    assert value * (1 - 2e-13) <= result.upper
    assert result.gap < 1e-13
    assert certify(model, result.statements, result.effort, result.multipliers)[1:] == (result.lower, result.upper)


def test_an_optimum_on_a_kink_needs_both_points():
    model = BanditModel("exponential", decimals("5", ".03"), decimals("3.455", "1"))
    result = characteristic_time(model, "control:1+1")
    assert len(result.statements) == 1
    assert len(result.multipliers) == 2
    assert np.all(result.multipliers > 0.3)
    assert result.binding_statements == result.statements
    assert result.statement_weights.tolist() == [1.0]
    for column in range(2):
        alone = result.multipliers * (np.arange(2) == column)
        assert certify(model, result.statements, result.effort, alone).lower < 1.74


@pytest.mark.parametrize(
    ("family", "means", "costs", "task"),
    [
        ("exponential", (0.0022070597170353854, 0.019588460164880236, 0.7170743558761039), (3, 1, 2), "control:1+0.25"),
        (
            "geometric",
            (0.27306507031042904, 19.82940589274306),
            (2.5575872386610303, 1.0088841226743053),
            "control:0+10.4",
        ),
    ],
)
def test_one_minimum_at_the_brink_of_two_has_a_peak_of_curvature(family, means, costs, task):
    model = BanditModel(family, means, costs)
    results = [characteristic_time(model, task, solver=solver) for solver in ("native", "ipopt")]
    assert results[0].value == pytest.approx(results[1].value, rel=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "exponential", "gamma:2.5", "geometric"])
def test_levels_add_up(family):
    means, costs, level = [0.2, 0.45, 0.7], [1.0, 2.0, 0.5], 0.5
    model = BanditModel(family, means, costs)
    result = characteristic_time(model, f"above:{level}")
    rates = [float(model.family.divergence(mean, level)) for mean in means]
    assert result.value == pytest.approx(sum(cost / rate for cost, rate in zip(costs, rates, strict=True)), rel=1e-12)
    assert [str(statement) for statement in result.statements] == ["0 < 0.5", "1 < 0.5", "2 > 0.5"]


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "exponential", "gamma:2.5", "geometric"])
def test_a_level_is_a_free_arm(family):
    """Same bits, whether what an arm is held against is a level, a free arm, or a free arm with margin 0."""
    means, costs = decimals("0.3", "0.45", "0.7"), decimals("1", "2", "0.5")
    with_arm = BanditModel(family, [Decimal("0.5"), *means], [0, *costs])
    level = characteristic_time(BanditModel(family, means, costs), "above:0.5")
    for task in ("control:0", "control:0+0"):
        arm = characteristic_time(with_arm, task)
        assert (arm.value, arm.lower, arm.upper) == (level.value, level.lower, level.upper)
        assert arm.effort[1:].tolist() == level.effort.tolist()
        assert arm.multipliers.tolist() == level.multipliers.tolist()
    shifted = BanditModel(family, [Decimal("0.4"), *means], [0, *costs])
    assert characteristic_time(shifted, "control:0+0.1").value == pytest.approx(level.value, rel=1e-13)


def naive_divergence(family, x, y):
    with np.errstate(divide="ignore", invalid="ignore"):
        if family == "gaussian":
            return (x - y) ** 2 / 2
        if family == "poisson":
            return np.where(y > 0, x * np.log(x / y) - x + y, np.inf)
        if family == "bernoulli":
            return x * np.log(x / y) + (1 - x) * np.log((1 - x) / (1 - y))
        if family == "geometric":
            return (1 + x) * np.log((1 + y) / (1 + x)) + x * np.log(x / y)
        return x / y - 1 - np.log(x / y)


class Boundary:
    """The means at which a statement about two costly arms is false, by their share of the range of the winner's."""

    def __init__(self, model, statement):
        low, high, *_ = model.family.mean_space
        self.margin, self.ratio = float(statement.margin), float(statement.ratio)
        self.a, self.b = self.arms = statement.arms
        self.start = max(self.ratio * model.means[self.b] + self.margin, low, self.ratio * low + self.margin)
        self.stop = min(model.means[self.a], high, self.ratio * high + self.margin)
        self.rates = [lambda x, arm=arm: rate(model, arm, x) for arm in self.arms]
        odds = np.exp(np.linspace(-50, 50, 3001))
        self.shares = np.unique(odds / (1 + odds))
        with np.errstate(all="ignore"):
            values = self.both(self.shares)
        self.shares = self.shares[np.isfinite(values[0]) & np.isfinite(values[1])]
        self.values = self.both(self.shares)

    def both(self, share):
        x = self.start + share * (self.stop - self.start)
        return self.rates[0](x), self.rates[1]((x - self.margin) / self.ratio)

    def least_points(self, effort):
        """Rates at each minimum for these efforts."""
        wa, wb = effort[self.a], effort[self.b]
        values = wa * self.values[0] + wb * self.values[1]
        dips = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])) + 1
        for k in {int(np.argmin(values)), *dips[np.argsort(values[dips])][:3].tolist()}:
            share = self.shares[k]
            if 0 < k < len(self.shares) - 1:
                ends = self.shares[k - 1], self.shares[k + 1]
                share = minimize_scalar(lambda s: np.dot((wa, wb), self.both(s)), bounds=ends, method="bounded").x
            yield self.both(share)


def rate(model, arm, y):
    family = model.family.name if model.family.name != "gamma" else "exponential"
    return naive_divergence(family, model.means[arm], y) / model.dispersions[arm]


def slow_time(model, statements):
    """T* by cutting planes: ``min c.w`` subject to ``w_a d(mu_a, x) + w_b d(mu_b, y) >= 1`` for more and more points at
    which a statement is false, until the efforts satisfy all of them. Returns a lower and an upper bound."""
    costs, (low, high, *_) = np.array(model.costs), model.family.mean_space
    boundaries, rows = [], []

    def cut(arms, rates):
        rows.append(np.zeros(len(costs)))
        rows[-1][list(arms)] = rates
        return rows[-1]

    for statement in statements:
        costly = [arm for arm in statement.arms if costs[arm] > 0]
        if len(costly) == 2:
            boundaries.append(Boundary(model, statement))
            for k in (750, 1500, 2250):
                cut(costly, [values[min(k, len(values) - 1)] for values in boundaries[-1].values])
        elif costly:
            free = [arm for arm in statement.arms if arm not in costly]
            mean, (margin, ratio) = model.means[free[0]] if free else 0.0, map(float, statement[2:])
            point = ratio * mean + margin if statement.winner in costly else (mean - margin) / ratio
            if low < point < high:
                cut(costly, [rate(model, costly[0], point)])
    if not rows:
        return 0.0, 0.0
    for _ in range(100):
        scale = np.max(rows, axis=1, keepdims=True)
        effort = linprog(costs, -np.array(rows) / scale, -1 / scale.ravel(), bounds=(0, None), method="highs-ds").x
        found = [
            cut(boundary.arms, rates) @ effort
            for boundary in boundaries
            for rates in list(boundary.least_points(effort))
        ]
        if min(found, default=1.0) > 1 - 1e-10:
            break
    return costs @ effort, costs @ effort / min([1.0, *found])


@pytest.mark.parametrize("family", STATED_FAMILIES)
def test_random_statements_agree_with_cutting_planes(family):
    checked = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, STATED_FAMILIES.index(family)])
        model, task = stated_instance(rng, family, int(rng.integers(2, 4)), spread=1.0)
        try:
            result = characteristic_time(model, task)
        except TieError:
            continue
        low, high = slow_time(model, result.statements)
        assert low * (1 - 1e-8) <= result.value <= high * (1 + 1e-8), (seed, str(task))
        checked += 1
    assert checked >= 6


def test_a_tie_is_named():
    for means in (decimals("0.3", "0.2"), [0.3, 0.2]):
        model = BanditModel("bernoulli", means, [1, 1], arms=["b", "a"])
        with pytest.raises(TieError, match=r"^b equals a \+ 0\.1, which task 'control:1\+0\.1' asks about"):
            characteristic_time(model, "control:a+0.1")
    with pytest.raises(TieError, match=r"^0 equals 0\.5, which"):
        characteristic_time(BanditModel("bernoulli", [0.5, 0.2], [1, 1]), "above:0.5")
    close = BanditModel("gaussian", [Fraction("0.3") + Fraction("1e-40"), Decimal("0.2")], [1, 1])
    with pytest.raises(TieError, match="up to a difference too small for double precision"):
        characteristic_time(close, "control:1+0.1")


def test_a_level_outside_the_mean_space_asks_for_nothing():
    model = BanditModel("bernoulli", decimals("0.95", "0.5", "0.96"), [0, 1, 1])
    result = characteristic_time(model, "control:0+0.1")
    assert result.value == 0.0
    assert result.binding_statements == ()
    at_the_end = characteristic_time(model, "control:0+0.05")  # 1 exactly, which rounding hides
    assert at_the_end.value == 0.0
    mixed = BanditModel("bernoulli", decimals("0.95", "0.5", "0.96", "0.9"), [0, 1, 1, 1])
    task = Stated(Statement(0, 1, Fraction("-0.05")), Statement(2, 3))
    alone = characteristic_time(mixed, "comparisons:2-3")
    assert characteristic_time(mixed, task).value == pytest.approx(alone.value, rel=1e-13)


def test_an_end_of_the_mean_space_that_comes_first():
    """The distance of the loser's point to 1 is 1e-20, and so is the ratio of the efforts."""
    model = BanditModel("bernoulli", decimals(".95", ".96"), [1, 100])
    result = characteristic_time(model, "control:1-0.1")
    assert result.effort[1] / result.effort[0] == pytest.approx(1.5e-19, rel=0.05)
    rate = 0.95 * np.log(0.95 / 0.9) + 0.05 * np.log(0.05 / 0.1)
    assert result.value == pytest.approx(1 / rate, rel=1e-12)
    dearer = characteristic_time(BanditModel("bernoulli", decimals(".95", ".96"), [1, 10**6]), "control:1-0.1")
    assert dearer.value == pytest.approx(1 / rate, rel=1e-12)


@pytest.mark.parametrize(("family", "scaled"), [("exponential", 1.1), ("gamma:2.5", 1.1)])
def test_a_ratio_scales_the_control(family, scaled):
    model = BanditModel(family, decimals("1", "2", "0.5"), decimals("1", "2", "3"))
    other = BanditModel(family, decimals("1.1", "2", "0.5"), decimals("1", "2", "3"))
    result, plain = characteristic_time(model, "control:0*1.1"), characteristic_time(other, "control:0")
    assert result.value == pytest.approx(plain.value, rel=1e-13)
    assert result.effort == pytest.approx(plain.effort, rel=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "exponential", "gamma:2.5", "geometric"])
@pytest.mark.parametrize("task", ["control:1+0.05", "control:1-0.05", "above:0.5", "control:1*1.1"])
@pytest.mark.parametrize("free", [None, 1])
def test_sensitivities_are_derivatives(family, task, free):
    if "*" in task and family not in ("poisson", "exponential", "gamma:2.5"):
        pytest.skip("no ratios")
    means, costs = np.array([0.7, 0.55, 0.3]), np.array([1.0, 2.0, 0.5])
    if free is not None:
        costs[free] = 0.0
    result = characteristic_time(BanditModel(family, means.tolist(), costs.tolist()), task)
    for arm in range(3):
        step = 1e-6 * np.eye(3)[arm]
        up, down = (
            characteristic_time(BanditModel(family, m.tolist(), costs.tolist()), task).value
            for m in (means + step, means - step)
        )
        assert result.mean_sensitivities[arm] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-4)
        if costs[arm] > 0:
            up, down = (
                characteristic_time(BanditModel(family, means.tolist(), c.tolist()), task).value
                for c in (costs + step, costs - step)
            )
            assert result.cost_sensitivities[arm] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-4)


def test_the_sensitivity_to_the_cost_of_a_free_arm_that_does_not_bind():
    model = BanditModel("poisson", [3.0, 1.0, 8.0], [1.0, 1.0, 0.0])
    task = Stated(Statement(0, 1, Fraction("0.5")), Statement(2, 0, Fraction("0.5")))
    result = characteristic_time(model, task)
    dearer = characteristic_time(BanditModel("poisson", [3.0, 1.0, 8.0], [1.0, 1.0, 1e-5]), task)
    assert result.cost_sensitivities[2] == pytest.approx((dearer.value - result.value) / 1e-5, rel=1e-3)


def test_gaps_are_no_known_costs():
    with pytest.raises(InputError, match="needs costs that are known"):
        characteristic_time(BanditModel("gaussian", [1, 2, 3], "gaps"), "cheapest:above:1.5")
    with pytest.raises(InputError, match="needs costs that are known"):
        characteristic_times("gaussian", [[1, 2, 3]], "gaps", "cheapest:above:1.5")
    model = BanditModel("bernoulli", decimals(".5", ".7", ".8"), [1, 2, 3])
    result = characteristic_time(model, "cheapest:above:0.6")
    assert [str(statement) for statement in result.statements] == ["0 < 0.6", "1 > 0.6"]
    assert result.effort[2] == 0


@pytest.mark.parametrize("task", ["control:1+0.1", "control:1-0.05", "above:0.5", "cheapest:above:0.4"])
@pytest.mark.parametrize("costs", [[1, 2, 0.5], [[1, 2, 0.5]] * 9 + [[2, 1, 0]]])
def test_many_at_once_are_the_same_bits(task, costs):
    means = np.random.default_rng(5).uniform(0.1, 0.9, (10, 3)).round(3)
    means[3] = [0.5, 0.4, 0.5]
    many = characteristic_times("exponential", means, costs, task)
    for row, paid in enumerate(np.broadcast_to(costs, (10, 3)).tolist()):
        model = BanditModel("exponential", means[row].tolist(), paid)
        if row in many.reasons:
            with pytest.raises(TieError, match=f"^{re.escape(many.reasons[row])}$"):
                characteristic_time(model, task)
        else:
            found = characteristic_time(model, task)
            assert (many.value[row], many.lower[row], many.upper[row]) == (found.value, found.lower, found.upper)
    assert len(many.reasons) == (task != "control:1-0.05" and task != "cheapest:above:0.4")


def test_several_statements_about_two_arms():
    """The larger margin is the harder one; both may stand in one answer."""
    model = BanditModel("bernoulli", [0.7, 0.4, 0.5], [1, 2, 1])
    both = Stated(Statement(0, 1, Fraction("0.1")), Statement(0, 1, Fraction("0.2")), Statement(2, 1))
    harder = Stated(Statement(0, 1, Fraction("0.2")), Statement(2, 1))
    result = characteristic_time(model, both)
    assert result.value == pytest.approx(characteristic_time(model, harder).value, rel=1e-12)
    assert Statement(0, 1, Fraction("0.1")) not in result.binding_statements


def test_a_warm_start_is_certified_at_once():
    model = BanditModel("exponential", [2.0, 1.2, 0.7], [1.0, 1.0, 3.0])
    cold = characteristic_time(model, "control:1+0.1")
    warm = characteristic_time(model, "control:1+0.1", warm_start=cold)
    assert warm.iterations == 0
    assert warm.value == pytest.approx(cold.value, rel=1e-13)


def test_terms_and_the_posed_problem_agree():
    rng = np.random.default_rng(3)
    for family in STATED_FAMILIES:
        model, task = stated_instance(rng, family, 4, spread=1.0)
        result = characteristic_time(model, task)
        problem = pose(model, task)
        if problem.statements:
            terms = column_terms(model, result.columns, result.effort)
            own = problem.terms(result.effort[problem.labels] / problem.dispersions)
            assert own == pytest.approx(terms[problem.columns], rel=1e-10)


def test_interpreted_and_compiled_code_end_in_the_same_bits():
    for seed in range(40):
        rng = np.random.default_rng([seed, 7])
        model, task = stated_instance(rng, STATED_FAMILIES[seed % len(STATED_FAMILIES)], 3, spread=2.0)
        kernels = interpreted_kernel(type(model.family)), compiled_kernel()
        interpreted, compiled = (bits_of(kernel, model, task) for kernel in kernels)
        assert interpreted == compiled


def test_records_are_as_people_write():
    model = BanditModel("bernoulli", decimals(".7", ".5"), [1, 2], arms=["new", "old"])
    record = characteristic_time(model, "control:old+0.02").to_record()
    assert record["statements"] == record["binding_statements"] == ["new > old + 0.02"]
    assert record["statement_weights"] == [1.0]
    assert str(parse_task("control:1+0.02")) == "control:1+0.02"
