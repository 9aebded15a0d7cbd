"""What each arm will bring, drawn in blocks from a generator of its own.

The i-th pull of an arm brings the same reward and cost whatever was pulled in between, so that two loops which make
the same decisions see the same experiment.
"""

from collections.abc import Callable

import numpy as np

from caet_opt.bandits.families.numerics import Array
from caet_opt.bandits.model import BanditModel
from caet_opt.kernels.ledger import Streams

#: Draws per arm and block.
BLOCK = 4096

#: Distributions of a pull's cost by name, each with the model's cost as its mean.
COST_DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, float, int], Array]] = {
    "constant": lambda rng, mean, size: np.full(size, mean),
    "exponential": lambda rng, mean, size: rng.exponential(mean, size),
    "uniform": lambda rng, mean, size: rng.uniform(0.0, 2.0 * mean, size),
    "bernoulli": lambda rng, mean, size: rng.binomial(1, mean, size).astype(float),
}


class ArmStreams:
    """Rewards and costs of every arm of a model, from one seed."""

    def __init__(
        self,
        model: BanditModel,
        seed: np.random.SeedSequence,
        cost_distribution: str = "constant",
        block: int = BLOCK,
    ) -> None:
        arms = len(model.means)
        self.model, self.block = model, block
        self._generators = [np.random.default_rng(child) for child in seed.spawn(arms)]
        self._cost_generators = [np.random.default_rng(child) for child in seed.spawn(arms)]
        self._draw_costs = COST_DISTRIBUTIONS[cost_distribution]
        self.buffers = Streams(np.zeros((arms, block)), np.zeros((arms, block)), np.full(arms, block, dtype=np.int64))
        for arm in range(arms):
            self.refill(arm)

    def refill(self, arm: int) -> None:
        """Draw as much as was used of the arm's block, behind what was not; generators draw one value after the other,
        so that it makes no difference where blocks begin."""
        rewards, spending = self.buffers.rewards[arm], self.buffers.spending[arm]
        used = int(self.buffers.cursor[arm])
        for buffer in (rewards, spending):
            buffer[: self.block - used] = buffer[used:].copy()
        rewards[self.block - used :] = self.model.sample(self._generators[arm], arm, used)
        costs = self._draw_costs(self._cost_generators[arm], self.model.costs[arm], used)
        spending[self.block - used :] = costs
        self.buffers.cursor[arm] = 0

    def refill_used(self) -> None:
        """Refill every arm whose block is used by half: others will soon be where the first one is."""
        for arm in np.flatnonzero(2 * self.buffers.cursor >= self.block):
            self.refill(int(arm))

    def bound_costs(self) -> tuple[int, float]:
        """So many pulls, of whichever arms, need no refill; and what each of them costs at most."""
        self.refill_used()
        spending, cursor = self.buffers.spending, self.buffers.cursor
        to_come = np.arange(self.block) >= cursor[:, None]
        return int(self.block - cursor.max()), float(spending.max(where=to_come, initial=0.0))

    def draw(self, arm: int) -> tuple[float, float]:
        """The arm's next reward and cost."""
        if self.buffers.cursor[arm] >= self.block:
            self.refill(arm)
        position = self.buffers.cursor[arm]
        self.buffers.cursor[arm] += 1
        return float(self.buffers.rewards[arm, position]), float(self.buffers.spending[arm, position])
