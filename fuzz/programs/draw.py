"""Command lines: what a command needs, quick settings, and a few options more."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz.programs.options import flags_of
from fuzz.programs.sets import Drawn
from fuzz.programs.values import LEFT_OUT, METRICS, value_of

#: Tuners, with settings that make them quick; how often each is drawn.
TUNERS: dict[str, tuple[list[str], int]] = {
    "mert": (["--restarts", "1", "--walks", "0"], 6),
    "pro": ([], 4),
    "batch-mira": (["--passes", "3"], 4),
    "mira": (["--epochs", "2"], 3),
    "arow": (["--epochs", "2"], 3),
    "sgd": (["--epochs", "2"], 2),
    "perceptron": (["--epochs", "2"], 2),
    "ramp": (["--iterations", "2"], 3),
    "min-risk": (["--epochs", "2", "--steps", "5"], 3),
    "lp-mert": (["--time-limit", "0.2"], 3),
    "plane": (["--time-limit", "0.2"], 2),
    "auto": (["--contender", "mert:restarts=0", "--contender", "batch-mira:passes=2"], 1),
}
COMMANDS = {
    "tune": 9,
    "rerank": 3,
    "evaluate": 4,
    "compare": 3,
    "convert": 5,
    "surface": 2,
    "certify": 2,
}


def command_line(rng: random.Random, drawn: Drawn, place: Path) -> list[str]:
    """Draw a command line for a set."""
    command = rng.choices(list(COMMANDS), list(COMMANDS.values()))[0]
    tuner = rng.choices(list(TUNERS), [often for _, often in TUNERS.values()])[0]
    arguments = needed(rng, command, tuner, drawn, place)
    asked = [command, "--tuner", tuner] if command == "tune" else [command]
    flags = [flag for flag in flags_of(*asked) if flag.name not in LEFT_OUT]
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 5))):
        flag = rng.choice(flags)
        name = rng.choice(flag.names)
        if name in arguments and not flag.several and rng.random() < 0.9:
            continue
        arguments.append(name)
        if flag.metavar is not None:
            arguments.append(value_of(rng, flag, drawn))
    arguments += ["--threads", "1"] if "--threads" not in arguments else []
    if rng.random() < 0.03 and len(arguments) > 1:
        del arguments[rng.randrange(1, len(arguments))]
    return arguments


def _metric(rng: random.Random) -> list[str]:
    return ["--metric", rng.choice(METRICS)] if rng.random() < 0.6 else []


def needed(rng: random.Random, command: str, tuner: str, drawn: Drawn, place: Path) -> list[str]:
    """Return a command with what it needs."""
    on_forests = rng.random() < 0.25 and tuner not in {"lp-mert", "plane", "auto"}
    lists = drawn.files["jsonl" if rng.random() < 0.4 else "candidates"][0]
    given = ["--forests", drawn.files["forests"][0]] if on_forests else ["--candidates", lists]
    references = [part for path in drawn.files["references"] for part in ("--references", path)]
    weights = ["--weights", drawn.files["weights"][0]]
    if command == "tune":
        out = ["--out", str(place / "tuned.json")] if rng.random() < 0.8 else []
        quick = TUNERS[tuner][0]
        asked = ["tune", *given, *references, "--tuner", tuner, *quick, *_metric(rng), *out]
        return [*asked, "--json"] if rng.random() < 0.5 else asked
    if command == "rerank":
        return ["rerank", *given, *weights]
    if command == "evaluate":
        if rng.random() < 0.3:
            given, weights = ["--hypotheses", drawn.files["hypotheses"][0]], []
        return ["evaluate", *given, *weights, *references, *_metric(rng), "--json"]
    if command == "compare":
        given = [] if rng.random() < 0.6 else given
        key = "weights" if given else "hypotheses"
        pair = [f"{name}={path}" for name, path in zip("AB", drawn.files[key], strict=True)]
        systems = [part for text in pair for part in ("--system", text)]
        quick = ["--resamples", "20", "--randomizations", "20"]
        return ["compare", *systems, *given, *references, *_metric(rng), *quick, "--json"]
    if command == "convert":
        if rng.random() < 0.2:
            return ["convert", *weights, "--to", rng.choice(("json", "moses", "cdec", "travatar"))]
        return [
            "convert",
            *given,
            *references,
            "--out",
            str(place / f"out{rng.choice(('.jsonl', '.csv', '.arrow', '.nbest'))}"),
        ]
    lists_alone = ["--candidates", lists, *weights, *references]
    if command == "surface":
        return ["surface", *lists_alone, *_metric(rng), "--json"]
    return ["certify", *lists_alone, *_metric(rng), "--time-limit", "0.2", "--json"]
