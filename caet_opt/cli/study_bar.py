"""The progress bar of a sweep: blocks, rate and time left, and the cell that is at work."""

import sys
from shutil import get_terminal_size
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from caet_opt.cli.study_plan import clock, written
from caet_opt.presenting.progress import WIDTH, Bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caet_opt.simulating.studies.blocks import Block
    from caet_opt.simulating.studies.cells import Cell
    from caet_opt.simulating.studies.sweep import Progress


def cell_names(cells: "Sequence[Cell]") -> dict[str, str]:
    """The cells as people name them: model, delta, and the parameters in which some of them differ."""
    varied = [
        name
        for name in cells[0].setting
        if name != "log_inv_delta" and len({cell.setting[name] for cell in cells} - {None}) > 1
    ]

    def words(cell: "Cell") -> list[str]:
        level = f"log(1/delta) = {cell.setting['log_inv_delta']:g}"
        return [cell.model, level, *(f"{name} = {written(cell.setting[name])}" for name in varied)]

    return {cell.id: ", ".join(words(cell)) for cell in cells}


class StudyBar(Bar):
    """All blocks by their expected work, with rate and time left, and the cell of the last block with its own."""

    def __init__(self, progress: "Progress", cells: "Sequence[Cell]") -> None:
        super().__init__(0, "blocks")
        self.progress = progress
        self.names = cell_names(cells)
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
            pace = f"{self.runs_done / passed:.3g} runs/s, {clock(passed * (1.0 - share) / share)} left"
            text += f", {pace} | {done}/{total} of {self.names[self.last]}"
        print(f"\r\033[K{text[: get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)
