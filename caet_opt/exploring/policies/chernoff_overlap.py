"""Elimination with pulls in proportion to 1 / sqrt(cost)."""

from math import inf, sqrt

from caet_opt.exploring.policies.elimination import Elimination
from caet_opt.kernels.choosing import best_survivor, free_turn, is_beaten
from caet_opt.kernels.ledger import COST, COUNT, MEMORY, Seen, total_count


class ChernoffOverlap(Elimination):
    """Among surviving arms the one with the least ``sqrt(c_a) N_a``; b is dropped when Z of (best, b) exceeds the
    threshold.

    Free survivors take the zero-cost share of the pulls. While several arms survive, their pulls are proportional to
    ``1 / sqrt(c_a)``. Source: Kanarios, Zhang and Ying 2024 (CO).
    """

    name = "chernoff-overlap"
    about = "the survivor with least sqrt(c) N; drops by Z (CO, Kanarios, Zhang, Ying 2024)"

    @staticmethod
    def choose(view: Seen) -> int:
        """A free survivor when it is their turn, else the costly one with the least ``sqrt(c_a) N_a``."""
        arms, best, least = view.arms, free_turn(view, MEMORY), inf
        if best >= 0:
            return best
        for a in range(arms.shape[1]):
            index = sqrt(arms[COST, a]) * arms[COUNT, a]
            if arms[COST, a] > 0.0 and arms[MEMORY, a] == 0.0 and index < least:
                best, least = a, index
        return best

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """Drop every survivor that the best one beats."""
        arms, best, now = view.arms, best_survivor(view.arms), total_count(view.arms)
        for b in range(arms.shape[1]):
            if b != best and arms[MEMORY, b] == 0.0 and is_beaten(view, now, best, b):
                arms[MEMORY, b] = 1.0
