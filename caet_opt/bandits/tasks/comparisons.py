"""The order of each of a list of pairs, and the comparison of every arm with a control."""

from collections.abc import Hashable, Sequence
from typing import cast

import numpy as np

from caet_opt.bandits.families.numerics import Integers
from caet_opt.bandits.tasks.base import Pair, Task, check_arms_exist, read_arm
from caet_opt.bandits.tasks.pairs import LISTED
from caet_opt.errors import InputError


class Comparisons(Task):
    """For each listed pair of arms, which one has the larger mean.

    >>> Comparisons([(0, 1), (2, 3)]).pairs([3, 4, 2, 1])
    ((1, 0), (2, 3))
    """

    name = "comparisons"
    between_arms = ("-", ",")

    def __init__(self, compared: Sequence[Pair]) -> None:
        self.compared = tuple((int(a), int(b)) for a, b in compared)
        if not self.compared:
            raise InputError("task 'comparisons' needs at least one pair, for example comparisons:0-1,2-3")
        seen: set[frozenset[int]] = set()
        for a, b in self.compared:
            if a == b:
                raise InputError(f"task {str(self)!r} compares arm {a} with itself")
            if frozenset((a, b)) in seen:
                raise InputError(f"task {str(self)!r} lists the pair {a}-{b} twice")
            seen.add(frozenset((a, b)))

    def check(self, arms: int) -> None:
        super().check(arms)
        check_arms_exist([arm for pair in self.compared for arm in pair], arms, str(self))

    def count_pairs(self, arms: int) -> int:
        return len(self.compared)

    def pairs_at_risk(self, arms: int) -> int:
        """Their number: a wrong answer asserts the wrong order of one of the listed pairs."""
        return len(self.compared)

    def answer(self, means: Sequence[float]) -> tuple[Pair, ...]:
        return tuple((a, b) if means[a] >= means[b] else (b, a) for a, b in self.compared)

    def answer_pairs(self, answer: Hashable, arms: int) -> tuple[Pair, ...]:
        return cast(tuple[Pair, ...], answer)

    def compiled_shape(self, arms: int) -> tuple[int, Integers]:
        return LISTED, np.array(self.compared, dtype=np.int64).ravel()

    @classmethod
    def parse(cls, argument: str | None) -> "Comparisons":
        if not argument:
            raise InputError("task 'comparisons' needs its pairs, for example comparisons:0-1,2-3")
        text, compared = f"{cls.name}:{argument}", []
        for item in argument.split(","):
            ends = item.split("-")
            if len(ends) != 2:
                raise InputError(f"task {text!r}: write each pair as A-B, got {item!r}")
            compared.append((read_arm(ends[0], text), read_arm(ends[1], text)))
        return cls(compared)

    def __str__(self) -> str:
        return f"{self.name}:{','.join(f'{a}-{b}' for a, b in self.compared)}"


class Control(Task):
    """Which arms have a larger mean than a control arm.

    >>> Control(0).answer([3, 4, 2]), Control(0).pairs([3, 4, 2])
    ((1,), ((1, 0), (0, 2)))
    """

    name = "control"
    between_arms = ("",)

    def __init__(self, control: int) -> None:
        self.control = control

    def check(self, arms: int) -> None:
        super().check(arms)
        check_arms_exist([self.control], arms, str(self))

    def answer(self, means: Sequence[float]) -> tuple[int, ...]:
        return tuple(arm for arm, mean in enumerate(means) if arm != self.control and mean > means[self.control])

    def answer_pairs(self, answer: Hashable, arms: int) -> tuple[Pair, ...]:
        better = set(cast(tuple[int, ...], answer))
        return tuple(
            (arm, self.control) if arm in better else (self.control, arm) for arm in range(arms) if arm != self.control
        )

    def pairs_at_risk(self, arms: int) -> int:
        """K - 1: a wrong answer asserts the wrong order of some arm and the control."""
        return arms - 1

    def compiled_shape(self, arms: int) -> tuple[int, Integers]:
        compared = [(self.control, arm) for arm in range(arms) if arm != self.control]
        return LISTED, np.array(compared, dtype=np.int64).ravel()

    @classmethod
    def parse(cls, argument: str | None) -> "Control":
        if not argument:
            raise InputError("task 'control' needs the control arm, for example control:0")
        return cls(read_arm(argument, f"{cls.name}:{argument}"))

    def __str__(self) -> str:
        return f"{self.name}:{self.control}"
