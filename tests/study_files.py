"""Small studies for the tests: files, sweeps in forked processes, and what two folders of results have in common."""

import json
import os
import signal
import sys
import time
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from caet_opt.cli import main
from caet_opt.simulating.studies.cells import SETTING
from caet_opt.solving.result import bound_per_time

EASY = 'title = "Easy"\nfamily = "gaussian"\nmeans = [2, 0]\ncosts = [1, 1]\ntask = "best-arm"\n'
FREE = 'family = "poisson"\nmeans = [9, 1, 4]\ncosts = [0, 1, 2]\narms = ["a", "b", "c"]\ntask = "ranking"\n'
STUDY = {"models": ["*-model.toml"], "log_inv_deltas": [1, 3], "threshold": "customary", "runs": 24, "block": 5}


def write_study(folder, **changes):
    """A study of two models, four cells and twenty blocks, with some keys changed or, by None, left out."""
    import tomli_w

    (folder / "easy-model.toml").write_text(EASY)
    (folder / "free-model.toml").write_text(FREE)
    path = folder / "study.toml"
    path.write_text(tomli_w.dumps({key: value for key, value in (STUDY | changes).items() if value is not None}))
    return str(path)


def make_summary(policies, **settings):
    """A summary of cells at two deltas, a curve per policy and value of a setting, with round numbers."""
    import pandas as pd

    rows = []
    for at, policy in enumerate(policies):
        for level, values in product((2.0, 8.0), product(*settings.values())):
            cost = (at + 2) * 10.0 * level
            row = dict.fromkeys(SETTING) | {"model": "m", "task": "ranking", "policy": policy, "threshold": "mixture"}
            row |= {"log_inv_delta": level, "runs": 5, "mean_cost": cost, "cost_low": cost - 1, "cost_high": cost + 1}
            row |= {"characteristic_time": 10.0, "lower_bound": 10.0 * bound_per_time(level)}
            row |= {"upper_bound": 12.0 * level, "theta": 1.2}
            rows.append(row | dict(zip(settings, values, strict=True)))
    return pd.DataFrame(rows)


def run_sweep(capsys, study, folder, *options, status=0):
    """The JSON object that the command prints, and what it says on stderr."""
    assert main(["sweep", study, "--out", str(folder), "--json", *options]) == status
    out, err = capsys.readouterr()
    return json.loads(out) if out else None, err


def contents(folder):
    """The files of the blocks, by name."""
    return {path.name: path.read_bytes() for path in (Path(folder) / "blocks").iterdir()}


def start_command(argv, log):
    """The command in a process of its own, with the compiled code of this one; its stderr goes to a file."""

    def run():
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        status = main(argv)
        sys.stderr.flush()
        os._exit(status)

    process = get_context("fork").Process(target=run)
    process.start()
    return process


def children(pid):
    """The processes that a process has started."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_running(pid):
    """Whether a process is there and has not ended; an ended one may wait for its parent to take note."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition, seconds=120):
    """Wait until something holds, which it must before long: two minutes are for compiling on a machine under load."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def run_doomed(job, expected):
    """A block on a worker of a cluster; one block raises, and one kills the worker."""
    from caet_opt.simulating.studies.cluster import run_there

    if len(job.experiment.model.means) == 2 and job.experiment.parameters.log_inv_delta == 1:
        if job.block.first == 5:
            raise ArithmeticError("no luck")
        if job.block.first == 10:
            os.kill(os.getpid(), signal.SIGKILL)
    return run_there(job, expected)
