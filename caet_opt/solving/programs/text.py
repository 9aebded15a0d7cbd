"""The epigraph program of one instance in the paper's notation, for people to read."""

import re
from collections.abc import Hashable, Iterable, Sequence

from caet_opt.bandits.families import Family
from caet_opt.bandits.limits import Limit
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.bandits.tasks.statements import Statement
from caet_opt.common.files import escape_controls
from caet_opt.errors import InputError
from caet_opt.solving.levels import asked_level, constrains
from caet_opt.solving.problem import Question, ask, ask_answer


def show_program(model: BanditModel, task: Task, limits: tuple[Limit, ...] = (), answer: Hashable = None) -> str:
    """``max t  s.t.  t <= w_a d(mu_a, m) + w_b d(mu_b, m)`` for every statement, with this model's numbers, of the
    answer or of one of several.

    Statements that constrain nothing are listed with the reason.
    """
    if model.distributions is not None:
        raise InputError(
            f"the program of family {model.family} has no formula in means; docs/mathematics/bounded.md has it"
        )
    question = ask(model, task, limits) if answer is None else ask_answer(model, task, answer, limits)
    kept, statements = set(question.problem.statements), question.statements
    told = "" if answer is None else f", answer {escape_controls(task.write_answer(answer, model.arms))}"
    lines = [f"1 / T* = max t for task {task}{told}, with w the effort: pulls per unit of information", ""]
    lines += [f"  {line}" for line in divergence_lines(model)]
    lines += ["", *program_lines(model, [statement for statement in statements if statement in kept], question)]
    dropped = [statement for statement in statements if statement not in kept]
    if dropped:
        lines += ["", "statements that constrain nothing"]
        lines += [f"  {write(model, statement)}: {reason(model, statement)}" for statement in dropped]
    return "\n".join(lines) + "\n"


def write(model: BanditModel, statement: Statement) -> str:
    """A statement with the arms' names."""
    return statement.write(tuple(map(escape_controls, model.arms)))


def program_lines(model: BanditModel, statements: Sequence[Statement], question: Question) -> list[str]:
    """Objective and constraints, or the words that there is nothing to pay."""
    if not statements:
        return ["no statement constrains an arm that costs something, so T* = 0"]
    rows = [(constraint(model, statement), write(model, statement)) for statement in statements]
    width = max(len(text) for text, _ in rows)
    limited = range(len(model.costs)) if question.limits else ()
    used = {arm for arms in (*(one.arms for one in statements), limited) for arm in arms if model.costly[arm]}
    budget = format_linear((model.costs[arm], effort(model, arm)) for arm in sorted(used))
    lines = [f"t <= {text.ljust(width)}    ({statement})" for text, statement in rows]
    lines += [f"{budget} = 1", *limit_lines(question), "w >= 0"]
    idle = [arm for arm, costly in enumerate(model.costly) if costly and arm not in used]
    lines += [f"{effort(model, arm)} = 0, the arm is in no constraint" for arm in idle]
    first, *rest = lines
    return ["maximise    t", f"subject to  {first}", *(f"            {line}" for line in rest)]


def limit_lines(question: Question) -> list[str]:
    """The rows of the limits."""
    model, names = question.model, tuple(map(escape_controls, question.model.arms))
    return [
        f"{format_linear((float(part), effort(model, arm)) for arm, part in enumerate(row.coefficients))} "
        f"{'=' if row.equal else '<='} 0    ({limit.write(names)})"
        for limit, row in zip(question.limits, question.rows, strict=True)
    ]


def divergence_lines(model: BanditModel) -> list[str]:
    """The family's divergence and its parameters; per-arm dispersions make it a divergence per arm."""
    family = model.family
    parameters = [f"{name} = {format_parameter(value)}" for name, value in vars(family).items() if name[0] != "_"]
    lines = [", ".join([formula(family), *parameters])]
    if has_own_dispersions(model):
        lines.append(f"d_a is d with the dispersion v_a of arm a, v = {format_parameter(model.dispersions.tolist())}")
    return lines


