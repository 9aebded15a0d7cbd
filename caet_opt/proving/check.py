"""Check a certificate of proven digits: python check.py cert.json

    T* = inf c.w   subject to   f_e(w) >= 1 for every statement e of the task's answer,   w > 0,
    f_e(w) = min over x of  w_a d(mu_a, x) / phi_a + w_b d(mu_b, y) / phi_b,  y = (x - margin) / ratio,

for the statement ``a > ratio b + margin``, d the divergence of the reward family, phi the dispersions. Where one side
is free of cost, or a level, there is no minimum: that side keeps its mean. A statement of two free sides constrains
nothing, nor does one whose other side is at infinite divergence or can be no mean.

An effort w and weights q >= 0 with points (x, y) at which a statement is false prove ``sum(q) <= T* <= c.w`` if
f_e(w) >= 1 for every e, and sum over points at a of q d(mu_a, x) / phi_a <= c_a at every costly arm a. For plain
statements, ratios and Gaussian margins the least x is a weighted mean. For other margins points are read, and f_e >= 1
is shown for the whole boundary by tangents at them (proofs: docs/mathematics/digits.md).

This file is meant to be read. It uses the standard library and python-flint, and nothing of the code that finds
certificates. All numbers are rational and exact; only divergences are rounded, into balls that contain them, until each
inequality is certain. Nothing that is written is believed or repeated: inputs, w, q and points are read, the whole
document is written anew from these, and must be equal to the one at hand. What this may cost is bounded by its size.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from hashlib import sha256
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq

FORMAT, VERSION = "caet-opt certificate", 2

#: Version 1 knew pairs, which are statements without margin and ratio, and wrote them in other words.
VERSIONS = (1, VERSION)

MOST_DIGITS = 1000

#: Bytes of a certificate, a few seconds for each million; those of proofs that take minutes have fewer.
MOST_BYTES = 16 * 10**6

#: A decimal or a fraction. Python converts 4300 digits at once, which are at most 14285 bits.
NUMBER = re.compile(r"-?[0-9]{1,4300}([./][0-9]{1,4300})?")
MOST_BITS = 14285

#: Bits of the balls, tried one after the other.
PRECISIONS = [2**k for k in range(7, 17)]

LISTS = ("means", "costs", "dispersions", "effort")

#: What stands between the parts of a task's argument, and between the arms of a part.
SEPARATORS = {"top-arms": ("/", ","), "groups": ("/", ","), "control": ("/", ","), "comparisons": (",", "-")}

#: A task that ends so takes the lower mean for the better one.
LOWER = " (lower is better)"

#: A number of a task, and what may follow the arms of a comparison or the control arm.
DECIMAL = r"[0-9]{1,4300}(?:\.[0-9]{1,4300})?(?:[eE][-+]?[0-9]{1,3})?"
COMPARED = {
    "control": re.compile(rf"([0-9]{{1,9}})(?:([-+*])({DECIMAL}))?"),
    "comparisons": re.compile(rf"([0-9]{{1,9}}-[0-9]{{1,9}})(?:([-+*])({DECIMAL}))?"),
}
LEVEL = re.compile(f"-?{DECIMAL}")

#: k, x, phi and m of a term k d(x, m) / phi.
Term = tuple[Fraction, Fraction, Fraction, Fraction]


class Statement(NamedTuple):
    """``winner > ratio loser + margin``; a side that is None counts as 0, so that ``a > level`` has the level for its
    margin, and ``a < level`` is ``None > a - level``."""

    winner: int | None
    loser: int | None
    margin: Fraction = Fraction(0)
    ratio: Fraction = Fraction(1)


#: Margin and ratio of a statement about the order of two arms.
PLAIN = (Fraction(0), Fraction(1))

Answers = tuple[tuple[Statement, ...], ...]

#: The means of winner and loser at which a statement is false; None for a side that is none.
Point = tuple[Fraction | None, Fraction | None]


class Rejected(Exception):  # noqa: N818
    """The certificate does not prove what it states; the message says why."""


class Work:
    """Steps of about 0.1 us that may still be spent: ten million, and thirty for each character of the document."""

    def __init__(self, characters: int) -> None:
        self.left = 10**7 + 30 * characters

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise Rejected("checking it takes more work than is given to a document of its size")


class Task(NamedTuple):
    """A task by its name and what follows the colon: arms in parts, the margin and ratio of each part, and a level; a
    custom one has answers instead. It may ask for the cheapest arm, and the lower mean may be the better one."""

    name: str
    parts: tuple[tuple[int, ...], ...] = ()
    numbers: tuple[tuple[Fraction, Fraction], ...] = ()
    level: Fraction = Fraction(0)
    answers: Answers = ()
    cheapest: bool = False
    lower: bool = False


class Claim(NamedTuple):
    """What is read of a certificate: its inputs and the points that prove it. Weights, and points by the mean of their
    winner, are lists by statement, the others are by arm."""

    version: int
    family: str
    task: Task
    digits: int
    work: Work
    means: list[Fraction]
    costs: list[Fraction]
    dispersions: list[Fraction]
    effort: list[Fraction]
    weights: list[list[Fraction]]
    points: list[list[Fraction | None]]


def check(document: dict[str, Any]) -> str:
    """The theorem that a certificate proves; `Rejected` when it does not."""
    try:
        content = {key: value for key, value in document.items() if key != "sha256"}
        size, found = len(canonical_json(content)), digest(content)
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise Rejected("it is not a JSON object") from error
    if document.get("sha256") != found:
        raise Rejected("its digest does not fit its content: something was changed")
    claim = read_claim(content, Work(size))
    check_inputs(claim)
    try:
        expected = prove(claim)
    except ValueError as error:
        raise Rejected("one of its numbers has more digits than can be written") from error
    for key in [*expected, *content]:
        if key not in expected or key not in content:
            raise Rejected(f"the key {quote(key)} {'has no place in it' if key in content else 'is missing'}")
        if canonical_json(content[key]) != canonical_json(expected[key]):
            raise Rejected(f"its {key!r} is not what its inputs, effort and weights give")
    return str(expected["statement" if claim.version == 1 else "theorem"])


# reading


def read_claim(content: dict[str, Any], work: Work) -> Claim:
    """The values behind the texts."""
    version, family, digits = content.get("version"), content.get("family"), content.get("digits")
    if type(version) is not int or version not in VERSIONS:
        raise Rejected(f"its version must be one of {', '.join(map(str, VERSIONS))}")
    if type(family) is not str or family not in DIVERGENCES:
        raise Rejected(f"the family {quote(family)} is unknown")
    if type(digits) is not int or not 1 <= digits <= MOST_DIGITS:
        raise Rejected(f"digits must be a whole number from 1 to {MOST_DIGITS}")
    for key in (*LISTS, "weights"):
        if type(content.get(key)) is not list:
            raise Rejected(f"its {key!r} must be a list")
    task = read_task(content.get("task"), content.get("answers"))
    if version == 1 and not is_plain(task):
        raise Rejected("version 1 knows neither levels nor margins")
    means, costs, dispersions, effort = ([number(item) for item in content[key]] for key in LISTS)
    weights = [[number(item)] for item in content["weights"]] if version == 1 else read_weights(content["weights"])
    points = [[] for _ in weights] if version == 1 else read_points(content.get("points"), weights)
    return Claim(version, family, task, digits, work, means, costs, dispersions, effort, weights, points)


def read_weights(written: list[Any]) -> list[list[Fraction]]:
    """The weights of each statement."""
    if not all(type(listed) is list for listed in written):
        raise Rejected("its 'weights' must be lists of numbers")
    return [[number(item) for item in listed] for listed in written]


def read_points(written: Any, weights: list[list[Fraction]]) -> list[list[Fraction | None]]:
    """The mean of the winner at each point of each statement."""
    listed = [item for row in written if type(row) is list for item in row] if type(written) is list else [None]
    if (
        not all(type(item) is list and len(item) == 2 for item in listed)
        or not all(type(row) is list for row in written)
        or list(map(len, written)) != list(map(len, weights))
    ):
        raise Rejected("its 'points' must be lists of two means, as many for each statement as it has weights")
    return [[None if item[0] is None else number(item[0]) for item in row] for row in written]


def read_task(written: Any, answers: Any) -> Task:
    """A task from its text, which must be the one that is written for it."""
    task = parse_task(written, answers)
    try:
        right = task_text(task)
    except ValueError as error:
        raise Rejected("a number of its task has more digits than can be written") from error
    if right != written:
        raise Rejected(f"the task {quote(written)} is not as certificates write it; {quote(right)} would be")
    return task


def parse_task(written: Any, answers: Any = None) -> Task:
    """A task from a text, however its numbers are written."""
    rest = written if type(written) is str else ""
    lower, rest = rest.endswith(LOWER), rest.removesuffix(LOWER)
    cheapest, rest = rest.startswith("cheapest:"), rest.removeprefix("cheapest:")
    name, _, argument = rest.partition(":")
    if name in ("top-arms", "groups") and not cheapest:
        parts = (re.findall("[0-9]{1,9}", part) for part in argument.split("/"))
        return Task(name, tuple(tuple(map(int, part)) for part in parts), lower=lower)
    if name in ("best-arm", "ranking") and not cheapest:
        return Task(name, lower=lower)
    if name == "custom" and not cheapest and not lower:
        return Task(name, answers=read_answers(answers))
    if name == "above" and LEVEL.fullmatch(argument):
        return Task(name, level=Fraction(argument), cheapest=cheapest, lower=lower)
    if name == "control" or (name == "comparisons" and not cheapest):
        found = [COMPARED[name].fullmatch(item) for item in argument.split(SEPARATORS[name][0])]
        if None not in found:
            items = [match.groups() for match in found if match]
            arms = tuple(tuple(map(int, arms.split("-"))) for arms, _, _ in items)
            numbers = tuple(margin_and_ratio(sign, decimal) for _, sign, decimal in items)
            return Task(name, arms, numbers, cheapest=cheapest, lower=lower)
    raise Rejected(f"the task {quote(written)} is unknown")


def margin_and_ratio(sign: str | None, decimal: str | None) -> tuple[Fraction, Fraction]:
    """The numbers behind an arm: +0.02 and -0.02 are margins, *1.1 is a ratio."""
    value = Fraction(decimal or 0)
    if sign == "*":
        return Fraction(0), value
    return -value if sign == "-" else value, Fraction(1)


def task_text(task: Task) -> str:
    """The text of a task."""
    outer, inner = SEPARATORS.get(task.name, ("", ""))
    behind = [
        f"*{text(ratio)}" if ratio != 1 else f"{'+' if margin > 0 else '-'}{text(abs(margin))}" if margin else ""
        for margin, ratio in task.numbers
    ] or [""] * len(task.parts)
    argument = outer.join(inner.join(map(str, part)) + number for part, number in zip(task.parts, behind, strict=True))
    if task.name == "above":
        argument = text(task.level)
    words = f"{task.name}:{argument}" if argument else task.name
    return f"{'cheapest:' * task.cheapest}{words}{LOWER * task.lower}"


def is_plain(task: Task) -> bool:
    """Whether a task is about the order of arms alone, the larger mean being the better one."""
    stated = [statement[2:] for answer in task.answers for statement in answer]
    plain = all(numbers == PLAIN for numbers in (*stated, *task.numbers))
    return plain and task.name != "above" and not task.cheapest and not task.lower


def read_answers(answers: Any) -> Answers:
    """The answers of a custom task: pairs [a, b], and [a, b, margin] with null for a side that is no arm."""
    rows: list[Any] = answers if type(answers) is list else [None]
    items: list[Any] = [item for row in rows for item in (row if type(row) is list else [None])]
    if not all(
        type(item) is list and len(item) in (2, 3) and all(side is None or type(side) is int for side in item[:2])
        for item in items
    ):
        raise Rejected("answers must be a list of lists of pairs [a, b] of arms, or of [a, b, margin]")
    if not all(None not in item or (len(item) == 3 and item[:2] != [None, None]) for item in items):
        raise Rejected("an answer has a level without a number, or without an arm")
    return tuple(tuple(Statement(*item[:2], *map(number, item[2:])) for item in row) for row in rows)


def number(written: Any) -> Fraction:
    """A rational number from its text, which must be the one that is written for it."""
    if type(written) is str and NUMBER.fullmatch(written):
        try:
            value = Fraction(written)
            if text(value) == written:
                return value
        except (ValueError, ZeroDivisionError):
            pass  # more digits than Python converts, or a denominator of zero
    raise Rejected(f"{quote(written)} is no rational number as certificates write it")


def quote(value: Any) -> str:
    """What a rejection quotes of a document: one short line of ASCII."""
    quoted = ascii(value) if type(value) in (str, int, float, bool) else f"of type {type(value).__name__}"
    return quoted if len(quoted) <= 60 else f"{quoted[:60]}..."


# what is asked


def check_inputs(claim: Claim) -> None:
    """Reject means outside the family, negative numbers, and a task that makes no sense for these arms."""
    _, family, task, _, work, means, costs, dispersions, effort, weights, _ = claim
    if len(means) < (1 if task.name == "above" else 2) or not len(means) == len(costs) == len(dispersions) == len(
        effort
    ):
        raise Rejected("it needs two arms or more, and for each of them a mean, a cost, a dispersion and an effort")
    low, high = MEANS[family]
    if any((low is not None and mean < low) or (high is not None and mean > high) for mean in means) or (
        family in ("exponential", "gamma") and 0 in means
    ):
        raise Rejected(f"a mean is outside the {family} family")
    if min([*costs, *effort, *(weight for listed in weights for weight in listed)]) < 0 or min(dispersions) <= 0:
        raise Rejected("costs, effort and weights must be zero or more, and dispersions positive")
    if family not in ("gaussian", "gamma") and set(dispersions) != {1}:
        raise Rejected(f"the {family} family has dispersion 1")
    if family == "gamma" and len(set(dispersions)) > 1:
        raise Rejected("the gamma family has one dispersion for all arms")
    if any(w > 0 and c == 0 for w, c in zip(effort, costs, strict=True)):
        raise Rejected("a free arm has an effort")
    if not makes_sense(task, len(means)):
        raise Rejected(f"the task {quote(task_text(task))} makes no sense for {len(means)} arms")
    check_numbers(claim)
    if task.name == "custom":
        check_answers(task.answers, work)


def makes_sense(task: Task, arms: int) -> bool:
    """Whether the arms that a task names exist, and are as many and as different as they must be."""
    name, parts = task.name, task.parts
    stated = [statement for answer in task.answers for statement in answer]
    pairs = [*parts, *([side for side in statement[:2] if side is not None] for statement in stated)]
    named = [arm for part in pairs for arm in part]
    if not all(0 <= arm < arms for arm in named):
        return False
    if name in ("top-arms", "control"):
        return len(named) == 1 and (name == "control" or named[0] > 0)
    if name == "groups":
        return all(len(group) >= 2 for group in parts) and len(set(named)) == len(named)
    if name == "comparisons":
        listed = list(map(Statement, *zip(*parts, strict=True), *zip(*task.numbers, strict=True)))
        if any(statement.ratio <= 0 for statement in listed):
            return False
        return all(a != b for a, b in parts) and len({*listed, *map(reverse, listed)}) == 2 * len(listed)
    return all(len(set(pair)) == len(pair) for pair in pairs)


def check_numbers(claim: Claim) -> None:
    """Reject levels, margins and ratios unless means of the family can be on both sides of them."""
    task, (low, high) = claim.task, MEANS[claim.family]
    stated = [statement for answer in task.answers for statement in answer]
    levels = [task.level] if task.name == "above" else []
    levels += [margin if b is None else -margin for a, b, margin, _ in stated if a is None or b is None]
    margins = [margin for margin, _ in task.numbers]
    margins += [margin for a, b, margin, _ in stated if a is not None and b is not None]
    if any((low is not None and level <= low) or (high is not None and level >= high) for level in levels):
        raise Rejected(f"a level is outside the {claim.family} family")
    if high is not None and low is not None and any(abs(margin) >= high - low for margin in margins):
        raise Rejected(f"a margin is as large as any difference of means of the {claim.family} family")
    if any(ratio <= 0 or (ratio != 1 and claim.family not in RATIOS) for _, ratio in task.numbers):
        raise Rejected(f"a ratio is not above 0, or the {claim.family} family has none")


def check_answers(answers: Answers, work: Work) -> None:
    """Reject answers unless every order of the arms satisfies exactly one of them (Definition 1 of the paper), or,
    where there are margins or levels, unless no two can be right together.

    Orders are followed from their first arm on. The arm that comes next contradicts the answers in which it is beaten,
    and settles the pairs in which it wins. The rest of the order must satisfy one of what is left of the answers; where
    the same is left again, it was followed before. An answer of which nothing is left holds, and must be the only one.
    """
    if not all(len(set(answer)) == len(answer) and is_possible(answer, work) for answer in answers):
        raise Rejected("an answer of its custom task repeats a pair or contradicts itself")
    if not all(map(is_ordering, answers)):
        if any(is_possible((*one, *other), work) for one, other in combinations(answers, 2)):
            raise Rejected("two answers of its custom task can be right together")
        return
    waiting, seen = [list(map(frozenset, answers))], set()
    while waiting:
        left = waiting.pop()
        state = frozenset(left)
        if not state:
            raise Rejected("some order of the arms satisfies no answer of its custom task")
        if len(state) < len(left) or (frozenset() in state and len(state) > 1):
            raise Rejected("some order of the arms satisfies two answers of its custom task")
        for arm in first_arms(left, work) if state not in seen else ():
            kept = [answer for answer in left if all(statement.loser != arm for statement in answer)]
            work.spend(sum(2 + len(answer) for answer in left) + sum(20 + 8 * len(answer) for answer in kept))
            waiting.append([frozenset(pair for pair in answer if pair.winner != arm) for answer in kept])
        seen.add(state)


def is_possible(statements: tuple[Statement, ...], work: Work) -> bool:
    """Whether some means satisfy all statements: differences of means that exceed margins.

    Means are raised as far as the statements ask, again and again, each time by a margin and a little more; where this
    does not end after as many rounds as there are sides, margins around a cycle add up to zero or more.
    """
    if is_ordering(statements):
        return has_order(statements, work)
    least = {side: (Fraction(0), 0) for statement in statements for side in statement[:2]}
    for _ in range(len(least)):
        work.spend(20 * len(statements) + sum(bits(statement.margin) for statement in statements))
        before = dict(least)
        for winner, loser, margin, _ in statements:
            least[winner] = max(least[winner], (least[loser][0] + margin, least[loser][1] + 1))
        if least == before:
            return True
    return False


def is_ordering(statements: tuple[Statement, ...]) -> bool:
    """Whether statements are about the order of arms alone."""
    return all(statement[2:] == PLAIN and None not in statement for statement in statements)


def has_order(pairs: tuple[Statement, ...], work: Work) -> bool:
    """Whether some order satisfies all pairs: arms that no other beats come first, again and again."""
    while pairs:
        work.spend(5 * len(pairs))
        beaten = {pair.loser for pair in pairs}
        rest = tuple(pair for pair in pairs if pair.winner in beaten)
        if len(rest) == len(pairs):
            return False
        pairs = rest
    return True


def first_arms(answers: list[frozenset[Statement]], work: Work) -> set[int | None]:
    """The arms that pairs connect with one arm: as no pair connects them with others, they may as well come first."""
    pairs = {pair[:2] for answer in answers for pair in answer}
    arms, known = set(next(iter(pairs), ())), 0
    while len(arms) > known:
        known = len(arms)
        work.spend(5 * len(pairs))
        arms.update(*(pair for pair in pairs if not arms.isdisjoint(pair)))
    return arms


def reverse(statement: Statement) -> Statement:
    """What holds where a statement does not, but for equality: ``loser > (winner - margin) / ratio``."""
    winner, loser, margin, ratio = statement
    return Statement(loser, winner, -margin / ratio, 1 / ratio)


def mirror(statement: Statement) -> Statement:
    """The same where the lower mean is the better one: better by a margin or ratio, and better than a level."""
    winner, loser, margin, ratio = statement
    return Statement(loser, winner, -margin if winner is None or loser is None else margin, ratio)


def surplus(statement: Statement, means: list[Fraction]) -> Fraction:
    """``winner - ratio loser - margin``, which is positive where a statement holds."""
    x, y = (Fraction(0) if side is None else means[side] for side in statement[:2])
    return x - statement.ratio * y - statement.margin


def needed_statements(claim: Claim) -> list[Statement]:
    """What the task's answer for these means asserts: as many statements as there are lists of weights."""
    task, means = claim.task, claim.means
    if task.name in ("above", "control"):
        statements = qualifying(claim)
    elif task.name == "comparisons":
        numbers = zip(task.parts, task.numbers, strict=True)
        asked = [Statement(a, b, margin, ratio) for (a, b), (margin, ratio) in numbers]
        turned = map(mirror, asked) if task.lower else asked
        statements = [one if surplus(one, means) >= 0 else reverse(one) for one in turned]
    elif task.name == "custom":
        right = (answer for answer in task.answers if all(surplus(one, means) > 0 for one in answer))
        statements = list(next(right, ()))
        if not statements and task.answers != ((),):
            raise Rejected("no answer of its custom task holds at its means, because of equal means")
    else:
        pairs = ordered_pairs(claim)
        statements = [Statement(b, a) if task.lower else Statement(a, b) for a, b in pairs]
    if len(statements) != len(claim.weights):
        raise Rejected("each needed statement must have a weight, and nothing else")
    if not all(surplus(one, means) > 0 for one in statements):
        raise Rejected("the two sides of a needed statement are equal")
    return statements


