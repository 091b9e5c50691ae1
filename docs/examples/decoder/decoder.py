"""A decoder: French word for word, two neighbours swapped or none: decoder.py WEIGHTS SIZE."""

import itertools
import json
import sys

DICTIONARY = {
    "la": {"the": -0.2, "it": -1.7}, "le": {"the": -0.2, "it": -1.7}, "chat": {"cat": -0.1},
    "une": {"one": -0.6, "a": -0.8}, "un": {"one": -0.6, "a": -0.8}, "chien": {"dog": -0.1},
    "maison": {"home": -0.6, "house": -0.8}, "porte": {"wears": -0.6, "door": -0.8},
    "rouge": {"red": -0.1}, "noir": {"black": -0.1}, "dort": {"sleeps": -0.4, "asleep": -1.1},
    "grande": {"large": -0.6, "big": -0.8}, "petite": {"little": -0.6, "small": -0.8},
}  # fmt: skip
PAIRS = {"the red", "red house", "a big", "big house", "the black", "black cat", "black dog",
         "cat sleeps", "dog sleeps", "a small", "small door", "red door", "big door"}  # fmt: skip

with open(sys.argv[1]) as file:
    weights = json.load(file)["weights"]
for number, line in enumerate(sys.stdin):
    words = [DICTIONARY.get(word, {word: -3.0}) for word in line.split()]
    found = []
    for choice in itertools.product(*(word.items() for word in words)):
        for swap in range(max(1, len(words))):  # of two words; 0: none
            order = [*choice[: swap - 1], *choice[swap - 1 : swap + 1][::-1], *choice[swap + 1 :]]
            text = [word for word, _ in (order if swap else choice)]
            features = {
                "dictionary": sum(value for _, value in choice),
                "pairs": sum(f"{a} {b}" in PAIRS for a, b in itertools.pairwise(text)),
                "swap": -1 if swap else 0,
            }
            score = sum(weights.get(name, 0) * value for name, value in features.items())
            found.append((score, " ".join(text), features))
    for score, text, features in sorted(found, key=lambda one: -one[0])[: int(sys.argv[2])]:
        shown = " ".join(f"{name}= {value}" for name, value in features.items())
        sys.stdout.write(f"{number} ||| {text} ||| {shown} ||| {score}\n")
