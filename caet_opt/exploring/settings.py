# ruff: noqa: RUF009 (declare makes a field, as dataclasses.field does)
"""The settings of an experiment. Each is declared once, as a field of `Parameters`.

Flags of the command line, keys of a study, the manifest, columns of results with their LaTeX names, and filters of the
page are all made from `SETTINGS`, the list of these fields: a new setting is one field, and the code that uses it.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from math import exp, inf, isclose, isfinite, log, nan
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin

from caet_opt.bandits.limits import Limit, join_limits, read_limits
from caet_opt.common.checks import is_number, is_whole, show_value
from caet_opt.common.exact import read_double
from caet_opt.common.numbers import recover_delta
from caet_opt.errors import InputError, unknown_name
from caet_opt.solving.profiles import Profile

#: Where the costs that enter the target come from.
CostSource = Literal["known", "observed", "gaps"]
COST_SOURCES: tuple[CostSource, ...] = get_args(CostSource)

#: log(1/delta) for which delta is below one as a double, and a bound that grows with it is finite.
SMALLEST_LEVEL, LARGEST_LEVEL = 1e-15, 1e100

#: The least share that ``auto`` gives the free arms: the paper's 0.36 at delta = 0.05 starves them
#: (``analysis/threshold_study.py``).
LEAST_SHARE = 0.9

#: GAP of ``solve = "lazy"``, and RATIO of ``batch = "growing"``.
LAZY_GAP, BATCH_RATIO = 0.1, 0.1

#: The largest GAP: a target that may cost eleven times the best is no target.
LARGEST_GAP = 10.0

#: The largest batch, which counts exactly as a double.
LARGEST_BATCH = 10**12

#: The largest limit on the number of pulls: counts are exact as doubles up to here.
LARGEST_PULLS = 2**53

#: The settings that end an experiment before it has an answer.
LIMITS = ("max_cost", "max_pulls")

#: The largest seed of a policy's own draws.
LARGEST_SEED = 2**63 - 1

#: Runs of a simulation, and their seed, unless others are asked for.
RUNS, SEED = 100, 0

#: The default of the two confidences, of which one is computed from the other.
ABSENT: Any = None

Kind = Literal["number", "count", "word", "number or word", "switch"]

#: What a kind is called in an error message.
WORDS = {
    "number": "a number",
    "count": "a positive whole number",
    "word": "a string",
    "number or word": "a number or a string",
    "switch": "true or false",
}

#: Who uses a setting: the policy, its threshold, only a simulation, or only what is not simulated.
Owner = Literal["algorithm", "threshold", "simulation", "observed"]


@dataclass(frozen=True)
class Setting:
    """What is declared of a setting.

    Attributes
    ----------
    name, kind, default, choices : of the field; None as the default means that something else decides
    label, help : a heading, and one line
    owner : who uses it
    symbol, latex : the heading on a page and in LaTeX, where that differs from the label
    grid : whether a study may list several values; None where a study has no such key
    recorded : whether results are told apart by it, in the manifest, in columns and by filters
    form : how its words are made, where they are no choices
    expert : whether it is for those who know the algorithm, in a group of its own in the help
    word : of its flag, where that is not the name: a flag that is given once for each

    Examples
    --------
    >>> from caet_opt.exploring.settings import SETTINGS
    >>> theta = next(setting for setting in SETTINGS if setting.name == "theta")
    >>> theta.flag, theta.help
    ('--theta', 'exponent theta of the deviational threshold (1.2)')
    """

    name: str
    kind: Kind
    default: Any
    choices: tuple[str, ...]
    label: str
    help: str
    symbol: str
    owner: Owner = "algorithm"
    latex: str | None = None
    grid: bool | None = True
    recorded: bool = True
    form: str = ""
    expert: bool = False
    word: str = ""

    @property
    def flag(self) -> str:
        """The flag on the command line, as ``--r-prime``."""
        return f"--{(self.word or self.name).replace('_', '-')}"

    def check(self, value: Any) -> None:
        """Raise `InputError` unless a value is of the kind, and one of the choices if there are any."""
        is_word = "word" in self.kind and isinstance(value, str)
        is_figure = is_whole(value, 1) if self.kind == "count" else "number" in self.kind and is_number(value)
        if not (is_word or is_figure or (self.kind == "switch" and isinstance(value, bool))):
            raise InputError(f"{self.name} must be {WORDS[self.kind]}, got {show_value(value)}")
        if self.choices and isinstance(value, str) and value not in self.choices:
            raise InputError(unknown_name(self.label, value, self.choices))


def declare(default: Any, label: str, help: str, **others: Any) -> Any:
    """A field of `Parameters`, with the attributes of its `Setting`; the symbol is the label unless it is given."""
    return field(default=default, metadata={"label": label, "help": help, "symbol": label, **others})


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The confidence and every setting of an experiment, checked.

    Give ``delta`` or, for a very small one, ``log_inv_delta`` = log(1/delta); the object has both. Every other field
    is a setting, whose declaration says what it is.

    >>> from caet_opt.exploring.settings import Parameters
    >>> parameters = Parameters(delta=0.05, tracking="c")
    >>> round(parameters.log_inv_delta, 6), parameters.free_share
    (2.995732, 0.9)
    """

    delta: float = field(default=ABSENT, compare=False)
    log_inv_delta: float = ABSENT
    policy: str = declare("caet", "policy", "sampling rule")
    threshold: str | None = declare(None, "threshold", "stopping threshold (e-process)")
    rho: float | None = declare(
        None,
        "rho",
        "e-process: weight of each mean's prior, in observations (8), and more for an arm known to be free; a larger "
        "rho saves cost in long runs, a smaller one in short runs",
        owner="threshold",
        latex=r"$\rho$",
        expert=True,
    )
    theta: float | None = declare(
        None,
        "theta",
        "exponent theta of the deviational threshold (1.2)",
        owner="threshold",
        symbol="θ",
        latex=r"$\theta$",
        expert=True,
    )
    constant: float | str | None = declare(
        None,
        "constant",
        "constant C of the deviational threshold: a positive number (1), or certified",
        owner="threshold",
        symbol="C",
        latex="$C$",
        expert=True,
    )
    zero_cost_share: Literal["auto", "paper"] | float = declare(
        "auto",
        "free share",
        "share of the pulls that goes to free arms: a number, or paper for 1 - log(1/delta)^-r, or auto for the same "
        f"but at least {LEAST_SHARE:g}",
        symbol="alpha",
        latex=r"$\alpha$",
    )
    r: float = declare(0.4, "r", "exponent r in zero_cost_share", latex="$r$", expert=True)
    r_prime: float = declare(0.1, "r_prime", "exponent r_prime in gamma0", symbol="r'", latex="$r'$", expert=True)
    gamma0: float = declare(
        0.1,
        "gamma0",
        "treat estimated costs up to gamma0 log(1/delta)^-r_prime as zero",
        symbol="γ₀",
        latex=r"$\gamma_0$",
        expert=True,
    )
    tracking: Literal["c", "d"] = declare(
        "d", "tracking", "d tracks the current target; c tracks the sum of all targets so far, as in the paper"
    )
    solve: str = declare(
        "exact",
        "solve",
        "when to solve for the target shares: exact, in every round; lazy or lazy:GAP, only when the last ones are no "
        f"longer certified to cost at most 1 + GAP times the best (lazy means a GAP of {LAZY_GAP:g})",
        form="exact|lazy|lazy:GAP",
    )
    batch: float | str = declare(
        1,
        "batch",
        "pulls handed out at once, before the first of their outcomes is seen and before the run may stop: a number, "
        f"or growing:RATIO, this ratio of the pulls so far (growing means a RATIO of {BATCH_RATIO:g})",
        form="N|growing|growing:RATIO",
    )
    cost_source: CostSource | None = declare(
        None,
        "cost source",
        "where costs come from: known, observed with each pull, or gaps to the best empirical mean (known, or gaps if "
        "the model's costs are gaps)",
    )
    cost_distribution: str = declare(
        "constant",
        "cost distribution",
        "distribution of observed costs, with the model's costs as means: constant, exponential, uniform or bernoulli",
        owner="simulation",
        grid=False,
    )
    max_rounds: int = declare(
        10_000_000,
        "max rounds",
        "stop a run after this many rounds, as unfinished",
        owner="simulation",
        symbol="round limit",
        grid=False,
    )
    max_cost: float | None = declare(
        None,
        "max cost",
        "spending limit: a pull that would exceed it is not handed out; if costs are not known beforehand, no pull is "
        "handed out once it is reached (no limit)",
        grid=None,
        recorded=False,
    )
    max_pulls: int | None = declare(None, "max pulls", "largest number of pulls (no limit)", grid=None, recorded=False)
    limits: str | None = declare(
        None,
        "limits",
        "limits on shares of the cost or of the pulls, as cost:0,1<=0.3, pulls:2>=0.1 or pulls:leader=0.5 (none)",
        grid=None,
        recorded=False,
        form="LIMIT",
        word="limit",
    )
    fractions: bool = declare(
        False,
        "fractions",
        "bernoulli only: accept any reward from 0 to 1, such as a score, not just 0 and 1; as safe as family "
        "bounded:0,1, and usually more expensive",
        owner="observed",
        grid=None,
        recorded=False,
    )
    solver: str | Profile = declare(
        "native", "solver", "solver of the targets: a backend, or a profile.toml", grid=None, recorded=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "log_inv_delta", read_level(self.delta, self.log_inv_delta))
        object.__setattr__(self, "limits", join_limits(self.limits))
        delta = recover_delta(self.log_inv_delta) if self.delta is ABSENT else float(self.delta)
        object.__setattr__(self, "delta", delta)
        for setting in SETTINGS:
            value = getattr(self, setting.name)
            if not (value is None and setting.default is None) and not isinstance(value, Profile):
                setting.check(value)
        if self.solve_gap != -1.0 and not 0.0 < self.solve_gap <= LARGEST_GAP:
            raise InputError(
                f"solve must be exact, lazy, or lazy:GAP with GAP above 0 and up to 10, got {self.solve!r}"
            )
        size, ratio = self.batch_rule
        if not (0.001 <= ratio <= 1.0 if isinstance(self.batch, str) else 1 <= size <= LARGEST_BATCH and size % 1 == 0):
            raise InputError(
                "batch must be a whole number from 1 to 10^12, growing, or growing:RATIO with RATIO from 0.001 to 1, "
                f"got {show_value(self.batch)}"
            )
        for name, kind in (("batch", int), ("max_cost", float), ("max_pulls", int)):  # plain numbers, which JSON has
            if not isinstance(value := getattr(self, name), str | None):
                object.__setattr__(self, name, kind(value))
        share = self.zero_cost_share
        if not isinstance(share, str) and not 0.0 < share < 1.0:
            raise InputError(
                f"zero_cost_share must be auto, paper or a number strictly between 0 and 1, got {show_value(share)}"
            )
        for name in ("gamma0", "r", "r_prime"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be positive, got {show_value(getattr(self, name))}")
        if self.max_cost is not None and not self.max_cost > 0:
            raise InputError(f"max_cost must be positive, got {show_value(self.max_cost)}")
        if self.max_pulls is not None and self.max_pulls > LARGEST_PULLS:
            raise InputError(f"max_pulls must be at most {LARGEST_PULLS}, got {show_value(self.max_pulls)}")
        if not isfinite(self.negligible_cost):
            raise InputError(
                f"gamma0 log(1/delta)^-r_prime must fit double precision; r_prime = {self.r_prime:g} is too large"
            )

    @classmethod
    def read(cls, confidence: Mapping[str, Any], settings: Mapping[str, Any], *, simulated: bool = True) -> Self:
        """The parameters from ``delta`` or ``log_inv_delta`` and settings by name; an unknown name is refused."""
        other = "observed" if simulated else "simulation"
        known = [setting.name for setting in SETTINGS if setting.owner != other]
        for name in settings:
            if name not in known:
                raise InputError(unknown_name("setting", name, known))
        given = {name: value for name, value in confidence.items() if value is not None}
        return cls(**given, **settings)

    @property
    def free_share(self) -> float:
        """alpha, the share of the pulls that the free arms take: the number that is given, the paper's
        ``1 - log(1/delta)^-r``, zero where that is negative, or the larger of it and `LEAST_SHARE`.

        The paper's tends to 1 and overtakes any floor below 1, so the asymptotics are the same.
        """
        if not isinstance(self.zero_cost_share, str):
            return float(self.zero_cost_share)
        paper = 1.0 - exp(-self.r * log(self.log_inv_delta)) if self.log_inv_delta > 1.0 else 0.0
        return paper if self.zero_cost_share == "paper" else max(paper, LEAST_SHARE)

    @property
    def solve_gap(self) -> float:
        """GAP of lazy solves, and -1 for exact ones."""
        return -1.0 if self.solve == "exact" else read_option(self.solve, "lazy", LAZY_GAP)

    @property
    def batch_rule(self) -> tuple[float, float]:
        """The least size of a batch, and its least part of the pulls so far."""
        batch = self.batch
        return (1.0, read_option(batch, "growing", BATCH_RATIO)) if isinstance(batch, str) else (float(batch), 0.0)

    @property
    def ends(self) -> dict[str, float | None]:
        """`LIMITS` by their names, None where there is none."""
        return {name: getattr(self, name) for name in LIMITS}

    @property
    def share_limits(self) -> tuple[Limit, ...]:
        """The limits on shares."""
        return read_limits(self.limits or ())

    @property
    def negligible_cost(self) -> float:
        """``gamma0 log(1/delta)^-r_prime``: an estimated cost up to this counts as zero."""
        try:
            return self.gamma0 * exp(-self.r_prime * log(self.log_inv_delta))
        except OverflowError:
            return inf


def refuse_limits(settings: Mapping[str, Any], why: str) -> None:
    """Raise `InputError` for a limit where it would end nothing."""
    for name in LIMITS:
        if settings.get(name) is not None:
            raise InputError(f"{name} is for simulate and live experiments; {why}")


def read_level(delta: Any, log_inv_delta: Any) -> float:
    """``log(1/delta)`` from the one of the two that is given, or from both if they agree."""
    agree = False
    if is_number(log_inv_delta) and log_inv_delta > 0 and is_number(delta) and 0 <= delta < 1:
        near = delta > 0 and isclose(-log(delta), log_inv_delta, rel_tol=1e-15)
        agree = near or delta == exp(-log_inv_delta)  # whichever of the two was given first
    if (delta is None) == (log_inv_delta is None) and not agree:
        raise InputError("give either delta, as 0.05, or log_inv_delta = log(1/delta), as 3")
    if log_inv_delta is None:
        if not (is_number(delta) and 0 < delta < 1):
            raise InputError(f"delta must lie strictly between 0 and 1, got {show_value(delta)}")
        log_inv_delta = -log(delta)
    if not (is_number(log_inv_delta) and log_inv_delta > 0):
        raise InputError(
            f"log_inv_delta = log(1/delta) must be positive and finite (0 < delta < 1), got {show_value(log_inv_delta)}"
        )
    if not SMALLEST_LEVEL <= log_inv_delta <= LARGEST_LEVEL:
        raise InputError(
            f"log(1/delta) must lie in [{SMALLEST_LEVEL:g}, {LARGEST_LEVEL:g}], where delta is below 1 and bounds "
            f"are finite in double precision, got {show_value(log_inv_delta)}"
        )
    return float(log_inv_delta)


def read_option(text: str, name: str, default: float) -> float:
    """The number behind a name and a colon, or the default for the name alone; NaN for anything else."""
    word, colon, number = text.partition(":")
    try:
        return (read_double(number) if colon else default) if word == name else nan
    except ValueError:
        return nan


def read_field(entry: "Field[Any]") -> Setting:
    """The setting that a field declares; its kind and its choices come from the annotation."""
    union = get_origin(entry.type) in (Union, UnionType)
    parts = [part for part in (get_args(entry.type) if union else (entry.type,)) if part not in (NoneType, Profile)]
    choices = next((get_args(part) for part in parts if get_origin(part) is Literal), ())
    word = bool(choices) or str in parts
    kind: Kind = "word" if word else "switch" if bool in parts else "count" if int in parts else "number"
    kind = "number or word" if word and float in parts else kind
    return Setting(name=entry.name, kind=kind, default=entry.default, choices=choices, **entry.metadata)


class Settings(tuple[Setting, ...]):
    """Every setting of an experiment, in the order of columns.

    >>> from caet_opt.exploring.settings import SETTINGS
    >>> [setting.name for setting in SETTINGS if setting.owner == "threshold"]
    ['rho', 'theta', 'constant']
    """


SETTINGS = Settings(read_field(entry) for entry in fields(Parameters) if entry.metadata)

#: Those of simulations.
SIMULATED = tuple(setting for setting in SETTINGS if setting.owner != "observed")

#: Those by which results are told apart.
RECORDED = tuple(setting for setting in SETTINGS if setting.recorded)
