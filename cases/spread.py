"""Experiments whose spread is watched: rules that choose arms, many paths of rewards, and the alarms along them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caet_opt.bandits.families import Family, Gaussian
from caet_opt.bandits.families.numerics import Array
from caet_opt.live import watch
from caet_opt.simulating.summary import SIGNIFICANCE, tail_probability

#: Levels at which false alarms are counted.
LEVELS = (watch.LEVEL, 0.05)

#: Sampling rules, which are told counts, empirical and true means of every experiment, and draw from a generator.
Rule = Callable[[Array, Array, Array, np.random.Generator], NDArray[np.int64]]

#: Draws a reward for each of some true means.
Draw = Callable[[np.random.Generator, Array], Array]


def in_turn(counts: Array, means: Array, truth: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Round and round."""
    return np.asarray(np.argmin(counts, axis=1))


def follow_leader(counts: Array, means: Array, truth: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """The arm with the largest mean so far, or one of the others with probability 0.2."""
    leaders = np.argmax(means, axis=1)
    return np.where(rng.random(len(means)) < 0.2, rng.integers(0, means.shape[1], len(means)), leaders)


def look_for_alarm(counts: Array, means: Array, truth: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """The arm whose mean so far is furthest from the truth."""
    return np.asarray(np.argmax((means - truth) ** 2, axis=1))


RULES: dict[str, Rule] = {"in turn": in_turn, "leader": follow_leader, "adversary": look_for_alarm}


class Paths(NamedTuple):
    """Arms and rewards of many experiments, a row each."""

    arms: NDArray[np.int64]
    rewards: Array


def draw_paths(draw: Draw, truth: Array, rule: Rule, runs: int, length: int, seed: int) -> Paths:
    """Experiments of so many outcomes: each arm once, and then by the rule."""
    rng, every = np.random.default_rng(seed), np.arange(runs)
    counts, sums = np.zeros((runs, len(truth))), np.zeros((runs, len(truth)))
    arms, rewards = np.zeros((runs, length), dtype=np.int64), np.zeros((runs, length))
    for at in range(length):
        means = sums / np.maximum(counts, 1.0)
        arms[:, at] = at if at < len(truth) else rule(counts, means, truth, rng)
        rewards[:, at] = draw(rng, truth[arms[:, at]])
        counts[every, arms[:, at]] += 1.0
        sums[every, arms[:, at]] += rewards[:, at]
    return Paths(arms, rewards)


def log_e(family: Family, arms: NDArray[np.int64], rewards: Array, count: int) -> Array:
    """log E of the watch after every outcome."""
    if isinstance(family, Gaussian):
        squares = watch.residual_squares(arms, rewards, count)
        return watch.gaussian_log_e(arms, squares, family.dispersions(count))
    return watch.poisson_log_e(arms, rewards, count)


def naive_log_e(arms: NDArray[np.int64], rewards: Array, count: int) -> Array:
    """log E as if residuals were independent and standard normal: the first outcome of each arm is not counted."""
    later = np.sort(np.concatenate([at[1:] for at in watch.places(arms, count)]))
    squares = watch.residual_squares(arms, rewards, count)[later]
    return watch.gaussian_log_e(np.zeros(len(later), dtype=np.int64), squares, np.ones(1))


def largest_log_e(paths: Paths, test: Callable[[NDArray[np.int64], Array], Array]) -> Array:
    """The largest log E of each experiment."""
    return np.array([test(arms, rewards).max() for arms, rewards in zip(*paths, strict=True)])


def count_alarms(largest: Array) -> list[int]:
    """How many experiments have an alarm at each of the levels."""
    return [int(np.sum(largest >= -np.log(level))) for level in LEVELS]


def is_consistent(errors: int, level: float, runs: int) -> bool:
    """Whether so many are not significantly more than the level allows."""
    return bool(tail_probability(errors, runs, level) >= SIGNIFICANCE)


def draw_counts(factor: float) -> Draw:
    """Negative binomial counts whose variance is a multiple of their mean."""
    return lambda rng, mean: rng.negative_binomial(mean / (factor - 1.0), 1.0 / factor).astype(float)


def draw_normal(factor: float) -> Draw:
    """Gaussian rewards of this variance."""
    return lambda rng, mean: rng.normal(mean, np.sqrt(factor))


def first_alarm(values: Array) -> int | None:
    """The outcome at which the watch first speaks."""
    alarms = np.flatnonzero(values >= watch.NEEDED)
    return int(alarms[0]) + 1 if len(alarms) else None
