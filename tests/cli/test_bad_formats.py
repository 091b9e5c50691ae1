"""Bad candidate files of every format: refused in one line that names the place, or read rightly.

``tests/io`` shows that each format reads what its program writes. Here files are cut, mixed up
and filled with what does not belong in them.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import PREFIX, Run, files_below
from tests.helpers.cli.format_cases import BARS, SAMPLES, Sample, one

pytestmark = pytest.mark.long

Refused = Callable[..., str]


@pytest.fixture(params=SAMPLES, name="sample")
def _sample(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]


@pytest.fixture
def convert(cli: Run, tmp_path: Path) -> Callable[..., dict[Any, Any]]:
    """Read files that must be right, and return the groups by id as JSON lines have them."""

    def run(sample: Sample, files: Any = None, folder: str = "good") -> dict[Any, Any]:
        sample.put(tmp_path / folder, files)
        target = tmp_path / "good.jsonl"
        arguments = sample.arguments(tmp_path / folder)
        found = cli("convert", *arguments, "--to", "jsonl", "--out", target)
        assert found.code == 0, found.err
        lines = target.read_text(encoding="utf-8").split("\n")
        return {group["id"]: group for group in map(json.loads, filter(None, lines))}

    return run


@pytest.fixture
def refuse(refused: Refused, tmp_path: Path) -> Callable[..., str]:
    """Have files refused; ``file`` and ``line`` are the place that is named."""

    def run(sample: Sample, files: Any = None, file: str = "", line: int | None = None) -> str:
        folder = sample.put(tmp_path / "bad", files)
        arguments = sample.arguments(folder)
        place = {"file": folder / (file or sample.first), "line": line}
        return refused(
            "convert", *arguments, "--to", "jsonl", "--out", tmp_path / "out.jsonl", **place
        )

    return run


# Numbers

BAD_NUMBERS = ["nan", "-NaN", "inf", "-Infinity", "1e999", "-1e999", "9" * 400]
WORDS = ["one", "0x10", "1_0", "1e", "1.2.3", "--1", "١", "1d5", "true"]
GOOD_NUMBERS = ["1e5", "1E+05", "-0", "0.1234567890123456789", "9007199254740993", "1e-400"]
#: JSON has no such numbers.
LOOSE_NUMBERS = [".5", "5.", "+1", "00012"]


def test_a_value_is_no_finite_number(refuse: Refused, sample: Sample) -> None:
    file, _, _, line, _, _ = sample.spot
    for number in BAD_NUMBERS + WORDS:
        said = refuse(sample, sample.with_value(number), file, line)
        if sample.format != "jsonl":  # whose own grammar knows no such words
            assert number[:40] in said or "not finite" in said


def test_a_value_is_left_out(refuse: Refused, sample: Sample) -> None:
    if sample.format == "joshua" and sample is not SAMPLES["joshua"]:
        pytest.skip("a list without names has one value fewer")
    if sample is SAMPLES["parallel"]:
        assert "empty" in refuse(sample, sample.with_value(""), "hyp.txt.lm", 2)
        return
    refuse(sample, sample.with_value(""), sample.spot[0], sample.spot[3])


def test_an_unusual_number_is_read_exactly(convert: Callable[..., Any], sample: Sample) -> None:
    *_, text, feature = sample.spot
    for number in GOOD_NUMBERS + (LOOSE_NUMBERS if sample.format != "jsonl" else []):
        groups = convert(sample, sample.with_value(number))
        values = [
            candidate["features"][feature]
            for group in groups.values()
            for candidate in group["candidates"]
            if candidate["text"] == text
        ]
        assert float(number) in values


# Files that are no text of the format at all

STRANGE: dict[str, bytes] = {
    "empty": b"",
    "blank": b"\n \n\t\n",
    "UTF-16": "0 ||| a ||| f= 1 ||| 0\n".encode("utf-16"),
    "UTF-16 without a mark": "0 ||| a ||| f= 1 ||| 0\n".encode("utf-16-be"),
    "NUL": b"0 ||| a\0 ||| f= 1 ||| 0\n",
    "Latin-1": b"0 ||| M\xfcller ||| f= 1 ||| 0\n",
    "pickle": b"\x80\x04\x95\x0c\0\0\0\0\0\0\0]\x94(K\x01K\x02e.",
    "zip": b"PK\x03\x04\x14\0\0\0\x08\0" + bytes(range(256)),
    "XML": b"<?xml version='1.0'?>\n<tstset><hyp>a</hyp></tstset>\n",
    "CR alone": b"0 ||| a ||| f= 1\r0 ||| b ||| f= 2\r",
}


@pytest.mark.parametrize("content", STRANGE.values(), ids=STRANGE)
def test_not_a_file_of_the_format(refused: Refused, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "strange"
    path.write_bytes(content)
    forms = [sample.format for sample in SAMPLES.values()] + ["arrow", "parquet", ""]
    for form in forms:
        if content == STRANGE["XML"] and form.startswith("parallel"):
            continue  # any text is text
        arguments = ["--candidates", path, *(["--format", form] if form else [])]
        said = refused("convert", *arguments, "--to", "jsonl", "--out", tmp_path / "out")
        assert said.startswith(str(path))


def test_a_missing_file(refuse: Refused, sample: Sample) -> None:
    others = {name: text for name, text in sample.files.items() if name != sample.first}
    assert "no such file" in refuse(sample, others)


def test_a_folder(refused: Refused, sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    arguments = ["--candidates", tmp_path / "folder", *sample.arguments(tmp_path)[2:]]
    assert "directory" in refused("convert", *arguments, "--to", "jsonl")


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may read")
def test_no_permission(refuse: Refused, sample: Sample, tmp_path: Path) -> None:
    folder = sample.put(tmp_path / "bad")
    (folder / sample.first).chmod(0)
    assert "permission" in refuse(sample, {})


# A file of one format read as another


def test_read_as_another_format(
    cli: Run, sample: Sample, tmp_path: Path, convert: Callable[..., Any]
) -> None:
    expected = convert(sample)
    before = files_below(tmp_path)
    target = tmp_path / "other.jsonl"
    # Any text is parallel text.
    forms = {s.format for s in SAMPLES.values()} - {"parallel:per-source=2", sample.format}
    for form in sorted(forms | {"arrow", "parquet"}):
        found = cli(
            "convert", *sample.arguments(tmp_path / "good", form), "--to", "jsonl", "--out", target
        )
        if found.code == 0:
            # Lists with bars are alike; what is read must be the same.
            assert {sample.format, form} <= set(BARS)
            lines = target.read_text(encoding="utf-8").splitlines()
            assert {g["id"]: g for g in map(json.loads, lines)} == expected
            target.unlink()
            continue
        assert found.code == 2, found
        assert found.err.startswith(PREFIX + str(tmp_path / "good"))
        assert found.err.count("\n") == 1
        assert files_below(tmp_path) == before


# Cut off


def candidates_of(groups: dict[Any, Any]) -> list[str]:
    """Return all candidates as texts, in the order of the file as far as it is known."""
    return [
        json.dumps([g["id"], c["text"], sorted(c["features"].items())])
        for g in groups.values()
        for c in g["candidates"]
    ]


def test_cut_off_anywhere(
    cli: Run, sample: Sample, tmp_path: Path, convert: Callable[..., Any]
) -> None:
    """Whatever is read of a file that is cut is all its own, but for the line that is cut."""
    whole = set(candidates_of(convert(sample)))
    data = sample.files[sample.first].encode()
    rng = random.Random(sample.format)
    for cut in sorted(rng.sample(range(len(data)), min(10, len(data)))):
        folder = sample.put(tmp_path / "cut")
        (folder / sample.first).write_bytes(data[:cut])
        target = tmp_path / "cut.jsonl"
        target.unlink(missing_ok=True)
        found = cli("convert", *sample.arguments(folder), "--to", "jsonl", "--out", target)
        if found.code != 0:
            assert found.code == 2, (cut, found)
            errors = [line for line in found.err.splitlines() if "warning" not in line]
            assert len(errors) == 1
            assert errors[0].startswith(PREFIX + str(folder)), (cut, found)
            assert not target.exists()
            continue
        lines = target.read_text(encoding="utf-8").splitlines()
        left = candidates_of({g["id"]: g for g in map(json.loads, lines)})
        # Features that only later lines have are 0 in the whole and not there in the part.
        known = [re.sub(r', \["[^"]+", 0\.0\]|\["[^"]+", 0\.0\], ', "", c) for c in left]
        full = {re.sub(r', \["[^"]+", 0\.0\]|\["[^"]+", 0\.0\], ', "", c) for c in whole}
        assert sum(c not in full for c in known) <= 1, (cut, known)


# Mutations: a seeded sample of what a longer search outside of the tests tries

JUNK = ["\0", "\ufeff", "\r", "\x85", "\u2028", "\x0b", "\x1b[31m", "|||", " ||| ", "=", "\t", "\n"]
JUNK += [",", '"', "{", "}", "\\", "\u00a0", "#", ":", "-", "H-", "\\u0000", "\\ud800", "\r\n"]


def mutated(text: str, rng: random.Random) -> bytes:
    """Change a text somewhere."""
    kind = rng.choice(["drop", "double", "swap", "token", "junk", "junk", "bytes", "join", "span"])
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    k = rng.randrange(len(text) + 1)
    if kind in {"drop", "double"}:
        lines[at : at + 1] = [] if kind == "drop" else [lines[at]] * 2
    elif kind == "swap":
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == "token":
        found = rng.choice(list(re.finditer(r"[^\s,|]+", text)))
        new = rng.choice(["", f"{found[0]} {found[0]}", "-1", "1" * 30, "null"])
        return (text[: found.start()] + new + text[found.end() :]).encode()
    elif kind == "junk":
        return (text[:k] + rng.choice(JUNK) + text[k:]).encode()
    elif kind == "bytes":
        return text[:k].encode() + bytes([rng.randrange(256)]) + text[k:].encode()
    elif kind == "span":
        return (text[:k] + text[k + rng.randrange(1, 9) :]).encode()
    else:
        lines[at : at + 2] = [" ".join(lines[at : at + 2])]
    return "\n".join(lines).encode()


def test_mutations(cli: Run, sample: Sample, tmp_path: Path) -> None:
    """Every file is refused as all errors are, or read with numbers that stand in it."""
    rng = random.Random(f"mutations of {sample.format}")
    target = tmp_path / "out.jsonl"
    for k in range(12):
        files: dict[str, Any] = dict(sample.files)
        name = rng.choice([sample.first, *files])
        files[name] = mutated(files[name], rng)
        sample.put(tmp_path / "bad", files)
        target.unlink(missing_ok=True)
        arguments = sample.arguments(tmp_path / "bad")
        found = cli("convert", *arguments, "--to", "jsonl", "--out", target)
        case = (k, name, files[name], found)
        assert found.code in (0, 2), case
        assert found.out == "", case
        errors = [e for e in found.err.split("\n") if e and not e.startswith("tunesmith: warning")]
        assert target.exists() == (found.code == 0), case
        assert len(errors) == (found.code == 2), case
        if found.code == 2:
            assert errors[0].startswith(PREFIX + str(tmp_path)), case
            assert "; " in errors[0], case
            assert errors[0].isprintable(), case
            continue
        written = b" ".join(f if isinstance(f, bytes) else f.encode() for f in files.values())
        there = {
            float(n) for n in re.findall(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", written)
        }
        # Texts are kept as they came, with what Python takes for line ends.
        for line in target.read_text(encoding="utf-8").rstrip("\n").split("\n"):
            for candidate in json.loads(line)["candidates"]:
                for feature, value in candidate["features"].items():
                    made = feature in {"logprob", "length"}  # fairseq's: a sum, and a count
                    assert made or value == 0 or value in there, case


# What is unusual and right


def changed(sample: Sample, change: Callable[[str], str]) -> dict[str, str]:
    return {name: change(text) for name, text in sample.files.items()}


USUAL: dict[str, Callable[[str], str]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "byte-order mark": lambda text: "\ufeff" + text,
    "no final line end": lambda text: text.removesuffix("\n"),
    "CRLF and no final line end": lambda text: text.replace("\n", "\r\n").removesuffix("\r\n"),
    "trailing blanks": lambda text: text.replace("\n", " \n"),
    "leading blanks": lambda text: re.sub("(?m)^(?=.)", " ", text),
    "empty lines at the end": lambda text: text + "\n\n",
}


#: What is not the same in these formats: what does not begin a line is the log's; an empty line is
#: an empty hypothesis, and the last one of a sample has an empty text.
OTHERWISE = {
    "leading blanks": {"fairseq"},
    "empty lines at the end": {"parallel"},
    "no final line end": {"parallel", "nemo"},
    "CRLF and no final line end": {"parallel", "nemo"},
}


def test_unusual_and_right(convert: Callable[..., Any], sample: Sample) -> None:
    usual = convert(sample)
    for what, change in USUAL.items():
        if sample.format.partition(":")[0] in OTHERWISE.get(what, ()):
            continue
        found = convert(sample, changed(sample, change), "changed")
        for group in found.values():  # texts are kept as they came, with blanks around them
            if "source" in group:
                group["source"] = group["source"].strip()
            for candidate in group["candidates"]:
                candidate["text"] = candidate["text"].strip()
        assert found == usual, what


@pytest.mark.parametrize("name", [*BARS, "kaldi", "nemo", "parallel"])
def test_no_break_spaces_are_blanks(convert: Callable[..., Any], name: str) -> None:
    sample = SAMPLES[name]
    *_, text, _ = sample.spot
    files = changed(sample, lambda t: t.replace(text, text.replace(" ", "\u00a0") + "\u3000"))
    found, usual = convert(sample, files, "changed"), convert(sample)
    for group in (*found.values(), *usual.values()):
        for candidate in group["candidates"]:  # some formats keep texts as they came
            candidate["text"] = candidate["text"].split()
    assert found == usual


@pytest.mark.parametrize("name", [*BARS, "jsonl", "csv", "tsv"])
def test_groups_that_are_mixed_up(convert: Callable[..., Any], name: str) -> None:
    """Lines of one group need not stand together; candidates stay in their order."""
    sample = SAMPLES[name]
    lines = sample.files["list"].splitlines(keepends=True)
    *head, first, second, other = lines if name != "jsonl" else ["", *lines]
    mixed = [*head, first, other, second]
    found = convert(sample, {"list": "".join(mixed)}, "changed")
    assert found == convert(sample)
    if name != "jsonl":  # its ids are texts, and stay as they come
        assert list(found) == sorted(found)


def test_ids_with_gaps_and_groups_of_one(convert: Callable[..., Any]) -> None:
    ids = range(7, 70_007, 7)
    text = "".join(f"{i} ||| a b{i} ||| f= {i} ||| 0\n" for i in ids)
    found = convert(one("moses", text, "", "", 1, "", ""))
    assert list(found) == list(ids)
    assert all(g["candidates"][0]["features"] == {"f": i} for i, g in found.items())


def test_thousands_of_features(convert: Callable[..., Any]) -> None:
    names = " ".join(f"s{k}={k / 8}" for k in range(1, 5001))
    found = convert(one("cdec", f"0 ||| a ||| {names} ||| 0\n", "", "", 1, "", ""))
    assert found[0]["candidates"][0]["features"] == {f"s{k}": k / 8 for k in range(1, 5001)}


@pytest.mark.parametrize("name", ["moses", "jsonl", "fairseq", "nemo", "parallel", "csv", "kaldi"])
def test_a_very_long_line(convert: Callable[..., Any], name: str) -> None:
    sample = SAMPLES[name]
    *_, text, _ = sample.spot
    words = "w " * 1_000_000
    old = '"text": "u"' if name == "jsonl" else text
    new = f'"text": "{words}"' if name == "jsonl" else words.strip()
    files = changed(sample, lambda t: t.replace(old, new, 1))
    found = [c["text"] for g in convert(sample, files).values() for c in g["candidates"]]
    assert words.strip() in [t[: len(words) - 1] for t in found]


def test_a_very_long_line_that_is_wrong(refused: Refused, tmp_path: Path, sample: Sample) -> None:
    folder = sample.put(tmp_path / "bad", {**sample.files, sample.first: "x" * 5_000_000})
    said = refused("convert", *sample.arguments(folder), "--to", "jsonl")
    assert said.startswith(str(folder / sample.first))
    assert len(said) < 1000
