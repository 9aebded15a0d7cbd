"""What is known of a task: answers that doubles tell, those that they leave open, and levels at an end of the means."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from caet_opt import BanditModel, Caet, TieError, characteristic_time, parse_task, proven_time
from caet_opt.bandits.tasks import Task
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.errors import SolverError
from caet_opt.kernels.native import compiled_kernel, interpreted_kernel
from caet_opt.solving import problem
from caet_opt.solving.asked import recall
from caet_opt.solving.backends import native
from caet_opt.solving.certificate import NOTHING_TO_PAY, certify
from cases.instances import adversarial_stated_instance, bits_of

STATED = ["above:0.45", "control:0+0.02", "control:1-0.1", "comparisons:0-1+0.02,2-3-0.3", "cheapest:above:0.45"]


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("text", [*STATED, "control:0*1.1", "cheapest:control:2-0.1"])
def test_signs_of_doubles_tell_the_answer_of_exact_means(text, lower):
    """Whatever the means, and whether the answer was asked for before or not."""
    family = "exponential" if "*" in text else "bernoulli"
    task, rng = parse_task(text, lower_is_better=lower), np.random.default_rng(3)
    for _ in range(60):
        costs = np.insert(rng.permutation(3) + 1.0, 2, 9.0)
        model = BanditModel(family, rng.uniform(0.05, 0.95, 4).round(3).tolist(), costs)
        question = problem.ask(model, task)
        assert question.is_clear
        assert question.statements == question.task.statements(model.exact_means)
        again = problem.ask(model, task)
        assert (again.columns, again.task) == (question.columns, question.task)


def test_a_clear_answer_needs_no_exact_means(monkeypatch):
    """The call in a hurry looks at doubles alone, and for no tie."""
    model = BanditModel("bernoulli", [0.2, 0.45, 0.7], [1, 2, 0.5])
    monkeypatch.setattr(native, "check_no_ties", None)
    assert characteristic_time(model, "control:0+0.02").value > 0
    assert "exact_means" not in vars(model)


@pytest.mark.parametrize("means", [[0.7, 0.2], [Decimal("0.7"), Decimal("0.2")], [0.3, 0.8]])
def test_what_doubles_leave_open_is_decided_exactly(means):
    """0.7 is 0.2 + 0.5, though the doubles differ."""
    with pytest.raises(TieError, match=r"equals . \+ 0\.5, which task 'comparisons:0-1\+0\.5'|equals . \+ 0\.5"):
        characteristic_time(BanditModel("gaussian", means), f"comparisons:0-1{'+' if means[0] > means[1] else '-'}0.5")


def test_an_order_of_costs_is_that_of_the_numbers_given():
    """0.1 is a tenth, and the decimal of that double is a little more, though Python holds the two for equal."""
    task = parse_task("cheapest:above:0.45")
    for first, order in ((0.1, (0, 1)), (Decimal.from_float(0.1), (1, 0))):
        model = BanditModel("bernoulli", [0.6, 0.7], [first, Decimal("0.1")])
        assert problem.ask(model, task).task.order == order


def test_a_task_of_ones_own_is_asked_each_time():
    class Moody(Task):
        name, level = "moody", Fraction(1, 2)

        def answer(self, means):
            return max(means)

        def answer_statements(self, answer, arms):
            return (Statement(0, None, self.level),)

    task, model = Moody(), BanditModel("bernoulli", [0.7, 0.2])
    before = characteristic_time(model, task).value
    task.level = Fraction(6, 10)
    assert characteristic_time(model, task).value > before
    assert not recall(task).columns


#: Instances at which the native solver stalled: an arm at an end of the mean space, of which the optimum needs little.
STALLED = [
    ("bernoulli", [0.0, 0.6666666666666666], [0.0242, 54.3985], "control:0+0.3"),
    ("bernoulli", [0.0, 0.32, 0.0], [0.0947, 6.1872, 0.0903], "control:0+0.3"),
    ("bernoulli", [0.0, 0.0, 1.0, 0.0, 1.0], [0.193, 0.012, 42.5893, 0.0, 85.5754], "control:1+0.5"),
    ("bernoulli", [0.36, 0.0, 0.0], [74.6178, 0.0103, 0.0], "control:0-0.2"),
    ("bernoulli", [0.0, 1.0, 0.2, 1.0], [0.018, 83.1782, 2.74, 8.194], "comparisons:0-1-0.3,1-2+0.02,2-3-0.1"),
    ("poisson", [0.0, 0.7142857142857143, 1.5714285714285714, 0.0], [0.0196, 27.6079, 0.2828, 0.0151], "control:3+0.2"),
    ("geometric", [2.8666666666666667, 0.0, 0.6, 0.0], [0.0, 0.0158, 35.6904, 0.0301], "control:3+0.2"),
]


@pytest.mark.parametrize(("family", "means", "costs", "task"), STALLED)
def test_means_at_an_end_of_their_space_are_solved_for(family, means, costs, task):
    """Around the digits that are proven for the same doubles, by interpreted and by compiled code."""
    model, task = BanditModel(family, list(map(Fraction, means)), list(map(Fraction, costs))), parse_task(task)
    found = characteristic_time(model, task)
    assert found.gap < 1e-11
    proven = proven_time(model, task, 20, start=found)
    assert Fraction(found.lower) <= proven.upper
    assert proven.lower <= Fraction(found.upper)
    assert bits_of(interpreted_kernel(type(model.family)), model, task) == bits_of(compiled_kernel(), model, task)


def test_a_start_from_the_wrong_end_is_no_worse_than_none():
    """A warm start that leads nowhere is left for a cold one."""
    costs, task = [0.0, 0.206, 0.0124, 5.98, 18.88], "comparisons:1-0-0.1,1-2-0.1,1-3-0.1,1-4-0.1"
    start = characteristic_time(BanditModel("bernoulli", [0.54, 0.9, 0.67, 0.67, 0.5], costs), task)
    model = BanditModel("bernoulli", [0.54, 1.0, 0.67, 0.67, 0.5], costs)
    cold, warm = (characteristic_time(model, task, tolerance=1e-8, warm_start=one) for one in (None, start))
    assert abs(warm.value - cold.value) < 1e-7 * cold.value


@pytest.mark.parametrize(
    ("means", "costs", "task"),
    [
        ([0.7, 0.0, 0.4], [0, 1, 2], "comparisons:0-1-0.3,0-2+0.1"),  # 0.7 + 0.3 is 1, and for doubles less
        ([Decimal("0.7"), Decimal(0), Decimal("0.4")], [0, 1, 2], "comparisons:0-1-0.3,0-2+0.1"),
        ([0.5, 0.2, 0.3], [0, 1, 1], "control:0-0.5"),
        ([Decimal("0.3"), Decimal("0.2"), Decimal("0.6")], [0, 1, 1], "comparisons:1-0-0.3,2-0+0.1"),
        ([Decimal("0.3"), Decimal("0.2")], [0, 1], "comparisons:1-0-0.3"),
    ],
)
def test_a_free_mean_and_a_margin_may_add_up_to_an_end_of_the_means(means, costs, task):
    """The certificate by itself has the interval of the solver, also where rounding hides which side it is."""
    model = BanditModel("bernoulli", means, costs)
    found = characteristic_time(model, task)
    assert certify(model, found.statements, found.effort, found.multipliers) == (found.value, found.lower, found.upper)


def test_what_is_false_is_not_left_out_of_a_certificate():
    """0 > 1 + 0.8 fails for all means of arm 1 where arm 0 is free at 0.7: no effort proves it."""
    model = BanditModel("bernoulli", [Decimal("0.7"), Decimal("0.2")], [0, 1])
    statement = Statement(0, 1, Fraction("0.8"))
    assert certify(model, [statement], np.ones(2), np.ones(1)) == (np.inf, 0, np.inf)
    assert certify(model, [statement.reverse], np.ones(2), np.ones(1)) == NOTHING_TO_PAY


def test_adversarial_statements_are_certified_around_proven_digits():
    for number in range(60):
        model, task = adversarial_stated_instance(np.random.default_rng([9, number]))
        try:
            found = characteristic_time(model, task)
            proven = proven_time(model, task, 20, start=found)
        except (TieError, SolverError):
            continue
        assert Fraction(found.lower) <= proven.upper
        assert proven.lower <= Fraction(found.upper)


def test_rounds_of_empirical_means_at_an_end_go_on():
    """Bernoulli arms whose first outcomes are all alike, a margin and unlike costs."""
    for solve in ("exact", "lazy"):
        caet = Caet.start("control:0+0.3", "bernoulli", arms=3, delta=0.01, costs=[0.02, 60, 5], solve=solve)
        for round_ in range(30):
            arm = caet.next_arm()
            caet.observe(arm, int(arm == 1 and round_ % 3 > 0))
        assert caet.solves > 0
