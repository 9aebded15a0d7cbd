"""Certificates: accepted without the solver, and rejected whatever is changed in them."""

import ast
import copy
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from problems import FAMILIES, TASKS, random_instance

from caet_opt import (
    BanditModel,
    Bernoulli,
    Custom,
    Gaussian,
    InputError,
    Ranking,
    SolverError,
    proven_time,
)
from caet_opt.cli import main
from caet_opt.proving import certificates
from caet_opt.proving import check as checker
from caet_opt.proving.certificates import certificate
from cases.forging import rebuild, scale, sign

PAPER = BanditModel(Gaussian(), [3, 4, 2], "gaps")

FLAGS = ["solve", "--family", "gaussian", "--means", "3,4,2", "--costs", "gaps", "--task", "ranking"]


def instance(index):
    """A problem of each family and task in turn."""
    rng = np.random.default_rng([17, index])
    return random_instance(rng, FAMILIES[index % 7], TASKS[index // 7 % 7], int(rng.integers(3, 7)))


@pytest.mark.parametrize("index", range(49))
def test_certificates_of_every_family_and_task_through_files(index, tmp_path, capsys):
    model, task = instance(index)
    proven = proven_time(model, task, 20)
    path = tmp_path / "cert.json"
    path.write_text(json.dumps(certificate(proven)))
    document = checker.parse(path.read_text())
    theorem = checker.check(document)
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: accepted\n")
    if index % 8 == 0:  # each family and each task once
        words = [sys.executable, "-I", checker.__file__, path]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, f"{theorem}\n"), done.stderr
    assert document["lower"] in theorem
    assert document["upper"] in theorem
    assert Fraction(document["upper"]) == proven.upper


def leaves(node, path=()):
    """The paths of all values of a JSON document that are neither lists nor objects."""
    if isinstance(node, dict | list):
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(child, (*path, key))
    else:
        yield path


def tampered_leaf(rng, value):
    """Another value for a leaf: a digit or a letter changed, a number scaled, another type."""
    if isinstance(value, int):
        return [value + 1, value - 1, str(value), float(value), value == 1][rng.integers(5)]
    if value is None:
        return "0"
    kind = rng.integers(4)
    if kind == 0 and checker.NUMBER.fullmatch(value):
        return checker.text(Fraction(value) * Fraction(int(rng.integers(2, 9)), 3) + int(rng.integers(2)))
    if kind == 1:
        return value + str(rng.integers(10))
    place = int(rng.integers(len(value)))
    letters = "0123456789" if value[place].isdigit() else "abcxyz-"
    return value[:place] + letters[rng.integers(len(letters))] + value[place + 1 :]


def tampered(rng, original):
    """The document with one leaf changed, or two entries of a list swapped, or an entry removed or repeated."""
    document = copy.deepcopy(original)
    paths = list(leaves(document))
    *way, last = paths[rng.integers(len(paths))]
    parent = document
    for key in way:
        parent = parent[key]
    kind = rng.integers(8)
    if kind < 5 or (kind == 6 and not isinstance(parent, list)):
        parent[last] = tampered_leaf(rng, parent[last])
    elif kind == 5:
        del parent[last]
    elif kind == 6:
        other = int(rng.integers(len(parent)))
        parent[last], parent[other] = parent[other], parent[last]
    elif isinstance(parent, list):
        parent.append(parent[last])
    else:
        parent[f"{last}2"] = parent[last]
    return document


def refused(document):
    try:
        checker.check(checker.parse(json.dumps(document)))
    except (checker.Rejected, ValueError):
        return True
    return False


@pytest.mark.parametrize("anew", [False, True], ids=["old digest", "new digest"])
def test_two_hundred_tamperings_are_rejected(anew):
    rng = np.random.default_rng(23)
    originals = [certificate(proven_time(*instance(index), 20)) for index in range(0, 49, 3)]
    assert not any(map(refused, originals))
    done = 0
    while done < 200:
        original = originals[rng.integers(len(originals))]
        document = tampered(rng, original)
        if checker.canonical_json(document) == checker.canonical_json(original):
            continue
        if anew:
            document = sign(document)
            if checker.canonical_json(document) == checker.canonical_json(original):
                continue  # only the digest had been changed
        assert refused(document), document
        done += 1


@pytest.mark.parametrize("index", [0, 9, 16, 23, 31, 40])
def test_bounds_that_are_wrong_by_a_little_are_rejected_even_when_all_the_rest_fits(index):
    document = certificate(proven_time(*instance(index), 30))
    assert not refused(rebuild(document))
    little = Fraction(1, 10**30)
    with pytest.raises(checker.Rejected, match="is below 1, so the upper bound fails"):
        checker.check(rebuild(document, effort=scale(document["effort"], 1 - little)))
    with pytest.raises(checker.Rejected, match="exceed its cost, so the lower bound fails"):
        checker.check(rebuild(document, weights=scale(document["weights"], 1 + little)))
    with pytest.raises(checker.Rejected, match="too far apart"):
        checker.check(rebuild(document, effort=scale(document["effort"], 1 + 2 * little)))
    last = document["lower"][:-1] + str((int(document["lower"][-1]) + 1) % 10)
    with pytest.raises(checker.Rejected, match="its 'lower' is not what"):
        checker.check(sign({**document, "lower": last}))


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"family": "cauchy"}, "family 'cauchy' is unknown"),
        ({"family": "exponential", "means": ["0", "4", "2"]}, "a mean is outside"),
        ({"family": "bernoulli"}, "a mean is outside"),
        ({"family": "poisson", "dispersions": ["2", "1", "1"]}, "has dispersion 1"),
        ({"family": "gamma", "dispersions": ["2", "1", "1"]}, "one dispersion for all arms"),
        ({"costs": ["1", "-1", "2"]}, "costs, effort and weights must be zero or more"),
        ({"dispersions": ["1", "0", "1"]}, "dispersions positive"),
        ({"costs": ["1", "2"]}, "for each of them a mean, a cost"),
        ({"task": "riding"}, "task 'riding' is unknown"),
        ({"task": "top-arms:3"}, "makes no sense"),
        ({"means": ["3", "3", "2"]}, "the two sides of a needed statement are equal"),
        ({"effort": ["0", "0", "1"]}, "has no effort"),
        ({"effort": ["5", "1", "4"]}, "a free arm has an effort"),
        ({"weights": ["1"]}, "its 'weights' must be lists of numbers"),
        ({"weights": [["1"]], "points": [[["2.5", "2.5"]]]}, "each needed statement must have a weight"),
        ({"weights": [["-1"], ["13"]]}, "costs, effort and weights must be zero or more"),
        ({"weights": [["1"], ["13", "1"]]}, "its 'points' must be lists of two means, as many"),
        ({"version": 3}, "its version must be one of 1, 2"),
        ({"task": "above:2.5"}, "each needed statement must have a weight"),
        ({"task": "above:2.50"}, "is not as certificates write it; 'above:2.5' would be"),
        ({"task": f"above:{'9' * 4300}e999"}, "a number of its task has more digits than can be written"),
        ({"task": "control:0+0"}, "is not as certificates write it; 'control:0' would be"),
        ({"task": "control:0*2"}, "the gaussian family has none"),
        ({"family": "bernoulli", "means": ["0.3", "0.4", "0.2"], "task": "above:1"}, "a level is outside"),
        ({"family": "bernoulli", "means": ["0.3", "0.4", "0.2"], "task": "control:0+1"}, "a margin is as large as"),
        ({"digits": 10**9}, "from 1 to 1000"),
        ({"means": [3, 4, 2]}, "3 is no rational number"),
        ({"means": ["3", "4e999999999", "2"]}, "is no rational number"),
        ({"means": ["3", "4/0", "2"]}, "'4/0' is no rational number"),
        ({"means": ["3", "4.0", "2"]}, "'4.0' is no rational number as certificates write it"),
        ({"means": ["3", "\u0664\n", "2"]}, r"'\u0664\n' is no rational number"),
        ({"means": ["3", "9" * 10**5, "2"]}, f"'{'9' * 59}... is no rational number"),
        ({"means": None}, "its 'means' must be a list"),
        ({"task": "custom"}, "answers must be a list of lists of pairs"),
        ({"task": "custom", "answers": [[[0, 1]], [[1, 0], "x"]]}, "answers must be a list of lists of pairs"),
        ({"task": "custom", "answers": [[[0, 1]], [[1, 0]], [[1, 2]]]}, "satisfies two answers of its custom task"),
        ({"task": "custom", "answers": [[[0, 1]], [[1, 0], [0, 2]]]}, "satisfies no answer of its custom task"),
        ({"task": "custom", "answers": [[[0, 1]], [[1, 0], [1, 0]]]}, "repeats a pair"),
        ({"task": "custom", "answers": [[[0, 1]], [[1, 0]], [[0, 1], [1, 0]]]}, "contradicts itself"),
        ({"task": "custom", "answers": [[[0, 1]], [[1, 0]], [[0, 0]]]}, "makes no sense"),
        ({"task": "comparisons:0-9"}, "'comparisons:0-9' makes no sense for 3 arms"),
        ({"task": "comparisons:0-1,1-0"}, "makes no sense"),
        ({"task": "control:00"}, "is not as certificates write it; 'control:0' would be"),
        ({"task": "ranking:x"}, "is not as certificates write it; 'ranking' would be"),
        ({"task": ["ranking"]}, "the task of type list is unknown"),
        ({"answers": []}, "the key 'answers' has no place in it"),
        ({"note\n": "x"}, r"the key 'note\n' has no place in it"),
    ],
)
def test_why_a_certificate_is_rejected(changes, fragment):
    document = {**certificate(proven_time(PAPER, "ranking", 20)), **changes}
    with pytest.raises(checker.Rejected) as reason:
        checker.check(sign(document))
    assert fragment in str(reason.value)


