"""Numbers as they were given: from Python, from TOML, from the command line, and back into a file."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import (
    BanditModel,
    Bernoulli,
    Gamma,
    Gaussian,
    InputError,
    ModelFile,
    Ranking,
    parse_family,
    read_model,
    write_model,
)
from caet_opt.cli import main
from caet_opt.common.exact import decimal_text, exact

LONG = "0.123456789012345678901234567890123456789"


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(1, 10)),
        (1e-5, Fraction(1, 100000)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(7), Fraction(7)),
        (np.float32(0.5), Fraction(1, 2)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal.from_float(0.1), Fraction(0.1)),
        (Decimal(LONG), Fraction(LONG)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_what_a_number_means(value, meaning):
    assert exact(value) == meaning


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_meaning_of_a_float_rounds_to_it(value):
    assert float(exact(value)) == value


@given(st.fractions())
def test_the_text_of_a_number_is_exact(value):
    text = decimal_text(value)
    assert Fraction(text) == value
    assert "e" not in text.lower()
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    assert ("/" in text) == (rest > 1)


def test_gaps_are_exact():
    model = BanditModel(Gaussian(), [1.4, Decimal("0.80000000000000000000000001"), Fraction(1, 3)], "gaps")
    assert model.exact_costs == (0, Fraction("0.59999999999999999999999999"), Fraction("1.4") - Fraction(1, 3))
    double = Fraction(1.4)  # in doubles a float is a double, and the others are what they are
    assert model.costs == (
        0.0,
        float(double - Fraction("0.80000000000000000000000001")),
        float(double - Fraction(1, 3)),
    )


def test_dispersions_are_exact():
    assert BanditModel(Gaussian(0.1), [1, 2], [1, 1]).exact_dispersions == (Fraction(1, 10), Fraction(1, 10))
    assert BanditModel(parse_family(f"gaussian:{LONG},4"), [1, 2], [1, 1]).exact_dispersions == (Fraction(LONG), 4)
    assert BanditModel(parse_family("gamma:0.3"), [1, 2], [1, 1]).exact_dispersions == (Fraction(10, 3),) * 2
    assert BanditModel(Bernoulli(), [0.1, 0.2], [1, 1]).exact_dispersions == (1, 1)


def test_equal_numbers_make_equal_models_however_they_were_given():
    one = BanditModel(Gaussian(2), [3, 0.5], [0.1, 0])
    other = BanditModel(Gaussian(Decimal("2.00")), [Decimal(3), Fraction(1, 2)], [Decimal("0.10"), 0.0])
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    "other",
    [
        BanditModel(Gaussian(), [Decimal("3.00000000000000000001"), 4], [1, 0]),
        BanditModel(Gaussian(), [3, 4], [Decimal("1.00000000000000000001"), 0]),
        BanditModel(Gaussian(Decimal("1.00000000000000000001")), [3, 4], [1, 0]),
        BanditModel(Gaussian(), [3, 4], "gaps"),
    ],
)
def test_a_digit_beyond_double_precision_makes_another_model(other):
    model = BanditModel(Gaussian(), [3, 4], [1, 0])
    assert (model.means, model.costs) == (other.means, other.costs)
    assert model != other


def test_a_file_keeps_the_digits_that_were_typed(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(
        f'family = "gaussian:{LONG}"\nmeans = [{LONG}, 1e-3, 4]\ncosts = [1.10, 0, 2.0]\ntask = "ranking"\n'
        "characteristic_time = 1.5\nsampling_proportions = [0.5, 0, 0.5]\n"
    )
    entry = read_model(path)
    assert entry.model.exact_means == (Fraction(LONG), Fraction(1, 1000), 4)
    assert entry.model.exact_costs == (Fraction(11, 10), 0, 2)
    assert entry.model.exact_dispersions == (Fraction(LONG),) * 3
    assert entry.characteristic_time == 1.5
    assert entry.sampling_proportions == (0.5, 0.0, 0.5)
    again = tmp_path / "again.toml"
    write_model(again, entry)
    assert read_model(again) == entry
    assert LONG in again.read_text()


def test_a_fraction_with_a_finite_decimal_is_written_and_another_is_not(tmp_path):
    path = tmp_path / "model.toml"
    entry = ModelFile(BanditModel(Gamma(Fraction(1, 4)), [Fraction(1, 8), np.int64(3)], "gaps"), Ranking())
    write_model(path, entry)
    assert read_model(path) == entry
    for model in (
        BanditModel(Gaussian(), [Fraction(1, 3), 1], "gaps"),
        BanditModel(Gamma(Fraction(1, 3)), [1, 2], "gaps"),
    ):
        with pytest.raises(InputError, match="1/3"):
            write_model(path, ModelFile(model, Ranking()))


def test_the_command_line_keeps_the_digits_that_were_typed(capsys):
    words = f"solve --family gaussian:2 --means {LONG},-1.5 0 --costs gaps --task ranking --digits 5 --json"
    assert main(words.split()) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["exact_means"] == [LONG, "-1.5", "0"]
    assert record["exact_costs"] == ["0", decimal_text(Fraction(LONG) + Fraction(3, 2)), LONG]


@pytest.mark.parametrize("number", [Decimal("1e-400"), Fraction(1, 10**400), Decimal("sNaN"), Decimal("NaN"), 10**400])
def test_numbers_that_no_double_stands_for_are_refused(number):
    with pytest.raises(InputError):
        BanditModel(Gaussian(), [number, 1], [1, 1])
    with pytest.raises(InputError):
        BanditModel(Gaussian(), [0, 1], [1, number])
