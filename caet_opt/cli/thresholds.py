"""``caet-opt thresholds``: which stopping thresholds are proven for a model, and what each would cost."""

import argparse
from collections.abc import Sequence
from typing import Any

from caet_opt.cli.arguments import add_confidence, read_confidence
from caet_opt.cli.models import GRAMMAR, add_model_arguments, find_model, heading
from caet_opt.cli.output import show
from caet_opt.common.numbers import in_full, round_down, table, to_digits
from caet_opt.exploring.prediction import compare_thresholds, say_measured
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.stopping.base import say_worth
from caet_opt.solving.characteristic import characteristic_time

DESCRIPTION = """\
Compare the stopping thresholds on a model at one delta. For each, print whether it is
proven to keep the error probability at or below delta for this family and task, its value
beta(tau) at the predicted stopping time tau, the predicted cost T* beta(tau), and its
formula. The prediction takes the means as known and counts pulls at the target shares,
exploration included, until every statement exceeds the threshold. The last line says how
close such predictions have been."""

EXAMPLES = f"""\
{GRAMMAR}
examples:
  caet-opt thresholds models/paper-instance-1.toml --delta 0.05
  caet-opt thresholds --family bernoulli --means 0.8,0.5 --costs 1,2 --task best-arm --delta 0.1 --json
  caet-opt thresholds models/regret-poisson.toml --log-inv-delta 50
"""

HEADERS = ("threshold", "proven", "beta(tau)", "tau", "predicted cost", "formula")

#: Columns of words; the others are numbers, with these names in JSON, to `DIGITS` significant digits.
WORDS, PREDICTED, DIGITS = (0, 1, 5), ("value", "predicted_rounds", "predicted_cost"), 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add_model_arguments(parser)
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Solve, predict with every threshold, and print."""
    parameters = Parameters.read(read_confidence(arguments), {})
    entry = find_model(arguments)
    result = characteristic_time(entry.model, entry.task, limits=entry.limits)
    found = compare_thresholds(result, parameters)
    level, several = parameters.log_inv_delta, result.task.several_right
    least = None if several else result.lower_bound(log_inv_delta=level)
    bound = ""
    if least is not None:
        told, scope = in_full(round_down(least, DIGITS)), entry.model.family.bound_scope
        bound = (
            f"lower bound: no strategy{scope} costs less than {told} on average, T* kl(delta, 1 - delta), rounded down"
        )
    assumes = entry.model.family.describe_assumption()
    show(
        arguments.json,
        lambda: {
            **{name: result.to_record()[name] for name in ("task", "family", "means", "costs", "characteristic_time")},
            "assumes": assumes,
            "delta": parameters.delta,
            "log_inv_delta": parameters.log_inv_delta,
            "lower_bound": least,
            "thresholds": found,
        },
        lambda: "\n".join(
            [
                *(*heading(entry), "", tabulate(found), ""),
                f"proven means: {say_worth(True, assumes, parameters.log_inv_delta)}",
                *([bound] if bound else []),
                "in tests of this prediction with the default threshold, mean costs were "
                f"{say_measured(parameters.tracking)} the predicted cost",
            ]
        ),
    )
    return 0


def tabulate(found: Sequence[dict[str, Any]]) -> str:
    """One line per threshold."""
    rows = [
        [
            one["threshold"],
            "yes" if one["proven"] else "no",
            *("-" if one[name] is None else in_full(to_digits(one[name], DIGITS)) for name in PREDICTED),
            one["formula"] or one["reason"],
        ]
        for one in found
    ]
    return table(HEADERS, rows, WORDS)