def test_a_changed_certificate_is_known_by_its_digest():
    document = {**certificate(proven_time(PAPER, "ranking", 20)), "digits": 19}
    with pytest.raises(checker.Rejected, match="its digest does not fit its content"):
        checker.check(document)


def test_a_weight_on_a_pair_that_constrains_nothing_is_rejected():
    free = certificate(proven_time(BanditModel(Bernoulli(), [0.5, 0, 0.2], [1, 0, 0]), "comparisons:0-1,1-2", 20))
    assert free["weights"] == free["points"] == [[], []]
    for weights in ([["1"], []], [[], ["1"]]):
        points = [[["0.5", "0.5"]] * len(listed) for listed in weights]
        with pytest.raises(checker.Rejected, match="constrains nothing and has a weight"):
            checker.check(sign({**free, "weights": weights, "points": points}))


def test_the_checker_shares_no_code_with_the_solver(tmp_path):
    """It imports the standard library and flint, and runs as a lone file where the package cannot be found."""
    source = Path(checker.__file__).read_text()
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {
        name.partition(".")[0]
        for node in nodes
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert names - {"flint"} <= set(sys.stdlib_module_names)
    alone, path = tmp_path / "alone.py", tmp_path / "cert.json"
    alone.write_text(source)
    document = certificate(proven_time(PAPER, "ranking", 20))
    path.write_text(json.dumps(document))
    done = subprocess.run([sys.executable, "-I", alone, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, document["theorem"])
    path.write_text(json.dumps({**document, "lower": "11"}))
    done = subprocess.run([sys.executable, "-I", alone, path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("rejected: ")


def test_a_certificate_that_the_checker_rejects_is_not_made(monkeypatch):
    proven = proven_time(PAPER, "ranking", 20)
    object.__setattr__(proven, "lower", proven.lower + Fraction(1, 10**25))
    with pytest.raises(SolverError, match="the checker rejects the certificate: its 'lower'"):
        certificate(proven)


def test_a_task_of_ones_own_has_no_certificate():
    class Secret(Ranking):
        name = "secret"

    with pytest.raises(InputError, match="a certificate cannot be written: unknown task 'secret'"):
        certificate(proven_time(PAPER, Secret(), 20))


# the command line


def test_solve_prints_proven_digits_and_writes_a_certificate(tmp_path, capsys):
    path = tmp_path / "cert.json"
    assert main([*FLAGS, "--digits", "40", "--certificate", str(path)]) == 0
    out = capsys.readouterr().out
    assert "T* = 11.65685424949238019520675489683879231428\n" in out
    assert "computed, not proven: the digits of the proportions" in out
    assert "0.58578643762690495120" in out
    assert [file.name for file in tmp_path.iterdir()] == ["cert.json"]
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: accepted\n\nArms of the gaussian family have means 3, 4, 2")
    assert main(["check", str(path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["accepted"] is True
    assert record["digits"] == 40


def test_a_custom_task_from_a_file(tmp_path, capsys):
    model, path = tmp_path / "model.toml", tmp_path / "cert.json"
    model.write_text('family = "bernoulli"\nmeans = [0.2, 0.51]\ncosts = [1, 0.3]\nanswers = [[[0, 1]], [[1, 0]]]\n')
    assert main(["solve", str(model), "--certificate", str(path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["digits"], record["certificate"]) == (50, str(path))
    assert main(["check", str(path)]) == 0
    assert Custom([[(0, 1)], [(1, 0)]]) == Custom(json.loads(path.read_text())["answers"])


@pytest.mark.parametrize("as_json", [False, True])
def test_check_rejects_in_one_line_with_status_one(as_json, tmp_path, capsys):
    path = tmp_path / "cert.json"
    document = certificate(proven_time(PAPER, "ranking", 20))
    path.write_text(json.dumps(sign({**document, "upper": "12"})))
    assert main(["check", str(path), *(["--json"] if as_json else [])]) == 1
    out, err = capsys.readouterr()
    assert err == f"caet-opt: {path}: rejected: its 'upper' is not what its inputs, effort and weights give\n"
    assert (json.loads(out)["accepted"] is False) if as_json else out == ""


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "null", '{"format": "other"}', "{" * 100000, '{"a":' * 10**6, "[" * 10**6, "9" * 5000, "\0",
        "\ufeff{}", '{"format": "caet-opt certificate", "a": 1, "a": 2}',
        '{"format": "caet-opt certificate", "a": {"": 1, "": 2}}',
    ],
)  # fmt: skip
def test_check_of_what_is_no_certificate_has_status_two(text, tmp_path, capsys):
    path = tmp_path / "cert.json"
    path.write_text(text)
    assert main(["check", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"caet-opt: error: {path}: not a certificate (")
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b'{"format": "\xe9"}'])
def test_check_of_what_cannot_be_read_has_status_two(content, tmp_path, capsys):
    path = tmp_path / "cert.json"
    path.mkdir() if content is None else path.write_bytes(content)
    assert main(["check", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"caet-opt: error: {path}: ")
    assert err.count("\n") == 1


def test_no_more_is_read_of_a_file_than_a_certificate_may_have(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(checker, "MOST_BYTES", 10)
    path = tmp_path / "cert.json"
    path.write_text("{" + " " * 10 + "}")
    assert main(["check", str(path)]) == 2
    assert "not a certificate (more than 10 bytes)" in capsys.readouterr().err


def test_no_certificate_is_written_that_is_not_read(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(certificates, "MOST_BYTES", 500)
    path = tmp_path / "cert.json"
    assert main([*FLAGS, "--digits", "5", "--certificate", str(path)]) == 2
    assert "a certificate cannot be written: it would have " in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize("depth", [300, 900])
def test_brackets_nested_deeply_inside_a_certificate_are_rejected_in_one_line(depth, tmp_path, capsys):
    path = tmp_path / "cert.json"
    path.write_text('{"format": "caet-opt certificate", "means": ' + "[" * depth + "]" * depth + "}")
    assert main(["check", str(path)]) in (1, 2)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("words", [[*FLAGS, "--digits", "5"], ["check", "cert.json"]])
def test_without_flint_the_extra_is_named(words):
    program = f"import sys; sys.modules['flint'] = None; from caet_opt.cli import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'caet-opt[proofs]', or in a clone: pip install '.[proofs]'" in done.stderr
