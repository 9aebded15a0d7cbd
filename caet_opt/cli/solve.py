"""``caet-opt solve``: the certified characteristic time of one model."""

import argparse
import json
from decimal import Decimal
from fractions import Fraction
from math import log
from sys import maxsize
from typing import Any, get_args

from caet_opt.bandits.modelfile import ModelFile
from caet_opt.cli.arguments import add_confidence, count, number, read_confidence
from caet_opt.cli.models import GRAMMAR, add_model_arguments, find_model, heading, refuse_limits
from caet_opt.cli.output import output_file, say, show
from caet_opt.common.exact import decimal_text
from caet_opt.common.numbers import duration, in_full, proportion, relative_deviation, round_down, table, to_digits
from caet_opt.errors import InputError
from caet_opt.exploring.prediction import Prediction, predict, say_how_near
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.stopping import Threshold, threshold_of
from caet_opt.proving.problem import pose_exactly
from caet_opt.proving.result import ProvenTime
from caet_opt.solving import result as solved
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.compare import compare_solvers
from caet_opt.solving.export import FORMATS, MAP, program_files
from caet_opt.solving.profiles import DEFAULT_TOLERANCE
from caet_opt.solving.programs.text import show_program
from caet_opt.solving.result import BoundForm, CharacteristicTime

DESCRIPTION = """\
Compute the characteristic time T* of a bandit model and a task, with the optimal
proportions. The printed interval is certified: it contains T* whatever the solver did.
Give the model as a TOML file, by name, or by the flags --family, --means, --task and, if
you need them, --costs and --lower-is-better. With a file, --task replaces its task.

--digits proves every printed digit of T*: the model's numbers are taken as the exact
decimals you typed, and both bounds are computed in ball arithmetic. --certificate writes
the proof to a file; caet-opt check verifies it.

--write writes the program to a file for other solvers. The ending of its name chooses
the format: .nl (AMPL), .gms (GAMS), .bar (BARON), or .lp if every term is linear. A
second file, FILE.map, explains the names.

--delta adds two costs: the lower bound, which no strategy beats on average, and the
predicted cost T* beta(tau) of CAET with its default threshold. The prediction takes the
means as known and counts pulls until every statement exceeds the threshold."""

EXAMPLES = f"""\
{GRAMMAR}
examples:
  caet-opt solve models/paper-instance-1.toml
  caet-opt solve --family gaussian --means 3,4,2 --costs gaps --task ranking
  caet-opt solve --family bernoulli --means 0.5 0.45 0.4 --costs 1 1 2 --task best-arm --json
  caet-opt solve models/clinical-trial.toml --delta 0.01 --solver solvers/ipopt.toml
  caet-opt solve models/wireless-channels.toml --cross-check
  caet-opt solve models/paper-instance-2.toml --show-program
  caet-opt solve models/paper-instance-1.toml --digits 50
  caet-opt solve models/champion-and-challenger.toml --write program.nl
  caet-opt solve models/non-inferior-model.toml --task control:large-0.03
  caet-opt solve models/garivier-kaufmann-1.toml --limit pulls:leader=0.5
  caet-opt solve --family exponential --means 120,80 --arms old,new --lower-is-better --task control:old+10
"""

#: Proven digits where only a certificate is asked for, and most decimals of a refined proportion on a terminal.
DEFAULT_DIGITS, MOST_DECIMALS = 50, 20

#: What a cross-check shows of each backend.
CROSS_CHECK = ("solver", "T*", "lower", "upper", "gap", "own gap", "iterations", "time")

