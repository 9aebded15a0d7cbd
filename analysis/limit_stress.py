"""Random limits: python analysis/limit_stress.py [INSTANCES] [--seed S] [--solvers FIRST,SECOND] [--spread S]

Random models, tasks, and one to three limits on shares each, solved by two solvers. Each is certified to 1e-9, refused
by a solver, or refused because the limits cannot be met or leave nothing to an arm. Both intervals of an instance
contain T*, so that they have to meet; whether limits can be met is held against another linear programming code (HiGHS,
in floats), and of those that are named, each has to be needed. Prints the counts, and the seed of whatever is not so.
"""

import argparse
import sys
from collections import Counter
from fractions import Fraction
from time import perf_counter

import numpy as np

from caet_opt import BanditModel
from caet_opt.bandits.limits import Limit
from caet_opt.errors import InputError, SolverError
from caet_opt.solving.certificate import certify
from caet_opt.solving.characteristic import characteristic_time
from caet_opt.solving.limits import build_rows, find_leader
from caet_opt.solving.problem import ask, read_task
from caet_opt.solving.result import CharacteristicTime
from caet_opt.solving.rows import meant_costs

TOLERANCE = 1e-9

#: Families, with means that are drawn between two numbers.
FAMILIES = {"gaussian": (-1.0, 1.0), "bernoulli": (0.1, 0.9), "poisson": (0.5, 5.0), "exponential": (0.5, 3.0)}

TASKS = ("best-arm", "ranking", "top-arms:2", "control:0", "comparisons:0-1")


def draw(rng: np.random.Generator, spread: float) -> tuple[BanditModel, str, list[Limit]]:
    """A model, a task and limits; costs spread over so many powers of ten, and a few are zero."""
    family = str(rng.choice(list(FAMILIES)))
    arms, task = int(rng.integers(3, 6)), str(rng.choice(TASKS))
    costs = np.round(10.0 ** rng.uniform(-spread / 2, spread / 2, arms), 6) * (rng.random(arms) > 0.05)
    means = np.round(rng.uniform(*FAMILIES[family], arms), 4)
    model = BanditModel(family, means.tolist(), costs.tolist())
    return model, task, [draw_limit(rng, arms, task) for _ in range(int(rng.choice([1, 1, 2, 3])))]


def draw_limit(rng: np.random.Generator, arms: int, task: str) -> Limit:
    """A limit that can often be met."""
    kind, relation = str(rng.choice(["cost", "pulls"])), str(rng.choice(["<=", ">=", "="], p=[0.45, 0.35, 0.2]))
    share = Fraction(int(rng.integers(0, 1001)), 1000)
    if relation == ">=":
        share *= Fraction(3, 4)
    if task == "best-arm" and rng.random() < 0.2:
        return Limit(kind, None, relation, share)
    size = int(rng.integers(1, arms))
    return Limit(kind, tuple(sorted(rng.choice(arms, size, replace=False).tolist())), relation, share)


def largest_least(limits: list[Limit], model: BanditModel, task: str) -> float | None:
    """The largest share that every arm of the task can have within the limits, by HiGHS; None where there is none."""
    from scipy.optimize import linprog

    asked = read_task(task)
    rows = build_rows(tuple(limits), meant_costs(model), find_leader(limits, asked, model.means))
    costly = [arm for arm, cost in enumerate(model.costs) if cost > 0]
    needed = {arm for statement in ask(model, asked).statements for arm in statement.arms if arm in costly}
    lines = np.array([[float(row.coefficients[arm]) / model.costs[arm] for arm in costly] for row in rows])
    lines /= np.maximum(np.max(np.abs(lines), axis=1, keepdims=True), 1e-300)
    lines = np.column_stack([lines, np.zeros(len(rows))])
    equal = np.array([row.equal for row in rows])
    least = np.array([[-1.0 if arm == other else 0.0 for other in costly] + [1.0] for arm in costly if arm in needed])
    budget = np.append(np.ones(len(costly)), 0.0)
    found = linprog(
        np.append(np.zeros(len(costly)), -1.0),
        A_ub=np.vstack([lines[~equal], least.reshape(-1, len(costly) + 1)]),
        b_ub=np.zeros(np.count_nonzero(~equal) + len(least)),
        A_eq=np.vstack([lines[equal], budget]),
        b_eq=np.append(np.zeros(np.count_nonzero(equal)), 1.0),
        bounds=[(0, 1)] * (len(costly) + 1),
    )
    return None if found.x is None else float(found.x[-1])


