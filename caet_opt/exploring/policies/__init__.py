"""Sampling rules, each a class in a file of its own."""

from caet_opt.bandits.tasks import Task, parse_task
from caet_opt.common.registry import Registry
from caet_opt.errors import InputError, unknown_name
from caet_opt.exploring.policies.base import Policy, Setup
from caet_opt.exploring.policies.best_challenger import BestChallenger
from caet_opt.exploring.policies.caet import CostAware
from caet_opt.exploring.policies.chernoff_overlap import ChernoffOverlap
from caet_opt.exploring.policies.chernoff_racing import ChernoffRacing
from caet_opt.exploring.policies.ctas import Ctas
from caet_opt.exploring.policies.equal_spending import EqualSpending
from caet_opt.exploring.policies.kl_lucb import KlLucb
from caet_opt.exploring.policies.kl_racing import KlRacing
from caet_opt.exploring.policies.oracle import Oracle
from caet_opt.exploring.policies.thompson_top_two import ThompsonTopTwo
from caet_opt.exploring.policies.top_two import TopTwo
from caet_opt.exploring.policies.top_two_ids import TopTwoIds
from caet_opt.exploring.policies.track_and_stop import TrackAndStop
from caet_opt.exploring.policies.ugape import Ugape
from caet_opt.exploring.policies.uniform import Uniform

POLICIES: Registry[type[Policy]] = Registry(
    """Sampling rules by name; `Explorer.start` and `simulate` take one as ``policy``.

    >>> list(POLICIES)[:4]
    ['caet', 'track-and-stop', 'oracle', 'uniform']
    >>> POLICIES["uniform"].about
    'round robin'
    """,
    *(CostAware, TrackAndStop, Oracle, Uniform, EqualSpending, Ctas, ChernoffOverlap, TopTwo, TopTwoIds),
    *(ThompsonTopTwo, BestChallenger, KlLucb, Ugape, KlRacing, ChernoffRacing),
)


def find_policy(name: str) -> type[Policy]:
    """The policy of this name, or `InputError`."""
    if not isinstance(name, str) or name not in POLICIES:
        raise InputError(unknown_name("policy", str(name), POLICIES))
    return POLICIES[name]


def make_policy(name: str, setup: Setup) -> Policy:
    """The named policy for an experiment."""
    return find_policy(name)(setup)


def list_policies(task: Task | str) -> list[str]:
    """The names of the policies that cover a task.

    >>> from caet_opt.exploring.policies import list_policies
    >>> len(list_policies("best-arm")), len(list_policies("ranking"))
    (15, 10)
    """
    task = parse_task(task) if isinstance(task, str) else task
    return [name for name, policy in POLICIES.items() if policy.covers(task)]


__all__ = ["POLICIES", "Policy", "find_policy", "list_policies", "make_policy"]
