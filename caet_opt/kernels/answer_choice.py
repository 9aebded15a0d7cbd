"""Which of several right answers is followed, where rounds can find it out by themselves: best arm and groups with a
tolerance, in the subset of Python that numba compiles. `caet_opt.exploring.following` says by which rule."""

from math import inf, log

from caet_opt.bandits.tasks.pairs import MIRRORED, STARS
from caet_opt.kernels.aiming import Pursuit, fit_layout, forget_target
from caet_opt.kernels.counting import as_one_row
from caet_opt.kernels.instance import solve_in_workspace
from caet_opt.kernels.interior import CERTIFIED
from caet_opt.kernels.ledger import (
    ARM_ROWS,
    CHOSEN,
    COST,
    DISPERSION,
    DONE,
    MEAN,
    NEED_ANSWER,
    NEED_LAYOUT,
    REST,
    ROUND,
    answer_holds,
    has_histograms,
    is_stated,
)
from caet_opt.kernels.records import ModelNumbers
from caet_opt.kernels.several import CHOICE_GROWTH, write_star

#: So many right answers are compared with the one that is followed at a time.
MOST_COMPARED = 6

#: What `time_here` returns where it needs another layout.
ELSEWHERE = -1.0


#: By how much the answer that is followed may be dearer than the easiest in the first round.
SLACK = 1.0


def slack(now: float) -> float:
    """``eta = SLACK / (1 + log t)``: it falls to zero slower than any power of the rounds, and means converge like
    one."""
    return SLACK / (1.0 + log(now))


def first_in_turn(now: float, many: int) -> int:
    """With which of so many others the comparison begins, so that each has its turn as the rounds grow."""
    return int(log(now) / log(CHOICE_GROWTH)) * (MOST_COMPARED - 1) % many


def choose_followed(view: Pursuit) -> int:
    """Choose the winner of each group anew; returns what is needed for it, which is Python for other tasks."""
    if view.shape < 0 or view.shape % MIRRORED != STARS or not view.setting.native or not is_stated(view):
        return NEED_ANSWER
    if not fit_here(view):
        return NEED_LAYOUT
    members, start, p, changed = view.members, 0, 0, False
    while start < members.size:
        before = view.pairs[1 if view.shape >= MIRRORED else 0, p]
        found = easiest_winner(view, start, p, before)
        write_star(view, start, p, before if found < 0 else found)
        if found < 0:
            fit_here(view)
            return NEED_ANSWER
        changed = changed or found != before
        start, p = start + 1 + int(members[start]), p + int(members[start]) - 1
    fit_here(view)
    if changed:
        forget_target(view.setting, view.aim)
    view.clock[CHOSEN] = view.clock[ROUND]
    return DONE


def fit_here(view: Pursuit) -> bool:
    """`fit_layout` for the statements that the view has now."""
    return fit_layout(view.arms, view.pairs, view.margins, view.space.layout, view.space.costly)


def easiest_winner(view: Pursuit, start: int, p: int, before: int) -> int:
    """The arm of a group that wins in the easiest answer, of those that are compared; -1 where Python has to find it.

    The others of the answer stay as they are: T* is the sum over the groups, as each pays for arms of its own.
    """
    members, size, now = view.members, int(view.members[start]), view.clock[ROUND]
    own, best, least = time_here(view), before, inf
    if own == ELSEWHERE:
        return -1
    leader = leader_of(view, start)
    first, compared = first_in_turn(now, size), 0
    for turn in range(size + 1):
        arm = leader if turn == 0 else int(members[start + 1 + (first + turn) % size])
        if compared == MOST_COMPARED or arm == before or (turn > 0 and arm == leader):
            continue
        write_star(view, start, p, arm)
        time = time_here(view)
        if time == ELSEWHERE:
            return -1
        if time < inf:
            compared += 1
        if time < least:
            best, least = arm, time
    return best if own > (1.0 + slack(now)) * least else int(before)


def leader_of(view: Pursuit, start: int) -> int:
    """The arm of a group with the best mean, the first of those that are equal."""
    best, sign = int(view.members[start + 1]), -1.0 if view.shape >= MIRRORED else 1.0
    for place in range(start + 1, start + 1 + int(view.members[start])):
        arm = int(view.members[place])
        if sign * view.arms[MEAN, arm] > sign * view.arms[MEAN, best]:
            best = arm
    return best


def time_here(view: Pursuit) -> float:
    """T*_i of the answer whose statements the view has now, at the present means; infinite where it is not right or not
    found."""
    setting, arms = view.setting, view.arms
    if not answer_holds(view, arms[MEAN], -1):
        return inf
    if not fit_here(view):
        return ELSEWHERE
    layout, plan, workspace, effort, weights, _ = view.space
    if layout.labels.size == 0:
        return 0.0
    for a in range(effort.size):
        effort[a] = 0.0
    for q in range(weights.size):
        weights[q] = 0.0
    phi = setting.numbers[DISPERSION]
    if has_histograms(setting):
        phi = as_one_row(arms)[ARM_ROWS * arms.shape[1] :]
    given = ModelNumbers(
        setting.family, setting.error, setting.low, setting.high, arms[MEAN], setting.numbers[REST], arms[COST], phi
    )
    status, _, _, upper = solve_in_workspace(
        given, layout, plan, effort, weights, False, setting.tolerance, setting.target, setting.limit, workspace
    )
    return upper if status == CERTIFIED else inf
