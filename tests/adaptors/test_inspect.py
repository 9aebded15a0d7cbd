"""Evaluations by inspect's own eval with its mock models: what is saved, and what becomes of samples that fail."""

import re
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import Task, eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, includes
from inspect_ai.solver import generate

from caet_opt import InputError, LiveExperiment, MissingExtraError
from caet_opt.adaptors.inspect import GATES, Evaluation
from caet_opt.adaptors.inspect_scores import find_score, price, read_score
from cases.mock_models import Mock, bill, evaluate, mock_model, questions, start

TWO = {"large": Mock(0.9, 3, 15), "small": Mock(0.5, 0.1, 0.5)}


def reasons(log):
    return [stop.reason for stop in log.results.early_stopping.early_stops]


@pytest.mark.slow
def test_fewer_calls_for_less_money_and_the_same_answer(tmp_path):
    """200 samples of two models: the best one is that of running everything, by a fraction of calls and dollars."""
    mocks = {"large": Mock(0.9, 3, 15), "small": Mock(0.6, 0.6, 3)}
    evaluation = start(tmp_path / "models.caet", mocks)
    logs = evaluate(mocks, questions(200), tmp_path / "some", evaluation, max_samples=5)
    everything = evaluate(mocks, questions(200), tmp_path / "all")
    accuracy = {log.eval.task: log.results.scores[0].metrics["accuracy"].value for log in everything}
    experiment, spent = evaluation.experiment, bill(logs)
    assert experiment.answer == max(accuracy, key=accuracy.get) == "large"
    assert bill(everything).calls == 400
    assert spent.calls <= 200
    assert spent.dollars < bill(everything).dollars / 2
    status = experiment.status()
    assert status["recorded"] == spent.calls
    assert status["waiting"] == 0
    assert status["spent"] == pytest.approx(spent.dollars, rel=1e-9)
    assert experiment.verify() == []
    ids = [sample.id for log in logs for sample in log.samples]
    assert len(ids) == len(set(ids)) == spent.calls  # no question was put to two models
    assert "settled: large" in reasons(logs[0])
    assert logs[0].results.early_stopping.metadata["answer"] == "large"


GRADED = {"large": Mock(0.75, 3, 15, graded=True), "small": Mock(0.5, 0.6, 3, graded=True)}


@pytest.mark.slow
def test_graded_scores_are_rewards_in_a_range(tmp_path):
    """Quarters from 0 to 1: the best mean is that of running everything, by a fraction of calls and dollars."""
    evaluation = start(tmp_path / "models.caet", GRADED, "bounded:0,1,4")
    logs = evaluate(GRADED, questions(200), tmp_path / "some", evaluation, max_samples=5)
    everything = evaluate(GRADED, questions(200), tmp_path / "all")
    means = {log.eval.task: log.results.scores[0].metrics["mean"].value for log in everything}
    experiment, spent = evaluation.experiment, bill(logs)
    assert experiment.answer == max(means, key=means.get) == "large"
    assert spent.calls < 100
    assert spent.dollars < bill(everything).dollars / 4
    assert {row["reward"] for row in experiment.export() if row["reward"] is not None} == {0, 0.25, 0.5, 0.75, 1}
    assert experiment.status()["spent"] == pytest.approx(spent.dollars, rel=1e-9)
    assert experiment.verify() == []


@pytest.mark.parametrize(
    ("family", "reward", "words"),
    [
        (
            "bounded:0,1",
            lambda score: 5 * score.value,
            "is outside the bounded family, whose rewards are numbers in [0, 1]",
        ),
        ("bounded:0.6,1", None, "whose rewards are numbers in [0.6, 1]"),
        ("bernoulli", None, "whose rewards are 0 and 1"),
    ],
)
def test_a_score_outside_the_range_says_which_and_loses_nothing(tmp_path, family, reward, words):
    """One line: which sample, which score, what would be right; its pull is withdrawn, what was recorded stays."""
    told = {"costs": [1, 1], "max_pulls": 30}
    evaluation = start(tmp_path / "models.caet", GRADED, family, **told, reward=reward)
    logs = evaluate(GRADED, questions(40), tmp_path, evaluation, max_samples=2)
    (message, *_) = [log.error.message for log in logs if log.status == "error"]
    assert re.search(r"sample \d+, epoch 1, of (large|small): reward \S+ is outside the ", message)
    assert words in message
    assert "scores from LO to HI are rewards of family bounded:LO,HI" in message
    assert "\n" not in message
    status = evaluation.experiment.status()
    assert status["waiting"] == 0
    assert status["withdrawn"] > 0
    assert evaluation.experiment.verify() == []
    assert not GATES


