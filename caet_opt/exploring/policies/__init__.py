"""Sampling rules, each a class."""

from caet_opt.bandits.families import Family
from caet_opt.bandits.tasks import Task, parse_task
from caet_opt.common.exact import brief
from caet_opt.common.registry import Registry
from caet_opt.errors import InputError, unknown_name
from caet_opt.exploring.policies.base import Policy
from caet_opt.exploring.policies.caet import CostAware, Ctas, TrackAndStop
from caet_opt.exploring.policies.confidence_bounds import KlLucb, Ugape
from caet_opt.exploring.policies.given_shares import EqualSpending, Oracle, Uniform
from caet_opt.exploring.policies.racing import ChernoffOverlap, ChernoffRacing, KlRacing
from caet_opt.exploring.policies.weakest_pair import BestChallenger, ThompsonTopTwo, TopTwo, TopTwoIds

POLICIES: Registry[type[Policy]] = Registry(
    """Sampling rules by name; `Explorer.start` and `simulate` take one as ``policy``.

    >>> list(POLICIES)[:4]
    ['caet', 'track-and-stop', 'oracle', 'uniform']
    >>> POLICIES["uniform"].about
    'pulls every arm in turn'
    """,
    *(CostAware, TrackAndStop, Oracle, Uniform, EqualSpending, Ctas, ChernoffOverlap, TopTwo, TopTwoIds),
    *(ThompsonTopTwo, BestChallenger, KlLucb, Ugape, KlRacing, ChernoffRacing),
)


def find_policy(name: str) -> type[Policy]:
    """The policy of this name, or `InputError`."""
    if not isinstance(name, str) or name not in POLICIES:
        if "," in str(name):
            raise InputError(f"policy must be one name, got {brief(str(name))!r}; compare_policies takes several")
        raise InputError(unknown_name("policy", str(name), POLICIES))
    return POLICIES[name]


def list_policies(task: Task | str, family: Family | None = None) -> list[str]:
    """The names of the policies that cover a task, and a family if one is given.

    >>> from caet_opt import parse_family
    >>> from caet_opt.exploring.policies import list_policies
    >>> len(list_policies("best-arm")), len(list_policies("ranking"))
    (15, 10)
    >>> len(list_policies("best-arm", parse_family("bounded:0,1")))
    9
    """
    task = parse_task(task) if isinstance(task, str) else task
    known = [name for name, policy in POLICIES.items() if policy.covers(task)]
    return known if family is None else [name for name in known if POLICIES[name].fits(family)]


__all__ = ["POLICIES", "Policy", "find_policy", "list_policies"]
