"""Joshua in the loop, with a stand-in that speaks its formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.decoders.configurations import JOSHUA_SETTINGS as SETTINGS
from tests.helpers.decoders.configurations import JOSHUA_WEIGHTS as INLINE
from tests.helpers.decoders.list_shapes import (
    STANDINS,
    bits,
    falling,
    outputs,
    sentences_of,
    shape,
    without_words,
)
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError
from tunesmith.decoders.joshua import JoshuaConfiguration, JoshuaDecoder
from tunesmith.errors import TunesmithError, UsageError

JOSHUA = str(STANDINS / "joshua.py")
START = {"tm_pt_0": -0.1, "tm_pt_1": 0.2, "tm_pt_2": 0.3, "lm_0": 1.0, "WordPenalty": -2.5}
SENTENCES = sentences_of("das haus ist klein", "", "ein mann geht heim", "ja", "er sieht")


def joshua(folder: Path, config: str = SETTINGS + INLINE, **options) -> JoshuaDecoder:
    path = folder / "joshua.config"
    path.write_text(config)
    return JoshuaDecoder(
        **{"binary": JOSHUA, "config": str(path), "nbest_size": 8, "retries": 0, **options}
    )


def with_file(folder: Path, weights: dict[str, float]) -> str:
    (folder / "weights").write_text("".join(f"{n} {v}\n" for n, v in weights.items()))
    return f"{SETTINGS}weights-file = {folder / 'weights'}\n"


def test_starts_from_the_weights_of_joshua_config_or_of_a_file(tmp_path):
    assert DECODERS.get("joshua") is JoshuaDecoder
    assert dict(joshua(tmp_path).start()) == START
    assert dict(joshua(tmp_path, with_file(tmp_path, START)).start()) == START
    mixed = with_file(tmp_path, {"lm_0": 7.0, "tm_pt_0": 4.0}) + "lm_0 0.5\n"
    assert dict(joshua(tmp_path, mixed).start()) == {"lm_0": 0.5, "tm_pt_0": 4.0}
    assert joshua(tmp_path, SETTINGS).start() is None


@pytest.mark.parametrize("kind", ["inline", "file", "mixed"])
def test_the_first_candidate_is_the_best_under_the_weights_that_arrived(tmp_path, kind):
    config = SETTINGS + INLINE if kind == "inline" else with_file(tmp_path, START)
    decoder = joshua(tmp_path, config + ("lm_0 1.0\n" if kind == "mixed" else ""))
    found = []
    for weights in (START, {name: -value for name, value in START.items()}):
        decoded = decoder.decode(Weights.from_dict(weights), SENTENCES)
        assert set(decoded.features.names) == set(START)
        assert falling(decoded, Weights.from_dict(weights), 2)
        found.append(outputs(decoded))
    first, second = found
    assert first[1] == second[1] == ""
    assert all(a != b for k, (a, b) in enumerate(zip(first, second, strict=True)) if k != 1)


def test_weights_that_are_not_given_are_0(tmp_path):
    few = Weights.from_dict({"lm_0": 1.0, "tm_pt_2": -0.5})
    config = with_file(tmp_path, {"tm_pt_0": 5.0}) + INLINE.replace("tm_pt_0 -0.1\n", "")
    decoder = joshua(tmp_path, config)
    assert falling(decoder.decode(few, SENTENCES), few, 2)
    zeros = dict.fromkeys(START, 0.0)
    text = decoder.rewritten(few)
    assert JoshuaConfiguration("joshua.config", text).inline == {**zeros, **few}
    filed = joshua(tmp_path, with_file(tmp_path, START))
    assert filed.rewritten(few).decode().split() == [
        word for name, value in {**zeros, **few}.items() for word in (name, str(value))
    ]


@pytest.mark.parametrize("empty", ["", "empty-lines = echoed\n"])
def test_the_number_of_jobs_and_the_version_change_no_bit(tmp_path, empty):
    weights = Weights.from_dict(START)
    sentences = sentences_of("ja", "", "das oov", " ", "nein")
    one = joshua(tmp_path, SETTINGS + INLINE).decode(weights, sentences)
    other = joshua(tmp_path, SETTINGS + INLINE + empty, jobs=4).decode(weights, sentences)
    assert bits(one) == bits(other)
    assert "OOVPenalty" in one.features.names


def test_lists_look_as_the_documented_ones_do(tmp_path):
    kept = []

    class Kept(JoshuaDecoder):
        def read_output(self, shard, collector):
            kept.extend(shard.output.read_bytes().splitlines(keepends=True))
            super().read_output(shard, collector)

    decoder = Kept(binary=JOSHUA, config=joshua(tmp_path).config, nbest_size=3)
    decoder.decode(Weights.from_dict(START), sentences_of("das haus ist klein", "ja"))
    # As the output format of Joshua 6 says: names and values of three digits, then the score.
    known = b"0 ||| the house ||| tm_pt_0=-1.250 tm_pt_1=0.000 tm_pt_2=2.302 lm_0=-9.871 "
    assert without_words(map(shape, kept)) == without_words(
        [shape(known + b"WordPenalty=-0.869 ||| -7.012\n")]
    )


def test_rewriting_changes_nothing_but_the_weights(tmp_path):
    config = SETTINGS + INLINE
    decoder = joshua(tmp_path)
    assert decoder.rewritten(decoder.start()).decode() == config
    tuned = Weights.from_dict({**START, "tm_pt_1": 0.75, "OOVPenalty": 1.5})
    wanted = config.replace("tm_pt_1   0.2", "tm_pt_1   0.75") + "OOVPenalty 1.5\n"
    assert decoder.rewritten(tuned).decode() == wanted
    assert JoshuaConfiguration("joshua.config", wanted.encode()).inline == dict(tuned)
    windows = JoshuaConfiguration("joshua.config", config.replace("\n", "\r\n").encode())
    assert windows.rewritten(tuned).decode() == wanted.replace("\n", "\r\n")
    with pytest.raises(DecoderError, match=r"'a=b' cannot stand in a joshua\.config"):
        decoder.rewritten(Weights.from_dict({"a=b": 1.0}))
    filed = joshua(tmp_path, with_file(tmp_path, START))
    assert filed.rewritten(tuned).decode().splitlines()[1] == "tm_pt_1 0.75"
    assert joshua(tmp_path, SETTINGS).rewritten(tuned) is None


def test_wrong_files_and_options_are_one_line(tmp_path):
    missing = f"weights-file = {tmp_path / 'none'}\n"
    for config, options, wanted in (
        (SETTINGS + "lm_0 x\n", {}, r"joshua\.config:5: .*'x'"),
        (SETTINGS + "lm 0 1\n", {}, r"joshua\.config:5: 'lm 0 1' is no weight"),
        (SETTINGS + missing, {}, "none: no such file"),
        (SETTINGS + "moses = true\n", {}, r"joshua\.config:5: with 'moses', Joshua calls"),
        (
            SETTINGS + "no-such = 1\n",
            {},
            "exit code 1 .*unknown configuration parameter 'no-such'",
        ),
        (SETTINGS, {"binary": "no-joshua"}, "there is no program 'no-joshua'"),
        (
            SETTINGS,
            {"config": str(tmp_path / "none")},
            "none: no such file or directory; name a",
        ),
    ):
        (tmp_path / "joshua.config").write_text(config)
        given = {"binary": JOSHUA, "config": str(tmp_path / "joshua.config"), "retries": 0}
        with pytest.raises(TunesmithError, match=wanted) as error:
            JoshuaDecoder(**{**given, **options}).decode(Weights.from_dict(START), SENTENCES)
        assert "\n" not in str(error.value)
    for options, wanted in (
        ({}, "needs a joshua.config; give it with --decoder-config"),
        ({"config": "c", "extra": "-m 8g -topN 5"}, "'-topN' is for us to give to Joshua"),
        ({"config": "c", "extra": "-weights_file w"}, "'-weights_file' is for us"),
    ):
        with pytest.raises(UsageError, match=wanted):
            JoshuaDecoder(**options)


def test_the_configuration_knows_its_files(tmp_path):
    one = joshua(tmp_path).configuration()
    assert joshua(tmp_path, jobs=2).configuration() == one
    assert joshua(tmp_path, SETTINGS + INLINE + "\n").configuration() != one
