"""Proven digits: rational bounds around T* to as many digits as are asked for."""

import json
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inverse_gaussian import InverseGaussian
from problems import FAMILIES, REFERENCES, TASKS, random_instance

from caet_opt import (
    BanditModel,
    Bernoulli,
    Exponential,
    Gamma,
    Gaussian,
    Geometric,
    InputError,
    Poisson,
    SolverError,
    TieError,
    characteristic_time,
    proven_time,
)
from caet_opt.cli import main
from caet_opt.proving import check as checker
from caet_opt.proving import closed_forms, refine
from caet_opt.proving.certificates import certificate
from caet_opt.proving.result import common_rounding
from cases.instances import hostile_instance, of_doubles

PAPER = BanditModel(Gaussian(), [3, 4, 2], "gaps")


def close_to(text, exact_digits):
    """Whether a decimal text is the rounding of a number given to more digits."""
    with localcontext() as context:
        context.prec = len(text.replace(".", "").lstrip("0"))
        return Decimal(text) == +exact_digits


# bounds


def test_the_paper_instance_to_fifty_digits():
    with localcontext() as context:
        context.prec = 80
        exact = 6 + 4 * Decimal(2).sqrt()
    proven = proven_time(PAPER, "ranking")
    assert close_to(proven.value, exact)
    assert len(proven.value.replace(".", "")) == 50
    assert proven.lower <= Fraction(exact) <= proven.upper
    assert proven.gap <= Fraction(1, 10**50)
    assert float(proven.sampling_proportions[0]) == pytest.approx(0.585786437626905, abs=1e-15)
    assert sum(proven.cost_proportions) == 1


@pytest.mark.parametrize("problem", REFERENCES, ids=lambda problem: problem.name)
def test_references_lie_near_their_proven_interval(problem):
    proven = proven_time(problem.model, problem.task, 30)
    assert float(proven.value) == pytest.approx(problem.characteristic_time, rel=1e-12)


@settings(max_examples=60)
@given(
    st.integers(-50, 50),
    st.integers(1, 40),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_two_gaussian_arms_whose_time_is_rational(mean, gap, p, q, va, vb):
    """``T* = 2 (sqrt(c_a v_a) + sqrt(c_b v_b))^2 / gap^2``, here with perfect squares."""
    costs = [Fraction(p * p, va), Fraction(q * q, vb)]
    proven = proven_time(BanditModel(Gaussian([va, vb]), [mean, mean + gap], costs), "best-arm", 30)
    assert proven.lower <= Fraction(2 * (p + q) ** 2, gap * gap) <= proven.upper
    assert proven.gap <= Fraction(1, 10**30)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_and_task_inside_the_interval_of_the_doubles(family, task):
    rng = np.random.default_rng([5, FAMILIES.index(family), TASKS.index(task)])
    model, task = random_instance(rng, family, task, int(rng.integers(2, 11)))
    model = of_doubles(model)
    double, proven = characteristic_time(model, task), proven_time(model, task, 40)
    assert Fraction(double.lower) <= proven.lower <= proven.upper <= Fraction(double.upper)
    assert proven.gap <= Fraction(1, 10**40)


@pytest.mark.parametrize("index", range(8))
def test_hostile_instances(index):
    model, task = hostile_instance(np.random.default_rng([11, index]))
    proven = proven_time(model, task, 25)
    assert proven.gap <= Fraction(1, 10**25)
    assert float(proven.value) == pytest.approx(characteristic_time(model, task).value, rel=1e-8)


@pytest.mark.parametrize("third", [9, Decimal("9.000000000000000000001"), Decimal("8.999999999999999999999")])
def test_at_a_branch_point_a_binding_pair_has_multiplier_zero(third):
    """Ranking with costs (0, 1, 9) and gaps 1 and 2: pair 0 > 1 binds, and the pair 1 > 2 alone gives T* = 8."""
    proven = proven_time(BanditModel(Gaussian(), [3, 2, 0], [0, 1, third]), "ranking", 40)
    assert proven.gap <= Fraction(1, 10**40)
    assert float(proven.value) == pytest.approx(8, rel=1e-15)
    if third == 9:
        assert proven.lower <= 8 <= proven.upper
    else:
        assert not proven.lower <= 8 <= proven.upper


@pytest.mark.parametrize(
    ("variances", "means", "costs", "task"),
    [
        (
            [0.5395635130311608] * 4,
            [0, 0.3708062237484219, -0.39039393074754686, -0.512501134392173],
            [50.43290502848803, 0, 0.5930493920482925, 0],
            "ranking",
        ),
        (
            [0.0023259545040606, 0.017477000708604005, 0.11190235727755408, 0.022485244551029897],
            [-0.15124963091679522, -0.2173520913767077, 0, 0.13604012532874082],
            [938.2781503878966, 0, 349.85751064725275, 0],
            "comparisons:3-2,2-0,0-1",
        ),
    ],
)
def test_where_bold_steps_run_in_circles(variances, means, costs, task):
    """Two of three binding pairs carry almost nothing; predictor and corrector then undo each other's steps."""
    model = BanditModel(Gaussian(variances), means, costs)
    (form,) = closed_forms.applicable(model, task)
    proven = proven_time(model, task, 50)
    assert proven.lower <= Fraction(form.decimal_time(model, task, 60)) <= proven.upper


def test_equal_means_outside_the_needed_pairs():
    """Equal competitors make the multipliers anything but unique."""
    proven = proven_time(BanditModel(Gaussian(), [1, 0, 0, 0], [1, 1, 1, 1]), "best-arm", 40)
    with localcontext() as context:
        context.prec = 60
        assert proven.lower <= Fraction(2 * (1 + Decimal(3).sqrt()) ** 2) <= proven.upper


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (BanditModel(Bernoulli(), [0, 1, 0.5], [1, 1, 1]), None),
        (BanditModel(Bernoulli(), [0.5, 0, 0.3], [1, 0, 1]), None),
        (BanditModel(Poisson(), [0, 1, 2], [1, 1, 3]), None),
        (BanditModel(Poisson(), [0, 1, 2], [0, 1, 3]), None),
        (BanditModel(Geometric(), [0, 1, 2], [1, 1, 3]), None),
        (BanditModel(Bernoulli(), [0.5, 0], [1, 0]), "0"),
        (BanditModel(Poisson(), [0, 1, 2], [0, 0, 0]), "0"),
    ],
)
def test_means_at_the_boundary_and_free_arms(model, value):
    proven = proven_time(model, "ranking", 30)
    double = characteristic_time(model, "ranking")
    assert Fraction(double.lower) <= proven.lower <= proven.upper <= Fraction(double.upper)
    assert proven.value == value or value is None
    assert checker.check(certificate(proven))


