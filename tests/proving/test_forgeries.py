"""Nothing false gets through the checker, everything true does, and no document keeps it busy."""

import json
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from call_counts import count_calls
from forgeries import TASKS, as_version_1, forgeries, hostile, raw_forgeries, two_arms

from caet_opt import BanditModel, Custom, Gamma, Gaussian, InputError, Poisson, proven_time
from caet_opt.proving import check as checker
from caet_opt.proving.certificates import certificate
from cases.forging import is_accepted, random_forgery, rebuild, sign, stated_certificates


@pytest.mark.parametrize(("every", "least"), [(100, 2000), pytest.param(4, 10000, marks=pytest.mark.slow)])
def test_no_forgery_is_accepted(every, least):
    documents = list(forgeries(every))
    assert len(documents) > least
    assert [document for document in documents if is_accepted(document)] == []


def test_no_forgery_of_statements_is_accepted():
    """Margins, levels, ratios, directions, points and pieces, with everything that follows from them made to fit."""
    genuine = stated_certificates()
    assert all(map(is_accepted, genuine))
    rng = np.random.default_rng(7)
    assert [forged for _ in range(400) if is_accepted(forged := random_forgery(rng, genuine))] == []


def test_certificates_of_the_first_version_are_accepted_and_know_pairs_only():
    earlier = as_version_1(two_arms())
    assert earlier["midpoints"] == ["1"]
    assert is_accepted(earlier)
    for task in ("above:1", "control:1+1", "best-arm (lower is better)", "cheapest:above:1"):
        with pytest.raises(checker.Rejected, match="version 1 knows neither levels nor margins"):
            checker.check(sign({**earlier, "task": task}))


def test_no_text_with_a_repeated_key_or_anything_behind_it_is_accepted():
    assert is_accepted(json.dumps(two_arms()))
    assert [text for text in raw_forgeries() if is_accepted(text)] == []


def test_nothing_behind_the_colon_reaches_the_statement():
    (words,) = [task for task in TASKS if "at least 5" in task]
    with pytest.raises(checker.Rejected, match="is not as certificates write it; 'best-arm' would be"):
        checker.check(two_arms(task=words))
    assert "at least 5" in two_arms(task=words)["theorem"]


@pytest.mark.parametrize(
    "answers",
    [
        {"": "anything"}, [[[0, 1]], {"": "anything"}], [[[0, 1]], [[1, 0], "anything"]], [[[-2, -1]], [[-1, -2]]],
        [[[False, True]], [[True, False]]], [[[0, 1]], [[0, 1], [1, 0]]], [[[0, 1]]],
    ],
)  # fmt: skip
def test_answers_that_are_none_are_rejected(answers):
    assert is_accepted(two_arms(task="custom", answers=[[[0, 1]], [[1, 0]]]))
    assert not is_accepted(two_arms(task="custom", answers=answers))


HOSTILE = hostile()


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_takes_a_bounded_number_of_calls_per_byte(name):
    """55 at most today; a call for every two of 15000 arms would be 110. Calls on long numbers spend `checker.Work`."""
    written = json.dumps(HOSTILE[name])
    assert len(written) < 1.2e6
    accepted, calls = count_calls(is_accepted, written)
    assert not accepted
    assert calls < 1000 + 80 * len(written)


def fits(answers, arms):
    """Whether every order satisfies exactly one answer, by looking at every order."""
    ranks = [dict(zip(order, range(arms), strict=True)) for order in permutations(range(arms))]
    holding = np.array([[all(rank[a] < rank[b] for a, b in answer) for answer in answers] for rank in ranks])
    return bool((holding.sum(axis=1) == 1).all() and holding.any(axis=0).all())


def as_statements(answers):
    return tuple(tuple(checker.Statement(a, b) for a, b in answer) for answer in answers)


def random_partition(rng, arms):
    """Answers that fit: orders split by one comparison after the other."""
    answers = [()]
    for _ in range(rng.integers(1, 6)):
        answer = answers.pop(int(rng.integers(len(answers))))
        a, b = map(int, rng.choice(arms, 2, replace=False))
        answers += [(*answer, (a, b)), (*answer, (b, a))]
    return [tuple(dict.fromkeys(answer)) for answer in answers]


