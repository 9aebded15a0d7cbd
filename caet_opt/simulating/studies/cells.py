"""The cells of a study: one experiment each, known by a hash of what it computes, with the truth about it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from caet_opt.bandits.limits import join_limits
from caet_opt.bandits.modelfile import ModelFile, read_model, to_table
from caet_opt.bandits.tasks import pose_task
from caet_opt.common.files import shortest_names
from caet_opt.common.numbers import write_level
from caet_opt.errors import CaetError, InputError, SolverError
from caet_opt.exploring.earlier import DROPPED
from caet_opt.exploring.policies import POLICIES, list_policies
from caet_opt.exploring.settings import RECORDED, Parameters, Setting
from caet_opt.exploring.stopping import THRESHOLDS
from caet_opt.simulating.runs import Experiment, prepare
from caet_opt.simulating.studies.study import ALL, Study

#: What a manifest says of the certified answer.
ANSWER = (
    *("characteristic_time", "lower", "upper", "gap"),
    *("cost_proportions", "sampling_proportions", "binding_statements"),
)

#: Digits of a hash.
DIGITS = 16

#: The setting of a cell, in the order of the manifest.
SETTING = ("log_inv_delta", *(setting.name for setting in RECORDED), "seed")

#: Keys of a model file that only some models have, and on which runs depend.
IN_SOME = ("levels", "probabilities", "lower_is_better", "limits")


def digest(value: Any) -> str:
    """A hash of what JSON can hold."""
    return sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()[:DIGITS]


def find_varying(rows: Iterable[Mapping[Any, Any]], model_of: Callable[[Mapping[Any, Any]], Any]) -> list[str]:
    """The task and the settings besides delta that take several values within a model; a missing one is no value."""
    names = ("task", *SETTING[1:])
    seen: dict[tuple[str, Any], set[Any]] = {}
    for row, name in product(rows, names):
        if row[name] is not None and row[name] == row[name]:  # a frame has NaN for None
            seen.setdefault((name, model_of(row)), set()).add(row[name])
    varying = {name for (name, _), values in seen.items() if len(values) > 1}
    return [name for name in names if name in varying]


def identify(record: Mapping[str, Any], *, earlier: bool = False) -> str:
    """The id of a cell, from its record in a manifest or what there is of it: a hash of its truth and its setting.

    Of another version's cell, the settings that this version had; ``earlier`` ones left out of the truth what only some
    models have.
    """
    truth, table = [record[name] for name in ("family", "means", "arm_costs", "task")], record["model_table"]
    more = {} if earlier else {name: table[name] for name in IN_SOME if name in table}
    setting = {name: record[name] for name in (*SETTING, *DROPPED) if name in record}
    return digest([[*truth, table.get("answers"), *([more] if more else [])], setting])


@dataclass(frozen=True)
class Cell:
    """One point of the grid: what is run, how often, and from which seed.

    Attributes
    ----------
    model : name of the model, its file's without .toml where that tells models apart
    entry : what the model file holds, with the task that is run
    """

    model: str
    entry: ModelFile
    experiment: Experiment
    runs: int
    seed: int

    @cached_property
    def setting(self) -> dict[str, Any]:
        """The parameters in the manifest, as they are used: defaults filled in, nothing where there is none."""
        used = {setting.name: used_value(self.experiment, setting) for setting in RECORDED}
        return {"log_inv_delta": self.experiment.parameters.log_inv_delta, **used, "seed": self.seed}

    @cached_property
    def model_table(self) -> dict[str, Any]:
        """The model file's table with doubles for decimals, as JSON holds it."""
        table: dict[str, Any] = json.loads(json.dumps(to_table(self.entry), default=float))
        return table

    @cached_property
    def id(self) -> str:
        """A hash of what the runs depend on: model, task, setting and seed, but no name and no number of runs."""
        table, model = self.model_table, self.entry.model
        known = {"family": table["family"], "task": table["task"], "model_table": table}
        return identify({**known, "means": list(model.means), "arm_costs": list(model.costs), **self.setting})

    def record(self) -> dict[str, Any]:
        """The cell in the manifest: names, setting, and what is known of the truth."""
        experiment, answer, model = self.experiment, self.experiment.optimum.to_record(), self.entry.model
        return {
            "id": self.id,
            "model": self.model,
            "title": self.entry.title,
            "task": self.model_table["task"],
            "family": self.model_table["family"],
            "arms": list(model.arms),
            "means": list(model.means),
            "arm_costs": list(model.costs),
            "model_table": self.model_table,
            "delta": experiment.parameters.delta,
            **self.setting,
            "formula": experiment.rule.describe(),
            "guaranteed": experiment.rule.guarantees(model.family),
            "runs": self.runs,
            **{name: answer[name] for name in ANSWER},
            "lower_bound": experiment.lower_bound,
            "upper_bound": experiment.upper_bound,
            "predicted_cost": experiment.predicted_cost,
        }


