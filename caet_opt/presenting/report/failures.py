"""What went wrong in a sweep, or is still missing, in words and tables."""

from collections.abc import Iterator, Sequence

from caet_opt.presenting.report.markup import Markup, joined, table, tag
from caet_opt.presenting.report.results import MISSING, Results
from caet_opt.presenting.report.sections import plural
from caet_opt.simulating.studies.manifest import Record
from caet_opt.version import __version__

#: A longer list is folded until it is asked for.
FEW = 8


def failure_section(results: Results) -> Markup:
    """What was given up, is missing, did not stop, or errs too often; or that there is nothing of the kind."""
    parts = list(troubles(results))
    return joined(parts) if parts else tag("p", "None: every run that was asked for is here, and every run stopped.")


def troubles(results: Results) -> Iterator[Markup]:
    """A warning for each kind of failure, with its table."""
    failures: list[Record] = results.manifest["failures"]
    if failures:
        runs = plural(sum(failure["runs"] for failure in failures), "run")
        yield warning(f"{plural(len(failures), 'block')} of runs given up after repeated errors: {runs} in all.")
        yield failure_table(results, failures)
    if results.missing:
        yield warning(f"The sweep is not finished: {plural(results.missing, 'run')} asked for, not stored yet.")
        short = [row for row in results.rows if row["runs"] < row["asked"]]
        yield cell_list(results, "Cells with missing runs", short, {"stored": "runs", "asked for": "asked"})
    if results.unfinished:
        stopless = plural(results.unfinished, "run")
        yield warning(f"{stopless} had not stopped in the rounds allowed: costs and rounds there are lower estimates.")
        slow = [row for row in results.rows if row.get("unfinished")]
        yield cell_list(results, "Cells with unfinished runs", slow, {"unfinished": "unfinished", "runs": "runs"})
    versions = sorted({row["version"] for row in results.rows} - {None, __version__})
    if versions:
        yield warning(f"Runs of other versions: caet-opt {', '.join(versions)}; this page is by {__version__}.")
    excessive = [row for row in results.rows if row.get("consistent") is False]
    if excessive:
        yield warning(f"Significantly more errors than δ allows: {plural(len(excessive), 'cell')}.")
        yield cell_list(results, "Cells with too many errors", excessive, {"errors": "errors", "runs": "runs"})


def warning(words: str) -> Markup:
    """A sentence that stands out."""
    return tag("p", words, class_="warning")


def failure_table(results: Results, failures: Sequence[Record]) -> Markup:
    """The blocks given up, with what it takes to run them again."""
    levels = {row["cell"]: f"{row['log_inv_delta']:.6g}" for row in results.rows}
    names = dict(zip(levels, results.cell_names, strict=True))
    rows = [
        (
            {"data_cell": one["cell"]},
            [
                names.get(one["cell"], one["cell"]),
                one["error"],
                levels.get(one["cell"], MISSING),
                f"{one['first']} to {one['first'] + one['runs'] - 1}",
                one["seed"],
            ],
        )
        for one in failures
    ]
    return table("Blocks given up", ["cell", "error", "log(1/δ)", "runs", "seed"], rows, (0, 1))


def cell_list(results: Results, caption: str, rows: Sequence[Record], columns: dict[str, str]) -> Markup:
    """Cells with some of their columns."""
    names = {row["cell"]: name for row, name in zip(results.rows, results.cell_names, strict=True)}
    shown = [
        (
            {"data_cell": row["cell"]},
            [names[row["cell"]], f"{row['log_inv_delta']:.6g}", *(row[column] for column in columns.values())],
        )
        for row in rows
    ]
    found = table(caption, ["cell", "log(1/δ)", *columns], shown)
    return tag("details", tag("summary", f"{caption}: {len(rows)}"), found, open="" if len(rows) <= FEW else None)
