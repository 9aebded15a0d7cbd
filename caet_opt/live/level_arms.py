"""What an answer that is good enough would cost, where arms have been level for long and nothing ends."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import takewhile
from math import isinf
from typing import Any

import numpy as np

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import LowerIsBetter, Task
from caet_opt.bandits.tasks.tolerant import NOTES, tolerate
from caet_opt.errors import InputError, SolverError
from caet_opt.exploring.counted import seen_means
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.prediction import predict
from caet_opt.exploring.stopping import threshold_of
from caet_opt.solving.characteristic import characteristic_time

#: Level for long: so many outcomes of both arms, and at least so many times what was spent still to pay.
OUTCOMES, TIMES = 30, 3.0

#: Tolerances are 1, 2 or 5 times a power of ten, of so many powers.
POWERS = range(-6, 7)


def suggest_tolerance(
    explorer: Explorer, arms: Sequence[int], cost: float | None, names: Sequence[str]
) -> dict[str, Any] | None:
    """The smallest tolerance with which an experiment would have cost no more than this one has by now, and what it is
    predicted to cost in all; None where arms have not been level for long, by what is still to pay, or the task has a
    tolerance, or none would do.

    The arms are those of the statement that misses most; ``cost`` None means that it cannot be said, as at a tie.
    """
    state, task = explorer.state, explorer.task
    inner = task.task if isinstance(task, LowerIsBetter) else task
    if type(inner) not in NOTES or len(arms) < 2 or not state.total_cost > 0:
        return None
    if min(state.counts[arm] for arm in arms) < OUTCOMES:
        return None
    if cost is not None and cost < TIMES * state.total_cost:
        return None
    most = largest_tolerance(explorer)
    for tolerance in takewhile(lambda one: one <= most, list_tolerances()):
        relaxed = tolerate(inner, tolerance)
        relaxed = LowerIsBetter(relaxed) if isinstance(task, LowerIsBetter) else relaxed
        found = predict_cost(explorer, relaxed, names, state.total_cost)
        if found is not None and found <= state.total_cost:
            return {"arms": [names[arm] for arm in arms], "task": str(relaxed), "cost": found}
    return None


def list_tolerances() -> Iterator[Fraction]:
    """From the smallest on."""
    return (digit * Fraction(10) ** power for power in POWERS for digit in (1, 2, 5))


def largest_tolerance(explorer: Explorer) -> float:
    """A tolerance above which any arm would do: half the distance of the means from the nearer end of their range, from
    the arm for which that is largest, since an arm at that end would then be nearly as good as any; for means without
    ends, as Gaussian ones, half a standard deviation of a reward, since their zero is where somebody has put it."""
    setup, means, space = explorer.setup, explorer.state.means(), explorer.family.mean_space
    if isinf(space.low) and isinf(space.high):
        return 0.5 * float(np.sqrt(np.max(setup.family.unit_variance(means) * setup.dispersions)))
    return 0.5 * float(np.max(np.minimum(means - space.low, space.high - means)))


def predict_cost(explorer: Explorer, task: Task, names: Sequence[str], most: float) -> float | None:
    """What an experiment with another task is predicted to cost at the present means; None where that is not known, or
    is more than ``most`` since ``T* level`` is: evidence has to exceed the level, whatever the threshold adds."""
    setup, means = explorer.setup, explorer.state.means()
    costs = setup.costs(explorer.state, means).tolist()
    try:
        task.check_family(setup.family)
        seen = seen_means(setup.family, means, explorer.state.histograms)
        model = BanditModel(setup.family, seen, costs, names, lower_is_better=task.lower_is_better)
        rule = threshold_of(explorer.parameters, setup.family, setup.arms, task)
        optimum = characteristic_time(model, task)
        if optimum.value * rule.level > most:
            return None
        prediction = predict(optimum, rule, explorer.parameters)
    except (InputError, SolverError):
        return None
    return None if prediction is None else prediction.cost
