"""The rows of many models, here or in worker processes, the same whatever their number."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from caet_opt.presenting.tables.rows import Request, Source, rows_of
from caet_opt.simulating.pool import check_workers, run_jobs
from caet_opt.solving.compare import prepare

Rows = list[dict[str, Any]]

#: So many solves by the native solver are over before worker processes have started or its compiled code is loaded.
QUICK_SOLVES = 300


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
    check_workers(workers)
    quick = is_quick(len(sources), request)
    found: dict[int, Rows] = {}
    try:
        if not quick:
            prepare(request.solvers)
        jobs = run_jobs(rows_at, (sources, request, quick), range(len(sources)), 1 if quick else workers)
        with closing(jobs) as finished:
            for index, rows in finished:
                found[index] = rows
                progress()
    except KeyboardInterrupt as interrupt:
        raise Interrupted(in_order(found), len(found)) from interrupt
    return in_order(found)


def in_order(found: dict[int, Rows]) -> Rows:
    """The rows of the models, by their index."""
    return [row for index in sorted(found) for row in found[index]]


def is_quick(models: int, request: Request) -> bool:
    """Whether the table is made in a moment: the native solver alone, and few models."""
    native = all(profile.backend == "native" for profile in request.solvers.values())
    solves = models * len(request.solvers) * (1 + request.blind)
    return models < 2 or (native and request.digits is None and solves <= QUICK_SOLVES)


def rows_at(shared: tuple[Sequence[Source], Request, bool], index: int) -> tuple[int, Rows]:
    """The index and the rows of a model, for `run_jobs`; unless it is quick, by compiled code in every process."""
    sources, request, quick = shared
    if not quick:
        prepare(request.solvers)
    return index, rows_of(sources[index], request)
