"""Blocks by worker processes of this machine; a worker that dies takes nothing with it but its block."""

from collections.abc import Generator, Sequence
from contextlib import closing

from caet_opt.simulating.pool import run_jobs
from caet_opt.simulating.studies.blocks import Answer, Job, Outcome, Queue, attempted


def run_locally(jobs: Sequence[Job], workers: int) -> Generator[Outcome, None, None]:
    """The blocks in the order in which they finish; those that failed are run again when all others are done."""
    queue = Queue(jobs)
    while queue.waiting:
        batch = [queue.waiting.popleft() for _ in range(len(queue.waiting))]
        with closing(run_jobs(attempt, None, batch, workers, on_death)) as answers:
            for job, answer in answers:
                outcome = queue.settle(job, answer)
                if outcome is not None:
                    yield outcome


def attempt(_: None, job: Job) -> tuple[Job, Answer]:
    """A block and what became of it."""
    return job, attempted(job)


def on_death(job: Job, cause: str) -> tuple[Job, Answer]:
    """A block whose worker died."""
    return job, f"its {cause}"
