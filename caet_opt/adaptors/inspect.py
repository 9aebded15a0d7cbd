"""Evaluations by ``inspect_ai``: models or prompts are arms, samples are pulls, scores are rewards, dollars are costs.

inspect asks before each sample whether to run it (its ``EarlyStopping``). A sample waits until the policy hands out a
pull of its model, and is skipped once the answer is settled or a limit is met. Everything is in the experiment's file.
Scores that are right or wrong are of the family ``bernoulli``, graded ones from 0 to 1 of ``bounded:0,1``.

    evaluation = Evaluation.open_or_start("models.caet", "best-arm", "bernoulli", arms=list(models), delta=0.05)
    tasks = [task_with(questions(), model=models[name], early_stopping=evaluation.arm(name)) for name in models]
    eval(tasks, max_tasks=len(tasks))
    print(evaluation.experiment)
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from caet_opt.adaptors.inspect_scores import check_reward, find_score, no_price, price, read_score
from caet_opt.bandits.families import Family
from caet_opt.bandits.tasks import Task
from caet_opt.errors import InputError, missing_extra
from caet_opt.live.experiment import LiveExperiment, Pull, find_arm

try:
    import anyio
    from inspect_ai.hooks import Hooks, RunEnd, RunStart, SampleEnd, hooks
    from inspect_ai.model import get_model_info
    from inspect_ai.util import EarlyStop
except ImportError as error:
    raise missing_extra("evaluations need inspect_ai", "inspect") from error

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSample, EvalSpec
    from inspect_ai.scorer import SampleScore, Score

#: Seconds after which samples that wait look whether a task that they wait for has not begun, and nothing else runs.
PATIENCE = 60.0

#: A sample of a task: its id and its epoch.
Key = tuple[str | int, int]


class Evaluation:
    """A live experiment whose pulls are the samples of several inspect tasks, a task for each arm.

    Parameters
    ----------
    experiment
        The live experiment. Costs are those that it was started with; if they are observed, a sample costs what inspect
        says that its tokens cost (``set_model_cost`` tells inspect the prices), those of a model that grades included.
    scorer
        Whose score is the reward; not needed where there is only one scorer.
    reward
        The reward of a score; by default its number, where right, partly right and wrong are 1, 0.5 and 0.
    shared_items
        Whether a sample that was put to one model may be put to another, or again in another epoch. What two models
        make of one question is not independent, as the guarantee of comparisons assumes; so by default each sample
        is run once, by the model that needs it first, and skipped by the others. Where every statement is about one arm
        (``above:0.8``), sharing does no harm: ``docs/paired.md`` has the proof.
    """

    def __init__(
        self,
        experiment: LiveExperiment,
        *,
        scorer: str | None = None,
        reward: "Callable[[Score], float] | None" = None,
        shared_items: bool = False,
    ) -> None:
        self.experiment, self.scorer, self.shared_items = experiment, scorer, shared_items
        self.reward = reward or read_score
        self.observed = experiment.status()["cost_source"] == "observed"
        self.gates = [Gate(self, name) for name in experiment.names]
        self.used: set[str | int] = set()
        self.held: Pull | None = None
        self.over: str | None = None

    @classmethod
    def open_or_start(
        cls,
        path: str | Path,
        task: Task | str,
        family: Family | str,
        *,
        scorer: str | None = None,
        reward: "Callable[[Score], float] | None" = None,
        shared_items: bool = False,
        **asked: Any,
    ) -> Self:
        """With `LiveExperiment.open_or_start`, told in the same words; without ``costs`` they are observed, in dollars.

        Dollars of a call are small numbers, and estimated costs up to ``gamma0`` or so count as zero: it is 1e-9 here.
        """
        observed: dict[str, Any] = {"cost_source": "observed", "gamma0": 1e-9} if asked.get("costs") is None else {}
        experiment = LiveExperiment.open_or_start(path, task, family, **(observed | asked))
        return cls(experiment, scorer=scorer, reward=reward, shared_items=shared_items)

    def arm(self, arm: str | int) -> "Gate":
        """The ``early_stopping`` of the task of an arm, which is given by name or by number."""
        return self.gates[find_arm(arm, self.experiment.names)]

    def dispatch(self) -> None:
        """Hand pulls to the samples that wait, in the order in which the policy wants their arms.

        A pull is kept until a sample of its arm comes; if none can come any more, this run is over.
        """
        while any(gate.waiting for gate in self.gates):
            self.over = self.over or self._ask()
            if self.over is not None:
                self.let_go()
                for gate in self.gates:
                    gate.skip_all(self.over)
            elif self.held is not None:
                if not self.gates[self.held.arm].waiting:
                    return
                self._admit(self.held)
                self.held = None

    def _ask(self) -> str | None:
        """Hold the pull that the policy wants next; or say why no sample is to be run any more."""
        if self.held is None:
            self.held = next(iter(self.experiment.next()), None)
        if self.experiment.stopped:
            return f"settled: {self.experiment.answer}"
        if self.held is None:
            return f"ended: {(self.experiment.status()['ended'] or {'reason': 'a limit'})['reason']}"
        gate = self.gates[self.held.arm]
        return None if gate.waiting or gate.may_come else f"no sample of {gate.name} is left"

    def _admit(self, pull: Pull) -> None:
        """Let the first sample that waits at an arm be run; where samples are not shared, by this arm alone."""
        ticket = self.gates[pull.arm].waiting.popleft()
        self.gates[pull.arm].out[ticket.key] = pull
        ticket.answer(None)
        self.used.add(ticket.key[0])
        for gate in () if self.shared_items else self.gates:
            gate.skip_item(ticket.key[0])

    def look_for_absent(self) -> None:
        """Wait no longer for tasks that have not begun, where nothing runs; one that begins after all is taken in."""
        if not any(gate.out for gate in self.gates):
            for gate in self.gates:
                gate.is_closed = gate.is_closed or gate.expected is None
        self.dispatch()

    def let_go(self) -> None:
        """Withdraw the pull that no sample has taken."""
        if self.held is not None:
            self.experiment.release(self.held.number)
            self.held = None


class Ticket:
    """A sample that waits to be told whether it is run (no reason) or skipped (the reason)."""

    def __init__(self, key: Key) -> None:
        self.key, self.reason = key, ""
        self.answered = anyio.Event()

    def answer(self, reason: str | None) -> None:
        """Tell it."""
        self.reason = reason or ""
        self.answered.set()


class Gate:
    """What inspect asks before each sample of an arm's task (its ``EarlyStopping``), and tells after it."""

    def __init__(self, evaluation: Evaluation, name: str) -> None:
        self.evaluation, self.name = evaluation, name
        self.waiting: deque[Ticket] = deque()
        self.out: dict[Key, Pull] = {}
        self.usage: dict[Key, Mapping[str, Any]] = {}
        self.seen: set[Key] = set()
        self.expected: int | None = None
        self.is_open, self.is_closed = False, False
        self.failed, self.failed_cost = 0, 0.0

    @property
    def may_come(self) -> bool:
        """Whether another sample may still ask."""
        return not self.is_closed and (self.expected is None or len(self.seen) < self.expected)

    async def start_task(self, task: "EvalSpec", samples: "list[Sample]", epochs: int) -> str:
        """The task begins; `InputError` where it could not end, or where its prices are not known."""
        arms, config, running = len(self.evaluation.gates), task.config, find_running()
        if self.is_open:
            raise InputError(f"arm {self.name!r} has two tasks in this run; give each arm one")
        if RUNS.get(task.run_id, arms) < arms:
            raise InputError(
                f"this run has {RUNS[task.run_id]} tasks, but the experiment has {arms} arms; run all in one eval"
            )
        if (config.max_tasks or 1) < arms:
            raise InputError(f"samples wait for one another: run all tasks at once, eval(..., max_tasks={arms})")
        if config.log_samples is False:
            raise InputError(
                "without a log of samples, inspect does not ask which ones to run; leave log_samples as it is"
            )
        if self.evaluation.observed and ((model := get_model_info(task.model)) is None or model.cost is None):
            raise no_price(task.model)
        if not any(gate.is_open for gate in self.evaluation.gates):
            self.evaluation.over = None
        self.is_open, self.is_closed = True, False
        self.seen, self.expected = set(), len(samples) * epochs
        GATES[task.eval_id] = self
        running.add_done_callback(lambda _: self.close(task.eval_id))
        return "caet-opt"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """None when the policy has handed out a pull for this sample, else why it is skipped."""
        key = id, epoch
        self.seen.add(key)
        if key in self.out:  # another attempt of a sample that has failed
            return self._skip(key, "settled") if self.evaluation.experiment.stopped else None
        ticket = Ticket(key)
        self.waiting.append(ticket)
        if id in self.evaluation.used and not self.evaluation.shared_items:
            self.skip_item(id)
        try:
            self.evaluation.dispatch()
            while not ticket.answered.is_set():
                with anyio.move_on_after(PATIENCE) as waited:
                    await ticket.answered.wait()
                if waited.cancelled_caught:
                    self.evaluation.look_for_absent()
        except BaseException:
            if ticket in self.waiting:
                self.waiting.remove(ticket)
            self._fail(key)
            raise
        return EarlyStop(id=id, epoch=epoch, reason=ticket.reason) if ticket.reason else None

    async def complete_sample(self, id: str | int, epoch: int, scores: "Mapping[str, SampleScore]") -> None:
        """Record what a sample brought, and what it cost; one that was not scored is withdrawn, and so is one whose
        score or price is not accepted, with an `InputError` that names it."""
        key = id, epoch
        self.seen.add(key)
        if key not in self.out:  # inspect has it from an earlier run
            return
        try:
            self._record(key, find_score(scores, self.evaluation.scorer))
        except InputError as error:
            self._fail(key)
            raise InputError(f"sample {id}, epoch {epoch}, of {self.name}: {error}") from error
        finally:
            self.evaluation.dispatch()

    def _record(self, key: Key, score: "Score | None") -> None:
        """Record a score as a reward, with its price."""
        evaluation, experiment = self.evaluation, self.evaluation.experiment
        reward = float("nan") if score is None else evaluation.reward(score)
        cost = price(self.usage[key], experiment.negligible_cost) if evaluation.observed else None
        if isnan(reward):
            self._fail(key)
            return
        check_reward(reward, experiment.family)
        experiment.record(None, reward, cost, pull=self.out[key].number)
        del self.out[key], self.usage[key]

    async def complete_task(self) -> dict[str, Any]:
        """What inspect's log says of it."""
        status = self.evaluation.experiment.summary()
        found = {"arm": self.name, "failed": self.failed, "failed_cost": self.failed_cost, "over": self.evaluation.over}
        return found | {"answer": status["answer"], "stopped": status["stopped"], "spent": status["spent"]}

    def end_sample(self, sample: "EvalSample") -> None:
        """Keep what a sample used until its score comes; withdraw the pull of one that failed."""
        key = sample.id, sample.epoch
        if key in self.out:
            self.usage[key] = sample.model_usage
            if sample.error is not None and not sample.scores:
                self._fail(key)
                self.evaluation.dispatch()

    def close(self, eval_id: str) -> None:
        """The task has ended, one way or another: no sample comes any more."""
        GATES.pop(eval_id, None)
        self.is_open, self.is_closed = False, True
        for key in list(self.out):
            self._fail(key)
        if not any(gate.is_open for gate in self.evaluation.gates):
            self.evaluation.let_go()
        self.evaluation.dispatch()

    def skip_item(self, id: str | int) -> None:
        """Skip the samples of this id that wait."""
        for ticket in [ticket for ticket in self.waiting if ticket.key[0] == id]:
            self.waiting.remove(ticket)
            ticket.answer("each sample is run once, and this one was")

    def skip_all(self, reason: str) -> None:
        """Skip all samples that wait."""
        while self.waiting:
            self.waiting.popleft().answer(reason)

    def _skip(self, key: Key, reason: str) -> EarlyStop:
        """Skip a sample that has a pull."""
        self._fail(key)
        return EarlyStop(id=key[0], epoch=key[1], reason=reason)

    def _fail(self, key: Key) -> None:
        """Withdraw the pull of a sample that brings no score, if it has one; what it cost is counted apart."""
        if (pull := self.out.pop(key, None)) is not None:
            self.evaluation.experiment.release(pull.number)
            self.failed += 1
            self.failed_cost += sum(used.total_cost or 0.0 for used in self.usage.pop(key, {}).values())


#: The gates of tasks that run, by inspect's id of the task; and how many tasks a run has.
GATES: dict[str, Gate] = {}
RUNS: dict[str, int] = {}


@hooks(name="caet_opt", description="Prices of samples, for experiments of caet-opt")
class Prices(Hooks):  # type: ignore[misc]
    """What ``EarlyStopping`` is not told: the tokens of a sample, that it failed, and how many tasks a run has."""

    async def on_run_start(self, data: RunStart) -> None:
        """Count the tasks of a run."""
        RUNS[data.run_id] = len(data.task_names)

    async def on_run_end(self, data: RunEnd) -> None:
        """Forget a run."""
        RUNS.pop(data.run_id, None)

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Tell the task's gate."""
        if data.eval_id in GATES:
            GATES[data.eval_id].end_sample(data.sample)


def find_running() -> "asyncio.Task[Any]":
    """What runs the present task, and ends with it, even where inspect does not say so; `InputError` on trio."""
    try:
        running = asyncio.current_task()
    except RuntimeError:
        running = None
    if running is None:
        raise InputError("evaluations need inspect's default backend, asyncio")
    return running
