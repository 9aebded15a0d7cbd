"""Linear bounds of terms that have neither a formula nor a cone: margins of exponential, gamma and geometric arms."""

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.solving.problem import Problem
from caet_opt.solving.programs.scaling import Units

#: Cuts kept of each edge: a new one takes the place of the slackest. The first ones touch the term where the winner has
#: so many times the effort that it has in the first guess.
FIRST_FACTORS = 10.0 ** np.linspace(-4.0, 4.0, 12)

#: Programs are solved anew until no term is below its cuts by more than this share, or so many times.
CLOSED, MOST_ROUNDS = 1e-10, 60

#: Efforts below this share of the unit are taken for it where a cut is to touch.
LEAST_EFFORT = 1e-12


class Cuts:
    """``t <= w_a d(mu_a, x) + w_b d(mu_b, x - e)`` at some points x, for each edge of `Shape.margins`.

    The least over all x is the term, and the rates at the least one are its gradient: a cut touches the term at all
    multiples of an effort. Cuts are added where the present effort is, until they are as low as the terms there.

    Attributes
    ----------
    rates : of the winner and of the loser, by edge and cut, per unit of effort and of information
    """

    def __init__(self, problem: Problem, scale: Units) -> None:
        self.problem, self.scale = problem, scale
        self.edges = list(problem.shape.margins)
        self.heads, self.tails = problem.heads[self.edges], problem.tails[self.edges]
        self.rates = np.zeros((2, len(self.edges), len(FIRST_FACTORS)))
        for cut, factor in enumerate(FIRST_FACTORS):
            for row, edge in enumerate(self.edges):
                effort = scale.effort.copy()
                effort[self.heads[row]] *= factor
                self.touch(effort, row, edge, cut)

    def touch(self, effort: Array, row: int, edge: int, cut: int) -> float:
        """Let a cut of an edge touch its term at an effort; returns the term per unit of information."""
        unit = self.scale.effort / self.scale.information
        value, head_rate, tail_rate, _ = self.problem.margin_terms(effort, edge)
        self.rates[:, row, cut] = head_rate * unit[self.heads[row]], tail_rate * unit[self.tails[row]]
        return value / self.scale.information

    def touch_all(self, effort: Array) -> None:
        """Let the slackest cut of each edge touch its term at an effort.

        At an optimal effort the program with such cuts has the optimum of the one with the terms: values and gradients
        are the same there, and so are the conditions for an optimum.
        """
        levels = self.rates[0] * (effort / self.scale.effort)[self.heads, None]
        levels += self.rates[1] * (effort / self.scale.effort)[self.tails, None]
        for row, edge in enumerate(self.edges):
            self.touch(effort, row, edge, int(np.argmax(levels[row])))

    def tighten(self, x: Array, t: float) -> bool:
        """Add a cut of each term that is below t at a point; whether there was one."""
        x = np.maximum(x, LEAST_EFFORT)
        levels = self.rates[0] * x[self.heads, None] + self.rates[1] * x[self.tails, None]
        below = False
        for row, edge in enumerate(self.edges):
            slackest = int(np.argmax(levels[row]))
            kept = self.rates[:, row, slackest].copy()
            if self.touch(self.scale.effort * x, row, edge, slackest) < t * (1.0 - CLOSED):
                below = True
            else:
                self.rates[:, row, slackest] = kept
        return below
