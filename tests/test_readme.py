"""README.md and docs/speed.md tell the truth: what they show is what is printed, and every command in README, on a page
of docs or in a help text parses. What is shown on other pages is made by `make docs`, which executes them."""

import re
import shlex
import tomllib
from glob import glob
from itertools import count
from pathlib import Path

import pytest
import tomli_w

from caet_opt import read_model, simulate
from caet_opt.cli import COMMANDS, build_parser, load_command, main, shield_negative_numbers
from caet_opt.presenting.figures import Effort, figure_1, policies
from caet_opt.solving.backends import BACKENDS

for package in ("flint", "matplotlib", "pyarrow"):
    pytest.importorskip(package, reason=f"{package} is not installed (extra: dev)")

ROOT = Path(__file__).parents[1]
README, SPEED = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/speed.md"))
PAGES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

#: The fenced blocks as (language, text); one without a language is output.
BLOCKS = re.findall(r"^```([\w{}-]*)\n(.*?)^```$", f"{README}\n{SPEED}", re.MULTILINE | re.DOTALL)
OUTPUTS = [text for language, text in BLOCKS if not language]
SCRIPTS = [text for language, text in BLOCKS if language == "python"]

#: What follows the indentation on lines such as ``    caet-opt check cert.json``, without comments.
INDENTED = [line.split(" #")[0].strip() for line in re.findall(r"^    (\S.*)$", README, re.MULTILINE)]
COMMAND_LINES = [line for line in INDENTED if line.startswith("caet-opt ")]

#: Commands within a sentence, of README.md and of every page.
WITHIN = [" ".join(line.split()) for line in re.findall(r"`(caet-opt (?!-|\w+ --help)[^`]+)`", f"{README}\n{PAGES}")]

#: The command that prints an output, by how the output begins.
SHOWN = {
    "Ranking in the regret setting": "caet-opt solve models/paper-instance-1.toml --delta 0.01",
    "If the arms are as above": next(line for line in COMMAND_LINES if line.startswith("caet-opt plan ")),
    "closed form three-arm": "caet-opt curve paper-instance-1 --sweep mean:2 --from 0 --to 2.5",
    "policy          mean cost": next(line for line in WITHIN if "--policy caet,track" in line),
}

#: How the outputs begin that have a test of their own.
LIVE, SCRIPT, VERIFY, STUDY = (
    "SETTLED: b",
    "11.656854249492 True",
    "formula                 instances",
    "model                log(1/delta)",
)


