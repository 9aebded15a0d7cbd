"""What a run has seen, and what follows from it for the statements, in the subset of Python that numba compiles."""

from collections.abc import Callable
from math import inf
from typing import NamedTuple, Protocol, Self

import numpy as np

from caet_opt.bandits.families.numerics import UNIT as ROUNDING
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.pairs import MARGIN, RATIO, RATIO_REST, pairs_hold, statements_hold, write_statements
from caet_opt.bandits.tasks.pairs import REST as MARGIN_REST
from caet_opt.kernels.betting import capital_exceeds, capital_lead
from caet_opt.kernels.certify import mean_of
from caet_opt.kernels.counting import as_one_row, count_reward, counted_term
from caet_opt.kernels.e_values import Side, needed_by, needed_evidence, told_apart
from caet_opt.kernels.records import PIECE
from caet_opt.kernels.statement_evidence import boundary_point, certain_evidence, statement_evidence
from caet_opt.kernels.term import BOUNDED, pair_term
from caet_opt.kernels.thresholds import E_PROCESS, threshold_value

#: Why `rounds.play` ended: the policy is done, an arm's stream is used up, the given number of rounds is over. Or why
#: the outcome that was taken in last cannot be responded to yet: the answer has to be found in Python, an arm has to be
#: chosen there, the problem has another layout, or its solution has to come from there.
STOPPED, REFILL, LIMIT, NEED_ANSWER, NEED_CHOICE, NEED_LAYOUT, NEED_SOLUTION = range(7)

#: What `respond` returns where it needs nothing.
DONE = -1

#: Where costs come from; a rule that is blind to costs takes every cost for one.
KNOWN, OBSERVED, GAPS, UNIT = range(4)

#: How a target is tracked: its sum over the rounds, the present one, or its share of the money.
CUMULATED, PRESENT, MONEY = range(3)


class Conditions(NamedTuple):
    """What stays the same in a run: family, costs, the parameters of the sampling rule and of the threshold.

    ``numbers`` has a row for each of the names below, in one array since each array that a call hands over costs time.

    >>> from caet_opt.kernels.ledger import Conditions
    >>> explorer = Explorer.start("best-arm", "gaussian:4", arms=2, delta=0.05, costs=[1, 2], policy="uniform")
    >>> from caet_opt.kernels import ledger
    >>> conditions = explorer.policy.setting
    >>> isinstance(conditions, Conditions), conditions.numbers[ledger.DISPERSION]
    (True, array([4., 4.]))
    """

    family: int
    error: float
    low: float
    high: float
    numbers: Array
    cost_source: int
    zero_cost_share: float
    negligible_cost: float
    tracking: int
    threshold: int
    level: float
    slope: float
    tolerance: float
    target: float
    limit: int
    native: bool
    seed: int
    gap: float
    batch: float
    growth: float
    lower_is_better: bool
    limited: bool
    several: bool


#: Rows of Conditions.numbers: what rounding took from the means, dispersions, what each prior is worth, and the
#: target that an oracle knows.
REST, DISPERSION, PRIOR, GIVEN = range(4)


class Streams(NamedTuple):
    """What each arm will bring: rewards and costs in the order of its pulls, and how many were used."""

    rewards: Array
    spending: Array
    cursor: Integers


#: No outcomes to come.
NO_STREAMS = Streams(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0, dtype=np.int64))


class Seen(Protocol):
    """A `View`, or what has its parts and more.

    >>> caet = Caet.start("best-arm", "gaussian", arms=2, delta=0.05, costs=[1, 2])
    >>> caet.view.clock, caet.view.pairs.tolist()
    (array([0., 0., 0., 0., 0.]), [[0], [1]])
    """

    @property
    def _replace(self) -> Callable[..., Self]: ...
    @property
    def setting(self) -> Conditions: ...
    @property
    def arms(self) -> Array: ...
    @property
    def clock(self) -> Array: ...
    @property
    def pairs(self) -> Integers: ...
    @property
    def margins(self) -> Array: ...
    @property
    def evidence(self) -> Array: ...
    @property
    def shape(self) -> int: ...
    @property
    def members(self) -> Integers: ...
    @property
    def numbers(self) -> Array: ...


