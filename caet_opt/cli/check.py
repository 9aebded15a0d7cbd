"""``caet-opt check``: whether a certificate proves what it states."""

import argparse
import json
import textwrap
from fractions import Fraction

from caet_opt.cli.output import say, show
from caet_opt.proving.result import round_outward

DESCRIPTION = """\
Check a certificate written by solve --certificate: derive the statements from the task
and the exact means, verify both bounds in ball arithmetic, and compare every other entry
with what follows from them. The checker, caet_opt/proving/check.py, is a single file that
shares no code with the solver."""

EXAMPLES = """\
examples:
  caet-opt solve models/paper-instance-1.toml --digits 50 --certificate cert.json
  caet-opt check cert.json
  caet-opt check cert.json --json
"""

WIDTH = 100

#: What is said of an accepted certificate as JSON.
KEYS = ("family", "task", "means", "costs", "digits", "lower", "upper", "sha256")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("certificate", metavar="CERT.json", help="a certificate")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Check, say what is proven, and return 0, or 1 with the reason of the rejection."""
    from caet_opt.proving import missing_flint

    try:
        from caet_opt.proving.certificates import read_certificate
        from caet_opt.proving.check import Rejected, check
    except ModuleNotFoundError as error:
        raise missing_flint() from error
    path = arguments.certificate
    document = read_certificate(path)
    try:
        theorem = check(document)
    except Rejected as reason:
        if arguments.json:
            print(json.dumps({"accepted": False, "reason": str(reason)}))
        say(f"caet-opt: {path}: rejected: {' '.join(str(reason).split())}", to_stderr=True)
        return 1
    accepted = {"accepted": True, **{key: document[key] for key in KEYS}, "statement": theorem}
    low, high = round_outward(Fraction(document["lower"]), Fraction(document["upper"]), document["digits"])
    lines = [f"{path}: accepted", "", *textwrap.wrap(theorem, WIDTH, break_long_words=False), ""]
    lines += [f"T* >= {low}", f"T* <= {high}", f"sha256 {document['sha256']}"]
    show(arguments.json, lambda: accepted, lambda: "\n".join(lines))
    return 0
