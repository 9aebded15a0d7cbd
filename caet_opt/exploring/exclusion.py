"""Which answers are not excluded yet, at every moment: what an experiment says that ends before it has an answer."""

from collections.abc import Hashable
from dataclasses import replace
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.tasks import Pair
from caet_opt.exploring.policies.base import Setup
from caet_opt.exploring.state import State

#: More answers are not listed one by one; what is known of pairs says which of them are left.
MOST_ANSWERS = 1000

#: More pairs would take seconds: then those of the leading answer alone are judged, which excludes fewer answers.
MOST_JUDGED = 5000


class NotExcluded(NamedTuple):
    """What the observations leave open.

    Attributes
    ----------
    answers : those that are not excluded; None where there are more than a thousand answers to begin with, or a task of
        one's own does not list them
    established : the pairs (a, b), "a beats b", that exclude every answer which asserts the reverse

    Examples
    --------
    >>> from caet_opt import Explorer
    >>> explorer = Explorer.start("best-arm", "gaussian", arms=3, delta=0.05, policy="uniform")
    >>> for round in range(30):
    ...     explorer.observe(explorer.next_arm(), [1.0, 0.9, -1.5][explorer.next_arm()])
    >>> explorer.not_excluded
    NotExcluded(answers=(0, 1), established=((0, 2), (1, 2)))
    """

    answers: tuple[Hashable, ...] | None
    established: tuple[Pair, ...]


def find_not_excluded(setup: Setup, state: State) -> NotExcluded:
    """An answer is excluded when the reverse of one of its pairs has more evidence than the threshold with R' in place
    of R, the largest number of pairs of one answer.

    **A right answer is excluded with probability at most delta, at all moments together.** Each of its pairs is rightly
    ordered, so that the reverse is not, and the evidence of that ever exceeds the threshold with probability at most
    delta / R'; there are at most R' of them. This is for any sampling rule, and wherever the threshold is proven. The
    declared answer is right with probability 1 - delta as well, by R; both hold together with 1 - delta where R = R',
    and with 1 - 2 delta in any case.
    """
    every = setup.task.list_answers(setup.arms)
    listed = [] if every is None else list(islice(every, MOST_ANSWERS + 1))
    if not 0 < len(listed) <= MOST_ANSWERS:
        return NotExcluded(None, list_established(setup, state, None))
    asserted = {answer: setup.task.answer_pairs(answer, setup.arms) for answer in listed}
    established = list_established(setup, state, {frozenset(pair) for pairs in asserted.values() for pair in pairs})
    reverse = {(b, a) for a, b in established}
    return NotExcluded(tuple(one for one, pairs in asserted.items() if reverse.isdisjoint(pairs)), established)


def list_established(setup: Setup, state: State, wanted: set[frozenset[int]] | None) -> tuple[Pair, ...]:
    """The pairs, of those that are wanted, with more evidence than the threshold for R' pairs."""
    seen = {arm for arm, count in enumerate(state.counts) if count > 0}
    means = state.means()
    if (len(seen) * (len(seen) - 1) // 2 if wanted is None else len(wanted)) > MOST_JUDGED:
        leading = setup.task.pairs(means.tolist()) if len(seen) == setup.arms else ()
        wanted = {frozenset(pair) for pair in leading}
    compared = (
        combinations(sorted(seen), 2) if wanted is None else (tuple(sorted(pair)) for pair in wanted if pair <= seen)
    )
    pairs = tuple((a, b) if means[a] > means[b] else (b, a) for a, b in sorted(compared) if means[a] != means[b])
    if not pairs:
        return ()
    most = max(1, setup.task.count_statements(setup.arms))
    judge = replace(setup, threshold=replace(setup.threshold, pairs=most))
    evidence = judge.evidence(state, pairs, means)
    needed = judge.needed(state, pairs, means, evidence)
    return tuple(pairs[which] for which in np.flatnonzero(evidence > needed).tolist())
