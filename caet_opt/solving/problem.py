"""From a model and a task to the characteristic-time problem that every backend solves.

The problem keeps only what can matter: the costly arms of the support, scaled to unit dispersion and relabelled in
the order in which the statements name them, so that all instances of one shape are the same program.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caet_opt.bandits.families import Family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import GAPS, BanditModel
from caet_opt.bandits.tasks import Pair, Task, parse_task
from caet_opt.bandits.tasks.statements import Statement, encode, judge
from caet_opt.common.exact import decimal_text
from caet_opt.errors import InputError, TieError
from caet_opt.kernels.elimination_order import columns, integers, plan_elimination
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.instance import Layout
from caet_opt.kernels.margin_term import HOLDS, statement_side
from caet_opt.kernels.native import interpreted_kernel
from caet_opt.kernels.records import EDGE_MARGIN, Data, Plan, Work, make_work
from caet_opt.kernels.statement_columns import Columns, list_columns
from caet_opt.kernels.term import means_differ
from caet_opt.solving.programs.cache import cached_program

Indices = NDArray[np.intp]
Pattern = tuple[Columns, type[Family], tuple[bool, ...]]


@dataclass(eq=False)
class Question:
    """What every solver is asked: the model, the task, and the columns of its statements at these means.

    Solvers that need it take the reduced problem, which is posed when it is first asked for.
    """

    model: BanditModel
    task: Task
    columns: Columns

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What the answer at these means asserts."""
        return self.columns.statements

    @cached_property
    def problem(self) -> "Problem":
        """The reduced problem; `TieError` or `InputError` where there is none."""
        return pose_question(self)


@dataclass(frozen=True)
class Shape:
    """What a program is built for: everything but the numbers.

    ``edges`` are the statements about two costly arms; ``anchored`` are the arms that some statement compares with a
    free arm or a level.
    """

    family: type[Family]
    arms: int
    edges: tuple[Pair, ...]
    anchored: tuple[int, ...]


@dataclass(frozen=True)
class Problem:
    """``min cost . w  subject to  f_e(w) >= 1`` for every statement, over the costly arms of the support.

    The terms are the edges, ``w_a d(mu_a, m) + w_b d(mu_b, m)`` with m the weighted mean where a statement is plain,
    followed by the anchors, ``w_a rate`` with ``rate = d(mu_a, mu_b)`` for the nearest free arm b or level.

    Attributes
    ----------
    labels : the model's number of each arm
    means, rests : the means are their sums, a rest being what rounding to a double took away
    statements : the model's statement behind each term
    margins : the rows of `caet_opt.bandits.tasks.pairs` for each edge; no columns where all edges are plain
    dispersions : by which a unit-dispersion effort is multiplied to give the model's effort
    """

    shape: Shape
    family: Family
    means: Array
    rests: Array
    costs: Array
    rates: Array
    labels: Indices
    statements: tuple[Statement, ...]
    margins: Array
    dispersions: Array

    @property
    def is_plain(self) -> bool:
        """Whether each edge is the order of two arms."""
        return not self.margins.size

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
        if self.is_plain:
            _, da, db = self.term_gradients(effort)
            edges = effort[self.heads] * da + effort[self.tails] * db
        else:
            edges = np.array([self._margin_term(effort, edge) for edge in range(len(self.shape.edges))])
        return np.concatenate([edges, effort[self.anchored] * self.rates])

    def _margin_term(self, effort: Array, edge: int) -> float:
        a, b = self.shape.edges[edge]
        means, rests, space = self.means, self.rests, self.family.mean_space
        numbers = (effort[a], effort[b], means[a], means[b], rests[a], rests[b], *self.margins[:, edge])
        kernel = interpreted_kernel(type(self.family))
        code = FAMILY_CODES.get(type(self.family), -1)
        return float(kernel["statement_term"](code, space.low, space.high, *numbers, False, False)[1])

    def first_guess(self) -> Array:
        """An effort that satisfies each statement by itself, with the divergences replaced by parabolas.

        A pair alone has ``w_a = (2 V / gap^2) (1 + sqrt(c_b / c_a))``; an arm takes the largest of its statements'.
        """
        guess = np.zeros(self.shape.arms)
        np.maximum.at(guess, self.anchored, 1.0 / self.rates)
        if not self.is_plain:
            guess_statement, given = interpreted_kernel(type(self.family))["guess_statement"], self._kernel_data
            for edge, ends in enumerate(self.shape.edges):
                np.maximum.at(guess, list(ends), guess_statement(*given, edge))
            return guess
        ca, cb = self.costs[self.heads], self.costs[self.tails]
        middle = 0.5 * (self.means[self.heads] + self.means[self.tails])
        scale = 2.0 * self.family.unit_variance(middle) / self.differences**2
        np.maximum.at(guess, self.heads, scale * (1.0 + np.sqrt(cb / ca)))
        np.maximum.at(guess, self.tails, scale * (1.0 + np.sqrt(ca / cb)))
        return guess

    @cached_property
    def _kernel_data(self) -> tuple[Data, Work]:
        """The arms and edges as the kernel has them, without anchors."""
        arms = np.array([self.means, self.costs, np.zeros(self.shape.arms), self.rests])
        edges = len(self.shape.edges)
        work = make_work(self.shape.arms, edges, 0, 1, True)
        work.rows[EDGE_MARGIN : EDGE_MARGIN + len(self.margins), :edges] = self.margins
        return Data(FAMILY_CODES.get(type(self.family), -1), arms, integers([self.heads, self.tails])), work


