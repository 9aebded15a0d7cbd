"""A live experiment: several people and programs hand out pulls and record outcomes, over days."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from caet_opt.bandits.families import Family
from caet_opt.bandits.limits import number_limits
from caet_opt.bandits.tasks import Task, custom_part, parse_task
from caet_opt.common.checks import check_whole, show_value
from caet_opt.common.numbers import typed_delta, write_given
from caet_opt.errors import CaetError, InputError
from caet_opt.exploring.compiling import compile_rounds
from caet_opt.exploring.explorer import Explorer
from caet_opt.exploring.policies.tracking import TrackingPolicy
from caet_opt.exploring.saving import OWN, from_text
from caet_opt.exploring.settings import LIMITS
from caet_opt.kernels.native import is_worth_compiling, without_compiling
from caet_opt.live import contents, items
from caet_opt.live.arm_names import name_answer, name_arms
from caet_opt.live.outcomes import (
    COLUMNS,
    check_amount,
    check_columns,
    check_lost,
    check_order,
    find_arm,
    list_all,
    list_trials,
    read_assigned,
    read_cost,
    read_reward,
)
from caet_opt.live.replay import (
    absorb_batch,
    absorb_outcome,
    allowance,
    begin,
    choose_arms,
    find_differences,
    limits_now,
    load,
    may_declare,
)
from caet_opt.live.settled import keep_settled
from caet_opt.live.status import BY_HAND, LEVEL, POINTS, list_moments, report_status, summarise
from caet_opt.live.store import WAIT, Store, is_experiment, is_filled, read_header

#: More pulls at once are a slip of the keyboard, and would take so long to choose that others give up waiting.
MOST_PULLS = 10_000


class Pull(NamedTuple):
    """A pull that was handed out: its number in the file, and its arm by number and by name.

    >>> with LiveExperiment.start("pull.caet", "best-arm", "bernoulli", arms=2, costs=[1, 2], delta=0.05) as experiment:
    ...     experiment.next()
    (Pull(number=1, arm=0, name='0'),)
    """

    number: int
    arm: int
    name: str


class Offer(NamedTuple):
    """What `LiveExperiment.next_item` says: why nothing is handed out any more, and whether by a limit that also counts
    what is out; or the arm that the policy wants, its pull and the item that it is for, if any, and used items."""

    reason: str | None
    arm: int | None = None
    pull: Pull | None = None
    item: str | None = None
    used: tuple[str, ...] = ()
    limit: bool = False


class LiveExperiment:
    """An experiment kept in a file: `next` hands out pulls, `record` takes their outcomes, until `stopped`.

    Every change is a transaction that is on disk before the method returns, and any number of processes may use one
    file. The state of the experiment follows from its rows: `verify` replays and compares them. Give arms by name
    or by number. After `close`, or after a ``with`` block, the object can still be used: it opens the file again, and
    leaves it open until the next `close`. See ``docs/live_experiments.md``.

    >>> experiment = LiveExperiment.start(
    ...     "trial.caet", "best-arm", "bernoulli", arms=["large", "small"], costs=[3, 5], delta=0.05
    ... )
    >>> while not experiment.stopped:
    ...     for pull in experiment.next(2):
    ...         experiment.record(pull.arm, 1 if pull.name == "large" else 0, pull=pull.number)
    >>> experiment.answer, experiment.status()["spent"], experiment.verify()
    ('large', 46.0, [])
    >>> experiment.close()
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: tuple[int, Explorer] | None = None
        self._renewed = False
        try:
            with store.reading() as db:
                facts = contents.read_facts(db)
                with self._named_errors():
                    self._start = from_text(facts.saved)
                    explorer = begin(self._start, facts.names)
                guaranteed = explorer.threshold.guarantees(explorer.family)  # whatever the file says of it
                self._facts, self.names = facts._replace(guaranteed=guaranteed), facts.names
                limits_now(db, self._load(db))
                contents.read_stop(db, self._start)
                contents.read_end(db)
        except BaseException:
            store.close()
            raise

    @classmethod
    def start(
        cls,
        path: str | Path,
        task: Task | str,
        family: Family | str,
        *,
        arms: int | Sequence[str],
        delta: float | None = None,
        log_inv_delta: float | None = None,
        costs: Sequence[float] | None = None,
        policy: str = "caet",
        seed: int = 0,
        unproven: bool = False,
        wait: float = WAIT,
        **settings: Any,
    ) -> Self:
        """Start a new experiment in a new file; if something is wrong, `InputError`, and no file is made.

        Parameters
        ----------
        path
            Path of the file, which must not exist yet.
        task, family, delta, log_inv_delta, costs, policy, seed, settings
            As for `Explorer.start`, but a Gaussian family needs its variance: ``"gaussian:4"``, or ``Gaussian(4)``.
            Arms of a task can be given by name, as ``"control:local"``.
        arms
            The names of the arms, or their number.
        unproven
            Whether a threshold may be used that is not proven to keep the error probability below delta; the experiment
            then says that it guarantees nothing.
        wait
            How many seconds to wait for another process that writes.

        Examples
        --------
        >>> LiveExperiment.start("bad.caet", "best-arm", "bernoulli", arms=2, costs=[1, 2], delta=5)
        Traceback (most recent call last):
            ...
        caet_opt.errors.InputError: delta must lie strictly between 0 and 1, got 5
        """
        asked = {"delta": delta, "log_inv_delta": log_inv_delta, "costs": costs, "policy": policy, "seed": seed}
        explorer, names = pose(task, family, arms, unproven=unproven, **asked, **settings)
        check_budget(explorer, names)
        return cls(Store.create(path, explorer, names, wait))

    @classmethod
    def open_or_start(
        cls,
        path: str | Path,
        task: Task | str,
        family: Family | str,
        *,
        arms: int | Sequence[str],
        wait: float = WAIT,
        **asked: Any,
    ) -> Self:
        """Open the experiment in a file, or start a new one if there is none; for programs that may be started twice.

        Takes the arguments of `start`. If the experiment in the file was started with other arguments, it is left
        unchanged, and an `InputError` says which ones differ.

        >>> told = {"arms": ["large", "small"], "costs": [3, 5], "delta": 0.05}
        >>> for _ in range(2):
        ...     with LiveExperiment.open_or_start("again.caet", "best-arm", "bernoulli", **told) as experiment:
        ...         experiment.next()[0].number
        1
        2
        >>> LiveExperiment.open_or_start("again.caet", "ranking", "bernoulli", **told)
        Traceback (most recent call last):
            ...
        caet_opt.errors.InputError: again.caet: another experiment is in it: its task is best-arm, not ranking
        """
        explorer, names = pose(task, family, arms, **asked)
        if not is_filled(Path(path)):
            check_budget(explorer, names)
        try:
            return cls(Store.create(path, explorer, names, wait))
        except InputError:
            if not is_filled(Path(path)):
                raise
        experiment = cls.open(path, wait=wait)
        found = list_question(Explorer.from_saved(experiment._start), experiment.names)
        raised = {setting.label: experiment._limits.get(setting.name) for setting in OWN if setting.name in LIMITS}
        for what, told in list_question(explorer, names).items():
            now = raised.get(what, found[what])
            if told not in (found[what], now):
                experiment.close()
                hint = "; experiment extend raises it" if what in raised else ""
                raise InputError(f"{Path(path)}: another experiment is in it: its {what} is {now}, not {told}{hint}")
        return experiment

    @classmethod
    def open(cls, path: str | Path, *, wait: float = WAIT) -> Self:
        """Open the experiment in a file, to continue or to look at it; ``wait`` as for `start`.

        >>> LiveExperiment.open("nothing.caet")
        Traceback (most recent call last):
            ...
        caet_opt.errors.InputError: nothing.caet: no such file; caet-opt experiment start makes one
        """
        return cls(Store(path, wait))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, which then holds everything; the next use opens it again."""
        self._known = None
        self._store.close()

    def backup(self, path: str | Path) -> None:
        """Make a consistent copy of the experiment in a new file, even while others write; on failure there is no copy.

        A plain copy of the file may lack what is still in the log beside it, if a process has it open.

        >>> with LiveExperiment.start("one.caet", "best-arm", "poisson", arms=2, costs=[1, 2], delta=0.1) as experiment:
        ...     pulls = experiment.next(3)
        ...     experiment.backup("copy.caet")
        >>> LiveExperiment.open("copy.caet").summary()["waiting"]
        3
        """
        self._store.backup(path)

    @property
    def stopped(self) -> bool:
        """Whether the answer is declared."""
        with self._store.reading() as db:
            return contents.read_stop(db, self._start) is not None

    @property
    def answer(self) -> str | None:
        """The declared answer in words; None before."""
        with self._store.reading() as db:
            stop = contents.read_stop(db, self._start)
            return None if stop is None else name_answer(self._start.task, stop.answer, self.names)

    @property
    def family(self) -> Family:
        """The family that the rewards are taken to be from."""
        return Explorer.from_saved(self._start).family

    @property
    def _limits(self) -> dict[str, float | None]:
        """The limits in force, by name."""
        with self._store.reading() as db:
            return limits_now(db, self._load(db)).ends

    @property
    def negligible_cost(self) -> float:
        """The policy treats an arm as free if the mean of its observed costs is at most this (``gamma0``)."""
        return Explorer.from_saved(self._start).parameters.negligible_cost

    def next(self, pulls: int = 1, *, arm: str | int | None = None) -> tuple[Pull, ...]:
        """Hand out this many pulls, which are out until their outcomes are recorded; none once the experiment has
        stopped or ended, and no more than the limits ``max_cost`` and ``max_pulls`` allow (`Allowance`).

        The policy decides, counting what is out (`Explorer.next_arms`), unless you name an arm. The
        guarantee holds whoever chooses, as long as nobody knows the outcome.

        >>> told = {"arms": 2, "costs": [3, 5], "delta": 0.05, "max_cost": 12}
        >>> with LiveExperiment.start("limited.caet", "best-arm", "bernoulli", **told) as experiment:
        ...     [pull.arm for pull in experiment.next(5)], experiment.status()["ended"]["reason"]
        ([0, 1, 0], 'max_cost')
        """
        pulls = check_whole(pulls, "pulls", 1)
        if pulls > MOST_PULLS:
            many = f"pulls must be at most {MOST_PULLS}, got {show_value(pulls)}"
            raise InputError(f"{many}; hand out up to {MOST_PULLS} at a time")
        wanted = None if arm is None else find_arm(arm, self.names)
        with self._store.writing() as db:
            if contents.read_stop(db, self._start) is not None or contents.read_end(db) is not None:
                return ()
            explorer, out = self._load(db), contents.waiting_arms(db, len(self.names))
            chosen = [wanted] * pulls if wanted is not None else self._choose(db, explorer, pulls, out)
            left = allowance(db, explorer, out)
            within = takewhile(lambda one: left.take(one) is None, chosen)
            return tuple(Pull(contents.hand_out(db, one), one, self.names[one]) for one in within)

    def next_item(self, asking: Callable[[int], Sequence[str]], run: str, *, shared: bool = False) -> Offer:
        """Hand out a pull of the arm that the policy wants to the first item that asks for one and is not used yet.

        An item, such as a question, is used by a pull that is out or has its outcome, of the same arm or, unless items
        are ``shared``, of any arm. ``asking`` has the items that ask at an arm, and ``run`` says who hands this out.

        >>> told = {"arms": ["large", "small"], "costs": [3, 5], "delta": 0.05}
        >>> with LiveExperiment.start("items.caet", "best-arm", "bernoulli", **told) as experiment:
        ...     for _ in range(2):
        ...         offer = experiment.next_item(lambda arm: ["question 1"], "here")
        ...         offer.arm, offer.pull, offer.used
        (0, Pull(number=1, arm=0, name='large'), ())
        (1, None, ('question 1',))
        """
        with self._store.writing() as db:
            if (stop := contents.read_stop(db, self._start)) is not None:
                return Offer(f"settled: {name_answer(self._start.task, stop.answer, self.names)}")
            if contents.read_end(db) is not None:
                return Offer(f"ended: {BY_HAND}")
            explorer, out = self._load(db), contents.waiting_arms(db, len(self.names))
            (arm,) = self._choose(db, explorer, 1, out)
            if (limit := allowance(db, explorer, out).take(arm)) is not None:
                return Offer(f"ended: {limit}", limit=True)
            used = list[str]()
            for item in asking(arm):
                if not items.is_used(db, item, arm if shared else None):
                    pull = Pull(contents.hand_out(db, arm), arm, self.names[arm])
                    items.use(db, item, pull.number, run)
                    return Offer(None, arm, pull, item, tuple(used))
                used.append(item)
            return Offer(None, arm, used=tuple(used))

    def items(self) -> list[dict[str, Any]]:
        """Every item that a pull was handed out for by `next_item`, with that pull, its arm, whose run it was, and
        whether it is in use, which it is while the pull is out and once it has an outcome.

        >>> with LiveExperiment.start("asked.caet", "best-arm", "poisson", arms=2, costs=[1, 2], delta=0.1) as live:
        ...     for item in ("question 1", "question 2"):
        ...         offer = live.next_item(lambda arm: [item], "here")
        ...     live.release(1)
        ...     [(one["item"], one["pull"], one["in_use"]) for one in live.items()]
        [('question 1', 1, False), ('question 2', 2, True)]
        """
        with self._store.reading() as db:
            return items.list_items(db, len(self.names))

    def _choose(self, db: sqlite3.Connection, explorer: Explorer, pulls: int, out: Sequence[int]) -> list[int]:
        """The arms that the policy wants; a state that was made from the rows is kept, so that nobody does it again."""
        if self._renewed:
            self._known, self._renewed = None, False  # until it is on disk
            contents.keep_checkpoint(db, explorer.state.round, explorer.to_text())
        with without_compiling():
            return choose_arms(explorer, pulls, out)

    def end(self) -> bool:
        """End the experiment by hand: `next` hands out nothing any more. Outcomes of pulls that are out are still
        accepted, and may settle the answer. Returns False, and changes nothing, if it had already ended or stopped.

        >>> told = {"arms": ["large", "small"], "costs": [3, 5], "delta": 0.05}
        >>> with LiveExperiment.start("ended.caet", "best-arm", "bernoulli", **told) as experiment:
        ...     experiment.end(), experiment.end(), experiment.next(), experiment.status()["not_excluded"]
        (True, False, (), ['large', 'small'])
        """
        with self._store.writing() as db:
            if contents.read_stop(db, self._start) is not None or contents.read_end(db) is not None:
                return False
            contents.end(db)
            return True

    def extend(self, *, max_cost: float | None = None, max_pulls: int | None = None) -> None:
        """Raise the limits with which the experiment was started, or put one where there is none, which must leave room
        for the next pull; None leaves one as it is. The guarantee holds whoever decides to go on, and when.

        >>> told = {"arms": 2, "costs": [3, 5], "delta": 0.05, "max_cost": 12}
        >>> with LiveExperiment.start("extended.caet", "best-arm", "bernoulli", **told) as experiment:
        ...     experiment.extend(max_cost=20)
        ...     [pull.arm for pull in experiment.next(9)], experiment.status()["limits"]["max_cost"]
        ([0, 1, 0, 1, 0], 20.0)
        """
        asked: dict[str, Any] = {"max_cost": max_cost, "max_pulls": max_pulls}
        given = {name: value for name, value in asked.items() if value is not None}
        if not given:
            raise InputError("nothing to extend: give max_cost or max_pulls")
        with self._store.writing() as db:
            if (stop := contents.read_stop(db, self._start)) is not None:
                answer = name_answer(self._start.task, stop.answer, self.names)
                raise InputError(f"nothing to extend: the experiment has stopped with the answer {answer}")
            if contents.read_end(db) is not None:
                raise InputError("nothing to extend: the experiment was ended by hand, for good; start a new one")
            explorer = self._load(db)
            before = limits_now(db, explorer)
            after = replace(before, **given)
            for name, value in given.items():
                if (old := getattr(before, name)) is not None and value < old:
                    raise InputError(f"{name} is {old:.15g}: extend raises a limit, got {value:.15g}")
            out = contents.waiting_arms(db, len(self.names))
            (arm,) = self._choose(db, explorer, 1, out)
            for name, value in given.items():
                alone = replace(after, **{"max_cost": None, "max_pulls": None, name: value})
                left = allowance(db, explorer, out, alone)
                if getattr(before, name) is None and left.take(arm) is not None:
                    raise InputError(
                        f"{name} {value:.15g} leaves no room for the next pull, and there was no such limit: it would "
                        "end the experiment at once; give more, or end it by experiment stop"
                    )
            contents.raise_limits(db, after.ends)

    def record(
        self, arm: str | int | None, reward: float, cost: float | None = None, *, pull: int | None = None
    ) -> None:
        """Record the outcome of a pull: the one with this number, or the oldest pull of this arm that is out.

        With observed costs, give the cost as well. A second outcome of the same pull is refused,
        and so is an outcome of an arm without a pull that is out. Give the number in programs that might retry.
        """
        self.record_many([{"pull": pull, "arm": arm, "reward": reward, "cost": cost}])

    def record_many(self, outcomes: Iterable[Mapping[str, Any]]) -> int:
        """Record outcomes in this order, all or none of them, and return their number.

        Each has a ``reward``, a ``pull`` or an ``arm`` or both, and with observed costs a ``cost``. An error says which
        outcome is wrong, counted from 1.
        """
        told = list_all(outcomes, "outcomes")
        if self._known is not None and isinstance((known := self._known[1]).policy, TrackingPolicy):
            pairs = known.view.pairs.shape[1]
            if is_worth_compiling(type(known.family), pairs, len(told)):
                compile_rounds(known.policy, known.view)  # now, and not while others wait for the file
        with self._store.writing() as db:
            explorer, position = self._load(db), self._store.outcomes
            stopped = contents.read_stop(db, self._start) is not None
            self._known, self._renewed = None, False  # until it is on disk
            for number, outcome in enumerate(told, start=1):
                try:
                    position = self._record(db, explorer, outcome)
                except InputError as error:
                    raise InputError(f"outcome {number}: {error}" if len(told) > 1 else str(error)) from error
                if not stopped and (stopped := may_declare(explorer)):
                    contents.declare(db, position, explorer.answer, explorer.state.total_cost)
                keep_settled(db, explorer, position)
            contents.keep_checkpoint(db, position, explorer.to_text())
        self._known = position, explorer
        return len(told)

    def record_counts(self, counts: Any) -> int:
        """Record counted yes-or-no outcomes of pulls that nobody handed out, each as an arm, its successes and its
        trials, as `record_assigned` does. Returns the number of trials. A data frame with the columns ``arm``,
        ``successes`` and ``trials`` will do as well.

        >>> told = {"arms": ["old", "new"], "delta": 0.05}
        >>> with LiveExperiment.start("counts.caet", "best-arm", "bernoulli", **told) as experiment:
        ...     experiment.record_counts([("old", 90, 1000), ("new", 150, 1000)]), experiment.answer
        (2000, 'new')
        """
        return self.record_assigned(list_trials(counts, self.names, self.family))

    def record_assigned(self, outcomes: Iterable[Mapping[str, Any]]) -> int:
        """Record outcomes of pulls that nobody handed out, since their arms were assigned elsewhere; all or none of
        them. Returns their number.

        Each has an ``arm``, a ``reward``, and with observed costs a ``cost``. They are judged together, so that their
        order does not matter. The guarantee holds if they are all outcomes of these arms since the last time,
        and if the assignment to arms did not depend on outcomes to come; see ``docs/mathematics/live.md``.

        >>> told = {"arms": ["old", "new"], "delta": 0.05}
        >>> with LiveExperiment.start("stars.caet", "best-arm", "bounded:1,5", **told) as experiment:
        ...     experiment.record_assigned([{"arm": name, "reward": 3 + (name == "new")} for name in told["arms"] * 20])
        ...     experiment.answer
        40
        'new'
        """
        told = list_all(outcomes, "outcomes")
        check_amount(len(told))
        with self._store.writing() as db:
            explorer = self._load(db)
            check_order(explorer.family)
            read = dict[int, tuple[int, float, float]]()  # equal trials of counts are one object
            for number, one in enumerate(told, start=1):
                if id(one) not in read:
                    read[id(one)] = read_assigned(explorer, self.names, number, one)
            stopped = contents.read_stop(db, self._start) is not None
            self._known, self._renewed = None, False  # until it is on disk
            batch = contents.record_batch(db, [read[id(one)] for one in told])
            absorb_batch(explorer, batch)
            position = batch[-1].position
            if not stopped and may_declare(explorer):
                contents.declare(db, position, explorer.answer, explorer.state.total_cost)
            keep_settled(db, explorer, position)
            contents.keep_checkpoint(db, position, explorer.to_text())
        self._known = position, explorer
        return len(told)

    def _record(self, db: sqlite3.Connection, explorer: Explorer, outcome: Mapping[str, Any]) -> int:
        """Take one outcome into the state and into the rows, and say at which position."""
        check_columns(outcome, COLUMNS)
        told, known = outcome.get("arm"), explorer.known_costs
        if outcome.get("reward") is None and told is not None:  # whether or not a pull of it is out
            raise InputError(f"the reward of arm {self.names[find_arm(told, self.names)]!r} is missing")
        number, arm = self._find_pull(db, outcome.get("pull"), told)
        reward = read_reward(explorer.family, outcome, f"pull {number} (arm {self.names[arm]!r})")
        cost = read_cost(explorer, self.names, arm, outcome)
        absorb_outcome(explorer, arm, reward, cost, is_new=True)
        paid = float(known[arm]) if known is not None else float(cost or 0.0)
        return contents.record(db, number, reward, paid)

    def _find_pull(self, db: sqlite3.Connection, number: Any, arm: Any) -> tuple[int, int]:
        """The pull that an outcome is of, and its arm."""
        wanted = None if arm is None else find_arm(arm, self.names)
        if number is not None:
            pull, its_arm, recorded = contents.look_up(db, number, len(self.names))
            if recorded:
                raise InputError(f"the outcome of pull {number} is recorded already")
            if wanted not in (None, its_arm):
                raise InputError(f"pull {number} is of arm {self.names[its_arm]!r}, not {self.names[wanted]!r}")
            return pull, its_arm
        if wanted is None:
            raise InputError("an outcome needs the number of its pull, or an arm")
        oldest = contents.oldest_waiting(db, wanted)
        if oldest is None:
            raise InputError(
                f"no pull of arm {self.names[wanted]!r} is out; hand one out with next, or record outcomes that were "
                "assigned elsewhere with --counts (in Python record_assigned)"
            )
        return oldest, wanted

    def release(self, *pulls: int, cost: float = 0.0) -> None:
        """Withdraw pulls whose outcomes will not come, all or none; the policy then stops counting them.

        If each of them has cost something nevertheless, say how much: it counts as spent, also for ``max_cost``. If an
        outcome comes after all, you can still record it by its number, with its cost.

        >>> told = {"arms": ["large", "small"], "cost_source": "observed", "delta": 0.05, "max_cost": 1}
        >>> with LiveExperiment.start("failed.caet", "best-arm", "bernoulli", **told) as experiment:
        ...     (pull,) = experiment.next()
        ...     experiment.release(pull.number, cost=1.25)
        ...     experiment.status()["spent"], experiment.status()["lost"], experiment.next()
        (1.25, 1.25, ())
        """
        check_lost(cost)
        with self._store.writing() as db:
            for number in pulls:
                if not contents.withdraw(db, contents.look_up(db, number, len(self.names))[0]):
                    raise InputError(f"pull {number} is not out: it has an outcome, or was withdrawn before")
                if cost:
                    contents.lose(db, number, float(cost))

    def status(self, level: float = LEVEL) -> dict[str, Any]:
        """Where the experiment stands, as a record for JSON; ``str(experiment)`` says it in words.

        With probability ``level`` all intervals of means hold at every look, and so do all intervals of differences.
        """
        with self._store.reading() as db, without_compiling():
            found = report_status(db, self._load(db), contents.read_stop(db, self._start), self._facts, level)
        return found | {"file": str(self._store.path)}

    def history(self, level: float = LEVEL, points: int = POINTS) -> dict[str, Any]:
        """The history, at up to ``points`` moments: evidence, what it must exceed, cost, estimates, intervals."""
        with self._store.reading() as db:
            return list_moments(db, self._load(db), contents.read_stop(db, self._start), self.names, level, points)

    def summary(self) -> dict[str, Any]:
        """In brief: what is asked, what was done and spent, and the answer, declared or leading."""
        with self._store.reading() as db:
            return summarise(db, self._load(db), contents.read_stop(db, self._start), self.names)

    def __str__(self) -> str:
        from caet_opt.live.status_text import to_words

        return to_words(self.status())

    def verify(self, progress: Callable[[], None] | None = None) -> list[str]:
        """Replay every row and compare with the stored state; returns the differences, or an empty list."""
        with self._store.reading() as db:
            try:
                return find_differences(db, progress)
            except InputError as error:  # an outcome that the family does not have
                raise InputError(f"{self._store.path}: {error}") from error

    def export(self) -> list[dict[str, Any]]:
        """Every pull with its outcome, in the order in which they were handed out; None for what is missing."""
        with self._store.reading() as db:
            pulls = contents.list_pulls(db, len(self.names))
            return [{**record, "name": self.names[record["arm"]]} for record in pulls]

    def _load(self, db: sqlite3.Connection) -> Explorer:
        """The experiment as it is now: read again only where another process has gone on."""
        position = self._store.outcomes
        if self._known is None or self._known[0] != position:
            with self._named_errors():
                explorer, self._renewed = load(db, self._start)
            self._known = position, explorer
        return self._known[1]

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Errors about the file begin with its path."""
        try:
            yield
        except CaetError as error:
            raise InputError(f"{self._store.path}: {error}") from error


