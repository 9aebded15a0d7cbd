"""What comes with the library: the models of ``models/`` and the solver profiles of ``solvers/``, found by name."""

from pathlib import Path
from typing import Literal

Kind = Literal["models", "solvers"]


def shipped_folder(kind: Kind) -> Path:
    """The folder of what is shipped: in the package when installed, beside it in a clone."""
    package = Path(__file__).parents[1]
    return next(folder for folder in (package / kind, package.parent / kind) if folder.is_dir())


def shipped_names(kind: Kind) -> list[str]:
    """The names of what is shipped, in alphabetical order.

    >>> shipped_names("solvers")
    ['clarabel', 'ecos', 'ipopt', 'ipopt-executable', 'native', 'pyomo', 'scs']
    """
    return sorted(path.stem for path in shipped_folder(kind).glob("*.toml"))


def find_shipped(word: str | Path, kind: Kind, folder: Path = Path()) -> Path:
    """The path that a word means: what is there, seen from a folder; else, for a word that names no folder, the
    shipped file of this name, with or without ``.toml``; else the path as it is.

    >>> find_shipped("paper-instance-1", "models").name, find_shipped("mine/paper-instance-1", "models").name
    ('paper-instance-1.toml', 'paper-instance-1')
    """
    path, name = folder / word, str(word).removesuffix(".toml")
    if path.exists() or name not in shipped_names(kind):
        return path
    return shipped_folder(kind) / f"{name}.toml"
