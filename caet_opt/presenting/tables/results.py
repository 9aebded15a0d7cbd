"""Tables of a study's results: a row per cell, from `caet_opt.summarise_results`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from caet_opt.exploring.settings import RECORDED, Setting
from caet_opt.presenting.tables.columns import (
    COLUMN_CONVENTIONS,
    CONVENTIONS,
    DECIMALS,
    bound_cell,
    number_column,
    shares,
    text_column,
    time_cell,
)
from caet_opt.presenting.tables.columns import labels as arm_labels
from caet_opt.presenting.tables.layout import ERROR, Cell, Column, Number, Row, Statement, Vector
from caet_opt.simulating.studies.results import varied
from caet_opt.solving.numbers import MOST_DIGITS, proportion, to_digits
from caet_opt.version import __version__

if TYPE_CHECKING:
    import pandas as pd

#: Significant digits of costs, rates and ratios, which are estimates.
ESTIMATED = 5

#: Columns that are numbers of runs.
COUNTS = ("asked", "runs", "unfinished", "errors")

#: Columns of a table for people, after those in which cells differ.
USUAL = ("runs", "unfinished", "mean_cost", "cost_interval", "lower_bound", "ratio", "error_rate", "error_interval")

#: What a reader of such a table must know, besides the conventions of T* and of the lower bound.
RESULT_CONVENTIONS = {
    "cost_interval": Statement(
        "Cost: mean over all runs with its 95 % t-interval; with unfinished runs a lower estimate.",
        r"Cost: mean over all runs with its 95\,\% $t$-interval; with unfinished runs a lower estimate.",
    ),
    "ratio": Statement(
        "Ratio: mean cost over the lower bound T* kl(delta, 1 - delta).",
        r"Ratio: mean cost over the lower bound $T^\star \mathrm{kl}(\delta, 1 - \delta)$.",
    ),
    "error_interval": Statement(
        "Errors: runs that stopped with a wrong answer over all runs, with a 95 % Clopper-Pearson interval whose upper "
        "end counts every unfinished run as an error.",
        r"Errors: runs that stopped with a wrong answer over all runs, with a 95\,\% Clopper--Pearson interval whose "
        r"upper end counts every unfinished run as an error.",
    ),
}


def estimate(name: str, row: Row) -> Cell:
    """An estimated number."""
    value = row.get(name)
    return None if value is None else Number(to_digits(value, ESTIMATED))


def rate(name: str, row: Row) -> Cell:
    """An estimated probability."""
    value = row.get(name)
    return None if value is None else Number(proportion(value, DECIMALS))


def interval(name: str, form: Any, row: Row) -> Cell:
    """The ends of an interval."""
    ends = row.get(name)
    return None if ends is None else "[{}, {}]".format(*(form(end) for end in ends))


def mean_shares(row: Row) -> Cell:
    """Estimated proportions by arm."""
    values = row.get("proportions")
    if values is None:
        return None
    return Vector(tuple(Number(proportion(value, DECIMALS)) for value in values), arm_labels(row))


def setting_cell(name: str, row: Row) -> Cell:
    """A setting that is a number or a word."""
    value = row.get(name)
    return None if value is None else Number(f"{value:.6g}") if isinstance(value, float) else str(value)


def setting_column(setting: Setting) -> Column:
    """The column of a setting."""
    if setting.kind == "count":
        return number_column(setting.name, setting.label, setting.help, "d", setting.latex)
    return Column(setting.name, setting.label, setting.help, partial(setting_cell, setting.name), setting.latex)


def yes_or_no(name: str, row: Row) -> Cell:
    """A truth value as a word."""
    value = row.get(name)
    return None if value is None else "yes" if value else "no"


def columns(most: int = MOST_DIGITS) -> tuple[Column, ...]:
    """Every column of a table of results."""

    def estimated(name: str, heading: str, explanation: str, latex: str | None = None) -> Column:
        return Column(name, heading, explanation, partial(estimate, name), latex, numeric=True)

    return (
        text_column("cell", "cell", "hash of what the cell computes"),
        text_column("model", "model", "file name without .toml"),
        text_column("title", "title", "title in the model file"),
        text_column("family", "family", "reward family"),
        number_column("log_inv_delta", "log(1/delta)", "as asked for", ".6g", r"$\log(1/\delta)$"),
        number_column("delta", "delta", "error probability, as asked for", ".6g", r"$\delta$"),
        text_column("task", "task", "task, in the grammar"),
        *map(setting_column, RECORDED),
        number_column("seed", "seed", "of all runs", "d"),
        number_column("asked", "asked", "runs that the study asks for", "d"),
        number_column("runs", "runs", "runs that are stored", "d"),
        number_column("unfinished", "unfinished", "runs that did not stop", "d"),
        Column("characteristic_time", "T*", "characteristic time", partial(time_cell, most=most), r"$T^\star$", True),
        estimated("mean_cost", "mean cost", "over all runs"),
        Column(
            "cost_interval",
            "95 % interval",
            "of the mean cost",
            partial(interval, "cost_interval", partial(to_digits, digits=ESTIMATED)),
            r"95\,\% interval",
        ),
        Column(
            "lower_bound",
            "bound",
            "T* kl(delta, 1 - delta)",
            partial(bound_cell, most=min(most, ESTIMATED)),
            r"$T^\star \mathrm{kl}(\delta, 1 - \delta)$",
            True,
        ),
        estimated("upper_bound", "upper bound", "theta T* log(1/delta), asymptotic"),
        estimated("ratio", "ratio", "mean cost over the lower bound"),
        Column(
            "ratio_interval",
            "95 % of ratio",
            "interval of the ratio",
            partial(interval, "ratio_interval", partial(to_digits, digits=ESTIMATED)),
            r"95\,\% of ratio",
        ),
        estimated("mean_samples", "samples", "mean number of rounds"),
        *(
            estimated(f"rounds_{part}", f"{part} %", f"{part} % quantile of the rounds", rf"{part}\,\%")
            for part in (5, 25, 50, 75, 95)
        ),
        number_column("errors", "wrong", "runs that stopped with a wrong answer", "d"),
        Column("error_rate", "errors", "share of these", partial(rate, "error_rate"), numeric=True),
        Column(
            "error_interval",
            "95 % of errors",
            "Clopper-Pearson interval of the error rate",
            partial(interval, "error_interval", partial(proportion, decimals=DECIMALS)),
            r"95\,\% of errors",
        ),
        Column("consistent", "consistent", "errors not significantly above delta", partial(yes_or_no, "consistent")),
        Column("guaranteed", "guaranteed", "threshold proven for the family", partial(yes_or_no, "guaranteed")),
        Column("proportions", "shares", "mean share of the pulls of costly arms", mean_shares),
        Column(
            "sampling_proportions",
            "u*",
            "share of the pulls of each costly arm",
            partial(shares, "sampling_proportions"),
            r"$u^\star$",
        ),
        text_column("version", "version", "of caet-opt that computed the runs"),
        text_column(ERROR, "error", "why there is no answer"),
    )


def rows(summary: "pd.DataFrame") -> list[dict[str, Any]]:
    """A row per cell, missing values as None and intervals as pairs."""
    return [with_intervals(row) for row in plain_rows(summary)]


def plain_rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """A frame as rows of plain values: None for a missing one, whole numbers where something is counted."""
    return [{str(name): plain(str(name), value) for name, value in row.items()} for row in frame.to_dict("records")]


def plain(name: str, value: Any) -> Any:
    """A value as JSON has it; counts are floats in a frame with missing ones."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    return int(value) if name in COUNTS else value.item() if hasattr(value, "item") else value


