"""Files that people keep, one of each kind, written by the version that runs this; `tests/kept` has those of earlier
versions, which every later version reads.

    python tests/kept_files.py tests/kept/0.2.0
"""

import json
import platform
import sys
from pathlib import Path

from caet_opt import Caet, Custom, LiveExperiment, load_results, run_study
from caet_opt.cli import main
from caet_opt.exploring.policies import POLICIES
from caet_opt.kernels.native import compiled_kernel
from caet_opt.solving.profiles import Profile

#: Rewards that are none of chance, so that a later version finds the same: by family, a function of arm and pull.
REWARDS = {
    "gaussian": lambda arm, pull: 1.0 / (1 + arm) + ((7 * pull + 3 * arm) % 11 - 5) / 8,
    "bernoulli": lambda arm, pull: int((5 * pull + arm) % 10 < 8 - 3 * arm),
    "poisson": lambda arm, pull: (9, 4, 2, 1)[arm] + (3 * pull + arm) % 3,
    "exponential": lambda arm, pull: (3.0, 1.0, 0.5, 0.25)[arm] * (0.25 + (3 * pull + arm) % 7 / 4),
}

CHAMPION = Custom([[(0, 1), (0, 2)], [(1, 0)], [(2, 0), (0, 1)]])

#: name: task, family, number of arms or their names, pulls, and the rest of what `start` takes.
EXPERIMENTS = {
    "caet-exact": ("best-arm", "bernoulli", ["large", "small", "local"], 60, {"costs": [3, 1, 0.5], "delta": 0.05}),
    "caet-lazy": ("ranking", "gaussian:0.5", 3, 40, {"costs": [1, 2, 0], "delta": 0.1, "solve": "lazy"}),
    "caet-stopped": ("best-arm", "gaussian:1", 2, 200, {"costs": [1, 2], "log_inv_delta": 2.5}),
    "caet-d-growing": (
        *("top-arms:2", "exponential", 4, 70),
        {"cost_source": "gaps", "delta": 0.05, "tracking": "d", "batch": "growing:0.2"},
    ),
    "caet-observed": (
        *("groups:0,1/2,3", "poisson", ["a", "b", "c", "d"], 50),
        {"cost_source": "observed", "delta": 0.01, "solve": "lazy:0.5", "rho": 4.0, "zero_cost_share": 0.5},
    ),
    "caet-answers": (CHAMPION, "gaussian:1,2,3", 3, 30, {"costs": [1, 1, 2], "delta": 0.05}),
    "caet-profile": (
        *("control:0", "bernoulli", 3, 12),
        {"costs": [1, 1, 2], "delta": 0.05, "solver": Profile(backend="clarabel", tolerance=1e-6)},
    ),
    "caet-deviational": (
        *("comparisons:0-1,2-1", "exponential", 3, 25),
        {"costs": [1, 1, 2], "delta": 0.05, "threshold": "deviational", "theta": 1.5, "constant": 2.0},
    ),
    "top-two-seed": ("best-arm", "gamma:2", 3, 30, {"costs": [1, 1, 2], "delta": 0.05, "policy": "top-two", "seed": 7}),
    "racing-customary": (
        *("best-arm", "geometric", 3, 30),
        {"costs": [1, 1, 2], "delta": 0.05, "policy": "chernoff-racing", "threshold": "customary"},
    ),
} | {
    f"policy-{policy}": ("best-arm", "bernoulli", 3, 45, {"costs": [1, 0, 2], "delta": 0.2, "policy": policy})
    for policy in POLICIES
    if policy != "oracle"
}


def reward_of(family, arm, pull):
    """What the pull of this number of an arm brings."""
    name = {"gamma": "exponential", "geometric": "poisson"}.get(family.split(":")[0], family.split(":")[0])
    return REWARDS[name](arm, pull)


def cost_of(settings, arm, pull):
    """What it costs, where costs are observed."""
    return (arm + 1) * (0.5 + pull % 2) if settings.get("cost_source") == "observed" else None


