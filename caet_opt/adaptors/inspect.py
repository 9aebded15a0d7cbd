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
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from caet_opt.bandits.families import Family
from caet_opt.bandits.tasks import Task
from caet_opt.common.numbers import write_count
from caet_opt.errors import CaetError, InputError, missing_extra
from caet_opt.live.experiment import LiveExperiment, Offer
from caet_opt.live.outcomes import find_arm

try:
    from inspect_ai.hooks import (
        Hooks,
        ModelUsageData,
        RunEnd,
        RunStart,
        SampleAttemptEnd,
        SampleAttemptStart,
        SampleEnd,
        hooks,
    )

    from caet_opt.adaptors.inspect_checks import check_epochs, check_prices, check_run, check_scorer
    from caet_opt.adaptors.inspect_gate import CURRENT, Gate, Running, Usage
    from caet_opt.adaptors.inspect_runs import insist, is_gone, this_run
    from caet_opt.adaptors.inspect_scores import no_price, read_score
except ImportError as error:
    raise missing_extra("evaluations need inspect_ai", "inspect") from error

try:
    from inspect_ai.model._model import sample_model_usage
except ImportError:  # it is not public, and another release may not have it
    sample_model_usage = None

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec
    from inspect_ai.scorer import Score

#: Seconds after which samples that wait look whether a task that they wait for has not begun, and nothing else runs.
PATIENCE = 60.0

#: Samples that end without an error and without a score, before any has one, after which nothing more is run.
UNSCORED = 10


