"""How long a run and a study will take: rounds by the theory, seconds per round by a short trial."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from caet_opt.model import BanditModel
from caet_opt.simulation import Experiment, prepare, run_number
from caet_opt.studies.cells import Cell

#: Rounds of the trial run of a model.
TRIAL_ROUNDS = 2000

#: Steps of the iteration for the number of rounds, which gains a digit or more with each.
STEPS = 20


def expected_rounds(experiment: Experiment) -> float:
    """About how many rounds a run takes: the t at which optimal proportions reach the threshold,

        t = beta(t) sum(w*) / (1 - alpha),      alpha the share of the free arms, if there are any,

    as all estimates are exact from the start; runs take longer, the more so the larger delta is.
    """
    model, arms = experiment.model, len(experiment.model.means)
    costly = sum(
        effort for effort, cost in zip(experiment.optimum.effort.tolist(), model.costs, strict=True) if cost > 0
    )
    pace = costly / (1.0 - experiment.parameters.zero_cost_share * (min(model.costs) == 0))
    rounds = float(2 * arms)
    for _ in range(STEPS):
        rounds = max(2.0 * arms, pace * experiment.rule.value(rounds, rounds / arms, rounds / arms))
    return min(rounds, float(experiment.max_rounds))


def seconds_per_run(cells: Sequence[Cell]) -> dict[str, float]:
    """The seconds that a run of each cell may take, from one short trial run per model."""
    found: dict[str, float] = {}
    pace: dict[BanditModel, tuple[float, float]] = {}
    for cell in cells:
        if cell.entry.model not in pace:
            pace[cell.entry.model] = trial(cell.experiment)
        setup, per_round = pace[cell.entry.model]
        found[cell.id] = setup + per_round * expected_rounds(cell.experiment)
    return found


def trial(experiment: Experiment) -> tuple[float, float]:
    """Seconds of a run besides its rounds, and seconds per round."""
    prepare(experiment)
    level = max(experiment.parameters.log_inv_delta, float(TRIAL_ROUNDS))  # so that the trial does not stop early
    parameters = replace(experiment.parameters, log_inv_delta=level)
    endless = replace(experiment, parameters=parameters, threshold="customary", theta=None, constant=None)
    _, setup, whole = (timed(replace(endless, max_rounds=rounds)) for rounds in (1, 1, TRIAL_ROUNDS))
    return setup, max(0.0, whole - setup) / TRIAL_ROUNDS


def timed(experiment: Experiment) -> float:
    """Seconds of one run."""
    start = perf_counter()
    run_number(experiment, 0, 0)
    return perf_counter() - start
