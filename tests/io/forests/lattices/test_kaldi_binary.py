"""Binary archives of Kaldi's lattices.

Written here from OpenFst's VectorFst::WriteFst and the weights of fstext/lattice-weight.h, and
held against the same lattices in text form.
"""

from __future__ import annotations

import contextlib
import gzip
import math
import struct
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.io.lattices import drawn_lattice, read_text, shown
from tests.helpers.tiers import examples
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.forests.base import FOREST_FORMATS
from tunesmith.io.forests.lattices.kaldi import KaldiLattice
from tunesmith.io.forests.read import read_forests

#: States with their arcs (word, costs, transition ids, target) and final costs, or None.
STATES = [
    ([(1, (1.5, 2.0), (17,), 1), (2, (0.25, -1.0), (), 2)], None),
    ([(0, (0.0, 0.0), (3, 4), 2)], (0.5, 0.125)),
    ([], (0.0, 3.0)),
]
TEXT = "u-1\n0 1 1 1.5,2,17\n0 2 2 0.25,-1,\n1 2 0 0,0,3_4\n1 0.5,0.125,\n2 0,3,\n\n"


def written(states, key="u-1", compact=True, start=0):
    def text(data):
        return struct.pack("<i", len(data)) + data

    def weight(costs, ids=()):
        held = struct.pack("<ff", *costs)
        return held + struct.pack(f"<i{len(ids)}i", len(ids), *ids) if compact else held

    kind = b"compactlattice44" if compact else b"lattice4"
    found = f"{key} ".encode() if key else b""
    found += struct.pack("<i", 2125659606) + text(b"vector") + text(kind)
    found += struct.pack("<iiQqqq", 2, 0, 3, start, len(states), 0)
    for arcs, final in states:
        found += weight((math.inf, math.inf) if final is None else final)
        found += struct.pack("<q", len(arcs))
        for word, costs, ids, target in arcs:
            label = word if compact else (ids[0] if ids else 0)
            found += struct.pack("<ii", label, word) + weight(costs, ids)
            found += struct.pack("<i", target)
    return found


@pytest.mark.parametrize("compact", [True, False])
def test_an_archive_is_what_its_text_says(compact):
    data = written(STATES, compact=compact) + written(STATES, "7", compact=compact)
    found = read_text(KaldiLattice(), data)
    same = read_text(KaldiLattice(), TEXT)
    assert found.ids == ["u-1", 7]
    assert found.paths(0) == found.paths(1) == same.paths()


def test_an_archive_is_recognised_and_has_words(tmp_path):
    (tmp_path / "words.txt").write_text("<eps> 0\nyes 1\nno 2\n")
    (tmp_path / "lat.1.gz").write_bytes(gzip.compress(written(STATES)))
    form = f"kaldi-lattice:words={tmp_path / 'words.txt'}"
    found = read_forests(tmp_path / "lat.1.gz", format=form)
    assert found.vocabulary == ("yes", "no")
    single = read_text(FOREST_FORMATS.create(form), written(STATES, key=""))
    assert single.ids == [0]
    assert read_forests(tmp_path / "lat.1.gz").vocabulary == ("1", "2")


@settings(max_examples=examples(100))
@given(drawn_lattice(("graph", "acoustic")), st.booleans())
def test_paths_of_drawn_lattices(drawn, compact):
    words = {word: k for k, word in enumerate(sorted({w for *_, w, _ in drawn.arcs if w}), 1)}
    states = [([], None) for _ in range(drawn.states - 1)] + [([], (0.0, 0.0))]
    for source, target, word, values in drawn.arcs:
        costs = (-values["graph"], -values["acoustic"])
        states[source][0].append((words[word] if word else 0, costs, (5, 6), target))
    found = read_text(KaldiLattice(), written(states, compact=compact))
    expected: Counter = Counter()
    for (texts, scores), count in drawn.paths().items():
        expected[tuple(str(words[w]) for w in texts), shown(dict(scores))] += count
    assert found.paths() == expected


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (written(STATES)[:-1], "the lattice of 'u-1' is cut off"),
        (written(STATES) + b"rest", "no key of an utterance"),
        (written(STATES) + b"u-2 xxxx", "there is no lattice where one should be"),
        (written(STATES).replace(b"vector", b"const!"), "it is an FST of another type"),
        (written(STATES).replace(b"lattice44", b"lattice84"), "it is an FST of another type"),
        (written([]), "the lattice is empty"),
        (written(STATES, start=5), "the lattice is empty"),
        (written([([(1, (0, 0), (), 7)], (0, 0))]), "an arc leads to state 7, of 1"),
        (written([([], None)]), "the lattice has no final state"),
        (written([([(1, (math.nan, 0.0), (), 1)], None), ([], (0, 0))]), "not finite"),
        (written([([(1, (0, 0), (), 0)], (0, 0))]), "cycle"),
    ],
)
def test_archives_that_cannot_be(tmp_path, data, told):
    (tmp_path / "lat.1").write_bytes(data)
    with pytest.raises(FormatError, match=told):
        read_forests(tmp_path / "lat.1")


@settings(max_examples=examples(300))
@given(st.data())
def test_damaged_archives_are_refused_or_read(data):
    whole = bytearray(written(STATES) + written(STATES, "v"))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(8, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(TunesmithError):
        for arrays in read_text(KaldiLattice(), bytes(whole)).forests:
            assert np.isfinite(arrays.feature_values).all()
