"""Whether rewards spread more than their family allows: a test that may be looked at after every outcome.

Under what the guarantee assumes each E_n below ever reaches 1 / alpha with probability at most alpha, `LEVEL` here,
whatever chose the arms; where it does, the assumption is refuted. The proofs are in ``docs/mathematics/live.md``.

Gaussian: with Q the sum over the arms of ``sum (X_i - mean_a)^2 / sigma_a^2``, ``A = n/2 + a`` and ``y = Q/2``, the
average of ``v^(-n/2) exp((1 - 1/v) Q / 2)`` over variances v, ``1/v`` having the density ``a u^(a - 1)`` on (0, 1),

    E_n = a e^y y^(-A) gamma(A, y)  >=  a / A,       gamma the lower incomplete gamma function.

Poisson: with q_i the negative binomial distribution whose mean is ``(S + 1/2) / m``, for the m outcomes of the arm
before and their sum S, and whose variance is ``phi (1 + 1/m)`` times that, for each phi of `DISPERSIONS`,

    E_n = average over q of  product of q_i(X_i) / product over arms of  max over mu of  product of p(X_i; mu).

The first outcome of an arm is met with ``1 / ((x + 1) (x + 2))`` in one half of the products; the other leaves it out.
"""

import sqlite3
from collections.abc import Mapping
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caet_opt.bandits.families import Bernoulli, Bounded, Family, Gaussian, Poisson
from caet_opt.bandits.families.base import NAMED_AFTER
from caet_opt.bandits.families.numerics import Array
from caet_opt.live import contents

#: The probability with which rewards as they are assumed raise a false alarm, ever; what log E must reach for one.
LEVEL = 0.001
NEEDED = -log(LEVEL)

#: How many outcomes of every arm there must be before an answer is declared, where the spread is watched: one outcome
#: shows none, and without this rewards of a far too large spread settle everything by the first outcome of each arm.
LEAST_OUTCOMES = 2

#: The density of 1/v is ``a u^(a - 1)``; a = 2 finds variances 1.25 to 100 times too large within 5 % of the best a.
SHAPE = 2.0

#: How many times the mean the variance of the counts is, in the alternatives to the Poisson distribution.
DISPERSIONS = np.array([1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0])

#: What rounding can change of a logarithm, in parts of the largest term of its sum; and a square that stands for any
#: larger one.
ROUNDING, LARGEST = 4e-15, 1e300

#: What is said where nothing is watched.
NOTHING: dict[str, Any] = {
    **dict.fromkeys(("watched", "alarm"), False),
    **dict.fromkeys(("level", "needed", "log_e", "since", "variances", "fits", "reason")),
    "unseen": [],
}

#: What to record instead of rewards that spread too much, by the name of their family.
INSTEAD = {
    "gaussian": "rewards that spread less, such as logarithms of amounts",
    "poisson": "counts of groups, if events come in groups",
}

Record = dict[str, Any]
Arms = NDArray[np.int64]


class Spread(NamedTuple):
    """What was seen: of each arm its outcomes and their variance, None for fewer than two; the largest log E, and at
    which outcome it first reached what an alarm needs."""

    counts: list[int]
    variances: list[float | None]
    log_e: float
    since: int | None


def is_watched(family: Family) -> bool:
    """Whether the spread of the rewards is watched."""
    return isinstance(family, Gaussian | Poisson)


def needs_order(family: Family) -> bool:
    """Whether the test needs the order in which the rewards came: it predicts each count by those before it."""
    return isinstance(family, Poisson)


def least_outcomes(family: Family) -> int:
    """How many outcomes of every arm there must be before an answer is declared."""
    return LEAST_OUTCOMES if is_watched(family) else 1


def see_spread(
    family: Family, arms: Arms, rewards: Array, count: int, batches: Mapping[int, int] | None = None
) -> Spread:
    """What outcomes in the order of recording say of the spread, for ``count`` arms; inside a batch, given by its first
    and its last outcome, nobody looks."""
    squares = residual_squares(arms, rewards, count)
    if isinstance(family, Gaussian):
        log_e = gaussian_log_e(arms, squares, family.dispersions(count))
    else:
        log_e = poisson_log_e(arms, rewards, count)
    for first, last in (batches or {}).items():
        log_e[first - 1 : last - 1] = -np.inf
    alarms = np.flatnonzero(log_e >= NEEDED)
    counts = np.bincount(arms, minlength=count)
    sums = np.bincount(arms, squares, minlength=count)
    variances = [total / (n - 1) if n > 1 else None for total, n in zip(sums.tolist(), counts.tolist(), strict=True)]
    since = int(alarms[0]) + 1 if len(alarms) else None
    return Spread(counts.tolist(), variances, float(log_e.max(initial=0.0)), since)


def residual_squares(arms: Arms, rewards: Array, count: int) -> Array:
    """``(X_m - mean of those before)^2 (m - 1) / m`` for the m-th outcome of an arm; they add up to the sum of squares
    about the mean, without differences of large numbers. At most `LARGEST`, also where doubles end."""
    squares = np.zeros(len(rewards))
    with np.errstate(over="ignore", invalid="ignore"):
        for at in places(arms, count):
            shifted, before = rewards[at] - rewards[at[0]], np.arange(1.0, len(at))
            means = np.cumsum(shifted)[:-1] / before
            squares[at[1:]] = np.fmin((shifted[1:] - means) ** 2 * (before / (before + 1.0)), LARGEST)
    return squares


