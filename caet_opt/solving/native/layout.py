"""How the pairs of a task sit in a model, and the order in which their arms are eliminated; made once per pattern."""

from caet_opt.bandits.families import Family
from caet_opt.bandits.tasks import Pair
from caet_opt.solving.native.elimination import columns, integers, plan_elimination
from caet_opt.solving.native.instance import Layout
from caet_opt.solving.native.records import Plan
from caet_opt.solving.problem import Shape, arrange
from caet_opt.solving.programs.cache import cached_program

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