def test_as_many_digits_as_are_asked_for():
    longest = proven_time(PAPER, "ranking", 400)
    assert len(longest.value) == 401
    for digits in (1, 2, 17, 100):
        assert proven_time(PAPER, "ranking", digits).lower <= longest.lower
        assert longest.value.startswith(proven_time(PAPER, "ranking", digits).value[: max(1, digits - 2)])


def test_costs_over_twelve_orders_and_means_apart_by_the_last_digit_of_a_double():
    model = BanditModel(Exponential(), [1e-8, 1, 1e8], [1e-9, 1, 1e9])
    assert proven_time(model, "ranking", 60).gap <= Fraction(1, 10**60)
    close = BanditModel(Gaussian(), [Decimal("1.0000000000000004"), Decimal("1.00000000000000012345"), 3], [1, 1, 1])
    proven = proven_time(close, "comparisons:0-1", 40)
    assert proven.lower <= 8 / (Fraction("4e-16") - Fraction("1.2345e-16")) ** 2 <= proven.upper


def test_fractions_are_inputs_like_any_other():
    proven = proven_time(BanditModel(Gamma(Fraction(1, 3)), [Fraction(1, 3), 1], [Fraction(1, 7), 0]), "best-arm", 30)
    with localcontext() as context:
        context.prec = 60
        exact = Fraction(3, 7) / Fraction(Decimal(3).ln() - 2 / Decimal(3))
    assert proven.lower <= exact <= proven.upper


def test_a_family_of_ones_own():
    model = BanditModel(InverseGaussian(), [1, 2, 3.5], [1, 1, 0.5])
    proven = proven_time(model, "ranking", 40)
    double = characteristic_time(model, "ranking")
    assert Fraction(double.lower) <= proven.lower <= proven.upper <= Fraction(double.upper)
    with pytest.raises(InputError, match="a certificate cannot be written: unknown family 'inverse-gaussian'"):
        certificate(proven)


def test_a_family_whose_formulas_are_not_plain_arithmetic():
    class Opaque(InverseGaussian):
        @staticmethod
        def algebraic_divergence(x, y, log):
            return np.cbrt(x - y) ** 6 / (2 * x * y**2)

    with pytest.raises(InputError, match="algebraic_divergence of family 'inverse-gaussian' in plain arithmetic"):
        proven_time(BanditModel(Opaque(), [1, 2], [1, 1]), "ranking")

    class Unready(InverseGaussian):
        @staticmethod
        def unit_variance(mean):
            return np.cbrt(mean) ** 9

    with pytest.raises(InputError, match="unit_variance of family 'inverse-gaussian' in plain arithmetic"):
        proven_time(BanditModel(Unready(), [1, 2], [1, 1]), "ranking")


