"""Moses in the loop, with a stand-in that speaks its formats."""

from __future__ import annotations

import gzip
import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.decoders.configurations import MOSES_INI as INI
from tests.helpers.decoders.list_shapes import (
    STANDINS,
    bits,
    falling,
    outputs,
    sentences_of,
    shape,
    without_words,
)
from tests.helpers.decoders.processes import let_time_fly, wait_until_gone
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError, check_decoded
from tunesmith.decoders.moses import MosesDecoder, MosesModel
from tunesmith.decoders.moses_ini import Function, MosesConfiguration, shown_functions
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.io.weights.files import read_weights
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.tuners.mert.mert import MERT

MOSES = str(STANDINS / "moses.py")
START = {
    **{f"LexicalReordering0_{k}": 0.3 for k in range(1, 7)},
    "Distortion0": 0.3,
    "LM0": 0.5,
    "WordPenalty0": -1.0,
    "PhrasePenalty0": 0.2,
    "TranslationModel0_1": 0.2,
    "TranslationModel0_2": 0.2,
    "TranslationModel0_3": 0.25,
    "TranslationModel0_4": 1e-3,
}
SENTENCES = sentences_of("das haus ist klein", "", "ein mann geht heim", "ja", "er sieht")


def moses(folder: Path, ini: str = INI, **options) -> MosesDecoder:
    path = folder / "moses.ini"
    path.write_text(ini)
    return MosesDecoder(**{"binary": MOSES, "ini": str(path), "nbest_size": 8, **options})


def test_starts_from_the_weights_of_moses_ini(tmp_path):
    decoder = moses(tmp_path)
    assert DECODERS.get("moses") is MosesDecoder
    assert dict(decoder.start()) == START


def test_the_first_candidate_is_the_best_under_the_weights_that_arrived(tmp_path):
    decoder = moses(tmp_path)
    other = Weights.from_dict({name: -value for name, value in START.items()})
    found = {}
    for weights in (decoder.start(), other):
        decoded = decoder.decode(weights, SENTENCES)
        check_decoded(decoded, SENTENCES)
        assert falling(decoded, weights, 3)
        found[weights] = outputs(decoded)
    first, second = found.values()
    assert first[1] == second[1] == ""
    assert all(a != b for k, (a, b) in enumerate(zip(first, second, strict=True)) if k != 1)


def test_weights_that_are_not_given_are_0(tmp_path):
    ini = INI.replace("PhrasePenalty0= 0.2\n", "")  # Moses would take 1
    decoder = moses(tmp_path, ini)
    few = Weights.from_dict({"LM0": 0.5, "TranslationModel0_3": -1.0})
    wanted = {
        "UnknownWordPenalty0": (1.0,),  # it is not tuned
        "WordPenalty0": (0.0,),
        "PhrasePenalty0": (0.0,),
        "TranslationModel0": (0.0, 0.0, -1.0, 0.0),
        "LexicalReordering0": (0.0,) * 6,
        "Distortion0": (0.0,),
        "LM0": (0.5,),
    }
    for text in (decoder.weights_bytes(few), decoder.rewritten(few)):
        entries = MosesConfiguration("moses.ini", text).entries
        assert {name: entry.values for name, entry in entries.items()} == wanted
    assert falling(decoder.decode(few, SENTENCES), few, 3)


def test_lists_have_different_texts_unless_told_otherwise(tmp_path):
    for distinct in (True, False):
        decoded = moses(tmp_path, distinct=distinct).decode(
            Weights.from_dict(START), sentences_of("ja das haus")
        )
        texts = [tuple(decoded.texts[k]) for k in range(len(decoded))]
        assert len(texts) == 8
        assert (len(set(texts)) == 8) == distinct


def test_the_number_of_jobs_changes_no_bit(tmp_path):
    ini = INI.replace("Distortion\n", "Distortion\nWordTranslationFeature name=WT\n")
    weights = Weights.from_dict({**START, "WT_ja~jaen": 50.0})
    one = moses(tmp_path, ini, jobs=1).decode(weights, SENTENCES)
    three = moses(tmp_path, ini, jobs=3).decode(weights, SENTENCES)
    assert bits(one) == bits(three)
    assert outputs(one)[3] == "jaen"


def test_lists_look_as_those_of_moses_do(tmp_path, shared_data):
    with gzip.open(shared_data / "m30k-de-en" / "run1.nbest.gz") as file:
        real = without_words(shape(line) for line in itertools.islice(file, 5000))
    assert _written(moses(tmp_path)) == real


def test_lists_look_as_the_bundled_ones_do_but_for_blanks(tmp_path, bundled):
    with gzip.open(bundled / "tune.nbest.gz") as file:
        real = without_words(shape(line) for line in file)
    assert {re.sub(rb" +", b" ", one) for one in _written(moses(tmp_path))} == {
        one.replace(b"T|||", b"T |||") for one in real
    }


