"""What is told in one line: before anything is run where it can be known, else with the name of the sample."""

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import Task, eval, eval_set, task_with
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, accuracy, includes, mean, model_graded_qa, scorer
from inspect_ai.solver import generate

from caet_opt import BusyError, InputError
from caet_opt.adaptors import inspect
from caet_opt.adaptors.inspect import GATES
from caet_opt.adaptors.inspect_checks import name_scorers
from caet_opt.adaptors.inspect_scores import reward_of
from cases.mock_models import Mock, bill, evaluate, mock_model, questions, start

TWO = {"a": Mock(0.6, 3, 15), "b": Mock(0.6, 3, 15)}


@scorer(metrics=[accuracy()])
def judge():
    async def score(state, target):
        return Score(value="C")

    return score


@scorer(metrics=[accuracy()])
def words():
    async def score(state, target):
        return Score(value="good")

    return score


@scorer(metrics={"style": [mean()], "truth": [mean()]})
def marks():
    async def score(state, target):
        return Score(value={"style": 1, "truth": 0})

    return score


def run(evaluation, scorers, folder, models=None, **options):
    """Both models on tasks with these scorers."""
    tasks = [
        Task(
            name=name,
            dataset=questions(10),
            solver=generate(),
            scorer=scorers,
            model=(models or {}).get(name) or mock_model(name, TWO[name]),
            early_stopping=evaluation.arm(name),
        )
        for name in TWO
    ]
    return eval(tasks, max_tasks=2, display="none", log_dir=str(folder), **options)


def message(logs):
    """The one line of the error."""
    (found, *_) = [log.error.message for log in logs if log.status == "error"]
    assert "\n" not in found
    return found


def refused(tmp_path, scorers=None, settings=None, models=None, **options):
    """The error, before any call."""
    evaluation = start(tmp_path / "two.caet", TWO, **(settings or {}))
    logs = run(evaluation, scorers, tmp_path, models, **options)
    assert bill(logs).calls == 0
    assert not any(log.stats.model_usage for log in logs)
    status = evaluation.experiment.status()
    assert (status["handed_out"], status["spent"]) == (0, 0)
    assert not GATES
    return message(logs)


def test_scorers_are_looked_up_before_anything_is_run(tmp_path):
    both = [includes(), judge()]
    assert "unknown scorer 'jugde'; did you mean 'judge'?" in refused(tmp_path, both, {"scorer": "jugde"})
    assert "unknown scorer 'accuracy'; known: includes" in refused(tmp_path, includes(), {"scorer": "accuracy"})
    assert "several scorers, includes, judge: say which one is the reward" in refused(tmp_path, both)
    assert "has no scorer, and scores are the rewards; give it one" in refused(tmp_path)


def test_scorers_of_one_name_are_numbered_as_inspect_numbers_them(tmp_path):
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=4, scorer="includes1")
    logs = run(evaluation, [includes(), includes()], tmp_path)
    assert evaluation.experiment.status()["recorded"] == 4
    assert name_scorers(logs[0].eval.scorers) == [*logs[0].samples[0].scores]


def test_prices_are_looked_up_before_anything_is_run(tmp_path):
    unknown = get_model("mockllm/nobody", memoize=False)
    words = "does not know the price of mockllm/nobody: set it"
    assert words in refused(tmp_path, includes(), models={"b": unknown})
    assert words in refused(tmp_path, includes(), model_roles={"grader": unknown})
    assert words in refused(tmp_path, model_graded_qa(model="mockllm/nobody"))


def test_a_task_that_is_refused_keeps_the_others_from_spending(tmp_path):
    """The model of the second arm has no price, and the first one waits to hear of it."""
    evaluation = start(tmp_path / "two.caet", TWO)
    logs = run(evaluation, includes(), tmp_path, {"b": get_model("mockllm/nobody", memoize=False)})
    assert [log.status for log in logs] == ["success", "error"]
    assert not logs[0].samples
    assert evaluation.experiment.status()["handed_out"] == 0


def test_one_task_with_several_models_says_what_to_do(tmp_path):
    evaluation = start(tmp_path / "two.caet", TWO)
    task = Task(dataset=questions(10), solver=generate(), scorer=includes(), early_stopping=evaluation.arm("a"))
    models = [mock_model(name, TWO[name]) for name in TWO]
    logs = eval(task, model=models, max_tasks=2, display="none", log_dir=str(tmp_path))
    assert "arm 'a' has two tasks in this run; give each arm one, not one task with several models" in message(logs)
    assert evaluation.experiment.status()["handed_out"] == 0


