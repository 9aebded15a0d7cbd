"""Primal-dual interior point in log-effort, in the subset of Python that numba compiles.

Connected components of the graph share nothing, so each has its own barrier parameter and its own steps; they are
iterated side by side, and a component that is certified rests.
"""

from math import inf, isfinite, log

from caet_opt.bandits.families.numerics import Array
from caet_opt.kernels.factor import back_solve, factorise

# fmt: off
# isort: off
from caet_opt.kernels.records import (
    Data, Plan, Work,
    Y, EFFORT, LOAD, BASE, DY, RHS, BEST_Y, COST,  # rows of arms
    LEVEL, INVERSE, S, Z, DS, DZ, AIM, BEST_Z, WEIGHT, SHARE, OTHER, CURVE, STIFF, BEND,  # of edges and anchors
    BEYOND, PLAIN_ROWS,  # of edges
    LEAST, DEAREST, LOWER, UPPER, BEST_LOWER, BEST_UPPER, IDLE, PRODUCT, COUNT, PRIMAL, DUAL, AHEAD, RESTS,  # of parts
)
# isort: on
# fmt: on
from caet_opt.kernels.all_terms import bound, evaluate, remember_curves

#: Runs from the best point so far: bold, then in short plain Newton steps, then with a margin to the boundary, then in
#: plain steps once more; all but the first with curvatures of margins seen over the last step, too.
ATTEMPTS = 4

#: Why the iteration stopped.
CERTIFIED, STALLED, LIMIT = range(3)

#: The part of the tolerance that the iteration may use; the rest is for rounding in the final certificate.
USABLE = 0.9

#: Slacks below this are rounding noise of a logarithm of order one.
LEAST_SLACK = 1e-17

#: A first slack: levels F are of order one at the first guess, and a slack well inside keeps the first step long.
FIRST_SLACK = 0.3

#: Multipliers start at this part of the cost at least, and stay above that one: zero would never leave the boundary,
#: and the second is small enough not to show in any gap.
FIRST_SHARE, LEAST_SHARE = 1e-6, 1e-30

#: From a known point, the products s z begin at this part of the gap that is left for each pair: ten times closer, and
#: still off the boundary.
WARM_BARRIER = 0.1

#: Plain steps aim at this part of the present barrier: the usual compromise between speed and staying central.
PLAIN_BARRIER = 0.2

#: Products smaller than this part of the gap that is asked for only make the matrix worse: of the target in the first
#: attempt, of the tolerance in the later ones, which are glad of less.
ENOUGH_FIRST, ENOUGH_LATER = 0.1, 0.01

#: How much of the way to the boundary a step may go, and the largest change of a log-effort in one step: a factor of
#: twenty in the effort, beyond which the quadratic model says nothing.
STAY, LONGEST = 0.99, 3.0

#: Proximal slack of Newton's method on the binding pairs: small, so that it converges like Newton's method, and not
#: zero, so that pairs which depend on each other leave the matrix regular.
SETTLING_SLACK = 1e-6

#: A pair that is violated and carries nothing enters that method with this part of its arm's cost.
ENTERING = 1e-3

#: Newton's method on the binding pairs is tried below this gap, once each pair is decided: what it carries and its
#: slack differ by this factor.
PROMISING, DECIDED = 0.1, 2.0

#: It goes on while a step changes the gap by no more than this factor: the first step makes up for slacks, the
#: others must show that it converges.
FIRST_FACTOR, NEXT_FACTOR = 4.0, 0.1

#: Rounds of repair of a point that stalled.
REPAIRS = 20

#: Progress is a gap that falls below this part of the best one. Iterations without it after which a component is given
#: up, and after which one that is good enough is left as it is.
PROGRESS, PATIENCE, CONTENT = 0.9, 40.0, 2.0

#: A component rests at this part of what is asked for, so that all of them together reach it.
RESTING = 0.5


def minimise(
    data: Data, plan: Plan, y: Array, z: Array, warm: bool, tolerance: float, target: float, limit: int, work: Work
) -> tuple[int, int, float, float]:
    """Solve from log-effort y and multipliers z, both overwritten with the best certified point.

    A relative gap of ``tolerance`` must be reached, one of ``target`` ends the iteration at once. Returns why it
    stopped, the iterations, and the certified bounds. A warm start whose point is already certified to the
    tolerance costs one evaluation and no iteration.
    """
    tolerance *= USABLE
    status, steps, lower, upper = STALLED, 0, 0.0, 1.0
    for attempt in range(ATTEMPTS):
        if status == STALLED and isfinite(upper):
            if attempt > 0:
                remember_curves(work)
            status, more, lower, upper = iterate(
                data, plan, y, z, warm or attempt > 0, attempt, tolerance, target, limit, work
            )
            steps += more
    return status, steps, lower, upper


