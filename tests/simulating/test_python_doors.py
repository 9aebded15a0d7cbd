"""Studies, pages and certificates from Python, as the command line has them."""

import json

import pytest
from study_files import write_study

import caet_opt
from caet_opt import InputError, SolverError
from caet_opt.cli import main

pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: studies)")


def test_a_study_and_its_page(tmp_path):
    study = write_study(tmp_path, log_inv_deltas=[1], runs=2, block=2)
    folder = caet_opt.run_study(study, tmp_path / "python")
    assert main(["sweep", study, "--out", str(tmp_path / "command"), "--workers", "1"]) == 0
    runs = [caet_opt.load_results(place) for place in (folder, tmp_path / "command")]
    assert runs[0].equals(runs[1])
    caet_opt.write_report(folder, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_certificate(tmp_path):
    pytest.importorskip("flint", reason="python-flint is not installed (extra: proofs)")
    path = tmp_path / "cert.json"
    flags = ["--family", "gaussian", "--means", "3,4,2", "--costs", "gaps", "--task", "ranking"]
    assert main(["solve", *flags, "--digits", "20", "--certificate", str(path)]) == 0
    assert "T* is at least 11.656854249492380" in caet_opt.check_certificate(path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"digits": 21}))
    with pytest.raises(SolverError, match="rejected: its digest does not fit"):
        caet_opt.check_certificate(path)
    with pytest.raises(InputError, match="no such file"):
        caet_opt.check_certificate(tmp_path / "none.json")
