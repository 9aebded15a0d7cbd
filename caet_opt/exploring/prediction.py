"""What CAET will cost at a finite delta, predicted by counting pulls, and which thresholds are proven at what price."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from caet_opt.bandits.families import Bounded
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Statement, Task
from caet_opt.bandits.tasks.statements import encode
from caet_opt.errors import InputError
from caet_opt.exploring.counted import Counted
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.stopping import THRESHOLDS, Threshold, threshold_of
from caet_opt.exploring.stopping.base import PairState
from caet_opt.exploring.stopping.e_process import prior_scales
from caet_opt.kernels.aiming import project_into, share_out
from caet_opt.solving.certificate import statement_terms
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.result import CharacteristicTime

if TYPE_CHECKING:
    import pandas as pd

#: Mean cost over predicted cost, the least and the largest that `python analysis/prediction_study.py` finds: of CAET by
#: its tracking, and of the oracle.
MEASURED = {"c": (0.85, 1.37), "d": (0.83, 1.30), "oracle": (0.89, 1.54)}

#: Relative accuracy of the predicted number of rounds, and where it is given up: counts would leave double precision.
ACCURACY, MOST_ROUNDS = 1e-4, 1e200


@dataclass(frozen=True)
class Prediction:
    """When CAET is expected to stop at a given delta, and what it has paid by then: `predict` says how.

    Attributes
    ----------
    rounds, pulls : tau, and the pulls of each arm by then
    cost : their cost, at the model's costs
    threshold : beta at tau, of the pair that is settled last

    Examples
    --------
    >>> from caet_opt.exploring.settings import Parameters
    >>> from caet_opt.simulating.runs import Experiment
    >>> experiment = Experiment(BanditModel("gaussian", [3, 4, 2], "gaps"), "ranking", Parameters(delta=0.05))
    >>> prediction = experiment.prediction
    >>> round(prediction.rounds), round(prediction.cost, 1), round(prediction.threshold, 2)
    (463, 65.5, 5.6)
    """

    rounds: float
    pulls: tuple[float, ...]
    cost: float
    threshold: float


@np.errstate(all="ignore")  # evidence beyond double precision is infinite, and enough
def predict(optimum: CharacteristicTime, threshold: Threshold, parameters: Parameters) -> Prediction | None:
    """``T* beta(tau)``, solved for tau by counting pulls at u_alpha; None where that leaves double precision.

    The pulls by round t are ``N(t) = t u``, with u the target u_alpha projected on the mean of the exploration floors
    so far. tau is the first t at which ``f_e(N(t)) > beta(t)`` for every needed statement e, and the cost is
    ``c . N(tau)``. Without a free arm and without the floor, ``min over e of f_e(N) = c . N / T*``, and the cost is
    ``T* beta(tau)``; the floor adds to it, and so does that free arms take less than all of the pulls.

    The means are taken as known from the start. Evidence of runs fluctuates: a pair by itself is settled about when
    its mean says so; of several that bind, or nearly do, the one that chance favours least decides, which costs more,
    unless pulls can go to it, as CAET sends them. For how much that is see `say_measured`.
    """
    model, arms = optimum.model, len(optimum.model.means)
    target = find_target(optimum, parameters)
    known = None if estimates_costs(model, parameters) else np.array(model.costs)
    scales = prior_scales(known, arms, parameters.free_share)
    counted = model.with_numbers(costs=[1.0] * arms)  # whose pair terms have the counts of both arms
    shares = split_shares(model)

    @cache
    def count_pulls(t: float) -> Array:
        return t * project(target, mean_exploration_floor(arms, t))

    def side(arm: int, t: float) -> PairState:
        pulls = max(float(count_pulls(t)[arm]), 1.0)
        return PairState(pulls, model.means[arm], float(model.dispersions[arm]), float(scales[arm]))

    def weigh(statement: Statement, t: float) -> tuple[float, float]:
        """The evidence of a statement at round t, and what it must exceed."""
        if seen := expected(model, shares, count_pulls(t)):
            found = seen.evidence(statement)
            return found, found - seen.lead(statement, threshold.level)
        evidence = float(statement_terms(counted, [statement], count_pulls(t))[0])
        winner, loser = (None if arm is None else side(arm, t) for arm in statement[:2])
        more = () if statement.is_plain else (float(statement.margin), float(statement.ratio))
        return evidence, threshold.needed(model.family, evidence, t, winner, loser, *more)

    def is_settled(statement: Statement, t: float) -> bool:
        if seen := expected(model, shares, count_pulls(t)):
            return seen.lead(statement, threshold.level) > 0.0
        evidence, needed = weigh(statement, t)
        return evidence > needed

    statements = optimum.statements
    scarce = np.argsort(statement_terms(counted, statements, count_pulls(float(arms))), kind="stable")
    tau, last = float(arms), statements[scarce[0]]
    for statement in (statements[at] for at in scarce.tolist()):  # the first is settled late, most others before
        if not is_settled(statement, tau):
            tau, last = first_round(partial(is_settled, statement), tau), statement
        if tau > MOST_ROUNDS:
            return None
    cost = float(np.dot(model.costs, count_pulls(tau)))
    return Prediction(tau, tuple(count_pulls(tau).tolist()), cost, weigh(last, tau)[1]) if isfinite(cost) else None


def split_shares(model: BanditModel) -> Array | None:
    """The shares with which each arm's rewards count on the levels of their range; None for other rewards."""
    if not isinstance(model.family, Bounded) or model.distributions is None:
        return None
    return np.array(model.distributions.split(model.family))


