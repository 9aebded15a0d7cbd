"""Tables of a study's results: a row per cell, from `caet_opt.summarise_results`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from caet_opt.common.numbers import are_typed, in_full, proportion, round_down, round_up, to_digits, write_interval
from caet_opt.exploring.prediction import say_measured
from caet_opt.exploring.settings import RECORDED, Setting
from caet_opt.presenting.tables.layout import ERROR, Cell, Column, Number, Row, Statement
from caet_opt.presenting.tables.time_columns import CONVENTIONS, DECIMALS, number_column, write_bound, write_by_arm
from caet_opt.presenting.tables.time_columns import columns as time_columns
from caet_opt.presenting.tables.time_columns import conventions as time_conventions
from caet_opt.simulating.mean_intervals import FEWEST
from caet_opt.simulating.studies.cells import find_varying
from caet_opt.simulating.studies.stored_runs import QUANTILES
from caet_opt.version import __version__

if TYPE_CHECKING:
    import pandas as pd

#: Significant digits of costs, rates and ratios, which are estimates; and of those in a paper.
ESTIMATED, IN_PAPER = 5, 3

#: Columns that are numbers of runs.
COUNTS = ("asked", "runs", "unfinished", "errors")

#: Columns of a table for people, after those in which cells differ.
USUAL = (
    *("runs", "unfinished", "mean_cost", "cost_interval", "predicted_cost", "lower_bound", "ratio"),
    *("error_rate", "error_interval"),
)

#: The same of a table for a paper, which says below how many runs a cell has where all have the same.
IN_PAPERS = ("mean_cost", "cost_interval", "ratio", "error_rate")

#: What the rate of errors is.
ERRORS = r"Errors: runs that stopped with a wrong answer over all runs, with a 95\,\% Clopper--Pearson interval"

#: What a reader of such a table must know, besides the conventions of T* and of the lower bound.
RESULT_CONVENTIONS = {
    "cost_interval": Statement(
        r"Cost: mean over all runs with its 95\,\% interval, at each end the wider of Student's and Hall's intervals; "
        r"Hall's allows for skewness."
    ),
    "cost_at_least": Statement(
        r"At least: 95\,\% lower confidence bound of the expected cost, for any distribution. No interval: fewer than "
        rf"{FEWEST} runs, unfinished ones, or a policy that may neglect the right arm and then run for any time."
    ),
    "predicted_cost": Statement(
        r"Predicted: $T^\star \beta(\tau)$ at this $\delta$, from pulls at $u_\alpha$ until every pair exceeds the "
        rf"threshold, with the means taken as known; in tests of this prediction, mean costs of CAET were "
        f"{say_measured('c', 'd')} that."
    ),
    "ratio": Statement(r"Ratio: mean cost over the lower bound."),
    "error_interval": Statement(f"{ERRORS}."),
    "error_interval_unfinished": Statement(f"{ERRORS} whose upper end counts every unfinished run as an error."),
    "sampling_proportions": CONVENTIONS["sampling_proportions_free"],
}


def columns(most: int | None = None, estimated: int = ESTIMATED) -> tuple[Column, ...]:
    """Every column of a table of results, every number to at most so many digits, where told so; some are those of a
    table of characteristic times."""
    shared = {column.name: column for column in time_columns(most)}
    digits, decimals = most or estimated, most or DECIMALS
    bound = replace(shared["lower_bound"], explanation="T* kl(delta, 1 - delta)", write=write_bound(digits))
    optimal = "theta T* log(1/delta), for optimal policies as delta tends to 0"

    def setting(one: Setting) -> Column:
        told = one.name, one.label, one.help
        return number_column(*told, "d", one.latex) if one.kind == "count" else Column(*told, write_setting, one.latex)

    def rounded(name: str, heading: str, explanation: str, to: Callable[[float, int], str]) -> Column:
        latex = heading.replace(" %", r"\,\%") if "%" in heading else None
        return Column(name, heading, explanation, lambda value, row: Number(in_full(to(value, digits))), latex, True)

    def estimate(name: str, heading: str, explanation: str) -> Column:
        return rounded(name, heading, explanation, to_digits)

    def interval(name: str, heading: str, explanation: str, digits: int) -> Column:
        def write(ends: tuple[float, float], row: Row) -> Cell:
            return in_full(write_interval(*ends, digits))

        return Column(name, heading, explanation, write, heading.replace(" % ", r"\,\% "))

    def verdict(name: str, explanation: str) -> Column:
        return Column(name, name, explanation, lambda value, row: "yes" if value else "no")

    return (
        Column("cell", "cell", "hash of what the cell computes"),
        *(shared[name] for name in ("model", "title", "family")),
        number_column("log_inv_delta", "log(1/delta)", "log(1/delta) of the cell", ".6g", r"$\log(1/\delta)$"),
        number_column("delta", "delta", "error probability of the cell", ".6g", r"$\delta$"),
        shared["task"],
        *map(setting, RECORDED),
        number_column("seed", "seed", "seed of all runs", "d"),
        number_column("asked", "asked", "runs that the study asks for", "d"),
        number_column("runs", "runs", "runs that are stored", "d"),
        number_column("unfinished", "unfinished", "runs that did not stop", "d"),
        shared["characteristic_time"],
        estimate("mean_cost", "mean cost", "mean cost of all runs"),
        interval("cost_interval", "95 % interval", "confidence interval of the mean cost", digits),
        rounded("cost_at_least", "at least", "95 % lower bound of the expected cost", round_down),
        bound,
        rounded("upper_bound", "upper bound", optimal, round_up),
        estimate("predicted_cost", "predicted", "T* beta(tau) at this delta, with the means taken as known"),
        estimate("ratio", "ratio", "mean cost over the lower bound"),
        interval("ratio_interval", "95 % of ratio", "interval of the ratio", digits),
        estimate("mean_samples", "samples", "mean number of rounds"),
        *(estimate(f"cost_{part}", f"cost {part} %", f"{part} % quantile of the cost") for part in (10, 50, 90)),
        *(estimate(f"rounds_{part}", f"{part} %", f"{part} % quantile of the rounds") for part in QUANTILES),
        number_column("errors", "wrong", "runs that stopped with a wrong answer", "d"),
        Column(
            "error_rate",
            "errors",
            "share of runs with a wrong answer",
            lambda one, _: Number(proportion(one, decimals)),
            None,
            True,
        ),
        interval("error_interval", "95 % of errors", "Clopper-Pearson interval of the error rate", decimals),
        verdict("consistent", "errors not significantly above delta"),
        verdict("guaranteed", "threshold proven for independent rewards of the family and its variance"),
        Column(
            *("proportions", "shares", "mean share of the pulls of costly arms"),
            partial(write_by_arm, partial(proportion, decimals=decimals)),
        ),
        shared["sampling_proportions"],
        Column("version", "version", "version of caet-opt that computed the runs"),
        shared[ERROR],
    )


def write_setting(value: Any, row: Row) -> Cell:
    """A setting that is a number or a word."""
    return Number(f"{value:.6g}") if isinstance(value, float) else str(value)


def rows(summary: "pd.DataFrame") -> list[dict[str, Any]]:
    """A row per cell, missing values as None and intervals as pairs."""
    found = plain_rows(summary)
    for row in found:
        for name in ("cost", "ratio", "error"):
            ends = [row.pop(f"{name}_{end}", None) for end in ("low", "high")]
            row[f"{name}_interval"] = None if None in ends else ends
        row["names"] = row["arms"]
    return found


def plain_rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """A frame as rows of plain values: None for a missing one, whole numbers where something is counted."""
    return [{str(name): plain(str(name), value) for name, value in row.items()} for row in frame.to_dict("records")]


def plain(name: str, value: Any) -> Any:
    """A value as JSON has it; counts are floats in a frame with missing ones."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    return int(value) if name in COUNTS else value.item() if hasattr(value, "item") else value