@pytest.fixture(autouse=True)
def _somewhere(tmp_path, monkeypatch):
    """A folder with the files that the commands read, where what they write does no harm."""
    for name in ("models", "solvers", "analysis"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


def run_line(line, capsys):
    """What a command of a shell prints, its patterns of file names replaced by the files."""
    words = [name for word in shlex.split(line)[1:] for name in sorted(glob(word)) or [word]]
    capsys.readouterr()
    assert main(words) == 0
    return capsys.readouterr().out


def mask(text):
    """Lines with single spaces, and without what may differ between machines and versions.

    Sizes of errors and times are masked; of 13 digits or more 12 are kept, of more than 50 digits 50.
    """
    text = re.sub(r"\d+(\.\d+)?e[+-]\d+", "#", text)
    text = re.sub(r"\d+(\.\d+)? (us|ms|s)\b", "# s", text)
    text = re.sub(r"sha256 [0-9a-f]{64}", "sha256 #", text)
    text = re.sub(r"\d+\.\d{10,}", lambda found: found[0][: 51 if len(found[0]) > 40 else 13], text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def find_output(beginning):
    """The output of README.md that begins so."""
    return next(text for text in OUTPUTS if text.startswith(beginning))


def check_shown(beginning, real):
    """Check that the lines of an output in README.md follow each other in what is really printed."""
    shown, lines = mask(find_output(beginning)), mask(real)
    start = lines.index(shown[0]) if shown[0] in lines else 0
    assert lines[start : start + len(shown)] == shown


def test_masks_hide_nothing_but_volatile_digits():
    assert mask("T* = 11.656854249492  in [11.65685424949228, 12], gap 1.3e-14\nin 7.0 ms") == [
        "T* = 11.6568542494 in [11.6568542494, 12], gap #",
        "in # s",
    ]
    assert mask("1.5584") == ["1.5584"]
    assert mask(f"989.{'1' * 47}") == [f"989.{'1' * 47}"]


def test_every_output_is_compared():
    beginnings = (*SHOWN, LIVE, SCRIPT, VERIFY, STUDY)
    assert [text for text in OUTPUTS if not text.startswith(beginnings)] == []
    assert len(OUTPUTS) == len(beginnings)
    assert f"```\n\nprints\n\n```\n{SCRIPT}" in README


@pytest.mark.parametrize(("beginning", "line"), SHOWN.items())
def test_commands_print_what_is_shown(beginning, line, capsys):
    assert line in [*COMMAND_LINES, *WITHIN]
    check_shown(beginning, run_line(line, capsys))


def test_the_experiment_says_what_is_shown(capsys):
    lines = [line for line in COMMAND_LINES if line.startswith("caet-opt experiment ")]
    assert [line.split()[2] for line in lines] == ["start", "record", "status"]
    check_shown(LIVE, [run_line(line, capsys) for line in lines][-1])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.splitlines()[-1])
def test_scripts_print_what_is_shown(script, capsys):
    rounds = count()
    exec(script, {"pull": lambda arm: (1.0, 0.0, next(rounds) % 2)[arm]})  # rewards that suit every family
    printed = capsys.readouterr().out
    shown = re.match(r"```\n\nprints\n\n```\n(.*?)^```$", README.partition(script)[2], re.MULTILINE | re.DOTALL)
    assert mask(printed) == mask(shown[1]) if shown else printed


def test_tables_of_speed_say_how_it_is_and_not_how_it_was():
    headers = re.findall(r"^(\|.+\|)\n\|(?:---\|)+$", SPEED, re.MULTILINE)
    cells = {cell.strip() for header in headers for cell in header.strip("|").split("|")}
    assert len(headers) > 8
    assert {cell for cell in cells if re.search(r"\b(before|now|was|old|new)\b", cell)} == set()


def test_verification_has_the_lines_that_are_shown(capsys):
    """On fewer instances, so that only words and columns are the same."""
    if not all(backend.is_installed() for backend in BACKENDS.values()):
        pytest.skip("docs/speed.md shows the table with every solver")

    def structure(text):
        return [re.sub(r"\b\d+\b", "#", re.sub(r"\(\d+ unsolved\) ", "", line)) for line in mask(text)]

    assert "`caet-opt verify`, worst" in SPEED
    printed = run_line("caet-opt verify --instances 3 --slow 2 --workers 1", capsys)
    shown = structure(find_output(VERIFY))
    assert structure(printed)[-len(shown) :] == shown


@pytest.mark.slow
def test_the_papers_study_has_the_rows_that_are_shown(capsys):
    """The model whose cells are shown, without the others: a cell does not depend on its neighbours."""
    study = tomllib.loads(Path("analysis/studies/paper.toml").read_text(encoding="utf-8"))
    study["models"] = [str(ROOT / "models/paper-instance-1.toml")]
    Path("paper.toml").write_text(tomli_w.dumps(study), encoding="utf-8")
    run_line("caet-opt sweep paper.toml --out results/paper", capsys)
    check_shown(STUDY, run_line("caet-opt table results/paper", capsys))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("means", "words"),
    [
        ((3.0, 4.0, 2.0), "500 with cost / log(1/delta) of {} for means (3, 4, 2), between T* = {} and 1.2 T* = {},"),
        ((1.4, 0.8, 0.3), "and of {} for (1.4, 0.8, 0.3), between {} and {};"),
        ((0.5, 0.9, 0.2), "README names for the first graph, at 100 with {}, between {} and {}."),
    ],
)
def test_figure_1_ends_where_it_is_said_to(means, words):
    level = figure_1.INSTANCES[means][0][-1]
    (row,) = figure_1.measure_point(means, level, figure_1.FIGURE.runs[0], Effort(seed=1))
    ends = [f"{row.per_log(name):.2f}" for name in ("mean_cost", "lower_bound", "upper_bound")]
    assert words.format(*ends) in " ".join(SPEED.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "delta", "cells"),
    [
        ("`top-two-ids` costs {} to {} times", 1e-6, ["top-two-ids/paper-instance-2", "top-two-ids/clinical-trial"]),
        ("`ctas` {} to {} and", 1e-6, ["ctas/paper-instance-2", "ctas/clinical-trial"]),
        ("`caet` {} to {}. At", 1e-6, ["caet/paper-instance-2", "caet/clinical-trial"]),
        ("no policy is below {}.", 0.1, ["ctas/bernoulli-costs"]),
        ("`kl-lucb` {} to {}.", 1e-6, ["kl-lucb/top-arms", "kl-lucb/bernoulli-costs"]),
        (
            "`track-and-stop` is at {} and `caet` at {}.",
            1e-6,
            ["track-and-stop/bernoulli-costs", "caet/bernoulli-costs"],
        ),
        (
            "`uniform` is at {}, `equal-spending` at {}, `track-and-stop` at {} and all others between {} (`best-ch",
            1e-6,
            [f"{name}/clinical-trial" for name in ("uniform", "equal-spending", "track-and-stop", "best-challenger")],
        ),
        ("and {} (`oracle`", 1e-6, ["oracle/clinical-trial"]),
    ],
)
def test_policies_cost_what_is_said(words, delta, cells):
    """The cells that are named, without the others."""
    ratios = []
    for policy, name in (cell.split("/") for cell in cells):
        entry = read_model(ROOT / "models" / f"{name}.toml")
        asked = {"policy": policy, "delta": delta, "runs": policies.QUICK["runs"], "seed": Effort().seed}
        summary = simulate(entry.model, entry.task, **asked)
        ratios.append(f"{summary.mean_cost / summary.lower_bound:.2f}")
    assert words.format(*ratios) in " ".join(SPEED.split())


