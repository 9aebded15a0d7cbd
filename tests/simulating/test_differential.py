"""The compiled loop and the reference loop, bit for bit; analysis/two_loops.py compares any number of runs."""

import numpy as np
import pytest
from two_loops import difference, differences, draw_case, follow

from caet_opt import BanditModel, Bernoulli, Parameters, Ranking, SolverError
from caet_opt.exploring import rules, tally
from caet_opt.exploring.explorer import Caet
from caet_opt.simulating import loops
from caet_opt.simulating.loops import run_compiled, run_reference
from caet_opt.simulating.streams import ArmStreams
from caet_opt.solving.native import compiled
from caet_opt.solving.profiles import Profile


@pytest.mark.parametrize("discrete", [False, True], ids=["any", "discrete"])
def test_both_loops_end_in_the_same_state(discrete):
    assert list(differences(range(250), discrete)) == []


def test_the_runs_meet_every_way_out_of_compiled_code(monkeypatch):
    """So that the comparison above says something: changes of the answer, used up streams, stops and limits."""
    met, real = set(), loops.compiled_loop()["track"]

    def track(*arguments):
        reason, done = real(*arguments)
        met.add((reason, done > 0))
        return reason, done

    track.signatures = real.signatures
    monkeypatch.setattr(loops, "compiled_loop", lambda: {"track": track})
    for number in range(60):
        follow(draw_case(number), compiled=True)
    assert {(reason, True) for reason in (tally.STOPPED, tally.CHANGED, tally.REFILL, tally.LIMIT)} <= met
    assert (tally.CHANGED, False) in met


def test_a_difference_is_noticed(monkeypatch):
    shared = rules.shared_target
    monkeypatch.setattr(rules, "shared_target", lambda *given: shared(*given) * (1.0 + 2.0**-52))
    assert any(difference(draw_case(number)) for number in range(20))


def test_a_run_does_not_depend_on_what_its_process_did_before(monkeypatch):
    """Both loops have the solver compiled before they solve for the first time."""
    case = draw_case(3)
    expected = follow(case, compiled=False)
    called, real = [], compiled.compiled_kernel
    monkeypatch.setattr("caet_opt.simulating.loops.compiled_kernel", lambda: called.append(1) or real())
    for loop in (True, False):
        assert follow(case, compiled=loop) == expected
    assert len(called) >= 2


def test_the_iteration_limit_of_a_profile_holds_in_both_loops():
    model, ends = BanditModel(Bernoulli(), [0.5, 0.4, 0.3], [1, 2, 3]), []
    for loop in (run_compiled, run_reference):
        solver = Profile("native", max_iterations=2)
        parameters = Parameters(log_inv_delta=20.0, threshold="customary", solver=solver)
        caet = Caet(Ranking(), model.family, 3, parameters, model.costs)
        with pytest.raises(SolverError):
            loop(caet, ArmStreams(model, np.random.SeedSequence(1)), 500)
        ends.append(caet.state)
    assert ends[0] == ends[1]
    assert ends[0].round >= 2