def test_what_cannot_be_proven_is_refused_with_its_gap(monkeypatch):
    monkeypatch.setattr(refine, "ITERATIONS", 1)
    monkeypatch.setattr(refine, "ITERATIONS_PER_DIGIT", 0)
    with pytest.raises(SolverError, match="50 digits could not be proven") as refused:
        proven_time(PAPER, "ranking")
    assert 1e-50 < refused.value.gap < 1e-3


@pytest.mark.parametrize(
    ("model", "options", "error", "fragment"),
    [
        (PAPER, {"digits": 0}, InputError, "digits must be a whole number from 1 to 1000, got 0"),
        (PAPER, {"digits": 1001}, InputError, "digits must be a whole number from 1 to 1000, got 1001"),
        (PAPER, {"digits": 5.0}, InputError, "whole number"),
        (PAPER, {"digits": True}, InputError, "whole number"),
        (PAPER, {"start": characteristic_time(PAPER, "best-arm")}, InputError, "another problem"),
        (BanditModel(Gaussian(), [1, 1, 0], [1, 1, 1]), {}, TieError, "equal means"),
        (
            BanditModel(Gaussian(), [1, Decimal("1.00000000000000000001"), 0], [1, 1, 1]),
            {},
            TieError,
            "differ (1 and 1.00000000000000000001), but not in double precision",
        ),
    ],
)
def test_bad_requests(model, options, error, fragment):
    with pytest.raises(error) as caught:
        proven_time(model, "ranking", **options)
    assert fragment in str(caught.value)


def test_a_gap_that_the_difference_of_doubles_takes_for_zero():
    model = BanditModel(Gaussian(), [Decimal("0.5"), Decimal("0.50000000000000000001"), 0], "gaps")
    assert model.costs == (1e-20, 0.0, 0.5)
    proven = proven_time(model, "comparisons:0-2")
    with localcontext() as context:
        context.prec = 80
        exact = 8 * (Decimal("1e-10") + Decimal("0.50000000000000000001").sqrt()) ** 2
    assert proven.lower <= Fraction(exact) <= proven.upper


@pytest.mark.parametrize(
    ("lower", "upper", "digits", "text"),
    [
        ("22.4999999", "22.5000001", 2, "22.5"),
        ("0.99999999", "1.00000001", 5, "1.0000"),
        ("1234567.89", "1234567.8901", 3, "1.23e+6"),
        ("0.00001234567", "0.00001234568", 3, "1.23e-5"),
        ("0", "0", 5, "0"),
    ],
)
def test_the_printed_digits_are_those_of_the_whole_interval(lower, upper, digits, text):
    assert common_rounding(Fraction(lower), Fraction(upper), digits) == text


def test_an_interval_too_wide_for_its_digits():
    with pytest.raises(ArithmeticError):
        common_rounding(Fraction(1), Fraction(2), 5)


# the command line

FLAGS = ["solve", "--family", "gaussian", "--means", "3,4,2", "--costs", "gaps", "--task", "ranking"]


def test_solve_json_keeps_the_keys_of_the_contract_and_adds_what_is_proven(capsys):
    assert main([*FLAGS, "--json"]) == 0
    usual = json.loads(capsys.readouterr().out)
    assert main([*FLAGS, "--json", "--digits", "12"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert usual.keys() < record.keys()
    assert record["proven"] == "11.6568542495"
    assert Fraction(record["proven_lower"]) < Fraction(record["proven_upper"])
    assert record["refined_sampling_proportions"] == ["0.585786", "0", "0.414214"]
    assert record["certificate"] is None


def test_an_unwritable_certificate_is_noticed_before_solving(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("caet_opt.cli.solve.solve", lambda *arguments: pytest.fail("solved"))
    assert main([*FLAGS, "--certificate", str(tmp_path / "nowhere" / "cert.json")]) == 2
    assert "--certificate" in capsys.readouterr().err


def test_a_failed_proof_leaves_the_old_certificate(tmp_path, monkeypatch, capsys):
    path = tmp_path / "cert.json"
    path.write_text("old")
    monkeypatch.setattr(refine, "ITERATIONS", 0)
    monkeypatch.setattr(refine, "ITERATIONS_PER_DIGIT", 0)
    assert main([*FLAGS, "--certificate", str(path)]) == 1
    assert "could not be proven" in capsys.readouterr().err
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["cert.json"]
