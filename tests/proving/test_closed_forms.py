"""Closed forms: against the certified solver, at their branch points, under scaling and relabelling."""

import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from caet_opt import (
    BanditModel,
    Bernoulli,
    Comparisons,
    Custom,
    Gaussian,
    InputError,
    Poisson,
    certify,
    characteristic_time,
    proven_time,
)
from caet_opt.bandits.families import FAMILIES
from caet_opt.common.exact import decimal_text
from caet_opt.proving.closed_forms import CLOSED_FORMS, applicable, closed_form
from caet_opt.proving.closed_forms import gaussian_pairs as gauss
from caet_opt.proving.closed_forms.compared import compare
from caet_opt.solving.problem import ask

forms = pytest.mark.parametrize("form", CLOSED_FORMS.values(), ids=CLOSED_FORMS)
seeds = st.integers(0, 2**32 - 1)
ANY_FAMILY = ("two-arms-one-free", "best-arm-costly-best", "best-arm-free-best", "alternating-ranking", "decoupled")


def drawn(form, seed):
    return form.draw(np.random.default_rng(seed))


def names(model, task):
    return [form.name for form in applicable(model, task)]


def values(form, seed):
    """The values of the form's symbols for a drawn instance."""
    model, task = drawn(form, seed)
    return form.match(compare(model, task, exact=False)).values


# against the solver


@forms
@settings(max_examples=60)
@given(seed=seeds)
def test_certified_interval_contains_the_formula(form, seed):
    model, task = drawn(form, seed)
    assert form in applicable(model, task)
    result = characteristic_time(model, task)
    value = Fraction(form.decimal_time(model, task, 30, exact=False))
    assert Fraction(result.lower) <= value <= Fraction(result.upper)
    assert form.characteristic_time(model, task) == pytest.approx(float(value), rel=2.3e-16, abs=0)


@forms
@settings(max_examples=40)
@given(seed=seeds)
def test_effort_is_optimal(form, seed):
    model, task = drawn(form, seed)
    time, effort = form.characteristic_time(model, task), form.effort(model, task)
    assert effort @ np.array(model.costs) == pytest.approx(time, rel=1e-14, abs=0)
    result = characteristic_time(model, task)
    cost = certify(model, result.statements, effort, result.multipliers).value
    assert cost == pytest.approx(time, rel=1e-13, abs=0)
    shares = form.sampling_proportions(model, task)
    assert shares.sum() == pytest.approx(1.0 if time > 0 else 0.0)
    costs = np.array(model.costs)
    if time > 0:
        assert effort * costs / time == pytest.approx(result.cost_proportions, abs=1e-3)
    # pulls of an arm that costs next to nothing beside the others are not determined by a gap of 1e-13
    if costs.max() <= 1e6 * costs[costs > 0].min(initial=np.inf):
        assert shares == pytest.approx(result.sampling_proportions, abs=1e-3)


# laws


@forms
@settings(max_examples=20)
@given(seed=seeds, power=st.integers(-20, 20))
def test_time_is_proportional_to_costs(form, seed, power):
    model, task = drawn(form, seed)
    model = BanditModel(model.family, model.means, model.costs)
    scaled = BanditModel(model.family, model.means, [2.0**power * cost for cost in model.costs])
    if not (form.applies(model, task) and form.applies(scaled, task)):
        assert form.name == "three-arm-ranking-gaps"  # scaled gaps are no gaps
        return
    assert form.characteristic_time(scaled, task) == 2.0**power * form.characteristic_time(model, task)
    assert form.sampling_proportions(scaled, task) == pytest.approx(form.sampling_proportions(model, task), rel=1e-15)


@forms
@settings(max_examples=20)
@given(seed=seeds, order=st.randoms())
def test_arms_may_be_relabelled(form, seed, order):
    model, task = drawn(form, seed)
    arms = len(model.means)
    label = list(range(arms))
    order.shuffle(label)
    place = [label.index(arm) for arm in range(arms)]
    family = model.family
    if isinstance(family, Gaussian):
        family = Gaussian([float(model.dispersions[place[arm]]) for arm in range(arms)])
    moved = BanditModel(family, [model.means[a] for a in place], model.cost_rule or [model.costs[a] for a in place])
    same = relabel(ask(model, task).statements, label)
    assert form.characteristic_time(moved, same) == form.characteristic_time(model, task)
    original, other = form.sampling_proportions(model, task), form.sampling_proportions(moved, same)
    assert [other[label[arm]] for arm in range(arms)] == pytest.approx(original.tolist(), rel=1e-15)


