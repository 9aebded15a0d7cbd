"""Which of several right answers a policy follows: the easiest, and the same one until another is easier by far.

``T* = min over the right answers i of T*_i`` is reached by tracking the effort of one easiest answer; a mixture of the
efforts of two may reach neither. The answer that is followed is therefore kept as long as it is right at the present
means. It is replaced by the answer for these means where it is not, and chosen anew once the rounds have grown by
`CHOICE_GROWTH` and by the number of arms: then T*_i is solved for, of it and of some others, and it is kept unless it
exceeds the least by more than ``1 + eta``, ``eta = SLACK / (1 + log t)`` in round t. `MOST_COMPARED` others are
compared at a time, in turn, always with the answer for the present means among them, of up to `MOST_LISTED` right ones
from that answer on. docs/mathematics/several_answers.md has the proof of what this keeps. Where an answer is a winner
in each group, rounds choose by themselves (`caet_opt.kernels.answer_choice`); here is the choice for other tasks.
"""

from collections.abc import Hashable
from fractions import Fraction
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.errors import CaetError
from caet_opt.exploring.counted import read_histograms, seen_means
from caet_opt.kernels import ledger
from caet_opt.kernels.answer_choice import MOST_COMPARED, first_in_turn, slack
from caet_opt.kernels.ledger import Seen
from caet_opt.kernels.native import without_compiling
from caet_opt.kernels.statement_columns import list_columns
from caet_opt.solving.characteristic import solve_question
from caet_opt.solving.problem import Question

if TYPE_CHECKING:
    from caet_opt.exploring.policies.base import Policy, Setup

#: So many right answers are known of, those that come first from the answer for the present means on.
MOST_LISTED = 64


def choose_answer(policy: "Policy", view: Seen) -> Hashable:
    """The answer to follow: the present one, one that is settled, or an easier one."""
    setup, now = policy.setup, float(view.clock[ledger.ROUND])
    means = view.arms[ledger.MEAN]
    present = policy.followed(view)
    holds = policy.functions["answer_holds"](view, means, -1)
    others = list_compared(list(islice(setup.task.right_answers(means.tolist()), MOST_LISTED)), now)
    for answer in others:
        if is_settled(policy, view, answer):
            return answer
    model = present_model(policy, view)
    known = {answer: time_of(policy, model, answer) for answer in others if not (holds and answer == present)}
    own = time_of(policy, model, present) if holds else inf
    easiest = min(known, key=known.__getitem__, default=present)
    return easiest if own > (1.0 + slack(now)) * known.get(easiest, inf) or not holds else present


def list_compared(right: list[Hashable], now: float) -> list[Hashable]:
    """The first of these answers, and so many others that each has its turn as the rounds grow."""
    if len(right) <= MOST_COMPARED:
        return right
    first, rest = right[0], right[1:]
    turn = first_in_turn(now, len(rest))
    return [first, *(rest[(turn + place) % len(rest)] for place in range(MOST_COMPARED - 1))]


def is_settled(policy: "Policy", view: Seen, answer: Hashable) -> bool:
    """Whether the evidence of every statement of an answer exceeds the threshold."""
    from caet_opt.exploring.policies.base import state_of

    setup, state, means = policy.setup, state_of(view), view.arms[ledger.MEAN]
    for statement in setup.task.answer_statements(answer, setup.arms):
        evidence = setup.evidence_of(state, statement, means)
        if not evidence > setup.threshold.level or not evidence > setup.needed_by(state, statement, means, evidence):
            return False
    return True


def present_model(policy: "Policy", view: Seen) -> BanditModel:
    """The empirical model, with the costs that enter decisions now."""
    arms = view.arms.copy()
    for arm in range(arms.shape[1]):
        policy.functions["update_costs"](view.setting, arms, arm)
    return empirical_model(policy.setup, arms, ledger.is_stated(view))


def empirical_model(setup: "Setup", arms: Array, exact: bool) -> BanditModel:
    """The model of a view's means and costs, or of its histograms; where statements have numbers, means are exactly the
    doubles that they are here."""
    means = seen_means(setup.family, arms[ledger.MEAN], read_histograms(arms))
    if exact and isinstance(means, list):
        means = list(map(Fraction, means))
    return BanditModel(setup.family, means, arms[ledger.COST].tolist())


def time_of(policy: "Policy", model: BanditModel, answer: Hashable) -> float:
    """T*_i of an answer at the present means; infinite where it is not found."""
    setup = policy.setup
    stated = setup.task.answer_statements(answer, setup.arms)
    asserted = tuple(statement._replace(margin=Fraction(float(statement.margin))) for statement in stated)
    try:
        with without_compiling():
            question = Question(model, setup.task, list_columns(asserted, type(setup.family)))
            return solve_question(question, setup.profile).value
    except CaetError:
        return inf
