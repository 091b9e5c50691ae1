"""Any program as a decoder: what it is given, and what becomes of what it writes."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.decoders.command_programs import (
    FILES,
    PROGRAMS,
    PYTHON,
    SENTENCES,
    STREAMS,
    WEIGHTS,
)
from tests.helpers.tiers import examples
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError, Sentence, check_decoded
from tunesmith.decoders.command import CommandDecoder
from tunesmith.decoders.outputs import join_parts, natural
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.read import read
from tunesmith.io.streams import Source
from tunesmith.io.weights.files import read_weights
from tunesmith.io.write import write


def same(one, other) -> None:
    """Compare two sets to the last bit."""
    assert one.ids == other.ids
    assert one.vocabulary == other.vocabulary
    assert one.features.dense_names == other.features.dense_names
    assert one.features.sparse_names == other.features.sparse_names
    assert one.features.gaps == other.features.gaps
    assert one.files == other.files
    for a, b in (
        (one.start, other.start),
        (one.texts.start, other.texts.start),
        (one.texts.ids, other.texts.ids),
        (one.features.dense, other.features.dense),
        (one.features.sparse.data, other.features.sparse.data),
        (one.features.sparse.indices, other.features.sparse.indices),
        (one.features.sparse.indptr, other.features.sparse.indptr),
    ):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def test_the_first_candidate_is_the_best_under_the_weights_that_it_got():
    for weights, wanted in (
        ({"lm": 1.0}, ["b c", "a", ""]),  # all but the first word
        ({"length": 1.0}, ["a b c a b c", "c a c a", "b b"]),
        ({"lm": -1.0}, ["c b a", "a c", "b b"]),
    ):
        decoder = CommandDecoder(command=FILES, nbest_size=3)
        found = decoder.decode(Weights.from_dict(weights), SENTENCES[:3])
        assert [found.text(k) for k in found.start[:-1]] == wanted
        assert np.diff(found.start).tolist() == [3, 3, 3]
        assert list(found.features.dense_names[:2]) == ["length", "lm"]
        check_decoded(found, SENTENCES[:3])


@pytest.mark.long
@pytest.mark.parametrize("command", [FILES, STREAMS])
def test_any_number_of_jobs_gives_the_same_bits(command):
    ids = [7, 3, "x", 0, 5, 1]
    sentences = [Sentence(i, s.text) for i, s in zip(ids, SENTENCES, strict=True)]
    results = [
        CommandDecoder(command=command, jobs=jobs).decode(WEIGHTS, sentences)
        for jobs in ((1, 2, 3, 7) if command == FILES else (1, 2))
    ]
    assert list(results[0].ids) == ids
    assert len(results[0]) == 24
    for other in results[1:]:
        same(results[0], other)


NAMES = ["lm", "tm_2", "tm_10", "s_a", "s_b", "s_c"]


def lists() -> st.SearchStrategy:
    """Sentences with lists of candidates, whose features are few, many, or on some alone."""
    values = st.sampled_from([0.0, 1.0, -0.5, 2.25])
    names = st.sampled_from(NAMES)
    candidate = st.tuples(st.sampled_from(["", "u", "v u", "w"]), st.dictionaries(names, values))
    return st.lists(st.lists(candidate, min_size=1, max_size=4), min_size=1, max_size=7)


def moses(rows) -> str:
    """Return candidates as Moses writes them; rows are of an id, a text and features."""
    shown = [(k, t, " ".join(f"{n}= {v}" for n, v in f.items())) for k, t, f in rows]
    return "".join(f"{k} ||| {text} ||| {features} ||| 0\n" for k, text, features in shown)


def jsonl(rows) -> str:
    groups: dict[int, list] = {}
    for k, text, features in rows:
        groups.setdefault(k, []).append({"text": text, "features": features})
    lines = [json.dumps({"id": k, "candidates": found}) for k, found in groups.items()]
    return "".join(f"{line}\n" for line in lines)


def csv(rows) -> str:
    """Return a table with a column for each feature, which is 0 where it does not fire.

    An empty cell would be an error, and a column that only some tables have is a gap in others.
    """
    names = ["all", *NAMES]
    cells = [[str(k), t, *(str(f.get(name, 0)) for name in names)] for k, t, f in rows]
    return "".join(",".join(row) + "\n" for row in [["id", "text", *names], *cells])


@given(lists(), st.sampled_from([moses, jsonl, csv]), st.data())
@settings(max_examples=examples(60))
def test_outputs_in_any_parts_are_one_set(found, written, data):
    def part(first: int, last: int) -> Collector:
        rows = [
            (k - first, text, {"all": 1.5, **features})
            for k in range(first, last)
            for text, features in found[k]
        ]
        collector = Collector()
        source = Source("list", written(rows).encode())
        FORMATS.create(written.__name__).read(source, collector)
        return collector

    cuts = sorted(data.draw(st.sets(st.integers(1, len(found)), max_size=3)) | {0, len(found)})
    whole = join_parts([part(0, len(found))])
    same(whole, join_parts([part(a, b) for a, b in itertools.pairwise(cuts)]))
    names = [*whole.features.dense_names, *whole.features.sparse_names]
    # Against the candidates themselves.
    values = np.hstack([whole.features.dense.T, whole.features.sparse.toarray()])
    for k, candidates in enumerate(found):
        wanted = []
        for text, features in candidates:
            row = (text, [{"all": 1.5, **features}.get(name, 0.0) for name in names])
            if row not in wanted:
                wanted.append(row)
        rows = range(whole.start[k], whole.start[k + 1])
        assert [(whole.text(i), values[i].tolist()) for i in rows] == wanted


def test_a_table_with_an_empty_cell_is_refused():
    table = "id,text,lm,s_a\\n0,u,-1,2\\n0,v,-2,\\n"
    command = shlex.join(["sh", "-c", f"printf '{table}'", "{weights}"])
    with pytest.raises(DecoderError) as caught:
        CommandDecoder(command=command, retries=0).decode(WEIGHTS, SENTENCES[:1])
    assert "'s_a' is missing; have it write a number for every candidate" in str(caught.value)
    assert "--missing" not in str(caught.value)


def test_names_are_in_their_natural_order():
    names = ["b", "TM_10", "TM_2", "TM_1", "a2", "a10", "TM", "x07", "x7", "a" + "1" * 5000]
    wanted = ["TM", "TM_1", "TM_2", "TM_10", "a2", "a10", "a" + "1" * 5000, "b", "x07", "x7"]
    assert sorted(names, key=natural) == wanted


def test_an_arrow_file_may_be_the_list(tmp_path):
    found = CommandDecoder(command=FILES).decode(WEIGHTS, SENTENCES)
    write(found, tmp_path / "list.arrow")
    copied = shlex.quote(f'cp {tmp_path}/list.arrow "$2"')
    decoder = CommandDecoder(command=f"sh -c {copied} sh {{weights}} {{output}}")
    again = decoder.decode(WEIGHTS, SENTENCES)
    # The file does not tell a feature that some candidates lack from one that is 0 there.
    same(found, dataclasses.replace(again, features=replaced_gaps(again.features, found)))


def replaced_gaps(features, other):
    return dataclasses.replace(features, gaps=other.features.gaps)


# What it is given.


class Given:
    """A decoder that keeps its arguments and its input."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "given"
        self.program = shlex.join([*PYTHON, str(PROGRAMS / "dump.py"), str(self.file)])

    def all(self) -> list[list]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]


