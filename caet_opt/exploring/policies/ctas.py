"""Cost-aware Track-and-Stop by shares of the money."""

from caet_opt.exploring.policies.tracking import TrackingPolicy


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
