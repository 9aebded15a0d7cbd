"""Formulas for T* against every solver's certified interval and against proven digits."""

from caet_opt.proving.verification.checks import EVERY, PROPORTIONS, Plan
from caet_opt.proving.verification.formula import Formula, wrap_closed_form, wrap_function
from caet_opt.proving.verification.study import (
    Failure,
    Interrupted,
    JudgeSummary,
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
    "JudgeSummary",
    "Plan",
    "Verification",
    "make_plan",
    "read_formula",
    "verify",
    "verify_formula",
    "wrap_closed_form",
    "wrap_function",
]
