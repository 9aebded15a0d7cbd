"""The short way from a model to its answer, for compiled code and many calls."""

from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families import Family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair
from caet_opt.solving.native.compiled import FAMILY_CODES, given_model, loaded_kernel
from caet_opt.solving.native.elimination import columns, integers, plan_elimination
from caet_opt.solving.native.instance import IRREGULAR, Layout
from caet_opt.solving.native.records import Plan
from caet_opt.solving.problem import Shape, arrange
from caet_opt.solving.programs.cache import cached_program


class QuickAnswer(NamedTuple):
    """Effort per arm, weight per pair, iterations, and what `native.bounds.certify_pairs` says of them."""

    effort: Array
    weights: Array
    iterations: int
    value: float
    lower: float
    upper: float


Pattern = tuple[type[Family], tuple[Pair, ...], tuple[bool, ...]]


def lay_out(pattern: Pattern) -> tuple[Layout, Plan] | None:
    """Layout of the pairs and plan of their shape, given which arms cost something; None when none does."""
    family, pairs, costly = pattern
    found = arrange(pairs, costly)
    if not found.labels:
        return None
    layout = Layout(
        integers(found.labels),
        columns(found.edges, 2),
        integers(found.edge_pairs),
        columns(found.anchors, 3),
        columns(pairs, 2),
    )
    anchored = tuple(sorted({arm for arm, _, _ in found.anchors}))
    return layout, cached_program("native", Shape(family, len(found.labels), found.edges, anchored), build_plan)


def build_plan(shape: Shape) -> Plan:
    """The elimination plan of a shape."""
    return plan_elimination(shape.arms, shape.edges)


def solve_quickly(
    model: BanditModel,
    pairs: tuple[Pair, ...],
    tolerance: float,
    target: float,
    limit: int,
    start: tuple[Array, Array] | None,
) -> QuickAnswer | None:
    """The answer by one compiled call; None when this takes the general path.

    That is so while nothing is compiled, for a user's own family, and for ties and infinite divergences.
    """
    kernel, code = loaded_kernel(), FAMILY_CODES.get(type(model.family))
    if kernel is None or code is None:
        return None
    costly = tuple([cost > 0 for cost in model.costs])
    shape = cached_program("native layout", (type(model.family), pairs, costly), lay_out)
    if shape is None:
        return None
    effort = np.zeros(len(model.means)) if start is None else start[0].copy()
    weights = np.zeros(len(pairs)) if start is None else start[1].copy()
    if effort.shape != (len(model.means),) or weights.shape != (len(pairs),):
        raise ValueError(f"a start of {effort.shape} efforts and {weights.shape} weights is for another problem")
    status, *found = kernel["solve_instance"](
        given_model(model), *shape, effort, weights, start is not None, tolerance, target, limit
    )
    return None if status == IRREGULAR else QuickAnswer(effort, weights, *found)