#: Significant digits of a lower bound on the cost, and of a predicted cost.
BOUND_DIGITS, PREDICTED_DIGITS = 10, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add_model_arguments(parser)
    how = parser.add_argument_group("how to solve it")
    how.add_argument("--solver", metavar="NAME|PROFILE.toml", help="a backend, or a profile from solvers/ (native)")
    how.add_argument(
        "--tolerance", type=number, metavar="X", help=f"largest certified relative gap ({DEFAULT_TOLERANCE:g})"
    )
    how.add_argument("--cross-check", action="store_true", help="solve with every installed backend")
    how.add_argument("--digits", type=count, metavar="N", help="prove this many digits of T*")
    how.add_argument(
        "--certificate",
        metavar="CERT.json",
        help=f"write the proof to this file ({DEFAULT_DIGITS} digits, or --digits)",
    )
    how.add_argument("--write", metavar="FILE", help=f"write the program to this file, {' '.join(FORMATS)}")
    what = parser.add_argument_group("what to print")
    add_confidence(what, "also print the lower bound on the expected cost and the predicted cost of CAET")
    what.add_argument("--json", action="store_true", help="one JSON object instead of text")
    what.add_argument("--show-program", action="store_true", help="also print the program that is solved")


def run(arguments: argparse.Namespace) -> int:
    """Solve, print, and return the exit status."""
    is_delta_given = arguments.delta is not None or arguments.log_inv_delta is not None
    check_combination(arguments, is_delta_given)
    # the settings of CAET at the delta that is given, all at their defaults
    arguments.parameters = Parameters.read(read_confidence(arguments), {}) if is_delta_given else None
    entry = find_model(arguments)
    program = ""
    if arguments.show_program:
        easiest = solve(entry, arguments).answer if entry.task.several_right else None
        program = show_program(entry.model, entry.task, entry.limits, easiest) + "\n"
    if arguments.write is not None:
        return write_and_run(entry, arguments, program)
    return answer(entry, arguments, program)


def write_and_run(entry: ModelFile, arguments: argparse.Namespace, program: str) -> int:
    """Write the program once it is solved, or whatever else is asked for, and return the exit status of that."""
    files = program_files(entry.model, entry.task, arguments.write, entry.limits)
    writers = {path: output_file(path, "--write") for path in files}
    status = answer(entry, arguments, program)
    for path, write in writers.items():
        write(files[path])
    if not arguments.json:
        say(f"written: {arguments.write}, and {arguments.write}{MAP}, which explains its names")
    return status


def answer(entry: ModelFile, arguments: argparse.Namespace, program: str) -> int:
    """Solve or prove, print, and return the exit status."""
    if arguments.cross_check:
        return cross_check(entry, arguments, program)
    if arguments.digits is not None or arguments.certificate is not None:
        return prove(entry, arguments, program)
    result = solve(entry, arguments)
    show(
        arguments.json,
        lambda: with_bound(result, arguments),
        lambda: program + say_answer(result, entry, arguments),
    )
    return 0


def check_combination(arguments: argparse.Namespace, is_delta_given: bool) -> None:
    """Raise `InputError` for options that exclude each other."""
    if arguments.json and arguments.show_program:
        raise InputError("--show-program prints text and --json prints one object; give one of them")
    if arguments.cross_check and arguments.solver is not None:
        raise InputError("--cross-check solves with every installed backend; leave out --solver")
    if arguments.cross_check and is_delta_given:
        raise InputError("--cross-check prints no lower bound; leave out --delta, or --cross-check")
    if arguments.cross_check and (arguments.digits is not None or arguments.certificate is not None):
        raise InputError("--cross-check proves no digits; leave out --digits and --certificate, or --cross-check")


def solve(entry: ModelFile, arguments: argparse.Namespace) -> CharacteristicTime:
    """The characteristic time of a model, by the default solver unless another one is named."""
    asked = {"solver": arguments.solver, "tolerance": arguments.tolerance}
    return characteristic_time(entry.model, entry.task, **asked, limits=entry.limits)


