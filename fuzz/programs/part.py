"""Random command lines: each succeeds with a sound result, or says in one line what is wrong."""

from __future__ import annotations

import contextlib
import itertools
import random
import shlex
from pathlib import Path

from fuzz.part import ACCEPTED, FOUND, REFUSED, Outcome, generator
from fuzz.programs.draw import TUNERS, command_line
from fuzz.programs.meaning import wrong_result
from fuzz.programs.options import flags_of
from fuzz.programs.running import run, wrong_end
from fuzz.programs.sets import Drawn, drawn_set
from fuzz.scratch import folder

ONE = ("--threads", "1")
#: Options whose arguments show what a command worked on.
SHOWN = 3000


class Programs:
    """Command lines on small sets."""

    limit = 60.0
    patience = 240.0

    def prepare(self) -> None:
        """Load the kernels: run each tuner on lists and on forests."""
        place = folder("programs")
        drawn = drawn_set(random.Random(1), place)
        references = [part for path in drawn.files["references"] for part in ("--references", path)]
        for tuner, (quick, _) in TUNERS.items():
            for key in ("candidates", "forests"):
                given = [f"--{key}", drawn.files[key][0], *references]
                for metric in ("bleu", "wer"):
                    run(["tune", *given, "--tuner", tuner, *quick, "--metric", metric, *ONE])

    def size(self) -> int | None:
        """Return None: there is no end."""
        return None

    def keep(self, seed: int, index: int, path: Path) -> None:
        """Raise an error: what finds something becomes a test of its own."""
        raise SystemExit("inputs of this part are not kept as files; write a test")

    def run(self, seed: int, index: int) -> Outcome:
        """Draw a set and a command line, and run it."""
        rng = generator(seed, "programs", index)
        place = folder("programs")
        drawn = drawn_set(rng, place)
        arguments = command_line(rng, drawn, place)
        kind = _kind(arguments)
        with contextlib.chdir(place):  # a name as 'x' may be that of an output
            ran = run(arguments)
            problem = wrong_end(ran)
            if problem is None and ran.code == 0 and _is_plain(arguments):
                problem = wrong_result(rng, arguments, ran, drawn, place)
        if problem is not None:
            told = f"{problem}\n{ran.errors[-2000:]}\n{_shown(arguments, drawn)}"
            return Outcome(
                kind, FOUND, problem.partition(":")[0] if "differ" in problem else problem, told
            )
        return Outcome(kind, ACCEPTED if ran.code == 0 else REFUSED)


def _is_plain(arguments: list[str]) -> bool:
    """Tell whether no option has another one as its value."""
    flags = {flag.names[0]: flag for flag in flags_of(*arguments[:1])}
    pairs = itertools.pairwise(arguments)
    return not any(
        name in flags and flags[name].metavar is not None and value.startswith("--")
        for name, value in pairs
    )


def _kind(arguments: list[str]) -> str:
    if arguments[0] == "tune" and "--tuner" in arguments[:-1]:
        name = arguments[arguments.index("--tuner") + 1]
        return f"tune {name if name in TUNERS else '?'}"
    return arguments[0]


def _shown(arguments: list[str], drawn: Drawn) -> str:
    """Return the command line and the files that it names."""
    lines = [f"tunesmith {shlex.join(arguments)}"]
    for paths in drawn.files.values():
        named = [path for path in paths if any(path in argument for argument in arguments)]
        lines += [f"{path}: {Path(path).read_bytes()[:SHOWN]!r}" for path in named]
    return "\n".join(lines)
