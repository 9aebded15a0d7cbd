"""The statements of the answer for given means, in the subset of Python that numba compiles.

Statements are two arrays with a column each (`caet_opt.bandits.tasks.statements.encode`): ``pairs``, the winner and the
loser, -1 for none; ``margins``, the rows MARGIN, REST, RATIO and RATIO_REST of ``winner > ratio loser + margin``, where
each number is a double and a rest, which is what rounding to a double took away.

An answer of a shipped task has one of eight shapes; ``members`` says which arms take part in it:

    CHAIN        each arm beats the next (nothing)
    STARS        in each group one arm beats the others (the size of a group, its arms, the size of the next, ...)
    BIPARTITE    each of m arms beats each of the others (m)
    LISTED       each comparison has a winner, the first of its arms if they are equal (both arms of each comparison)
    STATED       each statement or its reverse holds, the statement if neither (winner and loser of each statement)
    CHEAPEST     up to the first statement that holds, the reverses of those before it (winner and loser of each)
    COMPLETE     each arm beats all that follow (nothing)
    EITHER       of each two statements that may hold both the one that holds by more (winner and loser of the first)

The answers of the first four, and COMPLETE, have no margins, or all the same: a task with a tolerance. For the others,
``numbers`` has a column for each statement: its margin and ratio with their rests, and those of its reverse, or of what
else may be said. A shape from MIRRORED on is one of the first four or COMPLETE, with lower means ahead of higher ones:
each statement is then turned around.
"""

from math import inf

from caet_opt.bandits.families.numerics import Array, Integers

CHAIN, STARS, BIPARTITE, LISTED, STATED, CHEAPEST, COMPLETE, EITHER = range(8)

MIRRORED = 8

#: Rows of ``margins``, and how many they are.
MARGIN, REST, RATIO, RATIO_REST, MARGIN_ROWS = range(5)

#: What rounding the means, and computing with them, can do to a difference, relative to its parts.
ROUNDING = 2.0**-51


def write_statements(
    shape: int, members: Integers, numbers: Array, means: Array, pairs: Integers, margins: Array
) -> None:
    """Replace the statements of the answer for some means by those for these, as `Task.statements` lists them.

    Shape, members and numbers are those of `Task.compiled_form`. The arrays may have more columns than there are
    statements: what is left says ``0 > 0 - 1``.
    """
    if shape >= MIRRORED:  # in place, as compiled code makes no arrays
        turn_around(means, pairs)
        write_pairs(shape - MIRRORED, members, means, pairs)
        turn_around(means, pairs)
    elif shape == STATED:
        for p in range(numbers.shape[1]):
            a, b = members[2 * p], members[2 * p + 1]
            reverse = surplus_of(means, a, b, numbers[MARGIN, p], numbers[RATIO, p]) < -1.0
            write_column(members, numbers, p, reverse, pairs, margins)
    elif shape == EITHER:
        for p in range(numbers.shape[1]):
            a, b = members[2 * p], members[2 * p + 1]
            middle = 0.5 * (numbers[MARGIN, p] - numbers[MARGIN + MARGIN_ROWS, p])
            write_column(members, numbers, p, surplus_of(means, a, b, middle, 1.0) < -1.0, pairs, margins)
    elif shape == CHEAPEST:
        write_cheapest(members, numbers, means, pairs, margins)
    else:
        write_pairs(shape, members, means, pairs)


def turn_around(means: Array, pairs: Integers) -> None:
    """Exchange winners and losers, and the signs of the means; done twice, all is as it was."""
    for a in range(means.size):
        means[a] = -means[a]
    for p in range(pairs.shape[1]):
        pairs[0, p], pairs[1, p] = pairs[1, p], pairs[0, p]


