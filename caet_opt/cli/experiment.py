"""``caet-opt experiment``: live experiments in files, by several people and programs at once."""

import argparse
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from caet_opt.bandits.tasks.lower import SUFFIX
from caet_opt.cli.arguments import (
    HelpFormatter,
    add_confidence,
    add_setting,
    add_settings,
    count,
    number,
    plain_text,
    read_confidence,
    seed,
)
from caet_opt.cli.models import GRAMMAR, add_direction, add_limit, read_list, read_names
from caet_opt.cli.outcomes import check_names, leave_out_known, naming_lines, read_assigned, read_outcomes
from caet_opt.cli.output import csv_text, output_file, say, show
from caet_opt.common.exact import brief, exact, read_whole
from caet_opt.common.numbers import table, write_count, write_given, write_money
from caet_opt.common.rows import EXPORTED
from caet_opt.errors import BusyError, InputError
from caet_opt.exploring.settings import SETTINGS
from caet_opt.live.experiment import LiveExperiment, list_experiments
from caet_opt.live.outcomes import COLUMNS, find_arm, list_trials
from caet_opt.live.status import BY_HAND, LEVEL
from caet_opt.live.status_text import (
    ASSIGNED_NEED,
    is_ended,
    say_answer,
    say_end,
    say_guarantee,
    say_ignored_costs,
    say_left,
    say_limits,
    say_open_again,
    say_task,
    to_words,
)
from caet_opt.live.store import WAIT, is_filled

DESCRIPTION = """\
Run an experiment that is kept in a file. Start it, ask which arm to pull next, record the
outcome, look at its status. It stops with an answer that is wrong with probability at
most delta. Every change is on disk before the command returns, and any number of
processes on one machine may use the file at once. See docs/live_experiments.md, and
caet-opt experiment VERB --help."""

EXAMPLES = f"""\
{GRAMMAR}
examples:
  caet-opt experiment start trial.caet --task best-arm --family bernoulli \\
      --arms large,small --costs 3,5 --delta 0.05
  caet-opt experiment start shop.caet --task control:old --family bernoulli \\
      --arms old,b,c --delta 0.05 --max-pulls 20000
  caet-opt experiment start calls.caet --task best-arm --family bounded:0,1 \\
      --arms large,small --delta 0.05 --cost-source observed --budget 20
  caet-opt experiment next trial.caet --pulls 4
  caet-opt experiment record trial.caet large 1
  caet-opt experiment record trial.caet small 0 --pull 2
  caet-opt experiment record calls.caet large 0.8 --cost 0.012
  caet-opt experiment record trial.caet < outcomes.csv
  caet-opt experiment record trial.caet --counts large,90,1000 --counts small,150,1000
  caet-opt experiment record new.caet --counts exported.csv
  caet-opt experiment release trial.caet 3 4
  caet-opt experiment extend trial.caet --budget 2000
  caet-opt experiment stop trial.caet
  caet-opt experiment status trial.caet
  caet-opt experiment status trial.caet --verify
  caet-opt experiment backup trial.caet copy.caet
  caet-opt experiment list .
  caet-opt experiment export trial.caet --csv exported.csv
  caet-opt experiment report trial.caet -o trial.html
"""

#: The verbs that change a file, or make one.
CHANGES = ("start", "next", "record", "release", "extend", "stop", "backup")

#: Seconds between two looks of --watch, and what clears a terminal.
PAUSE, CLEAR = 2.0, "\x1b[H\x1b[2J\x1b[3J"

#: More arms are not listed when an experiment is started.
MOST_SHOWN = 50

#: The settings of an experiment that is not simulated.
FLAGS = tuple(setting for setting in SETTINGS if setting.owner != "simulation")

#: Those of them that are about money.
MONEY = ("cost_source", "max_cost", "max_pulls")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs, each with its arguments."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for name, (run_verb, declare, summary) in VERBS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        one = verbs.add_parser(name, help=summary, description=description, allow_abbrev=False)
        one.epilog, one.formatter_class = list_examples(name), HelpFormatter
        if name != "list":
            one.add_argument("file", metavar="FILE", help="the file of the experiment")
        declare(one)
        if name != "list":
            help_of_wait = f"how long to wait while another process writes to the file ({WAIT:g})"
            one.add_argument("--wait", type=number, default=WAIT, metavar="SECONDS", help=help_of_wait)
        one.set_defaults(run_verb=run_verb, parser=one)


