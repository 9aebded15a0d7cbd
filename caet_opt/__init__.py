"""caet-opt: certified characteristic times for cost-aware pairwise pure exploration.

    1 / T* = max t   subject to   t <= f_e(w) for every needed pair e,   sum_a c_a w_a = 1,   w >= 0

Public names are imported on first use, so that ``import caet_opt`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caet_opt.version import __version__ as __version__

if TYPE_CHECKING:
    from caet_opt.bandits.families import (
        FAMILIES,
        Bernoulli,
        Exponential,
        Family,
        Gamma,
        Gaussian,
        Geometric,
        MeanSpace,
        Poisson,
        parse_family,
    )
    from caet_opt.bandits.model import BanditModel
    from caet_opt.bandits.modelfile import ModelFile, read_model, write_model
    from caet_opt.bandits.tasks import (
        TASKS,
        BestArm,
        Comparisons,
        Control,
        Custom,
        Groups,
        Ranking,
        Task,
        TopArms,
        parse_task,
    )
    from caet_opt.errors import CaetError, InputError, MissingExtraError, SolverError, TieError
    from caet_opt.exploring.policies.caet import Caet
    from caet_opt.exploring.settings import SETTINGS, Parameters, Setting
    from caet_opt.exploring.stopping import THRESHOLDS, make_threshold
    from caet_opt.presenting.curves import trace_curve
    from caet_opt.presenting.report.page import write_report
    from caet_opt.presenting.tables.api import characteristic_table
    from caet_opt.proving import closed_forms
    from caet_opt.proving.certificates import check_certificate
    from caet_opt.proving.prove import proven_time
    from caet_opt.proving.result import ProvenTime
    from caet_opt.proving.verification import verify_formula
    from caet_opt.simulating.regret import explore_then_commit
    from caet_opt.simulating.runs import Experiment, run_many
    from caet_opt.simulating.studies.results import load_results, summarise_results
    from caet_opt.simulating.studies.sweep import run_study
    from caet_opt.simulating.summary import Summary, simulate, summarise
    from caet_opt.solving.backends import BACKENDS, installed_backends
    from caet_opt.solving.certificate import Certificate, certify
    from caet_opt.solving.characteristic import characteristic_time
    from caet_opt.solving.compare import compare_solvers
    from caet_opt.solving.profiles import Profile, read_profile
    from caet_opt.solving.result import CharacteristicTime


#: The module that each public name comes from.
_HOME = {
    "BACKENDS": "solving.backends",
    "FAMILIES": "bandits.families",
    "SETTINGS": "exploring.settings",
    "TASKS": "bandits.tasks",
    "THRESHOLDS": "exploring.stopping",
    "BanditModel": "bandits.model",
    "Bernoulli": "bandits.families",
    "BestArm": "bandits.tasks",
    "Caet": "exploring.policies.caet",
    "CaetError": "errors",
    "Certificate": "solving.certificate",
    "CharacteristicTime": "solving.result",
    "Comparisons": "bandits.tasks",
    "Control": "bandits.tasks",
    "Custom": "bandits.tasks",
    "Experiment": "simulating.runs",
    "Exponential": "bandits.families",
    "Family": "bandits.families",
    "Gamma": "bandits.families",
    "Gaussian": "bandits.families",
    "Geometric": "bandits.families",
    "Groups": "bandits.tasks",
    "InputError": "errors",
    "MeanSpace": "bandits.families",
    "MissingExtraError": "errors",
    "ModelFile": "bandits.modelfile",
    "Parameters": "exploring.settings",
    "Poisson": "bandits.families",
    "Profile": "solving.profiles",
    "ProvenTime": "proving.result",
    "Ranking": "bandits.tasks",
    "Setting": "exploring.settings",
    "SolverError": "errors",
    "Summary": "simulating.summary",
    "Task": "bandits.tasks",
    "TieError": "errors",
    "TopArms": "bandits.tasks",
    "certify": "solving.certificate",
    "characteristic_table": "presenting.tables.api",
    "characteristic_time": "solving.characteristic",
    "compare_solvers": "solving.compare",
    "explore_then_commit": "simulating.regret",
    "installed_backends": "solving.backends",
    "load_results": "simulating.studies.results",
    "make_threshold": "exploring.stopping",
    "parse_family": "bandits.families",
    "parse_task": "bandits.tasks",
    "check_certificate": "proving.certificates",
    "proven_time": "proving.prove",
    "run_study": "simulating.studies.sweep",
    "write_report": "presenting.report.page",
    "read_model": "bandits.modelfile",
    "read_profile": "solving.profiles",
    "run_many": "simulating.runs",
    "simulate": "simulating.summary",
    "summarise": "simulating.summary",
    "summarise_results": "simulating.studies.results",
    "trace_curve": "presenting.curves",
    "verify_formula": "proving.verification",
    "write_model": "bandits.modelfile",
}

#: Packages that are part of the public interface themselves.
_PACKAGES = ("closed_forms",)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"caet_opt.proving.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'caet_opt' has no attribute {name!r}")
    value = getattr(import_module(f"caet_opt.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_PACKAGES])


__all__ = [
    "BACKENDS",
    "FAMILIES",
    "SETTINGS",
    "TASKS",
    "THRESHOLDS",
    "BanditModel",
    "Bernoulli",
    "BestArm",
    "Caet",
    "CaetError",
    "Certificate",
    "CharacteristicTime",
    "Comparisons",
    "Control",
    "Custom",
    "Experiment",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "Geometric",
    "Groups",
    "InputError",
    "MeanSpace",
    "MissingExtraError",
    "ModelFile",
    "Parameters",
    "Poisson",
    "Profile",
    "ProvenTime",
    "Ranking",
    "Setting",
    "SolverError",
    "Summary",
    "Task",
    "TieError",
    "TopArms",
    "certify",
    "characteristic_table",
    "characteristic_time",
    "check_certificate",
    "closed_forms",
    "compare_solvers",
    "explore_then_commit",
    "installed_backends",
    "load_results",
    "make_threshold",
    "parse_family",
    "parse_task",
    "proven_time",
    "read_model",
    "read_profile",
    "run_many",
    "run_study",
    "simulate",
    "summarise",
    "summarise_results",
    "trace_curve",
    "verify_formula",
    "write_model",
    "write_report",
]