def write_saved(folder, expected):
    """Explorers, saved in the middle, and the arms that they pull next; compiled solves round in another way."""
    folder.mkdir(parents=True)
    for name, (task, family, arms, pulls, settings) in EXPERIMENTS.items():
        explorer = Caet.start(task, family, arms=arms if isinstance(arms, int) else len(arms), **settings)
        for _ in range(pulls):
            go_on(explorer, family, settings)
        explorer.save(folder / f"{name}.json")
        state = explorer.state
        entry = {"round": state.round, "counts": state.counts, "reward_sums": state.reward_sums}
        entry |= {"total_cost": state.total_cost, "stopped": explorer.stopped, "answer": repr(explorer.answer)}
        expected[f"{folder.name}/{name}.json"] = entry | {
            "next": [go_on(explorer, family, settings) for _ in range(20)]
        }


def go_on(explorer, family, settings):
    """One round of an explorer; its arm."""
    arm = explorer.next_arm()
    pull = explorer.state.counts[arm]
    explorer.observe(arm, reward_of(family, arm, pull), cost_of(settings, arm, pull))
    return arm


def write_live(folder, expected):
    """Live experiments with pulls that are out, withdrawn and late, and what their status says."""
    folder.mkdir(parents=True)
    for name, (task, family, arms, pulls, settings) in EXPERIMENTS.items():
        path, told, brought = folder / f"{name}.caet", dict(settings), {}
        with LiveExperiment.start(path, task, family, arms=arms, unproven=True, **told) as experiment:
            handed = []
            while len(handed) < pulls and not experiment.stopped:
                handed += experiment.next(3)
                for pull in handed[-3:-1]:
                    number = brought[pull.arm] = brought.get(pull.arm, -1) + 1
                    cost = cost_of(settings, pull.arm, number)
                    experiment.record(pull.arm, reward_of(family, pull.arm, number), cost, pull=pull.number)
                if len(handed) % 9 == 0:
                    experiment.release(handed[-1].number)
            if experiment.stopped:
                late = handed[-1]
                experiment.record(late.arm, reward_of(family, late.arm, 0), pull=late.number)
            status = experiment.status()
        kept = ("guaranteed", "handed_out", "recorded", "withdrawn", "waiting", "spent", "answer")
        entry = {key: status[key] for key in kept}
        entry |= {"stopped": None if status["stopped"] is None else status["stopped"]["outcome"]}
        entry |= {"arms": [[arm["name"], arm["pulls"], arm["mean"]] for arm in status["arms"]]}
        expected[f"live/{name}.caet"] = entry


MODELS = {
    "easy": 'title = "Easy"\nfamily = "gaussian"\nmeans = [2, 0]\ncosts = [1, 1]\ntask = "best-arm"\n',
    "free": 'family = "poisson"\nmeans = [9, 1, 4]\ncosts = [0, 1, 2]\narms = ["a", "b", "c"]\ntask = "ranking"\n',
}

STUDY = """title = "Kept"
models = ["easy.toml", "free.toml"]
deltas = [0.1, 0.01]
policy = ["caet", "top-two", "uniform"]
solve = ["exact", "lazy"]
runs = 20
seed = 3
"""


def write_study(folder, expected):
    """A study with its results."""
    folder.mkdir(parents=True)
    for name, text in MODELS.items():
        (folder / f"{name}.toml").write_text(text)
    (folder / "study.toml").write_text(STUDY)
    platform.platform = lambda: "Linux"  # no machine's name
    run_study(folder / "study.toml", folder / "outcome")
    (folder / "outcome" / "sweep.lock").unlink()
    runs = load_results(folder / "outcome")
    expected["study/outcome"] = {
        "runs": len(runs),
        "cells": int(runs["cell"].nunique()),
        "rounds": int(runs["rounds"].sum()),
        "cost": float(runs["cost"].sum()),
    }


def write_certificates(folder, expected):
    """Certificates of one model of each family and task."""
    folder.mkdir(parents=True)
    names = ("paper-instance-1", "bernoulli-costs", "gamma-shape", "geometric", "groups-of-two", "top-arms")
    names += ("champion-and-challenger", "comparisons", "control-at-a-cost", "regret-poisson", "gaussian-variances")
    for name in names:
        path = folder / f"{name}.json"
        assert main(["solve", name, "--digits", "30", "--certificate", str(path)]) == 0
        expected[f"certificates/{name}.json"] = {"accepted": True}


def write_all(folder):
    """All of it, with what a reader must find."""
    expected = {}
    write_saved(folder / "saved", expected)
    write_live(folder / "live", expected)
    write_certificates(folder / "certificates", expected)
    write_study(folder / "study", expected)
    compiled_kernel()
    write_saved(folder / "saved-compiled", expected)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
