"""Where, along a path of models, the task's answer changes and where pairs start or cease to bind.

At such a switch the slack ``f_e(w*) - 1`` of the pair and its share ``q_e / T*`` trade places: one is positive and the
other zero on either side, and the sign of their difference tells the sides apart.
"""

from collections.abc import Callable
from typing import NamedTuple

from caet_opt.bandits.tasks import Pair
from caet_opt.solving.certificate import pair_terms
from caet_opt.solving.result import CharacteristicTime

#: Width of the last bracket, relative to its ends or to the first one.
LOCATED = 1e-12


class Switch(NamedTuple):
    """Where a pair starts or ceases to bind as the value grows."""

    value: float
    pair: Pair
    starts: bool


def bisect(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """Where a condition that holds at ``low`` and not at ``high`` changes; the side where it does not hold."""
    width = high - low
    while high - low > LOCATED * max(abs(low), abs(high), width):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def find_switches(
    low: float,
    high: float,
    at_low: CharacteristicTime,
    at_high: CharacteristicTime,
    solve: Callable[[float], CharacteristicTime],
) -> list[Switch]:
    """The switches between two values with the same needed pairs and the same free arms."""
    if at_low.pairs != at_high.pairs or free_arms(at_low) != free_arms(at_high):
        return []
    before, after = set(at_low.binding_pairs), set(at_high.binding_pairs)
    return [Switch(locate(low, high, pair, at_low, solve), pair, pair in after) for pair in sorted(before ^ after)]


def locate(
    low: float, high: float, pair: Pair, at_low: CharacteristicTime, solve: Callable[[float], CharacteristicTime]
) -> float:
    """Where a pair's side of the switch is no longer that of ``low``."""
    side = is_slack(at_low, pair)
    return bisect(low, high, lambda value: is_slack(solve(value), pair) == side)


def is_slack(result: CharacteristicTime, pair: Pair) -> bool:
    """Whether a pair's slack ``f_e(w*) - 1`` exceeds its share ``q_e / T*``."""
    term = pair_terms(result.model, [pair], result.effort)[0]
    share = result.multipliers[result.pairs.index(pair)] / result.value if result.value > 0 else 0.0
    return bool(term - 1.0 > share)


def free_arms(result: CharacteristicTime) -> tuple[bool, ...]:
    """Which arms cost nothing."""
    return tuple(cost == 0 for cost in result.model.costs)
