"""The page: page.html filled with the results, their tables, the style, the scripts and the data.

The words of the page stand in the template, which escapes every value that it is given.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from caet_opt.bandits.families import describe_assumption
from caet_opt.common import numbers
from caet_opt.common.files import escape_controls, write_whole
from caet_opt.exploring.prediction import say_measured
from caet_opt.presenting.report import page_data
from caet_opt.presenting.report.findings import find_findings
from caet_opt.presenting.report.page_data import MISSING, Results, read_results, write_setting
from caet_opt.presenting.report.render import Table, render_page, require_extra
from caet_opt.simulating.mean_intervals import FEWEST
from caet_opt.simulating.studies import check_no_result
from caet_opt.simulating.studies.manifest import Record
from caet_opt.simulating.studies.stored_runs import QUANTILES
from caet_opt.version import __version__

#: Decimals of proportions on a card, at most.
DECIMALS = 5

#: How the filter says what colours, lines and symbols mean.
LOOKS = {"colour": "colour", "dash": "line", "symbol": "marker"}


def write_report(folder: str | Path, path: str | Path, title: str | None = None) -> None:
    """Write a folder of results as one HTML page; if this fails, no file is left.

    >>> write_report("results/study", "page.html")  # the folder of `run_study`
    """
    require_extra()
    check_no_result(path)
    write_whole(path, report_page(folder, title))


def report_page(folder: str | Path, title: str | None = None) -> str:
    """A folder of results as one HTML page that asks nothing of any network.

    Parameters
    ----------
    folder
        Where ``caet-opt sweep`` put the results; a sweep may still be running.
    title
        Of the page; the study's unless given.
    """
    return render_page("page.html", describe_results(read_results(folder), title))


def describe_results(results: Results, title: str | None) -> dict[str, object]:
    """The names that the template uses."""
    study = results.manifest["study"]
    study_title = study.get("title") or study["name"]
    rows = results.rows
    return {
        "title": title or study_title,
        "study_title": study_title,
        "results": results,
        "fewest": FEWEST,
        "measured": say_measured("c", "d"),
        "manifest": results.manifest,
        "settings": page_data.SETTINGS,
        "used_settings": list_settings(results),
        "guarantees": find_guarantees(results),
        "findings": find_findings(results),
        "looks": {name: LOOKS[look] for name, look in results.looks.items()},
        "keys": list_keys(results),
        "levels": list_levels(rows),
        "cards": [make_card(*one) for one in zip(results.models, results.labels, strict=True)],
        "failures": tabulate_failures(results),
        "short": tabulate_cells(results, SHORT, (row for row in rows if row["runs"] < row["asked"])),
        "slow": tabulate_cells(results, SLOW, (row for row in rows if row.get("unfinished"))),
        "excessive": tabulate_cells(results, EXCESSIVE, (row for row in rows if row.get("consistent") is False)),
        "other_versions": sorted({row["version"] for row in rows} - {None, __version__}),
        "costs": tabulate_cells(results, COSTS, rows),
        "errors": tabulate_cells(results, ERRORS, rows),
        "data": page_data.collect_data(results),
    }


def list_levels(rows: Iterable[Record]) -> list[str]:
    """The deltas as they were typed, the largest first: ``δ = 0.1, 0.01``, or ``log(1/δ) = 2, 5``, or both."""
    found: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: float(row["log_inv_delta"])):
        name, _, number = page_data.write_level(row).partition(" = ")
        found.setdefault(name, []).append(number)
    return [f"{name} = {', '.join(dict.fromkeys(values))}" for name, values in found.items()]


def list_keys(results: Results) -> dict[str, str]:
    """What the boxes of the filter show beside them: the look of models and of settings, where one thing has it."""
    found = list(results.looks.values())
    keys = {name: look for name, look in results.looks.items() if look != "symbol" or found.count("symbol") == 1}
    return {name: look for name, look in keys.items() if name != "model" or len(results.models) > 1}


def list_settings(results: Results) -> dict[str, list[str]]:
    """The values of the algorithm's settings over all cells, but for those that have their own line."""
    names = [name for name in page_data.SETTINGS if name not in ("threshold", "seed")]
    values = {name: [write_setting(row[name]) for row in results.rows if row[name] is not None] for name in names}
    return {name: list(dict.fromkeys(found)) for name, found in values.items() if found}


