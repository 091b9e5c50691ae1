from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean, candidate_set
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.io.read import read
from tunesmith.io.write import write
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.combination import Harmonic, Minimum, Sum
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT

WORDS = ["a", "b", "c", "d", "e"]


def texts_and_column(seed):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(40)]
    references = [[" ".join(rng.choice(WORDS, 6))] for _ in range(8)]
    features = rng.normal(size=(8, 5, 3)).tolist()
    held = candidate_set(features, texts=texts, references=references)
    return replace(held, columns={"reward": rng.random(40)})


@given(
    st.lists(st.floats(0.01, 1.0), min_size=2, max_size=4),
    st.lists(st.floats(0.1, 3.0), min_size=4, max_size=4),
)
def test_the_three_ways_against_their_definitions(values, weights):
    weights = weights[: len(values)]
    # The last part is an error rate: what is good about it is 1 minus itself.
    parts = [Mean() for _ in values[:-1]] + [Loss()]
    stats = np.array([x for v in [*values[:-1], 1 - values[-1]] for x in (v, 1.0)])
    expected = {
        Sum: sum(w * v for w, v in zip(weights, values, strict=True)),
        Harmonic: sum(weights) / sum(w / v for w, v in zip(weights, values, strict=True)),
        Minimum: min(w * v for w, v in zip(weights, values, strict=True)),
    }
    for cls, value in expected.items():
        metric = cls(parts, weights)
        assert float(metric.score(stats)) == pytest.approx(value, rel=1e-9)
        rows = np.stack([stats, stats])
        assert metric.score(rows).tolist() == [float(metric.score(stats))] * 2
        assert metric.higher_is_better


def test_harmonic_is_0_where_a_part_is():
    metric = Harmonic([Mean(), Mean()])
    assert metric.score(np.array([[0.0, 1, 0.5, 1], [0.5, 1, 0.5, 1]])).tolist() == [0.0, 0.5]


def test_names_options_and_nesting():
    metric = METRICS.create("min(bleu:order=2,smoothing=none, sum(0.5*bleu,column:reward))")
    inner = metric.parts[1]
    assert metric.parts[0] == BLEU(order=2, smoothing="none")
    assert inner.weights == (0.5, 1.0)
    assert metric.columns == ("reward",)
    assert metric.scale == 1.0
    assert METRICS.create("harmonic(bleu,bleu:order=2)").scale == 100.0
    assert metric.name == "min(bleu,sum(0.5*bleu,column:reward))"


@pytest.mark.parametrize(
    "spec",
    [
        "sum",
        "sum(",
        "sum()",
        "sum(bleu",
        "sum(bleu))",
        "sum(,bleu)",
        "bleu(bleu)",
        "sum(0*bleu)",
        "harmonic(-1*bleu,bleu)",
        "sum(nan*bleu)",
    ],
)
def test_bad_combinations_are_errors(spec):
    with pytest.raises(TunesmithError):
        METRICS.create(spec)
    with pytest.raises(UnknownNameError, match="bleu"):
        METRICS.create("sum(blue,bleu)")


def test_bleu_and_a_column_are_tuned_together_and_evaluated_afresh():
    candidates = texts_and_column(3)
    bleu, reward = TuningSet(candidates, "bleu"), TuningSet(candidates, "column:reward")
    tuning = TuningSet(candidates, "sum(0.5*bleu,0.5*column:reward)")
    result = MERT(restarts=4).fit(tuning, rng=1)
    weights = result.weights.aligned(candidates.features.names)
    scores = candidates.features.dot(weights)
    chosen = np.array(
        [
            lo + np.argmax(scores[lo:hi])
            for lo, hi in zip(candidates.start[:-1], candidates.start[1:], strict=True)
        ]
    )
    expected = 0.5 * bleu.score(chosen) / 100 + 0.5 * reward.score(chosen)
    assert result.score == pytest.approx(expected, abs=1e-12)
    assert result.score > result.initial_score
    assert result.length_ratio is not None


def test_a_sum_of_averages_is_an_average():
    assert METRICS.create("sum(column:a,2*column:b)").is_sum
    assert not METRICS.create("min(column:a,column:b)").is_sum
    assert not METRICS.create("sum(column:a,bleu)").is_sum


