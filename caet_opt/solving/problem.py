"""From a model and a task to the characteristic-time problem that every backend solves.

The problem keeps only what can matter: the costly arms of the support, scaled to unit dispersion and relabelled in
the order in which the pairs name them, so that all instances of one shape are the same program.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caet_opt.bandits.families import Family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair, Task, parse_task
from caet_opt.common.exact import decimal_text
from caet_opt.errors import InputError, TieError
from caet_opt.kernels.certify import means_differ

Indices = NDArray[np.intp]


@dataclass(eq=False)
class Question:
    """What every solver is asked: the model, the task, and the pairs that the task needs at these means.

    Solvers that need it take the reduced problem, which is posed when it is first asked for.
    """

    model: BanditModel
    task: Task
    pairs: tuple[Pair, ...]

    @cached_property
    def problem(self) -> "Problem":
        """The reduced problem; `TieError` or `InputError` where there is none."""
        return pose(self.model, self.task)


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
    means, rests : the means are their sums, a rest being what rounding to a double took away
    pairs : the model's pair behind each term
    dispersions : by which a unit-dispersion effort is multiplied to give the model's effort
    """

    shape: Shape
    family: Family
    means: Array
    rests: Array
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
        rests = self.rests[self.tails] - self.rests[self.heads]
        return (self.means[self.tails] - self.means[self.heads]) + rests

    def term_gradients(self, effort: Array) -> tuple[Array, Array, Array]:
        """Weighted mean m of each edge, and the gradient ``(d(mu_a, m), d(mu_b, m))`` of its term."""
        wa, wb = effort[self.heads], effort[self.tails]
        mua, mub = self.means[self.heads], self.means[self.tails]
        ua, ub = wa / (wa + wb), wb / (wa + wb)
        resta, restb = self.rests[self.heads], self.rests[self.tails]
        da = self.family.mixture_divergence(mua, mub, ua, ub, resta, restb)
        db = self.family.mixture_divergence(mub, mua, ub, ua, restb, resta)
        return ua * mua + ub * mub, np.asarray(da, dtype=float), np.asarray(db, dtype=float)

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


class Arrangement(NamedTuple):
    """Which arms, edges and anchors a set of pairs has once it is known which arms cost something.

    labels : the model's number of each arm of the problem, in the order in which the pairs name them
    edges : pairs of two costly arms, in the problem's labels
    edge_pairs : the position of each edge among the pairs
    anchors : (arm, free arm of the model, position among the pairs) of each pair of a costly and a free arm
    """

    labels: tuple[int, ...]
    edges: tuple[Pair, ...]
    edge_pairs: tuple[int, ...]
    anchors: tuple[tuple[int, int, int], ...]


def read_task(task: Task | str, names: tuple[str, ...] = ()) -> Task:
    """A task, or one in the grammar, in which arms may have these names."""
    if isinstance(task, str):
        return parse_known(task, names)
    return task if isinstance(task, Task) else parse_task(task)


#: `parse_task` with a memory.
parse_known = lru_cache(maxsize=256)(parse_task)


@lru_cache(maxsize=256)
def arrange(pairs: tuple[Pair, ...], costly: tuple[bool, ...]) -> Arrangement:
    """Sort the pairs into edges and anchors; pairs of two free arms constrain nothing."""
    edge_pairs = [index for index, (a, b) in enumerate(pairs) if costly[a] and costly[b]]
    anchors = [
        (a, b, index) if costly[a] else (b, a, index) for index, (a, b) in enumerate(pairs) if costly[a] != costly[b]
    ]
    labels = dict.fromkeys([arm for index in edge_pairs for arm in pairs[index]] + [arm for arm, _, _ in anchors])
    number = {label: arm for arm, label in enumerate(labels)}
    return Arrangement(
        labels=tuple(labels),
        edges=tuple((number[pairs[index][0]], number[pairs[index][1]]) for index in edge_pairs),
        edge_pairs=tuple(edge_pairs),
        anchors=tuple((number[arm], free, index) for arm, free, index in anchors),
    )


