"""Check a certificate of proven digits: python check.py cert.json

    T* = inf c.w   subject to   f_e(w) >= 1 for every needed pair e = (a, b),   w > 0,
    f_e(w) = min over m of  w_a d(mu_a, m) / phi_a + w_b d(mu_b, m) / phi_b     if both arms cost something,
    f_e(w) = w_a d(mu_a, mu_b) / phi_a                                          if b is free (and a is not),

d the divergence of the reward family, phi the dispersions; a pair of free arms, or one at infinite divergence from its
free arm, constrains nothing. With m_e the minimiser, or the free arm's mean, an effort w and weights q >= 0 prove
``sum(q) <= T* <= c.w`` if f_e(w) >= 1 for every e, and sum over e at a of q_e d(mu_a, m_e) / phi_a <= c_a at every
costly arm a (proof: docs/mathematics/digits.md).

This file is meant to be read. It uses the standard library and python-flint, and nothing of the code that finds
certificates. All numbers are rational and exact; only divergences are rounded, into balls that contain them, until each
inequality is certain. Nothing that is written is believed or repeated: inputs, w and q are read, the whole document is
written anew from these, and must be equal to the one at hand. What this may cost is bounded by the document's size.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq

FORMAT, VERSION = "caet-opt certificate", 1
MOST_DIGITS = 1000

#: Bytes of a certificate, a few seconds for each million; those of proofs that take minutes have fewer.
MOST_BYTES = 16 * 10**6

#: A decimal or a fraction. Python converts 4300 digits at once, which are at most 14285 bits.
NUMBER = re.compile(r"-?[0-9]{1,4300}([./][0-9]{1,4300})?")
MOST_BITS = 14285

#: Bits of the balls, tried one after the other.
PRECISIONS = [2**k for k in range(7, 17)]

LISTS = ("means", "costs", "dispersions", "effort", "weights")

#: What stands between the parts of a task's argument, and between the numbers of a part.
SEPARATORS = {"top-arms": ("/", ","), "groups": ("/", ","), "control": ("/", ","), "comparisons": (",", "-")}

Pair = tuple[int, int]
Answers = tuple[tuple[Pair, ...], ...]

#: k, x, phi and m of a term k d(x, m) / phi.
Term = tuple[Fraction, Fraction, Fraction, Fraction]


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
    """A task by its name and the numbers after the colon; a custom one has answers instead."""

    name: str
    parts: tuple[tuple[int, ...], ...] = ()
    answers: Answers = ()


class Claim(NamedTuple):
    """What is read of a certificate: its inputs and the points that prove it; weights by pair, the others by arm."""

    family: str
    task: Task
    digits: int
    work: Work
    means: list[Fraction]
    costs: list[Fraction]
    dispersions: list[Fraction]
    effort: list[Fraction]
    weights: list[Fraction]


def check(document: dict[str, Any]) -> str:
    """The theorem that a certificate proves; `Rejected` when it does not."""
    try:
        content = {key: value for key, value in document.items() if key != "sha256"}
        size, found = len(canonical_json(content)), digest(content)
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise Rejected("it is no JSON object") from error
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
    return str(expected["statement"])


# reading


def read_claim(content: dict[str, Any], work: Work) -> Claim:
    """The values behind the texts."""
    family, digits = content.get("family"), content.get("digits")
    if type(family) is not str or family not in DIVERGENCES:
        raise Rejected(f"the family {quote(family)} is unknown")
    if type(digits) is not int or not 1 <= digits <= MOST_DIGITS:
        raise Rejected(f"digits must be a whole number from 1 to {MOST_DIGITS}")
    for key in LISTS:
        if type(content.get(key)) is not list:
            raise Rejected(f"its {key!r} must be a list")
    task = read_task(content.get("task"), content.get("answers"))
    return Claim(family, task, digits, work, *([number(item) for item in content[key]] for key in LISTS))


def read_task(written: Any, answers: Any) -> Task:
    """A task from its text, which must be the one that is written for it."""
    name, _, argument = written.partition(":") if type(written) is str else ("", "", "")
    if name in SEPARATORS:
        parts = (re.findall("[0-9]{1,9}", part) for part in argument.split(SEPARATORS[name][0]))
        task = Task(name, tuple(tuple(map(int, part)) for part in parts))
    elif name in ("best-arm", "ranking", "custom"):
        task = Task(name, answers=read_answers(answers) if name == "custom" else ())
    else:
        raise Rejected(f"the task {quote(written)} is unknown")
    if task_text(task) != written:
        raise Rejected(f"the task {quote(written)} is not as certificates write it; {quote(task_text(task))} would be")
    return task


def task_text(task: Task) -> str:
    """The text of a task."""
    outer, inner = SEPARATORS.get(task.name, ("", ""))
    argument = outer.join(inner.join(map(str, part)) for part in task.parts)
    return f"{task.name}:{argument}" if task.parts else task.name


def read_answers(answers: Any) -> Answers:
    """The answers of a custom task."""
    rows: list[Any] = answers if type(answers) is list else [None]
    pairs = [pair for row in rows for pair in (row if type(row) is list else [None])]
    if not all(type(pair) is list and len(pair) == 2 and type(pair[0]) is type(pair[1]) is int for pair in pairs):
        raise Rejected("answers must be a list of lists of pairs [a, b] of arms")
    return tuple(tuple((a, b) for a, b in row) for row in rows)


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
    family, task, _, work, means, costs, dispersions, effort, weights = claim
    if len(means) < 2 or not len(means) == len(costs) == len(dispersions) == len(effort):
        raise Rejected("it needs two arms or more, and for each of them a mean, a cost, a dispersion and an effort")
    low, high = MEANS[family]
    if any((low is not None and mean < low) or (high is not None and mean > high) for mean in means) or (
        family in ("exponential", "gamma") and 0 in means
    ):
        raise Rejected(f"a mean is outside the {family} family")
    if min([*costs, *effort, *weights]) < 0 or min(dispersions) <= 0:
        raise Rejected("costs, effort and weights must be zero or more, and dispersions positive")
    if family not in ("gaussian", "gamma") and set(dispersions) != {1}:
        raise Rejected(f"the {family} family has dispersion 1")
    if family == "gamma" and len(set(dispersions)) > 1:
        raise Rejected("the gamma family has one dispersion for all arms")
    if any(w > 0 and c == 0 for w, c in zip(effort, costs, strict=True)):
        raise Rejected("a free arm has an effort")
    if not makes_sense(task, len(means)):
        raise Rejected(f"the task {quote(task_text(task))} makes no sense for {len(means)} arms")
    if task.name == "custom":
        check_answers(task.answers, work)


def makes_sense(task: Task, arms: int) -> bool:
    """Whether the arms that a task names exist, and are as many and as different as they must be."""
    name, parts, answers = task
    pairs = [*parts, *(pair for answer in answers for pair in answer)]
    named = [arm for part in pairs for arm in part]
    if not all(0 <= arm < arms for arm in named):
        return False
    if name in ("top-arms", "control"):
        return len(named) == 1 and (name == "control" or named[0] > 0)
    if name == "groups":
        return all(len(group) >= 2 for group in parts) and len(set(named)) == len(named)
    different = all(len(pair) == len(set(pair)) == 2 for pair in pairs)
    return different and len(set(map(frozenset, parts))) == len(parts)


def check_answers(answers: Answers, work: Work) -> None:
    """Reject answers unless every order of the arms satisfies exactly one of them (Definition 1 of the paper).

    Orders are followed from their first arm on. The arm that comes next contradicts the answers in which it is beaten,
    and settles the pairs in which it wins. The rest of the order must satisfy one of what is left of the answers; where
    the same is left again, it was followed before. An answer of which nothing is left holds, and must be the only one.
    """
    if not all(len(set(answer)) == len(answer) and is_possible(answer, work) for answer in answers):
        raise Rejected("an answer of its custom task repeats a pair or contradicts itself")
    waiting, seen = [list(map(frozenset, answers))], set()
    while waiting:
        left = waiting.pop()
        state = frozenset(left)
        if not state:
            raise Rejected("some order of the arms satisfies no answer of its custom task")
        if len(state) < len(left) or (frozenset() in state and len(state) > 1):
            raise Rejected("some order of the arms satisfies two answers of its custom task")
        for arm in first_arms(left, work) if state not in seen else ():
            kept = [answer for answer in left if all(b != arm for _, b in answer)]
            work.spend(sum(2 + len(answer) for answer in left) + sum(20 + 8 * len(answer) for answer in kept))
            waiting.append([frozenset(pair for pair in answer if pair[0] != arm) for answer in kept])
        seen.add(state)


def is_possible(pairs: tuple[Pair, ...], work: Work) -> bool:
    """Whether some order satisfies all pairs: arms that no other beats come first, again and again."""
    while pairs:
        work.spend(5 * len(pairs))
        beaten = {b for _, b in pairs}
        rest = tuple(pair for pair in pairs if pair[0] in beaten)
        if len(rest) == len(pairs):
            return False
        pairs = rest
    return True


def first_arms(answers: list[frozenset[Pair]], work: Work) -> set[int]:
    """The arms that pairs connect with one arm: as no pair connects them with others, they may as well come first."""
    pairs = {pair for answer in answers for pair in answer}
    arms, known = set(next(iter(pairs), ())), 0
    while len(arms) > known:
        known = len(arms)
        work.spend(5 * len(pairs))
        arms.update(*(pair for pair in pairs if not arms.isdisjoint(pair)))
    return arms


def needed_pairs(claim: Claim) -> list[Pair]:
    """The pairs (a, b), "a beats b", that the task's answer for these means asserts: as many as there are weights."""
    (name, parts, answers), means = claim.task, claim.means
    arms = range(len(means))
    order = sorted(arms, key=lambda arm: -means[arm])
    if name == "best-arm":
        pairs = [(order[0], b) for b in arms if b != order[0]]
    elif name == "ranking":
        pairs = list(pairwise(order))
    elif name == "top-arms":
        ((size,),) = parts
        top, others = sorted(order[:size]), sorted(order[size:])
        pairs = [(a, b) for a in top for b in others] if len(top) * len(others) == len(claim.weights) else []
    elif name == "groups":
        best = [max(group, key=means.__getitem__) for group in parts]
        pairs = [(a, b) for a, group in zip(best, parts, strict=True) for b in group if b != a]
    elif name == "control":
        ((control,),) = parts
        pairs = [(arm, control) if means[arm] > means[control] else (control, arm) for arm in arms if arm != control]
    elif name == "comparisons":
        pairs = [(a, b) if means[a] > means[b] else (b, a) for a, b in parts]
    else:
        pairs = list(next((answer for answer in answers if all(means[a] > means[b] for a, b in answer)), ()))
        if not pairs and answers != ((),):
            raise Rejected("no answer of its custom task holds at its means, because of equal means")
    if len(pairs) != len(claim.weights):
        raise Rejected("each needed pair must have a weight, and nothing else")
    if not all(means[a] > means[b] for a, b in pairs):
        raise Rejected("two arms of a needed pair have equal means")
    return pairs


