"""Make the lists of this folder: what a speech recogniser might have heard.

Run it in this folder, with the text of examples/catalogs beside it. The sentences are real.
What was heard in their place, and how well it fits the sound, is MADE UP with a seed: words
that are spelt alike, words that are missed, short words that are heard beside others. The
language model is a real one of pairs of words, counted on examples/catalogs/train.en.gz.

    tune.tsv, test.tsv       NeMo's format, 20 hypotheses an utterance: text, tab, acoustic score
    *.lm.txt, *.words.txt    the language model's log-probability, and the number of words
    *.ref                    what was said
"""

from __future__ import annotations

import gzip
import math
import random
from collections import Counter
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

TEXT = Path(__file__).resolve().parents[2] / "catalogs"
HYPOTHESES = 20
UTTERANCES = 150
SHORT = ("a", "the", "to", "of", "in", "is")


class Pairs:
    """Probabilities of words after words, interpolated with those of words."""

    def __init__(self, sentences: list[list[str]]) -> None:
        self.words = Counter(word for words in sentences for word in words)
        self.pairs = Counter(
            pair for words in sentences for pair in zip(["<s>", *words], words, strict=False)
        )
        self.before = Counter(word for words in sentences for word in ["<s>", *words[:-1]])
        self.all = sum(self.words.values())

    def score(self, words: list[str]) -> float:
        """Return the logarithm of a text's probability."""
        total = 0.0
        for before, word in zip(["<s>", *words], words, strict=False):
            alone = (self.words[word] + 0.5) / (self.all + len(self.words))
            after = self.pairs[before, word] / self.before[before] if self.before[before] else 0
            total += math.log(0.6 * after + 0.4 * alone)
        return total


def ways(word: str, alike: dict[str, list[str]], rng: random.Random):
    """Return what may be heard in place of a word, each with its cost."""
    said: tuple[list[str], float] = ([word], abs(rng.gauss(0, 0.8)))
    if rng.random() < 0.55:
        return [said]
    others = [([other], abs(rng.gauss(1.0, 1.5))) for other in alike[word]]
    others.append(([], rng.gauss(2.5, 1.5)))
    others.append(([word, rng.choice(SHORT)], rng.gauss(2.0, 1.5)))
    return [said, *others]


def hear(words: list[str], alike: dict[str, list[str]], rng: random.Random):
    """Return distinct hypotheses, the one that fits the sound best first."""
    choices = [ways(word, alike, rng) for word in words]
    heard: dict[tuple[str, ...], float] = {}
    for _ in range(50 * HYPOTHESES):
        picked = [
            rng.choices(way, [math.exp(-0.5 * cost) for _, cost in way])[0] for way in choices
        ]
        text = tuple(word for said, _ in picked for word in said)
        cost = sum(cost for _, cost in picked)
        if text and cost < heard.get(text, math.inf):
            heard[text] = cost
    found = sorted(heard.items(), key=lambda item: item[1])[:HYPOTHESES]
    return [(list(text), -cost - 4.0 * len(words)) for text, cost in found]


def lines_of(path: Path) -> list[list[str]]:
    """Read the words of each line that has words of letters alone."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        texts = [[word for word in line.split() if word.isalpha()] for line in lines]
    return [words for words in texts if words]


def main() -> None:
    """Write all files."""
    rng = random.Random(7)
    model = Pairs(lines_of(TEXT / "train.en.gz"))
    common = [word for word, count in model.words.most_common(6000)]
    alike: dict[str, list[str]] = {}
    for part in ("tune", "test"):
        said = [words for words in lines_of(TEXT / f"{part}.en") if 4 <= len(words) <= 12]
        rows, references = [], []
        for words in rng.sample(said, len(said)):
            for word in words:
                if word not in alike:
                    near = process.extract(word, common, scorer=Levenshtein.distance, limit=4)
                    alike[word] = [other for other, *_ in near if other != word][:3]
            heard = hear(words, alike, rng)
            if len(heard) == HYPOTHESES and len(references) < UTTERANCES:
                rows += heard
                references.append(" ".join(words))
        write(f"{part}.ref", references)
        write(f"{part}.tsv", [f"{' '.join(words)}\t{score:.3f}" for words, score in rows])
        write(f"{part}.lm.txt", [f"{model.score(words):.3f}" for words, _ in rows])
        write(f"{part}.words.txt", [str(len(words)) for words, _ in rows])


def write(name: str, lines: list[str]) -> None:
    """Write a text file."""
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
