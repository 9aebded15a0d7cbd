"""The martingales of the e-process in 30 digits."""

import mpmath

from caet_opt.bandits.families import Bernoulli, Exponential, Gaussian, Poisson


def exact(family, n, mean, rho, x, above):
    """log M(x) in 30 digits, by incomplete gamma and beta functions."""
    with mpmath.workdps(30):
        n, mean, rho, x = map(mpmath.mpf, (n, mean, rho, x))
        total = n * mean
        if isinstance(family, Gaussian):
            y = (n * (mean - x) if above else n * (x - mean)) / mpmath.sqrt(n + rho)
            return y * y / 2 + mpmath.log(2 * mpmath.ncdf(y)) - mpmath.log(1 + n / rho) / 2
        if isinstance(family, Poisson):
            return gamma_integral(rho * x + total, (rho + n) * x, above) - gamma_integral(rho * x, rho * x, above)
        if isinstance(family, Exponential):
            return gamma_integral(rho + n, rho + total / x, not above) - gamma_integral(rho, rho, not above)
        if isinstance(family, Bernoulli):
            hits, misses, a, b, y = total, n - total, rho * x, rho * (1 - x), x
        else:
            hits, misses, a, b, y = total, n, rho * x, rho, x / (1 + x)
        constant = -hits * mpmath.log(y) - misses * mpmath.log(1 - y)
        if above:
            hits, misses, a, b, y = misses, hits, b, a, 1 - y
        ratio = mpmath.betainc(a + hits + 1, b + misses + 1, 0, y) / mpmath.betainc(a + 1, b + 1, 0, y)
        return mpmath.log(ratio) + constant


def gamma_integral(power, rate, upper):
    """log of the integral of ``v^power e^(rate (1 - v))`` over v >= 1, or v <= 1."""
    ends = (rate, mpmath.inf) if upper else (0, rate)
    return mpmath.log(mpmath.gammainc(power + 1, *ends)) - (power + 1) * mpmath.log(rate) + rate
