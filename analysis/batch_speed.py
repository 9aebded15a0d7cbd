"""Many problems at once: python analysis/batch_speed.py [ROWS] [--repeats N] [--callers] [--stress INSTANCES]

Time per row of `characteristic_times` beside a bare compiled loop over the kernel, and beside loops over
`characteristic_time`, of models that are there and of models that have to be made, which the call for many does too;
and with two workers beside one. No call for many can be faster than the kernel: "and models/kernel" is the most by
which it could beat the loop over single calls. The ways take turns and the best of the repeats counts.
With --callers, the same problems in a curve and in a table, and how much faster these would be if solving took no more
than it does here: they need more of an answer than T*, and spend their time on that.
With --stress, the stress test's instances go through it instead, those of one family, task and number of arms in one
call: each row has a certified interval or a reason, or is counted as silent.
"""

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from math import inf
from time import perf_counter

import numpy as np

from caet_opt.bandits.families import parse_family
from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task, parse_task
from caet_opt.common.numbers import table
from caet_opt.kernels.compile import compile_functions
from caet_opt.kernels.family_codes import model_numbers
from caet_opt.kernels.instance import IRREGULAR, Layout, make_workspace, solve_in_workspace
from caet_opt.kernels.native import compiled_kernel
from caet_opt.kernels.records import ModelNumbers, Plan
from caet_opt.presenting.curves import make_grid, parse_sweep, trace_curve
from caet_opt.presenting.tables.api import column_names, make_request, sources
from caet_opt.presenting.tables.time_rows import compute
from caet_opt.solving.asked import recall
from caet_opt.solving.backends.native import TARGET
from caet_opt.solving.batch import characteristic_times
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.problem import lay_out
from cases.instances import hostile_instance

TOLERANCE = 1e-9
CALLERS = ["", "whole", "its solves", "by one call", "whole would be faster by"]
CASES = [("gaussian", "ranking"), ("bernoulli", "best-arm")]
HEADERS = ["family", "task", "arms", "kernel", "one worker", "two", "single calls", "and models"]
HEADERS += ["one/kernel", "single/one", "and models/one", "and models/kernel", "one/two"]


def solve_bare(given: ModelNumbers, means: Array, layout: Layout, plan: Plan, tolerance: float, target: float) -> int:
    """The kernel by itself on rows whose arms are in order already; returns how many it could not solve."""
    workspace, failed = make_workspace(layout, plan, 0), 0
    effort, weights = np.zeros(given.means.size), np.zeros(layout.pairs.shape[1])
    for row in range(means.shape[0]):
        for arm in range(given.means.size):
            given.means[arm] = means[row, arm]
        status, _, _, _ = solve_in_workspace(
            given, layout, plan, effort, weights, False, tolerance, target, 500, workspace
        )
        if status == IRREGULAR:
            failed += 1
    return failed


