"""Every model of models/ as a program in CVXPY and in Pyomo, solved from outside and read back.

    python analysis/epigraphs.py [MODELS...]

Clarabel is called by CVXPY itself with its defaults, Ipopt as a library by the model's own ``solve``. Own gap is that
of the solver's point and multipliers; the other is after Newton's method on the binding statements. Ends with status 1
where a gap is above 1e-8, or an interval does not overlap the one of the native solver.
"""

import argparse
import sys

from caet_opt import CharacteristicTime, ModelFile, characteristic_time, epigraph, read_model
from caet_opt.common.numbers import table, write_gap
from caet_opt.common.shipped import shipped_names

TOLERANCE = 1e-8


def solve_both(entry: ModelFile) -> dict[str, tuple[float, CharacteristicTime]]:
    """The solver's own rate and what is read back, by language."""
    conic = epigraph(entry.model, entry.task, "cvxpy")
    rate = conic.problem.solve(solver="CLARABEL")
    algebraic = epigraph(entry.model, entry.task, "pyomo")
    algebraic.solve()
    found = {"cvxpy": (rate, conic.read()), "pyomo": (algebraic.rate.value, algebraic.read())}
    return {name: (rate, result) for name, (rate, result) in found.items() if isinstance(result, CharacteristicTime)}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names or files; by default all that are shipped")
    arguments = parser.parse_args()
    rows, good = [], True
    for name in arguments.models or shipped_names("models"):
        entry = read_model(name)
        if entry.task.several_right or entry.model.distributions is not None:
            print(f"{name}: several right answers, each a program, or rewards of no family, which Pyomo cannot write")
            continue
        native = characteristic_time(entry.model, entry.task)
        for language, (rate, result) in solve_both(entry).items():
            overlap = result.lower <= native.upper and native.lower <= result.upper
            good = good and overlap and result.gap <= TOLERANCE
            deviation = abs(rate * native.value - 1) if native.value > 0 else 0.0
            gaps = write_gap(result.solver_gap), write_gap(result.gap)
            rows.append([name, language, f"{result.value:.10g}", f"{deviation:.0e}", *gaps, "yes" if overlap else "NO"])
    print(table(("model", "language", "T*", "1 / t off by", "own gap", "gap", "agrees"), rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
