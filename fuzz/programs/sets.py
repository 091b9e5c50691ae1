"""Small random sets: lists, forests, references, weights and score files, in a folder."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

WORDS = ("a", "b", "c", "dd", "É", "1.5", "x-y")
#: Values of features: many are equal, some are extreme.
USUAL = (0.0, 1.0, -1.0, 0.5, 2.0, -0.25, 3.0, 0.1)
EXTREME = (-0.0, 1e-300, 1e15, -1e300, 1e300, 5e-324)


@dataclass(frozen=True)
class Candidate:
    """A text with its features, and what an external metric says of it."""

    text: str
    features: dict[str, float]
    score: float


@dataclass(frozen=True)
class Drawn:
    """A set in a folder.

    Attributes
    ----------
    groups
        What the lists hold; group g has the id g.
    names
        The features.
    files
        Paths by what they are: ``candidates``, ``references``, ``forests``, ``weights`` ...
    """

    groups: list[list[Candidate]]
    names: list[str]
    weights: dict[str, float]
    files: dict[str, list[str]]


def _text(rng: random.Random, most: int = 4) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(most + 1)))


def _value(rng: random.Random, is_extreme: bool) -> float:
    if is_extreme and rng.random() < 0.2:
        return rng.choice(EXTREME)
    return rng.choice(USUAL)


def _groups(rng: random.Random, names: list[str], count: int) -> list[list[Candidate]]:
    is_extreme = rng.random() < 0.05
    most = rng.choice((1, 2, 3, 4, 4, 5))
    return [
        [
            Candidate(
                _text(rng),
                {n: _value(rng, is_extreme) for n in names if rng.random() < 0.9 or n == names[0]},
                rng.choice(USUAL),
            )
            for _ in range(rng.randrange(1, most + 1))
        ]
        for _ in range(count)
    ]


def moses(groups: list[list[Candidate]]) -> str:
    """Write lists as Moses does."""
    lines = []
    for g, group in enumerate(groups):
        for one in group:
            shown = " ".join(f"{name}= {value!r}" for name, value in one.features.items())
            lines.append(f"{g} ||| {one.text} ||| {shown} ||| 0\n")
    return "".join(lines)


def jsonl(groups: list[list[Candidate]]) -> str:
    """Write lists as JSON lines, with the external metric ``m``."""
    lines = []
    for g, group in enumerate(groups):
        found = [
            {"text": one.text, "features": one.features, "metrics": {"m": one.score}}
            for one in group
        ]
        lines.append(json.dumps({"id": g, "candidates": found}) + "\n")
    return "".join(lines)


def forest(rng: random.Random, names: list[str], count: int) -> str:
    """Write lattices, as JSON, one forest per line."""
    lines = []
    for g in range(count):
        states = rng.randrange(1, 4)
        edges = [{"head": 0, "tails": [], "e": rng.choices(WORDS, k=1), "feats": [0, 1.0]}]
        for head in range(states):
            for _ in range(rng.randrange(1, 3)):
                side: list[object] = [*rng.choices(WORDS, k=rng.randrange(3))]
                tails = [rng.randrange(head)] if head else []
                if tails:
                    side.insert(rng.randrange(len(side) + 1), [0])
                feats = [part for k in range(len(names)) for part in (k, rng.choice(USUAL))]
                edges.append({"head": head, "tails": tails, "e": side, "feats": feats})
        nodes = ["X"] * states
        lines.append(
            json.dumps({"id": g, "features": names, "nodes": nodes, "edges": edges}) + "\n"
        )
    return "".join(lines)


def drawn_set(rng: random.Random, place: Path) -> Drawn:
    """Draw a set and write its files."""
    names = [f"f{k}" for k in range(rng.choice((1, 2, 2, 3, 3, 4)))]
    count = rng.choice((1, 2, 3, 4, 5))
    groups = _groups(rng, names, count)
    weights = {name: rng.choice((*USUAL, 0.3)) for name in names}
    files: dict[str, list[str]] = {}

    def put(key: str, name: str, text: str) -> None:
        (place / name).write_text(text, encoding="utf-8")
        files.setdefault(key, []).append(str(place / name))

    put("candidates", "a.nbest", moses(groups))
    put("jsonl", "a.jsonl", jsonl(groups))
    put("dev", "d.nbest", moses(_groups(rng, names, count)))
    for k in range(rng.choice((1, 1, 1, 2))):
        lines = [_text(rng) if rng.random() < 0.9 else "" for _ in range(count)]
        put("references", f"r{k}", "".join(f"{line}\n" for line in lines))
    put("hypotheses", "h", "".join(f"{_text(rng)}\n" for _ in range(count)))
    put("hypotheses", "i", "".join(f"{_text(rng)}\n" for _ in range(count)))
    put("weights", "w.json", json.dumps(weights))
    put("weights", "v", "".join(f"{name} {rng.choice(USUAL)!r}\n" for name in names))
    put("forests", "f.jsonl", forest(rng, names, count))
    total = sum(map(len, groups))
    put("scores", "s.txt", "".join(f"{rng.choice(USUAL)}\n" for _ in range(total)))
    put("other", "odd", rng.choice(("", "x\n", "\x00", "0 ||| a\n", "{}", "nan\n")))
    return Drawn(groups, names, weights, files)
