"""Tasks about levels, margins and ratios: which arms qualify, the cheapest that does, and listed comparisons."""

import sys
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Self, cast

import numpy as np

from caet_opt.bandits.tasks.arm_names import SIGNS, split_margin
from caet_opt.bandits.tasks.base import NONE, Form, Pair, Task, check_arms_exist, name_arm, read_arm
from caet_opt.bandits.tasks.constraints import can_hold
from caet_opt.bandits.tasks.pairs import CHEAPEST, LISTED, STATED
from caet_opt.bandits.tasks.statements import (
    ONE,
    ZERO,
    Statement,
    above,
    encode,
    judge,
    mirror,
    number_text,
    read_number,
)
from caet_opt.common.exact import Number, brief, read_decimal, read_whole
from caet_opt.errors import InputError


class Qualifying(Task):
    """Which arms qualify, each by a statement of its own: the answer asserts it of those, and the reverse of others."""

    answer_sign = ", "

    @abstractmethod
    def asked(self, arms: int) -> list[int]:
        """The arms of which it is asked whether they qualify."""

    @abstractmethod
    def qualifies(self, arm: int) -> Statement:
        """That an arm qualifies."""

    def answer(self, means: Sequence[Any]) -> tuple[int, ...]:
        return tuple(arm for arm in self.asked(len(means)) if judge(self.qualifies(arm), means) > 0)

    def list_answers(self, arms: int) -> Iterable[Hashable]:
        asked = self.asked(arms)
        return (chosen for size in range(len(asked) + 1) for chosen in combinations(asked, size))

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        chosen = set(cast(tuple[int, ...], answer))
        stated = ((arm, self.qualifies(arm)) for arm in self.asked(arms))
        return tuple(statement if arm in chosen else statement.reverse for arm, statement in stated)

    def count_statements(self, arms: int) -> int:
        return len(self.asked(arms))

    def statements_at_risk(self, arms: int) -> int:
        """Their number: a wrong answer asserts the wrong one of the two statements of some arm."""
        return len(self.asked(arms))

    def compiled_form(self, arms: int) -> Form:
        return list_form(STATED, [self.qualifies(arm).reverse for arm in self.asked(arms)])


class Above(Qualifying):
    """Which arms have a mean above a level.

    >>> Above(2.5).answer([3, 4, 2])
    (0, 1)
    >>> print(*Above(2.5).statements([3, 4, 2]), sep=", ")
    0 > 2.5, 1 > 2.5, 2 < 2.5
    """

    name = "above"
    least_arms = 1

    def __init__(self, level: Number) -> None:
        self.level = read_number(level, "the level")

    def asked(self, arms: int) -> list[int]:
        return list(range(arms))

    def qualifies(self, arm: int) -> Statement:
        return above(arm, self.level)

    def numbered_statements(self) -> Iterable[Statement]:
        return (self.qualifies(0),)

    @classmethod
    def parse(cls, argument: str | None) -> "Above":
        text = f"{cls.name}:{argument or ''}"
        try:
            level = read_decimal((argument or "").strip())
        except ValueError:
            raise InputError(f"task {brief(text)!r} needs a level, for example above:0.8 or above:-1e-3") from None
        return cls(read_number(level, f"task {brief(text)!r}: the level"))

    def describe(self, names: Sequence[str] = (), lower: bool = False) -> str:
        return f"{'below' if lower else 'above'} {number_text(self.level)}"

    def with_level(self, level: Number) -> "Above":
        return type(self)(level)

    def __str__(self) -> str:
        return f"{self.name}:{number_text(self.level)}"


