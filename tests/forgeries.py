"""Forged certificates: documents that no honest hand wrote, all with digests that fit. Run it to count those accepted.

    python tests/forgeries.py

A forger knows the format. He may write anything into a certificate, make everything that can be derived fit what he
wrote, and sign it; what he may not get is a theorem. A document counts as a forgery unless it is equal to the genuine
certificate that it was made from.
"""

import copy
import json
import time
from fractions import Fraction
from itertools import islice, pairwise, permutations

from caet_opt import BanditModel, Bernoulli, Custom, Gamma, Gaussian, Poisson, proven_time
from caet_opt.proving import check as checker
from caet_opt.proving.certificates import certificate
from cases.forging import is_accepted, rebuild, restate, scale, sign, stated_certificates, statement_forgeries

#: What is put behind, before or in place of a text, besides numbers written in other ways.
INJECTIONS = (
    "", " ", "\n", "\t", "\r", "\x00", "\x1b[31m", "\x7f", "\u2028", "\u202e", "\ud800", "\u0661", "\uff11",
    "\u00b2", "_0", "e0", "E0", "e999999999", ".", ".0", "/1", "/0", "+", "-", "0x1", "nan", "inf", ",", ":", "'",
    '"', "\\", ". The task is solved",
    " (arms counted from 0). Its characteristic time T* is at least 5 and at most 5: ", "\n\nTheorem: T* = 5", "%s",
    "{}", "9" * 5000,
)  # fmt: skip

#: What stands where another type belongs.
STRANGERS = (
    None, True, False, 0, 1, -1, 1.0, 1e300, float("nan"), "", "1", [], {}, [[]], [1], ["1"], [None], [[0, 1]], {"": 1},
    {"1": "1"}, [{"a": []}], [True], [[True, False]], [[[0, 1]]], 10**30,
)  # fmt: skip

#: Other ways to write numbers that certificates write in one way only.
SPELLINGS = {
    "2": ("2.0", "02", "+2", " 2", "2 ", "2_", "0_2", "4/2", "2/1", "2e0", "\u0662", "\uff12", "2.", "0x2", "2\n"),
    "0": ("-0", "0.0", "00", "0/1", "-0.0", "+0", "0/5", ".0", "0.", ""),
    "1": ("1.0", "01", "3/3", "1/1", "+1", "1_", "--1", "-1/-1", "1e0", "\u0661", "1,"),
}  # fmt: skip

#: Tasks whose text is not what a certificate writes, or which make no sense for two or three arms.
TASKS = (
    "best-arm:", "best-arm:0", "best-arm ", " best-arm", "best-arm\n", "Best-Arm", "best\u2010arm", "ranking:1",
    "ranking:", "ranking\x00", "top-arms", "top-arms:", "top-arms:0", "top-arms:-1", "top-arms:+1", "top-arms:01",
    "top-arms:1.0", "top-arms:1_", "top-arms:\u0661", "top-arms:1/1", "top-arms:1,1", "top-arms: 1", "top-arms:1 ",
    "top-arms:3", "top-arms:99", "top-arms:1:1", "top-arms:True", "top-arms:" + "9" * 5000, "groups", "groups:",
    "groups:0", "groups:0,", "groups:0/1", "groups:0,1/", "groups:/0,1", "groups:0,1/0,1", "groups:0,0",
    "groups:0,1,0", "groups:0,1/2", "groups:0,9", "groups:0,-1", "groups:0,01", "groups:0, 1", "groups:0;1",
    "groups:0,1//", "control", "control:", "control:-1", "control:9", "control:00", "control:0,1", "control:0/",
    "control:+0", "control:0\n", "comparisons", "comparisons:", "comparisons:0", "comparisons:0-0",
    "comparisons:0-1,0-1", "comparisons:0-1,1-0", "comparisons:0-1,", "comparisons:0-1-0", "comparisons:0--1",
    "comparisons:0-9", "comparisons:0-01", "comparisons:0 - 1", "comparisons:0-1/0-1", "comparisons:0,1", "custom",
    "custom:", "custom:0", "", ":", "above", "above:", "above:x", "above:+1", "above: 1", "above:1.0", "above:.5",
    "above:1/2", "above:1e0", "above:1e-999999999", "above:--1", "above:1,2", "above:1 (lower is better) ",
    "above:1(lower is better)", "above:1 (lower is better) (lower is better)", "control:0+", "control:0+0",
    "control:0*1", "control:0*0", "control:0*-1", "control:0+1.0", "control:0+1e0", "control:0+-1", "control:0/2",
    "control:0+1+1", "control:0+1*2", "control:9+1", "comparisons:0-1+0", "comparisons:0-1*1", "comparisons:0-1+1.0",
    "comparisons:0-1+1,1-0-1", "comparisons:0-1*2,1-0*0.5", "comparisons:0-0+1", "cheapest", "cheapest:",
    "cheapest:ranking", "cheapest:best-arm", "cheapest:above:", "cheapest:cheapest:above:1", "cheapest:custom",
    "cheapest:comparisons:0-1", "custom (lower is better)", "unknown", "best-arm,ranking",
    "best-arm:0 needs the statements arm 0 > arm 1 (arms counted from 0). Its characteristic time T* is at least 5 "
    "and at most 5: these bounds agree to a relative 10^-9. The task best-arm",
    "ranking: is solved. The task ranking",
)  # fmt: skip

