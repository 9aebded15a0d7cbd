"""Which command is fastest: its own duration is the cost of a run, and the answer is right up to a margin.

A run is cut off at a time limit, so that durations are numbers in a range, of any distribution; what is compared is the
mean of min(duration, limit). python analysis/fastest_command.py --repeat 20 asks the same about commands that sleep for
10, 20 and 40 ms, and counts right answers and the share of the time that the slowest one took.
"""

import argparse
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

from caet_opt import LiveExperiment, parse_task

SLEEPS = {"10 ms": "exec sleep 0.01", "20 ms": "exec sleep 0.02", "40 ms": "exec sleep 0.04"}


def clock(command: str, limit: float) -> float:
    """Seconds that a command takes, cut off at a limit; one that fails is no command to compare.

    It has a session of its own, so that the end of its time, or Ctrl-C, also ends all that it has started. A thread
    looks at the limit: ``wait(limit)`` would look whether the command has ended only now and then, up to 50 ms late.
    """
    began = time.perf_counter()
    child = subprocess.Popen(command, shell=True, stdout=subprocess.DEVNULL, start_new_session=True)
    alarm = Timer(limit, end_session, [child])
    alarm.start()
    try:
        status = child.wait()
    except BaseException:
        end_session(child)
        raise
    finally:
        alarm.cancel()
    seconds = time.perf_counter() - began
    if status and seconds < limit:
        raise subprocess.CalledProcessError(status, command)
    return min(seconds, limit)


def end_session(child: subprocess.Popen[bytes]) -> None:
    """End a command and everything that it has started."""
    with suppress(ProcessLookupError, PermissionError):  # it has ended by itself
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def find_fastest(
    path: Path, commands: Mapping[str, str], limit: float, margin: float, delta: float = 0.05
) -> LiveExperiment:
    """An experiment that has found a command whose mean is within ``margin`` seconds of the least.

    Rewards are seconds from 0 to the limit, lower ones are better; costs are seconds, too.
    """
    task = parse_task(f"best-arm~{margin:g}", lower_is_better=True)
    told: dict[str, Any] = {"arms": list(commands), "delta": delta, "cost_source": "observed", "gamma0": 1e-9}
    experiment = LiveExperiment.open_or_start(path, task, f"bounded:0,{limit:g}", **told)
    while pulls := experiment.next():
        for pull in pulls:
            seconds = clock(commands[pull.name], limit)
            experiment.record(pull.arm, seconds, seconds, pull=pull.number)
    return experiment


def main() -> None:
    """Ask the same several times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--limit", type=float, default=0.1, help="seconds at which a run is cut off")
    parser.add_argument("--margin", type=float, default=0.009, help="seconds up to which the answer is right")
    asked = parser.parse_args()
    right, spent, runs = 0, [0.0] * len(SLEEPS), [0] * len(SLEEPS)
    with TemporaryDirectory() as folder:
        for number in range(asked.repeat):
            with find_fastest(Path(folder, f"{number}.caet"), SLEEPS, asked.limit, asked.margin) as experiment:
                status = experiment.status()
                right += str(experiment.answer).startswith(next(iter(SLEEPS)))
                spent = [so_far + arm["spent"] for so_far, arm in zip(spent, status["arms"], strict=True)]
                runs = [so_far + arm["pulls"] for so_far, arm in zip(runs, status["arms"], strict=True)]
    print(f"right: {right} of {asked.repeat}")
    for name, seconds, made in zip(SLEEPS, spent, runs, strict=True):
        mean = 1000 * seconds / made
        print(f"{name}: {made / asked.repeat:.0f} runs, mean {mean:.1f} ms, {seconds / sum(spent):.1%} of the time")
    in_turn = max(runs) * sum(seconds / made for seconds, made in zip(spent, runs, strict=True))
    print(f"seconds for an answer: {sum(spent) / asked.repeat:.1f}")
    print(f"as many runs of each as of the most run command: {in_turn / asked.repeat:.1f} s")


if __name__ == "__main__":
    main()
