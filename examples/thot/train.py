"""Train a small phrase-based model with Thot: words aligned, phrases extracted, n-grams counted.

sil-machine's trainer sets a part of its corpus aside to tune on. Here the sentences to tune on
are given, so its steps are called one by one, on the training text alone. What comes out:

- ``MODEL/tm``, ``MODEL/lm`` and ``MODEL/smt.cfg``, the whole model, with all weights 1;
- ``MODEL/filtered``, the same with those phrases only that occur in the sentences to tune, to
  choose and to test on: it gives the same translations of them and loads much sooner.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from machine.corpora import DictionaryTextCorpus, MemoryText, ParallelTextCorpus, TextRow
from machine.translation.thot import ThotSmtModelTrainer, ThotSmtParameters
from machine.translation.thot.thot_train_progress_reporter import ThotTrainProgressReporter

HERE = Path(__file__).parent
ORDER = 3  #: of the language model
#: All features alike, and no reward for the length of a sentence: sil-machine's own start.
START = "1 1 1 1 1 1 1 0"


def lines(path: Path) -> list[str]:
    """Read a text file, or a compressed one, as lines."""
    held = path.read_bytes()
    text = (gzip.decompress(held) if path.suffix == ".gz" else held).decode()
    return text.removesuffix("\n").split("\n")


def corpus(side: Iterable[str]) -> DictionaryTextCorpus:
    """Make a corpus of sentences whose words are separated by spaces."""
    rows = [TextRow("text", k, line.split()) for k, line in enumerate(side)]
    return DictionaryTextCorpus(MemoryText("text", rows))


def train(data: Path, model: Path, alignment: str, iterations: int, pairs: int | None) -> None:
    """Train on ``train.de.gz`` and ``train.en.gz``, and mix the n-grams for ``tune.en``."""
    source, target = (lines(data / f"train.{side}.gz")[:pairs] for side in ("de", "en"))
    kept = [(s, t) for s, t in zip(source, target, strict=True) if s.strip() and t.strip()]
    text: ParallelTextCorpus = corpus(s for s, _ in kept).align_rows(corpus(t for _, t in kept))
    for part in ("tm", "lm"):
        shutil.rmtree(model / part, ignore_errors=True)
        (model / part).mkdir(parents=True)
    parameters = ThotSmtParameters(
        translation_model_filename_prefix=str(model / "tm" / "src_trg"),
        language_model_filename_prefix=str(model / "lm" / "trg.lm"),
        learning_em_iters=iterations,
    )
    since = time.perf_counter()

    def done(what: str) -> None:
        print(f"{time.perf_counter() - since:7.1f} s  {what}", flush=True)

    with ThotSmtModelTrainer(alignment, text, parameters) as trainer:
        reporter = ThotTrainProgressReporter(None, None)
        trainer._train_language_model(model / "lm" / "trg.lm", ORDER, text)
        done("n-grams counted")
        tune = [line.split() for line in lines(data / "tune.en")]
        trainer._tune_language_model(model / "lm" / "trg.lm", tune, ORDER)
        done(f"n-grams mixed: perplexity {trainer.stats.metrics['perplexity']:.1f} on tune.en")
        trainer._train_translation_model(model / "tm" / "src_trg", text, len(kept), reporter)
        done(f"phrases extracted from {len(kept)} pairs")
    for name in (".bestal", ".A3.final"):  # alignments of the training text: no longer needed
        for path in (model / "tm").glob(f"*{name}"):
            path.unlink()
    (model / "smt.cfg").write_text(config("tm", "lm"), encoding="utf-8")
    phrases = phrases_of(
        line for part in ("tune", "dev", "test") for line in lines(data / f"{part}.de")
    )
    kept_rows, rows = filtered(model, phrases)
    done(f"{kept_rows} of {rows} phrase pairs kept in {model / 'filtered'}")


def config(tm: str, lm: str) -> str:
    """Write a configuration; paths in it are relative to it."""
    search = "-W 0.4\n-S 10\n-A 10\n-E 2\n-nomon 0\n-h 6\n"
    return f"-tm {tm}/src_trg\n-lm {lm}/trg.lm\n{search}-tmw {START}\n"


def phrases_of(sentences: Iterable[str]) -> set[str]:
    """Return all runs of words of some sentences."""
    found = set()
    for sentence in sentences:
        words = sentence.split()
        for begin in range(len(words)):
            for end in range(begin + 1, len(words) + 1):
                found.add(" ".join(words[begin:end]))
    return found


def filtered(model: Path, phrases: set[str]) -> tuple[int, int]:
    """Copy the model with some source phrases only; return how many pairs stay, of how many."""
    place = model / "filtered" / "tm"
    shutil.rmtree(model / "filtered", ignore_errors=True)
    shutil.copytree(model / "tm", place, ignore=shutil.ignore_patterns("*.ttable"))
    kept = rows = 0
    with (
        (model / "tm" / "src_trg.ttable").open(encoding="utf-8") as table,
        (place / "src_trg.ttable").open("w", encoding="utf-8", newline="\n") as part,
    ):
        for line in table:
            rows += 1
            if line.split("|||", 2)[1].strip() in phrases:
                part.write(line)
                kept += 1
    (model / "filtered" / "smt.cfg").write_text(config("tm", "../lm"), encoding="utf-8")
    return kept, rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train a small Thot model.")
    parser.add_argument("--data", type=Path, default=HERE.parent / "catalogs")
    parser.add_argument("--model", type=Path, default=HERE / "model")
    parser.add_argument("--alignment", default="hmm", help="hmm, ibm1, ibm2 or fast_align")
    parser.add_argument("--iterations", type=int, default=5, help="of each alignment model")
    parser.add_argument("--pairs", type=int, help="train on the first so many pairs only")
    given = parser.parse_args()
    train(given.data, given.model, given.alignment, given.iterations, given.pairs)