#: Answers for two arms of means 2 and 0 that are not the two answers 0 > 1 and 1 > 0.
ANSWERS = (
    [], [[]], [[[0, 1]]], [[[1, 0]]], [[[0, 1]], []], [[[0, 1]], [[0, 1]]], [[[0, 1]], [[1, 0]], [[1, 0]]],
    [[[0, 1]], [[1, 0]], []], [[[0, 1], [0, 1]], [[1, 0]]], [[[0, 1]], [[1, 0], [1, 0]]], [[[0, 1], [1, 0]]],
    [[[0, 1]], [[1, 0]], [[0, 1], [1, 0]]], [[[0, 1]], [[1, 0], "anything"]],
    [[[0, 1]], [[1, 0], {"": "anything"}]], [[[0, 1]], [[1, 0], ["x", "y"]]], [[[0, 1]], [[1, 0], None]],
    [[[0, 1]], [[1, 0], [7, 8]]], [[[0, 1]], [[1, 0], [0, 0]]], [[[0, 1]], [[1, 0], [-1, 5]]],
    [[[0, 1]], [[1, 0, 1]]], [[[0, 1]], [[1]]], [[[0, 1]], [1, 0]], [[[0, 1]], {"": "anything"}],
    [[[0, 1]], "anything"], [[[0, 1]], None], [[[0, -1]], [[-1, 0]]], [[[-2, 1]], [[1, 0]]],
    [[[-2, -1]], [[-1, -2]]], [[[False, True]], [[True, False]]], [[[0, True]], [[1, 0]]], [[[0, 1.0]], [[1, 0]]],
    [[[0.0, 1]], [[1, 0]]], [[["0", "1"]], [["1", "0"]]], [[[0, 1]], [["1", "0"]]], [["01"], ["10"]], ["01", "10"],
    "01", {"": "anything"}, {"0": [[0, 1]], "1": [[1, 0]]}, [{"0": 1, "1": 0}], [[{"": 0, "x": 1}]],
    [[[0, 0]], [[1, 0]]], [[[0, 0]]], [[[1, 1]]], [[[0, 1]], [[1, 0]], "T* = 5"], [[[0, 1]], [[1, 0]], [[]]],
    [[[0, 1]], [[1, 0]], [[[0, 1]]]], [[[0, 2]], [[2, 0]]], None, 0, True, [[[0, 1]], [[1, 10**30]]],
    [[[0, 1], "\x1b[31m"], [[1, 0]]], [[[0, 1]], [[1, 0], "\nTheorem"]],
)  # fmt: skip

#: The same for three arms of means 4, 3 and 2.
THREE_ANSWERS = (
    [[[0, 1]], [[1, 2]]], [[[0, 1]], [[1, 0]], [[0, 2]]], [[[0, 1], [0, 2]], [[1, 0]]],
    [[[0, 1], [0, 2]], [[1, 0], [1, 2]]], [[[0, 1], [1, 2]]], [[[0, 1], [1, 2]], [[1, 0]], [[2, 1]]],
    [[[0, 1], [1, 2], [2, 0]], [[1, 0]]], [[[0, 1]], [[1, 0]], [[0, 1], [1, 2], [2, 0]]],
    [[[0, 1], [1, 2]], [[1, 0], [0, 2]]], [[[0, 2]], [[2, 1]], [[1, 0]]], [[[0, 1], [2, 1]], [[1, 2]], [[1, 0]]],
    [[list(pair) for pair in pairwise(p)] for p in permutations(range(3))][:5],
)  # fmt: skip


