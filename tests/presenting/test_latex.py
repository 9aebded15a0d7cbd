"""Tables in LaTeX as LaTeX sets them: within the text of article, in one column and in two, with no box overfull and
no table longer than its page.

Skipped where there is no LaTeX with siunitx (Debian: texlive-latex-recommended, texlive-science).
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import run_command
from study_files import run_sweep, write_study

MODELS = Path(__file__).resolve().parents[2] / "models"
FEW = [MODELS / f"{name}.toml" for name in ("paper-instance-1", "regret-bernoulli", "clinical-trial", "dose-finding")]


def has_latex():
    """Whether LaTeX and siunitx are there."""
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    return bool(subprocess.run(["kpsewhich", "siunitx.sty"], capture_output=True, check=False).stdout)


pytestmark = pytest.mark.skipif(not has_latex(), reason="there is no LaTeX with siunitx")


def overfull(folder, text):
    """The boxes of a document that are too wide, and the tables that are too long."""
    (folder / "page.tex").write_text(text, encoding="utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    log = (folder / "page.log").read_text(encoding="utf-8", errors="replace")
    return re.findall(r"Overfull .*|Float too large .*", log)


def within_article(columns, fragment):
    """A document with a table between two paragraphs."""
    needs = re.match(r"% needs (\\usepackage\{.*\})\n", fragment)[1]
    return rf"\documentclass[{columns}]{{article}}{needs}\begin{{document}}One.{fragment}Two.\end{{document}}"


@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
@pytest.mark.parametrize("more", [[], ["--delta", "0.05"], ["--columns", "model,T*,u*"], ["--digits", "8"]])
def test_the_usual_table_fits_the_text_of_an_article(capsys, tmp_path, columns, more):
    fragment = run_command(capsys, "table", *FEW, "--format", "latex-fragment", *more)
    assert overfull(tmp_path, within_article(columns, fragment)) == []
    assert "% wider" not in fragment


@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_all_models_have_pages_of_their_own_where_they_need_them(capsys, tmp_path, columns):
    fragment = run_command(capsys, "table", MODELS, "--format", "latex-fragment")
    assert overfull(tmp_path, within_article(columns, fragment)) == []


@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_simulated_costs_of_any_size_fit_the_text_of_an_article(capsys, tmp_path, columns):
    study = write_study(tmp_path, policy=["caet", "uniform"], runs=10)
    expensive = 'family = "gaussian"\nmeans = [2, 0]\ncosts = [98765, 123456]\ntask = "best-arm"\n'
    (tmp_path / "expensive-trial-model.toml").write_text(expensive, encoding="utf-8")
    run_sweep(capsys, study, tmp_path / "results")
    fragment = run_command(capsys, "table", tmp_path / "results", "--format", "latex-fragment")
    assert overfull(tmp_path, within_article(columns, fragment)) == []
    assert "% wider" not in fragment


@pytest.mark.parametrize("more", [[], ["--delta", "0.1,0.01"]])
def test_the_document_of_all_models_fits_its_page(capsys, tmp_path, more):
    page = run_command(capsys, "table", MODELS, "--format", "latex", *more)
    assert "geometry" not in page
    assert overfull(tmp_path, page) == []


def test_a_table_with_errors_fits_its_page(capsys, tmp_path):
    tied = tmp_path / "tied.toml"
    tied.write_text('family = "gaussian"\nmeans = [1, 1, 2]\ncosts = [1, 1, 1]\ntask = "ranking"\n', encoding="utf-8")
    page = run_command(capsys, "table", *FEW, tied, "--format", "latex", status=2)
    assert r"\multicolumn" in page
    assert overfull(tmp_path, page) == []


def test_a_table_that_is_too_wide_says_so_and_has_a_wide_page(capsys, tmp_path):
    argv = "table", *FEW, "--columns", "title,model,task,family,T*,lower,upper,bound,omega*,u*", "--significant", "8"
    page = run_command(capsys, *argv, "--format", "latex")
    assert "paperwidth" in page
    assert overfull(tmp_path, page) == []
    assert "% wider than the text of article" in run_command(capsys, *argv, "--format", "latex-fragment")
