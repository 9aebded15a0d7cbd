"""Where a live experiment stands, in words."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import floor
from typing import Any

from caet_opt.bandits.families import Bounded
from caet_opt.common.numbers import (
    digits_beside,
    in_full,
    table,
    to_digits,
    write_count,
    write_interval,
    write_money,
)
from caet_opt.exploring.stopping import base as stopping
from caet_opt.live.status import Record

#: Digits of estimates and of money, and what stands for nothing.
DIGITS, NONE = 4, "-"

#: More statements of an answer are not listed beside it.
MOST_ASSERTED = 20

#: What the guarantee needs of outcomes whose arms were assigned elsewhere.
ASSIGNED_NEED = (
    "the guarantee requires that every trial is counted once, that none is left out because of its outcome, that arms "
    "are assigned independently of outcomes to come, and that no arm's rewards change over time"
)

#: What it means that later outcomes speak against what was settled.
DOUBT = (
    "what was settled keeps its guarantee, which is for all times together, if the rewards are as assumed; so look "
    "first whether rewards changed over time, or whether another assumption fails"
)

#: Columns of the table of arms, and of that of pairs.
ARM_HEADERS = ["arm", "outcomes", "out", "mean", "interval", "spent"]
PAIR_HEADERS = ["statement", "evidence", "needed", "progress", "settled", "difference", "interval"]


def to_words(status: Record) -> str:
    """The whole: what is asked and by which guarantee, where it stands, the arms, the pairs, and what is out."""
    arms = [arm["name"] for arm in status["arms"]]
    limits = f" within {say_shares(status)}" if "share_limits" in status else ""
    parts = [
        f"{say_task(status)} of {', '.join(arms)}: {status['family']} rewards, policy {status['policy']}{limits}\n"
        f"stops when {status['formula']}; {say_guarantee(status)}"
    ]
    if status["watch"]["alarm"]:
        parts.append(f"WARNING: {say_alarm(status)}\n{say_fitting(status)}")
    elif (spread := say_spread(status)) is not None:
        parts.append(f"spread: {spread}")
    if (ignored := say_ignored_costs(status)) is not None:
        parts.append(f"WARNING: {ignored}")
    if status["open_again"]:
        parts.append("\n".join([*say_open_again(status), *([DOUBT] if status["guaranteed"] else [])]))
    parts += [say_standing(status), table(ARM_HEADERS, list(map(arm_texts, status["arms"])))]
    if status["pairs"]:
        more = status["pairs_left_out"]
        left_out = f"\nand {write_count(more, 'pair')} with a larger margin" if more else ""
        late = f"\n{say_late(status)}" if came_late(status) else ""
        parts.append(table(pair_headers(status), list(map(pair_texts, status["pairs"]))) + left_out + late)
    parts.append(say_intervals(status))
    if status["out"]:
        parts.append(say_out(status))
    return "\n\n".join(parts)


def say_shares(status: Record) -> str:
    """The limits on shares, each with the present share of its arms."""
    both = zip(status["share_limits"], status["shares"], strict=True)
    return ", ".join(limit if share is None else f"{limit} (now {share:.3g})" for limit, share in both)


def say_task(record: Mapping[str, Any]) -> str:
    """The task, which has its arms by number, and in words that name them."""
    return str(record["task"]) if record["question"] is None else f"{record['task']} ({record['question']})"


def say_guarantee(status: Record) -> str:
    """What an answer is worth, and why."""
    return say_worth(status) + (f" ({status['reason']})" if status["guaranteed"] else "")


def say_worth(record: Record) -> str:
    """What an answer is worth."""
    if record["refuted"]:
        return f"NOT GUARANTEED: the rewards spread more than {record['assumes']}"
    return stopping.say_worth(record["guaranteed"], record["assumes"], record["log_inv_delta"])


def say_spread(status: Record) -> str | None:
    """Whether the rewards spread more than the guarantee assumes; None where they cannot."""
    watch = status["watch"]
    if not watch["watched"]:
        return None if watch["reason"] is None else str(watch["reason"])
    names = ", ".join(status["arms"][arm]["name"] for arm in watch["unseen"])
    wait = "the answer was declared before that" if status["stopped"] else "no answer is declared before that"
    unseen = f"; the spread of {names} shows only from the second outcome on, and {wait}" if names else ""
    evidence = f"log e-value {write(watch['log_e'])}, alarm at {write(watch['needed'])}"
    return f"{'more' if watch['alarm'] else 'no more'} than assumed so far ({evidence}){unseen}"


def say_alarm(status: Record) -> str:
    """That the guarantee does not hold for these rewards, and how sure that is."""
    watch = status["watch"]
    return (
        f"the rewards spread more than {status['assumes']}, so the guarantee does not hold (since outcome "
        f"{watch['since']}: log e-value {write(watch['log_e'])}, alarm at {write(watch['needed'])}; if the rewards "
        f"were as assumed, the probability that this alarm is ever raised would be at most {watch['level']:g})."
    )


def say_fitting(status: Record) -> str:
    """What would fit rewards that spread more than assumed."""
    *others, last = status["watch"]["fits"]
    return f"What would fit, in a new experiment: {'; '.join(others)}; or {last}."


def say_ignored_costs(record: Record) -> str | None:
    """That observed costs are too small to be weighed, and what would change it; None where they are not."""
    if (ignored := record["costs_ignored"]) is None:
        return None
    return (
        f"the policy treats the costs of {', '.join(ignored['arms'])} as zero, like all mean costs up to "
        f"{write(ignored['up_to'])}; to have them taken into account, start a new experiment with "
        f"--gamma0 {ignored['gamma0']:g}"
    )


def say_missing_costs(record: Record) -> str | None:
    """Of which arms no cost is known, or none but zero; None where there is no such arm."""
    if (missing := record["costs_missing"]) is None:
        return None
    told = [f"none observed yet of {', '.join(missing['none'])}"] if missing["none"] else []
    if missing["zero"]:
        told.append(f"zero with every outcome of {', '.join(missing['zero'])}, which is right only if that is free")
    return f"costs: {'; '.join(told)}"


def say_standing(status: Record) -> str:
    """What was spent, the leading or the declared answer, and what is ahead."""
    counted = f"{write_count(status['recorded'], 'outcome')}, {write_count(status['waiting'], 'pull')} out"
    counts = f"{counted}, {status['withdrawn']} withdrawn"
    lines = [f"{counts}; spent {write_money(status['spent'])}{say_lost(status)}"]
    if (missing := say_missing_costs(status)) is not None:
        lines.append(missing)
    if status["counted"]:
        lines.append(say_assigned(status))
    if (limits := say_limits(status)) is not None:
        lines.append(f"limits: {limits}")
    if is_ended(status):
        lines.append(f"ENDED: {say_end(status)}")
    if status["stopped"] is not None:
        lines.append(f"STOPPED: {say_answer(status)}, {say_stop(status['stopped'])}")
    elif status["answer"] is None:
        lines.append("no answer yet: every arm needs an outcome first")
    else:
        lines += [f"leading: {say_answer(status)}", say_ahead(status)]
    if (hint := say_good_enough(status)) is not None:
        lines.append(f"nearly tied: {hint}")
    if status["stopped"] is None:
        lines += [*say_settled(status), say_not_excluded(status)]
    return "\n".join(lines)


def say_answer(record: Mapping[str, Any]) -> str:
    """The answer, declared or leading, and where levels are what is asked, what it asserts of each arm: of arms that
    are named alone, or of none, nobody sees on which side of the level they are."""
    if not (asserted := record["asserts"]):
        return str(record["answer"])
    more = f" and {len(asserted) - MOST_ASSERTED} more" if len(asserted) > MOST_ASSERTED else ""
    return f"{record['answer']} ({', '.join(asserted[:MOST_ASSERTED])}{more})"


def say_lost(status: Record) -> str:
    """How much of it brought no outcome; nothing where all did."""
    return f", of which {write_money(status['lost'])} on pulls without an outcome" if status["lost"] else ""


def say_settled(status: Record) -> list[str]:
    """What can be acted on while the rest goes on."""
    if not status["settled"] or not status["guaranteed"]:
        return []
    risk = stopping.say_delta(status["log_inv_delta"])
    return [
        f"SETTLED: {', '.join(status['settled'])}; act on it now (chance that anything settled is ever wrong: at most "
        f"{risk})"
    ]


def say_open_again(record: Record) -> list[str]:
    """What was settled, and what outcomes since then say of it."""
    lines = []
    for one in record["open_again"]:
        settled = f"{one['statement']}, settled at outcome {one['outcome']}, {say_time(one['time'])}"
        if one["reversed"]:
            lines.append(f"WARNING: rewards recorded since settle the opposite of {settled}; one of the two is wrong")
        elif one["contradicted"]:
            lines.append(f"WARNING: rewards recorded since contradict {settled}")
        else:
            lines.append(f"OPEN AGAIN: rewards recorded since leave in doubt {settled}")
    return lines


def say_assigned(status: Record) -> str:
    """How many outcomes nobody handed out, and what the guarantee needs of them."""
    return f"{status['counted']} of the outcomes were assigned elsewhere; {ASSIGNED_NEED}"


def say_limits(status: Record) -> str | None:
    """The limits; None without any."""
    given = {name: value for name, value in status["limits"].items() if value is not None}
    return ", ".join(f"{name} {value:.15g}" for name, value in given.items()) or None


def is_ended(status: Record) -> bool:
    """Whether nothing is handed out any more, and no answer is declared."""
    return status["ended"] is not None and status["stopped"] is None


def say_end(status: Record) -> str:
    """Why it ended, and what may still come."""
    reason = status["ended"]["reason"]
    limit = status["limits"].get(reason)
    why = (
        f"{reason}, {say_time(status['ended']['time'])}"
        if limit is None
        else f"{reason} {limit:.15g} leaves no room for the next pull"
    )
    return why + ("; outcomes of pulls already handed out are still accepted" if status["waiting"] else "")


def say_left(status: Record) -> str:
    """What is left of an experiment that has ended, and what that is worth."""
    return f"{say_not_excluded(status)} ({say_worth(status)})"


def say_not_excluded(status: Record) -> str:
    """What is left: a right answer is not among the excluded ones with probability 1 - delta, at all looks together."""
    left, known = status["not_excluded"], ", ".join(status["established"]) or "nothing yet"
    if left is None:
        return f"established: {known}"
    return f"not excluded: {'; '.join(left) or 'none, so something assumed about the rewards is not true'}"


def say_stop(stop: Record) -> str:
    """When it stopped, what that cost, and what the answer is worth."""
    came = f"{write_count(stop['late'], 'outcome')} came later and {'does' if stop['late'] == 1 else 'do'}"
    late = f"; {came} not change the answer" if stop["late"] else ""
    when = f"at outcome {stop['outcome']}, {say_time(stop['time'])}, with {write_money(stop['cost'])} spent"
    return f"{when}; {say_worth(stop)}{late}"


def say_ahead(status: Record) -> str:
    """What it will probably still cost, or why that cannot be said."""
    ahead = status["ahead"]
    if ahead["cost"] is None:
        return f"still to pay: unknown at the present means: {ahead['reason']}"
    if ahead["reason"] is not None:
        return f"still to pay: nothing: {ahead['reason']}"
    return in_full(
        f"still to pay: about {write(ahead['cost'])}, the missing evidence {write(ahead['missing'])} times "
        f"{say_time_of(status)}"
    )


def say_good_enough(status: Record) -> str | None:
    """That a tolerance would end an experiment whose arms are level, with what it would cost; None where it is not."""
    if (found := status["good_enough"]) is None:
        return None
    return (
        f"{' and '.join(found['arms'])} have been nearly equal for a long time, and a tie never ends; a new experiment "
        "with "
        f"{found['task']} accepts any answer within that tolerance, and would cost about {write(found['cost'])}"
    )


def say_time_of(status: Record) -> str:
    """T* at the present means, and of which rewards, where that is not what was recorded."""
    time = write(status["ahead"]["characteristic_time"])
    if status["fractions"]:
        return f"T* = {time} (of yes-or-no rewards with the present means)"
    if status["family"].startswith(Bounded.name):
        return f"T* = {time} of the rewards as counted so far"
    return f"T* = {time} at the present means"


def arm_texts(arm: Record) -> list[str]:
    """An arm, by the headers above."""
    return [
        arm["name"],
        str(arm["pulls"]),
        str(arm["out"]),
        *write_estimate(arm["mean"], arm),
        write_money(arm["spent"]),
    ]


def came_late(status: Record) -> int:
    """How many outcomes came after the stop."""
    return 0 if status["stopped"] is None else int(status["stopped"]["late"])


def pair_headers(status: Record) -> list[str]:
    """The headers of the table of pairs: what is settled now need not be what was when it stopped."""
    return [f"{header} now" if header == "settled" and came_late(status) else header for header in PAIR_HEADERS]


def say_late(status: Record) -> str:
    """That the tables count what the answer does not."""
    late = came_late(status)
    return (
        f"The answer was declared at outcome {status['stopped']['outcome']}. Evidence, means and intervals also count "
        f"the {late} outcome{'s'[: late != 1]}\nafter it, so a statement may look less settled than it was."
    )


def pair_texts(pair: Record) -> list[str]:
    """A pair, by the headers above."""
    share = f"{floor(100 * pair['share'])} %"
    weights = [write(pair["evidence"]), write(pair["threshold"]), share, "yes" if pair["settled"] else "no"]
    return [pair["name"], *weights, *write_estimate(pair["difference"], pair)]


def say_intervals(status: Record) -> str:
    """What the intervals mean."""
    others = ", which these are not" if status["refuted"] else ""
    return (
        f"Intervals: for {status['assumes']}{others}. However often you look, all intervals of means hold at once "
        f"with probability {100 * status['level']:g} %, and so do all intervals of differences.\n"
        "They are two-sided, and wider than stopping needs: the interval of a settled statement may "
        "contain values that contradict it."
    )


def say_out(status: Record) -> str:
    """The pulls that are out, oldest first."""
    names = [arm["name"] for arm in status["arms"]]
    shown = [f"{row['pull']} ({names[row['arm']]}, since {say_time(row['handed_out'])})" for row in status["out"][:10]]
    more = status["waiting"] - len(shown)
    return f"out: {', '.join(shown)}" + (f" and {more} more" if more > 0 else "")


def write_estimate(value: float | None, record: Record) -> tuple[str, str]:
    """An estimate to as many digits as its interval has, and the interval, rounded outward; it may have no end."""
    ends = record["low"], record["high"]
    told = NONE if value is None else to_digits(value, digits_beside(value, ends, DIGITS))
    return told, write_interval(*ends, DIGITS)


def write(value: float | None) -> str:
    """A number to a few digits."""
    return NONE if value is None else to_digits(value, DIGITS)


def say_time(seconds: float) -> str:
    """A moment, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