def ordered_pairs(claim: Claim) -> list[tuple[int, int]]:
    """The pairs (a, b), "a is better than b", of tasks about the order of the arms."""
    (name, parts, *_), arms = claim.task, range(len(claim.means))
    worth = [-mean if claim.task.lower else mean for mean in claim.means]
    order = sorted(arms, key=lambda arm: -worth[arm])
    if name == "best-arm":
        return [(order[0], b) for b in arms if b != order[0]]
    if name == "ranking":
        return list(pairwise(order))
    if name == "top-arms":
        ((size,),) = parts
        top, others = sorted(order[:size]), sorted(order[size:])
        return [(a, b) for a in top for b in others] if len(top) * len(others) == len(claim.weights) else []
    best = [max(group, key=worth.__getitem__) for group in parts]
    return [(a, b) for a, group in zip(best, parts, strict=True) for b in group if b != a]


def qualifying(claim: Claim) -> list[Statement]:
    """That arms are above a level, or exceed a control arm, or the reverse of it: of every arm, or of one arm after the
    other, the cheapest first, up to one that does. A control arm that exceeds itself is known to do so."""
    task, arms = claim.task, list(range(len(claim.means)))
    control = None if task.name == "above" else task.parts[0][0]
    margin, ratio = (task.level, Fraction(1)) if control is None else task.numbers[0]
    if task.cheapest:
        arms.sort(key=lambda arm: (claim.costs[arm], arm))
        if control is not None and (margin < 0 or ratio < 1):
            arms = arms[: arms.index(control)]
    found: list[Statement] = []
    for arm in arms:
        asked = Statement(arm, control, margin, ratio)
        one = mirror(asked) if task.lower else asked
        holds = surplus(one, claim.means) > 0
        found += [] if arm == control else [one if holds else reverse(one)]
        if task.cheapest and holds and arm != control:
            break
    if not found:
        raise Rejected("its task asks about no arm")
    return found


