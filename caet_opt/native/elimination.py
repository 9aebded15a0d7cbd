"""In which order the arms are eliminated, decided by the graph of pairs alone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caet_opt.tasks import Pair

Integers = NDArray[np.int64]


class Plan(NamedTuple):
    """An elimination order in three parts.

    leaves : arms peeled off one by one, each with at most one neighbour left; all of them when there is no cycle
    parent, parent_edge : that neighbour and the edge to it, -1 for the last arm of a tree
    spokes : an independent set of what remains, eliminated together; for a bipartite graph its larger side
    spoke_start, spoke_edges, spoke_cores : the edges of each spoke and the positions in the core they lead to
    cores : the arms left for a dense factorisation
    core_edges, core_heads, core_tails : edges inside the core, by position
    component : the connected component of each arm; components share nothing but the sum of their times
    components : how many there are
    """

    leaves: Integers
    parent: Integers
    parent_edge: Integers
    spokes: Integers
    spoke_start: Integers
    spoke_edges: Integers
    spoke_cores: Integers
    cores: Integers
    core_edges: Integers
    core_heads: Integers
    core_tails: Integers
    component: Integers
    components: int


def plan_elimination(arms: int, edges: tuple[Pair, ...]) -> Plan:
    """Peel trees, then split what has cycles into an independent set and a core as small as is easily found."""
    neighbours: list[dict[int, int]] = [{} for _ in range(arms)]
    for index, (a, b) in enumerate(edges):
        neighbours[a][b] = neighbours[b][a] = index
    component = label_components(neighbours)
    leaves, parent, parent_edge = peel(neighbours)
    peeled = set(leaves)
    remaining = [arm for arm in range(arms) if arm not in peeled]
    spokes = independent_set(remaining, neighbours)
    cores = [arm for arm in remaining if arm not in spokes]
    position = {arm: index for index, arm in enumerate(cores)}
    inner = [(index, a, b) for index, (a, b) in enumerate(edges) if a in position and b in position]
    ordered = sorted(spokes)
    starts = np.cumsum([0] + [len(neighbours[arm]) for arm in ordered])
    spoke_links = [(edge, position[other]) for arm in ordered for other, edge in neighbours[arm].items()]
    return Plan(
        leaves=integers(leaves),
        parent=integers(parent),
        parent_edge=integers(parent_edge),
        spokes=integers(ordered),
        spoke_start=integers(starts),
        spoke_edges=integers([edge for edge, _ in spoke_links]),
        spoke_cores=integers([core for _, core in spoke_links]),
        cores=integers(cores),
        core_edges=integers([edge for edge, _, _ in inner]),
        core_heads=integers([position[a] for _, a, _ in inner]),
        core_tails=integers([position[b] for _, _, b in inner]),
        component=integers(component),
        components=max(component) + 1,
    )


def integers(values: Sequence[int] | Integers) -> Integers:
    """The values as the integers that the kernel indexes with."""
    return np.array(values, dtype=np.int64)


def label_components(neighbours: list[dict[int, int]]) -> list[int]:
    """Number the connected components in the order of their first arm."""
    component = [-1] * len(neighbours)
    count = 0
    for start in range(len(neighbours)):
        if component[start] >= 0:
            continue
        component[start], waiting = count, [start]
        for arm in waiting:
            for other in neighbours[arm]:
                if component[other] < 0:
                    component[other] = count
                    waiting.append(other)
        count += 1
    return component


def peel(neighbours: list[dict[int, int]]) -> tuple[list[int], list[int], list[int]]:
    """Remove arms with at most one neighbour until none is left; ``neighbours`` keeps the rest."""
    leaves: list[int] = []
    parent, parent_edge = [-1] * len(neighbours), [-1] * len(neighbours)
    waiting = [arm for arm, near in enumerate(neighbours) if len(near) <= 1]
    queued = set(waiting)
    for arm in waiting:
        leaves.append(arm)
        for other, edge in neighbours[arm].items():
            parent[arm], parent_edge[arm] = other, edge
            del neighbours[other][arm]
            if len(neighbours[other]) <= 1 and other not in queued:
                queued.add(other)
                waiting.append(other)
        neighbours[arm] = {}
    return leaves, parent, parent_edge


def independent_set(arms: list[int], neighbours: list[dict[int, int]]) -> set[int]:
    """Arms without an edge between them, chosen greedily by the fewest neighbours."""
    chosen: set[int] = set()
    blocked: set[int] = set()
    for arm in sorted(arms, key=lambda arm: (len(neighbours[arm]), arm)):
        if arm not in blocked:
            chosen.add(arm)
            blocked.update(neighbours[arm])
    return chosen
