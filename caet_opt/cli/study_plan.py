"""What a sweep would do: its cells, their runs, and the time that they may take."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from caet_opt.presenting.numbers import table
from caet_opt.simulating.pool import cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caet_opt.simulating.studies.cells import Cell
    from caet_opt.simulating.studies.store import Store
    from caet_opt.simulating.studies.study import Study


def print_plan(study: "Study", cells: "Sequence[Cell]", store: "Store", arguments: argparse.Namespace) -> None:
    """Print the cells, the runs and the time that they may take; write nothing."""
    from caet_opt.simulating.studies.estimate import expected_rounds, seconds_per_run
    from caet_opt.simulating.studies.sweep import Progress, plan

    stored = store.take_stock()[0] if store.blocks.is_dir() else {}
    progress = Progress()
    plan(progress, study, cells, stored)
    per_run = seconds_per_run(cells)
    total = sum(job.block.runs * per_run[job.block.cell] for job in progress.jobs)
    workers = arguments.workers or cores()
    rows = [
        {"cell": cell.id, "model": cell.model, **cell.setting, "rounds": expected_rounds(cell.experiment)}
        | {"seconds": cell.runs * per_run[cell.id]}
        for cell in cells
    ]
    summary = {"runs": progress.runs, "runs_stored": progress.runs_stored, "blocks": progress.blocks}
    if arguments.json:
        print(json.dumps({"cells": rows, **summary, "core_seconds": total, "workers": workers}, allow_nan=False))
        return
    print(cell_table(rows, [cell.runs for cell in cells]))
    print(f"\n{len(cells)} cells, {progress.runs} runs, of which {progress.runs_stored} are stored in {store.folder}")
    shared = "" if arguments.scheduler else f", {clock(total / workers)} with {workers} workers"
    print(f"{progress.blocks} blocks to compute, about {clock(total)} on one core{shared}; nothing was run")


def cell_table(rows: "Sequence[dict[str, Any]]", runs: "Sequence[int]") -> str:
    """The cells with those parameters in which they differ."""
    usual = ("model", "log_inv_delta", "threshold")
    names = [name for name in rows[0] if name in usual or len({row[name] for row in rows}) > 1]
    names = [name for name in names if name not in ("cell", "rounds", "seconds")]
    heads = [*(name.replace("log_inv_delta", "log(1/delta)") for name in names), "runs", "rounds each", "time"]
    cells = [
        [*(written(row[name]) for name in names), str(number), f"{row['rounds']:.3g}", clock(row["seconds"])]
        for row, number in zip(rows, runs, strict=True)
    ]
    left = [index for index, name in enumerate(names) if isinstance(rows[0][name], str)]
    return table(heads, cells, left)


def written(value: Any) -> str:
    """A parameter as text."""
    return "-" if value is None else value if isinstance(value, str) else f"{value:.6g}"


def clock(seconds: float) -> str:
    """A time as people say it.

    >>> clock(4.2), clock(75), clock(7200)
    ('4.2 s', '1.2 min', '2.0 h')
    """
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
