"""Blocks by worker processes of this machine; a worker that dies takes nothing with it but its block."""

import os
import sys
from collections.abc import Generator, Sequence
from ctypes import CDLL
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from signal import SIG_IGN, SIGINT, SIGKILL, Signals, signal
from typing import Any

from caet_opt.simulating.pool import quiet_fork
from caet_opt.simulating.studies.blocks import Answer, Job, Outcome, Queue, attempted

#: The option of Linux that has a process killed when its parent ends.
SET_PARENT_DEATH_SIGNAL = 1


def run_locally(jobs: Sequence[Job], workers: int) -> Generator[Outcome, None, None]:
    """The blocks by worker processes, in the order in which they finish; left early, it ends the processes.

    Every worker has one block at a time, so that a death has one block to answer for.
    """
    queue = Queue(jobs)
    team = [Worker.start() for _ in range(min(workers, len(jobs)))]
    try:
        for worker in team:
            worker.take(queue.waiting.popleft())
        while busy := [worker for worker in team if worker.job is not None]:
            ready = wait([worker.pipe for worker in busy])
            for worker in (worker for worker in busy if worker.pipe in ready):
                outcome = queue.settle(*worker.answer())
                if queue.waiting:
                    worker.take(queue.waiting.popleft())
                if outcome is not None:
                    yield outcome
    finally:
        for worker in team:
            worker.end()


@dataclass
class Worker:
    """A process, the pipe to it, and the job that it has."""

    process: BaseProcess
    pipe: Connection
    job: Job | None = None

    @classmethod
    def start(cls) -> "Worker":
        """A new process, with the compiled code of this one where processes fork."""
        context: Any = get_context("fork" if sys.platform == "linux" else "spawn")
        here, there = context.Pipe()
        process = context.Process(target=work, args=(there, os.getpid()), daemon=True)
        with quiet_fork():
            process.start()
        there.close()
        return cls(process, here)

    def take(self, job: Job) -> None:
        """Begin a job, in a new process if the last one has died."""
        self.job = job
        try:
            self.pipe.send(job)
        except OSError:
            self.restart()
            self.pipe.send(job)

    def answer(self) -> tuple[Job, Answer]:
        """The job and what became of it; a dead process is replaced."""
        job, self.job = self.job, None
        assert job is not None
        try:
            return job, self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            cause = death(self.process.exitcode)
            self.restart()
            return job, cause

    def restart(self) -> None:
        """Put a new process in place of this one."""
        self.end()
        fresh = Worker.start()
        self.process, self.pipe = fresh.process, fresh.pipe

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        self.process.kill()
        self.process.join()
        self.process.close()


def work(pipe: Connection, parent: int) -> None:
    """What a worker process does until its parent is gone: one block after the other. Ctrl-C is for its parent."""
    signal(SIGINT, SIG_IGN)
    die_with_parent()
    while os.getppid() == parent:
        try:
            job: Job = pipe.recv()
        except EOFError:
            return
        pipe.send(attempted(job))


def die_with_parent() -> None:
    """Have the system end this process as soon as its parent ends, where it can."""
    if sys.platform == "linux":
        CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, SIGKILL)


def death(code: int | None) -> str:
    """Why a worker process is no more."""
    if code is not None and code < 0:
        return f"its worker process was ended by {Signals(-code).name}"
    return f"its worker process ended with status {code}"
