#!/usr/bin/env -S python3 -S -E
# ruff: noqa: T201, PLW2901
"""A stand-in for Moses: its options, its moses.ini, its n-best lists, its complaints."""

import sys

import toy

#: Values that a feature function has where ``num-features`` is not given.
DENSE = {
    "WordTranslationFeature": 0,
    "TargetBigramFeature": 0,
}
#: Functions that look at the words before: in lists, and where weights are shown, they come first.
STATEFUL = ("LexicalReordering", "Distortion", "KENLM", "TargetBigramFeature")
#: Functions that are not tuned unless moses.ini says so.
FIXED = ("UnknownWordPenalty",)
SHORT = {"f": "config", "i": "input-file", "th": "threads", "wf": "weight-file", "v": "verbose"}


class Function:
    """A line of the section [feature]."""

    count = dict.fromkeys(DENSE, 0)

    def __init__(self, line):
        self.type, *given = line.split()
        options = dict(one.split("=", 1) for one in given)
        index = Function.count.setdefault(self.type, 0)
        Function.count[self.type] += 1
        self.name = options.get("name", f"{self.type}{index}")
        self.width = int(options.get("num-features", DENSE.get(self.type, 1)))
        self.sparse = self.type in DENSE
        default = "false" if self.type in FIXED else "true"
        self.tuneable = options.get("tuneable", default) == "true"
        shown = options.get("tuneable-components")
        self.shown = [t in ("1", "true") for t in shown.split(",")] if shown else None

    def shows(self, index):
        return self.shown is None or self.shown[index]


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)


def switches(arguments):
    """Return the options of the command line, each with all that follows it."""
    given = {}
    for word in arguments:
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            name = word.lstrip("-")
            values = given.setdefault(SHORT.get(name, name), [])
        else:
            values.append(word)
    return given


def configuration(path):
    """Return the sections of a moses.ini, each as its lines."""
    settings = {}
    name = ""
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                line = line.partition("#")[0].strip()
                if line.startswith("["):
                    name = line[1 : line.index("]")]
                elif line:
                    settings.setdefault(name, []).append(line)
    except OSError:
        fail(f"Could not read {path}")
    return settings


def weights_of(settings, functions):
    """Return the weights of all functions, and those of sparse features, as Moses takes them."""
    given = {}
    for line in settings.get("weight", []):
        name, *values = line.split()
        if not values:
            fail(f"Exception: Error in format of weights: {line}")
        given[name[:-1]] = [float(v) for v in values]  # of two lines the last counts
    dense = {}
    for function in functions:
        values = given.pop(function.name, [1.0] * function.width)
        if len(values) != function.width:
            fail(
                "Exception: FATAL ERROR: Mismatch in number of features and number of weights for "
                f"Feature Function {function.name} (features: {function.width} vs. weights: "
                f"{len(values)})"
            )
        dense[function.name] = values
    names = {function.name for function in functions}
    strange = [name for name in given if name.partition("_")[0] not in names]
    if strange:
        fail(
            "The following weights have no feature function. Maybe incorrectly spelt weights: "
            + ",".join(strange)
        )
    sparse = {}
    for path in settings.get("weight-file", [])[:1]:
        try:
            with open(path, encoding="utf-8") as file:
                pairs = [line.split() for line in file if not line.startswith("#")]
        except OSError:
            fail(f"Unable to load weights from {path}")
        sparse = {name: float(v) for name, v in pairs}
    sparse.update({name: values[0] for name, values in given.items()})
    return dense, sparse


def show(functions, dense):
    for function in functions:
        if not function.tuneable:
            print(f"{function.name} UNTUNEABLE")
            continue
        values = [
            f" {value:.6f}" if function.shows(i) else " UNTUNEABLECOMPONENT"
            for i, value in enumerate(dense[function.name])
        ]
        print(f"{function.name}={''.join(values)}")


def features_of(functions, target, choices):
    """Return dense values by function and sparse ones by name."""
    dense, sparse = {}, {}
    for function in functions:
        name = function.name
        dense[name] = [toy.value(name, i, target, choices) for i in range(function.width)]
        if function.sparse:
            for word, ending in choices[:-1]:
                sparse[f"{name}_{word}~{word}{ending}"] = 1.0
    return dense, sparse


def written(functions, held):
    """Return the features of a line: those that are tuned, as numbers of six digits."""
    dense, sparse = held
    parts = []
    for function in functions:
        if not function.tuneable:
            continue
        name = function.name
        values = [f" {v:g}" for i, v in enumerate(dense[name]) if function.shows(i)]
        if values:
            parts.append(f" {name}={''.join(values)}")
        if function.sparse:
            parts += [f" {n}= {v:g}" for n, v in sparse.items() if n.startswith(f"{name}_")]
    return "".join(parts)


def main():
    given = switches(sys.argv[1:])
    if "config" not in given:
        fail("No configuration file was specified.  Use -config or -f")
    settings = {**configuration(given["config"][0]), **given}
    functions = [Function(line) for line in settings.get("feature", [])]
    functions.sort(key=lambda function: function.type not in STATEFUL)
    dense, sparse = weights_of(settings, functions)
    if "show-weights" in given:
        show(functions, dense)
        return
    path, size, *rest = settings["n-best-list"]

    def score(held):
        total = sum(
            w * v for name, ws in dense.items() for w, v in zip(ws, held[0][name], strict=True)
        )
        return total + sum(sparse.get(name, 0.0) * v for name, v in held[1].items())

    def features(target, choices):
        return features_of(functions, target, choices)

    with open(settings["input-file"][0], encoding="utf-8") as file:
        sentences = file.read().split("\n")[:-1]
    with open(path, "w", encoding="utf-8") as nbest:
        for number, sentence in enumerate(sentences):
            found = toy.ranked(sentence, features, score, rest == ["distinct"])
            print(*found[0][0])
            for target, held, total in found[: int(size)]:
                text = "".join(f"{word} " for word in target)
                nbest.write(f"{number} ||| {text} |||{written(functions, held)} ||| {total:g}\n")


main()
