"""The order in which the arms of a graph of pairs are eliminated, and both packed into one vector."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caet_opt.bandits.families.numerics import Integers
from caet_opt.bandits.tasks import Pair
from caet_opt.kernels.instance import Layout
from caet_opt.kernels.records import COLUMN_ROWS, Plan

Neighbours = list[dict[int, int]]


def nothing_to_lay_out(pairs: Integers) -> tuple[Layout, Plan]:
    """The layout of pairs whose arms are all free, or of which that is not known: no arm, no edge."""
    nobody = integers([])
    layout = Layout(nobody, columns([], 2), nobody, columns([], 3), pairs, np.zeros((COLUMN_ROWS, 0)))
    return layout, plan_elimination(2, ((0, 1),))


def pack_shape(layout: Layout, plan: Plan) -> Integers:
    """Layout, without its margins, and plan as one vector: where each array starts and the last one ends, the two
    numbers, the arrays."""
    numbers = [plan.peeled, plan.parts]
    arrays = [*layout[:-1], *(value for value in plan if isinstance(value, np.ndarray))]
    ends = np.cumsum([0, *(array.size for array in arrays)]) + len(arrays) + 1 + len(numbers)
    return integers(np.concatenate([ends, numbers, *map(np.ravel, arrays)]))


def plan_elimination(arms: int, edges: tuple[Pair, ...]) -> Plan:
    """Peel trees, then split what has cycles into an independent set and a core as small as is easily found.

    Arms with several edges between them, which are eliminated one edge at a time elsewhere, are in the core.
    """
    neighbours: Neighbours = [{} for _ in range(arms)]
    several: set[int] = set()
    for index, (a, b) in enumerate(edges):
        if b in neighbours[a]:
            several |= {a, b}
        neighbours[a][b] = neighbours[b][a] = index
    part = label_components(neighbours)
    order, parent, parent_edge = peel(neighbours, several)
    peeled = set(order)
    remaining = [arm for arm in range(arms) if arm not in peeled]
    spokes = sorted(independent_set(remaining, neighbours, several))
    cores = sorted(set(remaining) - set(spokes))
    position = {arm: index for index, arm in enumerate(cores)}
    spoke_links = [(edge, position[other]) for arm in spokes for other, edge in neighbours[arm].items()]
    core_links = [(e, position[a], position[b]) for e, (a, b) in enumerate(edges) if a in position and b in position]
    return Plan(
        peeled=len(order),
        trees=integers([order + [-1] * (arms - len(order)), parent, parent_edge]),
        spokes=integers(spokes),
        spoke_start=integers(np.cumsum([0] + [len(neighbours[arm]) for arm in spokes])),
        spoke_links=columns(spoke_links, 2),
        cores=integers(cores),
        core_links=columns(core_links, 3),
        parts=max(part) + 1,
        part=integers([part[a] for a, _ in edges] + part),
    )


def integers(values: Any) -> Integers:
    """The values as the integers that the kernel indexes with."""
    return np.ascontiguousarray(values, dtype=np.int64)


def columns(entries: Sequence[tuple[int, ...]], height: int) -> Integers:
    """Tuples as the columns of a matrix."""
    return integers(np.array(entries, dtype=np.int64).reshape(-1, height).T)


def label_components(neighbours: Neighbours) -> list[int]:
    """Number the connected components in the order of their first arm."""
    part = [-1] * len(neighbours)
    count = 0
    for start in range(len(neighbours)):
        if part[start] >= 0:
            continue
        part[start], waiting = count, [start]
        for arm in waiting:
            for other in neighbours[arm]:
                if part[other] < 0:
                    part[other] = count
                    waiting.append(other)
        count += 1
    return part


def peel(neighbours: Neighbours, kept: set[int]) -> tuple[list[int], list[int], list[int]]:
    """Remove arms with at most one neighbour, but for those to be kept, until none is left; ``neighbours`` keeps the
    rest."""
    order: list[int] = []
    parent, parent_edge = [-1] * len(neighbours), [-1] * len(neighbours)
    waiting = [arm for arm, near in enumerate(neighbours) if len(near) <= 1 and arm not in kept]
    queued = set(waiting)
    for arm in waiting:
        order.append(arm)
        for other, edge in neighbours[arm].items():
            parent[arm], parent_edge[arm] = other, edge
            del neighbours[other][arm]
            if len(neighbours[other]) <= 1 and other not in queued and other not in kept:
                queued.add(other)
                waiting.append(other)
        neighbours[arm] = {}
    return order, parent, parent_edge


def independent_set(arms: list[int], neighbours: Neighbours, blocked: set[int]) -> set[int]:
    """Arms without an edge between them, none of them blocked, chosen greedily by the fewest neighbours."""
    chosen: set[int] = set()
    blocked = set(blocked)
    for arm in sorted(arms, key=lambda arm: (len(neighbours[arm]), arm)):
        if arm not in blocked:
            chosen.add(arm)
            blocked.update(neighbours[arm])
    return chosen
