"""Make the lists of this folder: those of a neural system, as far as a tutorial needs one.

Run it in this folder. Texts and language model scores are real: they are Moses' lists that
come with the package. All other scores are STAND-INS made with a seed, not by a neural model
and not by COMET: hints at how good a text is, with noise, each with a fault of its own.

    tune.nbest.gz, test.nbest.gz     Marian's format; F0 stands in for the log-probability
    *.lm.txt                         the language model's log-probability, real
    *.kiwi.txt                       stands in for CometKiwi, which needs no reference
    *.comet.txt                      stands in for COMET, which does
    *.ref                            references
"""

from __future__ import annotations

import gzip
import random
import shutil
from collections import defaultdict
from importlib import resources
from pathlib import Path

import tunesmith as ts

BEAM = 12
CHRF = ts.CHRF()


def read_groups(path: Path) -> dict[int, list[tuple[str, dict[str, float]]]]:
    """Read texts and one-valued features of a Moses list, by sentence."""
    groups: dict[int, list[tuple[str, dict[str, float]]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            number, text, features, _ = (field.strip() for field in line.split("|||"))
            fields = features.split()
            values = {
                name.rstrip("="): float(fields[i + 1])
                for i, name in enumerate(fields)
                if name.endswith("=")
            }
            groups[int(number)].append((text, values))
    return groups


def scores(text: str, features: dict[str, float], reference: str, rng: random.Random):
    """Make up F0, kiwi and comet of a candidate.

    All know something of its quality. F0 is fond of few words, as beam search is. Comet
    forgives words that are too many, which BLEU and chrF do not.
    """
    quality = CHRF.score(CHRF.stats(text, [reference])) / 100
    words = len(text.split())
    more = words - len(reference.split())
    log_probability = -0.9 * words + 3.0 * quality + rng.gauss(0, 1.2)
    kiwi = 0.6 + 0.25 * quality + rng.gauss(0, 0.06)
    comet = 0.5 + 0.4 * quality + 0.02 * min(more, 5) + rng.gauss(0, 0.02)
    return log_probability, features["LM0"], kiwi, comet


def main() -> None:
    """Write all files."""
    rng = random.Random(11)
    bundled = Path(str(resources.files("tunesmith") / "bundled"))
    for part in ("tune", "test"):
        references = (bundled / f"{part}.ref").read_text(encoding="utf-8").splitlines()
        shutil.copy(bundled / f"{part}.ref", f"{part}.ref")
        rows = []
        for number, group in sorted(read_groups(bundled / f"{part}.nbest.gz").items()):
            distinct = dict(group)
            beam = sorted(rng.sample(list(distinct), min(BEAM, len(distinct))))
            for text in beam:
                made = scores(text, distinct[text], references[number], rng)
                rows.append((number, text, *made))
        rows.sort(key=lambda row: (row[0], -row[2]))
        with gzip.GzipFile(f"{part}.nbest.gz", "wb", mtime=0) as file:
            for number, text, f0, *_ in rows:
                normalised = f0 / max(len(text.split()), 1)
                line = f"{number} ||| {text} ||| F0= {f0:.4f} ||| {normalised:.4f}\n"
                file.write(line.encode())
        for k, name in enumerate(("lm", "kiwi", "comet"), start=3):
            lines = "".join(f"{row[k]:.4f}\n" for row in rows)
            Path(f"{part}.{name}.txt").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