def test_one_task_that_is_changed_for_each_arm_says_what_to_do(tmp_path):
    """The last arm has them all."""
    evaluation = start(tmp_path / "two.caet", TWO)
    task = Task(dataset=questions(10), solver=generate(), scorer=includes())
    tasks = [task_with(task, model=mock_model(name, TWO[name]), early_stopping=evaluation.arm(name)) for name in TWO]
    logs = eval(tasks, max_tasks=2, display="none", log_dir=str(tmp_path))
    assert "a new task for each arm, as task_with changes the task that it is given" in message(logs)
    assert evaluation.experiment.status()["handed_out"] == 0


def task_of(evaluation, name, arm=True, **parts):
    """The task of an arm, or one that belongs to none."""
    gate = evaluation.arm(name) if arm else None
    told = {"dataset": questions(10), "solver": generate(), "scorer": includes()}
    return Task(name=f"{name} {arm}", model=mock_model(name, TWO[name]), early_stopping=gate, **(told | parts))


@pytest.mark.parametrize("options", [{"max_tasks": 2}, {"max_tasks": 3}, {}])
def test_other_tasks_of_the_run_need_their_places(tmp_path, options):
    """They may run first, while a sample waits for an arm whose task has no place."""
    evaluation = start(tmp_path / "two.caet", TWO)
    tasks = [task_of(evaluation, *one) for one in (("a",), ("a", False), ("b", False), ("b",))]
    logs = eval(tasks, display="none", log_dir=str(tmp_path), **options)
    assert "run all tasks at once, eval(..., max_tasks=4)" in message(logs)
    assert evaluation.experiment.status()["handed_out"] == 0


def test_two_evaluations_in_one_run(tmp_path):
    """Each has its own file; both need places."""
    both = [start(tmp_path / f"{number}.caet", TWO, max_pulls=4) for number in range(2)]
    tasks = [task_of(evaluation, name) for name in TWO for evaluation in both]
    assert "max_tasks=4" in message(eval(tasks, max_tasks=2, display="none", log_dir=str(tmp_path / "1")))
    logs = eval(tasks, max_tasks=4, display="none", log_dir=str(tmp_path / "2"))
    assert {log.status for log in logs} == {"success"}
    assert [evaluation.experiment.status()["recorded"] for evaluation in both] == [4, 4]


def test_a_conversation_is_named_which_allows_one_task_at_a_time(tmp_path):
    evaluation = start(tmp_path / "two.caet", TWO)
    tasks = [task_of(evaluation, name) for name in TWO]
    logs = eval(tasks, max_tasks=2, display="conversation", log_dir=str(tmp_path))
    assert "max_tasks=2); display='conversation' runs one at a time" in message(logs)
    assert evaluation.experiment.status()["handed_out"] == 0


@pytest.mark.parametrize("scorer_name", ["includes", None])
def test_a_task_without_a_scorer_keeps_the_others_from_spending(tmp_path, scorer_name):
    evaluation = start(tmp_path / "two.caet", TWO, scorer=scorer_name)
    tasks = [task_of(evaluation, "a"), task_of(evaluation, "b", scorer=None)]
    logs = eval(tasks, max_tasks=2, display="none", log_dir=str(tmp_path))
    assert "task b True has no scorer, and scores are the rewards; give it one" in message(logs)
    assert evaluation.experiment.status()["handed_out"] == 0


def test_errors_of_every_kind_keep_the_others_from_spending(tmp_path, monkeypatch):
    """Also those that nobody has thought of: they are told as they are."""
    evaluation, admit = start(tmp_path / "two.caet", TWO), inspect.Evaluation.admit_task

    def fail(self, gate, *told):
        if gate.name == "b":
            raise KeyError("surprise")
        return admit(self, gate, *told)

    monkeypatch.setattr(inspect.Evaluation, "admit_task", fail)
    logs = run(evaluation, includes(), tmp_path)
    assert [log.status for log in logs] == ["success", "error"]
    assert not logs[0].samples
    assert "KeyError" in logs[1].error.traceback
    assert evaluation.experiment.status()["handed_out"] == 0


