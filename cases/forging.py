"""A forger of certificates: he knows the format, makes everything fit what he wrote, and signs it.

What he changes here are statements: margins, levels, ratios, directions, points, and the weights that go with them.
"""

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Custom, parse_task
from caet_opt.proving import check as checker
from caet_opt.proving.certificates import certificate
from caet_opt.proving.prove import proven_time

Document = dict[str, Any]

#: Family, means, costs and task of genuine certificates: every family, task and kind of point.
STATED: tuple[tuple[str, list[Any], list[Any], Any], ...] = (
    ("bernoulli", [0.2, 0.45, 0.7], [1, 2, 0.5], "above:0.5"),
    ("bernoulli", [0.2, 0.7, 0.9], [1, 2, 3], "cheapest:above:0.5"),
    ("bernoulli", [0.8, 0.86], [0.006, 0.03], "control:1-0.1"),
    ("bernoulli", [0.95, 0.96], [1, 10], "control:1-0.1"),
    ("exponential", [2, 1.2, 0.7], [1, 1, 3], "control:1+0.1"),
    ("exponential", [5, 0.03], [3.455, 1], "comparisons:0-1+1"),
    ("exponential", [2, 1.2, 0.7], [1, 1, 3], "control:1*1.1"),
    ("poisson", [7, 5, 4], [1, 2, 1], "control:0-1.5"),
    ("poisson", [7, 5, 4], [1, 2, 1], "comparisons:0-1*1.3,1-2*0.9"),
    ("poisson", [3, 0], [1, 2], "comparisons:0-1+1"),
    ("gaussian:2", [7, 5, 4], [1, 2, 1], "control:0-1.5"),
    ("gamma:2.5", [2, 1.2, 1.05], [1, 1, 0], "control:1-0.1"),
    ("geometric", [2, 1.2, 0.7], [1, 1, 3], "control:1+0.1"),
    ("geometric", [3, 0], [1, 2], "comparisons:0-1+1"),
    ("bernoulli", [0.8, 0.86, 0.9, 0.88], [1, 2, 4, 3], "cheapest:control:2-0.08"),
    ("exponential", [2, 1.2, 0.7], [1, 1, 3], "control:1+0.1 (lower is better)"),
    ("gaussian", [2, 1.2, 0.7], [1, 1, 3], "above:1 (lower is better)"),
    ("poisson", [2, 1.2], [1, 1], [["0 > 1 + 0.5"], ["1 > 0 - 0.5"]]),
)


def stated_certificates(digits: int = 9) -> list[Document]:
    """Genuine certificates with statements."""
    made = []
    for family, means, costs, asked in STATED:
        task = Custom(asked) if isinstance(asked, list) else parse_task(asked)
        model = BanditModel(family, means, costs, lower_is_better=task.lower_is_better)
        made.append(certificate(proven_time(model, task, digits)))
    return [json.loads(json.dumps(document)) for document in made]


def sign(document: Document) -> Document:
    """The document with the digest that its content has now."""
    content = {key: value for key, value in document.items() if key != "sha256"}
    return {**content, "sha256": checker.digest(content)}


def restate(document: Document) -> Document:
    """The document with the theorem that its other entries make, where they make one, and signed."""
    key, words = ("statement", checker.statement) if document.get("version") == 1 else ("theorem", checker.theorem)
    content = {name: value for name, value in document.items() if name not in (key, "sha256")}
    try:
        content[key] = words(content)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        content[key] = document.get(key, "")
    return sign(content)


