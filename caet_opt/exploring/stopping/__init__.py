"""Stopping thresholds: how much evidence every pair of an answer needs before the answer is declared."""

from caet_opt.bandits.families import Family
from caet_opt.errors import InputError, unknown_name
from caet_opt.exploring.stopping.base import Threshold
from caet_opt.exploring.stopping.customary import Customary
from caet_opt.exploring.stopping.deviational import Deviational
from caet_opt.exploring.stopping.informational import Informational
from caet_opt.exploring.stopping.mixture import Mixture

#: Thresholds by name, in order of preference.
THRESHOLDS: dict[str, type[Threshold]] = {
    threshold.name: threshold for threshold in (Mixture, Informational, Deviational, Customary)
}


def make_threshold(
    name: str,
    family: Family,
    arms: int,
    log_inv_delta: float,
    *,
    theta: float | None = None,
    constant: float | str | None = None,
) -> Threshold:
    """The named threshold for this family, number of arms and ``log_inv_delta = log(1/delta)``.

    ``theta`` (above 1; 1.2 unless given) and ``constant`` (a positive number, or ``"certified"``; 1 unless given)
    belong to the deviational threshold and are refused by the others.
    """
    if not isinstance(name, str) or name not in THRESHOLDS:
        raise InputError(unknown_name("threshold", str(name), THRESHOLDS))
    return THRESHOLDS[name].build(family, arms, log_inv_delta, theta, constant)


__all__ = [
    "THRESHOLDS",
    "Customary",
    "Deviational",
    "Informational",
    "Mixture",
    "Threshold",
    "make_threshold",
]
