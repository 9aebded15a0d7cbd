"""Ipopt on the Pyomo model, through this library's own bridge to Ipopt.

Pyomo's Ipopt interfaces need the ``ipopt`` executable or a compiled AMPL library, neither of which pip installs.
"""

from caet_opt.solving.backends.base import Answer, Point
from caet_opt.solving.backends.ipopt import Ipopt, run_ipopt
from caet_opt.solving.problem import Problem
from caet_opt.solving.profiles import Profile
from caet_opt.solving.programs.cache import cached_program


class Pyomo(Ipopt):
    """The algebraic program, differentiated symbolically, its mutable parameters updated in place."""

    name = "pyomo"

    def solve(self, problem: Problem, profile: Profile, start: Point | None = None) -> Answer:
        from caet_opt.solving.programs.algebraic import AlgebraicProgram

        program = cached_program(self.name, problem.shape, AlgebraicProgram)
        scale = program.update(problem)
        return run_ipopt(program, problem, scale, profile, start)
