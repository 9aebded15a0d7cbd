"""A sweep: whatever runs of a study are missing in a folder, computed by an engine and kept block by block.

How long it will take: rounds by the theory, seconds per round by a short trial.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

from caet_opt.bandits.model import BanditModel
from caet_opt.errors import SolverError
from caet_opt.exploring.stopping import OPTIONS
from caet_opt.simulating.runs import Experiment, prepare, run_number
from caet_opt.simulating.studies.blocks import Block, Job, Outcome, is_stored, missing_blocks, run_locally
from caet_opt.simulating.studies.cells import Cell, make_cells
from caet_opt.simulating.studies.store import Store, remove, require_pyarrow
from caet_opt.simulating.studies.study import Study, read_study

#: What runs blocks: `run_locally` with its workers, or `run_on_cluster` with its scheduler.
Engine = Callable[[Sequence[Job]], Generator[Outcome, None, None]]

Failure = dict[str, Any]

#: Rounds of the trial run of a model.
TRIAL_ROUNDS = 2000


@dataclass
class Progress:
    """How far a sweep is.

    Attributes
    ----------
    tell : called once before the first block, and then with every block that is stored or given up
    runs, runs_stored : that the study asks for, and those of them that are stored
    blocks, blocks_stored : that this sweep computes, and those of them that are stored
    damaged : files that were found damaged, whose runs are computed again
    failures : blocks given up by this sweep, as in the manifest
    rounds : expected of a run of each cell
    """

    tell: Callable[[Block | None], None] = lambda block: None
    runs: int = 0
    runs_stored: int = 0
    blocks: int = 0
    blocks_stored: int = 0
    damaged: int = 0
    jobs: Sequence[Job] = ()
    failures: list[Failure] = field(default_factory=list)
    rounds: Mapping[str, float] = field(default_factory=dict)


def sweep(study: Study, cells: Sequence[Cell], store: Store, engine: Engine, progress: Progress) -> None:
    """Compute and keep what is missing; the progress says what became of it, whatever ends the sweep."""
    with store.lock():
        stock = store.take_stock()
        stock.check_versions(store.folder, cells)
        manifest, stored = store.begin(study, cells), stock.whole
        remove(stock.damaged)
        plan(progress, study, cells, stored)
        progress.damaged = len(stock.damaged)
        progress.tell(None)
        with closing(engine(progress.jobs)) as outcomes:
            for outcome in outcomes:
                keep(store, outcome, stored, progress)
                if outcome.records is None:
                    store.write_manifest(manifest | {"failures": failures_left(manifest, progress, stored)})
                progress.tell(outcome.block)
        store.write_manifest(manifest | {"failures": failures_left(manifest, progress, stored)})


def run_study(study: str | Path, folder: str | Path | None = None, *, workers: int = 1) -> Path:
    """Run what a study is still missing on this machine, and return the folder of the results.

    ``study`` is the path of a TOML file; the results go to ``results/NAME`` beside the current folder unless a folder
    is given. After an interruption, call it again to resume. `SolverError` if a block failed repeatedly.

    >>> from pathlib import Path
    >>> text = 'models = ["models/paper-instance-1.toml"]\\ndeltas = [0.1, 0.05]\\nruns = 10\\nseed = 1'
    >>> _ = Path("study.toml").write_text(text)
    >>> print(run_study("study.toml", "results/study"))
    results/study
    """
    require_pyarrow()
    asked = read_study(study)
    place, progress = Path(folder or f"results/{asked.name}"), Progress()
    place.mkdir(parents=True, exist_ok=True)
    sweep(asked, make_cells(asked), Store(place), partial(run_locally, workers=workers), progress)
    if progress.failures:
        raise SolverError(f"{place}: {len(progress.failures)} blocks were given up: {progress.failures[0]['error']}")
    return place


def plan(progress: Progress, study: Study, cells: Sequence[Cell], stored: Mapping[str, Sequence[Block]]) -> None:
    """Find out what is missing; the longest blocks come first, so that none is begun when all others are done."""
    rounds = {cell.id: expected_rounds(cell.experiment) for cell in cells}
    jobs = [
        Job(block, cell.experiment)
        for cell in cells
        for block in missing_blocks(cell, stored.get(cell.id, ()), study.block)
    ]
    progress.rounds = rounds
    progress.jobs = sorted(jobs, key=lambda job: -job.block.runs * rounds[job.block.cell])
    progress.blocks = len(jobs)
    progress.runs = sum(cell.runs for cell in cells)
    progress.runs_stored = progress.runs - sum(job.block.runs for job in jobs)


def keep(store: Store, outcome: Outcome, stored: dict[str, list[Block]], progress: Progress) -> None:
    """Store the records of a block, or remember that it was given up."""
    block, records, error = outcome
    if records is None:
        progress.failures.append({**block._asdict(), "error": error})
        return
    store.write_block(block, records)
    stored[block.cell].append(block)
    progress.blocks_stored += 1
    progress.runs_stored += block.runs


def failures_left(
    manifest: Mapping[str, Any], progress: Progress, stored: Mapping[str, Sequence[Block]]
) -> list[Failure]:
    """The failures of this sweep and of earlier ones whose runs are not stored yet, the last of each block."""
    failures = [*manifest["failures"], *progress.failures]
    found = {Block(*(failure[name] for name in Block._fields)): failure for failure in failures}
    return [failure for block, failure in found.items() if not is_stored(block, stored.get(block.cell, ()))]


def expected_rounds(experiment: Experiment) -> float:
    """About how many rounds a run takes: tau as predicted, by that of CAET where a policy has none, and no more than it
    may take."""
    alike = experiment if experiment.policy.predictable else find_twin(experiment.change(policy="caet"))
    most, prediction = float(experiment.parameters.max_rounds), alike.prediction
    return most if prediction is None else min(prediction.rounds, most)


@lru_cache(maxsize=1000)
def find_twin(experiment: Experiment) -> Experiment:
    """The first of equal experiments, so that policies share one prediction."""
    return experiment


def seconds_per_run(cells: Sequence[Cell]) -> dict[str, float]:
    """The seconds that a run of each cell may take, from one short trial run per model and policy."""
    found: dict[str, float] = {}
    pace: dict[tuple[BanditModel, str], tuple[float, float]] = {}
    for cell in cells:
        kind = cell.entry.model, cell.experiment.parameters.policy
        if kind not in pace:
            pace[kind] = time_trial(cell.experiment)
        setup, per_round = pace[kind]
        found[cell.id] = setup + per_round * expected_rounds(cell.experiment)
    return found


def time_trial(experiment: Experiment) -> tuple[float, float]:
    """Seconds of a run besides its rounds, and seconds per round: with a threshold that takes no time, or with the only
    one that rewards in a range have."""
    prepare(experiment)
    level = max(experiment.parameters.log_inv_delta, float(TRIAL_ROUNDS))  # so that the trial does not stop early
    quick = {} if experiment.model.distributions else {"threshold": "customary", **dict.fromkeys(OPTIONS)}
    endless = experiment.change(delta=None, log_inv_delta=level, **quick)
    trials = [endless.change(max_rounds=rounds) for rounds in (1, 1, TRIAL_ROUNDS)]  # the first one warms up
    times = [perf_counter()]
    for trial in trials:
        run_number(trial, 0, 0)
        times.append(perf_counter())
    setup, whole = times[2] - times[1], times[3] - times[2]
    return setup, max(0.0, whole - setup) / TRIAL_ROUNDS
