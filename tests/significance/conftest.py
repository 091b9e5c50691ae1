"""Outputs of several runs on the bundled lists."""

from __future__ import annotations

from pathlib import Path

import pytest

import tunesmith as ts

BUNDLED = Path(ts.__file__).parent / "bundled"


@pytest.fixture(scope="session")
def test_references() -> list[str]:
    """The references of the bundled test set."""
    return (BUNDLED / "test.ref").read_text().splitlines()


@pytest.fixture(scope="session")
def outputs() -> dict[str, list[list[str]]]:
    """Three outputs each of two systems: what weights near two others choose."""
    held = ts.read(BUNDLED / "test.nbest.gz", [BUNDLED / "test.ref"])
    found: dict[str, list[list[str]]] = {}
    for name, file in (("mert", "weights.initial"), ("pro", "weights.final")):
        weights = dict(ts.read_weights(BUNDLED / file).weights)
        names = sorted(weights)
        found[name] = []
        for run in range(3):
            moved = {**weights, names[run]: weights[names[run]] * (1.0 + 0.1 * run) + 0.01 * run}
            found[name].append(list(ts.rerank(held, moved)))
    return found
