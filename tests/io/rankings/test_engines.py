"""Weights as other programs take them, held against what their documentation shows."""

from __future__ import annotations

import json

import pytest

from tunesmith.data.rankings.normalisation import Normalisation
from tunesmith.errors import TunesmithError
from tunesmith.io.rankings.engines import engine_text

WEIGHTS = {"bm25": 0.25, "dense": 0.75}


def test_elasticsearch_has_a_linear_retriever():
    found = json.loads(engine_text("elasticsearch", WEIGHTS, Normalisation("min-max"), 100))
    assert found == {
        "retriever": {
            "linear": {
                "retrievers": [
                    {"retriever": "<the retriever bm25>", "weight": 0.25, "normalizer": "minmax"},
                    {"retriever": "<the retriever dense>", "weight": 0.75, "normalizer": "minmax"},
                ],
                "rank_window_size": 100,
            }
        }
    }


def test_elasticsearch_has_weighted_reciprocal_ranks():
    kind = Normalisation("reciprocal-rank", 20.0)
    found = json.loads(engine_text("elasticsearch", WEIGHTS, kind, 50))["retriever"]["rrf"]
    assert found["rank_constant"] == 20
    assert found["rank_window_size"] == 50
    assert [one["weight"] for one in found["retrievers"]] == [0.25, 0.75]


def test_opensearch_has_a_pipeline_whose_weights_add_up_to_one():
    kind = Normalisation("min-max")
    found = json.loads(engine_text("opensearch", {"a": 1.0, "b": 3.0}, kind, 9))
    (processor,) = found["phase_results_processors"]
    assert processor == {
        "normalization-processor": {
            "normalization": {"technique": "min_max"},
            "combination": {
                "technique": "arithmetic_mean",
                "parameters": {"weights": [0.25, 0.75]},
            },
        }
    }


def test_ranklib_has_features_by_their_numbers():
    text = engine_text("ranklib", {"3": 0.5, "7": -1.0}, Normalisation("none"), 9)
    head, *_, last = text.splitlines()
    assert head == "## Coordinate Ascent"
    assert last == "3:0.5 7:-1.0"
    named = engine_text("ranklib", WEIGHTS, Normalisation("none"), 9)
    assert named.splitlines()[-1] == "1:0.25 2:0.75"


@pytest.mark.parametrize(
    ("engine", "kind", "message"),
    [
        (
            "elasticsearch",
            Normalisation("z"),
            "has no normalisation z; give --normalisation none or min-max",
        ),
        (
            "opensearch",
            Normalisation("none"),
            "has no normalisation none; give --normalisation min-max",
        ),
        ("elasticsearch", Normalisation("min-max", missing=0.5), "give --missing zero"),
        ("opensearch", Normalisation("reciprocal-rank", 0.5), "takes a whole k of 1 or more"),
        ("ranklib", Normalisation("sum"), "without a normalisation sum; give --normalisation none"),
        ("vespa", Normalisation("none"), "unknown program 'vespa'"),
    ],
)
def test_what_an_engine_cannot_do_is_refused(engine, kind, message):
    with pytest.raises(TunesmithError, match=message):
        engine_text(engine, WEIGHTS, kind, 10)


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_search_engines_take_no_negative_weights(engine):
    with pytest.raises(TunesmithError, match="takes no weight below 0"):
        engine_text(engine, {"a": -1.0, "b": 2.0}, Normalisation("min-max"), 10)
