"""Length penalties: exact along the exponent, and a part of the weights ever after."""

from __future__ import annotations

import itertools
import json
import math
import re
import signal
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import candidate_set
from tests.helpers.tiers import examples
from tests.helpers.tuners.problems import text_problem
from tunesmith.data.weights import Weights
from tunesmith.derived.lengths import per_length, quotient_of, without_quotients
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.io.weights.base import WEIGHTS_FORMATS
from tunesmith.tuners.lenpen.line import along_exponent, short_number
from tunesmith.tuners.lenpen.normalised import NormalisedLists
from tunesmith.tuners.lenpen.options import Lenpen
from tunesmith.tuners.lenpen.search import COARSE, LenpenSearch

WORDS = ["a", "b", "c", "d", "e"]


def problem(seed, groups=6, features=3):
    """Return lists with log probabilities that fall with the length, which is a feature too."""
    rng = np.random.default_rng(seed)
    rows, texts, references = [], [], []
    for _ in range(groups):
        references.append([" ".join(rng.choice(WORDS, rng.integers(3, 9)))])
        group = []
        for _ in range(rng.integers(2, 7)):
            length = int(rng.integers(1, 10))
            texts.append(" ".join(rng.choice(WORDS, length)))
            scores = -rng.gamma(2.0, 1.0, features) * length ** rng.uniform(0.4, 1.0)
            group.append([*scores.tolist(), float(length)])
        rows.append(group)
    return ts.TuningSet(candidate_set(rows, texts=texts, references=references), "bleu:order=2")


def by_hand(tuning, weights, exponent, plain=()):
    """Return the score of what wins, one candidate at a time."""
    candidates = tuning.candidates
    names = candidates.features.names
    chosen = []
    for lo, hi in itertools.pairwise(candidates.start):
        values = []
        for i in range(lo, hi):
            row = {n: candidates.features.values(d)[i] for d, n in enumerate(names)}
            length = max(row[names[-1]], 1.0)
            divided = sum(w * row[n] for n, w in weights.items() if n not in plain)
            values.append(divided / length**exponent + sum(weights[n] * row[n] for n in plain))
        chosen.append(lo + int(np.argmax(values)))
    return tuning.score(np.array(chosen))


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_no_exponent_is_better_for_the_same_weights(seed, some_plain):
    tuning = problem(seed)
    rng = np.random.default_rng(seed)
    names = tuning.names
    plain = ("f1", names[-1]) if some_plain else ()
    weights = dict(zip(names, rng.normal(size=len(names)).tolist(), strict=True))
    lists = NormalisedLists(tuning, Lenpen(names[-1], plain=plain))
    steps = along_exponent(lists, Weights.from_dict(weights))
    gain, exponent, low, high = steps.best()
    assert low < exponent < high
    assert by_hand(tuning, weights, exponent, plain) == pytest.approx(100 * gain, abs=1e-9)
    for other in np.linspace(0, 2, 200):
        assert by_hand(tuning, weights, other, plain) <= 100 * gain + 1e-9


@settings(max_examples=examples(200))
@given(st.floats(-3, 3), st.floats(1e-12, 2))
def test_short_numbers_are_well_inside_and_short(low, width):
    high = low + width
    found = short_number(low, high)
    assert low < found < high
    shorter = [round(found, d) for d in range(len(repr(found).partition(".")[2]) - 1)]
    if "e" not in repr(found):
        middle, quarter = 0.5 * (low + high), 0.25 * (high - low)
        assert all(abs(round(middle, d) - middle) > quarter for d in range(len(shorter)))


TUNERS = {
    "mert": ts.MERT(restarts=2, walks=0),
    "pro": ts.PRO(),
    "mira": ts.MIRA(epochs=2),
    "batch-mira": ts.BatchMIRA(passes=2),
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TUNERS)
def test_the_result_is_what_its_weights_choose_everywhere(name):
    tuner = TUNERS[name]
    for seed in range(examples(20)):
        tuning, test = problem(seed), problem(seed + 1000)
        length = tuning.names[-1]
        start = dict.fromkeys(tuning.names, 1.0)
        result = tuner.fit(tuning, start, rng=seed, test=test, lenpen=length)
        about = result.lenpen
        plain, exponent = without_quotients(result.weights, length)
        assert about["exponent"] == exponent or not any(quotient_of(n) for n in result.weights)
        for data, score in ((tuning, result.score), (test, result.test.score)):
            assert by_hand(data, plain, about["exponent"]) == pytest.approx(score, abs=1e-9)
            texts = ts.rerank(data.candidates, result.weights)
            output = candidate_set(
                [[[0.0]]] * len(texts),
                texts=texts,
                references=[
                    [r] for g in range(data.groups) for r in data.candidates.reference_texts(g)
                ],
            )
            assert ts.TuningSet(output, data.metric).output_score() == pytest.approx(score)
        assert result.initial_score == pytest.approx(by_hand(tuning, start, 0.0))
        if name == "mert":
            assert result.score >= result.initial_score
            assert max(t["score"] for t in about["tried"]) <= result.score + 1e-9
            # Everything between both ends chooses alike.
            for share in (0.01, 0.99):
                at = about["low"] + share * (about["high"] - about["low"])
                assert by_hand(tuning, plain, at) == pytest.approx(result.score, abs=1e-9)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_no_fit_at_an_exponent_that_it_tries_is_better():
    """The same climbs from the same start, at the exponents that it begins with."""
    for seed in range(examples(10)):
        tuning = problem(seed, groups=12)
        length = tuning.names[-1]
        start = dict.fromkeys(tuning.names, 1.0)
        tuner = ts.MERT(restarts=1, walks=0)
        result = tuner.fit(tuning, start, rng=seed, lenpen=length)
        lists = NormalisedLists(tuning, Lenpen(length))
        generator = np.random.default_rng(seed)
        for exponent in np.linspace(0.0, 2.0, COARSE):
            (drawn,) = generator.spawn(1)
            fitted = tuner.fit(lists.at(float(exponent)), start, rng=drawn)
            assert result.score >= fitted.score - 1e-9


