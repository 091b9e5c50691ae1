"""Make the forests of this folder: a toy translation of made-up sentences, all choices packed.

Run it in this folder. A line of tune.jsonl.gz and test.jsonl.gz is a forest: each word of a
sentence may be said in two ways, or left out; neighbouring words may be swapped, and some pairs
have a phrase of their own. The features are noisy hints at which way is right.
"""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

FEATURES = ["model", "phrases", "swaps", "words"]
ARTICLES = ("the", "a", "every", "this")
ADJECTIVES = ("small", "old", "red", "quiet", "new")
NOUNS = ("house", "dog", "river", "teacher", "letter", "garden")
VERBS = ("sees", "likes", "finds", "leaves")
WORDS = (*ARTICLES, *ADJECTIVES, *NOUNS, *VERBS)


def sentence(rng: random.Random) -> list[str]:
    """Make up a sentence."""

    def phrase() -> list[str]:
        adjectives = rng.sample(ADJECTIVES, rng.randint(0, 2))
        return [rng.choice(ARTICLES), *adjectives, rng.choice(NOUNS)]

    return [*phrase(), rng.choice(VERBS), *phrase(), "."]


class Forest:
    """Hyperedges as they are added; nodes are spans, numbered when they are first made."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[str, int, int], int] = {}
        self.edges: list[dict[str, Any]] = []

    def add(
        self,
        head: tuple[str, int, int],
        tails: list[tuple[str, int, int]],
        side: list[str | list[int]],
        features: dict[str, float],
    ) -> None:
        """Add a hyperedge; ``[k]`` in its target side is where the k-th tail goes."""
        values = [x for k, name in enumerate(FEATURES) for x in (k, features.get(name, 0.0))]
        below = [self.nodes[tail] for tail in tails]
        self.edges.append(
            {
                "head": self.nodes.setdefault(head, len(self.nodes)),
                "tails": below,
                "e": side,
                "span": list(head[1:]),
                "feats": values,
            }
        )


def forest(words: list[str], rng: random.Random) -> Forest:
    """Pack the translations of a sentence."""
    made = Forest()
    for i, word in enumerate(words):
        for said in (word, rng.choice(WORDS)):
            hint = rng.gauss(1.0 if said == word else 0.0, 0.8)
            features = {"model": round(hint, 2), "phrases": 1.0, "words": 1.0}
            made.add(("word", i, i + 1), [], [said], features)
        if rng.random() < 0.2:
            hint = rng.gauss(0.0, 0.8)
            made.add(("word", i, i + 1), [], [], {"model": round(hint, 2), "phrases": 1.0})
    for i in range(len(words) - 1):
        pair = [("word", i, i + 1), ("word", i + 1, i + 2)]
        made.add(("pair", i, i + 2), pair, [[0], [1]], {})
        if rng.random() < 0.5:
            made.add(("pair", i, i + 2), pair, [[1], [0]], {"swaps": 1.0})
        if rng.random() < 0.3:
            hint = rng.gauss(1.5, 0.8)
            features = {"model": round(hint, 2), "phrases": 1.0, "words": 2.0}
            made.add(("pair", i, i + 2), [], [*words[i : i + 2]], features)
    for j in range(1, len(words) + 1):
        if j == 1:
            made.add(("all", 0, 1), [("word", 0, 1)], [[0]], {})
        else:
            made.add(("all", 0, j), [("all", 0, j - 1), ("word", j - 1, j)], [[0], [1]], {})
        if j == 2:
            made.add(("all", 0, 2), [("pair", 0, 2)], [[0]], {})
        elif j > 2:
            made.add(("all", 0, j), [("all", 0, j - 2), ("pair", j - 2, j)], [[0], [1]], {})
    return made


def write(name: str, count: int, rng: random.Random) -> None:
    """Write forests and their references."""
    lines, references = [], []
    for number in range(count):
        words = sentence(rng)
        made = forest(words, rng)
        record = {
            "id": number,
            "features": FEATURES,
            "nodes": [kind for kind, _, _ in made.nodes],
            "edges": made.edges,
        }
        lines.append(json.dumps(record, separators=(",", ":")) + "\n")
        references.append(" ".join(words) + "\n")
    with open(f"{name}.jsonl.gz", "wb") as file:
        file.write(gzip.compress("".join(lines).encode(), mtime=0))
    with open(f"{name}.ref", "w", encoding="utf-8") as file:
        file.writelines(references)


if __name__ == "__main__":
    generator = random.Random(1)
    write("tune", 30, generator)
    write("test", 30, generator)