# what is proven


def prove(claim: Claim) -> dict[str, Any]:
    """Verify both bounds, and write the certificate anew (without its digest)."""
    statements = needed_statements(claim)
    known: dict[tuple[Fraction, ...], Fraction] = {}
    given = zip(statements, claim.weights, claim.points, strict=True)
    points = [find_points(claim, one, weights, listed, known) for one, weights, listed in given]
    lower = total(weight for listed in claim.weights for weight in listed)
    upper = total(c * w for c, w in zip(claim.costs, claim.effort, strict=True))
    if (upper - lower) * 10**claim.digits > upper:
        raise Rejected(f"its bounds are too far apart for {claim.digits} digits")
    verify_bounds(claim, statements, points)
    return write_pairs(claim, statements, points) if claim.version == 1 else write(claim, statements, points)


def find_points(
    claim: Claim,
    statement: Statement,
    weights: list[Fraction],
    given: list[Fraction | None],
    known: dict[tuple[Fraction, ...], Fraction],
) -> list[Point]:
    """The points that belong to the weights of a statement: none where it constrains nothing, those that are given
    where they have to be searched, else the one that follows from inputs and effort."""
    costly = costly_sides(claim, statement)
    if len(costly) == 2 and is_searched(claim, statement):
        low, high = point_range(claim, statement)
        if low < high:
            if not given or not all(x is not None and low <= x <= high for x in given):
                raise Rejected(f"a point of {statement_text(statement)} is missing, or outside the range of its arms")
            return [boundary_point(statement, x) for x in given if x is not None]
        x = low
    elif len(costly) == 2:
        x = weighted_mean(claim, statement, known)
    elif costly == [statement.winner]:
        x = statement.margin + statement.ratio * mean_of(claim, statement.loser)
    else:
        x = mean_of(claim, statement.winner)
    point = boundary_point(statement, x)
    if not constrains(claim, costly, dict(zip(statement[:2], point, strict=True))):
        if any(weights) or (weights and claim.version > 1):
            raise Rejected(f"{statement_text(statement)} constrains nothing and has a weight")
        return []
    if len(weights) != 1:
        raise Rejected(f"{statement_text(statement)} has one point, and must have one weight")
    return [point]


