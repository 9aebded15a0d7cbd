"""What a run has seen, and what follows from it for the pairs, in the subset of Python that numba compiles."""

from math import inf
from typing import NamedTuple

from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.exploring.stopping.e_values import Side, needed_evidence, told_apart
from caet_opt.exploring.stopping.kernels import E_PROCESS, threshold_value
from caet_opt.solving.native.divergences import mixture_divergence

#: Why a stretch of rounds ended: the policy is done, the next round is for the object to do, an arm's stream is used
#: up, or the given number of rounds is over.
STOPPED, CHANGED, REFILL, LIMIT = range(4)

#: Where costs come from; a rule that is blind to costs takes every cost for one.
KNOWN, OBSERVED, GAPS, UNIT = range(4)

#: How a target is tracked: its sum over the rounds, the present one, or its share of the money.
CUMULATED, PRESENT, MONEY = range(3)


class Conditions(NamedTuple):
    """What stays the same in a run: family, costs, the parameters of the sampling rule and of the threshold.

    ``numbers`` has a row for each of the names below, in one array since each array that a call hands over costs time.

    >>> explorer = Explorer.start("best-arm", "gaussian:4", arms=2, delta=0.05, costs=[1, 2], policy="uniform")
    >>> from caet_opt.exploring import tally
    >>> conditions = explorer.policy.setting
    >>> isinstance(conditions, Conditions), conditions.numbers[tally.DISPERSION]
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
    seed: int
    gap: float
    batch: float
    growth: float


#: Rows of Conditions.numbers: what rounding took from the means, dispersions, what each prior is worth, and the
#: target that an oracle knows.
REST, DISPERSION, PRIOR, GIVEN = range(4)


class Streams(NamedTuple):
    """What each arm will bring: rewards and costs in the order of its pulls, and how many were used."""

    rewards: Array
    spending: Array
    cursor: Integers


class View(NamedTuple):
    """What a policy sees.

    Attributes
    ----------
    setting : what stays the same
    arms : a row for each of the names below, a column per arm
    pairs, evidence : of the answer that the means say: a column (a, b) per pair, and its Z_ab
    shape, members : the task, as `caet_opt.bandits.tasks.pairs` has it; -1 for one that compiled code does not know

    Examples
    --------
    >>> explorer = Explorer.start("best-arm", "gaussian", arms=2, delta=0.05, costs=[1, 2], policy="uniform")
    >>> explorer.observe(0, 1.5)
    >>> explorer.observe(1, 0.5)
    >>> from caet_opt.exploring import tally
    >>> view = explorer.now.view
    >>> isinstance(view, View), view.arms[tally.MEAN], view.evidence
    (True, array([1.5, 0.5]), array([0.25]))
    """

    setting: Conditions
    arms: Array
    pairs: Integers
    evidence: Array
    shape: int
    members: Integers


#: Rows of View.arms: pulls, sums of rewards and costs, what the policy remembers (the cumulated target of one that
#: tracks), the target with its projection, the empirical mean, the cost that enters decisions, zero if free, and what
#: rounding took from the sum of rewards.
COUNT, REWARD, SPENT, MEMORY, TARGET, PROJECTED, MEAN, COST, REST_OF_REWARD = range(ARM_ROWS := 9)

#: A policy that has no target keeps in its row whether an arm is in some pair.
NEEDED = TARGET


def total_count(arms: Array) -> float:
    """The round: the number of observations."""
    total = 0.0
    for a in range(arms.shape[1]):
        total += arms[COUNT, a]
    return total


def add(total: float, rest: float, amount: float) -> tuple[float, float]:
    """``total + rest + amount`` as a double, and what rounding took from it, which goes into the next addition.

    Kahan's sum: after n additions ``total`` is the sum of ``(1 + e_i) amount_i`` with ``|e_i| <= 2 u + O(n u^2)``,
    u = 2^-53, where a plain sum has n u. Sums of whole numbers below 2^53 are exact and have no rest. Never compile it
    so that additions may be exchanged (fastmath): the rest would be taken for zero.
    """
    amount += rest
    rounded = total + amount
    return rounded, amount - (rounded - total)


def absorb(streams: Streams, arms: Array, arm: int) -> None:
    """Take the arm's next reward and cost into the sums.

    Costs are summed plainly: no decision depends on their last digits, and n u of them is less than anybody pays for.
    """
    position = streams.cursor[arm]
    streams.cursor[arm] += 1
    arms[COUNT, arm] += 1.0
    total, rest = add(arms[REWARD, arm], arms[REST_OF_REWARD, arm], streams.rewards[arm, position])
    arms[REWARD, arm], arms[REST_OF_REWARD, arm] = total, rest
    arms[SPENT, arm] += streams.spending[arm, position]
    arms[MEAN, arm] = total / arms[COUNT, arm]


def give_back(streams: Streams, arms: Array, arm: int, reward: float, rest: float, spent: float) -> None:
    """Undo `absorb`, given the sums before it."""
    streams.cursor[arm] -= 1
    arms[COUNT, arm] -= 1.0
    arms[REWARD, arm], arms[REST_OF_REWARD, arm], arms[SPENT, arm] = reward, rest, spent


def update_costs(setting: Conditions, arms: Array, arm: int) -> None:
    """The costs that enter decisions after an observation of an arm; negligible estimates count as zero."""
    if setting.cost_source == OBSERVED:
        cost = arms[SPENT, arm] / arms[COUNT, arm]
        arms[COST, arm] = cost if cost > setting.negligible_cost else 0.0
    elif setting.cost_source == GAPS:
        best = arms[MEAN, 0]
        for a in range(arms.shape[1]):
            best = max(best, arms[MEAN, a])
        for a in range(arms.shape[1]):
            cost = best - arms[MEAN, a]
            arms[COST, a] = cost if cost > setting.negligible_cost else 0.0


def pair_evidence(family: int, wa: float, wb: float, x: float, y: float) -> float:
    """``Z_ab = w_a d(x, m) + w_b d(y, m)``, m the mean of both weighted by pulls over dispersion."""
    ua, ub = wa / (wa + wb), wb / (wa + wb)
    da = mixture_divergence(family, x, y, ua, ub, 0.0, 0.0)
    db = mixture_divergence(family, y, x, ub, ua, 0.0, 0.0)
    return wa * da + wb * db


def weight_of(setting: Conditions, arms: Array, arm: int) -> float:
    """Pulls over dispersion."""
    return float(arms[COUNT, arm] / setting.numbers[DISPERSION, arm])


def evidence_between(setting: Conditions, arms: Array, a: int, b: int) -> float:
    """Z_ab of two arms at the present means."""
    wa, wb = weight_of(setting, arms, a), weight_of(setting, arms, b)
    return pair_evidence(setting.family, wa, wb, arms[MEAN, a], arms[MEAN, b])


def weigh_pairs(view: View, arm: int) -> None:
    """The evidence of the pairs that an arm is in, or of all pairs for arm -1."""
    pairs = view.pairs
    for p in range(pairs.shape[1]):
        if arm < 0 or pairs[0, p] == arm or pairs[1, p] == arm:
            view.evidence[p] = evidence_between(view.setting, view.arms, pairs[0, p], pairs[1, p])


def exceeds(setting: Conditions, arms: Array, now: float, a: int, b: int, evidence: float, everywhere: bool) -> bool:
    """Whether the evidence that a beats b exceeds the threshold; for the e-process at the pooled mean or everywhere."""
    if setting.threshold != E_PROCESS:
        need = threshold_value(setting.threshold, now, arms[COUNT, a], arms[COUNT, b], setting.level, setting.slope)
        if not evidence > need:
            return False
        x, y = told_apart(setting.family, arms[MEAN, a], arms[MEAN, b])
        wa, wb = weight_of(setting, arms, a), weight_of(setting, arms, b)
        return pair_evidence(setting.family, wa, wb, x, y) > need
    winner = Side(weight_of(setting, arms, a), arms[MEAN, a], setting.numbers[PRIOR, a])
    loser = Side(weight_of(setting, arms, b), arms[MEAN, b], setting.numbers[PRIOR, b])
    return evidence > needed_evidence(
        setting.family, setting.low, setting.high, setting.level, evidence, winner, loser, everywhere
    )


def short_pair(view: View) -> int:
    """A pair whose evidence does not exceed its threshold, or -1.

    The pair with the least evidence is looked at first, and for the e-process intervals are laid only when every pair
    passes at its pooled mean: most rounds evaluate one pair's threshold once.
    """
    setting, pairs, evidence = view.setting, view.pairs, view.evidence
    weakest, least = 0, inf
    for p in range(evidence.size):
        if evidence[p] < least:
            weakest, least = p, evidence[p]
    if not evidence[weakest] > setting.level:
        return weakest
    now = total_count(view.arms)
    for everywhere in (False, True):
        if everywhere and setting.threshold != E_PROCESS:
            break
        if not exceeds(setting, view.arms, now, pairs[0, weakest], pairs[1, weakest], evidence[weakest], everywhere):
            return weakest
        for p in range(evidence.size):
            if p != weakest and not exceeds(setting, view.arms, now, pairs[0, p], pairs[1, p], evidence[p], everywhere):
                return p
    return -1


def is_settled(view: View) -> bool:
    """Whether the evidence of every pair exceeds its threshold."""
    return short_pair(view) < 0
