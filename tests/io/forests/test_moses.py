"""Moses' hypergraphs, after what Moses writes and its kbmira reads."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.helpers.forests import forest_arrays, forest_set
from tests.helpers.io.forest_samples import MOSES
from tests.helpers.io.forest_sets import drawn_set, in_target_order, whole
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestSet
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.inference.forests.derivations import best_derivations, texts_of
from tunesmith.io.forests.read import read_forests
from tunesmith.io.forests.write import write_forests


def put(folder: Path, text: str, name: str = "5.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_a_graph_is_read_as_it_stands(tmp_path) -> None:
    with pytest.raises(FormatError, match=r"5.txt:2: 5 hyperedges are announced and there are 6"):
        read_forests(put(tmp_path, MOSES.replace("2\n[0] a", "3\n[0] ||| |||\n[0] a")))
    found = read_forests(put(tmp_path, MOSES))
    assert whole(found) == {
        5: {
            "heads": [0, 1, 3, 4, 5],
            "covered": [0, 1, 3, 3],
            "edges": [
                ([], [], {}),
                ([0], [-1, "a", "house"], {"WordPenalty0": -2.0, "LM0": -3.5, "TM0_1": 1e-3}),
                ([0], ["#", "house", -1], {"LM0": -5.0, "a=b": 2.0}),
                ([1], [-1, "."], {}),
                ([2], [-1], {}),
            ],
            "references": None,
            "source": None,
            "counts": [],
        }
    }
    assert found.files[0].format == "moses-hypergraph"


def test_windows_lines_and_no_header(tmp_path) -> None:
    """cdec's target_graph has neither header nor comments nor the last field."""
    text = "2 2\n1\na b ||| F=1\n1\n[0] c ||| F=2\n".replace("\n", "\r\n")
    found = whole(read_forests(put(tmp_path, text)))
    assert found[5]["edges"] == [([], ["a", "b"], {"F": 1.0}), ([0], [-1, "c"], {"F": 2.0})]
    assert found[5]["covered"] == [-1, -1]


@settings(max_examples=examples(50))
@given(drawn_set(words=("the", '"', "#", "größe", "[", "[x]", "a]b", "🎼"), texts=False))
def test_folders_round_trip(tmp_path_factory, forests: ForestSet) -> None:
    folder = tmp_path_factory.mktemp("hg") / "graphs"
    write_forests(forests, folder, "moses-hypergraph")
    assert sorted(p.name for p in folder.iterdir()) == sorted(f"{i}.txt.gz" for i in forests.ids)
    (folder / "weights").write_text("LM0 1\n")
    assert whole(read_forests(folder)) == in_target_order(whole(forests))


def test_values_are_written_in_full(tmp_path) -> None:
    values = {0: 0.1, 1: -1 / 3, 2: 1e-300, 3: 1.7e308}
    held = forest_set([forest_arrays([(0, [], [0], values)], 0)], 4, 1)
    write_forests(held, tmp_path / "one.hg")
    assert whole(read_forests(tmp_path / "one.hg")) == whole(held)


def test_what_the_text_has_no_place_for(tmp_path) -> None:
    edges = [(0, [], [0], {0: 1.0})]
    held = forest_set([forest_arrays(edges, 0)] * 2, 1, 1)
    with pytest.raises(UsageError, match="is one forest and there are 2; name a folder"):
        write_forests(held, tmp_path / "a.hg")

    def changed(**parts) -> ForestSet:
        return ForestSet(
            **{"ids": (0, 1), "arrays": held.arrays, "names": ("f",), "vocabulary": ("w",), **parts}
        )

    for word in ("<s>", "[3]", "a|||b"):
        with pytest.raises(UsageError, match="no place for the word"):
            write_forests(changed(vocabulary=(word,)), tmp_path / "a", "moses-hypergraph")
    for name in ("a b", "", "a|||b"):
        with pytest.raises(UsageError, match="no place for the name"):
            write_forests(changed(names=(name,)), tmp_path / "a", "moses-hypergraph")
    with pytest.raises(UsageError, match="no place for the id 'x'"):
        write_forests(changed(ids=("x", 1)), tmp_path / "a", "moses-hypergraph")
    assert not list(tmp_path.iterdir())
    write_forests(held, tmp_path / "a", "moses-hypergraph")
    with pytest.raises(TunesmithError, match="this is no empty folder; name a new one"):
        write_forests(held, tmp_path / "a", "moses-hypergraph")
    with pytest.raises(TunesmithError, match="does not exist; create it first"):
        write_forests(held, tmp_path / "no" / "a", "moses-hypergraph")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4 5\n", "4\n", r":2: '4' is not the counts of vertices and hyperedges"),
        ("4 5\n", "4 x\n", r":2: a count is 'x', not a whole number"),
        ("4 5\n", "0 0\n", r":2: the forest is empty"),
        ("4 5\n", "3 5\n", r":13: there is more in the file than its 3 vertices"),
        ("4 5\n", "5 5\n", r":14: the file ends where vertex 4 of 5 should be"),
        ("4 5\n", "4 7\n", r":2: 7 hyperedges are announced and there are 5"),
        ("2\n[0] a", "3\n[0] a", r":10: hyperedge 3 of the 3 of vertex 1 should be here"),
        ("2\n[0] a", "1\n[0] a", r":9: the size of vertex 2 is '# house"),
        ("[2] </s>", "[3] </s>", r":14: this hyperedge is in a cycle"),
        ("[1] .", "[9] .", r":11: this hyperedge has a node that does not exist"),
        ("[1] .", "[1] [1] " + "[0] " * 256, r":11: this hyperedge has more than 256 tails"),
        ("LM0=-3.5", "LM0=nan", r":8: a feature of this hyperedge is not finite"),
        ("LM0=-3.5", "LM0=1e999", r":8: a feature of this hyperedge is not finite"),
        ("LM0=-3.5", "LM0=-3,5", r":8: feature 'LM0' is '-3,5', not a number"),
        ("LM0=-3.5", "LM0=1_0", r":8: feature 'LM0' is '1_0', not a number"),
        ("LM0=-3.5", "LM0=٣", r":8: feature 'LM0' is '٣', not a number"),
        ("LM0=-3.5", "LM0", r":8: 'LM0' is no feature with its value; write name=value"),
        ("LM0=-3.5", "=3", r":8: '=3' is no feature with its value"),
        ("LM0=-4", "LM0=-4=2 3", r":9: '3' is no feature with its value"),
        ("</s> |||  ||| 3", "</s> |||  ||| x", r":14: the number of covered words is 'x'"),
        ("</s> |||  ||| 3", "</s> |||  ||| 99999999999", r":14: vertex 3 covers 99999999999"),
        ("[2] </s> |||  ||| 3\n", "", r":13: the file ends after 0 of the 1 hyperedges of vert"),
        ("[2] </s> |||  ||| 3\n", "[2] </", r":14: hyperedge 1 of the 1 of vertex 3 should be"),
    ],
)
def test_errors_name_the_line(tmp_path, old: str, new: str, message: str) -> None:
    assert MOSES.count(old) == 1
    with pytest.raises(FormatError, match=message):
        read_forests(put(tmp_path, MOSES.replace(old, new)))