def with_intervals(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the summary as a table has it."""
    found = dict(row)
    for name in ("cost", "ratio", "error"):
        ends = [found.pop(f"{name}_{end}", None) for end in ("low", "high")]
        found[f"{name}_interval"] = None if None in ends else ends
    return found | {"names": found["arms"]}


def usual_names(summary: "pd.DataFrame") -> list[str]:
    """Columns of a table for people: the attributes in which cells differ, and what came out."""
    return ["model", "log_inv_delta", *varied(summary), *USUAL]


def notes(summary: "pd.DataFrame") -> tuple[str, ...]:
    """What a reader must know of results that are not complete."""
    missing = int((summary["asked"] - summary["runs"]).clip(lower=0).sum())
    first = (f"{missing} runs are missing; the same sweep computes them.",) if missing else ()
    found = sorted(set(summary["version"].dropna()))
    unlike = f"The runs are of caet-opt {', '.join(found)}; this is caet-opt {__version__}."
    return first if found in ([], [__version__]) else (*first, unlike)


def conventions(names: Sequence[str]) -> dict[str, Statement]:
    """The conventions of a table with these columns."""
    known = CONVENTIONS | COLUMN_CONVENTIONS | RESULT_CONVENTIONS
    wanted = ["characteristic_time", "confidence", *names]
    return {name: known[name] for name in wanted if name in known}


def caption(found: Sequence[Row]) -> str:
    """What the table shows."""
    runs = sum(row["runs"] for row in found)
    return f"{runs} simulated runs of CAET in {len(found)} cell{'s'[: len(found) != 1]}."
