"""A table of a thousand models, one broken, by one worker and by two: python analysis/table_speed.py [--digits N]

Times are of the whole command in a fresh process, compiled code in numba's cache, and of the rows alone. Exit status 1
when a row is lost or depends on the number of workers.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from caet_opt.bandits.modelfile import ModelFile, write_model
from caet_opt.common.numbers import table
from caet_opt.presenting.tables.api import column_names, make_request, sources
from caet_opt.presenting.tables.time_rows import compute
from cases.instances import FAMILIES, TASKS, ordinary_instance

#: Entries of a row that are a time.
TIMED = ("seconds",)


def write_models(folder: Path, models: int, most_arms: int) -> None:
    """Random models of every family and task as files, the one in the middle broken."""
    rng = np.random.default_rng(5)
    for number in range(models):
        family, task = FAMILIES[number % len(FAMILIES)], TASKS[number // len(FAMILIES) % len(TASKS)]
        model, goal = ordinary_instance(rng, family, task, int(rng.integers(2, most_arms + 1)))
        write_model(folder / f"model-{number:04}.toml", ModelFile(model, goal))
    (folder / f"model-{models // 2:04}.toml").write_text('family = "gaussian', encoding="utf-8")


def command(folder: Path, workers: int, digits: list[str]) -> tuple[float, list[dict[str, Any]]]:
    """Seconds and rows of the command."""
    argv = [sys.executable, "-m", "caet_opt", "table", str(folder), "--format", "json", "--workers", str(workers)]
    started = perf_counter()
    done = subprocess.run([*argv, *digits], capture_output=True, text=True, check=False)
    seconds = perf_counter() - started
    return seconds, json.loads(done.stdout)["rows"]


def rows_alone(folder: Path, workers: int, digits: int | None) -> float:
    """Seconds of reading and solving, the compiled code being there."""
    request = make_request(["native"], [], column_names(None, digits), digits)
    models = sources(folder)
    started = perf_counter()
    compute(models, request, workers)
    return perf_counter() - started


def drop_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without their times."""
    return [{name: value for name, value in row.items() if name not in TIMED} for row in rows]


def main() -> int:
    """Print both times, their ratio, and what became of the rows."""
    parser = argparse.ArgumentParser(description="A table of a thousand models by one worker and by two.")
    parser.add_argument("--models", type=int, default=1000, metavar="N")
    parser.add_argument("--arms", type=int, default=10, metavar="K", help="at most")
    parser.add_argument("--digits", type=int, metavar="N", help="prove so many digits")
    arguments = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_models(folder, arguments.models, arguments.arms)
        digits = [] if arguments.digits is None else ["--digits", str(arguments.digits)]
        command(folder, 1, digits)  # compiles, and brings the files into memory
        compute(sources(folder)[:2], make_request(["native"], [], [], 2))
        commands = [command(folder, workers, digits) for workers in (1, 2)]
        alone = [rows_alone(folder, workers, arguments.digits) for workers in (1, 2)]
    one, two = (seconds for seconds, _ in commands)
    cells = [["whole command", f"{one:.2f} s", f"{two:.2f} s", f"{one / two:.2f}"]]
    cells += [["rows alone", f"{alone[0]:.2f} s", f"{alone[1]:.2f} s", f"{alone[0] / alone[1]:.2f}"]]
    print(table(["", "1 worker", "2 workers", "ratio"], cells))
    rows, others = (drop_times(found) for _, found in commands)
    errors = sum(row["error"] is not None for row in rows)
    print(f"{len(rows)} rows, {errors} error, {'the same' if rows == others else 'NOT the same'} by 1 and by 2 workers")
    return 0 if rows == others and len(rows) == arguments.models and errors == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
