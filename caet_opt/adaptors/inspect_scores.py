"""What inspect says of a sample, as a reward and a cost."""

from collections.abc import Callable, Iterable, Mapping
from math import isfinite, nan
from numbers import Real
from typing import TYPE_CHECKING, Any

from caet_opt.bandits.families import Family
from caet_opt.common.checks import show_value
from caet_opt.errors import InputError, unknown_name

if TYPE_CHECKING:
    from inspect_ai.scorer import SampleScore, Score

#: What scorers write for right, partly right, wrong and no answer; and other words for right and wrong.
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

#: A score this near to an end of the range, in parts of its width, is that end: weights that sum to 1 do so but for
#: rounding.
ROUNDED = 1e-9


def choose_scorer(names: Iterable[str], scorer: str | None) -> str | None:
    """The one scorer, or the one that is named, None where there is none; `InputError` where there are several, or none
    of this name."""
    known = list(names)
    if scorer is None and len(known) > 1:
        raise InputError(
            f"several scorers, {', '.join(known)}: say which one is the reward with Evaluation(..., scorer=...)"
        )
    if scorer is not None and known and scorer not in known:
        raise InputError(
            f"{unknown_name('scorer', scorer, known)}; a score that only the solver writes needs a scorer that "
            "returns it"
        )
    return (scorer or known[0]) if known else None


def find_score(scores: "Mapping[str, SampleScore]", scorer: str) -> "Score | None":
    """The score of a scorer; None where the sample has none."""
    return scores[scorer].score if scorer in scores else None


def reward_of(score: "Score | None", reward: "Callable[[Score], float]") -> float:
    """The reward of a score, not a number where there is none; `InputError` where the user's function fails."""
    if score is None:
        return nan
    try:
        found = reward(score)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"reward=... fails on {score.value!r}: {type(error).__name__}: {error}") from error
    if not isinstance(found, Real):
        raise InputError(f"reward=... must return a number, got {show_value(found)} for {score.value!r}")
    return float(found)


def read_score(score: "Score") -> float:
    """The number of a score: its value, or that of its grade (C, P, I, N), yes or no."""
    value = score.value
    if isinstance(value, str):
        grade = GRADES.get(value, WORDS.get(value.lower()))
        if grade is not None:
            return grade
        try:
            return float(value)
        except ValueError:
            pass
    elif isinstance(value, int | float):
        return float(value)
    raise InputError(f"score {value!r} is not a number; say what it is worth with Evaluation(..., reward=...)")


def fit_reward(reward: float, family: Family) -> float:
    """The reward, or the end of the family's range that it is but for rounding; `InputError` for a score that is no
    reward of the family, with what would be right."""
    low, high = family.mean_space.low, family.mean_space.high
    for end in (low, high):
        if isfinite(high - low) and abs(reward - end) <= ROUNDED * (high - low):
            return end
    try:
        family.count_reward(reward)
    except InputError as error:
        told = str(error).replace(f"reward {reward:g} ", f"reward {reward!r} ", 1)
        raise InputError(
            f"{told}; scores from LO to HI are rewards of family bounded:LO,HI, and Evaluation(..., reward=...) says "
            "what another score is worth"
        ) from error
    return reward


def price(usage: Mapping[str, Any], negligible: float) -> float:
    """Dollars for all tokens of a sample, as inspect counts them; `InputError` if the policy took them for nothing."""
    for model, used in usage.items():
        if used.total_cost is None:
            raise no_price(model)
    dollars = float(sum(used.total_cost for used in usage.values()))
    if 0 < dollars <= negligible:
        raise InputError(
            f"a sample cost {dollars:.3g}, and costs up to {negligible:.3g} count as zero: start with a smaller "
            "gamma0, as Evaluation.open_or_start does"
        )
    return dollars


def no_price(model: str) -> InputError:
    """That inspect does not know what a model costs."""
    return InputError(
        f"inspect_ai does not know the price of {model}: set it (inspect_ai.model.set_model_cost or set_model_info), "
        "or start with known costs"
    )
