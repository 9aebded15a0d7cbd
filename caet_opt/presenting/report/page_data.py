"""The results of a folder as the page shows them: models, series of cells over delta, and what was given up.

Its script works with the same as JSON, and with the rows of the files to download.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caet_opt.common import numbers
from caet_opt.errors import InputError
from caet_opt.exploring.settings import RECORDED
from caet_opt.presenting.tables.formats import csv_lines
from caet_opt.presenting.tables.result_columns import plain_rows
from caet_opt.presenting.tables.time_columns import family_words, task_words
from caet_opt.simulating.studies.cells import find_varying
from caet_opt.simulating.studies.manifest import Record
from caet_opt.simulating.studies.store import Store
from caet_opt.simulating.studies.stored_runs import QUANTILES, read_costs, summarise_results

#: Settings that may differ between the cells of a model besides delta, with the words for them.
SETTINGS = {setting.name: setting.symbol for setting in RECORDED} | {"seed": "seed"}

#: Significant digits of intervals and of bounds that charts tell.
TOLD_DIGITS, BOUND_DIGITS = 4, 5

#: What stands for a value that is not there.
MISSING = "-"

#: Columns of the file of models.
MODEL_COLUMNS = (
    *("model", "title", "task", "family", "arms", "means", "arm_costs", "characteristic_time", "lower", "upper", "gap"),
    *("cost_proportions", "sampling_proportions", "binding_statements"),
)

#: Colours of curves that differ, from there on they repeat, with another symbol; and curves in one chart, at most.
COLOURS, MOST_CURVES = 8, 12


@dataclass(frozen=True)
class Series:
    """The cells of one model that differ in delta only; ``settings`` are those that vary within some model."""

    model: int
    settings: Mapping[str, str]

    @property
    def note(self) -> str:
        """The settings in words, as ``uniform, mixture, r 0.3``; a policy and a threshold are their names."""
        return self.note_besides()

    def note_besides(self, *said: str) -> str:
        """The note without settings that are said already."""
        given = {name: value for name, value in self.settings.items() if value != MISSING and name not in said}
        named = ("policy", "threshold")
        return ", ".join(value if name in named else f"{SETTINGS[name]} {value}" for name, value in given.items())


@dataclass(frozen=True)
class Results:
    """What the page is made of.

    Attributes
    ----------
    manifest : as it is stored
    rows : a summary by cell, its keys the columns of `summarise_results`, missing values None
    models : the record of the first cell of each model
    labels, names : of the models, titles where there are any, all different
    series, series_of : of cells over delta, and the number of each row's series
    run_costs : what every run cost, by cell and by run
    """

    manifest: Record
    rows: Sequence[Record]
    models: Sequence[Record]
    labels: Sequence[str]
    names: Sequence[str]
    series: Sequence[Series]
    series_of: Sequence[int]
    run_costs: Mapping[str, Mapping[int, float]]

    @property
    def runs(self) -> int:
        """Runs that are stored."""
        return sum(row["runs"] for row in self.rows)

    @property
    def missing(self) -> int:
        """Runs that were asked for and are not stored."""
        return sum(max(0, row["asked"] - row["runs"]) for row in self.rows)

    @property
    def unfinished(self) -> int:
        """Runs that had not stopped within their rounds."""
        return sum(row["unfinished"] or 0 for row in self.rows)

    @property
    def cell_names(self) -> dict[str, str]:
        """Model and setting of each cell, in brief."""
        found = {row["cell"]: self.series[number] for row, number in zip(self.rows, self.series_of, strict=True)}
        return {cell: ", ".join(filter(None, [self.names[one.model], one.note])) for cell, one in found.items()}

    @property
    def looks(self) -> dict[str, str]:
        """What models and varying settings look like, on every chart: ``colour``, ``dash`` or ``symbol``.

        Colour means the policy where there are several, and the model otherwise; dash means the threshold. Models that
        are never in one chart need no look of their own.
        """
        kinds = {"policy": "colour", "threshold": "dash"}
        found = {name: kinds.get(name, "symbol") for name in self.parameters}
        if "policy" not in found:
            return {"model": "colour", **found}
        return {"model": "symbol", **found} if self.together else found

    @property
    def together(self) -> bool:
        """Whether the curves of all models are in one chart."""
        return len(self.series) <= MOST_CURVES

    @property
    def marks(self) -> list[Record]:
        """Numbers of the colour, the symbol and the line of each series."""
        looks, parameters = self.looks, self.parameters
        by_symbol = [name for name, look in looks.items() if look == "symbol"]

        def value(series: Series, name: str) -> Any:
            return series.model if name == "model" else series.settings.get(name, MISSING)

        def number(series: Series, name: str) -> int:
            known = list(range(len(self.models))) if name == "model" else [*parameters.get(name, []), MISSING]
            return known.index(value(series, name))

        kinds = list(dict.fromkeys(tuple(value(series, name) for name in by_symbol) for series in self.series))
        coloured = "policy" if "policy" in parameters else "model"
        found = []
        for series in self.series:
            colour, symbol = number(series, coloured), kinds.index(tuple(value(series, name) for name in by_symbol))
            symbol = colour if len(kinds) == 1 else symbol + len(kinds) * (colour // COLOURS)
            found.append({"colour": colour, "symbol": symbol, "dash": number(series, "threshold")})
        return found

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The values of each setting that varies within some model, in order of appearance."""
        found: dict[str, list[str]] = {}
        for name, value in (item for series in self.series for item in series.settings.items()):
            if value != MISSING and value not in found.setdefault(name, []):
                found[name].append(value)
        return found


