"""Check a certificate of proven digits: python check.py cert.json

This file is meant to be read. It uses the standard library and python-flint, and nothing of the code that finds
certificates. What is certified is the value of the program

    T* = inf c.w   subject to   f_e(w) >= 1 for every needed pair e = (a, b),   w > 0,

where d is the divergence of the reward family, phi the dispersions, and

    f_e(w) = min over m of  w_a d(mu_a, m) / phi_a + w_b d(mu_b, m) / phi_b     if both arms cost something,
    f_e(w) = w_a d(mu_a, mu_b) / phi_a                                          if b is free (and a is not),

while a pair of free arms, or one at infinite divergence from its free arm, constrains nothing. The minimum is at the
mean of mu_a and mu_b weighted by w_a / phi_a and w_b / phi_b. A certificate holds an effort w and weights q >= 0:

    upper bound   f_e(w) >= 1 for every e, so T* <= c.w;
    lower bound   with m_e the minimiser above (or the free arm's mean), at every costly arm a
                  sum over e at a of q_e d(mu_a, m_e) / phi_a <= c_a, so that for every feasible w
                  sum(q) <= sum_e q_e f_e(w) <= sum_a w_a sum_{e at a} q_e d(mu_a, m_e) / phi_a <= c.w:  T* >= sum(q).

All numbers are rational and exact; only divergences are rounded, into balls that contain them, until each
inequality is certain. The rest of the certificate (pairs, midpoints, bounds, statement, digest) follows from the
inputs, w and q: it is derived again, and must be equal to what is written.
"""

import json
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

from flint import arb, ctx, fmpq

FORMAT, VERSION = "caet-opt certificate", 1
MOST_DIGITS = 1000
NUMBER = re.compile(r"-?\d+(\.\d+|/\d+)?", re.ASCII)
LISTS = ("means", "costs", "dispersions", "effort", "weights")

Pair = tuple[int, int]


class Inputs(NamedTuple):
    """What a certificate is about; means, costs and dispersions by arm."""

    family: str
    means: list[Fraction]
    costs: list[Fraction]
    dispersions: list[Fraction]


class Rejected(Exception):  # noqa: N818
    """The certificate does not prove what it states; the message says why."""


def check(document: dict[str, Any]) -> str:
    """The theorem that a certificate proves; `Rejected` when it does not."""
    content = {key: value for key, value in document.items() if key != "sha256"}
    if document.get("sha256") != digest(content):
        raise Rejected("its digest does not fit its content: something was changed")
    try:
        expected = rederive(content)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError) as error:
        raise Rejected(f"it is malformed ({type(error).__name__}: {error})") from error
    for key in [*expected, *content]:
        if key not in expected or canonical(content.get(key)) != canonical(expected[key]):
            raise Rejected(f"its {key!r} is not what its inputs, effort and weights give")
    return str(expected["statement"])


def rederive(document: dict[str, Any]) -> dict[str, Any]:
    """Verify both bounds, and build the certificate anew from its inputs, effort and weights."""
    family, task, digits = document["family"], document["task"], document["digits"]
    if type(digits) is not int or not 1 <= digits <= MOST_DIGITS:
        raise Rejected(f"digits must be a whole number from 1 to {MOST_DIGITS}")
    means, costs, dispersions, effort, weights = rows = [[number(item) for item in document[key]] for key in LISTS]
    inputs = Inputs(family, means, costs, dispersions)
    check_inputs(inputs)
    pairs = needed_pairs(task, means, document.get("answers"))
    midpoints = [midpoint(inputs, pair, effort) for pair in pairs]
    verify_bounds(inputs, pairs, midpoints, effort, weights, digits)
    lower, upper = sum(weights, Fraction(0)), sum((c * w for c, w in zip(costs, effort, strict=True)), Fraction(0))
    if (upper - lower) * 10**digits > upper:
        raise Rejected(f"its bounds are too far apart for {digits} digits")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "family": family,
        "task": task,
        **({"answers": document["answers"]} if task == "custom" else {}),
        "digits": digits,
        **{key: [text(value) for value in row] for key, row in zip(LISTS, rows, strict=True)},
        "pairs": pairs,
        "midpoints": [None if m is None else text(m) for m in midpoints],
        "lower": text(lower),
        "upper": text(upper),
    }
    return {**content, "statement": statement(content)}