class View(NamedTuple):
    """What a policy sees.

    Attributes
    ----------
    setting : what stays the same
    arms : a row for each of the names below, a column per arm
    clock : the round, the arm of the last outcome, the round in which the answer was last looked for; where several may
        be right, also the rounds in which the one that is followed was last chosen, and others were last looked at
    pairs, evidence : of the answer that the means say, or of several right ones the one that is followed: a column
        (a, b) per statement, "a beats b", and its Z_ab; -1 stands for no arm
    margins : where some statement of the task has a level, margin or ratio, those of each column, in the rows of
        `caet_opt.bandits.tasks.pairs`, and PIECE, which piece of a statement with two minima it is; else no columns
    shape, members, numbers : the task, as `caet_opt.bandits.tasks.pairs` has it; shape -1 for one that compiled code
        does not know

    Examples
    --------
    >>> explorer = Explorer.start("best-arm", "gaussian", arms=2, delta=0.05, costs=[1, 2], policy="uniform")
    >>> explorer.observe(0, 1.5)
    >>> explorer.observe(1, 0.5)
    >>> from caet_opt.kernels import ledger
    >>> view = explorer.view
    >>> isinstance(view, View), view.arms[ledger.MEAN], view.evidence
    (True, array([1.5, 0.5]), array([0.25]))
    """

    setting: Conditions
    arms: Array
    clock: Array
    pairs: Integers
    margins: Array
    evidence: Array
    shape: int
    members: Integers
    numbers: Array


#: Entries of View.clock; the answer is looked for when every arm has an outcome, and whenever a pair may not hold.
#: CHOSEN and LOOKED are zero where one answer is right.
ROUND, LAST, ANSWERED, CHOSEN, LOOKED = range(CLOCK_ENTRIES := 5)

#: Rows of View.arms: pulls, sums of rewards and costs, what the policy remembers (the cumulated target of one that
#: tracks), the target with its projection, the empirical mean, the cost that enters decisions, zero if free, what
#: rounding took from the sum of rewards, and how ties are broken: the arm that comes first, second and so on, and the
#: place of each arm in this order. For rewards in a range there are more rows: dispersions, which are 1, and then, not
#: by arm but one entry after the other, the table of `caet_opt.kernels.counting`, whose width is its first entry. So
#: that what follows the named rows is `caet_opt.kernels.records.ModelNumbers.dispersions`.
COUNT, REWARD, SPENT, MEMORY, TARGET, PROJECTED, MEAN, COST, REST_OF_REWARD, ORDER, PLACE = range(ARM_ROWS := 11)

#: A policy that has no target keeps in its row whether an arm is in some pair.
NEEDED = TARGET


def add(total: float, rest: float, amount: float) -> tuple[float, float]:
    """``total + rest + amount`` as a double, and what rounding took from it, which goes into the next addition.

    Kahan's sum: after n additions ``total`` is the sum of ``(1 + e_i) amount_i`` with ``|e_i| <= 2 u + O(n u^2)``,
    u = 2^-53, where a plain sum has n u. Sums of whole numbers below 2^53 are exact and have no rest. Never compile it
    so that additions may be exchanged (fastmath): the rest would be taken for zero.
    """
    amount += rest
    rounded = total + amount
    return rounded, amount - (rounded - total)


def has_histograms(setting: Conditions) -> bool:
    """Whether the rewards of the family are in a range, and counted in histograms."""
    return setting.family == BOUNDED


def has_sums_alone(setting: Conditions) -> bool:
    """What rounds of the other families are compiled with in place of `has_histograms`: no.

    So that what only histograms need is in none of their machine code, in which they take up to a tenth longer.
    """
    return False


def absorb(setting: Conditions, arms: Array, clock: Array, arm: int, reward: float, paid: float) -> None:
    """Take an outcome of an arm into the sums, and a reward in a range into its histogram.

    Costs are summed plainly: no decision depends on their last digits, and n u of them is less than anybody pays for.
    """
    arms[COUNT, arm] += 1.0
    total, rest = add(arms[REWARD, arm], arms[REST_OF_REWARD, arm], reward)
    arms[REWARD, arm], arms[REST_OF_REWARD, arm] = total, rest
    arms[SPENT, arm] += paid
    arms[MEAN, arm] = total / arms[COUNT, arm]
    clock[ROUND] += 1.0
    clock[LAST] = arm
    if has_histograms(setting):
        count_reward(as_one_row(arms), table_base(arms), arm, reward)


