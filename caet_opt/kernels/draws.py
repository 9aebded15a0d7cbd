"""Random numbers that are functions of a seed, a round and an index, in the subset of Python that numba compiles.

What a policy draws then depends on its seed and its state alone: there is no generator to save, and a draw is the same
whatever was drawn before it.
"""

from math import exp, log, sqrt

from caet_opt.kernels.term import BERNOULLI, EXPONENTIAL, GAUSSIAN, POISSON

#: The lowest 32 bits.
WORD = 0xFFFFFFFF

#: The constant that Threefry adds to the words of the key, so that they are not all zero.
PARITY = 0x1BD11BDA

#: Bits of the round in the counter, and of the index beside them.
ROUND_BITS, INDEX_BITS = 50, 14

#: Where the other bits of the index go in the second word of the key.
KEY_SHIFT = 16

#: Indices of `uniform` that belong to a draw of `posterior_mean`, half of them for each gamma variate.
STRIDE = 64

#: Means and gamma variates are kept between this and its inverse: their squares and products are doubles, too.
SMALLEST_DRAW = 1e-150

#: The largest double below one.
BELOW_ONE = 1.0 - 2.0**-53


def threefry(x: int, y: int, key: int, other: int) -> tuple[int, int]:
    """Threefry-2x32 with 20 rounds of a counter (x, y) under a key of two words, all of 32 bits.

    Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011). A round is
    ``x += y; y = rotate(y) ^ x``; a part of the key is added after every fourth. 20 rounds are the authors' default,
    with a margin over what passes their tests.
    """
    third = PARITY ^ key ^ other
    x, y = four_rounds((x + key) & WORD, (y + other) & WORD, 13, 15, 26, 6)
    x, y = four_rounds((x + other) & WORD, (y + third + 1) & WORD, 17, 29, 16, 24)
    x, y = four_rounds((x + third) & WORD, (y + key + 2) & WORD, 13, 15, 26, 6)
    x, y = four_rounds((x + key) & WORD, (y + other + 3) & WORD, 17, 29, 16, 24)
    x, y = four_rounds((x + other) & WORD, (y + third + 4) & WORD, 13, 15, 26, 6)
    return (x + third) & WORD, (y + key + 5) & WORD


def four_rounds(x: int, y: int, first: int, second: int, third: int, fourth: int) -> tuple[int, int]:
    """Four rounds of Threefry, by how much each rotates."""
    x = (x + y) & WORD
    y = rotate(y, first) ^ x
    x = (x + y) & WORD
    y = rotate(y, second) ^ x
    x = (x + y) & WORD
    y = rotate(y, third) ^ x
    x = (x + y) & WORD
    return x, rotate(y, fourth) ^ x


def rotate(word: int, bits: int) -> int:
    """A word of 32 bits, rotated to the left."""
    return ((word << bits) | (word >> (32 - bits))) & WORD


def uniform(seed: int, round_: int, index: int) -> float:
    """A number in (0, 1) for each seed, round and index: an odd multiple of 2^-53.

    The seed (below 2^63) is the key; the round (below 2^50, above 10^15) and the lowest 14 bits of the index make the
    counter. The other bits of the index (below 2^30) change the highest bits of the key. So for one seed every round
    and index has a key and counter of its own; those of different seeds differ, too, as long as indices are below 2^14
    or seeds below 2^48.
    """
    beside = ((round_ >> 32) | (index << (ROUND_BITS - 32))) & WORD
    x, y = threefry(round_ & WORD, beside, seed & WORD, (seed >> 32) ^ ((index >> INDEX_BITS) << KEY_SHIFT))
    return ((x << 21) | (y >> 11) | 1) * 2.0**-53


