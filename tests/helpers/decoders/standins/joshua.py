#!/usr/bin/env -S python3 -S -E
# ruff: noqa: T201
"""A stand-in for Joshua 6: its options, its joshua.config, its n-best lists, its complaints."""

import re
import sys

import toy

DENSE = ("tm_pt_0", "tm_pt_1", "tm_pt_2", "lm_0", "WordPenalty")
KNOWN = ("c", "config", "weightsfile", "weightoverwrite", "topn", "outputformat", "threads")
KNOWN += ("useuniquenbest", "tm", "featurefunction", "search", "poplimit", "emptylines")


def fail(message):
    print(f'Exception in thread "main" java.lang.RuntimeException: {message}', file=sys.stderr)
    sys.exit(1)


def normal(key):
    return re.sub("[-_]", "", key).lower()


def take(line, settings, inline):
    """Take a line as of joshua.config."""
    line = line.strip()
    if not line or line.startswith("#"):
        return
    if "=" not in line:
        inline.append(line)
        return
    key, value = re.split(r"\s*=\s*", line, maxsplit=1)
    if normal(key) not in KNOWN:
        fail(f"FATAL: unknown configuration parameter '{key}'")
    settings[normal(key)] = value


def configured(arguments):
    """Return settings and weights: of joshua.config, then of the command line."""
    settings, inline, flags = {}, [], []
    for word in arguments:
        if word.startswith("-"):
            flags.append([word[1:]])
        else:
            flags[-1].append(word)
    for key, *values in flags:
        if key in ("c", "config"):
            try:
                with open(values[0], encoding="utf-8") as file:
                    for line in file:
                        take(line, settings, inline)
            except OSError:
                fail(f"java.io.FileNotFoundException: {values[0]} (No such file or directory)")
    for key, *values in flags:
        take(f"{key} = {' '.join(values) or 'true'}", settings, inline)
    return settings, inline


def weights_of(settings, inline):
    weights = {}
    if settings.get("weightsfile"):
        try:
            with open(settings["weightsfile"], encoding="utf-8") as file:
                lines = [line.split() for line in file if not line.startswith(("#", "//"))]
        except OSError:
            fail(f"Can't find weights-file '{settings['weightsfile']}'")
        for name, value in filter(None, lines):
            weights[name] = weights.get(name, 0.0) + float(value)
    pairs = settings.get("weightoverwrite", "").split()
    # Those of the command line come last.
    for line in [*inline, *(f"{n} {v}" for n, v in zip(pairs[::2], pairs[1::2], strict=True))]:
        pair = line.split()
        if len(pair) != 2:
            fail(f"FATAL: Invalid feature weight line found in config file. The line was '{line}'")
        weights[pair[0]] = float(pair[1])
    return weights


def features(target, choices):
    held = {name: toy.value(name, 0, target, choices) for name in DENSE}
    held["OOVPenalty"] = -100.0 * sum(word == "oov" for word, _ in choices)
    return {n: v for n, v in held.items() if n != "OOVPenalty" or v}


def main():
    settings, inline = configured(sys.argv[1:])
    weights = weights_of(settings, inline)
    form = settings.get("outputformat", "%i ||| %s ||| %f ||| %c")
    unique = settings.get("useuniquenbest") == "true"

    def score(held):
        return sum(weights.get(name, 0.0) * value for name, value in held.items())

    def show(number, text, named, total):
        line = form.replace("%s", text).replace("%i", str(number))
        print(line.replace("%f", named).replace("%c", f"{total:.3f}"))

    sys.stdin.reconfigure(encoding="utf-8", newline="\n")
    for number, sentence in enumerate(sys.stdin.read().split("\n")[:-1]):
        if not sentence.strip():
            # Version 6.0 echoes an empty line, later ones fill in the format.
            print() if settings.get("emptylines") == "echoed" else show(number, "", "", 0.0)
            continue
        found = toy.ranked(sentence, features, score, unique)
        for target, held, total in found[: int(settings.get("topn", 1))]:
            named = " ".join(f"{name}={value:.3f}" for name, value in held.items())
            show(number, " ".join(target), named, total)


main()
