"""Blocks: consecutive runs of a cell, the unit of work, of storage and of failure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

from caet_opt.simulation import Experiment, RunRecord, prepare, run_number
from caet_opt.studies.cells import Cell, digest

#: Attempts at a block before it is given up.
ATTEMPTS = 3


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
    for first, last in gaps_between(sorted((block.first, block.first + block.runs) for block in stored), cell.runs):
        edges = [first, *range((first // size + 1) * size, last, size), last]
        for begin, end in pairwise(edges):
            yield Block(cell.id, cell.seed, begin, end - begin)


def gaps_between(intervals: Sequence[tuple[int, int]], end: int) -> Iterator[tuple[int, int]]:
    """The stretches of [0, end) that sorted half-open intervals leave.

    >>> list(gaps_between([(0, 2), (1, 3), (5, 6)], 8))
    [(3, 5), (6, 8)]
    """
    reached = 0
    for low, high in intervals:
        if low > reached:
            yield reached, min(low, end)
        reached = max(reached, high)
        if reached >= end:
            return
    yield reached, end


#: One block at a time in a process, whose solver keeps its workspace between calls.
_one_at_a_time = Lock()


def run_block(job: Job) -> list[RunRecord]:
    """The runs of a block in their order, each as ``caet-opt simulate`` has it for this seed."""
    block, experiment = job
    with _one_at_a_time:
        prepare(experiment)
        return [run_number(experiment, block.seed, index) for index in range(block.first, block.first + block.runs)]


class Attempts:
    """How often each block has failed."""

    def __init__(self) -> None:
        self.failures: dict[Block, int] = {}

    def again(self, block: Block) -> bool:
        """Count a failure; whether the block deserves another attempt."""
        self.failures[block] = self.failures.get(block, 0) + 1
        return not self.exhausted(block)

    def exhausted(self, block: Block) -> bool:
        """Whether the block has had all its attempts."""
        return self.failures.get(block, 0) >= ATTEMPTS