def normal_variate(seed: int, round_: int, index: int) -> float:
    """Standard normal: the quantile of a uniform by Wichura's rational functions (AS 241, 1988), within 1e-15.

    They are of ``r = 0.425^2 - q^2`` for ``|q| = |u - 1/2|`` up to 0.425, beyond of ``r = sqrt(-log(1/2 - |q|))``,
    which is below 6.1 here.
    """
    q = uniform(seed, round_, index) - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        top = ((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r
        top = ((top + 45921.953931549871457) * r + 13731.693765509461125) * r + 1971.5909503065514427
        top = (top * r + 133.14166789178437745) * r + 3.3871328727963666080
        low = ((5226.4952788528545610 * r + 28729.085735721942674) * r + 39307.895800092710610) * r
        low = ((low + 21213.794301586595867) * r + 5394.1960214247511077) * r + 687.18700749205790830
        return q * top / ((low * r + 42.313330701600911252) * r + 1.0)
    r = sqrt(-log(0.5 - abs(q)))
    if r <= 5.0:
        r -= 1.6
        top = ((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.241780725177450611770) * r
        top = ((top + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.76949722146069140550
        top = (top * r + 4.63033784615654529590) * r + 1.42343711074968357734
        low = ((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r
        low = ((low + 0.148103976427480074590) * r + 0.689767334985100004550) * r + 1.67638483018380384940
        low = (low * r + 2.05319162663775882187) * r + 1.0
    else:
        r -= 5.0
        top = ((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.00124266094738807843860) * r
        top = ((top + 0.0265321895265761230930) * r + 0.296560571828504891230) * r + 1.78482653991729133580
        top = (top * r + 5.46378491116411436990) * r + 6.65790464350110377720
        low = ((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5) * r
        low = ((low + 7.86869131145613259100e-4) * r + 0.0148753612908506148525) * r + 0.136929880922735805310
        low = (low * r + 0.599832206555887937690) * r + 1.0
    return top / low if q > 0.0 else -top / low


def gamma_variate(shape: float, seed: int, round_: int, index: int) -> float:
    """Gamma of this shape and scale one, by the rejection of Marsaglia and Tsang (2000).

    With ``d = shape - 1/3``, ``v = (1 + x / sqrt(9 d))^3``, x normal and u uniform, ``d v`` is taken when
    ``log u < x^2 / 2 + d (1 - v + log v)``, for sure when ``u < 1 - 0.0331 x^4``. Below shape 1, it is the variate of
    shape + 1 times ``u^(1 / shape)``. More than 95 of 100 trials are taken; that none of the 15 is that come
    before another variate's indices happens once in 10^19 times.
    """
    if shape < 1.0:
        scale, d = exp(log(uniform(seed, round_, index)) / shape), shape + 1.0 - 1.0 / 3.0
    else:
        scale, d = 1.0, shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x, u = normal_variate(seed, round_, index + 1), uniform(seed, round_, index + 2)
        index += 2
        v = 1.0 + c * x
        v = v * v * v
        q = x * x
        if v > 0.0 and (u < 1.0 - 0.0331 * q * q or log(u) < 0.5 * q + d * (1.0 - v + log(v))):
            return max(scale * d * v, SMALLEST_DRAW)


def posterior_mean(family: int, weight: float, mean: float, seed: int, round_: int, index: int) -> float:
    """One draw from the posterior of an arm's mean, given ``weight`` pulls over dispersion with this empirical mean.

    With ``s = weight mean`` and G(a), G'(a) independent gamma variates of shape a and scale one:

        gaussian       N(mean, 1 / weight)                          flat prior
        bernoulli      G(1 + s) / (G(1 + s) + G'(1 + weight - s))   flat prior of p: beta
        poisson        G(1/2 + s) / weight                          Jeffreys
        exponential    s / G(weight)                                Jeffreys; so is a gamma of known shape, whose weight
                                                                    is its pulls times the shape
        geometric      G(1 + s) / G'(1 + weight)                    flat prior of p = 1 / (1 + mean)

    It is finite and inside the mean space. A draw takes the indices ``64 index`` to ``64 index + 63`` of `uniform`, so
    that the index is below 2^24, and whoever takes both in a round must keep them apart.
    """
    index, total = STRIDE * index, weight * mean
    if family == GAUSSIAN:
        return mean + normal_variate(seed, round_, index) / sqrt(weight)
    if family == EXPONENTIAL:
        draw = total / gamma_variate(weight, seed, round_, index)
    elif family == POISSON:
        draw = gamma_variate(0.5 + total, seed, round_, index) / weight
    else:
        wins = gamma_variate(1.0 + total, seed, round_, index)
        if family == BERNOULLI:
            losses = gamma_variate(1.0 + (weight - total), seed, round_, index + STRIDE // 2)
            draw = min(wins / (wins + losses), BELOW_ONE)
        else:
            draw = wins / gamma_variate(1.0 + weight, seed, round_, index + STRIDE // 2)
    return min(max(draw, SMALLEST_DRAW), 1.0 / SMALLEST_DRAW)