def rebuild(document: Document, **changes: Any) -> Document:
    """Entries changed, and everything that follows from them made to fit: statements as numbers are believed, points
    that follow from the effort are computed, others have the loser's mean that belongs to the winner's."""
    document = {**document, **changes}
    claim = checker.read_claim(document, checker.Work(10**8))
    if claim.version == 1:
        stated = [checker.Statement(*pair) for pair in document["pairs"]]
    else:
        stated = [checker.Statement(a, b, Fraction(e), Fraction(r)) for a, b, e, r in document["numbers"]]
    points = []
    for statement, weights, given in zip(stated, claim.weights, claim.points, strict=True):
        try:
            points.append(checker.find_points(claim, statement, weights, given, {}))
        except checker.Rejected:
            points.append([checker.boundary_point(statement, x) for x in given if x is not None])
    write = checker.write_pairs if claim.version == 1 else checker.write
    return sign(write(claim, stated, points))


def scale(texts: Any, factor: Fraction) -> Any:
    """Numbers, or lists of them, multiplied."""
    if isinstance(texts, list):
        return [scale(item, factor) for item in texts]
    return checker.text(Fraction(texts) * factor)


def task_numbers(document: Document) -> list[tuple[str, str]]:
    """The task as it is, and with each of its numbers in braces, for `str.replace`."""
    task = checker.parse_task(document["task"], document.get("answers"))
    found = [checker.text(task.level)] if task.name == "above" else []
    for margin, ratio in task.numbers:
        found += [checker.text(abs(margin))] if margin else [checker.text(ratio)] if ratio != 1 else []
    return [(document["task"], number) for number in found]


def false_tasks(document: Document, factor: Fraction) -> Iterator[Document]:
    """Another level, margin or ratio in the task, believed or not by statements, numbers and points."""
    for task, number in task_numbers(document):
        before, after = task.rsplit(number, 1)
        changed = checker.text(Fraction(number) * factor)
        told = {"task": before + changed + after}
        yield restate({**document, **told})
        numbers = [
            [a, b, replace_number(e, number, changed), replace_number(r, number, changed)]
            for a, b, e, r in document["numbers"]
        ]
        yield rebuild(document, **told, numbers=numbers)
        yield rebuild(document, numbers=numbers)
    if "above" not in document["task"]:  # the same arms are on the same sides of a level then
        for task in (document["task"].removesuffix(checker.LOWER), document["task"] + checker.LOWER):
            yield restate({**document, "task": task})
    plain = document["task"].removeprefix("cheapest:")
    if plain != document["task"]:
        yield restate({**document, "task": plain})


def replace_number(text: str, number: str, changed: str) -> str:
    """A number of a statement that a changed one of the task gives: itself, its negative, its inverse."""
    value, old, new = Fraction(text), Fraction(number), Fraction(changed)
    for old_form, new_form in ((old, new), (-old, -new), (1 / old, 1 / new)):
        if value == old_form:
            return checker.text(new_form)
    return text


def false_numbers(document: Document, factor: Fraction) -> Iterator[Document]:
    """Statements turned around, with another margin or ratio, left out, listed twice, or about another arm."""
    for index, (a, b, margin, ratio) in enumerate(document["numbers"]):
        others = [
            [b, a, margin, ratio],
            [a, b, checker.text(-Fraction(margin)), ratio],
            [a, b, checker.text(Fraction(margin) * factor), ratio],
            [a, b, checker.text(Fraction(margin) + factor - 1), ratio],
            [a, b, margin, checker.text(Fraction(ratio) * factor)],
            [a, b, margin, checker.text(1 / Fraction(ratio) * factor)],
            [None, b, margin, ratio],
            [a, None, margin, ratio],
        ]
        for other in others:
            if other[:2] != [None, None] and other != [a, b, margin, ratio]:
                numbers = [*document["numbers"][:index], other, *document["numbers"][index + 1 :]]
                yield rebuild(document, numbers=numbers)
        for key in ("numbers", "statements", "points", "weights"):
            rows = document[key]
            yield restate({**document, key: rows[:index] + rows[index + 1 :]})
            yield restate({**document, key: [*rows, rows[index]]})
        without = {
            key: document[key][:index] + document[key][index + 1 :]
            for key in ("numbers", "statements", "points", "weights")
        }
        yield rebuild({**document, **without})


