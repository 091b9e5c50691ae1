"""The text that makes a metric again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tiers import examples
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.combination import Sum
from tunesmith.metrics.spec import spec_of

SIMPLE = [
    "bleu",
    "bleu:tokenize=13a",
    "bleu:lowercase=true,order=3",
    "sentence-bleu:smoothing=add-one",
    "chrf",
    "ter",
    "wer",
    "cer",
    "column:comet",
    "cost:a:b",
]


@pytest.mark.parametrize("spec", SIMPLE)
def test_a_metric_is_made_again(spec):
    metric = METRICS.create(spec)
    again = METRICS.create(spec_of(metric))
    assert again == metric
    assert again.signature() == metric.signature()


@settings(max_examples=examples(30))
@given(
    st.sampled_from(["sum", "harmonic", "min"]),
    st.lists(st.tuples(st.floats(0.001, 9.0), st.sampled_from(SIMPLE[:7])), min_size=1, max_size=3),
)
def test_a_combination_is_made_again(kind, parts):
    made = METRICS.get(kind)([spec for _, spec in parts], [weight for weight, _ in parts])
    assert METRICS.create(spec_of(made)) == made


def test_what_no_text_makes_has_none(tmp_path):
    class Own(BLEU):
        pass

    assert spec_of(Own()) is None
    assert spec_of(Sum([Own(), "chrf"])) is None
    file = tmp_path / "own.py"
    file.write_text(
        "from tunesmith.metrics.bleu import BLEU\n\nclass Mine(BLEU):\n    name = 'bleu'\n"
    )
    assert spec_of(METRICS.create(f"{file}:Mine")) is None
