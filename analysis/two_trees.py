"""One tree against another: python analysis/two_trees.py BASE [TREE] [--passes N]

Public calls and simulated rounds of the families that have formulas in their means, of two checkouts of the project in
turn, each time in a fresh process with the caches of its own tree. Processor time of the best pass, and base over tree:
above one where the tree is faster. The last column has that ratio of single passes, the middle half of them: how far
they are to be trusted on this machine.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from caet_opt.common.numbers import table

#: What a process measures: seconds of processor time for each case, the least of its repeats.
MEASURE = """
import json
from time import process_time
import numpy as np
from caet_opt import BanditModel, Caet, characteristic_time, characteristic_times, simulate
from caet_opt.kernels.native import compiled_kernel

compiled_kernel()

def best_of(repeats, action):
    action()
    found = []
    for _ in range(repeats):
        started = process_time()
        action()
        found.append(process_time() - started)
    return min(found)

def call(family, means, task, **told):
    model = BanditModel(family, means, [1.0] * len(means))
    return lambda: [characteristic_time(model, task, **told) for _ in range(200)]

def rounds(family, means, task, solve, log_inv_delta):
    model = BanditModel(family, means, [1.0] * len(means))
    told = dict(log_inv_delta=log_inv_delta, runs=1, seed=1, workers=1, solve=solve)
    return lambda: simulate(model, task, **told)

def observe():
    caet = Caet.start("best-arm", "bernoulli", arms=3, delta=1e-300, solve="lazy")
    rng = np.random.default_rng(1)
    for reward in rng.integers(0, 2, 300):
        caet.observe(caet.next_arm(), int(reward))

three, ten = [0.5, 0.45, 0.4], np.linspace(0.8, 0.35, 10).tolist()
batch = np.random.default_rng(1).uniform(0.1, 0.9, (4096, 3))
print(json.dumps({
    "call ranking K=3": best_of(15, call("gaussian", three, "ranking")),
    "call best-arm K=3": best_of(15, call("bernoulli", three, "best-arm")),
    "call ranking K=10": best_of(15, call("gaussian", ten, "ranking")),
    "call best-arm K=10": best_of(15, call("bernoulli", ten, "best-arm")),
    "call with a margin K=3": best_of(15, call("bernoulli", three, "control:2+0.02")),
    "batch of 4096, K=3": best_of(9, lambda: characteristic_times("bernoulli", batch, 1.0 + batch, "best-arm")),
    "exact rounds gaussian K=3": best_of(5, rounds("gaussian", three, "ranking", "exact", 40)),
    "exact rounds bernoulli K=3": best_of(5, rounds("bernoulli", three, "best-arm", "exact", 100)),
    "exact rounds bernoulli K=10": best_of(3, rounds("bernoulli", ten, "best-arm", "exact", 30)),
    "lazy rounds gaussian K=3": best_of(5, rounds("gaussian", three, "ranking", "lazy", 1000)),
    "lazy rounds bernoulli K=10": best_of(5, rounds("bernoulli", ten, "best-arm", "lazy", 1000)),
    "observe": best_of(5, observe),
}))
"""


def measure(tree: Path) -> dict[str, float]:
    """The cases of one fresh process in a tree."""
    told = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", MEASURE], cwd=tree, env=told, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{tree}: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print the table of both trees."""
    parser = argparse.ArgumentParser(description="Public calls and rounds of one checkout against another.")
    parser.add_argument("base", type=Path, metavar="BASE", help="a checkout, for example of git worktree add")
    parser.add_argument("tree", type=Path, nargs="?", default=Path(__file__).parents[1], metavar="TREE")
    parser.add_argument("--passes", type=int, default=10, metavar="N")
    arguments = parser.parse_args()
    trees = [arguments.base.resolve(), arguments.tree.resolve()]
    for tree in trees:
        measure(tree)  # compiles, if need be
    passes = [[measure(tree) for tree in trees] for _ in range(arguments.passes)]
    rows = []
    for case in passes[0][0]:
        pairs = np.array([[one[case] for one in both] for both in passes])
        base, tree = pairs.min(axis=0)
        low, high = np.quantile(pairs[:, 0] / pairs[:, 1], [0.25, 0.75])
        rows.append([case, f"{1e3 * base:.2f}", f"{1e3 * tree:.2f}", f"{base / tree:.3f}", f"{low:.3f} to {high:.3f}"])
    print(table(("case", "base, ms", "tree, ms", "base over tree", "half of the passes"), rows, (0,)))


if __name__ == "__main__":
    main()
