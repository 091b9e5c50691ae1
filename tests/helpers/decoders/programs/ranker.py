"""A decoder of few lines: the words of a sentence in several orders, ranked by its weights.

ranker.py WEIGHTS INPUT OUTPUT SIZE [FAULT]: a dash is a standard stream; weights are JSON. With
a fault it does wrong what FAULT says, after its last words on standard error.
"""

import json
import os
import signal
import sys
import time


def candidates(words):
    yield words, {"lm": 0.5, "length": len(words)}
    yield words[::-1], {"lm": -0.25 * len(words), "length": len(words)}
    yield words[1:], {"lm": 1.0, "length": len(words) - 1, f"first_{words[0]}": 1}
    yield [*words, *words], {"lm": -1 / 3, "length": 2 * len(words), f"twice_{words[-1]}": -0.1}


def lines_of(sentences, weights, size):
    for number, sentence in enumerate(sentences):
        words = sentence.split() or ["-"]
        scored = [
            (sum(weights.get(name, 0) * value for name, value in features.items()), text, features)
            for text, features in candidates(words)
        ]
        for score, text, features in sorted(scored, key=lambda one: -one[0])[:size]:
            shown = " ".join(f"{name}= {value!r}" for name, value in features.items())
            yield f"{number} ||| {' '.join(text)} ||| {shown} ||| {score!r}\n"


def last_sentence(lines):
    return lines[-1].split()[0]


def without_last(lines):
    return [line for line in lines if line.split()[0] != last_sentence(lines)]


FAULTS = {
    "": lambda lines: lines,
    "cut": lambda lines: [*lines[:-1], lines[-1][:-2]],
    "few": without_last,
    "many": lambda lines: [*lines, "99" + lines[-1][lines[-1].index(" ") :]],
    "from-1": lambda lines: [f"{int(a) + 1} {b}" for a, b in (x.split(" ", 1) for x in lines)],
    "nan": lambda lines: [*lines[:-1], lines[-1].replace("lm= ", "lm= nan lm2= ")],
    "inf": lambda lines: [*lines[:-1], lines[-1].replace("lm= ", "lm= -inf lm2= ")],
    "renamed": lambda lines: [line.replace("lm= ", "LM= ") for line in lines],
    "empty": lambda lines: [],
    "prose": lambda lines: ["Best translation: none\n"],
    "latin": lambda lines: [*lines[:-1], lines[-1].replace(" ||| ", " ||| \udce9t\udce9 ", 1)],
}


def main(weights, given, output, size, fault=""):
    with open(weights, encoding="utf-8") as file:
        values = json.load(file)["weights"]
    with open(0 if given == "-" else given, "rb") as file:
        text = file.read()
    if fault == "noisy":
        for _ in range(300):
            sys.stderr.write("loading " * 2000 + "\n")
        fault = "exit"
    if fault:
        sys.stderr.write(f"about to fail: {fault}\n\n")
        sys.stderr.flush()
    if fault == "exit":
        sys.exit(3)
    if fault == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "hang":
        time.sleep(5000)
    if fault == "nothing":
        return
    if fault.startswith("once:"):
        name = fault.removeprefix("once:")
        if os.path.exists(name):
            fault = ""
        else:
            open(name, "w").close()
            sys.exit("the first time I fail")
    lines = FAULTS[fault](list(lines_of(text.decode().split("\n")[:-1], values, int(size))))
    with open(1 if output == "-" else output, "wb") as file:
        file.write("".join(lines).encode("utf-8", "surrogateescape"))


main(*sys.argv[1:])