def test_real_lists_against_a_grid(shared_data):
    """Every tenth of 100 exponents with MERT at each, on lists of a neural translator."""
    folder = shared_data / "catalogs-neural"
    candidates = ts.read(folder / "tune.jsonl.gz", [folder / "tune.ref"])
    tuning = ts.TuningSet(candidates.with_groups(range(250)), "bleu")
    start = dict.fromkeys(tuning.names, 1.0) | {"pieces": 0.0}
    tuner = ts.MERT(restarts=4)
    result = tuner.fit(tuning, start, rng=1, lenpen="pieces")
    lists = NormalisedLists(tuning, Lenpen("pieces"))
    for exponent in np.linspace(0.0, 2.0, 100)[::10]:
        assert tuner.fit(lists.at(float(exponent)), start, rng=1).score <= result.score
    best = result.lenpen["exponent"]
    plain, _ = without_quotients(result.weights, "pieces")
    for other in np.linspace(0.0, 2.0, 201):
        at = lists.at(float(other))
        score = at.score_at(Weights.from_dict(plain).aligned(at.names))
        assert score <= result.score + 1e-9, (other, best)


@pytest.mark.filterwarnings("ignore")
def test_it_goes_on_from_its_own_weights():
    tuning = problem(3)
    length = tuning.names[-1]
    tuner = ts.MERT(restarts=1, walks=0)
    lenpen = Lenpen(length, low=0.1)
    first = tuner.fit(tuning, dict.fromkeys(tuning.names, 1.0), lenpen=lenpen)
    assert any(quotient_of(name) for name in first.weights)
    # Sets that have the quotients already, as the command line reads them.
    derived = ts.TuningSet(
        ts.derive(tuning.candidates, [n for n in first.weights if quotient_of(n)]), tuning.metric
    )
    for data in (tuning, derived):
        second = tuner.fit(data, first.weights, lenpen=lenpen)
        assert second.initial_score == pytest.approx(first.score)
        assert second.score >= first.score
        assert not any(quotient_of(parts[2]) for n in second.weights if (parts := quotient_of(n)))


@pytest.mark.filterwarnings("ignore")
def test_restrictions_name_features_as_the_data_do():
    tuning = problem(5)
    names = tuning.names
    tuner = ts.MERT(restarts=1, walks=0, fix=["f0=0.5"], bound=["f1=0:0.25"])
    result = tuner.fit(
        tuning, dict.fromkeys(names, 0.1), lenpen=Lenpen(names[-1], 0.1, plain=("f2",))
    )
    plain, exponent = without_quotients(result.weights, names[-1])
    assert plain["f0"] == 0.5
    assert 0.0 <= plain["f1"] <= 0.25
    assert result.lenpen["plain"] == ["f2"]
    assert quotient_of(next(n for n in result.weights if quotient_of(n)))[1] == exponent
    assert by_hand(tuning, plain, exponent, ("f2",)) == pytest.approx(result.score)


