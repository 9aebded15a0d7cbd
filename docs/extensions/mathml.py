"""Formulas as MathML, made at build time by docutils: browsers draw them without JavaScript and without a network."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

#: A function that is applied, with the parenthesis after it, and what belongs around it.
FUNCTION = re.compile(r"<mi>(\w+)</mi>\s*<mo>&ApplyFunction;</mo>(\s*<mo[^>]*>\()?")
SPACE = '<mspace width="0.17em"></mspace>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line."""
    translator.body.append(render(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula by itself."""
    translator.body.append(f'<div class="formula">{render(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def render(node: nodes.Element, *, as_block: bool) -> str:
    """A formula as MathML; one that cannot be read is a warning, and so ends the build."""
    try:
        found = str(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return ""
    found = FUNCTION.sub(lambda match: f"{SPACE}<mi>{match[1]}</mi>{match[2] or SPACE}", found)
    return found.replace("<mo>*</mo>", '<mo lspace="0" rspace="0">\N{ASTERISK OPERATOR}</mo>')
