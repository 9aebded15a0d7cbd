"""How figures look: set for print at their final size, readable without colour, and after the user's own style.

Everything here is a default. What the user has changed of matplotlib's settings, by ``plt.style``, ``rcParams`` or a
matplotlibrc file, stays as it is: fonts, sizes, widths of lines, the colours of the cycle, and the size of a figure.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from importlib.util import find_spec
from math import log10
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np

from caet_opt.errors import InputError, missing_extra, unknown_name
from caet_opt.presenting.tables.tex_text import tex

P = ParamSpec("P")
Drawn = TypeVar("Drawn")

#: Widths in inches: a column of a paper in two columns, and its page.
Width = Literal["column", "page"]
WIDTHS = {"column": 3.25, "page": 6.75}

#: Settings of the ticks of both axes.
TICKS = {"labelsize": 7.0, "major.width": 0.6, "minor.width": 0.4, "major.size": 2.5, "minor.size": 1.5}

#: Settings of matplotlib. Fonts are embedded as TrueType (type 42), which publishers ask for; type 3 is refused. STIX
#: looks like the Times of most papers, and its mathematics comes with matplotlib.
STYLE: dict[Any, Any] = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "font.family": ["STIXGeneral"],
    "mathtext.fontset": "stix",
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 8.0),
    "figure.titlesize": 9.0,
    **dict.fromkeys(("legend.fontsize", "legend.title_fontsize"), 7.5),
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.columnspacing": 1.4,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.4,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlepad": 4.0,
    "axes.labelpad": 2.0,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    **{f"{axis}tick.{name}": value for axis in "xy" for name, value in TICKS.items()},
    "savefig.dpi": 300,
}

#: The palette of Okabe and Ito, which colour-blind readers tell apart, without its yellow, too pale on white, and its
#: black: theory is drawn in the colour of the text.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", "--", "-.", ":")

#: So many curves look different without colour: nine markers and four lines have no common divisor.
LOOKS = len(MARKERS) * len(DASHES)

#: Lines that theory draws: the lower bound, or a limit, and the upper bound; and what a closed form gives.
Theory = Literal["solid", "lower", "upper", "form"]
THEORY: dict[Theory, dict[str, Any]] = {
    "solid": {},
    "lower": {"linestyle": (0, (5, 2)), "alpha": 0.75},
    "upper": {"linestyle": (0, (1, 1.5)), "alpha": 0.75},
    "form": {"linestyle": "none", "marker": "+", "markersize": 6},
}

#: log(1/delta) as an axis says it, and T* within mathematics; without the braces a star has room around it.
LEVEL, TIME = r"$\log(1/\delta)$", r"T^{\star}"

#: Levels that span more than this factor are drawn on a logarithmic axis.
SPAN = 20.0

#: Opacity of a confidence band.
BAND = 0.2

#: Numbers of a decade that are written, and the inches that a decade needs for them across and upwards.
DECADES = (((1, 2, 5), 0.8, 0.36), ((1, 3), 0.45, 0.24))


def require_matplotlib() -> None:
    """Raise `MissingExtraError` where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise missing_extra("figures need matplotlib", "plot")


def own_style() -> dict[Any, Any]:
    """Those settings of `STYLE` that the user has left as matplotlib has them."""
    from matplotlib import rcParams, rcParamsDefault

    return {name: value for name, value in STYLE.items() if rcParams[name] == rcParamsDefault[name]}


def styled(draw: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """Have a function that draws a figure do so in our style; `MissingExtraError` where matplotlib is missing."""

    @wraps(draw)
    def drawn(*arguments: P.args, **options: P.kwargs) -> Drawn:
        require_matplotlib()
        from matplotlib import rc_context

        with rc_context(own_style()):
            return draw(*arguments, **options)

    return drawn


def find_width(width: Width | None) -> float:
    """Inches of a width by name; where none is asked for, the page's, or what the user's style says."""
    from matplotlib import rcParams, rcParamsDefault

    if width is None:
        own = rcParams["figure.figsize"] != rcParamsDefault["figure.figsize"]
        return float(rcParams["figure.figsize"][0]) if own else WIDTHS["page"]
    if width not in WIDTHS:
        raise InputError(unknown_name("width", width, WIDTHS))
    return WIDTHS[width]


def is_narrow(width: Width | None) -> bool:
    """Whether panels had better stand below each other than side by side."""
    return find_width(width) < 5.0


def find_look(which: int) -> dict[str, Any]:
    """Colour, marker and line of a curve by its number; `LOOKS` of them are distinct without colour too. Colours are
    those of the user's own cycle, where there is one."""
    from matplotlib import rcParams, rcParamsDefault

    cycle = rcParams["axes.prop_cycle"]
    own = {} if cycle == rcParamsDefault["axes.prop_cycle"] else cycle.by_key()
    colours = own.get("color", COLOURS)
    found = {"color": str(colours[which % len(colours)]), "marker": MARKERS[which % len(MARKERS)]}
    return found | {"linestyle": DASHES[which % len(DASHES)]}


def find_theory(kind: Theory) -> dict[str, Any]:
    """How theory is drawn: in the colour of the text, which a dark style makes white."""
    from matplotlib import rcParams

    return {"color": rcParams["text.color"], **THEORY[kind]}


def paper_colour() -> Any:
    """What the panels are drawn on."""
    from matplotlib import rcParams

    return rcParams["axes.facecolor"]


def literal(text: str) -> str:
    """A name as the text that it is, where matplotlib, or the LaTeX that it may be told to use, reads mathematics."""
    from matplotlib import rcParams

    return tex(text) if rcParams["text.usetex"] else text.replace("$", r"\$")


def draw_mean(
    axis: Any,
    x: Sequence[float],
    mean: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    which: int,
    opacity: float = BAND,
    **how: Any,
) -> None:
    """A mean with its confidence band, in the look of the curve number ``which``."""
    look = find_look(which)
    axis.plot(x, mean, **look | how, gid=f"curve {which}")
    axis.fill_between(x, low, high, color=look["color"], alpha=opacity, linewidth=0)


def fine_levels(levels: Sequence[float], points: int = 200) -> list[float]:
    """Levels from the least to the largest, close enough for a smooth curve on either kind of axis."""
    found: list[float] = np.geomspace(min(levels), max(levels), points).tolist()
    return found


def scale_levels(axis: Any, levels: Sequence[float]) -> None:
    """Scale the axis of log(1/delta): logarithmic where the levels span decades."""
    if max(levels) > SPAN * min(levels):
        axis.set_xscale("log")
        write_decades(axis, "x")


def say_scale(axis: Any, label: str, which: Literal["x", "y"] = "y") -> str:
    """A label, which says so where the axis is logarithmic."""
    return f"{label}, logarithmic" if getattr(axis, f"get_{which}scale")() == "log" else label


def write_decades(axis: Any, which: Literal["x", "y"]) -> None:
    """Write 1, 2 and 5 of every decade of a logarithmic axis out, or fewer where there is no room for them."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = sorted(getattr(axis, f"get_{which}lim")())
    place, upwards = axis.get_position(), which == "y"
    wide, tall = axis.figure.get_size_inches()
    inches = place.height * tall if upwards else place.width * wide
    decades = log10(high / low) if low > 0 else 1.0
    fitting = (numbers for numbers, across, up in DECADES if inches >= (up if upwards else across) * decades)
    line = getattr(axis, f"{which}axis")
    line.set_major_locator(LogLocator(subs=next(fitting, (1,))))
    line.set_major_formatter("{x:g}")
    line.set_minor_formatter(NullFormatter())
