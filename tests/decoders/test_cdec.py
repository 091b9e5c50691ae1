"""cdec in the loop, with a stand-in that speaks its formats."""

from __future__ import annotations

import gzip
import itertools
import re
from pathlib import Path

import pytest

from tests.helpers.decoders.configurations import CDEC_WEIGHTS as WEIGHTS
from tests.helpers.decoders.list_shapes import STANDINS, bits, falling, outputs, sentences_of, shape
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError
from tunesmith.decoders.cdec import CdecDecoder, marked_up
from tunesmith.errors import TunesmithError, UsageError

CDEC = str(STANDINS / "cdec.py")
START = {
    "Glue": 0.01,
    "LanguageModel": 0.1,
    **dict.fromkeys(["PassThrough", "PhraseModel_0", "PhraseModel_1", "PhraseModel_2"], -0.1),
    "WordPenalty": -0.1,
}
SENTENCES = sentences_of("das haus ist klein", "", "ein mann geht heim", "ja", "er sieht")


def cdec(folder: Path, ini: str = "formalism=scfg\n", **options) -> CdecDecoder:
    (folder / "cdec.ini").write_text(ini)
    (folder / "weights").write_text(WEIGHTS)
    given = {"binary": CDEC, "ini": str(folder / "cdec.ini"), "weights": str(folder / "weights")}
    return CdecDecoder(**{**given, "nbest_size": 8, **options})


def test_starts_from_the_weights_file(tmp_path):
    assert DECODERS.get("cdec") is CdecDecoder
    assert dict(cdec(tmp_path).start()) == START
    ini = f"formalism = scfg # hiero\nweights = {tmp_path / 'weights'}\n"
    assert dict(cdec(tmp_path, ini, weights=None).start()) == START
    assert cdec(tmp_path, weights=None).start() is None


def test_the_first_candidate_is_the_best_under_the_weights_that_arrived(tmp_path):
    decoder = cdec(tmp_path)
    found = []
    for weights in (START, {name: -value for name, value in START.items()}):
        given = Weights.from_dict(weights)
        decoded = decoder.decode(given, SENTENCES)
        assert set(decoded.features.names) >= set(START)
        assert falling(decoded, given, 3)
        found.append(outputs(decoded))
    first, second = found
    assert first[1] == second[1] == ""
    assert all(a != b for k, (a, b) in enumerate(zip(first, second, strict=True)) if k != 1)


def test_weights_that_are_not_given_are_0(tmp_path):
    few = Weights.from_dict({"LanguageModel": 0.5, "PhraseModel_1": -1.0})
    decoder = cdec(tmp_path, f"formalism=scfg\nweights={tmp_path / 'weights'}\n", weights=None)
    assert falling(decoder.decode(few, SENTENCES), few, 3)
    (tmp_path / "tuned").write_bytes(decoder.rewritten(few))
    again = cdec(tmp_path, weights=str(tmp_path / "tuned"))
    assert dict(again.start()) == {**dict.fromkeys(START, 0.0), **few}


def test_a_name_with_an_equals_sign_arrives_whole(tmp_path):
    weights = Weights.from_dict({**START, "Rule_ja=er": 50.0})
    assert outputs(cdec(tmp_path).decode(weights, SENTENCES))[3] == "jaer"


def test_the_number_of_jobs_changes_no_bit(tmp_path):
    weights = Weights.from_dict(START)
    one = cdec(tmp_path, jobs=1).decode(weights, SENTENCES)
    assert bits(one) == bits(cdec(tmp_path, jobs=3).decode(weights, SENTENCES))


def test_lists_look_as_those_of_cdec_do(tmp_path, shared_data):
    with gzip.open(shared_data / "nc-wmt11-de-en" / "dev.kbest.gz") as file:
        real = {_general(shape(line)) for line in itertools.islice(file, 5000)}
    kept = []

    class Kept(CdecDecoder):
        def read_output(self, shard, collector):
            kept.extend(shard.output.read_bytes().splitlines(keepends=True))
            super().read_output(shard, collector)

    decoder = Kept(binary=CDEC, ini=cdec(tmp_path).ini, nbest_size=8)
    decoder.decode(Weights.from_dict(START), sentences_of("das haus ist klein", "ja"))
    assert {_general(shape(line)) for line in kept} == real


def _general(line: bytes) -> bytes:
    """Return a shape with one word and one feature for several: which there are differs."""
    return re.sub(rb"F=N( F=N)*", b"F=N", re.sub(rb"[^\s|]+=N", b"F=N", _one_word(line)))


