"""BLEU that `tunesmith tune` reaches on real Moses output, against what Moses' mert reached.

Needs TUNESMITH_SHARED_DATA. Every figure is checked with sacrebleu on the reranked output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import sacrebleu

# Lists, start, and what mert of Moses reached with 20 restarts (the last: 8 restarts a round).
SETS = {
    "m30k run5": ("m30k-de-en", ["run5"], "val.ref", "weights.run5.dense", 41.03),
    "m30k run1 to run4": (
        "m30k-de-en",
        ["run1", "run2", "run3", "run4"],
        "val.ref",
        "weights.run5.dense",
        41.05,
    ),
    "m30k big": ("m30k-de-en", ["big"], "val.ref", "weights.run5.dense", 41.02),
    "catalogs tune": ("catalogs-nbest", ["tune"], "tune.ref", "weights.initial", 51.30),
}


def main() -> None:
    """Run the commands as a user does and print a table."""
    if "TUNESMITH_SHARED_DATA" not in os.environ:
        sys.exit("set TUNESMITH_SHARED_DATA to the folder of the lists")
    shared = Path(os.environ["TUNESMITH_SHARED_DATA"])
    print("| lists | tunesmith | Moses' mert |")
    print("|---|---|---|")
    for label, (folder, lists, reference, start, moses) in SETS.items():
        data = shared / folder
        candidates = [x for n in lists for x in ("--candidates", str(data / f"{n}.nbest.gz"))]
        scores = [tuned(candidates, data / reference, data / start, seed) for seed in (1, 2, 3)]
        shown = ", ".join(f"{score:.2f}" for score in scores)
        print(f"| {label} | {shown} | {moses:.2f} |", flush=True)


def tuned(candidates: list[str], reference: Path, start: Path, seed: int) -> float:
    """Tune, rerank, and compare the score with sacrebleu's."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "weights.json")
        options = ["--restarts", 20, "--start", start, "--seed", seed, "--out", out]
        run("tune", *candidates, "--references", reference, *options)
        output = run("rerank", *candidates, "--weights", out)
        score = float(json.loads(Path(out).read_text())["score"])
    references = reference.read_text().splitlines()
    theirs = sacrebleu.corpus_bleu(
        output.splitlines(), [references], tokenize="none", force=True
    ).score
    if abs(score - theirs) > 1e-9:
        sys.exit(f"{score} is not sacrebleu's {theirs}")
    return score


def run(*arguments: object) -> str:
    """Run tunesmith and return what it prints."""
    command = [sys.executable, "-m", "tunesmith", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
