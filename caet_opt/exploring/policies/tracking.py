"""Policies that solve for their target and track it."""

from collections.abc import Hashable
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from math import fsum, isclose
from typing import Any, ClassVar

import numpy as np

from caet_opt.bandits.families import Bounded
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.errors import InputError, SolverError
from caet_opt.exploring.counted import table_size
from caet_opt.exploring.following import empirical_model
from caet_opt.exploring.policies.base import Diagnostics, Policy, RoundColumns, Setup, state_of
from caet_opt.exploring.saving import NUMBERS, TARGET_KEYS, Solution, Target
from caet_opt.exploring.state import ROUNDING, State
from caet_opt.kernels import aiming, boxes, ledger
from caet_opt.kernels.aiming import (
    Pursuit,
    Space,
    add_target,
    batch_end,
    decide,
    forget_target,
    is_near_best,
    keep_mended,
    look,
    next_arm,
)
from caet_opt.kernels.answer_choice import choose_followed
from caet_opt.kernels.boxes import DECIDED, DUE, ENDED, FOLLOWING, GROWTH, PATIENCE, SOLVED
from caet_opt.kernels.elimination_order import nothing_to_lay_out
from caet_opt.kernels.instance import Layout, make_workspace
from caet_opt.kernels.ledger import COUNT, CUMULATED, DONE, MEMORY, ROUND, Seen
from caet_opt.kernels.native import without_compiling
from caet_opt.kernels.records import COLUMN_ROWS, PIECE
from caet_opt.kernels.several import choice_is_due, find_settled, look_is_due
from caet_opt.kernels.statement_columns import Columns, list_columns
from caet_opt.solving.characteristic import solve_question
from caet_opt.solving.limits import build_rows, find_leader, nearest_shares
from caet_opt.solving.problem import Question, lay_out
from caet_opt.solving.programs.cache import cached_program
from caet_opt.solving.result import CharacteristicTime
from caet_opt.solving.rows import meant_costs, reduced_costs


