"""Samples with a score that is missing, rounded or written by others, and what those cost that have none."""

import re

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import Task, eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, includes, mean, multi_scorer, scorer
from inspect_ai.solver import generate, solver
from inspect_ai.util import LimitExceededError, token_limit

from caet_opt import InputError
from caet_opt.adaptors import inspect
from caet_opt.adaptors.inspect_checks import find_models
from caet_opt.adaptors.inspect_scores import fit_reward
from caet_opt.bandits.families import parse_family
from cases.mock_models import Mock, bill, mock_model, questions, start

TWO = {"a": Mock(0.6, 3, 15), "b": Mock(0.6, 3, 15)}


def run(evaluation, folder, number=60, scorers=None, solver=None, **options):
    """Both models on tasks with these scorers and this solver."""
    tasks = [
        Task(
            name=name,
            dataset=questions(number),
            solver=solver or generate(),
            scorer=scorers or includes(),
            model=mock_model(name, TWO[name]),
            early_stopping=evaluation.arm(name),
        )
        for name in TWO
    ]
    told = {"max_tasks": 2, "max_samples": 4, "display": "none", "log_dir": str(folder), "log_realtime": False}
    return eval(tasks, **(told | options))


def message(logs):
    """The one line of the error."""
    (found, *_) = [log.error.message for log in logs if log.status == "error"]
    assert "\n" not in found
    return found


@scorer(metrics=[accuracy()])
def judge(has_score):
    """Has a score where it is told to, and else breaks or gives None."""

    async def score(state, target):
        told = has_score(int(state.input_text.split()[-1]))
        if told == "breaks":
            raise RuntimeError("the judge is down")
        return Score(value="C") if told else None

    return score


@pytest.mark.parametrize("lacking", [False, "breaks"])
@pytest.mark.parametrize("others", [[includes()], []])
def test_a_sample_without_the_score_is_withdrawn_alone(tmp_path, lacking, others):
    """Whatever other scorers say of it."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=20, scorer="judge")
    scorers = [*others, judge(lambda number: number % 5 != 0 or lacking)]
    logs = run(evaluation, tmp_path, scorers=scorers, fail_on_error=False)
    status = evaluation.experiment.status()
    assert {log.status for log in logs} == {"success"}
    assert status["withdrawn"] > 0
    assert (status["recorded"], status["waiting"]) == (20, 0)
    assert status["spent"] == pytest.approx(bill(logs).dollars, rel=1e-9)


@pytest.mark.parametrize("options", [{"score": False}, {"scorers": judge(lambda _: False)}])
def test_what_is_never_scored_is_not_bought(tmp_path, options):
    """After ten samples every task ends with one line that says why."""
    evaluation = start(tmp_path / "two.caet", TWO)
    logs = run(evaluation, tmp_path, number=200, **options)
    told = f"no sample was scored: eval(score=False), or scorer {'judge' if 'scorers' in options else 'includes'} gives"
    assert all(told in log.error.message for log in logs)
    status = evaluation.experiment.status()
    assert 10 <= status["withdrawn"] == status["handed_out"] <= 18  # and what was out
    assert status["waiting"] == 0
    assert status["spent"] == pytest.approx(sum(gate.failed_cost for gate in evaluation.gates))


@pytest.mark.parametrize("fails_first", [False, True])
def test_scores_that_come_late_are_waited_for(tmp_path, fails_first):
    """Ten samples without one, of which one at least has failed or has another outcome before it."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=15)
    lacking = "breaks" if fails_first else False
    judged = judge(lambda number: number > 15 or (lacking if fails_first else number < 1))
    logs = run(evaluation, tmp_path, scorers=judged, max_samples=1, fail_on_error=False)
    assert {log.status for log in logs} == {"success"}
    assert evaluation.experiment.status()["recorded"] == 15


@solver
def writing():
    """Writes a score of its own."""

    async def solve(state, generate):
        state = await generate(state)
        state.scores = {"own": Score(value="C")}
        return state

    return solve


def test_scores_of_the_solver_leave_the_scorer_the_reward(tmp_path):
    for scorer_name in (None, "includes"):
        evaluation = start(tmp_path / f"{scorer_name}.caet", TWO, max_pulls=8, scorer=scorer_name)
        logs = run(evaluation, tmp_path / str(scorer_name), solver=writing())
        assert {log.status for log in logs} == {"success"}
        rewards = [row["reward"] for row in evaluation.experiment.export() if row["reward"] is not None]
        assert rewards.count(1) < len(rewards) == 8


def test_a_score_of_the_solver_alone_is_refused_before_anything_is_run(tmp_path):
    evaluation = start(tmp_path / "two.caet", TWO, scorer="own")
    found = message(run(evaluation, tmp_path, solver=writing()))
    assert "known: includes; a score that only the solver writes needs a scorer that returns it" in found
    assert evaluation.experiment.status()["handed_out"] == 0


