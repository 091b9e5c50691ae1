"""The synthetic task: what Hopkins and May say of it, computed another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.tiers import examples
from tunesmith.data import synthetic as module
from tunesmith.errors import UsageError
from tunesmith.progress import show_with

SIZES = st.tuples(st.integers(1, 6), st.integers(1, 8), st.integers(1, 12))


def model_scores(candidates: ts.CandidateSet, gold: ts.Weights) -> np.ndarray:
    """w·h, added up as features come, without any of our own loops."""
    found = np.zeros(len(candidates))
    for name, row in zip(candidates.features.names, candidates.features.dense, strict=True):
        found = found + gold[name] * row
    return found


def by_group(values: np.ndarray, candidates: ts.CandidateSet) -> list[np.ndarray]:
    return [values[lo:hi] for lo, hi in zip(candidates.start, candidates.start[1:], strict=False)]


@given(SIZES, st.integers(0, 10**6))
@settings(max_examples=examples(60))
def test_pseudo_bleu_is_the_model_score_of_each_group_from_0_to_1(sizes, seed):
    sentences, size, width = sizes
    candidates, gold = ts.synthetic(sentences, size, width, rng=seed)
    assert candidates.groups == sentences
    assert np.diff(candidates.start).tolist() == [size] * sentences
    assert candidates.features.dense.shape == (width, sentences * size)
    assert gold.names == candidates.features.names
    assert list(candidates.columns) == ["score"]
    scores = by_group(candidates.columns["score"], candidates)
    for model, score in zip(
        by_group(model_scores(candidates, gold), candidates), scores, strict=True
    ):
        if size == 1:
            assert score.tolist() == [1.0]
            continue
        assert score.min() == 0.0
        assert score.max() == 1.0
        assert score.argmax() == model.argmax()
        expected = (model - model.min()) / (model.max() - model.min())
        np.testing.assert_allclose(score, expected, rtol=1e-9, atol=1e-12)


@given(SIZES, st.integers(0, 10**6))
@settings(max_examples=examples(40))
def test_without_noise_the_gold_weights_reach_exactly_1(sizes, seed):
    candidates, gold = ts.synthetic(*sizes, rng=seed)
    winners = [
        int(np.argmax(model)) for model in by_group(model_scores(candidates, gold), candidates)
    ]
    reached = candidates.columns["score"][candidates.start[:-1] + winners]
    assert reached.tolist() == [1.0] * candidates.groups
    # Also as tuners see it.
    tuning = ts.TuningSet(candidates, "column:score")
    result = ts.MERT(restarts=0, walks=0).fit(tuning, start=gold)
    assert result.initial_score == 1.0
    assert result.score == 1.0


def test_groups_whose_candidates_are_all_equal_score_1():
    assert module._normalised(np.array([2.0, 2.0, 1.0, 3.0]), 2).tolist() == [1.0, 1.0, 0.0, 1.0]


@pytest.mark.long
def test_features_are_uniform_and_weights_normal():
    candidates, _ = ts.synthetic(200, 50, 40, rng=5)
    dense = candidates.features.dense
    assert dense.min() >= 0.0
    assert dense.max() <= 500.0
    # 400,000 draws: the share below each tenth is within 5 deviations of it.
    for edge in np.arange(1, 10) / 10:
        share = (dense < 500 * edge).mean()
        assert abs(share - edge) < 5 * np.sqrt(edge * (1 - edge) / dense.size)
    # Features do not go together, nor do candidates; 5 deviations again.
    assert abs(np.corrcoef(dense) - np.eye(40)).max() < 5 / np.sqrt(dense.shape[1])
    weights = np.concatenate([ts.synthetic(1, 1, 1000, rng=k)[1].vector for k in range(20)])
    assert abs(weights.mean()) < 5 / np.sqrt(weights.size)
    assert abs(weights.std() - 1) < 5 / np.sqrt(2 * weights.size)
    assert abs((abs(weights) < 1.0).mean() - 0.6827) < 0.02


@pytest.mark.parametrize("noise", [0.5, 200.0])
def test_noise_is_normal_and_comes_after_the_scores(noise):
    clean, gold = ts.synthetic(100, 20, 30, rng=9)
    noisy, same = ts.synthetic(100, 20, 30, noise, rng=9)
    assert same == gold
    assert noisy.columns["score"].tolist() == clean.columns["score"].tolist()
    added = noisy.features.dense - clean.features.dense
    n = added.size
    assert abs(added.mean()) < 5 * noise / np.sqrt(n)
    assert abs(added.std() / noise - 1) < 5 / np.sqrt(2 * n)
    assert abs((abs(added) < noise).mean() - 0.6827) < 5 * np.sqrt(0.6827 * 0.3173 / n)
    # Neither with the features nor with one another.
    assert abs(np.corrcoef(added.ravel(), clean.features.dense.ravel())[0, 1]) < 5 / np.sqrt(n)
    assert abs(np.corrcoef(added) - np.eye(30)).max() < 5 / np.sqrt(added.shape[1])


def test_same_seed_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(module, "STREAM", 600)  # several rows a stream, and many streams

    def made(seed, threads):
        with ts.threads(threads):
            candidates, gold = ts.synthetic(50, 4, 40, 3.0, np.random.default_rng(seed))
        columns = candidates.columns["score"].tobytes()
        return candidates.features.dense.tobytes(), columns, gold.vector.tobytes()

    first = made(1, 1)
    assert made(1, 1) == first
    assert made(1, 2) == first
    assert made(1, 5) == first
    assert all(a != b for a, b in zip(made(2, 1), first, strict=True))


def test_streams_do_not_repeat(monkeypatch):
    monkeypatch.setattr(module, "STREAM", 1)  # one a feature
    candidates, _ = ts.synthetic(20, 5, 100, rng=4)
    rows = {row.tobytes() for row in candidates.features.dense}
    assert len(rows) == 100
    rng = np.random.default_rng(4)
    first, second = (ts.synthetic(2, 3, 4, rng=rng)[0].features.dense for _ in range(2))
    assert not np.isin(first, second).any()


def test_names_sort_as_they_stand():
    for width in (1, 9, 10, 1000):
        names = ts.synthetic(1, 2, width)[1].names
        assert sorted(names) == list(names)
        assert len(set(names)) == width


def test_progress_is_shown(monkeypatch):
    monkeypatch.setattr(module, "STREAM", 1)
    shown = []
    show_with(lambda step, done, total, _: shown.append((step, done, total)))
    try:
        ts.synthetic(3, 3, 100, 1.0)
    finally:
        show_with(None)
    for step in ("features", "noise"):
        done = [d for s, d, _ in shown if s == step]
        assert done == sorted(set(done))
        assert (done[0], done[-1]) == (0, 100)
    assert {total for _, _, total in shown} == {100}


@pytest.mark.parametrize("name", ["sentences", "candidates", "features"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None])
def test_bad_sizes(name, value):
    with pytest.raises(UsageError, match=f"^{name} is .*; give"):
        ts.synthetic(**{name: value})


@pytest.mark.parametrize("noise", [-1.0, float("nan"), float("inf"), 1e300])
def test_bad_noise(noise):
    with pytest.raises(UsageError, match=r"^noise is .*; give"):
        ts.synthetic(2, 2, 2, noise)


@pytest.mark.parametrize("rng", [-1, 0.5, "x", None])
def test_bad_seeds(rng):
    with pytest.raises(UsageError, match="; give"):
        ts.synthetic(2, 2, 2, rng=rng)


def test_a_set_that_fits_nowhere_is_one_line():
    with pytest.raises(ts.TunesmithError, match=r"no space left on device, .* MB are needed"):
        ts.synthetic(10**9, 10**9, 10**9)