def test_answers_fit_exactly_when_every_order_satisfies_one():
    rng = np.random.default_rng(5)
    verdicts = []
    for _ in range(400):
        answers = random_partition(rng, 4)
        if rng.random() < 0.3:
            answers.pop()
        try:
            checker.check_answers(as_statements(answers), checker.Work(0))
        except checker.Rejected:
            verdicts.append(False)
        else:
            verdicts.append(True)
        assert verdicts[-1] == fits(answers, 4), answers
    assert 100 < sum(verdicts) < 300


def test_answers_about_many_arms_are_checked_too():
    """Nine compared arms: more than are enumerated when the task is made."""
    best = [[(a, b) for b in range(9) if b != a] for a in range(9)]
    model = BanditModel(Gaussian(), list(range(9)), [1] * 9)
    assert is_accepted(certificate(proven_time(model, Custom(best), 5)))
    with pytest.raises(InputError, match="a certificate cannot be written: some order of the arms satisfies no answer"):
        certificate(proven_time(model, Custom(best[1:]), 5))


def test_hundreds_of_answers_are_checked_with_work_in_proportion_to_their_length():
    chains = [tuple(pairwise(order)) for order in permutations(range(6))]
    signs = [tuple((i, 0) if k >> i & 1 else (0, i) for i in range(1, 10)) for k in range(0, 1024, 2)]
    for answers in (chains, signs):
        checker.check_answers(as_statements(answers), checker.Work(2 * len(checker.canonical_json(answers))))


def test_a_term_that_is_exactly_one_is_accepted():
    """Neither 1/3 nor 0.1 is a dyadic number: balls alone could not tell that these terms are not below 1."""
    thirds = {"means": ["1/3", "0"], "costs": ["1", "1"], "effort": ["36", "36"], "weights": [["72"]]}
    assert checker.check(rebuild(two_arms(), **thirds)).count(" 72") == 2
    poisson = {
        "family": "poisson",
        "means": ["10", "0"],
        "costs": ["0", "1"],
        "effort": ["0", "0.1"],
        "weights": [["0.1"]],
    }
    assert checker.check(rebuild(two_arms(), **poisson)).count(" 0.1") == 2


def test_a_term_that_is_below_one_is_called_so_and_one_that_cannot_be_told_is_not(monkeypatch):
    below = rebuild(two_arms(), effort=["0.9999999999", "1"])
    with pytest.raises(checker.Rejected, match="the term of arm 0 > arm 1 is below 1, so the upper bound fails"):
        checker.check(below)
    genuine = certificate(proven_time(BanditModel(Poisson(), [4, 3], [1, 2]), "best-arm", 40))
    monkeypatch.setattr(checker, "PRECISIONS", [32])
    with pytest.raises(checker.Rejected, match="the term of arm 0 > arm 1 was not shown to be 1 or more"):
        checker.check(genuine)


def test_weights_that_are_exactly_within_the_costs_are_accepted():
    over = rebuild(two_arms(), weights=[["2.0000000000000000001"]])
    with pytest.raises(checker.Rejected, match="the weights at arm 0 exceed its cost, so the lower bound fails"):
        checker.check(over)
    assert is_accepted(two_arms())


@pytest.mark.parametrize("digits", [1, 300, 1000])
def test_fractions_and_many_digits(digits):
    model = BanditModel(
        Gamma(Fraction(2, 3)), [Fraction(1, 3), Fraction(5, 7), 1], [Fraction(1, 7), 0, Fraction(22, 7)]
    )
    assert is_accepted(certificate(proven_time(model, "ranking", digits)))


def test_a_symmetric_problem_of_many_pairs_is_within_the_work_of_its_short_certificate():
    """Midpoints of 3 characters and weights of mostly none, but terms of 100 digits."""
    model = BanditModel(Gaussian(), [1] * 12 + [0] * 12, [1] * 24)
    assert is_accepted(certificate(proven_time(model, "top-arms:12", 100)))


def test_the_digest_is_written_in_one_way():
    document = two_arms()
    assert is_accepted(document)
    assert not is_accepted({**document, "sha256": document["sha256"].upper()})
    assert sign(document) == document