def test_scores_of_another_range(tmp_path):
    """Stars from 1 to 5."""
    told = {"costs": [1, 1], "max_pulls": 10}
    evaluation = start(
        tmp_path / "models.caet", GRADED, "bounded:1,5,4", **told, reward=lambda score: 1 + 4 * score.value
    )
    logs = evaluate(GRADED, questions(40), tmp_path, evaluation)
    assert {log.status for log in logs} == {"success"}
    rewards = [row["reward"] for row in evaluation.experiment.export() if row["reward"] is not None]
    assert len(rewards) == 10
    assert set(rewards) <= {1, 2, 3, 4, 5}


def test_a_budget_ends_it(tmp_path):
    evaluation = start(tmp_path / "models.caet", {"a": Mock(0.6, 3, 15), "b": Mock(0.6, 3, 15)}, max_cost=0.004)
    logs = evaluate({"a": Mock(0.6, 3, 15), "b": Mock(0.6, 3, 15)}, questions(60), tmp_path, evaluation, max_samples=1)
    assert 0.004 <= evaluation.experiment.status()["spent"] < 0.004 + 2 * 0.001  # and what was out: two samples
    assert "ended: max_cost" in reasons(logs[0]) + reasons(logs[1])
    assert bill(logs).calls + sum(len(reasons(log)) for log in logs) == 120


def test_too_few_samples_end_the_run_and_leave_the_experiment_open(tmp_path):
    mocks = {"a": Mock(0.61, 3, 15), "b": Mock(0.6, 3, 15)}
    evaluation = start(tmp_path / "models.caet", mocks)
    logs = evaluate(mocks, questions(9), tmp_path, evaluation)
    status = evaluation.experiment.status()
    assert status["recorded"] == 9
    assert status["waiting"] == 0
    assert status["ended"] is None
    assert status["not_excluded"] == ["a", "b"]
    assert {log.status for log in logs} == {"success"}
    assert not GATES


def test_known_costs_and_shared_items(tmp_path):
    """Costs that were told are not asked for; where items are shared, both models may answer every question."""
    evaluation = start(tmp_path / "models.caet", TWO, costs=[2, 1], max_pulls=12, shared_items=True)
    logs = evaluate(TWO, questions(8), tmp_path, evaluation)
    ids = [sample.id for log in logs for sample in log.samples]
    assert len(ids) == evaluation.experiment.status()["recorded"] > len(set(ids))


def broken(name, fails, calls):
    """A model whose calls raise an error where they are told to."""

    def answer(messages, *_):
        calls.append(messages[-1].text)
        if fails(messages[-1].text, calls):
            raise RuntimeError("the line is dead")
        output = ModelOutput.from_content(name, "yes")
        output.usage = ModelUsage(total_tokens=1)
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def evaluate_broken(tmp_path, fails, **options):
    """Two models, the first of which fails at times, until 20 outcomes are there."""
    experiment = LiveExperiment.start(
        tmp_path / "b.caet", "best-arm", "bernoulli", arms=["a", "b"], costs=[1, 1], delta=0.05, max_pulls=20
    )
    evaluation, calls = Evaluation(experiment), []
    models = [broken("a", fails, calls), broken("b", lambda *_: False, [])]
    tasks = [
        Task(dataset=questions(60), solver=generate(), scorer=includes(), model=model, early_stopping=gate)
        for model, gate in zip(models, evaluation.gates, strict=True)
    ]
    logs = eval(tasks, max_tasks=2, max_samples=2, display="none", log_dir=str(tmp_path), **options)
    return evaluation, logs, calls


def test_a_sample_that_fails_releases_its_pull(tmp_path):
    evaluation, logs, _ = evaluate_broken(tmp_path, lambda text, _: text.endswith("2"), fail_on_error=False)
    status = evaluation.experiment.status()
    assert evaluation.gates[0].failed == status["withdrawn"] > 0
    assert status["recorded"] == 20
    assert status["waiting"] == 0
    assert {log.status for log in logs} == {"success"}


