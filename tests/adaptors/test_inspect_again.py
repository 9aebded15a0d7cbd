"""Evaluations that are started again, fail or are killed: no question counts twice, and all that was paid counts."""

import os
import subprocess
import sys
import time
from itertools import count

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import Task, eval, eval_set
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, solver
from inspect_ai.util import SandboxEnvironment, SandboxEnvironmentSpec, sandboxenv

from caet_opt import InputError, LiveExperiment
from caet_opt.adaptors import inspect, inspect_gate, inspect_runs
from caet_opt.adaptors.inspect import GATES, Evaluation
from caet_opt.adaptors.inspect_gate import Running
from caet_opt.adaptors.inspect_items import name_item
from caet_opt.adaptors.inspect_runs import is_gone, this_run
from cases.mock_models import Mock, bill, evaluate, mock_model, questions, start

TWO = {"a": Mock(0.6, 3, 15), "b": Mock(0.6, 3, 15)}


def asked(logs):
    """What every sample that was run asked, and by which task."""
    return [(log.eval.task, sample.input) for log in logs for sample in log.samples]


def texts(logs):
    return [text for _, text in asked(logs)]


def reasons(logs):
    return {stop.reason for log in logs if log.results for stop in log.results.early_stopping.early_stops}


@pytest.mark.parametrize("shared", [False, True])
def test_a_restart_puts_no_question_again(tmp_path, shared):
    """Another object on the same file, as in another process, goes on with questions that were not put yet."""
    asking = {"shared_items": shared}
    first = start(tmp_path / "two.caet", TWO, max_pulls=8, **asking)
    before = evaluate(TWO, questions(12), tmp_path / "1", first)
    first.experiment.extend(max_pulls=30)
    first.experiment.close()
    second = start(tmp_path / "two.caet", TWO, max_pulls=30, **asking)
    after = evaluate(TWO, questions(12), tmp_path / "2", second)
    both = asked(before) + asked(after)
    assert len(asked(before)) == 8
    assert len(asked(after)) > 0
    assert len(set(both if shared else texts(before) + texts(after))) == len(both)
    assert second.experiment.status()["recorded"] == len(both) <= (24 if shared else 12)
    assert "each sample is run once, and this one was" in reasons(after)


def test_samples_without_ids_are_known_by_what_they_ask(tmp_path):
    """In a data set of another order, and of other questions, the same number means another one."""

    def numbered(*names):
        return MemoryDataset([Sample(input=name, target="yes") for name in names])

    names = [f"question {one}" for one in range(12)]
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=6)
    before = evaluate(TWO, numbered(*names), tmp_path / "1", evaluation)
    evaluation.experiment.extend(max_pulls=40)
    after = evaluate(TWO, numbered(*names[::-1]), tmp_path / "2", evaluation)
    assert len(before[0].samples) + len(before[1].samples) == 6
    assert sorted(texts(before) + texts(after)) == sorted(names)
    more = evaluate(TWO, numbered(*(f"another {one}" for one in range(6))), tmp_path / "3", evaluation)
    assert len(texts(more)) == 6


def test_items():
    """By what a sample asks; choices in any order; as told."""

    def item(**parts):
        return name_item(Sample(**({"input": "why?", "target": "so"} | parts)))

    assert item(id=1) == item(id="q") == item()
    assert item(input=[ChatMessageUser(content="why?", id="1")]) == item(
        input=[ChatMessageUser(content="why?", id="2")]
    )
    assert item(metadata={"a": 1, "b": {2}}) == item(metadata={"b": {2}, "a": 1})
    assert item(metadata={"a": object()}) == item(metadata={"a": object()})
    different = [item(), item(target="no"), item(input="who?"), item(metadata={"a": 1}), item(files={"f": "x"})]
    assert len({*different, item(choices=["x", "y"]), item(choices=["x", "z"])}) == 7
    assert item(choices=["x", "y"], target="A") == item(choices=["y", "x"], target="B")
    assert name_item(Sample(id=1, input="a"), lambda sample: sample.id) == name_item(
        Sample(id=1, input="b"), lambda sample: sample.id
    )
    with pytest.raises(InputError, match=r"item=... fails for sample 7: KeyError: 'x'"):
        name_item(Sample(id=7, input="a", metadata={}), lambda sample: sample.metadata["x"])


