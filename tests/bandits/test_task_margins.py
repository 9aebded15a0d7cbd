"""Tasks with levels, margins and ratios: the grammar, answers by their definition, and what makes no sense."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caet_opt import Above, BanditModel, Cheapest, Comparisons, Control, InputError, Statement, parse_family, parse_task
from caet_opt.bandits.tasks import LowerIsBetter, pose_task
from caet_opt.bandits.tasks.statements import judge

NAMES = ["gpt-4-mini", "local", "gpt-4", "a", "a-1e"]

MARGINS = st.decimals(0, 1000, allow_nan=False, places=4) | st.sampled_from(["1e-3", "2E2", ".5", "7.", "1e-30"])
LEVELS = st.tuples(st.sampled_from(["", "-", "+"]), MARGINS).map(lambda parts: f"{parts[0]}{parts[1]}")
SUFFIXES = st.tuples(st.sampled_from("+-"), MARGINS).map(lambda parts: f"{parts[0]}{parts[1]}") | st.sampled_from(
    ["", "*1.1", "*0.9", "*1e-2", "*3"]
)
CONTROLS = st.tuples(st.integers(0, 9), SUFFIXES).map(lambda parts: f"control:{parts[0]}{parts[1]}")
ABOVES = LEVELS.map(lambda level: f"above:{level}")
ITEMS = st.tuples(st.integers(0, 4), st.integers(5, 9), SUFFIXES).map(lambda parts: "{}-{}{}".format(*parts))
COMPARED = st.lists(ITEMS, min_size=1, max_size=4, unique_by=lambda item: item[:3]).map(
    lambda items: "comparisons:" + ",".join(items)
)
CHEAPEST = (CONTROLS | ABOVES).map(lambda inner: f"cheapest:{inner}")


@given(CONTROLS | ABOVES | COMPARED | CHEAPEST, st.booleans())
def test_a_task_is_read_back_from_its_text(text, lower):
    task = parse_task(text, lower_is_better=lower)
    assert parse_task(str(task)) == task
    assert hash(parse_task(str(task))) == hash(task)
    assert task.lower_is_better == lower
    assert task != parse_task(text, lower_is_better=not lower)
    assert "\n" not in task.describe()


@given(st.integers(0, 9), st.integers(0, 8), SUFFIXES, SUFFIXES)
def test_arms_may_have_names_and_margins(arm, step, suffix, other):
    names = [f"arm-{number}+1" for number in range(10)]
    second = (arm + 1 + step) % 10
    for text in ("control:{0}{2}", "cheapest:control:{0}{2}", "comparisons:{0}-{1}{2},{1}-{0}{3}"):
        numbered, named, quoted = (
            text.format(*map(write, (arm, second)), suffix, other) for write in (str, names.__getitem__, quote(names))
        )
        try:
            task = parse_task(numbered)
        except InputError:  # a pair that is listed twice
            continue
        assert parse_task(named, names) == parse_task(quoted, names) == task
        assert parse_task(numbered, names, kept=True) == task


def quote(names):
    return lambda arm: f'"{names[arm]}"'


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("control:gpt-4", "control:2"),
        ("control:gpt-4-0.02", "control:2-0.02"),
        ("control:gpt-4 - 0.02", "control:2-0.02"),
        ("control:'gpt-4'*1.1", "control:2*1.1"),
        ("control:gpt-4-mini-1", "control:0-1"),
        ("control:gpt-4-4", "control:2-4"),
        ('control:"a"-1e-3', "control:3-0.001"),
        ('control:"a-1e"-3', "control:4-3"),
        ("control:3-1", "control:3-1"),
        ("cheapest:control:gpt-4-0.02", "cheapest:control:2-0.02"),
        ("cheapest:above:0.8", "cheapest:above:0.8"),
        ("comparisons:gpt-4-local", "comparisons:2-1"),
        ("comparisons:local-gpt-4", "comparisons:1-2"),
        ("comparisons:local-gpt-4-0.5,0-1+2", "comparisons:1-2-0.5,0-1+2"),
    ],
)
def test_names_and_margins_are_told_apart(text, numbers):
    assert parse_task(text, NAMES) == parse_task(numbers)


def test_a_word_that_is_a_name_is_that_arm_and_no_margin():
    names = ["gpt", "gpt-4", "4"]
    assert parse_task("control:gpt-4", names) == Control(1)
    assert parse_task("control:gpt-4-4", names) == Control(1, margin=-4)
    assert parse_task("control:'gpt'-4", names) == Control(0, margin=-4)
    assert parse_task("comparisons:4-gpt-4", names) == Comparisons([(2, 1)])


@pytest.mark.parametrize("zero", ["+0", "-0", "+0.0", "-0e5", "*1", "*1.00"])
def test_no_margin_is_none_in_everything(zero):
    for before, after in (("control:0", ""), ("comparisons:1-0", ",0-2"), ("cheapest:control:1", "")):
        task, plain = parse_task(before + zero + after), parse_task(before + after)
        assert task == plain
        assert str(task) == str(plain)
        posed, simple = (one.for_costs([3, 2, 1]) for one in (task, plain))
        assert posed.statements([3, 4, 2]) == simple.statements([3, 4, 2])
        assert posed.describe() == simple.describe()
        form, same = posed.compiled_form(3), simple.compiled_form(3)
        assert (form.shape, form.members.tolist()) == (same.shape, same.members.tolist())
        assert form.numbers.tolist() == same.numbers.tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("above", "needs a level"),
        ("above:", "needs a level, for example above:0.8"),
        ("above:x", "needs a level"),
        ("above:0.5+0.1", "needs a level"),
        ("above:nan", "needs a level"),
        ("above:1e999", "the level must be a finite number that fits double precision"),
        ("above:1e-999", "the level must be a finite number that fits double precision"),
        ("above:1_0", "needs a level"),
        ("control", "needs the control arm"),
        ("control:", "needs the control arm"),
        ("control:+0.02", "write ARM"),
        ("control:0+", "write ARM"),
        ("control:0+x", "write ARM, ARM+NUMBER, ARM-NUMBER or ARM*NUMBER"),
        ("control:0--0.1", "write ARM"),
        ("control:0+-0.1", "write ARM"),
        ("control:0+0.1+0.2", "write ARM"),
        ("control:0*1.1+0.2", "write ARM"),
        ("control:0*0", "the ratio must be above 0, got 0"),
        ("control:0*-1", "write ARM"),
        ("control:0+1e999", "the margin must be a finite number"),
        ("control:0+inf", "write ARM"),
        ("control:0/2", "arms are numbers counted from 0"),
        ("cheapest", "write cheapest:above:LEVEL or cheapest:control:ARM-MARGIN"),
        ("cheapest:", "write cheapest:above:LEVEL"),
        ("cheapest:best-arm", "write cheapest:above:LEVEL"),
        ("cheapest:above", "needs a level"),
        ("cheapest:above:", "needs a level"),
        ("cheapest:control:x", "arms are numbers counted from 0, got 'x'"),
        ("cheapest:cheapest:above:1", "write cheapest:above:LEVEL"),
        ("comparisons:0-1+", "arms are numbers counted from 0, got '1+'"),
        ("comparisons:0+0.1", "write each pair as A-B, got '0+0.1'"),
        ("comparisons:0-1+0.1,1-0-0.1", "lists the pair 1-0 twice"),
        ("comparisons:0-0+0.1", "compares arm 0 with itself"),
        ("comparisons:0-1*0", "must be above 0"),
        ("above:0.8~0.1", "task 'above:0.8' has one right answer; a tolerance (~) is for best-arm"),
        ("abov:0.8", "unknown task 'abov'; did you mean 'above'?"),
        ("best-arm:(lower is better)", "takes no parameter"),
    ],
)
def test_bad_texts_are_refused_in_a_line(text, words):
    with pytest.raises(InputError) as refusal:
        parse_task(text)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("control:a-1e-3", 'can be read as control:"a"-1e-3 and as control:"a-1e"-3; write one of these'),
        ("control:lcal+0.02", "unknown arm 'lcal'; did you mean 'local'?"),
        ("cheapest:control:lcal+0.02", "unknown arm 'lcal'; did you mean 'local'?"),
        ("comparisons:local-gpt+0.1", "write each pair as A-B, got 'local-gpt+0.1'"),
        ("control:a~0.1", "task 'control:3' has one right answer; a tolerance (~) is for"),
    ],
)
def test_names_that_are_none_or_two_are_refused(text, words):
    with pytest.raises(InputError) as refusal:
        parse_task(text, NAMES)
    assert words in str(refusal.value)


def test_a_name_with_a_tolerance_in_it_is_a_name():
    assert parse_task("control:a~1", ["b", "a~1"]) == Control(1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Above("0.5"),
        lambda: Above(True),
        lambda: Above(float("nan")),
        lambda: Above(10**400),
        lambda: Control(0, margin=Fraction(1, 3)),
        lambda: Control(0, margin=0.1, ratio=2),
        lambda: Control(0, ratio=-1),
        lambda: Comparisons([Statement(0, None, Fraction(1))]),
        lambda: Comparisons([Statement(0, 1, Fraction(1, 3))]),
        lambda: Comparisons([Statement(0, 1, Fraction(1), Fraction(2))]),
        lambda: LowerIsBetter(parse_task("ranking", lower_is_better=True)),
        lambda: Cheapest(Above(0.5)).answer([1, 2]),
        lambda: Cheapest(Above(0.5)).for_costs([1, 2, 3]).check(2),
        lambda: Cheapest(Control(5, -1)).for_costs([1, 2, 3]),
    ],
)
def test_bad_numbers_are_refused(make):
    with pytest.raises(InputError) as refusal:
        make()
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("family", "task", "words"),
    [
        ("bernoulli", "above:1", "level 1 must be between 0 and 1, the ends of the bernoulli means"),
        ("bernoulli", "above:0", "level 0 must be between"),
        ("bernoulli", "cheapest:above:-0.1", "level -0.1 must be between"),
        ("exponential", "above:0", "level 0 must be between 0 and inf"),
        ("poisson", "above:-1", "level -1 must be between"),
        ("bernoulli", "control:0+1", "margin 1 is as large as the difference of any two"),
        ("bernoulli", "comparisons:0-1-2", "margin -2 is as large"),
        (
            "bernoulli",
            "control:0*1.1",
            "ratios of means are for exponential, gamma and poisson rewards, not for bernoulli",
        ),
        ("gaussian", "control:0*1.1", "ratios of means are for"),
        ("geometric", "comparisons:0-1*1.1", "ratios of means are for"),
    ],
)
def test_what_makes_no_sense_for_a_family(family, task, words):
    for lower in (False, True):
        with pytest.raises(InputError) as refusal:
            parse_task(task, lower_is_better=lower).check_family(parse_family(family))
        assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("family", "tasks"),
    [
        ("gaussian", ["above:0", "above:-3", "control:0+100", "ranking"]),
        ("bernoulli", ["above:0.999", "control:0-0.5", "comparisons:0-1+0.99", "cheapest:control:1-0.02"]),
        ("exponential", ["above:3", "control:0*1.1", "control:0+100", "cheapest:control:0*0.9"]),
        ("gamma:2", ["control:0*1.1"]),
        ("poisson", ["control:0*1.1", "above:1e-3"]),
        ("geometric", ["above:5", "control:0-3"]),
    ],
)
def test_what_makes_sense_for_a_family(family, tasks):
    for text in tasks:
        parse_task(text).check_family(parse_family(family))


GRID = st.integers(1, 12).map(lambda tenths: Fraction(tenths, 10))


def qualify(means, text, lower):
    """Which arms exceed the level or the control, by the words of the grammar."""
    kind, _, argument = text.partition(":")
    side = -1 if lower else 1
    if kind == "above":
        return {arm for arm, mean in enumerate(means) if side * (mean - Fraction(argument)) > 0}
    control = means[int(argument[0])]
    number = Fraction(argument[2:] or 0)
    if argument[1:2] == "*":
        return {
            arm for arm, mean in enumerate(means) if (number * mean < control if lower else mean > number * control)
        }
    number = number if argument[1:2] == "+" else -number
    return {arm for arm, mean in enumerate(means) if side * (mean - control) > number}


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    "text", ["above:0.6", "control:1", "control:1+0.2", "control:2-0.3", "control:0*1.5", "control:1*0.5"]
)
@given(means=st.lists(GRID, min_size=3, max_size=5), costs=st.lists(st.integers(1, 3), min_size=5, max_size=5))
def test_answers_are_those_of_the_definition(text, lower, means, costs):
    task = parse_task(text, lower_is_better=lower)
    itself = set() if text.startswith("above") else {int(text[8])}
    expected = qualify(means, text, lower)
    assert task.answer(means) == task.answer([float(mean) for mean in means]) == tuple(sorted(expected - itself))
    statements = task.statements(means)
    assert len(statements) == task.count_statements(len(means)) == task.statements_at_risk(len(means))
    assert all(judge(statement, means) >= 0 for statement in statements)
    if itself & expected and min(range(len(means)), key=lambda arm: (costs[arm], arm)) in itself:
        with pytest.raises(InputError, match="is the cheapest and qualifies whatever the means are"):
            parse_task(f"cheapest:{text}").for_costs(costs[: len(means)])
        return
    cheapest = parse_task(f"cheapest:{text}", lower_is_better=lower).for_costs(costs[: len(means)])
    order = sorted(range(len(means)), key=lambda arm: (costs[arm], arm))
    answer = next((arm for arm in order if arm in expected), "none")
    assert cheapest.answer(means) == cheapest.answer([float(mean) for mean in means]) == answer
    assert answer in cheapest.list_answers(len(means))
    asserted = cheapest.statements(means)
    before = order if answer == "none" else order[: order.index(answer)]
    asked = [arm for arm in [*before, answer] if arm not in itself and arm != "none"]
    assert {arm for statement in asserted for arm in statement.arms} - itself == set(asked) - itself
    assert len(asserted) == len(asked) <= cheapest.count_statements(len(means))
    assert all(judge(statement, means) >= 0 for statement in asserted)


@given(st.lists(GRID, min_size=3, max_size=3), st.booleans())
def test_comparisons_with_margins(means, lower):
    task = parse_task("comparisons:0-1+0.2,0-1-0.2,2-1*1.5,0-2", lower_is_better=lower)
    a, b, c = (-mean for mean in means) if lower else means
    ratio = Fraction(3, 2)
    third = means[1] >= ratio * means[2] if lower else means[2] >= ratio * means[1]
    truths = [a >= b + Fraction("0.2"), a >= b - Fraction("0.2"), third, a >= c]
    pairs = [(0, 1), (0, 1), (2, 1), (0, 2)]
    assert task.answer(means) == tuple(pair if so else pair[::-1] for pair, so in zip(pairs, truths, strict=True))


def test_combinations_of_comparisons_that_no_means_have_are_not_listed():
    task = parse_task("comparisons:0-1+0.2,0-1-0.2,1-2")
    assert len(list(task.list_answers(3))) == 6
    met = {
        task.answer([Fraction(a, 10), Fraction(b, 10), Fraction(c, 10)])
        for a, b, c in product((0, 5, 6, 7, 9, 12), (6,), (3, 9))
    }
    assert met == set(task.list_answers(3))


@pytest.mark.parametrize("text", ["above:0.5", "control:1+0.1", "cheapest:above:0.5", "comparisons:0-1+0.1"])
def test_what_speaks_of_pairs_alone_says_so(text):
    task = parse_task(text).for_costs([1, 2])
    with pytest.raises(InputError, match="has levels or margins"):
        task.pairs([0.2, 0.7])
    assert task.compiled_shape(2) is None


def test_a_task_is_posed_for_a_model():
    model = BanditModel("bernoulli", [0.7, 0.8, 0.9], costs=[1, 2, 3], arms=["small", "middle", "large"])
    assert pose_task(model, "cheapest:control:large-0.15").answer(model.exact_means) == 1
    for task, words in [
        ("above:2", "level 2 must be between"),
        ("control:huge", "unknown arm 'huge'"),
        ("control:3+0.1", "names arm 3"),
        (parse_task("best-arm", lower_is_better=True), "the model does not say that lower means are better"),
        ("cheapest:control:small-0.1", "arm 0 is the cheapest and qualifies whatever the means are"),
    ]:
        with pytest.raises(InputError, match=words):
            pose_task(model, task)
    with pytest.raises(InputError, match="needs known costs, and gaps depend on the means"):
        pose_task(BanditModel("bernoulli", [0.7, 0.8], costs="gaps"), "cheapest:above:0.75")
