"""Samples that wait for a pull of their arm, those that run, and what they use."""

import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from math import isnan
from typing import TYPE_CHECKING, Any

import anyio
from inspect_ai.util import EarlyStop

from caet_opt.adaptors.inspect_items import name_item
from caet_opt.adaptors.inspect_runs import insist
from caet_opt.adaptors.inspect_scores import find_score, fit_reward, price, reward_of
from caet_opt.errors import CaetError, InputError
from caet_opt.live.experiment import Pull

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSample, EvalSpec
    from inspect_ai.scorer import SampleScore

    from caet_opt.adaptors.inspect import Evaluation

#: A sample of a task: its id and its epoch.
Key = tuple[str | int, int]

#: Tokens and dollars by model, as inspect counts them.
Usage = Mapping[str, Any]

#: Why a sample is skipped whose question was put to a model before.
USED = "each sample is run once, and this one was"

#: Seconds after which an attempt that has not begun counts as failed, where inspect tries it again without a word.
BEGIN_WITHIN = 600.0


class Ticket:
    """A sample that waits to be told whether it is run (no reason) or skipped (the reason)."""

    def __init__(self, key: Key, item: str) -> None:
        self.key, self.item, self.reason = key, item, ""
        self.answered = anyio.Event()

    def answer(self, reason: str | None) -> None:
        """Tell it."""
        self.reason = reason or ""
        self.answered.set()


class Running:
    """A sample that has a pull: what its earlier attempts used, and the present one; parked between two of them."""

    def __init__(self, pull: Pull, item: str) -> None:
        self.pull, self.item = pull, item
        self.earlier: Usage = {}
        self.present: Usage = {}
        self.enter()

    def enter(self) -> None:
        """An attempt is let in; it begins once it has its sandbox, if it uses one."""
        self.parked, self.begun, self.since = False, False, time.monotonic()

    @property
    def usage(self) -> Usage:
        """What all attempts used."""
        return add_usage(self.earlier, self.present)


