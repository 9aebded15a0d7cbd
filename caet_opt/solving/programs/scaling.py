"""What programs share: units in which each is well scaled, whatever the costs and gaps, and the objective -t."""

from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.solving.problem import Problem


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


def centres(problem: Problem) -> Array:
    """A mean strictly between those of each edge."""
    return 0.5 * (problem.means[problem.heads] + problem.means[problem.tails])


def centred_rates(problem: Problem, scale: Units) -> tuple[Array, Array]:
    """``d(mu_a, centre)`` and ``d(mu_b, centre)`` of each edge, per unit of x and of information."""
    centre, half = centres(problem), 0.5 * problem.differences
    divergence = problem.family.unit_divergence
    rate_a = divergence(problem.means[problem.heads], centre, half)
    rate_b = divergence(problem.means[problem.tails], centre, -half)
    unit = scale.effort / scale.information
    return rate_a * unit[problem.heads], rate_b * unit[problem.tails]


class IpoptProgram:
    """``min -t`` over ``(x, t)`` in these units, handed to Ipopt, which reports its iterations through a callback."""

    iterations = 0

    def objective(self, z: Array) -> float:
        return -float(z[-1])

    def gradient(self, z: Array) -> Array:
        return np.append(np.zeros(z.size - 1), -1.0)

    def intermediate(self, algorithm_mode: int, iteration: int, *progress: float) -> bool:
        """Called by Ipopt after each iteration; True means go on."""
        self.iterations = iteration
        return True
