"""CAET, and the policies that differ from it in what they track."""

from math import sqrt

from caet_opt.errors import InputError
from caet_opt.exploring.policies.base import Setup
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.policies.tracking import TrackingPolicy
from caet_opt.exploring.prediction import find_target
from caet_opt.kernels import ledger
from caet_opt.kernels.aiming import next_arm, project_into
from caet_opt.kernels.ledger import GIVEN, MEMORY, PROJECTED, ROUND, TARGET, Seen


class CostAware(TrackingPolicy):
    """CAET: C- or D-tracking of u_alpha of the empirical model, solved exactly in every round.

    ``u_alpha`` gives the free arms alpha of the pulls and the costly ones ``(1 - alpha) u*``, with u* the sampling
    proportions that reach T* (`caet_opt.kernels.aiming`). Its cost over log(1/delta) tends to T* as delta
    tends to 0.
    Source: the paper.
    """

    name = "caet"
    about = "tracks u_alpha of the empirical model (the paper)"
    predictable = True
    optimal = True


class TrackAndStop(TrackingPolicy):
    """C- or D-tracking of u* of the empirical model with every cost at one: what pulls cost is not looked at.

    With unit costs it is CAET. Its pulls tend to the proportions that are best when every arm costs the same.
    Source: Garivier and Kaufmann, COLT 2016.
    """

    name = "track-and-stop"
    about = "the same for unit costs: blind to what pulls cost (Garivier, Kaufmann 2016)"
    blind = True


class Ctas(TrackingPolicy):
    """The least pulled arm while it has fewer than sqrt(t) pulls, else the arm whose share of the money lags most.

        next = argmax over a of  omega*_a - c_a N_a / J,     J = sum over b of c_b N_b

    with omega* the cost proportions of the empirical model, solved exactly in every round. Free arms of the support
    take the zero-cost share of the pulls. Its pulls tend to u*.
    Source: Kanarios, Zhang and Ying 2024 (CTAS), for best arm; here for every task.
    """

    name = "ctas"
    about = "tracks omega*, the shares of the money (Kanarios, Zhang, Ying 2024)"
    by_money = True
    tracks = False
    optimal = True


class Oracle(IndexPolicy):
    """C- or D-tracking of u_alpha of the true model, with the exploration of CAET: the yardstick of what estimation
    costs. For simulations only, where the truth is known.

    Its cost over log(1/delta) tends to T*, and at any given delta it is not the cheapest: a policy that follows the
    empirical means pulls where evidence happens to be short, and one that knows the truth does not look
    (``analysis/published_policies.py``).
    """

    name = "oracle"
    about = "tracks u_alpha of the true model (simulations only)"
    predictable = True
    optimal = True
    tracks = True
    needs_truth = True

    def __init__(self, setup: Setup) -> None:
        if setup.truth is None:
            raise InputError("policy 'oracle' knows the true model, so it is for simulations only; use 'caet'")
        super().__init__(setup)

    def make_setting(self) -> ledger.Conditions:
        setup = self.setup
        assert setup.truth is not None
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
        floor = 0.5 / sqrt(arms.shape[1] * arms.shape[1] + view.clock[ROUND])
        project_into(view.setting.numbers[GIVEN], floor, arms[PROJECTED])
        for a in range(arms.shape[1]):
            arms[MEMORY, a] += arms[PROJECTED, a]
