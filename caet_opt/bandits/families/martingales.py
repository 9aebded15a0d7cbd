"""One-sided martingales of an arm, one number at a time: how much its rewards speak against a mean x.

    M(x) = average over the prior of p_theta(data) / p_x(data),

for ``weight`` observations (pulls over dispersion) of the given mean. The prior of theta is worth ``rho`` observations
of mean x, and cut to theta >= x (``above``) or to theta <= x. M is a martingale under the mean x, falls in x with
``above`` and rises without. The functions bound log M(x) from below: within `ALLOWANCE` for Gaussian rewards, where a
tail has to be bounded as well within some tenths at the ends of few data and some hundredths where one stops. The
proofs, and the bounds of the tails that are used here, are on the page docs/mathematics/e_process.md.
"""

from math import copysign, exp, expm1, log, log1p, sqrt

from caet_opt.bandits.families.scalar import kl_div, log_factorial_rest, log_normal_tail

#: Subtracted from every logarithm for the approximations (3e-9 for each tail, 1e-11 for each factorial) and rounding:
#: with evidence E the divergences are within 50 ulps, which is 1e-14 E.
ALLOWANCE = 2e-8

LOG_TWO = log(2.0)

#: Below this ``log_factorial_rest`` has too few digits for its exponential minus one.
SMALL = 1e-3

#: No logarithm of a martingale is below its negative for means, sums and counts that doubles hold: where it tends to
#: zero as x leaves both, it falls like a power of x, at most like ``1 / (1 + weight |x| / rho)^2``.
FAR = 3000.0


def entropy(a: float, b: float, h: float) -> float:
    """``a log(a / b) - a + b``, given ``h = b - a``."""
    return kl_div(a, b, h, h / (a + b)) if h != 0.0 else 0.0


def gaussian_log_martingale(weight: float, mean: float, rho: float, x: float, above: bool) -> float:
    """``y^2 / 2 + log Phi(y) + log 2 - log(1 + n / rho) / 2``, y = +-n (m - x) / sqrt(n + rho)."""
    y = weight * (mean - x) / sqrt(weight + rho)
    return log_normal_tail(y if above else -y) + LOG_TWO - 0.5 * log1p(weight / rho) - ALLOWANCE


def poisson_log_martingale(weight: float, mean: float, rho: float, x: float, above: bool) -> float:
    """The prior Gamma(rho x + 1, rate rho): v = theta / x has the density ``v^(rho x) e^(-rho x v)``."""
    before, after = rho * x, (weight + rho) * x
    return log_gamma_gain(before, before + weight * mean, after, weight * (x - mean), rho / (weight + rho), above)


def exponential_log_martingale(weight: float, mean: float, rho: float, x: float, above: bool) -> float:
    """Of a gamma family: the rate is v / x with the prior Gamma(rho + 1, rate rho) of v; theta >= x is v <= 1."""
    after = rho + weight * (mean / x)
    return log_gamma_gain(rho, rho + weight, after, weight * ((mean - x) / x), rho / after, not above)


def log_gamma_gain(before: float, power: float, rate: float, h: float, ratio: float, upper: bool) -> float:
    """log of the posterior over the prior integral on v >= 1, or on v <= 1, times ``e^(rate - before)``.

    Prior ``v^before e^(-before v)``, posterior ``v^power e^(-rate v)``, h = rate - power, ratio = before / rate.
    """
    rest = log_factorial_rest(before)
    whole = log_factorial_rest(power) + log(ratio) - ALLOWANCE
    if upper:
        root = copysign(sqrt(2.0 * entropy(power, rate, h)), -h)
        return whole + log_normal_tail(root) - log_mode_tail(exp(rest), 1.0)
    half = entropy(power + 1.0, rate, h - 1.0)
    root = copysign(sqrt(2.0 * half), h - 1.0)
    prior = log(expm1(rest)) if rest > SMALL else rest
    return whole + (entropy(power, rate, h) - half) + log_normal_tail(root) - (prior - LOG_TWO)


