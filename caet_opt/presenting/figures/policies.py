"""Every policy on six models: the cost over the lower bound as delta goes to zero.

The models are of the catalogue, the policies those that cover each model's task, all with the default threshold and on
the same rewards: the n-th of an arm is the same for all of them.
"""

from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any

from caet_opt.common.numbers import table as aligned
from caet_opt.common.numbers import write_level
from caet_opt.common.shipped import shipped_folder
from caet_opt.presenting.figures import study
from caet_opt.presenting.figures.kinds import Effort, StudyFigure, write_ends
from caet_opt.simulating.mean_intervals import FEWEST
from caet_opt.simulating.studies.study import ALL, Study, from_table
from caet_opt.simulating.summary import MAY_STARVE

if TYPE_CHECKING:
    import pandas as pd

TITLE = "every policy on six models: cost over the lower bound"

#: The paper's two, then best arm with unequal costs, top arms, a free placebo, and best arm with exponential rewards.
MODELS = ("paper-instance-1", "paper-instance-2", "bernoulli-costs", "top-arms", "clinical-trial", "wireless-channels")

#: The study besides its deltas, runs and seed.
GRID: dict[str, Any] = {"title": TITLE, "models": [f"{name}.toml" for name in MODELS], "policy": ALL}

QUICK = {"deltas": [1e-1, 1e-2, 1e-4, 1e-6], "runs": 40}
FULL = {"deltas": [1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6], "runs": 1000}

#: Significant digits of the ends of an interval.
RATIO_DIGITS = 3

INTERVALS = (
    "[ ]: the 95 % interval; policies see the same rewards, so differences between them are more precise\n"
    f"no interval: fewer than {FEWEST} runs, unfinished runs, or {MAY_STARVE}"
)


def make_study(effort: Effort) -> Study:
    """The study; its cells are the same whether quick or full, so that one goes on where the other ended."""
    given: dict[str, Any] = {} if effort.runs is None else {"runs": effort.runs}
    found = GRID | {"seed": effort.seed} | (FULL if effort.full else QUICK) | given
    return from_table(found, shipped_folder("models") / "policies.toml")


def table(summary: "pd.DataFrame") -> str:
    """A line per policy and a column per model, at the largest delta and at the smallest, and how often all erred."""
    levels = sorted(set(summary["log_inv_delta"]))
    parts = [tabulate_level(summary, level) for level in dict.fromkeys((levels[0], levels[-1]))]
    runs, wrong, unfinished = (int(summary[name].sum()) for name in ("runs", "errors", "unfinished"))
    above = int(summary["consistent"].eq(False).sum())
    wrong_words = f"{wrong} wrong answers, significantly more than delta allows in {above} cells"
    foot = f"{INTERVALS}\n{runs} runs of {len(summary)} cells: {wrong_words}; {unfinished} unfinished"
    return "\n\n".join([*parts, foot])


def tabulate_level(summary: "pd.DataFrame", level: float) -> str:
    """The ratios at one delta, each with its 95 % interval."""
    rows = summary[summary["log_inv_delta"] == level]
    found = {(row["policy"], row["model"]): write_ratio(row) for _, row in rows.iterrows()}
    models, policies = list(dict.fromkeys(rows["model"])), list(dict.fromkeys(rows["policy"]))
    cells = [[policy, *(found.get((policy, model), "-") for model in models)] for policy in policies]
    return f"{write_level(level)}\n{aligned(['policy', *models], cells)}"


def write_ratio(row: "pd.Series[Any]") -> str:
    """Mean cost over the lower bound, and its interval where there is one."""
    if isnan(row["ratio"]):
        return "-"
    low, high = row["ratio_low"], row["ratio_high"]
    return f"{row['ratio']:.2f}" if isnan(low) else f"{row['ratio']:.2f} {write_ends(low, high, RATIO_DIGITS)}"


FIGURE = StudyFigure(TITLE, make_study, table, partial(study.study_figure, over="lower_bound"))
