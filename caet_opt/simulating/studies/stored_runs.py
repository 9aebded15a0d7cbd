"""Results from the store: a row per run, and a row per cell with intervals and bounds."""

from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.common.numbers import recover_delta
from caet_opt.errors import InputError
from caet_opt.exploring.policies import POLICIES, Policy
from caet_opt.exploring.settings import RECORDED
from caet_opt.simulating.mean_intervals import cost_columns
from caet_opt.simulating.studies.manifest import Record
from caet_opt.simulating.studies.store import DamagedError, Store, StoredBlock, require_pyarrow, schema
from caet_opt.simulating.summary import ends, measure_runs
from caet_opt.version import has_equal_results, order

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: Kinds of settings that are numbers in the frames.
PLAIN = ("number", "count")

#: Attributes of a cell that are words, and those that are numbers, in the frames.
WORDS = ("model", "title", "task", "family", *(setting.name for setting in RECORDED if setting.kind not in PLAIN))
NUMBERS = ("log_inv_delta", "delta", *(setting.name for setting in RECORDED if setting.kind in PLAIN), "seed")

#: What is known of the truth about a cell.
TRUTH = (
    *("characteristic_time", "lower", "upper", "gap", "lower_bound", "upper_bound", "predicted_cost", "guaranteed"),
    *("cost_proportions", "sampling_proportions", "binding_statements"),
)

#: Quantiles of the stopping time, in per cent.
QUANTILES = (5, 25, 50, 75, 95)


def load_results(folder: str | Path, *, counts: bool = False) -> "pd.DataFrame":
    """Every run that is stored in a folder of results, as a tidy frame.

    Parameters
    ----------
    folder
        The folder that ``caet-opt sweep`` wrote.
    counts
        Whether to include the pulls of each arm, as a list for each run.

    Returns
    -------
    A row per run, by cell in the order of the manifest and then by run: ``cell`` and its attributes, words among them
    as categoricals, then ``run``, ``stopped``, ``correct`` (missing when the run did not stop), ``answer``, ``rounds``
    and ``cost``. ``version`` is the version of caet-opt that computed the runs. A damaged file raises `InputError`, and
    so does a cell with runs of versions that differ.

    Examples
    --------
    >>> runs = load_results("results/study")  # the folder of `run_study`
    >>> runs[["run", "correct", "rounds"]].head(2)
       run  correct  rounds
    0    0     True     344
    1    1     True     275
    """
    import pandas as pd
    import pyarrow as pa

    records, tables = read_runs(folder)
    lengths = [table.num_rows for table in tables]
    frame: dict[str, Any] = {"cell": repeat_by_run([record["id"] for record in records], lengths)}
    for name in (*WORDS, "version"):
        frame[name] = repeat_by_run([record[name] for record in records], lengths)
    for name in NUMBERS:
        values = [nan if record[name] is None else record[name] for record in records]
        frame[name] = np.repeat(np.array(values), lengths)
    runs = pa.concat_tables(tables) if tables else schema().empty_table()
    written = {
        "correct": lambda column: column.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get),
        "answer": lambda column: column.dictionary_encode().to_pandas(),
        "counts": lambda column: column.to_pandas(),
    }
    for name in schema().names:
        if counts or name != "counts":
            frame[name] = written.get(name, lambda column: column.to_numpy())(runs[name])
    return pd.DataFrame(frame)


def repeat_by_run(values: Sequence[Any], lengths: Sequence[int]) -> "pd.Categorical[Any]":
    """A value per cell as a categorical per run."""
    import pandas as pd

    known = pd.Index(list(dict.fromkeys(value for value in values if value is not None)))
    return pd.Categorical(values, categories=known).repeat(lengths)


def summarise_results(folder: str | Path) -> "pd.DataFrame":
    """A row per cell of a folder of results, in the order of the manifest; every run counts, finished or not.

    ``runs``, ``asked`` and ``unfinished``; ``mean_cost``, ``cost_low``, ``cost_high`` with a 95 % interval, and
    ``cost_at_least``, as in `Summary`; ``ratio``, ``ratio_low``, ``ratio_high``, the same over
    ``lower_bound = T* kl(delta, 1 - delta)``;
    ``predicted_cost``, T* beta(tau) at this delta; ``mean_samples``; ``errors``, ``error_rate``, ``error_low``,
    ``error_high`` with a 95 % Clopper-Pearson interval whose upper end counts every unfinished run as an error;
    ``consistent``, whether the errors are not significantly more than delta allows; ``proportions``, the mean share
    of the pulls of costly arms, beside ``sampling_proportions``, u*, and ``pull_shares``, that of all pulls;
    ``cost_10``, ``cost_50`` and ``cost_90``, quantiles of the cost, missing where unfinished runs hide one;
    ``rounds_5`` to ``rounds_95``, quantiles of the stopping time. A cell without a run has missing values.

    >>> cells = summarise_results("results/study")  # the folder of `run_study`
    >>> cells[["log_inv_delta", "runs", "errors", "mean_samples"]]
       log_inv_delta  runs  errors  mean_samples
    0       2.302585    10       0         361.8
    1       2.995732    10       0         392.2
    """
    import pandas as pd

    rows = []
    for record, table in zip(*read_runs(folder), strict=True):
        row = {"cell": record["id"], **{name: record[name] for name in (*WORDS, *NUMBERS, "version")}}
        row |= {"arms": record["arms"], "asked": record["runs"], "runs": table.num_rows}
        row |= run_summary(record, table) if table.num_rows else {}
        rows.append(row | {name: record[name] for name in TRUTH})
    return pd.DataFrame(rows)