def costly_sides(claim: Claim, statement: Statement) -> list[int]:
    """The arms of a statement that cost something."""
    return [side for side in statement[:2] if side is not None and claim.costs[side] > 0]


def mean_of(claim: Claim, side: int | None) -> Fraction:
    """The mean of a side, 0 for one that is no arm."""
    return Fraction(0) if side is None else claim.means[side]


def boundary_point(statement: Statement, x: Fraction) -> Point:
    """The means at which both sides of a statement are equal, that of the winner being x."""
    y = (x - statement.margin) / statement.ratio
    return None if statement.winner is None else x, None if statement.loser is None else y


def constrains(claim: Claim, costly: list[int], point: dict[int | None, Fraction | None]) -> bool:
    """Whether a statement can be false at finite divergence: two arms always, one where its point is inside."""
    if len(costly) != 1:
        return len(costly) == 2
    (low, high), mean = MEANS[claim.family], point[costly[0]]
    return mean is not None and (low is None or mean > low) and (high is None or mean < high)


def is_searched(claim: Claim, statement: Statement) -> bool:
    """Whether the least x of a statement about two arms has no formula."""
    return statement.margin != 0 and claim.family != "gaussian"


def point_range(claim: Claim, statement: Statement) -> tuple[Fraction, Fraction]:
    """The range of x with a margin: between mu_b + margin and mu_a, where x and x - margin are means; beyond, both
    divergences grow."""
    winner, loser, margin, _ = statement
    low, high = MEANS[claim.family]
    first, last = mean_of(claim, loser) + margin, mean_of(claim, winner)
    return max(first, Fraction(low or 0)), last if high is None else min(last, high + margin)