def relabel(statements, label):
    """A task that asserts the same of other numbers; of a ratio and its inverse, one has a finite decimal."""
    moved = [
        statement._replace(
            **{side: label[arm] for side in ("winner", "loser") if (arm := getattr(statement, side)) is not None}
        )
        for statement in statements
    ]
    if all(len(statement.arms) == 2 for statement in moved):
        return Comparisons([one.reverse if "/" in decimal_text(one.ratio) else one for one in moved])
    return Custom([list(map(str, moved))])


@given(seed=seeds)
@settings(max_examples=20)
def test_groups_add_up(seed):
    form = CLOSED_FORMS["decoupled"]
    model, task = drawn(form, seed)
    parts = compare(model, task, exact=False).components()
    assert len(parts) >= 2
    times = []
    for part in parts:
        pairs = [*part.edges, *((arm, anchor.free) for arm, found in part.anchors.items() for anchor in found)]
        times.append(characteristic_time(model, Comparisons(pairs)).value)
    assert form.characteristic_time(model, task) == pytest.approx(sum(times), rel=1e-12)


# branches


def test_three_arm_branches_meet_smoothly():
    (first, condition), (second, _) = gauss.ThreeArmRanking.formula.args
    boundary = gauss.g * sympy.sqrt(1 + sympy.sqrt(gauss.c_3 * gauss.V_3 / (gauss.c_2 * gauss.V_2)))
    numbers = {gauss.c_2: 3, gauss.c_3: 5, gauss.V_2: 2, gauss.V_3: 7, gauss.g: 11}
    at = {gauss.h: boundary.subs(numbers), **numbers}
    assert sympy.simplify((condition.lhs - condition.rhs).subs(at)) == 0
    assert abs(sympy.N((first - second).subs(at), 60)) < 1e-55
    for symbol in (gauss.g, gauss.h, gauss.c_2, gauss.c_3):
        assert abs(sympy.N(sympy.diff(first - second, symbol).subs(at), 60)) < 1e-55


def test_gap_costs_are_a_special_case():
    place = {gauss.c_2: gauss.D_2, gauss.c_3: gauss.D_3, gauss.V_2: gauss.V, gauss.V_3: gauss.V, gauss.g: gauss.D_2}
    place[gauss.h] = gauss.D_3 - gauss.D_2
    for general, special in zip(gauss.ThreeArmRanking.formula.args, gauss.ThreeArmGaps.formula.args, strict=True):
        numbers = {gauss.D_2: sympy.Rational(2, 7), gauss.D_3: sympy.Rational(9, 8), gauss.V: 3}
        assert abs(sympy.N((general[0].subs(place) - special[0]).subs(numbers), 50)) < 1e-45
    boundary = {gauss.D_3: gauss.GOLDEN * gauss.D_2}
    difference = (place[gauss.h] ** 2 * sympy.sqrt(gauss.D_2)) - gauss.D_2**2 * (
        sympy.sqrt(gauss.D_2) + sympy.sqrt(gauss.D_3)
    )
    assert abs(sympy.N(difference.subs(boundary).subs(gauss.D_2, 1), 50)) < 1e-45


def test_enclosed_pair_tends_to_the_path_of_three():
    far = {gauss.g_2: sympy.Integer(10) ** 40}
    for near in (sympy.Rational(1, 3), sympy.Integer(3)):
        numbers = {gauss.c_1: 2, gauss.c_2: 3, gauss.V_1: 1, gauss.V_2: 5, gauss.g_1: near, gauss.h: 2}
        path = {gauss.c_2: 2, gauss.c_3: 3, gauss.V_2: 1, gauss.V_3: 5, gauss.g: near, gauss.h: 2}
        difference = gauss.EnclosedPair.formula.subs({**numbers, **far}) - gauss.ThreeArmRanking.formula.subs(path)
        assert abs(sympy.N(difference, 50)) < 1e-45


def decade(ratio):
    """The power of ten of the distance from one, and the side."""
    return int(np.floor(np.log10(abs(ratio - 1.0)))), bool(ratio > 1.0)


