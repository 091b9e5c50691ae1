"""The tuner ``plane``: what it finds, what it proves and what it refuses."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from tests.helpers.builders import Loss, candidate_set, tuning_set
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.io.collector import Collector
from tunesmith.io.lists.moses import MosesFormat
from tunesmith.io.read import read
from tunesmith.io.streams import Source
from tunesmith.io.text.tokens import tokenize
from tunesmith.metrics.combination import Sum
from tunesmith.parallel.local import threads
from tunesmith.search.plane import search
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners import plane as tuner
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.plane import Plane

THREE = ["LM0", "WordPenalty0", "TranslationModel0_1"]


@pytest.fixture(scope="module")
def lists(bundled):
    return read(bundled / "tune.nbest.gz", bundled / "tune.ref")


@pytest.fixture(scope="module")
def three(start):
    return {name: start[name] for name in THREE}


@pytest.mark.long
@pytest.mark.parametrize("metric", ["bleu", "wer"])
def test_three_features_of_real_lists(lists, three, metric):
    tuning = TuningSet(lists, metric)
    result = Plane().fit(tuning, three, keep=THREE)
    sign = 1.0 if tuning.metric.higher_is_better else -1.0
    other = MERT(restarts=5).fit(tuning, three, keep=THREE)
    assert sign * result.score >= sign * other.score - 1e-9
    candidates = lists.with_features(THREE)
    spread = np.array([np.std(row) for row in candidates.features.dense])
    for u in itertools.product((-1.0, -0.3, 0.1, 0.3, 1.0), repeat=3):
        score = tuning.score(best(candidates, np.array(u) / spread))
        assert sign * result.score >= sign * score - 1e-9
    certificate = result.certificate
    assert certificate["best"] == certificate["bound"] == pytest.approx(result.score, abs=1e-9)
    assert (certificate["gap"], certificate["optimal"]) == (0.0, True)
    assert certificate["tested"] == certificate["total"] == result.line_searches > 1000
    assert 0.0 < certificate["seconds"] <= result.seconds + 0.1
    assert certificate["within"] == "the kept features"


@pytest.mark.long
def test_two_of_many_features(lists, start):
    tuning = TuningSet(lists, "bleu")
    result = Plane(features=("LM0,WordPenalty0",)).fit(tuning, start, normalise="none")
    assert result.certificate["within"] == "the plane of LM0 and WordPenalty0"
    others = [name for name in result.weights if name not in ("LM0", "WordPenalty0")]
    assert {name: result.weights[name] for name in others} == {n: start[n] for n in others}
    names = lists.features.names
    held = start.aligned(names)
    for x, y in itertools.product(np.linspace(0.2, 1.2, 9), np.linspace(-2.0, 0.0, 9)):
        held[names.index("LM0")], held[names.index("WordPenalty0")] = x, y
        assert result.score >= tuning.score(best(lists, held)) - 1e-9
    assert result.score > result.initial_score + 0.1
    again = Plane(features=("LM0", "WordPenalty0")).fit(tuning, result.weights)
    assert again.score == result.score


@pytest.mark.long
def test_the_scale_is_about_that_of_the_start(lists, three):
    tuning = TuningSet(lists, "wer")
    small = Plane().fit(tuning, {name: 1e-3 * three[name] for name in THREE}, keep=THREE)
    large = Plane().fit(tuning, three, keep=THREE)
    sizes = [max(abs(r.weights[n]) for n in THREE) for r in (small, large)]
    assert 1e-4 < sizes[0] / sizes[1] < 1e-2
    assert small.score == large.score


def test_a_start_that_nothing_beats_is_kept():
    # The first candidate is in the middle of the others: it wins on the tie of all, at 0.
    square = [[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]]
    tuning = tuning_set([square], [[5.0, 1.0, 2.0, 3.0, 4.0]])
    result = Plane().fit(tuning, {"f0": 0.0, "f1": 0.0})
    assert (result.score, dict(result.weights)) == (5.0, {"f0": 0.0, "f1": 0.0})
    assert result.certificate["bound"] == 5.0
    assert Plane().fit(tuning).score == 4.0


@pytest.mark.parametrize(
    ("metric", "bound"), [("bleu", 100.0), ("chrf", 100.0), (Sum(["bleu", "chrf"]), None)]
)
def test_a_stop_in_time_leaves_a_bound(monkeypatch, lists, three, metric, bound):
    ticks = itertools.count()
    for module in (search, tuner):
        monkeypatch.setattr(module, "working_seconds", ticks.__next__)
    monkeypatch.setattr(search, "PIECE", 8)
    tuning = TuningSet(lists, metric)
    with threads(1):
        result = Plane(time_limit=5.0).fit(tuning, three, keep=THREE)
    certificate = result.certificate
    assert certificate["optimal"] is False
    assert 0 < certificate["tested"] < certificate["total"]
    assert certificate["best"] == pytest.approx(result.score, abs=1e-9)
    assert certificate["bound"] == bound
    assert certificate["gap"] == (None if bound is None else pytest.approx(bound - result.score))
    assert result.score >= result.initial_score


def test_the_bound_of_a_sum_is_the_oracle(monkeypatch):
    ticks = itertools.count()
    for module in (search, tuner):
        monkeypatch.setattr(module, "working_seconds", ticks.__next__)
    rng = np.random.default_rng(2)
    blocks = [rng.normal(size=(6, 3)).tolist() for _ in range(10)]
    values = [rng.integers(0, 100, 6).tolist() for _ in blocks]
    tuning = tuning_set(blocks, values, metric=Loss())
    truth = Plane().fit(tuning)
    certificate = Plane(time_limit=0.5).fit(tuning).certificate  # no time at all
    assert (certificate["tested"], certificate["optimal"]) == (0, False)
    assert certificate["bound"] == pytest.approx(np.mean([min(v) for v in values]))
    assert certificate["bound"] <= truth.score <= certificate["best"]
    assert certificate["gap"] == pytest.approx(certificate["best"] - certificate["bound"])


def test_what_is_refused(lists):
    tuning = TuningSet(lists, "bleu")
    with pytest.raises(UsageError, match=r"14 features.*--features A,B, --keep three, or.*mert"):
        Plane().fit(tuning)
    with pytest.raises(UnknownNameError, match="LM1"):
        Plane(features=("LM0", "LM1")).fit(tuning)
    for names in (("LM0",), ("LM0", "LM0"), ("a,b,c",)):
        with pytest.raises(UsageError, match="give two different ones"):
            Plane(features=names)
    for options in ({"time_limit": 0.0}, {"tolerance": 0.0}, {"tolerance": 1.0}):
        with pytest.raises(UsageError, match=r"(time-limit|tolerance) is"):
            Plane(**options)
    with pytest.raises(TunesmithError, match="no features"):
        Plane().fit(tuning_set([[[], []]], [[1.0, 2.0]]))


def test_features_that_are_named_where_there_are_no_others():
    blocks = [[[0, 0], [1, 2], [2, -1]], [[0, 1], [3, 0]]]
    tuning = TuningSet(
        candidate_set(blocks, (), ["a", "b", "a b", "c", "a"], [["a b"], ["a"]]), "wer"
    )
    named = Plane(features="f1,f0").fit(tuning)
    assert "within" not in named.certificate
    assert named.score == Plane().fit(tuning).score == 0.0


def test_values_too_far_apart_for_a_radius():
    lines = "0 ||| a b ||| f= 2 ||| 0\n0 ||| c ||| f= -1e300 ||| 0\n1 ||| d ||| f= 0.5 ||| 0\n"
    lines += "1 ||| a d ||| f= -0.25 ||| 0\n1 ||| d d ||| f= 3 ||| 0\n"
    collector = Collector()
    MosesFormat().read(Source("f", lines.encode()), collector)
    references = tokenize(b"c\nd d\n", collector.vocabulary)
    tuning = TuningSet(collector.finish([("r", references)]), "sentence-bleu")
    result = Plane().fit(tuning)
    json.dumps(result.to_dict(), allow_nan=False)
    assert np.isfinite(result.weights["f"])
