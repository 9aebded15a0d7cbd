"""What is left to do for a point whose certificate misses its tolerance by the loads of some arms."""

from collections.abc import Iterator

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.kernels.statement_columns import Columns
from caet_opt.solving.backends.base import Point
from caet_opt.solving.certificate import Certificate, certify_columns

#: Rounds at most, how much the effort of an arm grows in one, and the parts of that which are tried: where an arm is
#: beside the kink of a point mass, the last digits of its effort decide on its load.
ROUNDS, MOST_GROWTH, PARTS = 4, 2.0, 10.0 ** -np.arange(14.0)


@np.errstate(all="ignore")
def rebalance(
    model: BanditModel, columns: Columns, point: Point, certificate: Certificate, tolerance: float
) -> tuple[Point, Certificate]:
    """The point, or one beside it whose certificate is narrower, and its certificate.

    The lower bound is ``sum(q) / max_a (load_a / c_a)``. An arm on which hardly anything is spent costs a part of a
    million of it if its load exceeds its cost by so much, be it by rounding. Two steps in turn, until the gap is within
    the tolerance:

    - an arm whose load is above average, in units of its cost, gets more effort, which lowers the rates of its
      statements, unless the bet of a reward in a range is at its limit;
    - the weight of each statement is divided by the larger ratio of load to cost of its two arms. No load exceeds its
      cost then, and no weight is less than if all were divided by the largest ratio.
    """
    best = point, certificate
    for _ in range(ROUNDS):
        before = best
        for new in neighbours(model, columns, *before):
            found = certify_columns(model, columns, new.effort, new.weights)
            if found.gap < best[1].gap:
                best = new, found
            if best[1].gap <= tolerance:
                return best
        if best is before:
            break
    return best


def neighbours(model: BanditModel, columns: Columns, point: Point, certificate: Certificate) -> Iterator[Point]:
    """Points after both steps, by parts of the growth."""
    load = np.zeros((2, len(model.means)))
    certify_columns(model, columns, point.effort, point.weights, load=load)
    excess = ratios_of(model, load) * certificate.value / np.sum(point.weights) - 1.0
    for part in PARTS:
        effort = point.effort * (1.0 + part * np.clip(excess, 0.0, MOST_GROWTH))
        certify_columns(model, columns, effort, point.weights, load=load)
        yield Point(effort, relieve(columns, point.weights, ratios_of(model, load)))


def ratios_of(model: BanditModel, load: Array) -> Array:
    """Load over cost of each arm, zero where it costs nothing."""
    costs = np.array(model.costs)
    return np.asarray(np.divide(load[0], costs, out=np.zeros(costs.size), where=costs > 0.0))


def relieve(columns: Columns, weights: Array, ratios: Array) -> Array:
    """Weights of which each is divided by the larger ratio of the arms of its statement."""
    sides = np.append(ratios, 0.0)[columns.pairs]  # a side that is no arm is -1: the last one
    largest = np.max(sides, axis=0)
    return np.asarray(np.divide(weights, largest, out=weights.copy(), where=largest > 0.0))
