"""Matrix games, against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.helpers.tiers import examples
from tunesmith.search.exact.bisection.game import solve_game


def value_of(rows):
    """Return the greatest least value of a mixture of rows: max v with shares·rows >= v."""
    count, size = rows.shape
    solution = linprog(
        np.r_[np.zeros(count), -1.0],
        A_ub=np.c_[-rows.T, np.ones(size)],
        b_ub=np.zeros(size),
        A_eq=np.r_[np.ones(count), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(None, None)],
    )
    return -solution.fun


@pytest.mark.parametrize("seed", range(examples(200, interpreted=20)))
def test_the_value_is_that_of_a_linear_program(seed):
    rng = np.random.default_rng([seed, 21])
    count, size = int(rng.integers(1, 9)), int(rng.integers(1, 7))
    rows = rng.standard_normal((count, size))
    if rng.random() < 0.3:
        rows = rng.integers(-2, 3, (count, size)).astype(float)
    scale = 10.0 ** rng.integers(-6, 17)
    rows = rows * scale + scale * rng.integers(-1, 2)
    shares, place = np.empty(count), np.empty(size)
    solve_game(rows, count, shares, place)
    for part in (shares, place):
        assert (part >= 0.0).all()
        assert part.sum() == pytest.approx(1.0)
    expected = value_of(rows / scale)
    assert (shares @ rows).min() / scale == pytest.approx(expected, abs=1e-6)
    assert (rows @ place).max() / scale == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("value", [0.0, 3.0, -2.0])
def test_rows_that_are_constant(value):
    shares, place = np.empty(2), np.empty(3)
    solve_game(np.full((2, 3), value), 2, shares, place)
    assert shares.sum() == pytest.approx(1.0)
    assert place.sum() == pytest.approx(1.0)