def best_times(ways: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The shortest time of each way; they take turns."""
    best = dict.fromkeys(ways, inf)
    for _ in range(repeats):
        for name, way in ways.items():
            started = perf_counter()
            way()
            best[name] = min(best[name], perf_counter() - started)
    return best


def measure(family: str, task: str, arms: int, count: int, repeats: int) -> list[str]:
    """A line of the table: microseconds per row, and ratios."""
    means = np.random.default_rng(arms).uniform(0.05, 0.95, (count, arms))
    ordered, costs = -np.sort(-means, axis=1), np.ones(arms)
    some = means[: max(1, count // 20)].tolist()
    models = [BanditModel(family, row, costs.tolist()) for row in some]
    kind = type(parse_family(family))
    shape = lay_out((recall(parse_task(task)).find_columns(ordered[0].tolist(), kind), kind, (True,) * arms))
    assert shape is not None
    given = model_numbers(BanditModel(family, ordered[0].tolist(), costs.tolist()))
    bare = compile_functions((solve_bare,), compiled_kernel())["solve_bare"]
    assert bare(given, ordered[:1], *shape, TOLERANCE, TARGET) == 0
    ways: dict[str, Callable[[], object]] = {
        "kernel": lambda: bare(given, ordered, *shape, TOLERANCE, TARGET),
        "one": lambda: characteristic_times(family, means, costs, task),
        "two": lambda: characteristic_times(family, means, costs, task, workers=2),
        "solved": lambda: [characteristic_time(model, task) for model in models],
        "made": lambda: [characteristic_time(BanditModel(family, row, costs.tolist()), task) for row in some],
    }
    time = {name: 1e6 * found / count for name, found in best_times(ways, repeats).items()}
    time["solved"], time["made"] = (time[name] * count / len(some) for name in ("solved", "made"))
    ratios = [("one", "kernel"), ("solved", "one"), ("made", "one"), ("made", "kernel"), ("one", "two")]
    return [
        *(family, task, str(arms)),
        *(f"{time[name]:.2f}" for name in ways),
        *(f"{time[slow] / time[fast]:.2f}" for slow, fast in ratios),
    ]


def measure_callers(count: int, repeats: int) -> list[list[str]]:
    """Lines of a curve and of a table of as many models: microseconds per row of the whole and of its solves, single
    and together, and how much faster the whole would be with the latter."""
    model, task = BanditModel("bernoulli", [0.1, 0.5, 0.9], [1.0, 1.0, 1.0]), parse_task("best-arm")
    sweep, grid = parse_sweep("mean:1", model), make_grid(0.2, 0.8, count, logarithmic=False)
    models = [sweep.at(model, task, value)[0] for value in grid]
    means, request = (
        np.array([each.means for each in models]),
        make_request("native", [], column_names(None, None), None),
    )
    listed = sources({str(number): (each, task) for number, each in enumerate(models)})
    ways: dict[str, Callable[[], object]] = {
        "curve": lambda: trace_curve(model, task, "mean:1", grid[0], grid[-1], points=count),
        "table": lambda: compute(listed, request),
        "single": lambda: [characteristic_time(each, task) for each in models],
        "many": lambda: characteristic_times(model.family, means, model.costs, task),
    }
    time = {name: 1e6 * found / count for name, found in best_times(ways, repeats).items()}
    lines = []
    for name, solves in (("curve", 1), ("table", 2)):  # a table solves once more, for unit costs
        saved = solves * (time["single"] - time["many"])
        cells = (time[name], solves * time["single"], solves * time["many"])
        lines.append([name, *(f"{cell:.1f}" for cell in cells), f"{time[name] / (time[name] - saved):.3f}"])
    return lines


def stress(instances: int, seed: int = 1) -> int:
    """Certified, refused and silent rows of the stress test's instances, grouped; returns how many are silent.

    A group is a family by name, a task and a number of arms. Variances per arm differ from instance to instance, so
    that such an instance is a call by itself.
    """
    groups: dict[tuple[str, Task, int], list[BanditModel]] = defaultdict(list)
    for index in range(instances):
        model, task = hostile_instance(np.random.default_rng([seed, index]))
        groups[str(model.family), task, len(model.means)].append(model)
    certified, refused, silent, seconds = 0, [], 0, 0.0
    for (_, task, _), models in groups.items():
        means, costs = (np.array([getattr(model, name) for model in models]) for name in ("means", "costs"))
        started = perf_counter()
        many = characteristic_times(models[0].family, means, costs, task)
        seconds += perf_counter() - started
        good = (many.gap <= TOLERANCE) & (many.lower <= many.value) & (many.value <= many.upper)
        told = np.isin(np.arange(len(models)), list(many.reasons))
        certified += int(np.sum(good & ~told))
        silent += int(np.sum(good == told))
        refused += list(many.reasons.values())
    print(f"{instances} rows in {len(groups)} calls: certified {certified}, refused {len(refused)}, silent {silent}")
    print(f"{1e6 * seconds / instances:.0f} us per row")
    for reason in sorted(set(refused)):
        print(f"refused: {reason}")
    return silent


def main() -> int:
    """Print the table, or the counts of the stress test; exit status 1 when a row is silent."""
    parser = argparse.ArgumentParser(description="The speed of many problems at once.")
    parser.add_argument("rows", nargs="?", type=int, default=4096, metavar="ROWS")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--callers", action="store_true", help="curves and tables instead")
    parser.add_argument("--stress", type=int, default=0, metavar="INSTANCES")
    arguments = parser.parse_args()
    compiled_kernel()
    if arguments.stress:
        return int(stress(arguments.stress) > 0)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; microseconds per row")
    if arguments.callers:
        print(table(CALLERS, measure_callers(arguments.rows, arguments.repeats)))
        return 0
    cases = [(*case, arms) for arms in (3, 10) for case in CASES]
    print(table(HEADERS, [measure(*case, arguments.rows, arguments.repeats) for case in cases]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
