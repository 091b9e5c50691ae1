"""cdec's best derivations, and what our grammar and our language model say of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tunesmith.hiero.engine import HieroEngine, Prepared

#: Features that are not those of a rule alone.
OF_MODELS = ("LanguageModel",)
#: cdec writes nine digits of a float of 32 bits.
CLOSE = 2e-6


@dataclass(frozen=True)
class Step:
    """A hyperedge of a derivation.

    Attributes
    ----------
    head
        First word, last word, category.
    tails
        The same of what it is made of.
    target
        Words, and k for the k-th tail, from 0 on.
    features
        By name.
    """

    head: tuple[int, int, str]
    tails: tuple[tuple[int, int, str], ...]
    target: tuple[str | int, ...]
    features: dict[str, float]


def forests(folder: Path, wanted: Container[int] = range(500)) -> Iterator[dict]:
    """Yield cdec's forests as they are written; line k is that of sentence k."""
    with gzip.open(folder / "dev.forests.jsonl.gz", "rt", encoding="utf-8") as file:
        for k, line in enumerate(file):
            if k in wanted:
                forest = json.loads(line)
                assert forest["id"] == k
                yield forest


def best_scores(folder: Path) -> dict[int, float]:
    """Return the best score of each sentence in cdec's lists."""
    found: dict[int, float] = {}
    with gzip.open(folder / "dev.kbest.gz", "rt", encoding="utf-8") as file:
        for line in file:
            name, _, _, score = line.split(" ||| ")
            found.setdefault(int(name), float(score))
    return found


def best_derivation(forest: Mapping, weights: Mapping[str, float]) -> list[Step]:
    """Return the steps of the best derivation but for that of the goal, by plain Viterbi."""
    names = forest["features"]
    into: list[list[dict]] = [[] for _ in forest["nodes"]]
    for edge in forest["edges"]:
        into[edge["head"]].append(edge)
    best: list[tuple[float, dict]] = []
    for edges in into:
        scored = []
        for edge in edges:
            own = zip(edge["feats"][::2], edge["feats"][1::2], strict=True)
            score = sum(weights.get(names[k], 0.0) * value for k, value in own)
            scored.append((score + sum(best[tail][0] for tail in edge["tails"]), edge))
        best.append(max(scored, key=lambda pair: pair[0]))

    def place(node: int) -> tuple[int, int, str]:
        first, last = best[node][1]["span"]
        return first, last, forest["nodes"][node]

    steps: list[Step] = []
    waiting = list(best[-1][1]["tails"])
    while waiting:
        node = waiting.pop()
        edge = best[node][1]
        pairs = zip(edge["feats"][::2], edge["feats"][1::2], strict=True)
        target = tuple(part if isinstance(part, str) else part[0] for part in edge["e"])
        features = {names[k]: value for k, value in pairs if value != 0.0}
        steps.append(Step(place(node), tuple(map(place, edge["tails"])), target, features))
        waiting += edge["tails"]
    return steps


def text_of(steps: list[Step]) -> list[str]:
    """Return the words that a derivation says."""
    by_head = {step.head: step for step in steps}

    def words(head: tuple[int, int, str]) -> Iterator[str]:
        step = by_head[head]
        for part in step.target:
            if isinstance(part, str):
                yield part
            else:
                yield from words(step.tails[part])

    return list(words(steps[0].head))


class OurRules:
    """The rules of our parse of a sentence, by where they apply and what they say."""

    def __init__(self, engine: HieroEngine, prepared: Prepared) -> None:
        self.engine = engine
        self.prepared, self.parse, self.rules = prepared, prepared.parse, prepared.rules
        categories = engine.grammar.categories
        parse = self.parse
        self.places = [
            (int(i), int(j), categories[c])
            for i, j, c in zip(parse.begins, parse.ends, parse.categories, strict=True)
        ]
        self.vertices = {place: v for v, place in enumerate(self.places)}

    def features_of(self, step: Step) -> Iterator[dict[str, float]]:
        """Yield the features of all our rules that do what a step does."""
        parse, rules = self.parse, self.rules
        vertex = self.vertices.get(step.head)
        if vertex is None:
            return
        for bundle in range(parse.bundle_start[vertex], parse.bundle_start[vertex + 1]):
            span = slice(parse.tail_start[bundle], parse.tail_start[bundle + 1])
            if tuple(self.places[t] for t in parse.tails[span]) != step.tails:
                continue
            option = parse.bundle_options[bundle]
            for rule in range(rules.option_start[option], rules.option_start[option + 1]):
                side = rules.targets[rules.target_start[rule] : rules.target_start[rule + 1]]
                said = tuple(self.prepared.word(w) if w >= 0 else -w - 1 for w in side.tolist())
                if said == step.target:
                    own = slice(rules.feature_start[rule], rules.feature_start[rule + 1])
                    names = (self.engine.names[k] for k in rules.feature_ids[own])
                    yield dict(zip(names, rules.feature_values[own].tolist(), strict=True))

    def rule(self, step: Step) -> dict[str, float] | None:
        """Return the features of the rule that a step has, if we have it."""
        wanted = {name: v for name, v in step.features.items() if name not in OF_MODELS}
        for found in self.features_of(step):
            own = {name: v for name, v in found.items() if name != "RuleCount" and v != 0.0}
            if own.keys() == wanted.keys() and all(
                np.isclose(own[name], wanted[name], rtol=CLOSE, atol=CLOSE) for name in own
            ):
                return found
        return None


def our_score(engine: HieroEngine, sentence: str, steps: list[Step], weights: Mapping[str, float]):
    """Return w·h of a derivation by our rules and our language model; None if a rule is lacking."""
    prepared = engine.prepare(sentence.split())
    assert prepared is not None
    ours = OurRules(engine, prepared)
    total = 0.0
    for step in steps:
        found = ours.rule(step)
        if found is None:
            return None
        total += sum(weights.get(name, 0.0) * value for name, value in found.items())
    (model,) = engine.models.models.values()
    said = sum(word.log10 for word in model.score(text_of(steps)))
    return total + weights["LanguageModel"] * said
