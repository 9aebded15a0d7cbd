"""Formulas for T* against every solver's certified interval and against proven digits."""

from caet_opt.proving.verification.checks import EVERY, PROPORTIONS, Plan
from caet_opt.proving.verification.formula import Formula, of_closed_form, of_function
from caet_opt.proving.verification.study import (
    Failure,
    Interrupted,
    Judged,
    Verification,
    make_plan,
    verify,
    verify_formula,
)
from caet_opt.proving.verification.userfile import read_formula

__all__ = [
    "EVERY",
    "PROPORTIONS",
    "Failure",
    "Formula",
    "Interrupted",
    "Judged",
    "Plan",
    "Verification",
    "make_plan",
    "of_closed_form",
    "of_function",
    "read_formula",
    "verify",
    "verify_formula",
]