def cross_check(entry: ModelFile, arguments: argparse.Namespace, program: str) -> int:
    """Compare every installed backend, each solving once; status 1 for a failure or a disagreement."""
    found = compare_solvers(entry.model, entry.task, repeat=0, tolerance=arguments.tolerance, limits=entry.limits)
    records = [
        {"solver": one.solver, "error": str(one.error)}
        if one.result is None
        else {**one.result.to_record(), "solver_gap": one.to_record()["solver_gap"]}
        for one in found.measurements
    ]
    show(
        arguments.json,
        lambda: {"solvers": records, "agree": found.agree},
        lambda: program + "\n".join([*heading(entry), "", found.describe(CROSS_CHECK)]),
    )
    return 0 if found.complete else 1


def prove(entry: ModelFile, arguments: argparse.Namespace, program: str) -> int:
    """Solve, prove, write the certificate where one is asked for, and print."""
    from caet_opt.proving.prove import check_digits, proven_time  # where flint is missing, this one says so

    digits, path = DEFAULT_DIGITS if arguments.digits is None else arguments.digits, arguments.certificate
    check_digits(digits)
    refuse_limits(entry, "digits are proven")
    pose_exactly(entry.model, entry.task)  # arms that doubles cannot tell apart are refused as such, not as a tie
    from caet_opt.proving.certificates import certificate, check_certifiable

    if path is not None:
        check_certifiable(entry.model, entry.task)
    write = output_file(path, "--certificate")
    result = solve(entry, arguments)
    proven = proven_time(entry.model, entry.task, digits, start=result)
    if path is not None:
        write(json.dumps(certificate(proven), indent=1) + "\n")
    written = f"\ncertificate written to {path}; check it with: caet-opt check {path}" if path else ""
    show(
        arguments.json,
        lambda: {**with_bound(result, arguments), **as_object(proven), "certificate": path},
        lambda: program + say_answer(result, entry, arguments, proven) + written,
    )
    return 0


def say_answer(
    result: CharacteristicTime, entry: ModelFile, arguments: argparse.Namespace, proven: ProvenTime | None = None
) -> str:
    """The answer as people read it."""
    arms = table(solved.ARM_HEADERS, solved.arm_rows(result) if proven is None else tabulate_arms(proven))
    lines = [*heading(entry), "", arms, "", *solved.answer_lines(result), solved.binding_line(result)]
    lines += solved.limit_lines(result)
    lines += [solved.certified_line(result) if proven is None else say_proven(proven)]
    if entry.characteristic_time is not None:
        deviation = relative_deviation(result.value, entry.characteristic_time)
        lines += [f"expected {entry.characteristic_time!r}, relative deviation {deviation:.1e}"]
        if not is_expected(result, entry.characteristic_time):
            lines += ["WARNING: the expected characteristic_time is outside the certified interval of T*; correct it"]
    if arguments.parameters is not None:
        lines += [say_bound(result, arguments), *say_prediction(result, arguments.parameters)]
    lines += [solved.solver_line(result) + ("" if proven is None else f"; proof {duration(proven.seconds)}")]
    return "\n".join(lines)


def is_expected(result: CharacteristicTime, expected: float) -> bool:
    """Whether T* can be an expected value, which is given up to one unit of its last digit."""
    given = Decimal(repr(expected).removesuffix(".0"))
    unit = Decimal((0, (1,), int(given.as_tuple().exponent)))
    return Decimal(result.lower) - unit <= given <= Decimal(result.upper) + unit


def say_bound(result: CharacteristicTime, arguments: argparse.Namespace) -> str:
    """The least expected cost at delta, rounded down; from 1/2 on, where guessing is good enough, it is zero."""
    level = arguments.parameters.log_inv_delta
    if result.task.several_right:
        return "lower bound: known only as delta tends to 0, T* log(1/delta), because several answers may be right"
    told = f"any {arguments.delta}-PAC strategy" if arguments.delta else f"any strategy at log(1/delta) = {level:.15g}"
    told += result.model.family.bound_scope
    if result.limits:
        told += " whose expected spending meets the limits"
    who = f"expected cost of {told}: at least"
    if level <= log(2):
        return f"{who} 0, since guessing is good enough for delta of 1/2 or more"
    bounds = [result.lower_bound(form=form, log_inv_delta=level) for form in get_args(BoundForm)]
    kl, weaker = (in_full(round_down(bound, BOUND_DIGITS)) for bound in bounds)
    return f"{who} {kl} (kl form), {weaker} (log form), rounded down"