def expected(model: BanditModel, shares: Array | None, pulls: Array) -> Counted | None:
    """What histograms would say if each were what is expected of so many pulls, of at least one; None without shares,
    which are those of `split_shares`."""
    if shares is None or not isinstance(model.family, Bounded):
        return None
    pulls = np.maximum(pulls, 1.0)
    histograms = tuple(map(tuple, (pulls[:, None] * shares).tolist()))
    return Counted(model.family, pulls.tolist(), np.array(model.means), histograms)


def say_measured(*rules: str) -> str:
    """``0.85 to 1.37 times``: the range of mean cost over predicted cost in the study, for these keys of `MEASURED`."""
    lows, highs = zip(*(MEASURED[rule] for rule in rules), strict=True)
    return f"{min(lows):.2f} to {max(highs):.2f} times"


def say_how_near(task: Task, rule: str) -> str:
    """How near predictions have been, for a key of `MEASURED`; of tasks with several right answers it is not known."""
    if task.several_right:
        return "near ties of several right answers may cost much less or more than that"
    return f"in tests of this prediction, mean costs were {say_measured(rule)} that"


def rule_of(parameters: Parameters) -> str:
    """The key of `MEASURED` for these settings."""
    return "oracle" if parameters.policy == "oracle" else parameters.tracking


def first_round(is_settled: Callable[[float], bool], low: float) -> float:
    """The least t above ``low``, where it is not, at which something is settled; infinite beyond `MOST_ROUNDS`."""
    high = 2.0 * low
    while not is_settled(high):
        low, high = high, 2.0 * high
        if high > MOST_ROUNDS:
            return inf
    while high > (1.0 + ACCURACY) * low:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_settled(middle) else (middle, high)
    return high


def estimates_costs(model: BanditModel, parameters: Parameters) -> bool:
    """Whether CAET has to learn the costs; those of a model are known unless they are gaps or said to be observed."""
    return (parameters.cost_source or model.cost_rule) in ("gaps", "observed")


def find_target(optimum: CharacteristicTime, parameters: Parameters) -> Array:
    """``u_alpha`` of the true means; costs that CAET estimates, and that are negligible, count as zero."""
    model, task, costs = optimum.model, optimum.task, np.array(optimum.model.costs)
    if estimates_costs(model, parameters):
        kept = np.where(costs > parameters.negligible_cost, costs, 0.0)
        if np.any(kept != costs):
            optimum = characteristic_time(model.with_numbers(costs=kept.tolist()), task)
    target, pairs = np.zeros(len(costs)), encode(optimum.statements)[0]
    share_out(pairs, np.array(optimum.model.costs), optimum.effort, parameters.free_share, target)
    return target


def mean_exploration_floor(arms: int, rounds: float) -> float:
    """The mean of the floors of the rounds so far, ``(1/t) integral of epsilon_s over s = 1 / (K + sqrt(K^2 + t))``."""
    return float(1.0 / (arms + np.sqrt(arms * arms + rounds)))


def project(target: Array, floor: float) -> Array:
    """L-infinity projection on ``{u : u_a >= floor, sum u = 1}``: `caet_opt.kernels.aiming.project_into`."""
    projected = np.empty_like(target)
    project_into(target, floor, projected)
    return projected


def compare_thresholds(optimum: CharacteristicTime, parameters: Parameters) -> list[dict[str, Any]]:
    """The rows of `threshold_table`, in order of preference, with options at their defaults and where they prove it.

    What is not defined for the family has no formula, and what cannot be predicted is None.
    """
    model, task = optimum.model, optimum.task
    keys, found = ("threshold", "formula", "proven", "reason", "value", "predicted_rounds", "predicted_cost"), []
    for name, options in ((name, options) for name, kind in THRESHOLDS.items() for options in kind.variants):
        asked = replace(parameters, threshold=name, **options)
        try:
            rule = threshold_of(asked, model.family, len(model.means), task)
        except InputError as error:
            found.append(dict(zip(keys, (name, None, False, str(error), None, None, None), strict=True)))
            continue
        predicted = predict(optimum, rule, asked)
        numbers = (predicted.threshold, predicted.rounds, predicted.cost) if predicted else (None, None, None)
        proven = rule.guarantees(model.family)
        found.append(dict(zip(keys, (name, rule.describe(), proven, rule.reason, *numbers), strict=True)))
    return found


def threshold_table(
    model: BanditModel, task: Task | str, *, delta: float | None = None, log_inv_delta: float | None = None
) -> "pd.DataFrame":
    """Which stopping thresholds are proven for a model's family and a task, and what each would cost.

    A row per threshold: ``threshold``, ``formula``, ``proven``, ``reason``, ``value`` (beta at the predicted stopping
    time), ``predicted_rounds`` and ``predicted_cost``, for ``delta`` or ``log_inv_delta = log(1/delta)``. The means
    are taken as known, and every setting is at its default.

    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> threshold_table(model, "ranking", delta=0.05)[["threshold", "proven", "predicted_cost"]].round(1)
           threshold  proven  predicted_cost
    0      e-process    True            65.5
    1        mixture    True           182.5
    2  informational   False           135.9
    3    deviational   False           130.4
    4    deviational    True           424.1
    5      customary   False            57.6
    """
    import pandas as pd

    parameters = Parameters(delta=delta, log_inv_delta=log_inv_delta)  # type: ignore[arg-type]
    return pd.DataFrame(compare_thresholds(characteristic_time(model, task), parameters))
