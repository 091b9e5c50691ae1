"""Metrics of classifiers are those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.data.votes import from_votes
from tunesmith.errors import TunesmithError
from tunesmith.metrics.classes import ClassMetric

metrics = pytest.importorskip("sklearn.metrics")

LABELS = ["cat", "big dog", "eel"]
#: Our names, and what scikit-learn computes for them of (y, predicted).
SKLEARN = {
    "accuracy": metrics.accuracy_score,
    "balanced-accuracy": metrics.balanced_accuracy_score,
    "micro-f1": lambda y, p: metrics.f1_score(y, p, average="micro"),
    "macro-f1": lambda y, p: metrics.f1_score(y, p, average="macro", zero_division=0),
    "macro-f0.5": lambda y, p: metrics.fbeta_score(
        y, p, beta=0.5, average="macro", zero_division=0
    ),
    "mcc": metrics.matthews_corrcoef,
    "kappa": lambda y, p: metrics.cohen_kappa_score(y, p, labels=LABELS),
    "linear-kappa": lambda y, p: metrics.cohen_kappa_score(y, p, labels=LABELS, weights="linear"),
    "quadratic-kappa": lambda y, p: metrics.cohen_kappa_score(
        y, p, labels=LABELS, weights="quadratic"
    ),
}
rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=25)
ignored = pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:RuntimeWarning")


@ignored
@given(rows, st.sampled_from(list(SKLEARN)))
def test_scores_are_those_of_scikit_learn(pairs, name):
    y, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    metric = ClassMetric.of(name, LABELS)
    score = metric.score(metric.counts(predicted, y).sum(axis=0))
    words = np.array(LABELS)
    expected = SKLEARN[name](words[y], words[predicted])
    # Without any error that could be expected, kappa has no divisor.
    assert score == pytest.approx(np.nan_to_num(expected), abs=1e-12)


@given(rows, st.sampled_from(["f1", "f2", "f0.5"]), st.sampled_from(LABELS))
def test_f_of_one_class_is_that_of_scikit_learn(pairs, name, positive):
    y, predicted = (np.array(LABELS)[list(column)] for column in zip(*pairs, strict=True))
    metric = ClassMetric.of(name, LABELS, positive)
    total = sum(metric.stats(p, [t]) for p, t in zip(predicted, y, strict=True))
    expected = metrics.fbeta_score(
        y == positive, predicted == positive, beta=float(name[1:]), zero_division=0
    )
    assert metric.score(total) == pytest.approx(expected, abs=1e-12)


@given(rows, st.sets(st.sampled_from(LABELS), min_size=1))
def test_micro_f_counts_some_classes_together(pairs, counted):
    y, predicted = (np.array(LABELS)[list(column)] for column in zip(*pairs, strict=True))
    metric = ClassMetric.of("micro-f2", LABELS, sorted(counted))
    total = sum(metric.stats(p, [t]) for p, t in zip(predicted, y, strict=True))
    expected = metrics.fbeta_score(
        y, predicted, beta=2, labels=sorted(counted), average="micro", zero_division=0
    )
    assert metric.score(total) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 2**31), st.sampled_from([*SKLEARN, "f1"]))
def test_sets_and_texts_agree_and_scores_take_any_shape(seed, name):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 6)
    candidates = from_votes({"m": rng.random((6, 3))}, np.array(LABELS)[y], LABELS)
    metric = ClassMetric.of(name, LABELS, "eel" if name == "f1" else ())
    stats = metric.candidate_stats(candidates)
    assert stats.shape == (18, len(metric.stat_names))
    for row in range(18):
        text = metric.stats(candidates.text(row), candidates.reference_texts(row // 3))
        assert text.tolist() == stats[row].tolist()
    many = stats.reshape(2, 3, 3, -1)
    flat = [float(metric.score(row)) for row in stats]
    assert np.asarray(metric.score(many)).ravel().tolist() == flat


def test_of_two_classes_f_is_about_the_second():
    assert ClassMetric.of("f1", [0, 1]).positive == ("1",)
    assert ClassMetric.of("f1", [0.0, 1.0], 0).positive == ("0",)
    assert ClassMetric.of("macro_f1", ["a", "b"]).name == "macro-f1"


@pytest.mark.parametrize(
    ("name", "labels", "positive", "message"),
    [
        ("acuracy", "ab", (), "unknown metric of classifiers 'acuracy'; did you mean accuracy"),
        ("f", "ab", (), "unknown metric of classifiers 'f'"),
        ("f1", "abc", (), "f is about one class of 3; say which, or take macro-f1"),
        ("f1", "abc", ["a", "b"], "f is about one class; take micro-f1 for several"),
        ("f1", "ab", "x", "unknown class 'x'"),
        ("mcc", "ab", "a", "positive has no effect on mcc; drop it"),
        ("mcc", "a", (), "fewer than two classes; give each class once"),
        ("mcc", "aa", (), "'a' twice; give each class once"),
        ("f0", "ab", (), "give a number above 0"),
    ],
)
def test_wrong_metrics_are_errors_of_one_line(name, labels, positive, message):
    with pytest.raises(TunesmithError, match=message) as error:
        ClassMetric.of(name, list(labels), positive)
    assert "\n" not in str(error.value)


def test_texts_that_are_no_classes_are_refused():
    metric = ClassMetric.of("accuracy", ["yes", "no"])
    with pytest.raises(TunesmithError, match="unknown class 'nope'"):
        metric.stats("nope", ["yes"])
    with pytest.raises(TunesmithError, match="2 true classes of a row; give one reference"):
        metric.stats("no", ["yes", "no"])
    other = from_votes({"m": [[0.5, 0.5]]}, ["maybe not"], ["maybe not", "no"])
    with pytest.raises(TunesmithError, match="unknown class 'maybe not'"):
        metric.candidate_stats(other)
