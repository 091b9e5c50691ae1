from __future__ import annotations

import numpy as np
import pytest

from tunesmith.data.rankings.building import from_runs
from tunesmith.data.rankings.normalisation import Normalisation
from tunesmith.errors import TunesmithError

RUNS = {
    "a": {"q": {"x": 4.0, "y": 2.0, "z": 1.0}, "r": {"x": 5.0}},
    "b": {"q": {"y": -1.0, "w": -3.0}},
}
QRELS = {"q": {"x": 1}, "r": {"x": 1}}


def features(normalisation):
    """Return the features by query and document."""
    found = from_runs(RUNS, QRELS)
    rows = normalisation.features(found)
    query = np.repeat(found.queries, np.diff(found.start))
    names = zip(query.tolist(), found.documents, strict=True)
    return {name: rows[:, n].tolist() for n, name in enumerate(names)}


@pytest.mark.parametrize(
    ("text", "missing", "x", "y", "z", "w"),
    [
        ("none", "auto", [4, -3], [2, -1], [1, -3], [1, -3]),
        ("none", "zero", [4, 0], [2, -1], [1, 0], [0, -3]),
        ("none", -9.0, [4, -9], [2, -1], [1, -9], [-9, -3]),
        ("min-max", "auto", [1, 0], [1 / 3, 1], [0, 0], [0, 0]),
        ("sum", "auto", [0.75, 0], [0.25, 1], [0, 0], [0, 0]),
        ("rank", "auto", [1, 0], [2 / 3, 1], [1 / 3, 0], [0, 0.5]),
        ("rank", "lowest", [1, 0.5], [2 / 3, 1], [1 / 3, 0.5], [1 / 3, 0.5]),
        ("reciprocal-rank", "auto", [1 / 61, 0], [1 / 62, 1 / 61], [1 / 63, 0], [0, 1 / 62]),
        ("reciprocal-rank:k=1", "auto", [0.5, 0], [1 / 3, 0.5], [0.25, 0], [0, 1 / 3]),
    ],
)
def test_values_are_those_of_the_formulas(text, missing, x, y, z, w):
    found = features(Normalisation.of(text, missing))
    for name, expected in zip("xyzw", (x, y, z, w), strict=True):
        assert found["q", name] == pytest.approx(expected)


def test_z_has_mean_0_and_deviation_1_over_what_the_run_returned():
    found = features(Normalisation.of("z"))
    values = [found["q", name][0] for name in "xyz"]
    assert np.mean(values) == pytest.approx(0.0)
    assert np.std(values) == pytest.approx(1.0)
    assert found["q", "w"][0] == min(values)


def test_a_single_document_has_the_highest_value_and_an_empty_run_the_policy():
    assert features(Normalisation("min-max"))["r", "x"] == [1.0, 0.0]
    assert features(Normalisation("z"))["r", "x"] == [0.0, 0.0]


def test_it_is_written_and_read_again():
    for text in ("none", "min-max", "z", "sum", "rank", "reciprocal-rank:k=10"):
        found = Normalisation.of(text)
        again = Normalisation.from_dict(found.to_dict())
        assert (again.kind, again.k, again.policy) == (found.kind, found.k, found.policy)
        assert str(Normalisation.of(str(found))) == str(found)


@pytest.mark.parametrize(
    ("text", "missing", "message"),
    [
        ("minmax", "auto", "unknown normalisation 'minmax'; did you mean min-max"),
        ("min-max:k=3", "auto", "k goes with the normalisation reciprocal-rank"),
        ("reciprocal-rank:c=3", "auto", "write reciprocal-rank:k=NUMBER"),
        ("reciprocal-rank:k=-1", "auto", "k of reciprocal ranks is -1; give 0 or more"),
        ("z", "last", "missing is 'last'; give lowest, zero or a number"),
        ("z", "nan", "missing is 'nan'; give lowest, zero or a number"),
    ],
)
def test_wrong_names_are_errors(text, missing, message):
    with pytest.raises(TunesmithError, match=message):
        Normalisation.of(text, missing)
