"""What tests of engines leave behind is let go."""

from __future__ import annotations

import pytest

from tests.helpers.parallel.ray_cluster import leave_ray


@pytest.fixture(scope="session", autouse=True)
def _end_of_ray():
    yield
    leave_ray()
