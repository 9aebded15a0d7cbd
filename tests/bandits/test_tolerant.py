"""Tasks with a tolerance: their grammar, which answers are right, and what a wrong one asserts."""

from fractions import Fraction
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import BanditModel, Custom, InputError, parse_task
from caet_opt.bandits.modelfile import ModelFile, from_table, read_model, write_model
from caet_opt.bandits.tasks import Tolerant, read_custom, tolerate
from caet_opt.bandits.tasks.statements import judge

ARMS = 4
TEXTS = ("best-arm~0.2", "top-arms:2~0.2", "ranking~0.2", "groups:3,0/2,1~0.2", "comparisons:0-1,2-3+0.1~0.2")
CUSTOM = read_custom("custom~0.2", [[(0, 1), (0, 2)], [(1, 0), (1, 2)], [(2, 0), (2, 1)]])

#: Tenths as fractions, so that differences often are the tolerance exactly.
MEANS = st.lists(st.integers(0, 9).map(lambda tenths: Fraction(tenths, 10)), min_size=ARMS, max_size=ARMS)


def every_task(test):
    tasks = [*map(parse_task, TEXTS), *(parse_task(text, lower_is_better=True) for text in TEXTS), CUSTOM]
    return pytest.mark.parametrize("task", tasks, ids=str)(test)


def every_answer(task):
    """All that has the form of an answer, one by one."""
    return {
        "best-arm": list(range(ARMS)),
        "top-arms": list(combinations(range(ARMS), 2)),
        "ranking": list(permutations(range(ARMS))),
        "groups": list(product((3, 0), (2, 1))),
        "comparisons": list(product(((0, 1), (1, 0)), ((2, 3), (3, 2)))),
        "custom": [0, 1, 2],
    }[task.name]


def holds(task, answer, means):
    return all(judge(statement, means) > 0 for statement in task.answer_statements(answer, ARMS))


@every_task
@given(means=MEANS)
def test_right_answers_are_those_that_hold(task, means):
    found = list(task.right_answers(means))
    assert len(set(found)) == len(found)
    assert set(found) == {answer for answer in every_answer(task) if holds(task, answer, means)}
    assert found
    assert task.answer(means) in found
    if task.name != "custom":  # which has them in the order in which they are listed
        assert found[0] == task.answer(means)


@every_task
def test_an_answer_is_known_by_the_sides_of_its_statements(task):
    for answer in every_answer(task):
        pairs = [statement[:2] for statement in task.answer_statements(answer, ARMS)]
        assert task.answer_of(pairs, ARMS) == answer


@every_task
@given(means=MEANS)
def test_few_false_statements_meet_every_wrong_answer(task, means):
    """R, with what proves it: the false statements of a wrong answer that each task says there is one of."""
    sign = -1 if task.lower_is_better else 1
    order = sorted(range(ARMS), key=lambda arm: (-sign * means[arm], arm))
    top = set(order[:2])
    false = set()
    for answer in every_answer(task):
        wrong = [one for one in task.answer_statements(answer, ARMS) if judge(one, means) < 0]
        if wrong and task.name in ("best-arm", "top-arms", "groups"):
            best, losing = (1, 0) if sign > 0 else (0, 1)
            if task.name == "top-arms":
                chosen = [one for one in wrong if one[best] in top and one[losing] not in top]
            else:
                group = next((g for g in ((3, 0), (2, 1)) if wrong[0][0] in g), tuple(range(ARMS)))
                group = group if task.name == "groups" else tuple(range(ARMS))
                first = next(arm for arm in order if arm in group)
                chosen = [one for one in wrong if one[best] == first] or wrong
            assert chosen
            false.update(chosen[:1])
        elif wrong:
            false.update(wrong)
    assert len(false) <= task.statements_at_risk(ARMS)


