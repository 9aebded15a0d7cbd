"""Where several answers may be right: when the one that is followed is chosen anew, and whether another is settled, in
the subset of Python that numba compiles (docs/mathematics/several_answers.md)."""

from caet_opt.bandits.tasks.pairs import EITHER, MIRRORED, STARS, write_column
from caet_opt.kernels.ledger import CHOSEN, LOOKED, ROUND, Seen, evidence_of, is_stated, statement_exceeds, write_second
from caet_opt.kernels.thresholds import E_PROCESS

#: The answer that is followed is chosen anew once the rounds have grown by this factor, and by the number of arms.
CHOICE_GROWTH = 1.1

#: Other answers are looked at, whether they are settled, once the rounds have grown by this factor.
LOOK_GROWTH = 1.01


def choice_is_due(view: Seen) -> bool:
    """Whether the answer that is followed has to be chosen anew."""
    return bool(view.setting.several and view.clock[ROUND] >= CHOICE_GROWTH * view.clock[CHOSEN] + view.arms.shape[1])


def look_is_due(view: Seen) -> bool:
    """Whether it is time to look at other answers than the one that is followed."""
    return bool(view.setting.several and view.clock[ROUND] >= LOOK_GROWTH * view.clock[LOOKED])


def find_settled(view: Seen) -> bool:
    """Whether some answer is settled; then it is the one that is followed.

    Best arm, groups and comparisons: every answer is looked at, as each group and each comparison is settled by itself.
    For other tasks others are looked at where the one that is followed is chosen, in Python.
    """
    view.clock[LOOKED] = view.clock[ROUND]
    shape = view.shape % MIRRORED if view.shape >= 0 else -1
    if not is_stated(view) or shape not in (STARS, EITHER):
        return False
    for writes in (False, True):  # nothing is changed unless all are settled
        if not (settle_stars(view, writes) if shape == STARS else settle_each(view, writes)):
            return False
    return True


def settle_stars(view: Seen, writes: bool) -> bool:
    """Whether each group has an arm whose statements are all settled; written as its centre or left as it was."""
    members, start, p = view.members, 0, 0
    winner = 1 if view.shape >= MIRRORED else 0
    while start < members.size:
        end, before, found = start + 1 + int(members[start]), view.pairs[winner, p], False
        for place in range(start + 1, end):
            if not found:
                write_star(view, start, p, members[place])
                found = all_exceed(view, p, p + end - start - 2)
        if not (found and writes):
            write_star(view, start, p, before)
        if not found:
            return False
        start, p = end, p + end - start - 2
    return True


def write_star(view: Seen, start: int, p: int, centre: int) -> None:
    """Make an arm the winner of its group, whose members begin after ``start``, in the columns from p on."""
    winner = 1 if view.shape >= MIRRORED else 0
    for place in range(start + 1, start + 1 + int(view.members[start])):
        if view.members[place] != centre:
            view.pairs[winner, p], view.pairs[1 - winner, p] = centre, view.members[place]
            p += 1


def settle_each(view: Seen, writes: bool) -> bool:
    """Whether one side of each comparison is settled; written or left as it was."""
    many = view.numbers.shape[1]
    for p in range(many):
        before, found = bool(view.pairs[0, p] != view.members[2 * p]), False
        for reverse in (False, True):
            if not found:
                write_column(view.members, view.numbers, p, reverse, view.pairs, view.margins)
                found = all_exceed(view, p, p + 1)
        if not (found and writes):
            write_column(view.members, view.numbers, p, before, view.pairs, view.margins)
        elif view.pairs.shape[1] > many:
            write_second(view.pairs, view.margins, p, many + p)
        if not found:
            return False
    return True


def all_exceed(view: Seen, first: int, end: int) -> bool:
    """Whether the evidence of each column in a range exceeds the threshold."""
    setting, arms, now, pairs, margins = view.setting, view.arms, view.clock[ROUND], view.pairs, view.margins
    for everywhere in (False, True):
        if everywhere and setting.threshold != E_PROCESS:
            break
        for p in range(first, end):
            evidence = evidence_of(setting, arms, pairs, margins, p)
            if not evidence > setting.level:
                return False
            if not statement_exceeds(setting, arms, now, pairs, margins, p, evidence, everywhere):
                return False
    return True
