"""What is left to do for a point whose certificate misses its tolerance by the loads of some arms."""

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.kernels.statement_columns import Columns
from caet_opt.solving.backends.base import Point
from caet_opt.solving.certificate import Certificate, certify_columns

#: Trials at most, how much the effort of an arm grows in one, and what a step that led nowhere is cut to.
TRIALS, MOST_GROWTH, SHORTER = 24, 2.0, 0.1


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
    load, step, best = np.zeros((2, len(model.means))), 1.0, (point, certificate)
    for _ in range(TRIALS):
        effort, weights = best[0].effort, best[0].weights
        certify_columns(model, columns, effort, weights, load=load)
        excess = ratios_of(model, load) * best[1].value / np.sum(weights) - 1.0
        effort = effort * (1.0 + step * np.clip(excess, 0.0, MOST_GROWTH))
        certify_columns(model, columns, effort, weights, load=load)
        weights = relieve(columns, weights, ratios_of(model, load))
        found = certify_columns(model, columns, effort, weights)
        if found.gap < best[1].gap:
            best = Point(effort, weights), found
        else:
            step *= SHORTER
        if best[1].gap <= tolerance:
            break
    return best


def ratios_of(model: BanditModel, load: Array) -> Array:
    """Load over cost of each arm, zero where it costs nothing."""
    costs = np.array(model.costs)
    return np.asarray(np.divide(load[0], costs, out=np.zeros(costs.size), where=costs > 0.0))


def relieve(columns: Columns, weights: Array, ratios: Array) -> Array:
    """Weights of which each is divided by the larger ratio of the arms of its statement."""
    sides = np.append(ratios, 0.0)[columns.pairs]  # a side that is no arm is -1: the last one
    largest = np.max(sides, axis=0)
    return np.asarray(np.divide(weights, largest, out=weights.copy(), where=largest > 0.0))
