"""Racing with the evidence of pairs."""

from caet_opt.exploring.policies.elimination import Elimination
from caet_opt.kernels.choosing import best_survivor, is_beaten, lap_is_over, next_survivor, worst_survivor
from caet_opt.kernels.ledger import MEMORY, Seen, total_count


class ChernoffRacing(Elimination):
    """All survivors in turn; after each lap the worst is dropped when Z of (best, worst) exceeds the threshold.

    While several arms survive, each has the same number of pulls. Source: Garivier and Kaufmann, COLT 2016.
    """

    name = "chernoff-racing"
    about = "survivors in turn; drops the worst by Z (Garivier, Kaufmann 2016)"

    @staticmethod
    def choose(view: Seen) -> int:
        """The next survivor of the lap."""
        return next_survivor(view.arms)

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """Drop the worst survivor at the end of a lap if the best one beats it."""
        if lap_is_over(view.arms):
            best, worst = best_survivor(view.arms), worst_survivor(view.arms)
            if best != worst and is_beaten(view, total_count(view.arms), best, worst):
                view.arms[MEMORY, worst] = 1.0