def predict_caet(result: CharacteristicTime, parameters: Parameters) -> tuple[Threshold, Prediction | None]:
    """The default threshold of CAET for a model, and what it is predicted to cost; None where that cannot be said."""
    rule = threshold_of(parameters, result.model.family, len(result.model.means), result.task)
    return rule, predict(result, rule, parameters)


def say_prediction(result: CharacteristicTime, parameters: Parameters) -> list[str]:
    """What CAET is predicted to cost at delta, where that can be said, and how good predictions have been."""
    rule, prediction = predict_caet(result, parameters)
    if prediction is None:
        return []
    cost, rounds = (in_full(to_digits(number, PREDICTED_DIGITS)) for number in (prediction.cost, prediction.rounds))
    return [
        f"predicted cost of CAET with the {rule.name} threshold: about {cost}, in about {rounds} rounds; "
        f"{say_how_near(result.task, parameters.tracking)}"
    ]


def with_bound(result: CharacteristicTime, arguments: argparse.Namespace) -> dict[str, Any]:
    """The answer's record, and the lower bound and the predicted cost where a delta is given."""
    parameters = arguments.parameters
    if parameters is None:
        return result.to_record()
    level = parameters.log_inv_delta
    bound = None
    if not result.task.several_right:
        bounds = {form: result.lower_bound(form=form, log_inv_delta=level) for form in get_args(BoundForm)}
        bound = {"delta": parameters.delta, "log_inv_delta": level, **bounds}
    rule, found = predict_caet(result, parameters)
    return {
        **result.to_record(),
        "lower_bound": bound,
        "threshold": rule.name,
        "predicted_cost": None if found is None else found.cost,
        "predicted_rounds": None if found is None else found.rounds,
    }


def say_proven(proven: ProvenTime) -> str:
    """T* with its proven digits, and what is not proven."""
    low, high = proven.bounds
    return (
        f"T* = {proven.value}\nT* >= {low}\nT* <= {high}\n"
        "proven, with the inputs as exact decimals: both bounds, and every printed digit of T* after rounding\n"
        "computed, not proven: the digits of the proportions, and which statements bind"
    )


def tabulate_arms(proven: ProvenTime) -> list[list[str]]:
    """One line per arm: the inputs as they were typed, and the refined proportions."""
    record = as_object(proven, MOST_DECIMALS)
    columns = ("exact_means", "exact_costs", "refined_cost_proportions", "refined_sampling_proportions")
    return [list(row) for row in zip(proven.model.arms, *(record[name] for name in columns), strict=True)]


def as_object(proven: ProvenTime, most: int = maxsize) -> dict[str, Any]:
    """What is proven, as decimal texts; the proportions to half of the digits or ``most``, refined and not proven."""
    low, high = proven.bounds
    decimals = max(1, min(most, proven.digits // 2))
    return {
        "digits": proven.digits,
        "exact_means": list(map(decimal_text, proven.model.exact_means)),
        "exact_costs": list(map(decimal_text, proven.model.exact_costs)),
        "proven": proven.value,
        "proven_lower": low,
        "proven_upper": high,
        "refined_cost_proportions": [write_share(share, decimals) for share in proven.cost_proportions],
        "refined_sampling_proportions": [write_share(share, decimals) for share in proven.sampling_proportions],
        "proof_seconds": proven.seconds,
    }


def write_share(share: Fraction, decimals: int) -> str:
    """A proportion to ``decimals`` decimals; a smaller one in scientific notation, so that it is not taken for zero."""
    if share * 10**decimals < 1:
        return proportion(float(share), decimals)
    whole = str(round(share * 10**decimals)).rjust(decimals + 1, "0")
    return f"{whole[:-decimals]}.{whole[-decimals:]}"