class Arrangement(NamedTuple):
    """Which arms, edges and anchors a set of pairs has once it is known which arms cost something.

    labels : the model's number of each arm of the problem, in the order in which the pairs name them
    edges : pairs of two costly arms, in the problem's labels
    edge_pairs : the position of each edge among the pairs
    anchors : (arm, free arm of the model or -1, position among the pairs) of each pair of a costly and a free side
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
    """Sort the pairs into edges and anchors; pairs of two free arms, as which -1 counts, constrain nothing."""
    paid = (*costly, False)
    edge_pairs = [index for index, (a, b) in enumerate(pairs) if paid[a] and paid[b]]
    anchors = [(a, b, index) if paid[a] else (b, a, index) for index, (a, b) in enumerate(pairs) if paid[a] != paid[b]]
    labels = dict.fromkeys([arm for index in edge_pairs for arm in pairs[index]] + [arm for arm, _, _ in anchors])
    number = {label: arm for arm, label in enumerate(labels)}
    return Arrangement(
        labels=tuple(labels),
        edges=tuple((number[pairs[index][0]], number[pairs[index][1]]) for index in edge_pairs),
        edge_pairs=tuple(edge_pairs),
        anchors=tuple((number[arm], free, index) for arm, free, index in anchors),
    )


def ask(model: BanditModel, task: Task) -> Question:
    """The question of a model and a task; `InputError` where the task makes no sense for the model.

    Answers with margins, levels or ratios are those of the exact means, since what is typed as 0.3 is not less than
    0.2 + 0.1; the order of two doubles is what it is.
    """
    task.check(len(model.means))
    task.check_family(model.family)
    if task.needs_costs:
        if model.cost_rule == GAPS:
            raise InputError(
                f"task {str(task)!r} needs costs that are known; give one cost per arm instead of {GAPS!r}"
            )
        task = task.for_costs(model.exact_costs)
    family = type(model.family)
    found = find_columns(task, model.means, family)
    return Question(model, task, found if found.is_plain else find_columns(task, model.exact_means, family))


#: For each task of ours that was asked lately, by its id: the task, and the columns of its answers. Such tasks do not
#: change; those of users, who may know better, are asked each time.
_asked: dict[int, tuple[Task, dict[Any, Columns] | None]] = {}

#: So many tasks, and answers of each, are kept.
MOST_KEPT = 256


def find_columns(task: Task, means: Sequence[Any], family: type[Family]) -> Columns:
    """The columns of the answer for these means."""
    kept = _asked.get(id(task))
    if kept is None or kept[0] is not task:
        kept = keep_task(task)
    known = kept[1]
    if known is None:
        return list_columns(task.statements(means), family)
    answer = task.answer(means)
    key = answer, len(means), family
    found = known.get(key)
    if found is None:
        if len(known) >= MOST_KEPT:
            known.clear()
        found = known[key] = list_columns(task.answer_statements(answer, len(means)), family)
    return found


def keep_task(task: Task) -> tuple[Task, dict[Any, Columns] | None]:
    """An entry of `_asked` for a task."""
    if len(_asked) >= MOST_KEPT:
        _asked.clear()
    ours = type(task).__module__.startswith("caet_opt.") and type(task).statements is Task.statements
    kept = _asked[id(task)] = task, {} if ours else None
    return kept


@np.errstate(all="ignore")  # what leaves double precision is refused at the end
def pose(model: BanditModel, task: Task) -> Problem:
    """The problem of a model and a task; `TieError` where a statement is neither true nor false."""
    return pose_question(ask(model, task))


@np.errstate(all="ignore")
def pose_question(question: Question) -> Problem:
    """The problem of a question."""
    model, statements = question.model, question.statements
    check_no_ties(model, question.task, statements)
    statements = tuple(statement for statement in statements if constrains(model, statement))
    pairs, margins = encode(statements)
    arrangement = arrange(tuple(map(tuple, pairs.T.tolist())), model.costly)
    labels = list(arrangement.labels)
    dispersions = model.dispersions[labels]
    nearest = nearest_levels(model, arrangement, statements)
    anchored = sorted(nearest)
    edges = [statements[index] for index in arrangement.edge_pairs]
    plain = all(statement.is_plain for statement in edges)
    problem = Problem(
        shape=Shape(type(model.family), len(labels), arrangement.edges, tuple(anchored)),
        family=model.family,
        means=np.array(model.means)[labels],
        rests=model.mean_rests[labels],
        costs=np.array(model.costs)[labels] * dispersions,
        rates=np.array([nearest[arm][0] for arm in anchored], dtype=float),
        labels=np.array(labels, dtype=np.intp),
        statements=(*edges, *(statements[nearest[arm][1]] for arm in anchored)),
        margins=margins[:, [] if plain else list(arrangement.edge_pairs)],
        dispersions=dispersions,
    )
    check_representable(model, problem)
    return problem


def check_no_ties(model: BanditModel, task: Task, statements: tuple[Statement, ...]) -> None:
    """Raise `TieError` for a statement whose two sides are equal, or that doubles cannot tell apart."""
    for statement in statements:
        a, b = statement[:2]
        if a is not None and b is not None and statement.is_plain:
            check_no_pair_ties(model, task, a, b)
        elif judge(statement, model.exact_means) == 0:
            raise TieError(
                f"{equality(model, statement)}, which task {str(task)!r} asks about, so T* is infinite; change that "
                "number, or the mean"
            )
        elif statement_side(*statement_numbers(model, statement)) != HOLDS:
            raise TieError(
                f"{equality(model, statement)} but for a difference that double precision does not have; subtract "
                "what the numbers have in common, or rescale them"
            )


def statement_numbers(model: BanditModel, statement: Statement) -> list[float]:
    """Means and rests of the two sides of a statement, and its margin and ratio with their rests, as the kernel has
    them."""
    sides = [-1 if arm is None else arm for arm in statement[:2]]
    means, rests = (*model.means, 0.0), (*model.mean_rests.tolist(), 0.0)
    return [*(means[arm] for arm in sides), *(rests[arm] for arm in sides), *encode([statement])[1][:, 0].tolist()]


def equality(model: BanditModel, statement: Statement) -> str:
    """That the two sides of a statement are equal, in words: b equals a + 0.02."""
    if statement.margin < 0 and len(statement.arms) == 2:
        statement = statement.reverse
    text = statement.write(model.arms)
    return text.replace(" > ", " equals ", 1) if " > " in text else text.replace(" < ", " equals ", 1)


def check_no_pair_ties(model: BanditModel, task: Task, a: int, b: int) -> None:
    """Raise `TieError` for two means that are equal, or that doubles cannot tell apart."""
    means, rests = model.means, model.mean_rests
    if means_differ(means[a], means[b], rests[a], rests[b]):
        return
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


def constrains(model: BanditModel, statement: Statement) -> bool:
    """Whether a statement can bind. A level at infinite divergence (a free Bernoulli arm of mean 0, say) or outside the
    mean space is told from the arm's mean by any positive effort."""
    costly = [arm for arm in statement.arms if model.costly[arm]]
    if len(costly) != 1:
        return len(costly) == 2
    low, high, *_ = model.family.mean_space
    level = asked_level(statement, costly[0], model.exact_means.__getitem__)
    if low < level < high:
        return True
    return low <= level <= high and bool(np.isfinite(level_divergence(model, statement, costly[0])))


