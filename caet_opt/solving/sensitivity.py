"""Derivatives of T* with respect to costs and means, read off the optimum."""

from collections.abc import Sequence
from math import exp, inf, log, nan

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import GAPS, BanditModel
from caet_opt.bandits.tasks.pairs import MARGIN_ROWS, RATIO
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.errors import InputError
from caet_opt.kernels.bounded_term import FARTHEST, LOWER_END, UPPER_END
from caet_opt.kernels.family_codes import FAMILY_CODES, model_numbers
from caet_opt.kernels.native import interpreted_kernel
from caet_opt.kernels.statement_columns import Columns
from caet_opt.kernels.term import BERNOULLI, GAUSSIAN, POISSON
from caet_opt.solving.levels import level_divergence
from caet_opt.solving.problem import statement_numbers


def cost_sensitivities(
    model: BanditModel, statements: Sequence[Statement], effort: Array, binding: set[Statement]
) -> Array:
    """``dT*/dc_a = w_a``, for the effort scaled to ``min_e f_e = 1``.

    For a free arm it is the derivative to the right: the least effort with which its statements would still hold. That
    is infinite when one of them is binding, where T* grows like the square root of the cost; but for an arm whose
    rewards do not vary (`kink_effort`).
    """
    result = np.array(effort)
    for arm in np.flatnonzero(np.array(model.costs) == 0).tolist():
        about = [statement for statement in statements if arm in statement.arms]
        result[arm] = max((least_effort(model, statement, arm, effort, binding) for statement in about), default=0.0)
    return result


def least_effort(model: BanditModel, statement: Statement, arm: int, effort: Array, binding: set[Statement]) -> float:
    """The effort of a free arm at which ``f_e = 1`` for a statement about it, the other arm's effort given."""
    if statement in binding:
        return kink_effort(model, statement, arm, effort)
    phi, (low, high, *_) = model.dispersions, model.family.mean_space
    efforts = [0.0 if other is None else effort[other] / phi[other] for other in statement[:2]]
    free = [other is None or (other != arm and model.costs[other] == 0) for other in statement[:2]]
    place, numbers = statement[:2].index(arm), statement_numbers(model, statement)
    term, code = interpreted_kernel(type(model.family))["statement_term"], FAMILY_CODES.get(type(model.family), -1)
    below, above = -700.0, 700.0
    for _ in range(80):
        middle = 0.5 * (below + above)
        efforts[place] = exp(middle)
        if model.distributions is not None:
            found = bounded_value(model, statement, efforts, free)
        else:
            found = term(code, low, high, *efforts, *numbers, *free)[1]
        below, above = (middle, above) if found < 1 else (below, middle)
    return float(phi[arm] * exp(above)) if above > -690 else 0.0


def kink_effort(model: BanditModel, statement: Statement, arm: int, effort: Array) -> float:
    """The effort of a free arm from which on the point of a binding statement is its mean: ``w_b l_b / l_a``, with
    the best bet l_b of the other arm against that mean, for rewards in a range that do not vary, whose bet l_a is at
    its limit at once. Infinite for all others, whose bets begin at zero.
    """
    found, other = model.distributions, next((one for one in statement.arms if one != arm), None)
    if found is None or other is None or len(found.values[arm]) > 1:
        return inf
    kernel, table = interpreted_kernel(type(model.family)), model.distribution_table
    rows = [kernel["row_of"](table, 0, one) for one in statement.arms]
    gap, shift = kernel["bounded_gap"](table, rows[0], *statement_numbers(model, statement)[:6])
    frame = kernel["bounded_frame"](table, *rows, gap, shift)
    t, ha, r, hb, _ = kernel["bounded_place"](frame, FARTHEST if arm == statement.winner else -FARTHEST)
    bet_a, _ = kernel["find_bet"](table, rows[0], LOWER_END, t, ha, 0.0)
    bet_b, _ = kernel["find_bet"](table, rows[1], UPPER_END, r, hb, 0.0)
    ratio = bet_b / bet_a if arm == statement.winner else bet_a / bet_b
    return float(effort[other] * ratio)


def bounded_value(model: BanditModel, statement: Statement, efforts: Sequence[float], free: Sequence[bool]) -> float:
    """The term of a statement about rewards in a range, at the efforts of its two sides."""
    kernel, table = interpreted_kernel(type(model.family)), model.distribution_table
    if any(free):
        side = 1 if free[0] else 0
        arm = statement[:2][side]
        return inf if arm is None or all(free) else efforts[side] * level_divergence(model, statement, arm)
    rows = [kernel["row_of"](table, 0, arm) for arm in statement.arms]
    gap, shift = kernel["bounded_gap"](table, rows[0], *statement_numbers(model, statement)[:6])
    return float(kernel["bounded_term"](table, *rows, *efforts, gap, shift)[0])