def _one_word(line: bytes) -> bytes:
    return re.sub(rb"T( T)*", b"T", line)


def test_rewriting_changes_nothing_but_the_weights(tmp_path):
    decoder = cdec(tmp_path)
    assert decoder.rewritten(decoder.start()) is not None
    tuned = Weights.from_dict({**START, "LanguageModel": 0.75, "New": 2.0})
    text = decoder.rewritten(tuned).decode()
    assert [line.split() for line in text.splitlines()] == [
        line.split()
        for line in WEIGHTS.replace("Model 0.1", "Model 0.75").replace("-1e-1", "-0.1").splitlines()
    ] + [["New", "2.0"]]
    # With a blank, cdec would take the last equals sign for the end of the name.
    assert decoder.rewritten(Weights.from_dict({"a=b": 2.0})).endswith(b"\na=b\t2.0\n")
    assert cdec(tmp_path, weights=None).rewritten(tuned) is None


def test_a_sentence_without_a_translation_gets_an_empty_one(tmp_path):
    sentences = sentences_of("ja", "unparsable wort", "", "nein")
    decoded = cdec(tmp_path).decode(Weights.from_dict(START), sentences)
    assert outputs(decoded)[1:3] == ["", ""]
    assert decoded.ids == (0, 1, 2, 3)
    # Told to be quiet, it says nothing of it.
    quiet = cdec(tmp_path, extra="--quiet", retries=0)
    with pytest.raises(DecoderError, match="no candidate of sentence 1, of 4"):
        quiet.decode(Weights.from_dict(START), sentences)
    alone = cdec(tmp_path, jobs=4).decode(Weights.from_dict(START), sentences)
    assert bits(alone) == bits(decoded)


def test_grammars_of_single_sentences_stay(tmp_path):
    decoder = cdec(tmp_path)
    given = sentences_of('<seg grammar="g 7.gz" id="7"> ja </seg>', "", "<seg id=8>er</seg>", "a<b")
    assert decoder.input_bytes(given).decode().splitlines() == [
        '<seg id="0" grammar="g 7.gz"> ja </seg>',
        '<seg id="2"> er </seg>',
        '<seg id="3"> a<b </seg>',
    ]
    assert marked_up("<segment> a </seg>") == ("", "<segment> a </seg>")
    for text in ("a ||| b", "a </seg> b"):
        with pytest.raises(UsageError, match="cdec would make something else; escape it"):
            decoder.input_bytes(sentences_of(text))


def test_wrong_files_and_options_are_one_line(tmp_path):
    for ini, options, wanted in (
        ("formalism=scfg\nweights2=w\n", {}, r"cdec\.ini:2: 'weights2' gives a later pass"),
        ("scfg\n", {}, r"cdec\.ini:1: 'scfg' is no setting; write key=value"),
        ("formalism=scfg\n", {"weights": str(tmp_path / "none")}, "none: no such file"),
        ("formalism=scfg\n", {"binary": "no-cdec"}, "there is no program 'no-cdec'"),
        ("formalism=scfg\n", {"ini": str(tmp_path / "none.ini")}, r"none\.ini: no such file"),
        ("x=1\n", {"retries": 0}, "ended with exit code 1 .*its last words: .*Configuration opt"),
    ):
        start = cdec(tmp_path, ini)
        given = {"binary": CDEC, "ini": start.ini, "weights": start.weights, **options}
        with pytest.raises(TunesmithError, match=wanted) as error:
            CdecDecoder(**given).decode(Weights.from_dict(START), SENTENCES)
        assert "\n" not in str(error.value)
    for options, wanted in (
        ({"ini": ""}, "needs a cdec.ini; give it with --decoder-ini"),
        ({"ini": "cdec.ini", "extra": "-k 5"}, "'-k' is for us to give to cdec"),
        ({"ini": "cdec.ini", "extra": "--k_best=5"}, "'--k_best=5' is for us"),
    ):
        with pytest.raises(UsageError, match=wanted):
            CdecDecoder(**options)


def test_names_that_cdec_would_misread_are_refused(tmp_path):
    for name in ("#a", "a b", ""):
        with pytest.raises(DecoderError, match="cannot be called"):
            cdec(tmp_path).weights_bytes(Weights.from_dict({name: 1.0}))


def test_the_configuration_knows_its_files(tmp_path):
    one = cdec(tmp_path).configuration()
    assert cdec(tmp_path, jobs=2).configuration() == one
    assert cdec(tmp_path, "formalism=scfg\n\n").configuration() != one
