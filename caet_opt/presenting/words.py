"""Families and tasks in words, as people read them; the grammar is for what is typed."""

from collections.abc import Sequence

from caet_opt.bandits.families.base import NAMED_AFTER


def family_words(family: str) -> str:
    """A family of the grammar in words; one that is not of it as it is.

    >>> family_words("gaussian:1,2,0.5"), family_words("gaussian"), family_words("gamma:3")
    ('Gaussian, variances 1, 2, 0.5', 'Gaussian', 'gamma, shape 3')
    """
    name, _, given = family.partition(":")
    words = NAMED_AFTER.get(name, name)
    if not given:
        return words
    if name == "gamma":
        return f"{words}, shape {given}"
    if name == "gaussian":
        return f"{words}, variance{'s' if ',' in given else ''} {', '.join(given.split(','))}"
    return f"{words} {given}"


def task_words(task: str, arms: Sequence[str]) -> str:
    """A task of the grammar in few words, with the names of the arms; one that is not of it as it is.

    >>> arms = ["a", "b", "c", "d"]
    >>> [task_words(task, arms) for task in ("best-arm", "top-arms:2", "control:0")]
    ['best arm', 'best 2 arms', 'better than a']
    >>> [task_words(task, arms) for task in ("groups:0,1/2,3", "comparisons:0-1", "comparisons:0-1,2-3")]
    ['best of 2 groups', 'order of a and b', 'order of 2 pairs']
    """
    name, _, given = task.partition(":")
    if name == "top-arms":
        return f"best {given} arms"
    if name == "control":
        return f"better than {arms[int(given)]}"
    if name == "groups":
        return f"best of {len(given.split('/'))} groups"
    if name == "comparisons":
        pairs = [pair.split("-") for pair in given.split(",")]
        names = [arms[int(arm)] for arm in pairs[0]]
        return f"order of {' and '.join(names)}" if len(pairs) == 1 else f"order of {len(pairs)} pairs"
    return name.replace("-", " ") + (f" {given}" if given else "")
