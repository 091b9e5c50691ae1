from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import as_records, candidate_set
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.merge import merge
from tunesmith.errors import TunesmithError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.moses import MosesFormat
from tunesmith.io.streams import Source

WORDS = ["a", "bb", "ccc", "überlang-und-mehr"]


lines = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.lists(st.sampled_from(WORDS), max_size=3),
        st.dictionaries(st.sampled_from(["f", "g", "h_x", "h_y"]), st.integers(-2, 2), max_size=4),
    ),
    min_size=1,
    max_size=25,
)


def as_text(records) -> bytes:
    parts = []
    for group, words, features in records:
        values = " ".join(f"{name}= {value}" for name, value in features.items())
        parts.append(f"{group} ||| {' '.join(words)} ||| {values} ||| 0\n")
    return "".join(parts).encode()


def collect(*files) -> CandidateSet:
    collector = Collector()
    for records in files:
        MosesFormat().read(Source("test", as_text(records)), collector)
    return collector.finish()


def by_hand(*files) -> dict:
    """Group, order and drop duplicates with dictionaries."""
    found: dict = {}
    for group, words, features in (r for records in files for r in records):
        kept = {k: float(v) for k, v in features.items() if v}
        entry = (" ".join(words), kept)
        if entry not in found.setdefault(group, []):
            found[group].append(entry)
    return dict(sorted(found.items()))


@given(lines)
def test_candidates_are_grouped_in_order_without_duplicates(records):
    assert as_records(collect(records)) == by_hand(records)


@given(lines, lines)
def test_two_files_are_one_and_merging_sets_gives_the_same(first, second):
    whole = collect(first + second)
    parts = collect(first, second)
    assert as_records(whole) == as_records(parts) == by_hand(first, second)
    assert whole.features.names == parts.features.names
    np.testing.assert_array_equal(whole.features.dense, parts.features.dense)
    merged = merge([collect(first), collect(second)])
    assert as_records(merged) == by_hand(first, second)


def test_hash_collisions_do_not_drop_candidates(monkeypatch):
    from tunesmith.data import duplicates

    def same_key(bits, begin, keys):
        keys[:] = 0

    monkeypatch.setattr(duplicates, "_hash_dense", same_key)
    monkeypatch.setattr(duplicates, "_hash_texts", lambda start, ids, keys: None)
    records = [(0, ["a"], {"f": 1}), (0, ["bb"], {"f": 1}), (0, ["a"], {"f": 2})]
    assert as_records(collect(records)) == by_hand(records)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), min_size=1))
def test_candidates_with_other_columns_are_not_duplicates(rows):
    collector = Collector()
    for group, f, m in rows:
        collector.add(group, "", {"f": f}, {"m": m, "zero": -0.0 if m else 0.0})
    found = collector.finish()
    values, metric = found.features.dense[0], found.columns["m"]
    kept = {
        g: list(zip(values[lo:hi].tolist(), metric[lo:hi].tolist(), strict=True))
        for g, lo, hi in zip(found.ids, found.start, found.start[1:], strict=False)
    }
    expected: dict = {}
    for group, f, m in sorted(rows, key=lambda r: r[0]):
        if (f, m) not in expected.setdefault(group, []):
            expected[group].append((f, m))
    assert kept == expected


def test_merge_takes_references_and_sources_from_the_first_that_has_the_group():
    one = candidate_set([[[1.0]], [[2.0]]], texts=["a", "b"], references=[["x"], ["y", "z"]])
    two = candidate_set([[[3.0]], [[4.0]]], texts=["c", "d"], references=[["x"], ["y", "z"]])
    merged = merge([one, two])
    assert [merged.reference_texts(g) for g in range(2)] == [["x"], ["y", "z"]]
    assert [merged.text(i) for i in range(4)] == ["a", "c", "b", "d"]
    bare = candidate_set([[[1.0]]], texts=["a"])
    with pytest.raises(TunesmithError, match="only some of the sets have references"):
        merge([one, bare])
    with pytest.raises(TunesmithError, match="nothing to merge"):
        merge([])


def test_a_feature_on_everywhere_is_dense_and_a_rare_one_sparse():
    records = [
        (0, [w], {"all": 0} | ({"rare": 1} if k == 0 else {})) for k, w in enumerate("abcdefgh")
    ]
    features = collect(records).features
    assert features.dense_names == ("all",)
    assert features.sparse_names == ("rare",)