def _written(decoder: MosesDecoder) -> set[bytes]:
    """Return the shapes of what the stand-in writes."""
    kept = []

    class Kept(type(decoder)):
        def read_output(self, shard, collector):
            kept.extend(shard.output.read_bytes().splitlines(keepends=True))
            super().read_output(shard, collector)

    options = {o: getattr(decoder, o) for o in ("binary", "ini", "nbest_size")}
    Kept(**options).decode(decoder.start(), sentences_of("das haus ist klein", "ja"))
    return without_words(map(shape, kept))


def test_real_configurations_are_read_and_rewritten(shared_data):
    for name in ("weights.run1.moses.ini", "weights.run5.moses.ini"):
        path = shared_data / "m30k-de-en" / name
        decoder = MosesDecoder(binary=MOSES, ini=str(path))
        dense = read_weights(path).weights
        assert dict(decoder.start()) == {n: dense[n] for n in dense if n in START}
        assert decoder.rewritten(decoder.start()) == path.read_bytes()


def test_sparse_weights_arrive_and_are_rewritten(tmp_path):
    sparse = tmp_path / "sparse"
    sparse.write_text("# sparse\nWT_ja~ja 3\nWT_das~dasen -0.5\n")
    ini = INI.replace("Distortion\n", "Distortion\nWordTranslationFeature name=WT\n")
    ini = ini.replace("LM0= 0.5\n", "LM0= 0.5\nWT_er~erer= 4\n") + f"[weight-file]\n{sparse}\n"
    decoder = moses(tmp_path, ini)
    start = decoder.start()
    held = {"WT_ja~ja": 3.0, "WT_das~dasen": -0.5, "WT_er~erer": 4.0}
    assert dict(start) == {**START, **held}
    tuned = Weights.from_dict({**START, "WT_ja~ja": 0.0, "WT_er~er": 40.0, "WT_er~erer": 0.0})
    assert outputs(decoder.decode(start, SENTENCES))[4].startswith("erer")
    assert outputs(decoder.decode(tuned, SENTENCES))[4].startswith("er ")
    (tmp_path / "tuned.ini").write_bytes(decoder.rewritten(tuned))
    again = MosesDecoder(binary=MOSES, ini=str(tmp_path / "tuned.ini"))
    # The weight file is still there, and a weight that was not given is 0.
    assert dict(again.start()) == {**tuned, "WT_das~dasen": 0.0}
    few = Weights.from_dict(START)
    entries = MosesConfiguration("moses.ini", decoder.weights_bytes(few)).entries
    assert entries["WT_er~erer"].values == (0.0,)
    assert decoder.beside_weights(few) == {"sparse-weights": b""}


def test_sparse_weights_with_a_hash_arrive_and_cannot_be_rewritten(tmp_path):
    ini = INI.replace("Distortion\n", "Distortion\nWordTranslationFeature name=WT\n")
    decoder = moses(tmp_path, ini)
    weights = Weights.from_dict({**START, "WT_#1~#1er": 40.0})
    assert outputs(decoder.decode(weights, sentences_of("#1 haus")))[0].startswith("#1er")
    with pytest.raises(DecoderError, match="begins a comment"):
        decoder.rewritten(weights)


def test_values_that_are_not_tuned_keep_their_weights(tmp_path):
    ini = INI.replace("num-features=4", "num-features=4 tuneable-components=1,0,1,0")
    ini = ini.replace("name=LM0", "name=LM0 tuneable=false")
    ini = ini.replace("num-features=6", "num-features=6 tuneable-components=0,0,0,1,0,0")
    decoder = moses(tmp_path, ini)
    start = {n: v for n, v in START.items() if n[:3] not in ("Lex", "LM0", "Tra")}
    start |= {"TranslationModel0_1": 0.2, "TranslationModel0_2": 0.25, "LexicalReordering0": 0.3}
    assert dict(decoder.start()) == start
    decoded = decoder.decode(decoder.start(), SENTENCES)
    assert set(decoded.features.names) == set(start)
    tuned = Weights.from_dict({**start, "TranslationModel0_2": 7.0, "LexicalReordering0": 8.0})
    text = decoder.rewritten(tuned).decode()
    assert "TranslationModel0= 0.2 0.2 7.0 1e-3\n" in text
    assert "LexicalReordering0= 0.3 0.3 0.3 8.0 0.3 0.3\n" in text
    assert "LM0= 0.5\n" in text
    assert text.replace("7.0 1e-3", "0.25 1e-3").replace("8.0", "0.3") == ini
    text = decoder.weights_bytes(Weights.from_dict({"TranslationModel0_2": 7.0})).decode()
    assert "TranslationModel0= 0.0 0.2 7.0 1e-3\n" in text
    assert "LexicalReordering0= 0.3 0.3 0.3 0.0 0.3 0.3\n" in text
    assert "LM0= 0.5\n" in text


