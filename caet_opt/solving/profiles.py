"""Solver profiles by name or from files: with what, and how exactly, a problem is to be solved."""

from dataclasses import fields
from functools import cache
from pathlib import Path

from caet_opt.bandits.files import read_toml
from caet_opt.errors import InputError, unknown_name
from caet_opt.solving.backends import Profile

__all__ = ["Profile", "find_profile", "read_profile"]

#: The default profile of a backend.
named_profile = cache(Profile)


def read_profile(path: str | Path) -> Profile:
    """Read a profile from TOML; unknown keys are errors."""
    table = read_toml(path)
    known = [entry.name for entry in fields(Profile)]
    for key in table:
        if key not in known:
            raise InputError(f"{path}: {unknown_name('key', key, known)}")
    if "backend" not in table:
        raise InputError(f"{path}: a solver profile needs the key 'backend'")
    try:
        return Profile(**table)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def find_profile(solver: str | Path | Profile) -> Profile:
    """A profile from a backend's name, a path to a TOML profile, or a profile itself."""
    if isinstance(solver, Profile):
        return solver
    if str(solver).endswith(".toml"):
        return read_profile(solver)
    return named_profile(str(solver))
