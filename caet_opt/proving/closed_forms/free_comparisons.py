"""Costly arms that are compared with free arms or levels only, any family.

    w_a = phi_a / min_b d(mu_a, mu_b),     T* = sum_a c_a phi_a / min_b d(mu_a, mu_b)

over the free arms b with which a is compared, of which the nearest above and below count; a level is as good as a free
arm, and one at infinite divergence asks for nothing: ``1 / d = 0``. The page docs/mathematics/closed_forms.md has the
proof.
"""

import numpy as np
import sympy

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Above, BestArm, Cheapest, Control, Ranking, Task, TopArms
from caet_opt.proving.closed_forms.base import ClosedForm, Match, count, divergence, index
from caet_opt.proving.closed_forms.compared import ComparedPairs
from caet_opt.proving.closed_forms.drawing import draw_costs, draw_family, draw_means, magnitude

c, mu, phi = map(sympy.IndexedBase, ("c", "mu", "phi"))
above, below = map(sympy.IndexedBase, ("above", "below"))
nu = sympy.Symbol("nu")
c_1, mu_1, phi_1 = sympy.symbols("c_1 mu_1 phi_1")
c_a, mu_a, phi_a = sympy.symbols("c mu phi")


class FreeBestArm(ClosedForm):
    """``T* = sum_a c_a phi_a / d(mu_a, nu)`` for the free arm of mean nu."""

    name = "best-arm-free-best"
    title = "Best arm when the best arm is free (the regret formula)"
    source = "derived here; with gaps as costs, the constant of Lai and Robbins (1985)"
    domain = (
        "costly arms that are all compared with the same free arm, or with its mean and a margin or ratio, and with no "
        "other, any family"
    )
    symbols = (c, phi, mu, nu, count)
    formula = sympy.Sum(c[index] * phi[index] / divergence(mu[index], nu), (index, 0, count - 1))
    efforts = phi[index] / divergence(mu[index], nu)

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.edges or len(compared.anchoring) != 1 or compared.anchoring[0].free is None:
            return None
        return self.match_level(compared)

    @staticmethod
    def match_level(compared: ComparedPairs) -> Match:
        """The values of the symbols where there is one level."""
        costs, dispersions, means = numbers(compared)
        return Match(compared.arms, (costs, dispersions, means, compared.anchoring[0].level, len(means)))

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        arms = int(rng.integers(2, 9))
        free = arms - 1 if rng.random() < 0.7 else int(rng.integers(arms))
        model, (place,) = draw_model(rng, arms, [free])
        if model.family.has_ratios and model.means[place] > 0 and rng.random() < 0.3:
            return model, Control(place, ratio=magnitude(rng, -1, 1))
        if rng.random() < 0.3 and free == arms - 1:
            model = BanditModel(model.family, model.means, "gaps")
        return model, BestArm() if free == arms - 1 else Control(place)


class Levels(FreeBestArm):
    """``T* = sum_a c_a phi_a / d(mu_a, nu)`` over the arms that are asked about, for a level nu."""

    name = "one-level"
    title = "Which arms are above a level, or the cheapest of them"
    source = "derived here"
    domain = "costly arms that are all compared with the same level and with nothing else, any family"

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.edges or len(compared.anchoring) != 1 or compared.anchoring[0].free is not None:
            return None
        return self.match_level(compared)

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        arms = int(rng.integers(2, 9))
        cheapest = rng.random() < 0.3  # which may be a free arm: nothing is to be paid for then
        model, _ = draw_model(rng, arms, [int(rng.integers(arms))] if rng.random() < 0.3 and not cheapest else [])
        low, high = sorted(rng.choice(sorted(model.means), 2, replace=False).tolist())
        asked = Above(low + (high - low) * rng.uniform(0.1, 0.9))
        return model, Cheapest(asked) if cheapest else asked


