"""Live experiments whose answers assert levels, margins and ratios."""

import random
from fractions import Fraction

import pytest

from caet_opt import LiveExperiment, parse_task
from caet_opt.bandits.tasks.statements import Statement, above, below
from caet_opt.errors import InputError
from caet_opt.live.status import drop_weaker
from caet_opt.presenting.report.experiment import write_experiment_page

MEANS, NAMES = (0.2, 0.9, 0.6), ["small", "middle", "large"]

#: Tasks, and the answer that is declared, in words.
ANSWERS = {
    "above:0.4": "middle, large",
    "above:0.95": "none",
    "cheapest:above:0.4": "middle",
    "cheapest:above:0.97": "none",
    "control:small+0.1": "middle > small + 0.1, large > small + 0.1",
    "control:middle-0.1": "middle > small + 0.1, middle > large + 0.1",
    "comparisons:small-middle+0.1,middle-large": "middle > small - 0.1, middle > large",
    "best-arm (lower is better)": "small",
}


def run(folder, task, **asked):
    """An experiment that is answered until it stops, and the file that it is in."""
    dice, path = random.Random(5), folder / "trial.caet"
    experiment = LiveExperiment.start(path, task, "bernoulli", arms=NAMES, costs=[1, 2, 3], delta=0.2, **asked)
    for _ in range(3000):
        if experiment.stopped:
            break
        (pull,) = experiment.next(1)
        experiment.record(pull.arm, int(dice.random() < MEANS[pull.arm]))
    return experiment, path


@pytest.mark.parametrize("task", ANSWERS)
def test_an_answer_is_declared_named_and_verified(task, tmp_path):
    experiment, path = run(tmp_path, task)
    assert experiment.answer == ANSWERS[task]
    again = LiveExperiment.open(path)
    assert (again.answer, again.verify()) == (experiment.answer, [])
    status = again.status()
    asked = parse_task(task, NAMES).for_costs([1, 2, 3])
    stated = asked.answer_statements(status["stopped"]["arms"], 3)
    assert {row["name"] for row in status["pairs"]} == {statement.write(tuple(NAMES)) for statement in stated}
    assert all(row["settled"] for row in status["pairs"])
    assert experiment.answer in status["not_excluded"]


@pytest.mark.parametrize("task", ["above:0.4", "control:small+0.1"])
def test_intervals_are_of_the_difference_of_a_statement(task, tmp_path):
    """For a level the mean less the level, for a pair the difference of the means, whatever the margin."""
    experiment, _ = run(tmp_path, task)
    arms = {arm["name"]: arm for arm in experiment.status()["arms"]}
    for row in experiment.status()["pairs"]:
        assert row["low"] < row["difference"] < row["high"]
        winner, _, rest = row["name"].partition(" > ")
        if rest == "0.4":
            assert row["difference"] == pytest.approx(arms[winner]["mean"] - 0.4)
            assert row["low"] == pytest.approx(arms[winner]["low"] - 0.4)
        elif rest == "small + 0.1":
            assert row["difference"] == pytest.approx(arms[winner]["mean"] - arms["small"]["mean"])


def test_the_page_names_statements(tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    experiment, _ = run(tmp_path, "above:0.4")
    write_experiment_page(experiment, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "small &lt; 0.4" in page
    assert "middle &gt; 0.4" in page


@pytest.mark.parametrize("told", [{"cost_source": "observed"}, {}], ids=str)
def test_the_cheapest_arm_needs_known_costs(tmp_path, told):
    with pytest.raises(InputError, match="needs costs that are known beforehand; give one cost per arm"):
        LiveExperiment.start(tmp_path / "trial.caet", "cheapest:above:0.4", "bernoulli", arms=3, delta=0.2, **told)
    assert not (tmp_path / "trial.caet").exists()


def test_what_follows_from_another_statement_is_not_established_twice(tmp_path):
    with LiveExperiment.start(tmp_path / "r", "ranking~0.05", "bernoulli", arms=list("abcdefgh"), delta=0.1) as live:
        live.record_counts([(name, 100 if name == "h" else 500, 1000) for name in "abcdefgh"])
        found = live.status()["established"]
    assert [one for one in found if "h" in one] == [f"{name} > h" for name in "abcdefg"]


def test_the_strongest_of_each_two_arms_is_kept():
    stated = [Statement(1, 0, Fraction(margin, 10)) for margin in (-1, 0, 2)] + [
        Statement(0, 2),
        above(1, Fraction(1, 2)),
    ]
    assert drop_weaker(stated) == stated[2:]
    assert drop_weaker([below(0, Fraction(1, 2)), below(0, Fraction(1, 4))]) == [below(0, Fraction(1, 4))]