def log_mode_tail(whole: float, skew: float) -> float:
    """log of the bound on the prior's integral on one side of its mode, from the whole and ``c``, both times n."""
    return log(min(whole, 0.5 * whole + max(skew, 0.0) / 1.5))


def bernoulli_log_martingale(weight: float, mean: float, rho: float, x: float, above: bool) -> float:
    """The prior Beta(rho x + 1, rho (1 - x) + 1)."""
    h = weight * (x - mean)
    if above:
        return log_beta_gain(rho * x, rho * (1.0 - x), weight * mean, weight * (1.0 - mean), x, 1.0 - x, h)
    return log_beta_gain(rho * (1.0 - x), rho * x, weight * (1.0 - mean), weight * mean, 1.0 - x, x, -h)


def geometric_log_martingale(weight: float, mean: float, rho: float, x: float, above: bool) -> float:
    """The prior Beta(rho x + 1, rho + 1) of ``theta / (1 + theta)``."""
    y, z = x / (1.0 + x), 1.0 / (1.0 + x)
    h = weight * ((x - mean) * z)
    if above:
        return log_beta_gain(rho * x, rho, weight * mean, weight, y, z, h)
    return log_beta_gain(rho, rho * x, weight, weight * mean, z, y, -h)


def log_beta_gain(a: float, b: float, hits: float, misses: float, y: float, z: float, h: float) -> float:
    """log of the posterior over the prior integral on q >= y, over ``y^hits z^misses``, for z = 1 - y.

    Prior ``q^a (1 - q)^b`` with its mode at y, posterior ``q^(a + hits) (1 - q)^(b + misses)``, whose total n makes
    ``h = n y - a - hits``.
    """
    more, less, prior = a + hits, b + misses, a + b
    total = more + less
    before = log_factorial_rest(a) + log_factorial_rest(b) - log_factorial_rest(prior) - log1p(prior)
    after = log_factorial_rest(more) + log_factorial_rest(less) - log_factorial_rest(total) - log1p(total)
    half = entropy(more, (total + 1.0) * y, h + y) + entropy(less + 1.0, (total + 1.0) * z, -h - y)
    whole = after + (entropy(more, total * y, h) + entropy(less, total * z, -h) - half)
    root = copysign(sqrt(2.0 * half), -h - y)
    return whole + log_normal_tail(root) - (log_mode_tail(prior * exp(before), z - y) - log(prior)) - ALLOWANCE


def gaussian_log_martingale_floor(weight: float, mean: float, rho: float, above: bool) -> float:
    """M falls like 1 / |x| on its far side."""
    return -FAR


def poisson_log_martingale_floor(weight: float, mean: float, rho: float, above: bool) -> float:
    """As x tends to 0, v is uniform on [0, 1] and M tends to the mean ``1 / (1 + S)`` of ``v^S``.

    As x grows M falls like ``1 / sqrt(x)``.
    """
    return -FAR if above else -log1p(weight * mean)


def exponential_log_martingale_floor(weight: float, mean: float, rho: float, above: bool) -> float:
    """As x grows M tends to the mean of ``v^n`` over v <= 1, as for zero rewards; as x tends to 0 it falls like x."""
    return log_gamma_gain(rho, rho + weight, rho, -weight, 1.0, False) if above else -FAR


def bernoulli_log_martingale_floor(weight: float, mean: float, rho: float, above: bool) -> float:
    """As x tends to 1, w is uniform on [0, 1] and M tends to the mean of ``w^F``; as x tends to 0, of ``v^S``."""
    return -log1p(weight * (1.0 - mean)) if above else -log1p(weight * mean)


def geometric_log_martingale_floor(weight: float, mean: float, rho: float, above: bool) -> float:
    """As x grows, the density of w tends to ``w^rho e^(-rho w)`` on [0, 1], and M to the mean of ``w^n``; as x tends to
    0, M tends to the mean of ``v^S`` for a uniform v."""
    return log_gamma_gain(rho, rho + weight, rho, -weight, 1.0, False) if above else -log1p(weight * mean)
