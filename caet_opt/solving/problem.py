"""From a model and a task to the characteristic-time problem that every backend solves.

The problem keeps only what can matter: the costly arms of the support, scaled to unit dispersion and relabelled in
the order in which the statements name them, so that all instances of one shape are the same program.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caet_opt.bandits.families import Family
from caet_opt.bandits.families.numerics import Array, Mask
from caet_opt.bandits.limits import Limit
from caet_opt.bandits.model import BanditModel, check_model
from caet_opt.bandits.tasks import Pair, Task, check_direction, parse_task
from caet_opt.bandits.tasks.lower import LowerIsBetter
from caet_opt.bandits.tasks.pairs import MARGIN, MARGIN_ROWS, RATIO
from caet_opt.bandits.tasks.statements import Statement, encode, judge
from caet_opt.bandits.tasks.tolerant import NOTES
from caet_opt.common.exact import decimal_text
from caet_opt.errors import InputError, TieError
from caet_opt.kernels.elimination_order import columns, integers, plan_elimination
from caet_opt.kernels.family_codes import FAMILY_CODES, model_numbers
from caet_opt.kernels.instance import Layout
from caet_opt.kernels.margin_term import HOLDS, statement_side
from caet_opt.kernels.native import interpreted_kernel, present_kernel
from caet_opt.kernels.records import EDGE_MARGIN, LAST, PIECE, Data, Plan, Work, make_work
from caet_opt.kernels.statement_columns import Columns, list_columns
from caet_opt.kernels.term import BOUNDED, GAUSSIAN, POISSON, means_differ
from caet_opt.solving.asked import recall
from caet_opt.solving.levels import constrains, level_divergence
from caet_opt.solving.limits import check_limits, find_leader, limit_rows
from caet_opt.solving.programs.cache import cached_program
from caet_opt.solving.rows import Row, meant_costs, round_rows

Indices = NDArray[np.intp]
Pattern = tuple[Columns, type[Family], tuple[bool, ...]]

#: Where means say all.
NO_TABLE = np.zeros(0)


@dataclass(eq=False)
class Question:
    """What every solver is asked: the model, the task, and the columns of its statements at these means.

    Solvers that need it take the reduced problem, which is posed when it is first asked for. ``is_clear`` says that
    there is no tie but one that the kernel finds.
    """

    model: BanditModel
    task: Task
    columns: Columns
    is_clear: bool = False
    limits: tuple[Limit, ...] = ()

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The limits as rows, for an effort per arm of the model; `InputError` where they make no sense for it."""
        return limit_rows(self.limits, self.model, self.task, self.leader) if self.limits else ()

    @cached_property
    def leader(self) -> int | None:
        """The arm that the answer names as the best one, where a limit is about it and the answer names one."""
        return find_leader(self.limits, self.task, self.model.means)

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

    ``edges`` are the statements about two costly arms, twice where the term may have two minima; ``anchored`` are the
    arms that some statement compares with a free arm or a level. ``margins`` are the edges with a margin that is no
    shift of a mean, so that the point at which the term is least has no formula. ``limits`` says of each row whether
    it is an equation.
    """

    family: type[Family]
    arms: int
    edges: tuple[Pair, ...]
    anchored: tuple[int, ...]
    margins: tuple[int, ...] = ()
    limits: tuple[bool, ...] = ()

    @property
    def pairs(self) -> tuple[int, ...]:
        """The other edges: ``w_a d(mu_a, m) + w_b d(mu_b, m)`` with m a weighted mean."""
        return tuple(edge for edge in range(len(self.edges)) if edge not in set(self.margins))


class EdgeTerms(NamedTuple):
    """The terms of edges: value f, rates, which are the gradient ``(d_a, d_b)`` in the efforts, and bend.

    The Hessian in the efforts is ``-bend v v'`` with ``v = (1 / w_a, -1 / w_b)``, in their logarithms that of log f is
    ``-(bend / f - p_a p_b) (1, -1)(1, -1)'`` with the shares ``p = w d / f``.
    """

    values: Array
    head_rates: Array
    tail_rates: Array
    bends: Array


@dataclass(frozen=True)
class Problem:
    """``min cost . w  subject to  f_e(w) >= 1`` for every statement, over the costly arms of the support.

    The terms are the edges, ``w_a d(mu_a, x) + w_b d(mu_b, y)`` at the x and y that make the statement false and this
    the least, followed by the anchors, ``w_a rate`` with ``rate = d(mu_a, mu_b)`` for the nearest free arm b or level.
    Where a statement is plain, is a ratio, or has a margin and Gaussian arms, x is a weighted mean of mu_a and of
    what the winner has to exceed.

    Attributes
    ----------
    labels : the model's number of each arm
    means, rests : the means are their sums, a rest being what rounding to a double took away
    statements, columns : the model's statement behind each term, and its column
    margins : the rows from EDGE_MARGIN to LAST of `caet_opt.kernels.records` for each edge; no columns where all are
        plain
    dispersions : by which a unit-dispersion effort is multiplied to give the model's effort
    rows : G of the limits ``G w <= 0``, or ``= 0``, beside the statements; arms that only these are about come last
    table : of the arms' distributions, for rewards in a range
    """

    shape: Shape
    family: Family
    means: Array
    rests: Array
    costs: Array
    rates: Array
    labels: Indices
    statements: tuple[Statement, ...]
    columns: Indices
    margins: Array
    dispersions: Array
    rows: Array
    table: Array

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
    def losers(self) -> tuple[Array, Array, Array]:
        """What the winner of each edge has to exceed, ``ratio mu_b + margin``, its rest, and the loser's scale: the
        effort by which it counts in a weighted mean, for each of its own."""
        tails = self.tails
        if self.is_plain:
            return self.means[tails], self.rests[tails], np.ones(len(tails))
        seen_loser = interpreted_kernel(self.shape.family)["seen_loser"]
        numbers = [self.means[tails], self.rests[tails], *self.margins[:MARGIN_ROWS]]
        means, rests = np.array([seen_loser(*edge) for edge in zip(*numbers, strict=True)]).reshape(-1, 2).T
        scaled = FAMILY_CODES.get(self.shape.family) == POISSON
        return means, rests, 1.0 / self.margins[RATIO] if scaled else np.ones(len(tails))

    @cached_property
    def differences(self) -> Array:
        """What the winner of each edge has to exceed less mu_a, taken once so that close means lose no digit later."""
        means, rests, _ = self.losers
        return (means - self.means[self.heads]) + (rests - self.rests[self.heads])

    def edge_terms(self, effort: Array) -> EdgeTerms:
        """The terms of the edges, ``w_a d(mu_a, m) + w_b d(mu_b, m)`` at weighted means m but for margins.

        Their bends are ``(gap w_a w_b)^2 / (V(m) (w_a + w_b)^3)``.
        """
        if self.table.size:
            rows = [self.margin_terms(effort, edge) for edge in range(len(self.shape.edges))]
            return EdgeTerms(*np.array(rows).reshape(-1, 4).T)
        seen, seen_rests, scales = self.losers
        wa, wb = effort[self.heads], effort[self.tails] * scales
        mua, resta = self.means[self.heads], self.rests[self.heads]
        ua, ub = wa / (wa + wb), wb / (wa + wb)
        da = np.array(self.family.mixture_divergence(mua, seen, ua, ub, resta, seen_rests), dtype=float)
        db = np.array(self.family.mixture_divergence(seen, mua, ub, ua, seen_rests, resta), dtype=float)
        middle = self.differences * (wa * wb / (wa + wb))
        bends = middle * middle / (self.family.unit_variance(ua * mua + ub * seen) * (wa + wb))
        found = EdgeTerms(wa * da + wb * db, da, db * scales, np.array(bends, dtype=float))
        for edge in self.shape.margins:
            for values, value in zip(found, self.margin_terms(effort, edge), strict=True):
                values[edge] = value
        return found

    def margin_terms(self, effort: Array, edge: int) -> tuple[float, float, float, float]:
        """f, rates and bend ``(w_a d_a')^2 / F''`` of an edge of `Shape.margins`; the bend is 0 at an end of its piece.

        As ``F' = (w_a h_a / V(x)) (R w_b / w_a - 1)`` with R as in `caet_opt.kernels.margin_term`, F'' is
        ``w_a h_a / V(x)`` times the slope of log R.
        """
        kernel, code, numbers = interpreted_kernel(self.shape.family), *self.margin_numbers(edge)
        wa, wb = (float(effort[arm]) for arm in self.shape.edges[edge])
        if self.table.size:
            first, second = (kernel["row_of"](self.table, 0, arm) for arm in self.shape.edges[edge])
            gap, shift = kernel["bounded_gap"](self.table, first, *numbers[:6])
            found = present_kernel(self.shape.family)["bounded_term"](self.table, first, second, wa, wb, gap, shift)
            return float(found[0]), float(found[1]), float(found[2]), float(found[3])
        f, da, db, _, odds = kernel["margin_term"](code, wa, wb, *numbers)
        if not 0.0 < odds < inf:
            return f, da, db, 0.0
        y, margin, (first, last) = numbers[1], numbers[4], numbers[-2:]
        # numbers of numpy, by whose zeros can be divided
        frame = tuple(map(np.float64, kernel["margin_frame"](code, *numbers[:6])))
        share, other = kernel["shares_of"](odds)
        at = tuple(map(np.float64, kernel["margin_point"](y, frame, share, other)))
        slope = kernel["lean_slope"](code, margin, frame, at, share, other)
        if not (first < share < last and slope > 0.0):
            return f, da, db, 0.0
        step, _, point, _, fails, _ = at
        return f, da, db, wa * kernel["steepness"](code, step, point, fails) * frame[1] * share * other / slope

    def margin_numbers(self, edge: int) -> tuple[int, list[float]]:
        """The family's code, and what `caet_opt.kernels.margin_term.margin_term` takes after the efforts."""
        a, b = self.shape.edges[edge]
        margin, rest, _, _, first, last = self.margins[:, edge].tolist()
        means = [float(number) for number in (self.means[a], self.means[b], self.rests[a], self.rests[b])]
        return FAMILY_CODES[self.shape.family], [*means, margin, rest, first, last]

    def terms(self, effort: Array) -> Array:
        """``f_e(w)`` of every edge, then of every anchor."""
        return np.concatenate([self.edge_terms(effort).values, effort[self.anchored] * self.rates])

    def first_guess(self) -> Array:
        """An effort that satisfies each statement by itself, with the divergences replaced by parabolas.

        A pair alone has ``w_a = (2 V / gap^2) (1 + sqrt(c_b / c_a))``; an arm takes the largest of its statements'.
        One without any, which limits are about, costs as much as the others on average.
        """
        guess = self.guess_stated()
        if self.shape.limits:
            idle = ~self.stated
            guess[idle] = np.mean((self.costs * guess)[~idle]) / self.costs[idle]
        return guess

    @cached_property
    def stated(self) -> Mask:
        """Which arms some statement is about; the others are limits'."""
        found = np.zeros(self.shape.arms, dtype=bool)
        found[np.concatenate([self.heads, self.tails, self.anchored])] = True
        return found

    def guess_stated(self) -> Array:
        """The first guess for the arms of the statements."""
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
        work = make_work(self.shape.arms, edges, 0, 1, True, self.table.size)
        work.inner[:] = self.table
        work.rows[EDGE_MARGIN : LAST + 1, :edges] = self.margins
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


def read_task(task: Task | str, model: BanditModel | None = None) -> Task:
    """A task, or one in the grammar, with the names of a model's arms, and better where that says."""
    if model is not None:
        check_model(model)
    if isinstance(task, str):
        return parse_known(task, (), False) if model is None else parse_known(task, model.arms, model.lower_is_better)
    if not isinstance(task, Task):
        return parse_task(task)
    if model is not None:
        check_direction(model, task)
    return task


@lru_cache(maxsize=256)
def parse_known(text: str, names: tuple[str, ...], lower_is_better: bool) -> Task:
    """`parse_task` with a memory."""
    return parse_task(text, names, lower_is_better=lower_is_better)


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


def ask(model: BanditModel, task: Task, limits: tuple[Limit, ...] = ()) -> Question:
    """The question of a model and a task; `InputError` where the task makes no sense for the model."""
    asked = recall(task)
    asked.check(model)
    if task.needs_costs:
        asked = asked.for_costs(model)
    columns, is_clear = asked.columns_at(model)
    return Question(model, asked.task, columns, is_clear, limits)


def ask_answer(model: BanditModel, task: Task, answer: Hashable, limits: tuple[Limit, ...] = ()) -> Question:
    """The question of one of several right answers, of a model for which the task makes sense."""
    columns = list_columns(task.answer_statements(answer, len(model.means)), type(model.family))
    return Question(model, task, columns, limits=limits)


def ask_one(model: BanditModel, task: Task, limits: tuple[Limit, ...] = ()) -> Question:
    """The question that is one program; `InputError` where several answers may be right, each a program of its own."""
    if task.several_right:
        raise InputError(
            f"task {str(task)!r} has a program for each right answer, not one; give the statements of one answer "
            'as a task, Custom([["0 > 1 - 0.05", ...]])'
        )
    return ask(model, task, limits)


@np.errstate(all="ignore")  # what leaves double precision is refused at the end
def pose(model: BanditModel, task: Task) -> Problem:
    """The problem of a model and a task; `TieError` where a statement is neither true nor false."""
    return pose_question(ask(model, task))


@np.errstate(all="ignore")
def pose_question(question: Question) -> Problem:
    """The problem of a question."""
    model, columns = question.model, question.columns
    check_no_ties(model, question.task, question.statements)
    kept = [p for p in range(len(columns.owners)) if has_term(model, columns, p)]
    statements = tuple(columns.statements[columns.owners[p]] for p in kept)
    arrangement = arrange(tuple(map(tuple, columns.pairs[:, kept].T.tolist())), model.costly)
    labels = list(arrangement.labels)
    rows = question.rows if labels else ()  # where nothing is to be found out, nothing is spent
    if rows:
        check_limits(question.limits, rows[: len(question.limits)], meant_costs(model), model.arms, labels)
        labels += [arm for arm in np.flatnonzero(model.costly).tolist() if arm not in set(labels)]
    dispersions = model.dispersions[labels]
    nearest = nearest_levels(model, arrangement, statements)
    anchored = sorted(nearest)
    behind = [*arrangement.edge_pairs, *(nearest[arm][1] for arm in anchored)]
    edges = [kept[index] for index in arrangement.edge_pairs]
    margins = np.zeros((LAST + 1 - EDGE_MARGIN, 0))
    formulas = model.distributions is None and all(statements[index].is_plain for index in arrangement.edge_pairs)
    if edges and not formulas:
        for statement in statements:
            check_formula(model, statement)
        pieces = [column_piece(model, columns, p) for p in edges]
        margins = np.concatenate([columns.margins[:MARGIN_ROWS, edges], np.array(pieces).T])
    problem = Problem(
        shape=Shape(
            type(model.family),
            len(labels),
            arrangement.edges,
            tuple(anchored),
            list_margins(type(model.family), margins),
            tuple(row.equal for row in rows),
        ),
        family=model.family,
        means=np.array(model.means)[labels],
        rests=model.mean_rests[labels],
        costs=np.array(model.costs)[labels] * dispersions,
        rates=np.array([nearest[arm][0] for arm in anchored], dtype=float),
        labels=np.array(labels, dtype=np.intp),
        statements=tuple(statements[index] for index in behind),
        columns=np.array([kept[index] for index in behind], dtype=np.intp),
        margins=margins,
        dispersions=dispersions,
        rows=round_rows(rows)[:, labels] * dispersions if rows else np.zeros((0, len(labels))),
        table=pick_rows(model.distribution_table, labels),
    )
    check_representable(model, problem)
    return problem


def pick_rows(table: Array, arms: Sequence[int]) -> Array:
    """The table of the distributions of these arms."""
    if not table.size:
        return NO_TABLE
    width = int(table[0])
    return np.concatenate([table[:1], *(table[1 + arm * width : 1 + (arm + 1) * width] for arm in arms)])


def list_margins(family: type[Family], margins: Array) -> tuple[int, ...]:
    """The edges with a margin that does not just shift a mean, as it does for Gaussian arms; all without a formula."""
    if FAMILY_CODES.get(family) == BOUNDED:
        return tuple(range(margins.shape[1]))
    if FAMILY_CODES.get(family, GAUSSIAN) == GAUSSIAN:
        return ()
    return tuple(np.flatnonzero(margins[MARGIN] != 0.0).tolist())


def has_term(model: BanditModel, columns: Columns, p: int) -> bool:
    """Whether a column can bind: its statement can, and where this is the second piece of a range, there is one."""
    if not constrains(model, columns.statements[columns.owners[p]]):
        return False
    if columns.is_plain or columns.margins[PIECE, p] == 0.0:
        return True
    if not all(model.costly[arm] for arm in columns.pairs[:, p].tolist()):
        return False
    first, last = column_piece(model, columns, p)
    return first < last


def column_piece(model: BanditModel, columns: Columns, p: int) -> tuple[float, float]:
    """First and last share of the piece of the range that a column of two costly arms has."""
    find = interpreted_kernel(type(model.family))["column_piece"]
    first, last = find(model_numbers(model), columns.pairs, columns.margins, p)
    return float(first), float(last)


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
                f"{equality(model, statement)} up to a difference too small for double precision; subtract a constant "
                "from all numbers, or rescale them"
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
            f"pair that task {str(task)!r} needs, so T* is infinite; {advise_at_tie(task)}"
        )
    raise too_close(model, a, b, "or hardly")