def test_cycles_and_goals_without_a_derivation(tmp_path) -> None:
    cycle = "2 3\n1\na ||| \n2\n[1] ||| \n[0] ||| \n"
    with pytest.raises(FormatError, match=r"5.txt:5: this hyperedge is in a cycle"):
        read_forests(put(tmp_path, cycle))
    with pytest.raises(FormatError, match=r"5.txt:5: this hyperedge is in a cycle"):
        read_forests(put(tmp_path, "2 2\n1\na ||| \n1\n[1] ||| \n"))
    with pytest.raises(FormatError, match=r"5.txt:5: no derivation .*: this hyperedge has a tail"):
        read_forests(put(tmp_path, f"{MOSES.splitlines()[0]}\n2 1\n0\n1\n[0] ||| |||\n"))
    with pytest.raises(FormatError, match=r"5.txt:1: no derivation .*: no hyperedge leads to it"):
        read_forests(put(tmp_path, "2 1\n1\na ||| \n0\n"))


@pytest.mark.parametrize("wrong", ["a 2", "a =2", "a= 2", "a", "=2", "b=5 a 2", "a=2=b 5"])
def test_features_are_as_strict_once_their_names_are_known(tmp_path, wrong: str) -> None:
    head = f"{MOSES.splitlines()[0]}\n1 2\n2\n"
    good = "x ||| a=1 b=2 ||| 1\n"
    for text, line in [(f"{wrong} |||\n", 4), (f"{wrong} |||\n", 5)]:
        edges = f"y ||| {text}{good}" if line == 4 else f"{good}y ||| {text}"
        with pytest.raises(FormatError, match=rf"5.txt:{line}: .*(feature with its|not a number)"):
            read_forests(put(tmp_path, head + edges))


def test_a_name_may_have_an_equals_sign_whatever_is_known(tmp_path) -> None:
    edges = ["x ||| a=1 b=2 ||| 1\n", "x ||| a=2=b=5 ||| 1\n"]
    for own in (edges, edges[::-1]):
        head = f"{MOSES.splitlines()[0]}\n1 2\n2\n"
        found = whole(read_forests(put(tmp_path, head + "".join(own))))[5]["edges"]
        assert {"a=2=b": 5.0} in [features for _, _, features in found]
        assert {"a": 1.0, "b": 2.0} in [features for _, _, features in found]


def test_every_truncation_is_an_error(tmp_path) -> None:
    """But for a header with nothing, and a last line that lost its number of words alone."""
    for end in range(len(MOSES) - 3):
        with pytest.raises(FormatError):
            read_forests(put(tmp_path, MOSES[:end]), format="moses-hypergraph")


def test_truncated_gzip_and_bad_utf8(tmp_path) -> None:
    path = tmp_path / "0.txt.gz"
    path.write_bytes(gzip.compress(MOSES.encode())[:-20])
    with pytest.raises(FormatError, match=r"the gzip data end too early; .*truncated"):
        read_forests(path)
    path = tmp_path / "0.txt"
    path.write_bytes(MOSES.encode().replace(b"a house", b"a h\xe4use"))
    with pytest.raises(FormatError, match=r"0.txt:8: byte 0xe4 is not UTF-8"):
        read_forests(path)


def test_the_best_of_real_graphs_is_the_decoders_output(shared_data) -> None:
    folder = shared_data / "m30k-forests"
    forests = read_forests(folder / "hg", folder / "ref", sources=folder / "src")
    assert forests.ids == tuple(range(100))
    assert len(forests.names) == 15
    lines = (folder / "hg" / "weights").read_text().splitlines()
    weights = {name: float(value) for name, value in (line.split() for line in lines)}
    vector = np.array([weights[name] for name in forests.names])
    texts = texts_of(forests, best_derivations(forests, vector))
    best = (folder / "1best").read_text().splitlines()
    assert [forests.join(texts[s]).split() for s in range(100)] == [x.split() for x in best]
    assert forests.sources is not None
    assert forests.sources[0] == (folder / "src").read_text().splitlines()[0]