def table_base(arms: Array) -> int:
    """Where, in a view's arms one entry after the other, the table of rewards in a range begins."""
    return (ARM_ROWS + 1) * int(arms.shape[1])


def update_costs(setting: Conditions, arms: Array, arm: int) -> None:
    """The costs that enter decisions after an observation of an arm; negligible estimates count as zero."""
    if setting.cost_source == OBSERVED:
        cost = arms[SPENT, arm] / arms[COUNT, arm]
        arms[COST, arm] = cost if cost > setting.negligible_cost else 0.0
    elif setting.cost_source == GAPS:
        best = arms[MEAN, 0]
        for a in range(arms.shape[1]):
            best = min(best, arms[MEAN, a]) if setting.lower_is_better else max(best, arms[MEAN, a])
        for a in range(arms.shape[1]):
            cost = arms[MEAN, a] - best if setting.lower_is_better else best - arms[MEAN, a]
            arms[COST, a] = cost if cost > setting.negligible_cost else 0.0


def weight_of(setting: Conditions, arms: Array, arm: int) -> float:
    """Pulls over dispersion."""
    return float(arms[COUNT, arm] / setting.numbers[DISPERSION, arm])


def evidence_between(setting: Conditions, arms: Array, a: int, b: int, x: float, y: float) -> float:
    """``Z_ab = w_a d(x, m) + w_b d(y, m)`` of two arms at means x and y, m the mean of both weighted by w = N / phi."""
    wa, wb = arms[COUNT, a] / setting.numbers[DISPERSION, a], arms[COUNT, b] / setting.numbers[DISPERSION, b]
    return pair_term(setting.family, wa, wb, x, y, 0.0, 0.0, False, False)[0]


def is_stated(view: Seen) -> bool:
    """Whether some statement of the task has a level, margin or ratio."""
    return bool(view.margins.shape[1] > 0)


def blur_of(setting: Conditions) -> float:
    """What rounding may have done to the difference of two means of rewards in a range, which are sums of numbers that
    doubles do not have: equal ones may differ by a few units. Of other rewards two means are what they are."""
    return 64.0 * ROUNDING * max(abs(setting.low), abs(setting.high)) if has_histograms(setting) else 0.0


def answer_holds(view: Seen, means: Array, arm: int) -> bool:
    """Whether each statement of the answer about this arm, or each for arm -1, holds for some means without doubt."""
    if is_stated(view):
        return statements_hold(means, view.pairs, view.margins, arm, blur_of(view.setting))
    return pairs_hold(means, view.pairs, arm)


def write_answer(view: Seen, means: Array, pairs: Integers, margins: Array) -> None:
    """Replace the columns of some answer by those of the answer for these means.

    A task has as many columns for all of its answers, and as many again for second pieces where it may have some.
    """
    write_statements(view.shape, view.members, view.numbers, means, pairs, margins)
    many = view.numbers.shape[1]
    if is_stated(view) and pairs.shape[1] > many:
        for p in range(many):
            write_second(pairs, margins, p, many + p)


def write_second(pairs: Integers, margins: Array, p: int, q: int) -> None:
    """Make column q the second piece of the statement of column p if it may have one, else ``0 > 0 - 1``."""
    twice = pairs[0, p] >= 0 and pairs[1, p] >= 0 and margins[MARGIN, p] > 0.0
    for side in range(2):
        pairs[side, q] = pairs[side, p] if twice else -1
    margins[MARGIN, q] = margins[MARGIN, p] if twice else -1.0
    margins[MARGIN_REST, q] = margins[MARGIN_REST, p] if twice else 0.0
    margins[RATIO, q], margins[RATIO_REST, q] = 1.0, 0.0


def weight_or_none(setting: Conditions, arms: Array, arm: int) -> float:
    """Pulls over dispersion, zero for an arm that is none."""
    return weight_of(setting, arms, arm) if arm >= 0 else 0.0