def write_cheapest(members: Integers, numbers: Array, means: Array, pairs: Integers, margins: Array) -> None:
    """The reverses of the statements before the first that holds, that one, and nothing after it."""
    found = False
    for p in range(pairs.shape[1]):
        if found or p >= numbers.shape[1]:
            pairs[0, p], pairs[1, p] = -1, -1
            margins[MARGIN, p], margins[REST, p], margins[RATIO, p], margins[RATIO_REST, p] = -1.0, 0.0, 1.0, 0.0
        else:
            a, b = members[2 * p], members[2 * p + 1]
            found = surplus_of(means, a, b, numbers[MARGIN, p], numbers[RATIO, p]) > 1.0
            write_column(members, numbers, p, not found, pairs, margins)


def write_column(members: Integers, numbers: Array, p: int, reverse: bool, pairs: Integers, margins: Array) -> None:
    """Write a listed statement, or its reverse."""
    pairs[0, p], pairs[1, p] = members[2 * p + int(reverse)], members[2 * p + 1 - int(reverse)]
    for row in range(MARGIN_ROWS):
        margins[row, p] = numbers[row + int(reverse) * MARGIN_ROWS, p]


def surplus_of(means: Array, a: int, b: int, margin: float, ratio: float) -> float:
    """`surplus` for two arms, of which one may be none, with mean 0."""
    return surplus(means[a] if a >= 0 else 0.0, means[b] if b >= 0 else 0.0, margin, ratio)


def surplus(x: float, y: float, margin: float, ratio: float) -> float:
    """``x - ratio y - margin`` in units of what rounding can do to it: beyond 1 it is above zero, within it is a tie.

    Without margin and ratio the order of two doubles is what it is, and the difference plus or minus infinity.
    """
    if margin == 0.0 and ratio == 1.0:
        return inf if x > y else (-inf if x < y else 0.0)
    scaled = ratio * y
    unit = (abs(x) * ROUNDING + abs(scaled) * ROUNDING) + abs(margin) * ROUNDING
    return ((x - scaled) - margin) / unit if unit > 0.0 else 0.0


def write_pairs(shape: int, members: Integers, means: Array, pairs: Integers) -> None:
    """Replace the pairs of the answer for some means, a column each, by those for these, as `Task.pairs` lists them.

    Shape and members are those of `Task.compiled_shape`. Little is done where little has changed.
    """
    if shape == CHAIN:
        sort_chain(means, pairs)
    elif shape == STARS:
        name_star_centres(members, means, pairs)
    elif shape == BIPARTITE:
        exchange_sides(members[0], means, pairs)
    elif shape == COMPLETE:
        sort_complete(means, pairs)
    else:
        for p in range(pairs.shape[1]):
            a, b = members[2 * p], members[2 * p + 1]
            pairs[0, p], pairs[1, p] = (a, b) if means[a] >= means[b] else (b, a)


def is_ahead(means: Array, a: int, b: int) -> bool:
    """Whether arm a comes before arm b from the best to the worst; equal means in the order of their numbers."""
    return means[a] > means[b] or (means[a] == means[b] and a < b)


def sort_chain(means: Array, pairs: Integers) -> None:
    """Insertion sort of the second row, with the arm that has no pair before it kept apart."""
    first = pairs[0, 0]
    for p in range(pairs.shape[1]):
        arm, place = pairs[1, p], p
        while place > 0 and is_ahead(means, arm, pairs[1, place - 1]):
            pairs[1, place] = pairs[1, place - 1]
            place -= 1
        if place == 0 and is_ahead(means, arm, first):
            first, arm = arm, first
        pairs[1, place] = arm
    pairs[0, 0] = first
    for p in range(1, pairs.shape[1]):
        pairs[0, p] = pairs[1, p - 1]


def sort_complete(means: Array, pairs: Integers) -> None:
    """Insertion sort of the arms, which are the first winner and the losers of its pairs, then each arm beside all that
    follow."""
    many, others = pairs.shape[1], 1
    while others * (others + 1) // 2 < many:
        others += 1
    first = pairs[0, 0]
    for p in range(others):
        arm, place = pairs[1, p], p
        while place > 0 and is_ahead(means, arm, pairs[1, place - 1]):
            pairs[1, place] = pairs[1, place - 1]
            place -= 1
        if place == 0 and is_ahead(means, arm, first):
            first, arm = arm, first
        pairs[1, place] = arm
    p = others
    for place in range(others):
        pairs[0, place] = first
        for later in range(place + 1, others):
            pairs[0, p], pairs[1, p] = pairs[1, place], pairs[1, later]
            p += 1