def iterate(
    data: Data,
    plan: Plan,
    y: Array,
    z: Array,
    warm: bool,
    attempt: int,
    tolerance: float,
    target: float,
    limit: int,
    work: Work,
) -> tuple[int, int, float, float]:
    """One run of `minimise`; every second attempt follows the central path in plain Newton steps."""
    arms, rows, parts = work.arms, work.rows, work.parts
    for a in range(y.size):
        arms[Y, a] = y[a]
    for r in range(z.size):
        rows[Z, r] = z[r]
    for k in range(plan.parts):
        parts[BEST_LOWER, k], parts[BEST_UPPER, k], parts[IDLE, k] = 0.0, inf, 0.0
    if not evaluate(data, work):
        return STALLED, 0, 0.0, inf
    if not warm:
        first_multipliers(data, work)
        bound(data, plan, work)
        first_slacks(plan, work)
    elif attempt > 0:
        bound(data, plan, work)
        warm_slacks(plan, work)
    status, step, last, settled, promising = LIMIT, 0, inf, 0, inf if warm else PROMISING
    while True:
        bound(data, plan, work)
        gap, now, resting = keep_best(data, plan, work, tolerance, target)
        if gap <= target or (step == 0 and warm and gap <= tolerance) or resting:
            status = CERTIFIED if gap <= tolerance else STALLED
            break
        if step == limit:
            break
        if settled > 0 and now > (FIRST_FACTOR if settled == 1 else NEXT_FACTOR) * last:
            if warm and gap <= tolerance:
                status = CERTIFIED
                break
            settled, promising = 0, 0.0
            back_to_best(data, plan, work)
            warm_slacks(plan, work)
        if settled > 0 or (attempt == 0 and gap < promising and (warm or pairs_are_decided(data, work))):
            settled += 1
            moved = settle(data, plan, work)
        else:
            moved = newton(data, plan, work, attempt, tolerance, target)
        if not moved:
            status = CERTIFIED if gap <= tolerance else STALLED
            break
        step, last = step + 1, now
    if status == STALLED and repair(data, plan, work, tolerance):
        status = CERTIFIED
    for a in range(y.size):
        y[a] = arms[BEST_Y, a]
    for r in range(z.size):
        z[r] = rows[BEST_Z, r]
    below, above = 0.0, 0.0
    for k in range(plan.parts):
        below += parts[BEST_LOWER, k]
        above += parts[BEST_UPPER, k]
    return status, step, below, above


def keep_best(data: Data, plan: Plan, work: Work, tolerance: float, target: float) -> tuple[float, float, bool]:
    """Keep each component's best point, scaled to be feasible on both sides; returns the relative gap of all, that of
    the present point, and whether no component is worth another iteration.

    A component rests that is certified to the target, is good enough and gets no better, or was given up.
    """
    arms, rows = work.arms, work.rows
    edges, parts = data.ends.shape[1], work.parts
    below, above, present_below, present_above, resting = 0.0, 0.0, 0.0, 0.0, True
    for k in range(plan.parts):
        new = parts[UPPER, k] - parts[LOWER, k]
        old = parts[BEST_UPPER, k] - parts[BEST_LOWER, k]
        parts[IDLE, k] = 0.0 if new < PROGRESS * old else parts[IDLE, k] + 1.0
        parts[AHEAD, k] = 0.0
        if new < old:
            parts[AHEAD, k] = 1.0 / parts[DEAREST, k] if parts[DEAREST, k] > 0.0 else 1.0
            parts[BEST_LOWER, k], parts[BEST_UPPER, k] = parts[LOWER, k], parts[UPPER, k]
        best, idle, gap = parts[BEST_UPPER, k], parts[IDLE, k], parts[BEST_UPPER, k] - parts[BEST_LOWER, k]
        content = idle > CONTENT and gap <= RESTING * tolerance * best
        rests = gap <= RESTING * target * best or idle > PATIENCE or content
        parts[RESTS, k] = 1.0 if rests else 0.0
        resting = resting and rests
        below += parts[BEST_LOWER, k]
        above += best
        present_below += parts[LOWER, k]
        present_above += parts[UPPER, k]
    for r in range(rows.shape[1]):
        k = plan.part[r]
        if parts[AHEAD, k] > 0.0:
            rows[BEST_Z, r] = rows[WEIGHT, r] * parts[AHEAD, k] if rows[LEVEL, r] < inf else 0.0
            if r >= edges:
                arms[BEST_Y, r - edges] = arms[Y, r - edges] - parts[LEAST, k]
    return float((above - below) / above), float((present_above - present_below) / present_above), resting


