"""A store of a million runs: python analysis/store_size.py [--runs N] [--keep FOLDER]

The cells are real ones, of eight models at five deltas; their runs are drawn, not simulated, and go through the store's
own writer. Prints the size of the folder and the seconds to write, check, load and summarise it, each in a process that
has done nothing before but import.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from caet_opt.common.numbers import table
from caet_opt.simulating.runs import RunRecord
from caet_opt.simulating.studies.blocks import Block, missing_blocks
from caet_opt.simulating.studies.cells import Cell, make_cells
from caet_opt.simulating.studies.store import Store
from caet_opt.simulating.studies.study import BLOCKS, LARGEST_BLOCK, Study, read_study
from caet_opt.simulating.studies.sweep import expected_rounds

STUDY = Path(__file__).parent / "studies" / "paper.toml"

#: What is timed, as Python; ``folder`` is the folder.
STEPS = {
    "check every block": "Store(folder).take_stock()",
    "load_results": "load_results(folder)",
    "load_results, counts=True": "load_results(folder, counts=True)",
    "summarise_results": "summarise_results(folder)",
}

SETUP = """
import sys, time, pandas, pyarrow.parquet
from caet_opt import load_results, summarise_results
from caet_opt.simulating.studies.store import Store
folder, start = sys.argv[1], time.perf_counter()
found = {step}
seconds = time.perf_counter() - start
size = found.memory_usage(deep=True).sum() / 1e6 if hasattr(found, "memory_usage") else 0
print(seconds, size)
"""


def big_study(runs: int) -> tuple[Study, list[Cell]]:
    """The paper's study with so many runs in all, and its cells."""
    study = read_study(STUDY)
    each = -(-runs // (len(study.models) * len(study.levels)))
    study = replace(study, runs=each, block=min(LARGEST_BLOCK, -(-each // BLOCKS)))
    return study, make_cells(study)


def draw_records(cell: Cell, block: Block, rng: np.random.Generator) -> Iterator[RunRecord]:
    """Runs as they might have been: about the expected rounds, split among the arms at random."""
    costs = np.array(cell.entry.model.costs)
    shares = cell.experiment.optimum.sampling_proportions + 0.1
    rounds = np.maximum(10, rng.lognormal(np.log(expected_rounds(cell.experiment)), 0.4, block.runs)).astype(np.int64)
    counts = rng.multinomial(rounds, shares / shares.sum())
    right = rng.random(block.runs) > 0.1 * cell.experiment.parameters.delta
    answer = str(cell.entry.task.answer(cell.entry.model.means))
    for index, number, pulls, correct in zip(range(block.runs), rounds.tolist(), counts, right.tolist(), strict=True):
        cost = float(pulls @ costs)
        yield RunRecord(block.first + index, True, correct, answer, number, cost, number, 1e-8, tuple(pulls.tolist()))


def write(folder: Path, runs: int) -> float:
    """A store of so many runs; seconds of the writer."""
    study, cells = big_study(runs)
    store, rng, seconds = Store(folder), np.random.default_rng(1), 0.0
    with store.lock():
        store.begin(study, cells)
        for cell in cells:
            for block in missing_blocks(cell, (), study.block):
                records = list(draw_records(cell, block, rng))
                start = perf_counter()
                store.write_block(block, records)
                seconds += perf_counter() - start
    return seconds


def time_step(step: str, folder: Path) -> list[str]:
    """Seconds of a step, and megabytes of what it gives."""
    script = SETUP.format(step=step)
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True)
    seconds, size = map(float, done.stdout.split())
    return [f"{seconds:.2f} s", f"{size:.0f} MB" if size else ""]


def main() -> int:
    """Make a store, time what is done with it."""
    parser = argparse.ArgumentParser(description="A store of a million runs.")
    parser.add_argument("--runs", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the store here, and keep it")
    arguments = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = arguments.keep or Path(name)
        seconds = write(folder, arguments.runs)
        files = list(folder.glob("blocks/*.parquet"))
        size = sum(path.stat().st_size for path in files)
        print(
            f"{arguments.runs} runs: {len(files)} files, {size / 1e6:.1f} MB, {size / arguments.runs:.1f} bytes a run"
        )
        rows = [["write every block", f"{seconds:.2f} s", ""]]
        rows += [[name, *time_step(step, folder)] for name, step in STEPS.items()]
        print(table(["", "time", "in memory"], rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
