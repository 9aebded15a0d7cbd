"""A live experiment: started by name, saved whole, and gone on with exactly."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from whole_runs import run_compiled, run_interpreted

from caet_opt import BanditModel, Bernoulli, Caet, Custom, Explorer, Gaussian, InputError, Poisson, Profile, Ranking
from caet_opt.exploring.settings import Parameters
from caet_opt.exploring.stopping import make_threshold
from caet_opt.simulating.streams import ArmStreams


def started(**changes):
    given = {"task": "best-arm", "family": "bernoulli", "arms": 3, "delta": 0.05, "costs": [1, 1, 2], **changes}
    return Caet.start(given.pop("task"), given.pop("family"), **given)


def test_names_and_objects_start_the_same_experiment():
    named, built = started(), started(task=Ranking(), family=Bernoulli())
    assert named.family == built.family
    assert built.task == Ranking()
    assert named.parameters == Parameters(delta=0.05, cost_source="known", threshold="e-process")
    assert named.threshold == make_threshold("e-process", "bernoulli", 3, task="best-arm", delta=0.05)
    assert (started(delta=None, log_inv_delta=3).parameters.log_inv_delta, named.next_arm()) == (3.0, 0)


@pytest.mark.parametrize("arms", [2, 3])
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("delta", [0.5, 0.001])
def test_the_threshold_is_that_of_the_experiment(arms, family, delta):
    caet = started(family=family, arms=arms, delta=delta, costs=[1] * arms)
    assert caet.threshold == make_threshold("e-process", family, arms, task="best-arm", delta=delta)
    with pytest.raises(TypeError):
        Caet("best-arm", family, arms, caet.parameters, make_threshold("mixture", family, 4, delta=0.5), [1] * arms)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"delta": None}, "give either delta"),
        ({"delta": 0.05, "log_inv_delta": 5}, "give either delta"),
        ({"delta": 2.9957}, "strictly between 0 and 1"),
        ({"delta": "0.05"}, "strictly between 0 and 1"),
        ({"costs": None, "cost_source": "known"}, "no costs are given"),
        ({"cost_source": "observed"}, "costs are given, but cost_source is 'observed'; give one of the two"),
        ({"costs": [1, 1]}, "cost"),
        ({"costs": None, "cost_source": "guessed"}, "unknown cost source 'guessed'"),
        ({"treshold": "mixture"}, "unknown setting 'treshold'; did you mean 'threshold'"),
        ({"max_rounds": 10}, "unknown setting 'max_rounds'"),
        ({"task": "best-arms"}, "did you mean 'best-arm'"),
        ({"family": "bernouli"}, "did you mean 'bernoulli'"),
        ({"arms": "3"}, "number of arms"),
        ({"arms": 1, "costs": [1]}, "needs at least two arms, got 1"),
        ({"arms": 0, "costs": []}, "number of arms"),
        ({"solver": "cplex"}, "unknown solver"),
        ({"policy": "caat"}, "unknown policy 'caat'; did you mean 'caet'"),
        ({"policy": "oracle"}, "for simulations only"),
        ({"task": "ranking", "policy": "kl-lucb"}, "'kl-lucb' covers best-arm and top-arms, not ranking"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"r": True}, "r must be a number, got True"),
    ],
)
def test_an_impossible_start_is_refused(changes, words):
    with pytest.raises(InputError, match=words):
        started(**changes)


def test_a_number_without_a_name_is_no_confidence():
    with pytest.raises(TypeError):
        Parameters(0.05)
    with pytest.raises(TypeError):
        make_threshold("mixture", "gaussian", 3, 0.05)


MODELS = {
    "known": (BanditModel(Poisson(), [3.0, 2.0, 1.0], [1, 0, 2]), {"costs": [1, 0, 2]}),
    "observed": (BanditModel(Bernoulli(), [0.8, 0.5, 0.3], [1, 2, 1]), {"costs": None, "cost_source": "observed"}),
    "gaps": (BanditModel(Gaussian([1.0, 2.0, 4.0]), [3.0, 4.0, 2.0], "gaps"), {"costs": None, "cost_source": "gaps"}),
}


@pytest.mark.parametrize("tracking", ["c", "d"])
@pytest.mark.parametrize("source", MODELS)
def test_a_resumed_experiment_goes_on_exactly(tmp_path, source, tracking):
    model, costs = MODELS[source]
    caet = started(task="ranking", family=model.family, log_inv_delta=50, delta=None, tracking=tracking, **costs)
    streams, path = ArmStreams(model, np.random.SeedSequence(3)), tmp_path / "experiment.json"
    for rounds in (0, 1, 2, 4, 25):
        run_interpreted(caet, streams, rounds)
        caet.save(path)
        resumed = Caet.resume(path)
        assert (resumed.state, resumed.parameters, resumed.next_arm()) == (caet.state, caet.parameters, caet.next_arm())
        for _ in range(12):
            arm = caet.next_arm()
            drawn = streams.draw(arm)
            assert resumed.next_arm() == arm
            caet.observe(arm, *drawn)
            resumed.observe(arm, *drawn)
            assert resumed.state == caet.state
        if min(caet.state.counts) > 0:
            assert repr(resumed.diagnostics) == repr(caet.diagnostics)
    assert list(tmp_path.iterdir()) == [path]


def test_a_profile_of_a_solver_is_saved(tmp_path):
    caet = started(solver=Profile("clarabel", max_iterations=300))
    for arm, reward in ((0, 1), (1, 0), (2, 1)):
        caet.observe(arm, reward)
    caet.save(tmp_path / "experiment.json")
    resumed = Caet.resume(tmp_path / "experiment.json")
    assert (resumed.profile, resumed.state, resumed.next_arm()) == (caet.profile, caet.state, caet.next_arm())


def test_what_compiled_rounds_have_led_to_is_saved(tmp_path):
    model, costs = MODELS["gaps"]
    caet = started(task="ranking", family=model.family, log_inv_delta=50, delta=None, **costs)
    streams = ArmStreams(model, np.random.SeedSequence(3))
    run_compiled(caet, streams, 100)
    caet.save(tmp_path / "experiment.json")
    resumed = Caet.resume(tmp_path / "experiment.json")
    arm = caet.next_arm()
    drawn = streams.draw(arm)
    for one in (caet, resumed):
        one.observe(arm, *drawn)
    assert resumed.state == caet.state


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "experiment.json"
    caet = started()
    for arm, reward in ((0, 1), (1, 0), (2, 1), (0, 1)):
        caet.observe(arm, reward)
    caet.save(path)
    return path


ODD = (None, True, "1", "x", [], [1], {}, {"a": 1}, -1, 0.5, 10**400)


def test_a_changed_file_is_refused_or_resumes(saved):
    """Every value in the file replaced by odd ones: one `InputError`, or an experiment that can go on."""
    record = json.loads(saved.read_text())

    def places(value, way=()):
        yield way
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, part in items:
            yield from places(part, (*way, key))

    refused = []
    for way in places(record):
        for odd in ODD:
            changed = json.loads(json.dumps(record))
            if not way:
                changed = odd
            else:
                inner = changed
                for key in way[:-1]:
                    inner = inner[key]
                inner[way[-1]] = odd
            saved.write_text(json.dumps(changed))
            try:
                Caet.resume(saved).next_arm()
            except InputError as error:
                refused.append(str(error))
    assert len(refused) > 400
    assert all(message.startswith(f"{saved}: ") and "\n" not in message for message in refused)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 10**5, b"9" * 5000, b'{"format": NaN}', b"{}"])
def test_a_file_that_is_none_is_refused(tmp_path, content):
    path = tmp_path / "experiment.json"
    with pytest.raises(InputError, match="no such file"):
        Caet.resume(path)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"experiment\.json: "):
        Caet.resume(path)
    with pytest.raises(InputError, match="cannot be read"):
        Caet.resume(tmp_path)


def test_a_state_of_one_family_is_none_of_another(saved):
    record = json.loads(saved.read_text())
    saved.write_text(json.dumps({**record, "family": "poisson", "task": "control:0"}))
    resumed = Caet.resume(saved)  # the counts of a Bernoulli arm may be those of a Poisson arm: the file says which
    assert (str(resumed.family), str(resumed.task)) == ("poisson", "control:0")
    saved.write_text(json.dumps({**record, "arms": 4}))
    with pytest.raises(InputError):
        Caet.resume(saved)
    saved.write_text(json.dumps({**record, "log_inv_delta": 1.0}))
    with pytest.raises(InputError, match="its threshold is"):
        Caet.resume(saved)


def test_a_task_given_by_its_answers_is_saved(tmp_path):
    caet = started(task=Custom([[(0, 1)], [(1, 0)]]))
    caet.save(tmp_path / "experiment.json")
    assert Caet.resume(tmp_path / "experiment.json").task == caet.task
    assert asdict(caet.state)["round"] == 0


def test_a_file_that_cannot_be_saved_is_named_as_it_was_given(tmp_path):
    caet = Explorer.start("best-arm", "bernoulli", arms=2, delta=0.05)
    with pytest.raises(FileNotFoundError) as found:
        caet.save(tmp_path / "nodir" / "x.json")
    assert found.value.filename == str(tmp_path / "nodir" / "x.json")


def test_names_of_arms_are_for_live_experiments():
    with pytest.raises(InputError, match=r"got \['a', 'b'\]; LiveExperiment takes names"):
        Explorer.start("best-arm", "bernoulli", arms=["a", "b"], delta=0.05)


def test_another_cost_than_the_known_one_is_refused():
    caet = Explorer.start("best-arm", "bernoulli", arms=2, delta=0.05, costs=[1, 2])
    with pytest.raises(InputError, match="the cost of arm 0 is known to be 1, got 3; leave it out"):
        caet.observe(0, 1, cost=3)
    assert caet.state.round == 0
    caet.observe(0, 1, cost=1)
    assert caet.state.total_cost == 1
