from __future__ import annotations

import numpy as np
import pytest

from tests.builders import tuning_set
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists import ListHypotheses
from tunesmith.report.surface import draw_surface, plateau
from tunesmith.search.line import surface


@pytest.fixture
def hypotheses():
    lines = [[0.0, 0.0], [1.0, -2.0], [2.0, -8.0]]
    return ListHypotheses(tuning_set([lines], [[0.0, 1.0, 0.5]]))


@pytest.mark.parametrize(
    ("weight", "expected"), [(0.0, (-np.inf, 2.0)), (3.0, (-1.0, 3.0)), (7.0, (-1.0, np.inf))]
)
def test_the_plateau_is_the_interval_around_the_weight(hypotheses, weight, expected):
    point = hypotheses.point(np.array([weight, 1.0]))
    assert plateau(surface(hypotheses, point, Direction.along(0, "f0"))) == expected


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("weight", [0.0, 3.0, 7.0])
def test_a_picture_is_written(hypotheses, tmp_path, ending, weight):
    path = tmp_path / f"surface.{ending}"
    draw_surface(hypotheses, hypotheses.point(np.array([weight, 1.0])), "f0", path)
    magic = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(magic)


def test_a_feature_that_changes_nothing_can_be_drawn(tmp_path):
    flat = ListHypotheses(tuning_set([[[1.0, 0.0], [1.0, 1.0]]], [[0.0, 1.0]]))
    draw_surface(flat, flat.point(np.ones(2)), "f0", tmp_path / "flat.png")
    assert (tmp_path / "flat.png").stat().st_size > 1000
