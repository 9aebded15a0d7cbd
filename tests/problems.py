"""Reference problems with their known answers; random instances come from the stress test's generator."""

from dataclasses import dataclass

from caet_opt import BanditModel, Task, parse_family, parse_task
from cases.instances import FAMILIES, TASKS, stated_instance
from cases.instances import ordinary_instance as random_instance

__all__ = ["FAMILIES", "REFERENCES", "STATED_REFERENCES", "TASKS", "random_instance", "stated_instance"]


@dataclass(frozen=True)
class Reference:
    """A problem whose answer is known from outside this library."""

    name: str
    model: BanditModel
    task: Task
    characteristic_time: float
    sampling_proportions: tuple[float, ...]


def reference(name, family, means, costs, task, value, proportions):
    model = BanditModel(parse_family(family), means, costs)
    return Reference(name, model, parse_task(task), value, tuple(proportions))


REFERENCES = (
    reference(
        "garivier-kaufmann-1", "bernoulli", [0.5, 0.45, 0.43, 0.4], [1, 1, 1, 1], "best-arm",
        989.792140262026, [0.416523871, 0.390263906, 0.136223205, 0.056989018],
    ),
    reference(
        "garivier-kaufmann-2", "bernoulli", [0.3, 0.21, 0.2, 0.19, 0.18], [1, 1, 1, 1, 1], "best-arm",
        326.642112410286, [0.335885113, 0.251499386, 0.176632292, 0.132416669, 0.103566539],
    ),
    reference(
        "two-bernoulli", "bernoulli", [0.6, 0.5], [1, 1], "best-arm",
        197.650024249859, [0.5016939311, 0.4983060689],
    ),
    reference(
        "five-bernoulli", "bernoulli", [0.5, 0.4, 0.3, 0.2, 0.1], [1, 1, 1, 1, 1], "best-arm",
        219.68643658418, [0.450867298, 0.448852662, 0.0627850947, 0.0248266621, 0.0126682834],
    ),
    reference(
        "paper-1", "gaussian", [3, 4, 2], "gaps", "ranking",
        11.656854249492381, [0.585786437626905, 0.0, 0.414213562373095],
    ),
    reference(
        "paper-2", "gaussian", [1.4, 0.8, 0.3], "gaps", "ranking",
        26.598461447417537, [0.0, 0.575192319, 0.424807681],
    ),
    reference(
        "three-arm-second-branch", "gaussian", [1.0, 0.9, 0.0], "gaps", "ranking",
        22.5, [0.0, 0.987654320987654, 0.012345679012346],
    ),
    reference(
        "two-gaussian", "gaussian", [0.5, 0.0], [1, 4], "best-arm",
        72.0, [0.666666666666667, 0.333333333333333],
    ),
    reference(
        "regret-bernoulli", "bernoulli", [0.5, 0.45, 0.43, 0.4], "gaps", "best-arm",
        22.069059991032563, [0.0, 0.568791431, 0.289731366, 0.141477203],
    ),
)  # fmt: skip

# Levels, margins and ratios. The proportions are by golden section in 26 digits, outside this library.
STATED_REFERENCES = (
    reference(
        "above-a-level", "bernoulli", [0.2, 0.45, 0.7], [1, 2, 0.5], "above:0.5",
        410.59657735948, [0.0239079920, 0.9200883752, 0.0560036328],
    ),
    reference(
        "non-inferior", "bernoulli", [0.8, 0.86], [0.006, 0.03], "control:1-0.1",
        9.7500401845439, [0.74983363767, 0.25016636233],
    ),
    reference(
        "exponential-margins", "exponential", [2, 1.2, 0.7], [1, 1, 3], "control:1+0.1",
        63.054247495882, [0.38018638734, 0.4614293277, 0.15838428496],
    ),
    reference(
        "poisson-margins", "poisson", [7, 5, 4], [1, 2, 1], "control:0-1.5",
        277.17345972143, [0.59852404744, 0.37851499124, 0.022960961315],
    ),
    reference(  # on a kink: f = 1 at both minima, two equations for the efforts and one for each point
        "two-minima", "exponential", [5, 0.03], [3.455, 1], "control:1+1",
        1.822619980707559, [0.59954751359, 0.40045248641],
    ),
    reference(
        "best-up-to-a-margin", "bernoulli", [0.4, 0.5, 0.6, 0.7, 0.8], [1, 1, 1, 1, 1],
        "comparisons:4-0-0.15,4-1-0.15,4-2-0.15,4-3-0.15",
        30.431803668985, [0.040862350616, 0.06245279291, 0.11220114451, 0.30664718254, 0.47783652943],
    ),
    reference(
        "second-up-to-a-margin", "bernoulli", [0.4, 0.5, 0.6, 0.7, 0.8], [1, 1, 1, 1, 1],
        "comparisons:3-0-0.15,3-1-0.15,3-2-0.15,3-4-0.15",
        593.70631786515, [0.0032219095813, 0.0051110188997, 0.0095321674647, 0.54726039173, 0.43487451233],
    ),
)  # fmt: skip
