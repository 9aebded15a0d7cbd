"""From a model and a task to the characteristic-time problem that every backend solves.

The problem keeps only what can matter: the costly arms of the support, scaled to unit dispersion and relabelled in
the order in which the pairs name them, so that all instances of one shape are the same program.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caet_opt.errors import InputError, TieError
from caet_opt.families import Family
from caet_opt.families.numerics import Array
from caet_opt.model import BanditModel
from caet_opt.tasks import Pair, Task

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Shape:
    """What a program is built for: everything but the numbers.

    ``edges`` are the pairs of two costly arms; ``anchored`` are the arms that some pair compares with a free arm.
    """

    family: type[Family]
    arms: int
    edges: tuple[Pair, ...]
    anchored: tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """``min cost . w  subject to  f_e(w) >= 1`` for every needed pair, over the costly arms of the support.

    The pair terms are the edges, ``w_a d(mu_a, m) + w_b d(mu_b, m)`` with m the weighted mean, followed by the
    anchors, ``w_a rate`` with ``rate = d(mu_a, mu_b)`` for the nearest free arm b.

    Attributes
    ----------
    labels : the model's number of each arm
    pairs : the model's pair behind each term
    dispersions : by which a unit-dispersion effort is multiplied to give the model's effort
    """

    shape: Shape
    family: Family
    means: Array
    costs: Array
    rates: Array
    labels: Indices
    pairs: tuple[Pair, ...]
    dispersions: Array

    @cached_property
    def heads(self) -> Indices:
        return np.array([a for a, _ in self.shape.edges], dtype=np.intp)

    @cached_property
    def tails(self) -> Indices:
        return np.array([b for _, b in self.shape.edges], dtype=np.intp)

    @cached_property
    def anchored(self) -> Indices:
        return np.array(self.shape.anchored, dtype=np.intp)

    @cached_property
    def differences(self) -> Array:
        """``mu_b - mu_a`` of each edge, taken once so that close means lose no digit later."""
        return self.means[self.tails] - self.means[self.heads]

    def term_gradients(self, effort: Array) -> tuple[Array, Array, Array]:
        """Weighted mean m of each edge, and the gradient ``(d(mu_a, m), d(mu_b, m))`` of its term."""
        wa, wb = effort[self.heads], effort[self.tails]
        mua, mub = self.means[self.heads], self.means[self.tails]
        total = wa + wb
        m = (wa / total) * mua + (wb / total) * mub
        da = self.family.unit_divergence(mua, m, (wb / total) * self.differences)
        db = self.family.unit_divergence(mub, m, -(wa / total) * self.differences)
        return m, np.asarray(da, dtype=float), np.asarray(db, dtype=float)

    def terms(self, effort: Array) -> Array:
        """``f_e(w)`` of every edge, then of every anchor."""
        _, da, db = self.term_gradients(effort)
        return np.concatenate([effort[self.heads] * da + effort[self.tails] * db, effort[self.anchored] * self.rates])

    def first_guess(self) -> Array:
        """An effort that satisfies each pair by itself, with the divergences replaced by parabolas.

        A pair alone has ``w_a = (2 V / gap^2) (1 + sqrt(c_b / c_a))``; an arm takes the largest of its pairs'.
        """
        guess = np.zeros(self.shape.arms)
        np.maximum.at(guess, self.anchored, 1.0 / self.rates)
        ca, cb = self.costs[self.heads], self.costs[self.tails]
        middle = 0.5 * (self.means[self.heads] + self.means[self.tails])
        scale = 2.0 * self.family.unit_variance(middle) / self.differences**2
        np.maximum.at(guess, self.heads, scale * (1.0 + np.sqrt(cb / ca)))
        np.maximum.at(guess, self.tails, scale * (1.0 + np.sqrt(ca / cb)))
        return guess


def pose(model: BanditModel, task: Task) -> Problem:
    """The problem of a model and a task; `TieError` when two arms of a needed pair have equal means."""
    task.check(len(model.means))
    pairs = task.pairs(model.means)
    for a, b in pairs:
        if model.means[a] == model.means[b]:
            raise TieError(
                f"arms {describe(model, a)} and {describe(model, b)} have equal means ({model.means[a]:g}) in a "
                f"pair that task {str(task)!r} needs, so T* is infinite; separate them or drop the pair"
            )
    dispersions = model.dispersions
    edges = [pair for pair in pairs if model.costs[pair[0]] > 0 and model.costs[pair[1]] > 0]
    anchors = nearest_free_arms(model, pairs)
    labels = list(dict.fromkeys([arm for edge in edges for arm in edge] + sorted(anchors)))
    number = {label: arm for arm, label in enumerate(labels)}
    anchored = sorted(anchors, key=number.__getitem__)
    problem = Problem(
        shape=Shape(
            family=type(model.family),
            arms=len(labels),
            edges=tuple((number[a], number[b]) for a, b in edges),
            anchored=tuple(number[label] for label in anchored),
        ),
        family=model.family,
        means=np.array([model.means[label] for label in labels], dtype=float),
        costs=np.array([model.costs[label] * dispersions[label] for label in labels], dtype=float),
        rates=np.array([anchors[label][0] for label in anchored], dtype=float),
        labels=np.array(labels, dtype=np.intp),
        pairs=tuple(edges) + tuple(anchors[label][1] for label in anchored),
        dispersions=dispersions[labels] if labels else np.zeros(0),
    )
    check_representable(model, problem)
    return problem


def nearest_free_arms(model: BanditModel, pairs: tuple[Pair, ...]) -> dict[int, tuple[float, Pair]]:
    """For each costly arm compared with free ones: the smallest divergence to one, and that pair.

    An infinite divergence (a free Bernoulli arm of mean 0, say) is satisfied by any positive effort, so it
    constrains nothing.
    """
    nearest: dict[int, tuple[float, Pair]] = {}
    for pair in pairs:
        costly = [arm for arm in pair if model.costs[arm] > 0]
        if len(costly) != 1:
            continue
        arm = costly[0]
        x, y = model.means[arm], model.means[pair[1] if arm == pair[0] else pair[0]]
        rate = float(model.family.unit_divergence(x, y, y - x))
        if np.isfinite(rate) and (arm not in nearest or rate < nearest[arm][0]):
            nearest[arm] = (rate, pair)
    return nearest


def check_representable(model: BanditModel, problem: Problem) -> None:
    """Refuse numbers so extreme that a pair term over- or underflows in double precision."""
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        guess = problem.first_guess()
        terms = problem.terms(guess)
        spent = problem.costs * guess
    for pair, term in zip(problem.pairs, terms, strict=True):
        if not (np.isfinite(term) and term > 0):
            a, b = (describe(model, arm) for arm in pair)
            raise InputError(
                f"the divergence between arms {a} and {b} is outside double precision; "
                "rescale the means or move them apart"
            )
    for label, amount in zip(problem.labels, spent, strict=True):
        if not (np.isfinite(amount) and amount > 0):
            raise InputError(
                f"the cost {model.costs[label]:g} of arm {describe(model, int(label))} is outside double "
                "precision beside its divergences; rescale the costs"
            )


def describe(model: BanditModel, arm: int) -> str:
    """An arm's number, and its name where it has one."""
    return str(arm) if model.arms[arm] == str(arm) else f"{arm} ({model.arms[arm]})"
