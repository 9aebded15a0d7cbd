"""The parts of the page that are text and tables: they can be read without a script, on a screen and on paper."""

from collections.abc import Mapping

from caet_opt.presenting.numbers import certified, proportion
from caet_opt.presenting.report.markup import Markup, definitions, joined, table, tag
from caet_opt.presenting.report.payload import detail
from caet_opt.presenting.report.results import MISSING, SETTINGS, Results, as_word
from caet_opt.simulating.studies.manifest import Record
from caet_opt.simulating.studies.results import QUANTILES

#: Most digits of T* on a card.
MOST_DIGITS = 10

BOUND_HEADERS = ("lower bound", "upper bound", "over lower")

COST_HEADERS = ("cell", "log(1/δ)", "δ", "runs", "mean cost", "95 % interval", *BOUND_HEADERS)

QUANTILE_HEADERS = tuple(f"{per_cent} %" for per_cent in QUANTILES)

ERROR_HEADERS = ("cell", "log(1/δ)", "errors", "rate", "95 % interval", "unfinished", "mean rounds", *QUANTILE_HEADERS)


def plural(number: int, noun: str) -> str:
    """``1 run``, ``2 runs``; thousands are set apart."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}".replace(",", "\u202f")


def headline(results: Results) -> str:
    """How much there is."""
    runs = plural(results.runs, "run") + (f" of {asked_for(results)}" if results.missing else "")
    return ", ".join([plural(len(results.models), "model"), plural(len(results.rows), "cell"), runs])


def asked_for(results: Results) -> str:
    """The runs that were asked for, and the share of them that is there."""
    asked = results.runs + results.missing
    return f"{plural(asked, 'run')} asked for ({100 * results.runs / asked:.3g} %)"


def run_section(results: Results) -> Markup:
    """Study, seed, versions and platform, and how much of what was asked for is there."""
    manifest, study = results.manifest, results.manifest["study"]
    entries: dict[str, object] = {
        "study": study.get("title") or study["name"],
        "study file": study["name"],
        "runs": present(results),
        "log(1/δ)": ", ".join(dict.fromkeys(f"{row['log_inv_delta']:.6g}" for row in by_level(results))),
        "thresholds": thresholds(results),
        **{SETTINGS[name]: ", ".join(values) for name, values in common_settings(results).items()},
        "seed": manifest["seed"],
        "versions": ", ".join(f"{name} {number}" for name, number in manifest["versions"].items()),
        "platform": manifest["platform"],
    }
    return definitions(entries)


def by_level(results: Results) -> list[Record]:
    """The cells from the largest delta to the smallest."""
    return sorted(results.rows, key=lambda row: float(row["log_inv_delta"]))


def present(results: Results) -> Markup:
    """The runs that are stored, of those that were asked for, with a bar where some are missing."""
    if not results.missing:
        return tag("span", f"{plural(results.runs, 'run')}, all that were asked for")
    share = 100 * results.runs / (results.runs + results.missing)
    bar = tag("div", tag("span", style=f"width: {share:.2f}%"), class_="progress", aria_hidden="true")
    return joined([tag("span", f"{plural(results.runs, 'run')} of {asked_for(results)}"), bar])


def thresholds(results: Results) -> Markup:
    """The thresholds, and whether they guarantee the error probability."""
    found: dict[str, set[bool]] = {}
    for record in results.manifest["cells"]:
        found.setdefault(record["threshold"], set()).add(record["guaranteed"])
    words = {(True,): "guarantees δ", (False,): "does not guarantee δ", (False, True): "guarantees δ for some models"}
    return joined(tag("div", f"{name}: {words[tuple(sorted(held))]}") for name, held in found.items())


def common_settings(results: Results) -> dict[str, list[str]]:
    """The values of the algorithm's settings over all cells, but for those that have their own line."""
    names = [name for name in SETTINGS if name not in ("threshold", "seed")]
    values = {name: [as_word(row[name]) for row in results.rows if row[name] is not None] for name in names}
    return {name: list(dict.fromkeys(found)) for name, found in values.items() if found}


