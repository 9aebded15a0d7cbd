"""Arrays that a model or an experiment shares with its solvers cannot be written to; masked numbers are refused."""

import numpy as np
import pytest

from caet_opt import BanditModel, Caet, characteristic_time, characteristic_times
from caet_opt.errors import InputError

MASKED = np.ma.array([3.0, 4.0, 2.0], mask=[0, 1, 0])


def test_a_model_cannot_be_changed_through_its_arrays():
    model = BanditModel("gaussian", [3, 4, 2], costs=[1, 1, 2])
    before = characteristic_time(model, "ranking").value
    for array in (model.numbers, model.mean_rests, *model.arrays):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0
    assert characteristic_time(model, "ranking").value == before


def test_known_costs_cannot_be_changed_in_the_midst_of_an_experiment():
    caet = Caet.start("best-arm", "bernoulli", arms=2, delta=0.05, costs=[1, 2])
    with pytest.raises(ValueError, match="read-only"):
        caet.known_costs[0] = 5.0


def test_masked_numbers_are_refused():
    for make in (
        lambda: BanditModel("gaussian", MASKED, costs=[1, 1, 1]),
        lambda: BanditModel("gaussian", [3, 4, 2], costs=MASKED),
        lambda: characteristic_times("gaussian", MASKED[None], [1.0, 1.0, 1.0], "best-arm"),
        lambda: characteristic_times("gaussian", [[3.0, 4.0, 2.0]], MASKED, "best-arm"),
        lambda: Caet.start("best-arm", "gaussian", arms=3, delta=0.05, costs=MASKED),
    ):
        with pytest.raises(InputError, match="got 1 masked; leave these arms out"):
            make()
    caet = Caet.start("best-arm", "gaussian", arms=3, delta=0.05, costs=[1, 1, 1])
    with pytest.raises(InputError, match="must be a finite number"):
        caet.observe(0, MASKED[1])


def test_an_array_with_a_mask_that_masks_nothing_is_an_array():
    model = BanditModel("gaussian", np.ma.array([3.0, 4.0, 2.0]), costs=[1, 1, 2])
    assert model == BanditModel("gaussian", [3.0, 4.0, 2.0], costs=[1, 1, 2])