def pose(
    task: Task | str, family: Family | str, arms: int | Sequence[str], *, unproven: bool = False, **asked: Any
) -> tuple[Explorer, tuple[str, ...]]:
    """What is to be started, and the names of its arms; `InputError` where delta is not guaranteed, and nobody has
    agreed to that."""
    names = name_arms(arms)
    task = parse_task(task, names) if isinstance(task, str) else task
    explorer = Explorer.start(task, family, arms=len(names), **number_limits(asked, names))
    if (missing := explorer.family.unstated()) is not None:
        raise InputError(missing)
    if not (explorer.threshold.guarantees(explorer.family) or unproven):
        raise InputError(
            f"threshold {explorer.threshold.name!r} does not guarantee delta here ({explorer.threshold.reason}); "
            "use the default, or allow it without a guarantee by --unproven (in Python unproven=True)"
        )
    return explorer, names


def check_budget(explorer: Explorer, names: Sequence[str]) -> None:
    """Raise `InputError` for a limit on the cost that does not pay for one pull of the cheapest arm."""
    if explorer.known_costs is None:
        return
    arm = int(explorer.known_costs.argmin())
    if explorer.allowance().take(arm) == "max_cost":
        raise InputError(
            f"max_cost {explorer.parameters.max_cost:.15g} does not pay for a single pull: the cheapest arm, "
            f"{names[arm]!r}, costs {write_given(float(explorer.known_costs[arm]))}"
        )


