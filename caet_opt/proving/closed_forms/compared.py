"""What a model and a task compare: the needed pairs, sorted by which arms cost something."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from caet_opt.bandits.families import Family, Gaussian
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair, Task
from caet_opt.bandits.tasks.constraints import plain_pairs
from caet_opt.solving.problem import arrange, ask

Numbers = tuple[Fraction, ...]


class Nearest(NamedTuple):
    """Means of the nearest free arms above and below an arm; where there is none on a side, that of the other side."""

    above: Fraction
    below: Fraction


@dataclass(frozen=True)
class ComparedPairs:
    """The needed pairs of a model whose numbers are exact.

    Attributes
    ----------
    edges : pairs of two costly arms
    anchors : for each costly arm that is compared with free arms, those free arms
    gap_costs : whether each arm costs its distance to the best mean
    """

    family: Family
    means: Numbers
    costs: Numbers
    dispersions: Numbers
    edges: tuple[Pair, ...]
    anchors: dict[int, tuple[int, ...]]
    gap_costs: bool

    @cached_property
    def arms(self) -> tuple[int, ...]:
        """The costly arms that are compared with another arm, in the order of their numbers."""
        return tuple(sorted({arm for pair in self.edges for arm in pair} | set(self.anchors)))

    @cached_property
    def anchoring(self) -> tuple[int, ...]:
        """The free arms with which some costly arm is compared."""
        return tuple(sorted({free for frees in self.anchors.values() for free in frees}))

    @property
    def gaussian_pair(self) -> Pair | None:
        """The only two costly arms that are compared, where they are Gaussian and compared with each other."""
        alone = isinstance(self.family, Gaussian) and len(self.arms) == 2 and len(self.edges) == 1
        return self.edges[0] if alone else None

    def distance(self, a: int, b: int) -> Fraction:
        """``|mu_a - mu_b|``."""
        return abs(self.means[a] - self.means[b])

    def nearest_distance(self, arm: int) -> Fraction:
        """Distance of an arm to the nearest free arm with which it is compared."""
        return min(self.distance(arm, free) for free in self.anchors[arm])

    def nearest(self, arm: int) -> Nearest:
        """The free arms with which an arm is compared, reduced to those that matter: d(x, y) grows away from x."""
        means = [self.means[free] for free in self.anchors[arm]]
        above = [mean for mean in means if mean > self.means[arm]]
        below = [mean for mean in means if mean < self.means[arm]]
        return Nearest(min(above or [max(below)]), max(below or [min(above)]))

    def components(self) -> "list[ComparedPairs]":
        """The parts that share no costly arm: costly arms joined by edges, each with its anchors."""
        label = {arm: arm for arm in self.arms}
        for a, b in self.edges:
            old, new = label[a], label[b]
            label = {arm: new if group == old else group for arm, group in label.items()}
        return [
            self._part({arm for arm in self.arms if label[arm] == group}) for group in dict.fromkeys(label.values())
        ]

    def _part(self, arms: set[int]) -> "ComparedPairs":
        edges = tuple(pair for pair in self.edges if pair[0] in arms)
        return replace(self, edges=edges, anchors={arm: free for arm, free in self.anchors.items() if arm in arms})


def compare(model: BanditModel, task: Task, exact: bool) -> ComparedPairs | None:
    """The comparisons of a model and a task, None where a tie makes T* infinite or some statement is not plain.

    The numbers are the exact ones that were given, or the doubles that stand for them.
    """
    asked = ask(model, task)
    if not asked.columns.is_plain:
        return None
    pairs = plain_pairs(asked.statements)
    if any(model.means[a] == model.means[b] for a, b in pairs):
        return None
    found = arrange(pairs, model.costly)
    anchors: dict[int, tuple[int, ...]] = {}
    for number, free, _ in found.anchors:
        arm = found.labels[number]
        anchors[arm] = (*anchors.get(arm, ()), free)
    edges = tuple(pairs[index] for index in found.edge_pairs)
    means, costs, dispersions = (
        (model.exact_means, model.exact_costs, model.exact_dispersions)
        if exact
        else (tuple(map(Fraction, values)) for values in (model.means, model.costs, model.dispersions.tolist()))
    )
    return ComparedPairs(model.family, means, costs, dispersions, edges, anchors, has_gap_costs(model))


def has_gap_costs(model: BanditModel) -> bool:
    """Whether each arm costs its distance to the best mean, by rule or by its numbers."""
    best = max(model.exact_means)
    return model.cost_rule is not None or all(
        cost == best - mean for mean, cost in zip(model.exact_means, model.exact_costs, strict=True)
    )
