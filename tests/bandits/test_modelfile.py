"""Model files: read, written, and read back as they were."""

from decimal import Decimal

import pytest

from caet_opt import (
    BanditModel,
    Bernoulli,
    Cheapest,
    Control,
    Custom,
    Gamma,
    Gaussian,
    Groups,
    InputError,
    ModelFile,
    Ranking,
    TopArms,
    parse_task,
    read_model,
    write_model,
)
from caet_opt.common.files import shortest_names

TEXT = """
title = "a trial"
source = "a test"
family = "gaussian:1,4"
means = [3, 4.5]
costs = [1, 0]
arms = ["new", "old"]
task = "best-arm"
characteristic_time = 2
sampling_proportions = [1, 0]
"""

EITHER = Custom([[(0, 1)], [(1, 0)]])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.toml"


def test_every_key_is_read(path):
    path.write_text(TEXT)
    entry = read_model(path)
    assert entry.model == BanditModel(Gaussian([1, 4]), [3, 4.5], [1, 0], ["new", "old"])
    assert (entry.title, entry.source, str(entry.task)) == ("a trial", "a test", "best-arm")
    assert entry.characteristic_time == 2.0
    assert entry.sampling_proportions == (1.0, 0.0)


def test_what_is_optional_can_be_left_out(path):
    path.write_text('family = "bernoulli"\nmeans = [0.2, 0.5]\ncosts = "gaps"\ntask = "ranking"\n')
    assert read_model(str(path)) == ModelFile(BanditModel(Bernoulli(), [0.2, 0.5], "gaps"), Ranking())


@pytest.mark.parametrize("task", ["", 'task = "custom"\n'])
def test_a_custom_task_is_given_by_its_answers(path, task):
    path.write_text(f'family = "bernoulli"\nmeans = [0.2, 0.5]\ncosts = [1, 1]\n{task}answers = [[[0, 1]], [[1, 0]]]\n')
    assert read_model(path).task == EITHER


@pytest.mark.parametrize(
    "entry",
    [
        ModelFile(BanditModel(Gaussian(), [3, 4, 2], "gaps"), Ranking()),
        ModelFile(BanditModel(Gaussian([1, 0.1, 1 / 3]), [3, 4, 2], [1, 0, 0.1]), TopArms(2), "a", 'b "c" \\ é\n'),
        ModelFile(BanditModel(Gamma(1 / 3), [0.1, 1e-300], [1e300, 0], ["x", "y z"]), EITHER, None, "s", 0.1, (1, 0)),
        ModelFile(BanditModel(Bernoulli(), [0, 1, 0.5, 0.2], [1, 1, 1, 1]), Groups([[0, 1], [3, 2]]), "t", None, 0.0),
    ],
)
def test_written_and_read_back_it_is_equal(path, entry):
    write_model(path, entry)
    assert read_model(path) == entry
    assert [file.name for file in path.parent.iterdir()] == ["model.toml"]


def test_gaps_stay_gaps_and_a_list_stays_a_list(path):
    write_model(path, ModelFile(BanditModel(Gaussian(), [3, 4], "gaps"), Ranking()))
    assert read_model(path).model.cost_rule == "gaps"
    write_model(path, ModelFile(BanditModel(Gaussian(), [3, 4], [1, 0]), Ranking()))
    assert read_model(path).model.cost_rule is None


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ('task = "best-arm"', 'task = "control:2"', "names arm 2"),
        ("means = [3, 4.5]", "means = 3", "means must be a list of numbers, got 3"),
        ("means = [3, 4.5]", "means = []", "at least one arm, got 0 means"),
        ("costs = [1, 0]", "costs = 1", "costs must be a list of numbers, got 1"),
        ("costs = [1, 0]", 'costs = "free"', "costs must be a list of numbers or 'gaps', got 'free'"),
        ('family = "gaussian:1,4"', "family = 1", "family must be a string"),
        ('task = "best-arm"', "task = 1", "task must be a string"),
        ('arms = ["new", "old"]', "arms = [1, 2]", "arm names must be a list of non-empty strings"),
        (
            "characteristic_time = 2",
            'characteristic_time = "2"',
            "characteristic_time must be numbers, got '2'",
        ),
        ("sampling_proportions = [1, 0]", "sampling_proportions = 1", "sampling_proportions must be a list"),
        ("sampling_proportions = [1, 0]", "sampling_proportions = [1, nan]", "must be finite"),
        ("source", "sourse", "unknown key 'sourse'; did you mean 'source'?"),
    ],
)
def test_errors_begin_with_the_path(path, old, new, fragment):
    assert old in TEXT
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert fragment in str(caught.value)