def weighted_mean(claim: Claim, statement: Statement, known: dict[tuple[Fraction, ...], Fraction]) -> Fraction:
    """The mean weighted by effort over dispersion, with ``ratio mu_b + margin`` for the loser.

    That is a law of the same family at the same divergence: Gaussian laws may be shifted, exponential and gamma ones
    scaled, and scaled Poisson ones have their divergence multiplied by the ratio, so that less effort is the same.
    """
    a, b = costly_sides(claim, statement)
    efforts = claim.effort[a], claim.effort[b], claim.dispersions[a], claim.dispersions[b]
    used = (claim.means[a], claim.means[b], *efforts, *statement[2:])
    found = known.get(used)
    if found is None:
        claim.work.spend(sum(map(bits, used)))
        va, vb = claim.effort[a] / claim.dispersions[a], claim.effort[b] / claim.dispersions[b]
        if not (va > 0 and vb > 0):
            raise Rejected(f"an arm of {statement_text(statement)} has no effort")
        if claim.family == "poisson":
            vb /= statement.ratio
        seen = statement.ratio * claim.means[b] + statement.margin
        found = known[used] = (va * claim.means[a] + vb * seen) / (va + vb)
    return found


def total(terms: Iterable[Fraction]) -> Fraction:
    """A sum of rational numbers, rejected when it has more digits than can be written."""
    value = Fraction(0)
    for term in terms:
        value += term
        if value.denominator.bit_length() > MOST_BITS:
            raise Rejected("its bounds have too many digits to be written")
    return value


