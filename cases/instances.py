"""Random instances of every family and task: ordinary ones, and hostile ones for the stress test."""

from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np

from caet_opt.bandits.families import Gaussian, parse_family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Custom, Task, parse_task
from caet_opt.common.exact import decimal_text
from caet_opt.errors import InputError
from caet_opt.kernels.compile import Kernel
from caet_opt.kernels.instance import IRREGULAR
from caet_opt.solving.backends.native import pack_pattern, target_of
from caet_opt.solving.problem import ask, pose

FAMILIES = ("gaussian", "gaussian:per-arm", "bernoulli", "poisson", "exponential", "gamma:2.5", "geometric")
STATED_FAMILIES = ("gaussian", "bernoulli", "poisson", "exponential", "gamma:2.5", "geometric")
TASKS = ("best-arm", "ranking", "top-arms", "groups", "control", "comparisons", "custom")


def ordinary_instance(
    rng: np.random.Generator, family: str, task: str, arms: int, free_share: float = 0.25
) -> tuple[BanditModel, Task]:
    """Means at least one per cent apart, costs over four orders of magnitude."""
    means = ordinary_means(rng, family, arms)
    costs = np.where(rng.random(arms) < free_share, 0.0, 10.0 ** rng.uniform(-2, 2, arms))
    if not costs.any():
        costs[rng.integers(arms)] = 1.0
    if family == "gaussian:per-arm":
        family = with_variances(rng.uniform(0.1, 4.0, arms))
    return BanditModel(parse_family(family), means.tolist(), costs.tolist()), random_task(rng, task, arms)


def ordinary_means(rng: np.random.Generator, family: str, arms: int) -> Array:
    """Distinct admissible means on a grid."""
    if family == "bernoulli":
        low, high = rng.uniform(0.0, 0.3), rng.uniform(0.7, 1.0)
    elif family.startswith("gaussian"):
        low, high = -rng.uniform(0.1, 3.0), rng.uniform(0.1, 3.0)
    else:
        low, high = rng.uniform(0.1, 1.0), rng.uniform(2.0, 8.0)
    grid = np.linspace(low, high, 4 * arms)
    return rng.permutation(rng.choice(grid, arms, replace=False))


def hostile_instance(rng: np.random.Generator) -> tuple[BanditModel, Task]:
    """2 to 60 arms, relative gaps from 1e-6, costs over twelve orders of magnitude and 30 % of them zero.

    Means come near the family's boundary, and one in ten instances has an arm on it.
    """
    family, task = FAMILIES[rng.integers(len(FAMILIES))], TASKS[rng.integers(len(TASKS))]
    means = np.zeros(0)
    while means.size < 2:
        means = np.unique(hostile_means(rng, family, int(rng.integers(2, 61))))
    means = rng.permutation(means)
    arms = means.size
    costs = np.where(rng.random(arms) < 0.3, 0.0, 10.0 ** rng.uniform(-6, 6, arms))
    if family == "gaussian:per-arm":
        family = with_variances(10.0 ** rng.uniform(-3, 3, arms))
    return BanditModel(parse_family(family), means.tolist(), costs.tolist()), random_task(rng, task, arms)


def stated_instance(
    rng: np.random.Generator, family: str, arms: int, spread: float = 4.0, free_share: float = 0.2
) -> tuple[BanditModel, Task]:
    """A task with levels, margins or ratios, at means that are short decimals, with costs over orders of magnitude.

    Margins are of both signs, from a hundredth of the means to as large as they are.
    """
    means = [Decimal(f"{mean:.3g}") for mean in ordinary_means(rng, family, arms)]
    costs = np.where(rng.random(arms) < free_share, 0.0, 10.0 ** rng.uniform(-spread / 2, spread / 2, arms))
    if not costs.any():
        costs[rng.integers(arms)] = 1.0
    scale = float(max(means) - min(means))
    margin = f"{scale * 10.0 ** rng.uniform(-2, 0):.2g}"
    control, sign = rng.integers(arms), "+-"[rng.integers(2)]
    tasks = [f"above:{means[rng.integers(arms)] + Decimal(margin) / 7:.3g}", *2 * [f"control:{control}{sign}{margin}"]]
    ends = [f"{a}-{b}{'+-'[rng.integers(2)]}{margin}" for a, b in combinations(range(arms), 2)]
    tasks.append("comparisons:" + ",".join(ends))
    tasks.append(f"cheapest:control:{control}-{margin}")
    if family in ("poisson", "exponential", "gamma:2.5"):
        tasks.append(f"control:{control}*{rng.uniform(0.5, 2.0):.2f}")
    if family == "gaussian:per-arm":
        family = with_variances(rng.uniform(0.1, 4.0, arms).round(2))
    model = BanditModel(parse_family(family), means, [Decimal(f"{cost:.3g}") for cost in costs])
    while True:
        task = parse_task(tasks[rng.integers(len(tasks))])
        try:
            pose(model, task)
        except InputError:  # a tie, a level that no mean has, a control that is the cheapest arm itself
            continue
        return model, task


