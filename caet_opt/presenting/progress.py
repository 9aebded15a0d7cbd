"""The one progress bar, on stderr and on a terminal only."""

import sys
from shutil import get_terminal_size
from time import monotonic

WIDTH, INTERVAL = 30, 0.1


class Bar:
    """``[#####.........] 5/15 runs, 3.2 s left | note``, at most ten times a second; wiped on leaving.

    Steps that differ in length say how much work each is; the filled part and the time left go by that.
    """

    def __init__(self, total: int, unit: str, work: float | None = None) -> None:
        self.unit, self.done, self.worked, self.note = unit, 0, 0.0, ""
        self.drawn, self.shown = 0.0, sys.stderr.isatty()
        self.expect(total, work)

    def expect(self, total: int, work: float | None = None) -> None:
        """There are so many steps, with so much work in all, one each unless given; the clock starts."""
        self.total, self.work, self.start = total, float(total) if work is None else work, monotonic()

    def step(self, work: float = 1.0, note: str = "") -> None:
        """One more is done."""
        self.done += 1
        self.worked += work
        self.note = note
        if self.shown and monotonic() - self.drawn > INTERVAL:
            self.draw()

    def draw(self) -> None:
        """Replace the line."""
        self.drawn = monotonic()
        text = self.line(self.drawn - self.start)
        print(f"\r\033[K{text[: get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)

    def line(self, passed: float) -> str:
        """The line after so many seconds."""
        share = min(1.0, self.worked / self.work) if self.work else 0.0
        text = f"[{'#' * int(WIDTH * share):.<{WIDTH}}] {self.done}/{self.total} {self.unit}"
        if share:
            text += f", {clock(passed * (1.0 - share) / share)} left"
        return f"{text} | {self.note}" if self.note else text

    def __enter__(self) -> "Bar":
        if self.shown:
            self.draw()
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """A time as people say it.

    >>> clock(4.2), clock(75), clock(7200)
    ('4.2 s', '1.2 min', '2.0 h')
    """
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
