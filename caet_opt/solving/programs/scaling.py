"""What programs share: units in which each is well scaled, whatever the costs and gaps, and the objective -t."""

from math import inf
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.kernels.native import interpreted_kernel
from caet_opt.solving.problem import Problem

#: From here on a bound is none to Ipopt.
INFINITE = 1e20

#: A dual variable that vanishes at the first guess is measured in this share of the effort.
LEAST_DUAL = 1e-3


class Units(NamedTuple):
    """Effort is measured in ``effort`` per arm and information in ``information``.

    With ``w = effort * x`` and ``t`` in units of information, the program reads
    ``max t  s.t.  t <= f_e(effort * x) / information,  sum(shares * x) = 1``,
    and ``x = 1`` is feasible with ``t >= 1``.
    """

    effort: Array
    information: float
    shares: Array


def units(problem: Problem) -> Units:
    """Units from the problem's first guess."""
    guess = problem.first_guess()
    spent = problem.costs * guess
    return Units(guess, float(np.min(problem.terms(guess))), spent / np.sum(spent))


def scaled_rows(problem: Problem, scale: Units) -> Array:
    """The rows of the limits in these units, the largest coefficient of each being 1."""
    rows = problem.rows * scale.effort
    return np.asarray(rows / row_sizes(rows))


def row_sizes(rows: Array) -> Array:
    """The largest coefficient of each row; 1 where all are zero."""
    sizes = np.max(np.abs(rows), axis=1, keepdims=True, initial=0.0)
    return np.where(sizes > 0.0, sizes, 1.0)


def price_rows(problem: Problem, scale: Units, multipliers: Array, budget: float) -> Array:
    """nu with ``c + G' nu`` of the certificate, from multipliers of `scaled_rows` and the one of the budget, which is t
    times the sum of the weights, as the program is homogeneous."""
    sizes = row_sizes(problem.rows * scale.effort)[:, 0]
    equal = np.array(problem.shape.limits)
    prices = multipliers / sizes * (np.sum(problem.costs * scale.effort) / budget)
    return np.where(equal, prices, np.maximum(prices, 0.0))


class Pairs(NamedTuple):
    """The edges of `Shape.pairs` by side, winners first: means, units of effort per unit of information, and rates
    ``d(mean, centre)`` in these units; and the centre, strictly between the means."""

    means: tuple[Array, Array]
    units: tuple[Array, Array]
    rates: tuple[Array, Array]
    centre: Array


def centred_pairs(problem: Problem, scale: Units) -> Pairs:
    """The pairs of a problem; the mean of a loser is what the winner has to exceed."""
    chosen = list(problem.shape.pairs)
    heads, tails = problem.heads[chosen], problem.tails[chosen]
    seen, _, scales = (numbers[chosen] for numbers in problem.losers)
    means, unit = (problem.means[heads], seen), scale.effort / scale.information
    units = unit[heads], unit[tails] * scales
    centre, half = 0.5 * (means[0] + means[1]), 0.5 * problem.differences[chosen]
    divergence = problem.family.unit_divergence
    rates = divergence(means[0], centre, half) * units[0], divergence(means[1], centre, -half) * units[1]
    return Pairs(means, units, rates, centre)


def dual_point(problem: Problem, effort: Array) -> tuple[Array, Array, Array]:
    """L, A and G of the dual of each margin at an effort, x and y being where its term is least, none of them zero:

        L = w_a h_a / V(x),    A = w_a (1 - mu_a) / (1 - x) for Bernoulli, w_a for Poisson,    G = w_b mu_b / y.

    L is the slope of the term in the margin, up to sign. It is ``w_b h_b / V(y)``, too, but for an x at an end of its
    range.
    """
    kernel, found = interpreted_kernel(problem.shape.family), []
    for edge in problem.shape.margins:
        code, numbers = problem.margin_numbers(edge)
        wa, wb = (float(effort[arm]) for arm in problem.shape.edges[edge])
        odds = kernel["margin_term"](code, wa, wb, *numbers)[-1]
        frame = kernel["margin_frame"](code, *numbers[:6])
        at = kernel["margin_point"](numbers[1], frame, *kernel["shares_of"](odds))
        step_a, step_b, x, y, fails, fails_b = map(np.float64, at)
        sides = wa * kernel["steepness"](code, step_a, x, fails), wb * kernel["steepness"](code, step_b, y, fails_b)
        fail = (fails - step_a) / fails if 0.0 < fails < inf else 1.0
        left = numbers[1] / y if y > 0.0 else 0.0
        found.append((sides[odds == inf], wa * max(fail, LEAST_DUAL), wb * max(left, LEAST_DUAL)))
    links, fails_a, lefts = np.array(found, dtype=float).reshape(-1, 3).T
    return links, fails_a, lefts


class IpoptProgram:
    """``min -t`` over ``(x, ..., t)`` in these units, handed to Ipopt, which reports its iterations through a callback.

    Attributes
    ----------
    variables : how many there are; 1 for each is where a solve starts
    """

    iterations = 0
    variables: int

    def objective(self, z: Array) -> float:
        return -float(z[-1])

    def gradient(self, z: Array) -> Array:
        return np.append(np.zeros(z.size - 1), -1.0)

    def bounds(self) -> tuple[Array, Array]:
        """The least and the largest value of each variable."""
        return np.zeros(self.variables), np.full(self.variables, INFINITE)

    def limits(self) -> tuple[Array, Array]:
        """The least and the largest value of each constraint."""
        raise NotImplementedError

    def weights(self, multipliers: Array) -> Array:
        """The weight of each term, given the multipliers of the constraints."""
        raise NotImplementedError

    def row_multipliers(self, multipliers: Array) -> Array:
        """The multiplier of each limit, given those of the constraints."""
        raise NotImplementedError

    def warm_start(self, x: Array, t: float, weights: Array) -> tuple[Array, Array] | None:
        """Variables and multipliers of the constraints, given x, t and the weight of each term; None if there are none.

        The budget is worth t, as the program is homogeneous.
        """
        return np.append(x, t), np.append(-weights, t)

    def tighten(self, z: Array) -> bool:
        """Add linear cuts where a point needs them; whether it did."""
        return False

    def intermediate(self, algorithm_mode: int, iteration: int, *progress: float) -> bool:
        """Called by Ipopt after each iteration; True means go on."""
        self.iterations = iteration
        return True
