"""``caet-opt solve``: the certified characteristic time of one model."""

import argparse
import json
from typing import TYPE_CHECKING, Any, get_args

from caet_opt.cli.arguments import count, number
from caet_opt.cli.models import GRAMMAR, add_model_arguments, headline, requested_model
from caet_opt.cli.proof import certificate_file, certificate_text, proven_lines, proven_object, proven_table
from caet_opt.errors import InputError, SolverError
from caet_opt.presenting.numbers import certified, duration, outward, proportion, relative_deviation, table

if TYPE_CHECKING:
    from caet_opt.bandits.modelfile import ModelFile
    from caet_opt.proving.result import ProvenTime
    from caet_opt.solving.result import CharacteristicTime

SUMMARY = "certified characteristic time of one model"

DESCRIPTION = """\
Compute the characteristic time T* of a bandit model and a task, with the optimal
proportions, and certify it: the interval that is printed contains T* whatever the
solver did. The model is a TOML file, or the four flags --family, --means, --costs
and --task; with a file, --task replaces the file's task.

With --digits the answer is proven: the numbers of the model are taken as the exact
decimals that were typed, both bounds are evaluated in ball arithmetic, and every
printed digit of T* is right. --certificate writes the proof, for caet-opt check."""

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
"""

#: Proven digits where only a certificate is asked for.
DEFAULT_DIGITS = 50

#: Significant digits of a lower bound on the cost.
BOUND_DIGITS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    add_model_arguments(parser)
    how = parser.add_argument_group("how to solve it")
    how.add_argument("--solver", metavar="NAME|PROFILE.toml", help="a backend or a profile from solvers/")
    how.add_argument("--tolerance", type=number, metavar="X", help="largest certified relative gap (1e-9)")
    how.add_argument("--cross-check", action="store_true", help="solve with every installed backend")
    how.add_argument("--digits", type=count, metavar="N", help="prove so many digits of T*")
    how.add_argument(
        "--certificate", metavar="CERT.json", help=f"write the proof to this file ({DEFAULT_DIGITS} digits unless told)"
    )
    what = parser.add_argument_group("what to print")
    what.add_argument("--delta", type=number, metavar="D", help="also the lower bound on the expected cost")
    what.add_argument("--json", action="store_true", help="one JSON object instead of text")
    what.add_argument("--show-program", action="store_true", help="first the program that is solved")


def run(arguments: argparse.Namespace) -> int:
    """Solve, print, and return the exit status."""
    check_combination(arguments)
    entry = requested_model(arguments)
    if arguments.show_program:
        from caet_opt.solving.programs.text import show_program

        program = show_program(entry.model, entry.task) + "\n"
    else:
        program = ""
    if arguments.cross_check:
        return cross_check(entry, arguments, program)
    if arguments.digits is not None or arguments.certificate is not None:
        return prove(entry, arguments, program)
    result = solve(entry, arguments.solver, arguments.tolerance)
    if arguments.json:
        print(json.dumps(as_object(result, arguments.delta), allow_nan=False))
    else:
        print(program + describe_result(result, entry, arguments.delta))
    return 0


def check_combination(arguments: argparse.Namespace) -> None:
    """Raise `InputError` for options that exclude each other, and for a delta outside (0, 1)."""
    if arguments.json and arguments.show_program:
        raise InputError("--show-program prints text and --json one object; give one of them")
    if arguments.cross_check and arguments.solver is not None:
        raise InputError("--cross-check solves with every installed backend; leave out --solver")
    if arguments.cross_check and arguments.delta is not None:
        raise InputError("--cross-check prints no lower bound; leave out --delta, or --cross-check")
    if arguments.cross_check and (arguments.digits is not None or arguments.certificate is not None):
        raise InputError("--cross-check proves no digits; leave out --digits and --certificate, or --cross-check")
    if arguments.delta is not None and not 0 < arguments.delta < 1:
        raise InputError(f"--delta must lie strictly between 0 and 1, got {arguments.delta:g}")


def solve(entry: "ModelFile", solver: str | None, tolerance: float | None) -> "CharacteristicTime":
    """The characteristic time of a model, by the default solver unless another one is named."""
    from caet_opt.solving.backends import DEFAULT_SOLVER
    from caet_opt.solving.characteristic import characteristic_time

    return characteristic_time(
        entry.model, entry.task, solver=DEFAULT_SOLVER if solver is None else solver, tolerance=tolerance
    )


def prove(entry: "ModelFile", arguments: argparse.Namespace, program: str) -> int:
    """Solve, prove, write the certificate where one is asked for, and print."""
    from caet_opt.proving.problem import pose_exactly
    from caet_opt.proving.prove import check_digits, proven_time

    digits, path = DEFAULT_DIGITS if arguments.digits is None else arguments.digits, arguments.certificate
    check_digits(digits)
    pose_exactly(entry.model, entry.task)  # arms that doubles cannot tell apart are refused as such, not as a tie
    write = None if path is None else certificate_file(entry, path)
    result = solve(entry, arguments.solver, arguments.tolerance)
    proven = proven_time(entry.model, entry.task, digits, start=result)
    if write is not None:
        write(certificate_text(proven))
    if arguments.json:
        record = {**as_object(result, arguments.delta), **proven_object(proven), "certificate": path}
        print(json.dumps(record, allow_nan=False))
    else:
        written = f"\ncertificate written to {path}; check it with: caet-opt check {path}" if path else ""
        print(program + describe_result(result, entry, arguments.delta, proven) + written)
    return 0


def describe_result(
    result: "CharacteristicTime", entry: "ModelFile", delta: float | None, proven: "ProvenTime | None" = None
) -> str:
    """The answer as people read it."""
    lines = [entry.title] if entry.title else []
    lines += [headline(entry), "", arm_table(result) if proven is None else proven_table(proven), ""]
    lines += [binding_line(result), certified_line(result) if proven is None else proven_lines(proven)]
    if entry.characteristic_time is not None:
        deviation = relative_deviation(result.value, entry.characteristic_time)
        lines += [f"expected {entry.characteristic_time!r}, relative deviation {deviation:.1e}"]
    if delta is not None:
        lines += [bound_line(result, delta)]
    proof = "" if proven is None else f"; proof {duration(proven.seconds)}"
    lines += [f"solver {result.solver}, {result.iterations} iterations, {1e3 * result.seconds:.1f} ms{proof}"]
    return "\n".join(lines)


def bound_line(result: "CharacteristicTime", delta: float) -> str:
    """The least expected cost at delta, rounded down; from 1/2 on, where guessing is good enough, it is zero."""
    from caet_opt.solving.result import BoundForm

    who = f"expected cost of any {delta:g}-PAC strategy: at least"
    if delta >= 0.5:
        return f"{who} 0, which is all that can be said from delta = 1/2 on"
    bounds = [result.lower_bound(delta, form) for form in get_args(BoundForm)]
    kl, log = (outward(bound, bound, BOUND_DIGITS)[0] for bound in bounds)
    return f"{who} {kl} (kl form), {log} (log form)"


def certified_line(result: "CharacteristicTime") -> str:
    """T* as the digits that double precision certifies."""
    value, interval = certified(result.value, result.lower, result.upper, result.gap)
    return f"T* = {value}  in {interval}, relative gap {result.gap:.1e}"


def arm_table(result: "CharacteristicTime") -> str:
    """One line per arm."""
    model = result.model
    return table(
        ["arm", "mean", "cost", "cost proportion", "sampling proportion"],
        [
            [name, f"{mean:.10g}", f"{cost:.10g}", proportion(by_cost), proportion(by_pulls)]
            for name, mean, cost, by_cost, by_pulls in zip(
                model.arms,
                model.means,
                model.costs,
                result.cost_proportions.tolist(),
                result.sampling_proportions.tolist(),
                strict=True,
            )
        ],
    )


def binding_line(result: "CharacteristicTime") -> str:
    """The pairs that decide T*, with their weights."""
    if not result.binding_pairs:
        return "binding pairs: none, no pair constrains an arm that costs something"
    name = result.model.arms
    shown = [
        f"{name[a]} > {name[b]} (weight {proportion(weight)})"
        for (a, b), weight in zip(result.binding_pairs, result.pair_weights.tolist(), strict=True)
    ]
    return f"binding pairs: {', '.join(shown)}"


def as_object(result: "CharacteristicTime", delta: float | None = None) -> dict[str, Any]:
    """The answer with the keys of the public contract, and the lower bound where it is asked for."""
    record: dict[str, Any] = {
        "task": str(result.task),
        "family": str(result.model.family),
        "means": list(result.model.means),
        "costs": list(result.model.costs),
        "characteristic_time": result.value,
        "lower": result.lower,
        "upper": result.upper,
        "gap": result.gap,
        "cost_proportions": result.cost_proportions.tolist(),
        "sampling_proportions": result.sampling_proportions.tolist(),
        "binding_pairs": [list(pair) for pair in result.binding_pairs],
        "pair_weights": result.pair_weights.tolist(),
        "solver": result.solver,
        "iterations": result.iterations,
        "seconds": result.seconds,
    }
    if delta is not None:
        bounds = {"kl": result.lower_bound(delta), "log": result.lower_bound(delta, "log")}
        record["lower_bound"] = {"delta": delta, **bounds}
    return record


def cross_check(entry: "ModelFile", arguments: argparse.Namespace, program: str) -> int:
    """Solve with every installed backend, show the agreement; status 1 for a failure or a disagreement."""
    from caet_opt.solving.backends import installed_backends

    results: dict[str, CharacteristicTime | SolverError] = {}
    for name in installed_backends():
        try:
            results[name] = solve(entry, name, arguments.tolerance)
        except SolverError as error:
            results[name] = error
    solved = [result for result in results.values() if not isinstance(result, SolverError)]
    agree = bool(solved and max(r.lower for r in solved) <= min(r.upper for r in solved))
    if arguments.json:
        record = {"solvers": [as_entry(name, result) for name, result in results.items()], "agree": agree}
        print(json.dumps(record, allow_nan=False))
    else:
        print(program + describe_agreement(entry, results, agree))
    return 0 if agree and len(solved) == len(results) else 1


def as_entry(name: str, result: "CharacteristicTime | SolverError") -> dict[str, Any]:
    """One backend's answer or error as JSON."""
    if isinstance(result, SolverError):
        return {"solver": name, "error": str(result)}
    own_gap = result.solver_gap
    return {**as_object(result), "solver_gap": own_gap if own_gap < float("inf") else None}


