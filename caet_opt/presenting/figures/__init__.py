"""The paper's figure and three more: what each measures, its table and its drawing, one module per figure."""

from caet_opt.presenting.figures import figure_1, policies, proportions, regret
from caet_opt.presenting.figures.kinds import Effort, Figure, StudyFigure
from caet_opt.presenting.figures.style import require_matplotlib

#: Figures by name, in the order of the help.
FIGURES: dict[str, Figure | StudyFigure] = {
    "figure-1": figure_1.FIGURE,
    "proportions": proportions.FIGURE,
    "regret": regret.FIGURE,
    "policies": policies.FIGURE,
}

__all__ = ["FIGURES", "Effort", "Figure", "StudyFigure", "require_matplotlib"]
