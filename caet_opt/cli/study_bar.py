"""The progress bar of a sweep: blocks, rate and time left, and the cell that is at work."""

import sys
from shutil import get_terminal_size
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from caet_opt.cli.progress import WIDTH, Bar
from caet_opt.cli.study_plan import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caet_opt.studies.blocks import Block
    from caet_opt.studies.cells import Cell
    from caet_opt.studies.sweep import Progress


def describe(cell: "Cell") -> str:
    """A cell as people name it."""
    setting = cell.setting
    options = "".join(f", {name} {setting[name]:g}" for name in ("theta",) if setting[name] is not None)
    return f"{cell.model}, log(1/delta) = {setting['log_inv_delta']:g}, {setting['threshold']}{options}"


class StudyBar(Bar):
    """All blocks by their expected work, with rate and time left, and the cell of the last block with its own."""

    def __init__(self, progress: "Progress", cells: "Sequence[Cell]") -> None:
        super().__init__(0, "blocks")
        self.progress = progress
        self.names = {cell.id: describe(cell) for cell in cells}
        self.start, self.work, self.work_done, self.runs_done = perf_counter(), 0.0, 0.0, 0
        self.per_cell: dict[str, list[int]] = {}
        self.last: str | None = None

    def tell(self, block: "Block | None") -> None:
        """Take note of a block that is stored or given up; of none when the work begins."""
        if block is None:
            self.begin()
            return
        self.last = block.cell
        self.per_cell[block.cell][0] += 1
        self.work_done += block.runs * self.progress.rounds[block.cell]
        self.runs_done += block.runs
        self.step()

    def begin(self) -> None:
        """The work is known."""
        self.start, self.total = perf_counter(), self.progress.blocks
        for job in self.progress.jobs:
            self.per_cell.setdefault(job.block.cell, [0, 0])[1] += 1
            self.work += job.block.runs * self.progress.rounds[job.block.cell]

    def draw(self) -> None:
        """Replace the line."""
        self.drawn = monotonic()
        share = self.work_done / self.work if self.work else 0.0
        passed = perf_counter() - self.start
        text = f"[{'#' * int(WIDTH * share):.<{WIDTH}}] {self.done}/{self.total} blocks"
        if self.last is not None:
            done, total = self.per_cell[self.last]
            left = passed * (1.0 - share) / share
            text += (
                f", {self.runs_done / passed:.3g} runs/s, {clock(left)} left | {self.names[self.last]}: {done}/{total}"
            )
        print(f"\r\033[K{text[: get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)