class TrackingPolicy(Policy):
    """Solves for u_alpha of the empirical model, and pulls the arm that lags most behind it.

    In every round, or with ``solve = "lazy"`` where the last solution is no longer certified to be near the best:
    `caet_opt.kernels.aiming`.

    Attributes
    ----------
    blind : whether every cost counts as one in the solve
    by_money : whether shares of the money are tracked instead of those of the pulls
    """

    by_money: ClassVar[bool] = False
    tracks = True

    # What a policy that solves sees is a Pursuit.

    @staticmethod
    def choose(view: Any) -> int:
        """The arm that lags most behind the target."""
        if view.setting.tracking == CUMULATED:
            return int(view.aim.numbers[FOLLOWING])
        return next_arm(view.setting, view.arms, view.clock[ROUND])

    @staticmethod
    def respond(view: Any, arm: int, waiting: bool) -> int:
        """Decide on the target where that is due, add it to the cumulated one, look at the statements.

        One that was short of its threshold stays so until one of its arms is pulled, as thresholds do not fall with
        the rounds: while there is such a statement, no other is looked at, and that one only once its counts have
        outgrown what the box allows (`watch`).
        """
        setting, arms, aim, now = view.setting, view.arms, view.aim, view.clock[ROUND]
        if waiting:
            if setting.tracking == CUMULATED:
                for a in range(arms.shape[1]):
                    arms[MEMORY, a] += 1.0 / arms.shape[1]
            return DONE
        numbers, single = aim.numbers, setting.batch == 1.0 and setting.growth == 0.0
        moved = arm if single else -1  # the means of a batch have all moved
        if now >= numbers[DUE]:
            if choice_is_due(view):
                need = choose_followed(view)
                if need != DONE:
                    return need
            recent = setting.gap > 0.0 and now < GROWTH * numbers[SOLVED]
            if recent and is_near_best(view, moved):
                numbers[DECIDED], numbers[DUE] = now, batch_end(setting, now)
            elif not (recent and keep_mended(view)):
                need = decide(view, moved)
                if need != DONE:
                    return need
        if setting.tracking == CUMULATED:
            numbers[FOLLOWING] = add_target(arms)
        if numbers[DECIDED] == now and (arms[COUNT, arm] > aim.box[PATIENCE, arm] or not single):
            look(view)
        if look_is_due(view) and numbers[DECIDED] == now and numbers[ENDED] != now and find_settled(view):
            forget_target(setting, aim)
            numbers[ENDED] = now
        return DONE

    @staticmethod
    def ended(view: Any) -> bool:
        """Whether every statement was found settled in this round, of the answer that is followed, which may be another
        since; it is looked at where a batch ends."""
        return bool(view.aim.numbers[ENDED] == view.clock[ROUND])

    def __init__(self, setup: Setup) -> None:
        cumulate = setup.parameters.tracking == "c"
        self.tracking = ledger.MONEY if self.by_money else ledger.CUMULATED if cumulate else ledger.PRESENT
        super().__init__(setup)

    def begin(self) -> Seen:
        """Before the first round, in which the target is uniform; C-tracking goes on adding to it."""
        view = super().begin()
        view.arms[ledger.MEMORY] = 1.0 / self.setup.arms
        return view

    def keep_within_limits(self, view: Seen) -> Seen:
        """The view with a target that no solve has given, moved to the nearest one that meets the limits."""
        limits, costs, task = self.setup.limits, self.setup.known_costs, self.setup.task
        if limits and costs is not None:
            leader = find_leader(limits, task, view.arms[ledger.MEAN].tolist())
            rows = build_rows(limits, tuple(map(Fraction, costs.tolist())), leader)
            view.arms[ledger.TARGET] = nearest_shares(rows, tuple(view.arms[ledger.TARGET].tolist()))
            floor = aiming.exploration_floor(self.setup.arms, view.clock[ledger.ROUND])
            self.functions["project_into"](view.arms[ledger.TARGET], floor, view.arms[ledger.PROJECTED])
        return view

    def make_view(self, arms: Array, clock: Array, columns: RoundColumns) -> Seen:
        view: Any = super().make_view(arms, clock, columns)
        many = columns.pairs.shape[1]
        aim = boxes.Aim(
            effort=np.zeros(self.setup.arms),
            weights=np.zeros(many),
            solved=np.full((2, many), UNSOLVED),
            box=self.make_box(many),
            numbers=np.zeros(boxes.AIM_NUMBERS),
        )
        aim.numbers[boxes.TIED] = 1.0
        boxes.clear_box(view.setting, aim)
        aiming.look_anew(aim)
        parts: Any = (*view, aim, self.make_space(columns, None))
        return Pursuit(*parts)

    def make_box(self, many: int) -> Array:
        """A box, and for so many columns lines of which nothing is known, where targets are kept by them."""
        arms = self.setup.arms
        if not (isinstance(self.setup.family, Bounded) and self.setup.parameters.solve_gap > 0.0):
            return np.zeros((boxes.BOX_ROWS, arms))
        box = np.zeros((boxes.LINED_ROWS, max(arms, many)))
        box[boxes.BOX_ROWS :] = np.nan
        return box

    def copy_view(self, view: Any) -> Any:
        """Both share what a solve works in, as it is written before it is read: all but the layout, which has arms."""
        setting, arms, clock, pairs, margins, evidence, shape, members, numbers, aim, space = view
        space = space._replace(layout=Layout._make(part.copy() for part in space.layout))
        aim = boxes.Aim._make(part.copy() for part in aim)
        own = arms.copy(), clock.copy(), pairs.copy(), margins.copy(), evidence.copy()
        return Pursuit(setting, *own, shape, members, numbers, aim, space)

    def check_state(self, state: State) -> None:
        super().check_state(state)
        found = fsum(state.memory)
        if self.tracking == CUMULATED and not isclose(found, state.round + 1.0, rel_tol=ROUNDING, abs_tol=0.0):
            raise InputError(
                f"the sum of memory, the cumulated target, of a saved state at round {state.round} must be "
                f"{state.round + 1:g}, got {found:g}"
            )

    def supply(self, view: Seen, need: int) -> Seen:
        """The answer, the layout of its problem, or its solution by whichever solver was asked for."""
        if need == ledger.NEED_LAYOUT:
            return view._replace(space=self.make_space(columns_in(view), view.arms[ledger.COST]))
        return self.solve(view) if need == ledger.NEED_SOLUTION else super().supply(view, need)

    def make_space(self, columns: RoundColumns, costs: Array | None) -> Space:
        """What a solve for these columns works in, laid out for these costs; without them there is no layout yet."""
        pairs, found = columns.pairs, None
        sides = np.full(pairs.shape, -1.0)
        if costs is not None:
            sides = np.where(pairs >= 0, costs[pairs] > 0, False).astype(float)
            pattern = self.pattern_of(columns), type(self.setup.family), tuple((costs > 0).tolist())
            found = cached_program("native layout", pattern, lay_out)
        layout, plan = found or nothing_to_lay_out(pairs)
        own = copy_layout(layout)
        workspace = make_workspace(own, plan, table_size(self.setup.family, self.setup.arms))
        return Space(own, plan, workspace, np.zeros(self.setup.arms), np.zeros(pairs.shape[1]), sides)

    def pattern_of(self, columns: RoundColumns) -> Columns:
        """Columns for `lay_out`, the same object for the same columns."""
        if not columns.margins.size:
            pairs = columns.pairs.T.tolist()
            return list_columns(tuple(Statement(a, b) for a, b in pairs), type(self.setup.family))
        return keep_columns(*(part.tobytes() for part in columns))

    def change_answer(self, view: Seen, answer: Hashable) -> Seen:
        self.functions["forget_target"](view.setting, pursuit_of(view).aim)
        return super().change_answer(view, answer)

    def put_columns(self, view: Seen, found: RoundColumns) -> Seen:
        """The statements of the answer; where there are more or fewer columns than before, no solution of them is
        known."""
        asked, aim = super().put_columns(view, found), pursuit_of(view).aim
        many = asked.pairs.shape[1]
        if many != aim.weights.size:
            solved = np.full((2, many), UNSOLVED)
            box = self.make_box(many)
            box[: boxes.BOX_ROWS, : self.setup.arms] = own_box(aim)
            aim = aim._replace(weights=np.zeros(many), solved=solved, box=box)
        return asked._replace(aim=aim, space=self.make_space(columns_in(asked), None))

    def solve(self, view: Seen) -> Seen:
        """The view aimed at the solution for its means and costs; `SolverError` or `InputError` where there is none. At
        a tie, for which there is a target, only limits are met."""
        setup, space, means = self.setup, pursuit_of(view).space, view.arms[ledger.MEAN].tolist()
        if setup.limits and not self.functions["answer_holds"](view, view.arms[ledger.MEAN], -1):
            return self.keep_within_limits(view)
        answer = self.followed(view) if setup.task.several_right else setup.task.answer(means)
        asserted = setup.task.answer_statements(answer, setup.arms)
        if ledger.is_stated(view):  # what is a number of a statement is the double here
            asserted = tuple(statement._replace(margin=Fraction(float(statement.margin))) for statement in asserted)
        model = empirical_model(setup, view.arms, ledger.is_stated(view))
        statements = list_columns(asserted, type(setup.family))
        with without_compiling():  # a round waits for no compiler; who plays many has compiled them
            question = Question(model, setup.task, statements, limits=setup.limits)
            found = solve_question(question, setup.profile, self.last_solution(view, statements))
        if setup.limits:
            own_box(pursuit_of(view).aim)[boxes.REDUCED] = reduce_costs(question, found)
        space.effort[:], space.weights[:] = found.effort, 0.0
        space.weights[places_of(statements, view)] = found.multipliers
        self.functions["adopt"](view)
        if not isclose(np.sum(view.arms[ledger.TARGET]), 1.0, rel_tol=1e-9):
            raise SolverError("the effort of a round is outside double precision; rescale the means or the variances")
        return view

    def last_solution(self, view: Seen, columns: Columns) -> CharacteristicTime | None:
        """The last solution, as far as a solve for these columns that starts from it needs it; None before the first,
        and for another answer."""
        aim, places = pursuit_of(view).aim, places_of(columns, view)
        if isinstance(self.setup.family, Bounded) or not np.array_equal(aim.solved[:, places], columns.pairs):
            return None
        box, value = own_box(aim), float(np.sum(aim.weights))
        model = BanditModel(self.setup.family, box[boxes.CENTRE].tolist(), box[boxes.PAID].tolist())
        return CharacteristicTime(
            model=model,
            task=self.setup.task,
            value=value,
            lower=value,
            upper=value,
            gap=0.0,
            effort=aim.effort.copy(),
            columns=columns,
            multipliers=aim.weights[places],
            solver=self.setup.profile.label,
            iterations=0,
            seconds=0.0,
            solver_gap=0.0,
        )

    def take_note_unsolved(self, view: Seen) -> Seen:
        """Respond to the last outcome where no target can be solved for: it counts as uniform, or as near to that as
        limits allow, until the next one is due. Whether it is over is said of the answer for the present means, which
        may be another than before."""
        if not self.setup.task.several_right or not self.functions["answer_holds"](view, view.arms[ledger.MEAN], -1):
            view = self.ask(view)
        arms, aim = view.arms, pursuit_of(view).aim
        self.functions["look_anew"](aim)
        arms[ledger.TARGET], box = 1.0 / self.setup.arms, own_box(aim)
        box[boxes.CENTRE], box[boxes.PAID] = arms[ledger.MEAN], arms[ledger.COST]
        now = view.clock[ledger.ROUND]
        self.functions["settle_for"](view.setting, aim, now)
        floor = aiming.exploration_floor(self.setup.arms, now)
        self.functions["project_into"](arms[ledger.TARGET], floor, arms[ledger.PROJECTED])
        with suppress(SolverError):  # an outcome is never refused because a target is not found
            view = self.keep_within_limits(view)
        return self.take_note(view)

    def prepare(self, view: Seen, saved: Target) -> Seen:
        """The view with the target that was saved, or with one for its means."""
        kept = saved.kept
        if kept is not None:
            aim = pursuit_of(view).aim
            box, lines = own_box(aim), own_lines(aim)
            aim.numbers[SAVED_NUMBERS], aim.numbers[boxes.TIED] = kept.numbers, float(kept.tied)
            box[boxes.CENTRE], box[boxes.PAID] = kept.means, kept.costs
            if kept.intervals is not None:
                box[boxes.INTERVALS] = kept.intervals
            if kept.lines is not None and kept.lines.shape == lines.shape:
                lines[:] = kept.lines
                for p in range(lines.shape[1]):
                    self.functions["refresh_lines"](view.arms, view.pairs, view.margins, aim, p, -1)
            if saved.followed is None and aim.numbers[boxes.DECIDED] != view.clock[ledger.ROUND]:  # in a batch
                view = self.ask(view, kept.means)
        known, aim, solution = False, pursuit_of(view).aim, saved.solution
        if solution is not None and (2, len(solution.pairs)) == aim.solved.shape:
            known, aim.solved[:] = True, np.array(solution.pairs, dtype=np.int64).T
            aim.effort[:], aim.weights[:] = solution.effort, solution.multipliers
        if saved.target is not None and kept is not None and (known or kept.tied):
            view.arms[ledger.TARGET] = saved.target
            if not self.blind and self.setup.known_costs is None:
                view.arms[ledger.COST] = kept.costs
        else:
            view = self.ask(view) if saved.followed is None else view
            while (need := int(self.functions["decide"](view, -1))) != ledger.DONE:
                view = self.supply(view, need)
                if need == ledger.NEED_SOLUTION:
                    break
        self.functions["begin_here"](view)
        return view

    def save_target(self, view: Any) -> dict[str, Any]:
        _, _, solved, _, numbers = aim = view.aim
        if not numbers[boxes.DECIDED] > 0.0:
            return dict.fromkeys(TARGET_KEYS)
        box, lines = own_box(aim), own_lines(aim)
        intervals = box[boxes.INTERVALS]
        kept: dict[str, Any] = {
            "tied": bool(numbers[boxes.TIED] > 0.0),
            **dict(zip(NUMBERS, numbers[SAVED_NUMBERS].tolist(), strict=True)),
            "means": box[boxes.CENTRE],
            "costs": box[boxes.PAID],
            "intervals": intervals if np.isfinite(intervals).all() else None,
        }
        if lines.size and np.isfinite(lines).all():
            kept["lines"] = lines
        solution = None
        if (solved != UNSOLVED).all():
            pairs = [[None if arm < 0 else arm for arm in pair] for pair in solved.T.tolist()]
            solution = {**Solution(float(np.sum(aim.weights)), (), aim.effort, aim.weights)._asdict(), "pairs": pairs}
        return {"target": view.arms[ledger.TARGET], "kept": kept, "solution": solution}

    def pretend(self, view: Seen, arm: int) -> Seen:
        """The pull counts as done and the target once more."""
        view.arms[ledger.COUNT, arm] += 1.0
        view.clock[ledger.ROUND] += 1.0
        if self.tracking == CUMULATED:
            pursuit_of(view).aim.numbers[boxes.FOLLOWING] = self.functions["add_target"](view.arms)
        return view

    def diagnose(self, view: Seen) -> Diagnostics:  # type: ignore[override]
        costs = np.ones(self.setup.arms) if self.blind else self.setup.costs(state_of(view), view.arms[ledger.MEAN])
        target, projected = view.arms[ledger.TARGET].copy(), view.arms[ledger.PROJECTED].copy()
        return super().diagnose(view, costs=costs, target=target, projected=projected)


