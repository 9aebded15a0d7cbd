"""Reward families: one-parameter exponential families, each one small class."""

from caet_opt.bandits.families.base import Family, MeanSpace
from caet_opt.bandits.families.bernoulli import Bernoulli
from caet_opt.bandits.families.gamma import Exponential, Gamma
from caet_opt.bandits.families.gaussian import Gaussian
from caet_opt.bandits.families.geometric import Geometric
from caet_opt.bandits.families.poisson import Poisson
from caet_opt.bandits.registry import Registry

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
    family, argument = FAMILIES.split("family", text, "'gaussian' or 'gamma:2'")
    return family.parse(argument)


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
