"""The experiments in a folder, a record each."""

from pathlib import Path
from typing import Any

from caet_opt.errors import CaetError, InputError
from caet_opt.live.experiment import LiveExperiment
from caet_opt.live.store import is_experiment, read_header


def list_experiments(folder: str | Path = ".") -> list[dict[str, Any]]:
    """The live experiments in a folder, by name: a record with `LiveExperiment.summary`, or why there is none.

    >>> from caet_opt.live.folder import list_experiments
    >>> import os
    >>> os.mkdir("trials")
    >>> for name in ("one", "two"):
    ...     LiveExperiment.start(f"trials/{name}.caet", "best-arm", "poisson", arms=2, costs=[1, 2], delta=0.1).close()
    >>> [(record["file"], record["recorded"]) for record in list_experiments("trials")]
    [('one.caet', 0), ('two.caet', 0)]
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{folder}: no such folder")
    files = sorted(path for path in place.iterdir() if path.is_file() and looks_like_one(path))
    return [{"file": path.name, **summarise(path)} for path in files]


def looks_like_one(path: Path) -> bool:
    """Whether a file can be read and is an experiment, of whichever version."""
    try:
        return is_experiment(read_header(path))
    except InputError:
        return False


def summarise(path: Path) -> dict[str, Any]:
    """What there is to say of a file in one line."""
    try:
        with LiveExperiment.open(path) as experiment:
            return {**experiment.summary(), "error": None}
    except (CaetError, OSError) as error:
        return {"error": str(error)}
