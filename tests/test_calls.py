"""Calls that are followed: what the site shows of them is what they enter, whatever else the process has done."""

from pathlib import Path

import pytest

from caet_opt.kernels.native import compiled_kernel
from cases.calls import PATHS, ROOT, follow, following, purpose

PAGE = (Path(__file__).parents[1] / "docs" / "one_call.md").read_text(encoding="utf-8")

#: The paths that the site leads through, with the function that a user calls.
SHOWN = {
    "characteristic_time": "characteristic_time",
    "exact round of caet": "Explorer.next_arm",
    "experiment record": "LiveExperiment.record",
}


@pytest.mark.parametrize(("path", "first"), SHOWN.items())
def test_a_path_begins_with_the_call_and_every_file_says_what_it_is_for(path, first):
    assert f"\n<!-- made: call {path} -->\n" in PAGE
    found = follow(path).functions()
    assert next(iter(found.values()))[0] == first
    assert len(found) > 5
    for file, names in found.items():
        assert purpose(file)
        text = (ROOT / file).read_text(encoding="utf-8")
        assert [name for name in names if f"def {name.split('.')[-1]}(" not in text] == []


def test_every_path_on_the_page_is_one():
    assert [line for line in PAGE.splitlines() if line.startswith("<!-- made: ")] == [
        f"<!-- made: call {path} -->" for path in SHOWN
    ]
    assert set(SHOWN) < set(PATHS)


def test_compiled_code_hides_nothing():
    before = follow("characteristic_time").functions()
    compiled_kernel()
    assert follow("characteristic_time").functions() == before
    with following() as trace:
        pass
    assert trace.functions() == {}
