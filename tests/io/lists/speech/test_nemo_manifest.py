"""Manifests of NeMo, from write_transcription in nemo/collections/asr/parts/utils."""

from __future__ import annotations

import json

import pytest

import tunesmith as ts
from tests.helpers.builders import as_records
from tests.helpers.io.program_samples import NEMO_MANIFEST, json_lines
from tunesmith.errors import FormatError, TunesmithError


def test_beams_are_candidates_and_text_is_the_reference(tmp_path):
    path = tmp_path / "transcribed.json"
    path.write_text(NEMO_MANIFEST)
    found = ts.read(path)
    assert found.files[0].format == "nemo-manifest"
    assert as_records(found) == {
        0: [("good day", {"score": -3.25}), ("good", {"score": -4.5})],
        1: [("yeah", {"score": -0.5}), ("yes", {"score": -0.75}), ("", {"score": -9.0})],
    }
    assert [found.reference_texts(g) for g in range(2)] == [["good day"], ["yes"]]


def test_predictions_of_several_models_are_candidates(tmp_path):
    path = tmp_path / "m.json"
    line = {"audio_filepath": "a.wav", "text": "a", "pred_text_ctc": "a", "pred_text_rnnt": "b"}
    path.write_text(json_lines(line))
    (tmp_path / "lm").write_text("-1\n-2\n")
    found = ts.read(path, scores={"lm": tmp_path / "lm"})
    assert as_records(found) == {0: [("a", {"lm": -1.0}), ("b", {"lm": -2.0})]}


LINE = json.loads(NEMO_MANIFEST.splitlines()[0])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"audio_filepath": "a", "text": "a"}, "neither 'beams' nor 'pred_text'"),
        (LINE | {"beams": "x"}, "'beams' is \"x\", not a list of lists"),
        (LINE | {"beams": []}, "there is no beam"),
        (LINE | {"beams": [["a"]]}, "a beam is no pair"),
        (LINE | {"beams": [[1, 2]]}, "a beam is no pair"),
        (LINE | {"beams": [["a", "x"]]}, 'the score of a beam\' is "x"'),
        (LINE | {"beams": [["a", None]]}, "the score of a beam' is null"),
        (LINE | {"text": None}, "'text' is null, not a text"),
        ({k: v for k, v in LINE.items() if k != "text"}, "some utterances have a 'text'"),
    ],
)
def test_lines_that_cannot_be(tmp_path, line, told):
    path = tmp_path / "m.json"
    path.write_text(json_lines(LINE, line))
    with pytest.raises(FormatError, match=told) as caught:
        ts.read(path)
    assert caught.value.line == 2


def test_a_reference_of_no_valid_text(tmp_path):
    path = tmp_path / "m.json"
    path.write_text(json_lines(LINE).replace('"text": "good day"', '"text": "\\ud800"'))
    with pytest.raises(TunesmithError, match="half of a surrogate pair"):
        ts.read(path)