def list_examples(verb: str) -> str:
    """The examples of a verb."""
    _, *found = re.split(r"^(?=  caet-opt )", EXAMPLES, flags=re.MULTILINE)
    mine = [example for example in found if example.split()[2] == verb]
    return f"example{'s'[: len(mine) > 1]}:\n{''.join(mine)}"


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    if arguments.verb is None:
        raise InputError(f"no verb given; use one of: {', '.join(VERBS)} (see caet-opt experiment --help)")
    if not 0 <= getattr(arguments, "wait", 0.0) <= 1e6:
        raise InputError(f"--wait must be a number of seconds, zero or more, got {arguments.wait:g}")
    if arguments.verb not in CHANGES:
        return int(arguments.run_verb(arguments))
    try:
        found = int(arguments.run_verb(arguments))
        sys.stdout.flush()
    except OSError as error:
        if error.filename is None and not isinstance(error, BusyError):  # it is the output
            changed = arguments.copy if arguments.verb == "backup" else arguments.file
            done = "is made" if arguments.verb == "backup" else "has the change"
            error.add_note(f"{changed} {done}, so do not repeat the command; see caet-opt experiment status {changed}")
        raise
    return found


def declare_start(parser: argparse.ArgumentParser) -> None:
    """What is asked, what it may cost, and how."""
    parser.add_argument("--task", required=True, metavar="T", help="task, for example best-arm or top-arms:2")
    parser.add_argument("--family", required=True, metavar="F", help="reward family, for example gaussian:4")
    help_of_arms = "names of the arms, as large,small, or how many there are, as 2"
    parser.add_argument("--arms", type=plain_text, required=True, nargs="+", metavar="NAME", help=help_of_arms)
    add_confidence(parser)
    add_direction(parser)
    help_of_missing = "if the file already has an experiment started with the same options, continue it"
    parser.add_argument("--if-missing", action="store_true", help=help_of_missing)
    money = parser.add_argument_group("what it costs")
    money.add_argument("--costs", nargs="+", metavar="C", help="cost of a pull of each arm (1 each)")
    for setting in FLAGS:
        if setting.name in MONEY:
            add_setting(money, setting)
    add_budget(money)
    how = parser.add_argument_group("the algorithm")
    add_settings(parser, how, [setting for setting in FLAGS if setting.name not in ("limits", *MONEY)])
    add_limit(how)
    how.add_argument(
        "--seed", type=seed, default=0, metavar="S", help="seed of the policy's random choices, if it makes any (0)"
    )
    how.add_argument("--unproven", action="store_true", help="allow a threshold that is not proven")


def add_budget(group: argparse._ActionsContainer) -> None:
    """Declare --budget, as plan calls the limit on the cost."""
    group.add_argument("--budget", type=number, metavar="X", help="the same as --max-cost")


def read_budget(arguments: argparse.Namespace) -> float | None:
    """The limit on the cost, by whichever name; `InputError` for both."""
    if arguments.budget is not None and arguments.max_cost is not None:
        raise InputError("give --max-cost or --budget, not both: they are two names of one limit")
    return arguments.max_cost if arguments.budget is None else arguments.budget  # type: ignore[no-any-return]


