"""Blocks: consecutive runs of a cell, the unit of work, of storage and of failure; run by processes of this machine."""

from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

from caet_opt.simulating.pool import run_jobs
from caet_opt.simulating.runs import Experiment, RunRecord, prepare, run_number
from caet_opt.simulating.studies.cells import Cell, digest

#: Attempts at a block before it is given up.
ATTEMPTS = 3

#: Records, or what went wrong.
Answer = list[RunRecord] | str


class Block(NamedTuple):
    """Runs ``first`` to ``first + runs - 1`` of a cell."""

    cell: str
    seed: int
    first: int
    runs: int

    @property
    def name(self) -> str:
        """A hash of what the block computes."""
        return digest(list(self))


class Job(NamedTuple):
    """A block with what it runs."""

    block: Block
    experiment: Experiment


class Outcome(NamedTuple):
    """What became of a block: its records, or why it was given up."""

    block: Block
    records: list[RunRecord] | None
    error: str | None = None


def missing_blocks(cell: Cell, stored: Iterable[Block], size: int) -> Iterator[Block]:
    """The blocks of the runs that no stored block has, cut at the multiples of ``size``.

    A run counts as done whatever block it lies in, so that another block size or more runs compute nothing twice.
    """
    for first, last in gaps_between(stored, cell.runs):
        edges = [first, *range((first // size + 1) * size, last, size), last]
        for begin, end in pairwise(edges):
            yield Block(cell.id, cell.seed, begin, end - begin)


def gaps_between(blocks: Iterable[Block], end: int) -> Iterator[tuple[int, int]]:
    """The stretches of runs in [0, end) that blocks of one cell leave.

    >>> blocks = [Block("", 0, 5, 1), Block("", 0, 0, 2), Block("", 0, 1, 2), Block("", 0, 8, 1)]
    >>> list(gaps_between(blocks, 8)), list(gaps_between(blocks, 5))
    ([(3, 5), (6, 8)], [(3, 5)])
    """
    reached = 0
    for block in sorted(blocks, key=lambda block: block.first):
        if block.first >= end:
            break
        if block.first > reached:
            yield reached, block.first
        reached = max(reached, block.first + block.runs)
    if reached < end:
        yield reached, end


def is_stored(block: Block, blocks: Iterable[Block]) -> bool:
    """Whether blocks of the same cell have all its runs."""
    return all(high <= block.first for _, high in gaps_between(blocks, block.first + block.runs))


#: One block at a time in a process, whose solver keeps its workspace between calls.
_one_at_a_time = Lock()


def try_block(job: Job) -> Answer:
    """The runs of a block in their order, each as ``caet-opt simulate`` has it for this seed; or its error as text,
    so that an error costs no other block."""
    block, experiment = job
    try:
        with _one_at_a_time:
            prepare(experiment)
            return [run_number(experiment, block.seed, index) for index in range(block.first, block.first + block.runs)]
    except Exception as error:  # noqa: BLE001  # reported with its block, never swallowed
        return f"{type(error).__name__}: {error}"


class Queue:
    """The jobs that wait, and how often each has failed; one that has failed lets the others go first."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.waiting = deque(jobs)
        self.failures: Counter[Block] = Counter()

    def settle(self, job: Job, answer: Answer) -> Outcome | None:
        """What became of a job; None when it waits for another attempt."""
        if not isinstance(answer, str):
            return Outcome(job.block, answer)
        self.failures[job.block] += 1
        if self.failures[job.block] >= ATTEMPTS:
            return Outcome(job.block, None, answer)
        self.waiting.append(job)
        return None


def run_locally(jobs: Sequence[Job], workers: int) -> Generator[Outcome, None, None]:
    """The blocks in the order in which they finish; those that failed, or whose worker process died, are run again
    when all others are done."""
    queue = Queue(jobs)
    while queue.waiting:
        batch = [queue.waiting.popleft() for _ in range(len(queue.waiting))]
        with closing(run_jobs(try_job, None, batch, workers, describe_death)) as answers:
            for job, answer in answers:
                outcome = queue.settle(job, answer)
                if outcome is not None:
                    yield outcome


def try_job(_: None, job: Job) -> tuple[Job, Answer]:
    """A job and its answer, for `run_jobs`."""
    return job, try_block(job)


def describe_death(job: Job, cause: str) -> tuple[Job, Answer]:
    """A job whose worker died, for `run_jobs`."""
    return job, f"its {cause}"