def test_statistics_that_come_with_the_candidates_are_taken():
    candidates = texts_and_column(5)
    counted = TuningSet(candidates, "bleu")
    columns = dict(
        zip(counted.metric.statistic_columns(), counted.stats.T.astype(float), strict=True)
    )
    bare = replace(candidates, references=None, columns=columns)
    given_stats = TuningSet(bare, "bleu")
    assert np.array_equal(given_stats.stats, counted.stats)
    assert given_stats.stats.dtype == counted.stats.dtype
    assert given_stats.signature().endswith("statistics:given")
    a = MERT(restarts=2).fit(counted, rng=1)
    b = MERT(restarts=2).fit(given_stats, rng=1)
    assert a.weights == b.weights
    assert a.score == b.score
    with pytest.raises(TunesmithError, match="needs references"):
        TuningSet(replace(bare, columns={"bleu.length": columns["bleu.length"]}), "bleu")


def test_given_statistics_are_those_of_the_same_options_alone():
    candidates = texts_and_column(6)
    held = dict(candidates.columns)
    for spec in ("bleu:order=3", "sentence-bleu", "wer:lowercase=true"):
        tuning = TuningSet(candidates, spec)
        names = tuning.metric.statistic_columns()
        held |= dict(zip(names, tuning.stats.T.astype(float), strict=True))
    full = replace(candidates, columns=held)
    assert "wer:lowercase=true.errors" in held
    for spec, expected in {
        "bleu:order=2": True,  # its statistics are among those of order 3
        "bleu:order=2,smoothing=none,reference-length-scale=1.1": True,
        "bleu": False,
        "bleu:order=2,lowercase=true": False,
        "bleu:order=2,tokenize=char": False,
        "sentence-bleu": True,
        "sentence-bleu:smoothing=none": False,
        "sentence-bleu:reference-length-scale=1.5": False,
        "wer": False,
        "wer:lowercase=true": True,
    }.items():
        tuning, fresh = TuningSet(full, spec), TuningSet(candidates, spec)
        assert tuning.given == expected, spec
        assert np.array_equal(tuning.stats, fresh.stats), spec
        assert tuning.score(full.start[:-1]) == fresh.score(full.start[:-1])


def test_parts_of_a_combination_may_have_given_statistics():
    candidates = texts_and_column(7)
    counted = TuningSet(candidates, "bleu")
    names = counted.metric.statistic_columns()
    columns = candidates.columns | dict(zip(names, counted.stats.T.astype(float), strict=True))
    bare = replace(candidates, references=None, columns=columns)
    spec = "sum(bleu,column:reward)"
    assert np.array_equal(TuningSet(bare, spec).stats, TuningSet(candidates, spec).stats)


def test_names_are_metrics_and_signatures_have_all_digits():
    assert Sum(["bleu", "column:a"]) == METRICS.create("sum(bleu,column:a)")
    assert METRICS.create("sum(0.1234567891*bleu,bleu)").name.startswith("sum(0.1234567891*")
    with pytest.raises(UsageError, match=r"no number; write 0\.5\*bleu"):
        METRICS.create("sum(0.5.5*bleu,bleu)")


def test_given_statistics_give_way_to_references_that_are_asked_for(tmp_path):
    candidates = texts_and_column(8)
    counted = TuningSet(candidates, "bleu")
    columns = dict(
        zip(counted.metric.statistic_columns(), counted.stats.T.astype(float), strict=True)
    )
    write(replace(candidates, columns=columns), tmp_path / "set.arrow")
    (tmp_path / "other").write_text("zz\n" * candidates.groups)
    assert TuningSet(read(tmp_path / "set.arrow"), "bleu").given
    found = TuningSet(read(tmp_path / "set.arrow", tmp_path / "other"), "bleu")
    assert not found.given
    assert found.score(found.candidates.start[:-1]) == 0.0


def test_statistics_that_are_not_finite_are_refused():
    with pytest.raises(TunesmithError, match="a statistic of mean is not finite"):
        TuningSet(candidate_set([[[1.0]]]), Mean(), np.array([[np.nan, 1.0]]))