def check_inputs(inputs: Inputs) -> None:
    """Reject means outside the family, negative costs, and dispersions that are not positive."""
    family, means, costs, dispersions = inputs
    if family not in DIVERGENCES:
        raise Rejected(f"the family {family!r} is unknown")
    low, high = MEANS[family]
    if any((low is not None and mean < low) or (high is not None and mean > high) for mean in means) or (
        family in ("exponential", "gamma") and 0 in means
    ):
        raise Rejected(f"a mean is outside the {family} family")
    if not len(means) == len(costs) == len(dispersions) or min(costs) < 0 or min(dispersions) <= 0:
        raise Rejected("each arm needs a mean, a cost of zero or more and a positive dispersion")
    if family not in ("gaussian", "gamma") and set(dispersions) != {1}:
        raise Rejected(f"the {family} family has dispersion 1")


def needed_pairs(task: str, means: list[Fraction], answers: Any = None) -> list[Pair]:
    """The pairs (a, b), "a beats b", that the task's answer for these means asserts."""
    name, _, argument = task.partition(":")
    arms = range(len(means))
    order = sorted(arms, key=lambda arm: -means[arm])
    if name == "best-arm":
        pairs = [(order[0], b) for b in arms if b != order[0]]
    elif name == "ranking":
        pairs = list(pairwise(order))
    elif name == "top-arms":
        if not 0 < int(argument) < len(means):
            raise Rejected(f"the task {task!r} makes no sense for {len(means)} arms")
        top, others = sorted(order[: int(argument)]), sorted(order[int(argument) :])
        pairs = [(a, b) for a in top for b in others]
    elif name == "groups":
        groups = [[int(arm) for arm in group.split(",")] for group in argument.split("/")]
        best = [max(group, key=means.__getitem__) for group in groups]
        pairs = [(a, b) for a, group in zip(best, groups, strict=True) for b in group if b != a]
    elif name == "control":
        control = int(argument)
        pairs = [(arm, control) if means[arm] > means[control] else (control, arm) for arm in arms if arm != control]
    elif name == "comparisons":
        listed = [(int(a), int(b)) for a, b in (pair.split("-") for pair in argument.split(","))]
        pairs = [(a, b) if means[a] > means[b] else (b, a) for a, b in listed]
    elif name == "custom":
        holding = [answer for answer in answers if all(means[a] > means[b] for a, b in answer)]
        if len(holding) != 1:
            raise Rejected(f"{len(holding)} answers of the custom task hold at its means, not one")
        pairs = [(a, b) for a, b in holding[0]]
    else:
        raise Rejected(f"the task {task!r} is unknown")
    if not all(a in arms and b in arms and means[a] > means[b] for a, b in pairs):
        raise Rejected("two arms of a needed pair have equal means")
    return pairs


def midpoint(inputs: Inputs, pair: Pair, effort: list[Fraction]) -> Fraction | None:
    """The mean weighted by effort over dispersion, or the mean of the free arm; None when both arms are free."""
    (a, b), (_, means, costs, dispersions) = pair, inputs
    if costs[a] == 0 or costs[b] == 0:
        return means[a] if costs[b] > 0 else means[b] if costs[a] > 0 else None
    va, vb = effort[a] / dispersions[a], effort[b] / dispersions[b]
    if not (va > 0 and vb > 0):
        raise Rejected(f"an arm of the pair {a} > {b} has no effort")
    return (va * means[a] + vb * means[b]) / (va + vb)


def verify_bounds(
    inputs: Inputs,
    pairs: list[Pair],
    midpoints: list[Fraction | None],
    effort: list[Fraction],
    weights: list[Fraction],
    digits: int,
) -> None:
    """``f_e(w) >= 1`` for every pair, and ``sum_{e at a} q_e d(mu_a, m_e) / phi_a <= c_a`` for every costly arm."""
    family, means, costs, _ = inputs
    if len(effort) != len(means) or len(weights) != len(pairs) or min([*effort, *weights]) < 0:
        raise Rejected("each arm needs an effort and each pair a weight, none of them negative")
    if any(w > 0 and c == 0 for w, c in zip(effort, costs, strict=True)):
        raise Rejected("a free arm has an effort")
    parts: list[list[tuple[Fraction, Fraction]]] = [[] for _ in means]
    for (a, b), m, weight in zip(pairs, midpoints, weights, strict=True):
        costly = [arm for arm in (a, b) if costs[arm] > 0]
        if m is None or (len(costly) == 1 and m in MEANS[family]):  # both arms are free, or the divergence is infinite
            if weight > 0:
                raise Rejected(f"the pair {a} > {b} constrains nothing and has a weight")
            continue
        if not certain(digits, surplus, inputs, costly, m, effort):
            raise Rejected(f"the term of the pair {a} > {b} is below 1, so the upper bound fails")
        for arm in costly:
            parts[arm].append((weight, m))
    for arm, cost in enumerate(costs):
        if cost > 0 and not certain(digits, slack, inputs, arm, parts[arm]):
            raise Rejected(f"the weights at arm {arm} exceed its cost, so the lower bound fails")