def verify_bounds(claim: Claim, statements: list[Statement], points: list[list[Point]]) -> None:
    """``f_e(w) >= 1`` for every statement, and ``sum of q d(mu_a, x) / phi_a <= c_a`` at every costly arm."""
    loads: list[list[Term]] = [[] for _ in claim.means]
    enough: set[tuple[Any, ...]] = set()
    for statement, listed, weights in zip(statements, points, claim.weights, strict=True):
        terms = [list_terms(claim, statement, point) for point in listed]
        case = (statement.margin, *(term for by_arm in terms for term in by_arm.values()))
        if terms and case not in enough:
            words = "is below 1, so the upper bound fails", "was not shown to be 1 or more"
            require(is_enough(claim, statement, terms), f"the term of {statement_text(statement)}", *words)
            enough.add(case)
        for weight, by_arm in zip(weights, terms, strict=False):  # without terms, version 1 has a weight of zero
            for arm, (_, mean, dispersion, x) in by_arm.items():
                loads[arm].append((-weight, mean, dispersion, x))
    for arm, load in enumerate(loads):
        slack = is_not_negative(claim.family, claim.costs[arm], tuple(term for term in load if term[0]), claim.work)
        words = "exceed its cost, so the lower bound fails", "were not shown to be within its cost"
        require(slack, f"the weights at arm {arm}", *words)


def list_terms(claim: Claim, statement: Statement, point: Point) -> dict[int, Term]:
    """What each costly arm of a statement contributes to its term at a point."""
    return {
        arm: (claim.effort[arm], claim.means[arm], claim.dispersions[arm], x)
        for arm, x in zip(statement[:2], point, strict=True)
        if arm is not None and x is not None and claim.costs[arm] > 0
    }


def is_enough(claim: Claim, statement: Statement, terms: list[dict[int, Term]]) -> bool | None:
    """Whether the term of a statement is 1 or more on its whole boundary; None when this cannot be told."""
    first = tuple(terms[0].values())
    if len(first) == 1 or not is_searched(claim, statement) or len(set(point_range(claim, statement))) == 1:
        return is_not_negative(claim.family, Fraction(-1), first, claim.work)
    (wa, mua, phia, _), (wb, mub, phib, _) = first
    boundary = Boundary(claim.family, (wa / phia, wb / phib), (mua, mub), statement.margin)
    points = [next(iter(by_arm.values()))[3] for by_arm in terms]
    for precision in PRECISIONS:
        with ctx.workprec(precision):
            found = boundary.is_enough(*point_range(claim, statement), points, claim.work, precision)
        if found is not None:
            return found
    return None


class Boundary(NamedTuple):
    """``F(x) = v_a d(mu_a, x) + v_b d(mu_b, x - margin)``, which is to be 1 or more on the whole range of x.

    In Bernoulli and Poisson divergences it is convex, and so above its tangent at any point. In the others the range
    is divided until in each part one of these is certain: F is more than 1 with mu_a's part taken from the right end,
    as it falls, and mu_b's from the left, as it rises; F is convex, and a tangent is 1 or more at both ends; F is
    concave, and itself 1 or more at both ends.
    """

    family: str
    efforts: tuple[Fraction, Fraction]
    means: tuple[Fraction, Fraction]
    margin: Fraction

    def is_enough(
        self, low: Fraction, high: Fraction, points: list[Fraction], work: Work, precision: int
    ) -> bool | None:
        """Whether F is 1 or more between two x; None when this cannot be told by balls of so many bits."""
        waiting, size = [(low, high)], sum(map(bits, (*self.efforts, *self.means, self.margin)))
        while waiting:
            first, last = waiting.pop()
            work.spend(precision + 600 + size + 4 * (bits(first) + bits(last)))
            if self.value(last, first) >= 1:
                continue
            nearest = min(points, key=lambda point: max(first - point, point - last))
            touch = min(max(nearest, first), last)
            value = self.value(touch, touch)
            if not value >= 1:
                return False if value < 1 else None
            least, most = self.bends(first, last)
            if least >= 0:
                slope = self.slope(touch)
                if all(value + slope * ball(x - touch) >= 1 for x in (first, last)):
                    continue
            elif most <= 0 and all(self.value(x, x) >= 1 for x in (first, last)):
                continue
            if self.family in ("bernoulli", "poisson") or len(waiting) > precision:
                return None
            waiting += [(first, (first + last) / 2), ((first + last) / 2, last)]
        return True

    def value(self, x: Fraction, other: Fraction) -> Any:
        """F with the winner at x and the loser at the other x less the margin."""
        d = DIVERGENCES[self.family]
        (va, vb), (mua, mub) = self.efforts, self.means
        return ball(va) * d(mua, x) + ball(vb) * d(mub, other - self.margin)

    def slope(self, x: Fraction) -> Any:
        """F'(x)."""
        parts = zip(self.efforts, self.means, (x, x - self.margin), strict=True)
        return sum((ball(v) * SLOPES[self.family](mean, point) for v, mean, point in parts), arb(0))

    def bends(self, first: Fraction, last: Fraction) -> tuple[Any, Any]:
        """Bounds of F'' between two x: d'' is a difference of two parts, both of which fall."""
        if self.family not in BENDS:
            return arb(0), arb(1)
        least, most = arb(0), arb(0)
        for v, mean, shift in zip(self.efforts, self.means, (Fraction(0), self.margin), strict=True):
            (up, down), (last_up, last_down) = (BENDS[self.family](mean, x - shift) for x in (first, last))
            least, most = least + ball(v) * (last_up - down), most + ball(v) * (up - last_down)
        return least, most


