"""What the commands that draw a figure share."""

import argparse

from caet_opt.common.exact import brief
from caet_opt.presenting.figures.style import WIDTHS


def add_width(group: argparse._ActionsContainer) -> None:
    """Declare --width, of figures."""
    widths = ", ".join(f"{name} {inches:g} in" for name, inches in WIDTHS.items())
    help_text = f"of the figure in a paper: {widths} (page, or what a matplotlibrc file says)"
    group.add_argument("--width", type=width_name, metavar="|".join(WIDTHS), help=help_text)


def width_name(text: str) -> str:
    """The name of a width."""
    if text not in WIDTHS:
        raise argparse.ArgumentTypeError(f"must be {' or '.join(WIDTHS)}, got {brief(text)!r}")
    return text
