"""A fixed pool of candidates as a decoder."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tests.helpers.tiers import examples
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError, Sentence
from tunesmith.decoders.pool import PoolDecoder
from tunesmith.errors import UsageError
from tunesmith.inference.lists.rerank import nbest
from tunesmith.io.read import read
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.parallel.local import threads
from tunesmith.tuners.mert.mert import MERT

VALUES = st.integers(-2, 2).map(float)


@st.composite
def pools(draw):
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=5))
    vectors = [[[draw(VALUES) for _ in range(3)] for _ in range(n)] for n in sizes]
    texts = [draw(st.sampled_from(["a", "a b", "", "c d e"])) for _ in range(sum(sizes))]
    sparse = draw(st.sampled_from([(), (2,), (0, 1, 2)]))
    references = draw(st.booleans()) or None
    made = candidate_set(vectors, sparse, texts, references and [["r", f"s {n}"] for n in sizes])
    made = dataclasses.replace(
        made,
        ids=draw(st.sampled_from([tuple(range(len(sizes))), tuple(f"u{k}" for k in sizes)]))
        if len(set(sizes)) == len(sizes)
        else tuple(range(len(sizes))),
        columns={"worth": np.arange(float(len(made)))},
        sources=tuple(f"input {k}" for k in range(len(sizes))),
    )
    order = draw(st.permutations(range(len(sizes))))
    return made, list(order[: draw(st.integers(1, len(order)))])


def rows_by_hand(pool, group, weights, count):
    """Sort by the score, which is exact in small whole numbers, then by place."""
    vectors = np.column_stack([pool.features.dense.T, pool.features.sparse.toarray()])
    rows = range(pool.start[group], pool.start[group + 1])
    scored = [(-sum(float(w * h) for w, h in zip(weights, vectors[i])), i) for i in rows]  # noqa: B905
    return [i for _, i in sorted(scored)][:count]


@given(pools(), st.tuples(VALUES, VALUES, VALUES), st.integers(1, 8))
def test_the_best_under_the_weights_with_all_that_is_theirs(made, weights, count):
    pool, groups = made
    names = pool.features.names
    decoder = PoolDecoder.of(pool, nbest_size=count)
    asked = [decoder.sentences()[g] for g in groups]
    found = decoder.decode(Weights(names, np.array(weights)), asked)
    assert list(found.ids) == [pool.ids[g] for g in groups]
    whole = np.column_stack([pool.features.dense.T, pool.features.sparse.toarray()])
    part = np.column_stack([found.features.dense.T, found.features.sparse.toarray()])
    assert found.features.dense_names == pool.features.dense_names
    assert found.features.sparse_names == pool.features.sparse_names
    for own, group in enumerate(groups):
        rows = rows_by_hand(pool, group, weights, count)
        ours = range(found.start[own], found.start[own + 1])
        assert found.columns["worth"][ours].tolist() == rows
        assert np.array_equal(part[ours], whole[rows])
        assert [found.text(i) for i in ours] == [pool.text(i) for i in rows]
        assert found.reference_texts(own) == pool.reference_texts(group)
        assert found.sources[own] == pool.sources[group]


@settings(max_examples=examples(20))
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_many_groups_in_any_number_of_threads(seed, count):
    """Equal scores abound: the order among them is that of the pool."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 60, 200)
    pool = candidate_set([rng.integers(0, 3, (n, 2)).tolist() for n in sizes])
    weights = rng.integers(-1, 2, 2).astype(float)
    wanted = rng.permutation(200)[:150]
    found = []
    for number in (1, 2):
        with threads(number):
            rows, taken = nbest(pool, weights, count, wanted)
        found.append(rows.tolist())
    assert found[0] == found[1]
    by_hand = [rows_by_hand(pool, g, weights, count) for g in wanted]
    assert found[0] == [i for rows in by_hand for i in rows]
    assert taken.tolist() == [len(rows) for rows in by_hand]


def test_files(bundled, tmp_path):
    path = str(bundled / "tune.nbest.gz")
    decoder = DECODERS.get("pool")(candidates=path, nbest_size=3)
    pool = read(path)
    sentences = decoder.sentences()
    assert [(s.id, s.text) for s in sentences] == [(k, "") for k in range(pool.groups)]
    weights = Weights(pool.features.names, np.ones(len(pool.features.names)))
    found = decoder.decode(weights, sentences[5:7])
    assert found.ids == (5, 6)
    assert np.diff(found.start).tolist() == [3, 3]
    (copy := tmp_path / "copied.gz").write_bytes((bundled / "tune.nbest.gz").read_bytes())
    moved = PoolDecoder(candidates=(str(copy),), nbest_size=3)
    assert moved.configuration() == decoder.configuration()
    assert PoolDecoder(candidates=path).configuration() != decoder.configuration()
    other = PoolDecoder(candidates=str(bundled / "test.nbest.gz"), nbest_size=3)
    assert other.configuration() != decoder.configuration()
    json.dumps(decoder.configuration(), allow_nan=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": (0, 7)},
        {"vocabulary": ("x", "y")},
        {"sources": ("x", "y")},
        {"references": candidate_set([[[1.0]]] * 2, references=[["r"], ["s"]]).references},
        {"columns": {"worth": np.array([1.0, 2.0])}},
        {"features": candidate_set([[[1.0, 2.0]], [[3.0, 5.0]]]).features},
        {"features": candidate_set([[[1.0, 2.0]], [[3.0, 4.0]]], [1]).features},
    ],
)
def test_other_candidates_are_another_configuration(changes):
    pool = candidate_set([[[1.0, 2.0]], [[3.0, 4.0]]], texts=["a", "b"])
    same, other = PoolDecoder.of(pool), PoolDecoder.of(dataclasses.replace(pool, **changes))
    assert same.configuration() == PoolDecoder.of(pool).configuration()
    assert same.configuration() != other.configuration()


def test_what_the_pool_lacks():
    decoder = PoolDecoder.of(candidate_set([[[1.0]], [[2.0]]]))
    weights = Weights.from_dict({"f0": 1.0, "other": 2.0})
    assert decoder.decode(weights, [Sentence(1, "")]).ids == (1,)
    with pytest.raises(DecoderError, match="no candidates of sentence 2 and 1 more"):
        decoder.decode(weights, [Sentence(0, ""), Sentence(2, ""), Sentence("x", "")])
    with pytest.raises(DecoderError, match="no weight has the name of a feature"):
        decoder.decode(Weights.from_dict({"other": 1.0}), [Sentence(0, "")])
    with pytest.raises(UsageError, match="nbest-size is 0; give 1 or more"):
        PoolDecoder(nbest_size=0)
    with pytest.raises(UsageError, match="give --decoder-candidates FILE"):
        PoolDecoder().sentences()


def test_without_a_start_the_first_of_the_pool_come_first():
    pool = candidate_set([[[1.0], [3.0], [2.0]], [[4.0], [5.0]]], texts=["b", "a b", "c", "b", "a"])
    decoder = PoolDecoder.of(pool, nbest_size=2)
    assert dict(decoder.start()) == {"f0": 0.0}
    found = decoder.decode(decoder.start(), decoder.sentences())
    assert [found.text(k) for k in range(4)] == ["b", "a b", "b", "a"]
    inputs = Inputs(tuple(decoder.sentences()), (("a b",), ("a",)))
    result = Loop(rounds=3).run(decoder, MERT(restarts=0), inputs, metric="wer")
    assert result.initial_score == pytest.approx(200.0 / 3)
    assert result.score == 0.0