def require(found: bool | None, what: str, false: str, unknown: str) -> None:
    """Reject what was found to be false, or could not be told."""
    if not found:
        raise Rejected(f"{what} {false if found is False else unknown}")


def is_not_negative(family: str, constant: Fraction, terms: tuple[Term, ...], work: Work) -> bool | None:
    """Whether constant + sum of k d(x, m) / phi is zero or more; None when this cannot be told."""
    d = DIVERGENCES[family]
    for precision in PRECISIONS:
        work.spend(len(terms) * (precision + 200))
        with ctx.workprec(precision):
            value = ball(constant) + sum(ball(k) * d(x, m) / ball(phi) for k, x, phi, m in terms)
            if value >= 0 or value < 0:
                return bool(value >= 0)
    for k, x, phi, m in terms:  # equal to zero, perhaps, which can be told where the divergences are rational
        if family != "gaussian" and not (family == "poisson" and x == 0):
            return None
        work.spend(bits(constant) + bits(m))
        constant += k * ((x - m) ** 2 / 2 if family == "gaussian" else m) / phi
    return constant >= 0


def bits(value: Fraction) -> int:
    """The length of a rational number."""
    return value.numerator.bit_length() + value.denominator.bit_length()


def ball(value: Fraction) -> Any:
    """A ball that contains a rational number."""
    return arb(fmpq(value.numerator, value.denominator))


def x_log(x: Fraction, y: Fraction) -> Any:
    """``x log(x / y)``, which is zero for x = 0."""
    return ball(x) * (ball(x) / ball(y)).log() if x else arb(0)


#: d(x, y) at dispersion one.
DIVERGENCES: dict[str, Callable[[Fraction, Fraction], Any]] = {
    "gaussian": lambda x, y: (ball(x) - ball(y)) ** 2 / 2,
    "bernoulli": lambda x, y: x_log(x, y) + x_log(1 - x, 1 - y),
    "poisson": lambda x, y: x_log(x, y) + ball(y) - ball(x),
    "exponential": lambda x, y: ball(x) / ball(y) - 1 - (ball(x) / ball(y)).log(),
    "gamma": lambda x, y: ball(x) / ball(y) - 1 - (ball(x) / ball(y)).log(),
    "geometric": lambda x, y: x_log(x, y) - x_log(1 + x, 1 + y),
}


def over(k: Fraction, x: Fraction) -> Any:
    """``k / x``, which is zero for k = 0, and infinite for x = 0."""
    return ball(k) / ball(x) if k and x else arb("inf" if k else 0)


#: d'(x, y), the derivative in y, where margins of the family are searched.
SLOPES: dict[str, Callable[[Fraction, Fraction], Any]] = {
    "bernoulli": lambda x, y: over(1 - x, 1 - y) - over(x, y),
    "poisson": lambda x, y: 1 - over(x, y),
    "exponential": lambda x, y: over(y - x, y**2),
    "gamma": lambda x, y: over(y - x, y**2),
    "geometric": lambda x, y: over(1 + x, 1 + y) - over(x, y),
}

#: d''(x, y) as a difference of two parts, both of which fall in y, where it may be negative.
BENDS: dict[str, Callable[[Fraction, Fraction], tuple[Any, Any]]] = {
    "exponential": lambda x, y: (over(2 * x, y**3), over(Fraction(1), y**2)),
    "gamma": lambda x, y: (over(2 * x, y**3), over(Fraction(1), y**2)),
    "geometric": lambda x, y: (over(x, y**2), over(1 + x, (1 + y) ** 2)),
}

#: Families whose laws can be scaled.
RATIOS = ("exponential", "gamma", "poisson")

#: Smallest and largest mean. A law at such an end is a single point, at infinite divergence from every other law.
MEANS: dict[str, tuple[int | None, int | None]] = {
    "gaussian": (None, None),
    "bernoulli": (0, 1),
    "poisson": (0, None),
    "exponential": (0, None),
    "gamma": (0, None),
    "geometric": (0, None),
}


# writing


