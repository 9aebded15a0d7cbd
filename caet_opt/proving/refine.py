"""The optimum in high precision: a primal-dual interior-point method in log coordinates, from a double's answer.

With ``y = log v``, ``v_a = w_a / phi_a`` the effort at dispersion one, and ``F_e = log f_e``, the problem reads

    min sum_a c_a phi_a exp(y_a)   subject to   F_e(y) = s_e >= 0,

and is optimal where ``c_a phi_a v_a = sum_e z_e p_ea`` and ``z_e s_e = 0``, p the shares of a statement's arms in its
term. Nothing here is rounded outwards or relied upon: the answer is proven afterwards.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from caet_opt.common.numbers import write_gap
from caet_opt.errors import SolverError
from caet_opt.proving.balls import Ball, arb, arb_mat, ball, midpoint_fraction
from caet_opt.proving.problem import Column, ExactProblem
from caet_opt.proving.terms import Value, build_term

#: Iterations that the method may take, and how many more for each digit: it halves the digits to go unless a
#: binding statement has multiplier zero, where it gains about half a digit per iteration.
ITERATIONS, ITERATIONS_PER_DIGIT = 60, 4


class Iterate(NamedTuple):
    """Log effort of each costly arm, and slack and multiplier of each column."""

    logs: list[Ball]
    slacks: list[Ball]
    multipliers: list[Ball]


class Refinement(NamedTuple):
    """Effort w of the constrained arms and weight q of the columns, and their relative gap."""

    effort: dict[int, Fraction]
    weights: list[Fraction]
    gap: float


class Method:
    """The interior-point method for one problem, at the working precision."""

    def __init__(
        self, problem: ExactProblem, columns: Sequence[Column], effort: Sequence[float], weights: Sequence[float]
    ) -> None:
        self.problem = problem
        self.labels = sorted({arm for column in columns for arm in column.arms})
        number = {label: arm for arm, label in enumerate(self.labels)}
        self.terms = [build_term(problem, column, number) for column in columns]
        starting = [Fraction(effort[label]) for label in self.labels]
        if not min(starting) > 0:
            raise SolverError("the double's answer has an arm without effort")
        self.starting_logs = [
            (ball(w / problem.dispersions[a])).log().mid() for a, w in zip(self.labels, starting, strict=True)
        ]
        prices = [problem.costs[label] * problem.dispersions[label] for label in self.labels]
        self.scale = sum(problem.costs[a] * w for a, w in zip(self.labels, starting, strict=True))
        self.prices = [ball(price / self.scale) for price in prices]
        self.starting_weights = [ball(Fraction(weight) / self.scale).mid() for weight in weights]

    def start(self, barrier: float) -> Iterate:
        """The double's answer moved inside: slack times multiplier is about ``barrier``."""
        mu, slacks, multipliers = arb(barrier), [], []
        values = self.evaluate(self.starting_logs)
        least = min(value.logarithm for value in values)
        logs = [(y - least).mid() for y in self.starting_logs]
        for value, weight in zip(values, self.starting_weights, strict=True):
            slack = (value.logarithm - least).mid()
            larger = max(slack, weight, mu.sqrt().mid())
            keep_weight = larger == weight
            slacks.append((mu / larger).mid() if keep_weight else larger)
            multipliers.append(larger if keep_weight else (mu / larger).mid())
        return Iterate(logs, slacks, multipliers)

    def evaluate(self, logs: list[Ball]) -> list[Value]:
        """Every term with its derivatives."""
        effort = [y.exp().mid() for y in logs]
        return [term.evaluate(effort) for term in self.terms]

    def gap(self, iterate: Iterate, values: list[Value]) -> Ball:
        """Relative gap of the two bounds that the iterate gives."""
        spent = self._spending(iterate)
        loads = self._loads(iterate.multipliers, values)
        worst = max((load / g).mid() for load, g in zip(loads, spent, strict=True))
        lower = sum(z / value.term for z, value in zip(iterate.multipliers, values, strict=True)) / worst
        return (1 - lower * min(value.term for value in values) / sum(spent)).mid()

    def _spending(self, iterate: Iterate) -> list[Ball]:
        return [(price * y.exp()).mid() for price, y in zip(self.prices, iterate.logs, strict=True)]

    def _loads(self, amounts: list[Ball], values: list[Value]) -> list[Ball]:
        """``sum_e amount_e p_ea`` of every arm."""
        loads = [arb(0)] * len(self.labels)
        for amount, term, value in zip(amounts, self.terms, values, strict=True):
            for arm, share in zip(term.arms, value.shares, strict=True):
                loads[arm] += amount * share
        return [load.mid() for load in loads]

    def step(self, iterate: Iterate, values: list[Value], bold: bool, true: bool) -> Iterate:
        """A predictor-corrector step, or, where that runs in circles, Newton's towards a fifth of the barrier."""
        matrix = self._matrix(iterate, values, true)
        products = [(s * z).mid() for s, z in zip(iterate.slacks, iterate.multipliers, strict=True)]
        mu = (sum(products) / len(products)).mid()
        if bold:
            targets = self._correct_targets(iterate, values, matrix, products, mu)
        else:
            targets = [mu / 5 - product for product in products]
        direction = self._direction(iterate, values, matrix, targets)
        length = longest_step(iterate, direction, 1 - min(arb(0.005), mu) if bold else arb(0.9))
        length = min([length, *((1 / abs(dy)).mid() for dy in direction.logs if abs(dy) > 1)])
        moved = (
            [(x + length * dx).mid() for x, dx in zip(old, change, strict=True)]
            for old, change in zip(iterate, direction, strict=True)
        )
        return Iterate(*moved)

    def _correct_targets(
        self, iterate: Iterate, values: list[Value], matrix: arb_mat, products: list[Ball], mu: Ball
    ) -> list[Ball]:
        """Changes of the products s z: to what the step without centring leaves, less its second-order error."""
        _, slacks, multipliers = iterate
        predictor = self._direction(iterate, values, matrix, [-product for product in products])
        length = longest_step(iterate, predictor, arb(1))
        after = sum(
            (s + length * ds) * (z + length * dz)
            for s, z, ds, dz in zip(slacks, multipliers, predictor.slacks, predictor.multipliers, strict=True)
        ) / len(products)
        centre = (mu * (after / mu) ** 3).mid()
        return [
            centre - product - ds * dz
            for product, ds, dz in zip(products, predictor.slacks, predictor.multipliers, strict=True)
        ]

    def _matrix(self, iterate: Iterate, values: list[Value], true: bool) -> arb_mat:
        """``diag(c phi v) + sum_e z_e h_e (1, -1)(1, -1)' + sum_e (z_e / s_e) p_e p_e'``.

        With a margin h may be negative. At the optimum the matrix is nevertheless that of a convex problem; elsewhere
        it may help to take 0 for it.
        """
        size = len(self.labels)
        rows = [[arb(0)] * size for _ in range(size)]
        for arm, amount in enumerate(self._spending(iterate)):
            rows[arm][arm] = amount
        for term, value, s, z in zip(self.terms, values, iterate.slacks, iterate.multipliers, strict=True):
            ratio, bend = z / s, z * (value.curvature if true else max(value.curvature, arb(0)))
            for i, p in zip(term.arms, value.shares, strict=True):
                for j, q in zip(term.arms, value.shares, strict=True):
                    rows[i][j] += ratio * p * q + (bend if i == j else -bend)
        return arb_mat(rows).mid()

    def _direction(self, iterate: Iterate, values: list[Value], matrix: arb_mat, targets: list[Ball]) -> Iterate:
        """Newton's direction towards ``z_e s_e + target_e``, from the eliminated system in the log efforts."""
        _, slacks, multipliers = iterate
        misses = [value.logarithm - s for value, s in zip(values, slacks, strict=True)]
        pulls = [
            (target - z * miss) / s + z for target, z, miss, s in zip(targets, multipliers, misses, slacks, strict=True)
        ]
        right = [load - g for load, g in zip(self._loads(pulls, values), self._spending(iterate), strict=True)]
        solution = matrix.solve(arb_mat([[entry.mid()] for entry in right]), algorithm="approx")
        logs = [solution[arm, 0].mid() for arm in range(len(right))]
        changes = [
            sum(share * logs[arm] for arm, share in zip(term.arms, value.shares, strict=True)) + miss
            for term, value, miss in zip(self.terms, values, misses, strict=True)
        ]
        moves = [(target - z * ds) / s for target, z, ds, s in zip(targets, multipliers, changes, slacks, strict=True)]
        return Iterate(logs, [ds.mid() for ds in changes], [dz.mid() for dz in moves])

    def answer(self, iterate: Iterate, values: list[Value], gap: float) -> Refinement:
        """Effort and weights in the model's terms, scaled to a smallest term of one: ``q_e = z_e / f_e``."""
        least = min(value.term for value in values)
        effort = {
            label: midpoint_fraction(y.exp() / least) * self.problem.dispersions[label]
            for label, y in zip(self.labels, iterate.logs, strict=True)
        }
        weights = [
            midpoint_fraction(z / value.term) * self.scale for z, value in zip(iterate.multipliers, values, strict=True)
        ]
        return Refinement(effort, weights, gap)