def false_points(document: Document, factor: Fraction) -> Iterator[Document]:
    """Points moved along the boundary, or off it to the side where the statement holds; a piece left out; the weight of
    one given to the other."""
    for index, listed in enumerate(document["points"]):
        for place, (x, y) in enumerate(listed):
            for moved in ([shift(x, factor), y], [x, shift(y, factor)], [y, x], [shift(x, factor), shift(y, factor)]):
                if moved != [x, y]:
                    changed = copy.deepcopy(document)
                    changed["points"][index][place] = moved
                    yield restate(changed)
                    if moved[0] is not None and moved[0] != x:
                        yield rebuild(changed)
        if len(listed) > 1:
            for gone in range(len(listed)):
                changed = copy.deepcopy(document)
                lost = changed["weights"][index].pop(gone)
                del changed["points"][index][gone]
                yield rebuild(changed)
                changed["weights"][index][0] = checker.text(Fraction(changed["weights"][index][0]) + Fraction(lost))
                yield rebuild(changed)
            yield rebuild({**document, "weights": [row[::-1] for row in document["weights"]]})
        elif listed and any(map(Fraction, document["weights"][index])):
            changed = copy.deepcopy(document)
            changed["weights"][index] *= 2
            changed["points"][index].append([shift(listed[0][0], factor), listed[0][1]])
            yield rebuild(changed)


def shift(text: str | None, factor: Fraction) -> str | None:
    """A number of a point, moved."""
    return (
        None if text is None else checker.text(Fraction(text) * factor) if Fraction(text) else checker.text(factor - 1)
    )


def false_inputs(document: Document, factor: Fraction) -> Iterator[Document]:
    """Means, costs and dispersions of other problems, an effort that is too little, weights that are too much."""
    named = {arm for numbers in document["numbers"] for arm in numbers[:2]}
    for key in ("means", "costs", "dispersions"):
        for arm, value in enumerate(document[key]):
            if Fraction(value) and arm in named:
                changed = copy.deepcopy(document)
                changed[key][arm] = scale(value, factor)
                yield rebuild(changed)
    smaller = min(factor, 1 / factor)
    yield rebuild(document, effort=scale(document["effort"], smaller))
    yield rebuild(document, weights=scale(document["weights"], 1 / smaller))
    yield rebuild(document, effort=scale(document["effort"], smaller), weights=scale(document["weights"], smaller))


KINDS = (false_tasks, false_numbers, false_points, false_inputs)


def statement_forgeries(document: Document, factor: Fraction) -> Iterator[Document]:
    """All forgeries of a certificate in which numbers are changed by a factor; none of them is a theorem."""
    for kind in KINDS:
        yield from usable(kind(document, factor), document)


def usable(forged: Iterator[Document], document: Document) -> Iterator[Document]:
    """Those that the forger could write, and that say something else."""
    genuine = checker.canonical_json(document)
    while True:
        try:
            found = next(forged)
        except StopIteration:
            return
        except (checker.Rejected, ZeroDivisionError, ValueError):  # he cannot make this fit
            return
        if checker.canonical_json(found) != genuine:
            yield found


def random_forgery(rng: np.random.Generator, documents: list[Document]) -> Document:
    """One of the forgeries of one of the certificates, numbers changed by a factor of 1 +- 1e-6 to 0.9."""
    while True:
        document = documents[rng.integers(len(documents))]
        size = Fraction(f"{10.0 ** rng.uniform(-6, -0.05):.3e}")
        factor = 1 + size if rng.random() < 0.5 else 1 - size
        found = list(usable(KINDS[rng.integers(len(KINDS))](document, factor), document))
        if found:
            return found[rng.integers(len(found))]


def is_accepted(document: Document | str) -> bool:
    """Whether the checker accepts a document, as it would from a file."""
    try:
        checker.check(checker.parse(document if isinstance(document, str) else json.dumps(document)))
    except (checker.Rejected, ValueError):
        return False
    return True
