"""Random instances: every family, gaps and costs over many orders of magnitude, arms in any order."""

from collections.abc import Sequence

import numpy as np

from caet_opt.bandits.families import Family, parse_family
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import BestArm, Comparisons, Control, Pair, Ranking, Task

FAMILIES = ("gaussian", "gaussian:per-arm", "bernoulli", "poisson", "exponential", "gamma", "geometric")
SHAPES = (0.5, 2.5, 20.0)

#: Costs lie within so many powers of ten of one.
COST_DECADES = 6.0


def magnitude(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose decimal logarithm is uniform."""
    return float(10.0 ** rng.uniform(low, high))


def draw_costs(rng: np.random.Generator, arms: int) -> list[float]:
    """Positive costs over twelve orders of magnitude, or all alike."""
    if rng.random() < 0.1:
        return [1.0] * arms
    return [magnitude(rng, -COST_DECADES, COST_DECADES) for _ in range(arms)]


def draw_variances(rng: np.random.Generator, arms: int) -> list[float]:
    """Unit variances, a common one, or one per arm."""
    kind = rng.integers(3)
    if kind == 0:
        return [1.0] * arms
    return [magnitude(rng, -3, 3)] * arms if kind == 1 else [magnitude(rng, -3, 3) for _ in range(arms)]


def gaussian_family(variances: Sequence[float]) -> Family:
    """The Gaussian family with these variances, as one where they are equal."""
    distinct = sorted(set(variances))
    return parse_family("gaussian:" + ",".join(map(repr, variances if len(distinct) > 1 else distinct)))


def draw_family(rng: np.random.Generator, arms: int) -> Family:
    """Any family of the library."""
    name = FAMILIES[rng.integers(len(FAMILIES))]
    if name == "gaussian:per-arm":
        return gaussian_family([magnitude(rng, -3, 3) for _ in range(arms)])
    return parse_family(f"gamma:{SHAPES[rng.integers(len(SHAPES))]}" if name == "gamma" else name)


def draw_means(rng: np.random.Generator, family: Family, arms: int) -> list[float]:
    """Increasing means with relative gaps from 1e-6 to 1, near the family's boundary and sometimes on it."""
    if family.name == "gaussian":
        steps = np.cumsum(10.0 ** rng.uniform(-6, 1, arms)) * magnitude(rng, -3, 3)
        means = steps - (rng.uniform() * steps[-1] if rng.random() < 0.5 else steps[0])
    else:
        means = magnitude(rng, -4, 1) * np.cumprod(1.0 + 10.0 ** rng.uniform(-6, 0, arms))
    if family.name == "bernoulli":
        means = means / means[-1] * (1.0 - magnitude(rng, -9, -0.1))
        means = np.sort(1.0 - means) if rng.random() < 0.5 else means
    if family.mean_space.low_included and rng.random() < 0.1:
        means[0] = family.mean_space.low
    if family.mean_space.high_included and rng.random() < 0.1:
        means[-1] = family.mean_space.high
    distinct = sorted(set(means.tolist()))
    return distinct if len(distinct) == arms else draw_means(rng, family, arms)


def small_deviation(rng: np.random.Generator) -> float:
    """A deviation of either sign between 1e-14 and 0.1 by magnitude."""
    return magnitude(rng, -14, -1) * float(rng.choice([-1.0, 1.0]))


def spread(rng: np.random.Generator, boundary: float, decades: float) -> float:
    """A ratio at a boundary between branches: half of the time close to it on either side, else anywhere."""
    return boundary * (1.0 + small_deviation(rng) if rng.random() < 0.5 else magnitude(rng, -decades, decades))


def arrange(
    rng: np.random.Generator,
    means: Sequence[float],
    costs: Sequence[float],
    variances: Sequence[float],
    pairs: Sequence[Pair],
) -> tuple[BanditModel, Task]:
    """Gaussian arms in random order, and a random task that needs these pairs."""
    order = [int(arm) for arm in rng.permutation(len(means))]
    label = {arm: position for position, arm in enumerate(order)}
    model = BanditModel(
        gaussian_family([variances[arm] for arm in order]), [means[arm] for arm in order], [costs[arm] for arm in order]
    )
    return model, draw_task(rng, model, [(label[a], label[b]) for a, b in pairs])


def draw_task(rng: np.random.Generator, model: BanditModel, pairs: Sequence[Pair]) -> Task:
    """A random one of the tasks that need just these pairs of the model."""
    wanted = {frozenset(pair) for pair in pairs}
    tasks: list[Task] = [Ranking(), BestArm(), *map(Control, range(len(model.means))), Comparisons(pairs)]
    fitting = [task for task in tasks if {frozenset(pair) for pair in task.pairs(model.means)} == wanted]
    return fitting[rng.integers(len(fitting))]
