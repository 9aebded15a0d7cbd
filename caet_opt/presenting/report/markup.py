"""HTML from Python: everything that is text is escaped, so that a title is a title whatever it holds."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> str:
    """HTML as it is, anything else escaped."""
    return value if isinstance(value, Markup) else escape(str(value))


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """An element; a trailing underscore of an attribute is dropped, other underscores are hyphens, None is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{''.join(map(text, content))}</{name}>")


def joined(parts: Iterable[Markup], separator: str = "\n") -> Markup:
    """Elements one after the other."""
    return Markup(separator.join(parts))


def definitions(entries: Mapping[str, object]) -> Markup:
    """Terms and what they are."""
    return tag("dl", *(part for term, value in entries.items() for part in (tag("dt", term), tag("dd", value))))


def table(
    caption: str,
    headers: Sequence[str],
    rows: Iterable[tuple[Mapping[str, object], Sequence[object]]],
    words: Sequence[int] = (0,),
) -> Markup:
    """A table that scrolls by itself where it is too wide; ``words`` are the columns of text.

    A row comes with its attributes; its first cell is its heading.
    """
    kinds = dict.fromkeys(words, "text")
    head = [tag("th", header, scope="col", class_=kinds.get(at)) for at, header in enumerate(headers)]
    body = [
        tag(
            "tr",
            *(
                tag("td" if at else "th", cell, scope=None if at else "row", class_=kinds.get(at))
                for at, cell in enumerate(cells)
            ),
            **attributes,
        )
        for attributes, cells in rows
    ]
    whole = tag("table", tag("caption", caption), tag("thead", tag("tr", *head)), tag("tbody", joined(body)))
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)
