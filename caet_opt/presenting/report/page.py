"""The page itself: the template with style, script, charts library, tables and data put in."""

from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from caet_opt.errors import missing_extra
from caet_opt.presenting.report.failures import failure_section
from caet_opt.presenting.report.filters import filter_section
from caet_opt.presenting.report.markup import text
from caet_opt.presenting.report.payload import payload
from caet_opt.presenting.report.results import read_results
from caet_opt.presenting.report.sections import cell_tables, headline, model_section, run_section
from caet_opt.version import __version__

#: The script in the order of its parts.
SCRIPTS = ("marks.js", "charts.js", "page.js")


def require_plotly() -> None:
    """Raise `MissingExtraError` where plotly is missing."""
    if find_spec("plotly") is None:
        raise missing_extra("reports need plotly", "report")


def report_page(folder: str | Path, title: str | None = None) -> str:
    """A folder of results as one HTML page that asks nothing of any network.

    Parameters
    ----------
    folder
        Where ``caet-opt sweep`` put the results; a sweep may still be running.
    title
        Of the page; the study's unless given.
    """
    require_plotly()
    from plotly.offline import get_plotlyjs

    results = read_results(folder)
    study = results.manifest["study"]
    return Template(asset("page.html")).substitute(
        title=text(title or study.get("title") or study["name"]),
        version=text(__version__),
        charts=text(f"plotly {version('plotly')}"),
        headline=text(headline(results)),
        style=asset("page.css"),
        filters=filter_section(results),
        run=run_section(results),
        failures=failure_section(results),
        models=model_section(results),
        cells=cell_tables(results),
        data=payload(results),
        library=get_plotlyjs(),
        script="\n".join(map(asset, SCRIPTS)),
    )


def asset(name: str) -> str:
    """A file of this package."""
    return files("caet_opt.presenting.report").joinpath(name).read_text(encoding="utf-8")