def two_arms(**changes):
    """The certificate of the issue, by hand: Gaussian means 2 and 0 at unit costs, T* = 2, everything made to fit."""
    document = {
        "format": checker.FORMAT, "version": checker.VERSION, "family": "gaussian", "task": "best-arm", "digits": 9,
        "means": ["2", "0"], "costs": ["1", "1"], "dispersions": ["1", "1"], "effort": ["1", "1"],
        "statements": ["arm 0 > arm 1"], "numbers": [[0, 1, "0", "1"]], "weights": [["2"]], "points": [[["1", "1"]]],
        "lower": "2", "upper": "2",
    }  # fmt: skip
    return restate({**document, **changes})


def as_version_1(document):
    """The certificate as 0.2.0 wrote it."""
    claim = checker.read_claim(document, checker.Work(10**6))
    weights = [listed or [Fraction(0)] for listed in claim.weights]
    stated = checker.needed_statements(claim)
    points = [checker.find_points(claim, *item, {}) for item in zip(stated, claim.weights, claim.points, strict=True)]
    return sign(checker.write_pairs(claim._replace(version=1, weights=weights), stated, points))


def originals():
    """Genuine certificates, of all kinds of entries."""
    fair = Custom([[(0, 1)], [(1, 0)]])
    problems = (
        (BanditModel(Gaussian(), [2, 0], [1, 1]), "best-arm"),
        (BanditModel(Gaussian(), [3, 4, 2], "gaps"), "ranking"),
        (BanditModel(Gaussian([1, 2, 0.5]), [4, 3, 2], [1, 2, 1]), "top-arms:2"),
        (BanditModel(Bernoulli(), [0.2, 0.51], [1, 0.3]), fair),
        (BanditModel(Poisson(), [4, 3, 2], [1, Fraction(1, 3), 0]), "comparisons:0-1,2-1"),
        (BanditModel(Gamma(Fraction(1, 3)), [4, 3, 2, 1], [1, 2, 3, 0]), "groups:0,1/2,3"),
    )
    made = [certificate(proven_time(model, task, 9)) for model, task in problems]
    earlier = [as_version_1(document) for document in made[1:5]]
    return [json.loads(json.dumps(document)) for document in (two_arms(), *made, *earlier)]


