"""Proven digits: bounds that are theorems, certificates checked without the solver, tampering that is noticed."""

import ast
import copy
import json
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import hostile_instance
from inverse_gaussian import InverseGaussian
from problems import FAMILIES, REFERENCES, TASKS, random_instance

from caet_opt import (
    BanditModel,
    Bernoulli,
    Custom,
    Exponential,
    Gamma,
    Gaussian,
    Geometric,
    InputError,
    Poisson,
    Ranking,
    SolverError,
    TieError,
    characteristic_time,
    proven_time,
)
from caet_opt.cli import main
from caet_opt.proofs import check as checker
from caet_opt.proofs import refine
from caet_opt.proofs.certificates import certificate
from caet_opt.proofs.result import common_rounding

PAPER = BanditModel(Gaussian(), [3, 4, 2], "gaps")


def binary(model):
    """The model of the doubles themselves, which is what a double's certified interval is about."""
    family = model.family
    if isinstance(family, Gaussian):
        family = Gaussian([Fraction(v) for v in family.variances])
    return BanditModel(family, list(map(Fraction, model.means)), list(map(Fraction, model.costs)))


def close_to(text, exact_digits):
    """Whether a decimal text is the rounding of a number given to more digits."""
    with localcontext() as context:
        context.prec = len(text.replace(".", "").lstrip("0"))
        return Decimal(text) == +exact_digits


# bounds


def test_the_paper_instance_to_fifty_digits():
    with localcontext() as context:
        context.prec = 80
        exact = 6 + 4 * Decimal(2).sqrt()
    proven = proven_time(PAPER, "ranking")
    assert close_to(proven.value, exact)
    assert len(proven.value.replace(".", "")) == 50
    assert proven.lower <= Fraction(exact) <= proven.upper
    assert proven.gap <= Fraction(1, 10**50)
    assert float(proven.sampling_proportions[0]) == pytest.approx(0.585786437626905, abs=1e-15)
    assert sum(proven.cost_proportions) == 1


@pytest.mark.parametrize("problem", REFERENCES, ids=lambda problem: problem.name)
def test_references_lie_near_their_proven_interval(problem):
    proven = proven_time(problem.model, problem.task, 30)
    assert float(proven.value) == pytest.approx(problem.characteristic_time, rel=1e-12)


