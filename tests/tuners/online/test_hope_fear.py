"""Learning from one sentence after the other, held against Algorithm 1 written out plainly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set, tuning_set
from tests.helpers.tiers import examples
from tests.helpers.tuners.online import WIDTH, easy, random_texts
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing import check_tuner
from tunesmith.tuners.online.arow import AROW
from tunesmith.tuners.online.hope_fear import HopeFear
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.online.perceptron import Perceptron
from tunesmith.tuners.online.sgd import SGD

ALL = [Perceptron, SGD, MIRA, AROW]


class Plain:
    """Algorithm 1, with full vectors and nothing clever; fear and reference by enumeration."""

    def __init__(self, tuner: HopeFear, tuning, objective, start, rng):
        candidates = tuning.candidates
        features = candidates.features
        self.tuner, self.tuning, self.rng = tuner, tuning, rng
        self.vectors = np.column_stack([features.dense.T, features.sparse.toarray()])
        self.scorer = objective.begin(tuning, "examples")
        self.weights = start.copy()
        self.rates = np.full(len(start), tuner.rate)
        if tuner.scale:
            for d in range(len(features.dense_names)):
                away = [
                    self.vectors[a:b, d] - self.vectors[a:b, d].mean()
                    for a, b in zip(candidates.start[:-1], candidates.start[1:], strict=True)
                ]
                deviation = np.sqrt(np.mean(np.square(np.concatenate(away))))
                self.rates[d] /= deviation**2 or 1.0  # a feature that is constant
        self.seen = []

    def is_reference(self, group, row):
        return self.tuning.candidates.text(row) in self.tuning.candidates.reference_texts(group)

    def target(self, group, rows, scores, values, mu):
        kind = self.tuner.reference
        places = list(range(len(rows)))
        if kind == "hope":
            return max(places, key=lambda k: scores[k] - mu * values[k])
        if kind == "bold":
            places = [k for k in places if self.is_reference(group, rows[k])]
            return max(places, key=lambda k: scores[k], default=None)
        if kind == "local":
            places = sorted(places, key=lambda k: -scores[k])[: self.tuner.local_best]
        return max(places, key=lambda k: (values[k], scores[k]))

    def epoch(self, mu):
        start, total = self.tuning.candidates.start, 0
        for group in self.rng.permutation(len(start) - 1):
            rows = range(start[group], start[group + 1])
            values = self.scorer.values(rows[0], rows[-1] + 1).copy()
            scores = [float(self.weights @ self.vectors[row]) for row in rows]
            best = max(range(len(rows)), key=lambda k: scores[k])
            target = self.target(group, rows, scores, values, mu)
            if target is not None:
                away = best
                if isinstance(self.tuner, SGD):
                    away = max(range(len(rows)), key=lambda k: scores[k] - values[k])
                apart = self.vectors[rows[target]] - self.vectors[rows[away]]
                self.weights = self.weights + self.rates * apart
            self.scorer.add(self.scorer.stats[rows[best]])
            total = total + self.scorer.stats[rows[best]]
            self.seen.append(self.weights)
        self.scorer.end_round(total)
        return np.mean(self.seen, axis=0) if self.tuner.average else self.weights


@settings(max_examples=examples(150))
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([Perceptron, SGD]),
    st.sampled_from(["hope", "max-bleu", "local", "bold"]),
    st.sampled_from(["document", "bleu+1", "scaled"]),
    st.booleans(),
    st.booleans(),
)
def test_algorithm_1_written_out(seed, kind, reference, objective, average, scale):
    tuning = random_texts(seed)
    rng = np.random.default_rng(seed)
    start = rng.normal(size=WIDTH)
    own = {"hope": {"mu": -0.8, "mu_decay": 0.5}, "local": {"local_best": 2}}.get(reference, {})
    tuner = kind(reference=reference, average=average, scale=scale, epochs=4, rate=0.3, **own)
    about = tuning, objective_of(objective), start
    plain = Plain(tuner, *about, np.random.default_rng(seed + 1))
    found = tuner.rounds(*about[:2], start.copy(), np.random.default_rng(seed + 1))
    for epoch, one in enumerate(found):
        assert one.weights == pytest.approx(plain.epoch(-0.8 * 0.5**epoch), rel=1e-9, abs=1e-9)
    assert epoch == 3


@pytest.mark.parametrize("kind", ALL)
def test_a_reference_that_is_not_there_teaches_nothing(kind):
    texts = ["the cat", "a cat", "a dog", "two dogs"]
    vectors = [[[1.0], [2.0]], [[3.0], [1.0]]]
    tuning = TuningSet(candidate_set(vectors, (), texts, [["the mat"], ["the dogs"]]), "bleu")
    found = list(
        kind(reference="bold", epochs=2).rounds(
            tuning, objective_of("bleu+1"), np.array([0.5]), np.random.default_rng(1)
        )
    )
    assert [one.weights.tolist() for one in found] == [[0.5], [0.5]]
    assert [one.entry for one in found] == [{"changes": 0}] * 2


@pytest.mark.parametrize("kind", ALL)
def test_the_size_of_a_dense_feature_changes_nothing(kind):
    tuning = random_texts(5)
    features = tuning.candidates.features
    larger = features.dense * np.array([[2.0**20], [1.0], [2.0**-9]])
    rows = np.column_stack([larger.T, features.sparse.toarray()])
    groups = np.split(rows, tuning.candidates.start[1:-1])
    other = TuningSet(candidate_set(groups, (3, 4)), tuning.metric, tuning.stats)
    factor = np.array([2.0**20, 1.0, 2.0**-9, 1.0, 1.0])
    start = np.array([0.3, -0.2, 0.1, 0.4, 0.2])
    found = kind().tune(tuning, start, np.random.default_rng(2)).weights
    again = kind().tune(other, start / factor, np.random.default_rng(2)).weights
    assert not np.allclose(found, start)
    assert again * factor == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("kind", ALL)
def test_weights_begin_as_asked(kind):
    tuning = easy()
    tuner = kind(initial=["f*=0.5", "f1=-2"], feature_rate="f1=0")
    assert tuner.own_start(tuning).tolist() == [0.5, -2.0, 0.5]
    assert kind().own_start(tuning).tolist() == [0.0, 0.0, 0.0]
    result = tuner.fit(tuning, normalise="none")
    assert dict(result.start) == {"f0": 0.5, "f1": -2.0, "f2": 0.5}
    assert result.weights["f1"] == -2.0  # nothing is learnt for it
    assert result.weights["f0"] > 0.5
    assert kind(initial={"f*": 0.5, "f1": -2}) == kind(initial=["f*=0.5", "f1=-2"])


def test_rates_by_name_and_size():
    tuning = easy()
    spread = 1.0 / SGD(scale=True, rate=1.0).rates(tuning) ** 0.5
    groups = np.split(tuning.candidates.features.dense.T, tuning.candidates.start[1:-1])
    away = np.concatenate([group - group.mean(axis=0) for group in groups])
    assert spread == pytest.approx(np.sqrt(np.mean(away**2, axis=0)))
    tuner = SGD(feature_rate=["f*=0.25", "f2=2"], scale=False)
    assert tuner.rates(tuning).tolist() == [0.25, 0.25, 2.0]
    assert SGD(feature_rate=["f0=0.25"], scale=False).rates(tuning).tolist() == [0.25, 0.01, 0.01]
    scaled = SGD(feature_rate=["f0=0.25"]).rates(tuning)
    assert scaled * spread**2 == pytest.approx([0.25, 0.01, 0.01])


@pytest.mark.parametrize("kind", ALL)
def test_what_is_easy_is_learnt(kind):
    result = kind(epochs=30).fit(easy(), {"f0": -0.3, "f1": 0.3, "f2": 0.1})
    assert result.initial_score < 0.5 < 0.98 * result.oracle_score < result.score
    assert [entry["round"] for entry in result.history] == list(range(31))


@pytest.mark.parametrize("kind", ALL)
def test_the_best_epoch_can_be_kept(kind):
    # Values that features say nothing about: what is learnt is worse than a lucky start.
    rng = np.random.default_rng(6)
    tuning = tuning_set(rng.normal(size=(9, 4, 3)), rng.random((9, 4)))
    for seed in range(5):
        start = dict(zip(("f0", "f1", "f2"), rng.normal(size=3).tolist(), strict=True))
        result = kind(pick="best").fit(tuning, start, rng=seed)
        assert result.score == max(entry["score"] for entry in result.history)
        assert result.score >= result.initial_score


@pytest.mark.long
@pytest.mark.parametrize(
    "tuner",
    [
        Perceptron(average=False, pick="best"),
        SGD(reference="local", scale=False, local_best=3),
        MIRA(reference="max-bleu", objective="metric", epochs=20),
        AROW(average=False, reference="local", confidence=0.0),
    ],
)
def test_other_options_conform(tuner):
    check_tuner(tuner)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epochs": 0}, "epochs is 0; give 1 or more"),
        ({"local_best": 0}, "local-best is 0; give 1 or more"),
        ({"rate": 0.0}, "rate is 0; give a number above 0"),
        ({"rate": float("nan")}, "rate is nan; give a number above 0"),
        ({"mu": 0.5}, "mu is 0.5; give 0 or less"),
        ({"mu_decay": 0.0}, "mu-decay is 0; give a number above 0"),
        ({"mu_decay": 1.5}, "mu-decay is 1.5; give 1 or less"),
        ({"feature_rate": "LM"}, "feature-rate 'LM' is no pattern and number; write 'LM*=1'"),
        ({"feature_rate": "=1"}, "feature-rate '=1' is no pattern and number; write 'LM*=1'"),
        ({"feature_rate": "a=-1"}, "the learning rate of 'a' is -1; give 0 or more"),
        ({"initial": ["a=1", "b=x"]}, "initial 'b=x' is no pattern and number; write 'LM*=1'"),
        ({"initial": "a=inf"}, "initial 'a=inf' is no pattern and number; write 'LM*=1'"),
    ],
)
def test_wrong_options(options, said):
    for kind in ALL:
        with pytest.raises(UsageError) as caught:
            kind(**options)
        assert str(caught.value) == said


def test_unknown_ways_to_choose_a_reference():
    with pytest.raises(UnknownNameError, match="hope"):
        SGD(reference="fear")


def test_patterns_must_match():
    for field in ("feature_rate", "initial"):
        flag = field.replace("_", "-")
        with pytest.raises(UsageError, match=f"{flag} 'LM\\*' matches no feature"):
            SGD(**{field: "LM*=1"}).fit(easy())


def test_initial_weights_go_without_others():
    with pytest.raises(UsageError, match="initial goes without starting weights; drop one"):
        SGD(initial="f0=1").fit(easy(), {"f0": 1.0, "f1": 1.0, "f2": 1.0})


def test_options_of_another_reference_are_refused():
    for field, value, owner in (("mu", -2.0, "hope"), ("local_best", 3, "local")):
        flag = field.replace("_", "-")
        with pytest.raises(UsageError, match=f"{flag} goes with reference {owner}; drop it"):
            SGD(reference="max-bleu", **{field: value})


def test_bold_says_that_it_learnt_nothing():
    texts = ["the cat", "a cat", "a dog", "two dogs"]
    lists = candidate_set([[[1.0], [2.0]], [[3.0], [1.0]]], (), texts, [["the mat"], ["the dogs"]])
    with pytest.warns(UserWarning, match="no candidate is a reference.*use --reference hope"):
        SGD(reference="bold").fit(TuningSet(lists))


def test_bold_needs_texts():
    with pytest.raises(TunesmithError, match="another --reference than bold"):
        SGD(reference="bold").fit(easy())


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e100])
@pytest.mark.parametrize("scale", [True, False])
def test_sizes_beyond_all_measure_give_numbers(kind, size, scale):
    for start in (None, np.ones(2)):
        found = kind(scale=scale).tune(of_size(size), start, np.random.default_rng(1))
        assert np.isfinite(found.weights).all()


def of_size(size):
    rng = np.random.default_rng(0)
    return tuning_set(rng.normal(size=(6, 4, 2)) * np.array([size, 1.0]), rng.random((6, 4)))


@pytest.mark.parametrize("kind", [Perceptron, SGD])
def test_what_cannot_be_computed_is_an_error(kind):
    with pytest.raises(TunesmithError, match="model scores are too large to compare"):
        kind(scale=False).tune(of_size(1e300), None, np.random.default_rng(1))
    with pytest.raises(TunesmithError, match="the weight of f0 is not finite after epoch 1; give"):
        kind(scale=False, rate=1e10).tune(of_size(1e300), None, np.random.default_rng(1))
