"""What a model and a task compare: the statements, sorted by which arms cost something."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from caet_opt.bandits.families import Family, Gaussian
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair, Task
from caet_opt.bandits.tasks.statements import judge
from caet_opt.solving.levels import asked_level
from caet_opt.solving.problem import ask

Numbers = tuple[Fraction, ...]


class Nearest(NamedTuple):
    """The nearest levels above and below an arm; where there is none on a side, that of the other side."""

    above: Fraction
    below: Fraction


class Anchor(NamedTuple):
    """A level with which a costly arm is compared, and the free arm whose mean, shifted or scaled, it is."""

    level: Fraction
    free: int | None


@dataclass(frozen=True)
class ComparedPairs:
    """The statements about a model whose numbers are exact.

    Attributes
    ----------
    edges : statements about two costly arms
    gaps : for each of them, by how much the winner exceeds what it has to, margin and ratio included
    is_plain : whether all statements are about the order of arms alone
    anchors : for each costly arm that is compared with free arms or levels, those
    gap_costs : whether each arm costs its distance to the best mean
    """

    family: Family
    means: Numbers
    costs: Numbers
    dispersions: Numbers
    edges: tuple[Pair, ...]
    gaps: Numbers
    is_plain: bool
    anchors: dict[int, tuple[Anchor, ...]]
    gap_costs: bool

    @cached_property
    def arms(self) -> tuple[int, ...]:
        """The costly arms that are compared with another arm or a level, in the order of their numbers."""
        return tuple(sorted({arm for pair in self.edges for arm in pair} | set(self.anchors)))

    @cached_property
    def anchoring(self) -> tuple[Anchor, ...]:
        """The levels with which some costly arm is compared."""
        return tuple(dict.fromkeys(anchor for anchors in self.anchors.values() for anchor in anchors))

    @property
    def gaussian_pair(self) -> Pair | None:
        """The only two costly arms that are compared, where they are Gaussian and compared with each other."""
        alone = isinstance(self.family, Gaussian) and len(self.arms) == 2 and len(self.edges) == 1
        return self.edges[0] if alone else None

    def nearest_distance(self, arm: int) -> Fraction:
        """Distance of an arm to the nearest level with which it is compared."""
        return min(abs(self.means[arm] - anchor.level) for anchor in self.anchors[arm])

    def nearest(self, arm: int) -> Nearest:
        """The levels with which an arm is compared, reduced to those that matter: d(x, y) grows away from x."""
        levels = [anchor.level for anchor in self.anchors[arm]]
        above = [level for level in levels if level > self.means[arm]]
        below = [level for level in levels if level < self.means[arm]]
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
        kept = [index for index, pair in enumerate(self.edges) if pair[0] in arms]
        edges, gaps = tuple(self.edges[index] for index in kept), tuple(self.gaps[index] for index in kept)
        anchors = {arm: anchors for arm, anchors in self.anchors.items() if arm in arms}
        return replace(self, edges=edges, gaps=gaps, anchors=anchors)


def compare(model: BanditModel, task: Task, exact: bool) -> ComparedPairs | None:
    """The comparisons of a model and a task, None where a tie makes T* infinite, or means do not say it.

    The numbers are the exact ones that were given, or the doubles that stand for them.
    """
    statements = ask(model, task).statements
    if model.distributions is not None or any(
        judge(one, model.means if one.is_plain else model.exact_means) == 0 for one in statements
    ):
        return None
    means, costs, dispersions = (
        (model.exact_means, model.exact_costs, model.exact_dispersions)
        if exact
        else (tuple(map(Fraction, values)) for values in (model.means, model.costs, model.dispersions.tolist()))
    )
    edges: list[Pair] = []
    gaps: list[Fraction] = []
    anchors: dict[int, tuple[Anchor, ...]] = {}
    for one in statements:
        costly = [arm for arm in one.arms if model.costly[arm]]
        if len(costly) == 2:
            a, b = costly
            edges.append((a, b))
            gaps.append(means[a] - one.ratio * means[b] - one.margin)
        elif costly:
            (arm,) = costly
            free = next((other for other in one.arms if other != arm), None)
            level = asked_level(one, arm, means.__getitem__)
            anchors[arm] = (*anchors.get(arm, ()), Anchor(level, free))
    plain = all(one.is_plain for one in statements)
    numbers = (model.family, means, costs, dispersions)
    return ComparedPairs(*numbers, tuple(edges), tuple(gaps), plain, anchors, has_gap_costs(model))


def has_gap_costs(model: BanditModel) -> bool:
    """Whether each arm costs its distance to the best mean, by rule or by its numbers."""
    best = max(model.exact_means)
    return model.cost_rule is not None or all(
        cost == best - mean for mean, cost in zip(model.exact_means, model.exact_costs, strict=True)
    )