def formula(family: Family) -> str:
    """``d(x, y) = ...`` from the first line of the family's docstring."""
    first = (type(family).__doc__ or "").strip().partition("\n")[0]
    found = re.search(r"``(.+?)``", first)
    return found[1] if found else f"d(x, y): Kullback-Leibler divergence of the {family.name} family"


def constraint(model: BanditModel, statement: Statement) -> str:
    """What bounds t for a statement: both arms at their common mean, or at means that contradict it, or the costly arm
    against the free one or the level."""
    a, b, margin, ratio = statement
    costly = [arm for arm in statement.arms if model.costly[arm]]
    if a is not None and b is not None and len(costly) == 2:
        if not statement.is_plain:
            point = format_linear([(float(ratio), "y")])
            if margin != 0:
                point += f" {'+' if margin > 0 else '-'} {format_number(abs(float(margin)))}"
            return f"min over y of {term(model, a, point)} + {term(model, b, 'y')}"
        weights = [(arm, weight(model, arm)) for arm in (a, b)]
        mean = format_linear((model.means[arm], w) for arm, w in weights)
        total = format_linear((1.0, w) for _, w in weights)
        return f"{term(model, a, 'm')} + {term(model, b, 'm')},  m = ({mean}) / ({total})"
    level = format_number(float(asked_level(statement, costly[0], model.exact_means.__getitem__)))
    free = [f",  {name_of(model, arm)} is free" for arm in statement.arms if arm != costly[0]]
    return "".join([term(model, costly[0], level), *free])


def reason(model: BanditModel, statement: Statement) -> str:
    """Why a statement is not in the program."""
    costly = [arm for arm in statement.arms if model.costly[arm]]
    if not costly:
        return "both arms are free of cost" if len(statement.arms) == 2 else "the arm is free of cost"
    (arm,) = costly
    if not constrains(model, statement):
        level = float(asked_level(statement, arm, model.exact_means.__getitem__))
        x, y = format_number(model.means[arm]), format_number(level)
        if not model.family.mean_space.low <= level <= model.family.mean_space.high:
            return f"{y} is no mean of the {model.family.name} family, any effort will do"
        return f"d({x}, {y}) is infinite, any effort will do"
    return f"implied by a statement about {name_of(model, arm)} with a nearer free arm or level"


def term(model: BanditModel, arm: int, other: str) -> str:
    """``w_a d(mu_a, other)``."""
    divergence = f"d_{arm}" if has_own_dispersions(model) else "d"
    return f"{effort(model, arm)} {divergence}({format_number(model.means[arm])}, {other})"


def weight(model: BanditModel, arm: int) -> str:
    """An arm's weight in a common mean: its effort, by its variance when the variances differ."""
    return f"{effort(model, arm)}/v_{arm}" if has_own_dispersions(model) else effort(model, arm)


def has_own_dispersions(model: BanditModel) -> bool:
    """Whether the arms' dispersions differ."""
    return len(set(model.dispersions.tolist())) > 1


def effort(model: BanditModel, arm: int) -> str:
    """``w_2``, or ``w[name]`` for a named arm."""
    return f"w_{arm}" if model.arms[arm] == str(arm) else f"w[{escape_controls(model.arms[arm])}]"


def name_of(model: BanditModel, arm: int) -> str:
    """``arm 2``, or the arm's name."""
    return f"arm {arm}" if model.arms[arm] == str(arm) else escape_controls(model.arms[arm])


def format_linear(terms: Iterable[tuple[float, str]]) -> str:
    """A linear form: ``3 w_0 - w_1 + 2 w_2``; zero coefficients are left out."""
    text = ""
    for coefficient, variable in terms:
        if coefficient == 0:
            continue
        sign = (" - " if coefficient < 0 else " + ") if text else ("-" if coefficient < 0 else "")
        factor = "" if abs(coefficient) == 1 else f"{format_number(abs(coefficient))} "
        text += f"{sign}{factor}{variable}"
    return text or "0"


def format_number(number: float) -> str:
    """A number as it would be typed."""
    return f"{number:.10g}"


def format_parameter(value: object) -> str:
    """A family's parameter: a number, or numbers separated by commas."""
    if isinstance(value, tuple | list):
        return ", ".join(map(format_parameter, value))
    return format_number(value) if isinstance(value, int | float) else str(value)
