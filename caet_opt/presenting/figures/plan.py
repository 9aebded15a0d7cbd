"""The cost of an experiment against delta: its quantiles by simulation, between the bounds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from caet_opt.errors import InputError
from caet_opt.presenting.figures.sheet import draw_legend, make_panels
from caet_opt.presenting.figures.style import (
    LEVEL,
    Width,
    draw_mean,
    find_theory,
    fine_levels,
    say_scale,
    scale_levels,
    styled,
)
from caet_opt.simulating.plans import Plan
from caet_opt.solving.result import bound_per_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def plan_figure(plans: Sequence[Plan], width: Width | None = None) -> "Figure":
    """Median of the cost with the band of its 10 and 90 % quantiles, over log(1/delta), above the lower bound.

    Parameters
    ----------
    plans
        Of one model at several levels.
    width
        ``"column"`` or ``"page"`` of a paper in two columns; by default the page, or what the user's style says.

    Examples
    --------
    >>> from caet_opt.presenting.figures.plan import plan_figure
    >>> model = BanditModel("bernoulli", [0.5, 0.3])
    >>> plans = [plan(model, "best-arm", delta=delta, runs=20) for delta in (0.1, 0.05, 0.01)]
    >>> plan_figure(plans).savefig("plan.pdf")
    """
    if not plans:
        raise InputError("there is no plan to draw")
    levels = [one.experiment.parameters.log_inv_delta for one in plans]
    canvas, ((axis,),) = make_panels([1], width)
    low, median, high = (
        [float("nan") if (cost := one.quantiles[share]) is None else cost for one in plans]
        for share in ("0.1", "0.5", "0.9")
    )
    draw_mean(axis, levels, median, low, high, 0, label=f"{plans[0].cheapest.policy}, median")
    fine, time = fine_levels(levels), plans[0].characteristic_time
    if plans[0].lower_bound is not None:
        axis.plot(fine, [time * bound_per_time(level) for level in fine], label="lower bound", **find_theory("lower"))
    predicted = [float("nan") if one.predicted_cost is None else one.predicted_cost for one in plans]
    axis.plot(levels, predicted, label="predicted", **find_theory("upper"))
    for budget in {one.budget for one in plans if one.budget is not None}:
        axis.axhline(budget, **find_theory("solid"), label="budget")
    scale_levels(axis, levels)
    axis.set_ylim(bottom=0)
    axis.set_ylabel("cost")
    axis.set_xlabel(say_scale(axis, LEVEL, "x"))
    draw_legend(canvas, [r"band: $10$ and $90\%$ quantiles"])
    found: Figure = canvas
    return found
