"""What the solver benchmark reports: its rows, their table and CSV, and the figures that were asked for."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from caet_opt.common.numbers import duration, table

FAMILIES, TASKS, SIZES = ("gaussian", "bernoulli"), ("ranking", "best-arm", "top-arms"), (3, 10, 50, 200, 1000)

#: The growth study: sizes, tasks, gap, and the name of its rows.
GROWTH_SIZES, GROWTH_TASKS, GROWTH_GAP, GROWTH = (1000, 10_000, 100_000), TASKS[:2], 1e-9, "native, gap 1e-9"

NATIVE, WARM, PUBLIC, API, DPP = "native, compiled", "native, warm", "native, Python call", "Clarabel API", "CVXPY DPP"


@dataclass(frozen=True)
class Row:
    """One contestant on one instance."""

    family: str
    task: str
    arms: int
    pairs: int
    solver: str
    status: str
    seconds: float | None = None
    ratio: float | None = None
    gap: float | None = None
    deviation: float | None = None
    bytes: int | None = None
    note: str = ""


def describe(rows: Sequence[Row]) -> str:
    """The table of all rows."""
    headers = ["family", "task", "K", "solver", "time", "to native", "gap", "T* off by", "status", "note"]
    return table(headers, [cells(row) for row in rows], left=(0, 1, 3, 8, 9))


def cells(row: Row) -> list[str]:
    """One line of the table; native's growth rows show the time per arm."""
    note = row.note
    if row.solver == GROWTH and row.seconds is not None and row.bytes is not None:
        note = f"{1e9 * row.seconds / row.arms:.0f} ns and {row.bytes / row.arms:.0f} bytes per arm"
    return [
        row.family,
        row.task,
        str(row.arms),
        row.solver,
        "" if row.seconds is None else duration(row.seconds),
        "" if row.ratio is None else f"{row.ratio:.3g}",
        "" if row.gap is None else f"{row.gap:.1e}",
        "" if row.deviation is None else f"{row.deviation:.0e}",
        row.status,
        note,
    ]


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Every row with every field."""
    with path.open("w", newline="", encoding="utf-8") as sink:
        writer = csv.DictWriter(sink, [entry.name for entry in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def summary(rows: Sequence[Row], sizes: Sequence[int]) -> Iterator[str]:
    """The figures that were asked for, beside what was wanted."""
    found = {(row.family, row.task, row.arms, row.solver): row for row in rows}

    def time(*key: Any) -> float:
        row = found.get(key)
        return float("nan") if row is None or row.seconds is None else row.seconds

    def gap(*key: Any) -> str:
        row = found.get(key)
        return "no certified point" if row is None or row.gap is None else f"gap {row.gap:.0e}"

    small = ("gaussian", "ranking", 3)
    native = time(*small, NATIVE)
    yield f"K = 3 Gaussian ranking, native in compiled code: {duration(native)}, {gap(*small, NATIVE)}"
    for rival, wanted in ((API, 20), (DPP, 300)):
        yield f"  {rival}: {time(*small, rival) / native:.0f} times that ({gap(*small, rival)}); wanted {wanted}"
    yield f"  public Python call: {1e6 * time(*small, PUBLIC):.0f} us; wanted at most 15"
    yield f"warm after a perturbation of 1e-3 / cold, by K = {', '.join(map(str, sizes))}; wanted at most 0.5"
    for family in FAMILIES:
        for task in TASKS:
            ratios = [time(family, task, arms, WARM) / time(family, task, arms, NATIVE) for arms in sizes]
            yield f"  {family} {task}: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
    if 1000 not in sizes:
        return
    for family in FAMILIES:
        key = (family, "ranking", 200)
        ratio = time(*key, API) / time(*key, NATIVE)
        yield (
            f"K = 200 {family} ranking: Clarabel API takes {ratio:.0f} times native's {duration(time(*key, NATIVE))} "
            f"({gap(*key, API)} against {gap(*key, NATIVE)}); wanted 30"
        )
    for family in FAMILIES:
        for task in GROWTH_TASKS:
            yield growth_line([found[family, task, arms, GROWTH] for arms in GROWTH_SIZES])
    for family in FAMILIES:
        key = (family, "top-arms", 1000)
        taken = duration(time(*key, NATIVE))
        yield f"top-arms K = 1000, m = 50, {family}: {taken}, {gap(*key, NATIVE)}; wanted seconds"


def growth_line(rows: Sequence[Row]) -> str:
    """Time and memory per arm at the smallest and the largest size."""
    first, last = rows[0], rows[-1]
    per_arm = [(row.seconds or float("nan")) / row.arms for row in (first, last)]
    room = [(row.bytes or 0) / row.arms for row in (first, last)]
    gaps = max(row.gap or 0.0 for row in rows)
    return (
        f"growth, {first.family} {first.task}: {1e9 * per_arm[0]:.0f} ns per arm at K = {first.arms}, "
        f"{1e9 * per_arm[1]:.0f} at K = {last.arms}, ratio {per_arm[1] / per_arm[0]:.2f} (wanted at most 2.5), "
        f"{room[0]:.0f} and {room[1]:.0f} bytes per arm, gaps at most {gaps:.0e}"
    )
