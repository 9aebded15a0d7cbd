"""Two arms beside the tests that people know.

Which of two arms has the larger mean, wrong with probability at most delta = 0.05? An experiment is planned for an
effect; then the true effect is that, twice as large, half as large, or nothing. In each case these rules see the same
rewards, run by run, those that `caet_opt.simulate` draws:

- ``larger mean, one look``: of the sizes for which it is wrong with probability delta at the planned effect (Bechhofer
  1954). It always names an arm.
- ``z test, one look``: of level delta in each direction, and of the size that finds the planned effect with probability
  1 - delta. Without significance it names no arm.
- ``z test, our power``: the same of the size that has the power of ``e-process, caet`` (the lower end of its interval).
- ``z test, 10 looks``, ``z test, 100 looks``: the test of power 1 - delta, looked at so often on the way to the same
  size, and ended at the first significant look: a common mistake.
- ``Pocock, 10 looks``: ten looks with the critical value for ten looks, and the size for power 1 - delta (Pocock 1977).
- ``SPRT``: the sequential probability ratio test of effect against minus effect (Wald 1945), for two proportions on the
  pairs that differ. It always names an arm.
- ``mSPRT``: the likelihood ratio averaged over a normal prior of the effect (Robbins 1970), with the planned effect for
  its standard deviation, above 1 / (2 delta); for proportions with the estimated variance, as platforms for A/B tests
  have it (Johari et al. 2017, 2022).
- ``e-process, in turn`` and ``e-process, caet``: our stopping rule with pulls in turn and as CAET chooses them.

All but the last two pull in blocks, of one treatment and as many baselines as is best for the costs. ``right`` and
``wrong`` are how often the rule named the better arm, and the other one. Where there is no effect, one arm is better by
1e-9: ``wrong`` is one direction of two there. Rules without a fixed size are followed for `PATIENCE` times the size of
the one-look z test. Intervals are of 95 %, Clopper and Pearson's for errors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from math import ceil, log, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom, norm

from caet_opt import BanditModel, simulate
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.common.numbers import table, write_interval
from caet_opt.presenting.figures.sheet import draw_legend, make_panels
from caet_opt.presenting.figures.style import draw_mean, find_theory, say_scale, styled, write_decades
from caet_opt.simulating.mean_intervals import mean_interval
from caet_opt.simulating.streams import ArmStreams
from caet_opt.simulating.summary import SIGNIFICANCE, error_interval, tail_probability

DELTA = 0.05

#: How many times the size of the one-look z test a rule without a size is followed, by the true effect.
PATIENCE = {2.0: 6, 1.0: 12, 0.5: 48, 0.0: 10}

#: Where there is no effect the better arm is better by so much, which nobody can notice.
NOTHING = 1e-9

#: Runs whose rewards are in memory at a time.
CHUNK = 100

#: Looks of the z test in the figure.
LOOKS = (1, 2, 5, 10, 20, 50, 100)

#: Points at which a density is integrated between two bounds.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(120)


class Verdicts(NamedTuple):
    """Of each run what the rule said (1 the better arm, -1 the other, 0 nothing), and what the run cost."""

    said: Integers
    cost: Array


@dataclass(frozen=True)
class Plan:
    """An experiment as it is planned: a baseline, a treatment that is better by ``effect``, and the costs of a pull.

    A block is one pull of the treatment and ``ratio`` of the baseline; its difference is the treatment's reward less
    the mean of the baseline's. For Gaussian rewards of one variance ``sqrt(c_treatment / c_baseline)`` is best.
    """

    name: str
    baseline: float
    effect: float
    costs: tuple[float, float] = (1.0, 1.0)
    ratio: int = 1

    family: ClassVar[str]

    def model(self, truth: float) -> BanditModel:
        """The model where the effect is so many times the planned one."""
        means = [self.baseline, self.baseline + max(truth * self.effect, NOTHING)]
        return BanditModel(self.family, means, costs=list(self.costs))

    @property
    def block_cost(self) -> float:
        """What a block costs."""
        return self.ratio * self.costs[0] + self.costs[1]

    @property
    def variance(self) -> float:
        """Of a block's difference, at the planned means."""
        raise NotImplementedError

    @property
    def log_ratio(self) -> float:
        """The log-likelihood ratio of effect and minus effect, per unit of the sum of differences."""
        raise NotImplementedError

    def error_of_choice(self, blocks: int) -> float:
        """The probability that the larger mean of so many blocks is the wrong one, at the planned effect."""
        raise NotImplementedError

    def power(self, blocks: int) -> float:
        """The probability that the z test of level delta finds the planned effect."""
        raise NotImplementedError

    def variance_found(self, treated: Array, base: Array, *, pooled: bool) -> Array:
        """The variance of a block's difference from the means of the two arms, which the z test takes for equal."""
        raise NotImplementedError

    @cached_property
    def choice_blocks(self) -> int:
        """Blocks for which the larger mean is wrong with probability at most delta."""
        return search(lambda blocks: self.error_of_choice(blocks) <= DELTA, self.variance * Z**2 / self.effect**2)

    def blocks_for(self, power: float) -> int:
        """Blocks for which the z test has this power."""
        quantiles = Z - float(norm.isf(power))
        return search(lambda blocks: self.power(blocks) >= power, self.variance * quantiles**2 / self.effect**2)

    @cached_property
    def test_blocks(self) -> int:
        """Blocks for which the z test has power 1 - delta."""
        return self.blocks_for(1 - DELTA)

    def pocock_blocks(self, looks: int) -> int:
        """Blocks up to each of so many looks for a power of 1 - delta with Pocock's critical value, by the normal
        approximation."""
        bound = pocock_bound(looks)
        drift = float(brentq(lambda mean: crossing(bound, looks, mean)[0] - (1 - DELTA), 0.01, 10.0))
        return ceil(self.variance * drift**2 / self.effect**2)


