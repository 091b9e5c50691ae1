"""Fixtures of the tests of tuners: the bundled lists, and a single thread."""

from __future__ import annotations

import pytest

from tunesmith.io.read import read
from tunesmith.io.weights.files import read_weights
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet


@pytest.fixture(scope="session")
def real(bundled):
    return {
        name: TuningSet(read(bundled / f"{name}.nbest.gz", bundled / f"{name}.ref"))
        for name in ("tune", "test")
    }


@pytest.fixture(scope="session")
def start(bundled):
    return read_weights(bundled / "weights.initial").weights


@pytest.fixture
def one_thread():
    """Small problems are not worth starting threads for."""
    with threads(1):
        yield
