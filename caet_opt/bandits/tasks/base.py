"""What a task must supply: its answer for given means, and the ordered pairs that an answer asserts."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar

from caet_opt.bandits.families.numerics import Integers
from caet_opt.common.exact import brief, read_whole
from caet_opt.errors import InputError

Pair = tuple[int, int]

#: More pairs than this are refused: so many of them take the native solver about half a minute, and four times as many
#: more than anyone waits.
MOST_PAIRS = 250_000


class Task(ABC):
    """A pairwise exploration task (Definition 1): each answer is a set of ordered pairs "a beats b".

    Ties between means are broken by the lower arm number, so that `answer` is defined for any means; whether a
    tie matters is decided where the pairs are used.

    >>> task = parse_task("top-arms:2")
    >>> task.answer([3, 4, 2]), task.pairs([3, 4, 2])
    ((0, 1), ((0, 2), (1, 2)))
    """

    name: ClassVar[str]

    #: What may stand after each arm of the argument, in turn, as characters; nothing where the argument has no arms.
    between_arms: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def answer(self, means: Sequence[float]) -> Hashable:
        """The answer that holds for these means."""

    @abstractmethod
    def answer_pairs(self, answer: Hashable, arms: int) -> tuple[Pair, ...]:
        """The pairs (a, b), "a beats b", that the answer asserts among ``arms`` arms."""

    def list_answers(self, arms: int) -> Iterable[Hashable] | None:
        """Every answer that some means have, one after the other, of which there may be very many; None if not told."""
        return None

    def check(self, arms: int) -> None:
        """Raise `InputError` unless the task makes sense for this number of arms."""
        if arms < 2:
            raise InputError(f"a task needs at least two arms, got {arms}")
        check_size(self.count_pairs(arms))

    def count_pairs(self, arms: int) -> int:
        """How many pairs an answer has, at most; a task that compares more than all arms with one overrides this."""
        return arms - 1

    def pairs_at_risk(self, arms: int) -> int:
        """R: for every truth, so many wrongly ordered pairs that each wrong answer asserts one of them.

        A truth inverts one direction of each two arms: K (K - 1) / 2. A task for which fewer will do overrides this.
        """
        return arms * (arms - 1) // 2

    def pairs(self, means: Sequence[float]) -> tuple[Pair, ...]:
        """The pairs of the answer that holds for these means."""
        return self.answer_pairs(self.answer(means), len(means))

    def compiled_shape(self, arms: int) -> tuple[int, Integers] | None:
        """Shape and members for `caet_opt.bandits.tasks.pairs`; None for a task whose answers have none there."""
        return None

    def support(self, means: Sequence[float]) -> tuple[int, ...]:
        """The arms that occur in some pair of the answer for these means."""
        return tuple(sorted({arm for pair in self.pairs(means) for arm in pair}))

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


def sort_arms(means: Sequence[float]) -> tuple[int, ...]:
    """Arms from the best to the worst; equal means in the order of their numbers."""
    return tuple(sorted(range(len(means)), key=means.__getitem__, reverse=True))


def read_arm(text: str, task: str) -> int:
    """Read an arm number of the task grammar."""
    arm = read_whole(text.strip())
    if arm is None:
        raise InputError(f"task {brief(task)!r}: arms are numbers counted from 0, got {brief(text.strip())!r}")
    return arm


def check_arms_exist(used: Sequence[int], arms: int, task: str) -> None:
    """Raise `InputError` for an arm number that the model does not have."""
    for arm in used:
        if not 0 <= arm < arms:
            raise InputError(f"task {task!r} names arm {arm}, but the model has arms 0 to {arms - 1}")


def check_size(pairs: int) -> None:
    """Raise `InputError` for more pairs than can be solved in reasonable time."""
    if pairs > MOST_PAIRS:
        raise InputError(
            f"the task has {pairs} pairs of arms to compare; up to {MOST_PAIRS} are solved in reasonable time, so ask "
            "for less or about fewer arms"
        )
