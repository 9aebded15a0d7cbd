"""What every program handed to Ipopt shares."""


class IterationCounter:
    """Remembers the number of iterations that Ipopt reports through its callback."""

    iterations = 0

    def intermediate(self, algorithm_mode: int, iteration: int, *progress: float) -> bool:
        """Called by Ipopt after each iteration; True means go on."""
        self.iterations = iteration
        return True