def any_stated_instance(rng: np.random.Generator) -> tuple[BanditModel, Task]:
    """A `stated_instance` of any family, 2 to 12 arms, costs over up to eight orders of magnitude."""
    family = STATED_FAMILIES[rng.integers(len(STATED_FAMILIES))]
    return stated_instance(rng, family, int(rng.integers(2, 13)), float(rng.choice([1.0, 4.0, 8.0])))


def hostile_range_instance(rng: np.random.Generator) -> tuple[BanditModel, Task]:
    """Rewards in a range, 2 to 9 arms of unlike distributions (point masses, jackpots, few scores, skewed ones, values
    between levels), some of means that all but tie, costs over eight orders of magnitude and some of them zero; tasks
    of every kind."""
    while True:
        arms = int(rng.integers(2, 10))
        rows = [hostile_distribution(rng) for _ in range(arms)]
        if rng.random() < 0.3:
            rows[1] = moved_distribution(rng, rows[0])
        costs = np.where(rng.random(arms) < 0.2, 0.0, 10.0 ** rng.uniform(-4, 4, arms))
        levels = sorted({value for row in rows for value in row})
        masses = [[row.get(level, Decimal(0)) for level in levels] for row in rows]
        model = BanditModel("bounded:0,1", levels=levels, probabilities=masses, costs=costs.tolist())
        try:
            task = any_range_task(rng, model)
            pose(model, task)
        except InputError:  # a tie, a level at an end of the range, a control that is the cheapest arm itself
            continue
        return model, task


def hostile_distribution(rng: np.random.Generator) -> dict[Decimal, Decimal]:
    """Values in [0, 1] with their probabilities, which sum to one exactly."""
    kind, many = rng.integers(6), int(rng.integers(2, 9))
    if kind == 0:
        return {Decimal(f"{rng.uniform(0.01, 0.99):.3f}"): Decimal(1)}
    if kind == 1:
        rare, low = Decimal(f"{10.0 ** rng.uniform(-9, -0.5):.2g}"), Decimal(f"{rng.uniform(0, 0.9):.2f}")
        return (
            {low: 1 - rare, Decimal(1): rare}
            if rng.random() < 0.7
            else {Decimal(0): rare, low + Decimal("0.05"): 1 - rare}
        )
    if kind == 2:
        values = rng.choice(21, many, replace=False) / 20.0
    elif kind == 3:
        first, second = rng.choice([0.2, 1.0, 8.0], 2)
        values = rng.beta(first, second, many)
    elif kind == 4:
        values = rng.uniform(0.3, 0.7) + 10.0 ** rng.uniform(-4, -1) * rng.uniform(-1.0, 1.0, many)
    else:
        values = np.minimum(rng.lognormal(-2.0, rng.uniform(0.3, 2.0), many), 1.0)
    shares = rng.dirichlet(np.full(many, rng.choice([0.3, 1.0, 10.0])))
    found: dict[Decimal, Decimal] = {}
    for value, share in zip(np.clip(values, 0.0, 1.0).tolist(), shares.tolist(), strict=True):
        found[Decimal(f"{value:.4f}")] = found.get(Decimal(f"{value:.4f}"), Decimal(0)) + Decimal(f"{share:.9f}")
    last = max(found, key=lambda value: found[value])
    found[last] += 1 - sum(found.values())
    return {value: mass for value, mass in found.items() if mass > 0}


def moved_distribution(rng: np.random.Generator, row: dict[Decimal, Decimal]) -> dict[Decimal, Decimal]:
    """A distribution some of whose mass has moved to the middle of the range: a mean that all but ties with its own."""
    part = Decimal(f"{10.0 ** rng.uniform(-6, -1):.2g}")
    found = {value: mass * (1 - part) for value, mass in row.items()}
    found[Decimal("0.5")] = found.get(Decimal("0.5"), Decimal(0)) + part
    return found


