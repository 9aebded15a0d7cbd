"""T*: the problem, its programs, the solvers, the certificate that judges them, sensitivities."""
