"""Commands that write, each on small files in a folder of its own."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from pathlib import Path

from fuzz import toy, toy_decoder
from fuzz.programs.sets import drawn_set
from fuzz.toy import sentences

QUICK = "--restarts 1 --walks 0"
LISTS = "--candidates a.nbest --references r0"
LOOP = (
    "tune --source s --references t --dev-source ds --dev-references dt --rounds 1 "
    f"--start w0 --work-dir work --out out.json {QUICK}"
)


@dataclass(frozen=True)
class Job:
    """A command.

    Attributes
    ----------
    arguments
        Words of the command line; paths are those of the job's folder.
    outputs
        Files that it writes, which may be there already; a folder ends in ``/``.
    kinds
        What fails, where not everything does: because a run takes long.
    may_lack
        Whether it goes on without what cannot be read, and says so.
    """

    name: str
    arguments: str
    outputs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    may_lack: bool = False

    def words(self) -> list[str]:
        """Return the arguments."""
        own = {
            "{python}": sys.executable,
            "{toy}": toy.__file__,
            "{decoder}": f"{toy_decoder.__file__}:Toy",
        }
        found = []
        for word in [*self.arguments.split(), "--threads", "1"]:
            text = word.replace("~", " ")
            for mark, value in own.items():
                text = text.replace(mark, value)
            found.append(text)
        return found


def _converted(kind: str, name: str, more: str = "", given: str = LISTS) -> Job:
    is_folder = "." not in name
    outputs = (f"{name}/",) if is_folder else (name,)
    return Job(f"convert to {name}", f"convert {given} --to {kind} --out {name} {more}", outputs)


FORESTS = "--forests f.jsonl --references r0"
LATTICES = "--forests l.plf"
JOBS = (
    Job(
        "tune",
        f"tune {LISTS} --test-candidates d.nbest --test-references r0 --out out.json {QUICK}",
        ("out.json",),
    ),
    Job("tune from weights", f"tune {LISTS} --start v --out out {QUICK}", ("out",)),
    Job(
        "tune on forests",
        f"tune {FORESTS} --out out.json --list-rounds 0 {QUICK}",
        ("out.json",),
    ),
    Job("loop", f"{LOOP} --decoder {{decoder}}", ("out.json", "work/")),
    Job(
        "loop with a program",
        f"{LOOP} --decoder command --decoder-command {{python}}~{{toy}}~{{weights}} "
        "--decoder-weights-format moses",
        ("out.json", "work/"),
    ),
    Job("rerank", "rerank --candidates a.nbest --weights w.json --out out", ("out",)),
    Job(
        "rerank, lists",
        "rerank --candidates a.nbest --weights w.json --nbest --out out.gz",
        ("out.gz",),
    ),
    Job(
        "rerank forests",
        "rerank --forests f.jsonl --weights w.json --nbest --list-size 3 --out out.jsonl",
        ("out.jsonl",),
    ),
    Job("evaluate", f"evaluate {LISTS} --weights w.json --json"),
    Job(
        "compare",
        "compare --system A=h --system B=i --references r0 --resamples 20 --randomizations 20 "
        "--sentences 2 --sentences-out s.tsv --out c.json",
        ("c.json", "s.tsv"),
    ),
    *(
        _converted(kind, f"out.{kind}")
        for kind in ("moses", "cdec", "joshua", "travatar", "jsonl", "arrow")
    ),
    *(
        _converted(kind, f"out.{kind}", given="--candidates a.jsonl")
        for kind in ("csv", "tsv", "parquet")
    ),
    _converted("marian", "out.marian", given="--candidates m.nbest"),
    _converted("jsonl", "out.jsonl.zst"),
    _converted("jsonl", "out.jsonl.xz"),
    Job(
        "convert to kaldi",
        "convert --candidates k.jsonl --to kaldi --out kaldi/words_text",
        ("kaldi/words_text", "kaldi/f0", "kaldi/text"),
    ),
    Job(
        "convert to parallel",
        "convert --candidates p.jsonl --to parallel:per-source=2 --out out.txt",
        ("out.txt", "out.txt.f0", "out.txt.m"),
    ),
    Job(
        "convert to nemo",
        "convert --candidates n.jsonl --to nemo:per-source=2 --out out.tsv",
        ("out.tsv",),
    ),
    Job(
        "convert to fairseq",
        "convert --candidates n.jsonl --to fairseq --out out.txt",
        ("out.txt",),
    ),
    Job(
        "convert to moses-data",
        f"convert {LISTS} --statistics bleu --to moses-data --out run.features.dat",
        ("run.features.dat", "run.scores.dat"),
    ),
    _converted("arrow", "forests.arrow", given=FORESTS),
    _converted("cdec-forest", "out.cdec-forest", given=FORESTS),
    *(
        _converted(kind, kind, given="--forests f.jsonl")
        for kind in ("moses-hypergraph", "joshua-hypergraph")
    ),
    *(_converted(kind, f"out.{kind}", given=LATTICES) for kind in ("plf",)),
    _converted("htk", "htk", given=LATTICES),
    _converted("kaldi-lattice", "out.lat", given="--forests kl.txt"),
    *(
        Job(
            f"convert weights to {kind}",
            f"convert --weights w.json --to {kind} --out out",
            ("out",),
        )
        for kind in ("json", "moses", "moses-ini", "cdec", "travatar", "yaml")
    ),
    *(
        Job(
            f"surface {kind}",
            f"surface {LISTS} --weights w.json --feature f0 --out out.{kind}",
            (f"out.{kind}",),
        )
        for kind in ("json", "html")
    ),
    Job(
        "surface svg",
        f"surface {LISTS} --weights w.json --feature f0 --out out.svg",
        ("out.svg",),
        ("open", "write", "replace", "unlink"),
    ),
    Job("certify", f"certify {LISTS} --weights w.json --time-limit 5 --json"),
    Job("report", "report done.json --out out.html", ("out.html",), may_lack=True),
    Job("report of a loop", "report done --out out.json", ("out.json",), may_lack=True),
    Job("synth", "synth --out made --sentences 3 --candidates 3 --features 2", ("made/",)),
    Job("train", "train --source s --target t --out model --order 2 --text", ("model/",)),
    Job("decode", "decode --model trained --input s --out out", ("out",)),
    Job(
        "decode to lists",
        "decode --model trained --input s --nbest 3 --out out.nbest",
        ("out.nbest",),
    ),
    Job(
        "decode to forests",
        "decode --model trained --input s --forest out.jsonl",
        ("out.jsonl",),
    ),
    Job("demo", "demo --out demo", ("demo/",), ("mkdir", "replace", "write")),
)


def put_inputs(place: Path) -> None:
    """Write the files that commands read."""
    drawn_set(random.Random(4), place)
    for name, count, seed in (("", 4, 1), ("d", 3, 2)):
        texts, references = sentences(count, seed)
        (place / f"{name}s").write_text("\n".join(texts) + "\n")
        (place / f"{name}t").write_text("\n".join(references) + "\n")
    (place / "w0").write_text("f0= 0.1\nf1= 1.0\nf2= 1.0\n")
    (place / "m.nbest").write_text("0 ||| a ||| F0= -1 ||| 0\n0 ||| b ||| F0= -2 ||| 0\n")
    pair = '{"text": "%s", "features": {"%s": %d}, "metrics": {"m": 1}}'
    for name, ids, feature in (
        ("k", ('"u"', '"v"'), "f0"),
        ("p", (0, 1), "f0"),
        ("n", (0, 1), "score"),
    ):
        lines = []
        for i in ids:
            both = ", ".join(pair % (text, feature, k) for k, text in enumerate("ab"))
            lines.append(f'{{"id": {i}, "references": ["a"], "candidates": [{both}]}}\n')
        (place / f"{name}.jsonl").write_text(
            "".join(lines).replace(
                ', "metrics": {"m": 1}', "" if name != "p" else ', "metrics": {"m": 1}'
            )
        )
    (place / "l.plf").write_text("((('the',-0.5,1),('a',-0.75,1),),(('house',-1.0,1),),)\n")
    (place / "kl.txt").write_text("u1 \n0 1 7 5.25,1,\n1 2 8 8.0,2,\n2 0.5,2,\n\n")
    (place / "kaldi").mkdir()