def any_range_task(rng: np.random.Generator, model: BanditModel) -> Task:
    """A task of any kind but ratios for rewards in [0, 1]."""
    arms = len(model.means)
    if rng.random() < 0.6:
        return random_task(rng, TASKS[rng.integers(len(TASKS))], arms)
    margin, control = f"{10.0 ** rng.uniform(-3, -0.3):.2g}", rng.integers(arms)
    level = f"{float(np.clip(model.means[control] + rng.uniform(-0.1, 0.1), 0.01, 0.99)):.3f}"
    texts = (f"above:{level}", f"control:{control}+{margin}", f"control:{control}-{margin}", f"cheapest:above:{level}")
    return parse_task(texts[rng.integers(len(texts))])


def adversarial_instance(rng: np.random.Generator) -> tuple[BanditModel, Task]:
    """2 to 4 arms whose numbers are exact, as fractions of doubles or as short decimals: proven digits are about the
    same numbers as certified intervals. Ratios of means and costs are such as make rounding show."""
    family = ("gaussian", "bernoulli", "poisson", "exponential", "gamma:2.5", "gamma:0.3", "geometric")[rng.integers(7)]
    arms = int(rng.integers(2, 5))
    scale = 0.9 if family == "bernoulli" else 10.0 ** rng.uniform(-3, 3)
    logs = rng.permutation(np.cumsum(rng.exponential(rng.choice([1e-6, 0.01, 0.3, 2.0]), arms)))
    means, costs = scale * np.exp(-logs), 2.0 ** rng.integers(-16, 17, arms)
    if family == "bernoulli" and rng.random() < 0.5:
        means = 1.0 - means
    costs[rng.random(arms) < 0.15] = 0.0
    given: list[Fraction | Decimal] = [Fraction(mean) for mean in means.tolist()]
    if rng.random() < 0.5:
        given = [Decimal(f"{mean:.{rng.integers(8, 22)}g}") for mean in means.tolist()]
    task = ("best-arm", "ranking", f"top-arms:{rng.integers(1, arms)}")[rng.integers(3)]
    return BanditModel(parse_family(family), given, [Fraction(cost) for cost in costs.tolist()]), parse_task(task)


def adversarial_stated_instance(rng: np.random.Generator) -> tuple[BanditModel, Task]:
    """The arms of an `adversarial_instance`, some of them at an end of the mean space, with levels, margins and ratios
    that are nearly ties, of very unlike sizes, or leave the mean space: exact numbers all of them."""
    while True:
        model, _ = adversarial_instance(rng)
        given, space = [Fraction(mean) for mean in model.given_means], model.family.mean_space
        if space.low_included and rng.random() < 0.2:
            given[rng.integers(len(given))] = Fraction(0)
        if space.high_included and rng.random() < 0.2:
            given[rng.integers(len(given))] = Fraction(1)
        model = model.with_numbers(means=given)
        try:
            task = parse_task(adversarial_statements(rng, model))
            ask(model, task)
        except InputError:  # a tie that shows at once, a level that no mean has, a control that is the cheapest arm
            continue
        return model, task


def adversarial_statements(rng: np.random.Generator, model: BanditModel) -> str:
    """A task about a model in the grammar, whose numbers make rounding show."""
    arms, means = len(model.means), model.exact_means
    a, b = (int(arm) for arm in rng.choice(arms, 2, replace=False))
    near = float(means[a] - means[b]) * (1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** -rng.uniform(0.0, 12.0))
    end = float(model.family.mean_space.high - means[b]) if model.family.name == "bernoulli" else -float(means[b])
    size = float(max(means)) * 10.0 ** -rng.uniform(0.0, 15.0)
    margin = (near, near, end, size, -size)[rng.integers(5)]
    number = decimal_text(Fraction(margin)) if rng.random() < 0.5 else f"{margin:.{rng.integers(1, 18)}g}"
    signed = number if number.startswith("-") else f"+{number}"
    level = (
        f"{float(means[a]) * (1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** -rng.uniform(0.0, 12.0)):.{rng.integers(2, 18)}g}"
    )
    ratio = (
        f"{abs(model.means[a] / model.means[b]) * (1.0 + 10.0 ** -rng.uniform(0.0, 12.0)):.17g}" if means[b] else "2"
    )
    others = [f"{arm}-{b}{signed}" for arm in range(arms) if arm != b]
    texts = [f"above:{level}", f"cheapest:above:{level}", f"control:{b}{signed}", f"control:{b}{signed}"]
    texts += [f"comparisons:{a}-{b}{signed}", "comparisons:" + ",".join(others), f"cheapest:control:{b}{signed}"]
    if model.family.has_ratios:
        texts.append(f"control:{b}*{ratio}")
    return texts[rng.integers(len(texts))]