def describe_agreement(entry: "ModelFile", results: "dict[str, CharacteristicTime | SolverError]", agree: bool) -> str:
    """A table of the backends' answers, and whether their intervals overlap."""
    failed = {name: result for name, result in results.items() if isinstance(result, SolverError)}
    headers = ["backend", "T*", "lower", "upper", "gap", "own gap", "iterations", "ms"]
    solved = [result for result in results.values() if not isinstance(result, SolverError)]
    lines = [entry.title] if entry.title else []
    lines += [
        headline(entry),
        "",
        table(headers, [agreement_row(name, r) for name, r in results.items()]),
        "",
    ]
    lines += [f"{name} failed: {error}" for name, error in failed.items()]
    if not solved:
        lines += ["no backend has a certified answer"]
    elif agree:
        lines += [f"the certified intervals of all {len(solved)} answers overlap"]
    else:
        lines += ["the certified intervals do NOT all overlap: at least one of them is wrong"]
    return "\n".join(lines)


def agreement_row(name: str, result: "CharacteristicTime | SolverError") -> list[str]:
    """One backend's line of the cross-check; own gap is the solver's, before its answer was polished."""
    if isinstance(result, SolverError):
        return [name, "failed", "", "", "", "", "", ""]
    value, interval = certified(result.value, result.lower, result.upper, result.gap)
    low, high = interval.strip("[]").split(", ")
    effort = [f"{result.gap:.1e}", f"{result.solver_gap:.1e}", str(result.iterations)]
    return [name, value, low, high, *effort, f"{1e3 * result.seconds:.1f}"]