def test_prompts_in_the_input_are_one_question_by_item(tmp_path):
    experiment = LiveExperiment.start(
        tmp_path / "prompts.caet", "best-arm", "bernoulli", arms=["short", "long"], costs=[1, 1], delta=0.05
    )
    evaluation = Evaluation(experiment, item=lambda sample: sample.id)
    tasks = [
        Task(
            dataset=MemoryDataset([Sample(id=f"q{one}", input=f"{name} {one}", target="yes") for one in range(8)]),
            solver=generate(),
            scorer=includes(),
            model=mock_model("a", TWO["a"]),
            early_stopping=evaluation.arm(name),
        )
        for name in ("short", "long")
    ]
    logs = eval(tasks, max_tasks=2, display="none", log_dir=str(tmp_path))
    ids = [sample.id for log in logs for sample in log.samples]
    assert len(ids) == len(set(ids)) == 8


def test_a_raised_limit_is_used_by_the_same_object(tmp_path):
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=4)
    evaluate(TWO, questions(40), tmp_path / "1", evaluation)
    for number, limit in enumerate((9, 15), start=2):
        evaluation.experiment.extend(max_pulls=limit)
        logs = evaluate(TWO, questions(40), tmp_path / str(number), evaluation)
        assert evaluation.experiment.status()["recorded"] == limit
        assert "ended: max_pulls" in reasons(logs)


def test_a_file_that_knows_no_questions_goes_on_and_says_so(tmp_path, caplog):
    """One that an earlier version made, or whose outcomes were recorded by hand."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=6)
    evaluation.experiment.record(None, 1, 0.001, pull=evaluation.experiment.next()[0].number)
    evaluate(TWO, questions(20), tmp_path, evaluation)
    assert evaluation.experiment.status()["recorded"] == 6
    assert "the file has 1 outcome without a question, so questions may be asked again" in caplog.text


def test_a_run_that_was_torn_down_is_forgotten(tmp_path):
    """Nobody has told its gates that it ended, as when the loop of events was closed around them."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=6)
    offer = evaluation.experiment.next_item(lambda _: ["item"], this_run())
    evaluation.arm(0).is_open, evaluation.run = True, "another"
    evaluation.arm(0).out["x", 1] = Running(offer.pull, "item")
    evaluate(TWO, questions(20), tmp_path, evaluation)
    status = evaluation.experiment.status()
    assert (status["recorded"], status["waiting"], status["withdrawn"]) == (6, 0, 1)


def over(log):
    return log.results.early_stopping.metadata["over"]


def test_it_is_told_that_questions_are_used_up(tmp_path, caplog):
    """By the arm that the policy wants, in inspect's log; and in one line at the end."""
    told = "no questions left for "
    both = start(tmp_path / "both.caet", TWO)
    logs = evaluate(TWO, questions(9), tmp_path / "1", both)
    assert {over(log)[: len(told)] for log in logs if log.results} == {told}
    assert "the run has ended, and the answer is open: no questions left for " in caplog.text
    scarce = start(tmp_path / "scarce.caet", TWO)
    tasks = failing_tasks(scarce, lambda *_: False)
    tasks[0].dataset = MemoryDataset([Sample(id="only", input="one question", target="yes")])
    logs = eval(tasks, max_tasks=2, display="none", log_dir=str(tmp_path / "2"), log_realtime=False)
    assert over(logs[1]) == "no questions left for a"
    assert "no questions left for a" in reasons(logs)


@pytest.mark.parametrize("limit", [{"max_pulls": 9}, {}])
def test_a_run_in_which_nothing_is_run_says_why(tmp_path, caplog, limit):
    """Inspect's log has no results then."""
    evaluation = start(tmp_path / "two.caet", TWO, **limit)
    evaluate(TWO, questions(9), tmp_path / "1", evaluation)
    caplog.clear()
    logs = evaluate(TWO, questions(9 + len(limit)), tmp_path / "2", evaluation)
    assert [log.results for log in logs] == [None, None]
    (line,) = [line for line in caplog.messages if line.startswith("no sample was run: ")]
    assert ("ended: max_pulls" if limit else "no questions left for ") in line


