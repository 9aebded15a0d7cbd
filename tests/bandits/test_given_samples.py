"""Samples of a pilot as people have them: lists, names, data frames, CSV files, and what is wrong with these."""

import numpy as np
import pandas as pd
import pytest
from commands import expect_refusal

from caet_opt import BanditModel, InputError
from caet_opt.bandits.distributions import round_end

SOLVE = ("solve", "--family", "bounded:0,1", "--task", "best-arm", "--samples")


def from_samples(samples, **more):
    return BanditModel.from_samples("bounded:0,1", samples, **more)


@pytest.mark.parametrize(
    "samples",
    [
        {"old": [0.5, 0.25], "new": [1]},
        pd.DataFrame({"arm": ["old", "new", "old"], "reward": [0.5, 1, 0.25]}),
        "pilot.csv",
    ],
)
@pytest.mark.parametrize("arms", [None, ["new", "old"], np.array(["new", "old"]), pd.Index(["new", "old"])])
def test_samples_have_the_names_of_their_arms(samples, arms, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pilot.csv").write_text("ARM , Reward,place\nold,0.5,a\n\nnew,1,b\nold,0.25,c\n")
    model = from_samples(samples, arms=arms)
    means = {"old": 0.375, "new": 1.0}
    assert dict(zip(model.arms, model.means, strict=True)) == means
    assert model.arms == (("old", "new") if arms is None else ("new", "old"))
    assert all(type(name) is str for name in model.arms)


def test_a_frame_has_a_column_for_each_arm():
    frame = pd.DataFrame({"old": [0.5, 0.25], "new": [1, 0]})
    assert from_samples(frame) == from_samples(frame.to_numpy().T, arms=frame.columns)
    assert from_samples(frame).arms == BanditModel("bernoulli", [0.1, 0.2], arms=frame.columns).arms == ("old", "new")


@pytest.mark.parametrize("rewards", [[True, False], [np.True_, np.False_], np.array([True, False]), [1, 0]])
def test_truth_values_are_rewards_of_0_or_1_and_neither_means_nor_costs(rewards):
    assert from_samples([rewards, [0.5]]).means == (0.5, 0.5)
    if isinstance(rewards[0], bool | np.bool_):
        for arguments in ({"means": rewards}, {"means": [0.4, 0.5], "costs": rewards}):
            with pytest.raises(InputError, match=r"must be numbers, got (np\.)?True"):
                BanditModel("bernoulli", **arguments)


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (3, "samples must be a list of rewards for each arm"),
        (np.ones(3), "the sample of arm 0 must be a list of numbers, got 1"),
        (np.ones((2, 3, 400)), "a reward of arm 0 must be a finite number"),
        (np.array([[1 + 0j], [0.5]]), "a reward of arm 0 must be a number, got np.complex128"),
        ([["0.5"], [0.5]], "a reward of arm 0 must be a number, got '0.5'"),
        ({"a": [0.5], "b": [87]}, "use a range that has all rewards, such as bounded:0,100, or divide them"),
        ({"a": [-3], "b": [4.2]}, "such as bounded:-5,5, or divide them"),
        ({"a": [0.5], "b": [1.01]}, "a reward of arm b is 1.01, outside [0, 1], the range of family bounded:0,1"),
        ("none.csv", "none.csv: no such file"),
    ],
)
def test_what_is_no_sample_is_told_in_one_short_line(samples, words):
    with pytest.raises(InputError) as caught:
        from_samples(samples)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 170
    assert "\n" not in str(caught.value)


def test_other_names_than_those_of_samples_are_refused():
    with pytest.raises(InputError, match="samples are those of a, b, and arms are b, c; name the same"):
        from_samples({"a": [0.5], "b": [1]}, arms=["b", "c"])
    for names in ("ab", [1, 2], {"a": 1, "b": 2}):
        with pytest.raises(InputError, match="arm names must be a list of non-empty strings"):
            from_samples([[0.5], [1]], arms=names)