@settings(max_examples=60)
@given(
    st.integers(-50, 50),
    st.integers(1, 40),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_two_gaussian_arms_whose_time_is_rational(mean, gap, p, q, va, vb):
    """``T* = 2 (sqrt(c_a v_a) + sqrt(c_b v_b))^2 / gap^2``, here with perfect squares."""
    costs = [Fraction(p * p, va), Fraction(q * q, vb)]
    proven = proven_time(BanditModel(Gaussian([va, vb]), [mean, mean + gap], costs), "best-arm", 30)
    assert proven.lower <= Fraction(2 * (p + q) ** 2, gap * gap) <= proven.upper
    assert proven.gap <= Fraction(1, 10**30)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_and_task_inside_the_interval_of_the_doubles(family, task):
    rng = np.random.default_rng([5, FAMILIES.index(family), TASKS.index(task)])
    model, task = random_instance(rng, family, task, int(rng.integers(2, 11)))
    if family != "gamma:2.5":  # whose dispersion 1 / 2.5 is a rounded one in doubles
        model = binary(model)
    double, proven = characteristic_time(model, task), proven_time(model, task, 40)
    assert Fraction(double.lower) <= proven.lower <= proven.upper <= Fraction(double.upper)
    assert proven.gap <= Fraction(1, 10**40)


@pytest.mark.parametrize("index", range(8))
def test_hostile_instances(index):
    model, task = hostile_instance(np.random.default_rng([11, index]))
    proven = proven_time(model, task, 25)
    assert proven.gap <= Fraction(1, 10**25)
    assert float(proven.value) == pytest.approx(characteristic_time(model, task).value, rel=1e-8)


@pytest.mark.parametrize("third", [9, Decimal("9.000000000000000000001"), Decimal("8.999999999999999999999")])
def test_at_a_branch_point_a_binding_pair_has_multiplier_zero(third):
    """Ranking with costs (0, 1, 9) and gaps 1 and 2: pair 0 > 1 binds, and the pair 1 > 2 alone gives T* = 8."""
    proven = proven_time(BanditModel(Gaussian(), [3, 2, 0], [0, 1, third]), "ranking", 40)
    assert proven.gap <= Fraction(1, 10**40)
    assert float(proven.value) == pytest.approx(8, rel=1e-15)
    if third == 9:
        assert proven.lower <= 8 <= proven.upper
    else:
        assert not proven.lower <= 8 <= proven.upper


def test_equal_means_outside_the_needed_pairs():
    """Equal competitors make the multipliers anything but unique."""
    proven = proven_time(BanditModel(Gaussian(), [1, 0, 0, 0], [1, 1, 1, 1]), "best-arm", 40)
    with localcontext() as context:
        context.prec = 60
        assert proven.lower <= Fraction(2 * (1 + Decimal(3).sqrt()) ** 2) <= proven.upper


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (BanditModel(Bernoulli(), [0, 1, 0.5], [1, 1, 1]), None),
        (BanditModel(Bernoulli(), [0.5, 0, 0.3], [1, 0, 1]), None),
        (BanditModel(Poisson(), [0, 1, 2], [1, 1, 3]), None),
        (BanditModel(Poisson(), [0, 1, 2], [0, 1, 3]), None),
        (BanditModel(Geometric(), [0, 1, 2], [1, 1, 3]), None),
        (BanditModel(Bernoulli(), [0.5, 0], [1, 0]), "0"),
        (BanditModel(Poisson(), [0, 1, 2], [0, 0, 0]), "0"),
    ],
)
def test_means_at_the_boundary_and_free_arms(model, value):
    proven = proven_time(model, "ranking", 30)
    double = characteristic_time(model, "ranking")
    assert Fraction(double.lower) <= proven.lower <= proven.upper <= Fraction(double.upper)
    assert proven.value == value or value is None
    assert checker.check(certificate(proven))


def test_as_many_digits_as_are_asked_for():
    longest = proven_time(PAPER, "ranking", 400)
    assert len(longest.value) == 401
    for digits in (1, 2, 17, 100):
        assert proven_time(PAPER, "ranking", digits).lower <= longest.lower
        assert longest.value.startswith(proven_time(PAPER, "ranking", digits).value[: max(1, digits - 2)])


def test_costs_over_twelve_orders_and_means_apart_by_the_last_digit_of_a_double():
    model = BanditModel(Exponential(), [1e-8, 1, 1e8], [1e-9, 1, 1e9])
    assert proven_time(model, "ranking", 60).gap <= Fraction(1, 10**60)
    close = BanditModel(Gaussian(), [Decimal("1.0000000000000004"), Decimal("1.00000000000000012345"), 3], [1, 1, 1])
    proven = proven_time(close, "comparisons:0-1", 40)
    assert proven.lower <= 8 / (Fraction("4e-16") - Fraction("1.2345e-16")) ** 2 <= proven.upper


def test_fractions_are_inputs_like_any_other():
    proven = proven_time(BanditModel(Gamma(Fraction(1, 3)), [Fraction(1, 3), 1], [Fraction(1, 7), 0]), "best-arm", 30)
    with localcontext() as context:
        context.prec = 60
        exact = Fraction(3, 7) / Fraction(Decimal(3).ln() - 2 / Decimal(3))
    assert proven.lower <= exact <= proven.upper


def test_a_family_of_ones_own():
    model = BanditModel(InverseGaussian(), [1, 2, 3.5], [1, 1, 0.5])
    proven = proven_time(model, "ranking", 40)
    double = characteristic_time(model, "ranking")
    assert Fraction(double.lower) <= proven.lower <= proven.upper <= Fraction(double.upper)
    with pytest.raises(InputError, match="a certificate cannot be written: unknown family 'inverse-gaussian'"):
        certificate(proven)


