from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, candidate_set, tuning_set
from tests.helpers.search.line import random_task
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.inference.lists.rerank import rerank
from tunesmith.io.weights.files import read_weights
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT


def grid_best(tuning) -> float:
    """Return the best gain over directions of a fine circle; features are two."""
    angles = np.linspace(0, 2 * np.pi, 20_001) + 1e-5
    scores = np.outer(np.cos(angles), tuning.candidates.features.dense[0]) + np.outer(
        np.sin(angles), tuning.candidates.features.dense[1]
    )
    start = tuning.candidates.start
    chosen = [
        start[g] + np.argmax(scores[:, start[g] : start[g + 1]], axis=1)
        for g in range(len(start) - 1)
    ]
    return float(tuning.metric.gain(tuning.stats[np.array(chosen)].sum(axis=0)).max())


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32 - 1), st.sampled_from(["coordinate", "powell", "random"]))
def test_two_features_reach_the_best_of_the_whole_circle(seed, directions):
    tuning, rng = random_task(seed)
    result = MERT(restarts=30, directions=directions).fit(tuning, rng=rng)
    sign = 1 if tuning.metric.higher_is_better else -1
    assert sign * result.score >= grid_best(tuning) - 1e-12


def test_candidates_without_a_metric_are_refused():
    tuning = tuning_set([[[1.0], [2.0]]], [[1.0, 0.0]])
    with pytest.raises(UsageError, match=r"mert is given CandidateSet, .* give TuningSet"):
        MERT().fit(tuning.candidates)


def test_lower_is_better_is_driven_down():
    tuning = tuning_set([[[0.0, 1.0], [1.0, 0.0]]], [[5.0, 2.0]], metric=Loss())
    result = MERT(restarts=2).fit(tuning, {"f0": 0.0, "f1": 1.0})
    assert (result.initial_score, result.score, result.oracle_score) == (5.0, 2.0, 2.0)
    assert [entry["score"] for entry in result.history][:2] == [5.0, 2.0]


@pytest.mark.long
@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
@pytest.mark.parametrize("begin", ["near", "anywhere"])
def test_the_score_is_that_of_sacrebleu_on_the_reranked_output(real, start, directions, begin):
    result = MERT(restarts=4, directions=directions, begin=begin).fit(real["tune"], start)
    candidates = real["tune"].candidates
    expected = sacrebleu.corpus_bleu(
        rerank(candidates, result.weights),
        [[candidates.reference_texts(g)[0] for g in range(candidates.groups)]],
        tokenize="none",
        force=True,
    ).score
    assert result.score == pytest.approx(expected, abs=1e-9)
    assert result.score > result.initial_score
    assert result.initial_score == pytest.approx(45.06, abs=0.005)  # the data sheet's figure
    assert result.score <= result.oracle_score
    assert not result.oracle_exact


@pytest.mark.long
@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
def test_any_number_of_threads_gives_the_same_bits(real, start, directions):
    found = []
    for count in (1, 2, 5):
        with threads(count):
            result = MERT(restarts=5, directions=directions).fit(real["tune"], start, rng=3)
        found.append((result.weights.vector.tobytes(), json.dumps(result.history), result.score))
        assert result.threads == count
    assert found[0] == found[1] == found[2]


@pytest.mark.long
def test_seeds_matter_and_are_kept(real, start):
    one = MERT(restarts=4).fit(real["tune"], start, rng=1)
    again = MERT(restarts=4).fit(real["tune"], start, rng=1)
    other = MERT(restarts=4).fit(real["tune"], start, rng=2)
    assert one.weights == again.weights
    assert one.weights != other.weights
    assert (one.seed, other.seed) == (1, 2)
    assert "seed:1" in one.signature
    assert MERT().fit(real["tune"], start, rng=np.random.default_rng(1)).seed is None


@pytest.mark.long
def test_the_development_set_has_no_influence(real, start):
    plain = MERT(restarts=2).fit(real["tune"], start)
    beside = MERT(restarts=2).fit(real["tune"], start, dev=real["test"])
    assert plain.weights == beside.weights
    assert plain.dev is None
    chosen = best(
        real["test"].candidates, beside.weights.aligned(real["test"].candidates.features.names)
    )
    assert beside.dev.score == real["test"].score(chosen)
    assert beside.dev.initial_score == pytest.approx(45.03, abs=0.005)  # the data sheet's figure


def test_never_worse_than_the_start(real, bundled):
    final = read_weights(bundled / "weights.final").weights
    result = MERT(restarts=0, walks=0).fit(real["tune"], final)
    assert result.initial_score == pytest.approx(48.11, abs=0.005)  # the data sheet's figure
    assert result.score >= result.initial_score


@pytest.mark.long
def test_more_restarts_are_never_worse(real, start):
    scores = [MERT(restarts=n).fit(real["tune"], start).score for n in (0, 4, 8, 20)]
    assert scores == sorted(scores)


def test_without_a_start_it_begins_by_itself(real):
    result = MERT(restarts=2).fit(real["tune"])
    assert set(result.start) == set(real["tune"].candidates.features.names)
    assert result.score > result.initial_score


