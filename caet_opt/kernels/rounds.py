"""One round, in the subset of Python that numba compiles: choose, absorb, respond.

The explorer runs `play` for the outcome that it was told, the simulator over streams of outcomes. Both are the same
function, interpreted or compiled with a policy's `choose`, `respond` and `ended`, and end in the same bits.
"""

from typing import TYPE_CHECKING

from caet_opt.bandits.families.numerics import Array
from caet_opt.kernels.ledger import COUNT, DONE, LAST, LIMIT, NEED_CHOICE, ORDER, REFILL, STOPPED, Seen, Streams, absorb

if TYPE_CHECKING:  # what `play` is compiled with, for each policy its own

    def choose(view: Seen) -> int: ...
    def respond(view: Seen, arm: int, waiting: bool) -> int: ...
    def ended(view: Seen) -> bool: ...


def play(view: Seen, streams: Streams, rounds: int, again: bool) -> tuple[int, int]:
    """Choose, pull and respond for up to ``rounds`` rounds; returns why it ended and how many outcomes it took in.

    While some arm has no outcome, the first such arm is pulled. Where a response needs something of Python the outcome
    stays absorbed, and ``again`` is how the response is entered once more.
    """
    arms, clock = view.arms, view.clock
    unseen, done, absorbed = first_unseen(arms), 0, again
    while True:
        if not absorbed:
            if done == rounds:
                return LIMIT, done
            arm = choose(view) if unseen < 0 else unseen
            if arm < 0:
                return NEED_CHOICE, done
            position = streams.cursor[arm]
            if position >= streams.rewards.shape[1]:
                return REFILL, done
            streams.cursor[arm] = position + 1
            absorb(view.setting, arms, clock, arm, streams.rewards[arm, position], streams.spending[arm, position])
            done += 1
            if unseen >= 0:
                unseen = first_unseen(arms)
        absorbed = False
        need = respond(view, int(clock[LAST]), unseen >= 0)
        if need != DONE:
            return need, done
        if unseen < 0 and ended(view):
            return STOPPED, done


def first_unseen(arms: Array) -> int:
    """The first arm without an outcome, or -1."""
    for place in range(arms.shape[1]):
        a = int(arms[ORDER, place])
        if arms[COUNT, a] == 0.0:
            return a
    return -1
