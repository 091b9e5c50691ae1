"""Files that pages speak of: the bundled lists under the names that the pages use."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tests.helpers.docs.blocks import ROOT

BUNDLED = ROOT / "src" / "tunesmith" / "bundled"
BUNDLED_NEURAL = ROOT / "src" / "tunesmith" / "bundled_neural"
CATALOGS = ROOT / "examples" / "catalogs"
SIDES = (("source", "de"), ("target", "en"))
TEXTS = ((0, "this is a test ."), (1, "that is a test ."))
HYPERGRAPH = """# target ||| features ||| source-covered
2 3
2
the house ||| LM0=-2.5 WordPenalty0=-2 ||| 2
a house ||| LM0=-3 WordPenalty0=-2 ||| 2
1
[0] . ||| LM0=-0.5 WordPenalty0=-1 ||| 3
"""


def bundled() -> list[Path]:
    """Return the files that come with the package."""
    kept = {"ATTRIBUTION", "LICENCES", "test", "tune", "weights"}
    return [path for path in BUNDLED.iterdir() if path.name.partition(".")[0] in kept]


def lay_lists(folder: Path, sentences: int | None) -> None:
    """Lay the bundled lists, or their first sentences; the test lists as dev lists too."""
    for path in bundled():
        if path.suffix in {".gz", ".ref", ".src"} and sentences is not None:
            _lay_some(path, folder / path.name, sentences)
        else:
            shutil.copy(path, folder)
    for kind in ("nbest.gz", "ref", "src"):
        shutil.copy(folder / f"test.{kind}", folder / f"dev.{kind}")


def lay_checkout(folder: Path) -> None:
    """Lay the bundled lists and the examples as they lie in a checkout."""
    place = folder / "src" / "tunesmith" / "bundled"
    place.mkdir(parents=True)
    for path in bundled():
        shutil.copy(path, place)
    shutil.copytree(ROOT / "docs" / "examples", folder / "docs" / "examples")
    shutil.copytree(ROOT / "examples" / "forests", folder / "examples" / "forests")


def lay_bundled_neural(folder: Path) -> None:
    """Lay the neural lists that come with the package as they lie in a checkout."""
    shutil.copytree(BUNDLED_NEURAL, folder / "src" / "tunesmith" / "bundled_neural")


def lay_catalogs(folder: Path, pairs: int, sentences: int) -> None:
    """Lay the first lines of the example's parallel text."""
    folder.mkdir(parents=True, exist_ok=True)
    for side in ("de", "en"):
        with gzip.open(CATALOGS / f"train.{side}.gz") as whole:
            head = b"".join(line for line, _ in zip(whole, range(pairs), strict=False))
        (folder / f"train.{side}.gz").write_bytes(gzip.compress(head))
        for name in ("tune", "dev", "test"):
            _head(CATALOGS / f"{name}.{side}", folder / f"{name}.{side}", sentences)


def _lay_some(path: Path, to: Path, sentences: int) -> None:
    if path.suffix != ".gz":
        _head(path, to, sentences)
    elif path.name.endswith(".nbest.gz"):
        with gzip.open(path) as lines:
            some = b"".join(line for line in lines if int(line.split(b" ", 1)[0]) < sentences)
        to.write_bytes(gzip.compress(some, compresslevel=1))


def _head(path: Path, to: Path, count: int) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    to.write_text("".join(lines[:count]), encoding="utf-8")


def lay_model(folder: Path) -> None:
    """Train a small hierarchical model on the text that is laid there."""
    pytest.importorskip("thot", reason="sil-thot is not installed")
    from tunesmith.cli import main

    sides = [f"--{name}={folder / 'train'}.{side}.gz" for name, side in SIDES]
    assert main(["train", *sides, f"--out={folder / 'model'}", "--quiet"]) == 0


def lay_moses(folder: Path) -> None:
    """Lay a stand-in for Moses, its configuration, and a few sentences."""
    from tests.helpers.decoders.configurations import MOSES_INI
    from tests.helpers.decoders.list_shapes import STANDINS

    place = folder / "bin"
    place.mkdir(exist_ok=True)
    for name in ("moses.py", "toy.py"):
        shutil.copy(STANDINS / name, place)
    (place / "moses.py").rename(place / "moses")
    (folder / "moses.ini").write_text(MOSES_INI)
    for name in ("tune", "dev", "test"):
        (folder / f"{name}.de").write_text("das haus ist klein\nein mann geht\nja\n")
        (folder / f"{name}.en").write_text("dasen hauser ist klein\nein mannen geht\njaer\n")


def lay_forests(folder: Path) -> None:
    """Lay a folder of Moses' hypergraphs, one for each reference of the tuning set."""
    folder.mkdir()
    for number in range(200):
        (folder / str(number)).write_text(HYPERGRAPH)


def lay_kaldi(folder: Path, references: bool) -> None:
    """Lay the lists of two utterances as Kaldi's scripts leave them."""
    folder.mkdir()
    keys = ("utt-a-1", "utt-a-2", "utt-b-1", "utt-b-2")
    for name, values in (
        ("words_text", ("good day", "good", "yes", "yet")),
        ("acwt", (510.25, 512.5, 90.5, 91.25)),
        ("lmwt.rnn", (7.125, 8, 2.5, 2.25)),
    ):
        lines = (f"{key} {value}\n" for key, value in zip(keys, values, strict=True))
        (folder / name).write_text("".join(lines))
    if references:
        (folder / "text").write_text("utt-a good day\nutt-b yes\n")


def lay_speech(folder: Path) -> None:
    """Lay lists of Kaldi with transcripts, and of NeMo with a language model's scores."""
    lay_kaldi(folder / "archives.1", references=True)
    beams = "good day\t-3.25\ngood\t-4.5\nday\t-7\nyes\t-0.5\nyeah\t-2\nyes yes\t-9.125\n"
    (folder / "beams.tsv").write_text(beams)
    (folder / "dev.txt").write_text("good day\nyes\n")
    (folder / "lm.txt").write_text("-2\n-1\n-3\n-1\n-2\n-5\n")


def lay_neural(folder: Path) -> None:
    """Lay lists of Marian with scores of a language model and of COMET."""
    for name, lm in (("nbest", "comet"), ("test", "test.lm")):
        texts = [f"{k} ||| {text} ||| F0= -{k + j}.5 ||| -1" for k in range(3) for j, text in TEXTS]
        (folder / f"{name}.txt").write_text("\n".join(texts) + "\n")
        (folder / f"{lm}.txt").write_text("".join(f"0.{k % 7}\n" for k in range(6)))


def lay_answers(path: Path) -> None:
    """Lay answers with two rewards, a length, and whether they are right."""
    rows = ["id,text,helpful,factual,length,correct"]
    for question in range(6):
        for answer in range(4):
            right = int(answer == question % 4)
            helpful, factual = (question * 7 + answer * 3) % 5 / 5, right + answer % 3 / 4
            rows.append(f"q{question},answer {answer},{helpful},{factual},{answer + 2},{right}")
    path.write_text("\n".join(rows) + "\n")