def used_value(experiment: Experiment, setting: Setting) -> Any:
    """The value of a setting in an experiment; None for an option that its threshold does without."""
    if setting.owner == "threshold":
        value = getattr(experiment.rule, setting.name, None)
    else:
        value = getattr(experiment.parameters, setting.name)
    return float(value) if "number" in setting.kind and not isinstance(value, str | None) else value


def make_cells(study: Study) -> list[Cell]:
    """Every cell of the study, each model read and solved and each experiment checked; errors name the cell."""
    paths = study.models
    names = shortest_names([str(path.with_suffix("")) for path in paths], [path.stem for path in paths])
    entries = [read_entry(path, study) for path in paths]
    cells: dict[str, Cell] = {}
    for name, entry in zip(names, entries, strict=True):
        for level, chosen in product(study.levels, choices(study, entry)):
            cell = make_cell(study, name, entry, level, chosen)
            twin = cells.setdefault(cell.id, cell)
            if twin.model != name:
                raise InputError(f"{study.name}: models {twin.model} and {name} are the same; name one of them")
    return list(cells.values())


def read_entry(path: Path, study: Study) -> ModelFile:
    """The model in a file with the study's task, if it has one."""
    entry = read_model(path, study.task)
    if study.task is None:
        return entry
    try:
        task = pose_task(entry.model, study.task)
        return ModelFile(entry.model, task, entry.title, entry.source, limits=entry.limits)
    except InputError as error:
        raise InputError(f"{study.name}: task for {path}: {error}") from error


def choices(study: Study, entry: ModelFile) -> Iterator[dict[str, Any]]:
    """The product of the settings; an option that some of the listed thresholds have, only with those.

    All policies are those that cover the task and the family. Of several kinds of tracking, one that tracks nothing has
    the first.
    """
    every = list_policies(entry.task, entry.model.family)
    grid = {name: every if values == (ALL,) else values for name, values in study.grid.items()}
    options = {name: set(THRESHOLDS[name].options) for name in grid.get("threshold", ()) if name in THRESHOLDS}
    known = set().union(*options.values())
    tracking = grid.get("tracking", (None,))[0]
    for values in product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        policy = POLICIES.get(chosen.get("policy", "caet"))  # if there is no such policy, its cell says so
        if chosen.get("tracking") != tracking and policy is not None and not policy.tracks:
            continue
        foreign = known - options.get(chosen.get("threshold", ""), set())
        yield {name: value for name, value in chosen.items() if name not in foreign}


def make_cell(study: Study, name: str, entry: ModelFile, level: float, chosen: Mapping[str, Any]) -> Cell:
    """One cell, checked and solved."""
    try:
        limits = join_limits(entry.limits)
        parameters = Parameters(log_inv_delta=level, limits=limits, **study.fixed, **chosen)
        experiment = Experiment(entry.model, entry.task, parameters)
        prepare(experiment)
        _ = experiment.optimum
    except CaetError as error:
        words = ", ".join([name, write_level(level), *(f"{key} = {value}" for key, value in chosen.items())])
        kind = SolverError if isinstance(error, SolverError) else InputError
        raise kind(f"{study.name}: cell {words}: {error}") from error
    return Cell(name, entry, experiment, study.runs, study.seed)
