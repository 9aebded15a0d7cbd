"""The epigraph program of one instance in the paper's notation, for people to read."""

import re
from collections.abc import Iterable, Sequence

from caet_opt.bandits.families import Family
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Pair, Task
from caet_opt.common.files import escape_controls
from caet_opt.common.numbers import pair_names
from caet_opt.solving.problem import constrains, pose


def show_program(model: BanditModel, task: Task) -> str:
    """``max t  s.t.  t <= w_a d(mu_a, m) + w_b d(mu_b, m)`` for every needed pair, with this model's numbers.

    Pairs that constrain nothing are listed with the reason.
    """
    kept = set(pose(model, task).pairs)
    pairs = task.pairs(model.means)
    lines = [f"1 / T* = max t for task {task}, with w the effort: pulls per unit of information", ""]
    lines += [f"  {line}" for line in divergence_lines(model)]
    lines += ["", *program_lines(model, [pair for pair in pairs if pair in kept])]
    dropped = [pair for pair in pairs if pair not in kept]
    if dropped:
        names = pair_names(dropped, model.arms)
        lines += ["", "pairs that constrain nothing"]
        lines += [f"  {name}: {reason(model, pair)}" for name, pair in zip(names, dropped, strict=True)]
    return "\n".join(lines) + "\n"


def program_lines(model: BanditModel, pairs: Sequence[Pair]) -> list[str]:
    """Objective and constraints, or the statement that there is nothing to pay."""
    if not pairs:
        return ["no pair constrains an arm that costs something, so T* = 0"]
    rows = list(zip([constraint(model, pair) for pair in pairs], pair_names(pairs, model.arms), strict=True))
    width = max(len(text) for text, _ in rows)
    used = {arm for pair in pairs for arm in pair if model.costly[arm]}
    budget = format_linear((model.costs[arm], effort(model, arm)) for arm in sorted(used))
    lines = [f"t <= {text.ljust(width)}    ({pair})" for text, pair in rows]
    lines += [f"{budget} = 1", "w >= 0"]
    idle = [arm for arm, costly in enumerate(model.costly) if costly and arm not in used]
    lines += [f"{effort(model, arm)} = 0, the arm is in no constraint" for arm in idle]
    first, *rest = lines
    return ["maximise    t", f"subject to  {first}", *(f"            {line}" for line in rest)]


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


def constraint(model: BanditModel, pair: Pair) -> str:
    """What bounds t for a pair: both arms at their common mean, or the costly arm against the free one."""
    a, b = pair
    if model.costly[a] and model.costly[b]:
        weights = [(arm, weight(model, arm)) for arm in pair]
        mean = format_linear((model.means[arm], w) for arm, w in weights)
        total = format_linear((1.0, w) for _, w in weights)
        return f"{term(model, a, 'm')} + {term(model, b, 'm')},  m = ({mean}) / ({total})"
    costly, free = (a, b) if model.costly[a] else (b, a)
    return f"{term(model, costly, format_number(model.means[free]))},  {name_of(model, free)} is free"


def reason(model: BanditModel, pair: Pair) -> str:
    """Why a pair is not in the program."""
    costly = [arm for arm in pair if model.costly[arm]]
    if not costly:
        return "both arms are free of cost"
    (arm,), (free,) = costly, set(pair) - set(costly)
    if not constrains(model, pair):
        x, y = format_number(model.means[arm]), format_number(model.means[free])
        return f"d({x}, {y}) is infinite, any effort will do"
    return f"implied by a pair of {name_of(model, arm)} with a nearer free arm"


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