def advise_at_tie(task: Task) -> str:
    """What to do about a tie: with a tolerance, either arm is a right answer."""
    inner = task.task if isinstance(task, LowerIsBetter) else task
    if type(inner) in NOTES:
        return f"separate them, or give a tolerance, as {inner}~0.02"
    return "separate them or drop the pair"


def too_close(model: BanditModel, a: int, b: int, where: str) -> TieError:
    """The error for two means that differ, but not in double precision; ``where`` says what that matters to."""
    first, second = decimal_text(model.exact_means[a]), decimal_text(model.exact_means[b])
    return TieError(
        f"arms {name_arm(model, a)} and {name_arm(model, b)} differ ({first} and {second}), but not in double "
        f"precision, {where}; subtract a constant from all means, or rescale them"
    )


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
            check_spread(model, problem, statement)
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


def check_spread(model: BanditModel, problem: Problem, statement: Statement) -> None:
    """Raise `InputError` where a term is outside double precision for the costs alone: with equal ones none is."""
    alike = replace(problem, costs=np.ones_like(problem.costs))
    terms = alike.terms(alike.first_guess())
    if np.all(np.isfinite(terms) & (terms > 0)):
        told = " and ".join(f"{model.costs[arm]:g} of arm {name_arm(model, arm)}" for arm in statement.arms)
        raise InputError(
            f"the costs {told} are too far apart for double precision; if the smaller hardly counts, give 0"
        )


def check_formula(model: BanditModel, statement: Statement) -> None:
    """Raise `InputError` for a statement about two costly arms whose term no formula gives."""
    family, text = model.family, statement.write(model.arms)
    if len([arm for arm in statement.arms if model.costly[arm]]) < 2:
        return
    if statement.margin != 0 and statement.ratio != 1:
        raise InputError(f"{text!r} has a margin and a ratio; give one of the two")
    if not statement.is_plain and type(family) not in FAMILY_CODES:
        shipped = ", ".join(dict.fromkeys(known.name for known in FAMILY_CODES))
        raise InputError(f"{text!r}: margins and ratios are for the families {shipped}, not for {family.name}")


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