#: The quantile of one direction.
Z = float(norm.isf(DELTA))


def search(enough: Callable[[int], bool], guess: float) -> int:
    """A number near the guess that is enough while one less is not."""
    number = max(1, ceil(guess))
    while not enough(number):
        number += 1
    while number > 1 and enough(number - 1):
        number -= 1
    return number


@cache
def crossing(bound: float, looks: int, drift: float) -> tuple[float, float]:
    """The probabilities that ``|S_k| / sqrt(k) > bound`` first happens above and below, S_k a sum of k of N(drift, 1).

    The density of S_k on paths that have not ended, by integration from look to look (Armitage, McPherson, Rowe 1969).
    """
    above, below = float(norm.sf(bound - drift)), float(norm.cdf(-bound - drift))
    points, weights = bound * NODES, bound * WEIGHTS
    density = norm.pdf(points - drift)
    for look in range(2, looks + 1):
        edge, mass = bound * sqrt(look), density * weights
        above += float(mass @ norm.sf(edge - points - drift))
        below += float(mass @ norm.cdf(-edge - points - drift))
        fresh = edge * NODES
        density = norm.pdf(fresh[:, None] - points[None, :] - drift) @ mass
        points, weights = fresh, edge * WEIGHTS
    return above, below


@cache
def pocock_bound(looks: int) -> float:
    """The critical value for which one direction is crossed at any of the looks with probability delta."""
    return float(brentq(lambda bound: crossing(bound, looks, 0.0)[0] - DELTA, Z, 5.0))


class GaussianPlan(Plan):
    """Rewards of variance one: everything is exact."""

    family = "gaussian"

    @property
    def variance(self) -> float:
        return 1.0 + 1.0 / self.ratio

    @property
    def log_ratio(self) -> float:
        return 2.0 * self.effect / self.variance

    def error_of_choice(self, blocks: int) -> float:
        return float(norm.sf(self.effect * sqrt(blocks / self.variance)))

    def power(self, blocks: int) -> float:
        return float(norm.sf(Z - self.effect * sqrt(blocks / self.variance)))

    def variance_found(self, treated: Array, base: Array, *, pooled: bool) -> Array:
        """It is known."""
        return np.full(np.shape(treated), self.variance)


