"""``caet-opt report``: a folder of results as one page for the browser."""

import argparse
from collections.abc import Callable

from caet_opt.cli.arguments import plain_text
from caet_opt.cli.output import output_file, say
from caet_opt.errors import InputError, install_hint
from caet_opt.presenting.report import report_page, require_extra

DESCRIPTION = f"""\
Make one HTML page from the results of caet-opt sweep, even while the sweep is running:
what was run, T* and its certificate for each model, cost with both bounds, error rates,
proportions, stopping times and failures. The page is one file and works offline. This
command needs Jinja2;
{install_hint("report")}."""

EXAMPLES = """\
examples:
  caet-opt report results -o report.html
  caet-opt report results -o report.html --title "Two instances, a thousand runs"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("folder", metavar="FOLDER", help="a folder that caet-opt sweep wrote")
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="write the page to this file (report.html)"
    )
    parser.add_argument("--title", type=plain_text, metavar="TEXT", help="title of the page (the study's)")


def run(arguments: argparse.Namespace) -> int:
    """Check, read, write the page, and say what it holds."""
    write_page(arguments, lambda: report_page(arguments.folder, arguments.title))
    return 0


def write_page(arguments: argparse.Namespace, make: Callable[[], str]) -> None:
    """Check title, extra and place, then make the page, write it, and say so."""
    if arguments.title is not None and not arguments.title.strip():
        raise InputError("--title is empty; give a title, or leave it out")

    require_extra()
    write = output_file(arguments.output, "--output")
    page = make()
    write(page)
    say(f"{arguments.output}: {len(page.encode(errors='backslashreplace')) / 1e6:.1f} MB; open it in a browser")
