"""Check a built site: every link within it leads somewhere, and no page loads anything from a network.

python docs/check_site.py FOLDER
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

#: Attributes that a browser loads by itself, by the element that has them.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element's links and names."""
        found = {name: value for name, value in attrs if value is not None}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in LOADED and LOADED[tag] in found:
            self.loads.append(found[LOADED[tag]])


def check(folder: Path) -> tuple[int, list[str]]:
    """How many pages there are, and what is wrong with them."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        wrong += [f"{name}: loads {word}" for word in page.loads if urlsplit(word).netloc]
        for word in [*page.links, *page.loads]:
            if not urlsplit(word).scheme and not urlsplit(word).netloc and not leads(word, path, pages):
                wrong.append(f"{name}: {word} leads nowhere")
    return len(pages), wrong


def leads(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    """Whether a relative link leads to a file, and to an anchor that it has."""
    target, anchor = urldefrag(link)
    where = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
    if not where.is_file():
        return False
    return not anchor or where not in pages or unquote(anchor) in pages[where].anchors


if __name__ == "__main__":
    number, found = check(Path(sys.argv[1]))
    print(*found, f"{number} pages, {len(found)} links that lead nowhere or to a network", sep="\n")
    sys.exit(bool(found))
