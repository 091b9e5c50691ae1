"""The bundled lists, as many tests of tuners want them."""

from __future__ import annotations

import pytest

from tunesmith.io.read import read
from tunesmith.io.weights.files import read_weights
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