def evidence_at(setting: Conditions, arms: Array, pairs: Integers, margins: Array, p: int, x: float, y: float) -> float:
    """Z of the statement of a column if the means of its arms were x and y; infinite for a column that has none, or
    the second piece of one."""
    a, b = pairs[0, p], pairs[1, p]
    if margins.shape[1] == 0:
        return evidence_between(setting, arms, a, b, x, y)
    if margins[PIECE, p] > 0.0:
        return inf
    if has_histograms(setting):
        return counted_rates(arms, pairs, margins, p)[0]
    wa, wb = weight_or_none(setting, arms, a), weight_or_none(setting, arms, b)
    margin, rest, ratio, rest_ratio = (
        margins[MARGIN, p],
        margins[MARGIN_REST, p],
        margins[RATIO, p],
        margins[RATIO_REST, p],
    )
    return statement_evidence(setting.family, setting.low, setting.high, wa, wb, x, y, margin, rest, ratio, rest_ratio)


def counted_rates(arms: Array, pairs: Integers, margins: Array, p: int) -> tuple[float, float, float]:
    """Z of the statement of a column about rewards in a range, and its rates: what the histograms say."""
    a, b = pairs[0, p], pairs[1, p]
    x, y, wa, wb = mean_of(arms[MEAN], a), mean_of(arms[MEAN], b), mean_of(arms[COUNT], a), mean_of(arms[COUNT], b)
    return counted_term(as_one_row(arms), table_base(arms), a, b, x, y, margins[MARGIN, p], wa, wb)


def counted_lead(
    setting: Conditions, arms: Array, pairs: Integers, margins: Array, p: int
) -> tuple[float, float, float]:
    """`capital_lead` of the statement of a column about rewards in a range over the level."""
    a, b = pairs[0, p], pairs[1, p]
    x, y, wa, wb = mean_of(arms[MEAN], a), mean_of(arms[MEAN], b), mean_of(arms[COUNT], a), mean_of(arms[COUNT], b)
    flat, base = as_one_row(arms), table_base(arms)
    return capital_lead(flat, base, a, b, x, y, margins[MARGIN, p], wa, wb, setting.level)


def counted_exceeds(
    setting: Conditions, arms: Array, pairs: Integers, margins: Array, p: int, everywhere: bool
) -> bool:
    """`statement_exceeds` for rewards in a range: by betting, at one point of the boundary or everywhere."""
    a, b = pairs[0, p], pairs[1, p]
    if not everywhere:
        return counted_lead(setting, arms, pairs, margins, p)[0] > 0.0
    x, y, wa, wb = mean_of(arms[MEAN], a), mean_of(arms[MEAN], b), mean_of(arms[COUNT], a), mean_of(arms[COUNT], b)
    flat, base = as_one_row(arms), table_base(arms)
    return capital_exceeds(flat, base, a, b, x, y, margins[MARGIN, p], wa, wb, setting.level)


def evidence_of(setting: Conditions, arms: Array, pairs: Integers, margins: Array, p: int) -> float:
    """Z of the statement of a column."""
    x, y = mean_of(arms[MEAN], pairs[0, p]), mean_of(arms[MEAN], pairs[1, p])
    return evidence_at(setting, arms, pairs, margins, p, x, y)


def weigh_pairs(view: Seen, arm: int) -> None:
    """The evidence of the columns that an arm is in, or of all columns for arm -1."""
    if is_stated(view):
        weigh_statements(view, arm)
        return
    for p in range(view.pairs.shape[1]):
        a, b = view.pairs[0, p], view.pairs[1, p]
        if arm < 0 or a == arm or b == arm:
            view.evidence[p] = evidence_between(view.setting, view.arms, a, b, view.arms[MEAN, a], view.arms[MEAN, b])


def weigh_statements(view: Seen, arm: int) -> None:
    """`weigh_pairs` where there are levels, margins or ratios."""
    for p in range(view.pairs.shape[1]):
        if arm < 0 or view.pairs[0, p] == arm or view.pairs[1, p] == arm:
            view.evidence[p] = evidence_of(view.setting, view.arms, view.pairs, view.margins, p)


