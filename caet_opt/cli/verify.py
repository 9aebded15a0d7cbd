"""``caet-opt verify``: closed forms, or a user's formula, against every solver and against proven digits."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Any

from caet_opt.cli.arguments import INTERRUPTED, seed, whole, worker_count
from caet_opt.cli.output import show
from caet_opt.common.numbers import table
from caet_opt.errors import InputError
from caet_opt.presenting.progress import Bar
from caet_opt.proving import has_flint, missing_flint
from caet_opt.simulating.pool import cores, run_jobs

if TYPE_CHECKING:
    from caet_opt.bandits.model import BanditModel
    from caet_opt.bandits.tasks import Task
    from caet_opt.proving.closed_forms import ClosedForm
    from caet_opt.proving.verification import Failure, JudgeSummary, Plan, Verification

DESCRIPTION = """\
Test closed forms of T* on random instances from their whole domain: both branches, close
to the boundary between them, and extreme ratios of gaps and costs. The formula's value
must lie in every solver's certified interval and in the interval proven to --digits
digits. The table shows the worst relative error; for u* it shows by how much the cost of
the formula's proportions exceeds T*. Instances that a solver cannot solve are counted. A
formula that fails is shown with its worst instance, and the exit status is 1."""

EXAMPLES = """\
a formula of your own is a Python file that defines
  characteristic_time(model, task)   T*. A float is tested in double precision. To test all
                                     digits, compute with mpmath, SymPy or fractions from
                                     model.exact_means and model.exact_costs
  draw(rng)                          a random (model, task); or, instead of this,
  INSTANCES                          a list of such pairs, all of which are used
  sampling_proportions(model, task)  u* (optional)

examples:
  caet-opt verify
  caet-opt verify --list
  caet-opt verify three-arm-ranking --instances 1000
  caet-opt verify --instances 1000 --slow 100 --digits 30 --json
  caet-opt verify --formula my_formula.py --solvers native
