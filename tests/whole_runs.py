"""Rounds of an explorer over streams, by compiled code or without any; what it sees, as bits; and solves that fail."""

from caet_opt.exploring.policies.base import Setup
from caet_opt.simulating.runs import compile_run, run
from cases.runs import arrays_of, without_compiled


def run_compiled(explorer, streams, rounds):
    """Up to so many rounds by compiled code, where that knows the family and the threshold; whether it stopped."""
    compile_run(explorer)
    return run(explorer, streams, rounds)


def run_interpreted(explorer, streams, rounds):
    """The same in a process that has no compiled code."""
    with without_compiled():
        return run(explorer, streams, rounds)


def bits_of(explorer):
    """Every array of what is seen, to be compared with those of another or of another time."""
    return arrays_of(explorer.view)


def fail_to_solve(monkeypatch, error):
    """Have every solve of explorers that are made from now on fail with an error."""

    def fail(*_, **__):
        raise error

    make_setting = Setup.setting
    monkeypatch.setattr(Setup, "setting", lambda self, **known: make_setting(self, **known)._replace(native=False))
    monkeypatch.setattr("caet_opt.exploring.policies.tracking.solve_question", fail)