class Control(Qualifying):
    """Which arms have a larger mean than a control arm, or than ``ratio control + margin``.

    With a margin below zero, or a ratio below one, these are the arms that are not worse by that much.

    >>> Control(0).answer([3, 4, 2]), Control(0).pairs([3, 4, 2])
    ((1,), ((1, 0), (0, 2)))
    >>> print(*Control(0, margin=-1.5).statements([3, 4, 2]), sep=", ")
    1 > 0 - 1.5, 2 > 0 - 1.5
    """

    name = "control"
    between_arms = ("",)
    has_margins = True

    def __init__(self, control: int, margin: Number = ZERO, ratio: Number = ONE) -> None:
        self.control = control
        self.margin, self.ratio = read_number(margin, "the margin"), read_ratio(ratio)
        if self.margin != 0 and self.ratio != 1:
            raise InputError(f"task 'control:{control}' can have a margin or a ratio, not both")

    def check(self, arms: int) -> None:
        super().check(arms)
        check_arms_exist([self.control], arms, str(self))

    def asked(self, arms: int) -> list[int]:
        return [arm for arm in range(arms) if arm != self.control]

    def qualifies(self, arm: int) -> Statement:
        return Statement(arm, self.control, self.margin, self.ratio)

    @property
    def admits_itself(self) -> bool:
        """Whether the control arm exceeds itself with this margin or ratio, whatever its mean."""
        return self.margin < 0 or self.ratio < 1

    def numbered_statements(self) -> Iterable[Statement]:
        return (self.qualifies(self.control + 1),)

    def compiled_form(self, arms: int) -> Form:
        if self.margin != 0 or self.ratio != 1:
            return super().compiled_form(arms)
        return Form(LISTED, np.array([(self.control, arm) for arm in self.asked(arms)], dtype=np.int64).ravel())

    @classmethod
    def parse(cls, argument: str | None) -> "Control":
        if not argument:
            raise InputError("task 'control' needs the control arm, for example control:0 or control:0+0.02")
        text = f"{cls.name}:{argument}"
        word, margin, ratio = read_margin(argument, text, is_arm)
        if not is_arm(word) and any(sign in word for sign in SIGNS):
            raise InputError(f"task {brief(text)!r}: write ARM, ARM+NUMBER, ARM-NUMBER or ARM*NUMBER, arms by number")
        return cls(read_arm(word, text), margin, ratio)

    def describe(self, names: Sequence[str] = (), lower: bool = False) -> str:
        name, than = name_arm(self.control, names), "below" if lower else "above"
        if self.ratio != 1:
            ratio = number_text(self.ratio)
            return f"{than} {name} / {ratio}" if lower else f"{than} {ratio} * {name}"
        if self.margin == 0:
            return f"{'below' if lower else 'better than'} {name}"
        return f"{than} {name} {'+' if (self.margin > 0) != lower else '-'} {number_text(abs(self.margin))}"

    def with_margin(self, margin: Number) -> "Control":
        if self.ratio != 1:
            raise InputError(f"task {str(self)!r} has a ratio, so it cannot have a margin")
        return type(self)(self.control, margin)

    def with_ratio(self, ratio: Number) -> "Control":
        if self.margin != 0:
            raise InputError(f"task {str(self)!r} has a margin, so it cannot have a ratio")
        return type(self)(self.control, ratio=ratio)

    def __str__(self) -> str:
        return f"{self.name}:{self.control}{margin_text(self.margin, self.ratio)}"


class Cheapest(Task):
    """The cheapest arm that qualifies, or ``"none"``: it qualifies, and every cheaper arm does not.

    Another task says which arms qualify. Of arms with equal costs, the one with the lower number counts as cheaper. The
    control qualifies if the margin is below zero or the ratio below one. Costs must be known: `for_costs` sets them.

    >>> task = Cheapest(Above(2.5)).for_costs([3, 2, 1])
    >>> task.answer([3, 4, 2])
    1
    >>> print(*task.statements([3, 4, 2]), sep=", ")
    2 < 2.5, 1 > 2.5
    """

    name = "cheapest"
    answer_sign = ", "
    needs_costs = True

    def __init__(self, task: Qualifying, order: Sequence[int] | None = None) -> None:
        self.task = task
        self.order = None if order is None else tuple(order)

    def for_costs(self, costs: Sequence[Any]) -> Self:
        known = type(self)(self.task, sorted(range(len(costs)), key=lambda arm: (costs[arm], arm)))
        known.check(len(costs))
        if not known._candidates():
            raise InputError(
                f"task {str(self)!r}: arm {known._fallback()} is the cheapest and qualifies whatever the means are; "
                "there is nothing to find out"
            )
        return known

    def check(self, arms: int) -> None:
        self.task.check(arms)
        if self.order is not None and len(self.order) != arms:
            raise InputError(f"task {str(self)!r} was told the costs of {len(self.order)} arms, but there are {arms}")

    def _by_cost(self) -> tuple[int, ...]:
        if self.order is None:
            raise InputError(f"task {str(self)!r} needs costs that are known beforehand; give one cost per arm")
        return self.order

    def _candidates(self) -> list[int]:
        """The arms of which it is asked whether they qualify, the cheapest first: none beyond one that surely does."""
        order, fallback = self._by_cost(), self._fallback()
        asked = set(self.task.asked(len(order)))
        return [arm for arm in (order if fallback == NONE else order[: order.index(fallback)]) if arm in asked]

    def _fallback(self) -> Any:
        """The answer if no arm before it qualifies."""
        itself = isinstance(self.task, Control) and self.task.admits_itself
        return self.task.control if itself and isinstance(self.task, Control) else NONE

    def answer(self, means: Sequence[Any]) -> Hashable:
        found = (arm for arm in self._candidates() if judge(self.task.qualifies(arm), means) > 0)
        return next(found, self._fallback())

    def list_answers(self, arms: int) -> Iterable[Hashable]:
        return [*self._candidates(), self._fallback()]

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        candidates = self._candidates()
        if answer not in candidates:
            return tuple(self.task.qualifies(arm).reverse for arm in candidates)
        cheaper = candidates[: candidates.index(answer)]
        return (*(self.task.qualifies(arm).reverse for arm in cheaper), self.task.qualifies(answer))

    def count_statements(self, arms: int) -> int:
        return self.task.count_statements(arms)

    def statements_at_risk(self, arms: int) -> int:
        """The number of arms in question: a wrong answer makes the wrong one of the two statements about some arm."""
        return self.task.statements_at_risk(arms)

    def compiled_form(self, arms: int) -> Form:
        return list_form(CHEAPEST, [self.task.qualifies(arm) for arm in self._candidates()])

    def numbered_statements(self) -> Iterable[Statement]:
        return self.task.numbered_statements()

    @classmethod
    def read(cls, argument: str | None, names: Sequence[str] = (), kept: bool = False) -> "Cheapest":
        kinds = {kind.name: kind for kind in (Above, Control)}
        name, _, inner = (argument or "").strip().partition(":")
        if name not in kinds:
            shown = brief(f"{cls.name}:{argument or ''}")
            raise InputError(f"task {shown!r}: write cheapest:above:LEVEL or cheapest:control:ARM-MARGIN")
        return cls(cast(Qualifying, kinds[name].read(inner, names, kept)))

    @classmethod
    def parse(cls, argument: str | None) -> "Cheapest":
        return cls.read(argument)

    def describe(self, names: Sequence[str] = (), lower: bool = False) -> str:
        return f"cheapest {self.task.describe(names, lower)}"

    def with_margin(self, margin: Number) -> "Cheapest":
        return type(self)(cast(Qualifying, self.task.with_margin(margin)), self.order)

    def with_ratio(self, ratio: Number) -> "Cheapest":
        return type(self)(cast(Qualifying, self.task.with_ratio(ratio)), self.order)

    def with_level(self, level: Number) -> "Cheapest":
        return type(self)(cast(Qualifying, self.task.with_level(level)), self.order)

    def __str__(self) -> str:
        return f"{self.name}:{self.task}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cheapest) and (self.task, self.order) == (other.task, other.order)

    def __hash__(self) -> int:
        return hash((Cheapest, self.task, self.order))