def places(arms: Arms, count: int) -> list[NDArray[np.int64]]:
    """Where the outcomes of each arm are, for those that have some."""
    return [at for at in (np.flatnonzero(arms == arm) for arm in range(count)) if len(at)]


def gaussian_log_e(arms: Arms, squares: Array, variances: Array) -> Array:
    """``log a + y - A log y + log gamma(A, y)`` after each outcome, at least log(a / A), less what rounding can add."""
    from scipy.special import gammainc, gammaln

    power = 0.5 * np.arange(1.0, len(arms) + 1.0) + SHAPE
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        half = np.fmin(np.cumsum(0.5 * squares / variances[arms]), LARGEST)
        terms = np.array([half, -power * np.log(half), gammaln(power)])
        found = log(SHAPE) + terms.sum(axis=0) + np.log(gammainc(power, half))
        found -= ROUNDING * np.abs(terms).max(axis=0)
    return np.asarray(np.fmax(found, np.log(SHAPE / power)))  # where gamma(A, y) underflows, the lower bound


def poisson_log_e(arms: Arms, rewards: Array, count: int) -> Array:
    """log of the average of the products after each outcome, less what rounding can add; -inf beyond doubles."""
    from scipy.special import gammaln, logsumexp

    whole, later = (np.zeros((len(rewards), len(DISPERSIONS))) for _ in range(2))
    with np.errstate(over="ignore", invalid="ignore"):
        for at in places(arms, count):
            x = rewards[at]
            whole[at[1:]] = later[at[1:]] = predict_counts(x)
            whole[at[0]] = gammaln(x[0] + 1.0) - np.log1p(x[0]) - np.log1p(x[0] + 1.0)
            whole[at] -= likelihood_gains(x)[:, None]
            later[at[1:]] -= likelihood_gains(x[1:])[:, None]
        logs = np.concatenate([np.cumsum(whole, axis=0), np.cumsum(later, axis=0)], axis=1)
    return np.asarray(logsumexp(np.where(np.isnan(logs), -np.inf, logs), axis=1) - log(logs.shape[1]))


def predict_counts(x: Array) -> Array:
    """log of ``x! q(x)`` for the outcomes of an arm from the second on, a column per dispersion, by those before."""
    from scipy.special import gammaln

    before = np.arange(1.0, len(x))[:, None]
    means = (np.cumsum(x)[:-1, None] + 0.5) / before
    ratio = DISPERSIONS * (1.0 + 1.0 / before)  # of variance and mean
    size, counts = means / (ratio - 1.0), x[1:, None]
    largest = gammaln(counts + size)
    found = largest - gammaln(size) - size * np.log(ratio) + counts * np.log1p(-1.0 / ratio)
    return np.asarray(found - ROUNDING * np.abs(largest))


def likelihood_gains(x: Array) -> Array:
    """What each outcome of an arm adds to the log of the largest likelihood of all so far, ``S log(S / m) - S`` for m
    outcomes with sum S (without their x!): ``x log(S / m) - x + S' log((S / m) / (S' / m'))``, dashed before it."""
    from scipy.special import xlogy

    number, sums = np.arange(1.0, len(x) + 1.0), np.cumsum(x)
    before = sums - x
    means = before / np.maximum(number - 1.0, 1.0)
    moved = np.divide(x - means, number * means, out=np.zeros_like(x), where=means > 0.0)
    return np.asarray(xlogy(x, sums / number) - x + before * np.log1p(moved))


def report_spread(db: sqlite3.Connection, family: Family, arms: int) -> Record:
    """What the watch says of an experiment: whether there is an alarm, since which outcome, and what would fit.

    ``log_e`` is the largest so far, so that an alarm stays; ``unseen`` are the arms with fewer than two outcomes.
    """
    if not is_watched(family):
        name = NAMED_AFTER.get(family.name, family.name)
        # zeros and ones spread as their mean says, and of rewards in a range no spread is assumed
        known = isinstance(family, Bernoulli | Bounded)
        return NOTHING | {"reason": None if known else f"not watched for {name} rewards"}
    outcomes = np.array([(one.arm, one.reward) for one in contents.read_outcomes(db, arms)]).reshape(-1, 2)
    seen = see_spread(family, outcomes[:, 0].astype(np.int64), outcomes[:, 1], arms, contents.read_batches(db))
    largest = max((variance for variance in seen.variances if variance is not None), default=0.0)
    fits = [
        f"family gaussian:VAR with VAR at least the variance of the rewards (so far {largest:.4g} in one arm)",
        "rewards cut off to a range, with family bounded:LO,HI, which is proven whatever their distribution",
        *([INSTEAD[family.name]] if family.name in INSTEAD else []),
        "bernoulli, for whether there was any at all",
    ]
    return NOTHING | {
        "watched": True,
        "alarm": seen.since is not None,
        "level": LEVEL,
        "needed": NEEDED,
        "log_e": seen.log_e,
        "since": seen.since,
        "unseen": [arm for arm, count in enumerate(seen.counts) if count < LEAST_OUTCOMES],
        "variances": seen.variances,
        "fits": None if seen.since is None else fits,
    }