def test_weights_that_the_data_lack_are_kept(real, start):
    with pytest.warns(UserWarning, match="1 weight without a feature"):
        result = MERT(restarts=0).fit(real["tune"], {**start, "Extra": 4.5})
    assert result.weights["Extra"] == 4.5
    assert result.warnings == ["1 weight without a feature in the data, kept unchanged: Extra"]


def test_the_json_object_has_the_keys_of_the_contract(real, start):
    result = MERT(restarts=1).fit(real["tune"], start, dev=real["test"])
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert found["schema"] == "tunesmith.tune/1"
    assert found.keys() >= {
        *("tuner", "metric", "score", "initial_score", "oracle_score", "oracle_exact"),
        *("length_ratio", "weights", "dev", "path", "history", "certificate", "line_searches"),
        *("seconds", "seed", "threads", "warnings", "data", "signature"),
    }
    assert found["dev"].keys() >= {"score", "initial_score", "length_ratio"}
    assert [entry["step"] for entry in found["history"]] == list(range(len(found["history"])))
    assert {len(entry["sha256"]) for entry in found["data"]} == {64}


def test_it_prints_itself(real, start):
    text = str(MERT(restarts=0).fit(real["tune"], start, dev=real["test"]))
    for expected in ("45.06", "LM0", "WordPenalty0", "line searches", "dev"):
        assert expected in text


def test_wrong_options():
    with pytest.raises(UsageError, match="restarts is -1"):
        MERT(restarts=-1)
    with pytest.raises(UsageError, match="walks is -1"):
        MERT(walks=-1)
    with pytest.raises(UnknownNameError, match="did you mean coordinate"):
        MERT(directions="coordinates")


def test_candidates_without_features_are_refused():
    tuning = tuning_set([[[]], [[]]], [[1.0], [2.0]])
    with pytest.raises(TunesmithError, match="no features"):
        MERT().fit(tuning)


def test_sparse_features_are_tuned_too():
    rng = np.random.default_rng(0)
    gold = np.array([1.0, -2.0, 0.5, 3.0])
    groups = [rng.integers(-3, 4, (8, 4)) * (rng.random((8, 4)) < 0.6) for _ in range(30)]
    values = [(g @ gold).tolist() for g in groups]
    dense = tuning_set([g.tolist() for g in groups], values)
    sparse = tuning_set([g.tolist() for g in groups], values, sparse_columns=[2, 3])
    first = {"f0": 1.0, "f1": 0.0, "f2": 0.0, "f3": 0.0}
    found = [MERT(restarts=6).fit(t, first) for t in (dense, sparse)]
    assert found[0].score == found[1].score == found[0].oracle_score


def test_a_constant_feature_does_no_harm():
    tuning, _ = random_task(7)
    vectors = tuning.candidates.features.dense.T
    start = tuning.candidates.start
    groups = [
        np.column_stack([vectors[a:b], np.full(b - a, 0.1 + 0.013 * a)]).tolist()
        for a, b in itertools.pairwise(start)
    ]
    values = [tuning.stats[a:b, 0].tolist() for a, b in itertools.pairwise(start)]
    result = MERT(restarts=8).fit(tuning_set(groups, values))
    assert result.score == pytest.approx(grid_best(tuning))
    assert np.abs(result.weights.vector).max() < 1e3


@pytest.mark.long
def test_seeds_of_any_whole_number_type_and_nothing_else(real, start):
    one = MERT(restarts=1).fit(real["tune"], start, rng=3)
    same = MERT(restarts=1).fit(real["tune"], start, rng=np.int64(3))
    assert one.weights == same.weights
    assert same.seed == 3
    for wrong in (-1, 1.5, "1"):
        with pytest.raises(UsageError):
            MERT(restarts=0).fit(real["tune"], start, rng=wrong)


def test_a_held_out_set_with_other_names_is_noticed_before_tuning():
    tuning = tuning_set([[[0.0, 1.0], [1.0, 0.0]]], [[5.0, 2.0]])
    narrow = tuning_set([[[0.0], [1.0]]], [[5.0, 2.0]])
    with pytest.warns(UserWarning, match="held-out set: 1 weight without a feature"):
        MERT(restarts=0).fit(tuning, dev=narrow)
    other = TuningSet(
        replace(
            narrow.candidates,
            features=replace(narrow.candidates.features, dense_names=("elsewhere",)),
        ),
        narrow.metric,
        narrow.stats,
    )
    with pytest.raises(TunesmithError, match="held-out set: no weight has the name"):
        MERT(restarts=0).fit(tuning, dev=other)


@given(st.integers(0, 2**32 - 1))
def test_the_oracle_is_never_below_the_score(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 3)
    texts = [" ".join(rng.choice(list("abcd"), rng.integers(0, 7))) for _ in range(sizes.sum())]
    refs = [[" ".join(rng.choice(list("abcd"), 6))] for _ in sizes]
    groups = [rng.integers(-3, 4, (n, 2)).tolist() for n in sizes]
    tuning = TuningSet(candidate_set(groups, texts=texts, references=refs), "bleu:order=2")
    result = MERT(restarts=1).fit(tuning)
    assert result.oracle_score >= result.score
