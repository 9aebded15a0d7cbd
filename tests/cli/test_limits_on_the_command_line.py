"""``--limit`` of the commands."""

import json

import pytest
from commands import expect_refusal, run_command

MODEL = ["--family", "bernoulli", "--means", ".5,.45,.43,.4", "--task", "best-arm"]


def test_solve_prints_prices_and_says_whom_the_bound_is_about(capsys):
    shown = run_command(capsys, "solve", *MODEL, "--limit", "pulls:1<=0.3", "--delta", "0.05")
    assert "limit pulls:1<=0.3: share 0.3, binds; one percentage point more would save 12.7" in shown
    assert "expected cost of any 0.05-PAC strategy whose expected spending meets the limits: at least" in shown
    assert "T* = 1042.730918575" in shown
    found = json.loads(run_command(capsys, "solve", *MODEL, "--limit", "pulls:leader=0.5", "--json"))
    (limit,) = found["limits"]
    assert limit["limit"] == "pulls:leader=0.5"
    assert found["characteristic_time"] == pytest.approx(1019.37157323, rel=1e-11)
    assert "limits" not in json.loads(run_command(capsys, "solve", *MODEL, "--json"))


def test_a_model_file_has_limits_and_flags_replace_them(capsys):
    assert "relative deviation" in run_command(capsys, "solve", "placebo-trial")
    shown = run_command(capsys, "solve", "placebo-trial", "--limit", "cost:high<=0.4")
    assert "limits cost:high<=0.4" in shown
    assert "expected" not in shown
    assert "placebo>=0.1" in run_command(capsys, "solve", "placebo-trial", "--task", "top-arms:2")


def test_tables_name_limits_and_have_the_time_with_half_on_the_leader(capsys):
    shown = run_command(capsys, "table", "half-leader", "garivier-kaufmann-1", "--columns", "model,task,T*,T*(1/2)")
    assert "best arm, 1 limit" in shown
    assert "is the least cost of efforts that meet them" in shown
    assert shown.count("1019.37157") == 3
    listed = json.loads(run_command(capsys, "table", "half-leader", "--format", "json"))
    rows = listed["rows"] if isinstance(listed, dict) else listed
    assert rows[0]["limits"][0]["limit"] == "pulls:leader=0.5"
    assert "half_leader_time" not in rows[0]
    forced = run_command(capsys, "table", "garivier-kaufmann-1", "--limit", "pulls:1<=0.3")
    assert "1042.73" in forced


def test_a_curve_sweeps_a_share(capsys):
    path = ["--sweep", "limit:0", "--from", "0", "--to", "0.6", "--points", "4", "--json"]
    found = json.loads(run_command(capsys, "curve", *MODEL, "--limit", "pulls:leader=0.5", *path))
    assert found["limits"] == ["pulls:leader=0.5"]
    first, *others = [point for point in found["points"] if point["kind"] == "grid"]
    assert "leave nothing for arm 0" in first["error"]
    assert [point["u[0]"] for point in others] == pytest.approx([0.2, 0.4, 0.6])
    slope = "price[pulls:leader=0.5]"
    assert others[0][slope] < 0 < others[2][slope]


def test_simulate_tells_the_limits(capsys):
    asked = ["--family", "bernoulli", "--means", ".9,.2", "--task", "best-arm", "--limit", "pulls:1>=0.6"]
    shown = run_command(capsys, "simulate", *asked, "--delta", "0.2", "--runs", "2", "--workers", "1")
    assert "limits pulls:1>=0.6" in shown
    assert "solver clarabel" in shown


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["solve", *MODEL, "--limit", "pulls:leader=0.5", "--digits", "20"], "digits are proven without limits"),
        (["solve", *MODEL, "--limit", "pulls:leader=0.5", "--solver", "native"], "solver 'native' takes no limits"),
        (["solve", *MODEL, "--limit", "pulls:1<=0.3", "--limit", "pulls:1>=.4"], "limits cannot be met together"),
        (["solve", *MODEL, "--limit", "pulls:9<=0.3"], "names arm 9, but the model has arms 0 to 3"),
        (["solve", *MODEL, "--limit", "rubbish"], "'rubbish' is not a limit; write 'cost:0,1<=0.3'"),
        (["curve", *MODEL, "--sweep", "limit:0", "--from", "0", "--to", "1", "--json"], "there are no limits"),
        (
            ["simulate", *MODEL, "--limit", "pulls:1<=0.3", "--delta", ".1", "--policy", "uniform"],
            "cannot keep to limits",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(capsys, command, message):
    expect_refusal(capsys, *command, words=message)
