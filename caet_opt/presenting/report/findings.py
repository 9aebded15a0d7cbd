"""What a study found, in a sentence per model: what costs least, whether that is proven, and how the errors are."""

from collections.abc import Sequence
from math import inf

from caet_opt.bandits.families import describe_assumption
from caet_opt.presenting.report.results import Results, write_level
from caet_opt.simulating.studies.manifest import Record
from caet_opt.solving.numbers import to_digits


def find_findings(results: Results) -> list[str]:
    """A sentence per model, in their order; those of a model are about the smallest delta that has runs."""
    by_model: list[list[Record]] = [[] for _ in results.models]
    for row, number in zip(results.rows, results.series_of, strict=True):
        if row["runs"]:
            by_model[results.series[number].model].append(row)
    return [say_model(rows) if rows else "No run is stored yet." for rows in by_model]


def say_model(rows: Sequence[Record]) -> str:
    """What the cells of one model say."""
    level = max(row["log_inv_delta"] for row in rows)
    last = [row for row in rows if row["log_inv_delta"] == level]
    best = min(last, key=cost_of)
    others = [row for row in last if row is not best]
    parts = [f"At {write_level(best)}, {name(best)} costs {'least, ' if others else ''}{say_cost(best)}"]
    parts += say_others(best, others) if others else []
    parts += [say_proof(best, others), say_errors(rows)]
    return "; ".join(parts) + "."


def cost_of(row: Record) -> float:
    """The mean cost of a cell; infinite where there is none."""
    return inf if row.get("mean_cost") is None else float(row["mean_cost"])


def name(row: Record) -> str:
    """Policy and threshold of a cell, as ``caet with the e-process threshold``."""
    return f"{row['policy']} with the {row['threshold']} threshold"


def say_cost(row: Record) -> str:
    """The cost of a cell over the lower bound, or by itself where that is zero."""
    key, words = ("ratio", "times the lower bound") if row.get("ratio") is not None else ("cost", "on average")
    mean = row["ratio"] if key == "ratio" else cost_of(row)
    interval = ""
    if row.get(f"{key}_low") is not None:
        interval = f" (95 % in [{to_digits(row[f'{key}_low'], 3)}, {to_digits(row[f'{key}_high'], 3)}])"
    return f"{to_digits(mean, 3)} {words}{interval}"


def say_others(best: Record, others: Sequence[Record]) -> list[str]:
    """How many others may cost as little, where there are intervals to tell."""
    known = [row for row in others if row.get("cost_low") is not None]
    if best.get("cost_high") is None or not known:
        return []
    near = sum(row["cost_low"] <= best["cost_high"] for row in known)
    rest = f"{len(others)} other{'s'[: len(others) != 1]}"
    return (
        [f"the interval{'s'[: near != 1]} of {near} of {rest} overlap{'s'[: near == 1]} with its own"] if near else []
    )


def say_proof(best: Record, others: Sequence[Record]) -> str:
    """Whether the cheapest is proven here, and if not, which is the cheapest that is."""
    rewards = describe_assumption(best["family"])
    if best["guaranteed"]:
        return f"its threshold is proven for {rewards}"
    proven = [row for row in others if row["guaranteed"]]
    if not proven:
        return f"its threshold is not proven for {rewards}"
    cheapest = min(proven, key=cost_of)
    words = f"its threshold is not proven for {rewards}, and of those that are,"
    return f"{words} {name(cheapest)} costs {say_cost(cheapest)}"


def say_errors(rows: Sequence[Record]) -> str:
    """Whether the errors are more than delta allows."""
    above = sum(row.get("consistent") is False for row in rows)
    cells = f"{len(rows)} cell{'s'[: len(rows) != 1]}"
    if above:
        return f"significantly more errors than δ allows in {above} of {cells}"
    return f"error rates are consistent with δ in {'all ' if len(rows) > 1 else ''}{cells}"
