"""Searches and inference give the same bits whoever works."""

from __future__ import annotations

import dataclasses
import os
import pickle
import warnings
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import candidate_set
from tests.helpers.forests import drawn_forest, forest_arrays, forest_set
from tests.helpers.parallel.pickling import PicklingEngine
from tests.helpers.tiers import examples
from tests.helpers.tuners.problems import number_problem, text_problem
from tests.helpers.waiting import PATIENCE
from tunesmith.data import memory
from tunesmith.data.forests import ForestSet, SelectedForests
from tunesmith.errors import TunesmithError
from tunesmith.inference.forests.derivations import best_derivations, features_of, texts_of
from tunesmith.inference.forests.envelope.search import forest_envelopes
from tunesmith.inference.forests.expectation import (
    covariance_with_counts,
    covariance_with_features,
    expected_counts,
    score_deviation,
)
from tunesmith.inference.forests.hypotheses import ForestHypotheses
from tunesmith.inference.forests.kbest.search import kbest_derivations
from tunesmith.inference.forests.ngrams.counts import forests_with_counts
from tunesmith.inference.forests.oracle import forest_oracle
from tunesmith.inference.forests.prune import prune_beam, prune_density, prune_posterior
from tunesmith.inference.forests.sample import sampled_derivations
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.io.forests.arrow.store import StoredForests
from tunesmith.io.forests.arrow.temporary import stored_like
from tunesmith.io.forests.read import read_forests
from tunesmith.io.forests.write import write_forests
from tunesmith.metrics.bleu import BLEU
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.remote.processes import ProcessEngine
from tunesmith.tasks.lists import TuningSet

pytestmark = pytest.mark.long

FEATURES, WORDS = 3, 4


def some(count, seed=1):
    """Return random forests with references: a chain of nodes, each made in two ways or three."""
    rng = np.random.default_rng(seed)
    parts, references = [], []
    for _ in range(count):
        edges = []
        for node in range(int(rng.integers(1, 6))):
            for _ in range(int(rng.integers(2, 4))):
                tails = [int(rng.integers(0, node))] if node else []
                words = rng.integers(0, WORDS, int(rng.integers(1, 3))).tolist()
                values = dict(enumerate(rng.normal(size=FEATURES).round(3).tolist()))
                edges.append((node, tails, [*words, *([-1] if tails else [])], values))
        parts.append(forest_arrays(edges, node))
        references.append([rng.integers(0, WORDS, 5).tolist()])
    return forest_set(parts, FEATURES, WORDS, references)


@pytest.fixture(scope="module")
def processes():
    with ProcessEngine(2, timeout=PATIENCE) as engine:
        yield engine


def plain(value):
    """Return a value as numbers and bytes, so that equal means the same bits."""
    if isinstance(value, ForestSet | StoredForests | SelectedForests):
        return plain(value.in_memory().arrays)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return [plain(getattr(value, f.name)) for f in fields if f.name != "cache"]
    return value


def same_everywhere(work, *engines):
    """Return what work finds with one thread, if it finds the same with all else."""
    with ts.threads(1):
        expected = work()
    with ts.threads(2):
        assert plain(work()) == plain(expected)
    for engine in engines or (PicklingEngine(), PicklingEngine(1)):
        with working_on(engine):
            assert plain(work()) == plain(expected)
    return expected


def inference(forests, weights, direction):
    """Ask all that forests can be asked."""
    metric = BLEU()
    best = best_derivations(forests, weights)
    whole = forests_with_counts(forests, metric)
    hypotheses = ForestHypotheses(ts.ForestTuning(forests, metric))
    point = hypotheses.point(weights)
    moved = hypotheses.move(point, Direction.of(direction, "d"), 0.5)
    slope = np.linspace(-1.0, 1.0, len(metric.stat_names))
    return [
        best,
        texts_of(forests, best),
        features_of(forests, best),
        kbest_derivations(forests, weights, 3),
        kbest_derivations(forests, weights, 3, unique=True),
        forest_envelopes(forests, weights, direction),
        sampled_derivations(forests, weights, 0.7, 3, 5),
        [prune_beam(forests, weights, 1.0), prune_density(forests, weights, 2.0)],
        prune_posterior(forests, weights, 0.2),
        whole,
        expected_counts(whole, weights, 0.5),
        covariance_with_counts(whole, weights, 0.5, slope),
        covariance_with_features(forests, weights, 0.5, np.eye(len(weights))),
        score_deviation(forests, weights),
        point,
        moved,
        hypotheses.envelope(moved, Direction.of(direction, "d")),
        hypotheses.expected([point], [1.0]),
        hypotheses.spread(),
        [forest_oracle(ts.ForestTuning(forests, m), weights) for m in ("bleu", "wer", "cer")],
    ]


