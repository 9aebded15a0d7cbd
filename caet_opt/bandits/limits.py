"""Limits on what goes where: at most 30 % of the money on an arm, at least 10 % of the pulls, half for the leader."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from caet_opt.common.exact import Number, brief, decimal_text, exact, read_decimal, read_double, read_whole
from caet_opt.errors import InputError

#: What is shared: all money, or all pulls of arms that cost something.
KINDS = ("cost", "pulls")

#: How a share is limited.
RELATIONS = ("<=", ">=", "=")

#: In place of arms, the arm that the answer names as the best one.
LEADER = "leader"

#: kind : arms relation share; a name may hold a relation, so that it is the last one that counts.
FORM = re.compile(rf"\s*({'|'.join(KINDS)})\s*:(.*)(?<![<>])(<=|>=|=)([^<>=]*)", re.DOTALL)

#: What would be right.
EXAMPLES = "'cost:0,1<=0.3', 'pulls:2>=0.1' or 'pulls:leader=0.5'"


@dataclass(frozen=True)
class Limit:
    """A limit on the joint share of some arms in all money, or in all pulls of arms that cost something.

    Attributes
    ----------
    kind : ``cost`` or ``pulls``
    arms : their numbers, or None for the leader, the arm that the answer names as the best one
    relation : ``<=``, ``>=`` or ``=``
    share : from 0 to 1, the decimal that was typed

    Examples
    --------
    >>> limit = parse_limit("cost:0,1<=0.30")
    >>> limit.arms, limit.share, str(limit)
    ((0, 1), Fraction(3, 10), 'cost:0,1<=0.3')
    """

    kind: str
    arms: tuple[int, ...] | None
    relation: str
    share: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", exact(self.share))
        text = f"limit '{self}'"
        if self.kind not in KINDS or self.relation not in RELATIONS:
            raise InputError(f"{text} is not valid; write {EXAMPLES}")
        if self.arms is not None and (not self.arms or len(set(self.arms)) < len(self.arms)):
            raise InputError(f"{text} must name each of its arms once")
        if not 0 <= self.share <= 1:
            raise InputError(f"{text}: a share is a number from 0 to 1, as 0.3 for 30 %")

    def with_share(self, share: Number) -> "Limit":
        """The same limit with another share."""
        return Limit(self.kind, self.arms, self.relation, exact(share))

    def write(self, names: Sequence[str] = ()) -> str:
        """The limit in the grammar, with the names of the arms, in quotes where they need it."""
        arms = [LEADER] if self.arms is None else [name_arm(arm, names) for arm in self.arms]
        return f"{self.kind}:{','.join(arms)}{self.relation}{decimal_text(self.share)}"

    def __str__(self) -> str:
        return self.write()


def name_arm(arm: int, names: Sequence[str]) -> str:
    """An arm as a limit has it: by its number, or by its name, in quotes where that could be taken for more."""
    if not names or names[arm] == str(arm):
        return str(arm)
    name = names[arm]
    plain = name != LEADER and read_whole(name) is None and not set(name) & set(",<>=\"'")
    return name if plain else f'"{name}"'


def parse_limit(text: str, names: Sequence[str] = (), *, kept: bool = False) -> Limit:
    """Read ``cost:ARM,..<=SHARE``, ``pulls:ARM,..>=SHARE`` or ``pulls:leader=SHARE``, with any of the relations.

    Arms are numbers or names, in quotes or not. With ``kept``, for text from a file, digits mean the number of an arm.

    >>> parse_limit("pulls:placebo>=0.1", ["placebo", "low", "high"])
    Limit(kind='pulls', arms=(0,), relation='>=', share=Fraction(1, 10))
    """
    if not isinstance(text, str):
        raise InputError(f"a limit is a text such as {EXAMPLES}, got {text!r}")
    found = FORM.fullmatch(text)
    if found is None:
        raise InputError(f"{brief(text)!r} is not a limit; write {EXAMPLES}")
    kind, argument, relation, number = found.groups()
    try:
        read_double(number.strip())  # the exact value of any other might take all memory
        share = Fraction(read_decimal(number.strip()))
    except ValueError:
        raise InputError(f"limit {brief(text)!r}: a share is a number from 0 to 1, as 0.3 for 30 %") from None
    return Limit(kind, read_arms(text, argument, names, kept), relation, share)


def read_arms(text: str, argument: str, names: Sequence[str], kept: bool) -> tuple[int, ...] | None:
    """The arms of a limit, or None for the leader."""
    if argument.strip() == LEADER:
        if LEADER in names:
            raise InputError(
                f'limit {brief(text)!r}: an arm is called {LEADER}; write it in quotes, "{LEADER}", or by its number, '
                "and give it another name to limit the arm that leads"
            )
        return None
    if names and argument.strip():
        from caet_opt.bandits.tasks.arm_names import number_arms  # which takes numpy: settings are read without

        argument = number_arms(text.partition(":")[0].strip(), argument, names, (",",), kept, what="limit")
    arms = [read_whole(word.strip()) for word in argument.split(",")]
    wrong = [word.strip() for word, arm in zip(argument.split(","), arms, strict=True) if arm is None]
    if wrong:
        raise InputError(
            f"limit {brief(text)!r}: arms are numbers counted from 0, or {LEADER} alone, got {brief(wrong[0])!r}"
        )
    return tuple(arm for arm in arms if arm is not None)


def read_limits(
    limits: "Sequence[Limit | str] | Limit | str", names: Sequence[str] = (), *, kept: bool = False
) -> tuple[Limit, ...]:
    """Limits, or such in the grammar; one alone will do, or several in one text, with semicolons between them."""
    if isinstance(limits, str):
        limits = [part for part in limits.split(";") if part.strip()]
    listed = [limits] if isinstance(limits, Limit) else limits
    if not isinstance(listed, list | tuple):
        raise InputError(f"limits are a list of texts such as {EXAMPLES}, got {limits!r}")
    return tuple(one if isinstance(one, Limit) else parse_limit(one, names, kept=kept) for one in listed)


def join_limits(limits: "Sequence[Limit | str] | Limit | str | None", names: Sequence[str] = ()) -> str | None:
    """Limits as one text, by the numbers of the arms; None where there are none.

    >>> join_limits(["pulls:placebo>=0.1", "cost:high<=0.50"], ["placebo", "low", "high"])
    'pulls:0>=0.1; cost:2<=0.5'
    """
    return "; ".join(map(str, read_limits(limits, names))) or None if limits is not None else None


def number_limits(settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Settings of an experiment whose limits, if there are some, name arms by number."""
    limits = settings.get("limits")
    return dict(settings) if limits is None else {**settings, "limits": join_limits(limits, names)}


def write_limits(limits: Sequence[Limit], names: Sequence[str] = ()) -> list[str]:
    """Limits in the grammar."""
    return [limit.write(names) for limit in limits]