class Comparisons(Task):
    """For each listed pair of arms, which one has the larger mean; with a margin, whether the first exceeds the
    second by more than that. An answer has each listed pair, or its reverse.

    >>> Comparisons([(0, 1), (2, 3)]).pairs([3, 4, 2, 1])
    ((1, 0), (2, 3))
    >>> from fractions import Fraction
    >>> print(*Comparisons([Statement(0, 1, Fraction("0.5"))]).statements([3, 4]))
    1 > 0 - 0.5
    """

    name = "comparisons"
    between_arms = ("-", ",")
    has_margins = True

    def __init__(self, compared: Sequence[Pair | Statement]) -> None:
        listed = [item if isinstance(item, Statement) else Statement(int(item[0]), int(item[1])) for item in compared]
        self.stated = tuple(map(check_decimals, listed))
        if not self.stated:
            raise InputError("task 'comparisons' needs at least one pair, for example comparisons:0-1,2-3")
        if any(len(statement.arms) < 2 for statement in listed):
            raise InputError("task 'comparisons' compares arms; for levels there is above:LEVEL")
        self.compared = tuple(cast(Pair, statement[:2]) for statement in listed)
        seen: set[Statement] = set()
        for statement, (a, b) in zip(listed, self.compared, strict=True):
            if a == b:
                raise InputError(f"task {str(self)!r} compares arm {a} with itself")
            if statement in seen:
                raise InputError(f"task {str(self)!r} lists the pair {a}-{b} twice")
            seen |= {statement, statement.reverse}

    def check(self, arms: int) -> None:
        super().check(arms)
        check_arms_exist([arm for pair in self.compared for arm in pair], arms, str(self))

    def count_statements(self, arms: int) -> int:
        return len(self.compared)

    def statements_at_risk(self, arms: int) -> int:
        """Their number: a wrong answer asserts the wrong one of the two statements of one of the listed pairs."""
        return len(self.compared)

    def answer(self, means: Sequence[Any]) -> tuple[Pair, ...]:
        return tuple(
            pair if judge(statement, means) >= 0 else pair[::-1]
            for statement, pair in zip(self.stated, self.compared, strict=True)
        )

    def list_answers(self, arms: int) -> Iterable[Hashable]:
        """With ratios, every combination, though some of them no means may have."""
        either = product(*((pair, pair[::-1]) for pair in self.compared))
        if any(statement.ratio != 1 for statement in self.stated):
            return either
        return (answer for answer in either if can_hold(self.answer_statements(answer, arms)))

    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        winners = cast(tuple[Pair, ...], answer)
        return tuple(
            statement if pair == statement[:2] else statement.reverse
            for statement, pair in zip(self.stated, winners, strict=True)
        )

    def compiled_form(self, arms: int) -> Form:
        if all(statement.is_plain for statement in self.stated):
            return Form(LISTED, np.array(self.compared, dtype=np.int64).ravel())
        return list_form(STATED, self.stated)

    def numbered_statements(self) -> Iterable[Statement]:
        return self.stated

    @classmethod
    def parse(cls, argument: str | None) -> "Comparisons":
        if not argument:
            raise InputError("task 'comparisons' needs its pairs, for example comparisons:0-1,2-3")
        text, compared = f"{cls.name}:{argument}", []
        for item in argument.split(","):
            word, margin, ratio = read_margin(item, text, is_pair)
            ends = word.split("-")
            if len(ends) != 2:
                raise InputError(f"task {brief(text)!r}: write each pair as A-B, got {brief(item)!r}")
            compared.append(Statement(read_arm(ends[0], text), read_arm(ends[1], text), margin, ratio))
        return cls(compared)

    def describe(self, names: Sequence[str] = (), lower: bool = False) -> str:
        statement, plain = self.stated[0], all(statement.is_plain for statement in self.stated)
        if len(self.stated) > 1:
            return f"order of {len(self.stated)} pairs" if plain else f"{len(self.stated)} comparisons"
        if plain:
            return f"order of {' and '.join(name_arm(arm, names) for arm in self.compared[0])}"
        return f"whether {(mirror(statement) if lower else statement).write(tuple(names))}"

    def with_margin(self, margin: Number) -> "Comparisons":
        if len({statement[2:] for statement in self.stated}) > 1 or self.stated[0].ratio != 1:
            raise InputError(f"task {str(self)!r} has no margin that is the same for each pair")
        number = read_number(margin, "the margin")
        return type(self)([Statement(*pair, number) for pair in self.compared])

    def with_ratio(self, ratio: Number) -> "Comparisons":
        if len({statement[2:] for statement in self.stated}) > 1 or self.stated[0].margin != 0:
            raise InputError(f"task {str(self)!r} has no ratio that is the same for each pair")
        return type(self)([Statement(*pair, ratio=read_ratio(ratio)) for pair in self.compared])

    def __str__(self) -> str:
        items = (f"{a}-{b}{margin_text(margin, ratio)}" for a, b, margin, ratio in self.stated)
        return f"{self.name}:{','.join(items)}"


