"""What the formats of lattices share, and how they are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.io.forest_samples import HTK, JOSHUA, KALDI, PLF, SPHINX, SPHINX_HTK
from tunesmith.errors import FormatError
from tunesmith.inference.forests.derivations import best_derivations, texts_of
from tunesmith.io.forests.base import FOREST_FORMATS
from tunesmith.io.forests.lattices.base import id_of
from tunesmith.io.forests.read import read_forests

SAMPLES = {
    "plf": PLF,
    "kaldi-lattice": KALDI,
    "htk": HTK,
    "sphinx": SPHINX,
    "joshua-hypergraph": JOSHUA,
    "moses-hypergraph": "# target ||| features ||| source-covered\n1 1\n1\na ||| b=1 ||| 1\n",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_is_recognised_as_one_format(name):
    head = SAMPLES[name].encode()
    assert [n for n in FOREST_FORMATS.names() if FOREST_FORMATS.get(n).recognises(head)] == [name]


def test_pocketsphinx_writes_htk_with_comments_before_it():
    head = SPHINX_HTK.encode()
    assert [n for n in FOREST_FORMATS.names() if FOREST_FORMATS.get(n).recognises(head)] == ["htk"]


def test_an_id_is_a_number_only_if_it_is_written_as_one():
    assert [id_of(text) for text in ["0", "17", "017", "-1", "a-1", "²", "9" * 19]] == [
        *(0, 17, "017", "-1", "a-1", "²", "9" * 19)
    ]


@pytest.mark.parametrize("name", ["kaldi-lattice", "htk"])
def test_transcripts_of_utterances(tmp_path, name):
    one, two = tmp_path / "one", tmp_path / "two"
    first = SAMPLES[name]
    known = "444c0410" if name == "kaldi-lattice" else "testf1.mfc"
    one.write_text(first)
    two.write_text(first.replace(known, "other"))
    text = tmp_path / "text"
    text.write_text(f"unused x\nother A\n{known}  FOUR  NOT here\n")
    found = read_forests([one, two], format=f"{name}:references={text}")
    assert found.ids == (known, "other")
    held = found.references
    assert held.counts.tolist() == [1, 1]
    assert [found.join(held.texts[g]) for g in range(2)] == ["FOUR NOT here", "A"]
    text.write_text("other A\n")
    with pytest.raises(FormatError, match=f"text: there is no transcript of '{known}'"):
        read_forests(one, format=f"{name}:references={text}")
    text.write_text("other A\nother B\n")
    with pytest.raises(FormatError, match="text:2: 'other' is there twice"):
        read_forests(two, format=f"{name}:references={text}")


def test_folders_are_read_whatever_is_in_them(tmp_path):
    folder = tmp_path / "lattices"
    read = read_forests(put(tmp_path / "one.slf", HTK))
    htk = FOREST_FORMATS.create("htk")
    htk.write(read, folder)
    assert [path.name for path in folder.iterdir()] == ["testf1.mfc.lat"]
    assert read_forests(folder).ids == ("testf1.mfc",)
    dumped = tmp_path / "hg"
    dumped.mkdir()
    for k in (10, 9):
        put(dumped / f"{k}", JOSHUA)
    found = read_forests(dumped)
    assert found.ids == (9, 10)
    assert {file.format for file in found.files} == {"joshua-hypergraph"}


@pytest.mark.parametrize("name", ["plf", "htk", "joshua-hypergraph"])
def test_search_graphs_of_moses_in_other_formats_have_the_same_best(shared_data, tmp_path, name):
    # They go from left to right, so they are lattices, with phrases on their arcs.
    folder = shared_data / "m30k-forests"
    forests = read_forests([folder / "hg" / f"{k}.txt.gz" for k in range(3)])
    FOREST_FORMATS.create(name).write(forests, tmp_path / "out")
    lines = (folder / "hg" / "weights").read_text().splitlines()
    weights = {feature: float(value) for feature, value in (line.split() for line in lines)}
    again = read_forests(tmp_path / "out")
    best = best_derivations(again, np.array([weights[feature] for feature in again.names]))
    texts = texts_of(again, best)
    output = (folder / "1best").read_text().splitlines()[:3]
    assert [again.join(texts[g]) for g in range(3)] == [line.strip() for line in output]


def put(path, text):
    path.write_text(text)
    return path