class CostlyBestArm(ClosedForm):
    """``T* = c phi / d(mu, nu)`` for the nearest free arm, of mean nu."""

    name = "best-arm-costly-best"
    title = "Best arm when only the best arm is costly"
    source = "derived here"
    domain = (
        "one costly arm that is compared with free arms or levels only, all of them below it or all above, any family"
    )
    symbols = (c_1, phi_1, mu_1, nu)
    formula = c_1 * phi_1 / divergence(mu_1, nu)
    efforts = (phi_1 / divergence(mu_1, nu),)

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.edges or len(compared.anchors) != 1:
            return None
        (arm,) = compared.anchors
        nearest = compared.nearest(arm)
        if nearest.above != nearest.below:
            return None
        return Match((arm,), (compared.costs[arm], compared.dispersions[arm], compared.means[arm], nearest.above))

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        arms = int(rng.integers(2, 9))
        costly = arms - 1 if rng.random() < 0.7 else 0
        model, places = draw_model(rng, arms, [arm for arm in range(arms) if arm != costly])
        (place,) = set(range(arms)) - set(places)
        return model, BestArm() if costly else Control(place)


class TwoArmsOneFree(CostlyBestArm):
    """``T* = c phi / d(mu, nu)``; zero where the divergence is infinite."""

    name = "two-arms-one-free"
    title = "A costly arm and a free one"
    domain = "a costly arm that is compared with one free arm or level, any family"
    symbols = (c_a, phi_a, mu_a, nu)
    formula = c_a * phi_a / divergence(mu_a, nu)
    efforts = (phi_a / divergence(mu_a, nu),)

    def match(self, compared: ComparedPairs) -> Match | None:
        return super().match(compared) if len(compared.anchoring) == 1 else None

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        family, costs = draw_family(rng, 2), [*draw_costs(rng, 1), 0.0]
        means, order = draw_means(rng, family, 2), rng.permutation(2)
        return BanditModel(family, means, [costs[arm] for arm in order]), BestArm()


class AlternatingRanking(ClosedForm):
    """``T* = sum_a c_a phi_a max(1 / d(mu_a, above_a), 1 / d(mu_a, below_a))``, over the free neighbours of a."""

    name = "alternating-ranking"
    title = "Ranking in which no two neighbours are costly"
    source = "derived here"
    domain = "costly arms that are compared with free arms or levels only, any family"
    symbols = (c, phi, mu, above, below, count)
    efforts = phi[index] * sympy.Max(1 / divergence(mu[index], above[index]), 1 / divergence(mu[index], below[index]))
    formula = sympy.Sum(c[index] * efforts, (index, 0, count - 1))

    def match(self, compared: ComparedPairs) -> Match | None:
        if compared.edges or not compared.anchors:
            return None
        nearest = [compared.nearest(arm) for arm in compared.arms]
        neighbours = tuple(pair.above for pair in nearest), tuple(pair.below for pair in nearest)
        return Match(compared.arms, (*numbers(compared), *neighbours, len(nearest)))

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        arms = int(rng.integers(3, 10))
        odd = bool(rng.integers(2))
        if rng.random() < 0.2:  # the best arms against the others, one of the two sides free
            size = int(rng.integers(1, arms))
            return draw_model(rng, arms, [arm for arm in range(arms) if (arm >= arms - size) == odd])[0], TopArms(size)
        costly = [arm for arm in range(arms) if (arm % 2 == 1) == odd]
        dropped = [arm for arm in costly[1:] if rng.random() < 0.2]
        free = [arm for arm in range(arms) if arm not in costly or arm in dropped]
        return draw_model(rng, arms, free)[0], Ranking()


def numbers(compared: ComparedPairs) -> tuple[tuple[object, ...], ...]:
    """Costs, dispersions and means of the compared costly arms."""
    columns = (compared.costs, compared.dispersions, compared.means)
    return tuple(tuple(column[arm] for arm in compared.arms) for column in columns)


def draw_model(rng: np.random.Generator, arms: int, free: list[int]) -> tuple[BanditModel, list[int]]:
    """A model of any family whose arms with these ranks, counted from the worst, are free; and where they are."""
    family = draw_family(rng, arms)
    means, costs, order = draw_means(rng, family, arms), draw_costs(rng, arms), rng.permutation(arms).tolist()
    model = BanditModel(
        family, [means[rank] for rank in order], [0.0 if rank in free else costs[rank] for rank in order]
    )
    return model, [order.index(rank) for rank in free]
