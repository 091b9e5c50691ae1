"""Votes are as good as brute force with scikit-learn's metrics says they can be."""

# ruff: noqa: N803, N806  (X is what scikit-learn calls it)
from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.data.votes import from_two_classes, from_votes
from tunesmith.errors import TunesmithError
from tunesmith.inference.hypotheses import Direction
from tunesmith.metrics.classes import ClassMetric
from tunesmith.search.line.search import totals_along
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.fusion.vote import vote
from tunesmith.tuners.lp_mert import LPMERT
from tunesmith.tuners.plane import Plane

metrics = pytest.importorskip("sklearn.metrics")
pytestmark = pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:RuntimeWarning")

seeds = st.integers(0, 2**31)
SCORES = {
    "accuracy": metrics.accuracy_score,
    "balanced-accuracy": metrics.balanced_accuracy_score,
    "macro-f1": lambda y, p: metrics.f1_score(y, p, average="macro", zero_division=0),
    "mcc": metrics.matthews_corrcoef,
}


def votes_of(seed, rows=12, classes=3, models=2):
    """Return the true classes, and probabilities of models with many equal ones."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    y[:classes] = np.arange(classes)
    raw = rng.integers(1, 7, (models, rows, classes)) + 3.0 * rng.random() * np.eye(classes)[y]
    raw /= raw.sum(axis=2, keepdims=True)
    return y, {f"m{k}": raw[k] for k in range(models)}


def middles(places):
    ends = np.unique(np.clip(places, 0.0, 1.0))
    return [0.5 * (a + b) for a, b in itertools.pairwise(ends) if b - a > 1e-9]


@given(seeds, st.sampled_from(list(SCORES)), st.integers(2, 3))
def test_two_models_are_weighted_as_well_as_can_be(seed, name, classes):
    y, votes = votes_of(seed, classes=classes)
    first, second = votes.values()
    places = [0.0, 1.0]
    for a, b in itertools.combinations(range(classes), 2):
        rise = (second[:, a] - second[:, b]) - (first[:, a] - first[:, b])
        with np.errstate(all="ignore"):
            found = (first[:, b] - first[:, a]) / rise
        places += found[np.isfinite(found)].tolist()

    def score(alpha):
        return SCORES[name](y, ((1.0 - alpha) * first + alpha * second).argmax(axis=1))

    result = vote(votes, y, name, folds=0)
    assert result.score == pytest.approx(max(map(score, middles(places))), abs=1e-12)
    assert result.score == pytest.approx(SCORES[name](y, result.predict(votes)), abs=1e-12)
    for alpha in np.linspace(result.mix.low, result.mix.high, 7)[1:-1]:
        assert score(alpha) == pytest.approx(result.score, abs=1e-12)


@given(seeds, st.sampled_from([0.5, 1.0, 2.0]))
def test_a_threshold_is_as_good_as_any(seed, beta):
    y, votes = votes_of(seed, rows=25, classes=2, models=1)
    chances = votes["m0"][:, 1]

    def score(threshold):
        return metrics.fbeta_score(y, chances > threshold, beta=beta, zero_division=0)

    result = vote({"m0": chances}, y, f"f{beta:g}", weighted="classes", folds=0)
    best = max(score(place) for place in middles([0.0, 1.0, *chances]))
    assert result.score == pytest.approx(best, abs=1e-12)
    assert score(result.threshold) == pytest.approx(best, abs=1e-12)
    for place in np.linspace(*result.plateau, 7)[1:-1]:
        assert score(place) == pytest.approx(best, abs=1e-12)


@given(seeds, st.sampled_from(list(SCORES)), st.sampled_from(["models", "classes", "both"]))
def test_the_curve_along_a_line_is_a_scan_by_scikit_learn(seed, name, weighted):
    y, votes = votes_of(seed, models=3)
    task = TuningSet(from_votes(votes, y, weighted=weighted), ClassMetric.of(name, range(3)))
    rng = np.random.default_rng(seed)
    weights, direction = rng.normal(size=(2, len(task.names)))
    hypotheses = task.hypotheses()
    at, totals = totals_along(
        hypotheses.envelope(hypotheses.point(weights), Direction.of(direction, "line"))
    )
    ends = np.concatenate([at[:1] - 1.0, at, at[-1:] + 1.0]) if len(at) else np.array([-1.0, 1.0])
    for low, high, total in zip(ends[:-1], ends[1:], totals, strict=True):
        if high - low > 1e-9:
            scores = task.candidates.features.dot(weights + 0.5 * (low + high) * direction)
            predicted = scores.reshape(-1, 3).argmax(axis=1)
            assert task.metric.score(total) == pytest.approx(SCORES[name](y, predicted), abs=1e-12)


def fewest_errors(X, y):
    """Return the least 0-1 loss of lines, by all lines beside pairs of points."""
    least = min(y.sum(), (1 - y).sum())
    for i, j in itertools.combinations(range(len(X)), 2):
        along = X[j] - X[i]
        normal = np.array([-along[1], along[0]])
        middle = X @ normal - 0.5 * (X[i] + X[j]) @ normal
        for turn, shift in itertools.product((-1e-6, 1e-6), (-1e-6, 0.0, 1e-6)):
            side = middle + turn * (X - 0.5 * (X[i] + X[j])) @ along + shift
            wrong = int(((side > 0.0) != y).sum())
            least = min(least, wrong, len(y) - wrong)
    return least


@pytest.mark.parametrize("tuner", [Plane(), LPMERT(time_limit=600.0)], ids=["plane", "lp-mert"])
@pytest.mark.parametrize("seed", range(3))
def test_the_errors_of_a_line_are_the_fewest_there_are(tuner, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(16, 2))
    y = (X[:, 0] + rng.normal(size=16) > 0.3).astype(int)
    y[:2] = 0, 1
    task = TuningSet(from_two_classes(X, y), ClassMetric.of("accuracy", [0, 1]))
    result = tuner.fit(task)
    assert round(len(y) * (1.0 - result.score)) == fewest_errors(X, y)
    assert result.certificate["optimal"]
    chosen = X @ result.weights.aligned(task.names)[:2] + result.weights["intercept"] > 0.0
    assert (chosen == y).mean() == pytest.approx(result.score)


def test_more_models_are_never_worse_than_what_nobody_has_to_tune():
    y, votes = votes_of(5, rows=80, models=4)
    result = vote(votes, y, "macro-f1", folds=2)
    alone = [
        SCORES["macro-f1"](y, probabilities.argmax(axis=1)) for probabilities in votes.values()
    ]
    equal = SCORES["macro-f1"](y, sum(votes.values()).argmax(axis=1))
    assert result.score >= max(*alone, equal)
    scores = {one.name: one.score for one in result.baselines}
    assert scores == pytest.approx({"equal weights": equal, "best model": max(alone)})
    assert result.baselines[1].about == f"m{int(np.argmax(alone))}"
    assert result.verdict.on == "folds"
    assert sum(result.weights.values()) == pytest.approx(1.0)
    assert min(result.weights.values()) >= 0.0
    again = vote(votes, y, "macro-f1", folds=2)
    assert again.weights == result.weights
    assert json.loads(json.dumps(result.to_dict()))["weights"] == dict(result.weights)
    assert "best single model: m" in str(result)


def test_classes_are_predicted_as_they_were_given():
    y, votes = votes_of(1, classes=2)
    words = np.array(["no  way", "yes"])
    result = vote(votes, words[y], folds=0)
    assert {*result.predict(votes).tolist()} <= {*words.tolist()}
    assert result.threshold is None
    assert result.verdict.recommendation == "no-held-out-data"


def test_what_does_not_go_together_is_refused():
    y, votes = votes_of(1)
    with pytest.raises(TunesmithError, match="y is not given"):
        vote(votes, None)
    with pytest.raises(TunesmithError, match="unknown value of weighted 'model'"):
        vote(votes, y, weighted="model")
    with pytest.raises(TunesmithError, match="there are no votes of 'm1', which has a weight"):
        vote(votes, y, folds=0).predict({"m0": votes["m0"]})
