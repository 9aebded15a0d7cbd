"""What a task must supply: its answer for given means, and the statements that an answer asserts."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from caet_opt.bandits.families.base import Family
from caet_opt.bandits.families.numerics import Array, Integers
from caet_opt.bandits.tasks.arm_names import number_arms
from caet_opt.bandits.tasks.constraints import Pair as Pair
from caet_opt.bandits.tasks.constraints import plain_pairs
from caet_opt.bandits.tasks.pairs import LISTED, MARGIN_ROWS
from caet_opt.bandits.tasks.statements import Statement, number_text
from caet_opt.common.exact import Number, brief, read_whole
from caet_opt.common.files import escape_controls
from caet_opt.errors import InputError

#: More statements than this are refused: so many of them take the native solver about half a minute, and four times as
#: many more than anyone waits.
MOST_STATEMENTS = 250_000

#: The answer that no arm is one.
NONE = "none"

#: What follows the words for a question about the better arms where the lower mean is the better one.
LOWER = ", lower is better"


class Form(NamedTuple):
    """A task as compiled code knows it (`caet_opt.bandits.tasks.pairs`): the shape of its answers, which arms take part
    in it, and the margins of its statements, where it has some."""

    shape: int
    members: Integers
    numbers: Array = np.zeros((2 * MARGIN_ROWS, 0))


class Task(ABC):
    """A pairwise exploration task (Definition 1): each answer asserts statements, most of them "a beats b".

    Means are floats, or exact numbers (whole numbers, decimals, fractions), for which answers are exact. Of tied means
    the lower arm number comes first, and a mean equal to a margin or level does not exceed it, so `answer` is
    defined for any means. Whether a tie matters is decided where the statements are used.

    >>> task = parse_task("top-arms:2")
    >>> task.answer([3, 4, 2])
    (0, 1)
    >>> print(*task.statements([3, 4, 2]), sep=", ")
    0 > 2, 1 > 2
    """

    name: ClassVar[str]

    #: The fewest arms that it makes sense for.
    least_arms: ClassVar[int] = 2

    #: Whether the answer depends on costs, which have to be known then: see `for_costs`.
    needs_costs: ClassVar[bool] = False

    #: Whether the arm with the lower mean is the better one: see `caet_opt.bandits.tasks.lower`.
    lower_is_better: ClassVar[bool] = False

    #: Whether several answers may be right for the same means: see `right_answers`.
    several_right: ClassVar[bool] = False

    #: Up to how much an answer may be wrong: see `caet_opt.bandits.tasks.tolerant`.
    tolerance: Fraction = Fraction(0)

    #: What may stand after each arm of the argument, in turn, as characters; nothing where the argument has no arms.
    between_arms: ClassVar[tuple[str, ...]] = ()

    #: What stands between the arms that are an answer, in words; None where what it asserts says it better.
    answer_sign: ClassVar[str | None] = None

    #: What follows these arms.
    answer_note: ClassVar[str] = ""

    #: Whether the last arm in turn may have a margin or ratio: ARM+0.02, ARM-0.02, ARM*1.1.
    has_margins: ClassVar[bool] = False

    @abstractmethod
    def answer(self, means: Sequence[Any]) -> Hashable:
        """The answer that holds for these means."""

    @abstractmethod
    def answer_statements(self, answer: Hashable, arms: int) -> tuple[Statement, ...]:
        """The statements that the answer makes about ``arms`` arms."""

    def statements(self, means: Sequence[Any]) -> tuple[Statement, ...]:
        """The statements of the answer that holds for these means."""
        return self.answer_statements(self.answer(means), len(means))

    def right_answers(self, means: Sequence[Any]) -> Iterable[Hashable]:
        """The answers whose statements all hold for these means: one for most tasks. Where there may be more, even very
        many, `several_right` says so, and `answer` is one of them."""
        return (self.answer(means),)

    def answer_of(self, pairs: Sequence[Pair], arms: int) -> Hashable:
        """The answer whose statements have these winners and losers, in their order, -1 for none."""
        for answer in self.list_answers(arms) or ():
            stated = self.answer_statements(answer, arms)
            if [tuple(-1 if arm is None else arm for arm in one[:2]) for one in stated] == list(pairs):
                return answer
        raise InputError(f"task {str(self)!r} has no answer with the statements {pairs}")

    def answer_pairs(self, answer: Hashable, arms: int) -> tuple[Pair, ...]:
        """The statements of an answer as pairs (a, b), "a beats b"; `InputError` where some are more than that."""
        return self._as_pairs(self.answer_statements(answer, arms))

    def pairs(self, means: Sequence[Any]) -> tuple[Pair, ...]:
        """The statements for these means as pairs; `InputError` where some are more than that."""
        return self._as_pairs(self.statements(means))

    def _as_pairs(self, statements: tuple[Statement, ...]) -> tuple[Pair, ...]:
        pairs = plain_pairs(statements)
        if len(pairs) < len(statements):
            raise InputError(f"task {str(self)!r} has levels or margins, which are not available here")
        return pairs

    def leader(self, answer: Hashable) -> int | None:
        """The arm that an answer names as the best one, which ``pulls:leader`` limits; None where it names none."""
        return None

    def list_answers(self, arms: int) -> Iterable[Hashable] | None:
        """Every answer that is right for some means, one after the other; there may be very many. None if the task
        lists none."""
        return None

    def check(self, arms: int) -> None:
        """Raise `InputError` unless the task makes sense for this number of arms."""
        if arms < self.least_arms:
            raise InputError(
                f"task {str(self)!r} needs at least {('one arm', 'two arms')[self.least_arms > 1]}, got {arms}"
            )
        check_size(self.count_statements(arms))

    def numbered_statements(self) -> Iterable[Statement]:
        """Statements with every level, margin and ratio of the task, for `check_family`."""
        return ()

    def check_family(self, family: Family) -> None:
        """Raise `InputError` for a level, margin or ratio that makes no sense for rewards of this family."""
        for statement in self.numbered_statements():
            check_statement(statement, family, str(self), self.tolerance)

    def for_costs(self, costs: Sequence[Any]) -> Self:
        """The task for arms with these costs; most tasks do not depend on them."""
        return self

    def with_margin(self, margin: Number) -> "Task":
        """The same task with another margin, if all its statements share one."""
        raise InputError(f"task {str(self)!r} has no margin; control:ARM and comparisons:A-B can have one")

    def with_ratio(self, ratio: Number) -> "Task":
        """The same task with another ratio, if all its statements share one."""
        raise InputError(f"task {str(self)!r} has no ratio; control:ARM and comparisons:A-B can have one")

    def with_level(self, level: Number) -> "Task":
        """The same task with another level, if it has one."""
        raise InputError(f"task {str(self)!r} has no level; above:LEVEL and cheapest:above:LEVEL have one")

    def count_statements(self, arms: int) -> int:
        """How many statements an answer has, at most: one less than the arms, unless a task overrides it."""
        return arms - 1

    def statements_at_risk(self, arms: int) -> int:
        """R: a number of false statements, for every truth, such that each wrong answer makes one of them.

        Of each two arms, one direction is false: K (K - 1) / 2. A task for which fewer will do overrides this.
        """
        return arms * (arms - 1) // 2

    def compiled_form(self, arms: int) -> Form | None:
        """The task for `caet_opt.bandits.tasks.pairs`; None for one whose answers have no shape there."""
        return None

    def compiled_shape(self, arms: int) -> tuple[int, Integers] | None:
        """Shape and members of a task of which all statements are pairs; None for others."""
        form = self.compiled_form(arms)
        return None if form is None or form.shape > LISTED else form[:2]

    def support(self, means: Sequence[Any]) -> tuple[int, ...]:
        """The arms that occur in some statement of the answer for these means."""
        return tuple(sorted({arm for statement in self.statements(means) for arm in statement.arms}))

    def describe(self, names: Sequence[str] = (), lower: bool = False) -> str:
        """The question in few words, for a column of a table, with the names of the arms; ``lower`` says that the lower
        mean is the better one."""
        return str(self) + LOWER * lower

    def question(self, names: Sequence[str]) -> str | None:
        """What is asked, in words that name the arms, which the task has by number; None if it names none."""
        words = self.describe(tuple(map(escape_controls, names)))
        return None if words == self.describe(tuple(map(str, range(len(names))))) else words

    def write_answer(self, answer: Hashable, names: Sequence[str]) -> str:
        """An answer in words, with the names of the arms.

        >>> means, names = [3, 4, 2], ["a", "b", "c"]
        >>> for task in map(parse_task, ("ranking", "above:2.5", "above:5", "comparisons:0-1+0.5")):
        ...     print(task.write_answer(task.answer(means), names))
        b > a > c
        a, b
        none
        b > a - 0.5
        """
        if self.answer_sign is None:
            stated = self.answer_statements(answer, len(names))
            return ", ".join(statement.write(tuple(names)) for statement in stated)
        arms = answer if isinstance(answer, tuple) else () if isinstance(answer, str) else (cast(int, answer),)
        return (self.answer_sign.join(names[arm] for arm in arms) or NONE) + self.answer_note

    @classmethod
    def read(cls, argument: str | None, names: Sequence[str] = (), kept: bool = False) -> "Task":
        """Build the task from what follows the colon, in which arms may be given by name."""
        if argument and names and cls.between_arms:
            argument = number_arms(cls.name, argument, names, cls.between_arms, kept, cls.has_margins)
        return cls.parse(argument)

    @classmethod
    def parse(cls, argument: str | None) -> "Task":
        """Build the task from what follows the colon in ``name:argument``."""
        if argument is not None:
            raise InputError(f"task {cls.name!r} takes no parameter, got {argument!r}")
        return cls()

    def __str__(self) -> str:
        """The task in the grammar of the command line and of TOML files."""
        return self.name

    def __repr__(self) -> str:
        return f"<task {self}>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


def sort_arms(means: Sequence[Any]) -> tuple[int, ...]:
    """Arms from the best to the worst; equal means in the order of their numbers."""
    return tuple(sorted(range(len(means)), key=means.__getitem__, reverse=True))


def read_arm(text: str, task: str) -> int:
    """Read an arm number of the task grammar."""
    arm = read_whole(text.strip())
    if arm is None:
        raise InputError(f"task {brief(task)!r}: arms are numbers counted from 0, got {brief(text.strip())!r}")
    return arm


def name_arm(arm: int, names: Sequence[str]) -> str:
    """An arm by its name, where arms have names."""
    return names[arm] if names else f"arm {arm}"


def check_arms_exist(used: Sequence[int], arms: int, task: str) -> None:
    """Raise `InputError` for an arm number that the model does not have."""
    for arm in used:
        if not 0 <= arm < arms:
            raise InputError(f"task {task!r} names arm {arm}, but the model has arms 0 to {arms - 1}")


def check_statement(statement: Statement, family: Family, task: str, tolerance: Fraction) -> None:
    """Raise `InputError` unless means of a family can be on both sides of a statement, which may have a tolerance."""
    (low, high), margin = family.exact_ends, statement.margin
    if statement.ratio != 1 and not family.has_ratios:
        known = "exponential, gamma and poisson"
        raise InputError(
            f"task {task!r}: ratios of means are for {known} rewards, not for {family.name}; give a margin"
        )
    if len(statement.arms) == 1:
        level = -margin / statement.ratio if statement.winner is None else margin
        if not low < level < high:
            where = f"between {float(low):g} and {float(high):g}, the ends of the {family.name} means"
            raise InputError(
                f"task {task!r}: level {number_text(level)} must be {where}; otherwise there is nothing to find out"
            )
    elif abs(margin) >= high - low:
        what, size = ("tolerance", tolerance) if tolerance >= high - low else ("margin", margin)
        length = f"the means of the {family.name} family, which are in {family.mean_space}"
        told = f"task {task!r}: {what} {number_text(size)}"
        raise InputError(f"{told} is as large as the difference of any two of {length}")


def check_size(statements: int) -> None:
    """Raise `InputError` for more statements than can be solved in reasonable time."""
    if statements > MOST_STATEMENTS:
        raise InputError(
            f"the task has {statements} pairs of arms to compare; up to {MOST_STATEMENTS} are solved in reasonable "
            "time, so ask for less or about fewer arms"
        )
