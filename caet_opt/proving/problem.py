"""The characteristic-time problem in the rational numbers that the model was given."""

from fractions import Fraction
from typing import NamedTuple

from caet_opt.bandits.families import Family
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair, Task
from caet_opt.solving.problem import too_close


class ExactProblem(NamedTuple):
    """``T* = inf c . w  subject to  f_e(w) >= 1`` for every needed pair; all numbers by arm, in the model's units."""

    family: Family
    means: tuple[Fraction, ...]
    costs: tuple[Fraction, ...]
    dispersions: tuple[Fraction, ...]
    pairs: tuple[Pair, ...]

    def costly_arms(self, pair: Pair) -> tuple[int, ...]:
        """The arms of a pair that cost something."""
        return tuple(arm for arm in pair if self.costs[arm] > 0)

    def constrains(self, pair: Pair) -> bool:
        """Whether a pair constrains anything: not when both arms are free, or a free one is at infinite divergence.

        A law whose mean is an end of the mean space is a single point, at infinite divergence from every other law.
        """
        costly = self.costly_arms(pair)
        if len(costly) != 1:
            return len(costly) == 2
        (free,) = set(pair) - set(costly)
        return self.means[free] not in (self.family.mean_space.low, self.family.mean_space.high)

    def midpoint(self, pair: Pair, effort: tuple[Fraction, ...]) -> Fraction | None:
        """The mean weighted by effort over dispersion, or that of the free arm; None when both arms are free."""
        costly = self.costly_arms(pair)
        if len(costly) < 2:
            return next((self.means[arm] for arm in pair if arm not in costly), None) if costly else None
        weights = [effort[arm] / self.dispersions[arm] for arm in pair]
        return sum((w * self.means[arm] for w, arm in zip(weights, pair, strict=True)), Fraction(0)) / sum(weights)


def pose_exactly(model: BanditModel, task: Task) -> ExactProblem:
    """The problem of a model and a task; `TieError` when doubles cannot tell the two arms of a needed pair apart."""
    task.check(len(model.means))
    means, pairs = model.exact_means, task.pairs(model.means)
    for a, b in pairs:
        if model.means[a] == model.means[b] and means[a] != means[b]:
            raise too_close(model, a, b, "where the search for T* starts")
    return ExactProblem(model.family, means, model.exact_costs, model.exact_dispersions, pairs)
