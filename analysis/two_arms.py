"""Two arms beside the tests that people know: python analysis/two_arms.py [--quick] [--runs N] [--json] [--figure PATH]

The rules and what is measured of them are in `cases/two_arms.py`. Status 1 where a rule is wrong more often than it
promises.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from caet_opt.presenting.figures.sheet import save
from caet_opt.presenting.figures.style import require_matplotlib
from cases.two_arms import DELTA, broken, compare, draw, write_plans, write_table


def main() -> int:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description="Two arms: our stopping rule compared with classical tests.")
    parser.add_argument("--quick", action="store_true", help="few runs, well under a minute")
    parser.add_argument("--runs", type=int, metavar="N", help="per plan and true effect (2000, quick 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="every row with its intervals, as JSON")
    parser.add_argument("--figure", type=Path, metavar="PATH", help="draw PATH.png and PATH.pdf")
    arguments = parser.parse_args()
    if arguments.figure is not None:
        require_matplotlib()
        arguments.figure.parent.mkdir(parents=True, exist_ok=True)
    runs = arguments.runs or (200 if arguments.quick else 2000)
    rows = compare(runs, arguments.seed)
    if arguments.json:
        print(json.dumps({"delta": DELTA, "seed": arguments.seed, "rows": [asdict(row) for row in rows]}, indent=1))
    else:
        print(write_plans())
        print(f"\n{runs} runs, delta = {DELTA:g} in each direction\n{write_table(rows)}")
    if arguments.figure is not None:
        for file in save(draw(rows), arguments.figure):
            print(f"wrote {file}", file=sys.stderr)
    for row in broken(rows):
        print(f"{row.plan}, {row.rule} at {row.truth:g}: wrong in {row.wrong:.1%}", file=sys.stderr)
    return 1 if broken(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