def test_an_eval_set_that_lacks_an_arm_is_refused(tmp_path):
    """Also where inspect tries it again; once all arms have begun it may have fewer tasks."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=4)
    told = {"max_tasks": 2, "display": "none", "retry_attempts": 1, "retry_wait": 0.01}
    done, logs = eval_set([task_of(evaluation, "a")], str(tmp_path / "1"), **told)
    assert not done
    assert "this run has 1 task, but the experiment has 2 arms; run all in one eval_set" in message(logs)
    assert evaluation.experiment.status()["handed_out"] == 0
    done, _ = eval_set([task_of(evaluation, name) for name in TWO], str(tmp_path / "2"), **told)
    assert done
    done, _ = eval_set([task_of(evaluation, "a")], str(tmp_path / "3"), **told)
    assert done


def test_epochs_are_no_new_questions(tmp_path):
    """Where items are shared they are refused; else each question is put once."""
    words = "2 epochs put each question 2 times to its model, and answers to one question are not independent"
    assert words in refused(tmp_path, includes(), {"shared_items": True}, epochs=2)
    evaluation = start(tmp_path / "epochs.caet", TWO)
    logs = run(evaluation, includes(), tmp_path, epochs=2)
    ids = [sample.id for log in logs for sample in log.samples]
    assert len(ids) == len(set(ids)) == evaluation.experiment.status()["recorded"] == 10


@pytest.mark.parametrize(
    ("reward", "words"),
    [
        (lambda score: 1 / 0, "reward=... fails on '[CI]': ZeroDivisionError: division by zero"),
        (lambda score: "high", "reward=... must return a number, got 'high' for '[CI]'"),
        (lambda score: float("inf"), "reward inf"),
    ],
)
def test_a_reward_function_that_fails_names_the_sample(tmp_path, reward, words):
    evaluation = start(tmp_path / "two.caet", TWO, reward=reward)
    logs = run(evaluation, includes(), tmp_path)
    found = message(logs)
    assert found.startswith("InputError") or "sample " in found
    assert any(f"epoch 1, of {name}: {words.replace('[CI]', grade)}" in found for name in TWO for grade in "CI")
    assert evaluation.experiment.status()["waiting"] == 0
    assert evaluation.experiment.status()["spent"] == pytest.approx(bill(logs).dollars, rel=1e-9)


def test_rewards():
    assert reward_of(Score(value="C"), lambda score: True) == 1
    assert reward_of(None, lambda score: 1 / 0) != 0
    with pytest.raises(InputError, match="must return a number, got None"):
        reward_of(Score(value="C"), lambda score: None)


def test_scores_that_are_no_numbers_name_the_sample(tmp_path):
    """Where its metrics say so, before anything is run; with reward= all are numbers."""
    found = message(run(start(tmp_path / "words.caet", TWO), words(), tmp_path))
    assert "epoch 1, of " in found
    assert "score 'good' is not a number; say what it is worth with Evaluation(..., reward=...)" in found
    told = "scorer marks gives several numbers, style, truth: say what they are worth with Evaluation(..., reward=...)"
    assert told in refused(tmp_path, marks())
    evaluation = start(tmp_path / "worth.caet", TWO, reward=lambda score: score.value["style"], max_pulls=4)
    run(evaluation, marks(), tmp_path)
    assert evaluation.experiment.status()["recorded"] == 4


def busy(experiment, monkeypatch, name, times):
    """A file that is locked for so many calls."""
    method, calls = getattr(experiment, name), []

    def call(*arguments, **options):
        calls.append(name)
        if len(calls) <= times:
            raise BusyError("two.caet: another process has kept it locked")
        return method(*arguments, **options)

    monkeypatch.setattr(experiment, name, call)
    return calls


def test_a_file_that_is_locked_for_long_is_tried_again(tmp_path, monkeypatch):
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=6)
    for name in ("record", "next_item", "items"):
        busy(evaluation.experiment, monkeypatch, name, 3)
    logs = evaluate(TWO, questions(10), tmp_path, evaluation)
    assert {log.status for log in logs} == {"success"}
    assert (evaluation.experiment.status()["recorded"], evaluation.experiment.status()["waiting"]) == (6, 0)


@pytest.mark.parametrize("error", [OSError(28, "no space left"), InputError("two.caet: damaged (here)")])
def test_the_error_that_is_shown_is_the_one_that_happened(tmp_path, monkeypatch, error):
    """Also where its pull cannot be withdrawn any more."""
    evaluation = start(tmp_path / "two.caet", TWO)
    experiment = evaluation.experiment

    def fail(*_, pull, **__):
        experiment.release(pull)
        raise error

    monkeypatch.setattr(experiment, "record", fail)
    found = message(evaluate(TWO, questions(10), tmp_path, evaluation))
    assert str(error) in found
    assert "is not out" not in found
    assert experiment.status()["waiting"] == 0