class BernoulliPlan(Plan):
    """Two proportions: sizes are exact, by sums over both binomials; the z test pools the variance."""

    family = "bernoulli"

    @property
    def variance(self) -> float:
        treated = self.baseline + self.effect
        return self.baseline * (1 - self.baseline) + treated * (1 - treated)

    @property
    def log_ratio(self) -> float:
        """``log u`` of the odds ratio u: of the pairs that differ a part ``u / (1 + u)`` is for the treatment."""
        treated = self.baseline + self.effect
        return log(treated / (1 - treated)) - log(self.baseline / (1 - self.baseline))

    def error_of_choice(self, blocks: int) -> float:
        """A draw is decided by a coin."""
        counts = np.arange(blocks + 1)
        treated = binom.pmf(counts, blocks, self.baseline + self.effect)
        more, same = binom.sf(counts, blocks, self.baseline), binom.pmf(counts, blocks, self.baseline)
        return float(treated @ (more + 0.5 * same))

    def power(self, blocks: int) -> float:
        return self.significance(blocks, self.effect)

    def significance(self, blocks: int, effect: float) -> float:
        """The probability that the z test names the treatment, exactly.

        z rises in the treatment's count: for each count of the baseline all from some first one on are significant.
        """
        counts = np.arange(blocks + 1)
        base, treated = counts[:, None] / blocks, counts[None, :] / blocks
        spread = self.variance_found(treated, base, pooled=True)
        significant = (treated - base) * sqrt(blocks) > Z * np.sqrt(spread)
        firsts = np.where(significant.any(axis=1), significant.argmax(axis=1), blocks + 1)
        law = binom.pmf(counts, blocks, self.baseline)
        return float(law @ binom.sf(firsts - 1, blocks, self.baseline + effect))

    def variance_found(self, treated: Array, base: Array, *, pooled: bool) -> Array:
        if pooled:
            treated = base = 0.5 * (treated + base)
        return np.asarray(treated * (1.0 - treated) + base * (1.0 - base))


PLANS: tuple[Plan, ...] = (
    GaussianPlan("gaussian", 0.0, 0.25),
    BernoulliPlan("bernoulli", 0.10, 0.05),
    GaussianPlan("gaussian, costs 1, 16", 0.0, 0.25, costs=(1.0, 16.0), ratio=4),
)


class Paths(NamedTuple):
    """Sums over the blocks so far of the treatment's rewards and of the baseline's mean rewards, a run in a row; and of
    each run 1 or -1 by a coin."""

    treated: Array
    base: Array
    coins: Array


OnPaths = Callable[[Plan, Paths], Verdicts]


def draw_paths(plan: Plan, truth: float, runs: range, seed: int) -> Paths:
    """The rewards that `simulate` draws in these runs, summed up by block."""
    model, blocks = plan.model(truth), PATIENCE[truth] * plan.test_blocks
    treated, base = np.empty((len(runs), blocks)), np.empty((len(runs), blocks))
    for row, run in enumerate(runs):
        streams = ArmStreams(model, np.random.SeedSequence(seed, spawn_key=(run,)), block=blocks * plan.ratio)
        rewards = streams.buffers.rewards
        treated[row], base[row] = rewards[1, :blocks], rewards[0].reshape(blocks, plan.ratio).mean(axis=1)
    coins = np.random.default_rng([seed, runs.start]).choice([-1.0, 1.0], len(runs))
    return Paths(np.cumsum(treated, axis=1), np.cumsum(base, axis=1), coins)


def end(plan: Plan, blocks: Integers, score: Array, bound: float) -> Verdicts:
    """Stop at the first look whose score is beyond the bound, with the arm that its sign names.

    ``score`` has a column per look, which is made after so many ``blocks``.
    """
    beyond = np.abs(score) > bound
    ended = beyond.any(axis=1)
    looks = np.where(ended, beyond.argmax(axis=1), len(blocks) - 1)
    said = np.where(ended, np.sign(score[np.arange(len(score)), looks]), 0.0).astype(np.int64)
    return Verdicts(said, plan.block_cost * blocks[looks].astype(float))


def all_blocks(paths: Paths) -> Integers:
    """A look after every block."""
    return np.arange(1, paths.treated.shape[1] + 1)


