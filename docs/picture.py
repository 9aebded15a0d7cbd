"""Draw README's picture: python docs/picture.py"""

from pathlib import Path

import matplotlib as mpl

from caet_opt import BanditModel, curve_figure, trace_curve

if __name__ == "__main__":
    model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    figure = curve_figure(trace_curve(model, "ranking", "mean:2", 0, 2.5, points=41))
    with mpl.rc_context({"svg.hashsalt": "caet-opt"}):  # the same bytes every time
        figure.savefig(Path(__file__).parent / "pictures" / "curve.svg", metadata={"Date": None}, facecolor="white")