def run_summary(record: Record, table: "pa.Table") -> dict[str, Any]:
    """Means, intervals and quantiles over the runs of one cell."""
    stopped, cost, rounds = (table[name].to_numpy() for name in ("stopped", "cost", "rounds"))
    counts = table["counts"].combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
    errors = int(np.sum(stopped & ~table["correct"].fill_null(True).to_numpy()))
    policy = POLICIES.get(record["policy"], Policy)  # a policy of the user's own may be unknown here
    found = measure_runs(cost, rounds, stopped, errors, record["delta"], policy)
    low, high = found["cost_ci"] or (nan, nan)
    bound = record["lower_bound"] or nan
    return {
        "unfinished": found["unfinished"],
        "mean_cost": found["mean_cost"],
        **ends("cost", found["cost_ci"]),
        "cost_at_least": found["cost_at_least"],
        **cost_columns(found["quantiles"]),
        "ratio": found["mean_cost"] / bound,
        **ends("ratio", (low / bound, high / bound)),
        "mean_samples": found["mean_samples"],
        "errors": errors,
        "error_rate": found["error_rate"],
        **ends("error", found["error_ci"]),
        "consistent": found["consistent"],
        "proportions": mean_shares(counts * (np.array(record["arm_costs"]) > 0)),
        "pull_shares": mean_shares(counts),
        **{f"rounds_{per_cent}": float(np.percentile(rounds, per_cent)) for per_cent in QUANTILES},
    }


def mean_shares(counts: Array) -> list[float]:
    """The mean over the runs of ``N_a / sum of N_b`` over the arms that are counted, the others have zeros."""
    found: list[float] = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).mean(axis=0).tolist()
    return found


def read_runs(folder: str | Path) -> "tuple[list[Record], list[pa.Table]]":
    """The cells of the manifest with the version that computed their runs, and for each of them its runs in order."""
    require_pyarrow()
    store = Store(folder)
    records: list[Record] = store.read_manifest()["cells"]
    parts: dict[str, list[StoredBlock]] = {record["id"]: [] for record in records}
    for _, found in store.read_blocks():
        if isinstance(found, DamagedError):
            raise InputError(f"{found}; the same caet-opt sweep computes it again")
        if found.block.cell in parts:
            parts[found.block.cell].append(found)
    told = [
        {**record, **restate(record), "version": one_version(folder, record, parts[record["id"]])} for record in records
    ]
    return told, [join_blocks(parts[record["id"]]) for record in records]


def restate(record: Record) -> Record:
    """What folders up to 0.2.0 say otherwise: delta as it was typed, and no upper bound of a policy that has none."""
    policy = POLICIES.get(record["policy"])
    upper = record["upper_bound"] if policy is None or policy.optimal else None
    return {"delta": recover_delta(record["log_inv_delta"]), "upper_bound": upper}


def read_costs(folder: str | Path) -> dict[str, dict[int, float]]:
    """What every run cost, by cell and by run; run i of all cells of a model and a seed has the same draws."""
    records, tables = read_runs(folder)
    return {
        record["id"]: dict(zip(table["run"].to_pylist(), table["cost"].to_pylist(), strict=True))
        for record, table in zip(records, tables, strict=True)
    }


def one_version(folder: str | Path, record: Record, parts: Sequence[StoredBlock]) -> str | None:
    """The version of caet-opt that computed all runs of a cell, the last of those whose runs are the same; `InputError`
    when there are several."""
    found = sorted({part.version for part in parts}, key=order)
    if len(found) > 1 and not all(map(has_equal_results, found)):
        raise InputError(
            f"{folder}: the runs of cell {record['id']} ({record['model']}) are of caet-opt {' and '.join(found)}, "
            "which differ; sweep the study in another folder"
        )
    return found[-1] if found else None


def join_blocks(parts: "Sequence[StoredBlock]") -> "pa.Table":
    """The runs of a cell in their order, each once although blocks may overlap."""
    import pyarrow as pa

    reached, tables = 0, [schema().empty_table()]
    for block, _, table in sorted(parts, key=lambda part: part.block):
        end = block.first + block.runs
        if end > reached:
            tables.append(table.slice(max(0, reached - block.first)).replace_schema_metadata(None))
            reached = end
    return pa.concat_tables(tables)
