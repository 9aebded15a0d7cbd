"""The columns of tables of characteristic times, and the conventions that are stated with them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from caet_opt.bandits.families.base import NAMED_AFTER
from caet_opt.bandits.tasks import parse_task
from caet_opt.common import numbers
from caet_opt.common.files import escape_controls
from caet_opt.errors import InputError
from caet_opt.presenting.tables.layout import ERROR, Cell, Column, Number, Row, Statement, Vector, Writer

#: Decimals of proportions, and significant digits of the cost-blind comparison, at most.
DECIMALS, BLIND_DIGITS, RATIO_DIGITS = 4, 6, 5

#: Significant digits of numbers that were given, of an expected T*, and of a time, at most.
GIVEN_DIGITS, EXPECTED_DIGITS, CLOCK_DIGITS = 10, 12, 3

#: Significant digits of T*(1/2), at most.
HALF_DIGITS = 9

#: Columns that only tables with proven digits have, and the one that a table has where it is asked for by name.
PROVEN, HALF = ("proven", "proven_lower", "proven_upper"), "half_leader_time"


def family_words(family: str) -> str:
    """A family of the grammar in words; one that is not of it as it is.

    >>> family_words("gaussian:1,2,0.5"), family_words("gaussian"), family_words("gamma:3")
    ('Gaussian, variances 1, 2, 0.5', 'Gaussian', 'gamma, shape 3')
    """
    name, _, given = family.partition(":")
    meaning = {"gamma": ", shape", "gaussian": f", variance{'s' if ',' in given else ''}"}.get(name, "")
    number = ", ".join(given.split(",")) if name == "gaussian" else given
    return NAMED_AFTER.get(name, name) + (f"{meaning} {number}" if given else "")


def task_words(task: str, arms: Sequence[str]) -> str:
    """A task of the grammar in few words, with the names of the arms; one that is not of it as it is.

    >>> arms = ["a", "b", "c", "d"]
    >>> [task_words(task, arms) for task in ("best-arm", "top-arms:2", "control:0", "control:0-0.02", "above:0.8")]
    ['best arm', 'best 2 arms', 'better than a', 'above a - 0.02', 'above 0.8']
    >>> [task_words(task, arms) for task in ("groups:0,1/2,3", "comparisons:0-1", "comparisons:0-1,2-3")]
    ['best of 2 groups', 'order of a and b', 'order of 2 pairs']
    >>> [task_words(task, arms) for task in ("comparisons:0-1+0.02", "cheapest:above:30 (lower is better)")]
    ['whether a > b + 0.02', 'cheapest below 30']
    """
    try:
        return parse_task(task).describe(arms)
    except InputError:
        return task


def write_task(task: str, row: Row) -> Cell:
    """The task in words, and under how many limits T* is meant."""
    many = len(row.get("limits") or ())
    return task_words(task, row["names"]) + (f", {many} limit{'s'[: many > 1]}" if many else "")


def write_limits(limits: Sequence[Mapping[str, Any]], row: Row) -> Cell:
    """Limits, each with its price where there is one."""
    told = [(escape_controls(limit["limit"]), limit.get("price")) for limit in limits]
    return ", ".join(text if price is None else f"{text} ({numbers.write_given(price, 4)})" for text, price in told)


def number_column(name: str, heading: str, explanation: str, form: str, latex: str | None = None) -> Column:
    """A column of numbers in one format, zero without decimals."""

    def write(value: float, row: Row) -> Cell:
        return Number(format(value, form) if value else "0")

    return Column(name, heading, explanation, write, latex, True)


def write_by_arm(write: Callable[[float], str], values: Sequence[float], row: Row) -> Cell:
    """Numbers by arm, with the names of the arms where they are more than their numbers."""
    names = tuple(row["names"])
    labels = None if names == tuple(map(str, range(len(names)))) else names
    return Vector(tuple(Number(write(value)) for value in values), labels)


def interval(row: Row) -> tuple[float, float, float, float]:
    """Value, ends and gap of a certified T*."""
    return row["characteristic_time"], row["lower"], row["upper"], row["gap"]


def write_time(which: int, most: int) -> Writer:
    """T* (0), or the lower (1) or upper (2) end of its interval, rounded away from the other one.

    Proven decimals where there are any, or else the digits that the certified interval supports.
    """
    return lambda _, row: Number(row.get(PROVEN[which]) or numbers.certified_parts(*interval(row), most)[which])


def write_bound(most: int) -> Writer:
    """The lower bound at delta, kl(delta, 1 - delta) times the lower end of T*, rounded down to the digits of T*."""
    return lambda bound, row: Number(
        numbers.in_full(numbers.round_down(bound, min(most, numbers.digits_shared(*interval(row)))))
    )


def columns(most: int | None = None, of_times: int = numbers.MOST_DIGITS) -> tuple[Column, ...]:
    """Every column of a table of characteristic times; every number to at most so many digits, where told so, and never
    to more than it is certified to. Times have at most ``of_times`` where nothing is told."""
    digits = most or of_times
    time, lower, upper = (write_time(which, digits) for which in range(3))
    paid = "cost of proportions that ignore costs, comparable to T*"
    given = partial(write_by_arm, partial(numbers.write_given, digits=most or GIVEN_DIGITS))

    def shares(values: Sequence[float], row: Row) -> Cell:
        """To as many decimals as the root of the gap supports."""
        decimals = numbers.digits_rooted(row["gap"], most or DECIMALS)
        return write_by_arm(partial(numbers.proportion, decimals=decimals), values, row)

    def blind(usual: int) -> Writer:
        """Computed from proportions, so the root of the gap limits the digits."""
        return lambda value, row: Number(
            numbers.in_full(numbers.to_digits(value, numbers.digits_rooted(row["gap"], most or usual)))
        )

    def statements(binding: Sequence[str], row: Row) -> Cell:
        return ", ".join(map(escape_controls, binding)) or "none"

    def width(gap: float, row: Row) -> Cell:
        return Number(numbers.write_gap(gap, 1))

    def half(time: float, row: Row) -> Cell:
        return Number(numbers.to_digits(time, min(digits, HALF_DIGITS)))

    def milliseconds(seconds: float, row: Row) -> Cell:
        return Number(numbers.to_digits(1e3 * seconds, min(digits, CLOCK_DIGITS)))

    return (
        Column("model", "model", "file name without .toml"),
        Column("title", "title", "title in the model file"),
        Column("file", "file", "path of the model file"),
        Column("family", "family", "reward family", lambda family, row: family_words(family)),
        Column("task", "task", "task, and the number of limits", write_task),
        number_column("arms", "K", "number of arms", "d", "$K$"),
        Column("names", "names", "names of the arms", lambda names, row: ", ".join(names)),
        Column("means", "means", "mean of each arm", given, r"$\mu$"),
        Column("costs", "costs", "cost of each arm", given, "$c$"),
        Column("characteristic_time", "T*", "characteristic time", time, r"$T^\star$", True),
        Column("lower", "lower", "certified lower bound on T*, rounded down", lower, numeric=True),
        Column("upper", "upper", "certified upper bound on T*, rounded up", upper, numeric=True),
        Column("gap", "gap", "relative width of the certified interval", width, numeric=True),
        Column("cost_proportions", "omega*", "share of the cost spent on each arm", shares, r"$\omega^\star$"),
        Column("sampling_proportions", "u*", "share of the pulls of each costly arm", shares, r"$u^\star$"),
        Column("binding_statements", "binding statements", "the statements that decide T*", statements),
        Column("limits", "limits", "limits on shares, each with dT*/dshare", write_limits),
        Column("half_leader_time", "T*(1/2)", "T* with pulls:leader=0.5, if asked for", half, r"$T^\star_{1/2}$", True),
        number_column("delta", "delta", "error probability given by --delta", "g", r"$\delta$"),
        Column(
            "lower_bound",
            "bound",
            "T* kl(delta, 1 - delta), rounded down, for every --delta",
            write_bound(digits),
            None,
            True,
        ),
        Column("cost_blind_time", "blind T", paid, blind(BLIND_DIGITS), r"blind $T$", True),
        Column(
            "cost_blind_ratio", "blind/T*", "blind T divided by T*", blind(RATIO_DIGITS), r"blind $T / T^\star$", True
        ),
        Column(
            "cost_blind_proportions",
            "u blind",
            "proportions that ignore costs: u* for unit costs",
            shares,
            r"$u^{\mathrm{blind}}$",
        ),
        number_column("expected", "expected", "T* that the model file states", f".{most or EXPECTED_DIGITS}g"),
        number_column("deviation", "deviation", "relative deviation of T* from expected", ".0e"),
        Column("solver", "solver", "solver, and the fallback if that answered"),
        number_column("iterations", "iterations", "iterations of the solver", "d"),
        Column("seconds", "ms", "time to solve", milliseconds, None, True),
        Column("proven", "proven T*", "T* to --digits digits, proven"),
        Column("proven_lower", "proven lower", "proven lower bound"),
        Column("proven_upper", "proven upper", "proven upper bound"),
        Column(ERROR, "error", "why there is no answer"),
    )


#: Columns of a table for people; those for deltas and solvers come in where they are asked for.
USUAL = ("model", "task", "characteristic_time", "gap", "cost_blind_ratio")
USUAL_PROVEN = ("model", "task", "characteristic_time")

#: The same of a table for a paper, which fits a column of one; significant digits of its times.
IN_PAPERS = ("model", "task", "characteristic_time", "cost_blind_ratio")
PAPER_DIGITS = 5

#: Columns that need the model solved for unit costs.
BLIND = frozenset({"cost_blind_time", "cost_blind_ratio", "cost_blind_proportions"})


def usual_names(deltas: int, solvers: int, proven: bool, paper: bool = False) -> tuple[str, ...]:
    """The usual columns of a table with so many deltas and solvers, for a screen or for a paper."""
    bound = ("delta", "lower_bound") if deltas else ()
    who = ("solver", "seconds") if solvers > 1 else ()
    short = proven or (paper and (deltas or solvers > 1))
    return (*(USUAL_PROVEN if short else IN_PAPERS if paper else USUAL), *bound, *who)


#: What the cost-blind comparison is.
PAID = (
    r"Blind: $u$ is optimal for the same model with every cost 1, and $T = c \cdot u / \min_e f_e(u)$ is the "
    r"cost of tracking it"
)

#: What a reader must know, by what it is about.
CONVENTIONS = {
    "characteristic_time": Statement(
        r"$T^\star$, not $1/T^\star$: $T^\star = \min c \cdot w$ subject to $f_e(w) \ge 1$ for every needed statement "
        r"$e$; the least expected cost grows like $T^\star \log(1/\delta)$."
    ),
    "divergence": Statement(
        r"Gaussian arms: $d(x, y) = (x - y)^2 / (2 \sigma^2)$ with $\sigma^2$ the variance, 1 unless the family has "
        r"another."
    ),
    "range": Statement(
        r"Family bounded:LO,HI: $T^\star$ and bounds are for all distributions in the range, by the divergence "
        r"$\mathrm{KL}_{\inf}(F, x)$, the least Kullback--Leibler divergence from an arm's distribution $F$ to one in "
        r"the range whose mean is $x$."
    ),
    "confidence": Statement(
        r"Lower bound at $\delta$: $T^\star \mathrm{kl}(\delta, 1 - \delta)$, where $\mathrm{kl}(\delta, 1 - \delta) = "
        r"(1 - 2 \delta) \log((1 - \delta) / \delta)$ is at least $\log(1/(2.4 \delta))$ and, for small $\delta$, "
        r"close to $\log(1/\delta)$; it is zero for $\delta$ of 1/2 or more. It is rounded down to the digits shown."
    ),
    "digits": Statement(r"$T^\star$ has the digits to which both ends of its certified interval round."),
    "cost_proportions": Statement(r"$\omega^\star$: share of the cost that goes to each arm."),
    "sampling_proportions": Statement(r"$u^\star$: share of the pulls of each arm."),
    "sampling_proportions_free": Statement(r"$u^\star$: share of the pulls of costly arms; a free arm has none."),
    "cost_blind": Statement(f"{PAID}."),
    "cost_blind_free": Statement(f"{PAID}; $u$ samples free arms too, so $f_e$ has finite weights for both arms."),
    "limits": Statement(r"With limits, $T^\star$ is the least cost of efforts that meet them; see the column limits."),
    "proven": Statement(r"$T^\star$, lower and upper are proven, with the inputs as exact decimals."),
}

#: Columns that are T* or made of it, and those of its interval.
TIMES = frozenset({"characteristic_time", "lower", "upper"})
OF_TIME = TIMES | BLIND | {HALF, "lower_bound", "upper_bound", "predicted_cost", "ratio", "expected"}


def conventions(names: Iterable[str], rows: Sequence[Row], proven: bool = False) -> dict[str, Statement]:
    """What a reader of these rows must know of these columns, and nothing else; by what it is about."""
    shown = {name for name in names if any(row.get(name) is not None for row in rows)}
    some = proven and any(row.get(PROVEN[0]) is not None for row in rows)
    every = proven and all(row.get(PROVEN[0]) is not None for row in rows if row.get("gap") is not None)
    about = {
        "characteristic_time": OF_TIME & shown,
        "divergence": OF_TIME & shown and any(str(row.get("family")).startswith("gaussian") for row in rows),
        "range": OF_TIME & shown and any(str(row.get("family")).startswith("bounded") for row in rows),
        "confidence": {"lower_bound", "ratio"} & shown,
        "digits": TIMES & shown and not every,
        "cost_proportions": "cost_proportions" in shown,
        "sampling_proportions": "sampling_proportions" in shown,
        "cost_blind": BLIND & shown,
        "limits": OF_TIME & shown and any(row.get("limits") for row in rows),
        "proven": some and (TIMES | set(PROVEN)) & shown,
    }
    free = "_free" if any(0 in (row.get("costs") or ()) for row in rows) else ""
    return {name: CONVENTIONS.get(f"{name}{free}", CONVENTIONS[name]) for name, applies in about.items() if applies}
