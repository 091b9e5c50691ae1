"""Our metrics against the reference libraries, sacrebleu and jiwer.

python experiments/reference_libraries.py            # 2,000 random corpora, and tuned outputs
python experiments/reference_libraries.py --corpora 200

1. Random corpora with unicode, empty lines and several references: the statistics of every
   candidate equal the library's, and the corpus score differs by at most 1e-9.
2. Weights are tuned for each metric on the bundled lists; the output that they choose is
   scored by the library alone.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER

import tunesmith as ts

Texts = Sequence[str]
WORDS = [
    "a", "b", "the", "The", "house", ".", ",", "don't", "(x)", "naïve", "NAÏVE", "ß", "İ",
    "漢字", "かな", "привет", "🙂", "e\u0301", unicodedata.normalize("NFC", "e\u0301"),
    "3.14", "-", "%s", "aa", "aaa",
]  # fmt: skip
TOLERANCE = 1e-9


def sacre(metric: Any) -> tuple[Callable[..., list[float]], Callable[..., float]]:
    """Return how sacrebleu counts one hypothesis, and how it scores a corpus."""

    def stats(hypothesis: str, references: Texts) -> list[float]:
        found = metric._extract_corpus_statistics([hypothesis], [[r] for r in references])[0]
        return list(found)

    def score(hypotheses: Texts, references: Sequence[Texts]) -> float:
        most = max(map(len, references))
        streams = [[r[k] if k < len(r) else None for r in references] for k in range(most)]
        return float(metric.corpus_score(list(hypotheses), streams).score)

    return stats, score


def speech(process: Any, rate: str) -> tuple[Callable[..., list[float]], Callable[..., float]]:
    """Return how jiwer counts one hypothesis, and how it scores a corpus of one reference."""

    def counts(hypothesis: str, reference: str) -> list[float]:
        found = process([reference], [hypothesis])
        errors = found.substitutions + found.deletions + found.insertions
        held = found.hits + found.substitutions
        return [errors, held + found.deletions, held + found.insertions]

    def stats(hypothesis: str, references: Texts) -> list[float]:
        return min((counts(hypothesis, r) for r in references), key=lambda row: row[0])

    def score(hypotheses: Texts, references: Sequence[Texts]) -> float:
        if any(len(r) > 1 for r in references) or not any(r[0] for r in references):
            return math.nan  # jiwer knows one reference, and none that is empty as a whole
        found = process([r[0] for r in references], list(hypotheses))
        return 100.0 * float(getattr(found, rate))

    return stats, score


LIBRARY = {
    "bleu": sacre(BLEU(tokenize="none", force=True)),
    "ter": sacre(TER()),
    "chrf": sacre(CHRF()),
    "chrf++": sacre(CHRF(word_order=2)),
    "wer": speech(jiwer.process_words, "wer"),
    "cer": speech(jiwer.process_characters, "cer"),
}


def random_corpus(rng: np.random.Generator) -> tuple[ts.CandidateSet, list[list[str]]]:
    """Draw candidates and references, some of them empty."""

    def text() -> str:
        return " ".join(rng.choice(WORDS, rng.integers(0, 11)))

    groups = int(rng.integers(1, 5))
    references = [[text() for _ in range(rng.integers(1, 4))] for _ in range(groups)]
    ids, texts = [], []
    for g in range(groups):
        for _ in range(int(rng.integers(1, 4))):
            words = references[g][0].split() if rng.random() < 0.7 else text().split()
            for _ in range(int(rng.integers(0, 4))):
                if words and rng.random() < 0.5:
                    words.insert(int(rng.integers(len(words))), words.pop())
                elif words:
                    words[int(rng.integers(len(words)))] = str(rng.choice(WORDS))
            ids.append(g)
            texts.append(" ".join(words))
    values = {"f": rng.normal(size=len(ids)), "g": rng.normal(size=len(ids))}
    return ts.from_arrays(ids, values, texts, dict(enumerate(references))), references


def compare_corpora(count: int) -> bool:
    """Compare statistics and scores on random corpora."""
    rng = np.random.default_rng(1)
    rows = dict.fromkeys(LIBRARY, 0)
    scored = dict.fromkeys(LIBRARY, 0)
    wrong = dict.fromkeys(LIBRARY, 0)
    worst = dict.fromkeys(LIBRARY, 0.0)
    for _ in range(count):
        candidates, references = random_corpus(rng)
        group = np.repeat(np.arange(candidates.groups), np.diff(candidates.start))
        texts = [candidates.text(i) for i in range(len(candidates))]
        chosen = candidates.start[:-1]
        for name, (stats, score) in LIBRARY.items():
            tuning = ts.TuningSet(candidates, name)
            for i, text in enumerate(texts):
                expected = stats(text, references[group[i]])
                wrong[name] += tuning.stats[i].tolist() != expected
                rows[name] += 1
            found = score([texts[i] for i in chosen], references)
            if not math.isnan(found):
                scored[name] += 1
                worst[name] = max(worst[name], abs(tuning.score(chosen) - found))
    print(f"{count} random corpora")
    print("| metric | candidates | other statistics | corpora scored | largest difference |")
    print("|---|---|---|---|---|")
    for name in LIBRARY:
        print(f"| {name} | {rows[name]} | {wrong[name]} | {scored[name]} | {worst[name]:.1e} |")
    return not any(wrong.values()) and max(worst.values()) <= TOLERANCE


def compare_tuned() -> bool:
    """Tune for each metric and let the library score the output."""
    folder = Path(str(resources.files("tunesmith") / "bundled"))
    candidates = ts.read(folder / "tune.nbest.gz", folder / "tune.ref")
    start = ts.read_weights(folder / "weights.initial").weights
    references = [candidates.reference_texts(g) for g in range(candidates.groups)]
    print("\noutput tuned on the bundled lists, 4 restarts")
    print("| metric | before | after | the library's score of the output | difference |")
    print("|---|---|---|---|---|")
    worst = 0.0
    for name, (_, score) in LIBRARY.items():
        result = ts.MERT(restarts=4).fit(ts.TuningSet(candidates, name), start, rng=1)
        found = score(ts.rerank(candidates, result.weights), references)
        worst = max(worst, abs(found - result.score))
        before, after = result.initial_score, result.score
        print(f"| {name} | {before:.4f} | {after:.4f} | {found:.10f} | {abs(found - after):.1e} |")
    return worst <= TOLERANCE


def main() -> int:
    """Compare, and say whether all is equal."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpora", type=int, default=2000)
    options = parser.parse_args()
    begun = time.perf_counter()
    equal = compare_corpora(options.corpora)
    equal &= compare_tuned()
    print(f"\n{'all equal' if equal else 'NOT EQUAL'} ({time.perf_counter() - begun:.0f} s)")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