def first_multipliers(data: Data, work: Work) -> None:
    """Each arm hands its cost to its pairs, in proportion to how close to binding they are."""
    given, arms, rows = data.arms, work.arms, work.rows
    edges = data.ends.shape[1]
    for a in range(arms.shape[1]):
        arms[LOAD, a] = rows[INVERSE, edges + a]
    for e in range(edges):
        arms[LOAD, data.ends[0, e]] += rows[INVERSE, e]
        arms[LOAD, data.ends[1, e]] += rows[INVERSE, e]
    for a in range(arms.shape[1]):
        arms[LOAD, a] = given[COST, a] * arms[EFFORT, a] / arms[LOAD, a]
        rows[Z, edges + a] = arms[LOAD, a] * rows[INVERSE, edges + a]
    for e in range(edges):
        rows[Z, e] = (arms[LOAD, data.ends[0, e]] + arms[LOAD, data.ends[1, e]]) * rows[INVERSE, e]


def first_slacks(plan: Plan, work: Work) -> None:
    """Slacks and multipliers away from zero."""
    rows, parts = work.rows, work.parts
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            rows[S, r] = max(rows[LEVEL, r], FIRST_SLACK)
            rows[Z, r] = max(rows[Z, r], FIRST_SHARE * parts[UPPER, plan.part[r]])


def warm_slacks(plan: Plan, work: Work) -> None:
    """Products s z no smaller than what the gap to be closed leaves for each pair."""
    rows, parts = work.rows, work.parts
    for k in range(plan.parts):
        parts[COUNT, k] = 0.0
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            parts[COUNT, plan.part[r]] += 1.0
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            k = plan.part[r]
            mu = WARM_BARRIER * (parts[UPPER, k] - parts[LOWER, k]) / parts[COUNT, k]
            slack = min(mu / max(rows[Z, r], LEAST_SHARE * parts[UPPER, k]), FIRST_SLACK)
            rows[S, r] = max(rows[LEVEL, r], slack, LEAST_SLACK)
            rows[Z, r] = max(rows[Z, r], mu / rows[S, r])


def back_to_best(data: Data, plan: Plan, work: Work) -> None:
    """Continue from the best point that was certified."""
    arms, rows = work.arms, work.rows
    for a in range(arms.shape[1]):
        arms[Y, a] = arms[BEST_Y, a]
    for r in range(rows.shape[1]):
        rows[Z, r] = rows[BEST_Z, r]
    evaluate(data, work)
    bound(data, plan, work)


def repair(data: Data, plan: Plan, work: Work, tolerance: float) -> bool:
    """Raise the effort of arms whose load exceeds their cost, until all is certified; False when it never is.

    The lower bound is divided by the largest ratio of load to cost. For an arm that costs next to nothing, more
    effort lowers that ratio and hardly changes anything else.
    """
    given, arms = data.arms, work.arms
    back_to_best(data, plan, work)
    for _ in range(REPAIRS):
        for a in range(arms.shape[1]):
            if arms[LOAD, a] > given[COST, a] * arms[EFFORT, a]:
                arms[Y, a] += log(arms[LOAD, a] / (given[COST, a] * arms[EFFORT, a]))
        if not evaluate(data, work):
            return False
        bound(data, plan, work)
        if keep_best(data, plan, work, tolerance, tolerance)[0] <= tolerance:
            return True
    return False


def largest_part(data: Data, work: Work, r: int) -> float:
    """The larger of the parts of its two arms' costs that pair r carries, per unit of its multiplier."""
    given, arms, rows = data.arms, work.arms, work.rows
    edges = data.ends.shape[1]
    if r >= edges:
        return float(1.0 / (given[COST, r - edges] * arms[EFFORT, r - edges]))
    a, b = data.ends[0, r], data.ends[1, r]
    first = rows[SHARE, r] / (given[COST, a] * arms[EFFORT, a])
    return float(max(first, rows[OTHER, r] / (given[COST, b] * arms[EFFORT, b])))


def pairs_are_decided(data: Data, work: Work) -> bool:
    """Whether each pair is clearly binding or clearly not."""
    rows = work.rows
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            carried = rows[Z, r] * largest_part(data, work, r)
            if carried < DECIDED * rows[LEVEL, r] and rows[LEVEL, r] < DECIDED * carried:
                return False
    return True