def test_features_without_weights_start_from_what_moses_takes_and_get_a_line(tmp_path):
    ini = INI.replace("LM0= 0.5\n", "")
    decoder = moses(tmp_path, ini)
    assert decoder.start()["LM0"] == 1.0
    tuned = decoder.start().updated(Weights.from_dict({"LM0": 0.75}))
    added = "Distortion0= 0.3\nLM0= 0.75\n"
    assert decoder.rewritten(tuned).decode() == ini.replace("Distortion0= 0.3\n", added)


@given(values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=14, max_size=14))
def test_rewriting_changes_nothing_but_the_weights(values):
    functions = [Function("UnknownWordPenalty0", (), False), Function("LM0", (0.5,), True)]
    functions += [Function("LexicalReordering0", (0.3,) * 6, True)]
    functions += [Function("TranslationModel0", (0.2, 0.2, 0.25, 1e-3), True)]
    functions += [Function("Distortion0", (0.3,), True), Function("WordPenalty0", (-1.0,), True)]
    functions += [Function("PhrasePenalty0", (0.2,), True)]
    model = MosesModel(MosesConfiguration("moses.ini", INI.encode()), functions)
    weights = Weights.from_dict(dict(zip(START, values, strict=True)))
    text = model.rewritten(weights, with_sparse=True)
    again = MosesConfiguration("moses.ini", text)
    assert {n: e.values for n, e in again.entries.items() if n != "UnknownWordPenalty0"} == {
        f.name: tuple(weights[n] for n in f.places(0)) for f in functions if f.tuneable
    }
    lines = zip(INI.splitlines(), text.decode().splitlines(), strict=True)
    for before, after in lines:
        name = before.partition("=")[0]
        number = r"-?[\d.]+(e[-+]?\d+)?"
        if before != after:
            assert name in model.functions
            assert re.sub(number, "N", before.partition("=")[2]) == re.sub(
                number, "N", after.partition("=")[2]
            )
    assert model.rewritten(model.start(), with_sparse=True) == INI.encode()


@pytest.mark.parametrize("text", [INI, INI.partition("[distortion")[0].strip(), "[feature]\nA"])
def test_lines_that_are_added_end_as_the_others_do(text):
    plain = MosesConfiguration("moses.ini", text.encode()).rewritten({}, {"X": [1.0, -2.0]})
    windows = MosesConfiguration("moses.ini", text.replace("\n", "\r\n").encode())
    assert b"\nX= 1.0 -2.0\n" in plain
    assert windows.rewritten({}, {"X": [1.0, -2.0]}) == plain.replace(b"\n", b"\r\n")
    assert windows.rewritten({}, {}) == windows.text


@pytest.mark.parametrize(
    ("weights", "functions", "wanted"),
    [
        (
            "A= 1 2\nA_1= 3",
            {"A": (1.0, 2.0), "A_1": (3.0,)},
            "'A_1' is a value of 'A' and of 'A_1'",
        ),
        ("A= 1 2\nA_1= 3", {"A": (1.0, 2.0)}, "'A_1' is a value of 'A' and has a weight as a sp"),
        ("A= 1\nA_x= 3 4", {"A": (1.0,)}, r"moses\.ini:3: 'A_x' is no feature function and has"),
    ],
)
def test_names_that_mean_two_things_are_refused(weights, functions, wanted):
    file = MosesConfiguration("moses.ini", f"[weight]\n{weights}\n".encode())
    with pytest.raises(TunesmithError, match=wanted) as error:
        MosesModel(file, [Function(name, shown, True) for name, shown in functions.items()])
    assert "\n" not in str(error.value)


def test_a_weight_file_with_the_name_of_a_dense_value_is_refused(tmp_path):
    (tmp_path / "sparse").write_text("A_x 1\nA_2 3\n")
    text = f"[weight]\nA= 1 2\n[weight-file]\n{tmp_path / 'sparse'}\n"
    file = MosesConfiguration("moses.ini", text.encode())
    with pytest.raises(DecoderError, match="'A_2' is a value of 'A' and has a weight as a sparse"):
        MosesModel(file, [Function("A", (1.0, 2.0), True)])


