"""Who takes part in the solver benchmark: instances, and every way of solving them, ready to be timed.

A contestant is a function from an `Instance` to an `Entry`: what is built once is built there, and a call of the entry
is one re-solve (data update and solve, no certification). What it answers is certified afterwards by the benchmark.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from caet_opt import BanditModel, Profile, SolverError, Task, characteristic_time, parse_family, parse_task
from caet_opt.bandits.families.numerics import Array
from caet_opt.kernels.compile import Kernel
from caet_opt.kernels.elimination_order import integers, plan_elimination
from caet_opt.kernels.family_codes import FAMILY_CODES
from caet_opt.kernels.interior import CERTIFIED
from caet_opt.kernels.native import compiled_kernel
from caet_opt.kernels.records import Data, Plan, Work, make_work
from caet_opt.solving.backends import BACKENDS, Point
from caet_opt.solving.problem import Problem, pose

#: Relative size (standard deviation) of the change after which a warm start is tried.
PERTURBATION = 1e-3

#: The gap at which native stops, and Clarabel's tolerances.
ACCURACY = 1e-10

#: Seconds after which a solver is told to stop.
TIME_LIMIT = 20.0

CLARABEL_OPTIONS = {"tol_gap_abs": ACCURACY, "tol_gap_rel": ACCURACY, "tol_feas": ACCURACY}


@dataclass(frozen=True)
class Instance:
    """A model with its task, and the problem that they pose."""

    model: BanditModel
    task: Task
    problem: Problem


@dataclass(frozen=True)
class Entry:
    """A contestant at the start: ``call`` solves, ``point`` reads the answer off what the last call returned.

    Attributes
    ----------
    instance : what is solved, which for a warm start is not the instance that was solved before
    solves : how many times one call solves
    bytes : of the arrays that the native kernel works on
    remark : what the solver itself says about the outcome of a call, where that is of interest
    """

    instance: Instance
    call: Callable[[], Any]
    point: Callable[[Any], Point]
    solves: int = 1
    bytes: int | None = None
    remark: Callable[[Any], str] = lambda outcome: ""


# instances


def make_instance(family: str, task: str, arms: int, seed: int = 2024) -> Instance:
    """Means uniform in [0.1, 0.9], sorted and at least 0.2 / K apart; costs uniform in [0.5, 2]."""
    rng = np.random.default_rng([seed, arms])
    spacings = rng.exponential(size=arms + 1)
    gaps = 0.2 / arms + (0.8 - 0.2 * (arms - 1) / arms) * spacings[1:-1] / np.sum(spacings)
    start = 0.1 + (0.8 - 0.2 * (arms - 1) / arms) * spacings[0] / np.sum(spacings)
    return from_gaps(family, task, start, gaps, rng.uniform(0.5, 2.0, arms))


def from_gaps(family: str, task: str, start: float, gaps: Array, costs: Array) -> Instance:
    """The instance whose increasing means begin at ``start``."""
    means = np.concatenate([[start], start + np.cumsum(gaps)])
    model = BanditModel(parse_family(family), means.tolist(), costs.tolist())
    grammar = f"top-arms:{max(1, len(means) // 20)}" if task == "top-arms" else task
    parsed = parse_task(grammar)
    return Instance(model, parsed, pose(model, parsed))


def perturb(instance: Instance, seed: int = 7) -> Instance:
    """Every cost and every gap between neighbouring means changed by about one part in a thousand, up or down."""
    rng = np.random.default_rng(seed)
    means, costs = np.array(instance.model.means), np.array(instance.model.costs)
    factors = 1.0 + PERTURBATION * rng.standard_normal((2, len(means)))
    gaps = np.diff(means) * factors[0, 1:]
    return from_gaps(str(instance.model.family), instance.task.name, float(means[0]), gaps, costs * factors[1])


# native


def instance_data(problem: Problem) -> Data:
    """A problem as the kernel reads it."""
    rates = np.zeros(problem.shape.arms)
    rates[problem.anchored] = problem.rates
    arms = np.array([problem.means, problem.costs, rates, problem.rests])
    return Data(FAMILY_CODES[problem.shape.family], arms, integers([problem.heads, problem.tails]))


@cache
def compiled_loop() -> Callable[..., Any]:
    """A compiled function that solves one instance many times, as compiled code such as a simulator would."""
    import numba

    kernel: Kernel = compiled_kernel()
    first_guess, minimise = kernel["first_guess"], kernel["minimise"]

    @numba.njit(error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
    def loop(
        data: Data, plan: Plan, y0: Array, z0: Array, warm: bool, gap: float, y: Array, z: Array, work: Work, count: int
    ) -> tuple[int, int, float, float]:
        status, steps, lower, upper = 0, 0, 0.0, 0.0
        for _ in range(count):
            if warm:
                y[:] = y0
            else:
                first_guess(data, y, work)
            z[:] = z0
            status, steps, lower, upper = minimise(data, plan, y, z, warm, gap, gap, 300, work)
        return status, steps, lower, upper

    return loop  # type: ignore[no-any-return, unused-ignore]


def native_entry(instance: Instance, start: tuple[Array, Array] | None, gap: float, solves: int | None = None) -> Entry:
    """The compiled loop on an instance, its room made once; log-effort and multipliers to start from, or none."""
    loop, problem = compiled_loop(), instance.problem
    arms, edges = problem.shape.arms, len(problem.shape.edges)
    data, plan = instance_data(problem), plan_elimination(arms, problem.shape.edges)
    work = make_work(arms, edges, plan.cores.size, plan.parts, False, 0)
    y, z = np.zeros(arms), np.zeros(edges + arms)
    y0, z0 = start or (y.copy(), z.copy())
    solves = max(1, 20_000 // len(problem.statements)) if solves is None else solves

    def call(count: int = solves) -> Any:
        return loop(data, plan, y0, z0, start is not None, gap, y, z, work, count)

    def point(outcome: Any) -> Point:
        if outcome[0] != CERTIFIED:
            raise SolverError(f"native stopped uncertified after {outcome[1]} iterations")
        return Point(np.exp(y), np.concatenate([z[:edges], z[edges + problem.anchored]]))

    arrays = [item for record in (data, plan, work) for item in record if isinstance(item, np.ndarray)]
    return Entry(instance, call, point, solves, sum(array.nbytes for array in [*arrays, y, z]))


def native_compiled(instance: Instance, gap: float = ACCURACY) -> Entry:
    return native_entry(instance, None, gap)


def native_warm(instance: Instance) -> Entry:
    """From the answer before the perturbation."""
    before = native_entry(instance, None, ACCURACY, solves=1)
    effort, weights, _ = before.point(before.call())
    return native_entry(perturb(instance), (np.log(effort), np.append(weights, np.zeros(len(effort)))), ACCURACY)


def native_public(instance: Instance) -> Entry:
    """The public function: parsing, compiled solve, certificate and result object in all."""
    compiled_kernel()

    def call() -> Any:
        return characteristic_time(instance.model, instance.task, tolerance=ACCURACY)

    def point(result: Any) -> Point:
        return Point(result.effort[instance.problem.labels], result.multipliers)

    return Entry(instance, call, point)


# the others


def clarabel_api(instance: Instance) -> Entry:
    """Clarabel without CVXPY: built once, then given all numbers of the instance anew by `update`."""
    import clarabel
    import cvxpy as cp
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones
    from scipy.sparse import csc_matrix

    from caet_opt.solving.programs.conic import ConicProgram

    program = ConicProgram(instance.problem.shape)
    scale = program.update(instance.problem)
    data, chain, inverse = program.problem.get_problem_data(
        cp.CLARABEL, ignore_dpp=True, solver_opts={"accept_unknown": True}
    )
    settings = clarabel.DefaultSettings()
    for option, value in {**CLARABEL_OPTIONS, "time_limit": TIME_LIMIT}.items():
        setattr(settings, option, value)
    settings.verbose = settings.presolve_enable = False
    costs, matrix, right = data["c"], csc_matrix(data["A"]), data["b"]
    nothing = csc_matrix((len(costs), len(costs)))
    solver = clarabel.DefaultSolver(nothing, costs, matrix, right, dims_to_solver_cones(data["dims"]), settings)

    def call() -> Any:
        solver.update(q=costs, A=matrix.data, b=right)
        return solver.solve()

    def point(solution: Any) -> Point:
        try:
            program.problem.unpack_results(solution, chain, inverse)
        except cp.SolverError as error:
            raise SolverError(f"Clarabel: {solution.status}") from error
        if program.x.value is None:
            raise SolverError(f"Clarabel: {solution.status}")
        effort = scale.effort * np.maximum(program.x.value, 0.0)
        return Point(effort, np.maximum(program.multipliers(), 0.0))

    return Entry(instance, call, point, remark=lambda solution: f"says {solution.status}")


def solve_conic(program: Any, problem: Problem, **options: Any) -> Point:
    """Update a CVXPY program, solve it by Clarabel, read off the point."""
    import cvxpy as cp

    scale = program.update(problem)
    try:
        program.problem.solve(
            solver=cp.CLARABEL, accept_unknown=True, time_limit=TIME_LIMIT, **CLARABEL_OPTIONS, **options
        )
    except cp.SolverError as error:
        raise SolverError(f"Clarabel: {error}") from error
    if program.x.value is None:
        raise SolverError(f"Clarabel: {program.problem.status}")
    return Point(scale.effort * np.maximum(program.x.value, 0.0), np.maximum(program.multipliers(), 0.0))


def cvxpy_dpp(instance: Instance) -> Entry:
    """The parametrised problem is kept, its parameters updated."""
    from caet_opt.solving.programs.conic import ConicProgram

    program = ConicProgram(instance.problem.shape)
    return Entry(instance, lambda: solve_conic(program, instance.problem), lambda point: point)


def cvxpy_rebuilt(instance: Instance) -> Entry:
    """What most scripts do: the problem is written down anew for every solve, its numbers constants."""
    from caet_opt.solving.programs.conic import ConicProgram

    problem = instance.problem

    def call() -> Point:
        return solve_conic(ConicProgram(problem.shape), problem, ignore_dpp=True)

    return Entry(instance, call, lambda point: point)


def ipopt_entry(instance: Instance, backend: str, start: Point | None = None) -> Entry:
    """A backend of the library that ends in Ipopt, its program kept from call to call."""
    profile, solver = Profile(backend, time_limit=TIME_LIMIT), BACKENDS[backend]()
    return Entry(instance, lambda: solver.solve(instance.problem, profile, start), lambda answer: answer.point)


def ipopt_cold(instance: Instance) -> Entry:
    return ipopt_entry(instance, "ipopt")


def ipopt_warm(instance: Instance) -> Entry:
    """From Ipopt's answer before the perturbation."""
    before = ipopt_entry(instance, "ipopt")
    return ipopt_entry(perturb(instance), "ipopt", before.point(before.call()))


