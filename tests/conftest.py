"""Fixtures and strategies that several tests share."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it; a deadline would measure that.
settings.register_profile(
    "tunesmith", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("tunesmith")


@pytest.fixture(scope="session")
def bundled() -> Path:
    """The lists that come with the package."""
    return Path(str(resources.files("tunesmith") / "bundled"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data that the project may not bundle."""
    folder = os.environ.get("TUNESMITH_SHARED_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("TUNESMITH_SHARED_DATA is not set: the real data sets are not here")
    return Path(folder)
