"""Targets of rewards in a range that are kept by lines: the gap that they claim is one."""

from dataclasses import replace

import numpy as np
import pytest
from whole_runs import run_interpreted

from caet_opt import BanditModel, Caet
from caet_opt.exploring.counted import empirical, read_histograms
from caet_opt.exploring.explorer import Explorer
from caet_opt.kernels import boxes, ledger
from caet_opt.kernels.lines import line_gap
from caet_opt.kernels.statement_columns import list_columns
from caet_opt.simulating.streams import ArmStreams
from caet_opt.solving.certificate import statement_terms
from caet_opt.solving.characteristic import solve_question
from caet_opt.solving.problem import Question
from caet_opt.solving.profiles import Profile
from cases.runs import RANGE, draw_case, start


def claims(number):
    """What lines claim of a solution after one more outcome, and how far from the best it is; of a random run."""
    case = draw_case(number, kind=RANGE)
    parameters = replace(case.parameters, delta=None, log_inv_delta=1e5, solve="lazy", batch=1)
    explorer, streams = start(case._replace(parameters=parameters))
    run_interpreted(explorer, streams, 40)
    for arm in range(explorer.arms):
        view = explorer.absorb(arm, *streams.draw(arm))
        aim = view.aim
        if np.isnan(aim.box[boxes.BET_A, : aim.weights.size]).any() or not ledger.answer_holds(
            view, view.arms[ledger.MEAN], -1
        ):
            continue
        with np.errstate(all="ignore"):  # as where rounds are interpreted
            gap = line_gap(view.setting, view.arms, view.pairs, view.margins, aim, arm)
        if gap < np.inf:
            yield gap, excess(explorer, view)


def excess(explorer, view):
    """The cost of the effort that is kept over the best, less one, by a solve at the present histograms."""
    costs, effort, means = view.arms[ledger.COST], view.aim.effort, view.arms[ledger.MEAN].tolist()
    model = BanditModel(explorer.family, empirical(explorer.family, read_histograms(view.arms)), costs.tolist())
    statements = explorer.task.answer_statements(explorer.answer, explorer.arms)
    assert explorer.task.several_right or statements == explorer.task.statements(means)
    question = Question(model, explorer.task, list_columns(statements, type(explorer.family)))
    best = solve_question(question, Profile("native"))
    return costs @ effort / min(statement_terms(model, statements, effort)) / best.upper - 1.0


def test_the_gap_of_lines_is_proven():
    found = np.array([pair for number in range(25) for pair in claims(number)])
    assert len(found) > 40
    claimed, true = found.T
    assert np.all(true <= claimed + 1e-9)
    assert np.sum(true > 1e-4) > 10  # so that there is something to claim
    assert np.median(claimed) < 0.1


def scores(**settings):
    """Two arms of scores, after 120 outcomes."""
    model = BanditModel.from_samples("bounded:0,1,4", [[0.75, 1, 0.5, 0.75], [0.25, 0.75, 0.5, 0.5]])
    caet = Caet.start("best-arm", model.family, arms=2, log_inv_delta=1e5, **settings)
    run_interpreted(caet, ArmStreams(model, np.random.SeedSequence(4)), 120)
    return caet


def test_lazy_targets_are_solved_for_seldom_and_exact_ones_always():
    exact, lazy, loose = (scores(solve=solve) for solve in ("exact", "lazy:0.02", "lazy:0.3"))
    assert exact.solves > 100
    assert exact.widest_gap == 1e-8
    assert loose.solves < lazy.solves < 60
    assert 1e-4 < lazy.widest_gap <= 0.02 < loose.widest_gap <= 0.3


def test_a_surprise_is_solved_for():
    """Outcomes that change a histogram by more than the gap that is allowed."""
    caet = scores(solve="lazy")
    before = caet.solves
    for _ in range(40):
        caet.observe(1, 0.0)
    assert caet.solves > before
    assert caet.view.aim.box[boxes.CENTRE, 1] < 0.45


@pytest.mark.parametrize("source", ["observed", "known"])
def test_an_arm_that_turns_free_leaves_no_proof(source):
    costs = {"costs": [1, 2]} if source == "known" else {"cost_source": "observed"}
    caet = Explorer.start("best-arm", "bounded:0,1", arms=2, log_inv_delta=1e5, solve="lazy:0.5", **costs)
    told = {} if source == "known" else {"cost": 1.0}
    for reward in (0.5, 1.0, 0.7, 0.6) * 6:
        caet.observe(0, reward, **told)
        caet.observe(1, reward / 2, **told)
    view = caet.policy.copy_view(caet.view)
    asked = view.setting, view.arms, view.pairs, view.margins, view.aim, -1
    assert 0.0 < line_gap(*asked) < 0.5
    view.arms[ledger.SPENT, 1] = view.arms[ledger.COST, 1] = 0.0
    assert line_gap(*asked) == np.inf