def pyomo_bridge(instance: Instance) -> Entry:
    return ipopt_entry(instance, "pyomo")


def slsqp_scaled(instance: Instance) -> Entry:
    """scipy's SLSQP on the epigraph program in scaled variables ``(x, t)``, with analytic derivatives."""
    from scipy import optimize

    from caet_opt.solving.programs.nonlinear import NonlinearProgram

    problem = instance.problem
    program, terms = NonlinearProgram(problem.shape), len(problem.statements)
    rows, columns = program.jacobianstructure()
    minimize: Any = optimize.minimize

    def jacobian(z: Array) -> Array:
        dense = np.zeros((terms + 1, program.variables))
        dense[rows, columns] = program.jacobian(z)
        return dense

    def call() -> Any:
        scale = program.update(problem)
        above = {"type": "ineq", "fun": lambda z: program.constraints(z)[:-1], "jac": lambda z: jacobian(z)[:-1]}
        budget = {"type": "eq", "fun": lambda z: scale.shares @ z[:-1] - 1.0, "jac": lambda z: jacobian(z)[-1:]}
        return minimize(
            program.objective,
            np.ones(program.variables),
            jac=program.gradient,
            method="SLSQP",
            bounds=[(1e-9, None)] * program.variables,
            constraints=[above, budget],
            options={"ftol": 1e-14, "maxiter": 1000},
        )

    def point(outcome: Any) -> Point:
        effort = program.scale.effort * outcome.x[:-1]
        return Point(effort, best_weights(jacobian(outcome.x), program.scale.shares, outcome.x[-1]))

    return Entry(instance, call, point)


def best_weights(jacobian: Array, shares: Array, t: float) -> Array:
    """Multipliers of a point that comes without: ``sum_e q_e grad f_e = t shares``, ``sum q = 1``, q non-negative."""
    from scipy.optimize import nnls

    gradients = jacobian[:-1, :-1].T / shares[:, None]
    weights, _ = nnls(np.vstack([gradients, np.ones(gradients.shape[1])]), np.append(np.full(len(shares), t), 1.0))
    return np.asarray(weights)


#: Contestants by the name that tables and figures give them.
CONTESTANTS: dict[str, Callable[[Instance], Entry]] = {
    "native, compiled": native_compiled,
    "native, warm": native_warm,
    "native, Python call": native_public,
    "Clarabel API": clarabel_api,
    "CVXPY DPP": cvxpy_dpp,
    "CVXPY rebuilt": cvxpy_rebuilt,
    "cyipopt warm": ipopt_warm,
    "cyipopt cold": ipopt_cold,
    "Pyomo bridge": pyomo_bridge,
    "SLSQP scaled": slsqp_scaled,
}