def exceeds(setting: Conditions, arms: Array, now: float, a: int, b: int, evidence: float, everywhere: bool) -> bool:
    """Whether the evidence that a beats b exceeds the threshold; for the e-process at the pooled mean or everywhere."""
    if setting.threshold != E_PROCESS:
        need = threshold_value(setting.threshold, now, arms[COUNT, a], arms[COUNT, b], setting.level, setting.slope)
        if not evidence > need:
            return False
        x, y = told_apart(setting.family, arms[MEAN, a], arms[MEAN, b])
        return evidence_between(setting, arms, a, b, x, y) > need
    winner = Side(weight_of(setting, arms, a), arms[MEAN, a], setting.numbers[PRIOR, a])
    loser = Side(weight_of(setting, arms, b), arms[MEAN, b], setting.numbers[PRIOR, b])
    return evidence > needed_evidence(
        setting.family, setting.low, setting.high, setting.level, evidence, winner, loser, everywhere
    )


def statement_exceeds(
    setting: Conditions,
    arms: Array,
    now: float,
    pairs: Integers,
    margins: Array,
    p: int,
    evidence: float,
    everywhere: bool,
) -> bool:
    """Whether the evidence of the statement of a column exceeds the threshold; one of no arm always does."""
    a, b, family = pairs[0, p], pairs[1, p], setting.family
    margin, rest, ratio = margins[MARGIN, p], margins[MARGIN_REST, p], margins[RATIO, p]
    if a < 0 and b < 0:
        return True
    if has_histograms(setting):
        return counted_exceeds(setting, arms, pairs, margins, p, everywhere)
    if a >= 0 and b >= 0 and margin == 0.0 and ratio == 1.0:
        return exceeds(setting, arms, now, a, b, evidence, everywhere)
    if not evidence > setting.level:
        return False
    wa, wb = weight_or_none(setting, arms, a), weight_or_none(setting, arms, b)
    x, y = mean_of(arms[MEAN], a), mean_of(arms[MEAN], b)
    if setting.threshold != E_PROCESS:
        many, others = mean_of(arms[COUNT], a), mean_of(arms[COUNT], b)
        need = threshold_value(setting.threshold, now, many, others, setting.level, setting.slope)
        if not evidence > need:
            return False
        return certain_evidence(family, setting.low, setting.high, wa, wb, x, y, margin, rest, ratio) > need
    winner, loser = Side(wa, x, mean_of(setting.numbers[PRIOR], a)), Side(wb, y, mean_of(setting.numbers[PRIOR], b))
    point = boundary_point(family, wa, wb, x, y, margin, rest, ratio)
    return evidence > needed_by(
        family, setting.low, setting.high, setting.level, evidence, winner, loser, margin, ratio, point, everywhere
    )


def column_exceeds(view: Seen, p: int, evidence: float, everywhere: bool) -> bool:
    """Whether the evidence of a column exceeds the threshold; that of the first piece of a statement says all."""
    now, pairs = view.clock[ROUND], view.pairs
    if is_stated(view):
        if view.margins[PIECE, p] > 0.0:
            return True
        return statement_exceeds(view.setting, view.arms, now, pairs, view.margins, p, evidence, everywhere)
    return exceeds(view.setting, view.arms, now, pairs[0, p], pairs[1, p], evidence, everywhere)


def short_pair(view: Seen) -> int:
    """A column whose evidence does not exceed its threshold, or -1.

    The one with the least evidence is looked at first, and for the e-process intervals are laid only when every one
    passes at its pooled mean: most rounds evaluate one threshold once.
    """
    setting, evidence = view.setting, view.evidence
    weakest, least = 0, inf
    for p in range(evidence.size):
        if evidence[p] < least:
            weakest, least = p, evidence[p]
    if not evidence[weakest] > setting.level:
        return weakest
    for everywhere in (False, True):
        if everywhere and setting.threshold != E_PROCESS:
            break
        if not column_exceeds(view, weakest, evidence[weakest], everywhere):
            return weakest
        for p in range(evidence.size):
            if p != weakest and not column_exceeds(view, p, evidence[p], everywhere):
                return p
    return -1
