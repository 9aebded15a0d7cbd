"""Which efforts meet rows at all, in exact numbers: the simplex method on as many equations as there are rows."""

from collections.abc import Sequence
from fractions import Fraction

from caet_opt.solving.rows import ZERO, Row

ONE = Fraction(1)


def largest_least(rows: Sequence[Row], costs: Sequence[Fraction], needed: Sequence[int]) -> Fraction | None:
    """The largest t such that efforts that meet the rows have ``c_a w_a >= t`` for every needed arm, and cost one
    together; None where no efforts meet the rows.

    Over the costly arms, with ``c_a w_a = t + y_a`` where a is needed, else ``y_a``, and slacks s of the inequalities:

        max t   s.t.   sum_a (G_a / c_a) c_a w_a + s = 0,   sum_a c_a w_a = 1,   t, y, s >= 0.

    Arms of which all coefficients per cost agree are one.
    """
    costly = [arm for arm, cost in enumerate(costs) if cost > 0]
    if not costly:
        return ZERO
    parts = {arm: (*(row.coefficients[arm] / costs[arm] for row in rows), ONE) for arm in costly}
    together = [sum((parts[arm][line] for arm in needed or costly[:1]), ZERO) for line in range(len(rows) + 1)]
    columns: list[Sequence[Fraction]] = [together, *dict.fromkeys(parts.values())]  # t first
    columns += [unit(line, len(rows) + 1) for line, row in enumerate(rows) if not row.equal]
    return maximise_first(columns, unit(len(rows), len(rows) + 1))


def unit(line: int, size: int) -> list[Fraction]:
    """A column with one number, 1."""
    return [ONE if line == other else ZERO for other in range(size)]


def maximise_first(columns: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> Fraction | None:
    """``max x_0  s.t.  A x = right,  x >= 0`` for the columns of A and ``right >= 0``; None where there is no such x.

    The first phase has a variable for each equation, which it makes zero. Both take the first column that helps
    (Bland), so that they end.
    """
    size, many = len(right), len(columns)
    table = [[*(column[line] for column in columns), *unit(line, size)] for line in range(size)]
    values, basis = list(right), list(range(many, many + size))
    climb(table, values, basis, [ZERO] * many + [-ONE] * size, many + size)
    if any(column >= many and value > 0 for column, value in zip(basis, values, strict=True)):
        return None
    for line in range(size):  # a variable of the first phase that is still there is zero: another one takes its place
        helping = next((column for column in range(many) if basis[line] >= many and table[line][column] != 0), None)
        if helping is not None:
            pivot(table, values, basis, line, helping)
    climb(table, values, basis, [ONE] + [ZERO] * (many + size - 1), many)
    return sum((value for column, value in zip(basis, values, strict=True) if column == 0), ZERO)


def climb(
    table: list[list[Fraction]], values: list[Fraction], basis: list[int], goal: Sequence[Fraction], allowed: int
) -> None:
    """Pivot until no column of those that are allowed would raise ``goal . x``, which is bounded."""
    while True:
        prices = [(line, goal[column]) for line, column in enumerate(basis) if goal[column] != 0]
        worth = (
            column
            for column in range(allowed)
            if column not in basis and goal[column] > sum((p * table[line][column] for line, p in prices), ZERO)
        )
        enters = next(worth, None)
        if enters is None:
            return
        ratios = [(values[n] / table[n][enters], basis[n], n) for n in range(len(basis)) if table[n][enters] > 0]
        pivot(table, values, basis, min(ratios)[2], enters)


def pivot(table: list[list[Fraction]], values: list[Fraction], basis: list[int], line: int, column: int) -> None:
    """Let a column enter the basis in a line."""
    scale = table[line][column]
    table[line] = [entry / scale for entry in table[line]]
    values[line] /= scale
    for other in range(len(basis)):
        factor = table[other][column]
        if other != line and factor != 0:
            table[other] = [entry - factor * own for entry, own in zip(table[other], table[line], strict=True)]
            values[other] -= factor * values[line]
    basis[line] = column
