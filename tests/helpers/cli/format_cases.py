"""A small valid sample of each format, for the tests that spoil them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers.io import list_samples as samples

CSV = """\
id,text,source,reference,lm,tm,metrics.comet
0,good day,guten Tag,good day,-1.5,2,0.5
0,good,guten Tag,good day,-2.5,1e-3,0.25
3,"a, b",x,y,0,-4,1
"""
TSV = CSV.replace('"a, b"', "a b").replace(",", "\t")


@dataclass(frozen=True)
class Sample:
    """Files by name, the first of which is read, and a value in one of them.

    ``spot`` is the value's file, the text around it with {} in its place, its line, the text
    of its candidate and its feature.
    """

    format: str
    files: Mapping[str, str]
    spot: tuple[str, str, str, int, str, str]
    scores: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> str:
        return next(iter(self.files))

    def arguments(self, folder: Path, form: str = "") -> list[object]:
        given: list[object] = ["--candidates", folder / self.first]
        given += ["--format", form or self.format]
        for name, path in self.scores.items():
            given += ["--scores", f"{name}={folder / path}"]
        return given

    def put(self, folder: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
        folder.mkdir(exist_ok=True, parents=True)
        for name, content in (self.files if files is None else files).items():
            data = content.encode() if isinstance(content, str) else content
            (folder / name).write_bytes(data)
        return folder

    def with_value(self, value: str) -> dict[str, str]:
        name, old, new, *_ = self.spot
        assert self.files[name].count(old) == 1
        return {**self.files, name: self.files[name].replace(old, new.format(value))}


def one(form: str, text: str, *spot: Any) -> Sample:
    return Sample(form, {"list": text}, ("list", *spot))


DAT = {"features.dat": samples.FEATURES_DAT, "scores.dat": samples.SCORES_DAT}
SAMPLES = {
    "moses": one("moses", samples.MOSES, "LM0= -11.8", "LM0= {}", 2, "this is text", "LM0"),
    "jsonl": one("jsonl", samples.JSONL, '"f": 1e-9', '"f": {}', 1, "u", "f"),
    "cdec": one("cdec", samples.CDEC, "=-16.3297", "={}", 2, "his late akt ?", "LanguageModel"),
    "joshua": one("joshua", samples.JOSHUA, "=-9.100", "={}", 2, "one good text", "tm_pt_0"),
    "values": one("joshua", samples.UNNAMED, "-20.002", "{}", 2, "one good text", "feature_1"),
    "travatar": one("travatar", samples.TRAVATAR, "lm=-7.25", "lm={}", 2, "a text", "lm"),
    "marian": one("marian", samples.MARIAN, "F1= -5", "F1= {}", 2, "This is a trial .", "F1"),
    "fairseq": one("fairseq", samples.FAIRSEQ, "H-4\t-0.5", "H-4\t{}", 8, "good morning.", "score"),
    "kaldi": Sample("kaldi", samples.KALDI, ("acwt", "512.5", "{}", 2, "good", "acwt")),
    "nemo": one("nemo:per-source=3", samples.NEMO, "-4.5", "{}", 2, "good", "score"),
    "parallel": Sample(
        "parallel:per-source=2",
        samples.PARALLEL,
        ("hyp.txt.lm", "-1.5", "{}", 2, "good", "lm"),
        {"lm": "hyp.txt.lm", "nmt": "hyp.txt.nmt"},
    ),
    "moses-data": Sample("moses-data", DAT, ("features.dat", "-0.75", "{}", 3, "", "d_2")),
    "csv": one("csv", CSV, "-2.5", "{}", 3, "good", "lm"),
    "tsv": one("tsv", TSV, "-2.5", "{}", 3, "good", "lm"),
}
BARS = ["moses", "cdec", "joshua", "values", "travatar", "marian"]
