"""Which answers are not excluded yet, at every moment: what an experiment says that ends before it has an answer."""

from collections.abc import Hashable
from dataclasses import replace
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.tasks import Statement
from caet_opt.bandits.tasks.statements import judge as judge_statement
from caet_opt.exploring.policies.base import Setup
from caet_opt.exploring.state import State

#: More answers are not listed one by one; what is known of statements says which of them are left.
MOST_ANSWERS = 1000

#: More statements would take seconds: then those of the leading answer alone are judged, which excludes fewer answers.
MOST_JUDGED = 5000


class NotExcluded(NamedTuple):
    """What the observations leave open.

    Attributes
    ----------
    answers : those that are not excluded; None where there are more than a thousand answers to begin with, or if a task
        of your own does not list them
    established : the statements that exclude every answer which asserts the reverse

    Examples
    --------
    >>> from caet_opt import Explorer
    >>> explorer = Explorer.start("best-arm", "gaussian", arms=3, delta=0.05, policy="uniform")
    >>> for round in range(30):
    ...     explorer.observe(explorer.next_arm(), [1.0, 0.9, -1.5][explorer.next_arm()])
    >>> left = explorer.not_excluded
    >>> left.answers, [str(statement) for statement in left.established]
    ((0, 1), ['0 > 2', '1 > 2'])
    """

    answers: tuple[Hashable, ...] | None
    established: tuple[Statement, ...]


def find_not_excluded(setup: Setup, state: State) -> NotExcluded:
    """An answer is excluded when the reverse of one of its statements has more evidence than the threshold with R' in
    place of R, the largest number of statements of one answer.

    **A right answer is excluded with probability at most delta, at all moments together.** Each of its statements is
    true, so that the reverse is not, and the evidence of that ever exceeds the threshold with probability at most
    delta / R'; there are at most R' of them. This is for any sampling rule, and wherever the threshold is proven. The
    declared answer is right with probability 1 - delta as well, by R; both hold together with 1 - delta where R = R',
    and with 1 - 2 delta in any case.
    """
    every = setup.task.list_answers(setup.arms)
    listed = [] if every is None else list(islice(every, MOST_ANSWERS + 1))
    if not 0 < len(listed) <= MOST_ANSWERS:
        return NotExcluded(None, list_established(setup, state, None))
    asserted = {answer: setup.task.answer_statements(answer, setup.arms) for answer in listed}
    wanted = {statement: None for statements in asserted.values() for statement in statements}
    established = list_established(setup, state, list(wanted))
    reverse = {statement.reverse for statement in established}
    left = (one for one, statements in asserted.items() if reverse.isdisjoint(statements))
    return NotExcluded(tuple(left), established)


def list_established(setup: Setup, state: State, wanted: list[Statement] | None) -> tuple[Statement, ...]:
    """The statements with more evidence than the threshold for R' of them, of those that are wanted and their reverses;
    by default the order of any two arms, and what the answer for the present means asserts."""
    seen = {arm for arm, count in enumerate(state.counts) if count > 0}
    means = state.means()
    if (len(seen) * (len(seen) - 1) // 2 if wanted is None else len(wanted)) > MOST_JUDGED:
        wanted = leading(setup, means, seen)
    elif wanted is None:
        stated = [statement for statement in leading(setup, means, seen) if not statement.is_plain]
        wanted = [*(Statement(*pair) for pair in combinations(sorted(seen), 2)), *stated]
    either = [side for one in wanted if seen.issuperset(one.arms) for side in (one, one.reverse)]
    told = means.tolist()
    statements = tuple(sorted({side for side in either if judge_statement(side, told) > 0}, key=order_of))
    if not statements:
        return ()
    most = max(1, setup.task.count_statements(setup.arms))
    judge = replace(setup, threshold=replace(setup.threshold, pairs=most))
    evidence = judge.evidence(state, statements, means)
    needed = judge.needed(state, statements, means, evidence)
    return tuple(statements[which] for which in np.flatnonzero(evidence > needed).tolist())


def leading(setup: Setup, means: Array, seen: set[int]) -> list[Statement]:
    """What the answer for the present means asserts; nothing while some arm has no outcome."""
    return list(setup.task.statements(means.tolist())) if len(seen) == setup.arms else []


def order_of(statement: Statement) -> tuple[tuple[int, ...], Statement]:
    """By the arms that a statement is about, the lower number first."""
    return tuple(sorted(statement.arms)), statement._replace(
        winner=-1 if statement.winner is None else statement.winner,
        loser=-1 if statement.loser is None else statement.loser,
    )
