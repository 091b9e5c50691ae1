"""Real Moses output: at least what Moses' own mert reaches (20 restarts)."""

from __future__ import annotations

import pytest
import sacrebleu

import tunesmith as ts

# What mert of Moses reached on the same lists from the same start.
SETS = {
    "m30k-de-en run5": (["run5"], "weights.run5.dense", 41.03),
    "catalogs-nbest": (None, "weights.initial", 51.30),
}


@pytest.mark.parametrize("name", SETS)
def test_at_least_as_good_as_moses(shared_data, name):
    runs, start, expected = SETS[name]
    folder = shared_data / name.split()[0]
    paths = [folder / f"{run}.nbest.gz" for run in runs] if runs else folder / "tune.nbest.gz"
    candidates = ts.read(paths, folder / ("val.ref" if runs else "tune.ref"))
    result = ts.MERT(restarts=20).fit(
        ts.TuningSet(candidates), ts.read_weights(folder / start).weights, rng=1
    )
    assert result.score >= expected
    output = ts.rerank(candidates, result.weights)
    references = [candidates.reference_texts(g)[0] for g in range(candidates.groups)]
    theirs = sacrebleu.corpus_bleu(output, [references], tokenize="none", force=True)
    assert result.score == pytest.approx(theirs.score, abs=1e-9)
