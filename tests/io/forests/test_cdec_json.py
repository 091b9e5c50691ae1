"""cdec's own JSON hypergraphs, after what its last version with them wrote (hg_io.cc, 2014)."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.helpers.io.forest_samples import CDEC_JSON
from tests.helpers.io.forest_sets import whole
from tunesmith.errors import FormatError
from tunesmith.io.forests.read import read_forests


def put(folder: Path, text: str, name: str = "7.json") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_hypergraph_is_read_as_it_stands(tmp_path) -> None:
    found = read_forests(put(tmp_path, CDEC_JSON))
    assert found.files[0].format == "cdec-json"
    assert whole(found) == {
        7: {
            "heads": [0, 1, 3, 4, 5],
            "covered": [2, 1, 3, 3],
            "edges": [
                ([], ["the", "/", "house"], {"LM": -2.5, "TM": 1.0}),
                ([], ["little"], {"Extra": 0.01}),
                ([], ["small"], {}),
                ([0, 1], [-2, "and", -1], {"Glue": 1.0}),
                ([2], [-1], {}),
            ],
            "references": None,
            "source": None,
            "counts": [],
        }
    }


def test_folders_and_several_lines(tmp_path) -> None:
    for k in (0, 10, 2):
        (tmp_path / f"{k}.json.gz").write_bytes(gzip.compress(CDEC_JSON.encode()))
    put(tmp_path, "LM 1\n", "weights")
    found = read_forests(tmp_path)
    assert found.ids == (0, 2, 10)
    spread = read_forests(put(tmp_path, CDEC_JSON.replace('],"', '],\n"')))
    assert whole(spread)[7] == whole(found)[0]


def test_spans_that_make_no_sense_are_unknown(tmp_path) -> None:
    found = read_forests(put(tmp_path, CDEC_JSON.replace("[0,2,-1,-1]", "[272,-1,0,0]")))
    assert whole(found)[7]["covered"] == [-1, 1, 3, 3]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (CDEC_JSON, "{}\n", "the forest is empty"),
        ('"Goal"}}', '"Goal"}', "this is no complete JSON"),
        ('"rule":4', '"other":4', "hyperedge 4 has no rule, so that its words are not known"),
        ('"rule":4', '"rule":9', "rule 9 of hyperedge 4 is no rule of three fields"),
        ('"rule":4', '"rule":"[X] ||| a"', "is no rule of three fields"),
        ('"rule":4', '"rule":[4]', "this is no hypergraph as cdec writes it"),
        ('"tail":[0,1]', '"tail":[0,1,1]', "the target side of hyperedge 4 does not name each"),
        ('"in_edges":[4]', '"in_edges":[5]', "hyperedge 5 of node 3 is not there"),
        ('"in_edges":[4]', '"in_edges":[0]', "hyperedge 0 of node 3 is not there, or another"),
        ('"in_edges":[4]', '"in_edges":[]', "no node names hyperedge 4"),
        ('"feats":[0,1]', '"feats":[3,1]', "feature 3 is not among the 3 names"),
        ('"feats":[0,1]', '"feats":[0]', "a feature has no value"),
        ('"feats":[0,1]', '"feats":[0,"1"]', "this is no hypergraph as cdec writes it"),
        ('"feats":[0,1]', '"feats":[0,NaN]', "a feature of hyperedge 4 is not finite"),
        ('"tail":[2]', '"tail":[8]', "hyperedge 5 has a node that does not exist"),
        ('"tail":[2]', '"tail":[3]', "hyperedge 5 is in a cycle"),
        ('"tail":[2]', '"tail":["2"]', "this is no hypergraph as cdec writes it"),
        ('1,"[X] ||| das', '"[X] ||| das', "this is no hypergraph as cdec writes it|no rule of"),
    ],
)
def test_errors_name_file_and_line(tmp_path, old: str, new: str, message: str) -> None:
    assert CDEC_JSON.count(old) == 1
    with pytest.raises(FormatError, match=rf"7.json:1: .*({message})"):
        read_forests(put(tmp_path, CDEC_JSON.replace(old, new)))