class Evaluation:
    """A live experiment whose pulls are the samples of several inspect tasks, a task for each arm.

    Which question was put to which arm is in the experiment's file: who starts again, or another process with the same
    file, puts none of them again. A question is known by what it asks, not by its id (`name_item`).

    Parameters
    ----------
    experiment
        The live experiment. Costs are those that it was started with; if they are observed, a sample costs what inspect
        says that its tokens cost (``set_model_cost`` tells inspect the prices), those of a model that grades and of
        failed attempts included.
    scorer
        Whose score is the reward; not needed where there is only one scorer.
    reward
        The reward of a score; by default its number, where right, partly right and wrong are 1, 0.5 and 0.
    shared_items
        Whether a question that was put to one model may be put to another. What two models make of one question is not
        independent, as the guarantee of comparisons assumes; so by default each question is put to one model, the one
        that needs it first, and skipped by the others. Where every statement is about one arm (``above:0.8``),
        sharing does no harm: ``docs/paired.md`` has the proof. In neither case does a question count twice for one
        model: further epochs of it are skipped, and refused where items are shared.
    item
        Which question a sample is: samples for which this returns the same are one. Needed where prompts are arms and
        part of the input, as ``item=lambda sample: sample.id``.
    """

    def __init__(
        self,
        experiment: LiveExperiment,
        *,
        scorer: str | None = None,
        reward: "Callable[[Score], float] | None" = None,
        shared_items: bool = False,
        item: "Callable[[Sample], Any] | None" = None,
    ) -> None:
        self.experiment, self.scorer, self.shared_items, self.item = experiment, scorer, shared_items, item
        self.reward = reward or read_score
        status = experiment.status()
        self.file = Path(status["file"]).resolve()
        self.costs: list[float] | None = None if status["cost_source"] == "observed" else status["costs"] or []
        self.gates = [Gate(self, arm, name) for arm, name in enumerate(experiment.names)]
        self.used: set[tuple[int | None, str]] = set()
        self.run: str | None = None
        self.begun: set[int] = set()
        self.all_began, self.tries_again = False, False
        self.refused: str | None = None
        self.failure: str | None = None
        self.over: str | None = None
        self.released, self.handed_out, self.unscored = 0, 0, 0
        self.is_new = True

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
        item: "Callable[[Sample], Any] | None" = None,
        **asked: Any,
    ) -> Self:
        """With `LiveExperiment.open_or_start`, told in the same words; without ``costs`` they are observed, in dollars.

        Dollars of a call are small numbers, and estimated costs up to ``gamma0`` or so count as zero: it is 1e-9 here.
        """
        observed: dict[str, Any] = {"cost_source": "observed", "gamma0": 1e-9} if asked.get("costs") is None else {}
        experiment = LiveExperiment.open_or_start(path, task, family, **(observed | asked))
        return cls(experiment, scorer=scorer, reward=reward, shared_items=shared_items, item=item)

    def arm(self, arm: str | int) -> Gate:
        """The ``early_stopping`` of the task of an arm, which is given by name or by number."""
        return self.gates[find_arm(arm, self.experiment.names)]

    @property
    def patience(self) -> float:
        """See `PATIENCE`."""
        return PATIENCE

    def admit_task(self, gate: Gate, task: "EvalSpec", epochs: int) -> "asyncio.Task[Any]":
        """A task begins, perhaps the first one of a run: what it runs in; `InputError` where it must not."""
        if task.run_id != self.run:
            self._begin_run(task)
        if gate.is_open:
            raise InputError(
                f"arm {gate.name!r} has two tasks in this run; give each arm one, not one task with several models: "
                "a new task for each arm, as task_with changes the task that it is given"
            )
        check_run(task, len(self.gates), RUNS.get(task.run_id, len(self.gates)), self.is_new)
        check_epochs(epochs, self.shared_items)
        gate.scorer = check_scorer(task, self.scorer, self.reward is read_score)
        if self.costs is None:
            check_prices(task)
        return find_running()

    def _begin_run(self, task: "EvalSpec") -> None:
        """Forget the run before; what is used, and what was left, is in the file."""
        for gate in self.gates:
            gate.forget()
        rows = insist(self.experiment.items)
        self.is_new = self.is_new and not rows and not self.begun
        self.run, self.tries_again = task.run_id, task.eval_set_id is not None
        self.begun, self.all_began = set(), False
        self.refused, self.failure, self.over = None, None, None
        self.handed_out, self.unscored = 0, 0
        if not rows and (recorded := insist(self.experiment.summary)["recorded"]):
            LOG.warning(
                "the file has %s without a question, so questions may be asked again", write_count(recorded, "outcome")
            )
        mine = [gate for gate in GATES.values() if gate.evaluation.file == self.file]
        here = {one.pull.number for gate in mine for one in gate.out.values()}
        left = [
            row["pull"] for row in rows if row["out"] and is_gone(row["run"], row["handed_out"], row["pull"] in here)
        ]
        for pull in left:
            with suppress(InputError):  # another process does the same
                insist(partial(self.experiment.release, pull))
        if left:
            LOG.warning("released %d pulls that an earlier run had left out: %s", len(left), ", ".join(map(str, left)))
        self.released = len(left)
        self.used = {self._key(row["arm"], row["item"]) for row in rows if row["in_use"] and row["pull"] not in left}

    def watch(self, gate: Gate, task: "EvalSpec", running: "asyncio.Task[Any]") -> None:
        """Hear of a task that has begun until it ends. Pulls are handed out once all tasks of the run have begun."""
        GATES[task.eval_id] = gate
        running.add_done_callback(lambda _: self._close(gate, task.eval_id))
        self.begun.add(gate.arm)
        if len(self.begun) >= min(RUNS.get(task.run_id, len(self.gates)), len(self.gates)):
            self._go()

    def _close(self, gate: Gate, eval_id: str) -> None:
        """A task has ended."""
        GATES.pop(eval_id, None)
        gate.close()
        if self.all_began and self.refused is None and not any(one.is_open for one in self.gates):
            with suppress(CaetError, OSError):  # the run has ended, and what it brought is in the file
                self._tell_end(gate)

    def _tell_end(self, last: Gate) -> None:
        """Say why a run did nothing, or why it ended while the answer is open."""
        status = insist(self.experiment.summary)
        if not self.handed_out:
            LOG.warning("no sample was run: %s", self.find_reason(last, status))
        elif not status["stopped"] and not status["ended"] and all(gate.is_done for gate in self.gates):
            LOG.warning("the run has ended, and the answer is open: %s", self.find_reason(last, status))

    def find_reason(self, gate: Gate, status: dict[str, Any]) -> str:
        """Why no sample of a task is run any more, once the task is done."""
        if (reason := self.over or self.refused) is not None:
            return reason
        if status["stopped"]:
            return f"settled: {status['answer']}"
        return f"ended: {status['ended']['reason']}" if status["ended"] else gate.lack

    def _go(self) -> None:
        """No other task begins in this run: wait for none."""
        self.all_began = True
        for gate in self.gates:
            gate.is_closed = gate.is_closed or (gate.expected is None and not gate.is_open)

    def refuse(self, reason: str) -> None:
        """A task of this run must not run: so none does."""
        self.refused = f"refused: {reason}"
        self.dispatch()

    def dispatch(self) -> None:
        """Hand pulls to the samples that wait, in the order in which the policy wants their arms.

        If it wants an arm of which no sample can come any more, or a limit is met, and nothing runs whose outcome could
        change that, this run is over.
        """
        while any(gate.waiting for gate in self.gates):
            if self.refused is None and not self.all_began:
                return
            offer = Offer(self.refused) if self.refused else insist(self._ask)
            for item in offer.used:
                self._skip_item(offer.arm, item)
            if offer.pull is not None and offer.item is not None:
                gate = self.gates[offer.pull.arm]
                ticket = gate.take(offer.item)
                gate.out[ticket.key] = Running(offer.pull, offer.item)
                self.handed_out += 1
                ticket.answer(None)
                self._skip_item(offer.pull.arm, offer.item)
            elif not offer.used:
                if (reason := self._find_end(offer)) is None:
                    return
                self.over = reason
                for gate in self.gates:
                    gate.skip_all(reason)

    def _ask(self) -> Offer:
        """What the policy wants."""
        return self.experiment.next_item(
            lambda arm: [ticket.item for ticket in self.gates[arm].waiting], this_run(), shared=self.shared_items
        )

    def _find_end(self, offer: Offer) -> str | None:
        """Why no sample is to be run any more; None where it may be after an outcome, or another sample."""
        runs = any(gate.is_running for gate in self.gates)
        if offer.arm is None:
            return None if offer.limit and runs else offer.reason
        gate = self.gates[offer.arm]
        return None if gate.may_come or runs else gate.lack

    def is_used(self, arm: int, item: str) -> bool:
        """Whether an item must not be put to an arm, as far as this process knows; the file knows."""
        return self._key(arm, item) in self.used

    def _key(self, arm: int, item: str) -> tuple[int | None, str]:
        return (arm if self.shared_items else None), item

    def _skip_item(self, arm: int | None, item: str) -> None:
        """Skip what waits of an item that is used."""
        for gate in self.gates:
            if gate.arm == arm or not self.shared_items:
                self.used.add(self._key(gate.arm, item))
                gate.skip_item(item)

    def cost_of(self, arm: int, usage: Usage) -> float:
        """What a sample cost that brings no score: its tokens, or, if costs are known, its arm's where it used any."""
        if self.costs is None:
            return float(sum(used.total_cost or 0.0 for used in usage.values()))
        return self.costs[arm] if usage and self.costs else 0.0

    def give_back(self, arm: int, running: Running, cost: float) -> None:
        """Withdraw the pull of a sample that brings no score."""
        self.used.discard(self._key(arm, running.item))
        insist(lambda: self.experiment.release(running.pull.number, cost=cost))
        unknown = [model for model, used in running.usage.items() if used.total_cost is None]
        if self.costs is None and unknown:
            self.break_off(str(no_price(unknown[0])))

    def note_unscored(self, scorer: str) -> None:
        """Count a sample that ended without a score; the run is broken off where none ever has one."""
        self.unscored += 1
        if self.unscored >= UNSCORED and not insist(self.experiment.summary)["recorded"]:
            self.break_off(f"no sample was scored: eval(score=False), or scorer {scorer} gives None")

    def break_off(self, reason: str) -> None:
        """Run no other sample; every task of the run ends with this error."""
        self.failure = self.failure or reason
        self.refuse(self.failure)

    def look_for_absent(self) -> None:
        """Wait no longer for tasks that have not begun, where nothing runs, nor for attempts that seem to have failed;
        one that begins after all is taken in."""
        if not any(gate.out for gate in self.gates):
            self._go()
        for gate in self.gates:
            gate.look_for_failed()
        self.dispatch()


