"""The term of a pair, in the subset of Python that numba compiles.

The formulas of the shipped families and the bounds of their errors are those of `caet_opt.bandits.families`; tests
compare the two.
"""

from caet_opt.bandits.families.scalar import kl_div

GAUSSIAN, BERNOULLI, POISSON, EXPONENTIAL, GEOMETRIC, BOUNDED = range(6)

#: Differences, shares and rates of at least TINY, and means up to HUGE, are far enough from the ends of double
#: precision for every intermediate result.
TINY, HUGE = 1e-290, 1e150


def means_differ(x: float, y: float, rest_x: float, rest_y: float) -> bool:
    """Whether two doubles differ, and two means by more than rounding took away: then their difference is within 3.

    Far apart, ``y - x`` and the sum are within 1 each. Within a factor of two, ``y - x`` is exact, the rests and
    their difference are within 1, which is at most 2 in the sum, itself within 1.
    """
    return x != y and abs((y - x) + (rest_y - rest_x)) > abs(rest_x) + abs(rest_y)


def pair_shares(wa: float, wb: float, free_a: bool, free_b: bool) -> tuple[float, float]:
    """Shares u_a and u_b of two means in the point between them, ``m = u_a x + u_b y``: by effort over dispersion.

    A free arm can be pulled without end, so m is its mean. The smaller share is a quotient and the larger one its
    complement, so that both belong to one point: `caet_opt.kernels.certify` counts on that. As a part of `pair_term`
    it would make exact rounds a fifth slower.
    """
    if free_a:
        return 1.0, 0.0
    if free_b:
        return 0.0, 1.0
    small = min(wa, wb) / (wa + wb)
    if wa < wb:
        return small, 1.0 - small
    return 1.0 - small, small


def pair_term(
    family: int, wa: float, wb: float, x: float, y: float, rest_x: float, rest_y: float, free_a: bool, free_b: bool
) -> tuple[float, float, float, float, float]:
    """``f = w_a d(x, m) + w_b d(y, m)`` of a pair, d(x, m) and d(y, m), which are its rates, and the shares of m.

    The means are x + rest_x and y + rest_y, efforts are over dispersion. At the mean of a free arm m its own
    divergence is zero, so that ``f = w_a d(x, y)`` where the other one is free. Of two free arms there is no term.
    """
    ua, ub = pair_shares(wa, wb, free_a, free_b)
    da = mixture_divergence(family, x, y, ua, ub, rest_x, rest_y)
    db = mixture_divergence(family, y, x, ub, ua, rest_y, rest_x)
    return wa * da + wb * db, da, db, ua, ub


def mixture_divergence(
    family: int, x: float, other: float, share: float, other_share: float, rest: float, other_rest: float
) -> float:
    """d(x, m) of a shipped family with unit dispersion, for the mixture ``m = share x + other_share other``.

    The means are x + rest and other + other_rest; see `caet_opt.bandits.families.base.Family.mixture_divergence`.
    """
    h = other_share * ((other - x) + (other_rest - rest))
    if family == GAUSSIAN:
        return 0.5 * h * h
    if h == 0.0:
        return 0.0
    y = share * x + other_share * other
    if family == BERNOULLI:
        failures = (1.0 - x) - rest
        others = share * failures + other_share * ((1.0 - other) - other_rest)
        return step_divergence(family, x, y, h, failures, others)
    return step_divergence(family, x, y, h, 1.0, 1.0)


def step_divergence(family: int, x: float, y: float, h: float, failures: float, others: float) -> float:
    """d(x, y) of a shipped family but Gaussian, with unit dispersion, given ``h = y - x``; and for Bernoulli, which has
    an upper end, ``failures = 1 - x`` and ``others = 1 - y``."""
    if h == 0.0:
        return 0.0
    if family == POISSON:
        return kl_div(x, y, h, h / (x + y))
    if family == BERNOULLI:
        return kl_div(x, y, h, h / (x + y)) + kl_div(failures, others, -h, -h / (failures + others))
    if family == EXPONENTIAL:
        return kl_div(1.0, x / y, -h / y, -h / (x + y))
    trials_x, trials_y = 1.0 + x, 1.0 + y
    step = h / trials_y
    return kl_div(1.0, trials_x / trials_y, -step, -h / (trials_x + trials_y)) + kl_div(
        x, y * trials_x / trials_y, step, h / (x * trials_y + y * trials_x)
    )


def variance(family: int, m: float) -> float:
    """V(m) of a shipped family with unit dispersion."""
    if family == GAUSSIAN:
        return 1.0
    if family == BERNOULLI:
        return m * (1.0 - m)
    if family == POISSON:
        return m
    if family == EXPONENTIAL:
        return m * m
    return m * (1.0 + m)