# what is proven


def prove(claim: Claim) -> dict[str, Any]:
    """Verify both bounds, and write the certificate anew (without its digest)."""
    pairs = needed_pairs(claim)
    known: dict[tuple[Fraction, ...], Fraction] = {}
    midpoints = [midpoint(claim, pair, known) for pair in pairs]
    lower = total(claim.weights)
    upper = total(c * w for c, w in zip(claim.costs, claim.effort, strict=True))
    if (upper - lower) * 10**claim.digits > upper:
        raise Rejected(f"its bounds are too far apart for {claim.digits} digits")
    verify_bounds(claim, pairs, midpoints)
    answers = [[list(pair) for pair in answer] for answer in claim.task.answers]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "family": claim.family,
        "task": task_text(claim.task),
        **({"answers": answers} if claim.task.name == "custom" else {}),
        "digits": claim.digits,
        **{key: [text(value) for value in getattr(claim, key)] for key in LISTS},
        "pairs": [list(pair) for pair in pairs],
        "midpoints": [None if m is None else text(m) for m in midpoints],
        "lower": text(lower),
        "upper": text(upper),
    }
    return {**content, "statement": statement(content)}


def midpoint(claim: Claim, pair: Pair, known: dict[tuple[Fraction, ...], Fraction]) -> Fraction | None:
    """The mean weighted by effort over dispersion, or the mean of the free arm; None when both arms are free."""
    (a, b), means, costs = pair, claim.means, claim.costs
    if costs[a] == 0 or costs[b] == 0:
        return means[a] if costs[b] > 0 else means[b] if costs[a] > 0 else None
    used = (means[a], means[b], claim.effort[a], claim.effort[b], claim.dispersions[a], claim.dispersions[b])
    found = known.get(used)
    if found is None:
        claim.work.spend(sum(map(bits, used)))
        va, vb = claim.effort[a] / claim.dispersions[a], claim.effort[b] / claim.dispersions[b]
        if not (va > 0 and vb > 0):
            raise Rejected(f"an arm of the pair {a} > {b} has no effort")
        found = known[used] = (va * means[a] + vb * means[b]) / (va + vb)
    return found