vectors = st.lists(st.floats(-2, 2, width=16), min_size=FEATURES, max_size=FEATURES).map(np.array)


@given(st.lists(drawn_forest(), min_size=1, max_size=7), vectors, vectors, st.data())
@settings(max_examples=examples(8))
def test_forest_inference_is_the_same_whoever_works(forests, weights, direction, data):
    texts = st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=5)
    references = [[data.draw(texts)] for _ in forests]
    held = forest_set(forests, FEATURES, WORDS, references)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same_everywhere(lambda: inference(held, weights, direction))


def test_forest_inference_is_the_same_in_processes(processes):
    held = some(12)
    weights, direction = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.0, -0.5])
    same_everywhere(lambda: inference(held, weights, direction), processes)


def test_forests_on_disk_are_found_by_other_processes(processes, tmp_path, monkeypatch):
    held = some(12)
    write_forests(held, tmp_path / "f.arrow")
    weights = np.array([0.5, -1.0, 2.0])
    monkeypatch.setattr(memory, "budget", lambda: 1 << 12)
    on_disk = read_forests(tmp_path / "f.arrow")
    temporary = stored_like(held, [held.arrays])
    expected = best_derivations(held, weights)
    for forests in (on_disk, temporary, on_disk.with_features(drop="f1")):
        assert forests.bytes_per_edge > 0.0
        own = weights if len(forests.names) == 3 else weights[[0, 2]]
        found = same_everywhere(lambda f=forests, w=own: best_derivations(f, w), processes)
        if len(own) == 3:
            assert plain(found) == plain(expected)


def test_forests_on_disk_that_another_machine_lacks_are_an_error(tmp_path):
    held = some(3)
    sent = pickle.dumps(stored_like(held, [held.arrays]))
    with pytest.raises(TunesmithError, match=r"in a temporary file.*--memory"):
        pickle.loads(sent)  # the set is gone, and its file with it
    write_forests(held, tmp_path / "f.arrow")
    with mock.patch.object(memory, "budget", return_value=0):
        on_disk = read_forests(tmp_path / "f.arrow")
    # As if it came from another machine, where no process has that number.
    with mock.patch("os.getpid", return_value=2**30):
        sent = pickle.dumps(on_disk)
    assert plain(pickle.loads(sent)) == plain(held)
    os.utime(tmp_path / "f.arrow", (1, 1))  # another file of that name
    with pytest.raises(TunesmithError, match="another machine does not find"):
        pickle.loads(sent)


def test_forests_with_some_features_are_sent_without_the_others():
    held = some(5)
    fewer = held.with_features(drop="f1")
    again = pickle.loads(pickle.dumps(fewer))
    assert plain(again) == plain(fewer)
    assert (again.names, again.ids) == (fewer.names, fewer.ids)
    assert len(pickle.dumps(fewer)) < len(pickle.dumps(held))


def fitted(tuner, tuning, **options):
    """Return what a result says, but for the time that it took."""
    found = tuner.fit(tuning, **options)
    path = [{**one, "seconds": 0.0} for one in found.path or []]
    runs = [one["weights"] for one in found.runs or []]
    values = [found.score, found.line_searches, found.history, found.warnings, path, runs]
    return [*values, dict(found.weights)]


MERTS = [
    ts.MERT(restarts=5, walks=1),
    ts.MERT(restarts=2, directions="powell", begin="anywhere"),
    ts.MERT(restarts=2, directions="random", smoothing="mean"),
    ts.MERT(restarts=1, directions="gradient"),
    ts.MERT(restarts=1, walks=0, penalty="l0", strength=(1e-3,)),
]


@pytest.mark.parametrize("tuner", MERTS, ids=lambda tuner: f"{tuner.directions}-{tuner.penalty}")
@given(seed=st.integers(0, 1000))
@settings(max_examples=examples(2))
def test_mert_is_the_same_whoever_climbs(tuner, seed):
    problem = text_problem(seed, groups=8)
    engine = PicklingEngine(2)
    same_everywhere(lambda: fitted(tuner, problem, rng=seed), engine)
    shared = [name for name, _ in engine.maps]
    assert tuner.restarts < 2 or "climb_and_walk" in shared


def test_mert_is_the_same_on_sums_of_fractions():
    problem = number_problem(3)
    same_everywhere(lambda: fitted(ts.MERT(restarts=5), problem))


