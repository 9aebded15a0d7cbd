"""A progress bar on stderr, on a terminal only."""

import sys
from time import monotonic

WIDTH, INTERVAL = 30, 0.1


class Bar:
    """``[#####.........] 5/15 runs``, drawn at most ten times a second; wiped on leaving. Silent in a pipe."""

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit = total, unit
        self.done, self.drawn = 0, 0.0
        self.shown = sys.stderr.isatty()

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        if self.shown and monotonic() - self.drawn > INTERVAL:
            self.draw()

    def draw(self) -> None:
        """Replace the line."""
        self.drawn = monotonic()
        filled = "#" * (WIDTH * self.done // self.total)
        print(f"\r\033[K[{filled:.<{WIDTH}}] {self.done}/{self.total} {self.unit}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> "Bar":
        if self.shown:
            self.draw()
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
