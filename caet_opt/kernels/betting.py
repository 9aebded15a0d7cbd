"""Capital from betting on rewards in a range, in the subset of Python that numba compiles.

Against "the mean is at most x" of rewards whose distances v from the lower end, in units of the range, were seen n_k
times,

    M(x) = sum over bets j of  pi_j  product over k of (1 - b_j + b_j v_k / x)^(n_k),      0 <= b_j < 1,  one of them 0.

Whatever the distribution, a factor has the expectation ``1 - b + b mean / x <= 1`` where the mean is at most x: M is a
supermartingale under what it bets against, below 1 / alpha with probability 1 - alpha at all moments together, by
Ville's inequality, whoever chose the arms. It falls in x. Distances from the upper end serve against "the mean is at
least".

A reward between two levels counts in part on each, in proportion: the weighted geometric mean of two factors is at most
the arithmetic one, which is the factor of the reward itself. So counts may be fractions.

A statement ``a > b + e`` has ``E = min over x of M_a(x) M_b(x - e)``, M_b against "at least", which rises in x: on
[x, x'] the product is at least M_a(x') M_b(x - e), and finitely many such intervals prove the minimum.
"""

from math import exp, inf, log, log1p

from caet_opt.bandits.families.numerics import Array

#: Half the largest error of a logarithm of capital, as a part of what is added up; it is counted against stopping.
BLURRED = 1e-12

#: A step along the boundary: how much it grows after one that was covered, shrinks after one that was not, and the
#: shortest, as a part of the range, at which it is given up.
LONGER, SHORTER, SHORTEST = 1.6, 0.4, 1e-5


def log_capital(values: Array, counts: Array, bets: Array, weights: Array, x: float) -> float:
    """log M(x), less what rounding may have added; ``weights`` are logarithms of the pi."""
    if not x > 0.0:
        return inf
    most, total, size = -inf, 0.0, 0.0
    for j in range(bets.size):
        grown, moved = weights[j], abs(weights[j])
        for k in range(values.size):
            if counts[k] > 0.0:
                part = counts[k] * log1p(bets[j] * (values[k] / x - 1.0))
                grown += part
                moved += abs(part)
        if grown > most:
            total = total * exp(most - grown) + 1.0 if most > -inf else 1.0
            most, size = grown, moved
        else:
            total += exp(grown - most)
    return most + log(total) - BLURRED * (1.0 + size)


def capital_exceeds(
    values: Array,
    counts: Array,
    others: Array,
    other_counts: Array,
    bets: Array,
    weights: Array,
    shift: float,
    level: float,
) -> bool:
    """Whether log E of ``a > b + e`` is proven to exceed a level.

    ``values`` are distances of a's rewards from the lower end, ``others`` those of b's from the upper one; e is in
    units of the range. It is walked along the boundary in steps that are covered, from below.
    """
    low, high = max(0.0, shift), min(1.0, 1.0 + shift)
    x, step = low, (high - low) / 16.0
    behind = log_capital(others, other_counts, bets, weights, 1.0 - (x - shift))
    while x < high:
        ahead = min(x + step, high)
        if log_capital(values, counts, bets, weights, ahead) + behind > level:
            x, step = ahead, step * LONGER
            behind = log_capital(others, other_counts, bets, weights, 1.0 - (x - shift))
            if weights[0] + behind > level:  # the bet of nothing keeps so much of a, however large x is
                return True
            continue
        if log_capital(values, counts, bets, weights, x) + behind <= level:
            return False
        step *= SHORTER
        if step < SHORTEST:
            return False
    return True


def least_mean(values: Array, counts: Array, bets: Array, weights: Array, level: float) -> float:
    """The lower end of the interval of a mean: the largest x that bisection finds with log M(x) >= level."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if log_capital(values, counts, bets, weights, middle) >= level:
            low = middle
        else:
            high = middle
    return low