def larger_mean(plan: Plan, paths: Paths) -> Verdicts:
    """The sign of the difference after the planned blocks, or the coin."""
    blocks = plan.choice_blocks
    difference = paths.treated[:, blocks - 1] - paths.base[:, blocks - 1]
    return end(plan, np.array([blocks]), np.where(difference == 0.0, paths.coins, difference)[:, None], 0.0)


def standardise(plan: Plan, paths: Paths, blocks: Integers) -> Array:
    """``z = S / sqrt(n v)`` after so many blocks; zero where no reward differs from another."""
    treated, base = paths.treated[:, blocks - 1], paths.base[:, blocks - 1]
    spread = blocks * plan.variance_found(treated / blocks, base / blocks, pooled=True)
    return np.asarray((treated - base) / np.sqrt(np.where(spread > 0.0, spread, np.inf)))


def z_test(looks: int, size: int | None = None) -> OnPaths:
    """The z test, ended at the first significant one of so many looks at equal distances on the way to its size."""

    def rule(plan: Plan, paths: Paths) -> Verdicts:
        blocks = np.ceil((size or plan.test_blocks) * np.arange(1, looks + 1) / looks).astype(np.int64)
        return end(plan, blocks, standardise(plan, paths, blocks), Z)

    return rule


def pocock(plan: Plan, paths: Paths, looks: int = 10) -> Verdicts:
    """Looks with the critical value for all of them."""
    blocks = plan.pocock_blocks(looks) * np.arange(1, looks + 1)
    return end(plan, blocks, standardise(plan, paths, blocks), pocock_bound(looks))


def sprt(plan: Plan, paths: Paths) -> Verdicts:
    """Until ``|log of the likelihood ratio| > log((1 - delta) / delta)``; both errors are alike, hence below delta."""
    return end(plan, all_blocks(paths), plan.log_ratio * (paths.treated - paths.base), log((1 - DELTA) / DELTA))


def mixture_sprt(plan: Plan, paths: Paths) -> Verdicts:
    """Until ``log sqrt(v / (v + n s^2)) + s^2 S^2 / (2 v (v + n s^2)) > log(1 / (2 delta))``, s the planned effect."""
    blocks, square = all_blocks(paths), plan.effect**2
    total = paths.treated - paths.base
    spread = plan.variance_found(paths.treated / blocks, paths.base / blocks, pooled=False)
    spread = np.where(spread > 0.0, spread, np.inf)  # no decision before any variance is seen
    ratio = blocks * square / spread
    evidence = square * (total / spread) ** 2 / (2.0 * (1.0 + ratio)) - 0.5 * np.log1p(ratio)
    return end(plan, blocks, np.sign(total) * np.maximum(evidence, 0.0), -log(2 * DELTA))


def ours(policy: str) -> Callable[[Plan, float, int, int], Verdicts]:
    """Our stopping rule with a policy, in so many runs."""

    def rule(plan: Plan, truth: float, runs: int, seed: int) -> Verdicts:
        most = PATIENCE[truth] * plan.test_blocks * (1 + plan.ratio)
        asked: dict[str, Any] = {"delta": DELTA, "policy": policy, "runs": runs, "seed": seed, "max_rounds": most}
        records = simulate(plan.model(truth), "best-arm", **asked).run_records
        said = [0 if not record.stopped else 1 if record.correct else -1 for record in records]
        return Verdicts(np.array(said), np.array([record.cost for record in records]))

    return rule


@dataclass(frozen=True)
class Rule:
    """A rule: what it promises, from which true effect on, and whether that is exact for proportions as well."""

    promise: str
    from_truth: float
    exact: bool

    def promises(self, plan: Plan, truth: float) -> bool:
        """Whether it is wrong with probability at most delta, as a theorem."""
        return truth >= self.from_truth and (self.exact or isinstance(plan, GaussianPlan))


