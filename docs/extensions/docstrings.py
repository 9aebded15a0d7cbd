"""Docstrings for Sphinx: they are plain text, in which a star is a star and an indented block a formula."""

import re
from inspect import getdoc
from typing import Any

from sphinx.application import Sphinx

import caet_opt


def setup(app: Sphinx) -> dict[str, bool]:
    """Before napoleon reads the sections."""
    app.connect("autodoc-process-docstring", plain, priority=100)
    app.connect("autodoc-process-docstring", restore, priority=900)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def shorten(app: Sphinx, what: str, name: str, obj: Any, options: Any, given: str, returned: str) -> tuple[str, str]:
    """A signature in which arrays are called by their names."""
    return shorten_types(given), shorten_types(returned)


def shorten_types(text: str | None) -> Any:
    """Types of arrays by their names."""
    if text is None:
        return None
    text = re.sub(r"~?(numpy\.)?ndarray\[.*?dtype\[[~\w.]+\]\]", "Array", text)
    return re.sub(r"\S*_Buffer \|.*?_NestedSequence\[complex \| bytes \| str\](?:\])?", "ArrayLike", text)


def plain(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """List attributes, mark formulas as literal blocks, and escape what reStructuredText would read as markup."""
    escaped = [line if line.lstrip().startswith((">>>", "...")) else escape(line) for line in lines]
    lines[:] = define_attributes(mark_formulas(escaped))


def restore(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Of a property, for which napoleon would take what stands before a colon for its type, the text as it is."""
    if what in ("property", "attribute", "data") and obj.__doc__:
        lines[:] = (getdoc(obj) or "").splitlines()
        plain(app, what, name, obj, options, lines)


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out fields of named tuples, which the signature lists and whose docstring is their number."""
    return True if (obj.__doc__ or "").startswith("Alias for field number") else None


def define_attributes(lines: list[str]) -> list[str]:
    """The section Attributes, whose lines read ``name : what it is``, as a list of definitions."""
    found, inside = list[str](), False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line == "Attributes" and following.startswith("---"):
            inside = True
            found += ["**Attributes**", ""]
        elif inside and not line.startswith("---"):
            name, colon, text = line.partition(" : ")
            entry = colon and not line.startswith(" ")
            found += [f"``{name}``", f"    {text}"] if entry else [line]
            inside = bool(line)
        elif not inside:
            found.append(line)
    return found


def escape(line: str) -> str:
    """A line without emphasis, substitutions and references; code stays, and a public name of the package is a link."""
    parts = re.split(r"(``.*?``|`.*?`)", line)
    return "".join(
        link(part) if at % 2 else re.sub(r"([*|]|\w_(?=\W|$))", quote, part) for at, part in enumerate(parts)
    )


def link(code: str) -> str:
    """Code between back quotes, as a reference where it begins with a public name."""
    name = code.strip("`")
    public = not code.startswith("``") and name.partition(".")[0] in caet_opt.__all__
    return f":py:obj:`~caet_opt.{name}`" if public else f"``{name}``"


def quote(found: re.Match[str]) -> str:
    """A back slash before the sign that would be markup."""
    return f"{found[0][:-1]}\\{found[0][-1]}"


def mark_formulas(lines: list[str]) -> list[str]:
    """An indented block after an empty line, outside examples and sections, gets the mark of a literal block."""
    marked: list[str] = []
    for at, line in enumerate(lines):
        starts = line.startswith("    ") and at > 1 and not lines[at - 1].strip()
        if starts and not line.lstrip().startswith(">>>") and not lines[at - 2].startswith((" ", "-", ">>>")):
            marked += ["::", ""]
        inside = line.startswith("    ") and not line.lstrip().startswith(">>>")
        marked.append(re.sub(r"\\([*|_])", r"\1", line) if inside and "::" in marked[-12:] else line)
    return marked