def read_results(folder: str | Path) -> Results:
    """Read a folder; `InputError` where it is no folder of results, is damaged, or has no run yet."""
    summary = summarise_results(folder)
    manifest = Store(folder).read_manifest()
    rows = plain_rows(summary)
    if not any(row["runs"] for row in rows):
        raise InputError(f"{folder}: no run is stored yet; let caet-opt sweep finish a block first")
    models: dict[str, Record] = {}
    for record in manifest["cells"]:
        models.setdefault(identify_model(record), record)
    places = {name: place for place, name in enumerate(models)}
    model_of = {record["id"]: places[identify_model(record)] for record in manifest["cells"]}
    varying = find_varying(rows, lambda row: model_of[row["cell"]])
    found = {row["cell"]: (model_of[row["cell"]], tuple(write_setting(row[name]) for name in varying)) for row in rows}
    known = sorted(dict.fromkeys(found.values()), key=lambda one: one[0])
    rows.sort(key=lambda row: (known.index(found[row["cell"]]), row["log_inv_delta"]))
    series = [Series(model, dict(zip(varying, values, strict=True))) for model, values in known]
    series_of = [known.index(found[row["cell"]]) for row in rows]
    shown = list(models.values())
    names = number_repeats([record["model"] for record in shown])
    return Results(manifest, rows, shown, label_models(shown), names, series, series_of, read_costs(folder))


def identify_model(record: Record) -> str:
    """What makes two cells cells of the same model: its name and everything in its file."""
    return json.dumps([record["model"], record["model_table"]], sort_keys=True)


def write_level(row: Record) -> str:
    """The delta of a cell as it was typed: ``δ = 0.05``, or ``log(1/δ) = 3``."""
    return numbers.write_level(row["log_inv_delta"], "δ")


def write_setting(value: Any) -> str:
    """A setting as text; a dash where a cell has none."""
    if value is None:
        return MISSING
    return f"{value:g}" if isinstance(value, float) else str(value)


def label_models(models: Sequence[Record]) -> list[str]:
    """Titles, or names where there is none; equal titles get the name too."""
    first = [record["title"] or record["model"] for record in models]
    second = [
        f"{label} ({record['model']})" if first.count(label) > 1 and label != record["model"] else label
        for label, record in zip(first, models, strict=True)
    ]
    return number_repeats(second)


