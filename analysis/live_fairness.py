"""Whether everybody gets a turn: python analysis/live_fairness.py [--workers N] [--seconds S] [--pulls N]

So many processes hand out pulls of one file and record their outcomes, without a pause between two of them, for so many
seconds or until there are so many pulls. Printed are the pulls of each, and the longest that one of them has waited for
a call. Exit status 1 where one got nothing, or ended with an error.
"""

import argparse
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from caet_opt.common.numbers import table
from caet_opt.errors import CaetError
from caet_opt.live.experiment import LiveExperiment

WORKERS, SECONDS = 10, 60.0


class Share(NamedTuple):
    """What one of them got: pulls, the longest call in seconds, and the error that ended it."""

    pulls: int
    longest: float
    error: str


def work(file: str, go_on: Callable[[int], bool], start: Any, queue: Any) -> None:
    """Hand out and record, once all are ready, for as long as this is wanted after so many pulls in the file."""
    pulls, longest, error, last = 0, 0.0, "", 0
    try:
        with LiveExperiment.open(file) as experiment:
            start.wait()
            while go_on(last):
                before = time.monotonic()
                (pull,) = experiment.next()
                between = time.monotonic()
                experiment.record(pull.arm, pull.number % 2, pull=pull.number)
                longest = max(longest, between - before, time.monotonic() - between)
                pulls, last = pulls + 1, pull.number
    except (CaetError, OSError) as found:
        error = str(found)
    queue.put(Share(pulls, longest, error))


class Until:
    """Whether neither a number of pulls nor a moment has been reached."""

    def __init__(self, pulls: float, seconds: float) -> None:
        self.pulls, self.seconds, self.begun = pulls, seconds, 0.0

    def __call__(self, last: int) -> bool:
        self.begun = self.begun or time.monotonic()
        return last < self.pulls and time.monotonic() - self.begun < self.seconds


def share_out(folder: Path, workers: int, until: Until, policy: str = "top-two") -> list[Share]:
    """What each of so many processes gets."""
    file = str(folder / "trial.caet")
    asked = {"arms": 2, "costs": [1, 2], "log_inv_delta": 1e6, "policy": policy}
    LiveExperiment.start(file, "best-arm", "bernoulli", **asked).close()  # type: ignore[arg-type]
    context = get_context("forkserver")
    context.set_forkserver_preload(["caet_opt.live.experiment"])
    queue, start = context.Queue(), context.Barrier(workers)
    processes = [context.Process(target=work, args=(file, until, start, queue)) for _ in range(workers)]
    for process in processes:
        process.start()
    shares = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    return sorted(shares)


def main() -> int:
    """Run it, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=WORKERS, help=f"how many processes ({WORKERS})")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for how long ({SECONDS:g})")
    parser.add_argument("--pulls", type=float, default=float("inf"), help="or for how many (any number)")
    parser.add_argument("--folder", type=Path, help="where the file is left (a temporary one)")
    parser.add_argument("--policy", default="top-two", help="that decides (top-two)")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        until = Until(arguments.pulls, arguments.seconds)
        shares = share_out(arguments.folder or Path(folder), arguments.workers, until, arguments.policy)
    pulls = [share.pulls for share in shares]
    rows = [[str(share.pulls), f"{share.longest:.2f}", share.error or "-"] for share in shares]
    print(table(("pulls", "longest call, s", "error"), rows, (2,)))
    print(f"\npulls per worker: least {pulls[0]}, median {median(pulls):g}, most {pulls[-1]}")
    return int(pulls[0] == 0 or any(share.error for share in shares))


if __name__ == "__main__":
    sys.exit(main())