def start(arguments: argparse.Namespace) -> int:
    """Make the file."""
    if arguments.costs is not None and arguments.cost_source not in (None, "known"):
        raise InputError(f"give --costs or --cost-source {arguments.cost_source}, not both")
    if arguments.costs is None and arguments.cost_source == "known":
        raise InputError("--cost-source known needs --costs; leave out both if each pull costs 1")
    names = read_arms(arguments.arms)
    many = read_whole(names[0]) if len(names) == 1 else None
    arms = names if many is None else many
    arguments.limits, arguments.max_cost = arguments.limit, read_budget(arguments)
    given = {setting.name: getattr(arguments, setting.name) for setting in FLAGS} | read_confidence(arguments)
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    is_there = arguments.if_missing and is_filled(Path(arguments.file))
    make = LiveExperiment.open_or_start if arguments.if_missing else LiveExperiment.start
    experiment = make(
        arguments.file,
        f"{arguments.task} {SUFFIX}" if arguments.lower_is_better else arguments.task,
        arguments.family,
        arms=arms,
        costs=None if arguments.costs is None else [float(cost) for cost in read_list(arguments.costs, "costs")],
        seed=arguments.seed,
        unproven=arguments.unproven,
        wait=arguments.wait,
        **settings,
    )
    with experiment:
        status = experiment.status()
    print_arms(status)
    done = f"continued, with {write_count(status['recorded'], 'outcome')} so far" if is_there else "started"
    say(f"{arguments.file}: {done}; {status['formula']}; {say_guarantee(status)}")
    if arguments.costs is None and arguments.cost_source is None:
        print("each pull costs 1; use --costs or --cost-source to change that")
    if arguments.cost_source == "observed":
        print("costs are observed: record what each pull cost with its outcome, by --cost or in a column cost")
    if not is_there and (few := say_too_little(status)) is not None:
        say(f"caet-opt: warning: {few}", to_stderr=True)
    return 0


def read_arms(words: Sequence[str]) -> list[str]:
    """Names separated by commas, or else one per word; `InputError` where only some words are separated by commas."""
    ends = [one.endswith(",") or other.startswith(",") for one, other in pairwise(words)]
    if any("," in word for word in words) and not all(ends):
        raise InputError(
            f"--arms must be names separated by commas, or one per word, not both, got {brief(' '.join(words))!r}; "
            "quote names with spaces, as --arms 'new york,boston'; a name cannot have a comma here"
        )
    return read_names(list(words))


def print_arms(status: dict[str, Any]) -> None:
    """The arms in their order, with their costs where these are known: a slip in the order shows."""
    names = [arm["name"] for arm in status["arms"]]
    if (costs := status["costs"]) is not None:
        names = [f"{name} ({write_given(cost)})" for name, cost in zip(names, costs, strict=True)]
    more = len(names) - MOST_SHOWN
    say(f"arms: {', '.join(names[:MOST_SHOWN])}" + (f" and {more} more" if more > 0 else ""))


def say_too_little(status: dict[str, Any]) -> str | None:
    """That the limits do not allow one pull of each arm, without which there is no answer; None where they do."""
    costs, limits = status["costs"], status["limits"]
    if limits["max_pulls"] is not None and limits["max_pulls"] < len(status["arms"]):
        return f"{say_limits(status)}: fewer pulls than arms, and there is no answer before every arm has an outcome"
    if costs is None or limits["max_cost"] is None or (total := sum(map(exact, costs))) <= exact(limits["max_cost"]):
        return None
    return (
        f"{say_limits(status)}: one pull of each arm costs {write_given(float(total))}, and there is no answer before "
        "every arm has an outcome"
    )


