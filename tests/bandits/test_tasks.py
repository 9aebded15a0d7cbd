"""Answers, pairs and supports of every task, and the check of custom tasks against Definition 1."""

import re
from itertools import combinations, pairwise, permutations
from pathlib import Path

import pytest
from call_counts import count_calls

from caet_opt import BestArm, Custom, InputError, Ranking, TopArms, parse_task

MEANS = (0.2, 0.9, 0.5, 0.7)


@pytest.mark.parametrize(
    ("text", "answer", "pairs", "support"),
    [
        ("best-arm", 1, {(1, 0), (1, 2), (1, 3)}, (0, 1, 2, 3)),
        ("ranking", (1, 3, 2, 0), {(1, 3), (3, 2), (2, 0)}, (0, 1, 2, 3)),
        ("top-arms:2", (1, 3), {(1, 0), (1, 2), (3, 0), (3, 2)}, (0, 1, 2, 3)),
        ("groups:0,2", (2,), {(2, 0)}, (0, 2)),
        ("groups:0,2/3,1", (2, 1), {(2, 0), (1, 3)}, (0, 1, 2, 3)),
        ("control:2", (1, 3), {(2, 0), (1, 2), (3, 2)}, (0, 1, 2, 3)),
        ("comparisons:0-1,2-0", ((1, 0), (2, 0)), {(1, 0), (2, 0)}, (0, 1, 2)),
    ],
)
def test_answer_pairs_and_support(text, answer, pairs, support):
    task = parse_task(text)
    task.check(len(MEANS))
    assert task.answer(MEANS) == answer
    assert set(task.pairs(MEANS)) == pairs
    assert len(task.pairs(MEANS)) == len(pairs)
    assert task.support(MEANS) == support
    assert parse_task(str(task)) == task


@pytest.mark.parametrize(
    "text", ["best-arm", "ranking", "top-arms:2", "groups:0,2/3,1", "control:2", "comparisons:0-1,2-0"]
)
def test_shipped_tasks_satisfy_definition_1(text):
    """The answers met over all orders, given as a custom task, pass the same check as a user's."""
    task = parse_task(text)
    answers = {task.pairs([-order.index(arm) for arm in range(4)]) for order in permutations(range(4))}
    custom = Custom(sorted(answers))
    assert custom.answer_pairs(custom.answer(MEANS), 4) == task.pairs(MEANS)


def test_custom_task_names_an_order_that_no_answer_covers():
    with pytest.raises(InputError, match=r"no answer covers the order 1 > 0 > 2"):
        Custom([[(0, 1)], [(1, 0), (2, 0)]])


def test_custom_task_names_an_order_that_two_answers_cover():
    with pytest.raises(InputError, match=r"the order 0 > 1 > 2 is covered by answers 0 and 1"):
        Custom([[(0, 1)], [(1, 2)]])


def test_overlap_is_found_beyond_enumeration():
    chain = [(arm, arm + 1) for arm in range(11)]
    with pytest.raises(InputError, match="covered by answers 0 and 1"):
        Custom([chain, chain[:5]])


def test_uncovered_means_are_an_error_beyond_enumeration():
    chain = [(arm, arm + 1) for arm in range(11)]
    task = Custom([chain, [(b, a) for a, b in chain]])
    assert task.answer([-float(arm) for arm in range(12)]) == 0
    with pytest.raises(InputError, match="no answer covers"):
        task.answer([1.0, 2.0, 0.0, *range(-9, 0)])


@pytest.mark.parametrize("answers", [[], [[(0, 0)]], [[(0, 1), (1, 0)]], [[(0, 1)], []], [[(0, -1)]], [["01"]]])
def test_malformed_answers(answers):
    with pytest.raises(InputError):
        Custom(answers)


def test_ties_are_broken_by_the_lower_number():
    assert parse_task("best-arm").answer([0.5, 0.5, 0.1]) == 0
    assert parse_task("ranking").answer([0.1, 0.5, 0.5]) == (1, 2, 0)
    assert parse_task("comparisons:1-0").answer([0.5, 0.5]) == ((1, 0),)


def test_hundreds_of_answers_are_checked_with_a_bounded_number_of_calls_per_pair():
    """105 and 74 today."""
    best = [[(arm, other) for other in range(200) if other != arm] for arm in range(200)]
    orders = [list(pairwise(order)) for order in permutations(range(6))]
    for answers in (best, orders):
        task, calls = count_calls(Custom, answers)
        assert len(task.answers) == len(answers)
        assert calls < 200 * sum(map(len, answers))


def test_an_overlap_among_many_answers_is_found():
    best = [[(arm, other) for other in range(40) if other != arm] for arm in range(40)]
    with pytest.raises(InputError, match="is covered by answers 39 and 40"):
        Custom([*best, [(39, other) for other in range(39)]])
    orders = [list(pairwise(order)) for order in permutations(range(5))]
    with pytest.raises(InputError, match="the order 4 > 3 > 2 > 1 > 0 is covered by answers 119 and 120"):
        Custom([*orders, [(4, 3), (3, 2), (2, 1), (1, 0), (4, 0)]])
    with pytest.raises(InputError, match="no answer covers the order 4 > 3 > 2 > 1 > 0"):
        Custom(orders[:-1])