def test_line_searches_of_one_climb_are_shared_out():
    problem = text_problem(1, groups=8)
    engine = PicklingEngine(2)
    tuner = ts.MERT(restarts=0, walks=0)
    same_everywhere(lambda: fitted(tuner, problem), engine)
    assert {name for name, _ in engine.maps} == {"_along_lines"}


def test_mert_on_forests_is_the_same_whoever_works(processes):
    tuning = ts.ForestTuning(some(8), "bleu")
    tuner = ts.MERT(restarts=2, list_rounds=1)
    same_everywhere(lambda: fitted(tuner, tuning), PicklingEngine(2), processes)


def test_mert_is_the_same_in_processes(processes):
    problem = text_problem(2, groups=20)
    same_everywhere(lambda: fitted(ts.MERT(restarts=5), problem), processes)


def test_hypotheses_are_sent_as_what_they_are_made_of_without_texts():
    problem = text_problem(4)
    own = ListHypotheses(problem)
    again = pickle.loads(pickle.dumps(own))
    weights = np.linspace(-1.0, 1.0, len(own.names))
    assert plain(again.point(weights)) == plain(own.point(weights))
    assert plain(again.spread()) == plain(own.spread())
    assert problem.candidates.vocabulary
    assert again.tuning.candidates.vocabulary == ()


#: Whole settings or runs, and those on forests.
APART = ("_learnt_apart", "_run_apart", "_path_apart", "_with_large")


def settings_of(engine):
    """Return how many pieces went to other processes as whole settings or runs."""
    return [pieces for name, pieces in engine.maps if name in APART]


@pytest.mark.parametrize("pick", ["last", "dev"])
def test_settings_are_learnt_apart(pick):
    problem, dev = text_problem(5, groups=25), text_problem(6, groups=10)
    tuner = ts.BatchMIRA(passes=3, c=(0.1, 0.001), objective=("bleu+1", "document"), pick=pick)
    engine = PicklingEngine()
    same_everywhere(lambda: fitted(tuner, problem, dev=dev), engine)
    assert settings_of(engine) == [4]
    with working_on(engine):
        taken = [one["seconds"] for one in tuner.fit(problem, dev=dev).path]
    assert sum(taken) > 0.0
    assert min(taken) >= 0.0


def test_settings_on_forests_are_learnt_apart():
    tuning, dev = ts.ForestTuning(some(6)), ts.ForestTuning(some(4, seed=2))
    tuner = ts.MIRA(epochs=2, objective=("bleu+1", "document"))
    engine = PicklingEngine()
    same_everywhere(lambda: fitted(tuner, tuning, dev=dev), engine)
    assert settings_of(engine) == [2]


def test_paths_of_strengths_are_made_apart_for_each_length():
    problem, dev = text_problem(5, groups=10), text_problem(6, groups=5)
    about = {"penalty": "l0", "strength": (1e-3, 1e-2), "length_scale": (0.9, 1.0, 1.1)}
    tuner = ts.MERT(restarts=1, walks=0, **about)
    engine = PicklingEngine()
    same_everywhere(lambda: fitted(tuner, problem, dev=dev), engine)
    assert settings_of(engine) == [3]


@pytest.mark.filterwarnings("ignore:.* sentences of the")
def test_warnings_of_settings_are_told(processes):
    vectors = np.random.default_rng(1).normal(size=(6, 3, 2)).tolist()
    texts = [f"a {k} b" for k in range(18)]
    problem = TuningSet(candidate_set(vectors, [], texts, [["no such text"]] * 6))
    tuner = ts.MIRA(epochs=1, reference="bold", objective=("bleu+1", "document"))
    with pytest.warns(UserWarning, match="nothing was learnt"):
        found = same_everywhere(lambda: fitted(tuner, problem, dev=problem), processes)
    assert any("nothing was learnt" in text for text in found[3])


def test_runs_are_made_apart(processes):
    problem = text_problem(7, groups=10)
    tuner = ts.MERT(restarts=2, walks=0)
    engine = PicklingEngine()
    work = lambda: fitted(tuner, problem, runs=3, combine="average")  # noqa: E731
    same_everywhere(work, engine, processes)
    assert settings_of(engine) == [3]


def test_what_a_committee_notes_stays_here():
    problem = text_problem(8, groups=25)
    tuner = ts.Auto(member=("mert:restarts=1", "batch-mira:passes=2"))
    engine = PicklingEngine()
    same_everywhere(lambda: fitted(tuner, problem, runs=2), engine)
    assert settings_of(engine) == []
