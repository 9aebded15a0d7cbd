"""Ball arithmetic: every number is an interval that contains the true one (python-flint)."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from caet_opt.bandits.families import Family
from caet_opt.errors import InputError

try:
    from flint import arb as arb
    from flint import arb_mat as arb_mat
    from flint import ctx, fmpq
except ModuleNotFoundError:  # `check_digits` says so before there is any ball
    arb = arb_mat = ctx = fmpq = None

#: A ball: flint.arb has no type stubs.
Ball = Any


def working_precision(bits: int) -> Any:
    """A context in which balls are computed to so many bits."""
    return ctx.workprec(bits)


def precision_bits() -> int:
    """To how many bits balls are computed now."""
    return int(ctx.prec)


def ball(value: Fraction) -> Ball:
    """A ball that contains a rational number."""
    return arb(fmpq(value.numerator, value.denominator))


def midpoint_fraction(value: Ball) -> Fraction:
    """The exact midpoint of a ball."""
    mantissa, exponent = value.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def divergence(family: Family, x: Ball, y: Ball) -> Ball:
    """d(x, y) at dispersion one by the family's `algebraic_divergence`, for y inside the mean space; 0 log 0 is 0."""
    return evaluate_formula(family, "algebraic_divergence", lambda: family.algebraic_divergence(x, y, log))


def variance(family: Family, mean: Ball) -> Ball:
    """The family's variance function."""
    return evaluate_formula(family, "unit_variance", lambda: family.unit_variance(mean))


def variance_slope(family: Family, mean: Ball) -> Ball:
    """V' of a family whose variance function is quadratic, as those of all families with margins are."""
    return (variance(family, mean + 1) - variance(family, mean - 1)) / 2


def evaluate_formula(family: Family, name: str, formula: Callable[[], Any]) -> Ball:
    """A formula of the family in balls; `InputError` when it is not written in arithmetic that balls have."""
    try:
        value = formula() + arb(0)
    except (TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"proven digits need {name} of family {family.name!r} in plain arithmetic (and the log that it is given): "
            f"{error}"
        ) from error
    return value


def log(x: Ball) -> Ball:
    """Logarithm, with 0 in place of log 0: in a divergence it occurs as 0 log 0."""
    return arb(0) if x.is_zero() else x.log()
