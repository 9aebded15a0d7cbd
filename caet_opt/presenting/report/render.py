"""From a template and what it is told to one HTML file that asks nothing of any network.

The words of a page stand in its template, which escapes every value that it is given.
"""

from collections.abc import Mapping
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from caet_opt.errors import missing_extra
from caet_opt.version import __version__

#: A table's headers, and its rows: the cell that a row is about, if any, and its texts.
Table = tuple[list[str], list[tuple[str | None, list[str]]]]


def require_extra() -> None:
    """Raise `MissingExtraError` where a package that only the page needs is missing."""
    if find_spec("jinja2") is None:
        raise missing_extra("reports need jinja2", "report")


def render_page(template: str, context: Mapping[str, Any]) -> str:
    """A template of this package, filled: ``title`` and ``data`` are needed by all of them."""
    require_extra()
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(read_asset), autoescape=True, trim_blocks=True, undefined=StrictUndefined
    )
    # For the filter tojson, which also escapes what would end a script element.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "ensure_ascii": False, "separators": (",", ":")}
    shared = {"version": __version__, "count": count, "asset": read_asset}
    return environment.get_template(template).render(context, **shared)


def read_asset(name: str) -> str:
    """A file of this package."""
    return files("caet_opt.presenting.report").joinpath(name).read_text(encoding="utf-8")


def count(number: int, noun: str) -> str:
    """``1 run``, ``2 runs``; thousands are set apart."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}".replace(",", "\u202f")
