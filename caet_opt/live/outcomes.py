"""What people tell of outcomes: arms by name or number, counts, columns, costs; all of it checked."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from caet_opt.bandits.families import Bernoulli, Bounded, Family
from caet_opt.common.checks import check_whole, is_number, is_whole, show_value
from caet_opt.common.exact import read_whole
from caet_opt.errors import InputError, unknown_name
from caet_opt.exploring.explorer import LARGEST_AMOUNT, Explorer, read_finite
from caet_opt.live.watch import needs_order

#: More trials at once would make a file of hundreds of megabytes.
MOST_TRIALS = 1_000_000

#: What an outcome is told by, in Python and in the header of a CSV file.
COLUMNS = ("pull", "arm", "reward", "cost")

#: What counts are told by.
COUNTED = ("arm", "successes", "trials")

#: The same of an outcome of a pull that nobody handed out.
ASSIGNED = COLUMNS[1:]


def find_arm(arm: Any, names: Sequence[str]) -> int:
    """The number of an arm that is given by its name or its number, or `InputError`."""
    if isinstance(arm, str) and arm in names:
        return names.index(arm)
    if isinstance(arm, str):
        number = read_whole(arm.strip(" "))
        arm = arm if number is None else number
    if is_whole(arm, 0, len(names) - 1):
        return int(arm)
    raise InputError(unknown_name("arm", arm if isinstance(arm, str) else show_value(arm), names))


def read_assigned(
    explorer: Explorer, names: Sequence[str], number: int, outcome: Mapping[str, Any]
) -> tuple[int, float, float]:
    """Arm, reward and cost of an outcome that was assigned elsewhere."""
    try:
        check_columns(outcome, ASSIGNED)
        arm = find_arm(outcome.get("arm"), names)
        reward = read_reward(explorer.family, outcome, f"arm {names[arm]!r}")
        cost = read_cost(explorer, names, arm, outcome)
        _, _, paid = explorer.read_outcome(arm, reward, cost, is_new=True)
        return arm, reward, paid
    except InputError as error:
        raise InputError(f"outcome {number}: {error}") from error


def read_reward(family: Family, outcome: Mapping[str, Any], what: str) -> float:
    """The reward of an outcome; `InputError` for one that is missing or no number, and for one above a range, which may
    be that of something that was cut off."""
    if outcome.get("reward") is None:
        raise InputError(f"the reward of {what} is missing")
    reward = read_finite(outcome["reward"], f"the reward of {what}")
    if isinstance(family, Bounded) and reward > (most := family.mean_space.high):
        try:
            family.count_reward(reward)
        except InputError as error:
            raise InputError(f"{error}; if it was cut off at the limit, record {most:g}") from error
    return reward


def read_cost(explorer: Explorer, names: Sequence[str], arm: int, outcome: Mapping[str, Any]) -> Any:
    """The cost that was told of an outcome; `InputError` where costs are known, or a missing one is observed."""
    cost, known = outcome.get("cost"), explorer.known_costs
    if cost is None and explorer.parameters.cost_source == "observed":
        raise InputError(
            f"observed costs need a cost with every reward, and that of arm {names[arm]!r} is missing; give "
            "what the pull cost (--cost, or a column cost), and 0 only if it was free"
        )
    if known is not None and cost is not None:
        raise InputError(f"the cost of arm {names[arm]!r} is known to be {known[arm]:g}; leave it out")
    if cost is not None and read_finite(cost, f"the cost of arm {names[arm]!r}") < 0:
        raise InputError(f"the cost of arm {names[arm]!r} must be zero or more, got {show_value(cost)}")
    return cost


def read_counts(names: Sequence[str], arm: Any, successes: Any, trials: Any) -> tuple[int, int, int]:
    """The number of an arm, its successes and its trials, or `InputError`."""
    number = find_arm(arm, names)
    successes, trials = (int(one) if is_number(one) and one == int(one) else one for one in (successes, trials))
    trials = check_whole(trials, f"trials of arm {names[number]!r}")
    if trials > MOST_TRIALS:
        many = f"trials of arm {names[number]!r} must be at most {MOST_TRIALS}, got {show_value(trials)}"
        raise InputError(f"{many}; record up to {MOST_TRIALS} at a time")
    return number, check_whole(successes, f"successes of arm {names[number]!r}", 0, trials), trials


def list_counts(counts: Any) -> list[tuple[Any, Any, Any]]:
    """Arms with successes and trials, from tuples or from the columns of a data frame; `InputError` where they are
    neither."""
    if hasattr(counts, "columns"):
        header = list(counts.columns)
        if wrong := [name for name in COUNTED if header.count(name) != 1]:
            what = "occurs more than once" if wrong[0] in header else "is missing"
            raise InputError(f"a data frame of counts needs the columns {', '.join(COUNTED)}; {wrong[0]} {what}")
        return list(zip(*(counts[name] for name in COUNTED), strict=True))
    listed = []
    for number, one in enumerate(list_all(counts, "counts"), start=1):
        parts = () if isinstance(one, str | Mapping) or not isinstance(one, Iterable) else tuple(one)
        if len(parts) != len(COUNTED):
            raise InputError(
                f"count {number} must be an arm, its successes and its trials, as ('large', 90, 1000), got "
                f"{show_value(one)}"
            )
        listed.append(parts)
    return listed


def list_all(told: Any, what: str) -> list[Any]:
    """The entries of something that has some, or `InputError`."""
    if not isinstance(told, Iterable):
        raise InputError(f"{what} must be a list, got {show_value(told)}")
    return list(told)


def list_trials(counts: Any, names: Sequence[str], family: Family) -> list[dict[str, Any]]:
    """The outcomes of counted trials, successes first; `InputError` where they are no counts."""
    told = [read_counts(names, *one) for one in list_counts(counts)]
    check_order(family)
    check_amount(sum(trials for _, _, trials in told))
    if not isinstance(family, Bernoulli):
        raise InputError(f"counts are for bernoulli rewards, not {family}; record each outcome, as a row of a CSV file")
    parts = [
        [{"arm": arm, "reward": reward}] * many
        for arm, successes, trials in told
        for reward, many in ((1.0, successes), (0.0, trials - successes))
    ]
    return list(chain.from_iterable(parts))


def check_order(family: Family) -> None:
    """Raise `InputError` where outcomes without an order cannot be taken."""
    if needs_order(family):
        raise InputError(
            f"the order of {family} rewards matters, as their spread is watched; record outcomes of pulls that next "
            "--arm handed out"
        )


def check_amount(trials: int) -> None:
    """Raise `InputError` for no trials, or for more than are taken at once."""
    if not trials:
        raise InputError("there are no trials to record")
    if trials > MOST_TRIALS:
        raise InputError(f"{trials} trials are too many at once; record up to {MOST_TRIALS} at a time")


def check_lost(cost: Any) -> None:
    """Raise `InputError` for a cost of pulls without an outcome that is none."""
    if not is_number(cost) or not 0 <= cost <= LARGEST_AMOUNT:
        raise InputError(
            f"the cost of a pull that is withdrawn must be a number from 0 to {LARGEST_AMOUNT:g}, got "
            f"{show_value(cost)}"
        )


def check_columns(outcome: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise `InputError` for what is no outcome, or a part that none has."""
    if not isinstance(outcome, Mapping):
        raise InputError(
            f"an outcome must be a dict, as {{'arm': 'large', 'reward': 1}}, got {show_value(outcome)}; give a data "
            "frame as df.to_dict('records')"
        )
    for name in outcome:
        if name not in known:
            raise InputError(unknown_name("part of an outcome", str(name), known))
