"""What a stopping threshold must supply. A new threshold is one subclass of `Threshold`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, nan
from typing import Any, ClassVar, NamedTuple, Self

from caet_opt.bandits.families import Family
from caet_opt.common.checks import is_whole
from caet_opt.common.numbers import round_down, round_up, typed_delta
from caet_opt.errors import InputError
from caet_opt.exploring.settings import read_level
from caet_opt.kernels.thresholds import threshold_value

#: Rounds and pulls of two arms at which thresholds are compared: few and many, alike and not.
PROBES = ((4, 2, 2), (1000, 10, 900), (10**7, 5 * 10**6, 10**4))


class PairState(NamedTuple):
    """An arm of a statement: its pulls, empirical mean and dispersion, and how many times rho its prior is worth."""

    pulls: float
    mean: float
    dispersion: float
    scale: float = 1.0


@dataclass(frozen=True)
class Threshold(ABC):
    """beta(t): an answer is declared once every statement it needs has evidence ``Z(t) > beta(t)``.

    A declared answer is wrong only if one of its statements is false, mu_a <= mu_b for a pair, and every wrong answer
    has one of at most R such statements (`caet_opt.bandits.tasks.Task.statements_at_risk`). So it is enough that with
    probability 1 - delta none of these R ever exceeds beta. What bounds the deviation of two arms together does so for
    any margin, since the true means are among those where a false statement is false, and for a level, of one arm, all
    the more. Everything is written in ``log_inv_delta = log(1/delta)``, because delta itself may be as small as
    exp(-500).

    Attributes
    ----------
    arms, pairs : K, and R, the pairs at risk
    log_inv_delta : log(1/delta)

    Examples
    --------
    >>> from caet_opt.exploring.stopping import make_threshold
    >>> threshold = make_threshold("customary", "gaussian", arms=3, delta=0.05)
    >>> round(threshold.value(100, 40, 30), 6), threshold.guarantees(Gaussian())
    (4.719422, False)
    """

    name: ClassVar[str]
    about: ClassVar[str] = ""  # a line for lists of thresholds
    options: ClassVar[tuple[str, ...]] = ()  # the settings that it takes besides delta
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)  # the options with which it is compared with others

    arms: int
    pairs: int
    log_inv_delta: float

    def __post_init__(self) -> None:
        if not is_whole(self.pairs, 1):
            raise InputError(f"a threshold needs the number of pairs at risk, one or more, got {self.pairs!r}")
        read_level(None, self.log_inv_delta)

    @property
    @abstractmethod
    def code(self) -> int:
        """Which formula of `threshold_value` this is."""

    @property
    @abstractmethod
    def level(self) -> float:
        """The part of beta that depends neither on the round nor on the counts; beta is at least this."""

    @property
    def slope(self) -> float:
        """The factor of log t, or another number of the formula, where it has one."""
        return 0.0

    @property
    @abstractmethod
    def reason(self) -> str:
        """For which families the error probability is proven to stay below delta, for printing."""

    @abstractmethod
    def guarantees(self, family: Family) -> bool:
        """Whether the error probability provably stays below delta, for the task and every sampling rule."""

    @abstractmethod
    def describe(self) -> str:
        """The formula with its numbers."""

    def value(self, t: float, n_a: float, n_b: float) -> float:
        """beta at round t for a pair whose arms were pulled n_a and n_b times; it does not fall in t."""
        return threshold_value(self.code, t, n_a, n_b, self.level, self.slope)

    @property
    def samples(self) -> tuple[float, ...]:
        """beta at `PROBES`: what is computed, however it is described."""
        return tuple(float(self.value(*probe)) for probe in PROBES)

    def needed(
        self,
        family: Family,
        evidence: float,
        t: float,
        winner: PairState | None,
        loser: PairState | None,
        margin: float = 0.0,
        ratio: float = 1.0,
        x: float = nan,
    ) -> float:
        """What the evidence of ``winner > ratio loser + margin`` must exceed, where beta may depend on means and
        evidence as well; an arm that is None has mean 0. See `EProcess.needed` for x; a pair is told without the rest.
        """
        return self.value(t, *(1.0 if arm is None else arm.pulls for arm in (winner, loser)))

    @classmethod
    def build(cls, family: Family, arms: int, pairs: int, log_inv_delta: float, options: Mapping[str, Any]) -> Self:
        """The threshold from those options of `make_threshold` that it takes."""
        taken = {option: options[option] for option in cls.options if options.get(option) is not None}
        return cls(arms, pairs, log_inv_delta, **taken, **cls.traits(family))

    @classmethod
    def traits(cls, family: Family) -> dict[str, Any]:
        """Fields that follow from the family; `InputError` for one that the threshold is not defined for."""
        return {}

    def __str__(self) -> str:
        return self.name


def say_worth(guaranteed: bool, assumes: str, log_inv_delta: float) -> str:
    """What an answer is worth, wherever that is printed; ``assumes`` as `Family.describe_assumption` has it.

    >>> say_worth(True, "independent Gaussian rewards of variance 4", 3.0)
    'guaranteed for independent Gaussian rewards of variance 4: wrong with probability at most 0.04979'
    """
    if not guaranteed:
        return "NOT GUARANTEED: no proof that the error probability stays below delta"
    return f"guaranteed for {assumes}: wrong with probability at most {say_delta(log_inv_delta)}"


def say_delta(log_inv_delta: float) -> str:
    """delta as it was typed, or rounded up, since it is a bound; it may be too small for a double."""
    if log_inv_delta >= 600:
        return f"exp(-{round_down(log_inv_delta, 6)})"
    return typed_delta(log_inv_delta) or round_up(exp(-log_inv_delta), 4)
