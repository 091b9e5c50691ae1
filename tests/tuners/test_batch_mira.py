"""Batch MIRA: kernels against a plain loop, single steps against the formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import Loss, Mean, candidate_set, tuning_set
from tests.helpers.tiers import examples
from tests.helpers.tuners.problems import number_problem, text_problem
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.lists.hope_fear import ListArrays, PassState, document_pass
from tunesmith.inference.lists.hypotheses import best
from tunesmith.io.read import read
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing import tuner_checks
from tunesmith.tuners.batch_mira import BatchMIRA
from tunesmith.tuners.ramp import Ramp


def plain_loop(
    tuning: TuningSet, objective: str, start: np.ndarray, seed: int, passes: int, **options
) -> list[np.ndarray]:
    """Return the weights after each pass, by the algorithm as it is written in the paper."""
    c, background = options.get("c", 0.01), options.get("background", "hope")
    scorer = objective_of(objective).begin(tuning, "examples")
    features = tuning.candidates.features
    rows = np.hstack([features.dense.T, features.sparse.toarray()])
    bounds = tuning.candidates.start
    rng = np.random.default_rng(seed).spawn(1)[0]
    weights, found = start.copy(), []
    seen = [weights.copy()]
    for _ in range(passes):
        for group in rng.permutation(len(bounds) - 1):
            lo, hi = bounds[group], bounds[group + 1]
            values, scores = scorer.values(lo, hi).copy(), rows[lo:hi] @ weights
            hope, fear = int(np.argmax(scores + values)), int(np.argmax(scores - values))
            gap, away = values[hope] - values[fear], rows[lo + hope] - rows[lo + fear]
            loss = gap - weights @ away
            if gap > 0 and loss > 0 and away.any():
                weights = weights + min(c, loss / (away @ away)) * away
            seen.append(weights.copy())
            added = hope if background == "hope" else int(np.argmax(scores))
            scorer.add(scorer.stats[lo + added])
        found.append(np.mean(seen, axis=0))
        scorer.end_round(scorer.stats[best(tuning.candidates, found[-1])].sum(axis=0))
    return found


def passes_of(tuner: BatchMIRA, tuning: TuningSet, start: np.ndarray, seed: int):
    (objective,) = tuner._objectives(tuning.metric)
    rng = np.random.default_rng(seed).spawn(1)[0]
    return [done.weights for done in tuner.rounds(tuning, objective, start.copy(), rng)]


def assert_near(found, expected) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.linalg.norm(ours - theirs) <= 1e-12 * np.linalg.norm(theirs)


SETTINGS = {
    "document": ("bleu", "document:decay=0.999", {}),
    "model": ("bleu", "document:decay=0.999", {"background": "model"}),
    "document that fades": ("bleu", "document:decay=0.6", {}),
    "large steps": ("bleu:smoothing=none", "document:decay=0.999", {"c": 10.0}),
    "long references": ("bleu:reference-length-scale=1.2", "document:decay=0.999", {"c": 1.0}),
    "short references": ("bleu:reference-length-scale=0.8", "document:decay=1", {}),
    "bigrams": ("bleu:order=2", "document:decay=0.999", {"c": 0.1}),
    "add-k": ("bleu:smoothing=add-k", "document:decay=0.999", {}),
    "chrf": ("chrf", "document:decay=0.999", {"c": 0.1}),
    "bleu+1": ("bleu", "bleu+1", {}),
    "scaled": ("bleu", "scaled", {"c": 0.3}),
    "scores of sentences": ("sentence-bleu", "metric", {"c": 10.0}),
}


@pytest.mark.parametrize("which", SETTINGS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=examples(15))
def test_every_way_equals_the_plain_loop(which, seed):
    metric, objective, options = SETTINGS[which]
    tuning = text_problem(seed, metric)
    start = np.random.default_rng(seed + 1).normal(size=11)
    tuner = BatchMIRA(passes=4, objective=(objective,), **options)
    expected = plain_loop(tuning, objective, start, seed, 4, **options)
    assert_near(passes_of(tuner, tuning, start, seed), expected)


@given(seed=st.integers(0, 10**6), metric=st.sampled_from([Mean, Loss]))
@settings(max_examples=examples(30))
def test_averages_need_no_document(seed, metric):
    tuning, start = number_problem(seed, metric), np.random.default_rng(seed).normal(size=4)
    usual = passes_of(BatchMIRA(passes=3), tuning, start, seed)
    document = ("document:decay=0.999",)
    in_document = passes_of(BatchMIRA(passes=3, objective=document), tuning, start, seed)
    for ours, theirs in zip(usual, in_document, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_most_sentences_are_the_kernels():
    tuning = text_problem(3, groups=8)
    scorer = objective_of("document:decay=0.999").begin(tuning, "examples")
    lists, learned = ListArrays.of(tuning.candidates), PassState.begin(np.ones(11))
    stats = np.ascontiguousarray(tuning.stats.T)
    own = (np.arange(8), 0, lists, stats, 1.0, 0.999, True)
    assert document_pass(*own, scorer.document, 0.01, learned) == 8
    # Where the document lacks a match, the metric's smoothing has a say.
    scorer.document[5] = 0.5
    assert document_pass(*own, scorer.document, 0.01, learned) == 0


def two_candidates(values, vectors) -> TuningSet:
    stats = np.array([[value, 1.0] for value in values])
    return TuningSet(candidate_set([vectors], [1]), Mean(), stats)


@pytest.mark.parametrize(("c", "share"), [(0.01, 0.01), (100.0, None)])
def test_one_step(c, share):
    tuning = two_candidates([0.2, 0.8], [[1.0, 0.0], [3.0, 0.5]])
    start = np.array([-0.2, 0.1])
    # The pooled deviation within groups becomes 1: 0.3 does here, so the gap is 2.
    gap, away = 2.0, np.array([2.0, 0.5])
    loss = gap - start @ away
    step = loss / (away @ away) if share is None else share
    found = passes_of(BatchMIRA(passes=1, c=(c,), average=False), tuning, start, 1)[0]
    assert found == pytest.approx(start + step * away, rel=1e-14)
    averaged = passes_of(BatchMIRA(passes=1, c=(c,)), tuning, start, 1)[0]
    assert averaged == pytest.approx(start + step * away / 2, rel=1e-14)
    if share is None:  # the margin is as wide as the gap: nothing is left to learn
        assert found @ away == pytest.approx(gap)


@pytest.mark.parametrize(
    ("values", "vectors"),
    [
        ([0.5], [[1.0, 2.0]]),
        ([0.5, 0.5, 0.5], [[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]]),
        ([0.1, 0.9], [[1.0, 2.0], [1.0, 2.0]]),
        ([0.1, 0.9], [[0.0, 0.0], [0.0, 0.0]]),
        ([0.1, 0.9], [[-1e200, 0.0], [1e200, 1e200]]),
    ],
)
def test_nothing_to_learn(values, vectors):
    start = np.array([0.25, -1.5])
    tuning = two_candidates(values, vectors)
    for done in passes_of(BatchMIRA(passes=3), tuning, start, 1):
        assert done.tolist() == start.tolist()


@given(
    sizes=st.lists(st.sampled_from([1e-160, 1.0, 1e20, 1e150, 1e300]), min_size=4, max_size=4),
    c=st.sampled_from([1e-300, 0.01, 1e300]),
)
@settings(max_examples=examples(30))
def test_weights_stay_finite(sizes, c):
    rng = np.random.default_rng(3)
    vectors = [rng.normal(size=(3, 4)) * sizes for _ in range(4)]
    stats = np.stack([rng.random(12), np.ones(12)], axis=1)
    tuning = TuningSet(candidate_set(vectors, [3]), Mean(), stats)
    for done in passes_of(BatchMIRA(passes=3, c=c), tuning, np.ones(4), 1):
        assert np.isfinite(done).all()


def test_features_that_are_never_on_keep_their_weights():
    tuning = number_problem(4)
    features = tuning.candidates.features
    assert features.dense.shape[0] == 3
    features.dense[1] = 0.0
    start = np.array([1.0, 0.125, -1.0, 0.5])
    found = passes_of(BatchMIRA(passes=5), tuning, start, 1)
    assert all(done[1] == 0.125 for done in found)
    assert not any(done[0] == 1.0 for done in found)


def test_scale_is_that_of_the_start():
    tuning, start = text_problem(5), np.random.default_rng(0).normal(size=11)
    scaled = passes_of(BatchMIRA(passes=3, start_scale=(8.0,)), tuning, start, 2)
    plain = passes_of(BatchMIRA(passes=3), tuning, 8.0 * start, 2)
    assert [8.0 * done for done in scaled] == [pytest.approx(done, rel=1e-15) for done in plain]


def test_a_held_out_set_chooses_steps_and_scales():
    tuning = text_problem(6)
    tuner = BatchMIRA(passes=2, c=(0.01, 0.1), start_scale=(1.0, 4.0))
    result = tuner.fit(tuning, dev=text_problem(7), rng=1)
    assert [(one["c"], one["start_scale"]) for one in result.path] == [
        *((0.01, 1.0), (0.01, 4.0), (0.1, 1.0), (0.1, 4.0))
    ]
    with pytest.raises(TunesmithError, match="give dev"):
        tuner.fit(tuning)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passes": 0}, "passes is 0; give 1 or more"),
        ({"c": (0.0,)}, "c is 0; give a number above 0"),
        ({"c": ()}, "there is no c; give one or more"),
        ({"c": (1.0, 1.0)}, "c 1 is given twice; give each once"),
        ({"start_scale": 1e200}, "start-scale is 1e[+]200; give 1e[+]100 or less"),
        ({"start_scale": 1e-200}, "start-scale is 1e-200; give 1e-100 or more"),
        ({"start_scale": -1.0}, "start-scale is -1; give a number above 0"),
        ({"decay": 1.5}, "decay is 1.5; give 1 or less"),
        ({"decay": 0.5, "objective": ("document",)}, "write it there, as document:decay=0.5"),
        ({"background": "fear"}, "background"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(TunesmithError, match=message):
        BatchMIRA(**options)


@pytest.mark.parametrize("check", tuner_checks(BatchMIRA), ids=str)
def test_conformance(check):
    check()


MODEL = {"objective": "document", "background": "model", "average": False}


@pytest.mark.long
@pytest.mark.parametrize("options", [{"pick": "last"}, MODEL])
def test_conformance_of_options(options):
    for check in tuner_checks(BatchMIRA(passes=20, **options)):
        check()


# What kbmira of Moses reaches in 60 passes, its test for duplicates repaired.
KBMIRA = {
    "m30k-de-en/run5": (["m30k-de-en/weights.run5.dense"], 40.56),
    "m30k-de-en-sparse/run2": (
        [f"m30k-de-en-sparse/weights.run2.{part}" for part in ("dense", "sparse")],
        44.07,
    ),
}


@pytest.mark.parametrize("name", KBMIRA)
def test_at_least_as_good_as_kbmira(shared_data, name):
    files, expected = KBMIRA[name]
    candidates = ts.read(shared_data / f"{name}.nbest.gz", shared_data / "m30k-de-en/val.ref")
    held: dict[str, float] = {}
    for file in files:
        held |= dict(ts.read_weights(shared_data / file).weights)
    start = {name: held.get(name, 0.0) for name in candidates.features.names}
    result = BatchMIRA().fit(ts.TuningSet(candidates), start, rng=1)
    learned = max(entry["score"] for entry in result.history if entry["round"])
    assert learned >= expected
    assert result.score == max(learned, result.initial_score)


def test_options_of_a_document_are_refused_without_one(bundled):
    lists = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    with pytest.raises(UsageError, match="decay belongs to a document, and there is none; drop"):
        BatchMIRA(decay=0.5).fit(TuningSet(lists, "sentence-bleu"))
    with pytest.raises(UsageError, match="background belongs to a document"):
        BatchMIRA(objective="bleu+1", background="model").fit(TuningSet(lists))


@pytest.mark.parametrize("kind", [BatchMIRA, Ramp])
def test_rare_features_begin_with_nothing(kind):
    # Each sparse feature is on once: its spread is small, and 1 / spread is large.
    rng = np.random.default_rng(3)
    dense = rng.normal(size=(30, 5, 1))
    values = dense[:, :, 0] + 0.1 * rng.normal(size=(30, 5))
    rare = np.zeros((30, 5, 30))
    rare[np.arange(30), rng.integers(5, size=30), np.arange(30)] = 1.0
    vectors = np.concatenate([dense, rare], axis=2)
    result = kind().fit(tuning_set(vectors, values, range(1, 31)), rng=1)
    assert result.score > 0.9 * result.oracle_score