def test_scores_are_rewards_but_for_rounding():
    """One that is an end of the range but for rounding is that end; others are told in full."""
    graded, stars, right = map(parse_family, ("bounded:0,1", "bounded:1,5,4", "bernoulli"))
    near = [(1 + 2e-16, graded), (-1e-17, graded), (5.000000001, stars), (1 - 2e-16, right), (-1e-10, right)]
    assert [fit_reward(*one) for one in near] == [1, 0, 5, 1, 0]
    same = [(0.7, graded), (1 - 1e-8, graded), (3.5, stars), (1e9, parse_family("gaussian:1"))]
    assert [fit_reward(*one) for one in same] == [reward for reward, _ in same]
    for reward, family in ((1.0000001, graded), (-1e-8, graded), (0.9999999, right), (1.0000001, right)):
        with pytest.raises(InputError, match=re.escape(f"reward {reward!r} is outside the ")):
            fit_reward(reward, family)


@scorer(metrics=[mean()])
def rounded():
    async def score(state, target):
        return Score(value=(0.1 + 0.2) / 0.3 if "yes" in state.output.completion else 0.3 - 0.1 * 3)

    return score


def test_a_score_that_is_rounded_ends_no_task(tmp_path):
    evaluation = start(tmp_path / "two.caet", TWO, "bounded:0,1", max_pulls=8)
    logs = run(evaluation, tmp_path, scorers=rounded())
    assert {log.status for log in logs} == {"success"}
    assert {row["reward"] for row in evaluation.experiment.export()} <= {0, 1, None}


@scorer(metrics=[accuracy()])
def shaky():
    """Breaks when it first sees a question."""
    seen = set()

    async def score(state, target):
        key = str(state.model), state.input_text
        if key not in seen:
            seen.add(key)
            raise RuntimeError("the judge is down")
        return Score(value="C")

    return score


@solver
def limited():
    """Meets a limit of its own when it first sees a question."""
    seen = set()

    async def solve(state, generate):
        key = str(state.model), state.input_text
        if key in seen:
            return await generate(state)
        seen.add(key)
        try:
            with token_limit(20):
                return await generate(state)
        except LimitExceededError as error:
            raise RuntimeError("too long") from error

    return solve


CUT_SHORT = [
    lambda: {"scorers": shaky(), "token_limit": 45},
    lambda: {"scorers": shaky(), "cost_limit": 1e-5},
    lambda: {"solver": limited()},
]


@pytest.mark.parametrize("options", CUT_SHORT)
def test_an_attempt_that_met_a_limit_costs_its_tokens(tmp_path, options):
    """Inspect says nothing of a call that meets one, until the sample ends."""
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=8)
    logs = run(evaluation, tmp_path, retry_on_error=1, **options())
    status = evaluation.experiment.status()
    assert (status["recorded"], status["withdrawn"]) == (8, 0)
    assert status["spent"] == pytest.approx(bill(logs).dollars, rel=1e-9)


def test_without_inspects_own_count_attempts_cost_what_was_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect, "sample_model_usage", None)
    evaluation = start(tmp_path / "two.caet", TWO, max_pulls=8)
    logs = run(evaluation, tmp_path, scorers=shaky(), retry_on_error=1)
    status = evaluation.experiment.status()
    assert (status["recorded"], status["withdrawn"]) == (8, 0)
    assert status["spent"] == pytest.approx(bill(logs).dollars, rel=1e-9)


def unpriced():
    """A model whose price nobody knows."""
    output = ModelOutput.from_content("side", "GRADE: C")
    output.usage = ModelUsage(input_tokens=9, output_tokens=9, total_tokens=18)
    return get_model("mockllm/side", custom_outputs=lambda *_: output, memoize=False)


@solver
def asking(fails):
    """Asks a model by itself, and fails after that where it is told to."""

    async def solve(state, generate):
        await unpriced().generate("help")
        if fails:
            raise RuntimeError("the line is dead")
        return await generate(state)

    return solve


@pytest.mark.parametrize("fails", [True, False])
def test_a_price_that_is_not_known_ends_the_run(tmp_path, fails):
    """Whether its samples fail or not: no limit on the cost could hold."""
    evaluation = start(tmp_path / "two.caet", TWO, max_cost=1)
    logs = run(evaluation, tmp_path, solver=asking(fails), fail_on_error=False)
    assert all("inspect_ai does not know the price of mockllm/side: set it" in log.error.message for log in logs)
    status = evaluation.experiment.status()
    assert 0 < status["withdrawn"] == status["handed_out"] <= 8
    assert status["waiting"] == 0


def test_graders_are_found_wherever_a_scorer_has_them():
    grader = {"model": "mockllm/judge", "config": {"seed": 1}, "base_url": None, "model_args": {"x": "y"}}
    parts = [{"type": "scorer", "name": "qa", "params": {"model": told}} for told in (grader, "m/1", ["m/2", "m/3"])]
    assert [*find_models({"scorers": parts, "reducer": "mode"})] == ["mockllm/judge", "m/1", "m/2", "m/3"]
    assert [*find_models({"model": None, "template": "model"})] == [*find_models(None)] == []


def test_graders_without_a_price_are_refused_before_anything_is_run(tmp_path):
    from inspect_ai.scorer import model_graded_qa

    graded = model_graded_qa(model=unpriced())
    for number, scorers in enumerate((graded, multi_scorer([includes(), graded], "mode"))):
        evaluation = start(tmp_path / f"{number}.caet", TWO)
        found = message(run(evaluation, tmp_path / str(number), scorers=scorers))
        assert "does not know the price of mockllm/side: set it" in found
        assert evaluation.experiment.status()["handed_out"] == 0
