"""Formulas for T* against every solver's certified interval and against proven digits: many instances, one verdict.

The instances are checked here, or wherever the caller runs jobs.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.common.checks import check_whole
from caet_opt.proving import has_flint, require_flint
from caet_opt.proving.verification.formula import Formula, Instance, read_formula, wrap_closed_form, wrap_function
from caet_opt.proving.verification.judges import EVERY, PROPORTIONS, CheckedInstance, Plan, Verdict, check
from caet_opt.solving.backends import BACKENDS, DEFAULT_SOLVER, installed_backends
from caet_opt.solving.compare import prepare
from caet_opt.solving.profiles import find_profile

__all__ = ["EVERY", "PROPORTIONS", "Formula", "Plan", "read_formula", "verify", "verify_formula", "wrap_closed_form"]

#: The formulas and the plan; the number of a formula and the position of its instance; the former and the verdicts.
Shared = tuple[Sequence[Formula], Plan]
Job = tuple[int, int]
Found = tuple[int, CheckedInstance]
Do = Callable[[Shared, Job], Found]

#: What runs jobs: `run_here`, or the pool of worker processes.
Runner = Callable[[Do, Shared, Sequence[Job]], Generator[Found, None, None]]


@dataclass(frozen=True)
class JudgeSummary:
    """What one judge found: on how many instances it was asked, how many of them it could not solve, its worst relative
    error, and how many of its verdicts are against the formula.

    >>> pair = (BanditModel("gaussian", [1, 0], costs=[1, 4]), BestArm())
    >>> verification = verify_formula(lambda model, task: 17.0, [pair], solvers=["native"], proven=0)
    >>> (judged,) = verification.judged
    >>> judged.judge, judged.failures, round(judged.worst_error, 6)
    ('native', 1, 0.055556)
    """

    judge: str
    instances: int
    unsolved: int
    worst_error: float | None
    failures: int


@dataclass(frozen=True)
class Failure:
    """The verdict against a formula with the largest error, and its instance.

    ``proven_right``: proven digits agree with the formula on this instance. Then the judge is wrong, not the formula.

    >>> pair = (BanditModel("gaussian", [1, 0], costs=[1, 4]), BestArm())
    >>> verification = verify_formula(lambda model, task: 17.0, [pair], solvers=["native"], proven=0)
    >>> verification.failure.judge, round(verification.failure.error, 6)
    ('native', 0.055556)
    """

    judge: str
    error: float
    finding: str
    instance: Instance
    proven_right: bool


@dataclass(frozen=True)
class Verification:
    """What all judges say of a formula. A judge is a solver, the proven digits, or "u*", the cost of the proportions.

    Attributes
    ----------
    instances : how many were checked
    judged : what each judge found
    deviation : largest distance of the formula's proportions from the first solver's, which are themselves off where
        T* is flat
    failure : the worst verdict against the formula, where there is one

    Examples
    --------
    >>> pair = (BanditModel("gaussian", [1, 0], costs=[1, 4]), BestArm())
    >>> verification = verify_formula(lambda model, task: 17.0, [pair], solvers=["native"], proven=0)
    >>> verification.holds, verification.instances
    (False, 1)
    """

    name: str
    instances: int
    judged: tuple[JudgeSummary, ...]
    deviation: float
    failure: Failure | None

    @property
    def holds(self) -> bool:
        """Whether there is a verdict, and none is against the formula."""
        return self.failure is None and any(judged.instances > judged.unsolved for judged in self.judged)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a verification; ``verifications`` are about the ``finished`` instances."""

    def __init__(self, verifications: list[Verification], finished: int) -> None:
        super().__init__(f"{finished} instances are checked")
        self.verifications, self.finished = verifications, finished


def make_plan(solvers: Sequence[str] | None, slow: int, digits: int, proven: int | None) -> Plan:
    """The native solver on every instance, each other one on ``slow`` of them, proven digits on ``proven`` or, where
    ball arithmetic is installed, on all."""
    if proven is None:
        proven = EVERY if has_flint() else 0
    elif proven:
        require_flint()
    for what, number, least in (("slow", slow, 0), ("digits", digits, 1), ("proven", proven, 0)):
        check_whole(number, what, least)
    names = installed_backends() if solvers is None else tuple(solvers)
    for name in names:
        BACKENDS[find_profile(name).backend].require()
    limits = {name: EVERY if name == DEFAULT_SOLVER else slow for name in names}
    return Plan({name: limit for name, limit in limits.items() if limit > 0}, digits, proven)