def list_form(shape: int, listed: Sequence[Statement]) -> Form:
    """Statements of which each holds or its reverse, for compiled code."""
    pairs, margins = encode(listed)
    _, reverses = encode([statement.reverse for statement in listed])
    return Form(shape, pairs.T.ravel(), np.vstack((margins, reverses)))


def check_decimals(statement: Statement) -> Statement:
    """The statement, if the grammar can write its numbers."""
    read_number(statement.margin, "a margin")
    if statement.margin != 0 and statement.ratio != 1:
        raise InputError(f"a comparison can have a margin or a ratio, not both: {statement}")
    read_ratio(statement.ratio)
    return statement


def read_ratio(value: Number, what: str = "the ratio") -> Fraction:
    """A positive ratio."""
    ratio = read_number(value, what)
    if ratio <= 0:
        raise InputError(f"{what} must be above 0, got {number_text(ratio)}")
    if 1 / ratio > Fraction(sys.float_info.max):  # what is false of ratio b is said of the winner by this
        raise InputError(f"one over {what} must fit double precision, got {number_text(ratio)}")
    return ratio


def read_margin(word: str, task: str, is_whole: Any) -> tuple[str, Fraction, Fraction]:
    """What stands before a margin or ratio, the margin, and the ratio; there may be none."""
    found = [] if is_whole(word) else [split for split in split_margin(word) if is_whole(split.before)]
    if not found:
        return word, ZERO, ONE
    before, sign, number = found[0]
    if sign == "*":
        return before, ZERO, read_ratio(read_decimal(number), f"task {brief(task)!r}: the ratio")
    margin = read_number(read_decimal(number), f"task {brief(task)!r}: the margin")
    return before, margin if sign == "+" else -margin, ONE


def is_arm(word: str) -> bool:
    """Whether a word is the number of an arm."""
    return read_whole(word.strip()) is not None


def is_pair(word: str) -> bool:
    """Whether a word is two numbers of arms with a hyphen between them."""
    ends = word.split("-")
    return len(ends) == 2 and all(map(is_arm, ends))


def margin_text(margin: Fraction, ratio: Fraction) -> str:
    """A margin or ratio as the grammar has it after an arm."""
    if ratio != 1:
        return f"*{number_text(ratio)}"
    return f"{'+' if margin > 0 else '-'}{number_text(abs(margin))}" if margin else ""
