"""Questions and answers in words, with the names of the arms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import InputError, parse_task
from caet_opt.bandits.tasks import Custom, LowerIsBetter
from caet_opt.bandits.tasks.statements import judge
from caet_opt.common.exact import exact

NAMES = ["a", "b", "c", "d"]
MEANS = [3, 4, 2, 1]

#: A task, its words, those where the lower mean is the better one, and its answer for the means in both cases.
WORDS = [
    ("best-arm", "best arm", "lowest arm", "b", "d"),
    ("ranking", "ranking", "ranking, lower is better", "b > a > c > d", "d < c < a < b"),
    ("top-arms:2", "best 2 arms", "best 2 arms, lower is better", "a, b", "c, d"),
    ("groups:0,1/2,3", "best of 2 groups", "best of 2 groups, lower is better", "b, c", "a, d"),
    ("control:0", "better than a", "below a", "b", "c, d"),
    ("control:0+1.5", "above a + 1.5", "below a - 1.5", "none", "d"),
    ("control:0-1.5", "above a - 1.5", "below a + 1.5", "b, c", "b, c, d"),
    ("control:0*1.2", "above 1.2 * a", "below a / 1.2", "b", "c, d"),
    ("above:2.5", "above 2.5", "below 2.5", "a, b", "c, d"),
    ("above:9", "above 9", "below 9", "none", "a, b, c, d"),
    ("cheapest:above:2.5", "cheapest above 2.5", "cheapest below 2.5", "b", "d"),
    ("cheapest:control:1-0.5", "cheapest above b - 0.5", "cheapest below b + 0.5", "b", "d"),
    ("comparisons:0-1", "order of a and b", "order of a and b", "b > a", "b > a"),
    ("comparisons:0-1,2-3", "order of 2 pairs", "order of 2 pairs", "b > a, c > d", "b > a, c > d"),
    ("comparisons:0-1+0.5", "whether a > b + 0.5", "whether b > a + 0.5", "b > a - 0.5", "b > a + 0.5"),
    ("comparisons:0-1+0.5,2-3", "2 comparisons", "2 comparisons", "b > a - 0.5, c > d", "b > a + 0.5, c > d"),
]


@pytest.mark.parametrize(
    ("text", "words", "lower_words", "answer", "lower_answer"), WORDS, ids=[row[0] for row in WORDS]
)
def test_a_question_and_its_answer_in_words(text, words, lower_words, answer, lower_answer):
    for task, question, expected in (
        (parse_task(text), words, answer),
        (parse_task(text, lower_is_better=True), lower_words, lower_answer),
    ):
        task = task.for_costs([4, 3, 2, 1])
        assert task.describe(NAMES) == question
        assert task.write_answer(task.answer(MEANS), NAMES) == expected


def test_a_task_of_ones_own_says_what_its_answer_asserts():
    task = Custom([["0 > 1 + 0.5"], ["1 > 0 - 0.5", "2 > 2.5"], ["1 > 0 - 0.5", "2 < 2.5"]])
    assert task.describe(NAMES) == "custom"
    assert task.write_answer(task.answer(MEANS), NAMES) == "b > a - 0.5, c < 2.5"


@given(st.sampled_from([row[0] for row in WORDS]), st.booleans())
def test_words_without_names_have_numbers(text, lower):
    task = parse_task(text, lower_is_better=lower)
    assert not set("abcd") & set(task.describe().replace("arm", "").split())
    assert isinstance(task, LowerIsBetter) == lower


@given(st.fractions(-3, 3, max_denominator=20).map(float), st.lists(st.integers(1, 9), min_size=3, max_size=3))
def test_another_margin_is_that_of_every_statement(margin, means):
    for text in ("control:1+2", "comparisons:0-1,2-1", "cheapest:control:1-1", "control:0 (lower is better)"):
        task = parse_task(text).with_margin(margin).for_costs([3, 5, 4])
        stated = task.statements(means)
        assert {abs(float(statement.margin)) for statement in stated} <= {abs(margin)}
        assert all(judge(statement, means) >= 0 for statement in stated)
    task = parse_task("cheapest:above:2 (lower is better)").with_level(margin)
    assert str(parse_task(str(task))) == str(task)


@pytest.mark.parametrize("text", ["best-arm", "above:1", "cheapest:above:1", "control:0*2", "comparisons:0-1+1,1-2"])
def test_a_task_without_one_margin_is_refused(text):
    with pytest.raises(InputError, match="margin"):
        parse_task(text).with_margin(1)


@pytest.mark.parametrize("text", ["best-arm", "control:0", "comparisons:0-1+1", "cheapest:control:0-1"])
def test_a_task_without_a_level_is_refused(text):
    with pytest.raises(InputError, match="has no level; above:LEVEL"):
        parse_task(text).with_level(1)


def test_another_ratio_is_that_of_every_statement():
    for text in ("control:1*2", "comparisons:0-1,2-1", "cheapest:control:1*0.5", "control:0 (lower is better)"):
        task = parse_task(text).with_ratio(0.9).for_costs([3, 5, 4])
        assert {min(statement.ratio, 1 / statement.ratio) for statement in task.statements([4, 3, 2])} == {exact(0.9)}
        assert str(parse_task(str(task))) == str(task)
    for text in ("best-arm", "above:1", "cheapest:above:1", "control:0+2", "comparisons:0-1*2,1-2"):
        with pytest.raises(InputError, match="ratio"):
            parse_task(text).with_ratio(2)
    with pytest.raises(InputError, match="the ratio must be above 0, got 0"):
        parse_task("control:0").with_ratio(0)