@pytest.mark.parametrize("key", ["family", "means", "task"])
def test_a_missing_key_is_named(path, key):
    path.write_text("\n".join(line for line in TEXT.splitlines() if not line.startswith(key)))
    with pytest.raises(InputError, match=f"the key '{key}' is missing; write {key} = "):
        read_model(path)


def test_costs_that_are_not_given_are_one_each(path):
    path.write_text("\n".join(line for line in TEXT.splitlines() if not line.startswith("costs")))
    entry = read_model(path)
    assert entry.model.costs == (1.0,) * len(entry.model.means)
    assert entry.model == BanditModel(entry.model.family, entry.model.given_means, arms=list(entry.model.arms))
    write_model(path, entry)
    assert "costs" in path.read_text()
    assert read_model(path) == entry


def test_a_path_that_cannot_be_written_is_an_input_error(tmp_path):
    entry = ModelFile(BanditModel(Gaussian(), [3, 4], "gaps"), Ranking())
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        write_model(tmp_path / "nowhere" / "model.toml", entry)
    with pytest.raises(InputError, match=r"cannot be written \(Is a directory\)"):
        write_model(tmp_path, entry)
    assert list(tmp_path.parent.glob("*.part")) == []


def test_a_task_outside_the_grammar_is_not_written(path):
    class Secret(Ranking):
        name = "secret"

    with pytest.raises(InputError, match=r"model\.toml: unknown task 'secret'"):
        write_model(path, ModelFile(BanditModel(Gaussian(), [3, 4], "gaps"), Secret()))
    assert not path.exists()


def test_a_short_name_serves_where_it_tells_files_apart():
    whole = ["a/x.toml", "b/x.toml", "b/y.toml"]
    assert shortest_names(whole, ["x", "x", "y"]) == ["a/x.toml", "b/x.toml", "y"]
    assert shortest_names([], []) == []


MARGINS = """
family = "bernoulli"
means = [0.8, 0.86, 0.7]
costs = [0.006, 0.03, 0.001]
arms = ["small", "large", "tiny-0.02"]
task = "control:large-0.1"
"""


def test_margins_levels_and_costs_are_read(path):
    path.write_text(MARGINS)
    assert read_model(path).task == Control(1, margin=Decimal("-0.1"))
    path.write_text(MARGINS.replace("control:", "cheapest:control:"))
    entry = read_model(path)
    assert entry.task == Cheapest(Control(1, margin=Decimal("-0.1")), order=[2, 0, 1])
    assert entry.task.answer(entry.model.exact_means) == 0
    path.write_text(MARGINS.replace("large-0.1", "tiny-0.02"))
    assert read_model(path).task == Control(2)
    path.write_text(MARGINS.replace("large-0.1", "'tiny-0.02'+1e-3"))
    assert read_model(path).task == Control(2, margin=Decimal("0.001"))


def test_lower_is_better_in_a_file(path):
    path.write_text(
        MARGINS.replace("family", "lower_is_better = true\nfamily").replace("[0.006, 0.03, 0.001]", '"gaps"')
    )
    entry = read_model(path)
    assert entry.model.lower_is_better
    assert entry.model.costs == (0.1, 0.16, 0.0)
    assert str(entry.task) == "control:1-0.1 (lower is better)"
    path.write_text('lower_is_better = true\nfamily = "poisson"\nmeans = [2, 1]\nanswers = [[[0, 1]], [[1, 0]]]\n')
    assert read_model(path).task.answer([2, 1]) == 1


TEXTS = Custom([["0 > 1 + 0.1"], ["0 < 1 + 0.1", "0 > 0.5"], ["0 < 1 + 0.1", "0 < 0.5"]])
LOWER = {"lower_is_better": True}


