"""caet-opt: certified characteristic times for cost-aware pairwise pure exploration.

    1 / T* = max t   subject to   t <= f_e(w) for every needed pair e,   sum_a c_a w_a = 1,   w >= 0

Public names are imported on first use, so that ``import caet_opt`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caet_opt import closed_forms
    from caet_opt.backends import installed_backends
    from caet_opt.certificate import Certificate, certify
    from caet_opt.characteristic import characteristic_time
    from caet_opt.curves import trace_curve
    from caet_opt.errors import CaetError, InputError, MissingExtraError, SolverError, TieError
    from caet_opt.families import (
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
    from caet_opt.model import BanditModel
    from caet_opt.modelfile import ModelFile, read_model, write_model
    from caet_opt.profiles import Profile, read_profile
    from caet_opt.programs.cache import ProgramCounts, clear_programs, program_counts
    from caet_opt.proofs.prove import proven_time
    from caet_opt.proofs.result import ProvenTime
    from caet_opt.regret import explore_then_commit
    from caet_opt.result import CharacteristicTime
    from caet_opt.simulation import Experiment, run_many, summarise
    from caet_opt.studies.results import load_results, summarise_results
    from caet_opt.tables.api import characteristic_table
    from caet_opt.tasks import (
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
    from caet_opt.thresholds import make_threshold
    from caet_opt.tracking.caet import Caet
    from caet_opt.tracking.parameters import Parameters
    from caet_opt.verification import verify_formula

__version__ = "0.1.0"

#: The module that each public name comes from.
_HOME = {
    "FAMILIES": "families",
    "BanditModel": "model",
    "Bernoulli": "families",
    "BestArm": "tasks",
    "Caet": "tracking.caet",
    "CaetError": "errors",
    "Certificate": "certificate",
    "CharacteristicTime": "result",
    "Comparisons": "tasks",
    "Control": "tasks",
    "Custom": "tasks",
    "Experiment": "simulation",
    "Exponential": "families",
    "Family": "families",
    "Gamma": "families",
    "Gaussian": "families",
    "Geometric": "families",
    "Groups": "tasks",
    "InputError": "errors",
    "MeanSpace": "families",
    "MissingExtraError": "errors",
    "ModelFile": "modelfile",
    "Parameters": "tracking.parameters",
    "Poisson": "families",
    "Profile": "profiles",
    "ProgramCounts": "programs.cache",
    "ProvenTime": "proofs.result",
    "Ranking": "tasks",
    "SolverError": "errors",
    "Task": "tasks",
    "TieError": "errors",
    "TopArms": "tasks",
    "certify": "certificate",
    "characteristic_table": "tables.api",
    "characteristic_time": "characteristic",
    "clear_programs": "programs.cache",
    "explore_then_commit": "regret",
    "installed_backends": "backends",
    "load_results": "studies.results",
    "make_threshold": "thresholds",
    "parse_family": "families",
    "parse_task": "tasks",
    "program_counts": "programs.cache",
    "proven_time": "proofs.prove",
    "read_model": "modelfile",
    "read_profile": "profiles",
    "run_many": "simulation",
    "summarise": "simulation",
    "summarise_results": "studies.results",
    "trace_curve": "curves",
    "verify_formula": "verification",
    "write_model": "modelfile",
}

#: Packages that are part of the public interface themselves.
_PACKAGES = ("closed_forms",)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"caet_opt.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'caet_opt' has no attribute {name!r}")
    value = getattr(import_module(f"caet_opt.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_PACKAGES])


__all__ = [
    "FAMILIES",
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
    "ProgramCounts",
    "ProvenTime",
    "Ranking",
    "SolverError",
    "Task",
    "TieError",
    "TopArms",
    "certify",
    "characteristic_table",
    "characteristic_time",
    "clear_programs",
    "closed_forms",
    "explore_then_commit",
    "installed_backends",
    "load_results",
    "make_threshold",
    "parse_family",
    "parse_task",
    "program_counts",
    "proven_time",
    "read_model",
    "read_profile",
    "run_many",
    "summarise",
    "summarise_results",
    "trace_curve",
    "verify_formula",
    "write_model",
]
