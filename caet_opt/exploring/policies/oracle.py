"""The policy that knows the truth."""

from math import sqrt

from caet_opt.errors import InputError
from caet_opt.exploring.policies.base import Setup
from caet_opt.exploring.policies.index import IndexPolicy
from caet_opt.exploring.prediction import find_target
from caet_opt.kernels import ledger
from caet_opt.kernels.aiming import next_arm, project_into
from caet_opt.kernels.ledger import GIVEN, MEMORY, PROJECTED, ROUND, TARGET, Seen


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