@solver
def failing(fails):
    """Asks the model, and fails after that where it is told to."""
    seen = []

    async def solve(state, generate):
        seen.append(state.input_text)
        state = await generate(state)
        if fails(state.input_text, seen):
            raise RuntimeError("the line is dead")
        return state

    return solve


def failing_tasks(evaluation, fails, number=60):
    return [
        Task(
            name=name,
            dataset=questions(number),
            solver=failing(fails) if name == "a" else generate(),
            scorer=includes(),
            model=mock_model(name, TWO[name]),
            early_stopping=evaluation.arm(name),
        )
        for name in TWO
    ]


def run_failing(evaluation, fails, folder, **options):
    told = {"max_tasks": 2, "max_samples": 4, "display": "none", "log_dir": str(folder), "log_realtime": False}
    return eval(failing_tasks(evaluation, fails), **(told | options))


def test_an_eval_set_tries_a_failed_task_again(tmp_path):
    """The other task waits for it meanwhile, and neither is refused or skipped."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=20)
    tasks = failing_tasks(evaluation, lambda _, seen: len(seen) == 3)
    done, _ = eval_set(
        tasks, str(tmp_path / "logs"), max_tasks=2, max_samples=2, display="none", retry_attempts=2, retry_wait=0.01
    )
    assert done
    status = evaluation.experiment.status()
    assert (status["recorded"], status["waiting"], status["ended"]["reason"]) == (20, 0, "max_pulls")
    assert not GATES


def test_an_eval_set_that_tries_again_later_is_not_refused(tmp_path, monkeypatch):
    """It then runs the failed tasks alone."""
    monkeypatch.setattr(inspect, "PATIENCE", 1.0)
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=20)
    told = {"max_tasks": 2, "max_samples": 2, "display": "none", "retry_attempts": 2, "retry_wait": 0.01}
    tasks = failing_tasks(evaluation, lambda _, seen: len(seen) == 3)
    _, logs = eval_set(tasks, str(tmp_path / "logs"), retry_immediate=False, **told)
    assert not [log.error for log in logs if log.error is not None and "run all in one eval" in log.error.message]
    assert evaluation.experiment.status()["waiting"] == 0


@pytest.mark.parametrize("options", [{"fail_on_error": False}, {"retry_on_error": 1}])
def test_what_failed_samples_cost_is_spent(tmp_path, options):
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=20)
    logs = run_failing(evaluation, lambda text, seen: seen.count(text) == 1 and text[-1] in "123", tmp_path, **options)
    status = evaluation.experiment.status()
    assert status["spent"] == pytest.approx(bill(logs).dollars, rel=1e-9)
    assert (status["lost"] > 0) == ("fail_on_error" in options)
    assert status["lost"] == pytest.approx(evaluation.arm("a").failed_cost)
    assert (status["recorded"], status["waiting"]) == (20, 0)
    assert evaluation.experiment.verify() == []


def test_a_budget_ends_what_always_fails(tmp_path):
    evaluation = start(tmp_path / "two.caet", TWO, max_cost=0.004)
    logs = run_failing(evaluation, lambda *_: True, tmp_path, fail_on_error=False)
    status = evaluation.experiment.status()
    assert 0.004 <= status["spent"] < 0.004 + 4 * 0.001
    assert status["spent"] == pytest.approx(bill(logs).dollars, rel=1e-9)
    assert status["ended"]["reason"] == "max_cost"


def test_known_costs_of_what_fails_after_a_call_are_spent(tmp_path):
    evaluation = start(tmp_path / "two.caet", TWO, costs=[2, 1], max_cost=12)
    run_failing(evaluation, lambda *_: True, tmp_path, fail_on_error=False)
    status = evaluation.experiment.status()
    assert status["lost"] == 2 * evaluation.arm("a").failed > 0
    assert status["spent"] <= 12
    assert status["ended"]["reason"] == "max_cost"


def test_pulls_that_fail_under_a_limit_are_handed_out_again(tmp_path):
    """All that the limit allows are out, and then fail: others take their place."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=4)
    logs = run_failing(evaluation, lambda _, seen: len(seen) <= 4, tmp_path, fail_on_error=False)
    status = evaluation.experiment.status()
    assert evaluation.arm("a").failed > 0
    assert (status["recorded"], status["ended"]["reason"]) == (4, "max_pulls")
    assert {log.status for log in logs} == {"success"}