def test_what_moses_shows_is_read_as_it_prints_it():
    text = "LM0= 0.500000\nTM= 0.1 UNTUNEABLECOMPONENT -1e-05\nU0 UNTUNEABLE\nWT=\nDone.\n"
    assert shown_functions(text) == [
        Function("LM0", (0.5,), True),
        Function("TM", (0.1, None, -1e-5), True),
        Function("U0", (), False),
        Function("WT", (), True),
    ]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("LM0= 0.5", "LM0=0.5", r"moses\.ini:21: 'LM0=0\.5' is no weight; write Name= value"),
        ("LM0= 0.5", "LM0= x", r"moses\.ini:21: .*'x'"),
        ("LM0= 0.5", "Distortion0= 0.5", r"moses\.ini:21: 'Distortion0' has a line already"),
        ("LM0= 0.5", "LM1= 0.5", "exit code 1; its last words: .*no feature function.*LM1"),
        ("LM0= 0.5", "LM0= 0.5 1", "exit code 1; its last words: .*Mismatch.*LM0"),
        ("[weight]", "[weight-l]", r"moses\.ini:14: \[weight-l\] is of the format before"),
    ],
)
def test_wrong_configurations_are_one_line(tmp_path, old, new, wanted):
    decoder = moses(tmp_path, INI.replace(old, new))
    for run in (decoder.start, lambda: decoder.decode(Weights.from_dict(START), SENTENCES)):
        with pytest.raises(TunesmithError, match=wanted) as error:
            run()
        assert "\n" not in str(error.value)


def test_wrong_programs_and_files_are_one_line(tmp_path):
    old = tmp_path / "old-moses"
    old.write_text("#!/bin/sh\necho 'Distortion d 0.3'\n")
    old.chmod(0o755)
    slow = tmp_path / "slow-moses"
    slow.write_text("#!/bin/sh\nexec sleep 5000\n")
    slow.chmod(0o755)
    with pytest.raises(TunesmithError, match=r"none\.ini: no such file or directory; name a"):
        MosesDecoder(binary=MOSES, ini=str(tmp_path / "none.ini")).start()
    for options, wanted in (
        ({"binary": "no-moses"}, "there is no program 'no-moses'"),
        ({"binary": str(old)}, "shows no weights as Name= value; use Moses from version 1 on"),
        (
            {"binary": str(slow), "time_limit": 0.2},
            "longer than 0.2 seconds .*--decoder-time-limit",
        ),
    ):
        with pytest.raises(TunesmithError, match=wanted) as error:
            moses(tmp_path, **options).start()
        assert "\n" not in str(error.value)
    for options, wanted in (
        ({}, "needs a moses.ini; give it with --decoder-ini"),
        ({"extra": "-threads 2 -n-best-list x 5"}, "'-n-best-list' is for us to give to Moses"),
        ({"extra": "'"}, "no closing quotation"),
    ):
        with pytest.raises(UsageError, match=wanted):
            MosesDecoder(**{"ini": "moses.ini" if options else "", **options})


def test_showing_weights_has_a_limit_and_leaves_no_process(tmp_path, monkeypatch):
    ready = tmp_path / "ready"
    slow = tmp_path / "slow-moses"
    slow.write_text(
        f"#!/bin/sh\nsleep 5000 &\necho $! > {ready}.new\nmv {ready}.new {ready}\nwait\n"
    )
    slow.chmod(0o755)
    let_time_fly(monkeypatch, 601, ready.exists)
    with pytest.raises(DecoderError, match=r"longer than 600 seconds .*--decoder-time-limit"):
        moses(tmp_path, binary=str(slow)).start()
    wait_until_gone(int(ready.read_text()))


def test_weights_of_other_features_are_refused(tmp_path):
    weights = Weights.from_dict({**START, "LM1": 0.5})
    with pytest.raises(DecoderError, match=r"'LM1' is no feature of .*moses\.ini"):
        moses(tmp_path).decode(weights, SENTENCES)


def test_the_configuration_knows_the_text_of_moses_ini(tmp_path):
    one = moses(tmp_path).configuration()
    assert moses(tmp_path, jobs=2).configuration() == one
    assert moses(tmp_path, INI + "\n").configuration() != one
    assert moses(tmp_path, nbest_size=9).configuration() != one


@pytest.mark.long
def test_the_loop_tunes_it(tmp_path):
    decoder = moses(tmp_path, jobs=2)
    texts = ["das haus ist klein", "ja", "ein mann geht heim", "ein mann ist klein"]
    wanted = ["das haus isten klein", "jaer", "einer mann geht heim", "einer mann isten klein"]
    inputs = Inputs.of(texts, wanted)
    result = Loop(rounds=3).run(decoder, MERT(restarts=2), inputs, work_dir=tmp_path / "run")
    assert result.score > result.initial_score + 10
    (tmp_path / "tuned.ini").write_bytes(decoder.rewritten(result.weights))
    again = MosesDecoder(binary=MOSES, ini=str(tmp_path / "tuned.ini"))
    assert dict(again.start()) == dict(result.weights)
    first = tmp_path / "run" / "round-00" / "decoder-tune"
    assert (first / "moses.ini").read_text() == INI
    assert len(list(first.glob("part-*/command.json"))) == 2