@pytest.mark.filterwarnings("ignore")
def test_folds_choose_the_exponent_anew(monkeypatch):
    from tunesmith.tuners.lenpen import fit as module

    sizes = []

    class Noting(module.LenpenSearch):
        def run(self, *about):
            sizes.append(self.lists.lists.groups)
            super().run(*about)

    monkeypatch.setattr(module, "LenpenSearch", Noting)
    tuning = problem(7, groups=9)
    start = dict.fromkeys(tuning.names, 1.0)
    tuner = ts.MERT(restarts=0, walks=0)
    result = tuner.fit(tuning, start, lenpen=tuning.names[-1], folds=3)
    assert sizes == [9, 6, 6, 6]
    assert (result.verdict.on, result.verdict.sentences) == ("folds", 9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("after", [1, 4, 30])
def test_an_interruption_leaves_the_best_so_far(monkeypatch, after):
    """In the fits that it begins with, and in the climbs after them."""
    tuning = problem(3)
    inner, count = LenpenSearch._look, itertools.count(1)

    def look(self, *about):
        inner(self, *about)
        if next(count) == after:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(LenpenSearch, "_look", look)
    with ts.interruptible():
        start = dict.fromkeys(tuning.names, 1.0)
        result = ts.MERT(restarts=0, walks=0).fit(tuning, start, lenpen="f3", folds=2)
    assert result.interrupted
    assert re.fullmatch(r"interrupted after \d+ exponents", result.stopped)
    plain, _ = without_quotients(result.weights, "f3")
    assert by_hand(tuning, plain, result.lenpen["exponent"]) == pytest.approx(result.score)
    assert next(count) == after + 1


@pytest.mark.parametrize("kind", WEIGHTS_FORMATS.names())
def test_every_format_of_weights_keeps_it(kind):
    weights = Weights.from_dict(
        {
            "lm": 0.0,
            per_length("pieces", 0.6137, "lm"): -0.25,
            per_length("derived:words", 1e-07, "rank:TM_1"): 0.5,
            per_length("pieces", -0.5, "derived:vote:number"): 1.5,
        }
    )
    form = WEIGHTS_FORMATS.get(kind)()
    assert dict(form.read(form.write(weights, b""), "w")) == dict(weights)
    parts = [quotient_of(name) for name in weights]
    assert parts == [
        None,
        ("pieces", 0.6137, "lm"),
        ("derived:words", 1e-07, "rank:TM_1"),
        ("pieces", -0.5, "derived:vote:number"),
    ]


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32 - 1), st.floats(-1, 2), st.sampled_from(["f0", "f7"]))
def test_quotients_equal_the_definition(seed, exponent, feature):
    """Of dense features and of sparse ones, which stay sparse."""
    candidates = text_problem(seed).candidates
    found = ts.derive(candidates, f"per:derived:words^{exponent!r}:{feature}").features
    name = per_length("derived:words", exponent, feature)
    assert (name in found.sparse_names) == (feature == "f7")
    values, column = (found.values(found.names.index(n)) for n in (feature, name))
    for i in range(len(candidates)):
        length = max(1, len(candidates.text(i).split()))
        assert column[i] == values[i] / np.power(float(length), exponent)


@pytest.mark.filterwarnings("ignore")
def test_sparse_features_are_divided_too():
    tuning = text_problem(4)
    result = ts.MERT(restarts=1, walks=0).fit(tuning, lenpen="words")
    plain, exponent = without_quotients(result.weights, "derived:words")
    candidates = tuning.candidates
    matrix = np.column_stack([candidates.features.values(d) for d in range(len(tuning.names))])
    lengths = np.array([max(1, len(candidates.text(i).split())) for i in range(len(candidates))])
    scores = matrix @ np.array([plain[n] for n in tuning.names]) / lengths**exponent
    chosen = [lo + int(np.argmax(scores[lo:hi])) for lo, hi in itertools.pairwise(candidates.start)]
    assert tuning.score(np.array(chosen)) == pytest.approx(result.score, abs=1e-9)


@pytest.mark.parametrize(
    ("lenpen", "problem_text"),
    [
        (Lenpen("f9"), "unknown feature 'f9'"),
        (Lenpen("f3", plain=("x*",)), "lenpen-plain 'x*' matches no feature"),
        (Lenpen("f3", plain=("*",)), "names all features"),
        (Lenpen("f0"), "no length is below 0"),
    ],
)
def test_what_is_wrong_is_said(lenpen, problem_text):
    with pytest.raises(TunesmithError) as error:
        ts.MERT().fit(problem(1), lenpen=lenpen)
    assert problem_text in str(error.value)


@pytest.mark.parametrize("spec", ["per", "per:x", "per:a^b:c", "per:a^inf:c", "per:^1:c"])
def test_names_that_say_too_little(spec):
    with pytest.raises(UsageError):
        ts.derive(problem(1).candidates, spec)
    with pytest.raises(UsageError, match="give LOW:HIGH"):
        Lenpen("f3", 1.0, 1.0)


def test_it_prints_the_exponent_and_the_features_names():
    tuning = problem(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = dict.fromkeys(tuning.names, 1.0)
        lenpen = Lenpen(tuning.names[-1], low=0.1)
        result = ts.MERT(restarts=0, walks=0).fit(tuning, start, lenpen=lenpen)
    exponent = result.lenpen["exponent"]
    assert f"lenpen: scores are divided by f3^{exponent:g}" in str(result)
    assert "derived:" not in str(result)
    assert json.loads(json.dumps(result.to_dict()))["lenpen"]["exponent"] == exponent
    assert f"|lenpen:f3^{exponent!r}" in result.signature
    assert math.isfinite(result.score)