def roundabout(count):
    """Answers without a pair and its reverse: each two of them hold together only if u > a > v > b > u."""
    answers = [[] for _ in range(count)]
    for number, (i, j) in enumerate(combinations(range(count), 2)):
        u, a, v, b = range(4 * number, 4 * number + 4)
        answers[i] += [(u, a), (a, v)]
        answers[j] += [(v, b), (b, u)]
    return answers


def test_answers_that_contradict_each_other_in_a_roundabout_way():
    assert len(Custom(roundabout(20)).answers) == 20

    def ask(count):
        with pytest.raises(InputError, match="too large to be checked"):
            Custom(roundabout(count))

    (_, fewer), (_, more) = count_calls(ask, 50), count_calls(ask, 100)
    assert more < 5 * fewer  # four times as many pairs


def test_answers_that_are_too_long_together_are_refused_at_once():
    with pytest.raises(InputError, match="list 320000 pairs; up to 250000 are checked"):
        Custom([[(0, arm) for arm in range(1, 9)]] * 40000)


def test_more_pairs_than_can_be_solved_are_refused_at_once():
    TopArms(500).check(1000)
    for task, arms in ((TopArms(1000), 2000), (TopArms(501), 1001), (BestArm(), 250_002), (Ranking(), 10**9)):
        with pytest.raises(InputError, match="up to 250000 are solved in reasonable time"):
            task.check(arms)


def wrong_pairs(task, order, arms):
    """For each wrong answer of an order of the arms, the pairs that it asserts against the order."""
    rank = {arm: place for place, arm in enumerate(order)}
    means = [-rank[arm] for arm in range(arms)]
    answers = {task.answer([-other.index(arm) for arm in range(arms)]) for other in permutations(range(arms))}
    wrong = answers - {task.answer(means)}
    return [{(a, b) for a, b in task.answer_pairs(answer, arms) if rank[a] > rank[b]} for answer in wrong]


def smallest_meeting(sets):
    """The size of the smallest set that meets all of these, by trying all sets of one size after another."""
    pairs = sorted(set().union(*sets))
    for size in range(len(pairs) + 1):
        if any(all(found & set(chosen) for found in sets) for chosen in combinations(pairs, size)):
            return size
    raise AssertionError


@pytest.mark.parametrize(
    ("text", "arms"),
    [
        *(("best-arm", arms) for arms in (2, 3, 4, 5)),
        *(("ranking", arms) for arms in (2, 3, 4)),
        *(("top-arms:1", 4), ("top-arms:2", 4), ("top-arms:2", 5), ("top-arms:3", 4)),
        *(("groups:0,1/2,3", 4), ("groups:0,1,2/3,4", 5), ("control:0", 4), ("control:2", 5)),
        *(("comparisons:0-1,2-3", 4), ("comparisons:0-1,1-2", 3)),
    ],
)
def test_pairs_at_risk_by_brute_force(text, arms):
    """R of the task, and of the same task given by its answers, is the most over all orders of the fewest that do."""
    task = parse_task(text)
    found = [smallest_meeting(wrong_pairs(task, order, arms)) for order in permutations(range(arms))]
    assert task.statements_at_risk(arms) == max(found)
    answers = {task.answer([-order.index(arm) for arm in range(arms)]) for order in permutations(range(arms))}
    custom = Custom([task.answer_pairs(answer, arms) for answer in sorted(answers, key=str)])
    assert custom.statements_at_risk(arms) == max(found)


def test_pairs_at_risk_of_a_large_custom_task_are_those_compared():
    answers = [[(best, arm) for arm in range(8) if arm != best] for best in range(8)]
    assert Custom(answers).statements_at_risk(8) == 28


@pytest.mark.parametrize(
    "name", ["best-arm", "top-arms:M", "ranking", "control", "above", "cheapest:above", "cheapest:control"]
)
def test_the_page_counts_pairs_as_the_tasks_do(name):
    page = (Path(__file__).parents[2] / "docs" / "which_task.md").read_text(encoding="utf-8")
    cells = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |")).split("|")[2:4]
    formulas = [re.search(r"\$(.*?)\$", cell)[1] for cell in cells]
    for arms, size in ((4, 1), (5, 2), (7, 3)):
        asked = name.replace(":M", f":{size}") + (":0" if name.endswith(("control", "above")) else "")
        task = parse_task(asked).for_costs(range(arms))
        found = [eval(re.sub(r"(\w) \(", r"\1 * (", text), {"K": arms, "m": size}) for text in formulas]
        assert found == [task.count_statements(arms), task.statements_at_risk(arms)]