def test_draws_come_close_to_the_boundary_of_gaps_on_both_sides():
    golden = float(gauss.GOLDEN)
    ratios = [float(d_3 / d_2) / golden for d_2, d_3, _ in (values(gauss.ThreeArmGaps(), seed) for seed in range(1500))]
    seen = {decade(ratio) for ratio in ratios if ratio != 1.0}
    assert seen >= {(power, side) for power in range(-10, -1) for side in (True, False)}
    assert min(ratios) < 0.5 < 1e3 < max(ratios)


def test_draws_come_close_to_the_boundary_of_any_costs_and_meet_it():
    exactly, seen = 0, set()
    for seed in range(1500):
        c_2, c_3, v_2, v_3, g, h = values(gauss.ThreeArmRanking(), seed)
        root = np.sqrt(float(c_3 * v_3 / (c_2 * v_2)))
        ratio = float(h / g) / np.sqrt(1.0 + root)
        square = sympy.sqrt(sympy.Rational(c_3 * v_3 / (c_2 * v_2))) if abs(ratio - 1.0) < 1e-15 else sympy.oo
        exactly += square.is_rational is True and (h / g) ** 2 == 1 + Fraction(str(square))
        seen |= {decade(ratio)} if ratio != 1.0 else set()
    assert exactly > 20
    assert seen >= {(power, side) for power in range(-12, -1) for side in (True, False)}


def test_draws_meet_every_branch_of_the_enclosed_pair():
    counts, cases = [0] * 4, sympy.lambdify(gauss.EnclosedPair.symbols, (*gauss.ENCLOSED, sympy.true))
    for seed in range(300):
        counts[cases(*map(float, values(gauss.EnclosedPair(), seed))).index(True)] += 1
    assert min(counts) > 20


@pytest.mark.parametrize("name", ANY_FAMILY)
def test_draws_meet_every_family(name):
    seen = {drawn(CLOSED_FORMS[name], seed)[0].family.name for seed in range(200)}
    assert seen == set(FAMILIES) - {"bounded"}  # which has no closed form


# domains


@pytest.mark.parametrize("task", ["ranking", "best-arm", "comparisons:1-0", "control:0", "control:1", "groups:0,1"])
def test_two_arms_are_one_problem_under_every_task(task):
    model = BanditModel(Gaussian([1, 4]), [0.5, 0.0], [1, 1])
    assert names(model, task) == ["two-gaussian-arms"]
    assert closed_form("two-gaussian-arms").characteristic_time(model, task) == 72.0


@pytest.mark.parametrize(
    ("family", "means", "costs", "task", "expected", "time"),
    [
        ("bernoulli", [0.2, 0.45, 0.7], [1, 2, 0.5], "above:0.5", "one-level", "410.59657735948"),
        ("bernoulli", [0.2, 0.7, 0.9], [1, 2, 3], "cheapest:above:0.5", "one-level", "29.4946017863"),
        ("gaussian", [3, 1], [1, 4], "comparisons:0-1+1", "two-gaussian-arms", "18.000000000"),
        ("gaussian", [3, 1], [1, 4], "comparisons:0-1+5", "two-gaussian-arms", "2.000000000"),
        ("exponential", [3, 1, 4], [1, 0, 2], "control:1*2", "best-arm-free-best", "17.0958876"),
    ],
)
def test_levels_margins_and_ratios_have_closed_forms(family, means, costs, task, expected, time):
    model = BanditModel(family, means, costs)
    assert expected in names(model, task)
    found = closed_form(expected).decimal_time(model, task, 30)
    assert f"{found:.{len(time.partition('.')[2])}f}" == time
    proven = proven_time(model, task, 25)
    assert abs(Fraction(found) / proven.upper - 1) < Fraction(1, 10**24)


