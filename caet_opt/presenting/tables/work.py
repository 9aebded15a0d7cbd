"""The rows of many models, here or in worker processes, the same whatever their number."""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import closing
from functools import partial
from signal import SIG_IGN, SIGINT, signal
from typing import Any

from caet_opt.presenting.tables.rows import Request, Source, rows_of
from caet_opt.simulating.pool import check_count, quiet_fork, worker_pool
from caet_opt.solving.compare import prepare

Rows = list[dict[str, Any]]

#: So many solves by the native solver are over before worker processes have started or its compiled code is loaded.
QUICK_SOLVES = 300

#: Models that a worker takes at a time.
CHUNK = 16


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a table; ``rows`` are those of the ``models`` that were finished, in their order."""

    def __init__(self, rows: Rows, models: int) -> None:
        super().__init__(f"{models} models are finished")
        self.rows, self.models = rows, models


def compute(
    sources: Sequence[Source], request: Request, workers: int = 1, progress: Callable[[], None] = lambda: None
) -> Rows:
    """The rows of every model in order; ``progress`` is called for each that is finished.

    A table that is done in a moment is made in this process. Rows do not depend on the number of workers: for any other
    table the native solver is compiled first, so that all of them run the same code.
    """
    check_count(workers, "workers")
    found: dict[int, Rows] = {}
    try:
        for index, rows in finishing(sources, request, workers):
            found[index] = rows
            progress()
    except KeyboardInterrupt as interrupt:
        raise Interrupted(in_order(found), len(found)) from interrupt
    return in_order(found)


def in_order(found: dict[int, Rows]) -> Rows:
    """The rows of the models, by their index."""
    return [row for index in sorted(found) for row in found[index]]


def finishing(sources: Sequence[Source], request: Request, workers: int) -> Iterator[tuple[int, Rows]]:
    """The index and the rows of each model, in the order in which they are finished."""
    quick = is_quick(len(sources), request)
    if not quick:
        prepare(request.solvers)
    if quick or workers == 1:
        yield from ((index, rows_of(source, request)) for index, source in enumerate(sources))
        return
    size = min(CHUNK, -(-len(sources) // (2 * workers)))
    chunks = [range(start, min(start + size, len(sources))) for start in range(0, len(sources), size)]
    with closing(pooled(sources, request, chunks, min(workers, len(chunks)))) as finished:
        for chunk, rows in finished:
            yield from zip(chunk, rows, strict=True)


def is_quick(models: int, request: Request) -> bool:
    """Whether the table is made in a moment: the native solver alone, and few models."""
    native = all(profile.backend == "native" for profile in request.solvers.values())
    solves = models * len(request.solvers) * (1 + request.blind)
    return models < 2 or (native and request.digits is None and solves <= QUICK_SOLVES)


def pooled(
    sources: Sequence[Source], request: Request, chunks: Sequence[range], workers: int
) -> Generator[tuple[range, list[Rows]], None, None]:
    """The rows of each chunk of models by worker processes; left early, it ends the processes."""
    with worker_pool(workers, begin_work, sources, request) as pool:
        with quiet_fork():
            begun = {pool.submit(do_work, chunk): chunk for chunk in chunks}
        while begun:
            done, _ = wait(begun, return_when=FIRST_COMPLETED)
            yield from ((begun.pop(future), future.result()) for future in done)


#: What a worker process computes; set when it starts.
_work: list[Callable[[int], Rows]] = []


def begin_work(sources: Sequence[Source], request: Request) -> None:
    """Start a worker process, with the compiled code at hand; Ctrl-C is for its parent."""
    signal(SIGINT, SIG_IGN)
    prepare(request.solvers)
    _work[:] = [partial(rows_at, sources, request)]


def rows_at(sources: Sequence[Source], request: Request, index: int) -> Rows:
    """The rows of the model with this index."""
    return rows_of(sources[index], request)


def do_work(chunk: range) -> list[Rows]:
    """The rows of a chunk of models in a worker process."""
    return [_work[0](index) for index in chunk]
