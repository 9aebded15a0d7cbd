"""All that is compiled, and runs interpreted with the same bits: the term, the solver, a round, stopping."""
