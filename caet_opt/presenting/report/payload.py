"""What the page's script works with: models, series and cells as JSON, and the rows of the files to download."""

from collections.abc import Iterable
from typing import Any

from caet_opt.presenting.report.results import MISSING, Results
from caet_opt.presenting.tables.formats import csv_lines
from caet_opt.simulating.studies.manifest import Record
from caet_opt.simulating.studies.results import QUANTILES

#: Columns of the file of models.
MODEL_COLUMNS = (
    *("model", "title", "task", "family", "arms", "means", "arm_costs", "characteristic_time", "lower", "upper", "gap"),
    *("cost_proportions", "sampling_proportions", "binding_pairs"),
)


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
            }
            for series in results.series
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
        "sampling": record["sampling_proportions"],
        "csv": csv_lines([[record[name] for name in MODEL_COLUMNS]]),
    }


def describe_model(record: Record) -> str:
    """Name, task and family in one line."""
    return f"{record['model']}: {record['task']}, {record['family']}"


def list_search_words(record: Record) -> str:
    """What a search for a model looks at."""
    return " ".join([record["model"], record["title"] or "", record["task"], record["family"]]).lower()


def collect_cell(row: Record, series: int, columns: Iterable[str]) -> Record:
    """What the charts need of a cell, its values as they are stored."""

    def triple(*names: str) -> list[Any]:
        return [row.get(name) for name in names]

    rounds = triple(*(f"rounds_{per_cent}" for per_cent in QUANTILES))
    return {
        "id": row["cell"],
        "series": series,
        "level": row["log_inv_delta"],
        "delta": row["delta"],
        "theta": 1.0 if row["theta"] is None else row["theta"],
        "runs": row["runs"],
        "unfinished": row.get("unfinished"),
        "cost": triple("mean_cost", "cost_low", "cost_high"),
        "ratio": triple("ratio", "ratio_low", "ratio_high"),
        "lower": row["lower_bound"],
        "upper": row["upper_bound"],
        "error": triple("error_rate", "error_low", "error_high"),
        "samples": row.get("mean_samples"),
        "proportions": row.get("proportions"),
        "rounds": None if rounds[0] is None else rounds,
        "csv": csv_lines([[row.get(name) for name in columns]]),
    }
