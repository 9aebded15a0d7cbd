"""How long a run and a study will take: rounds by the theory, seconds per round by a short trial."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from caet_opt.bandits.model import BanditModel
from caet_opt.exploring import rules
from caet_opt.simulating.runs import Experiment, prepare, run_number
from caet_opt.simulating.studies.cells import OPTIONS, Cell
from caet_opt.solving.certificate import pair_terms

#: Rounds of the trial run of a model.
TRIAL_ROUNDS = 2000

#: Relative accuracy of the expected number of rounds.
ACCURACY = 0.01


def expected_rounds(experiment: Experiment) -> float:
    """About how many rounds a run takes: the first t at which counts that follow the target, with twice its exploration
    floor, which is the mean of the floors so far, have ``f_e(N(t)) >= beta(t)`` for every needed pair.

    All means are taken for known from the start, so that runs take longer, the more so the larger delta is.
    """
    model, arms = experiment.model, len(experiment.model.means)
    pairs = experiment.task.pairs(model.means)
    target = rules.shared_target(
        experiment.optimum.sampling_proportions,
        np.array(model.costs),
        experiment.task.support(model.means),
        experiment.parameters.zero_cost_share,
    )
    counted = BanditModel(model.family, model.means, [1.0] * arms)  # whose pair terms have the counts of both arms

    def is_enough(t: float) -> bool:
        counts = t * rules.project(target, 2.0 * rules.exploration_floor(arms, int(t)))
        evidence = pair_terms(counted, pairs, counts)
        needed = [experiment.rule.value(t, max(counts[a], 1.0), max(counts[b], 1.0)) for a, b in pairs]
        return bool(np.all(evidence >= needed))

    high = 2.0 * arms
    while high < experiment.parameters.max_rounds and not is_enough(high):
        high *= 2.0
    low = 0.5 * high
    while high > (1.0 + ACCURACY) * low:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return min(high, float(experiment.parameters.max_rounds))


def seconds_per_run(cells: Sequence[Cell]) -> dict[str, float]:
    """The seconds that a run of each cell may take, from one short trial run per model."""
    found: dict[str, float] = {}
    pace: dict[BanditModel, tuple[float, float]] = {}
    for cell in cells:
        if cell.entry.model not in pace:
            pace[cell.entry.model] = time_trial(cell.experiment)
        setup, per_round = pace[cell.entry.model]
        found[cell.id] = setup + per_round * expected_rounds(cell.experiment)
    return found


def time_trial(experiment: Experiment) -> tuple[float, float]:
    """Seconds of a run besides its rounds, and seconds per round."""
    prepare(experiment)
    level = max(experiment.parameters.log_inv_delta, float(TRIAL_ROUNDS))  # so that the trial does not stop early
    endless = experiment.change(delta=None, log_inv_delta=level, threshold="customary", **dict.fromkeys(OPTIONS))
    _, setup, whole = (time_run(endless.change(max_rounds=rounds)) for rounds in (1, 1, TRIAL_ROUNDS))
    return setup, max(0.0, whole - setup) / TRIAL_ROUNDS


def time_run(experiment: Experiment) -> float:
    """Seconds of one run."""
    start = perf_counter()
    run_number(experiment, 0, 0)
    return perf_counter() - start
