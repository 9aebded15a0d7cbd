"""The instances of formulas one after the other, here or in worker processes."""

import sys
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from signal import SIG_IGN, SIGINT, signal

from caet_opt.proving.verification.checks import Checked, Plan, check
from caet_opt.proving.verification.formula import Formula
from caet_opt.simulating.pool import quiet_fork, worker_pool

#: Instances that a worker takes at a time.
CHUNK = 8

#: Number of a formula, and positions of its instances.
Job = tuple[int, range]


def finishing(formulas: Sequence[Formula], plan: Plan, workers: int) -> Generator[tuple[int, Checked], None, None]:
    """The number of the formula and the checked instance, in the order in which they are finished.

    Formulas are any functions, which only a forked process inherits: elsewhere than on Linux, one process does it all.
    """
    jobs = [
        (number, range(start, min(start + CHUNK, len(formula.instances))))
        for number, formula in enumerate(formulas)
        for start in range(0, len(formula.instances), CHUNK)
    ]
    if min(workers, len(jobs)) > 1 and sys.platform == "linux":
        yield from pooled(formulas, plan, jobs, min(workers, len(jobs)))
    else:
        yield from ((number, check(formulas[number], position, plan)) for number, job in jobs for position in job)


def pooled(formulas: Sequence[Formula], plan: Plan, jobs: Sequence[Job], workers: int) -> Iterator[tuple[int, Checked]]:
    """The instances of worker processes; left early, it ends the processes."""
    with worker_pool(workers, begin_work, formulas, plan) as pool:
        with quiet_fork():
            begun = {pool.submit(do_work, job) for job in jobs}
        while begun:
            done, begun = wait(begun, return_when=FIRST_COMPLETED)
            for future in done:
                number, checks = future.result()
                yield from ((number, checked) for checked in checks)


#: What a worker process checks; set when it starts.
_work: list[tuple[Sequence[Formula], Plan]] = []


def begin_work(formulas: Sequence[Formula], plan: Plan) -> None:
    """Start a worker process; Ctrl-C is for its parent."""
    signal(SIGINT, SIG_IGN)
    _work[:] = [(formulas, plan)]


def do_work(job: Job) -> tuple[int, list[Checked]]:
    """Some instances of one formula in a worker process."""
    formulas, plan = _work[0]
    number, positions = job
    return number, [check(formulas[number], position, plan) for position in positions]
