"""What a curve sweeps, one mean or one cost, and over which values."""

from math import isfinite
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.exact import exact
from caet_opt.bandits.model import GAPS, BanditModel
from caet_opt.errors import InputError, unknown_name
from caet_opt.simulating.pool import check_count

KINDS = ("mean", "cost")


class Sweep(NamedTuple):
    """What is swept: the mean or the cost of one arm."""

    kind: str
    arm: int

    def at(self, model: BanditModel, value: float) -> BanditModel:
        """The model with this mean or cost; costs that are gaps follow a mean, and are frozen around a cost."""
        means, costs = list(model.means), list(model.costs)
        (means if self.kind == "mean" else costs)[self.arm] = value
        follows = self.kind == "mean" and model.cost_rule == GAPS
        return BanditModel(model.family, means, GAPS if follows else costs, model.arms)


def parse_sweep(text: str, model: BanditModel) -> Sweep:
    """``mean:ARM`` or ``cost:ARM``, the arm by its name or its number."""
    kind, colon, arm = text.partition(":")
    if kind not in KINDS:
        raise InputError(f"{unknown_name('sweep', kind, KINDS)} (write mean:ARM or cost:ARM)")
    if not colon or not arm:
        raise InputError(f"sweep {text!r} names no arm; write {kind}:0, or the arm's name")
    if arm in model.arms:
        return Sweep(kind, model.arms.index(arm))
    if arm.isdecimal() and int(arm) < len(model.arms):
        return Sweep(kind, int(arm))
    raise InputError(f"sweep {text!r}: {unknown_name('arm', arm, model.arms)}")


def make_grid(start: float, stop: float, points: int, logarithmic: bool) -> list[float]:
    """Values from start to stop, both included; even ones are the doubles nearest to the decimals that they are, so
    that a sweep over 0.8 meets a mean of 0.8."""
    check_count(points, "points")
    if points < 2:
        raise InputError("a sweep needs at least 2 points, got 1")
    if not (isfinite(start) and isfinite(stop) and start < stop):
        raise InputError(f"a sweep runs from a number to a larger one, got {start:g} to {stop:g}")
    if logarithmic and start <= 0:
        raise InputError(f"a logarithmic sweep starts above zero, got {start:g}")
    if logarithmic:
        return [float(value) for value in np.geomspace(start, stop, points)]
    first, last = exact(start), exact(stop)
    return [float(first + (last - first) * step / (points - 1)) for step in range(points)]
