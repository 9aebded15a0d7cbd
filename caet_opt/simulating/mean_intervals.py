"""What runs say of costs: quantiles, an interval of the mean where there are runs enough, and what it is at least.

Costs of runs are skewed to the right, so that Student's interval lies too low: with 10 runs it holds in 91 % of cases
on some models. The one here allows for skewness; `python analysis/interval_coverage.py` prints in how many each holds.
No interval can hold for every distribution (Bahadur and Savage 1956): what happens in one of 1000 runs is not seen in
100. So there is none where such runs are known to exist, see `Policy.may_starve`, and none of few runs.
"""

from collections.abc import Mapping
from math import ceil, log, nan, sqrt

import numpy as np

from caet_opt.bandits.families.numerics import Array, Mask

#: Confidence of the intervals and of the bounds.
CONFIDENCE = 0.95

#: Shares of runs of which the largest cost is told.
QUANTILES = (0.1, 0.5, 0.9)

#: Fewer runs have no interval.
FEWEST = 10

#: The bets of `mean_at_least` are these over ``sqrt(n / (2 log 20))``: best for a relative spread of 2, 1, 1/2 and 1/4.
BETS = (0.5, 1.0, 2.0, 4.0)

#: Relative accuracy of log(mean / bound), and where it is given up: ``exp(-500)`` of a mean is nothing.
ACCURACY, LARGEST_LOG = 1e-4, 500.0


def mean_band(samples: Array) -> tuple[Array, Array]:
    """The ends of a 95 % interval for the mean of every column; NaN for fewer than 10 rows.

        T = sqrt(n) (m - mu) / s,   a = skewness / sqrt(n),   g(T) = T + a T^2 / 3 + a^2 T^3 / 27 + a / 6

    Hall (1992): g(T) is nearer to Student's t than T is. g is a cube, ``(1 + a T / 3)^3 = 1 + a (g - a / 6)``, so that
    the ends ``m - s g^-1(+-t) / sqrt(n)`` are a formula. t has (n - 1) / 2 degrees of freedom: s^2 varies by
    ``(kurtosis - 1) / n``, for skewed costs about twice as much as for Gaussian ones. Each end is the outer one of this
    and of Student's ``m -+ s t / sqrt(n)`` with n - 1 degrees: for few runs the skewness is an estimate, too.
    """
    from scipy.special import stdtrit

    runs = len(samples)
    if runs < FEWEST:
        nothing = np.full(samples.shape[1:], np.nan)
        return nothing, nothing
    student, wider = (float(stdtrit(degrees, 0.5 * (1.0 + CONFIDENCE))) for degrees in (runs - 1, 0.5 * (runs - 1)))
    mean = np.mean(samples, axis=0)
    scale = np.max(np.abs(samples - mean), axis=0)
    unit = (samples - mean) / np.where(scale > 0, scale, 1.0)  # whose cubes stay within double precision
    error, skewness = scale * np.std(unit, axis=0, ddof=1) / sqrt(runs), find_skewness(unit) / sqrt(runs)
    low = mean - error * np.maximum(student, undo_cube(wider, skewness))
    high = mean - error * np.minimum(-student, undo_cube(-wider, skewness))
    return np.asarray(low), np.asarray(high)


def find_quantiles(costs: Array, stopped: Mask) -> dict[str, float | None]:
    """10, 50 and 90 % quantiles: the least cost that so large a share of the runs did not exceed, by the share as text.

    A run that did not stop costs more than any other; where the quantile is one of these it is None.

    >>> find_quantiles(np.arange(1.0, 11.0), np.arange(10) < 8)
    {'0.1': 1.0, '0.5': 5.0, '0.9': None}
    """
    whole = np.sort(np.where(stopped, costs, np.inf))
    found = {f"{share:g}": float(whole[ceil(share * len(whole)) - 1]) for share in QUANTILES}
    return {share: None if cost == np.inf else cost for share, cost in found.items()}


def cost_columns(quantiles: Mapping[str, float | None]) -> dict[str, float]:
    """The same as columns of a frame, ``cost_10`` and so on; NaN for None."""
    return {f"cost_{100 * float(share):g}": nan if cost is None else cost for share, cost in quantiles.items()}


def find_skewness(shifts: Array) -> Array:
    """``sqrt(n (n - 1)) / (n - 2)  m_3 / m_2^(3/2)`` of every column of differences from its mean; zero where all are
    zero."""
    runs = len(shifts)
    second, third = np.mean(shifts**2, axis=0), np.mean(shifts**3, axis=0)
    return np.asarray(sqrt(runs * (runs - 1)) / (runs - 2) * third / np.where(second > 0, second, 1.0) ** 1.5)


def undo_cube(value: float, skewness: Array) -> Array:
    """The T of which ``(1 + a T / 3)^3 = 1 + a (value - a / 6)``, for every a: the value itself for a = 0."""
    tiny = np.abs(skewness) < 1e-9  # there the formula is 0 / 0, and the value right to as many digits
    a = np.where(tiny, 1.0, skewness)
    return np.where(tiny, value, 3.0 / a * (np.cbrt(1.0 + a * (value - a / 6.0)) - 1.0))


def mean_interval(values: Array) -> tuple[float, float] | None:
    """The 95 % interval of `mean_band` for a mean; None for fewer than 10 values."""
    low, high = mean_band(values)
    return None if len(values) < FEWEST else (float(low), float(high))


def mean_at_least(values: Array) -> float:
    """The largest m with ``average over bets b of prod_i (1 + b (x_i / m - 1)) >= 20``: the mean is at least that, with
    a confidence of 95 %, whatever the distribution, for any number of values that are not negative.

    If the mean is at most m, each factor has a mean of at most one and is not negative for b <= 1, and so have their
    products and the average; by Markov's inequality it reaches 20 with a probability of at most 5 %. The average falls
    as m grows, and is at most one at the mean of the values. What was cut off, as the costs of unfinished runs are, has
    a smaller mean than the whole, which is then at least that, too.
    """
    centre = float(np.mean(values))
    if centre == 0.0:
        return 0.0
    wanted, unit = -log(1.0 - CONFIDENCE), values / centre
    bets = np.minimum(1.0, np.array(BETS) * sqrt(2.0 * wanted / len(values)))

    @np.errstate(divide="ignore")  # a bet of one on a value of zero loses all
    def is_excluded(drop: float) -> bool:
        """Whether a mean of ``centre exp(-drop)`` is too small for these values."""
        scaled = unit * np.exp(drop) - 1.0
        gains = [float(np.sum(np.log1p(bet * scaled))) for bet in bets.tolist()]
        return float(np.logaddexp.reduce(gains)) - log(len(gains)) >= wanted

    near, far = 0.0, 1.0 / sqrt(len(values))
    while not is_excluded(far):
        near, far = far, 2.0 * far
        if far > LARGEST_LOG:
            return 0.0
    while far - near > ACCURACY * far:
        middle = 0.5 * (near + far)
        near, far = (near, middle) if is_excluded(middle) else (middle, far)
    return centre * float(np.exp(-far))
