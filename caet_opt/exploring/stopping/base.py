"""What a stopping threshold must supply. A new threshold is one subclass of `Threshold`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

from caet_opt.bandits.families import Family
from caet_opt.errors import InputError
from caet_opt.exploring.settings import is_number_above
from caet_opt.exploring.stopping.kernels import threshold_value


@dataclass(frozen=True)
class Threshold(ABC):
    """beta(t): an answer is declared once every pair it needs has evidence ``Z_ab(t) > beta(t)``.

    A declared answer is wrong only if one of its pairs is wrongly ordered, mu_a <= mu_b, so it is enough that with
    probability 1 - delta no wrongly ordered pair ever exceeds beta. Everything is written in
    ``log_inv_delta = log(1/delta)``, because delta itself may be as small as exp(-500).

    >>> threshold = make_threshold("customary", "gaussian", arms=3, delta=0.05)
    >>> round(threshold.value(100, 40, 30), 6), threshold.guarantees(Gaussian())
    (4.719422, False)
    """

    name: ClassVar[str]

    arms: int
    log_inv_delta: float

    def __post_init__(self) -> None:
        if not isinstance(self.arms, Integral) or isinstance(self.arms, bool) or self.arms < 2:
            raise InputError(f"a threshold needs the number of arms, 2 or more, got {self.arms!r}")
        if not is_number_above(0.0, self.log_inv_delta):
            raise InputError(
                f"log_inv_delta = log(1/delta) must be positive and finite (0 < delta < 1), got {self.log_inv_delta!r}"
            )

    @property
    @abstractmethod
    def code(self) -> int:
        """Which formula of `threshold_value` this is."""

    @property
    @abstractmethod
    def level(self) -> float:
        """The part of beta that depends neither on the round nor on the counts."""

    @property
    def slope(self) -> float:
        """The factor of log t, where the formula has one."""
        return 0.0

    @property
    @abstractmethod
    def reason(self) -> str:
        """For which families the error probability is proven to stay below delta, for printing."""

    @abstractmethod
    def guarantees(self, family: Family) -> bool:
        """Whether the error probability provably stays below delta, for every task and sampling rule."""

    @abstractmethod
    def describe(self) -> str:
        """The formula with its numbers."""

    def value(self, t: float, n_a: float, n_b: float) -> float:
        """beta at round t for a pair whose arms were pulled n_a and n_b times."""
        return threshold_value(self.code, t, n_a, n_b, self.level, self.slope)

    @classmethod
    def build(cls, family: Family, arms: int, log_inv_delta: float, theta: Any, constant: Any) -> Self:
        """The threshold from the options of `make_threshold`."""
        cls.refuse_options(theta, constant)
        return cls(arms, log_inv_delta)

    @classmethod
    def refuse_options(cls, theta: Any, constant: Any) -> None:
        """Raise `InputError` if an option of the deviational threshold is given to another."""
        for option, given in (("theta", theta), ("constant", constant)):
            if given is not None:
                raise InputError(f"threshold {cls.name!r} takes no {option}; only 'deviational' does")

    def __str__(self) -> str:
        return self.name
