"""Whether statements can hold together: an order of the arms, or difference constraints where there are margins."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter

from caet_opt.bandits.tasks.statements import PLAIN, Statement
from caet_opt.errors import InputError

Pair = tuple[int, int]


def linear_order(pairs: Iterable[Pair]) -> tuple[int, ...] | None:
    """An order of the arms in which every pair (a, b) has a before b, or None when the pairs form a cycle."""
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for a, b in pairs:
        sorter.add(b, a)
    try:
        return tuple(sorter.static_order())
    except CycleError:
        return None


def can_hold(statements: Sequence[Statement]) -> bool:
    """Whether some means satisfy all statements, strictly; ratios are an `InputError`.

    ``x_w - x_l > e`` are difference constraints, a level is one against a node of its own, whose mean is 0. They cannot
    hold together just if the margins around some cycle of statements add up to zero or more: a longest path that never
    ends (Bellman and Ford), where each statement adds something positive to its margin, however small.

    >>> from fractions import Fraction
    >>> can_hold([Statement(0, 1, Fraction("0.1")), Statement(1, 0, Fraction("-0.2"))])
    True
    >>> can_hold([Statement(0, 1, Fraction("0.1")), Statement(1, 0, Fraction("-0.1"))])
    False
    """
    if any(statement.ratio != 1 for statement in statements):
        raise InputError("statements with ratios cannot be compared with each other; use margins")
    pairs = plain_pairs(statements)
    if len(pairs) == len(statements):
        return linear_order(pairs) is not None
    least = {node: (Fraction(0), 0) for statement in statements for node in statement[:2]}
    for _ in range(len(least)):
        moved = False
        for winner, loser, margin, _ in statements:
            bound = least[loser][0] + margin, least[loser][1] + 1
            if bound > least[winner]:
                least[winner], moved = bound, True
        if not moved:
            return True
    return False


def plain_pairs(statements: Iterable[Statement]) -> tuple[Pair, ...]:
    """The pairs (a, b), "a beats b", among the statements."""
    return tuple((a, b) for a, b, e, r in statements if a is not None and b is not None and (e, r) == PLAIN)


def show(order: Sequence[int]) -> str:
    """An order as people write it: 2 > 0 > 1."""
    return " > ".join(map(str, order))
