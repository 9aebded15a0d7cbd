"""The public names of the library, and the types that they hand out, which are imported from their rooms."""

import inspect
import sys
from functools import cached_property
from typing import Any, get_args, get_type_hints

import pandas as pd
from matplotlib.figure import Figure

import caet_opt


def public_objects() -> dict[str, Any]:
    """Every public name with what it stands for; those of `closed_forms` are reached through it."""
    named = {name: getattr(caet_opt, name) for name in dir(caet_opt)}
    forms = caet_opt.closed_forms
    return named | {f"closed_forms.{name}": getattr(forms, name) for name in forms.__all__}


def all_handed_out() -> list[type]:
    """Every public class, every type that a public object hands out, and what these hand out in turn."""
    waiting, found = list(public_objects().values()), list[Any]()
    while waiting:
        thing = waiting.pop()
        if thing not in found:
            found.append(thing)
            waiting += handed_out(thing)
    return sorted(filter(inspect.isclass, found), key=lambda kind: (kind.__module__, kind.__name__))


def handed_out(thing: Any) -> set[type]:
    """Types that a public function takes or returns; fields of a public class, and what its public methods return."""
    if inspect.isfunction(thing):
        return own_classes(list(resolved(thing).values()))
    if not inspect.isclass(thing):
        return set()
    found = own_classes([hint for name, hint in resolved(thing).items() if not name.startswith("_")])
    for name in dir(thing):
        member = inspect.getattr_static(thing, name)
        if isinstance(member, property | cached_property | classmethod | staticmethod):
            member = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", None)
        if not name.startswith("_") and inspect.isfunction(member) and member.__module__.startswith("caet_opt"):
            found |= own_classes(resolved(member).get("return"))
    return found


def resolved(thing: Any) -> dict[str, Any]:
    """The annotations of a function or a class, those that only type checkers import among them."""
    return get_type_hints(thing, vars(sys.modules[thing.__module__]) | {"pd": pd, "Figure": Figure})


def own_classes(hint: Any) -> set[type]:
    """The classes of this library that an annotation is made of."""
    if isinstance(hint, list):  # the arguments of a callable
        return {found for part in hint for found in own_classes(part)}
    inner = {found for part in get_args(hint) for found in own_classes(part)}
    own = getattr(hint, "__module__", "").startswith("caet_opt") and inspect.isclass(hint)
    return inner | {hint} if own else inner
