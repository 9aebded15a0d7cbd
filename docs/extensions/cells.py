"""Code of a page: commands are shown as one types them, and sentences of their output in lines that fit; code that the
build did not execute, and the name of a file that is not there, are warnings."""

import re
from itertools import chain, pairwise
from pathlib import Path
from textwrap import wrap

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

#: Languages whose blocks must be cells; and the page whose commands the tests run, and compare with what it shows.
RUNNABLE, TESTED = {"python", "ipython3", "ipython", "console", "bash", "shell", "sh", "pycon"}, "live_experiments"

#: Files of the project, and where it is.
FILE, ROOT = re.compile(r"(caet_opt|cases|analysis|models|solvers|tests|docs)/[\w./-]*[\w/]"), Path(__file__).parents[2]

#: Characters of a line of output beyond which a sentence is broken, as a terminal would; wide tables scroll.
WIDTH = 88


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at every page that was read."""
    app.connect("doctree-read", dress)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def dress(app: Sphinx, document: nodes.document) -> None:
    """Show what a cell of commands or of a file holds; complain about code that is no cell."""
    for block in document.findall(nodes.literal_block):
        if "cell_input" in block.parent.get("classes", ()):
            show(block)
        elif "cell_output" in block.parent.get("classes", ()):
            replace(block, "\n".join(chain.from_iterable(map(fold, block.astext().split("\n")))), block["language"])
        elif block.get("language") in RUNNABLE and app.env.docname != TESTED:
            logger.warning("code that the build does not execute; make it a code-cell", location=block)
    for code in document.findall(nodes.literal):
        for found in FILE.finditer(code.astext()):
            if not (ROOT / found[0]).exists():
                logger.warning("there is no %s", found[0], location=code)


def show(block: nodes.literal_block) -> None:
    """A cell that begins with %%shell as lines after a prompt, one that begins with %%writefile as the file."""
    magic, _, text = block.rawsource.partition("\n") if block.rawsource else block.astext().partition("\n")
    if magic.startswith("%%shell"):
        before = ["", *text.splitlines()]
        lines = [line if last.endswith("\\") else f"$ {line}" for last, line in pairwise(before)]
        replace(block, "\n".join(lines), "text")
    elif magic.startswith("%%writefile "):
        name = magic.split()[1]
        cell = block.parent.parent
        for output in [part for part in cell.children if "cell_output" in part.get("classes", ())]:
            cell.remove(output)  # that it was written
        block.parent.insert(0, nodes.paragraph("", "", nodes.literal(name, name), classes=["file-name"]))
        replace(block, text, name.rpartition(".")[2].replace("py", "python"))


def fold(line: str) -> list[str]:
    """The lines that show one of output: several of a long sentence, which unlike a row of a table has no wide gaps."""
    if "  " in line.strip() or len(line) <= WIDTH:
        return [line]
    return wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)


def replace(block: nodes.literal_block, text: str, language: str) -> None:
    """Let a block hold another text."""
    block.children = [nodes.Text(text)]
    block.rawsource, block["language"] = text, language