def mean_sensitivities(model: BanditModel, columns: Columns, effort: Array, multipliers: Array) -> Array:
    """``dT*/dmu_a = -sum_e z_e df_e/dmu_a`` at fixed costs, for ``min_e f_e = 1`` and multipliers that sum to T*.

    With natural parameter theta and x the point of arm a in a statement, ``df_e/dmu_a = w_a (theta(mu_a) - theta(x))``.
    Where b is free, x is what it asks of arm a, ``r mu_b + e``, and ``df_e/dmu_b = r w_a (x - mu_a) / V(x)``; where a
    is free, x is ``(mu_a - e) / r``.
    """
    if model.distributions is not None:
        raise InputError(
            "rewards in a range have no sensitivity to means, since means do not determine their distribution"
        )
    means, costs, theta = model.means, (*model.costs, 0.0), model.family.natural_parameter
    w, result = effort / model.dispersions, np.zeros(len(means))
    with np.errstate(divide="ignore"):
        for p, ((a, b), z) in enumerate(zip(columns.pairs.T.tolist(), multipliers, strict=True)):
            if z == 0.0:
                continue
            parameters, points = points_of(model, columns, w, p)
            ratio = 1.0 if columns.is_plain else float(columns.margins[RATIO, p])
            for arm, other, place in ((a, b, 0), (b, a, 1)):
                if costs[arm] > 0:
                    result[arm] -= z * w[arm] * (theta(means[arm]) - parameters[place])
                elif arm >= 0:
                    x, moved = points[1 - place], 1.0 / ratio if arm == a else ratio
                    result[arm] -= z * w[other] * moved * (x - means[other]) / model.family.unit_variance(x)
    return result


def points_of(
    model: BanditModel, columns: Columns, effort: Array, p: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Natural parameters and means of the winner's and the loser's point in a column: m twice where it is plain."""
    kernel, given, theta = interpreted_kernel(type(model.family)), model_numbers(model), model.family.natural_parameter
    a, b = columns.pairs[:, p].tolist()
    means, rests = (*given.means, np.float64(0.0)), (*given.rests, np.float64(0.0))
    numbers = means[a], means[b], rests[a], rests[b]
    stated = (0.0, 0.0, 1.0, 0.0) if columns.is_plain else tuple(columns.margins[:MARGIN_ROWS, p].tolist())
    margin, rest, ratio, _ = stated
    free_a, free_b = (arm < 0 or model.costs[arm] == 0 for arm in (a, b))
    if free_a or free_b:
        seen = ("seen_winner", means[a], rests[a]) if free_a else ("seen_loser", means[b], rests[b])
        point = kernel[seen[0]](*seen[1:], *stated)[0]
        return (float(theta(point)),) * 2, (point, point)
    wa, wb = effort[a], effort[b]
    if margin == 0.0 or given.family == GAUSSIAN:
        loser, loser_rest = kernel["seen_loser"](means[b], rests[b], *stated)
        scaled = wb / ratio if given.family == POISSON else wb
        *_, ua, ub = kernel["pair_term"](given.family, wa, scaled, means[a], loser, rests[a], loser_rest, False, False)
        first = ua * means[a] + ub * loser
        second = first if columns.is_plain else (first - margin) / ratio
        return (float(theta(first)), float(theta(second))), (first, second)
    piece = kernel["column_piece"](given, columns.pairs, columns.margins, p)
    *_, odds = kernel["margin_term"](given.family, wa, wb, *numbers, margin, rest, *piece)
    frame = kernel["margin_frame"](given.family, *numbers, margin, rest)
    _, _, first, second, fails, second_fails = kernel["margin_point"](means[b], frame, *kernel["shares_of"](odds))
    if given.family == BERNOULLI:  # a point may be so near to 1 that a double does not tell them apart
        return (log(first / fails), log(second / second_fails)), (first, second)
    return (float(theta(first)), float(theta(second))), (first, second)


def total_mean_sensitivities(
    model: BanditModel, columns: Columns, effort: Array, multipliers: Array, by_cost: Array
) -> Array:
    """dT*/dmu_a with everything that moves with the mean, ``by_cost`` being dT*/dc.

    Costs that were given stay. Costs that are gaps, ``c_b = max mu - mu_b``, follow: an arm's own cost falls as its
    mean rises, and every other cost rises with the mean of the best arm, which itself stays free:

        dT*/dmu_a = (dT*/dmu_a at fixed costs) - dT*/dc_a                            a is not the best arm
        dT*/dmu_a = (dT*/dmu_a at fixed costs) + sum over the others b of dT*/dc_b   a is the best arm

    Where several arms are best, T* has a kink in each of their means: as one rises the others begin to cost. The
    derivative is nan there.
    """
    partial = mean_sensitivities(model, columns, effort, multipliers)
    if model.cost_rule != GAPS:
        return partial
    best = np.array(model.costs) == 0
    others = np.sum(by_cost[~best]) if np.sum(best) == 1 else nan
    return np.where(best, partial + others, partial - by_cost)