@pytest.mark.parametrize(
    ("family", "means", "costs", "task", "expected"),
    [
        (Gaussian(), [3, 4, 2], "gaps", "ranking", ["three-arm-ranking-gaps", "three-arm-ranking"]),
        (Gaussian(2), [3, 4, 2], [1, 0, 2], "ranking", ["three-arm-ranking-gaps", "three-arm-ranking"]),
        (Gaussian([1, 1, 2]), [3, 4, 2], "gaps", "ranking", ["three-arm-ranking"]),
        (Gaussian(), [3, 4, 2], [1, 1, 0], "ranking", ["three-arm-ranking"]),
        (Gaussian(), [3, 4, 2], [0, 1, 1], "best-arm", ["three-arm-ranking"]),
        (Gaussian(), [3, 4, 2], [1, 1, 1], "ranking", []),
        (Bernoulli(), [0.3, 0.4, 0.2], "gaps", "ranking", []),
        (Bernoulli(), [0.3, 0.4], [1, 1], "ranking", []),
        (Gaussian(), [4, 3, 2, 1], [0, 1, 1, 0], "ranking", ["enclosed-pair"]),
        (Gaussian(), [4, 3, 2, 1], [1, 2, 0, 3], "ranking", ["decoupled"]),
        (Gaussian(), [4, 3, 2, 1], [1, 2, 0, 3], "comparisons:0-1,2-3", ["decoupled"]),
        (Poisson(), [4, 3, 2], "gaps", "best-arm", ["best-arm-free-best", "alternating-ranking", "decoupled"]),
        (Poisson(), [4, 3, 2], [1, 0, 0], "best-arm", ["best-arm-costly-best", "alternating-ranking"]),
        (Poisson(), [4, 3, 2], [0, 1, 0], "ranking", ["alternating-ranking"]),
        (Poisson(), [4, 3, 2], [0, 0, 0], "ranking", []),
        (Gaussian(), [4, 3, 2, 2], [0, 0, 1, 1], "ranking", []),
    ],
)
def test_forms_are_found_from_the_needed_pairs(family, means, costs, task, expected):
    assert names(BanditModel(family, means, costs), task) == expected


def test_a_form_outside_its_domain_is_refused():
    model = BanditModel(Gaussian(), [3, 4, 2], [1, 1, 1])
    with pytest.raises(InputError, match="'three-arm-ranking' does not apply"):
        closed_form("three-arm-ranking").characteristic_time(model, "ranking")
    with pytest.raises(InputError, match="did you mean 'three-arm-ranking'"):
        closed_form("three-arm-rankin")


@pytest.mark.parametrize(("means", "costs"), [([1.0, 0.3], [0, 1]), ([0.0, 0.3], [0, 1]), ([1.0, 0.0], [0, 1])])
def test_infinite_divergence_constrains_nothing(means, costs):
    model = BanditModel(Bernoulli(), means, costs)
    form = closed_form("two-arms-one-free")
    assert form.characteristic_time(model, "best-arm") == 0.0 == characteristic_time(model, "best-arm").value
    assert form.sampling_proportions(model, "best-arm").tolist() == [0.0, 0.0]


# digits


def test_digits_of_the_papers_example():
    model = BanditModel(Gaussian(), [3, 4, 2], "gaps")
    with localcontext(prec=60):
        expected = 6 + 4 * Decimal(2).sqrt()
    for form in applicable(model, "ranking"):
        assert abs(form.decimal_time(model, "ranking", 50) - expected) < Decimal("1e-47")
        assert form.sampling_proportions(model, "ranking") == pytest.approx([2 - 2**0.5, 0, 2**0.5 - 1], rel=1e-15)


def test_digits_are_about_the_numbers_as_given():
    form = closed_form("two-arms-one-free")
    model = BanditModel(Gaussian(), [0.3, 0.2999999], [1, 0])
    assert form.decimal_time(model, "ranking") == Decimal("2e14")
    assert form.characteristic_time(model, "ranking") != 2e14
    assert form.characteristic_time(model, "ranking") == pytest.approx(
        characteristic_time(model, "ranking").value, 1e-15
    )


def test_close_means_lose_no_digit():
    model = BanditModel(Bernoulli(), [Fraction(1, 2), Fraction(1, 2) + Fraction(1, 2**40)], [1, 0])
    gap = 2.0**-40
    expected = 1 / (2 * gap**2 * (1 + 2 * gap**2))
    assert closed_form("two-arms-one-free").characteristic_time(model, "ranking") == pytest.approx(expected, rel=1e-15)


def test_the_package_is_reached_without_importing_it():
    code = (
        "import sys, caet_opt; assert 'sympy' not in sys.modules\n"
        "model = caet_opt.BanditModel(caet_opt.Gaussian(), [3, 4, 2], 'gaps')\n"
        "print(caet_opt.closed_forms.applicable(model, 'ranking')[0])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "<closed form three-arm-ranking-gaps>"