NASTY = [
    "a 'quoted' \"text\"",
    "$(touch injected) `touch injected` ; touch injected",
    "{input} {weights} {{ }} %s %(x)s \\n \\",
    "-rf --help",
    "  spaces\tand tabs ",
    "| > /dev/null && false",
    "~ * ? [a] $HOME ${HOME} !!",
    "",
    "ü 漢字 \U0001f600 \u2028 \x01 \x85",
]


def test_paths_and_sentences_arrive_as_they_are(tmp_path):
    dump = Given(tmp_path)
    folder = tmp_path / "-a 'b' \"c\" $(touch injected) `x`\n{input} {{d}} ~ *"
    folder.mkdir()
    command = (
        f"{dump.program} {{output}} {{weights}} {{nbest_size}} '$(touch injected)' \"{{input}}\" "
        "'a  b' {{input}} '' --x={weights},{nbest_size} \\$HOME '*' '~' '|'"
    )
    # With {input} nothing goes to standard input, which this program reads.
    decoder = CommandDecoder(command=command, retries=0).in_folder(folder)
    with pytest.raises(TunesmithError, match="it is empty"):
        decoder.decode(WEIGHTS, SENTENCES[:1])
    dump.file.unlink()
    decoder = CommandDecoder(command=command.replace('"{input}"', "x"), nbest_size=9)
    decoder = decoder.in_folder(folder)
    decoder.decode(WEIGHTS, [Sentence(k, text) for k, text in enumerate(NASTY)])
    ((arguments, text),) = dump.all()
    output, weights = arguments[:2]
    assert Path(output).parent.parent == folder
    assert weights == str(folder / "weights.json")
    assert arguments[2:] == [
        "9", "$(touch injected)", "x", "a  b", "{input}", "", f"--x={weights},9", "$HOME", "*",
        "~", "|",
    ]  # fmt: skip
    assert text == "".join(f"{line}\n" for line in NASTY)
    assert not list(tmp_path.rglob("injected"))
    assert not Path("injected").exists()


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r")), min_size=1))
@example(NASTY)
@settings(max_examples=examples(15))
def test_any_text_without_a_line_end_arrives_as_it_is(tmp_path_factory, texts):
    dump = Given(tmp_path_factory.mktemp("given"))
    decoder = CommandDecoder(command=f"{dump.program} {{output}} {{weights}}")
    decoder.decode(WEIGHTS, [Sentence(k, text) for k, text in enumerate(texts)])
    assert dump.all()[0][1] == "".join(f"{line}\n" for line in texts)


