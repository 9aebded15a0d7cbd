"""The figure that all others are drawn on; this file imports matplotlib, and is imported where one is drawn."""

from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from caet_opt.presenting.figures.style import own_style


class Sheet(Figure):
    """A figure of matplotlib that is written with its fonts embedded, as our style says, whoever saves it."""

    def savefig(self, *arguments: Any, **options: Any) -> None:
        """Write the figure, in the settings that the user has not made."""
        with rc_context(own_style()):
            super().savefig(*arguments, **options)