def test_a_family_whose_formulas_are_not_plain_arithmetic():
    class Opaque(InverseGaussian):
        @staticmethod
        def algebraic_divergence(x, y, log):
            return np.cbrt(x - y) ** 6 / (2 * x * y**2)

    with pytest.raises(InputError, match="algebraic_divergence of family 'inverse-gaussian' in plain arithmetic"):
        proven_time(BanditModel(Opaque(), [1, 2], [1, 1]), "ranking")

    class Unready(InverseGaussian):
        @staticmethod
        def unit_variance(mean):
            return np.cbrt(mean) ** 9

    with pytest.raises(InputError, match="unit_variance of family 'inverse-gaussian' in plain arithmetic"):
        proven_time(BanditModel(Unready(), [1, 2], [1, 1]), "ranking")


def test_what_cannot_be_proven_is_refused_with_its_gap(monkeypatch):
    monkeypatch.setattr(refine, "ITERATIONS", 1)
    monkeypatch.setattr(refine, "ITERATIONS_PER_DIGIT", 0)
    with pytest.raises(SolverError, match="50 digits could not be proven") as refused:
        proven_time(PAPER, "ranking")
    assert 1e-50 < refused.value.gap < 1e-3


@pytest.mark.parametrize(
    ("model", "options", "error", "fragment"),
    [
        (PAPER, {"digits": 0}, InputError, "from 1 to 1000, got 0"),
        (PAPER, {"digits": 1001}, InputError, "from 1 to 1000, got 1001"),
        (PAPER, {"digits": 5.0}, InputError, "whole number"),
        (PAPER, {"digits": True}, InputError, "whole number"),
        (PAPER, {"start": characteristic_time(PAPER, "best-arm")}, InputError, "another problem"),
        (BanditModel(Gaussian(), [1, 1, 0], [1, 1, 1]), {}, TieError, "equal means"),
        (
            BanditModel(Gaussian(), [1, Decimal("1.00000000000000000001"), 0], [1, 1, 1]),
            {},
            TieError,
            "differ (1 and 1.00000000000000000001), but not in double precision",
        ),
    ],
)
def test_bad_requests(model, options, error, fragment):
    with pytest.raises(error) as caught:
        proven_time(model, "ranking", **options)
    assert fragment in str(caught.value)


def test_a_cost_that_only_doubles_take_for_zero():
    model = BanditModel(Gaussian(), [Decimal("0.5"), Decimal("0.50000000000000000001"), 0], "gaps")
    with pytest.raises(InputError, match=r"the cost 0\.00000000000000000001 of arm 0 is 0 in double precision"):
        proven_time(model, "comparisons:0-2")


@pytest.mark.parametrize(
    ("lower", "upper", "digits", "text"),
    [
        ("22.4999999", "22.5000001", 2, "22.5"),
        ("0.99999999", "1.00000001", 5, "1.0000"),
        ("1234567.89", "1234567.8901", 3, "1.23e+6"),
        ("0.00001234567", "0.00001234568", 3, "1.23e-5"),
        ("0", "0", 5, "0"),
    ],
)
def test_the_printed_digits_are_those_of_the_whole_interval(lower, upper, digits, text):
    assert common_rounding(Fraction(lower), Fraction(upper), digits) == text


def test_an_interval_too_wide_for_its_digits():
    with pytest.raises(ArithmeticError):
        common_rounding(Fraction(1), Fraction(2), 5)


# certificates