def usual_names(summary: "pd.DataFrame", paper: bool = False) -> list[str]:
    """Columns of a table for people, fewer in a paper: the policy unless it is CAET, other attributes in which cells
    differ, and what came out; what costs are at least where some have no interval."""
    differing = find_varying(summary.to_dict("records"), itemgetter("model"))
    shown = ["policy"] if set(summary["policy"]) != {"caet"} else []
    level, usual = "delta" if are_typed(summary["log_inv_delta"]) else "log_inv_delta", list(USUAL)
    if paper:
        telling = {"runs": summary["runs"].nunique() > 1, "unfinished": summary["unfinished"].any()}
        usual = [name for name in USUAL if name in IN_PAPERS or telling.get(name)]
    if "cost_low" in summary and (summary["runs"].gt(0) & summary["cost_low"].isna()).any():
        usual.insert(usual.index("cost_interval") + 1, "cost_at_least")
    return ["model", level, *dict.fromkeys([*shown, *differing]), *usual]


def notes(summary: "pd.DataFrame", shown: Sequence[str]) -> tuple[str, ...]:
    """What a reader must know of results that are not complete, and of their number where no column has it."""
    missing = int((summary["asked"] - summary["runs"]).clip(lower=0).sum())
    each = (
        () if "runs" in shown or summary["runs"].nunique() > 1 else (f"Runs: {summary['runs'].iloc[0]} in each row.",)
    )
    lacking = f"{missing} runs are missing; run the same sweep again to compute them."
    first = (*each, lacking) if missing else each
    found = sorted(set(summary["version"].dropna()))
    unlike = f"The runs were made by caet-opt {', '.join(found)}; this is caet-opt {__version__}."
    return first if found in ([], [__version__]) else (*first, unlike)


def conventions(names: Sequence[str], found: Sequence[Row]) -> dict[str, Statement]:
    """What a reader of these rows must know of these columns, and nothing else; by what it is about."""
    unfinished = "_unfinished" if any(row.get("unfinished") for row in found) else ""
    own = {
        name: RESULT_CONVENTIONS.get(f"{name}{unfinished}", RESULT_CONVENTIONS[name])
        for name in names
        if name in RESULT_CONVENTIONS and any(row.get(name) is not None for row in found)
    }
    return time_conventions(names, found) | own


def caption(found: Sequence[Row]) -> str:
    """What the table shows."""
    runs, policies = sum(row["runs"] for row in found), list({row["policy"] for row in found})
    of = "CAET" if policies == ["caet"] else policies[0] if len(policies) == 1 else f"{len(policies)} policies"
    return f"{runs} simulated runs of {of} in {len(found)} cell{'s'[: len(found) != 1]}."
