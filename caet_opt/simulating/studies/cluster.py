"""The same blocks on a Dask cluster: https://distributed.dask.org."""

import logging
import re
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from importlib.util import find_spec
from socket import getaddrinfo
from typing import TYPE_CHECKING, Any

from caet_opt.errors import CaetError, InputError, missing_extra
from caet_opt.simulating.studies.blocks import Answer, Block, Job, Outcome, Queue, try_block
from caet_opt.simulating.studies.store import versions

if TYPE_CHECKING:
    from distributed import Client

#: What an address looks like; a host may be a name, or an address of either kind.
ADDRESS = re.compile(r"(?P<kind>tcp|tls)://(?P<host>[^\s:/@\[\]]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5})")

#: Seconds to wait for the scheduler, and for a first worker.
PATIENCE = 5

#: Blocks per thread of the cluster that are handed out in advance.
AHEAD = 2

#: Versions that must be the same everywhere, so that results are the same bit for bit.
DECISIVE = ("caet_opt", "numpy", "numba")


class ClusterError(CaetError):
    """The cluster went away during the work."""


def connect(address: str) -> "Client":
    """A client of the scheduler, all of whose cluster has the versions of this process; else an error that says why."""
    if find_spec("distributed") is None:
        raise missing_extra("--scheduler needs dask", "cluster")
    check_address(address)
    from distributed import Client

    for name in list(logging.root.manager.loggerDict):  # what matters is raised or reported
        if name.split(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {address}: no Dask scheduler answers; start one with: dask scheduler") from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        found = client.run(versions, on_error="return")
        check_versions({f"worker {name}": theirs for name, theirs in found.items()})
        check_versions({"the scheduler": ask_scheduler(client)})
    except (TimeoutError, InputError) as error:
        client.close()
        if isinstance(error, InputError):
            raise
        raise InputError(f"--scheduler {address}: has no worker; start one with: dask worker {address}") from error
    return client


def check_address(address: str) -> None:
    """Raise `InputError` for an address that would make a client fail halfway."""
    parts = ADDRESS.fullmatch(address)
    if parts is None or not 0 < int(parts["port"]) < 65536:
        raise InputError(f"--scheduler must be an address such as tcp://localhost:8786, got {address!r}")
    try:
        getaddrinfo(parts["host"].strip("[]"), int(parts["port"]))
    except (OSError, UnicodeError):
        raise InputError(f"--scheduler {address}: there is no host {parts['host']}") from None
    if parts["kind"] == "tls":
        from distributed.security import Security

        if Security().get_connection_args("client").get("ssl_context") is None:
            raise InputError(f"--scheduler {address}: tls needs certificates; name them in Dask's distributed.comm.tls")


def ask_scheduler(client: "Client") -> Any:
    """The versions of the scheduler, which reads every block before it passes it on, or why it has none."""
    try:
        return client.run_on_scheduler(versions)
    except Exception as error:  # noqa: BLE001  # whatever keeps it from answering is what the user must know
        return error


def check_versions(found: Mapping[str, Any]) -> None:
    """Raise `InputError` unless every process of the cluster has the versions of this one."""
    for name, theirs in found.items():
        problem = f"cannot run caet-opt ({theirs})" if isinstance(theirs, Exception) else difference(theirs)
        if problem:
            raise InputError(f"{name} {problem}; the whole cluster needs the versions of this process")


def difference(theirs: Mapping[str, str]) -> str:
    """How another process's versions differ from those of this one; empty when they do not."""
    ours = versions()
    unlike = [name for name in DECISIVE if theirs[name] != ours[name]]
    return "; ".join(f"has {name} {theirs[name]}, not {ours[name]}" for name in unlike)


def run_there(job: Job, expected: Mapping[str, str]) -> Answer:
    """A block on a worker, which may have joined after the others were checked."""
    problem = difference(expected)
    return f"the worker's versions are not those of the sweep: {problem}" if problem else try_block(job)


def run_on_cluster(jobs: Sequence[Job], client: "Client") -> Generator[Outcome, None, None]:
    """The blocks on a cluster, in the order in which they finish; left early, it cancels them. The client is closed."""
    submission = Submission(client, jobs)
    try:
        submission.fill()
        for future in submission.finished:
            outcome = submission.settle(future)
            submission.fill()
            if outcome is not None:
                yield outcome
    except OSError as error:
        raise ClusterError("the scheduler is gone") from error
    finally:
        submission.end()


class Submission:
    """The blocks that a cluster has, and those that wait.

    The scheduler moves the blocks of a worker that dies to others, and gives up a block when several workers that had
    it have died. Another block may have killed them, so a block given up like this (a suspect) is run once more with
    no other block on the cluster; only if its workers die again has it failed.
    """

    def __init__(self, client: "Client", jobs: Sequence[Job]) -> None:
        from distributed import as_completed

        self.client, self.versions = client, versions()
        self.queue = Queue(jobs)
        self.suspects: deque[Job] = deque()
        self.isolated: set[Block] = set()
        self.begun: dict[Any, Job] = {}
        self.finished = as_completed(loop=client.loop)

    def fill(self) -> None:
        """Hand out what the cluster has room for; suspects one by one, when there is nothing else."""
        waiting = self.queue.waiting
        room = AHEAD * max(1, sum(self.client.nthreads().values())) - len(self.begun)
        for _ in range(min(room, len(waiting))):
            self.begin(waiting.popleft())
        if not self.begun and self.suspects:
            self.begin(self.suspects.popleft())

    def begin(self, job: Job) -> None:
        """Hand out a block."""
        attempt = self.queue.failures[job.block], job.block in self.isolated
        future = self.client.submit(run_there, job, self.versions, key=f"caet-opt-{job.block.name}-{attempt}")
        self.begun[future] = job
        self.finished.add(future)

    def end(self) -> None:
        """Leave the cluster, and take back what it has begun."""
        if self.client.status == "running":
            self.client.cancel(list(self.begun))
        self.client.close()

    def settle(self, future: Any) -> Outcome | None:
        """What became of a block; None when it is to be run again.

        A result that was lost with the worker that had it is computed again by the scheduler.
        """
        if future.status == "lost" and self.client.status == "running":
            self.finished.add(future)
            return None
        job = self.begun.pop(future)
        answer, died = read_answer(future)
        if not died:
            return self.queue.settle(job, answer)
        if job.block in self.isolated:
            return Outcome(job.block, None, str(answer))
        self.isolated.add(job.block)
        self.suspects.append(job)
        return None


def read_answer(future: Any) -> tuple[Answer, bool]:
    """What a block's future holds, and whether its workers have died."""
    from distributed import KilledWorker

    if future.status in ("cancelled", "lost"):
        raise ClusterError("the scheduler is gone")
    try:
        answer: Answer = future.result()
    except KilledWorker:
        return "its worker processes died, one after the other", True
    except Exception as error:  # noqa: BLE001  # reported with its block, never swallowed
        return f"{type(error).__name__}: {error}", False
    return answer, False
