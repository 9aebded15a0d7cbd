"""How much work a function does, in calls: the same number on every machine and under every load, unlike a time."""

from cProfile import Profile


def count_calls(function, *args):
    """What a function returns, and how many functions, of Python or of C, were called on the way."""
    profile = Profile()
    returned = profile.runcall(function, *args)
    return returned, sum(entry.callcount for entry in profile.getstats())