def test_the_table_of_what_is_at_risk():
    at_risk = {"best-arm": 4, "top-arms:2": 6, "ranking": 10, "groups:0,1/2,3,4": 3, "comparisons:0-1,1-2": 2}
    for text, many in at_risk.items():
        assert parse_task(f"{text}~0.1").statements_at_risk(5) == many
        assert parse_task(f"{text}~0.1", lower_is_better=True).statements_at_risk(5) == many
    assert parse_task("top-arms:2").statements_at_risk(5) == 4
    assert CUSTOM.statements_at_risk(4) == 3


def test_a_ranking_asserts_all_pairs():
    """Of adjacent pairs the tolerances would add up: the reverse of (0, .9e, 1.8e, 2.7e) would be right."""
    means = [Fraction(tenths, 100) for tenths in (0, 9, 18, 27)]
    right = set(parse_task("ranking~0.1").right_answers(means))
    assert (3, 2, 1, 0) in right
    assert (0, 1, 2, 3) not in right
    assert len(parse_task("ranking~0.1").statements(means)) == 6


def test_texts_are_read_as_they_are_written():
    for text in TEXTS:
        assert str(parse_task(text)) == text
        assert parse_task(str(parse_task(text, lower_is_better=True))) == parse_task(text, lower_is_better=True)
    assert parse_task(" ranking ~ 1e-3") == parse_task("ranking~0.001")
    assert parse_task("best-arm~0") == parse_task("best-arm")
    assert tolerate(parse_task("best-arm"), 0) == parse_task("best-arm")
    assert parse_task("best-arm~0.1") != parse_task("best-arm~0.2")
    assert len({parse_task("best-arm~0.1"), parse_task("best-arm~0.10")}) == 1


def test_an_end_that_may_be_a_name():
    assert parse_task("comparisons:a-b~0.1", ["a", "b"]) == parse_task("comparisons:0-1~0.1")
    assert parse_task("comparisons:a-b~0.1", ["a", "b~0.1"]) == parse_task("comparisons:0-1")
    assert parse_task('comparisons:a-"b~0.1"~0.1', ["a", "b~0.1"]) == parse_task("comparisons:0-1~0.1")
    with pytest.raises(InputError, match="can be read as 'comparisons:0-2', by the name of an arm, and as"):
        parse_task("comparisons:a-b~0.1", ["a", "b", "b~0.1"])


@pytest.mark.parametrize("tolerance", [-0.1, float("nan"), float("inf"), True, "0.1", Fraction(1, 3)])
def test_tolerances_that_are_none(tolerance):
    with pytest.raises(InputError):
        Tolerant(parse_task("best-arm"), tolerance)


def test_answers_in_words():
    names = ("A", "B", "C", "D")
    assert parse_task("best-arm~0.05").write_answer(1, names) == "B (within 0.05 of the best)"
    assert parse_task("best-arm~0.05", lower_is_better=True).write_answer(1, names) == "B (within 0.05 of the best)"
    assert parse_task("top-arms:2~0.05").write_answer((0, 1), names) == "A, B (each within 0.05 of every other)"
    assert parse_task("comparisons:0-1~0.05").write_answer(((0, 1),), names) == "A > B - 0.05"
    assert CUSTOM.write_answer(0, names) == "A > B - 0.2, A > C - 0.2"
    assert parse_task("best-arm~0.05").describe() == "best arm within 0.05"


def test_a_custom_task_with_a_tolerance_is_kept_in_a_file(tmp_path):
    entry = ModelFile(BanditModel("bernoulli", [0.5, 0.5, 0.2], costs=[1, 2, 1]), CUSTOM)
    write_model(tmp_path / "model.toml", entry)
    assert read_model(tmp_path / "model.toml") == entry
    assert isinstance(entry.task.task, Custom)
    with pytest.raises(InputError, match="not both"):
        from_table({"family": "bernoulli", "means": [0.5, 0.4], "task": "best-arm~0.1", "answers": [[[0, 1]]]})
