"""Visits to a doctor in a year, by insurance plan: models/doctor-visits.csv from a table of the package statsmodels.

python analysis/doctor_visits.py statsmodels/datasets/randhie/randhie.csv > models/doctor-visits.csv

The RAND Health Insurance Experiment assigned families at random to plans that differ in the share of the price that the
patient pays. The table has a row for each person and year, ``mdvis`` visits, ``lncoins`` = log(1 + share in per cent),
``idp`` = 1 for plans with a deductible, which are left out. statsmodels says of it: "This is in the public domain." Of
each plan 1250 rows are drawn by a fixed seed, without repetition; several may be years of one person.
"""

import argparse
import csv
import random
from math import exp
from pathlib import Path

PLANS = {0: "free", 25: "25 %", 50: "50 %", 95: "95 %"}
ROWS, MOST_VISITS = 1250, 20


def main() -> None:
    """Print rows of arm and reward; visits are cut off at the most that a reward can be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, metavar="randhie.csv")
    with parser.parse_args().table.open() as file:
        rows = [row for row in csv.DictReader(file) if float(row["idp"]) == 0]
    rng = random.Random(1)
    print("arm,reward")
    for share, plan in PLANS.items():
        visits = [int(float(row["mdvis"])) for row in rows if round(exp(float(row["lncoins"])) - 1) == share]
        for seen in rng.sample(visits, ROWS):
            print(f"{plan},{min(seen, MOST_VISITS)}")


if __name__ == "__main__":
    main()
