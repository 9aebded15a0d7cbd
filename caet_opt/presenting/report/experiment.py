"""The page of one live experiment: evidence against what it must exceed, spending, estimates with their intervals."""

from pathlib import Path
from typing import Any

from caet_opt.common.files import write_whole
from caet_opt.common.numbers import write_given, write_money
from caet_opt.live import status_text
from caet_opt.live.experiment import LiveExperiment
from caet_opt.presenting.report.render import render_page
from caet_opt.simulating.studies import check_no_result

Record = dict[str, Any]


def write_experiment_page(experiment: LiveExperiment, path: str | Path, title: str | None = None) -> None:
    """Write a live experiment as one HTML page; the file is whole or not there.

    >>> from caet_opt.presenting.report.experiment import write_experiment_page
    >>> with LiveExperiment.start("page.caet", "best-arm", "poisson", arms=2, costs=[1, 2], delta=0.1) as experiment:
    ...     write_experiment_page(experiment, "page.html")
    """
    check_no_result(path)
    write_whole(path, experiment_page(experiment, title))


def experiment_page(experiment: LiveExperiment, title: str | None = None) -> str:
    """A live experiment as one HTML page that asks nothing of any network; titled by the file unless told."""
    status = experiment.status()
    name, arms = Path(status["file"]).name, status["arms"]
    out = (
        (str(row["pull"]), arms[row["arm"]]["name"], status_text.say_time(row["handed_out"])) for row in status["out"]
    )
    context = {
        "title": title or name,
        "file": name,
        "status": status,
        "facts": list_facts(status),
        "alarm": status_text.say_alarm(status) if status["watch"]["alarm"] else None,
        "fitting": status_text.say_fitting(status) if status["watch"]["alarm"] else None,
        "settled": " ".join(status_text.say_settled(status)).removeprefix("SETTLED: "),
        "intervals": status_text.say_intervals(status),
        "arms": (status_text.ARM_HEADERS, [(None, status_text.arm_texts(arm)) for arm in status["arms"]]),
        "late": status_text.say_late(status) if status_text.came_late(status) else None,
        "pairs": (status_text.pair_headers(status), [(None, status_text.pair_texts(pair)) for pair in status["pairs"]]),
        "out": (["pull", "arm", "since"], [(None, list(texts)) for texts in out]),
        "data": collect_data(status, experiment.history()),
    }
    return render_page("experiment.html", context)


def list_facts(status: Record) -> dict[str, str]:
    """What was asked, and how it goes, in status_text."""
    names = [arm["name"] for arm in status["arms"]]
    costs = status["costs"]
    facts = {
        "task": status_text.say_task(status),
        "rewards": status["family"],
        "arms": ", ".join(names if costs is None else map("{} (cost {})".format, names, map(write_given, costs))),
        "policy": status["policy"],
        "stops when": status["formula"],
        "guarantee": status_text.say_guarantee(status),
        "started": status_text.say_time(status["started"]),
        "spent": write_money(status["spent"]) + status_text.say_lost(status),
    }
    if status["counted"]:
        facts["assigned"] = status_text.say_assigned(status)
    if (limits := status_text.say_limits(status)) is not None:
        facts["limits"] = limits
    if status_text.is_ended(status):
        facts["ended"] = status_text.say_end(status)
    if (spread := status_text.say_spread(status)) is not None:
        facts["spread"] = spread
    if (ignored := status_text.say_ignored_costs(status)) is not None:
        facts["costs"] = ignored
    if status["open_again"]:
        facts["open again"] = "; ".join(status_text.say_open_again(status))
    if status["stopped"] is not None:
        facts["stopped"] = status_text.say_stop(status["stopped"])
    else:
        facts["left"] = status_text.say_not_excluded(status)
        if status["answer"] is not None:
            facts["ahead"] = status_text.say_ahead(status)
        if (hint := status_text.say_good_enough(status)) is not None:
            facts["level"] = hint
    return facts


def collect_data(status: Record, history: Record) -> Record:
    """All that the charts need: the arms and then the pairs are series, each with a mark of its own."""
    names = [arm["name"] for arm in status["arms"]]
    notes = [*names, *history["names"]]
    stop = status["stopped"]
    return {
        "models": [{"label": status_text.say_task(status)}],
        "series": [{"model": 0, "note": note, "label": note} for note in notes],
        "arms": len(names),
        "moments": history["moments"],
        "stop": None if stop is None else {"outcome": stop["outcome"], "cost": stop["cost"]},
        "level": status["level"],
    }