@np.errstate(all="ignore")  # what leaves double precision is refused at the end
def pose(model: BanditModel, task: Task) -> Problem:
    """The problem of a model and a task; `TieError` when two arms of a needed pair have equal means."""
    task.check(len(model.means))
    pairs = task.pairs(model.means)
    check_no_ties(model, task, pairs)
    pairs = tuple(pair for pair in pairs if constrains(model, pair))
    arrangement = arrange(pairs, model.costly)
    labels = list(arrangement.labels)
    dispersions = model.dispersions[labels]
    nearest = nearest_free_arms(model, arrangement)
    anchored = sorted(nearest)
    problem = Problem(
        shape=Shape(type(model.family), len(labels), arrangement.edges, tuple(anchored)),
        family=model.family,
        means=np.array(model.means)[labels],
        rests=model.mean_rests[labels],
        costs=np.array(model.costs)[labels] * dispersions,
        rates=np.array([nearest[arm][0] for arm in anchored], dtype=float),
        labels=np.array(labels, dtype=np.intp),
        pairs=tuple(pairs[index] for index in (*arrangement.edge_pairs, *(nearest[arm][1] for arm in anchored))),
        dispersions=dispersions,
    )
    check_representable(model, problem)
    return problem


def check_no_ties(model: BanditModel, task: Task, pairs: tuple[Pair, ...]) -> None:
    """Raise `TieError` for means inside a needed pair that are equal, or that doubles cannot tell apart."""
    means, rests = model.means, model.mean_rests.tolist()
    for a, b in pairs:
        if means_differ(means[a], means[b], rests[a], rests[b]):
            continue
        if model.exact_means[a] == model.exact_means[b]:
            raise TieError(
                f"arms {name_arm(model, a)} and {name_arm(model, b)} have equal means ({means[a]:g}) in a "
                f"pair that task {str(task)!r} needs, so T* is infinite; separate them or drop the pair"
            )
        raise too_close(model, a, b, "or hardly")


def too_close(model: BanditModel, a: int, b: int, where: str) -> TieError:
    """The error for two means that differ, but not in double precision; ``where`` says what that matters to."""
    first, second = decimal_text(model.exact_means[a]), decimal_text(model.exact_means[b])
    return TieError(
        f"arms {name_arm(model, a)} and {name_arm(model, b)} differ ({first} and {second}), but not in double "
        f"precision, {where}; subtract what the means have in common, or rescale them"
    )


def constrains(model: BanditModel, pair: Pair) -> bool:
    """Whether a pair can bind. A free arm at infinite divergence (a free Bernoulli arm of mean 0, say) is told from
    the other one by any positive effort."""
    a, b = pair
    if model.costly[a] == model.costly[b]:
        return model.costly[a]
    arm, free = (a, b) if model.costly[a] else (b, a)
    inside = model.family.mean_space.low < model.means[free] < model.family.mean_space.high
    return inside or bool(np.isfinite(free_divergences(model, [arm], [free])[0]))


def free_divergences(model: BanditModel, arms: list[int], free: list[int]) -> Array:
    """d(mu_a, mu_b) of arms from free ones."""
    means, rests = np.array(model.means), model.mean_rests
    found = model.family.mixture_divergence(means[arms], means[free], 0.0, 1.0, rests[arms], rests[free])
    return np.asarray(found, dtype=float)


def nearest_free_arms(model: BanditModel, arrangement: Arrangement) -> dict[int, tuple[float, int]]:
    """For each arm compared with free ones: the smallest divergence to one, and the position of that pair."""
    if not arrangement.anchors:
        return {}
    arms, free, positions = (list(column) for column in zip(*arrangement.anchors, strict=True))
    rates = free_divergences(model, [arrangement.labels[arm] for arm in arms], free).tolist()
    nearest: dict[int, tuple[float, int]] = {}
    for arm, rate, position in zip(arms, rates, positions, strict=True):
        if arm not in nearest or rate < nearest[arm][0]:
            nearest[arm] = (rate, position)
    return nearest


def check_representable(model: BanditModel, problem: Problem) -> None:
    """Refuse numbers so extreme that a pair term over- or underflows in double precision."""
    guess = problem.first_guess()
    for pair, term in zip(problem.pairs, problem.terms(guess), strict=True):
        if not (np.isfinite(term) and term > 0):
            a, b = (name_arm(model, arm) for arm in pair)
            raise InputError(
                f"the divergence between arms {a} and {b} is outside double precision; "
                "rescale the means or move them apart"
            )
    for label, amount in zip(problem.labels, problem.costs * guess, strict=True):
        if not (np.isfinite(amount) and amount > 0):
            raise InputError(
                f"the cost {model.costs[label]:g} of arm {name_arm(model, int(label))} is outside double "
                "precision beside its divergences; rescale the costs"
            )


def name_arm(model: BanditModel, arm: int) -> str:
    """An arm's number, and its name where it has one."""
    return str(arm) if model.arms[arm] == str(arm) else f"{arm} ({model.arms[arm]})"
