"""How the pairs of a task sit in a model, and the order in which their arms are eliminated; made once per pattern."""

from caet_opt.bandits.families import Family
from caet_opt.bandits.tasks import Pair
from caet_opt.kernels.elimination_order import columns, integers, plan_elimination
from caet_opt.kernels.instance import Layout
from caet_opt.kernels.records import Plan
from caet_opt.solving.problem import Shape, arrange
from caet_opt.solving.programs.cache import cached_program

Pattern = tuple[type[Family], tuple[Pair, ...], tuple[bool, ...]]


def lay_out(pattern: Pattern) -> tuple[Layout, Plan] | None:
    """Layout of the pairs and plan of their shape, given which arms cost something; None when none does."""
    family, pairs, costly = pattern
    found = arrange(pairs, costly)
    if not found.labels:
        return None
    edges, anchors = columns(found.edges, 2), columns(found.anchors, 3)
    layout = Layout(integers(found.labels), edges, integers(found.edge_pairs), anchors, columns(pairs, 2))
    anchored = tuple(sorted({arm for arm, _, _ in found.anchors}))
    return layout, cached_program("native", Shape(family, len(found.labels), found.edges, anchored), build_plan)


def build_plan(shape: Shape) -> Plan:
    """The elimination plan of a shape."""
    return plan_elimination(shape.arms, shape.edges)
