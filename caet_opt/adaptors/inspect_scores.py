"""What inspect says of a sample, as a reward and a cost."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from caet_opt.bandits.families import Family
from caet_opt.errors import InputError, unknown_name

if TYPE_CHECKING:
    from inspect_ai.scorer import SampleScore, Score

#: What scorers write for right, partly right, wrong and no answer; and other words for right and wrong.
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def find_score(scores: "Mapping[str, SampleScore]", scorer: str | None) -> "Score | None":
    """The score of the one scorer, or of the one that is named; None where the sample has none."""
    if scorer is None and len(scores) > 1:
        raise InputError(
            f"several scorers, {', '.join(scores)}: say which one is the reward with Evaluation(..., scorer=...)"
        )
    if scorer is not None and scores and scorer not in scores:
        raise InputError(unknown_name("scorer", scorer, scores))
    return next((one.score for name, one in scores.items() if scorer in (None, name)), None)


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


def check_reward(reward: float, family: Family) -> None:
    """`InputError` for a score that is no reward of the experiment's family, with what would be right."""
    try:
        family.count_reward(reward)
    except InputError as error:
        raise InputError(
            f"{error}; scores from LO to HI are rewards of family bounded:LO,HI, and Evaluation(..., reward=...) says "
            "what another score is worth"
        ) from error


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
