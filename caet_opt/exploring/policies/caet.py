"""CAET, and the policies that differ from it in what they track."""

from caet_opt.exploring.policies.tracking import TrackingPolicy


class CostAware(TrackingPolicy):
    """CAET: D- or C-tracking of u_alpha of the empirical model, solved exactly in every round.

    ``u_alpha`` gives the free arms alpha of the pulls and the costly ones ``(1 - alpha) u*``, with u* the sampling
    proportions that reach T* (`caet_opt.kernels.aiming`). Its cost over log(1/delta) tends to T* as delta tends to 0:
    with C-tracking as the paper proves, with D-tracking, the default, since the optimal effort is unique, if costs are
    known, observed, or gaps to a best mean that only one arm has (docs/mathematics/d_tracking.md).
    Source: the paper.
    """

    name = "caet"
    about = "tracks the optimal shares of the pulls, by the means estimated so far (the paper)"
    predictable = True
    optimal = True
    takes_limits = True


class TrackAndStop(TrackingPolicy):
    """C- or D-tracking of u* of the empirical model with every cost at one: what pulls cost is not looked at.

    With unit costs it is CAET. Its pulls tend to the proportions that are best when every arm costs the same.
    Source: Garivier and Kaufmann, COLT 2016.
    """

    name = "track-and-stop"
    about = "like caet, but as if every pull cost 1 (Garivier, Kaufmann 2016)"
    blind = True


class Ctas(TrackingPolicy):
    """The least pulled arm while it has fewer than sqrt(t) pulls, else the arm whose share of the money lags most.

        next = argmax over a of  omega*_a - c_a N_a / J,     J = sum over b of c_b N_b

    with omega* the cost proportions of the empirical model, solved exactly in every round. Free arms of the support
    take the zero-cost share of the pulls. Its pulls tend to u*.
    Source: Kanarios, Zhang and Ying 2024 (CTAS), for best arm; here for every task.
    """

    name = "ctas"
    about = "like caet, but tracks shares of the money, not of the pulls (Kanarios, Zhang, Ying 2024)"
    by_money = True
    tracks = False
    optimal = True
