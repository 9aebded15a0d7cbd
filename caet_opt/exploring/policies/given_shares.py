"""Policies whose shares are given beforehand: equal pulls, equal money, or the best for the truth."""

from caet_opt.errors import InputError
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.prediction import find_target
from caet_opt.kernels import ledger
from caet_opt.kernels.aiming import exploration_floor, next_arm, project_into
from caet_opt.kernels.choosing import least_pulled, least_spent
from caet_opt.kernels.ledger import GIVEN, MEMORY, PROJECTED, ROUND, TARGET, Seen


class Uniform(IndexPolicy):
    """Every arm in turn: the least pulled. Its pulls tend to 1 / K."""

    name = "uniform"
    about = "pulls every arm in turn"

    @staticmethod
    def choose(view: Seen) -> int:
        """The arm with the fewest pulls."""
        return least_pulled(view.arms)


class EqualSpending(IndexPolicy):
    """The costly arm with the least ``c_a N_a``, while free arms take the zero-cost share of the pulls.

    Its pulls of costly arms tend to shares proportional to 1 / c_a.
    """

    name = "equal-spending"
    about = "spends the same amount on every arm that is not free"

    @staticmethod
    def choose(view: Seen) -> int:
        """A free arm when it is their turn, else the costly one with the least ``c_a N_a``."""
        return least_spent(view, False, -1)


class Oracle(IndexPolicy):
    """C- or D-tracking of u_alpha of the true model, with the exploration of CAET: the yardstick of what estimation
    costs. For simulations only, where the truth is known.

    Its cost over log(1/delta) tends to T*, and at any given delta it is not the cheapest: a policy that follows the
    empirical means pulls where evidence happens to be short, and one that knows the truth does not look
    (``analysis/published_policies.py``).
    """

    name = "oracle"
    about = "tracks the optimal shares of the pulls for the true means (simulations only)"
    predictable = True
    optimal = True
    takes_limits = True
    tracks = True
    needs_truth = True

    def make_setting(self) -> ledger.Conditions:
        setup = self.setup
        if setup.truth is None:
            raise InputError("policy 'oracle' knows the true model, so it is for simulations only; use 'caet'")
        tracking = ledger.CUMULATED if setup.parameters.tracking == "c" else ledger.PRESENT
        return setup.setting(tracking=tracking, given=find_target(setup.truth, setup.parameters))

    @staticmethod
    def choose(view: Seen) -> int:
        """The arm that lags most behind the target, cumulated or present."""
        for a in range(view.arms.shape[1]):
            view.arms[TARGET, a] = view.setting.numbers[GIVEN, a]
        return next_arm(view.setting, view.arms, view.clock[ROUND])

    @staticmethod
    def learn(view: Seen, arm: int) -> None:
        """Add the target, projected on the exploration floor ``(K^2 + t)^(-1/2) / 2``, to the cumulated one."""
        arms = view.arms
        project_into(view.setting.numbers[GIVEN], exploration_floor(arms.shape[1], view.clock[ROUND]), arms[PROJECTED])
        for a in range(arms.shape[1]):
            arms[MEMORY, a] += arms[PROJECTED, a]
