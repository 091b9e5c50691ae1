#!/usr/bin/env -S python3 -S -E
# ruff: noqa: T201, PLW2901
"""A stand-in for cdec: its options, its cdec.ini, its k-best lists, its complaints."""

import argparse
import re
import sys

import toy

FEATURES = ("Glue", "LanguageModel", "PassThrough", "PhraseModel_0", "PhraseModel_1")
FEATURES += ("PhraseModel_2", "WordPenalty")
#: A word that no rule has: a sentence with it has no translation.
UNPARSED = "unparsable"


def options():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("-c", "--config", action="append", default=[])
    parser.add_argument("-w", "--weights")
    parser.add_argument("-i", "--input", default="-")
    parser.add_argument("-k", "--k_best", type=int)
    parser.add_argument("-r", "--unique_k_best", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("-f", "--formalism")
    given = parser.parse_args()
    for path in given.config:
        print(f"Configuration file: {path}", file=sys.stderr)
        with open(path, encoding="utf-8") as file:
            for line in file:
                key, equals, value = line.partition("#")[0].partition("=")
                key = key.strip()
                if equals and getattr(given, key, None) is None:  # what came first counts
                    setattr(given, key, value.strip())
    if given.formalism is None:
        sys.exit("Configuration options:")
    return given


def read_weights(path):
    """Read weights as cdec does: the last ``=`` or tab of a line becomes a space."""
    weights = {}
    print(f"Reading weights from {path}", file=sys.stderr)
    with open(path, encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if not line or line.startswith("#"):
                continue
            if line.startswith(" "):
                print(f"Weights file lines may not start with whitespace.\n{line}", file=sys.stderr)
                sys.exit(134)
            last = max(line.rfind("="), line.rfind("\t"))
            if last > 0:
                line = f"{line[:last]} {line[last + 1 :]}"
            name, _, value = line.partition(" ")
            weights[name] = float(value)
    return weights


def features(target, choices):
    held = {name: toy.value(name, 0, target, choices) for name in FEATURES}
    held["PassThrough"] = float(len(target) > toy.CHOICES)
    held["WordPenalty"] *= 0.434294482
    held[f"Rule_{choices[0][0]}={choices[0][1] or 'same'}"] = 1.0
    return {name: value for name, value in held.items() if value}  # zeros are not stored


def main():
    given = options()
    weights = read_weights(given.weights)

    def score(held):
        return sum(weights.get(name, 0.0) * value for name, value in held.items())

    number = -1
    with open(0 if given.input == "-" else given.input, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if not line:
                continue
            number += 1
            tag = re.match(r"<seg([^>]*)>(.*?)</seg>", line)
            if tag:
                line = tag.group(2).strip()
                identity = re.search(r'id="?(\d+)', tag.group(1))
                number = int(identity.group(1)) if identity else number
            if not given.quiet:
                print(f"\nINPUT: {line}\n  id = {number}", file=sys.stderr)
            if UNPARSED in line.split():
                print("  NO PARSE FOUND.", file=sys.stderr)
                if not given.quiet:
                    print()
                continue
            print("Output kbest to -", file=sys.stderr)
            found = toy.ranked(line, features, score, given.unique_k_best)
            for target, held, total in found[: given.k_best]:
                named = " ".join(f"{name}={value:g}" for name, value in held.items())
                print(f"{number} ||| {' '.join(target)} ||| {named} ||| {total:g}")


main()
