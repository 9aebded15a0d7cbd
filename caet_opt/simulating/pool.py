"""The one pool of worker processes: simulations, tables, verifications, regret curves and studies run on it."""

import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from ctypes import CDLL
from errno import EAGAIN, EMFILE, ENOMEM
from itertools import islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from threading import current_thread, main_thread
from typing import Any, TypeVar

from caet_opt.common.checks import check_workers as check_workers
from caet_opt.common.checks import cores as cores
from caet_opt.errors import SolverError

S = TypeVar("S")
J = TypeVar("J")
R = TypeVar("R")

#: How processes start: forked, with the compiled code of this one, where that is safe.
START = "fork" if sys.platform == "linux" else "spawn"

#: The option of Linux that has a process killed when its parent ends.
SET_PARENT_DEATH_SIGNAL = 1


class WorkerDiedError(SolverError):
    """A worker process is no more: killed, out of memory, crashed; ``cause`` says how."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"a {cause}; memory may be short: use fewer workers")
        self.cause = cause


def run_jobs(
    do: Callable[[S, J], R],
    shared: S,
    jobs: Sequence[J],
    workers: int = 1,
    on_death: Callable[[J, str], R] | None = None,
) -> Generator[R, None, None]:
    """``do(shared, job)`` of every job, in the order in which they finish; left early, it ends the processes.

    Parameters
    ----------
    do, shared
        A function of a module, and what it needs for every job, which each worker gets once. Where processes are
        spawned and cannot be sent these, the work is done here.
    workers
        How many processes; one is this process.
    on_death
        What to make of a job and of how its worker died. Without it a death is a `WorkerDiedError`; with it, even a
        single job of several workers runs in a process of its own.
    """
    check_workers(workers)
    if workers == 1 or (len(jobs) == 1 and on_death is None) or not can_start(do, shared):
        yield from (do(shared, job) for job in jobs)
        return
    waiting = iter(jobs)
    team = [Worker(do, shared) for _ in range(min(workers, len(jobs)))]
    try:
        for worker, job in zip(team, waiting, strict=False):
            worker.take(job)
        while busy := {worker.pipe: worker for worker in team if worker.busy}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]
                job, (result, error) = worker.job, worker.answer()
                for following in islice(waiting, 1):
                    worker.take(following)
                if isinstance(error, WorkerDiedError) and on_death is not None:
                    yield on_death(job, error.cause)
                elif error is not None:
                    raise error
                else:
                    yield result
    finally:
        for worker in team:
            worker.end()


class Worker:
    """A process with one job at a time, so that a death loses one known job; started with its first job."""

    def __init__(self, do: Callable[[Any, Any], Any], shared: Any) -> None:
        self.do, self.shared = do, shared
        self.process: Any = None
        self.pipe: Any = None
        self.job: Any = None
        self.busy = False

    def take(self, job: Any) -> None:
        """Begin a job, in a new process if the last one has died."""
        self.job, self.busy = job, True
        if self.process is None:
            self.start()
        try:
            self.pipe.send(job)
        except OSError:
            self.end()
            self.start()
            self.pipe.send(job)

    def answer(self) -> tuple[Any, Exception | None]:
        """The result of the job, or what it raised, or that its process has died."""
        self.busy = False
        try:
            result, error = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            ended = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
            result, error = None, WorkerDiedError(f"worker process {ended}")
            self.end()
        return result, error

    def start(self) -> None:
        """Start the process."""
        context: Any = get_context(START)
        try:
            with block_interrupts():
                self.pipe, there = context.Pipe()
                given = there, os.getpid(), self.do, self.shared
                self.process = context.Process(target=work, args=given, daemon=True)
                self.process.start()
                there.close()
                del there, given  # here: Python drops an interrupt that meets the end of an object
        except OSError as error:
            if error.errno not in (EAGAIN, ENOMEM, EMFILE):
                raise
            raise SolverError(f"a worker process cannot be started ({error.strerror}); use fewer workers") from error

    def end(self) -> None:
        """End the process, whatever it is doing."""
        process, self.process = self.process, None
        if process is not None:
            self.pipe.close()
            if process.pid is not None:
                process.kill()
                process.join()
            process.close()


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Keep Ctrl-C, which is for the parent, from processes that start here, even before their first line; and have no
    warning that a process with threads forks: those of the linear algebra are idle, and it looks after them.

    Blocked here, the signal may still reach another thread, so it is noted, and raised again when all is started.
    """
    noted: list[int] = []
    masks, main = hasattr(signal, "pthread_sigmask"), current_thread() is main_thread()
    if masks and START != "fork":
        resource_tracker.ensure_running()  # started with the first process, it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
    handler = signal.signal(signal.SIGINT, lambda number, _: noted.append(number)) if main else None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if main:
            signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
        if noted:
            signal.raise_signal(signal.SIGINT)


def work(pipe: Connection, parent: int, do: Callable[[Any, Any], Any], shared: Any) -> None:
    """What a worker process does until its parent is gone: one job after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    while os.getppid() == parent:
        try:
            job = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((do(shared, job), None))
        except Exception as error:  # noqa: BLE001  # raised again by the parent
            error.add_note(traceback.format_exc())
            pipe.send((None, error if is_portable(error) else RuntimeError(f"{type(error).__name__}: {error}")))


def can_start(do: Callable[[Any, Any], Any], shared: Any) -> bool:
    """Whether another process can have the function and what it needs: a forked one has everything."""
    return START == "fork" or is_portable((do, shared))


def is_portable(thing: Any) -> bool:
    """Whether something can be sent to another process."""
    try:
        pickle.loads(pickle.dumps(thing))
    except Exception:  # noqa: BLE001  # whatever its own methods raise
        return False
    return True
