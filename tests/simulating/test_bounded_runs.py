"""Simulations of rewards in a range: from levels and from samples, plans, thresholds, error rates, both ways."""

import json

import numpy as np
import pytest
from commands import expect_refusal, read_json, run_command

from caet_opt import POLICIES, BanditModel, InputError, simulate
from cases.runs import RANGE, difference, draw_case

ALLOWED = [name for name, policy in POLICIES.items() if policy.covered is None and not policy.by_means]
PILOT = "arm,reward\nold,0.5\nnew,0.9\nold,0.25\nnew,0.7\nold,0.1\n"


@pytest.fixture
def pilot(tmp_path):
    """A model by samples, as flags."""
    (tmp_path / "pilot.csv").write_text(PILOT)
    samples = ["--samples", tmp_path / "pilot.csv"]
    return ["--family", "bounded:0,1", *samples, "--costs", "1,2", "--task", "best-arm", "--delta", "0.3"]


def test_a_simulation_of_levels(capsys):
    found = read_json(run_command(capsys, "simulate", "judge-scores", "--delta", "0.3", "--runs", "12", "--json"))
    assert found["guaranteed"] is True
    assert found["assumes"] == "independent rewards in [0, 1] of any distribution"
    assert found["upper_bound"] is None
    assert 0 < found["lower_bound"] < found["mean_cost"]
    assert 0.3 < found["mean_cost"] / found["predicted_cost"] < 3
    words = run_command(capsys, "simulate", "judge-scores", "--delta", "0.3", "--runs", "3")
    assert "by betting on each mean" in words
    assert "upper bound  not proven: for rewards in a range" in words
    assert "bootstrap" not in words


def test_a_simulation_of_samples_says_that_it_is_a_bootstrap(pilot, capsys):
    words = run_command(capsys, "simulate", *pilot, "--runs", "6")
    assert "a bootstrap of a pilot: rewards are drawn from its samples, 2 to 3 per arm" in words
    found = read_json(run_command(capsys, "simulate", *pilot, "--runs", "6", "--json"))
    assert f"T*           {found['characteristic_time']:.9g}" in words
    model = BanditModel.from_samples("bounded:0,1", [[0.5, 0.25, 0.1], [0.9, 0.7]], [1, 2])
    assert simulate(model, "best-arm", delta=0.3, runs=6).mean_cost == found["mean_cost"]


def test_a_plan_of_samples(pilot, capsys):
    found = read_json(run_command(capsys, "plan", *pilot, "--runs", "12", "--budget", "16", "--json"))
    assert found["lower_bound"] < found["mean_cost"]
    assert found["smallest_difference"] is None
    assert 0 < found["within_budget"] < 1
    words = run_command(capsys, "plan", *pilot, "--runs", "6", "--budget", "16")
    assert "a bootstrap of a pilot" in words
    assert "difference       not computed: with distributions, no rival's mean can be moved by itself" in words


def test_thresholds_name_the_one_that_there_is(capsys):
    rows = read_json(run_command(capsys, "thresholds", "judge-scores", "--delta", "0.05", "--json"))["thresholds"]
    (proven,) = [row for row in rows if row["proven"]]
    assert proven["threshold"] == "e-process"
    assert proven["predicted_cost"] == pytest.approx(18.6176, rel=1e-4)
    assert {row["predicted_cost"] for row in rows if not row["proven"]} == {None}


def test_rewards_are_drawn_from_the_distributions_of_the_model():
    """Their values are the levels of the model, and their shares its probabilities, up to chance."""
    model = BanditModel("bounded:0,1", levels=[0, 0.33, 1], probabilities=[[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]])
    drawn = model.distributions.draw(np.random.default_rng(1), 0, 4000)
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [0, 0.33, 1]
    assert counts / 4000 == pytest.approx([0.2, 0.5, 0.3], abs=0.03)


#: Pairs of distributions on levels whose means are a millionth apart.
TIES = {
    "point mass and jackpot": ([0, 0.05, 1], [[0, 1, 0], [0.950001, 0, 0.049999]]),
    "skewed, between levels": ([0.451, 0.533, 1], [[0, 1, 0], [0.850638, 0, 0.149362]]),
}


@pytest.mark.parametrize("tie", TIES)
def test_the_error_rate_of_a_near_tie_is_at_most_delta(tie):
    levels, rows = TIES[tie]
    model = BanditModel("bounded:0,1", levels=levels, probabilities=rows)
    assert 0 < model.means[0] - model.means[1] < 1e-5
    found = simulate(model, "best-arm", delta=0.3, runs=300, max_rounds=200, policy="uniform", seed=2)
    judged = found.records["correct"].dropna()  # of runs that stopped
    assert len(judged) > 0
    assert (~judged).sum() <= 0.3 * 300


