"""Names of derived features survive every format of weights."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tiers import examples
from tunesmith.data.weights import Weights
from tunesmith.io.weights.base import WEIGHTS_FORMATS

SPECS = ["words", "chars", "vote:number", "agreement:bleu", "rank:f", "balance", "unknown"]
SPECS += ["agreement:sentence-bleu:smoothing=lin-och,order=2", "rank:TM_1", "rank:TM_2"]
NUMBERS = st.floats(-1e3, 1e3).map(lambda x: x + 0.0)


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(SPECS), unique=True, min_size=1), st.data())
@pytest.mark.parametrize("kind", WEIGHTS_FORMATS.names())
def test_names_survive_every_format(kind, specs, data):
    names = ["f", "TM_1", "TM_2", *(f"derived:{spec}" for spec in specs)]
    weights = Weights.from_dict({name: data.draw(NUMBERS) for name in names})
    form = WEIGHTS_FORMATS.get(kind)()
    text = form.write(weights, b"")
    assert form.recognises(text)
    assert dict(form.read(text, "w")) == dict(weights)
    other = weights.with_values(weights.vector + 1.0)
    assert dict(form.read(form.write(other, text), "w")) == dict(other)