def declare_next(parser: argparse.ArgumentParser) -> None:
    """How many, and whether an arm is wanted."""
    parser.add_argument("--pulls", type=count, default=1, metavar="N", help="how many pulls to hand out (1)")
    parser.add_argument(
        "--arm", metavar="ARM", help="hand out this arm instead of the policy's choice; the guarantee still holds"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def hand_out(arguments: argparse.Namespace) -> int:
    """Hand out pulls, and say which."""
    with LiveExperiment.open(arguments.file, wait=arguments.wait) as experiment:
        pulls = experiment.next(arguments.pulls, arm=arguments.arm)
        found = experiment.status() if len(pulls) < arguments.pulls else None
    nothing = found if not pulls else None
    ended, answer = (None, None) if nothing is None else (nothing["ended"], nothing["stopped"] and nothing["answer"])
    record = {"pulls": [pull._asdict() for pull in pulls], "stopped": answer is not None, "answer": answer}
    limit = None if found is None else find_limit(found)
    told = "\n".join(f"pull {pull.number}: {pull.name}" for pull in pulls)
    show(
        arguments.json,
        lambda: record | {"ended": ended, "limit": limit},
        lambda: told if nothing is None else f"nothing to pull: {say_nothing(nothing, arguments.arm)}",
    )
    if found is not None and limit is not None and pulls:
        few = f"{len(pulls)} of {arguments.pulls}: {limit} {found['limits'][limit]:.15g} leaves no room for more"
        say(f"caet-opt: {few}", to_stderr=True)
    return 0


def find_limit(status: dict[str, Any]) -> str | None:
    """Which limit was in the way of pulls that were not handed out; None if it was something else."""
    if status["stopped"] or (status["ended"] is not None and status["ended"]["reason"] == BY_HAND):
        return None
    most = status["limits"]["max_pulls"]
    name = "max_cost" if most is None or status["recorded"] + status["waiting"] < most else "max_pulls"
    return None if status["limits"][name] is None else name  # another process may have made room since


def say_nothing(status: dict[str, Any], arm: str | None) -> str:
    """Why no pull was handed out."""
    if status["stopped"] is not None:
        return f"the experiment has stopped with the answer {say_answer(status)}"
    if is_ended(status):
        return f"the experiment has ended, {say_end(status)}; {say_left(status)}"
    return f"a pull of {'the next arm' if arm is None else arm} would go beyond {say_limits(status)}"


def declare_record(parser: argparse.ArgumentParser) -> None:
    """One outcome, or many on standard input."""
    parser.add_argument(
        "outcome",
        nargs="*",
        metavar="ARM REWARD",
        help="the outcome of one pull; without these, outcomes are read as CSV from standard input, with the columns "
        f"{', '.join(COLUMNS)}: reward is required, and so is pull or arm; if a row is wrong, nothing is recorded",
    )
    parser.add_argument("--cost", type=number, metavar="C", help="what the pull cost, if costs are observed")
    parser.add_argument(
        "--counts",
        type=plain_text,
        action="append",
        metavar="ARM,SUCCESSES,TRIALS",
        help="new trials that were assigned and counted elsewhere; repeat for each arm (counts of one arm add up), "
        "or give a CSV file with the columns arm, "
        "successes and trials, or with a row per trial and the columns arm, reward, and cost if observed; what export "
        "writes will do",
    )
    parser.add_argument(
        "--pull", type=count, metavar="N", help="number of the pull (default: the arm's oldest pull without an outcome)"
    )


def record(arguments: argparse.Namespace) -> int:
    """Take in outcomes, and say whether that was the last one needed."""
    assigned = arguments.counts is not None
    if assigned:
        counts, outcomes, exported = read_assigned(arguments.counts, arguments)
    else:
        counts, exported, outcomes = [], [], read_outcomes(arguments.outcome, arguments.pull, arguments.cost)
    with LiveExperiment.open(arguments.file, wait=arguments.wait) as experiment:
        if counts:
            check_names(counts, experiment.names)
            outcomes += list_trials(counts, experiment.names, experiment.family)
        if exported:
            outcomes += leave_out_known(exported, experiment.names, experiment.status()["costs"])
        with naming_lines(outcomes):
            recorded = experiment.record_assigned(outcomes) if assigned else experiment.record_many(outcomes)
        found = experiment.summary()
    stopped = f"; the experiment has stopped with the answer {say_answer(found)}" if found["stopped"] else ""
    say(f"recorded: {recorded}{stopped}")
    if (ignored := say_ignored_costs(found)) is not None:
        say(f"caet-opt: warning: {ignored}", to_stderr=True)
    for doubt in say_open_again(found):
        say(f"caet-opt: {doubt}; see status", to_stderr=True)
    if assigned:
        say(ASSIGNED_NEED)
        for name, successes, trials in add_up(counts, experiment.names):
            say(f"counts of {name}, which were given more than once, add up: {successes} successes in {trials} trials")
    return 0


def add_up(counts: Sequence[tuple[str, int, int]], names: Sequence[str]) -> list[tuple[str, int, int]]:
    """The sums of successes and of trials of each arm that has several counts."""
    told: dict[int, list[tuple[int, int]]] = {}
    for arm, successes, trials in counts:
        told.setdefault(find_arm(arm, names), []).append((successes, trials))
    return [
        (names[arm], sum(won for won, _ in found), sum(trials for _, trials in found))
        for arm, found in told.items()
        if len(found) > 1
    ]


def declare_release(parser: argparse.ArgumentParser) -> None:
    """Which pulls."""
    parser.add_argument("pulls", type=count, nargs="+", metavar="PULL", help="numbers of the pulls to withdraw")
    parser.add_argument("--cost", type=number, default=0.0, metavar="C", help="what each of them cost all the same (0)")


def release(arguments: argparse.Namespace) -> int:
    """Withdraw pulls."""
    with LiveExperiment.open(arguments.file, wait=arguments.wait) as experiment:
        experiment.release(*arguments.pulls, cost=arguments.cost)
    say(f"withdrawn: {len(arguments.pulls)}")
    return 0


def declare_extend(parser: argparse.ArgumentParser) -> None:
    """Which limits."""
    add_budget(parser)
    parser.add_argument("--max-cost", type=number, metavar="X", help="new spending limit, of all pulls (unchanged)")
    parser.add_argument("--max-pulls", type=count, metavar="N", help="new largest number of all pulls (unchanged)")


def extend(arguments: argparse.Namespace) -> int:
    """Raise the limits, and say what they are now."""
    with LiveExperiment.open(arguments.file, wait=arguments.wait) as experiment:
        experiment.extend(max_cost=read_budget(arguments), max_pulls=arguments.max_pulls)
        found = experiment.status()
    done = f"{write_count(found['recorded'] + found['waiting'], 'pull')}, {write_money(found['spent'])} spent so far"
    left = "pulls can be handed out"
    if found["ended"] is not None:
        left = f"still no pull can be handed out: {say_end(found)}; raise {found['ended']['reason']}"
    say(f"{arguments.file}: limits: {say_limits(found)}; {done}; {left}")
    return 0


def declare_nothing(parser: argparse.ArgumentParser) -> None:
    """The file alone."""


def end(arguments: argparse.Namespace) -> int:
    """End it by hand, and say what is left."""
    with LiveExperiment.open(arguments.file, wait=arguments.wait) as experiment:
        is_new, found = experiment.end(), experiment.status()
    if found["stopped"] is not None:
        words = f"nothing to end: the experiment has stopped with the answer {say_answer(found)}"
    elif is_new:
        words = f"ended {say_end(found)}; {say_left(found)}"
    else:
        words = f"had already ended, {say_end(found)}; {say_left(found)}"
    say(f"{arguments.file}: {words}")
    return 0


def declare_status(parser: argparse.ArgumentParser) -> None:
    """How to look."""
    parser.add_argument(
        "--level", type=number, default=LEVEL, metavar="P", help=f"confidence level of the intervals ({LEVEL:g})"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="one JSON object instead of text")
    how.add_argument(
        "--watch",
        action="store_true",
        help="keep showing the status until the experiment is over and no pull is out, or Ctrl-C",
    )
    how.add_argument(
        "--verify",
        action="store_true",
        help="replay every row and compare with the stored state; exit status 1 if they differ",
    )


def status(arguments: argparse.Namespace) -> int:
    """Say where it stands."""
    with LiveExperiment.open(arguments.file, wait=arguments.wait) as experiment:
        if arguments.verify:
            return verify(experiment, arguments.file)
        found = experiment.status(arguments.level)
        clear = CLEAR if arguments.watch and sys.stdout.isatty() else ""
        print(clear, end="")
        show(arguments.json, lambda: found, lambda: to_words(found) + (say_waiting(found) if arguments.watch else ""))
        while arguments.watch and not found["stopped"] and not (found["ended"] and not found["waiting"]):
            sys.stdout.flush()
            time.sleep(PAUSE)
            seen, found = found, experiment.status(arguments.level)
            if found != seen:
                print(clear, end="")
                say(("" if clear else "\n") + to_words(found) + say_waiting(found))
    return 0


def say_waiting(status: dict[str, Any]) -> str:
    """For which pulls a watch goes on after the end; nothing where it does not."""
    if not is_ended(status) or not status["waiting"]:
        return ""
    numbers = ", ".join(str(row["pull"]) for row in status["out"][:10])
    more = f" and {status['waiting'] - 10} more" if status["waiting"] > 10 else ""
    pulls = "pull" if status["waiting"] == 1 else "pulls"
    return f"\n\nwaiting for {pulls} {numbers}{more}: record or release them, or press Ctrl-C"


def verify(experiment: LiveExperiment, file: str) -> int:
    """Replay, compare, and say so."""
    from caet_opt.presenting.progress import Bar

    recorded = experiment.summary()["recorded"]
    with Bar(recorded, "outcomes") as bar:
        differences = experiment.verify(bar.step)
    for difference in differences:
        say(f"{file}: differs: {difference}")
    if not differences:
        say(f"{file}: verified, its state follows from its {write_count(recorded, 'outcome')}")
    return 1 if differences else 0


def declare_list(parser: argparse.ArgumentParser) -> None:
    """Which folder."""
    parser.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="where to look (.)")
    parser.add_argument("--json", action="store_true", help="a JSON list instead of text")