@pytest.mark.parametrize("policy", ALLOWED)
def test_compiled_and_interpreted_runs_end_in_the_same_bits(policy):
    for number in range(8):
        case = draw_case(number, policy=policy, kind=RANGE)
        assert difference(case) is None, str(case)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("old,1.5\nnew,0\n", "outside [0, 1]"),
        ("old,nan\nnew,0\n", "must be a number"),
        ("old,0.5\n", "sample of arm 'new' is empty"),
        ("old,0.5\nnew,1\nthird,1\n", "unknown arm 'third'"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "plan", "thresholds"])
def test_samples_that_are_none_are_refused(command, rows, words, pilot, capsys):
    pilot[3].write_text("arm,reward\n" + rows)
    expect_refusal(capsys, command, *pilot, "--arms", "old,new", words=words)


TABLES = {
    "sums": ("levels = [0, 1]\nprobabilities = [[0.5, 0.4], [0.5, 0.5]]", "sum to 0.9, not to 1"),
    "order": ("levels = [1, 0]\nprobabilities = [[0.5, 0.5], [0.4, 0.6]]", "levels must be in order"),
    "outside": ("levels = [0, 2]\nprobabilities = [[0.5, 0.5], [0.4, 0.6]]", "a level is 2, outside [0, 1]"),
    "nan": ("levels = [0, 1]\nprobabilities = [[nan, 0.5], [0.4, 0.6]]", "finite number"),
    "missing": ("levels = [0, 1]", "probabilities is missing"),
    "means": ("means = [0.5, 0.4]", "means do not say what rewards of family bounded:0,1 are"),
    "no file": ('samples = "nowhere.csv"', "nowhere.csv"),
    "unknown arm": ('samples = "pilot.csv"\narms = ["old", "newer"]', "unknown arm 'new'"),
    "empty sample": ('samples = "pilot.csv"\narms = ["old", "new", "third"]', "sample of arm 'third' is empty"),
}


@pytest.mark.parametrize("case", TABLES)
def test_models_in_files_that_are_none_are_refused(case, tmp_path, capsys):
    text, words = TABLES[case]
    (tmp_path / "pilot.csv").write_text(PILOT)
    path = tmp_path / "model.toml"
    path.write_text(f'family = "bounded:0,1"\ntask = "best-arm"\n{text}\n')
    expect_refusal(capsys, "simulate", path, "--delta", "0.1", words=words)


@pytest.mark.parametrize("family", ["bounded:1,0", "bounded:0", "bounded:0,1,0", "bounded:nan,1", "bounded:0/2/1"])
def test_ranges_in_files_that_are_none_are_refused(family, tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text(f'family = "{family}"\ntask = "best-arm"\nlevels = [0, 1]\nprobabilities = [[1, 0], [0, 1]]\n')
    expect_refusal(capsys, "simulate", path, "--delta", "0.1")


@pytest.mark.parametrize("settings", [{"policy": "kl-lucb"}, {"threshold": "mixture"}, {"rho": 3.0}])
def test_what_goes_by_means_is_refused(settings):
    model = BanditModel.from_samples("bounded:0,1", [[0.5, 0.6], [0.1, 0.2]])
    with pytest.raises(InputError, match="range") as refused:
        simulate(model, "best-arm", delta=0.1, runs=2, **settings)
    assert "\n" not in str(refused.value)


def test_runs_of_a_model_that_json_gave_back():
    """Probabilities as decimals, which a file has, make the model that doubles make."""
    rows = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
    model = BanditModel("bounded:0,1", levels=[0, 0.5, 1], probabilities=rows)
    again = BanditModel("bounded:0,1", levels=[0, 0.5, 1], probabilities=json.loads(json.dumps(rows)))
    one, two = (simulate(each, "best-arm", delta=0.3, runs=3) for each in (model, again))
    assert one.mean_cost == two.mean_cost


def test_runs_under_limits_are_refused_and_t_star_is_not(capsys):
    limit = ("--limit", "cost:large<=0.5", "--delta", "0.05")
    expect_refusal(capsys, "simulate", "judge-scores", *limit, words="T* takes them: caet-opt solve --limit")
    assert run_command(capsys, "solve", "judge-scores", *limit)