def test_another_attempt_keeps_the_pull(tmp_path):
    """A sample that fails once and is tried again is one pull with one outcome."""
    evaluation, _, calls = evaluate_broken(tmp_path, lambda text, calls: calls.count(text) == 1, retry_on_error=1)
    status = evaluation.experiment.status()
    assert status["recorded"] == 20
    assert evaluation.gates[0].failed == 0
    assert len(calls) == 2 * status["arms"][0]["pulls"]


def test_a_task_that_dies_locks_nobody_up(tmp_path):
    evaluation, logs, _ = evaluate_broken(tmp_path, lambda _, calls: len(calls) > 3)
    assert [log.status for log in logs] == ["error", "success"]
    assert "no sample of a is left" in reasons(logs[1])
    assert evaluation.experiment.status()["waiting"] == 0


def test_what_cannot_end_is_refused(tmp_path):
    """One task at a time, a task that is missing, no log of samples, no price: one line, and nothing is run."""

    def error(options=None, mocks=TWO, **settings):
        evaluation = start(tmp_path / "two.caet", TWO, **settings)
        (log, *_) = evaluate(mocks, questions(3), tmp_path, evaluation, **(options or {}))
        assert log.status == "error"
        assert evaluation.experiment.summary()["recorded"] == 0
        return log.error.message

    assert "run all tasks at once, eval(..., max_tasks=2)" in error({"max_tasks": 1})
    assert "this run has 1 task, but the experiment has 2 arms" in error(mocks={"large": TWO["large"]})
    assert "leave log_samples as it is" in error({"log_samples": False})


def test_a_price_that_would_count_as_nothing_is_refused(tmp_path):
    """The first sample says so, and its task ends."""
    told = {"arms": list(TWO), "cost_source": "observed", "delta": 0.05}
    experiment = LiveExperiment.start(tmp_path / "dollars.caet", "best-arm", "bernoulli", **told)
    logs = evaluate(TWO, questions(5), tmp_path, Evaluation(experiment))
    assert "count as zero: start with a smaller gamma0" in logs[0].error.message


def test_a_task_that_never_begins_locks_nobody_up(tmp_path, monkeypatch):
    """Two tasks run, of which one belongs to no arm, and the other waits for the arm whose task does not come."""
    monkeypatch.setattr("caet_opt.adaptors.inspect.PATIENCE", 0.2)
    evaluation = start(tmp_path / "two.caet", TWO)
    tasks = [
        Task(dataset=questions(6), solver=generate(), scorer=includes(), model=mock_model(name, TWO[name]), **more)
        for name, more in (("large", {"early_stopping": evaluation.arm("large")}), ("small", {}))
    ]
    logs = eval(tasks, max_tasks=2, display="none", log_dir=str(tmp_path))
    assert {log.status for log in logs} == {"success"}
    assert "no sample of small is left" in reasons(logs[0])
    assert evaluation.experiment.status()["waiting"] == 0


def test_without_inspect_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.hooks", None)
    monkeypatch.delitem(sys.modules, "caet_opt.adaptors.inspect")
    with pytest.raises(MissingExtraError, match=r"need inspect_ai; install it with: pip install 'caet-opt\[inspect\]'"):
        import_module("caet_opt.adaptors.inspect")


def test_scores():
    values = {"C": 1, "I": 0, "P": 0.5, "N": 0, "yes": 1, "False": 0, "0.25": 0.25, 0.7: 0.7, True: 1}
    assert {value: read_score(Score(value=value)) for value in values} == values
    for value in ("good", [1, 2], {"a": 1}):
        with pytest.raises(InputError, match="is not a number; say what it is worth"):
            read_score(Score(value=value))
    scores = {name: SimpleNamespace(score=name) for name in ("match", "judge")}
    assert find_score(scores, "judge") == "judge"
    assert find_score({"match": scores["match"]}, "judge") is None


def test_prices():
    def used(cost):
        return SimpleNamespace(total_cost=cost)

    assert price({"a": used(0.25), "judge": used(0.5)}, 1e-9) == 0.75
    assert price({}, 1e-9) == price({"local": used(0.0)}, 1e-9) == 0
    with pytest.raises(InputError, match="does not know the price of judge"):
        price({"a": used(0.25), "judge": used(None)}, 1e-9)
