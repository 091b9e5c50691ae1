"""Mixed bits are those of splitmix64."""

from __future__ import annotations

import numpy as np

from tunesmith.kernels.bits import STEP, spread_bits


def test_bits_are_spread_as_splitmix64_does() -> None:
    # The outputs of the published program for the seed 1234567.
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    seed = np.uint64(1234567)
    with np.errstate(over="ignore"):  # interpreted, numbers wrap around with a warning
        found = [int(spread_bits(seed + STEP * np.uint64(k))) for k in (1, 2, 3)]
    assert found == published