@pytest.mark.parametrize(
    "entry",
    [
        ModelFile(BanditModel(Bernoulli(), [0.8, 0.6], [1, 2]), TEXTS),
        ModelFile(BanditModel(Bernoulli(), [0.8, 0.6], [1, 2], **LOWER), TEXTS),
        ModelFile(BanditModel(Bernoulli(), [0.75, 0.5], "gaps", **LOWER), EITHER),
        ModelFile(BanditModel(Bernoulli(), [0.8, 0.6], [1, 2], **LOWER), parse_task("ranking (lower is better)")),
        ModelFile(BanditModel(Bernoulli(), [0.8, 0.6], [2, 1], ["1", "0"]), parse_task("control:0-0.05")),
        ModelFile(BanditModel(Bernoulli(), [0.8, 0.6], [2, 1], ["1", "0"]), parse_task("comparisons:0-1-0.05")),
        ModelFile(BanditModel(Bernoulli(), [0.8, 0.6], [2, 1]), parse_task("cheapest:above:0.5")),
        ModelFile(BanditModel(Gamma(2), [0.8, 0.6], [2, 1], **LOWER), parse_task("cheapest:control:0*1.1", **LOWER)),
        ModelFile(BanditModel(Gaussian(), [0.8, 0.6], [2, 1]), parse_task("above:-1e-30")),
    ],
)
def test_levels_margins_and_the_direction_are_written_and_read_back(path, entry):
    write_model(path, entry)
    assert read_model(path) == entry
    assert read_model(path).model.lower_is_better == entry.model.lower_is_better


def test_a_task_that_would_be_read_as_the_name_of_an_arm_is_not_written(path):
    entry = ModelFile(BanditModel(Bernoulli(), [0.8, 0.6], arms=["a", "0-0.05"]), parse_task("control:0-0.05"))
    with pytest.raises(InputError, match="would be read as another task"):
        write_model(path, entry)


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ("large-0.1", "large-1.5", "margin -1.5 is as large as the difference of any two"),
        ("large-0.1", "large*1.1", "ratios of means are for exponential, gamma and poisson rewards"),
        ("control:large-0.1", "above:1", "level 1 must be between 0 and 1"),
        ("control:large-0.1", "control:large~0.1", "has one right answer"),
        ("control:large-0.1", "cheapest:control:'tiny-0.02'-0.1", "arm 2 is the cheapest and qualifies"),
        ("control:large-0.1", "control:lrge-0.1", "unknown arm 'lrge'; did you mean 'large'?"),
        ('task = "control:large-0.1"', 'answers = [["small > large * 2"]]', "a statement is written as"),
        ('task = "control:large-0.1"', 'answers = [["small > 1.5"], ["small < 1.5"]]', "level 1.5 must be between"),
        ('task = "control:large-0.1"', 'answers = [["small > large"], ["small > 0.5"]]', "can be right for the same"),
        (
            'family = "bernoulli"',
            'family = "bernoulli"\nlower_is_better = "yes"',
            "'lower_is_better' must be true or false",
        ),
        ('family = "bernoulli"', 'family = "bernoulli"\nlower_is_beter = true', "did you mean 'lower_is_better'?"),
    ],
)
def test_what_is_wrong_with_margins_is_said(path, old, new, fragment):
    assert old in MARGINS
    path.write_text(MARGINS.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_cheapest_needs_known_costs(path):
    path.write_text(MARGINS.replace("control:", "cheapest:control:").replace("[0.006, 0.03, 0.001]", '"gaps"'))
    with pytest.raises(InputError, match="needs known costs, and gaps depend on the means"):
        read_model(path)


def test_a_task_may_be_given_beside_a_file_without_one(path):
    """The answer that such a file expects is that of no task that is known."""
    path.write_text("\n".join(line for line in TEXT.splitlines() if not line.startswith("task")))
    entry = read_model(path, "control:old")
    assert (entry.task, entry.characteristic_time, entry.title) == (Control(1), None, "a trial")
    path.write_text(TEXT)
    assert read_model(path, "control:old") == read_model(path)  # who asks replaces the task
