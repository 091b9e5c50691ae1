"""The tuner ``lp-mert``: what it finds, what it proves and what it refuses."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.builders import Loss, candidate_set, tuning_set
from tests.helpers.search.brute_force import random_tuning
from tests.helpers.tuners.scores import reached, sign_of
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.io.read import read
from tunesmith.parallel.local import threads
from tunesmith.search.exact import search as exact
from tunesmith.search.exact.problem import Problem
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing import check_tuner
from tunesmith.tuners import lp_mert
from tunesmith.tuners.certify import certify
from tunesmith.tuners.lp_mert import LPMERT
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.plane import Plane

METRICS = ["sentence-bleu", "wer", "ter", "column:value", "cost:value"]
KEYS = {"best", "bound", "gap", "optimal", "tested", "total", "seconds"}


@pytest.fixture(scope="module")
def lists(bundled):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    values = np.random.default_rng(1).integers(0, 50, len(candidates)) / 8.0
    return replace(candidates, columns={"value": values})


@pytest.fixture(scope="module")
def whole(lists):
    return {metric: TuningSet(lists, metric) for metric in METRICS}


def drawn(tuning, size, seed=0):
    rng = np.random.default_rng([seed, size])
    return tuning.part(np.sort(rng.permutation(tuning.candidates.groups)[:size]))


def check_proof(tuning, result):
    """Check what holds for every certificate."""
    proof, sign = result.certificate, sign_of(tuning)
    assert {*proof} >= KEYS
    assert proof["best"] == result.score
    assert result.score == pytest.approx(reached(tuning, result.weights), abs=1e-9)
    assert proof["gap"] >= 0.0
    assert proof["gap"] == pytest.approx(sign * (proof["bound"] - proof["best"]), abs=1e-9)
    assert sign * proof["bound"] <= sign * result.oracle_score + 1e-9
    assert proof["optimal"] is (proof["gap"] == 0.0)
    assert 0.0 <= proof["seconds"] <= result.seconds + 0.1


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_proven_and_never_worse_than_mert(whole, start, metric, size):
    for seed in range(2):
        tuning = drawn(whole[metric], size, seed)
        sign = sign_of(tuning)
        result = LPMERT().fit(tuning, start)
        check_proof(tuning, result)
        assert result.certificate["optimal"]
        assert result.certificate["bound"] == result.score
        assert "within" not in result.certificate
        assert sign * result.score >= sign * result.initial_score
        for first in (start, result.weights):
            other = MERT(restarts=5).fit(tuning, first)
            if margin(tuning, other.weights) >= 1e-6:
                assert sign * result.score >= sign * other.score - 1e-9
        total = result.certificate["total"]
        assert int(total) == Problem.of(tuning).combinations
        assert isinstance(total, str) == (int(total) >= 2**53)


@pytest.mark.parametrize("metric", METRICS)
def test_three_features_as_the_plane_has_them(whole, metric):
    # All regions of the plane are another way to the same optimum.
    keep = ["LM0", "WordPenalty0", "TranslationModel0_1"]
    tuning = drawn(whole[metric], 20)
    result = LPMERT().fit(tuning, keep=keep)
    check_proof(tuning, result)
    assert result.certificate["optimal"]
    assert result.score == pytest.approx(Plane().fit(tuning, keep=keep).score, abs=1e-9)


def test_scales_of_scores():
    blocks = [[[0.0], [1.0]], [[1.0], [0.0]]]
    texts, refs = ["a b", "a b c d", "x y z w", "x"], [["a b c d"], ["x y z w"]]
    tuning = TuningSet(candidate_set(blocks, (), texts, refs), "wer")
    proof = LPMERT().fit(tuning).certificate
    # The sign of the one weight chooses: 0 errors of 8 words, or 2 + 3.
    assert (proof["best"], proof["bound"]) == (0.0, 0.0)
    worse = TuningSet(candidate_set([blocks[0], blocks[1][::-1]], (), texts, refs), "wer")
    proof = LPMERT().fit(worse).certificate
    assert proof["best"] == proof["bound"] == pytest.approx(100 * 2 / 8)
    bleu = TuningSet(worse.candidates, "sentence-bleu")
    result = LPMERT().fit(bleu)
    chosen = [bleu.metric.score(bleu.stats[row]) for row in (0, 2)]
    assert result.certificate["bound"] == pytest.approx(sum(chosen) / 2)
    column = replace(worse.candidates, columns={"v": np.array([0.5, 4.0, 1.0, 0.0])})
    assert LPMERT().fit(TuningSet(column, "column:v")).certificate["bound"] == 2.0
    assert LPMERT().fit(TuningSet(column, "cost:v")).certificate["bound"] == 0.75


@pytest.mark.parametrize("metric", ["sentence-bleu", "wer", "cost:value"])
def test_stopped_anywhere_the_bound_holds(whole, start, metric):
    tuning = drawn(whole[metric], 6)
    sign = sign_of(tuning)
    truth = LPMERT().fit(tuning, start)
    assert truth.certificate["optimal"]
    for limit in (1, 3, 10, 30, 100, 1000):
        result = LPMERT(test_limit=limit).fit(tuning, start)
        check_proof(tuning, result)
        proof = result.certificate
        assert sign * proof["best"] <= sign * truth.score + 1e-9
        assert sign * proof["bound"] >= sign * truth.score - 1e-9
        assert sign * result.score >= sign * result.initial_score
        assert not proof["optimal"] or result.score == pytest.approx(truth.score)
    # No time at all still is an answer.
    result = LPMERT(time_limit=1e-9).fit(tuning, start)
    check_proof(tuning, result)
    assert sign * result.certificate["bound"] >= sign * truth.score - 1e-9


@pytest.mark.parametrize("seed", range(25))
def test_the_ways_to_search_agree(seed):
    tuning = random_tuning(np.random.default_rng([seed, 8]))
    results = {
        search: LPMERT(search=search).fit(tuning, rng=1) for search in ("cones", "lazy", "beam")
    }
    for search in ("cones", "lazy"):
        check_proof(tuning, results[search])
        assert results[search].certificate["optimal"]
    assert results["lazy"].score == pytest.approx(results["cones"].score, abs=1e-9)
    worse = sign_of(tuning) * (results["cones"].score - results["beam"].score)
    assert worse >= -1e-9


@pytest.mark.parametrize("metric", ["sentence-bleu", "ter"])
def test_lazy_search_on_real_lists(whole, start, metric):
    tuning = drawn(whole[metric], 3)
    lazy = LPMERT(search="lazy").fit(tuning, start)
    check_proof(tuning, lazy)
    assert lazy.certificate["optimal"]
    assert lazy.score == pytest.approx(LPMERT().fit(tuning, start).score, abs=1e-9)


@pytest.mark.long
def test_beam_proves_nothing_and_is_no_worse_than_mert(whole, start):
    tuning = drawn(whole["sentence-bleu"], 16)
    result = LPMERT(search="beam", beam=100).fit(tuning, start, rng=3)
    assert result.certificate is None
    assert result.score >= MERT().fit(tuning, start, rng=3).score - 1e-9
    assert result.score <= LPMERT().fit(tuning, start).certificate["bound"] + 1e-9


@pytest.mark.long
def test_many_groups_within_a_limit(whole, start):
    tuning = drawn(whole["sentence-bleu"], 40)
    result = LPMERT(test_limit=500).fit(tuning, start, rng=3)
    check_proof(tuning, result)
    assert not result.certificate["optimal"]
    # Blocks prove more than that every sentence takes its best candidate.
    assert result.certificate["bound"] < result.oracle_score
    assert result.score >= MERT().fit(tuning, start, rng=3).score - 1e-9
    assert isinstance(result.certificate["total"], str)
    assert result.line_searches > 0


def test_history_tells_how_it_went(whole, start):
    for metric in ("sentence-bleu", "wer"):
        tuning = drawn(whole[metric], 8)
        sign = sign_of(tuning)
        result = LPMERT().fit(tuning, start)
        assert [entry["step"] for entry in result.history] == list(range(len(result.history)))
        assert len(result.history) > 0
        for entry in result.history:
            assert sign * entry["score"] <= sign * entry["bound"] + 1e-9
            assert sign * entry["bound"] >= sign * result.score - 1e-9
        for a, b in itertools.pairwise(result.history):
            assert sign * a["score"] <= sign * b["score"] + 1e-9
            assert sign * a["bound"] >= sign * b["bound"] - 1e-9
            assert a["tested"] <= b["tested"]
        last = result.history[-1]
        assert last["score"] == pytest.approx(result.score, abs=1e-6)
        assert last["tested"] <= result.certificate["tested"]


@pytest.mark.long
def test_the_same_for_any_number_of_threads(whole, start):
    for size, options in ((8, {}), (40, {"test_limit": 300}), (3, {"search": "lazy"})):
        found = []
        for count in (1, 2, 3):
            with threads(count):
                result = LPMERT(**options).fit(drawn(whole["sentence-bleu"], size), start)
            proof = {**result.certificate, "seconds": 0.0}
            found.append((dict(result.weights), proof, result.history))
        assert found[0] == found[1] == found[2]


def scaled(tuning, weights):
    """Return weights of features that are scaled to the same deviation, of length 1."""
    features = tuning.candidates.features
    problem = Problem.of(tuning)
    vector = problem.vector(np.array([weights[name] for name in features.names]))
    return vector / np.linalg.norm(vector)


@pytest.mark.long
@pytest.mark.parametrize("cosine", [0.3, 0.9, 0.999])
def test_a_cosine(whole, start, cosine):
    tuning = drawn(whole["sentence-bleu"], 4, 1)
    result = LPMERT(cosine=cosine).fit(tuning, start)
    check_proof(tuning, result)
    proof = result.certificate
    assert proof["optimal"]
    assert proof["within"] == f"a cosine of {cosine:g} to the starting weights"
    assert scaled(tuning, result.weights) @ scaled(tuning, start) >= cosine - 1e-9
    assert result.initial_score <= result.score <= LPMERT().fit(tuning, start).score + 1e-9
    lazy = LPMERT(search="lazy", cosine=cosine).fit(tuning, start)
    assert lazy.score == pytest.approx(result.score, abs=1e-9)
    # Vectors drawn within it are no better.
    rng, first = np.random.default_rng(1), scaled(tuning, start)
    names = tuning.candidates.features.names
    for _ in range(200):
        vector = first + rng.standard_normal(len(first)) * np.sqrt(1 - cosine**2) / 4
        vector /= np.linalg.norm(vector)
        if vector @ first >= cosine:
            other = Problem.of(tuning).weights(vector)
            score = reached(tuning, dict(zip(names, other, strict=True)))
            assert score <= result.score + 1e-9


@pytest.mark.long
def test_a_cosine_with_many_groups(whole, start):
    # Other tuners' weights, which are begun from there, may lie outside.
    tuning = drawn(whole["sentence-bleu"], 30)
    result = LPMERT(cosine=0.99, test_limit=50).fit(tuning, start)
    check_proof(tuning, result)
    assert scaled(tuning, result.weights) @ scaled(tuning, start) >= 0.99 - 1e-9


def test_a_cosine_that_restricts_nothing(whole, start):
    tuning = drawn(whole["sentence-bleu"], 2)
    free = LPMERT().fit(tuning, start)
    for cosine in (-1.0, 0.0):
        result = LPMERT(cosine=cosine).fit(tuning, start)
        assert result.score == free.score
        assert "within" not in result.certificate


SQUARE = [[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]]
DEGENERATE = {
    "all alike": tuning_set([[[1.0, 2.0]] * 3, [[0.0, 1.0]] * 2], [[1, 2, 3], [4, 5]]),
    "one candidate": tuning_set([[[1.0, 2.0]], [[3.0, 1.0]]], [[1], [4]]),
    "one group": tuning_set([[[0.0, 0.0], [2.0, 1.0], [1.0, 2.0]]], [[2, 1, 0]]),
    "same losses": tuning_set([[[0.0], [1.0]], [[2.0], [1.0]]], [[1, 1], [3, 3]]),
    "a constant": tuning_set([[[0, 7], [1, 7]], [[2, 7], [1, 7]]], [[0, 1], [1, 0]]),
    "only constants": tuning_set([[[7.0], [7.0]], [[7.0], [7.0]]], [[0, 1], [1, 0]]),
    "no features but sparse": tuning_set([[[0.0], [1.0]], [[0.0], [0.0]]], [[0, 1], [1, 0]], [0]),
    "the best is within": tuning_set([SQUARE], [[5.0, 1.0, 2.0, 3.0, 4.0]]),
    "a loss": tuning_set([[[0.0], [1.0]], [[1.0], [0.0]]], [[0, 1], [1, 0]], metric=Loss()),
}  # fmt: skip
#: By hand: equal vectors choose the first read, and a point among others never wins.
OPTIMA = {
    "all alike": 2.5,
    "one candidate": 2.5,
    "one group": 2.0,
    "same losses": 2.0,
    "a constant": 1.0,
    "only constants": 0.5,
    "no features but sparse": 1.0,
    "the best is within": 4.0,
    "a loss": 0.0,
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("search", ["cones", "lazy", "beam"])
def test_degenerate_sets(name, search):
    tuning = DEGENERATE[name]
    result = LPMERT(search=search).fit(tuning)
    assert result.score == pytest.approx(OPTIMA[name])
    if search != "beam":
        check_proof(tuning, result)
        assert result.certificate["optimal"]
    assert np.isfinite(result.weights.vector).all()


@pytest.mark.parametrize("search", ["cones", "lazy", "beam"])
def test_a_start_on_a_tie_that_nothing_beats_is_kept(search):
    # At 0 all are equal, and the first read, which never wins clearly, is the best.
    zero = {"f0": 0.0, "f1": 0.0}
    result = LPMERT(search=search).fit(DEGENERATE["the best is within"], zero)
    assert (result.score, dict(result.weights)) == (5.0, zero)
    if search != "beam":
        assert (result.certificate["bound"], result.certificate["gap"]) == (5.0, 0.0)


def test_what_is_refused(lists, whole):
    for metric in ("bleu", "chrf"):
        with pytest.raises(UsageError, match=rf"{metric} is not; use --metric sentence-bleu"):
            LPMERT().fit(TuningSet(lists, metric))
    blocks = [[[0.0], [1.0]]]
    refs = [["a b c d", "x"]]
    for metric in ("ter", "wer"):
        several = TuningSet(candidate_set(blocks, (), ["a b c", "x"], refs), metric)
        if not several.is_sum:
            with pytest.raises(UsageError, match="give one reference, or use --metric"):
                LPMERT().fit(several)
    assert not several.is_sum
    with pytest.raises(UsageError, match=r"200 groups may take forever; set --time-limit"):
        LPMERT().fit(whole["wer"])
    eleven = drawn(whole["wer"], 11)
    with pytest.raises(UsageError, match=r"11 groups.*--time-limit.*--search beam"):
        LPMERT(search="lazy").fit(eleven)
    assert LPMERT(search="lazy", test_limit=10).fit(eleven).certificate is not None
    with pytest.raises(TunesmithError, match="no features"):
        LPMERT().fit(tuning_set([[[], []]], [[1.0, 2.0]]))
    with pytest.raises(TunesmithError, match="a cosine needs weights to compare with"):
        LPMERT(cosine=0.5).fit(DEGENERATE["one group"], {"f0": 0.0, "f1": 0.0})


@pytest.mark.parametrize(
    "options",
    [
        *({name: 0} for name in ("time_limit", "test_limit", "memory_limit", "beam")),
        *({name: -1} for name in ("time_limit", "test_limit", "memory_limit", "beam")),
        *({"time_limit": float("nan")}, {"memory_limit": float("nan")}),
        *({"tolerance": value} for value in (0.0, 1e-10, 0.2, float("nan"))),
        *({"cosine": value} for value in (1.0, -1.5, float("nan"))),
        {"cosine": 0.5, "search": "beam"},
    ],
)
def test_wrong_options(options):
    flag = next(iter(options)).replace("_", "-")
    with pytest.raises(UsageError, match=f"{flag} .*; ") as caught:
        LPMERT(**options)
    assert "\n" not in str(caught.value)


def test_limits_that_are_met_at_the_first_step(monkeypatch, whole, start):
    # What a set with a few hundred groups does, on few.
    monkeypatch.setattr(exact, "ONE_TREE", 2)
    monkeypatch.setattr(exact, "NO_TREE", 3)
    monkeypatch.setattr(lp_mert, "ONE_TREE", 2)
    tuning = drawn(whole["wer"], 6, 1)
    found = LPMERT(test_limit=10**6).fit(tuning, start)
    check_proof(tuning, found)
    monkeypatch.undo()
    optimum = LPMERT().fit(tuning, start).score
    assert found.certificate["bound"] == pytest.approx(optimum, abs=1e-9)


def margin(tuning, weights):
    """Return the least lead of a winner, as the tolerance counts it."""
    problem, vector = Problem.of(tuning), scaled(tuning, weights)
    scores = [np.sort(vector @ problem.block(group)) for group in range(problem.size)]
    return min(one[-1] - one[-2] for one in scores)


def test_leads_below_the_tolerance_do_not_count():
    # The best candidate of the first group is on the line between two others but for 1e-7: it
    # wins between two weights that are an angle of 4e-7 apart.
    blocks = [[[-1.0, 0.0], [0.0, 1e-7], [1.0, 0.0], [0.0, -1.0]], [[-1.0, 0.0], [1.0, 0.0]]]
    tuning = tuning_set(blocks, [[0.0, 1.0, 0.5, 0.0], [0.0, 0.0]])
    for search in ("cones", "lazy"):
        # Line searches meet such weights. They are returned, and said to prove nothing.
        usual = LPMERT(search=search).fit(tuning)
        assert usual.score == usual.certificate["bound"] == 0.5
        assert usual.certificate["clear_bound"] == 0.25
        assert (usual.certificate["tie"], usual.certificate["optimal"]) == (True, False)
        fine = LPMERT(search=search, tolerance=1e-9).fit(tuning)
        assert fine.score == fine.certificate["bound"] == 0.5
        assert fine.certificate["optimal"] is True
        # A start that is better than all that counts is kept.
        kept = LPMERT(search=search).fit(tuning, {"f0": 0.0, "f1": 1.0})
        assert kept.score == kept.initial_score == kept.certificate["bound"] == 0.5


def test_candidates_that_differ_a_little_are_no_false_proof():
    # Neither of the first two is ahead of the other by 1e-6 of a deviation, under any weights.
    features = [[1.0, 0.0], [1.0 + 1e-7, 0.0], [-1.0, 0.0], [0.0, 0.3], [-0.2, -0.5]]
    tuning = tuning_set([features], [[0.9, 0.8, 0.1, 0.2, 0.15]])
    for search in ("cones", "lazy"):
        result = LPMERT(search=search).fit(tuning)
        assert result.score == result.certificate["bound"] == pytest.approx(0.8)
        assert result.certificate["optimal"] is True
    proof = certify(tuning, {"f0": -1.0, "f1": 0.0}).certificate
    assert proof["bound"] == pytest.approx(0.8)


@pytest.mark.parametrize("seed", range(3))
def test_one_value_far_away_is_no_false_proof(seed):
    # It makes the deviation of its feature so large that all others would be equal.
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((3, 60, 4))
    features[0, 7, 1] = -1e6
    tuning = tuning_set(features.tolist(), rng.random((3, 60)).tolist())
    result = LPMERT().fit(tuning)
    assert result.certificate["optimal"] is True
    assert result.score >= MERT().fit(tuning).score
    # Others are no farther from their best than without that value.
    features[0, 7, 1] = -1e3
    assert result.score == pytest.approx(
        LPMERT()
        .fit(
            tuning_set(
                features.tolist(), [tuning.stats[k : k + 60, 0].tolist() for k in (0, 60, 120)]
            )
        )
        .score
    )


def test_candidates_written_twice_are_no_obstacle(whole, start):
    # A text is here twice, with another last digit of a feature.
    tuning = drawn(whole["wer"], 6)
    result = LPMERT().fit(tuning, start)
    check_proof(tuning, result)
    assert result.certificate["optimal"]
    assert result.score <= MERT().fit(tuning, start).score + 1e-9


def test_runs_and_other_options_of_every_tuner(whole, start):
    tuning = drawn(whole["sentence-bleu"], 4)
    once = LPMERT().fit(tuning, start)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "4 of 200 sentences of the held-out set")
        result = LPMERT().fit(tuning, start, runs=2, normalise="l1", dev=whole["sentence-bleu"])
    assert result.score == pytest.approx(once.score)
    assert result.certificate["optimal"]
    assert sum(abs(value) for value in result.weights.values()) == pytest.approx(1.0)
    assert result.dev is not None
    average = LPMERT().fit(tuning, start, runs=2, combine="average")
    assert average.certificate is None  # nothing is proven of a mean


@pytest.mark.long
def test_the_result_is_shown(whole, start):
    tuning = drawn(whole["sentence-bleu"], 4)
    assert "proven: no weights do better" in str(LPMERT().fit(tuning, start))
    shown = str(LPMERT(test_limit=1).fit(drawn(whole["sentence-bleu"], 40), start))
    assert "no weights do better than" in shown
    assert "the gap is" in shown
    within = str(LPMERT(cosine=0.9).fit(tuning, start))
    assert "proven: no weights within a cosine of 0.9 to the starting weights do better" in within


@pytest.mark.long
def test_it_conforms():
    check_tuner(LPMERT(search="lazy", test_limit=50))
    check_tuner(LPMERT)
    check_tuner(LPMERT(test_limit=1))


def test_a_certificate_says_that_features_were_dropped():
    tuning = tuning_set([[[0.0, 1.0], [1.0, 0.0]]], [[0.0, 1.0]])
    assert "within" not in LPMERT().fit(tuning).certificate
    assert LPMERT().fit(tuning, keep="f0").certificate["within"] == "the kept features"


def test_a_search_that_does_not_exist():
    with pytest.raises(UnknownNameError, match="did you mean beam or cones or lazy"):
        LPMERT(search="x")
