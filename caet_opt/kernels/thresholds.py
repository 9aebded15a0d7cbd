"""The value of a threshold, in the subset of Python that numba compiles: one formula for every loop."""

from math import log

POWER, CUSTOMARY, MIXTURE, GAUSSIAN_MIXTURE, E_PROCESS = range(5)


def threshold_value(code: int, t: float, n_a: float, n_b: float, level: float, slope: float) -> float:
    """beta at round t for a pair with n_a and n_b pulls; fewer than one counts as one.

    ``level`` and ``slope`` hold all that depends on the number of arms, on delta and on parameters:

        POWER              level + slope log t
        CUSTOMARY          level + log(1 + log t)
        MIXTURE            level + 3 log(1 + log n_a) + 3 log(1 + log n_b)
        GAUSSIAN_MIXTURE   level + 2 log(4 + log n_a) + 2 log(4 + log n_b)

    E_PROCESS depends on the means as well: `caet_opt.kernels.e_values`.
    """
    if code == POWER:
        return level + slope * log(max(t, 1.0))
    if code == CUSTOMARY:
        return level + log(1.0 + log(max(t, 1.0)))
    log_a, log_b = log(max(n_a, 1.0)), log(max(n_b, 1.0))
    if code == MIXTURE:
        return level + 3.0 * (log(1.0 + log_a) + log(1.0 + log_b))
    return level + 2.0 * (log(4.0 + log_a) + log(4.0 + log_b))