def list_commands():
    """Every command of README.md and of the pages that the build does not run, and those of each help text."""
    helped = [
        line.strip()
        for name in COMMANDS
        for line in load_command(name).EXAMPLES.replace("\\\n", " ").splitlines()
        if line.startswith("  caet-opt ")
    ]
    return list(dict.fromkeys([*COMMAND_LINES, *WITHIN, *helped]))


@pytest.mark.parametrize("line", list_commands())
def test_every_command_parses(line):
    words = shlex.split(line)[1:]
    arguments, extra = build_parser(words[0]).parse_known_args(shield_negative_numbers(words))
    assert (arguments.command, extra) == (words[0], [])


def test_scripts_targets_and_extras_exist():
    scripts = re.findall(r"python ((?:analysis|docs)/\S+\.py)", f"{README}\n{PAGES}")
    targets = [line.split()[1] for line in INDENTED if line.startswith("make ")]
    extras = ",".join(re.findall(r"'\.\[([\w,]+)\]'", f"{README}\n{PAGES}")).split(",")
    assert min(map(len, (scripts, targets, extras))) > 1
    assert [name for name in scripts if not (ROOT / name).is_file()] == []
    assert set(targets) <= set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(extras) <= set(PROJECT["project"]["optional-dependencies"])


def test_every_link_leads_to_a_file_or_a_heading():
    links = re.findall(r"\]\(([^)\s]+)\)", README)
    assert len(links) > 10
    for path, _, anchor in (link.partition("#") for link in links):
        text = (ROOT / path).read_text(encoding="utf-8")
        headings = [heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
        assert not anchor or anchor in headings


def test_one_paper_is_to_be_cited_everywhere():
    """Title, authors, volume, pages, year and address are the same in README.md, on the site and in CITATION.cff."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8").partition("\nreferences:\n")[2]
    entries = []
    for name in ("README.md", "docs/index.md"):
        (entry,) = re.findall(r"^```bibtex\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S)
        entries.append(dict(re.findall(r"^  (\w+) += \{(.*)\},?$", entry, re.M)))
    assert entries[0] == entries[1]
    named = zip(*(re.findall(rf"{key}: (\w+)", citation) for key in ("family-names", "given-names")), strict=True)
    assert entries[0]["author"] == " and ".join(map(", ".join, named)) != ""
    first, last = (re.search(rf"{key}: (\d+)", citation)[1] for key in ("start", "end"))
    assert entries[0]["pages"] == f"{first}--{last}"
    for key in ("title", "volume", "year", "url"):
        assert f"{key}: {entries[0][key]}\n" in citation