def list_question(explorer: Explorer, names: Sequence[str]) -> dict[str, Any]:
    """What an experiment was asked, part by part, in words of the command line."""
    parameters, costs = explorer.parameters, explorer.known_costs
    return {
        "task": str(explorer.task) if custom_part(explorer.task) is None else explorer.task,
        "family": str(explorer.family),
        "list of arms": ", ".join(names),
        "list of costs": None if costs is None else ", ".join(f"{cost:.17g}" for cost in costs.tolist()),
        "delta": typed_delta(parameters.log_inv_delta) or f"exp(-{parameters.log_inv_delta:.17g})",
        "seed": explorer.setup.seed,
    } | {setting.label: getattr(parameters, setting.name) for setting in OWN}


def list_experiments(folder: str | Path = ".") -> list[dict[str, Any]]:
    """The live experiments in a folder, by name: a record with `LiveExperiment.summary`, or why there is none.

    >>> import os
    >>> os.mkdir("trials")
    >>> for name in ("one", "two"):
    ...     LiveExperiment.start(f"trials/{name}.caet", "best-arm", "poisson", arms=2, costs=[1, 2], delta=0.1).close()
    >>> [(record["file"], record["recorded"]) for record in list_experiments("trials")]
    [('one.caet', 0), ('two.caet', 0)]
    """
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: no such folder")
    found: list[dict[str, Any]] = []
    for path in sorted(path for path in Path(folder).iterdir() if path.is_file()):
        try:
            if not is_experiment(read_header(path)):
                continue
        except InputError:  # what cannot be read is not known to be one
            continue
        try:
            with LiveExperiment.open(path) as experiment:
                found.append({"file": path.name, **experiment.summary(), "error": None})
        except (CaetError, OSError) as error:
            found.append({"file": path.name, "error": str(error)})
    return found