def attempt(rng: np.random.Generator, solvers: list[str], spread: float) -> tuple[str, str]:
    """What happened to an instance in a word, and what is wrong with it."""
    model, task, limits = draw(rng, spread)
    told = f"{model.family} {list(model.means)}, costs {list(model.costs)}, {task}, {' '.join(map(str, limits))}"
    found: list[CharacteristicTime] = []
    for solver in solvers:
        try:
            found.append(characteristic_time(model, task, limits=limits, solver=solver, tolerance=TOLERANCE))
        except SolverError as error:
            told += f": {error}"
        except InputError as error:
            return judge_refusal(str(error), limits, model, task, told)
    if len(found) < 2:
        return f"refused by {'both' if not found else 'one'}", told
    first, second = found
    if first.value == 0.0 == second.value:
        return "nothing to pay", ""
    if max(first.lower, second.lower) > min(first.upper, second.upper) or not is_met(first, rng):
        return "outside", told
    return "certified by both", ""


def judge_refusal(error: str, limits: list[Limit], model: BanditModel, task: str, told: str) -> tuple[str, str]:
    """Whether another code agrees that limits cannot be met, or leave nothing to an arm."""
    if "cannot be met" in error or "T* is infinite: '" in error:
        impossible = "cannot be met" in error
        named = [limit for limit in limits if f"'{limit}'" in error]
        least = largest_least(named, model, task)
        agree = least is None if impossible else least is not None and least < 1e-7
        return ("cannot be met" if impossible else "nothing for an arm") + (
            ", named" if named and agree else ", disputed"
        ), "" if named and agree else told + f": {error}"
    return "another input error", "" if "costs nothing" in error or "equal means" in error else told + f": {error}"


def is_met(result: CharacteristicTime, rng: np.random.Generator) -> bool:
    """Whether efforts, weights and prices near those that were found prove nothing that excludes the interval."""
    limits = [price.limit for price in result.limits]
    leader = find_leader(limits, result.task, result.model.means)
    rows = build_rows(tuple(limits), meant_costs(result.model), leader)
    prices = np.array([price.multiplier for price in result.limits])
    for size in (1e-7, 1e-3):
        effort = result.effort * np.exp(size * rng.standard_normal(result.effort.size))
        weights = result.multipliers * np.exp(size * rng.standard_normal(result.multipliers.size))
        moved = prices * np.exp(size * rng.standard_normal(prices.size))
        found = certify(result.model, result.statements, effort, weights, rows, moved)
        if found.upper < result.lower or found.lower > result.upper:
            return False
    return True


def main() -> int:
    """Run it; exit status 1 where an interval is outside, or a refusal is disputed."""
    parser = argparse.ArgumentParser(description="Random limits: certified, or refused.")
    parser.add_argument("instances", nargs="?", type=int, default=20_000, metavar="INSTANCES")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solvers", default="clarabel,ipopt")
    parser.add_argument("--spread", type=float, default=2.0, help="powers of ten between the costs")
    arguments = parser.parse_args()
    started, counts = perf_counter(), Counter[str]()
    for index in range(arguments.instances):
        kind, wrong = attempt(
            np.random.default_rng([arguments.seed, index]), arguments.solvers.split(","), arguments.spread
        )
        counts[kind] += 1
        if wrong:
            print(f"{kind}: [{arguments.seed}, {index}] {wrong}", flush=True)
    print(f"instances {arguments.instances} (seed {arguments.seed}, {perf_counter() - started:.0f} s)")
    for kind, count in counts.most_common():
        print(f"  {kind:<28}{count}")
    return int(any(kind == "outside" or "disputed" in kind for kind in counts))


if __name__ == "__main__":
    sys.exit(main())
