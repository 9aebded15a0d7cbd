"""caet-opt: certified characteristic times for cost-aware pairwise pure exploration.

    1 / T* = max t   subject to   t <= f_e(w) for every needed pair e,   sum_a c_a w_a = 1,   w >= 0

Public names are imported on first use, so that ``import caet_opt`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caet_opt.backends import installed_backends
    from caet_opt.certificate import Certificate, certify
    from caet_opt.characteristic import characteristic_time
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
    from caet_opt.result import CharacteristicTime
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

__version__ = "0.1.0"

_HOME = {
    "backends": ["installed_backends"],
    "certificate": ["Certificate", "certify"],
    "characteristic": ["characteristic_time"],
    "errors": ["CaetError", "InputError", "MissingExtraError", "SolverError", "TieError"],
    "families": [
        "FAMILIES",
        "Bernoulli",
        "Exponential",
        "Family",
        "Gamma",
        "Gaussian",
        "Geometric",
        "MeanSpace",
        "Poisson",
        "parse_family",
    ],
    "model": ["BanditModel"],
    "modelfile": ["ModelFile", "read_model", "write_model"],
    "profiles": ["Profile", "read_profile"],
    "programs.cache": ["ProgramCounts", "clear_programs", "program_counts"],
    "result": ["CharacteristicTime"],
    "tasks": [
        "BestArm",
        "Comparisons",
        "Control",
        "Custom",
        "Groups",
        "Ranking",
        "Task",
        "TopArms",
        "parse_task",
    ],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'caet_opt' has no attribute {name!r}")
    value = getattr(import_module(f"caet_opt.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])


__all__ = sorted(_MODULE_OF)  # noqa: PLE0605
