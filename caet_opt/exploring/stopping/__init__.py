"""Stopping thresholds: how much evidence every pair of an answer needs before the answer is declared."""

from typing import Any

from caet_opt.bandits.families import Bounded, Family, parse_family
from caet_opt.bandits.tasks import Task, parse_task
from caet_opt.common.checks import is_whole
from caet_opt.common.registry import Registry
from caet_opt.errors import InputError, unknown_name
from caet_opt.exploring.settings import SETTINGS, Parameters, read_level
from caet_opt.exploring.stopping.base import Threshold
from caet_opt.exploring.stopping.by_round import Customary, Deviational, Informational
from caet_opt.exploring.stopping.e_process import Betting, EProcess
from caet_opt.exploring.stopping.mixture import Mixture

THRESHOLDS: Registry[type[Threshold]] = Registry(
    """Stopping thresholds by name, in order of preference; `make_threshold` makes one.

    >>> from caet_opt.exploring.stopping import THRESHOLDS, make_threshold
    >>> list(THRESHOLDS)
    ['e-process', 'mixture', 'informational', 'deviational', 'customary']
    >>> isinstance(make_threshold("e-process", "gaussian", arms=3, delta=0.05), THRESHOLDS["e-process"])
    True
    """,
    *(EProcess, Mixture, Informational, Deviational, Customary),
)

#: The settings that belong to one threshold.
OPTIONS = tuple(setting.name for setting in SETTINGS if setting.owner == "threshold")


def make_threshold(
    name: str,
    family: Family | str,
    arms: int,
    *,
    task: Task | str | None = None,
    delta: float | None = None,
    log_inv_delta: float | None = None,
    **options: Any,
) -> Threshold:
    """The named threshold for this family, number of arms, task and ``delta``, or ``log_inv_delta = log(1/delta)``.

    Without a task it covers every task on these arms. Options belong to one threshold and are refused by the others:
    ``rho`` (positive; 8 unless given) to the e-process, ``theta`` (above 1; 1.2 unless given) and ``constant``
    (positive, or ``"certified"``; 1 unless given) to the deviational one.

    >>> from caet_opt.exploring.stopping import make_threshold
    >>> print(make_threshold("deviational", "gaussian", arms=3, delta=0.05, theta=1.2).describe())
    log(C t^theta / delta), C = 1, theta = 1.2, log(1/delta) = 2.99573
    """
    if not isinstance(name, str) or name not in THRESHOLDS:
        raise InputError(unknown_name("threshold", str(name), THRESHOLDS))
    family = parse_family(family) if isinstance(family, str) else family
    kind = kind_for(name, family)
    for option, given in options.items():
        if option not in OPTIONS:
            raise InputError(unknown_name("option of a threshold", option, OPTIONS))
        if given is not None and kind is Betting:
            raise InputError(f"threshold {name!r} takes no {option} for rewards in a range, where it goes by betting")
        if given is not None and option not in kind.options:
            takers = ", ".join(repr(other) for other, kind in THRESHOLDS.items() if option in kind.options)
            raise InputError(f"threshold {name!r} takes no {option}; only {takers} does")
    task = parse_task(task) if isinstance(task, str) else task
    if not is_whole(arms, 1):
        raise InputError(f"a threshold needs the number of arms, 1 or more, got {arms!r}")
    at_risk = max(1, arms * (arms - 1) // 2)  # of any task: a truth inverts one direction of each two arms
    if task is not None:
        task.check(arms)
        at_risk = task.statements_at_risk(arms)
    return kind.build(family, arms, at_risk, read_level(delta, log_inv_delta), options)


def kind_for(name: str, family: Family) -> type[Threshold]:
    """The class of a threshold for a family: rewards in a range have the e-process alone, by betting; the others are
    formulas in means, which say too little about them."""
    if not isinstance(family, Bounded):
        return THRESHOLDS[name]
    if name != EProcess.name:
        raise InputError(f"threshold {name!r} is not defined for rewards in a range; use {EProcess.name!r}")
    return Betting


def threshold_of(parameters: Parameters, family: Family, arms: int, task: Task) -> Threshold:
    """The threshold that the parameters ask for, with their confidence.

    Unless told otherwise it is the e-process, and the mixture for a family that does not supply `log_martingale`.
    """
    name = parameters.threshold or (EProcess if family.has_martingale() else Mixture).name
    options = {option: getattr(parameters, option) for option in OPTIONS}
    return make_threshold(name, family, arms, task=task, log_inv_delta=parameters.log_inv_delta, **options)


__all__ = [
    "THRESHOLDS",
    "Betting",
    "Customary",
    "Deviational",
    "EProcess",
    "Threshold",
    "make_threshold",
    "threshold_of",
]