def number_repeats(names: Sequence[str]) -> list[str]:
    """Names with numbers where they are equal, as those of a model that was changed between two sweeps.

    >>> number_repeats(["a", "b", "a"])
    ['a #1', 'b', 'a #2']
    """
    return [
        f"{name} #{names[: at + 1].count(name)}" if names.count(name) > 1 else name for at, name in enumerate(names)
    ]


def collect_data(results: Results) -> Record:
    """All that the charts, the filters and the downloads need."""
    columns = list(dict.fromkeys(name for row in results.rows for name in row))
    return {
        "models": [collect_model(record, label) for record, label in zip(results.models, results.labels, strict=True)],
        "series": [
            {
                "model": series.model,
                "settings": series.settings,
                "note": series.note,
                "label": ", ".join(filter(None, [results.labels[series.model], series.note])),
                "mark": mark,
            }
            for series, mark in zip(results.series, results.marks, strict=True)
        ],
        "cells": [
            collect_cell(row, series, columns) for row, series in zip(results.rows, results.series_of, strict=True)
        ],
        "parameters": [{"name": name, "values": values} for name, values in results.parameters.items()],
        "missing": MISSING,
        "files": {"cells": csv_lines([columns]), "models": csv_lines([MODEL_COLUMNS])},
    }


def collect_model(record: Record, label: str) -> Record:
    """What the charts of a model need."""
    return {
        "label": label,
        "detail": describe_model(record),
        "search": list_search_words(record),
        "arms": record["arms"],
        "costly": [cost > 0 for cost in record["arm_costs"]],
        "time": record["characteristic_time"],
        "lower": None if record["lower_bound"] is None else record["lower"],  # no bound at a delta is made of it then
        "sampling": record["sampling_proportions"],
        "csv": csv_lines([[record[name] for name in MODEL_COLUMNS]]),
    }


def describe_model(record: Record) -> str:
    """Name, task and family in one line."""
    return f"{record['model']}: {task_words(record['task'], record['arms'])}, {family_words(record['family'])}"


def list_search_words(record: Record) -> str:
    """What a search for a model looks at."""
    return " ".join([record["model"], record["title"] or "", record["task"], record["family"]]).lower()


def collect_cell(row: Record, series: int, columns: Iterable[str]) -> Record:
    """What the charts need of a cell, its values as they are stored; bounds and intervals as texts too, rounded
    outward."""
    rounds = [row.get(f"rounds_{per_cent}") for per_cent in QUANTILES]
    ends = {name: [row.get(f"{name}_{end}") for end in ("low", "high")] for name in ("cost", "ratio", "error")}
    upper = row["upper_bound"]
    texts = {
        name: None if low is None or high is None else numbers.write_interval(low, high, TOLD_DIGITS)
        for name, (low, high) in ends.items()
    }
    lower = row["lower_bound"]
    texts["lower"] = None if lower is None else numbers.round_down(lower, BOUND_DIGITS)
    texts["upper"] = None if upper is None else numbers.round_up(upper, BOUND_DIGITS)
    return {
        "id": row["cell"],
        "series": series,
        "level": row["log_inv_delta"],
        "typed": write_level(row),
        "theta": 1.0 if row["theta"] is None else row["theta"],
        "runs": row["runs"],
        "unfinished": row.get("unfinished"),
        "cost": [row.get("mean_cost"), *ends["cost"]],
        "ratio": [row.get("ratio"), *ends["ratio"]],
        "lower": row["lower_bound"],
        "upper": row["upper_bound"],
        "texts": texts,
        "predicted": row["predicted_cost"],
        "error": [row.get("error_rate"), *ends["error"]],
        "samples": row.get("mean_samples"),
        "proportions": row.get("proportions"),
        "pulls": row.get("pull_shares"),
        "rounds": None if rounds[0] is None else rounds,
        "csv": csv_lines([[row.get(name) for name in columns]]),
    }
