"""Regret minimisation: explore with CAET at delta = 1 / T, then commit to the arm that it finds."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from math import isfinite, log
from typing import Any, NamedTuple, cast

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel, gaps
from caet_opt.bandits.tasks import BestArm
from caet_opt.common.checks import check_whole, show_value
from caet_opt.errors import InputError
from caet_opt.exploring.explorer import Caet
from caet_opt.exploring.settings import Parameters, refuse_limits
from caet_opt.exploring.stopping import Threshold, threshold_of
from caet_opt.simulating.mean_intervals import mean_band
from caet_opt.simulating.pool import check_workers, run_jobs
from caet_opt.simulating.runs import compile_loop, compile_run, run
from caet_opt.simulating.streams import ArmStreams

#: Rounds at which the regret is recorded, spread evenly in log t.
CHECKPOINTS = 60


#: An explore-then-commit experiment: the model, how to explore, and the recorded rounds.
Exploration = tuple[BanditModel, Parameters, tuple[int, ...]]


class Trajectory(NamedTuple):
    """One run: its regret at the recorded rounds, when it committed (zero: never) and to which arm."""

    regret: Array
    commitment_time: int
    arm: int


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """The regret of explore then commit up to a horizon, over many runs.

    Attributes
    ----------
    model, horizon, threshold : what was run; delta is 1 / horizon
    times : the recorded rounds, the last one the horizon
    regrets : of every run (rows) at every recorded round
    commitment_times : the round of each run's commitment, zero for a run that explored up to the horizon
    arms : what each run committed to, or believed in at the horizon

    Examples
    --------
    >>> from caet_opt.simulating.regret import explore_then_commit
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> curve = explore_then_commit(model, horizon=1000, runs=10, seed=1)
    >>> curve.committed, curve.wrong, round(curve.asymptote, 4)
    (10, 0, 20.7233)
    """

    model: BanditModel
    horizon: int
    threshold: Threshold
    times: Array
    regrets: Array
    commitment_times: Array
    arms: Array

    @property
    def mean_regret(self) -> Array:
        """Mean over the runs at every recorded round."""
        return np.asarray(np.mean(self.regrets, axis=0))

    @property
    def ci(self) -> tuple[Array, Array]:
        """Ends of the 95 % interval of the mean regret at every recorded round; NaN for fewer than 10 runs."""
        return mean_band(self.regrets)

    @property
    def committed(self) -> int:
        """How many runs committed before the horizon."""
        return int(np.count_nonzero(self.commitment_times))

    @property
    def wrong(self) -> int:
        """How many runs committed to an arm that is not the best."""
        gap = np.array(gaps(self.model.means))[self.arms.astype(int)]
        return int(np.count_nonzero((gap > 0) & (self.commitment_times > 0)))

    @property
    def asymptote(self) -> float:
        """``T* log T = sum over gap_a > 0 of gap_a / d(mu_a, mu_best)  log T``."""
        return regret_rate(self.model) * log(self.horizon)


def explore_then_commit(
    model: BanditModel,
    horizon: float,
    runs: int,
    seed: int,
    *,
    workers: int = 1,
    checkpoints: int = CHECKPOINTS,
    progress: Callable[[], None] = lambda: None,
    **settings: Any,
) -> RegretCurve:
    """Run CAET on the best-arm task with delta = 1 / horizon, the empirical gaps as costs, and commit to its answer.

    Regret counts the true gaps ``mu_best - mu_a``; after commitment it grows by the gap of the committed arm per round,
    so that the horizon costs nothing to simulate. Results do not depend on the number of workers. ``progress`` is
    called for every run that is finished. ``settings`` are those of `caet_opt.Caet.start`; gamma0 must lie below the
    gaps that matter, since smaller ones count as free.

    >>> from caet_opt.simulating.regret import explore_then_commit
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> curve = explore_then_commit(model, horizon=1000, runs=10, seed=1)
    >>> print(round(curve.mean_regret[-1], 3))
    68.8
    """
    check_workers(workers)
    if not (isfinite(horizon) and horizon > len(model.means)):
        raise InputError(
            f"the horizon must be a finite number of rounds above the number of arms, got {show_value(horizon)}"
        )
    check_whole(runs, "runs", 1)
    check_whole(checkpoints, "checkpoints", 1)
    if gaps(model.means).count(0.0) > 1:
        raise InputError("explore then commit needs a single best arm; the largest means are equal")
    last = int(horizon)
    if settings.setdefault("cost_source", "gaps") != "gaps":
        raise InputError(f"regret is the cost of gaps: cost_source must be 'gaps', got {settings['cost_source']!r}")
    refuse_limits(settings, "the horizon ends this")
    parameters = Parameters.read({"log_inv_delta": log(last)}, settings, simulated=False)
    arms = len(model.means)
    beta = threshold_of(parameters, model.family, arms, BestArm())
    regret_model = BanditModel(model.family, model.means, "gaps", model.arms)
    rounds = recorded_rounds(arms, last, checkpoints)
    seeds = np.random.SeedSequence(seed).spawn(runs)
    compile_loop()  # here, so that workers find it compiled
    found: dict[int, Trajectory] = {}
    shared, jobs = (regret_model, parameters, rounds), list(enumerate(seeds))
    with closing(run_jobs(explore_once, shared, jobs, workers)) as finished:
        for index, trajectory in finished:
            found[index] = trajectory
            progress()
    regrets, times, chosen = zip(*(found[index] for index in range(runs)), strict=True)
    recorded = np.array(rounds, dtype=float)
    return RegretCurve(regret_model, last, beta, recorded, np.array(regrets), np.array(times), np.array(chosen))


def regret_rate(model: BanditModel) -> float:
    """``T*(gaps, mu) = sum over gap_a > 0 of gap_a / d(mu_a, mu_best)``, the least regret per log T."""
    gap, means = np.array(gaps(model.means)), np.array(model.means)
    information = model.family.divergence(means, np.full(len(means), np.max(means)))
    return float(np.sum(gap[gap > 0] / information[gap > 0]))


def recorded_rounds(arms: int, horizon: int, checkpoints: int) -> tuple[int, ...]:
    """Rounds from the number of arms to the horizon, evenly in log t, the horizon last."""
    rounds = np.unique(np.geomspace(arms, horizon, checkpoints).round().astype(np.int64))
    return (*(int(t) for t in rounds if t < horizon), horizon)


def explore_once(exploration: Exploration, job: tuple[int, np.random.SeedSequence]) -> tuple[int, Trajectory]:
    """The number and the trajectory of a numbered seed, for `run_jobs`.

    It explores from one recorded round to the next; from the commitment on the committed arm's gap adds up.
    """
    number, seed = job
    model, parameters, times = exploration
    caet = Caet(BestArm(), model.family, len(model.means), parameters)
    streams = ArmStreams(model, seed)
    compile_run(caet)  # nothing where it is done, as in a process that was forked after it
    regret = np.empty(len(times))
    for index, time in enumerate(times):
        stopped = run(caet, streams, time - caet.state.round)
        regret[index] = caet.state.total_cost
        if stopped:
            arm, now = cast(int, caet.answer), caet.state.round
            regret[index:] = caet.state.total_cost + model.costs[arm] * (np.array(times[index:]) - now)
            return number, Trajectory(regret, now, arm)
    return number, Trajectory(regret, 0, cast(int, caet.answer))
