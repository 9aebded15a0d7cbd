"""The epigraph program of one instance as an object of a modelling language."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from caet_opt.bandits.limits import Limit, read_limits
from caet_opt.bandits.model import BanditModel
from caet_opt.bandits.tasks import Task
from caet_opt.errors import InputError, unknown_name
from caet_opt.solving.problem import ask_one, read_task

if TYPE_CHECKING:
    from caet_opt.solving.programs.algebraic_epigraph import AlgebraicEpigraph
    from caet_opt.solving.programs.conic_epigraph import ConicEpigraph

Limits = Sequence[Limit | str] | Limit | str

#: Languages in which a program is written.
LANGUAGES = ("cvxpy", "pyomo")


@overload
def epigraph(
    model: BanditModel, task: Task | str, language: Literal["cvxpy"] = ..., *, limits: Limits = ...
) -> "ConicEpigraph": ...
@overload
def epigraph(
    model: BanditModel, task: Task | str, language: Literal["pyomo"], *, limits: Limits = ...
) -> "AlgebraicEpigraph": ...
def epigraph(model: BanditModel, task: Task | str, language: str = "cvxpy", *, limits: Limits = ()) -> Any:
    """``max t  s.t.  t <= f_e(w),  sum_a c_a w_a = 1,  w >= 0`` in CVXPY or Pyomo, to read, extend and solve.

    The program is in the paper's units: w is the effort per arm, and t is 1 / T* at the
    optimum. Both languages have ``effort``, by the arms' names or numbers, ``rate``, and ``statements`` by their texts.
    ``read`` certifies the solved program, whichever solver you used. Free arms have no effort.
    Costly arms that no statement needs have an effort, which is 0 unless your constraints ask for more.
    If T* is 0, the program is unbounded, and is read back as T* = 0.

    Parameters
    ----------
    model, task
        As for `characteristic_time`.
    language
        ``"cvxpy"`` for a `ConicEpigraph` with its ``problem``, ``"pyomo"`` for an `AlgebraicEpigraph`, which is a
        ConcreteModel.
    limits
        As for `characteristic_time`; they become constraints, by their texts in ``limits``.

    Examples
    --------
    >>> import cvxpy as cp
    >>> model = BanditModel("gaussian", [1.5, 1, 0.5], costs=[1, 0.1, 0.01])
    >>> program = epigraph(model, "best-arm")
    >>> print(str(program).partition("maximise")[2])  # doctest: +NORMALIZE_WHITESPACE
                t
    subject to  t <= w_0 d(1.5, m) + w_1 d(1, m),  m = (1.5 w_0 + w_1) / (w_0 + w_1)    (0 > 1)
                t <= w_0 d(1.5, m) + w_2 d(0.5, m),  m = (1.5 w_0 + 0.5 w_2) / (w_0 + w_2)    (0 > 2)
                w_0 + 0.1 w_1 + 0.01 w_2 = 1
                w >= 0
    >>> limited = cp.Problem(program.problem.objective, [*program.problem.constraints, program.effort[0] <= 0.5])
    >>> rate = limited.solve(solver="CLARABEL")
    >>> found = program.read(limited)
    >>> f"{found.value:.9f}", found.gap < 1e-9
    ('17.604718122', True)
    """
    if language not in LANGUAGES:
        raise InputError(unknown_name("language", str(language), LANGUAGES))
    question = ask_one(model, read_task(task, model), read_limits(limits, model.arms))
    if language == "cvxpy":
        from caet_opt.solving.programs.conic_epigraph import ConicEpigraph  # CVXPY takes a second to import

        return ConicEpigraph(question)
    from caet_opt.solving.programs.algebraic_epigraph import AlgebraicEpigraph

    return AlgebraicEpigraph(question)
