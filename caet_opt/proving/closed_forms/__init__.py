"""Closed forms of T*: each one object with its domain, its formula, and random instances to verify it on.

The derivations are on the page docs/mathematics/closed_forms.md.

>>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
>>> form = closed_forms.applicable(model, "ranking")[0]
>>> print(form.name, form.decimal_time(model, "ranking", digits=30))
three-arm-ranking-gaps 11.6568542494923801952067548968
"""

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.errors import InputError, unknown_name
from caet_opt.proving.closed_forms.base import ClosedForm, Match
from caet_opt.proving.closed_forms.compared import ComparedPairs, Nearest, compare
from caet_opt.proving.closed_forms.decoupled import Decoupled
from caet_opt.proving.closed_forms.free_comparisons import (
    AlternatingRanking,
    CostlyBestArm,
    FreeBestArm,
    Levels,
    TwoArmsOneFree,
)
from caet_opt.proving.closed_forms.gaussian_pairs import EnclosedPair, ThreeArmGaps, ThreeArmRanking, TwoGaussianArms
from caet_opt.solving.problem import read_task

#: Forms that are not made of others, the more special ones first.
ELEMENTARY = (
    TwoGaussianArms(),
    TwoArmsOneFree(),
    ThreeArmGaps(),
    ThreeArmRanking(),
    EnclosedPair(),
    CostlyBestArm(),
    FreeBestArm(),
    Levels(),
    AlternatingRanking(),
)

#: Every closed form by its name, in the order in which `applicable` lists them.
CLOSED_FORMS: dict[str, ClosedForm] = {form.name: form for form in (*ELEMENTARY, Decoupled(ELEMENTARY))}


def applicable(model: BanditModel, task: Task | str) -> tuple[ClosedForm, ...]:
    """The closed forms that hold for this model and task, the most special one first; none where T* is infinite."""
    task = read_task(task, model)
    compared = None if task.several_right else compare(model, task, exact=False)
    if compared is None:
        return ()
    return tuple(form for form in CLOSED_FORMS.values() if form.match(compared) is not None)


def closed_form(name: str) -> ClosedForm:
    """The closed form of this name."""
    if name not in CLOSED_FORMS:
        raise InputError(unknown_name("closed form", name, CLOSED_FORMS))
    return CLOSED_FORMS[name]


__all__ = ["CLOSED_FORMS", "ClosedForm", "ComparedPairs", "Match", "Nearest", "applicable", "closed_form"]
