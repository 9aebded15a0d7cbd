"""The paper's figure and two more: what each measures, its table and its drawing, one module per figure."""

from caet_opt.presenting.figures import figure_1, proportions, regret
from caet_opt.presenting.figures.style import Effort, Figure, require_matplotlib

#: Figures by name, in the order of the help.
FIGURES: dict[str, Figure] = {
    "figure-1": figure_1.FIGURE,
    "proportions": proportions.FIGURE,
    "regret": regret.FIGURE,
}

__all__ = ["FIGURES", "Effort", "Figure", "require_matplotlib"]
