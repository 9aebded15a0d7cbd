"""The epigraph program of one instance in a file that other solvers read."""

import json
import re
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import ref

from caet_opt.bandits.limits import Limit
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.errors import InputError
from caet_opt.solving.problem import Question, ask_one

#: What each format is for, by the ending of the file's name.
FORMATS = {".nl": "AMPL's solvers", ".gms": "GAMS", ".bar": "BARON", ".lp": "linear solvers"}

#: How the name of the file ends that says what the names in a program mean.
MAP = ".map"

#: What is said of a program with linear cuts.
CUTS = "terms without a formula are linear cuts that touch them at the optimum: the rate is exact, efforts may differ"


def format_of(path: str | Path) -> str:
    """The ending of a program's name; `InputError` for one that no format has."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        known = ", ".join(f"{ending} ({what})" for ending, what in FORMATS.items())
        raise InputError(f"{path}: unknown format; the name of the file must end in one of: {known}")
    return suffix


def program_files(model: BanditModel, task: Task, path: str | Path, limits: tuple[Limit, ...] = ()) -> dict[Path, str]:
    """The contents of the files that hold a program: itself, and a JSON object of what its names mean.

    The one of AMPL has the names of variables and constraints in two more files, as is usual there.
    """
    question = ask_one(model, task, limits)
    if not question.problem.statements:
        raise InputError("there is no program to write: no statement constrains an arm that costs something, so T* = 0")
    suffix, place = format_of(path), Path(path)
    from caet_opt.solving.programs.algebraic_epigraph import AlgebraicEpigraph  # Pyomo takes half a second to import

    program = AlgebraicEpigraph(question)
    if suffix == ".lp":
        check_linear(program)
    safe = AlgebraicEpigraph(with_names(question, safe_names(model.arms)))
    with TemporaryDirectory() as folder:
        symbols = write_program(safe, Path(folder) / f"program{suffix}")
        found = {file.suffix: file.read_text(encoding="utf-8") for file in sorted(Path(folder).iterdir())}
    told = describe_symbols(symbols, meanings(program, safe))
    note = {"note": CUTS} if program.has_cuts else {}
    head = {"task": str(task), "family": str(model.family), "maximise": "rate, which is 1 / T*", **note}
    files = {place: found.pop(suffix)} | {place.with_suffix(ending): text for ending, text in found.items()}
    return files | {place.with_name(place.name + MAP): json.dumps(head | told, indent=1, ensure_ascii=False) + "\n"}


def check_linear(program: Any) -> None:
    """Raise `InputError` for a program with a term that is not linear."""
    for name, constraint in program.statements.items():
        if constraint.body.polynomial_degree() not in (0, 1):
            others = ", ".join(ending for ending in FORMATS if ending != ".lp")
            raise InputError(
                f"a .lp file holds linear programs, and the term of {name!r} is not linear; write {others}"
            )


def write_program(program: Any, path: Path) -> dict[str, str]:
    """Let Pyomo write a program; returns the name in the model of each symbol of the file.

    `InputError` for what the format cannot express.
    """
    from pyomo.common.errors import PyomoException

    try:
        _, number = program.write(str(path), io_options={"symbolic_solver_labels": True})
    except (PyomoException, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"a {path.suffix} file cannot hold this program: {reason}") from error
    symbols = program.solutions.symbol_map[number].bySymbol
    # older versions of Pyomo have references to the components
    components: list[Any] = [found() if isinstance(found, ref) else found for found in symbols.values()]
    return {symbol: component.name for symbol, component in zip(symbols, components, strict=True)}


def meanings(program: Any, safe: Any) -> dict[str, tuple[str, str]]:
    """What each name in the model with safe names is: a variable or a constraint, and of which arm or statement."""
    import pyomo.environ as pyo

    found = {}
    for kind, what in ((pyo.Var, "variables"), (pyo.Constraint, "constraints")):
        for name, component in safe.component_map(kind).items():
            own = getattr(program, name)
            for index, one in zip(component, own, strict=True):
                text = {"effort": f"effort of arm {one}", "rate": "rate", "budget": "budget"}.get(name)
                text = text or (str(one) if name in ("statements", "limits") else f"{name} of {one}")
                found[component[index].name] = (what, text)
    return found


def describe_symbols(symbols: dict[str, str], known: dict[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Symbols of a file and their meanings, variables and constraints apart."""
    told: dict[str, dict[str, str]] = {"variables": {}, "constraints": {}}
    for symbol, name in symbols.items():
        if name in known:
            what, text = known[name]
            told[what][symbol] = text
    return told


def safe_names(names: Sequence[str]) -> list[str]:
    """Names of letters, digits and underscores that differ in more than case.

    >>> safe_names(["2.4 GHz", "2,4 GHz", "über"])
    ['2_4_GHz', '2_4_GHz_1', '_ber']
    """
    found: list[str] = []
    for number, name in enumerate(names):
        safe = re.sub(r"[^A-Za-z0-9_]", "_", name) or "arm"
        taken = {other.lower() for other in found}
        found.append(f"{safe}_{number}" if safe.lower() in taken else safe)
    return found


def with_names(question: Question, names: Sequence[str]) -> Question:
    """The same question about arms of other names."""
    model = copy(question.model)
    vars(model)["arms"] = tuple(names)  # the record is frozen
    return Question(model, question.task, question.columns, limits=question.limits)
