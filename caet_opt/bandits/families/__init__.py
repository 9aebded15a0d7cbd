"""Reward families: one-parameter exponential families, each one small class."""

from caet_opt.bandits.families.base import Family, MeanSpace
from caet_opt.bandits.families.bernoulli import Bernoulli
from caet_opt.bandits.families.gamma import Exponential, Gamma
from caet_opt.bandits.families.gaussian import Gaussian
from caet_opt.bandits.families.geometric import Geometric
from caet_opt.bandits.families.poisson import Poisson
from caet_opt.bandits.registry import Registry
from caet_opt.errors import InputError, unknown_name

FAMILIES: Registry[type[Family]] = Registry(
    """Families by their name in the grammar. A user's own family joins with ``FAMILIES[Mine.name] = Mine``.

    >>> list(FAMILIES)
    ['gaussian', 'bernoulli', 'poisson', 'exponential', 'gamma', 'geometric']
    >>> FAMILIES["gamma"].parse("2.5") == Gamma(2.5)
    True
    """,
    *(Gaussian, Bernoulli, Poisson, Exponential, Gamma, Geometric),
)


def parse_family(text: str) -> Family:
    """Read ``name`` or ``name:parameters``, for example ``gaussian:1,4`` or ``gamma:2.5``.

    >>> parse_family("gaussian:1,4")
    Gaussian([1.0, 4.0])
    """
    if not isinstance(text, str):
        raise InputError(f"family must be a string such as 'gaussian' or 'gamma:2', got {text!r}")
    name, colon, argument = text.strip().partition(":")
    if name not in FAMILIES:
        raise InputError(unknown_name("family", name, FAMILIES))
    return FAMILIES[name].parse(argument if colon else None)


__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "Geometric",
    "MeanSpace",
    "Poisson",
    "parse_family",
]