def test_attempts_that_wait_behind_samples_that_wait_lock_nobody_up(tmp_path, monkeypatch):
    """The limit is filled by samples that are tried again, in line behind those that wait for a pull."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=2)
    monkeypatch.setattr(evaluation, "look_for_absent", lambda: pytest.fail("samples wait for one another"))
    logs = run_failing(evaluation, lambda text, seen: seen.count(text) == 1, tmp_path, max_samples=2, retry_on_error=1)
    assert {log.status for log in logs} == {"success"}
    assert evaluation.experiment.status()["recorded"] == 2


@sandboxenv(name="scarce")
class Scarce(SandboxEnvironment):
    """None is to be had at first."""

    asked = 0

    @classmethod
    async def sample_init(cls, *_):
        cls.asked += 1
        if cls.asked <= 2:
            raise RuntimeError("there is no container")
        return {"default": cls()}

    @classmethod
    async def sample_cleanup(cls, *_):
        pass

    async def exec(self, *_, **__): ...

    async def write_file(self, *_): ...

    async def read_file(self, *_): ...


def test_attempts_that_fail_before_they_begin_lock_nobody_up(tmp_path, monkeypatch):
    """Inspect tells nobody of them, where it tries again."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=2)
    monkeypatch.setattr(inspect, "PATIENCE", 0.05)
    monkeypatch.setattr(inspect_gate, "BEGIN_WITHIN", 0.1)
    monkeypatch.setattr(Scarce, "asked", 0)
    look, looks = evaluation.look_for_absent, count()
    monkeypatch.setattr(
        evaluation, "look_for_absent", lambda: look() if next(looks) < 1000 else pytest.fail("samples wait")
    )
    tasks = failing_tasks(evaluation, lambda *_: False)
    for task in tasks:
        task.sandbox = SandboxEnvironmentSpec("scarce")
    told = {"max_tasks": 2, "max_samples": 2, "retry_on_error": 1, "display": "none", "log_realtime": False}
    logs = eval(tasks, log_dir=str(tmp_path), **told)
    assert {log.status for log in logs} == {"success"}
    assert (Scarce.asked, evaluation.experiment.status()["recorded"]) == (4, 2)


KILLED = """
import os
from caet_opt.adaptors.inspect import Evaluation
from cases.mock_models import Mock, questions, start, mock_model
from inspect_ai import Task, eval
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, solver

@solver
def deadly():
    seen = []
    async def solve(state, generate):
        seen.append(1)
        if len(seen) > 2:
            os._exit(7)
        return await generate(state)
    return solve

TWO = {name: Mock(0.6, 3, 15) for name in "ab"}
evaluation = start("two.caet", TWO, max_pulls=12)
tasks = [Task(dataset=questions(40), solver=deadly(), scorer=includes(), model=mock_model(name, TWO[name]),
         early_stopping=evaluation.arm(name)) for name in TWO]
eval(tasks, max_tasks=2, max_samples=3, display="none", log_dir="killed")
"""


def test_pulls_that_a_killed_run_left_are_handed_out_again(tmp_path):
    place = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}}
    assert subprocess.run([sys.executable, "-c", KILLED], **place, capture_output=True).returncode == 7
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=12)
    left = evaluation.experiment.status()
    assert left["waiting"] > 0
    logs = evaluate(TWO, questions(40), tmp_path, evaluation)
    status = evaluation.experiment.status()
    assert (status["recorded"], status["waiting"], status["withdrawn"]) == (12, 0, left["waiting"])
    assert logs[0].results.early_stopping.metadata["released"] == left["waiting"]
    counted = [row["item"] for row in evaluation.experiment.items() if row["in_use"]]
    assert len(counted) == len(set(counted)) == 12


