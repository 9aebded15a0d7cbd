"""Track-and-Stop, blind to costs."""

from caet_opt.exploring.policies.tracking import TrackingPolicy


class TrackAndStop(TrackingPolicy):
    """C- or D-tracking of u* of the empirical model with every cost at one: what pulls cost is not looked at.

    With unit costs it is CAET. Its pulls tend to the proportions that are best when every arm costs the same.
    Source: Garivier and Kaufmann, COLT 2016.
    """

    name = "track-and-stop"
    about = "the same for unit costs: blind to what pulls cost (Garivier, Kaufmann 2016)"
    blind = True
