"""The paper's policy."""

from caet_opt.exploring.policies.tracking import TrackingPolicy


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
