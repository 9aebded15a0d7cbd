"""One-sided martingales of an arm, one number at a time: how much its rewards speak against a mean x.

An arm has brought ``weight`` observations (pulls over dispersion) of the given mean. A prior for its mean theta is
worth ``rho`` observations of mean x: their likelihood is its density, in theta (Gaussian, Bernoulli, Poisson), in the
rate 1 / theta (exponential, gamma) or in theta / (1 + theta) (geometric), where its mode is at x. ``above`` cuts it to
theta >= x, else it is cut to theta <= x, and then renormalised:

    M(x) = average over the prior of p_theta(data) / p_x(data).

The functions bound log M(x) from below: within `ALLOWANCE` for Gaussian rewards, where a tail has to be bounded as well
within some tenths at the ends of few data and some hundredths where one stops.

**Martingale.** For each theta, ``p_theta(data) / p_x(data)`` is a martingale under the mean x, whatever the sampling
rule: each reward of the arm multiplies it by something of expectation one. So is its average over a prior that was
chosen before the data. It starts at 1 and is not negative.

**Monotone.** With ``above`` M falls as x grows, else it rises.

- Gaussian: theta = x + u, where the law of u does not depend on x. The exponent ``n (m - x) u - n u^2 / 2`` falls in x
  for u >= 0.
- exponential, gamma: the rate is v / x, where the law of v does not depend on x. For v <= 1, which is theta >= x,
  ``v^n e^(n m (1 - v) / x)`` falls in x.
- Poisson: with v = theta / x and u = theta - x the ratio is ``v^S e^(-n u)`` for the sum S of rewards. The density of v
  is proportional to ``e^(rho x (log v - v))``: a larger x multiplies it by a function that falls for v >= 1 and rises
  for v <= 1. The density of u is proportional to ``(x + u)^(rho x) e^(-rho u)``, whose logarithm, differentiated in x
  and in u, is ``rho u / (x + u)^2``. So for theta >= x a larger x makes v smaller and u larger, in likelihood ratio
  order, hence at each quantile of theta; the ratio falls there, and so does its mean. For theta <= x it rises.
- Bernoulli: the ratio is ``v^S w^F`` with v = theta / x, w = (1 - theta) / (1 - x), S successes and F failures. The
  prior density is ``theta^(rho x) (1 - theta)^(rho (1 - x))``. In v its logarithm, differentiated in x and v, has the
  sign of 1 - v; in w, differentiated in 1 - x and in w, that of 1 - w. So for theta >= x both v and w fall as x grows.
- geometric: with q = theta / (1 + theta) and y = x / (1 + x) the same ratio in q and y, S the sum and F the number of
  rewards. The prior density is ``q^(rho x) (1 - q)^rho``, for which the signs are the same.

**Tails.** Let z be the signed root of twice the divergence ``n d(m, theta)``. A gamma or beta density, written in z, is
the normal one times the derivative in z of theta, of log theta or of -log(1 - theta), according to which power is left.

- gamma (d of Poisson): theta is convex in z, because ``2 m d - (theta - m)^2`` changes from plus to minus at m;
  log theta is concave, because ``2 d - (theta - m)^2 / theta`` has the derivative ``(theta - m)^2 / theta^2``.
- beta (d of Bernoulli): log theta is concave, because ``2 d - (theta - m)^2 / (theta (1 - m))`` has the derivative
  ``(theta - m)^2 (1 + theta) / (theta^2 (1 - theta) (1 - m))``; by symmetry -log(1 - theta) is convex.

So these densities are the normal one times something that rises, or falls, and with ``kl(a, b) = a log(a / b) - a + b``

    v^A e^(-B v) dv       P(v >= 1) >= Phi(sign(A - B) sqrt(2 kl(A, B)))
                          P(v <= 1) >= Phi(sign(B - A - 1) sqrt(2 kl(A + 1, B)))
    q^A (1 - q)^B dq      P(q >= y) >= Phi(sign(A - n y) sqrt(2 kl(A, n y) + 2 kl(B + 1, n (1 - y)))),  n = A + B + 1;

the last one serves P(q <= y) with A and B, y and 1 - y exchanged.

**Tails of the prior**, whose mode is at y. Let q- < y < q+ with ``d(y, q-) = d(y, q+) = e``, and c = 1 - 2 y > 0. With
p = q+ - y, t = y - q-, D = p - t, Q = p t and V = y (1 - y),

    D' = 2 c - D (1 + V / Q)        Q' = V (D^2 + 2 Q) / Q - c D - 2 Q        (derivatives in e).

Then ``D (1 + V / Q) >= 2 c / 3``: there is equality as e tends to 0, and wherever there is, the left side rises, as
``2 + 6 V / Q + V c D / Q^2 - V^2 D^2 / Q^3 > 0``. So ``0 <= D <= 4 c e / 3``, and for n e = s^2 / 2 the integral of
``e^(-n d(y, q))`` over q > y exceeds that over q < y by the integral of ``s D e^(-s^2 / 2)``, at most ``4 c / (3 n)``:

    integral over q >= y  <=  half of the whole integral + 2 max(c, 0) / (3 n).

A gamma density is the limit of small y, with ``n y`` in place of n and c = 1. For it D >= e as well:
``e = -log(1 - t) - t`` is at least ``e^t - 1 - t``, the divergence at v = e^t, so ``1 + p >= e^t`` and
``D = e + log(1 + p) - t >= e``. So the integral over v <= 1 is at most half of the whole one minus ``1 / (2 n)``.
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
