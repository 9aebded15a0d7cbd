"""Stopping thresholds: how much evidence every pair of an answer needs before the answer is declared."""

from caet_opt.bandits.families import Family, parse_family
from caet_opt.bandits.registry import Registry
from caet_opt.errors import InputError, unknown_name
from caet_opt.exploring.settings import SETTINGS, Parameters, checked_level
from caet_opt.exploring.stopping.base import Threshold
from caet_opt.exploring.stopping.customary import Customary
from caet_opt.exploring.stopping.deviational import Deviational
from caet_opt.exploring.stopping.informational import Informational
from caet_opt.exploring.stopping.mixture import Mixture

THRESHOLDS: Registry[type[Threshold]] = Registry(
    """Stopping thresholds by name, in order of preference; `make_threshold` makes one.

    >>> list(THRESHOLDS)
    ['mixture', 'informational', 'deviational', 'customary']
    >>> isinstance(make_threshold("mixture", "gaussian", arms=3, delta=0.05), THRESHOLDS["mixture"])
    True
    """,
    *(Mixture, Informational, Deviational, Customary),
)


def make_threshold(
    name: str,
    family: Family | str,
    arms: int,
    *,
    delta: float | None = None,
    log_inv_delta: float | None = None,
    theta: float | None = None,
    constant: float | str | None = None,
) -> Threshold:
    """The named threshold for this family, number of arms and ``delta``, or ``log_inv_delta = log(1/delta)``.

    ``theta`` (above 1; 1.2 unless given) and ``constant`` (a positive number, or ``"certified"``; 1 unless given)
    belong to the deviational threshold and are refused by the others.

    >>> print(make_threshold("deviational", "gaussian", arms=3, delta=0.05, theta=1.2).describe())
    log(C t^theta / delta), C = 1, theta = 1.2, log(1/delta) = 2.99573
    """
    if not isinstance(name, str) or name not in THRESHOLDS:
        raise InputError(unknown_name("threshold", str(name), THRESHOLDS))
    family = parse_family(family) if isinstance(family, str) else family
    return THRESHOLDS[name].build(family, arms, checked_level(delta, log_inv_delta), theta, constant)


def threshold_of(parameters: Parameters, family: Family, arms: int) -> Threshold:
    """The threshold that the parameters ask for, with their confidence."""
    options = {setting.name: getattr(parameters, setting.name) for setting in SETTINGS if setting.owner == "threshold"}
    return make_threshold(parameters.threshold, family, arms, log_inv_delta=parameters.log_inv_delta, **options)


__all__ = [
    "THRESHOLDS",
    "Customary",
    "Deviational",
    "Informational",
    "Mixture",
    "Threshold",
    "make_threshold",
    "threshold_of",
]
