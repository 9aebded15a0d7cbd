"""Problems that fall apart: groups of costly arms between which no comparison is needed.

    T* = sum_i T*_i,     w* = (w*_1, ..., w*_n),     u* = w* over the sum of all efforts.

The page docs/mathematics/closed_forms.md has the proof.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import sympy

from caet_opt.bandits.families import Family, Gaussian
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Comparisons, Groups, Task
from caet_opt.proving.closed_forms.base import ClosedForm, Match, count
from caet_opt.proving.closed_forms.compared import ComparedPairs
from caet_opt.proving.closed_forms.drawing import gaussian_family
from caet_opt.solving.problem import ask

number = sympy.Symbol("i", integer=True, positive=True)
T = sympy.IndexedBase("T")


class Decoupled(ClosedForm):
    """``T* = sum_i T*_i`` over the groups, each of them by its own closed form."""

    name = "decoupled"
    title = "Groups that are not compared with each other"
    source = "derived here"
    domain = "two or more groups of costly arms, no needed pair between them, each with a closed form of its own"
    symbols = (T, count)
    formula = sympy.Sum(T[number], (number, 1, count))
    efforts = ()

    def __init__(self, forms: Sequence[ClosedForm]) -> None:
        self.forms = tuple(forms)

    def match(self, compared: ComparedPairs) -> Match | None:
        parts = compared.components()
        if len(parts) < 2:
            return None
        found = [self.find(part) for part in parts]
        if None in found:
            return None
        matches = tuple(pair for pair in found if pair is not None)
        return Match(tuple(arm for _, match in matches for arm in match.arms), matches)

    def find(self, part: ComparedPairs) -> tuple[ClosedForm, Match] | None:
        """The first form that holds for a group, with its reading of it."""
        for form in self.forms:
            match = form.match(part)
            if match is not None:
                return form, match
        return None

    def time(self, match: Match, family: type[Family]) -> Sequence[Any]:
        return [sum(form.time(part, family)[0] for form, part in match.values)]

    def effort_of(self, match: Match, family: type[Family]) -> Sequence[Any]:
        return [effort for form, part in match.values for effort in form.effort_of(part, family)]

    def draw(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        parts = [self.draw_part(rng)]
        wanted = parts[0][0].family
        while len(parts) < 2 or (len(parts) < 3 and rng.random() < 0.3):
            part = self.draw_part(rng)
            if part[0].family == wanted or (isinstance(wanted, Gaussian) and isinstance(part[0].family, Gaussian)):
                parts.append(part)
        return join(parts)

    def draw_part(self, rng: np.random.Generator) -> tuple[BanditModel, Task]:
        """An instance of one of the other forms, of which the pairs can be joined."""
        while True:
            model, task = self.forms[rng.integers(len(self.forms))].draw(rng)
            if all(statement.is_plain for statement in ask(model, task).statements):
                return model, task


def join(parts: Sequence[tuple[BanditModel, Task]]) -> tuple[BanditModel, Task]:
    """Models of one family side by side, with a task that needs the pairs of each: groups where these are best arms."""
    models = [model for model, _ in parts]
    starts = np.cumsum([0, *(len(model.means) for model in models)]).tolist()
    family = models[0].family
    if isinstance(family, Gaussian):
        family = gaussian_family([float(variance) for model in models for variance in model.dispersions])
    joined = BanditModel(
        family, [mean for model in models for mean in model.means], [cost for model in models for cost in model.costs]
    )
    pairs = [
        (start + a, start + b)
        for start, (model, task) in zip(starts, parts, strict=False)
        for a, b in task.pairs(model.means)
    ]
    groups = Groups([list(range(start, end)) for start, end in pairwise(starts)])
    return joined, groups if set(groups.pairs(joined.means)) == set(pairs) else Comparisons(pairs)