def asked_level(statement: Statement, arm: int, mean_of: Callable[[int], Fraction]) -> Fraction:
    """The mean that an arm of a statement is held against, given the mean of the other side."""
    winner, loser, margin, ratio = statement
    if arm == winner:
        return (0 if loser is None else ratio * mean_of(loser)) + margin
    return ((0 if winner is None else mean_of(winner)) - margin) / ratio


def level_divergence(model: BanditModel, statement: Statement, arm: int) -> float:
    """d(mu_a, level) of the costly arm of a statement whose other side is free."""
    means, rests = model.means, model.mean_rests
    level = asked_level(statement, arm, lambda other: Fraction(means[other]) + Fraction(float(rests[other])))
    point = float(level)
    rest = float(level - Fraction(point))
    return float(model.family.mixture_divergence(means[arm], point, 0.0, 1.0, rests[arm], rest))


def nearest_levels(
    model: BanditModel, arrangement: Arrangement, statements: tuple[Statement, ...]
) -> dict[int, tuple[float, int]]:
    """For each arm compared with free ones or levels: the smallest divergence to one, and that statement's position."""
    nearest: dict[int, tuple[float, int]] = {}
    for arm, _, position in arrangement.anchors:
        rate = level_divergence(model, statements[position], arrangement.labels[arm])
        if arm not in nearest or rate < nearest[arm][0]:
            nearest[arm] = (rate, position)
    return nearest


