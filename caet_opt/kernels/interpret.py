"""The same functions as they are, run by Python, with the bits of compiled code."""

from collections.abc import Callable, Mapping
from math import exp, inf, log, log1p, nan, sqrt
from typing import Any

import numpy as np

from caet_opt.bandits.families import Family
from caet_opt.kernels.compile import Kernel, Sources, rebind
from caet_opt.kernels.family_codes import FAMILY_CODES, foreign_formulas

#: Nothing that stands in place of a function.
NO_FORMULAS: Mapping[str, Any] = {}


def interpret(sources: Sources, family: type[Family], formulas: Mapping[str, Any] = NO_FORMULAS) -> "Interpreted":
    """The functions as they are, calling each other, callees first, with the formulas of a family and those given."""
    functions: Kernel = {**IEEE, **({} if family in FAMILY_CODES else foreign_formulas(family)), **formulas}
    for source in sources:
        if source.__name__ not in functions:
            functions[source.__name__] = rebind(source, functions)
    return Interpreted(functions)


class Interpreted(dict[str, Callable[..., Any]]):
    """Interpreted functions by name, those that Python asks for, and as parts of each other all of them."""

    def __init__(self, parts: Kernel) -> None:
        super().__init__()
        self.parts = parts

    def __missing__(self, name: str) -> Any:
        part = self.parts[name]

        def call(*arguments: Any) -> Any:
            with np.errstate(all="ignore"):  # numpy would warn of what compiled code does without a word
                found = part(*arguments)
            values = found if type(found) is tuple else (found,)
            plain = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
            return plain if type(found) is tuple else plain[0]

        self[name] = call
        return call


def ieee(function: Callable[[float], float], at_zero: float) -> Callable[[float], float]:
    """A function of the mathematical library that returns what compiled code does where Python raises an error."""

    def evaluate(x: float) -> float:
        try:
            return np.float64(function(x))
        except OverflowError:
            return np.float64(inf)
        except ValueError:
            return np.float64(at_zero if x == 0.0 else nan)

    return evaluate


#: What interpreted code calls in place of Python's own. They are the same functions of the C library, whose last bits
#: numpy's have not, but return numpy's numbers, so that a division by zero further on is infinite as in compiled code.
IEEE: Kernel = {
    "log": ieee(log, -inf),
    "exp": ieee(exp, nan),
    "sqrt": ieee(sqrt, nan),
    "log1p": ieee(lambda x: log1p(x) if x != -1.0 else -inf, nan),
    "float": np.float64,
}