def name_star_centres(members: Integers, means: Array, pairs: Integers) -> None:
    """The best arm of each group beside each of the others in the order of the group."""
    start, p = 0, 0
    while start < members.size:
        end = start + 1 + members[start]
        best = members[start + 1]
        for place in range(start + 2, end):
            if is_ahead(means, members[place], best):
                best = members[place]
        for place in range(start + 1, end):
            if members[place] != best:
                pairs[0, p], pairs[1, p] = best, members[place]
                p += 1
        start = end


def exchange_sides(top: int, means: Array, pairs: Integers) -> None:
    """Exchange the worst arm of the upper side for the best of the lower one until all of the former are ahead.

    Both sides are in the order of their numbers: the arms of the upper one begin a block of pairs each, in which those
    of the lower one follow each other.
    """
    others = pairs.shape[1] // top
    exchanged = False
    while True:
        worst, best = 0, 0
        for place in range(1, top):
            if is_ahead(means, pairs[0, worst * others], pairs[0, place * others]):
                worst = place
        for place in range(1, others):
            if is_ahead(means, pairs[1, place], pairs[1, best]):
                best = place
        if is_ahead(means, pairs[0, worst * others], pairs[1, best]):
            break
        exchanged = True
        rising, falling = pairs[1, best], pairs[0, worst * others]
        put_in_order(pairs[0], others, top, worst, rising)
        put_in_order(pairs[1], 1, others, best, falling)
    if exchanged:
        for p in range(pairs.shape[1]):
            pairs[0, p], pairs[1, p] = pairs[0, p // others * others], pairs[1, p % others]


def put_in_order(row: Integers, step: int, size: int, place: int, arm: int) -> None:
    """Replace an entry of an ascending list, which is every so many entries of a row, so that it stays ascending."""
    while place > 0 and row[(place - 1) * step] > arm:
        row[place * step] = row[(place - 1) * step]
        place -= 1
    while place < size - 1 and row[(place + 1) * step] < arm:
        row[place * step] = row[(place + 1) * step]
        place += 1
    row[place * step] = arm


def pairs_hold(means: Array, pairs: Integers, arm: int) -> bool:
    """Whether each pair with this arm holds strictly, or each pair for arm -1.

    As long as every pair of an answer does, it is the answer: however ties between other arms are broken, the order
    that results has these pairs, and by Definition 1 an order has all pairs of one answer only. So after an observation
    of one arm it suffices to look at the pairs of that arm.
    """
    for p in range(pairs.shape[1]):
        a, b = pairs[0, p], pairs[1, p]
        if (arm < 0 or a == arm or b == arm) and not means[a] > means[b]:
            return False
    return True


def holds_clearly(means: Array, pairs: Integers, margins: Array, p: int, blur: float) -> bool:
    """Whether the statement of a column holds by more than ``blur``, what rounding may have done to two means, and by
    twice what it can do from there.

    Twice, so that a statement that holds here is one that `write_statements` writes, though the ratio of its reverse is
    rounded, too.
    """
    a, b, margin, ratio = pairs[0, p], pairs[1, p], margins[MARGIN, p], margins[RATIO, p]
    if not surplus_of(means, a, b, margin, ratio) > 2.0:
        return False
    if not blur > 0.0:
        return True
    x, y = means[a] if a >= 0 else 0.0, means[b] if b >= 0 else 0.0
    return bool((x - ratio * y) - margin > blur)


def statements_hold(means: Array, pairs: Integers, margins: Array, arm: int, blur: float) -> bool:
    """Whether each statement about this arm holds clearly, or each statement for arm -1.

    As with `pairs_hold`, the answer is then the one that has these statements.
    """
    for p in range(pairs.shape[1]):
        if (arm < 0 or pairs[0, p] == arm or pairs[1, p] == arm) and not holds_clearly(means, pairs, margins, p, blur):
            return False
    return True
