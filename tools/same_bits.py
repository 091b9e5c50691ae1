"""Weights that every tuner finds on bundled lists and on forests, as digests.

A change of structure must not change a result: run this before and after, in both checkouts, and
compare.

    python tools/same_bits.py > before.json
    python tools/same_bits.py --against before.json
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import os
import shlex
import sys
import tempfile
import warnings
from importlib import resources
from pathlib import Path

from tunesmith.cli import main

SEEDS = (1, 2)
LIST_TUNERS = (
    "mert --restarts 4",
    "mert --restarts 1 --directions powell --smoothing mean",
    "mert --restarts 1 --directions random",
    "mert --restarts 0 --directions gradient",
    "mert --restarts 1 --penalty l2-normalized --strength 1e-3",
    "mert --restarts 1 --penalty l0 --strength 0.001",
    "mert --restarts 1 --metric ter",
    "pro",
    "pro --learn hinge",
    "batch-mira",
    "ramp",
    "min-risk --epochs 5",
    "min-risk --method online --epochs 2",
    "mira --epochs 3",
    "mira --epochs 2 --learners 3 --parallel mixing",
    "mira --epochs 2 --learners 3 --parallel async",
    "arow --epochs 3",
    "sgd --epochs 3",
    "perceptron --epochs 3",
    "plane --keep LM0 --keep WordPenalty0 --keep Distortion0 --metric sentence-bleu",
    "lp-mert --metric sentence-bleu --test-limit 300 --keep LM0 --keep WordPenalty0",
    "lp-mert --metric sentence-bleu --search beam --beam 20 --keep LM0 --keep WordPenalty0",
)
FOREST_TUNERS = (
    "mert --restarts 2",
    "mert --restarts 0 --directions gradient",
    "mert --restarts 1 --metric ter",
    "pro",
    "batch-mira --passes 3",
    "ramp --iterations 1 --passes 2",
    "min-risk --epochs 2 --steps 3",
    "min-risk --method online --epochs 1",
    "mira --epochs 2",
    "mira --epochs 2 --forest-search linear",
    "mira --epochs 1 --learners 2 --parallel async",
    "arow --epochs 2",
    "sgd --epochs 2 --reference bold",
    "perceptron --epochs 2 --reference local",
)
PAIRS = 80
SENTENCES = 40
CANDIDATES = 30


def run(command: str) -> None:
    """Run a command in this process; what it says is shown if it fails."""
    errors = io.StringIO()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(errors),
        warnings.catch_warnings(),
    ):
        code = main(shlex.split(command))
    if code:
        sys.exit(f"{command}\n{errors.getvalue()}")


def prepare() -> None:
    """Write the first bundled lists, and forests of a small model, into the current folder."""
    bundled = resources.files("tunesmith") / "bundled"
    with gzip.open(io.BytesIO((bundled / "tune.nbest.gz").read_bytes()), "rt") as file:
        groups: dict[str, list[str]] = {}
        for line in file:
            groups.setdefault(line.split(" ", 1)[0], []).append(line)
    first = list(groups.values())[:SENTENCES]
    Path("lists").write_text("".join("".join(group[:CANDIDATES]) for group in first), "utf-8")
    source = (bundled / "tune.src").read_text("utf-8").splitlines()[:PAIRS]
    target = (bundled / "tune.ref").read_text("utf-8").splitlines()[:PAIRS]
    short = [k for k in range(PAIRS) if 3 <= len(source[k].split()) <= 12][:12]
    links = [
        " ".join(f"{i}-{min(i, len(there.split()) - 1)}" for i in range(len(here.split())))
        for here, there in zip(source, target, strict=True)
    ]
    for name, lines in {
        "references": target[:SENTENCES],
        "source": source,
        "target": target,
        "links": links,
        "short.source": [source[k] for k in short],
        "short.references": [target[k] for k in short],
    }.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    Path("start").write_text((bundled / "weights.initial").read_text("utf-8"), "utf-8")
    run("train --source source --target target --alignment links --order 3 --out model")
    run("decode --model model --input short.source --forest forests.jsonl --to cdec-forest")


def digests() -> dict[str, str]:
    """Tune with everything; return the digest of the weights of each command."""
    result = {}
    lists = "tune --candidates lists --references references --start start"
    forests = "tune --forests forests.jsonl --references short.references"
    for base, tuners in ((lists, LIST_TUNERS), (forests, FOREST_TUNERS)):
        for tuner in tuners:
            for seed in SEEDS:
                command = f"{base} --tuner {tuner} --seed {seed}"
                run(f"{command} --out result.json --quiet")
                weights = json.loads(Path("result.json").read_text("utf-8"))["weights"]
                text = json.dumps(weights, sort_keys=True)
                result[command] = hashlib.sha256(text.encode()).hexdigest()
    return result


def compare() -> int:
    """Print digests, or what differs from those of another run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="what this printed elsewhere")
    before = parser.parse_args().against
    known = json.loads(before.read_text("utf-8")) if before else None
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prepare()
        now = digests()
        os.chdir("/")
    if known is None:
        print(json.dumps(now, indent=1))
        return 0
    for command in sorted(known.keys() | now.keys()):
        if known.get(command) != now.get(command):
            print(f"differs: {command}")
    same = sum(known.get(command) == digest for command, digest in now.items())
    print(f"{same} of {len(known)} are the same")
    return int(same != len(known) or len(now) != len(known))


if __name__ == "__main__":
    sys.exit(compare())
