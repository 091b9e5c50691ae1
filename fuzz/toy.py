"""A small decoder: words are kept, left out or doubled; this file is a program, too."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Sequence

WORDS = ("ba", "bo", "bu", "da", "do", "du")
NAMES = ("f0", "f1", "f2")
START = (0.1, 1.0, 1.0)


def candidates(
    text: str, weights: Sequence[float], most: int
) -> list[tuple[str, tuple[float, ...]]]:
    """Return the best candidates for a text, with their features."""
    found: list[tuple[str, tuple[float, ...]]] = []
    words = text.split()[:4]
    for ways in itertools.product(range(3), repeat=len(words)):
        out = [w for word, way in zip(words, ways, strict=True) for w in [word] * way]
        vowels = sum(word.endswith("a") for word in out)
        found.append((" ".join(out), (float(len(out)), float(vowels), float(ways.count(2)))))
    score = {pair: sum(w * v for w, v in zip(weights, pair[1], strict=True)) for pair in found}
    return sorted(found, key=lambda pair: -score[pair])[:most]


def sentences(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Return texts, and references that leave out some words."""
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS, k=rng.randrange(2, 5))) for _ in range(count)]
    kept = [" ".join(w for w in text.split() if not w.endswith("u")) for text in texts]
    return texts, [text or "ba" for text in kept]


def main() -> None:
    """Decode standard input with the weights of a file, as a program of its own."""
    with open(sys.argv[1], encoding="utf-8") as file:
        pairs = [line.split() for line in file if line.strip()]
    given = {name.rstrip("="): float(value) for name, value in pairs}
    weights = [given.get(name, 0.0) for name in NAMES]
    for k, line in enumerate(sys.stdin):
        for text, values in candidates(line, weights, 4):
            shown = " ".join(f"{name}= {v}" for name, v in zip(NAMES, values, strict=True))
            sys.stdout.write(f"{k} ||| {text} ||| {shown} ||| 0\n")


if __name__ == "__main__":
    main()
