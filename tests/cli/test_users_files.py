"""What users of other programs type, with files as these programs write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run

Make = Callable[[str, str | bytes], Path]
Refused = Callable[..., str]

TUNE = ("--tuner", "mert", "--restarts", 0, "--json")
WORDS = "utt-a-1 good day\nutt-a-2 good\nutt-b-1 yes\nutt-b-2 yeah\n"
TRANSCRIPTS = "utt-b yes\nutt-a good day\nutt-c not decoded\n"


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    """Return a folder as Kaldi's scripts for rescoring leave it."""
    folder = tmp_path / "archives.1"
    folder.mkdir()
    (folder / "words_text").write_text(WORDS)
    for name, values in {"acwt": (9, 1, 1, 9), "lmwt.nolm": (5, 6, 5, 6)}.items():
        keys = [line.split()[0] for line in WORDS.splitlines()]
        lines = [f"{key} {value}\n" for key, value in zip(keys, values, strict=True)]
        (folder / name).write_text("".join(lines))
    return folder


def test_a_folder_of_archives_with_the_transcripts_of_the_data(
    cli: Run, make: Make, archives: Path
) -> None:
    text = make("text", TRANSCRIPTS)
    found = cli("tune", "-c", archives, "--references", text, "--metric", "wer", *TUNE)
    assert found.json()["score"] == 0
    assert "1 of 3 lines have no candidates" in found.err
    assert [one["format"] for one in found.json()["data"]][:1] == ["kaldi"]


def test_transcripts_may_be_several(cli: Run, make: Make, archives: Path) -> None:
    other = make("other", "utt-a day\nutt-b yeah\n")
    text = make("text", TRANSCRIPTS)
    both = ("--references", text, "--references", other)
    found = cli("convert", "-c", archives, *both, "--to", "jsonl")
    groups = [json.loads(line) for line in found.out.splitlines()]
    assert [(g["id"], g["references"]) for g in groups] == [
        ("utt-a", ["good day", "day"]),
        ("utt-b", ["yes", "yeah"]),
    ]


def test_lines_begin_with_ids_that_are_numbers(cli: Run, make: Make) -> None:
    lists = make(
        "lists", "".join(f"{g} ||| w{g} ||| lm= {k} ||| 0\n" for g in range(4) for k in (1, 2))
    )
    keyed = make("keyed", "3 w3\n0 w0\n2 w2\n1 w1\n")
    plain = make("plain", "0 w0\n7 w1\n2 w2\n3 w3\n")  # one line does not begin with its id
    weights = make("w", "lm= 1\n")
    given = ("evaluate", "-c", lists, "--weights", weights, "--metric", "wer", "--json")
    assert cli(*given, "--references", keyed).json()["score"] == 0
    assert cli(*given, "--references", plain).json()["score"] == 50


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("good day\nyes\n", "no line begins with the id 'utt-a'; where ids are texts, write"),
        ("utt-a good day\n", "no line begins with the id 'utt-b'"),
        ("utt-a good day\nutt-b yes\nutt-a a\n", "ref:3: the id 'utt-a' begins a line before too"),
    ],
)
def test_references_that_do_not_belong_to_ids(
    refused: Refused, make: Make, archives: Path, text: str, told: str
) -> None:
    made = make("ref", text)
    assert told in refused("tune", "-c", archives, "--references", made, "--metric", "wer")


def test_lists_without_a_header_are_told(refused: Refused, make: Make) -> None:
    beams = make("beams.tsv", "good day\t-3.25\ngood\t-4.5\n")
    told = refused("tune", "-c", beams)
    assert "beams.tsv:1: this is no header: '-3.25' is a number" in told
    assert "--format nemo:per-source=N" in told


def test_hypotheses_without_scores_say_where_features_come_from(
    refused: Refused, make: Make
) -> None:
    recogs = make("recogs-test.txt", "a:\tref=['YES']\na:\thyp=['YES']\n")
    assert "--scores NAME=FILE, or derive features with --feature" in refused(
        "tune", "-c", recogs, "--metric", "wer"
    )


NBEST = "0 ||| a ||| f= 1 g= 2 ||| 0\n0 ||| b ||| f= 2 g= 1 ||| 0\n"


def test_metricx_is_an_error(cli: Run, make: Make) -> None:
    lists = make("a.nbest", NBEST)
    scores = make("x.jsonl", '{"prediction": 3.5}\n{"prediction": 1.5}\n')
    given = ("tune", "-c", lists, "--scores", f"mx={scores}", *TUNE)
    found = cli(*given, "--metric", "column:mx")
    assert "of which less is better; give --metric cost:mx" in found.err
    assert "less is better" not in cli(*given, "--metric", "cost:mx").err


def test_a_metric_that_is_a_feature_of_the_weights_stays_one(cli: Run, make: Make) -> None:
    """The choice of the weights is scored, not that of some of them."""
    rows = "id,text,good,length\n0,a,1,5\n0,b,0,2\n1,c,0,4\n1,d,1,9\n"
    table, weights = make("t.csv", rows), make("w.json", '{"length": 1}')
    given = ("evaluate", "-c", table, "-w", weights, "--metric", "column:good")
    alone = cli(*given, "--json").json()
    both = cli(*given, "--metric", "column:length", "--json").json()
    assert (both["score"], both["others"][0]["score"]) == (alone["score"], 7)
    assert alone["score"] == 1
    compared = cli(
        "compare", "--candidates", table, "--system", f"a={weights}", "--system", f"b={weights}",
        "--metric", "column:length", "--resamples", 10, "--json",
    ).json()  # fmt: skip
    assert [one["mean"] for one in compared["systems"]] == [7, 7]


FAIRSEQ = """S-0\tx y
T-0\tlo@@ wer hou@@ se
H-0\t-1\tlo@@ wer hou@@ se
P-0\t-0.5 -0.5 -0.5 -0.5
H-0\t-2\tlo@@ w
P-0\t-1.0 -1.0
"""


def test_pieces_on_both_sides_are_told_and_joined(cli: Run, make: Make) -> None:
    """fairseq prints pieces, of its references as well, unless it is told to remove them."""
    lists = make("gen.out", FAIRSEQ)
    found = cli("convert", "-c", lists, "--to", "jsonl")
    assert "so that pieces are counted, not words; give --join-bpe" in found.err
    found = cli("convert", "-c", lists, "--join-bpe", "--to", "jsonl")
    group = json.loads(found.out)
    assert group["references"] == ["lower house"]
    assert [one["text"] for one in group["candidates"]] == ["lower house", "low"]
    assert "pieces" not in found.err


def test_short_answers_are_no_other_sentences(cli: Run, make: Make) -> None:
    """Answers of language models are long, and what is compared is the last number."""
    lines = [
        {
            "doc_id": k,
            "doc": {},
            "target": str(k),
            "resps": [["Let me think: it is 1.", "I am sure that it is 2."]],
            "filter": "none",
        }
        for k in range(30)
    ]
    samples = make("samples_x.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    found = cli("convert", "-c", samples, "--to", "jsonl", "--out", "-")
    assert "check that the references" not in found.err
