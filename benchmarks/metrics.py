"""Counting the statistics of candidates, against sacrebleu and jiwer on a sample of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jiwer
import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER

import tunesmith as ts
from common import arguments, interleaved, parse

Count = Callable[[str, Sequence[str]], object]


def sacre(metric: Any) -> Count:
    """Return how sacrebleu counts one hypothesis, with what it keeps of a reference."""
    held: dict[tuple[str, ...], Any] = {}

    def count(hypothesis: str, references: Sequence[str]) -> object:
        key = tuple(references)
        if key not in held:
            held[key] = metric._cache_references([[r] for r in references])[0]
        text = metric._preprocess_segment(hypothesis)
        return metric._compute_segment_statistics(text, held[key])

    return count


LIBRARY: dict[str, tuple[str, Count]] = {
    "bleu": ("sacrebleu", sacre(BLEU(tokenize="none", force=True))),
    "ter": ("sacrebleu", sacre(TER())),
    "chrf": ("sacrebleu", sacre(CHRF())),
    "chrf++": ("sacrebleu", sacre(CHRF(word_order=2))),
    "wer": ("jiwer", lambda text, references: jiwer.process_words(references[0], text)),
    "cer": ("jiwer", lambda text, references: jiwer.process_characters(references[0], text)),
}


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--sample", type=int, default=2000, help="candidates for the library")
    options = parse(parser)
    candidates = ts.read(options.data / options.lists, options.data / "val.ref")
    rng = np.random.default_rng(1)
    sample = np.sort(rng.choice(len(candidates), options.sample, replace=False))
    group = np.searchsorted(candidates.start, sample, side="right") - 1
    texts = [candidates.text(i) for i in sample]
    references = [candidates.reference_texts(g) for g in group]
    print("| metric | library | tunesmith, all | a candidate | library, a candidate | ratio |")
    print("|---|---|---|---|---|---|")
    for name, (library, count) in LIBRARY.items():

        def theirs(count: Count = count) -> None:
            for text, held in zip(texts, references, strict=True):
                count(text, held)

        def ours(name: str = name) -> None:
            with ts.threads(options.threads):
                ts.TuningSet(candidates, name)

        ours()
        theirs()
        mine, other = interleaved(options.repetitions, ours, theirs)
        mine_each, other_each = mine / len(candidates), other / options.sample
        print(
            f"| {name} | {library} | {mine:.2f} s | {1e6 * mine_each:.2f} µs | "
            f"{1e6 * other_each:.0f} µs | {other_each / mine_each:.0f} |"
        )


if __name__ == "__main__":
    main()
