"""Reward families: one-parameter exponential families, each one small class."""

from caet_opt.bandits.families.base import Family, MeanSpace
from caet_opt.bandits.families.bounded import Bounded
from caet_opt.bandits.families.counts import Bernoulli, Geometric, Poisson
from caet_opt.bandits.families.gamma import Exponential, Gamma
from caet_opt.bandits.families.gaussian import Gaussian
from caet_opt.common.registry import Registry

FAMILIES: Registry[type[Family]] = Registry(
    """Families by their name in the grammar. A user's own family joins with ``FAMILIES[Mine.name] = Mine``.

    >>> from caet_opt.bandits.families import FAMILIES
    >>> list(FAMILIES)
    ['gaussian', 'bernoulli', 'poisson', 'exponential', 'gamma', 'geometric', 'bounded']
    >>> FAMILIES["gamma"].parse("2.5") == Gamma(2.5)
    True
    """,
    *(Gaussian, Bernoulli, Poisson, Exponential, Gamma, Geometric, Bounded),
)


def parse_family(text: str) -> Family:
    """Read ``name`` or ``name:parameters``, for example ``gaussian:1,4`` or ``gamma:2.5``.

    >>> parse_family("gaussian:1,4")
    Gaussian([1.0, 4.0])
    """
    family, argument = FAMILIES.split("family", text, "'gaussian' or 'gamma:2'")
    return family.parse(argument)


def describe_assumption(text: str) -> str:
    """`Family.describe_assumption` of a family in the grammar; results may be of one that is not registered here.

    >>> describe_assumption("gaussian"), describe_assumption("own:3")
    ('independent Gaussian rewards of variance 1', 'independent own:3 rewards')
    """
    known = text.partition(":")[0] in FAMILIES
    return parse_family(text).describe_assumption() if known else f"independent {text} rewards"


__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Bounded",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "Geometric",
    "MeanSpace",
    "Poisson",
    "describe_assumption",
    "parse_family",
]