def model_section(results: Results) -> Markup:
    """A card by model: T* with its certified interval, and its arms."""
    cards = [
        tag(
            "article",
            tag("h3", label),
            tag("p", detail(record), class_="detail"),
            *time_lines(record),
            arm_table(record, label),
            class_="card",
            data_model=number,
        )
        for number, (record, label) in enumerate(zip(results.models, results.labels, strict=True))
    ]
    return tag("div", *cards, class_="cards")


def time_lines(record: Record) -> list[Markup]:
    """T* to its certified digits, the interval, and the binding pairs."""
    value, interval = certified(
        record["characteristic_time"], record["lower"], record["upper"], record["gap"], MOST_DIGITS
    )
    arms = record["arms"]
    pairs = ", ".join(f"{arms[a]} > {arms[b]}" for a, b in record["binding_pairs"]) or "none"
    return [
        tag("p", f"T* = {value}", class_="time"),
        tag("p", f"certified in {interval}", class_="detail"),
        tag("p", f"relative gap {record['gap']:.1e}", class_="detail"),
        tag("p", f"binding pairs: {pairs}", class_="detail"),
    ]


def arm_table(record: Record, label: str) -> Markup:
    """Mean, cost, omega* and u* of each arm."""
    columns = ("arms", "means", "arm_costs", "cost_proportions", "sampling_proportions")
    rows: list[tuple[Mapping[str, object], list[str]]] = [
        ({}, [arm, f"{mean:.6g}", f"{cost:.6g}", proportion(omega, 5), proportion(share, 5)])
        for arm, mean, cost, omega, share in zip(*(record[name] for name in columns), strict=True)
    ]
    return table(f"Arms of {label}", ["arm", "mean", "cost", "ω*", "u*"], rows)


def cell_tables(results: Results) -> Markup:
    """Two rows by cell with what its runs say, to six digits."""
    attributes = [{"data_cell": row["cell"]} for row in results.rows]
    costs = [cost_row(row, name) for row, name in zip(results.rows, results.cell_names, strict=True)]
    errors = [error_row(row, name) for row, name in zip(results.rows, results.cell_names, strict=True)]
    return joined(
        [
            table("Cost of each cell, and its bounds", COST_HEADERS, list(zip(attributes, costs, strict=True))),
            table(
                "Errors of each cell, and quantiles of its stopping time",
                ERROR_HEADERS,
                list(zip(attributes, errors, strict=True)),
            ),
        ]
    )


def cost_row(row: Record, name: str) -> list[str]:
    """What a cell cost, as people read it."""
    return [
        name,
        shown(row, "log_inv_delta"),
        shown(row, "delta", 4),
        shown(row, "runs") if row["runs"] >= row["asked"] else f"{row['runs']} of {row['asked']}",
        shown(row, "mean_cost"),
        interval(row, "cost_low", "cost_high"),
        shown(row, "lower_bound"),
        shown(row, "upper_bound"),
        shown(row, "ratio", 4),
    ]


def error_row(row: Record, name: str) -> list[str]:
    """How often a cell erred and how long it took, as people read it."""
    return [
        name,
        shown(row, "log_inv_delta"),
        shown(row, "errors"),
        shown(row, "error_rate", 3),
        interval(row, "error_low", "error_high", 3),
        shown(row, "unfinished"),
        shown(row, "mean_samples"),
        *(shown(row, f"rounds_{per_cent}") for per_cent in QUANTILES),
    ]


def shown(row: Record, name: str, digits: int = 6) -> str:
    """A value of the summary, a dash where it is missing; large numbers without an exponent."""
    value = row.get(name)
    if value is None:
        return MISSING
    if isinstance(value, int) or 1e6 <= value < 1e12:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def interval(row: Record, low: str, high: str, digits: int = 6) -> str:
    """The ends of an interval."""
    return MISSING if row.get(low) is None else f"[{shown(row, low, digits)}, {shown(row, high, digits)}]"
