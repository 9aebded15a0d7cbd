"""The check of the built site finds what it is for."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[1] / "docs" / "check_site.py"


def check(folder, body):
    """Status and output for a site of two pages, of which one has this body."""
    (folder / "one.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    (folder / "two.html").write_text('<html><body><h1 id="here">two</h1></body></html>', encoding="utf-8")
    done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_links_that_lead_somewhere_are_fine(tmp_path):
    body = '<p id="top"></p><a href="two.html#here">a</a><a href="#top">b</a><a href="https://example.org/">c</a>'
    assert check(tmp_path, body) == (0, "2 pages, 0 links that lead nowhere or to a network\n")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<a href="three.html">a</a>', "three.html leads nowhere"),
        ('<a href="two.html#there">a</a>', "two.html#there leads nowhere"),
        ('<a href="#nowhere">a</a>', "#nowhere leads nowhere"),
        ('<img src="missing.png">', "missing.png leads nowhere"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
        ('<link href="//example.org/x.css">', "loads //example.org/x.css"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, body, words):
    status, printed = check(tmp_path, body)
    assert status == 1
    assert f"one.html: {words}\n" in printed