def instance(index):
    """A problem of each family and task in turn."""
    rng = np.random.default_rng([17, index])
    return random_instance(rng, FAMILIES[index % 7], TASKS[index // 7 % 7], int(rng.integers(3, 7)))


@pytest.mark.parametrize("index", range(49))
def test_certificates_of_every_family_and_task_through_files(index, tmp_path):
    model, task = instance(index)
    proven = proven_time(model, task, 20)
    path = tmp_path / "cert.json"
    path.write_text(json.dumps(certificate(proven)))
    document = checker.parse(path.read_text())
    theorem = checker.check(document)
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


def signed(document):
    """The document with the digest that its content has now."""
    content = {key: value for key, value in document.items() if key != "sha256"}
    return {**content, "sha256": checker.digest(content)}


def refused(document):
    try:
        checker.check(checker.parse(json.dumps(document)))
    except (checker.Rejected, ValueError):
        return True
    return False


@pytest.mark.parametrize("sign", [False, True], ids=["old digest", "new digest"])
def test_two_hundred_tamperings_are_rejected(sign):
    rng = np.random.default_rng(23)
    originals = [certificate(proven_time(*instance(index), 20)) for index in range(0, 49, 3)]
    assert not any(map(refused, originals))
    done = 0
    while done < 200:
        original = originals[rng.integers(len(originals))]
        document = tampered(rng, original)
        if checker.canonical(document) == checker.canonical(original):
            continue
        if sign:
            document = signed(document)
            if checker.canonical(document) == checker.canonical(original):
                continue  # only the digest had been changed
        assert refused(document), document
        done += 1


def rebuilt(document, **changes):
    """A forger's work: entries changed, and everything that follows from them made to fit."""
    document = {**document, **changes}
    costs, effort, weights = ([Fraction(x) for x in document[key]] for key in ("costs", "effort", "weights"))
    means, dispersions = ([Fraction(x) for x in document[key]] for key in ("means", "dispersions"))
    inputs = checker.Inputs(document["family"], means, costs, dispersions)
    middle = [checker.midpoint(inputs, pair, effort) for pair in document["pairs"]]
    document["midpoints"] = [m if m is None else checker.text(m) for m in middle]
    document["lower"] = checker.text(sum(weights))
    document["upper"] = checker.text(sum(c * w for c, w in zip(costs, effort, strict=True)))
    content = {key: value for key, value in document.items() if key not in ("statement", "sha256")}
    content["statement"] = checker.statement(content)
    return signed(content)


def scaled(texts, factor):
    return [checker.text(Fraction(x) * factor) for x in texts]


@pytest.mark.parametrize("index", [0, 9, 16, 23, 31, 40])
def test_bounds_that_are_wrong_by_a_little_are_rejected_even_when_all_the_rest_fits(index):
    document = certificate(proven_time(*instance(index), 30))
    assert not refused(rebuilt(document))
    little = Fraction(1, 10**30)
    with pytest.raises(checker.Rejected, match="is below 1, so the upper bound fails"):
        checker.check(rebuilt(document, effort=scaled(document["effort"], 1 - little)))
    with pytest.raises(checker.Rejected, match="exceed its cost, so the lower bound fails"):
        checker.check(rebuilt(document, weights=scaled(document["weights"], 1 + little)))
    with pytest.raises(checker.Rejected, match="too far apart"):
        checker.check(rebuilt(document, effort=scaled(document["effort"], 1 + 2 * little)))
    last = document["lower"][:-1] + str((int(document["lower"][-1]) + 1) % 10)
    with pytest.raises(checker.Rejected, match="its 'lower' is not what"):
        checker.check(signed({**document, "lower": last}))


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"family": "cauchy"}, "family 'cauchy' is unknown"),
        ({"family": "exponential", "means": ["0", "4", "2"]}, "a mean is outside"),
        ({"family": "bernoulli"}, "a mean is outside"),
        ({"family": "poisson", "dispersions": ["2", "1", "1"]}, "has dispersion 1"),
        ({"costs": ["1", "-1", "2"]}, "a cost of zero or more"),
        ({"dispersions": ["1", "0", "1"]}, "a positive dispersion"),
        ({"task": "riding"}, "task 'riding' is unknown"),
        ({"task": "top-arms:3"}, "makes no sense"),
        ({"means": ["3", "3", "2"]}, "equal means"),
        ({"effort": ["0", "0", "1"]}, "has no effort"),
        ({"effort": ["5", "1", "4"]}, "a free arm has an effort"),
        ({"weights": ["1"]}, "each pair a weight"),
        ({"weights": ["-1", "13"]}, "none of them negative"),
        ({"digits": 10**9}, "from 1 to 1000"),
        ({"means": [3, 4, 2]}, "3 is no rational number"),
        ({"means": ["3", "4e999999999", "2"]}, "is no rational number"),
        ({"means": ["3", "4/0", "2"]}, "malformed (ZeroDivisionError"),
        ({"means": None}, "malformed (TypeError"),
        ({"task": "custom", "answers": [[[0, 1]], [[1, 0]], [[1, 2]]]}, "2 answers of the custom task hold"),
        ({"task": "comparisons:0-9"}, "malformed (IndexError"),
    ],
)
def test_why_a_certificate_is_rejected(changes, fragment):
    document = {**certificate(proven_time(PAPER, "ranking", 20)), **changes}
    with pytest.raises(checker.Rejected) as reason:
        checker.check(signed(document))
    assert fragment in str(reason.value)


