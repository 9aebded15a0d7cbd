"""The conventions that are stated with tables of characteristic times."""

from collections.abc import Iterable

from caet_opt.presenting.tables.columns import BLIND, PROVEN
from caet_opt.presenting.tables.layout import Statement

#: What a reader of any table must know.
CONVENTIONS = {
    "characteristic_time": Statement(
        "T*, not 1/T*: T* = min c.w subject to f_e(w) >= 1 for every needed pair e; the least expected cost grows "
        "like T* log(1/delta).",
        r"$T^\star$, not $1/T^\star$: $T^\star = \min c \cdot w$ subject to $f_e(w) \ge 1$ for every needed pair $e$; "
        r"the least expected cost grows like $T^\star \log(1/\delta)$.",
    ),
    "divergence": Statement(
        "d is the family's Kullback-Leibler divergence; Gaussian: d(x, y) = (x - y)^2 / (2 s^2) with s^2 the variance, "
        "1 unless the family says otherwise.",
        r"$d$ is the family's Kullback--Leibler divergence; Gaussian: $d(x, y) = (x - y)^2 / (2 \sigma^2)$ with "
        r"$\sigma^2$ the variance, 1 unless the family says otherwise.",
    ),
    "confidence": Statement(
        "Lower bound at delta: T* kl(delta, 1 - delta), where kl(delta, 1 - delta) = (1 - 2 delta) "
        "log((1 - delta) / delta) is at least log(1/(2.4 delta)) and, for small delta, close to log(1/delta); zero "
        "from delta = 1/2 on.",
        r"Lower bound at $\delta$: $T^\star \mathrm{kl}(\delta, 1 - \delta)$, where $\mathrm{kl}(\delta, 1 - \delta) = "
        r"(1 - 2 \delta) \log((1 - \delta) / \delta)$ is at least $\log(1/(2.4 \delta))$ and, for small $\delta$, "
        r"close to $\log(1/\delta)$; zero from $\delta = 1/2$ on.",
    ),
    "digits": Statement(
        "Digits of T* are those to which its whole certified interval rounds.",
        r"Digits of $T^\star$ are those to which its whole certified interval rounds.",
    ),
}

#: What a reader must know of some columns.
COLUMN_CONVENTIONS = {
    "cost_proportions": Statement(
        "omega*: share of the cost that goes to each arm.", r"$\omega^\star$: share of the cost that goes to each arm."
    ),
    "sampling_proportions": Statement(
        "u*: share of the pulls of costly arms; a free arm has none.",
        r"$u^\star$: share of the pulls of costly arms; a free arm has none.",
    ),
    "cost_blind": Statement(
        "Blind: u is optimal for the same model with every cost 1, and T = c.u / min_e f_e(u) is what tracking it "
        "pays; u samples free arms too, so f_e has the finite weights of both arms.",
        r"Blind: $u$ is optimal for the same model with every cost 1, and $T = c \cdot u / \min_e f_e(u)$ is what "
        r"tracking it pays; $u$ samples free arms too, so $f_e$ has the finite weights of both arms.",
    ),
    "proven": Statement(
        "T*, lower and upper are proven for the inputs as exact decimals.",
        r"$T^\star$, lower and upper are proven for the inputs as exact decimals.",
    ),
}


def conventions(names: Iterable[str], proven: bool) -> dict[str, Statement]:
    """The conventions of a table with these columns."""
    wanted = set(names) - set(PROVEN) | ({"proven"} if proven else set())
    if BLIND & wanted:
        wanted.add("cost_blind")
    return CONVENTIONS | {name: statement for name, statement in COLUMN_CONVENTIONS.items() if name in wanted}