def settle(data: Data, plan: Plan, work: Work) -> bool:
    """One step of Newton's method on the binding pairs, ``F_e = 0``, with a vanishing proximal term."""
    arms, rows = work.arms, work.rows
    for r in range(rows.shape[1]):
        rows[AIM, r], rows[S, r] = 0.0, SETTLING_SLACK
        part = largest_part(data, work, r)
        if not rows[Z, r] * part > rows[LEVEL, r]:
            rows[Z, r] = 0.0
        elif rows[LEVEL, r] < 0.0:
            rows[Z, r] = max(rows[Z, r], ENTERING / part)
    assemble(data, work)
    if not factorise(data, plan, work):
        return False
    direction(data, plan, work)
    for a in range(arms.shape[1]):
        arms[Y, a] += min(max(arms[DY, a], -1.0), 1.0)
    for r in range(rows.shape[1]):
        if rows[Z, r] > 0.0:
            rows[Z, r] = max(rows[Z, r] + rows[DZ, r], 0.0)
    return evaluate(data, work)


def newton(data: Data, plan: Plan, work: Work, attempt: int, tolerance: float, target: float) -> bool:
    """One predictor-corrector step; False when the linear algebra or the terms break down."""
    rows, parts = work.rows, work.parts
    for k in range(plan.parts):
        parts[PRODUCT, k], parts[COUNT, k], parts[AHEAD, k] = 0.0, 0.0, 0.0
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            parts[PRODUCT, plan.part[r]] += rows[S, r] * rows[Z, r]
            parts[COUNT, plan.part[r]] += 1.0
            rows[AIM, r] = 0.0
    assemble(data, work)
    if not factorise(data, plan, work):
        return False
    if attempt % 2 == 1:
        for r in range(rows.shape[1]):
            rows[AIM, r] = PLAIN_BARRIER * parts[PRODUCT, plan.part[r]] / parts[COUNT, plan.part[r]]
    else:
        predict(data, plan, work)
    enough = ENOUGH_FIRST * target if attempt == 0 else ENOUGH_LATER * tolerance
    for r in range(rows.shape[1]):
        k = plan.part[r]
        rows[AIM, r] = max(rows[AIM, r], enough * parts[UPPER, k] / parts[COUNT, k])
    direction(data, plan, work)
    longest_steps(plan, work)
    shorten_steps(data, plan, work, attempt)
    move(data, plan, work)
    return evaluate(data, work)


def predict(data: Data, plan: Plan, work: Work) -> None:
    """Aim each product at what the step without centring would leave, less its second-order error."""
    rows, parts = work.rows, work.parts
    direction(data, plan, work)
    longest_steps(plan, work)
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            k = plan.part[r]
            parts[AHEAD, k] += (rows[S, r] + parts[PRIMAL, k] * rows[DS, r]) * (
                rows[Z, r] + parts[DUAL, k] * rows[DZ, r]
            )
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            k = plan.part[r]
            left = parts[AHEAD, k] / parts[PRODUCT, k]
            centring = left * left * left  # the power of Python rounds otherwise than that of numba
            rows[AIM, r] = centring * parts[PRODUCT, k] / parts[COUNT, k] - rows[DS, r] * rows[DZ, r]


def move(data: Data, plan: Plan, work: Work) -> None:
    """Take the step."""
    arms, rows = work.arms, work.rows
    edges, parts = data.ends.shape[1], work.parts
    for r in range(rows.shape[1]):
        k = plan.part[r]
        if rows[LEVEL, r] < inf:
            rows[S, r] = max(rows[S, r] + parts[PRIMAL, k] * rows[DS, r], LEAST_SLACK)
            rows[Z, r] = max(rows[Z, r] + parts[DUAL, k] * rows[DZ, r], LEAST_SHARE * parts[UPPER, k])
        if r >= edges:
            arms[Y, r - edges] += parts[PRIMAL, k] * arms[DY, r - edges]


def assemble(data: Data, work: Work) -> None:
    """``diag(c w) + sum_e z_e h_e (1, -1)(1, -1)' + (z_e / s_e) p_e p_e'``."""
    given, arms, rows = data.arms, work.arms, work.rows
    edges = data.ends.shape[1]
    for a in range(data.arms.shape[1]):
        arms[BASE, a] = given[COST, a] * arms[EFFORT, a]
        if rows[LEVEL, edges + a] < inf:
            arms[BASE, a] += rows[Z, edges + a] / rows[S, edges + a]
    for e in range(edges):
        rows[STIFF, e] = rows[Z, e] / rows[S, e]
        rows[BEND, e] = rows[Z, e] * rows[CURVE, e]
    if rows.shape[0] > PLAIN_ROWS:
        bend_ends(data, work)