def surplus(inputs: Inputs, costly: list[int], m: Fraction, effort: list[Fraction]) -> Any:
    """``f_e(w) - 1``."""
    return sum(ball(effort[arm]) * rate(inputs, arm, m) for arm in costly) - 1


def slack(inputs: Inputs, arm: int, parts: list[tuple[Fraction, Fraction]]) -> Any:
    """``c_a - sum over e at a of q_e d(mu_a, m_e) / phi_a``."""
    return ball(inputs.costs[arm]) - sum(ball(weight) * rate(inputs, arm, m) for weight, m in parts)


def rate(inputs: Inputs, arm: int, m: Fraction) -> Any:
    """``d(mu_a, m) / phi_a``."""
    return DIVERGENCES[inputs.family](inputs.means[arm], m) / ball(inputs.dispersions[arm])


def certain(digits: int, quantity: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a quantity is certainly zero or more, at a precision that is raised until this is decided."""
    for doubling in range(6):
        with ctx.workprec((7 * digits + 200) << doubling):
            value = quantity(*arguments)
            if value >= 0 or value < 0:
                return bool(value >= 0)
    return False


def ball(value: Fraction) -> Any:
    """A ball that contains a rational number."""
    return arb(fmpq(value.numerator, value.denominator))


def x_log(x: Fraction, y: Fraction) -> Any:
    """``x log(x / y)``, which is zero for x = 0."""
    return ball(x) * ball(x / y).log() if x else arb(0)


#: d(x, y) at dispersion one.
DIVERGENCES: dict[str, Callable[[Fraction, Fraction], Any]] = {
    "gaussian": lambda x, y: ball((x - y) ** 2 / 2),
    "bernoulli": lambda x, y: x_log(x, y) + x_log(1 - x, 1 - y),
    "poisson": lambda x, y: x_log(x, y) + ball(y - x),
    "exponential": lambda x, y: ball(x / y - 1) - ball(x / y).log(),
    "gamma": lambda x, y: ball(x / y - 1) - ball(x / y).log(),
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


def number(written: str) -> Fraction:
    """A rational number written as a decimal or as a fraction."""
    if not isinstance(written, str) or not NUMBER.fullmatch(written):
        raise Rejected(f"{written!r} is no rational number")
    return Fraction(written)


def text(value: Fraction) -> str:
    """A rational number in full: as a decimal where it has a finite one, else as a fraction."""
    rest, places = value.denominator, 0
    for prime in (2, 5):
        times = 0
        while rest % prime == 0:
            rest, times = rest // prime, times + 1
        places = max(places, times)
    if rest > 1:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    point = len(digits) - places
    return "-" * (value < 0) + digits[:point] + ("." + digits[point:] if places else "")


def statement(content: dict[str, Any]) -> str:
    """The theorem in words."""
    shown = {key: ", ".join(content[key]) for key in ("means", "dispersions", "costs")}
    pairs = ", ".join(f"{a} > {b}" for a, b in content["pairs"])
    task = f"{content['task']} with answers {content['answers']}" if "answers" in content else content["task"]
    return (
        f"Arms of the {content['family']} family have means {shown['means']}, dispersions {shown['dispersions']} and "
        f"costs {shown['costs']}. The task {task} needs the pairs {pairs or 'none'} (arms counted from 0). "
        f"Its characteristic time T* is at least {content['lower']} and at most {content['upper']}: "
        f"these bounds agree to a relative 10^-{content['digits']}."
    )


def canonical(value: Any) -> str:
    """JSON with its keys in order and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(content: dict[str, Any]) -> str:
    """SHA-256 of everything but the digest itself."""
    return sha256(canonical(content).encode()).hexdigest()


def parse(written: str) -> dict[str, Any]:
    """The certificate in a text; `ValueError` when it is none."""
    try:
        document = json.loads(written, object_pairs_hook=without_repetition)
    except RecursionError as error:
        raise ValueError("brackets nested without end") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"no JSON object whose 'format' is {FORMAT!r}")
    return document


def without_repetition(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, refused when a key occurs twice."""
    if len(dict(items)) < len(items):
        raise ValueError("a key occurs twice")
    return dict(items)


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            print(check(parse(file.read())))
    except (Rejected, ValueError, OSError, IndexError) as refusal:
        sys.exit(f"rejected: {refusal}")