def places(node, way=()):
    """The ways to every value in a document, containers too."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield (*way, key)
        yield from places(child, (*way, key))


def put(document, way, value):
    """A copy of the document with another value at a place."""
    changed = copy.deepcopy(document)
    parent = changed
    for key in way[:-1]:
        parent = parent[key]
    parent[way[-1]] = copy.deepcopy(value)
    return changed


def look(document, way):
    """The value at a place."""
    for key in way:
        document = document[key]
    return document


def other_values(value):
    """What a forger writes in place of a value."""
    yield from STRANGERS
    if isinstance(value, str):
        for injected in INJECTIONS:
            yield from (value + injected, injected + value, injected)
        yield from (value.upper(), value[:-1], value[::-1], [value], {"": value})
    elif isinstance(value, list):
        yield from (value[:-1], [*value, *value], value[::-1], [*value, None], {str(i): x for i, x in enumerate(value)})
        yield from ([*value, "anything"], [value], tuple_text(value))
    elif isinstance(value, int):
        yield from (value + 1, value - 1, -value, float(value), str(value), bool(value), [value])


def tuple_text(value):
    """A list as a text."""
    return ", ".join(map(str, value))


def structural(document):
    """One value changed, in every place and every way; one key removed, added or renamed, at every level."""
    for way in places(document):
        if way[-1] == "sha256":
            continue
        for value in other_values(look(document, way)):
            yield put(document, way, value)
    for key in document:
        yield {name: value for name, value in document.items() if name != key}
        yield {(f"{name} " if name == key else name): value for name, value in document.items()}
    for key in ("", "answers", "note", "Task", "task\n", "theorem", "sha512", "__proto__"):
        for value in ("anything", [], {}, None):
            yield {**document, **({} if key in document else {key: value})}


def respell(document):
    """The same numbers, written in other ways; what follows from them unchanged."""
    for way in places(document):
        for spelling in SPELLINGS.get(look(document, way), ()) if isinstance(look(document, way), str) else ():
            yield put(document, way, spelling)


def false_tasks(document):
    """Another text of the task, and answers that are none."""
    for task in TASKS:
        yield {**document, "task": task}
    three = len(document["means"]) == 3
    for answers in THREE_ANSWERS if three else ANSWERS:
        yield {**document, "task": "custom", "answers": copy.deepcopy(answers)}
        yield {**document, "answers": copy.deepcopy(answers)}


def false_numbers(document):
    """Everything fits, and nothing is true: bounds too low or too high by a little or by much."""
    for exponent in range(1, 10):
        for factor in (1 - Fraction(1, 10**exponent), 1 + Fraction(1, 10**exponent)):
            key = "effort" if factor < 1 else "weights"
            yield rebuild(document, **{key: scale(document[key], factor)})
    for factor in (Fraction(1, 3), Fraction(1, 2), Fraction(2), Fraction(10**6)):  # T* scales with all costs alike
        if any(Fraction(value) for value in document["costs"]):
            yield rebuild(document, costs=scale(document["costs"], factor))
    for digits in (40, 400, 1000):  # the bounds do not agree to so many, unless they are equal
        yield restate({**document, "digits": digits})


def small_models():
    """One arm, or no arm at all, with everything in agreement."""
    for task in (
        "best-arm",
        "ranking",
        "top-arms:1",
        "top-arms:0",
        "groups:0",
        "control:0",
        "comparisons:0-0",
        "custom",
    ):
        for arms in (0, 1):
            alone = {key: ["1"] * arms for key in ("means", "costs", "dispersions")}
            for effort in ("0", "1"):
                extra = {"answers": [[]]} if task == "custom" else {}
                empty = {"effort": [effort] * arms, "statements": [], "numbers": [], "weights": [], "points": []}
                empty["lower"] = "0"
                yield two_arms(task=task, **alone, **empty, **extra, upper=effort if arms else "0")


def forgeries(every=1):
    """All forged documents (or each so-many-th of the structural ones): each is signed as it stands, and again with the
    statement that its entries make."""
    for document in originals():
        thinned = islice(structural(document), 0, None, every)
        for forged in (*thinned, *respell(document), *false_tasks(document), *false_numbers(document)):
            for finished in (sign(forged), restate(forged)):
                if not still_true(finished, document):
                    yield finished
        for other in (document["sha256"].upper(), "", "0" * 64, document["sha256"] + "\n", None, [], 0, True):
            yield {**document, "sha256": other}
    yield from small_models()
    for document in stated_certificates():
        for factor in (Fraction(3, 2), 1 + Fraction(1, 10**6), 1 - Fraction(1, 10**6)):
            yield from statement_forgeries(document, factor)


def still_true(document, genuine):
    """Whether it is the genuine document, but for the order of its answers or for digits to which the bounds agree."""
    digits, lower, upper = document.get("digits"), Fraction(genuine["lower"]), Fraction(genuine["upper"])
    if type(digits) is not int or not 1 <= digits <= 1000 or (upper - lower) * 10**digits > upper:
        return False
    same = {**genuine, "digits": digits}
    if "answers" in genuine and document.get("answers") == genuine["answers"][::-1]:
        same["answers"] = genuine["answers"][::-1]
    return checker.canonical_json(document) == checker.canonical_json(restate(same))


def raw_forgeries():
    """Texts in which a key occurs twice, at the top or inside, or which are not JSON."""
    written = json.dumps(two_arms())
    for key, value in two_arms().items():
        for first in (value, "anything", None):
            yield written[:-1] + f", {json.dumps(key)}: {json.dumps(first)}" + "}"
            yield "{" + f"{json.dumps(key)}: {json.dumps(first)}, " + written[1:]
    nested = json.dumps(two_arms(task="custom", answers=[[[0, 1]], [[1, 0]]]))
    yield nested.replace("[[1, 0]]]", '{"": 1, "": 2}]')
    yield from (written + junk for junk in ("x", "{}", written, "\x00"))
    yield from ("\ufeff" + written, written.replace('"1"', "'1'"), written.replace("2", "\u0662"), f"[{written}]")


def arms(count, pairs=None, **changes):
    """A document about so many arms, whose other entries are of little account."""
    ones = {key: ["1"] * count for key in ("costs", "dispersions", "effort")}
    means, stated = ["1"] + ["0"] * (count - 1), count - 1 if pairs is None else pairs
    points = {"weights": [["1"]] * stated, "points": [[["1", "1"]]] * stated}
    return sign({**two_arms(means=means, **points, **ones), **changes})


def stated_arms(count, margin):
    """Exponential arms, each compared with the first by a margin, whose terms are just above 1 where they are least,
    which is not where the points are."""
    means = [checker.text(Fraction("0.01") + Fraction(k, 10**9)) for k in range(count - 1)]
    lots = {"means": ["4", *means], "effort": ["0.259"] * count, "weights": [["0.259"]] * (count - 1)}
    points = [[["3", checker.text(3 - Fraction(margin))]]] * (count - 1)
    return arms(count, family="exponential", task=f"control:0-{margin}", points=points, digits=1, **lots)


def hostile():
    """Documents of up to a megabyte that are meant to keep the checker busy, by name."""
    many, long = 15000, "7" * 4201
    odd = [str(10**9 + 2 * k + 1) for k in range(many)]
    flips = [[[2 * i + (k >> i & 1), 2 * i + 1 - (k >> i & 1)] for i in range(10)] for k in range(1024)]
    signs = [[[i, 0] if k >> i - 1 & 1 else [0, i] for i in range(1, 13)] for k in range(4096)]
    return {
        "top arms": arms(3000, 10, task="top-arms:1500", means=list(map(str, range(3000)))),
        "a long arm of many pairs": arms(many, means=[long, *odd[1:]], effort=[long, *odd[1:]]),
        "many needless digits": arms(many, family="bernoulli", means=["0.9"] + ["0.1"] * (many - 1), digits=1000),
        "many terms": arms(
            many, family="poisson", means=["10000000000", *odd[1:]], effort=["1000000"] * many,
            weights=[["1000000"]] * (many - 2) + [["2000000"]], digits=1000,
        ),
        "a sum of many denominators": arms(14000, weights=[[f"1/{n}"] for n in odd[1:14000]]),
        "long denominators": arms(110, weights=[["1/" + str(n) + "3" * 4000] for n in range(101, 210)]),
        "powers of two": arms(230, effort=[checker.text(Fraction(1, 2**4200))] * 230),
        "many arms": arms(20000),
        "many fractions to sort": arms(14000, task="ranking", means=[f"1/{n}" for n in odd[:14000]]),
        "many equal answers": arms(3, task="custom", answers=[[[0, 1]]] * 80000),
        "long chains": arms(1000, task="custom", answers=[[[i, i + 1] for i in range(999)]] * 80),
        "independent answers": arms(20, task="custom", answers=flips),
        "dependent answers": arms(13, task="custom", answers=signs),
        "long margins": stated_arms(60, f"0.{'3' * 3999}1"),
        "many margins": stated_arms(6000, "0.3"),
        "many comparisons": arms(3, task="comparisons:" + ",".join(["0-1"] * 200000)),
        "many groups": arms(3, task="groups:" + "/".join(["0,1"] * 200000)),
        "many digits": arms(2, means=["9" * 900000, "0"]),
        "a long denominator": arms(2, means=["1/" + "9" * 900000, "0"]),
        "a large exponent": arms(2, means=["1e999999999", "0"]),
        "a large number of top arms": arms(2, task="top-arms:" + "9" * 900000),
    }  # fmt: skip


def main():
    started, total, wrong = time.perf_counter(), 0, []
    for document in (*forgeries(), *raw_forgeries()):
        total += 1
        if is_accepted(document):
            wrong.append(document)
    for document in wrong[:5]:
        print("accepted:", checker.canonical_json(document)[:2000])
    print(f"{total} forgeries, {len(wrong)} accepted, {time.perf_counter() - started:.1f} s")
    for name, document in hostile().items():
        written, started = json.dumps(document), time.process_time()
        wrong += [document] if is_accepted(written) else []
        print(f"{name}: {len(written) / 1e6:.2f} MB, {time.process_time() - started:.2f} s of the processor")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
