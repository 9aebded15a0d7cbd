"""The version, where every room can read it."""

import re

__version__ = "0.6.0"

#: The first version whose runs are those of this one to the bit; what changes a run changes this, too. From 0.5.0 on
#: lazy targets follow the means where statements have levels or margins; cells with limits, which are met at ties from
#: 0.6.0 on, have other ids since then.
RESULTS_SINCE = "0.5.0"


def order(version: str) -> tuple[int, ...]:
    """The numbers of a version, by which versions are ordered; none for a text that is no version.

    >>> order("0.10.0") > order("0.9.1"), order("0.3.0.dev1"), order("unknown")
    (True, (0, 3, 0), ())
    """
    found = re.match(r"[0-9]{1,9}(\.[0-9]{1,9})*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def has_equal_results(version: str, now: str = __version__) -> bool:
    """Whether the runs of a version are those of the present one to the bit; of a newer one that is not known."""
    return version == now or order(RESULTS_SINCE) <= order(version) <= order(now)