def reduce_costs(question: Question, found: CharacteristicTime) -> Array:
    """The reduced costs ``c + G' nu`` at a solution, by which the loads of a box are divided; zeros, which prove
    nothing, where an arm that is loaded has none that is positive."""
    loaded = np.zeros(len(question.model.means) + 1, dtype=bool)
    loaded[question.columns.pairs[:, found.multipliers > 0.0].ravel()] = True
    prices = [limit.multiplier for limit in found.limits]
    costs = reduced_costs(meant_costs(question.model), question.rows, prices, loaded[:-1].tolist())
    return np.zeros(len(question.model.means)) if costs is None else costs


#: In `Aim.solved`, that no solution is known; -1 is a side that is no arm.
UNSOLVED = -2

#: Rows of lines that say all: the others follow from the histograms.
LINES = slice(boxes.BET_A, boxes.PLACE_B + 1)

#: Entries of Aim.numbers in the order of `saving.NUMBERS`.
SAVED_NUMBERS = [boxes.SOLVES, boxes.WIDEST, boxes.SOLVED, boxes.DECIDED, boxes.DUE]


def own_box(aim: boxes.Aim) -> Array:
    """The rows of a box that are by arm."""
    return aim.box[: boxes.BOX_ROWS, : aim.effort.size]


def own_lines(aim: boxes.Aim) -> Array:
    """The rows of its lines that say all, by statement; none where targets are not kept by lines."""
    return aim.box[LINES, : aim.weights.size]


def copy_layout(layout: Layout) -> Layout:
    """A layout of its own arrays."""
    parts: Any = (part.copy() for part in layout)
    return Layout(*parts)


def columns_in(view: Seen) -> RoundColumns:
    """The columns of a view."""
    return RoundColumns(view.pairs, view.margins)


@lru_cache(maxsize=1024)
def keep_columns(pairs: bytes, margins: bytes) -> Columns:
    """Columns from the bytes of their arrays, for `lay_out`; whose statements they are nobody asks there."""
    ends, numbers = np.frombuffer(pairs, dtype=np.int64).reshape(2, -1), np.frombuffer(margins).reshape(COLUMN_ROWS, -1)
    return Columns((), ends, numbers, np.zeros(0, dtype=np.int64))


def places_of(columns: Columns, view: Seen) -> Integers:
    """Where the columns of a question are among those of a view, which has second pieces after all first ones."""
    if columns.is_plain:
        return columns.owners
    first = int(np.sum(view.margins[PIECE] == 0.0))
    return np.asarray(columns.owners + first * columns.margins[PIECE].astype(np.int64))


def pursuit_of(view: Seen) -> Pursuit:
    """What a policy that solves sees."""
    assert isinstance(view, Pursuit)
    return view
