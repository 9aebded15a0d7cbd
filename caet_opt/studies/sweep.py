"""A sweep: whatever runs of a study are missing in a folder, computed by an engine and kept block by block."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from caet_opt.studies.blocks import Block, Job, Outcome, missing_blocks
from caet_opt.studies.cells import Cell
from caet_opt.studies.store import Store
from caet_opt.studies.study import Study

#: What runs blocks: `run_locally` with its workers, or `run_on_cluster` with its scheduler.
Engine = Callable[[Sequence[Job]], Generator[Outcome, None, None]]


@dataclass
class Progress:
    """How far a sweep is, and whom to tell.

    Attributes
    ----------
    runs, runs_stored : that the study asks for, and that are stored, of its cells
    blocks, blocks_done : to be computed by this sweep, and those that were
    damaged : files that were found damaged and are computed again
    failures : blocks given up, as in the manifest
    tell : called with the block after each
    """

    tell: Callable[["Progress", Block | None], None] = lambda progress, block: None
    runs: int = 0
    runs_stored: int = 0
    blocks: int = 0
    blocks_done: int = 0
    damaged: int = 0
    jobs: Sequence[Job] = ()
    failures: list[dict[str, Any]] = field(default_factory=list)


def sweep(study: Study, cells: Sequence[Cell], store: Store, engine: Engine, progress: Progress) -> None:
    """Compute and keep what is missing; the progress says what became of it, whatever ends the sweep."""
    with store.locked():
        manifest = store.begin(study, cells)
        stored, damaged = store.take_stock()
        progress.jobs = missing_jobs(cells, stored, study.block)
        progress.damaged = len(damaged)
        progress.blocks = len(progress.jobs)
        progress.runs = sum(cell.runs for cell in cells)
        progress.runs_stored = progress.runs - sum(job.block.runs for job in progress.jobs)
        progress.tell(progress, None)
        with closing(engine(progress.jobs)) as outcomes:
            for block, records, error in outcomes:
                if records is None:
                    progress.failures.append({**block._asdict(), "error": error})
                    store.write_manifest(manifest | {"failures": failures_left(manifest, progress)})
                else:
                    store.write_block(block, records)
                    progress.blocks_done += 1
                    progress.runs_stored += block.runs
                progress.tell(progress, block)
        store.write_manifest(manifest | {"failures": failures_left(manifest, progress)})


def missing_jobs(cells: Sequence[Cell], stored: Mapping[str, Sequence[Block]], size: int) -> list[Job]:
    """The blocks that are to be computed."""
    return [
        Job(block, cell.experiment) for cell in cells for block in missing_blocks(cell, stored.get(cell.id, ()), size)
    ]


def failures_left(manifest: Mapping[str, Any], progress: Progress) -> list[dict[str, Any]]:
    """The failures of this sweep, and those of earlier ones that it had no part in."""
    tried = {job.block.cell for job in progress.jobs}
    return [failure for failure in manifest["failures"] if failure["cell"] not in tried] + progress.failures
