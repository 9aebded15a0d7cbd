"""Draw the pictures of README and of the site's first page: python docs/picture.py"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from caet_opt import BanditModel, LiveExperiment, curve_figure, plan, trace_curve
from caet_opt.presenting.figures.plan import plan_figure
from caet_opt.presenting.figures.sheet import draw_legend, make_panels
from caet_opt.presenting.figures.style import find_look, find_theory, styled

PICTURES = Path(__file__).parent / "pictures"

#: Success rates of the experiment that is drawn: the first is the control.
RATES = {"old": 0.10, "b": 0.14, "c": 0.12}


def draw_curve() -> Figure:
    """T* of three arms while the mean of the last one moves."""
    model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    return curve_figure(trace_curve(model, "ranking", "mean:2", 0, 2.5, points=41))


def draw_plan() -> Figure:
    """What an A/B test will cost, against delta."""
    model, levels = BanditModel("bernoulli", [0.30, 0.24]), (0.2, 0.1, 0.05, 0.02, 0.01)
    return plan_figure([plan(model, "best-arm", delta=delta, budget=4000, runs=200) for delta in levels])


@styled
def draw_live() -> Figure:
    """The evidence of an experiment that is fed with counts, a thousand users a day: one statement is settled long
    before the other."""
    rng = np.random.default_rng(1)
    asked = {"arms": list(RATES), "delta": 0.05}
    with (
        TemporaryDirectory() as folder,
        LiveExperiment.start(f"{folder}/shop.caet", "control:old", "bernoulli", **asked) as experiment,
    ):
        for _ in range(14):
            experiment.record_counts([(name, int(rng.binomial(333, rate)), 333) for name, rate in RATES.items()])
        history = experiment.history()
    canvas, ((axis,),) = make_panels([1], height=2.1)
    moments = history["moments"]
    axis.axhline(moments[0]["needed"][0], **find_theory("lower"), label="settled above this line")
    for which, name in enumerate(history["names"]):
        evidence = [max(moment["evidence"][which], 0.0) for moment in moments]
        axis.plot(
            [moment["outcome"] for moment in moments], evidence, **find_look(which), label=name, gid=f"curve {which}"
        )
    axis.set_xlabel("users so far")
    axis.set_ylabel(r"evidence $\log E$")
    draw_legend(canvas)
    found: Figure = canvas
    return found


if __name__ == "__main__":
    for name, draw in (("curve", draw_curve), ("plan", draw_plan), ("live", draw_live)):
        figure = draw()
        with mpl.rc_context({"svg.hashsalt": "caet-opt"}):  # the same bytes every time
            figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None}, facecolor="white")
