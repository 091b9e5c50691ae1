"""Tests equal sacrebleu's to the last digit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest as Theirs

import tunesmith as ts
from tests.helpers.tiers import examples
from tunesmith.significance import resampling

#: Our name, and sacrebleu's metric.
METRICS: dict[str, Any] = {
    "bleu": BLEU(tokenize="none", force=True),
    "bleu:smoothing=none": BLEU(tokenize="none", force=True, smooth_method="none"),
    "bleu:smoothing=floor": BLEU(tokenize="none", force=True, smooth_method="floor"),
    "bleu:smoothing=add-k": BLEU(tokenize="none", force=True, smooth_method="add-k"),
    "bleu:order=2": BLEU(tokenize="none", force=True, max_ngram_order=2),
    "chrf": CHRF(),
    "chrf:eps-smoothing=true,beta=3": CHRF(eps_smoothing=True, beta=3),
    "chrf++": CHRF(word_order=2),
    "ter": TER(),
}

pytestmark = pytest.mark.filterwarnings("ignore:.*:UserWarning")


@pytest.fixture(autouse=True)
def _without_their_warnings(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level("CRITICAL", "sacrebleu"):
        yield


def theirs(
    first: list[str], second: list[str], metric: Any, references: list[list[str]], kind: str, n: int
) -> list[Any]:
    """Return sacrebleu's results of baseline and system."""
    named = [("a", first), ("b", second)]
    _, scores = Theirs(named, {"m": metric}, references, kind, n)()
    return next(held for name, held in scores.items() if name != "System")


words = st.sampled_from(["a", "b", "c", "dd", "e,", "f"])
texts = st.lists(words, min_size=1, max_size=9).map(" ".join)


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[str], list[str], list[list[str]]]:
    """Two outputs, of which few sentences differ at times, and references."""
    size = draw(st.integers(1, 7))
    first = draw(st.lists(texts, min_size=size, max_size=size))
    second = [draw(st.one_of(st.just(text), texts)) for text in first]
    count = draw(st.integers(1, 2))
    references = [draw(st.lists(texts, min_size=size, max_size=size)) for _ in range(count)]
    return first, second, references


@pytest.mark.parametrize("name", METRICS)
@given(corpus=corpora(), seed=st.integers(1, 2**32), resamples=st.integers(1, 90))
@settings(max_examples=examples(25))
def test_p_values_and_intervals_are_sacrebleus(
    name: str, corpus: tuple[list[str], list[str], list[list[str]]], seed: int, resamples: int
) -> None:
    first, second, references = corpus
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SACREBLEU_SEED", str(seed))
        boot = theirs(first, second, METRICS[name], references, "bs", resamples)
        rand = theirs(first, second, METRICS[name], references, "ar", 70)
        patch.setattr(resampling, "AT_ONCE", 40)  # several steps
        patch.setattr(resampling, "COINS_AT_ONCE", 40)
        found = ts.compare(
            {"a": first, "b": second},
            name,
            references,
            resamples=resamples,
            randomizations=70,
            seed=seed,
        ).metrics[0]
    for ours, held in zip(found.systems, boot, strict=True):
        assert ours.mean == held.score
        assert ours.bootstrap_mean == float(held.mean)
        assert ours.bootstrap_half_width == float(held.ci)
    (test,) = found.tests
    # sacrebleu calls a difference of nothing significant.
    is_none = test.difference == 0 and never_differ(name, corpus, resamples, seed)
    assert test.p_bootstrap == (1.0 if is_none else boot[1].p_value)
    is_none = test.difference == 0 and rand[1].p_value == 1 / 71
    assert test.p_randomization == (1.0 if is_none else rand[1].p_value)


def never_differ(
    name: str, corpus: tuple[list[str], list[str], list[list[str]]], resamples: int, seed: int
) -> bool:
    """Tell whether two outputs score the same in every resample."""
    *outputs, references = corpus
    size, metric = len(references[0]), METRICS[name]
    drawn = np.random.default_rng(seed).choice(size, (resamples, size))
    stats = [np.array(metric._extract_corpus_statistics(held, references)) for held in outputs]
    one, other = (
        [metric._compute_score_from_stats(held[rows].sum(axis=0)).score for rows in drawn]
        for held in stats
    )
    return one == other


@pytest.mark.long
@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_usual_numbers_on_bundled_lists(
    name: str, outputs: dict[str, list[list[str]]], test_references: list[str]
) -> None:
    first, second = outputs["mert"][0], outputs["pro"][0]
    boot = theirs(first, second, METRICS[name], [test_references], "bs", 1000)
    rand = theirs(first, second, METRICS[name], [test_references], "ar", 10000)
    found = ts.compare({"mert": first, "pro": second}, name, [test_references]).metrics[0]
    (test,) = found.tests
    assert (test.p_bootstrap, test.p_randomization) == (boot[1].p_value, rand[1].p_value)
    assert [one.mean for one in found.systems] == [one.score for one in boot]
    assert [one.bootstrap_half_width for one in found.systems] == [float(one.ci) for one in boot]