def verify_formula(
    function: Callable[[BanditModel, Task], Any],
    instances: Iterable[Instance],
    *,
    sampling_proportions: Callable[[BanditModel, Task], Any] | None = None,
    solvers: Sequence[str] | None = None,
    slow: int = 20,
    digits: int = 50,
    proven: int | None = None,
    name: str = "formula",
) -> Verification:
    """Verify a formula for T* on the given instances.

    Parameters
    ----------
    function
        T* of a model and a task. A float is tested in double precision only. To test more digits, compute
        from ``model.exact_means``, ``model.exact_costs`` and ``model.exact_dispersions`` with mpmath, whose working
        precision is set before the call, or with SymPy, and return such a number.
    instances
        Pairs of a model and a task.
    sampling_proportions
        u* of a model and a task, tested by its cost.
    solvers
        By default every installed one; solvers other than native test ``slow`` instances.
    digits, proven
        How many proven digits, and on how many of the instances (all by default); none without python-flint.

    Examples
    --------
    >>> def formula(model, task):  # of two unit-variance arms
    ...     a, b = model.costs
    ...     return 2 * (a**0.5 + b**0.5) ** 2 / (model.means[0] - model.means[1]) ** 2
    >>> pair = (BanditModel("gaussian", [1, 0], costs=[1, 4]), BestArm())
    >>> verify_formula(formula, [pair], solvers=["native"], proven=0).holds
    True
    """
    formula = wrap_function(name, function, instances, sampling_proportions)
    (verification,) = verify([formula], make_plan(solvers, slow, digits, proven))
    return verification


def run_here(do: Do, shared: Shared, jobs: Sequence[Job]) -> Generator[Found, None, None]:
    """``do(shared, job)`` of one job after the other, in this process."""
    yield from (do(shared, job) for job in jobs)


def verify(
    formulas: Sequence[Formula], plan: Plan, run_jobs: Runner = run_here, progress: Callable[[], None] = lambda: None
) -> list[Verification]:
    """Verify formulas on all of their instances, which ``run_jobs`` may spread over processes in any order."""
    jobs = [(number, place) for number, formula in enumerate(formulas) for place in range(len(formula.instances))]
    found: dict[int, list[CheckedInstance]] = {number: [] for number in range(len(formulas))}
    try:
        prepare({name: find_profile(name) for name in plan.limits})
        with closing(run_jobs(check_job, (formulas, plan), jobs)) as finished:
            for number, checked in finished:
                found[number].append(checked)
                progress()
    except KeyboardInterrupt as interrupt:
        done = {number: checks for number, checks in found.items() if checks}
        finished_ones = [summarise(formulas[number], sorted(checks)) for number, checks in done.items()]
        raise Interrupted(finished_ones, sum(map(len, done.values()))) from interrupt
    return [summarise(formula, sorted(found[number])) for number, formula in enumerate(formulas)]


def check_job(shared: Shared, job: Job) -> Found:
    """One instance of one formula."""
    (formulas, plan), (number, position) = shared, job
    return number, check(formulas[number], position, plan)


def summarise(formula: Formula, checks: Sequence[CheckedInstance]) -> Verification:
    """All verdicts on a formula in one record."""
    verdicts = [verdict for checked in checks for verdict in checked.verdicts]
    judges = dict.fromkeys(verdict.judge for verdict in verdicts)
    return Verification(
        formula.name,
        len(checks),
        tuple(summarise_judge(name, [verdict for verdict in verdicts if verdict.judge == name]) for name in judges),
        max((checked.deviation for checked in checks), default=0.0),
        worst_failure(formula, checks),
    )


def worst_failure(formula: Formula, checks: Sequence[CheckedInstance]) -> Failure | None:
    """The verdict against a formula with the largest error; None when there is none."""
    against = [(verdict, checked) for checked in checks for verdict in checked.verdicts if not verdict.holds]
    if not against:
        return None
    worst, checked = max(against, key=lambda pair: pair[0].error)
    proofs = [verdict for verdict in checked.verdicts if verdict.proof and verdict.refusal is None]
    proven_right = bool(proofs) and all(proof.holds for proof in proofs)
    return Failure(worst.judge, worst.error, worst.finding, formula.instances[checked.position], proven_right)


def summarise_judge(name: str, verdicts: Sequence[Verdict]) -> JudgeSummary:
    """All verdicts of one judge in one record."""
    given = [verdict for verdict in verdicts if verdict.refusal is None]
    worst = max((verdict.error for verdict in given), default=None)
    failures = sum(not verdict.holds for verdict in given)
    return JudgeSummary(name, len(verdicts), len(verdicts) - len(given), worst, failures)