def total(terms: Iterable[Fraction]) -> Fraction:
    """A sum of rational numbers, rejected when it has more digits than can be written."""
    value = Fraction(0)
    for term in terms:
        value += term
        if value.denominator.bit_length() > MOST_BITS:
            raise Rejected("its bounds have too many digits to be written")
    return value


def verify_bounds(claim: Claim, pairs: list[Pair], midpoints: list[Fraction | None]) -> None:
    """``f_e(w) >= 1`` for every pair, and ``sum_{e at a} q_e d(mu_a, m_e) / phi_a <= c_a`` for every costly arm."""
    family, means, costs, dispersions = claim.family, claim.means, claim.costs, claim.dispersions
    loads: list[list[Term]] = [[] for _ in costs]
    enough: set[tuple[Term, ...]] = set()
    for (a, b), m, weight in zip(pairs, midpoints, claim.weights, strict=True):
        costly = [arm for arm in (a, b) if costs[arm] > 0]
        if m is None or (len(costly) == 1 and m in MEANS[family]):  # both arms are free, or the divergence is infinite
            if weight > 0:
                raise Rejected(f"the pair {a} > {b} constrains nothing and has a weight")
            continue
        terms = tuple((claim.effort[arm], means[arm], dispersions[arm], m) for arm in costly)
        if terms not in enough:
            words = "is below 1, so the upper bound fails", "was not shown to be 1 or more"
            require(is_not_negative(family, Fraction(-1), terms, claim.work), f"the term of the pair {a} > {b}", *words)
            enough.add(terms)
        for arm in costly:
            loads[arm].append((-weight, means[arm], dispersions[arm], m))
    for arm, load in enumerate(loads):
        slack = is_not_negative(family, costs[arm], tuple(term for term in load if term[0]), claim.work)
        words = "exceed its cost, so the lower bound fails", "were not shown to be within its cost"
        require(slack, f"the weights at arm {arm}", *words)


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


def statement(content: dict[str, Any]) -> str:
    """The theorem in words."""
    listed = {key: ", ".join(content[key]) for key in ("means", "dispersions", "costs")}
    pairs = ", ".join(f"{a} > {b}" for a, b in content["pairs"])
    task = f"{content['task']} with answers {content['answers']}" if "answers" in content else content["task"]
    return (
        f"Arms of the {content['family']} family have means {listed['means']}, dispersions {listed['dispersions']} and "
        f"costs {listed['costs']}. The task {task} needs the pairs {pairs or 'none'} (arms counted from 0). "
        f"Its characteristic time T* is at least {content['lower']} and at most {content['upper']}: "
        f"these bounds agree to a relative 10^-{content['digits']}."
    )


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
        raise ValueError("brackets nested without end") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"no JSON object whose 'format' is {FORMAT!r}")
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