def list_folder(arguments: argparse.Namespace) -> int:
    """A line for each experiment."""
    found = list_experiments(arguments.folder)
    show(arguments.json, lambda: found, lambda: tabulate(found) if found else f"{arguments.folder}: no experiment")
    return 0


def tabulate(found: Sequence[Mapping[str, Any]]) -> str:
    """A line per file."""
    rows = []
    for one in found:
        cells = [one["error"]]
        if one["error"] is None:
            state = "stopped" if one["stopped"] else "ended" if one["ended"] else "running"
            numbers = str(one["recorded"]), str(one["waiting"]), write_money(one["spent"])
            answer = one["answer"] if one["stopped"] or one["answer"] is None else f"leading: {one['answer']}"
            cells = [say_task(one), *numbers, answer or "-", state]
        rows.append([one["file"], *cells])
    return table(("file", "task", "outcomes", "out", "spent", "answer", "state"), rows, (0, 1, 5, 6))


def declare_export(parser: argparse.ArgumentParser) -> None:
    """Where to."""
    parser.add_argument("--csv", nargs="?", metavar="OUT", help="write to this file (standard output)")


def export(arguments: argparse.Namespace) -> int:
    """Every pull with its outcome, as CSV."""
    out = output_file(arguments.csv, "--csv")
    with LiveExperiment.open(arguments.file, wait=arguments.wait) as experiment:
        text = csv_text(experiment.export(), EXPORTED)
    if arguments.csv is None:
        print(text, end="")
    out(text)
    return 0