def text(value: Fraction) -> str:
    """A rational number in full: as a decimal where it has a finite one, else as a fraction."""
    rest, places = value.denominator, 0
    for prime in (2, 5):
        times = 0
        for step in (100, 1):  # a hundred at a time, then one by one
            while rest % prime**step == 0:
                rest, times = rest // prime**step, times + step
        places = max(places, times)
    if rest > 1:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    point = len(digits) - places
    return "-" * (value < 0) + digits[:point] + ("." + digits[point:] if places else "")


def statement_text(statement: Statement) -> str:
    """A statement as a person reads it: arm 1 > arm 0 + 0.02, arm 1 > 1.1 arm 0, arm 2 < 0.8."""
    winner, loser, margin, ratio = statement
    if loser is None:
        return f"arm {winner} > {text(margin)}"
    if winner is None:
        return f"arm {loser} < {text(-margin / ratio)}"
    behind = f" {'+' if margin > 0 else '-'} {text(abs(margin))}" if margin else ""
    return f"arm {winner} > {'' if ratio == 1 else text(ratio) + ' '}arm {loser}{behind}"


def write(claim: Claim, statements: list[Statement], points: list[list[Point]]) -> dict[str, Any]:
    """The certificate without its digest."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "family": claim.family,
        "task": task_text(claim.task),
        **({"answers": write_answers(claim.task.answers)} if claim.task.name == "custom" else {}),
        "digits": claim.digits,
        **{key: [text(value) for value in getattr(claim, key)] for key in LISTS},
        "statements": [statement_text(one) for one in statements],
        "numbers": [[*one[:2], *map(text, one[2:])] for one in statements],
        "weights": [[text(weight) for weight in listed] for listed in claim.weights],
        "points": [[[None if x is None else text(x) for x in point] for point in listed] for listed in points],
        "lower": text(total(weight for listed in claim.weights for weight in listed)),
        "upper": text(total(c * w for c, w in zip(claim.costs, claim.effort, strict=True))),
    }
    return {**content, "theorem": theorem(content)}


def write_answers(answers: Answers) -> list[list[list[Any]]]:
    """The answers of a custom task, pairs without their margin."""
    return [
        [[*one[:2]] if one[2:] == PLAIN and None not in one else [*one[:2], text(one.margin)] for one in answer]
        for answer in answers
    ]


def theorem(content: dict[str, Any]) -> str:
    """The theorem in words."""
    task = (
        f"{content['task']} with answers {json.dumps(content['answers'])}" if "answers" in content else content["task"]
    )
    return state(content, f"The task {task} needs the statements {'; '.join(content['statements']) or 'none'}")


def state(content: dict[str, Any], asked: str) -> str:
    """What is proven of a task that asks something."""
    listed = {key: ", ".join(content[key]) for key in ("means", "dispersions", "costs")}
    return (
        f"Arms of the {content['family']} family have means {listed['means']}, dispersions {listed['dispersions']} and "
        f"costs {listed['costs']}. {asked} (arms counted from 0). "
        f"Its characteristic time T* is at least {content['lower']} and at most {content['upper']}: "
        f"these bounds agree to a relative 10^-{content['digits']}."
    )


def write_pairs(claim: Claim, statements: list[Statement], points: list[list[Point]]) -> dict[str, Any]:
    """The same as version 1 wrote it: pairs with a midpoint, which is the mean of a free arm, None of two."""
    latest = write(claim, statements, points)
    middle = []
    for one, listed in zip(statements, points, strict=True):
        costly = costly_sides(claim, one)
        free = [side for side in one[:2] if side is not None and side not in costly]
        middle.append(listed[0][0] if len(costly) == 2 else mean_of(claim, free[0]) if costly else None)
    content = {key: latest[key] for key in ("format", "family", "task", "digits", *LISTS, "lower", "upper")}
    content |= {key: latest[key] for key in ("answers",) if key in latest}
    content |= {
        "version": 1,
        "weights": [text(weight) for (weight,) in claim.weights],
        "pairs": [[*one[:2]] for one in statements],
        "midpoints": [None if m is None else text(m) for m in middle],
    }
    return {**content, "statement": statement(content)}


def statement(content: dict[str, Any]) -> str:
    """The theorem in the words of version 1."""
    pairs = ", ".join(f"{a} > {b}" for a, b in content["pairs"])
    task = f"{content['task']} with answers {content['answers']}" if "answers" in content else content["task"]
    return state(content, f"The task {task} needs the pairs {pairs or 'none'}")


def canonical_json(value: Any) -> str:
    """JSON with its keys in order and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(content: dict[str, Any]) -> str:
    """SHA-256 of everything but the digest itself."""
    return sha256(canonical_json(content).encode()).hexdigest()


# files


def read(path: str) -> dict[str, Any]:
    """The certificate in a file; `ValueError` when there is none, `OSError` when it cannot be read."""
    with open(path, "rb") as file:
        written = file.read(MOST_BYTES + 1)
    if len(written) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES} bytes")
    return parse(written.decode())


def parse(written: str) -> dict[str, Any]:
    """The certificate in a text; `ValueError` when it is none."""
    try:
        document = json.loads(written, object_pairs_hook=refuse_repetition)
    except RecursionError as error:
        raise ValueError("brackets nested too deeply") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"not a JSON object whose 'format' is {FORMAT!r}")
    return document


def refuse_repetition(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, refused when a key occurs twice."""
    if len(dict(items)) < len(items):
        raise ValueError("a key occurs twice")
    return dict(items)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python check.py cert.json")
    try:
        print(check(read(sys.argv[1])))
    except (Rejected, ValueError, OSError) as refusal:
        sys.exit(f"rejected: {refusal}")
