"""A committee: its members, their average, and how far held-out sentences support it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.builders import Loss, tuning_set
from tests.helpers.cli.commands import python
from tests.helpers.inference.forest_sets import one_node_forests, options
from tests.helpers.loop.runs import DEV, TEST, plain
from tests.helpers.loop.toy import Toy, sentences
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.interruption import interruptible
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.metrics.bleu import BLEU
from tunesmith.parallel.local import threads
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing.samples import line_problem
from tunesmith.testing.tuners import tuner_checks
from tunesmith.tuners.auto import FEW_FEATURES, FEW_SENTENCES, PRIOR_SENTENCES, STEPS, Auto
from tunesmith.tuners.base import TUNERS, Outcome, Tuner
from tunesmith.tuners.fitting.folds import Folds
from tunesmith.tuners.fitting.verdict import PairedStatistics, judge
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.pro.pro import PRO
from tunesmith.tuners.ramp import Ramp

#: Members that take little time, and some that draw nothing at random.
CHEAP = ("mert:restarts=0,walks=0", "batch-mira:passes=3")
CERTAIN = (
    CHEAP[0],
    "mert:restarts=0,walks=0,axes=false",
    "mert:restarts=0,walks=0,directions=gradient",
)
QUICK = Auto(member=CHEAP)
BEGIN = {"good": -1.0, "bad": 0.5, "Other": 0.1}


@dataclass(frozen=True)
class Fixed(Tuner):
    """Returns given weights; fails, or has Ctrl-C pressed, at its n-th run."""

    name = "fixed"
    takes_forests = True

    vector: tuple[float, ...] = ()
    fails: int = 0
    pressed: int = 0

    def tune(self, tuning, start, rng):
        runs = vars(self).setdefault("runs", [])
        runs.append(tuning)
        if len(runs) == self.fails:
            raise TunesmithError(f"{self.vector} cannot; give another")
        if len(runs) == self.pressed:
            signal.raise_signal(signal.SIGINT)
        return Outcome(np.array(self.vector))


@pytest.fixture
def committee(monkeypatch):
    """Return a function that makes a committee of given tuners."""

    def of(**members):
        monkeypatch.setattr(Auto, "members", lambda self, count: dict(members))
        return Auto()

    return of


def chosen_stats(tuning, weights):
    """Return the statistics of what weights choose, by numpy alone."""
    values = np.asarray(weights) @ tuning.candidates.features.dense
    winners = [
        a + int(np.argmax(values[a:b])) for a, b in itertools.pairwise(tuning.candidates.start)
    ]
    return tuning.stats[winners]


def at_scale(tuning, weights):
    """Divide weights by the deviation of their scores from the mean of their sentence."""
    values = np.asarray(weights) @ tuning.candidates.features.dense
    bounds = itertools.pairwise(tuning.candidates.start)
    squares = sum(((values[a:b] - values[a:b].mean()) ** 2).sum() for a, b in bounds)
    return np.asarray(weights) / np.sqrt(squares / len(values))


def aligned(weights, tuning):
    return np.array([weights.get(name, 0.0) for name in tuning.names])


def same_direction(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    np.testing.assert_allclose(
        found / np.linalg.norm(found), expected / np.linalg.norm(expected), rtol=1e-7, atol=1e-9
    )


def shown_members(result):
    return [entry["member"] for entry in result.committee["members"]]


@pytest.fixture(scope="module")
def some(real):
    return real["tune"].part(range(60))


@pytest.fixture(scope="module")
def line():
    return line_problem(("good", "bad", "Other"))


# Who takes part


def test_the_usual_members():
    few, many = Auto().members(FEW_FEATURES), Auto().members(FEW_FEATURES + 1)
    assert list(few) == ["mert", "batch-mira", "ramp", "pro"]
    # With many features MERT without a penalty fits the tuning set alone.
    assert list(many) == ["batch-mira", "ramp", "pro"]
    assert all(few[name].name == name for name in few)
    assert list(Auto(member=("pro", "mert:restarts=3")).members(5)) == ["pro", "mert:restarts=3"]


def test_members_are_those_of_the_kept_features(committee, monkeypatch):
    counts = []
    fixed = {"one": Fixed((1.0, 0.0))}
    monkeypatch.setattr(Auto, "members", lambda self, count: counts.append(count) or fixed)
    vectors = np.random.default_rng(1).normal(size=(12, 3, 4))
    tuning = tuning_set(vectors, np.arange(36.0).reshape(12, 3))
    Auto().fit(tuning, keep=["f0", "f3"])
    assert counts[-1] == 2


def test_with_restrictions_all_members_hold_them():
    groups = {"tie": ["f2=f3"], "scale_together": ["f4,f5"]}
    restricted = Auto(fix=["LM0=1"], bound=["f1=0:"], non_negative=True, **groups)
    members = restricted.members(9)
    assert members.keys() == Auto().members(9).keys()
    for member in members.values():
        for name in ("fix", "bound", "tie", "scale_together", "non_negative", "sum_to_one"):
            assert getattr(member, name) == getattr(restricted, name)
    with pytest.raises(UsageError, match="member plane cannot hold restrictions on weights; leave"):
        Auto(member=("mert", "plane"), fix=["LM0=1"]).members(9)


def test_who_cannot_tune_for_a_metric_stays_out(some, start, monkeypatch):
    def refuse(self, metric):
        raise UsageError("not this metric; give another")

    monkeypatch.setattr(PRO, "check_metric", refuse)
    committee = {"pro": PRO(), "mert": MERT(restarts=0, walks=0)}
    with monkeypatch.context() as patch:
        patch.setattr(Auto, "members", lambda self, count: dict(committee))
        Auto().check_metric(some.metric)
        assert shown_members(Auto().fit(some, start)) == ["mert"]
    # One that was asked for by name does not stay out without a word.
    with pytest.raises(UsageError, match="not this metric"):
        Auto(member=("pro", CHEAP[0])).check_metric(some.metric)
    monkeypatch.setattr(Auto, "members", lambda self, count: {"pro": PRO()})
    with pytest.raises(UsageError, match="not this metric"):
        Auto().fit(some, start)


def test_a_metric_is_refused_before_anything_is_read():
    with pytest.raises(TunesmithError, match="sum over sentences"):
        Auto(member=("lp-mert",)).check_metric(BLEU())


def test_on_forests_only_those_that_take_them(monkeypatch):
    forests, _, rng = one_node_forests(3, groups=12, size=3)
    tuning = ForestTuning(forests, "bleu")
    begin = dict(zip(tuning.names, rng.normal(size=3), strict=True))
    vector = (1.0, 0.5, 0.2)
    unable = Fixed(vector)
    monkeypatch.setattr(Ramp, "takes_forests", False)
    members = {"ramp": Ramp(), "fixed": unable}
    with monkeypatch.context() as patch:
        patch.setattr(Auto, "members", lambda self, count: dict(members))
        assert shown_members(Auto().fit(tuning, begin)) == ["fixed"]
    for names in (("ramp",), ("ramp", "batch-mira")):
        with pytest.raises(UsageError, match="ramp works on lists"):
            Auto(member=names).fit(tuning, begin)
        with pytest.raises(UsageError, match="ramp works on lists"):
            Auto(member=names).check_forests(True)
        Auto(member=names).check_forests(False)


def test_what_cannot_be_a_member():
    with pytest.raises(UnknownNameError, match="tuner"):
        Auto(member=("prost",))
    with pytest.raises(UsageError, match="twice"):
        Auto(member=("pro", "pro"))
    with pytest.raises(UsageError, match="auto cannot be a member of itself; name others"):
        Auto(member=("auto",))
    with pytest.raises(UsageError, match="several settings; give each by itself"):
        Auto(member=("mira:pick=dev",))
    with pytest.raises(UsageError, match="parts"):
        Auto(parts=1)


def test_the_former_name_of_a_member(some, start):
    with pytest.warns(DeprecationWarning, match="contender of auto is deprecated; use member"):
        former = Auto(contender=CHEAP)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        result = former.fit(some, start, rng=1)
        former.after([])
    assert result.weights == QUICK.fit(some, start, rng=1).weights
    assert shown_members(result) == list(CHEAP)
    assert former == QUICK
    assert former.signature() == QUICK.signature()
    with pytest.raises(UsageError, match="former name of member; drop it"):
        Auto(member=CHEAP, contender=CHEAP)


# Those that fail


def test_one_that_fails_is_told_and_stays_out(line, committee):
    good = (1.0, 0.0, 0.0)
    begin = {"good": 0.1, "bad": 0.5, "Other": 0.3}
    tuner = committee(bad=Fixed((-1.0, 0.0, 0.0), fails=3), good=Fixed(good))
    with pytest.warns(UserWarning, match="bad failed, and takes no part: .* cannot; give") as said:
        result = tuner.fit(line, begin)
    assert len([one for one in said if "failed" in str(one.message)]) == 1
    assert any("bad failed" in text for text in result.warnings)
    bad, well = result.committee["members"]
    assert bad["failed"]
    assert not bad["takes_part"]
    assert bad["score"] is None
    assert well["takes_part"]
    assert "failed" not in well
    assert " failed " in str(result)
    alone = committee(good=Fixed(good)).fit(line, begin)
    assert result.weights == alone.weights
    assert result.committee["step"] == alone.committee["step"]


def test_if_all_fail_the_last_error_is_told(line, committee):
    tuner = committee(one=Fixed((1.0, 0.0, 0.0), fails=1), other=Fixed((2.0, 0.0, 0.0), fails=4))
    with pytest.raises(TunesmithError, match=r"\(2.0, .*\) cannot"):
        tuner.fit(line)


def test_a_real_failure_is_told_too(some, start):
    names = ("pro:select=difference:least=5", CHEAP[0])  # no pair differs by so much
    with pytest.warns(UserWarning, match="pro:select=difference:least=5 failed"):
        result = Auto(member=names).fit(some, start)
    assert [entry["takes_part"] for entry in result.committee["members"]] == [False, True]


def test_warnings_say_whom_they_are_about_and_once():
    tuning = tuning_set([[[1.0], [2.0]]] * 12, [[0.5, 0.5]] * 12)  # all are worth the same
    with pytest.warns(UserWarning, match="pro: nothing was learnt") as said:
        result = Auto(member=("pro", CHEAP[0])).fit(tuning, {"f0": 1.0})
    texts = [str(one.message) for one in said]
    assert len(texts) == len({*texts})
    assert result.warnings == texts


# The average, and how far it is taken


def by_hand(tuning, start, names, parts, dev=None):
    """Return the weights and the step of the definition, with plain numpy."""
    folds = Folds.of(tuning.groups, parts)
    metric, n = tuning.metric, tuning.groups
    begin = at_scale(tuning, aligned(start, tuning))
    trained = [tuning.part(folds.rest(k)) for k in range(parts)] + [tuning]
    found = {
        name: [
            at_scale(
                tuning,
                TUNERS.create(name)
                .tune(part, aligned(start, tuning), np.random.default_rng(99))
                .weights,
            )
            for part in trained
        ]
        for name in names
    }

    def output(every):
        rows = np.empty((n, tuning.stats.shape[1]))
        for k, weights in enumerate(every[:parts]):
            held = folds.held_out(k)
            rows[held] = chosen_stats(tuning.part(held), weights)
        if dev is None:
            return rows
        return np.concatenate([rows, chosen_stats(dev, np.mean(every[:parts], axis=0))])

    def resampled(rows):
        count = len(rows)
        drawn = np.random.default_rng(count).integers(0, count, (2000, count))
        return np.array([metric.score(rows[own].sum(axis=0)) for own in drawn])

    alone = {name: output(every) for name, every in found.items()}
    scores = {name: float(metric.score(rows.sum(axis=0))) for name, rows in alone.items()}
    drawn = {name: resampled(rows) for name, rows in alone.items()}
    best = max(names, key=scores.get)
    chosen = [
        name
        for name in names
        if scores[best] - scores[name] <= 2.0 * (drawn[best] - drawn[name]).std()
    ]

    shares = {name: float(name in chosen) / len(chosen) for name in names}
    *averages, whole = [
        at_scale(tuning, sum(shares[name] * found[name][k] for name in names))
        for k in range(parts + 1)
    ]
    outputs = [output([(1 - s) * begin + s * own for own in averages]) for s in STEPS]
    best_steps = np.array([resampled(rows) for rows in outputs]).argmax(axis=0)
    count = len(outputs[0])
    step = min(np.mean(np.array(STEPS)[best_steps]), 1.0) * count / (count + 10)
    bagged = at_scale(tuning, np.mean(averages, axis=0))
    average = at_scale(tuning, bagged + whole)
    after = output([(1 - step) * begin + step * own for own in averages])[:n]
    statistics = PairedStatistics(chosen_stats(tuning, begin), after, folds.fold)
    return {
        "weights": (1 - step) * begin + step * average,
        "step": step,
        "scores": scores,
        "shares": shares,
        "verdict": judge(metric, statistics, "folds"),
        "steps": [float(metric.score(rows.sum(axis=0))) for rows in outputs],
    }


@pytest.mark.long
@pytest.mark.parametrize(("parts", "with_dev"), [(3, False), (5, False), (3, True)])
def test_weights_are_those_of_the_definition(real, start, parts, with_dev):
    tuning = real["tune"].part(range(40))
    dev = real["test"].part(range(30)) if with_dev else None
    result = Auto(member=CERTAIN, parts=parts).fit(tuning, start, dev, rng=1)
    expected = by_hand(tuning, start, CERTAIN, parts, dev)
    about = result.committee
    assert about["step"] == pytest.approx(expected["step"], abs=1e-12)
    assert about["parts"] == parts
    assert [e["score"] for e in about["members"]] == pytest.approx(
        [expected["scores"][name] for name in CERTAIN], abs=1e-9
    )
    shares = [expected["shares"][name] for name in CERTAIN]
    assert [e["share"] for e in about["members"]] == pytest.approx(shares, abs=1e-9)
    assert [e["takes_part"] for e in about["members"]] == [share > 0.0 for share in shares]
    assert [e["score"] for e in about["steps"]] == pytest.approx(expected["steps"], abs=1e-9)
    assert [e["step"] for e in about["steps"]] == list(STEPS)
    assert sum(e["share"] for e in about["steps"]) == pytest.approx(1.0)
    same_direction(aligned(result.weights, tuning), expected["weights"])
    size = sum(abs(w) for w in start.values())
    assert sum(abs(w) for w in result.weights.values()) == pytest.approx(size)
    assert result.verdict == expected["verdict"]
    assert result.verdict.sentences == 40  # those of the development set chose


def test_one_that_is_clearly_worse_stays_out(line, committee):
    begin = {"good": 0.3, "bad": 0.5, "Other": 0.3}
    good, also = Fixed((1.0, 0.0, 0.0)), Fixed((1.0, 0.0, 0.05))
    result = committee(good=good, worse=Fixed((-1.0, 0.0, 0.0)), also=also).fit(line, begin)
    takes = {entry["member"]: entry["takes_part"] for entry in result.committee["members"]}
    assert takes == {"good": True, "worse": False, "also": True}
    assert "stays out" in str(result)
    without = committee(good=good, also=also).fit(line, begin)
    assert result.weights == without.weights
    scores = {entry["member"]: entry["score"] for entry in result.committee["members"]}
    worst = line.metric.score(chosen_stats(line, [-1.0, 0.0, 0.0]).sum(axis=0))
    assert scores["worse"] == pytest.approx(worst)


def test_members_that_choose_the_same_count_the_same(line, committee):
    one, other = Fixed((1.0, 0.0, 0.0)), Fixed((5.0, 0.0, 0.0))
    result = committee(one=one, other=other, third=one).fit(line, BEGIN)
    shares = [entry["share"] for entry in result.committee["members"]]
    assert shares == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(("apart", "shares"), [(0.3, [0.0, 1.0]), (0.02, [0.5, 0.5])])
def test_who_is_not_clearly_worse_counts_as_much(committee, apart, shares):
    line = line_problem(("good", "bad", "Other"), groups=60)
    values = line.candidates.features.dense.T
    noise = np.random.default_rng(4).normal(scale=0.3, size=len(values))
    stats = line.stats.copy()
    stats[:, 0] += 0.4 * values[:, 2] + noise
    tuning = TuningSet(line.candidates, line.metric, stats)
    tuner = committee(less=Fixed((1.0, 0.0, -apart)), better=Fixed((1.0, 0.0, apart)))
    low, high = tuner.fit(tuning, BEGIN).committee["members"]
    assert low["score"] < high["score"]
    assert [low["share"], high["share"]] == shares


def test_of_an_error_rate_the_worse_one_is_that_with_more(committee):
    line = line_problem(("good", "bad", "Other"), lower=True)
    tuner = committee(good=Fixed((1.0, 0.0, 0.0)), worse=Fixed((-1.0, 0.0, 0.0)))
    result = tuner.fit(line, {"good": 0.1, "bad": 0.5, "Other": 0.3})
    assert [entry["takes_part"] for entry in result.committee["members"]] == [True, False]
    assert result.score < result.initial_score
    assert result.verdict.gain > 0.0
    assert result.committee["step"] > 0.0
    scores = [entry["score"] for entry in result.committee["steps"]]
    assert scores[8] < scores[0]


def test_members_that_agree_are_followed_as_far_as_sentences_support(committee):
    """The best step is all the way; 10 sentences speak for the start."""
    tuner = committee(good=Fixed((1.0, 0.0, 0.0)))
    steps = []
    for groups in (12, 48, 200):
        result = tuner.fit(line_problem(("good", "bad", "Other"), groups=groups), BEGIN)
        step = result.committee["step"]
        assert 0.0 < step <= groups / (groups + 10)
        steps.append(step)
    assert steps == sorted(steps)
    assert steps[-1] > 0.5


def test_where_the_start_is_best_it_is_kept(committee):
    line = line_problem(("good", "bad", "Other"), groups=60)
    begin = {"good": 1.0, "bad": 0.0, "Other": 0.0}
    result = committee(bad=Fixed((-1.0, 0.0, 0.0)), worse=Fixed((-1.0, 0.2, 0.0))).fit(line, begin)
    # Nothing is better than the start, which is all that "good" says.
    assert result.score == result.initial_score
    assert result.verdict.recommendation == "keep-start"
    assert result.verdict.gain == 0.0


def test_the_size_of_a_members_weights_does_not_count(line, committee):
    one, other = (1.0, 0.0, 0.3), (0.8, -0.3, 0.0)
    many = tuple(1000.0 * w for w in other)
    first = committee(one=Fixed(one), other=Fixed(other)).fit(line, BEGIN)
    second = committee(one=Fixed(one), other=Fixed(many)).fit(line, BEGIN)
    same_direction(first.weights.vector, second.weights.vector)


def test_few_sentences_hold_nothing_out_and_the_average_is_taken(line, committee):
    few = line.part(range(FEW_SENTENCES - 1))
    one, other = (1.0, 0.0, 0.3), (0.8, -0.3, 0.0)
    result = committee(one=Fixed(one), other=Fixed(other)).fit(few, BEGIN)
    expected = at_scale(few, one) + at_scale(few, other)
    same_direction(aligned(result.weights, few), expected)
    assert (result.committee["parts"], result.committee["step"]) == (0, 1.0)
    assert [entry["score"] for entry in result.committee["members"]] == [None, None]
    assert result.verdict.recommendation == "no-held-out-data"
    assert str(result).startswith("nothing was held out")
    json.dumps(result.to_dict(), allow_nan=False)
    for groups in (1, 2):
        assert np.isfinite(QUICK.fit(line.part(range(groups))).weights.vector).all()


def test_more_parts_than_sentences_hold_out_each(line, committee):
    few = line.part(range(FEW_SENTENCES))
    fixed = Fixed((1.0, 0.0, 0.0))
    tuner = replace(committee(one=fixed), parts=50)
    result = tuner.fit(few, BEGIN)
    assert result.committee["parts"] == FEW_SENTENCES
    tuned_on = [part.groups for part in vars(fixed)["runs"]]
    assert tuned_on == [FEW_SENTENCES - 1] * FEW_SENTENCES + [FEW_SENTENCES]
    assert result.verdict.sentences == FEW_SENTENCES
    assert result.verdict.recommendation == "not-enough-data"


def test_a_development_set_takes_part(committee):
    begin = {"good": 0.0, "bad": 1.0, "Other": 0.0}
    line = line_problem(("good", "bad", "Other"), groups=40)
    # The same with its worth turned round: what is good on one is bad on the other.
    other = line_problem(("good", "bad", "Other"), seed=5, groups=200)
    stats = other.stats.copy()
    stats[:, 0] = stats[:, 0].max() - stats[:, 0]
    contrary = TuningSet(other.candidates, other.metric, stats)
    tuner = committee(good=Fixed((1.0, 0.0, 0.0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a column looks like a model's scores
        alone = tuner.fit(line, begin)
        against = tuner.fit(line, begin, contrary)
        support = tuner.fit(line, begin, other)
    assert against.committee["step"] < alone.committee["step"] < support.committee["step"]
    for result in (alone, against, support):
        assert result.verdict.on == "folds"
        assert result.verdict.sentences == 40
    assert tuner == Auto()  # nothing is kept of the set


# Restrictions, dropped features, and what the verdict compares with


def test_restrictions_hold_to_the_last_bit(some, start):
    restricted = {
        "fix": ["LM0=0.5"],
        "bound": ["WordPenalty0=-0.7:-0.1", "Distortion0=0.05:"],
        "tie": ["TranslationModel0_1=TranslationModel0_2"],
    }
    begin = {**start, "WordPenalty0": -2.0, "LM0": 2.0}
    result = Auto(member=CHEAP[:1], **restricted).fit(some, begin, rng=1)
    weights = result.weights
    assert weights["LM0"] == 0.5
    assert -0.7 <= weights["WordPenalty0"] <= -0.1
    assert weights["Distortion0"] >= 0.05
    assert weights["TranslationModel0_1"] == weights["TranslationModel0_2"]
    assert result.start["LM0"] == 2.0
    # The verdict is on the start that is reported, though it breaks the restrictions.
    before = chosen_stats(some, aligned(result.start, some)).sum(axis=0)
    assert some.metric.score(before) == pytest.approx(result.initial_score)
    (fixed,) = Auto(member=CHEAP[:1], **restricted).members(14).values()
    folds = Folds.of(60, 5)
    assert fixed.fix == ("LM0=0.5",)
    assert result.verdict.sentences == len(folds.fold)


@pytest.mark.parametrize("more", [{"fix": ["bad=0.1"]}, {}])
def test_the_verdict_compares_with_the_start_that_is_reported(more, committee):
    """Where "bad" is left out or fixed, nearly all is won by that alone."""
    line = line_problem(("good", "bad", "Other"), groups=60)
    begin = {"good": 1.0, "bad": 20.0, "Other": 0.0}
    tuner = replace(committee(good=Fixed((1.0, 0.1, 0.0) if more else (1.0, 0.0))), **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the weight of "bad" is 0
        result = tuner.fit(line, begin, drop=[] if more else ["bad"])
    assert dict(result.start) == begin
    gain = result.score - result.initial_score
    assert gain > 0.2
    assert result.verdict.gain == pytest.approx(gain, abs=0.02)
    assert result.verdict.recommendation == "use"


def test_without_a_start_the_baseline_is_that_of_all_tuners(some):
    result = QUICK.fit(some)
    other = MERT(restarts=0, walks=0).fit(some)
    assert dict(result.start) == dict(other.start)
    assert result.initial_score == other.initial_score
    at_start = result.committee["steps"][0]["score"]
    assert at_start == pytest.approx(result.initial_score, abs=1e-9)


# The result


def test_the_result_says_who_took_part(some, start):
    result = QUICK.fit(some, start, rng=1)
    assert result.tuner == "auto"
    assert shown_members(result) == list(CHEAP)
    assert result.committee["parts"] == 5
    assert 0.0 <= result.committee["step"] <= 60 / (60 + PRIOR_SENTENCES)
    assert sum(e["share"] for e in result.committee["members"]) == pytest.approx(1.0)
    assert result.path is None
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert found["committee"] == result.committee
    assert "|parts:5|" in result.signature
    assert f"member:{','.join(CHEAP)}" in result.signature
    text = str(result)
    assert text.splitlines()[0].startswith("on 60 unseen sentences")
    assert "committee" in text
    assert "of the way" in text
    assert {entry["member"] for entry in result.history} == {*CHEAP}


def test_other_tuners_have_no_committee(some, start):
    result = MERT(restarts=0, walks=0).fit(some, start)
    assert result.committee is None
    assert "committee" not in str(result)


def test_several_runs(line):
    result = Auto(member=("pro",)).fit(line, BEGIN, runs=2, combine="average")
    assert len(result.runs) == 2
    # Of several runs together nothing was held out.
    assert result.committee is None
    assert result.verdict.on is None


@pytest.mark.long
@pytest.mark.parametrize("tuner", [QUICK, Auto(member=("pro", "mira")), Auto()])
def test_same_bits_for_any_threads_and_each_time(some, start, tuner):
    found = []
    for count in (1, 2, 2):
        with threads(count):
            result = tuner.fit(some, start, rng=7)
        entries = [{**e, "seconds": 0} for e in result.committee["members"]]
        found.append((result.weights, entries, result.committee["steps"], result.verdict))
    assert found[0] == found[1] == found[2]
    by_generator = tuner.fit(some, start, rng=np.random.default_rng(7))
    assert by_generator.weights == found[0][0]


@pytest.mark.long
def test_a_seed_counts(some, start):
    tuner = Auto(member=("pro",))
    assert tuner.fit(some, start, rng=1).weights != tuner.fit(some, start, rng=2).weights


# Whether its own estimate can be trusted, though the same sentences have decided


def drawn_at_random(rng, groups, signal):
    """Draw four features, of which two tell what a candidate is worth, or none."""
    features = rng.normal(size=(groups, 5, 4))
    values = rng.normal(size=(groups, 5)) + features @ (signal * np.array([0.4, 0.2, 0.0, 0.0]))
    return tuning_set(features.tolist(), values.tolist())


@pytest.mark.long
@pytest.mark.parametrize("signal", [0.0, 1.0])
def test_the_estimate_holds_the_gain_on_other_sentences(signal):
    tuner = Auto(member=(*CHEAP, "pro"))
    begin = {"f0": 1.0, "f1": 0.0, "f2": 1.0, "f3": 0.0}
    held, used, sets = 0, 0, 60
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        result = tuner.fit(drawn_at_random(rng, 80, signal), begin)
        other = drawn_at_random(rng, 3000, signal)
        before, after = (
            other.metric.score(chosen_stats(other, aligned(w, other)).sum(axis=0))
            for w in (result.start, result.weights)
        )
        held += result.verdict.low <= after - before <= result.verdict.high
        used += result.verdict.recommendation == "use"
    assert 0.90 <= held / sets <= 0.98
    if signal == 0.0:  # there is nothing to learn
        assert used / sets <= 0.10
    else:
        assert used / sets >= 0.25


# Forests


@pytest.mark.long
def test_lists_written_as_forests_come_to_the_same():
    forests, lists, rng = one_node_forests(5, groups=14, size=4)
    begin = dict(zip(lists.features.names, rng.normal(size=3), strict=True))
    tuner = Auto(member=("batch-mira:passes=3",), parts=3)
    on_lists = tuner.fit(TuningSet(lists, "bleu"), begin)
    on_forests = tuner.fit(ForestTuning(forests, "bleu", options("rerank")), begin)
    assert on_forests.committee["step"] == pytest.approx(on_lists.committee["step"], abs=1e-6)
    np.testing.assert_allclose(on_forests.weights.vector, on_lists.weights.vector, rtol=1e-5)
    assert on_forests.verdict.gain == pytest.approx(on_lists.verdict.gain, abs=1e-6)


@pytest.mark.long
def test_the_usual_members_on_forests():
    forests, _, _ = one_node_forests(3, groups=14, size=4)
    result = Auto().fit(ForestTuning(forests, "bleu", options("rerank")))
    assert [entry for entry in result.committee["members"] if entry.get("failed")] == []
    assert result.verdict.sentences == 14


# Interruptions


def test_an_interruption_gives_the_average_so_far(line, committee):
    one, other = (1.0, 0.0, 0.3), (0.8, -0.3, 0.0)
    tuner = committee(one=Fixed(one), other=Fixed(other, pressed=1))
    with interruptible():
        result = tuner.fit(line, BEGIN)
    assert result.interrupted
    assert result.stopped == "interrupted after 1 of 12 runs of members"
    same_direction(aligned(result.weights, line), at_scale(line, one))
    tuner = committee(one=Fixed(one), other=Fixed(other, pressed=2))
    with interruptible():
        result = tuner.fit(line, BEGIN)
    assert result.stopped == "interrupted after 3 of 12 runs of members"
    # The mean of what there is: twice the one, once the other.
    same_direction(aligned(result.weights, line), 2.0 * at_scale(line, one) + at_scale(line, other))
    assert result.verdict.on is None
    json.dumps(result.to_dict(), allow_nan=False)
    str(result)


def test_before_the_first_run_there_is_nothing(line, committee):
    tuner = committee(one=Fixed((1.0, 0.0, 0.3), pressed=1))
    with interruptible(), pytest.raises(KeyboardInterrupt):
        tuner.fit(line)


# Rules for all tuners


@pytest.mark.parametrize("check", tuner_checks(QUICK))
def test_it_conforms(check):
    check()


@pytest.mark.long
def test_an_error_rate_on_real_lists(real, start):
    tuning = TuningSet(real["tune"].candidates, "wer").part(range(80))
    result = Auto().fit(tuning, start)
    assert result.score < result.initial_score
    assert not result.verdict.higher_is_better


def test_a_loss_of_plain_numbers():
    rng = np.random.default_rng(1)
    quality = rng.random((40, 4))
    groups = [[[q, n] for q, n in zip(own, rng.normal(size=4), strict=True)] for own in quality]
    tuning = tuning_set(groups, (1.0 - quality).tolist(), metric=Loss())
    result = Auto(member=CHEAP[:1]).fit(tuning, {"f0": -1.0, "f1": 0.1})
    assert result.score < result.initial_score
    assert result.verdict.gain > 0.0


# In a loop


def without_seconds(result):
    found = plain(result)
    for entry in (found["committee"] or {"members": []})["members"]:
        del entry["seconds"]
    return found


LOOP = Loop(rounds=3, weight_tolerance=0.0)
MANY = Inputs.of(*sentences(60, 1))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:batch-mira")  # the toy's output is long
def test_in_a_loop_it_is_judged_by_the_decoders_output():
    result = LOOP.run(Toy(), QUICK, MANY, dev=DEV, test=TEST)
    assert (result.verdict.on, result.verdict.sentences) == ("test", 7)
    gain = result.test.score - result.test.initial_score
    assert result.verdict.gain == pytest.approx(gain, abs=1e-9)
    assert shown_members(result) == list(CHEAP)
    assert json.loads(json.dumps(result.to_dict()))["verdict"]["on"] == "test"
    on_dev = LOOP.run(Toy(), QUICK, MANY, dev=DEV)
    assert (on_dev.verdict.on, on_dev.verdict.sentences) == ("dev", 9)
    alone = LOOP.run(Toy(), QUICK, MANY)
    assert alone.verdict.recommendation == "no-held-out-data"
    # There are no folds in a loop.
    first = str(alone).splitlines()[0]
    assert "--folds" not in str(alone)
    assert first.startswith("nothing was held out")
    assert "--test-source" in str(alone)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:batch-mira")
@pytest.mark.parametrize("moment", [1, 2, 7, 14])
def test_a_loop_that_ends_within_a_committee_goes_on_to_the_same_bits(
    tmp_path, monkeypatch, moment
):
    whole = LOOP.run(Toy(), QUICK, MANY, dev=DEV)
    tune, runs = MERT.tune, []

    class Ended(BaseException):
        pass

    def ending(self, *arguments):
        runs.append(self)
        if len(runs) == moment:
            raise Ended
        return tune(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(MERT, "tune", ending)
        with pytest.raises(Ended):
            LOOP.run(Toy(), QUICK, MANY, dev=DEV, work_dir=tmp_path / "loop")
    resumed = LOOP.run(Toy(), QUICK, MANY, dev=DEV, work_dir=tmp_path / "loop")
    assert without_seconds(resumed) == without_seconds(whole)
    again = LOOP.run(Toy(), QUICK, MANY, dev=DEV, work_dir=tmp_path / "loop")
    assert without_seconds(again) == without_seconds(whole)


KILLED = """
import json, os, signal, sys
from tests.tuners.test_auto import DEV, LOOP, MANY, QUICK, Toy, without_seconds
from tunesmith.tuners.batch_mira import BatchMIRA
folder, moment = sys.argv[1], int(sys.argv[2])
tune, runs = BatchMIRA.tune, []
def killing(self, *arguments):
    runs.append(self)
    if len(runs) == moment:
        os.kill(os.getpid(), signal.SIGKILL)
    return tune(self, *arguments)
BatchMIRA.tune = killing
result = LOOP.run(Toy(), QUICK, MANY, dev=DEV, work_dir=folder)
print(json.dumps(without_seconds(result)))
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_loop_that_is_killed_goes_on_to_the_same_bits(tmp_path):
    root = Path(__file__).parents[2]

    def run(folder, moment):
        return python("-c", KILLED, tmp_path / folder, moment, cwd=root, env={**os.environ})

    whole = run("whole", 0)
    assert whole.returncode == 0, whole.stderr
    for moment in (3, 7):
        assert run("killed", moment).returncode == -signal.SIGKILL
    resumed = run("killed", 0)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout) == json.loads(whole.stdout)