def test_a_folder_with_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-run").mkdir()
    dump = Given(tmp_path)
    decoder = CommandDecoder(command=f"{dump.program} {{output}} {{weights}}")
    decoder.in_folder(Path("-run")).decode(WEIGHTS, SENTENCES)
    assert dump.all()[0][0][1] == str(tmp_path / "-run" / "weights.json")


def test_a_program_is_looked_for_where_we_are(tmp_path, monkeypatch):
    program = tmp_path / "dec"
    program.write_text('#!/bin/sh\npwd >&2\necho "0 ||| x ||| lm= 1"\n')
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    decoder = CommandDecoder(command="./dec {weights}").in_folder(tmp_path / "run")
    assert decoder.decode(WEIGHTS, SENTENCES[:1]).text(0) == "x"
    (log,) = (tmp_path / "run").glob("part-*/stderr")
    assert log.read_text() == f"{tmp_path}\n"


@pytest.mark.parametrize("text", ["a\nb", "a\r", "\ud800"])
def test_a_sentence_that_is_no_line_is_refused(text):
    with pytest.raises(UsageError, match="sentence 4"):
        CommandDecoder(command=FILES).decode(WEIGHTS, [Sentence(4, text)])


def test_no_sentence_is_refused():
    with pytest.raises(UsageError, match="no sentence"):
        CommandDecoder(command=FILES).decode(WEIGHTS, [])


# Weights.

INI = b"# mine\n[feature]\nLM0 path=lm\n\n[weight]\nlm= 0.5 # old\nTM= 1 2\n\n[other]\nx\n"


