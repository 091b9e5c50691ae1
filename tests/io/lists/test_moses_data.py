"""Files of Moses' extractor, written from its source.

FeatureArray::savetxt, ScoreArray::savetxt, Data::InitFeatureMap (names numbered from 0) and
BleuScorer::CalcBleuStats (matches and total of each n, then the reference's length).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.io.list_samples import FEATURES_DAT, SCORES_DAT, whole
from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.io.collector import Collector
from tunesmith.io.lists.moses_data import MosesDataFormat
from tunesmith.io.read import read
from tunesmith.tasks.lists import TuningSet


def put(folder, features: str = FEATURES_DAT, scores: str = SCORES_DAT):
    (folder / "run1.features.dat").write_text(features)
    (folder / "run1.scores.dat").write_text(scores)
    return folder / "run1.features.dat"


def test_features_with_our_names_and_statistics_as_columns(tmp_path):
    found = read(put(tmp_path))
    first = {"d_1": -2.0, "d_2": -0.5, "lm": -12.25, "w": -3.0, "sp_x": 1.0}
    second = {"d_1": -2.0, "d_2": -0.75, "lm": -11.5, "w": -3.0}
    assert whole(found) == {
        0: {
            "candidates": [("", first), ("", second)],
            "columns": {
                "bleu.matches_1": [3, 2],
                "bleu.total_1": [5, 5],
                "bleu.matches_2": [2, 1],
                "bleu.total_2": [4, 4],
                "bleu.matches_3": [1, 0],
                "bleu.total_3": [3, 3],
                "bleu.matches_4": [0, 0],
                "bleu.total_4": [2, 2],
                "bleu.reference_length": [6, 6],
                "bleu.length": [5, 5],
            },
            "references": [],
            "source": None,
        },
        1: {
            "candidates": [("", {"d_2": -0.25, "lm": -6.5, "w": -2.0})],
            "columns": {
                "bleu.matches_1": [1],
                "bleu.total_1": [2],
                "bleu.matches_2": [0],
                "bleu.total_2": [1],
                "bleu.matches_3": [0],
                "bleu.total_3": [0],
                "bleu.matches_4": [0],
                "bleu.total_4": [0],
                "bleu.reference_length": [2],
                "bleu.length": [2],
            },
            "references": [],
            "source": None,
        },
    }
    assert {file.path.rpartition("/")[2] for file in found.files} == {
        "run1.features.dat",
        "run1.scores.dat",
    }


@pytest.mark.parametrize("features", ["features.data", "run7.features.dat", "f"])
def test_where_the_statistics_are(features, tmp_path):
    scores = {"features.data": "statscore.data", "f": "s"}.get(features, "run7.scores.dat")
    (tmp_path / features).write_text(FEATURES_DAT)
    (tmp_path / scores).write_text(SCORES_DAT)
    spec = f"moses-data:statistics={tmp_path}/s" if features == "f" else None
    expected = whole(read(put(tmp_path)))
    assert whole(read(tmp_path / features, format=spec)) == expected
    out = tmp_path / "out"
    out.mkdir()
    found = read(tmp_path / features, format=spec)
    MosesDataFormat().write(found, np.arange(3), np.zeros(3), out / features)
    assert len(list(out.iterdir())) == (1 if features == "f" else 2)
    assert whole(read(out / features)) == expected


def test_candidates_that_differ_in_their_statistics_alone_stay(tmp_path):
    features = FEATURES_DAT.replace("-0.5 -12.25 -3 sp_x=1", "-0.75 -11.5 -3")
    assert len(read(put(tmp_path, features))) == 3
    scores = SCORES_DAT.replace("3 5 2 4 1 3 0 2 6", "2 5 1 4 0 3 0 2 6")
    assert len(read(put(tmp_path, features, scores))) == 2


def test_a_group_may_come_in_several_blocks(tmp_path):
    features = FEATURES_DAT.replace("BEGIN_0 1 1", "BEGIN_0 0 1")
    scores = SCORES_DAT.replace("BEGIN_0 1 1", "BEGIN_0 0 1")
    found = read(put(tmp_path, features, scores))
    assert found.ids == (0,)
    assert found.columns["bleu.matches_1"].tolist() == [3, 2, 1]


@pytest.mark.long
def test_bleu_of_the_statistics_is_that_of_the_texts(bundled, tmp_path):
    counted = TuningSet(read(bundled / "test.nbest.gz", bundled / "test.ref"), "bleu")
    names = counted.metric.statistic_columns()
    columns = dict(zip(names, counted.stats.T.astype(float), strict=True))
    candidates = replace(counted.candidates, columns=columns)
    path = tmp_path / "features.data"
    order = np.arange(len(candidates))
    MosesDataFormat().write(candidates, order, np.zeros(len(candidates)), path)
    given = TuningSet(read(path), "bleu")
    assert given.candidates.references is None
    # Texts that differ may have equal features and statistics; the first of them is kept.
    assert len(given.candidates) <= len(candidates)
    weights = dict(zip(candidates.features.names, np.linspace(-1, 1, 14), strict=True))
    sums = []
    for tuning in (counted, given):
        values = Weights.from_dict(weights).aligned(tuning.candidates.features.names)
        assert np.count_nonzero(values) == 14
        sums.append(tuning.total(best(tuning.candidates, values)))
    np.testing.assert_array_equal(*sums)


@pytest.mark.parametrize(
    ("which", "old", "new", "line", "problem"),
    [
        ("features", "BEGIN_0 0 2", "BEGIN_0 x 2", 1, "'x' in the header is not a whole number"),
        ("features", "BEGIN_0 1 1", "BEGIN_0 1 -1", 5, "'-1' in the header is not a whole number"),
        ("features", "FEATURES_TXT_BEGIN_0 1", "FEATURES 1", 5, "a block of candidates should"),
        ("features", "-2 -0.75", "-2", 3, "there are 3 values here and 4 in the header"),
        ("features", "-0.75", "x", 3, "a value is 'x', not a number"),
        ("features", "-0.75", "nan", 3, "a value is nan, which is not finite"),
        ("features", "sp_x=1", "=1", 2, "'=1' has no name"),
        ("features", "sp_x=1", "sp_x=1 sp_x=1", 2, "feature 'sp_x' is given twice"),
        ("features", "sp_x=1", "lm=1", 2, "feature 'lm' is given twice"),
        ("features", " w_0", "", 1, "there are 3 names of 4 features"),
        ("features", "w_0", "lm_0", 1, "there are 3 names of 4 features"),
        ("features", "1 1 4 d_0 d_1 lm_0", "1 1 4 d_0 d_1 xm_0", 5, "other ones than before"),
        ("features", "0 2 4", "0 3 4", 4, "fewer than 3 candidates follow the header of group 0"),
        ("features", "0 2 4", "0 1 4", 3, "FEATURES_TXT_END_0 is missing after 1 candidates"),
        ("scores", "9 BLEU", "9 TER", 1, "statistics of TER (9 values), not of BLEU"),
        ("scores", "9 BLEU", "7 BLEU", 1, "statistics of BLEU (7 values), not of BLEU"),
        ("scores", "3 5 2", "3 2", 2, "there are 8 values here and 9 in the header"),
        ("scores", "3 5 2", "3 inf 2", 2, "inf, which is not finite"),
    ],
)
def test_errors_name_file_and_line(which, old, new, line, problem, tmp_path):
    texts = {"features": FEATURES_DAT, "scores": SCORES_DAT}
    assert old in texts[which]
    texts[which] = texts[which].replace(old, new, 1)
    path = put(tmp_path, **texts)
    with pytest.raises(FormatError) as caught:
        read(path, format="moses-data")
    assert problem in str(caught.value)
    assert caught.value.path == str(tmp_path / f"run1.{which}.dat")
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("features", "scores", "problem"),
    [
        (FEATURES_DAT[:-35], SCORES_DAT, r"features.dat:6: .*1 values here and 4"),
        (FEATURES_DAT[:-20], SCORES_DAT, r"features.dat:6: .*_END_0 is missing .*copy the file"),
        (FEATURES_DAT[:90], SCORES_DAT, r"features.dat:3: .*_END_0 is missing .*copy the file"),
        (FEATURES_DAT[:70], SCORES_DAT, r"features.dat:2: fewer than 2 candidates.*truncated"),
        (FEATURES_DAT, SCORES_DAT[:60], r"scores.dat:\d+: "),
        (FEATURES_DAT, SCORES_DAT[: SCORES_DAT.index("SCORES_TXT_BEGIN_0 1")], "and 0 statistics"),
        (
            FEATURES_DAT[: FEATURES_DAT.index("FEATURES_TXT_BEGIN_0 1")],
            SCORES_DAT,
            r"scores.dat:6: group 1 has statistics and no features",
        ),
        (SCORES_DAT, SCORES_DAT, "these are statistics without features"),
        ("FEATURES_BIN_BEGIN_0 0 1 1 d_0 \n\1\2\3\4", SCORES_DAT, "this file is binary; run the"),
    ],
)
def test_files_that_do_not_go_together(features, scores, problem, tmp_path):
    with pytest.raises(FormatError, match=problem):
        read(put(tmp_path, features, scores))


def test_features_without_statistics(tmp_path):
    (tmp_path / "a").write_text(FEATURES_DAT)
    with pytest.raises(FormatError, match="name them: moses-data:statistics=FILE"):
        read(tmp_path / "a")


@pytest.mark.parametrize(
    ("group", "features", "columns", "problem"),
    [
        (0, {"f": 1.0}, {}, "give --statistics bleu"),
        ("a", {"f": 1.0}, None, "the id 'a' is not a whole number"),
        (0, {"f g": 1.0}, None, "white space in its name"),
        (0, {}, None, "a feature that all candidates give"),
        (0, {"f": 1.0}, {"bleu.length": 9.0}, "bleu.length and bleu.total_1 differ"),
    ],
)
def test_what_cannot_be_written(group, features, columns, problem, tmp_path):
    names = [f"bleu.{what}_{n}" for n in range(1, 5) for what in ("matches", "total")]
    usual = dict.fromkeys([*names, "bleu.reference_length", "bleu.length"], 1.0)
    collector = Collector()
    collector.add(group, "x", features, {} if columns == {} else {**usual, **(columns or {})})
    with pytest.raises(UsageError, match=problem):
        MosesDataFormat().write(collector.finish(), np.arange(1), np.zeros(1), tmp_path / "out")
    assert not list(tmp_path.iterdir())