def find_guarantees(results: Results) -> dict[str, str]:
    """The thresholds, and whether they guarantee the error probability, and for which rewards."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(cell["threshold"] for cell in results.manifest["cells"]):
        cells = [cell for cell in results.manifest["cells"] if cell["threshold"] == name]
        proven = dict.fromkeys(describe_assumption(cell["family"]) for cell in cells if cell["guaranteed"])
        some = "" if all(cell["guaranteed"] for cell in cells) else " in some cells,"
        found[name] = f"guarantees δ{some} for {', '.join(proven)}" if proven else "does not guarantee δ"
    return found


def make_card(record: Record, label: str) -> dict[str, Any]:
    """What is said of a model: T* to its certified digits, the interval, the binding statements, and its arms."""
    ends = (record["lower"], record["upper"], record["gap"])
    value, interval = numbers.format_certified(record["characteristic_time"], *ends)
    arms, decimals = record["arms"], numbers.digits_rooted(record["gap"], DECIMALS)
    means, costs = [f"{value:.6g}" for value in record["means"]], [*map(numbers.write_given, record["arm_costs"])]
    omega, u = (
        [numbers.proportion(share, decimals) for share in record[name]]
        for name in ("cost_proportions", "sampling_proportions")
    )
    rows = [(None, list(texts)) for texts in zip(arms, means, costs, omega, u, strict=True)]
    return {
        "label": label,
        "detail": page_data.describe_model(record),
        "search": page_data.list_search_words(record),
        "time": value,
        "interval": interval,
        "gap": numbers.write_gap(record["gap"]),
        "statements": ", ".join(map(escape_controls, record["binding_statements"])) or "none",
        "arms": (["arm", "mean", "cost", "ω*", "u*"], rows),
    }


def tabulate_failures(results: Results) -> Table:
    """The blocks given up, with what it takes to run them again."""
    names, levels = results.cell_names, {row["cell"]: page_data.write_level(row) for row in results.rows}
    rows: list[tuple[str | None, list[str]]] = []
    for one in results.manifest["failures"]:
        cell, runs = one["cell"], f"{one['first']} to {one['first'] + one['runs'] - 1}"
        said = [names.get(cell, cell), one["error"], levels.get(cell, MISSING), runs, str(one["seed"])]
        rows.append((cell, said))
    return ["cell", "error", "at", "runs", "seed"], rows


def tabulate_cells(results: Results, columns: Mapping[str, Callable[[Record], str]], rows: Iterable[Record]) -> Table:
    """Some cells with some columns, each a header with how to write its value, after delta as it was typed; where that
    was not in every cell, after its logarithm, and delta beside it."""
    typed = numbers.are_typed(row["log_inv_delta"] for row in results.rows)
    level = {"δ": show_delta} if typed else {"log(1/δ)": column("log_inv_delta"), "δ": show_delta}
    names, shown = results.cell_names, {**level, **columns}
    body = [(row["cell"], [names[row["cell"]], *(write(row) for write in shown.values())]) for row in rows]
    return ["cell", *shown], body


def show_runs(row: Record) -> str:
    """The runs that are stored, and how many were asked for where some are missing."""
    return str(row["runs"]) if row["runs"] >= row["asked"] else f"{row['runs']} of {row['asked']}"


def column(name: str, digits: int = 6) -> Callable[[Record], str]:
    """How to write a value of the summary, a dash where it is missing; large numbers without an exponent."""

    def show(value: float) -> str:
        return f"{value:.0f}" if isinstance(value, int) or 1e6 <= value < 1e12 else f"{value:.{digits}g}"

    return lambda row: MISSING if row.get(name) is None else show(row[name])


def show_interval(name: str, row: Record, digits: int = 6) -> str:
    """The ends of an interval, rounded outward."""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is None or high is None:
        return MISSING
    return numbers.write_interval(low, high, max(whole_digits(end, digits) for end in (low, high)))


def bound_column(name: str, round_bound: Callable[[float, int], str]) -> Callable[[Record], str]:
    """How to write a bound, rounded to its own side."""
    return lambda row: MISSING if row.get(name) is None else round_bound(row[name], whole_digits(row[name]))


def whole_digits(value: float, digits: int = 6) -> int:
    """So many significant digits, or all before the point of a large number, which has no exponent then."""
    return max(digits, numbers.magnitude(value) + 1) if 1e6 <= abs(value) < 1e12 else digits


def show_cost_interval(row: Record) -> str:
    """The interval of the mean cost, or what it is at least where there is none."""
    least = row.get("cost_at_least")
    if row.get("cost_low") is not None or least is None:
        return show_interval("cost", row)
    return f"at least {numbers.round_down(least, whole_digits(least))}"


def show_delta(row: Record) -> str:
    """Delta, as it was typed if it was."""
    return numbers.typed_delta(row["log_inv_delta"]) or column("delta", 4)(row)


COSTS = {
    "runs": show_runs,
    "mean cost": column("mean_cost"),
    "95 % interval": show_cost_interval,
    "lower bound": bound_column("lower_bound", numbers.round_down),
    "upper bound as δ → 0": bound_column("upper_bound", numbers.round_up),
    "predicted cost": column("predicted_cost"),
    "over lower": column("ratio", 4),
}

ERRORS: dict[str, Callable[[Record], str]] = {
    "errors": column("errors"),
    "rate": column("error_rate", 3),
    "95 % interval": partial(show_interval, "error", digits=3),
    "unfinished": column("unfinished"),
    "mean rounds": column("mean_samples"),
    **{f"{per_cent} %": column(f"rounds_{per_cent}") for per_cent in QUANTILES},
}

SHORT = {"stored": column("runs"), "asked for": column("asked")}
SLOW, EXCESSIVE = ({name: column(name), "runs": column("runs")} for name in ("unfinished", "errors"))