def declare_backup(parser: argparse.ArgumentParser) -> None:
    """Where to."""
    parser.add_argument("copy", metavar="COPY", help="the new file, which must not exist yet")


def backup(arguments: argparse.Namespace) -> int:
    """Copy the file as it is at one moment."""
    with LiveExperiment.open(arguments.file, wait=arguments.wait) as experiment:
        experiment.backup(arguments.copy)
    say(f"{arguments.copy}: a copy of {arguments.file}")
    return 0


def declare_report(parser: argparse.ArgumentParser) -> None:
    """Where to."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="PAGE",
        default="experiment.html",
        help="write the page to this file (experiment.html)",
    )
    help_of_title = "title of the page (the name of the file)"
    parser.add_argument("--title", type=plain_text, metavar="TEXT", help=help_of_title)


def report(arguments: argparse.Namespace) -> int:
    """One page for the browser."""
    from caet_opt.cli.report import write_page
    from caet_opt.presenting.report import experiment_page

    with LiveExperiment.open(arguments.file, wait=arguments.wait) as experiment:
        write_page(arguments, lambda: experiment_page(experiment, arguments.title))
    return 0


Verb = tuple[Callable[[argparse.Namespace], int], Callable[[argparse.ArgumentParser], None], str]

#: What each verb does, which arguments it takes, and what it is for.
VERBS: dict[str, Verb] = {
    "start": (start, declare_start, "start a new experiment in a new file"),
    "next": (hand_out, declare_next, "hand out the next pulls, each with a number"),
    "record": (record, declare_record, "record the outcome of a pull, or of many as CSV"),
    "release": (release, declare_release, "withdraw pulls whose outcomes will not come"),
    "extend": (extend, declare_extend, "raise the limits on cost and pulls, so that the experiment can go on"),
    "stop": (
        end,
        declare_nothing,
        "end the experiment by hand; outcomes of pulls already handed out can still be recorded",
    ),
    "status": (
        status,
        declare_status,
        "show where it stands: answer, evidence, estimates, cost so far and still to come",
    ),
    "backup": (backup, declare_backup, "copy the file safely, even while others write to it"),
    "list": (list_folder, declare_list, "list the experiments in a folder"),
    "export": (export, declare_export, "write every pull with its outcome as CSV"),
    "report": (report, declare_report, "make one HTML page, which works offline"),
}