NEVER = float("inf")
RULES = {
    "larger mean, one look": Rule("effect >= planned", 1.0, True),
    "z test, one look": Rule("any effect, one look", 0.0, False),
    "z test, our power": Rule("any effect, one look", 0.0, False),
    "z test, 10 looks": Rule("nothing", NEVER, False),
    "z test, 100 looks": Rule("nothing", NEVER, False),
    "Pocock, 10 looks": Rule("any effect, ten looks", 0.0, False),
    "SPRT": Rule("effect >= planned", 1.0, True),
    "mSPRT": Rule("any effect, any look", 0.0, False),
    "e-process, in turn": Rule("any effect, look, choice", 0.0, True),
    "e-process, caet": Rule("any effect, look, choice", 0.0, True),
}
ON_PATHS: dict[str, OnPaths] = {
    "larger mean, one look": larger_mean,
    "z test, one look": z_test(1),
    "z test, 10 looks": z_test(10),
    "z test, 100 looks": z_test(100),
    "Pocock, 10 looks": pocock,
    "SPRT": sprt,
    "mSPRT": mixture_sprt,
}
SIMULATED = {"e-process, in turn": ours("uniform"), "e-process, caet": ours("caet")}

#: What is asked where there is no effect besides: the z test at other numbers of looks, for the figure.
MORE_LOOKS = {f"z test, {looks} looks": z_test(looks) for looks in LOOKS if looks not in (1, 10, 100)}


@dataclass(frozen=True)
class Row:
    """What a rule did in the runs of a plan at a true effect; intervals are of 95 %, of parts Clopper and Pearson's;
    ``cost_high`` is the 90 % quantile of the cost."""

    plan: str
    truth: float
    rule: str
    runs: int
    mean_cost: float
    cost_ci: tuple[float, float] | None
    cost_high: float
    right: float
    right_ci: tuple[float, float]
    wrong: float
    wrong_ci: tuple[float, float]
    promised: bool


def count(plan: Plan, truth: float, rule: str, verdicts: Verdicts) -> Row:
    """The row of a rule."""
    runs = len(verdicts.said)
    right, wrong = int((verdicts.said > 0).sum()), int((verdicts.said < 0).sum())
    return Row(
        plan=plan.name,
        truth=truth,
        rule=rule,
        runs=runs,
        mean_cost=float(verdicts.cost.mean()),
        cost_ci=mean_interval(verdicts.cost),
        cost_high=float(np.quantile(verdicts.cost, 0.9)),
        right=right / runs,
        right_ci=error_interval(right, right, runs),
        wrong=wrong / runs,
        wrong_ci=error_interval(wrong, wrong, runs),
        promised=rule in RULES and RULES[rule].promises(plan, truth),
    )


def measure(plan: Plan, truth: float, runs: int, seed: int, size: int) -> Iterator[Row]:
    """Every rule on the same rewards; ``size`` is that of the z test with our power."""
    rules = ON_PATHS | {"z test, our power": z_test(1, size)} | (MORE_LOOKS if truth == 0.0 else {})
    parts: dict[str, list[Verdicts]] = {rule: [] for rule in rules}
    for start in range(0, runs, CHUNK):
        paths = draw_paths(plan, truth, range(start, min(start + CHUNK, runs)), seed)
        for name, rule in rules.items():
            parts[name].append(rule(plan, paths))
    for name, found in parts.items():
        yield count(plan, truth, name, Verdicts(*(np.concatenate(each) for each in zip(*found, strict=True))))
    for name, simulated in SIMULATED.items():
        yield count(plan, truth, name, simulated(plan, truth, runs, seed))


def compare(runs: int, seed: int) -> list[Row]:
    """Every plan at every true effect."""
    rows: list[Row] = []
    for plan in PLANS:
        planned = count(plan, 1.0, "e-process, caet", SIMULATED["e-process, caet"](plan, 1.0, runs, seed))
        size = plan.blocks_for(planned.right_ci[0])
        for truth in PATIENCE:
            rows += measure(plan, truth, runs, seed, size)
    return rows


def broken(rows: list[Row]) -> list[Row]:
    """The rows of rules that were wrong more often than promised, by the exact binomial test.

    Its level is that of all checks of error rates: of so many rows some are above a 95 % interval by chance.
    """
    return [
        row
        for row in rows
        if row.promised and tail_probability(round(row.wrong * row.runs), row.runs, DELTA) < SIGNIFICANCE
    ]


