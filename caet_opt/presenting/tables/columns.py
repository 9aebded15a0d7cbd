"""The columns of tables of characteristic times, and the conventions that are stated with them."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from caet_opt.common.numbers import (
    MOST_DIGITS,
    certified_parts,
    digits_rooted,
    digits_shared,
    pair_names,
    proportion,
    round_down,
    to_digits,
    write_gap,
)
from caet_opt.presenting.tables.layout import ERROR, Cell, Column, Number, Row, Statement, Vector
from caet_opt.presenting.words import family_words, task_words

#: Decimals of proportions, and significant digits of the cost-blind comparison, at most.
DECIMALS, BLIND_DIGITS, RATIO_DIGITS = 4, 6, 5

#: Significant digits of numbers that were given, of an expected T*, and of a time, at most.
GIVEN_DIGITS, EXPECTED_DIGITS, CLOCK_DIGITS = 10, 12, 3

#: Columns that only tables with proven digits have.
PROVEN = ("proven", "proven_lower", "proven_upper")


def time_cell(which: int, row: Row, most: int = MOST_DIGITS) -> Cell:
    """T* (0), or the lower (1) or upper (2) end of its interval, rounded away from the other one.

    Proven decimals where there are any, or else the digits that the certified interval supports.
    """
    proven = row.get(PROVEN[which])
    if proven is not None:
        return Number(proven)
    if row.get("characteristic_time") is None:
        return None
    return Number(certified_parts(*interval(row), most)[which])


def bound_cell(row: Row, most: int = MOST_DIGITS) -> Cell:
    """The lower bound at delta, kl(delta, 1 - delta) times the lower end of T*, rounded down to the digits of T*."""
    bound = row.get("lower_bound")
    return None if bound is None else Number(round_down(bound, min(most, digits_shared(*interval(row)))))


def interval(row: Row) -> tuple[float, float, float, float]:
    """Value, ends and gap of a certified T*."""
    return row["characteristic_time"], row["lower"], row["upper"], row["gap"]


def shares(name: str, row: Row, decimals: int = DECIMALS) -> Cell:
    """Proportions by arm, to as many decimals as the root of the gap supports."""
    return vector(name, lambda share: proportion(share, digits_rooted(row["gap"], decimals)), row)


def vector(name: str, write: Callable[[float], str], row: Row) -> Cell:
    """Numbers by arm, with the names of the arms where they are more than their numbers."""
    if row.get(name) is None:
        return None
    names = tuple(row["names"])
    labels = None if names == tuple(map(str, range(len(names)))) else names
    return Vector(tuple(Number(write(value)) for value in row[name]), labels)


def blind_cell(name: str, most: int, row: Row) -> Cell:
    """A number of the cost-blind comparison; computed from proportions, so the root of the gap limits its digits."""
    value = row.get(name)
    return None if value is None else Number(to_digits(value, digits_rooted(row["gap"], most)))


def pairs_cell(row: Row) -> Cell:
    """The binding pairs by name."""
    if row.get("binding_pairs") is None:
        return None
    return ", ".join(pair_names(row["binding_pairs"], row["names"])) or "none"


def value_column(
    name: str,
    heading: str,
    explanation: str,
    write: Callable[[Any], Cell],
    latex: str | None = None,
    numeric: bool = False,
) -> Column:
    """A column of raw values, each written by itself; nothing for a missing one."""

    def cell(row: Row) -> Cell:
        return None if row.get(name) is None else write(row[name])

    return Column(name, heading, explanation, cell, latex, numeric)


def words_column(name: str, heading: str, explanation: str, words: Callable[[Row], str]) -> Column:
    """A column whose raw value is in the grammar, and its cell in words."""
    return Column(name, heading, explanation, lambda row: None if row.get(name) is None else words(row))


def text_column(name: str, heading: str, explanation: str) -> Column:
    """A column of words."""
    return value_column(name, heading, explanation, str)


def number_column(name: str, heading: str, explanation: str, form: str, latex: str | None = None) -> Column:
    """A column of numbers in one format."""

    def write(value: float) -> Cell:
        return Number(format(value, form) if value else "0")

    return value_column(name, heading, explanation, write, latex, numeric=True)


def columns(most: int | None = None) -> tuple[Column, ...]:
    """Every column of a table of characteristic times; every number to at most so many digits, where told so, and never
    to more than it is certified to."""
    digits = most or MOST_DIGITS
    time, lower, upper = (partial(time_cell, which, most=digits) for which in range(3))
    bound = partial(bound_cell, most=digits)
    blind_time = partial(blind_cell, "cost_blind_time", most or BLIND_DIGITS)
    blind_ratio = partial(blind_cell, "cost_blind_ratio", most or RATIO_DIGITS)
    kl = r"$T^\star \mathrm{kl}(\delta, 1 - \delta)$"

    def by_arm(name: str, heading: str, explanation: str, latex: str, cell: Callable[[str, Row], Cell]) -> Column:
        return Column(name, heading, explanation, partial(cell, name), latex)

    def numbers(name: str, row: Row) -> Cell:
        return vector(name, f"{{:.{most or GIVEN_DIGITS}g}}".format, row)

    def write_time(seconds: float) -> Cell:
        return Number(to_digits(1e3 * seconds, min(digits, CLOCK_DIGITS)))

    def write_width(gap: float) -> Cell:
        return Number(write_gap(gap, 1))

    part = partial(shares, decimals=most or DECIMALS)

    return (
        text_column("model", "model", "file name without .toml"),
        text_column("title", "title", "title in the model file"),
        text_column("file", "file", "path of the model file"),
        words_column("family", "family", "reward family", lambda row: family_words(row["family"])),
        words_column("task", "task", "task", lambda row: task_words(row["task"], row["names"])),
        number_column("arms", "K", "number of arms", "d", "$K$"),
        value_column("names", "names", "names of the arms", ", ".join),
        by_arm("means", "means", "mean of each arm", r"$\mu$", numbers),
        by_arm("costs", "costs", "cost of each arm", "$c$", numbers),
        Column("characteristic_time", "T*", "characteristic time", time, r"$T^\star$", True),
        Column("lower", "lower", "certified lower bound on T*", lower, numeric=True),
        Column("upper", "upper", "certified upper bound on T*", upper, numeric=True),
        value_column("gap", "gap", "relative width of the certified interval", write_width, numeric=True),
        by_arm("cost_proportions", "omega*", "share of the cost of each arm", r"$\omega^\star$", part),
        by_arm("sampling_proportions", "u*", "share of the pulls of each costly arm", r"$u^\star$", part),
        Column("binding_pairs", "binding pairs", "the pairs that decide T*", pairs_cell),
        number_column("delta", "delta", "error probability, as asked for", "g", r"$\delta$"),
        Column("lower_bound", "bound", "T* kl(delta, 1 - delta), for every --delta", bound, kl, True),
        Column(
            "cost_blind_time",
            "blind T",
            "T of the cost-blind proportions under the costs",
            blind_time,
            r"blind $T$",
            True,
        ),
        Column("cost_blind_ratio", "blind/T*", "its ratio to T*", blind_ratio, r"blind $T / T^\star$", True),
        by_arm("cost_blind_proportions", "u blind", "u* for unit costs", r"$u^{\mathrm{blind}}$", part),
        number_column("expected", "expected", "T* in the model file", f".{most or EXPECTED_DIGITS}g"),
        number_column("deviation", "deviation", "relative deviation from it", ".0e"),
        text_column("solver", "solver", "solver, and who answered when it fell back"),
        number_column("iterations", "iterations", "of the solver", "d"),
        value_column("seconds", "ms", "time to solve", write_time, numeric=True),
        text_column("proven", "proven T*", "T* to --digits decimals, proven"),
        text_column("proven_lower", "proven lower", "proven lower bound"),
        text_column("proven_upper", "proven upper", "proven upper bound"),
        text_column(ERROR, "error", "why there is no answer"),
    )


#: Columns of a table for people; those for deltas and solvers come in where they are asked for.
USUAL = ("model", "task", "characteristic_time", "gap", "cost_blind_ratio")
USUAL_PROVEN = ("model", "task", "characteristic_time")

#: Columns that need the model solved for unit costs.
BLIND = frozenset({"cost_blind_time", "cost_blind_ratio", "cost_blind_proportions"})


def usual_names(deltas: int, solvers: int, proven: bool) -> tuple[str, ...]:
    """The usual columns of a table with so many deltas and solvers."""
    bound = ("delta", "lower_bound") if deltas else ()
    who = ("solver", "seconds") if solvers > 1 else ()
    return (*(USUAL_PROVEN if proven else USUAL), *bound, *who)


#: What a reader must know, by what it is about.
CONVENTIONS = {
    "characteristic_time": Statement(
        r"$T^\star$, not $1/T^\star$: $T^\star = \min c \cdot w$ subject to $f_e(w) \ge 1$ for every needed pair $e$; "
        r"the least expected cost grows like $T^\star \log(1/\delta)$."
    ),
    "divergence": Statement(
        r"Gaussian arms: $d(x, y) = (x - y)^2 / (2 \sigma^2)$ with $\sigma^2$ the variance, 1 unless the family says "
        r"otherwise."
    ),
    "confidence": Statement(
        r"Lower bound at $\delta$: $T^\star \mathrm{kl}(\delta, 1 - \delta)$, where $\mathrm{kl}(\delta, 1 - \delta) = "
        r"(1 - 2 \delta) \log((1 - \delta) / \delta)$ is at least $\log(1/(2.4 \delta))$ and, for small $\delta$, "
        r"close to $\log(1/\delta)$; zero from $\delta = 1/2$ on."
    ),
    "digits": Statement(r"Digits of $T^\star$ are those to which its whole certified interval rounds."),
    "cost_proportions": Statement(r"$\omega^\star$: share of the cost that goes to each arm."),
    "sampling_proportions": Statement(r"$u^\star$: share of the pulls of each arm."),
    "sampling_proportions_free": Statement(r"$u^\star$: share of the pulls of costly arms; a free arm has none."),
    "cost_blind": Statement(
        r"Blind: $u$ is optimal for the same model with every cost 1, and $T = c \cdot u / \min_e f_e(u)$ is what "
        r"tracking it pays."
    ),
    "cost_blind_free": Statement(
        r"Blind: $u$ is optimal for the same model with every cost 1, and $T = c \cdot u / \min_e f_e(u)$ is what "
        r"tracking it pays; $u$ samples free arms too, so $f_e$ has the finite weights of both arms."
    ),
    "proven": Statement(r"$T^\star$, lower and upper are proven for the inputs as exact decimals."),
}

#: Columns that are T* or made of it, and those of its interval.
TIMES = frozenset({"characteristic_time", "lower", "upper"})
OF_TIME = TIMES | BLIND | {"lower_bound", "upper_bound", "predicted_cost", "ratio", "expected"}


def conventions(names: Iterable[str], rows: Sequence[Row], proven: bool = False) -> dict[str, Statement]:
    """What a reader of these rows must know of these columns, and nothing else; by what it is about."""
    shown = {name for name in names if any(row.get(name) is not None for row in rows)}
    about = {
        "characteristic_time": OF_TIME & shown,
        "divergence": OF_TIME & shown and any(str(row.get("family")).startswith("gaussian") for row in rows),
        "confidence": {"lower_bound", "ratio"} & shown,
        "digits": TIMES & shown and not proven,
        "cost_proportions": "cost_proportions" in shown,
        "sampling_proportions": "sampling_proportions" in shown,
        "cost_blind": BLIND & shown,
        "proven": proven and (TIMES | set(PROVEN)) & shown,
    }
    free = "_free" if any(0 in (row.get("costs") or ()) for row in rows) else ""
    return {name: CONVENTIONS.get(f"{name}{free}", CONVENTIONS[name]) for name, applies in about.items() if applies}
