"""Certificates: proofs as JSON that `caet_opt.proving.check` accepts, or any program that a referee writes."""

import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import TASKS, Custom, LowerIsBetter, Task
from caet_opt.errors import InputError, SolverError, unknown_name
from caet_opt.proving import check as checker
from caet_opt.proving.check import MOST_BYTES, Rejected
from caet_opt.proving.result import ProvenTime


def read_certificate(path: str | Path) -> dict[str, Any]:
    """The certificate in a file; `InputError` when it cannot be read or holds none."""
    try:
        return checker.read(str(path))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise InputError(f"{path}: not a certificate ({error}); write one with solve --certificate") from error


def check_certifiable(model: BanditModel, task: Task) -> None:
    """Raise `InputError` for a family or a task that certificates do not know."""
    if model.family.name not in checker.DIVERGENCES:
        unknown = unknown_name("family", model.family.name, checker.DIVERGENCES)
        raise InputError(f"a certificate cannot be written: {unknown}")
    inner = task.task if isinstance(task, LowerIsBetter) else task
    if TASKS.get(inner.name) is not type(inner):
        raise InputError(f"a certificate cannot be written: {unknown_name('task', task.name, TASKS)}")
    if isinstance(task, Custom):
        answers = checker.read_answers(write_answers(task))
        try:  # a certificate has its answers twice, in the theorem too
            checker.check_answers(answers, checker.Work(2 * len(checker.canonical_json(write_answers(task)))))
        except Rejected as reason:
            raise InputError(f"a certificate cannot be written: {reason}") from reason


def write_answers(task: Custom) -> list[list[list[Any]]]:
    """The answers of a custom task as certificates have them."""
    stated = tuple(tuple(checker.Statement(*statement) for statement in answer) for answer in task.stated)
    return checker.write_answers(stated)


def certificate(proven: ProvenTime) -> dict[str, Any]:
    """The certificate of a proof, accepted by the checker before it is returned."""
    model, task = proven.model, proven.task
    check_certifiable(model, task)
    answers = {"answers": write_answers(task)} if isinstance(task, Custom) else {}
    stated = [checker.Statement(*statement) for statement in proven.statements]
    content: dict[str, Any] = {
        "format": checker.FORMAT,
        "version": checker.VERSION,
        "family": model.family.name,
        "task": checker.task_text(checker.parse_task(str(task), answers.get("answers"))),
        **answers,
        "digits": proven.digits,
        "means": texts(model.exact_means),
        "costs": texts(model.exact_costs),
        "dispersions": texts(model.exact_dispersions),
        "effort": texts(proven.effort),
        "statements": list(map(checker.statement_text, stated)),
        "numbers": [[*statement[:2], *texts(statement[2:])] for statement in stated],
        "weights": [texts(listed) for listed in proven.weights],
        "points": [[texts(point) for point in listed] for listed in proven.points],
        **dict(zip(("lower", "upper"), texts([proven.lower, proven.upper]), strict=True)),
    }
    plain: dict[str, Any] = json.loads(json.dumps(content))
    plain["theorem"] = checker.theorem(plain)
    document = {**plain, "sha256": checker.digest(plain)}
    try:
        checker.check(document)
    except Rejected as reason:
        raise SolverError(f"the checker rejects the certificate: {reason}") from reason
    size = len(json.dumps(document, indent=1))
    if size > MOST_BYTES:
        raise InputError(
            f"a certificate cannot be written: it would have {size} bytes, and up to {MOST_BYTES} are "
            "checked in reasonable time; prove fewer digits, or ask about fewer arms"
        )
    return document


def texts(values: Iterable[Fraction | None]) -> list[str | None]:
    """Rational numbers in full; `InputError` for one that is too long."""
    try:
        return [None if value is None else checker.text(value) for value in values]
    except ValueError as error:
        raise InputError(f"a certificate cannot be written: a number has too many digits ({error})") from error
