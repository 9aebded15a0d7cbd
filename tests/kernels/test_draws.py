"""Threefry against its published vectors, compiled against interpreted, and draws against their distributions."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from caet_opt.kernels import draws
from caet_opt.kernels.compile import compile_functions, list_functions
from caet_opt.kernels.draws import BELOW_ONE, SMALLEST_DRAW, posterior_mean, threefry, uniform
from caet_opt.kernels.term import BERNOULLI, EXPONENTIAL, GAUSSIAN, GEOMETRIC, POISSON

FAMILIES = (GAUSSIAN, BERNOULLI, POISSON, EXPONENTIAL, GEOMETRIC)

#: Seeds, rounds and indices at the ends of their ranges and between.
SEEDS, ROUNDS = (0, 1, 2**32 - 1, 2**32, 2**48, 2**63 - 1), (0, 1, 2**32 - 1, 2**32, 10**15, 2**50 - 1)
INDICES = (0, 1, 2**14 - 1, 2**14, 2**30 - 1)


@cache
def compiled():
    """The module under numba, with a loop over rounds of each of the two functions."""
    import numba

    functions = compile_functions(list_functions(draws))
    one, other = functions["uniform"], functions["posterior_mean"]

    @numba.njit
    def uniforms(seed, rounds, index):
        return np.array([one(seed, round_, index) for round_ in range(rounds)])

    @numba.njit
    def means(family, weight, mean, seed, rounds, index):
        return np.array([other(family, weight, mean, seed, round_, index) for round_ in range(rounds)])

    functions.update(uniforms=uniforms, means=means)
    return functions


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("00000000 00000000", "00000000 00000000", "6b200159 99ba4efe"),
        ("ffffffff ffffffff", "ffffffff ffffffff", "1cb996fc bb002be7"),
        ("243f6a88 85a308d3", "13198a2e 03707344", "c4923a9c 483df7a0"),
    ],
)
def test_published_vectors(counter, key, expected):
    """The known answers of threefry2x32 with 20 rounds that Random123 comes with."""
    words = [int(word, 16) for word in f"{counter} {key}".split()]
    answer = tuple(int(word, 16) for word in expected.split())
    assert threefry(*words) == answer
    assert compiled()["threefry"](*words) == answer


def test_a_uniform_is_what_the_block_of_its_key_and_counter_says():
    x, y = threefry(3, 5 << 18, 7, 9)
    assert uniform(9 << 32 | 7, 3, 5) == (2 * ((x << 32 | y) >> 12) + 1) / 2**53


def test_no_two_inputs_share_key_and_counter(monkeypatch):
    """Every bit of seed, round and index goes to a place of its own, other than those of large indices."""
    monkeypatch.setattr(draws, "threefry", lambda *words: seen.append(words) or (0, 0))
    seen = []
    bits = (*((1 << bit, 0, 0) for bit in range(63)), *((0, 1 << bit, 0) for bit in range(50)))
    for where in (*bits, *((0, 0, 1 << bit) for bit in range(14))):
        assert uniform(*where) == 2.0**-53
    assert all(0 <= word < 2**32 for words in seen for word in words)
    assert len(set(seen)) == 127
    assert all(sum(word.bit_count() for word in words) == 1 for words in seen)
    seen.clear()
    for seed, round_, index in product((0, 2**48 - 1), ROUNDS, INDICES):
        uniform(seed, round_, index)
    assert len(set(seen)) == len(seen) == 2 * len(ROUNDS) * len(INDICES)
    assert all(0 <= word < 2**32 for words in seen for word in words)


def test_compiled_is_interpreted_bit_for_bit():
    functions = compiled()
    for where in product(SEEDS, ROUNDS, INDICES):
        assert functions["uniform"](*where) == uniform(*where)
    for seed in range(40):
        assert functions["uniforms"](seed, 50, seed).tolist() == [uniform(seed, n, seed) for n in range(50)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("weight", [0.01, 0.5, 1.0, 2.0, 17.0, 1e3, 1e9])
def test_compiled_draws_are_interpreted_bit_for_bit(family, weight):
    for mean in (1e-9, 0.25, 0.5, 1.0) if family == BERNOULLI else (1e-9, 0.3, 1.0, 7.5, 1e6):
        expected = [posterior_mean(family, weight, mean, 5, n, 3) for n in range(150)]
        assert compiled()["means"](family, weight, mean, 5, 150, 3).tolist() == expected


def posterior(family, weight, mean):
    """The posterior in the words of scipy; that of a geometric arm is a beta prime."""
    total = weight * mean
    if family == GAUSSIAN:
        return stats.norm(mean, weight**-0.5)
    if family == BERNOULLI:
        return stats.beta(1 + total, 1 + weight - total)
    if family == POISSON:
        return stats.gamma(total + 0.5, scale=1 / weight)
    if family == EXPONENTIAL:
        return stats.invgamma(weight, scale=total)
    return stats.betaprime(1 + total, 1 + weight)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("weight", [0.3, 1.0, 2.0, 12.0, 300.0, 1e6])
@pytest.mark.parametrize("mean", [0.05, 0.6])
def test_draws_have_the_posterior_distribution(family, weight, mean):
    sample = compiled()["means"](family, weight, mean, 2026, 100_000, 1)
    assert stats.kstest(sample, posterior(family, weight, mean).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("family", "mean"), [(BERNOULLI, 0.0), (BERNOULLI, 1.0), (POISSON, 0.0), (GEOMETRIC, 0.0)])
@pytest.mark.parametrize("weight", [1.0, 1e3, 1e9])
def test_draws_have_the_posterior_distribution_at_an_end_of_the_mean_space(family, mean, weight):
    sample = compiled()["means"](family, weight, mean, 77, 100_000, 1)
    assert sample.min() > 0.0
    assert sample.max() < (1.0 if family == BERNOULLI else np.inf)
    assert stats.kstest(sample, posterior(family, weight, mean).cdf).pvalue > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_moments_at_large_weight(family):
    """A posterior of weight w is nearly normal with variance V(m) / w."""
    sample, law = compiled()["means"](family, 1e9, 0.4, 3, 100_000, 2), posterior(family, 1e9, 0.4)
    standard = (sample - law.mean()) / law.std()
    assert abs(standard.mean()) < 4 / 100_000**0.5
    assert abs(standard.var() - 1) < 4 * (2 / 100_000) ** 0.5
    assert abs(stats.skew(standard)) < 4 * (6 / 100_000) ** 0.5


def test_uniforms_are_uniform_in_rounds_in_indices_and_in_seeds():
    """KS, and the counts of 256 cells of the leading bits and of later ones."""
    one = compiled()["uniform"]
    samples = {
        "rounds": [one(1, n, 0) for n in range(50_000)],
        "indices": [one(1, 0, n) for n in range(50_000)],
        "seeds": [one(n, 0, 0) for n in range(50_000)],
        "bits": [one(1 << (n % 63), 1 << (n // 63 % 50), n // 3150) for n in range(50_000)],
    }
    for name, sample in samples.items():
        assert stats.kstest(sample, "uniform").pvalue > 1e-3, name
        for scale in (2.0**8, 2.0**24, 2.0**40, 2.0**52):
            cells = np.floor(np.array(sample) * scale).astype(int) % 256
            assert stats.chisquare(np.bincount(cells, minlength=256)).pvalue > 1e-3, (name, scale)


def test_neighbours_are_uncorrelated():
    """The largest of 66 correlations of twelve streams, and of each with itself later, is below what chance gives."""
    streams = np.array(
        [compiled()["uniforms"](seed, 50_000, index) for seed in (0, 1, 2**40) for index in (0, 1, 2, 2**14)]
    )
    matrix = np.corrcoef(streams)
    assert np.abs(matrix - np.eye(12)).max() < 4.5 / 50_000**0.5
    for stream, lag in product(streams, (1, 2, 64)):
        assert abs(np.corrcoef(stream[lag:], stream[:-lag])[0, 1]) < 4.5 / 50_000**0.5


def test_draws_of_different_arms_and_rounds_are_independent():
    for family in FAMILIES:
        arms = np.array([compiled()["means"](family, 3.0, 0.4, 8, 50_000, arm) for arm in range(4)])
        for a, b in ((arms[0], arms[1]), (arms[1], arms[2]), (arms[0], arms[3]), (arms[2][1:], arms[2][:-1])):
            assert stats.spearmanr(a, b).pvalue > 1e-3


@pytest.mark.parametrize("u", [2.0**-53, 2.0**-30, 0.5, 1 - 2.0**-30, 1 - 2.0**-53])
@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e9])
def test_draws_at_extreme_uniforms_stay_inside(monkeypatch, u, weight):
    """Each variate in turn at both ends of its range, and all the rest at one half."""
    for extreme, family in product((0, 1, 32, 33), FAMILIES):
        monkeypatch.setattr(draws, "uniform", lambda _, __, index, at=extreme: u if index % 64 == at else 0.5)
        for mean in (0.0, 1e-12, 0.5, 1.0):
            draw = posterior_mean(family, weight, mean, 0, 0, 0)
            assert np.isfinite(draw)
            if family != GAUSSIAN:
                assert SMALLEST_DRAW <= draw <= (BELOW_ONE if family == BERNOULLI else 1 / SMALLEST_DRAW)


def test_a_bernoulli_draw_that_would_round_to_one_is_below_it(monkeypatch):
    """The failures' variate is taken close to zero: x slightly above -sqrt(9 d) = -sqrt(6), and a u that accepts it."""
    chosen = {33: stats.norm.cdf(-(6.0**0.5)) * (1 + 1e-4), 34: 2.0**-53}
    monkeypatch.setattr(draws, "uniform", lambda _, __, index: chosen.get(index, 0.5))
    assert posterior_mean(BERNOULLI, 1e9, 1.0, 0, 0, 0) == BELOW_ONE


def test_normal_variates_are_the_quantiles_of_their_uniforms(monkeypatch):
    for u in [*(n * 2.0**-53 for n in (1, 3, 101, 99_999, 2**31 + 1, 2**45 + 1)), *np.arange(1, 2**10, 2) / 2**10]:
        for side in (u, 1.0 - u):
            monkeypatch.setattr(draws, "uniform", lambda *_, side=side: side)
            assert draws.normal_variate(0, 0, 0) == pytest.approx(stats.norm.ppf(side), rel=1e-14)