def check_representable(model: BanditModel, problem: Problem) -> None:
    """Refuse numbers so extreme that a term over- or underflows in double precision, and terms that have no formula."""
    guess = problem.first_guess()
    for statement, term in zip(problem.statements, problem.terms(guess), strict=True):
        if not (np.isfinite(term) and term > 0):
            check_formula(model, statement)
            if statement.is_plain:
                a, b = (name_arm(model, arm) for arm in statement.arms)
                what = f"the divergence between arms {a} and {b}"
            else:
                what = f"the divergence of {statement.write(model.arms)!r}"
            raise InputError(f"{what} is outside double precision; rescale the means or move them apart")
    for label, amount in zip(problem.labels, problem.costs * guess, strict=True):
        if not (np.isfinite(amount) and amount > 0):
            raise InputError(
                f"the cost {model.costs[label]:g} of arm {name_arm(model, int(label))} is outside double "
                "precision beside its divergences; rescale the costs"
            )


def check_formula(model: BanditModel, statement: Statement) -> None:
    """Raise `InputError` for a statement about two costly arms whose term no formula gives."""
    family, text = model.family, statement.write(model.arms)
    if len([arm for arm in statement.arms if model.costly[arm]]) < 2:
        return
    if statement.margin != 0 and statement.ratio != 1:
        raise InputError(f"{text!r} has a margin and a ratio; give one of the two")
    if statement.margin != 0 and type(family) not in FAMILY_CODES:
        shipped = ", ".join(dict.fromkeys(known.name for known in FAMILY_CODES))
        raise InputError(f"{text!r}: margins are for the families {shipped}, not for {family.name}")


def name_arm(model: BanditModel, arm: int) -> str:
    """An arm's number, and its name where it has one."""
    return str(arm) if model.arms[arm] == str(arm) else f"{arm} ({model.arms[arm]})"


def lay_out(pattern: Pattern) -> tuple[Layout, Plan] | None:
    """Layout of the columns and plan of their shape, given which arms cost something; None when none does."""
    stated, family, costly = pattern
    found = arrange(tuple(map(tuple, stated.pairs.T.tolist())), costly)
    if not found.labels:
        return None
    edges, anchors = columns(found.edges, 2), columns(found.anchors, 3)
    own = stated.pairs, stated.margins
    layout = Layout(integers(found.labels), edges, integers(found.edge_pairs), anchors, *own)
    anchored = tuple(sorted({arm for arm, _, _ in found.anchors}))
    return layout, cached_program("native", Shape(family, len(found.labels), found.edges, anchored), build_plan)


def build_plan(shape: Shape) -> Plan:
    """The elimination plan of a shape."""
    return plan_elimination(shape.arms, shape.edges)