@pytest.mark.parametrize("end", [1e-300, 0.3, 0.5, 1.0, 7, 100, 101, 3e99])
def test_an_end_is_rounded_up_and_not_far(end):
    assert end <= round_end(end) <= 2.6 * end


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arm,reward\na,0.5\nlarge,1.0000000001\n", "line 3: a reward of arm large is 1.0000000001, outside"),
        (
            "arm,reward\na,50\nb,87\n",
            "line 2: a reward of arm a is 50, outside [0, 1], the range of family bounded:0,1; ",
        ),
        ("arm;reward\na;0,5\n", "columns are separated by semicolons; separate them by commas"),
        ("arm\treward\na\t0.5\n", "columns are separated by tabs; separate them by commas"),
        ("Arm,ARM,reward\na,b,0.5\n", "with the columns arm and reward, each once, got ['Arm', 'ARM', 'reward']"),
        ("arm,reward\na,0.5\n".encode("utf-16"), "not UTF-8 text (byte 0); save it as UTF-8"),
        ("arm,reward\ncafé,0.5\n".encode("latin-1"), "not UTF-8 text (byte 14); save it as UTF-8"),
        ('arm,reward\na,0.5\n"b,0.5\nc,0.7\n', 'line 3: a quote (") is not closed'),
        ('arm,reward\na,0.5\n"b,0.5\nc","0.7\n', 'line 3: a quote (") is not closed'),
        ('arm,reward\na,0.5\n"b,0.5\nc,"0.7\n', "line 3: 1 cells, but the header has 2; is a quote not closed?"),
        ('"arm,reward\na,0.5\n' + "b,0.5\n" * 50_000, "is a quote not closed?"),
        ("arm,reward\n\na,0.5\nb, \n", "line 4: the reward is blank; give a number, or remove the row"),
        (
            'arm,reward\n"a\nb",0.5\nb,x\n',
            "line 2: the name of an arm has the control character '\\n'",
        ),
        ("arm,reward\na,0.5\nb,x\n", "line 3: reward must be a number, got 'x'"),
        ("arm,reward\na,0.5\n,1\n", "line 3: no arm is named"),
        ("arm,reward\nlarge,0.5\nlarge\0,0.6\n", "line 3: the name of an arm has the control character '\\x00'"),
    ],
)
def test_errors_in_a_file_name_it_and_its_line(text, words, tmp_path, capsys):
    path = tmp_path / "pilot.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    expect_refusal(capsys, *SOLVE, path, words=words)
    model = tmp_path / "model.toml"
    model.write_text('family = "bounded:0,1"\nsamples = "pilot.csv"\ntask = "best-arm"\n')
    expect_refusal(capsys, "solve", model, words=words)
    with pytest.raises(InputError) as caught:
        from_samples(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("given", [("--arms", "large,large\x01"), ("large\\u0000",)])
def test_names_have_no_control_characters(given, tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text(f'family = "bernoulli"\nmeans = [0.5, 0.4]\narms = ["large", "{given[0]}"]\ntask = "best-arm"\n')
    flags = ["--family", "bernoulli", "--means", "0.5,0.4", "--task", "best-arm", *given]
    expect_refusal(capsys, "solve", *(flags if len(given) > 1 else [path]), words="has the control character '\\x0")


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, ""])
def test_a_row_without_an_arm_is_refused(missing):
    frame = pd.DataFrame({"arm": ["a", "b", missing], "reward": [0.1, 0.2, 0.9]}, dtype=object)
    with pytest.raises(InputError, match="a sample has no arm"):
        BanditModel.from_samples("bounded:0,1", frame)


def test_two_samples_of_one_name_are_refused():
    with pytest.raises(InputError, match="two samples are of arm '1'; give each arm one"):
        BanditModel.from_samples("bounded:0,1", {1: [0.1], "1": [0.2], 2: [0.3]})


def test_other_columns_of_a_pilot_are_left_alone(tmp_path):
    (tmp_path / "pilot.csv").write_text("arm,Name,reward\nx,foo,0.5\ny,bar,0.2\n")
    assert BanditModel.from_samples("bounded:0,1", tmp_path / "pilot.csv").arms == ("x", "y")