@pytest.mark.parametrize(
    ("format_name", "text"),
    [
        ("json", '{\n  "weights": {\n    "lm": 0.7,\n    "length": -0.1\n  }\n}\n'),
        ("cdec", "lm 0.7\nlength -0.1\n"),
        ("moses", "lm= 0.7\nlength= -0.1\n"),
        ("travatar", "lm=0.7\nlength=-0.1\n"),
        ("yaml", "lm: 0.7\nlength: -0.1\n"),
        ("moses-ini", "[weight]\nlm= 0.7\nlength= -0.1\n"),
    ],
)
def test_weights_are_written_as_the_decoder_wants_them(tmp_path, format_name, text):
    decoder = CommandDecoder(command="dec {weights}", weights_format=format_name)
    assert decoder.weights_bytes(WEIGHTS).decode() == text
    suffix = {"json": ".json", "yaml": ".yaml", "moses-ini": ".ini"}.get(format_name, ".txt")
    assert decoder.weights_name == f"weights{suffix}"
    (tmp_path / "weights").write_text(text)
    assert read_weights(tmp_path / "weights").weights == WEIGHTS
    assert decoder.start() is None
    assert decoder.rewritten(WEIGHTS) is None


def test_a_weights_template_is_rewritten_and_gives_the_start(tmp_path):
    (tmp_path / "moses.ini").write_bytes(INI)
    decoder = CommandDecoder(command="dec {weights}", weights_template=f"{tmp_path}/moses.ini")
    start = decoder.start()
    assert dict(start) == {"lm": 0.5, "TM_1": 1.0, "TM_2": 2.0}
    wanted = INI.replace(b"0.5", b"0.25").replace(b"1 2", b"1.0 -3.0")
    for write_weights in (decoder.rewritten, decoder.weights_bytes):
        given_weights = Weights.from_dict({"lm": 0.25, "TM_1": 1.0, "TM_2": -3.0})
        assert write_weights(given_weights) == wanted
    assert decoder.weights_name == "weights.ini"


def test_a_weights_template_of_another_format_is_refused(tmp_path):
    (tmp_path / "w").write_bytes(b"lm 0.5\n")
    template = str(tmp_path / "w")
    made = CommandDecoder(command="d {weights}", weights_template=template, weights_format="cdec")
    assert dict(made.start()) == {"lm": 0.5}
    with pytest.raises(UsageError, match="format cdec and not json"):
        CommandDecoder(command="d {weights}", weights_template=template, weights_format="json")
    with pytest.raises(FormatError, match="no such file"):
        CommandDecoder(command="d {weights}", weights_template=str(tmp_path / "none"))


# Options.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "--decoder-command"),
        ({"command": "dec"}, "no {weights}"),
        ({"command": "dec {weights}", "nbest_size": 0}, "nbest-size is 0"),
        ({"command": "dec {weights}", "jobs": 0}, "jobs is 0"),
        ({"command": "dec {weights}", "retries": -1}, "retries is -1"),
        ({"command": "dec {weights}", "time_limit": 0.0}, "time-limit is 0"),
        ({"command": "dec {weights}", "time_limit": float("nan")}, "time-limit is nan"),
        ({"command": "dec {weights}", "format": "mosses"}, "moses"),
        ({"command": "dec {weights}", "weights_format": "jsn"}, "json"),
    ],
)
def test_wrong_options_are_refused_at_once(options, words):
    with pytest.raises(TunesmithError) as error:
        CommandDecoder(**options)
    assert words in str(error.value)


def test_it_is_registered():
    assert DECODERS.get("command") is CommandDecoder


def test_the_configuration_is_what_decides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("dec.py", "1"), ("model.ini", "2"), ("w.txt", "lm 1\n")):
        (tmp_path / name).write_text(text)
    (tmp_path / "large").write_bytes(b"x" * (1 << 20))

    def made(**changed):
        options = {
            "command": "no-program dec.py --config=model.ini large {weights}",
            "weights_template": "w.txt",
        }
        return CommandDecoder(**{**options, **changed})

    def configuration(**changed):
        return made(**changed).configuration()

    before = configuration()
    assert json.loads(json.dumps(before)) == before
    files = made().files()
    assert set(files) == {"dec.py", "--config=model.ini"}
    assert before["weights_format"] == "cdec"
    assert configuration(jobs=3, time_limit=9.0, retries=7) == before
    assert configuration(nbest_size=7) != before
    assert configuration(format="moses") != before
    (tmp_path / "large").write_bytes(b"y" * (1 << 20))
    (tmp_path / "dec.py").write_text("3")
    assert configuration() == before  # it may have been mended
    assert made().files() != files
    assert made().files()["--config=model.ini"] == files["--config=model.ini"]
    (tmp_path / "w.txt").write_text("lm 2\n")
    assert configuration() != before


