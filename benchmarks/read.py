"""Parsing n-best lists and counting BLEU statistics, against Moses' extractor (--moses)."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import tunesmith as ts
from common import arguments, interleaved, parse


def main() -> None:
    """Measure and print."""
    options = parse(arguments(__doc__))
    lists, references = options.data / options.lists, options.data / "val.ref"

    def ours() -> ts.TuningSet:
        with ts.threads(options.threads):
            return ts.TuningSet(ts.read(lists, references))

    def reading() -> ts.CandidateSet:
        with ts.threads(options.threads):
            return ts.read(lists, references)

    candidates = len(ours().candidates)
    work = [ours, reading]
    with tempfile.TemporaryDirectory() as folder:
        if options.moses:
            work.append(lambda: extract(options.moses, lists, references, Path(folder)))
        seconds = interleaved(options.repetitions, *work)
    print(
        f"tunesmith, reading and statistics {seconds[0]:7.2f} s (reading alone {seconds[1]:.2f} s)"
    )
    print(f"                                  {candidates / seconds[0]:,.0f} lines a second")
    if options.moses:
        print(f"Moses' extractor                  {seconds[2]:7.2f} s")
        print(f"times as fast: {seconds[2] / seconds[0]:.1f}")


def extract(moses: Path, lists: Path, references: Path, folder: Path) -> None:
    """Run Moses' extractor, with binary output, which is its faster way."""
    command = [moses / "extractor", "--sctype", "BLEU", "--scconfig", "case:true", "--binary"]
    command += ["--scfile", folder / "scores.dat", "--ffile", folder / "features.dat"]
    command += ["-r", references, "-n", lists]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)


if __name__ == "__main__":
    main()