def longest_step(iterate: Iterate, direction: Iterate, fraction: Ball) -> Ball:
    """The largest step, at most one, that keeps this fraction of the way to the boundary."""
    length = arb(1)
    for old, change in ((iterate.slacks, direction.slacks), (iterate.multipliers, direction.multipliers)):
        for x, dx in zip(old, change, strict=True):
            if dx < 0 and length * -dx > fraction * x:
                length = (fraction * x / -dx).mid()
    return length


def refine(
    problem: ExactProblem,
    columns: Sequence[Column],
    effort: Sequence[float],
    weights: Sequence[float],
    digits: int,
    barrier: float,
    bold: bool,
    true: bool,
) -> Refinement:
    """An optimum to a relative gap of ``10^-digits``; `SolverError` with the gap when it is not reached."""
    method, goal = Method(problem, columns, effort, weights), arb(10) ** -digits
    iterate, best = method.start(barrier), float("inf")
    for _ in range(ITERATIONS + ITERATIONS_PER_DIGIT * digits):
        values = method.evaluate(iterate.logs)
        gap = method.gap(iterate, values)
        if not gap.is_finite():
            break
        if gap < goal:
            return method.answer(iterate, values, float(gap))
        best = min(best, float(gap))
        try:
            iterate = method.step(iterate, values, bold, true)
        except ZeroDivisionError:  # a matrix that is singular to the working precision
            break
    raise SolverError(f"the refinement ended at a relative gap of {write_gap(best)}", best)