def test_a_changed_certificate_is_known_by_its_digest():
    document = {**certificate(proven_time(PAPER, "ranking", 20)), "digits": 19}
    with pytest.raises(checker.Rejected, match="its digest does not fit its content"):
        checker.check(document)


def test_a_weight_on_a_pair_that_constrains_nothing_is_rejected():
    free = certificate(proven_time(BanditModel(Bernoulli(), [0.5, 0, 0.2], [1, 0, 0]), "comparisons:0-1,1-2", 20))
    for weights in (["1", "0"], ["0", "1"]):
        with pytest.raises(checker.Rejected, match="constrains nothing and has a weight"):
            checker.check(signed({**free, "weights": weights}))


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
    assert (done.returncode, done.stdout.strip()) == (0, document["statement"])
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

FLAGS = ["solve", "--family", "gaussian", "--means", "3,4,2", "--costs", "gaps", "--task", "ranking"]


def test_solve_prints_proven_digits_and_writes_a_certificate(tmp_path, capsys):
    path = tmp_path / "cert.json"
    assert main([*FLAGS, "--digits", "40", "--certificate", str(path)]) == 0
    out = capsys.readouterr().out
    assert "T* = 11.65685424949238019520675489683879231428\n" in out
    assert "refined, not proven: the digits of the proportions" in out
    assert "0.58578643762690495120" in out
    assert [file.name for file in tmp_path.iterdir()] == ["cert.json"]
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: accepted\n\nArms of the gaussian family have means 3, 4, 2")
    assert main(["check", str(path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["accepted"] is True
    assert record["digits"] == 40


def test_solve_json_keeps_the_keys_of_the_contract_and_adds_what_is_proven(capsys):
    assert main([*FLAGS, "--json"]) == 0
    usual = json.loads(capsys.readouterr().out)
    assert main([*FLAGS, "--json", "--digits", "12"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert usual.keys() < record.keys()
    assert record["proven"] == "11.6568542495"
    assert Fraction(record["proven_lower"]) < Fraction(record["proven_upper"])
    assert record["refined_sampling_proportions"] == ["0.585786", "0", "0.414214"]
    assert record["certificate"] is None


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
    path.write_text(json.dumps(signed({**document, "upper": "12"})))
    assert main(["check", str(path), *(["--json"] if as_json else [])]) == 1
    out, err = capsys.readouterr()
    assert err == f"caet-opt: {path}: rejected: its 'upper' is not what its inputs, effort and weights give\n"
    assert (json.loads(out)["accepted"] is False) if as_json else out == ""


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": "other"}', "{" * 100000, '{"format": "caet-opt certificate", "a": 1, "a": 2}', "9" * 5000],
)
def test_check_of_what_is_no_certificate_has_status_two(text, tmp_path, capsys):
    path = tmp_path / "cert.json"
    path.write_text(text)
    assert main(["check", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"caet-opt: error: {path}: no certificate (")
    assert err.count("\n") == 1


def test_an_unwritable_certificate_is_noticed_before_solving(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("caet_opt.cli.solve.solve", lambda *arguments: pytest.fail("solved"))
    assert main([*FLAGS, "--certificate", str(tmp_path / "nowhere" / "cert.json")]) == 2
    assert "--certificate" in capsys.readouterr().err


def test_a_failed_proof_leaves_the_old_certificate(tmp_path, monkeypatch, capsys):
    path = tmp_path / "cert.json"
    path.write_text("old")
    monkeypatch.setattr(refine, "ITERATIONS", 0)
    monkeypatch.setattr(refine, "ITERATIONS_PER_DIGIT", 0)
    assert main([*FLAGS, "--certificate", str(path)]) == 1
    assert "could not be proven" in capsys.readouterr().err
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["cert.json"]


@pytest.mark.parametrize("words", [[*FLAGS, "--digits", "5"], ["check", "cert.json"]])
def test_without_flint_the_extra_is_named(words):
    program = f"import sys; sys.modules['flint'] = None; from caet_opt.cli import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'caet-opt[proofs]'" in done.stderr
