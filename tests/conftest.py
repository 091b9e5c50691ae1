"""Fixtures that several tests share, and what holds for all of them."""

from __future__ import annotations

import os
import signal
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.helpers")

import tests.helpers.tiers  # noqa: E402, F401  (the profiles)

settings.load_profile("all")

# Kernels are compiled once for all processes of all runs, and not among those of the user.
os.environ.setdefault("TUNESMITH_CACHE_DIR", str(Path(__file__).parents[1] / ".kernels"))

# Results have the date; two runs of a test may fall into two seconds.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1795046400")

# Whoever is started in the background by a shell ignores interrupts, and so do its children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests on real data as long."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.long)


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
