"""A sample of each text format, as its program writes it; each test file says from what source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.helpers.builders import as_records
from tests.helpers.io import program_samples as programs
from tunesmith.data.candidates import CandidateSet
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.read import read


@dataclass(frozen=True)
class Sample:
    """Files by name, the first of which is read.

    ``format`` is what has to be said of it; the empty text where it is recognised.
    ``scores`` are score files by feature.
    """

    name: str
    files: Mapping[str, str]
    format: str = ""
    scores: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> str:
        return next(iter(self.files))

    def put(self, folder: Path) -> Path:
        """Write all files and return the first."""
        folder.mkdir(exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_bytes(text.encode())
        return folder / self.first

    def read(self, folder: Path, first: str | None = None) -> CandidateSet:
        """Read the files of a folder, or those beside another first file."""
        scores = {name: folder / path for name, path in self.scores.items()}
        return read(folder / (first or self.first), format=self.format or None, scores=scores)

    def write(self, candidates: CandidateSet, folder: Path, first: str | None = None) -> None:
        """Write a set to a folder, each group in reverse."""
        bounds = zip(candidates.start, candidates.start[1:], strict=False)
        order = np.concatenate([np.arange(lo, hi)[::-1] for lo, hi in bounds])
        folder.mkdir(exist_ok=True)
        writer = FORMATS.create(self.format or self.name)
        writer.write(candidates, order, np.zeros(len(candidates)), folder / (first or self.first))


def whole(candidates: CandidateSet, reverse: bool = False) -> dict:
    """Return all that a set holds, by group; candidates in their order or in reverse."""
    step = -1 if reverse else 1
    records = as_records(candidates)
    found = {}
    for g, i in enumerate(candidates.ids):
        span = slice(candidates.start[g], candidates.start[g + 1])
        columns = {
            name: values[span].tolist()[::step] for name, values in candidates.columns.items()
        }
        found[i] = {
            "candidates": records[i][::step],
            "columns": columns,
            "references": candidates.reference_texts(g),
            "source": candidates.sources[g] if candidates.sources else None,
        }
    return found


MOSES = """\
0 ||| this is a text ||| LM0= -12.3 WordPenalty0= -4 TM0= -1.2 -0.4 ||| -7.9
0 ||| this is text ||| LM0= -11.8 WordPenalty0= -3 TM0= -1.9 -0.7 ||| -8.3
3 |||  ||| LM0= -6.1 WordPenalty0= -2 TM0= -0.3 1e-07 sparse_x=1 ||| -3.0
"""
JSONL = """\
{"id": "q1", "source": "a  b", "references": ["x", "y z"], "candidates": [\
{"text": "t", "features": {"f": 0.1}, "metrics": {"m": -1}}, \
{"text": "u", "features": {"f": 1e-9}, "metrics": {"m": 2}}]}
{"id": "q0", "source": "c", "references": ["w"], "candidates": [\
{"text": "t", "features": {"g": 3}, "metrics": {"m": 0.25}}]}
"""
CDEC = """\
0 ||| his last akt ? ||| Glue=3 WordPenalty=-1.73718 PhraseModel_0=1.716 LanguageModel=-14.8647 \
||| -2.54808
0 ||| his late akt ? ||| Glue=3 WordPenalty=-1.73718 PhraseModel_0=1.716 LanguageModel=-16.3297 \
||| -2.63437
1 ||| ja ||| Glue=1 WordPenalty=-0.434294 PassThrough=1 LanguageModel=-3.5 LanguageModel_OOV=1 \
||| -1.5
"""
JOSHUA = """\
0 ||| a good text ||| tm_pt_0=-9.702 tm_pt_1=-10.800 lm_0=-19.117 OOVPenalty=0.000 \
WordPenalty=-1.303 ||| -7.496
0 ||| one good text ||| tm_pt_0=-9.100 tm_pt_1=-11.000 lm_0=-20.002 OOVPenalty=0.000 \
WordPenalty=-1.303 ||| -7.510
1 ||| Wort ||| tm_pt_0=0.000 tm_pt_1=0.000 lm_0=-4.000 OOVPenalty=-100.000 \
WordPenalty=-0.434 ||| -104.2
"""
UNNAMED = """\
0 ||| a good text ||| -19.117 -9.702 -1.303 ||| -7.496
0 ||| one good text ||| -20.002 -9.100 -1.303 ||| -7.510
1 ||| word ||| -4 0 -0.434 ||| -2.1
"""
TRAVATAR = """\
0 ||| a good text ||| -12.5 ||| Pegf=-3.25 lm=-8.5 unk=0 w=3
0 ||| a text ||| -13 ||| Pegf=-2.75 lm=-7.25 w=2
1 ||| Wort ||| -101 ||| lm=-4 unk=1 w=1
"""
MARIAN = """\
0 ||| This is a test . ||| F0= -2.57 F1= -3.25 ||| -0.428
0 ||| This is a trial . ||| F0= -4.81 F1= -5 ||| -0.801
1 |||  ||| F0= -0.5 F1= -0.75 ||| -0.5
"""
FAIRSEQ = """\
2020-06-01 10:00:00 | INFO | fairseq_cli.generate | loading model(s) from model.pt
S-4\tguten Tag .
T-4\tgood day.
H-4\t-0.25\tgood day .
D-4\t-0.25\tgood day.
P-4\t-0.1000 -0.2000 -0.3000 -0.4000
A-4\t0-0 1-1 2-2
H-4\t-0.5\tgood morning .
D-4\t-0.5\tgood morning.
P-4\t-0.5000 -0.5000 -0.5000 -0.5000
A-4\t0-0 1-1 2-2
S-1\tja
T-1\tyes
H-1\t-0.125\tyes
D-1\t-0.125\tyes
P-1\t-0.0625 -0.1875
H-1\t-3\t
D-1\t-3\t
P-1\t-3.0000
2020-06-01 10:00:09 | INFO | fairseq_cli.generate | NOTE: token scores are output in base 2
Generate test with beam=5: BLEU4 = 27.48, 62.5/34.1/21.2/13.8
"""
KALDI = {
    "words_text": "s1-utt-a-1 good day\ns1-utt-a-2 good\ns1-utt-b-1 \ns1-utt-b-2 no\n",
    "acwt": "s1-utt-a-1 510.25 \ns1-utt-a-2 512.5 \ns1-utt-b-1 99 \ns1-utt-b-2 97.75 \n",
    "lmwt.nolm": "s1-utt-a-1 3.5\ns1-utt-a-2 2.5\ns1-utt-b-1 0.25\ns1-utt-b-2 0.125\n",
    "lmwt.rnn": "s1-utt-a-1\t7.125\ns1-utt-a-2\t8\ns1-utt-b-1\t1.5\ns1-utt-b-2\t2\n",
    "words": "s1-utt-a-1 7 8\ns1-utt-a-2 7\ns1-utt-b-1 \ns1-utt-b-2 9\n",
    "text": "s1-utt-b no\ns1-utt-a good day\nother never decoded\n",
}
NEMO = "good day\t-3.25\ngood\t-4.5\nday\t-7\nyes\t-0.5\n\t-2\nyes yes\t-9.125\n"
PARALLEL = {
    "hyp.txt": "good day\ngood\nyes\n\n",
    "hyp.txt.lm": "-3.25\n-1.5\n-0.5\n0\n",
    "hyp.txt.nmt": "-1\n-2e-05\n-0.25\n-8\n",
}
FEATURES_DAT = """\
FEATURES_TXT_BEGIN_0 0 2 4 d_0 d_1 lm_0 w_0
-2 -0.5 -12.25 -3 sp_x=1
-2 -0.75 -11.5 -3
FEATURES_TXT_END_0
FEATURES_TXT_BEGIN_0 1 1 4 d_0 d_1 lm_0 w_0
0 -0.25 -6.5 -2
FEATURES_TXT_END_0
"""
SCORES_DAT = """\
SCORES_TXT_BEGIN_0 0 2 9 BLEU
3 5 2 4 1 3 0 2 6
2 5 1 4 0 3 0 2 6
SCORES_TXT_END_0
SCORES_TXT_BEGIN_0 1 1 9 BLEU
1 2 0 1 0 0 0 0 2
SCORES_TXT_END_0
"""
# The extractor writes a space after each value.
FEATURES_DAT, SCORES_DAT = (
    "".join(f"{line}{'' if 'END' in line else ' '}\n" for line in text.splitlines())
    for text in (FEATURES_DAT, SCORES_DAT)
)

#: Formats that can be written too.
SAMPLES = [
    Sample("moses", {"a.nbest": MOSES}),
    Sample("jsonl", {"a.jsonl": JSONL}),
    Sample("cdec", {"a.kbest": CDEC}),
    Sample("joshua", {"a.nbest": JOSHUA}),
    Sample("joshua", {"unnamed.nbest": UNNAMED}),
    Sample("travatar", {"a.nbest": TRAVATAR}),
    Sample("marian", {"a.nbest": MARIAN}),
    Sample("fairseq", {"generate-test.txt": FAIRSEQ}),
    Sample("kaldi", KALDI),
    Sample("nemo", {"preds.tsv": NEMO}, "nemo:per-source=3"),
    Sample(
        "parallel",
        PARALLEL,
        "parallel:per-source=2",
        {"lm": "hyp.txt.lm", "nmt": "hyp.txt.nmt"},
    ),
    Sample("moses-data", {"run1.features.dat": FEATURES_DAT, "run1.scores.dat": SCORES_DAT}),
    Sample("moses-data", {"both": FEATURES_DAT + SCORES_DAT}),
]

#: Formats that can be read only.
READ_ONLY = [
    Sample("espnet", programs.ESPNET, "espnet"),
    Sample("icefall", {"recogs-test-clean.txt": programs.ICEFALL}),
    Sample("lm-eval", {"samples_arc_easy.jsonl": programs.LM_EVAL}),
    Sample("mbrs", {"out.json": programs.MBRS}),
    Sample("nemo-manifest", {"transcribed.json": programs.NEMO_MANIFEST}),
    Sample("openai", {"batch_output.jsonl": programs.OPENAI}),
    Sample("srilm", {"utt-1.nbest": programs.SRILM}),
]