# What is left behind.


def test_logs_commands_and_weights_are_kept_and_large_files_are_not(tmp_path):
    decoder = CommandDecoder(command=FILES, jobs=2).in_folder(tmp_path)
    decoder.decode(WEIGHTS, SENTENCES)
    decoder.accepted()
    folders = sorted(tmp_path.glob("part-*"))
    assert [folder.name[:9] for folder in folders] == ["part-000-", "part-001-"]
    for folder in folders:
        assert {path.name for path in folder.iterdir()} == {"command.json", "stderr"}
        command = json.loads((folder / "command.json").read_text())
        assert command[: len(PYTHON)] == PYTHON
        assert command[-4:-1] == [
            str(tmp_path / "weights.json"), str(folder / "input"), str(folder / "output"),
        ]  # fmt: skip
    assert read_weights(tmp_path / "weights.json").weights == WEIGHTS
    # Again: no attempt has the folder of another.
    decoder.decode(WEIGHTS, SENTENCES)
    assert len(list(tmp_path.glob("part-*"))) == 4


def test_what_is_printed_beside_the_list_is_kept(tmp_path):
    script = 'echo hello; echo "0 ||| x ||| lm= 1" > "$1"'
    command = f"sh -c {shlex.quote(script)} sh {{output}} {{weights}}"
    CommandDecoder(command=command).in_folder(tmp_path).decode(WEIGHTS, SENTENCES[:1])
    (said,) = tmp_path.glob("part-*/stdout")
    assert said.read_text() == "hello\n"


def test_without_a_folder_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = CommandDecoder(command=FILES).decode(WEIGHTS, SENTENCES)
    assert list(tmp_path.iterdir()) == []
    assert found.files == ()


def test_progress_is_told():
    from tunesmith.progress import show_with

    told = []
    show_with(lambda *one: told.append(one))
    try:
        CommandDecoder(command=FILES, jobs=3).decode(WEIGHTS, SENTENCES)
    finally:
        show_with(None)
    assert told == [("decoding", done, 3, "") for done in range(4)]


def test_the_list_is_what_reading_it_gives(tmp_path):
    """All that is normalised is the order of names and words."""
    copied = f'sh -c \'cp "$1" {tmp_path}/copy; cp {tmp_path}/list "$2"\' sh {{weights}} {{output}}'
    lines = [
        f"{k} ||| {'x y z'[: 2 * j + 1]} ||| TM= {j} {k} lm= -{j}.5 s_{j * k}= 1 ||| 0\n"
        for k in range(5)
        for j in range(3)
    ]
    (tmp_path / "list").write_text("".join(lines))
    sentences = [Sentence(k, "x") for k in range(5)]
    found = CommandDecoder(command=copied).decode(WEIGHTS, sentences)
    wanted = read(tmp_path / "list")
    assert set(found.features.names) == set(wanted.features.names)
    for name in wanted.features.names:
        a, b = found.features.names.index(name), wanted.features.names.index(name)
        np.testing.assert_array_equal(column(found, a), column(wanted, b))
    assert [found.text(i) for i in range(15)] == [wanted.text(i) for i in range(15)]
    assert (tmp_path / "copy").read_text().startswith("{")


def column(candidates, index):
    dense = len(candidates.features.dense_names)
    if index < dense:
        return candidates.features.dense[index]
    return candidates.features.sparse.toarray()[:, index - dense]
