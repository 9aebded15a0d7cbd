"""No outcome is lost: whatever finite rewards a family has, they are recorded, reported and replayed."""

import json
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caet_opt import InputError, LiveExperiment
from caet_opt.exploring.policies import POLICIES
from caet_opt.exploring.policies.tracking import TrackingPolicy
from caet_opt.presenting.report.experiment import write_experiment_page

#: Sizes at which squares, variances, divergences or sums leave double precision, and ordinary ones.
SIZES = (0.0, 5e-324, 1e-300, 1e-170, 2e-170, 1e-160, 1e-10, 1.0, 2.0, 3e16, 1e100, 1e150, 1e154, 2e154, 1e200, 1e300)
WHOLE = (0.0, 1.0, 2.0, 7.0, 1e15, 2.0**53, 1e18, 1e100, 1e154, 1e200, 1e300)
SIGNED = st.sampled_from([*SIZES, *(-size for size in SIZES)]) | st.floats(-1e300, 1e300)
POSITIVE = st.sampled_from(SIZES) | st.floats(0, 1e300)
COUNTS = st.sampled_from(WHOLE) | st.integers(0, 2**53).map(float)

REWARDS = {
    **dict.fromkeys(["gaussian:1", "gaussian:1e-300", "gaussian:1e300", "gaussian:1e-12,1,1e12"], SIGNED),
    **dict.fromkeys(["exponential", "gamma:0.01", "gamma:1e20"], POSITIVE),
    **dict.fromkeys(["poisson", "geometric"], COUNTS),
    "bernoulli": st.sampled_from([0.0, 1.0]),
}

#: Policies that solve for a target more often than others.
LIVE = [name for name, policy in POLICIES.items() if not policy.needs_truth]
SOLVING = [name for name in LIVE if issubclass(POLICIES[name], TrackingPolicy)]

#: The refusals that are right: told before anything is begun with, of the outcome or of the beginning of an arm.
RIGHT = ("is too large to be added up", "rounding hides their difference")


@st.composite
def plans(draw):
    """A family, the settings, and rewards and costs of a few values each, so that means tie and differ in size."""
    family = draw(st.sampled_from(list(REWARDS)))
    source = draw(st.sampled_from(["known", "observed", "gaps"]))
    policy = draw(st.sampled_from(SOLVING) | st.sampled_from(LIVE))
    told = {"policy": policy, "threshold": draw(st.sampled_from([None, None, "mixture"]))}
    if policy in SOLVING:
        told |= {"solve": draw(st.sampled_from(["exact", "lazy"])), "tracking": draw(st.sampled_from("cd"))}
        told |= {"batch": draw(st.sampled_from([1, 3]))}
    if source == "known":
        told["costs"] = draw(st.sampled_from([[1, 2, 0], [1, 1, 1], [1e-300, 1, 1e300], [1e300, 1e300, 1e300]]))
    else:
        told["cost_source"] = source
    values = draw(st.lists(REWARDS[family], min_size=1, max_size=3))
    rewards = draw(st.lists(st.sampled_from(values), min_size=4, max_size=9))
    costs = draw(st.lists(st.sampled_from([0.0, 5e-324, 1.0, 1e300]), min_size=9, max_size=9))
    return family, told, list(zip(rewards, costs, strict=False))


@settings(max_examples=50, deadline=None)
@given(plans())
@example(("exponential", {"costs": [1, 2, 1]}, [(1e-170, 1.0), (2e-170, 1.0), (1e-170, 1.0), (1e-170, 1.0)]))
@example(("gaussian:1", {"costs": [1, 2, 1]}, [(1e200, 1.0), (-1e200, 1.0), (0.0, 1.0), (1e200, 1.0)]))
@example(("gaussian:1", {"costs": [1, 2, 1], "solve": "lazy"}, [(1e200, 1.0), (-1e200, 1.0), (0.0, 1.0), (1.0, 1.0)]))
def test_no_outcome_is_lost(plan):
    family, told, outcomes = plan
    told = {name: value for name, value in told.items() if value is not None}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / "extreme.caet"
        LiveExperiment.start(path, "best-arm", family, arms=3, delta=0.05, unproven=True, **told).close()
        recorded = 0
        for reward, cost in outcomes:
            with LiveExperiment.open(path) as experiment:
                (pull,) = experiment.next() or (None,)
                if pull is None:
                    assert experiment.stopped
                    break
                recorded += take(experiment, pull, reward, cost if told.get("cost_source") == "observed" else None)
                check(experiment, recorded)
        with LiveExperiment.open(path) as experiment:
            assert experiment.verify() == []
            assert len(experiment.history()["moments"]) == recorded
            write_experiment_page(experiment, path.with_suffix(".html"))


def take(experiment, pull, reward, cost):
    """Record an outcome, and say whether it was; one that is refused for a right reason is still out."""
    try:
        experiment.record(pull.arm, reward, cost, pull=pull.number)
    except InputError as error:
        if not any(reason in str(error) for reason in RIGHT):
            raise
        assert any(row["pull"] == pull.number for row in experiment.status()["out"])
        experiment.release(pull.number)
        return False
    return True


def check(experiment, recorded):
    """What can be said is said, in words and as JSON."""
    status = experiment.status()
    assert status["recorded"] == recorded
    assert json.loads(json.dumps(status, allow_nan=False)) == status
    assert str(experiment)


@pytest.mark.parametrize("family", [family for family in REWARDS if family != "bernoulli"])
def test_an_outcome_that_is_too_large_is_so_from_the_beginning(tmp_path, family):
    with LiveExperiment.start(
        tmp_path / "large.caet", "best-arm", family, arms=3, delta=0.05, costs=[1, 1, 1]
    ) as experiment:
        (pull,) = experiment.next()
        with pytest.raises(InputError, match="too large to be added up"):
            experiment.record(pull.arm, 1.7e308)
        assert experiment.status()["recorded"] == 0