INTERRUPTED = """
import asyncio
import os
import signal
from cases.mock_models import Mock, mock_model, questions, start
from inspect_ai import Task, eval
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

@solver
def interrupted():
    seen = []
    async def solve(state, generate):
        state = await generate(state)
        seen.append(1)
        if len(seen) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        if len(seen) >= 4:
            await asyncio.sleep(30)
        return state
    return solve

signal.signal(signal.SIGINT, signal.default_int_handler)
TWO = {name: Mock(0.6, 3, 15) for name in "ab"}
evaluation = start("two.caet", TWO, max_pulls=12)
tasks = [Task(dataset=questions(40), solver=interrupted(), scorer=includes(), model=mock_model(name, TWO[name]),
         early_stopping=evaluation.arm(name)) for name in TWO]
try:
    eval(tasks, max_tasks=2, max_samples=3, display="none", log_dir="interrupted")
finally:
    status = evaluation.experiment.status()
    print(status["waiting"], status["withdrawn"] > 0, status["lost"] > 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_an_interrupt_releases_what_is_out_and_counts_its_tokens(tmp_path):
    place = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}}
    found = subprocess.run([sys.executable, "-c", INTERRUPTED], **place, capture_output=True, text=True)
    assert found.stdout.strip().splitlines()[-1] == "0 True True"


TOGETHER = """
from cases.mock_models import Mock, evaluate, questions, start

TWO = {name: Mock(0.6, 3, 15) for name in "ab"}
evaluation = start("two.caet", TWO, max_pulls=30)
logs = evaluate(TWO, questions(60), "together", evaluation, max_samples=3)
print(sum(len(log.samples or ()) for log in logs), {log.status for log in logs})
"""


def test_two_processes_at_once_put_no_question_twice(tmp_path):
    place = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}}
    start(tmp_path / "two.caet", TWO, max_pulls=30).experiment.close()
    both = [subprocess.Popen([sys.executable, "-c", TOGETHER], **place, stdout=subprocess.PIPE) for _ in range(2)]
    told = [process.communicate(timeout=120)[0].decode().strip().rpartition("\n")[2] for process in both]
    assert all(line.endswith("{'success'}") for line in told)
    with LiveExperiment.open(tmp_path / "two.caet") as experiment:
        items = [row["item"] for row in experiment.items() if row["in_use"]]
        assert len(items) == len(set(items)) == experiment.status()["recorded"] == 30
        assert sum(int(line.split()[0]) for line in told) == 30
        assert experiment.verify() == []


def test_pulls_of_others_are_left_alone(tmp_path):
    """Those that were handed out by hand, by a process that runs, and lately by another machine."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=12)
    experiment = evaluation.experiment
    experiment.next()
    for number, run in enumerate((f"{this_run().split()[0]} {os.getppid()} 00", "elsewhere 1 00")):
        experiment.next_item(lambda _, number=number: [f"item {number}"], run)
    evaluate(TWO, questions(40), tmp_path, evaluation)
    assert evaluation.released == 0
    assert (experiment.status()["recorded"], experiment.status()["waiting"]) == (9, 3)


def test_which_runs_are_gone(monkeypatch):
    now, (machine, process, _) = time.time(), this_run().rsplit(" ", 2)
    assert not is_gone(this_run(), now, True)
    assert is_gone(this_run(), now, False)
    assert is_gone(f"{machine} {process} another", now)
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    assert is_gone(f"{machine} {gone.stdout.strip()} 00", now)
    assert not is_gone("elsewhere 1 00", now)
    assert is_gone("elsewhere 1 00", now - 2 * inspect_runs.ABANDONED)
    assert not is_gone("nonsense", now)
    monkeypatch.setattr(sys, "platform", "win32")
    assert not is_gone(f"{machine} {gone.stdout.strip()} 00", now)