"""


#: What --list says of a closed form.
FORM_KEYS = ("name", "title", "domain", "source", "formula")
LISTED = "{name}: {title}\n  holds for {domain}\n  source: {source}\n  T* = {formula}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="closed forms to test (all)")
    parser.add_argument("--formula", metavar="FILE.py", help="test your own formula instead (see below)")
    parser.add_argument("--list", action="store_true", help="only print the closed forms with their formulas")
    how = parser.add_argument_group("how much to test")
    how.add_argument("--instances", type=whole, default=200, metavar="N", help="random instances per formula (200)")
    how.add_argument(
        "--slow", type=whole, default=20, metavar="N", help="how many of them for each solver other than native (20)"
    )
    how.add_argument("--proven", type=whole, metavar="N", help="how many of them with proven digits (all)")
    how.add_argument("--digits", type=whole, default=50, metavar="N", help="proven digits (50)")
    how.add_argument("--solvers", nargs="+", metavar="S", help="backends (every installed one)")
    how.add_argument("--seed", type=seed, default=0, metavar="S", help="seed of the instances (0)")
    how.add_argument("--workers", type=worker_count, metavar="N", help="processes (one per core)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """Verify, print, and return the exit status: 1 when a formula fails."""
    check_arguments(arguments)
    if arguments.list:
        forms = find_forms(arguments.names)
        records = [{key: str(getattr(form, key)) for key in FORM_KEYS} for form in forms]
        show(arguments.json, lambda: records, lambda: "\n\n".join(LISTED.format(**record) for record in records))
        return 0

    from caet_opt.proving.verification import Interrupted, make_plan, read_formula, verify, wrap_closed_form

    plan = make_plan(arguments.solvers, arguments.slow, arguments.digits, arguments.proven)
    count, first = arguments.instances, arguments.seed
    if arguments.formula is not None:
        formulas = [read_formula(arguments.formula, count, first)]
    else:
        formulas = [wrap_closed_form(form, count, first) for form in find_forms(arguments.names)]
    total, workers = sum(len(formula.instances) for formula in formulas), arguments.workers or cores()
    interrupted = False
    try:
        with Bar(total, "instances") as bar:
            verifications = verify(formulas, plan, partial(run_jobs, workers=workers), bar.step)
    except Interrupted as interrupt:
        print(f"caet-opt: interrupted, {interrupt.finished} of {total} instances are checked", file=sys.stderr)
        verifications, interrupted = interrupt.verifications, True
    if arguments.json or verifications:
        show(
            arguments.json,
            lambda: as_object(verifications, plan, arguments.seed),
            lambda: say_verdicts(verifications, plan, arguments.proven is None and not has_flint()),
        )
    return INTERRUPTED if interrupted else 0 if all(entry.holds for entry in verifications) else 1


def check_arguments(arguments: argparse.Namespace) -> None:
    """Raise `InputError` for what can be told wrong without the formulas."""
    if arguments.formula is not None and (arguments.names or arguments.list):
        raise InputError("give names of closed forms or --formula FILE.py, not both")
    for name, least in (("instances", 1), ("digits", 1), ("slow", 0), ("proven", 0)):
        given = getattr(arguments, name)
        if given is not None and given < least:
            raise InputError(f"--{name} must be {least} or more, got {given}")


def find_forms(names: Sequence[str]) -> "list[ClosedForm]":
    """The closed forms that were named, each once, or all."""
    from caet_opt.proving.closed_forms import CLOSED_FORMS, closed_form

    return [closed_form(name) for name in dict.fromkeys(names or CLOSED_FORMS)]


def say_verdicts(verifications: "Sequence[Verification]", plan: "Plan", unproven: bool) -> str:
    """What the columns say and of how many instances, the table, and what is wrong with formulas that fail."""
    from caet_opt.proving.verification import EVERY, PROPORTIONS

    judges = list(dict.fromkeys(judged.judge for entry in verifications for judged in entry.judged))
    groups: dict[str, list[str]] = {}
    for name, limit in {**plan.limits, plan.proof: plan.proven}.items():
        if name in judges:
            groups.setdefault("every instance" if limit == EVERY else f"the first {limit}", []).append(name)
    lines = ["worst relative errors: " + "; ".join(f"{', '.join(names)} on {which}" for which, names in groups.items())]
    if PROPORTIONS in judges:
        lines.append("u*: by how much the cost of the formula's proportions exceeds T*")
    if unproven:
        lines.append(f"left out: {missing_flint()}")
    troubles = [describe_trouble(entry) for entry in verifications if not entry.holds]
    return "\n".join([*lines, "", tabulate(verifications, judges), *troubles])


def tabulate(verifications: "Sequence[Verification]", judges: Sequence[str]) -> str:
    """One line per formula: the worst relative error of each judge."""
    rows = []
    for verification in verifications:
        by_judge = {judged.judge: judged for judged in verification.judged}
        cells = [write_cell(by_judge.get(judge)) for judge in judges]
        verdict = "holds" if verification.holds else "FAILS"
        rows.append([verification.name, str(verification.instances), *cells, verdict])
    return table(["formula", "instances", *judges, ""], rows)


def write_cell(judged: "JudgeSummary | None") -> str:
    """The worst error of one judge, and how many instances it could not solve."""
    if judged is None:
        return "-"
    error = "-" if judged.worst_error is None else f"{judged.worst_error:.1e}"
    return error + (f" ({judged.unsolved} unsolved)" if judged.unsolved else "")


def describe_trouble(verification: "Verification") -> str:
    """What is wrong with a formula, and where, in words with which it can be reproduced."""
    failure = verification.failure
    if failure is None:
        return f"\n{verification.name}: no solver had an answer, so nothing is verified"
    against = ", ".join(f"{judged.failures} by {judged.judge}" for judged in verification.judged if judged.failures)
    return (
        f"\n{verification.name} FAILS ({against}); worst by {failure.judge}, relative error {failure.error:.1e}:\n"
        f"  {failure.finding}\n  {write_command(*failure.instance)}"
        + ("\n  the proven digits agree with the formula here, so suspect the solver" * failure.proven_right)
    )


def write_command(model: "BanditModel", task: "Task") -> str:
    """The command line that solves an instance, or the text of its model file where the task needs one."""
    from caet_opt.bandits.modelfile import ModelFile, to_table
    from caet_opt.bandits.tasks import custom_part
    from caet_opt.bandits.tasks.lower import SUFFIX
    from caet_opt.common.exact import decimal_text

    if custom_part(task) is not None:
        import tomli_w

        return tomli_w.dumps(to_table(ModelFile(model, task))).replace("\n", "\n  ").rstrip()
    means = ",".join(map(decimal_text, model.exact_means))
    costs = model.cost_rule or ",".join(map(decimal_text, model.exact_costs))
    asked = str(task).removesuffix(SUFFIX).rstrip()
    flag = " --lower-is-better" if model.lower_is_better else ""
    return f"caet-opt solve --family {model.family} --means {means} --costs {costs} --task {quote(asked)}{flag}"


def as_object(verifications: "Sequence[Verification]", plan: "Plan", seed: int) -> dict[str, Any]:
    """Everything that the table says and some more; an infinite error is null, as JSON has no infinity."""

    def drop_infinity(record: dict[str, Any]) -> dict[str, Any]:
        return {key: None if value == float("inf") else value for key, value in record.items()}

    def write_failure(failure: "Failure") -> dict[str, Any]:
        record = {name: getattr(failure, name) for name in ("judge", "error", "finding")}
        return record | {"instance": write_command(*failure.instance), "vindicated": failure.proven_right}

    formulas = [
        {
            "name": one.name,
            "holds": one.holds,
            "instances": one.instances,
            "judges": [drop_infinity(asdict(judged)) for judged in one.judged],
            "proportions_deviation": one.deviation,
            "failure": one.failure and drop_infinity(write_failure(one.failure)),
        }
        for one in verifications
    ]
    return {"digits": plan.digits if plan.proven else None, "seed": seed, "formulas": formulas}