def hostile_means(rng: np.random.Generator, family: str, arms: int) -> Array:
    """Increasing means with relative gaps between 1e-6 and a half."""
    if family.startswith("gaussian"):
        steps = 10.0 ** rng.uniform(-6, 0, arms)
        return np.asarray(np.cumsum(steps) * 10.0 ** rng.uniform(-2, 2) - rng.uniform())
    lowest = 10.0 ** rng.uniform(-3, 0) if rng.random() < 0.5 else rng.uniform(0.05, 0.95)
    steps = 10.0 ** rng.uniform(-6, -0.3 if arms < 10 else -1.5, arms)
    means: Array = np.asarray(lowest * np.cumprod(1.0 + steps))
    if family == "bernoulli":
        return near_one(rng, means)
    means *= 10.0 ** rng.uniform(-2, 3)
    if family in ("poisson", "geometric") and rng.random() < 0.1:
        means[0] = 0.0
    return means


def near_one(rng: np.random.Generator, means: Array) -> Array:
    """Probabilities, some of them within 1e-9 of zero or one, some on it."""
    if means[-1] >= 1.0:
        means = means / means[-1] * (1.0 - 10.0 ** rng.uniform(-9, -1))
    if rng.random() < 0.3:
        means = 1.0 - means
    if rng.random() < 0.1:
        means[np.argmin(means)] = 0.0
    if rng.random() < 0.1:
        means[np.argmax(means)] = 1.0
    return means


def with_variances(variances: Array) -> str:
    """The Gaussian family with a variance per arm, in the grammar."""
    return "gaussian:" + ",".join(map(repr, variances.tolist()))


def random_task(rng: np.random.Generator, task: str, arms: int) -> Task:
    """A task of the given name for this number of arms."""
    order = [int(arm) for arm in rng.permutation(arms)]
    if task == "top-arms":
        return parse_task(f"top-arms:{rng.integers(1, arms)}")
    if task == "groups":
        cut = int(rng.integers(2, arms - 1)) if arms >= 4 else arms
        groups = [group for group in (order[:cut], order[cut:]) if group]
        return parse_task("groups:" + "/".join(",".join(map(str, group)) for group in groups))
    if task == "control":
        return parse_task(f"control:{order[0]}")
    if task == "comparisons":
        pairs = {tuple(sorted(rng.choice(arms, 2, replace=False).tolist())) for _ in range(arms)}
        return parse_task("comparisons:" + ",".join(f"{a}-{b}" for a, b in sorted(pairs)))
    if task == "custom":
        a, b = order[:2]
        return Custom([[(a, b)], [(b, a)]])
    return parse_task(task)


def of_doubles(model: BanditModel) -> BanditModel:
    """The model whose numbers are the doubles themselves instead of their shortest decimals."""
    family = model.family
    if isinstance(family, Gaussian):
        family = Gaussian([Fraction(variance) for variance in family.variances])
    return BanditModel(family, [Fraction(mean) for mean in model.means], [Fraction(cost) for cost in model.costs])


def bits_of(kernel: Kernel, model: BanditModel, task: Task) -> list[str | bytes]:
    """All that a kernel returns and leaves behind, cold, and warm after a change of the costs."""
    columns = ask(model, task).columns
    pattern = pack_pattern((columns, type(model.family), model.costly))
    if pattern is None:
        return []
    effort, weights = np.zeros(len(model.means)), np.zeros(len(columns.owners))
    raised = np.array(model.kernel_numbers)
    raised[2] *= 1.0 + 1e-3 * np.arange(len(model.means))
    rest = np.append(columns.margins, model.distribution_table)
    usual, dearer = (np.append(numbers, rest).reshape(1, -1) for numbers in (model.kernel_numbers, raised))
    found: list[str | bytes] = []
    for warm, numbers in ((False, usual), (True, dearer)):
        told = kernel["solve_instance"](numbers, *pattern, effort, weights, warm, 1e-9, target_of(1e-9), 500)
        found += [repr(told), effort.tobytes(), weights.tobytes()]
        if told[0] == IRREGULAR:
            break
    return found