def write_table(rows: list[Row]) -> str:
    """A line per plan and rule: mean costs, and how often it was right and wrong, by the true effect."""
    found = {(row.plan, row.truth, row.rule): row for row in rows}
    lines = []
    for plan in PLANS:
        for name, rule in RULES.items():
            double, planned, half, none = (found[plan.name, truth, name] for truth in PATIENCE)
            cells = [f"{cost:.0f}" for cost in (double.mean_cost, planned.mean_cost, planned.cost_high, half.mean_cost)]
            cells += [f"{row.right:.1%}" for row in (planned, half)]
            cells += [f"{row.wrong:.1%}" for row in (planned, half, none)]
            lines.append([plan.name, name, rule.promise, *cells, write_interval(*none.wrong_ci, 2)])
    headers = ["rewards", "rule", "wrong <= 5 % for", "cost: 2 x", "planned", "90 %", "half", "right: planned", "half"]
    return table([*headers, "wrong: planned", "half", "none", "95 %"], lines, left=(0, 1, 2))


def write_plans() -> str:
    """What was planned, and the lower bound on the mean cost of all rules that keep delta whatever the effect is."""
    lines = []
    for plan in PLANS:
        bound = simulate(plan.model(1.0), "best-arm", delta=DELTA, runs=1, seed=0).lower_bound
        blocks = [plan.choice_blocks, plan.test_blocks, 10 * plan.pocock_blocks(10)]
        costs = [f"{plan.block_cost * many:.0f}" for many in blocks]
        lines.append([plan.name, f"{plan.baseline:g}", f"{plan.effect:g}", *costs, f"{bound:.0f}"])
    headers = ["rewards", "baseline", "planned effect", "cost of larger mean", "of z test", "of Pocock", "lower bound"]
    return table(headers, lines)


@styled
def draw(rows: list[Row]) -> Any:
    """By plan: mean cost over that of the one-look z test against the effect, and wrong answers without an effect."""
    canvas, panels = make_panels([len(PLANS)] * 2)
    for column, plan in enumerate(PLANS):
        own = [row for row in rows if row.plan == plan.name]
        draw_costs(panels[0][column], plan, own)
        draw_errors(panels[1][column], own)
        panels[0][column].set_title(plan.name)
    panels[0][0].set_ylabel(say_scale(panels[0][0], "cost over z test"))
    panels[1][0].set_ylabel("wrong, no effect")
    draw_legend(canvas, [rf"mean of {rows[0].runs} runs on the same draws and $95\%$ band; promised: {DELTA:g}"])
    return canvas


def draw_costs(axis: Any, plan: Plan, rows: list[Row]) -> None:
    """A curve per rule."""
    unit = plan.block_cost * plan.test_blocks
    for which, name in enumerate(RULES):
        own = [row for row in rows if row.rule == name and row.truth > 0.0]
        means = [row.mean_cost / unit for row in own]
        ends = [row.cost_ci or (row.mean_cost, row.mean_cost) for row in own]
        low, high = ([pair[side] / unit for pair in ends] for side in (0, 1))
        draw_mean(axis, [row.truth for row in own], means, low, high, which, label=name)
    axis.set_xscale("log", base=2)
    axis.set_xticks([0.5, 1.0, 2.0], ["half", "planned", "twice"])
    axis.set_yscale("log")
    write_decades(axis, "y")
    axis.set_xlabel("true effect")


def draw_errors(axis: Any, rows: list[Row]) -> None:
    """Wrong answers of the z test against its looks, and of the rules that may be looked at as often as one likes."""
    none = {row.rule: row for row in rows if row.truth == 0.0}
    tests = [none["z test, one look" if looks == 1 else f"z test, {looks} looks"] for looks in LOOKS]
    lows, highs = ([row.wrong_ci[side] for row in tests] for side in (0, 1))
    draw_mean(axis, LOOKS, [row.wrong for row in tests], lows, highs, list(RULES).index("z test, one look"))
    for which, name in enumerate(RULES):
        if name in ("mSPRT", *SIMULATED):
            low, high = none[name].wrong_ci
            draw_mean(axis, [1, 100], [none[name].wrong] * 2, [low] * 2, [high] * 2, which)
    axis.axhline(DELTA, **find_theory("lower"))
    axis.set_xscale("log")
    write_decades(axis, "x")
    axis.set_xlabel("looks at the z test")
