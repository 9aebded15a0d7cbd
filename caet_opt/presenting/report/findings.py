"""What a study found, in a sentence per model: what costs least, whether that is proven, and how the errors are."""

from collections.abc import Mapping, Sequence
from math import inf

from caet_opt.bandits.families import describe_assumption
from caet_opt.common.numbers import digits_beside, in_full, to_digits, write_interval
from caet_opt.presenting.report.page_data import Results, write_level
from caet_opt.simulating.comparison import mean_difference
from caet_opt.simulating.studies.manifest import Record

#: What runs cost, by cell and by run.
Costs = Mapping[str, Mapping[int, float]]

#: Significant digits of costs and ratios in a sentence.
DIGITS = 3


def find_findings(results: Results) -> list[str]:
    """A sentence per model, in their order; those of a model are about the smallest delta that has runs."""
    by_model: list[list[Record]] = [[] for _ in results.models]
    for row, number in zip(results.rows, results.series_of, strict=True):
        if row["runs"]:
            series = results.series[number]
            by_model[series.model].append({**row, "apart": series.note_besides("policy", "threshold")})
    return [say_model(rows, results.run_costs) if rows else "No run is stored yet." for rows in by_model]


def say_model(rows: Sequence[Record], run_costs: Costs) -> str:
    """What the cells of one model say; ``run_costs`` has what each run cost, by cell and by run."""
    level = max(row["log_inv_delta"] for row in rows)
    last = [row for row in rows if row["log_inv_delta"] == level]
    best = min(last, key=cost_of)
    others = [row for row in last if row is not best]
    parts = [f"At {write_level(best)}, {name(best)} costs {'least, ' if others else ''}{say_cost(best)}"]
    parts += say_others(best, others, run_costs) if others else []
    parts += [say_proof(best, others), say_errors(rows)]
    return "; ".join(parts) + "."


def cost_of(row: Record) -> float:
    """The mean cost of a cell; infinite where there is none."""
    return inf if row.get("mean_cost") is None else float(row["mean_cost"])


def name(row: Record) -> str:
    """Policy and threshold of a cell and what else tells it apart, as ``caet with the e-process threshold (r 0.3)``."""
    apart = f" ({row['apart']})" if row.get("apart") else ""
    return f"{row['policy']} with the {row['threshold']} threshold{apart}"


def say_cost(row: Record) -> str:
    """The cost of a cell over the lower bound, or by itself where that is zero."""
    key, words = ("ratio", "times the lower bound") if row.get("ratio") is not None else ("cost", "on average")
    mean = row["ratio"] if key == "ratio" else cost_of(row)
    ends = row.get(f"{key}_low"), row.get(f"{key}_high")
    if ends[0] is None:
        return in_full(f"{to_digits(mean, DIGITS)} {words}")
    shown = to_digits(mean, digits_beside(mean, ends, DIGITS))
    return in_full(f"{shown} {words} (95 % in {write_interval(*ends, DIGITS)})")


def say_others(best: Record, others: Sequence[Record], run_costs: Costs) -> list[str]:
    """What the others cost more in the same runs, which have the same draws: the next one, and how many may cost as
    little. Intervals that overlap would say less, since most of what makes costs vary is common to both."""
    known, first = [], run_costs[best["cell"]]
    for row in (row for row in others if has_interval(best) and has_interval(row) and row["seed"] == best["seed"]):
        mean, ends = mean_difference(run_costs[row["cell"]], first)
        if mean is not None and ends:
            known.append((mean, ends, row))
    if not known:
        return []
    mean, ends, row = min(known, key=lambda one: one[0])
    shown = to_digits(mean, digits_beside(mean, ends, DIGITS))
    more = in_full(f"{shown} more (95 % in {write_interval(*ends, DIGITS)})")
    parts = [f"in the same runs {name(row)} costs {more}"]
    if len(known) > 1:
        near = sum(ends[0] <= 0 for _, ends, _ in known)
        parts += [
            f"{near or 'none'} of {len(known)} others may cost as little, by the 95 % intervals of such differences"
        ]
    return parts


def has_interval(row: Record) -> bool:
    """Whether the cost of a cell has one."""
    return row.get("cost_low") is not None and not row.get("unfinished")


def say_proof(best: Record, others: Sequence[Record]) -> str:
    """Whether the cheapest is proven here, and if not, which is the cheapest that is."""
    rewards = describe_assumption(best["family"])
    if best["guaranteed"]:
        return f"its threshold is proven for {rewards}"
    proven = [row for row in others if row["guaranteed"]]
    if not proven:
        return f"its threshold is not proven for {rewards}"
    cheapest = min(proven, key=cost_of)
    words = f"its threshold is not proven for {rewards}; the cheapest that is proven is"
    return f"{words} {name(cheapest)}, which costs {say_cost(cheapest)}"


def say_errors(rows: Sequence[Record]) -> str:
    """Whether the errors are more than delta allows."""
    above = sum(row.get("consistent") is False for row in rows)
    cells = f"{len(rows)} cell{'s'[: len(rows) != 1]}"
    if above:
        return f"significantly more errors than δ allows in {above} of {cells}"
    return f"error rates are consistent with δ in {'all ' if len(rows) > 1 else ''}{cells}"
