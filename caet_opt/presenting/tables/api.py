"""Tables of characteristic times from Python: models in, a frame or a `Table` out."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.modelfile import ModelFile, model_paths
from caet_opt.bandits.tasks import Task, pose_task
from caet_opt.common.checks import show_value
from caet_opt.common.files import shortest_names
from caet_opt.errors import InputError
from caet_opt.presenting.tables.layout import ERROR, choose_columns
from caet_opt.presenting.tables.time_columns import BLIND, HALF, PROVEN
from caet_opt.presenting.tables.time_columns import columns as known_columns
from caet_opt.presenting.tables.time_rows import Request, Source, compute
from caet_opt.solving.backends import DEFAULT_SOLVER
from caet_opt.solving.compare import Solver, name_solvers
from caet_opt.solving.result import read_level

if TYPE_CHECKING:
    import pandas as pd

#: A model file or a folder of them, what is in such a file, or a model with its task.
Model = str | Path | ModelFile | tuple[BanditModel, Task | str]


def characteristic_table(
    models: Model | Iterable[Model] | Mapping[str, Model],
    *,
    deltas: float | Sequence[float] = (),
    solvers: Solver | Sequence[Solver] = DEFAULT_SOLVER,
    columns: Sequence[str] | None = None,
    digits: int | None = None,
    workers: int = 1,
) -> "pd.DataFrame":
    """The characteristic times of many models as a frame, one row per model, solver and delta.

    Parameters
    ----------
    models
        Files, folders of files, `ModelFile` objects or pairs ``(model, task)``; a mapping gives them names.
    deltas
        A row with the lower bound ``T* kl(delta, 1 - delta)`` for each of them, or for the one that is given.
    solvers
        Backends, profiles, or paths of profiles.
    columns
        Names as in ``caet-opt table --help``; by default all.
    digits
        Proven digits, in the columns ``proven``, ``proven_lower`` and ``proven_upper``, as text; None where they cannot
        be proven, as with limits or for rewards in a range.
    workers
        Number of processes, if the work takes longer; rows do not depend on it.

    Returns
    -------
    A frame of raw values, vectors as lists in the order of ``names``:
    ``frame.explode(["names", "sampling_proportions"])`` has one row per arm. A model that cannot be solved keeps its
    row, with the reason in the column ``error``, which is always there.

    Examples
    --------
    >>> model = BanditModel("gaussian", [3, 4, 2], costs="gaps")
    >>> frame = characteristic_table({"mine": (model, "ranking")}, deltas=[0.01], columns=["model", "T*", "bound"])
    >>> frame.round(4)
      model  characteristic_time  lower_bound error
    0  mine              11.6569      52.4933  None
    """
    import pandas as pd

    names = column_names(columns, digits)
    request = make_request(solvers, deltas, names, digits)
    rows = compute(sources(models), request, workers)
    return pd.DataFrame([{name: row.get(name) for name in names} for row in rows], columns=names)


def column_names(chosen: Sequence[str] | None, digits: int | None) -> list[str]:
    """Names of the chosen columns, or of all that such a table has; the error is always among them, and last."""
    known = known_columns()
    found = known if chosen is None else choose_columns(chosen, known)
    names = [column.name for column in found if column.name != ERROR]
    if chosen is None:
        names = [name for name in names if name != HALF and not (digits is None and name in PROVEN)]
    return [*names, ERROR]


def make_request(
    solvers: Solver | Sequence[Solver], deltas: float | Sequence[float], names: Iterable[str], digits: int | None
) -> Request:
    """What to compute for columns of these names, everything checked."""
    one: Any = deltas
    levels = (one,) if isinstance(one, str) or not hasattr(one, "__iter__") else tuple(one)
    for delta in levels:
        read_level(delta, None)
    if digits is not None:
        from caet_opt.proving.prove import check_digits

        check_digits(digits)
    names = set(names)
    return Request(name_solvers(solvers), tuple(map(float, levels)), not BLIND.isdisjoint(names), digits, HALF in names)


def sources(models: Model | Iterable[Model] | Mapping[str, Model]) -> list[Source]:
    """The models with their names in the table: the shortest that tell files apart, or titles, or numbers."""
    if isinstance(models, Mapping):
        return [Source(name, make_entry(model) or Path(str(model))) for name, model in models.items()]
    one: Any = models
    several = hasattr(one, "__iter__") and not isinstance(one, str) and not is_pair(one)
    listed: Iterable[Model] = one if several else [one]
    found: list[Path | ModelFile] = []
    for model in listed:
        entry = make_entry(model)
        found += model_paths(str(model)) if entry is None else [entry]
    found = list(dict.fromkeys(found)) if all(isinstance(one, Path) for one in found) else found
    if not found:
        raise InputError("there is no model to make a table of")
    paths = [one for one in found if isinstance(one, Path)]
    names = iter(shortest_names([str(path) for path in paths], [path.stem for path in paths]))
    return [
        Source(next(names) if isinstance(one, Path) else one.title or f"model {number}", one)
        for number, one in enumerate(found, start=1)
    ]


def is_pair(model: object) -> TypeGuard[tuple[BanditModel, Task | str]]:
    """Whether this is a model with its task."""
    return isinstance(model, tuple) and len(model) == 2 and isinstance(model[0], BanditModel)


def make_entry(model: Model) -> ModelFile | None:
    """What a model file of this model would hold; None for a path."""
    if is_pair(model):
        bandit, task = model
        return ModelFile(bandit, pose_task(bandit, task))
    if not isinstance(model, str | Path | ModelFile):
        raise InputError(f"a model needs its task: give (model, task), a ModelFile or a path, got {show_value(model)}")
    return model if isinstance(model, ModelFile) else None