LOG = logging.getLogger(__name__)

#: The gates of tasks that run, by inspect's id of the task; and how many tasks a run has.
GATES: dict[str, Gate] = {}
RUNS: dict[str, int] = {}


@hooks(name="caet_opt", description="Prices of samples, for experiments of caet-opt")
class Prices(Hooks):  # type: ignore[misc]
    """What ``EarlyStopping`` is not told: the tokens of a sample, that it or an attempt began or failed, and how many
    tasks a run has."""

    async def on_run_start(self, data: RunStart) -> None:
        """Count the tasks of a run."""
        RUNS[data.run_id] = len(data.task_names)

    async def on_run_end(self, data: RunEnd) -> None:
        """Forget a run."""
        RUNS.pop(data.run_id, None)

    async def on_model_usage(self, data: ModelUsageData) -> None:
        """Tell the gate of the sample that called a model."""
        if (current := CURRENT.get()) is not None:
            gate, key = current
            gate.note_usage(key, data.model_name, data.usage)

    async def on_sample_attempt_start(self, data: SampleAttemptStart) -> None:
        """Tell the task's gate that a sample begins."""
        if data.eval_id in GATES:
            GATES[data.eval_id].begin((data.summary.id, data.summary.epoch))

    async def on_sample_attempt_end(self, data: SampleAttemptEnd) -> None:
        """Tell the task's gate that a sample is tried again."""
        if data.will_retry and data.eval_id in GATES:
            used = None if sample_model_usage is None else dict(sample_model_usage())
            GATES[data.eval_id].park((data.summary.id, data.summary.epoch), used)

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
