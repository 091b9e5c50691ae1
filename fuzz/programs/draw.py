"""Command lines: what a command needs, quick settings, and a few options more."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz.programs.options import flags_of
from fuzz.programs.sets import Drawn
from fuzz.programs.values import LEFT_OUT, METRICS, SUMS, value_of

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
        if _does_not_go(flag.name, arguments) and rng.random() < 0.9:
            continue
        if name in arguments and not flag.several and rng.random() < 0.9:
            continue
        arguments.append(name)
        if flag.metavar is not None:
            arguments.append(value_of(rng, flag, drawn))
    arguments += ["--threads", "1"] if "--threads" not in arguments else []
    if rng.random() < 0.03 and len(arguments) > 1:
        del arguments[rng.randrange(1, len(arguments))]
    return arguments


def _does_not_go(name: str, arguments: list[str]) -> bool:
    """Tell whether an option is refused beside what is given."""
    on_forests = "--forests" in arguments
    of_lists = {"candidates", "scores", "column", "statistics"}
    of_forests = {"forests", "prune", "forest-search", "forest-lists", "list-rounds", "list-size"}
    if name in (of_lists if on_forests else of_forests):
        return True
    return name.startswith(("dev-", "test-")) or name in {"workers", "latex"}


def _metric(rng: random.Random) -> list[str]:
    return ["--metric", rng.choice(METRICS)] if rng.random() < 0.6 else []


def _sum(rng: random.Random) -> list[str]:
    """Draw a metric that is a sum over sentences, mostly."""
    return ["--metric", rng.choice(SUMS if rng.random() < 0.9 else METRICS)]


def _held_out(rng: random.Random, drawn: Drawn, on_forests: bool) -> list[str]:
    """Draw a held-out set, or none."""
    found: list[str] = []
    for which in ("dev", "test"):
        if rng.random() < 0.25:
            key = "forests" if on_forests else "candidates"
            path = drawn.files["forests" if on_forests else "dev"][0]
            found += [f"--{which}-{key}", path]
            for references in drawn.files["references"]:
                found += [f"--{which}-references", references]
    return found


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
        metric = _sum(rng) if tuner == "lp-mert" else _metric(rng)
        held_out = _held_out(rng, drawn, on_forests)
        asked = ["tune", *given, *references, *held_out, "--tuner", tuner, *quick, *metric, *out]
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
        line = rng.choice((["--feature", "f0"], ["--direction", drawn.files["weights"][1]]))
        plane = ["--plane", "f0,f1", "--time-limit", "0.2"]
        return ["surface", *lists_alone, *_metric(rng), *rng.choice((line, line, plane)), "--json"]
    return ["certify", *lists_alone, *_sum(rng), "--time-limit", "0.2", "--json"]