def bend_ends(data: Data, work: Work) -> None:
    """`bend_at_end` for the statements whose least point is at an end of the mean space."""
    rows = work.rows
    for e in range(data.ends.shape[1]):
        if rows[BEYOND, e] >= 0.0:
            idle = data.ends[1 if rows[OTHER, e] < rows[SHARE, e] else 0, e]
            spent = data.arms[COST, idle] * work.arms[EFFORT, idle]
            rows[BEND, e] = bend_at_end(rows[BEND, e], rows[BEYOND, e], spent)


def bend_at_end(bend: float, beyond: float, spent: float) -> float:
    """``z h`` of a statement whose least point is at an end of the mean space, where it needs no effort of one arm.

    The share p of that arm is 0 as long as its log-effort is beyond a kink, and rises by h for each unit below it. If
    no other statement is about it, it is best at ``c w = z p``, a distance ``c w / (z h)`` below the kink. Newton's
    method sees neither: without curvature it leaps to and fro, with all of it it creeps. With the one returned here its
    step, ``c w / (c w + z h)``, leads there.
    """
    if not bend > 0.0:
        return 0.0
    return max(spent / (beyond + spent / bend) - spent, 0.0)


def direction(data: Data, plan: Plan, work: Work) -> None:
    """Solve for dy, ds, dz, with complementarity products aimed at ``aim``.

    ``H dy - P' dz = P'z - c w``,  ``P dy - ds = s - F``,  ``z ds + s dz = aim - s z``.
    """
    given, arms, rows = data.arms, work.arms, work.rows
    edges = data.ends.shape[1]
    for a in range(arms.shape[1]):
        arms[RHS, a] = -given[COST, a] * arms[EFFORT, a]
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            force = (rows[AIM, r] - rows[Z, r] * (rows[LEVEL, r] - rows[S, r])) / rows[S, r]
            if r < edges:
                arms[RHS, data.ends[0, r]] += rows[SHARE, r] * force
                arms[RHS, data.ends[1, r]] += rows[OTHER, r] * force
            else:
                arms[RHS, r - edges] += force
    back_solve(plan, work)
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            if r < edges:
                moved = rows[SHARE, r] * arms[DY, data.ends[0, r]] + rows[OTHER, r] * arms[DY, data.ends[1, r]]
            else:
                moved = arms[DY, r - edges]
            rows[DS, r] = moved + rows[LEVEL, r] - rows[S, r]
            rows[DZ, r] = (rows[AIM, r] - rows[Z, r] * (moved + rows[LEVEL, r])) / rows[S, r]


def longest_steps(plan: Plan, work: Work) -> None:
    """Largest primal and dual steps of each component that keep its slacks and multipliers non-negative."""
    rows, parts = work.rows, work.parts
    for k in range(plan.parts):
        parts[PRIMAL, k], parts[DUAL, k] = 1.0, 1.0
    for r in range(rows.shape[1]):
        if rows[LEVEL, r] < inf:
            k = plan.part[r]
            if rows[DS, r] < 0.0:
                parts[PRIMAL, k] = min(parts[PRIMAL, k], -rows[S, r] / rows[DS, r])
            if rows[DZ, r] < 0.0:
                parts[DUAL, k] = min(parts[DUAL, k], -rows[Z, r] / rows[DZ, r])


def shorten_steps(data: Data, plan: Plan, work: Work, attempt: int) -> None:
    """Stay inside the boundary, move no log-effort by more than three, and let finished components rest."""
    arms, parts = work.arms, work.parts
    edges = data.ends.shape[1]
    for k in range(plan.parts):
        stay = STAY if attempt > 0 else max(STAY, 1.0 - (parts[UPPER, k] - parts[LOWER, k]) / parts[UPPER, k])
        parts[PRIMAL, k] = min(1.0, stay * parts[PRIMAL, k])
        parts[DUAL, k] = min(1.0, stay * parts[DUAL, k])
        if attempt % 2 == 1:
            parts[PRIMAL, k] = parts[DUAL, k] = min(parts[PRIMAL, k], parts[DUAL, k])
        if parts[RESTS, k] > 0.0:
            parts[PRIMAL, k], parts[DUAL, k] = 0.0, 0.0
    for a in range(arms.shape[1]):
        k = plan.part[edges + a]
        if not isfinite(arms[DY, a]):
            parts[PRIMAL, k], parts[DUAL, k], arms[DY, a] = 0.0, 0.0, 0.0
            parts[IDLE, k] = PATIENCE + 1.0
        elif parts[PRIMAL, k] * abs(arms[DY, a]) > LONGEST:
            parts[PRIMAL, k] = LONGEST / abs(arms[DY, a])