class Gate:
    """What inspect asks before each sample of an arm's task (its ``EarlyStopping``), and tells after it."""

    def __init__(self, evaluation: "Evaluation", arm: int, name: str) -> None:
        self.evaluation, self.arm, self.name = evaluation, arm, name
        self.waiting: deque[Ticket] = deque()
        self.out: dict[Key, Running] = {}
        self.items: dict[str | int, str] = {}
        self.scorer = ""
        self.seen: set[Key] = set()
        self.expected: int | None = None
        self.is_open, self.is_closed, self.is_done, self.tries_again = False, False, False, False
        self.failed, self.failed_cost = 0, 0.0

    @property
    def may_come(self) -> bool:
        """Whether another sample may still ask."""
        return not self.is_closed and (self.expected is None or len(self.seen) < self.expected)

    @property
    def lack(self) -> str:
        """Why no sample comes any more: all have, or the task has ended before."""
        asked = self.expected is not None and len(self.seen) >= self.expected
        return f"no questions left for {self.name}" if asked else f"no sample of {self.name} is left"

    @property
    def is_running(self) -> bool:
        """Whether a sample is with its model, and not waiting for another attempt behind samples that wait."""
        return any(not one.parked for one in self.out.values())

    def forget(self) -> None:
        """Another run begins, in which its task has not begun yet; of one that did not end properly nothing is left."""
        for key in list(self.out):
            self.fail_anyway(key)
        self.waiting.clear()
        self.seen, self.expected, self.is_open, self.is_closed = set(), None, False, False

    async def start_task(self, task: "EvalSpec", samples: "list[Sample]", epochs: int) -> str:
        """The task begins; `InputError` where it could not end, or where its scores or prices could not count. Then
        no other task of this run spends anything."""
        evaluation = self.evaluation
        try:
            running = evaluation.admit_task(self, task, epochs)
            self.items = {sample.id: name_item(sample, evaluation.item) for sample in samples if sample.id is not None}
        except Exception as error:
            evaluation.refuse(str(error) if isinstance(error, CaetError) else f"{type(error).__name__}: {error}")
            raise
        self.is_open, self.is_closed, self.is_done = True, False, False
        self.tries_again = bool(task.config.retry_on_error)
        self.seen, self.expected = set(), len(samples) * epochs
        evaluation.watch(self, task, running)
        return "caet-opt"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """None when the policy has handed out a pull for this sample, else why it is skipped."""
        key, evaluation = (id, epoch), self.evaluation
        self.seen.add(key)
        if (running := self.out.get(key)) is not None:  # another attempt of a sample that has failed
            running.enter()
            CURRENT.set((self, key))
            return self._skip(key, "settled") if insist(lambda: evaluation.experiment.stopped) else None
        ticket = Ticket(key, self.items[id])
        if evaluation.is_used(self.arm, ticket.item):
            ticket.answer(USED)
        else:
            self.waiting.append(ticket)
        try:
            evaluation.dispatch()
            while not ticket.answered.is_set():
                with anyio.move_on_after(evaluation.patience) as waited:
                    await ticket.answered.wait()
                if waited.cancelled_caught:
                    evaluation.look_for_absent()
        except BaseException:
            if ticket in self.waiting:
                self.waiting.remove(ticket)
            self.fail_anyway(key)
            raise
        CURRENT.set((self, key))
        return EarlyStop(id=id, epoch=epoch, reason=ticket.reason) if ticket.reason else None

    async def complete_sample(self, id: str | int, epoch: int, scores: "Mapping[str, SampleScore]") -> None:
        """Record what a sample brought, and what it cost; one that was not scored is withdrawn, and so is one whose
        score or price is not accepted, with an `InputError` that names it."""
        key = id, epoch
        self.seen.add(key)
        if key not in self.out:  # inspect has it from an earlier run
            return
        try:
            self._record(key, scores)
        except (CaetError, OSError) as error:
            self.fail_anyway(key)
            with suppress(CaetError, OSError):  # this one is told
                self.evaluation.dispatch()
            raise InputError(f"sample {id}, epoch {epoch}, of {self.name}: {error}") from error
        self.evaluation.dispatch()

    def _record(self, key: Key, scores: "Mapping[str, SampleScore]") -> None:
        """Record a score as a reward, with its price."""
        evaluation, experiment, running = self.evaluation, self.evaluation.experiment, self.out[key]
        cost = price(running.usage, experiment.negligible_cost) if evaluation.costs is None else None
        reward = reward_of(find_score(scores, self.scorer), evaluation.reward)
        if isnan(reward):
            self.fail(key)
            evaluation.note_unscored(self.scorer)
            return
        reward = fit_reward(reward, experiment.family)
        insist(lambda: experiment.record(None, reward, cost, pull=running.pull.number))
        del self.out[key]

    async def complete_task(self) -> dict[str, Any]:
        """What inspect's log says of it; `InputError` where the run was broken off."""
        self.is_done, evaluation = True, self.evaluation
        if evaluation.failure is not None:
            raise InputError(evaluation.failure)
        status = insist(evaluation.experiment.summary)
        found = {"arm": self.name, "failed": self.failed, "failed_cost": self.failed_cost}
        found |= {"over": evaluation.find_reason(self, status), "released": evaluation.released}
        return found | {"answer": status["answer"], "stopped": status["stopped"], "spent": status["spent"]}

    def note_usage(self, key: Key, model: str, usage: Any) -> None:
        """Count a call of a model."""
        if (running := self.out.get(key)) is not None:
            running.present = add_usage(running.present, {model: usage})

    def begin(self, key: Key) -> None:
        """An attempt has begun."""
        if (running := self.out.get(key)) is not None:
            running.begun, running.parked = True, False

    def look_for_failed(self) -> None:
        """Park attempts that have not begun in all this time: of one that fails before, as without its sandbox, inspect
        says nothing where it tries the sample again."""
        latest = time.monotonic() - BEGIN_WITHIN
        for running in self.out.values():
            running.parked = running.parked or (self.tries_again and not running.begun and running.since <= latest)

    def park(self, key: Key, used: Usage | None) -> None:
        """An attempt has failed, and another one waits for its turn among the samples of the task. What it used is
        what inspect says, which tells nobody of calls that met a limit; or, where it does not say, what was noted."""
        if (running := self.out.get(key)) is not None:
            running.present = running.present if used is None else used
            running.earlier, running.present, running.parked = running.usage, {}, True
            self.evaluation.dispatch()

    def end_sample(self, sample: "EvalSample") -> None:
        """Keep what a sample used until its score comes; withdraw the pull of one that failed without it."""
        key = sample.id, sample.epoch
        if (running := self.out.get(key)) is not None:
            running.present = sample.model_usage
            if sample.error is not None and self.scorer not in (sample.scores or {}):
                self.fail(key)
                self.evaluation.dispatch()

    def close(self) -> None:
        """The task has ended, one way or another: no sample comes any more, unless an eval set tries it again."""
        self.is_open = False
        self.is_closed = self.is_done or not self.evaluation.tries_again
        if not self.is_closed:
            self.seen, self.expected = set(), None
        for key in list(self.out):
            self.fail_anyway(key)
        with suppress(CaetError, OSError):  # samples that wait ask again, and are told
            self.evaluation.dispatch()

    def take(self, item: str) -> Ticket:
        """The first ticket of an item, which waits no longer."""
        ticket = next(ticket for ticket in self.waiting if ticket.item == item)
        self.waiting.remove(ticket)
        return ticket

    def skip_item(self, item: str) -> None:
        """Skip the samples of this item that wait."""
        for ticket in [ticket for ticket in self.waiting if ticket.item == item]:
            self.waiting.remove(ticket)
            ticket.answer(USED)

    def skip_all(self, reason: str) -> None:
        """Skip all samples that wait."""
        while self.waiting:
            self.waiting.popleft().answer(reason)

    def _skip(self, key: Key, reason: str) -> EarlyStop:
        """Skip a sample that has a pull."""
        self.fail(key)
        return EarlyStop(id=key[0], epoch=key[1], reason=reason)

    def fail(self, key: Key) -> None:
        """Withdraw the pull of a sample that brings no score, if it has one; what it cost is spent."""
        if (running := self.out.pop(key, None)) is not None:
            cost = self.evaluation.cost_of(self.arm, running.usage)
            self.failed, self.failed_cost = self.failed + 1, self.failed_cost + cost
            self.evaluation.give_back(self.arm, running, cost)

    def fail_anyway(self, key: Key) -> None:
        """The same after an error, which is the one to be told."""
        with suppress(CaetError, OSError):
            self.fail(key)


def add_usage(one: Usage, other: Usage) -> Usage:
    """What two attempts used together."""
    return {
        model: one[model] + other[model] if model in one and model in other else {**one, **other}[model]
        for model in one.keys() | other.keys()
    }


#: The gate and the sample of what runs here, for calls of models.
CURRENT: ContextVar[tuple[Gate, Key] | None] = ContextVar("current", default=None)
