"""What the parts of a campaign have in common."""

from __future__ import annotations

import importlib
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, cast

ACCEPTED, REFUSED, FOUND = "accepted", "refused", "found"

#: Module and class of each part; a part is imported by the workers alone.
PARTS = {
    "files": "fuzz.files.part:Files",
    "programs": "fuzz.programs.part:Programs",
    "faults": "fuzz.faults.part:Faults",
    "kills": "fuzz.kills.part:Kills",
}


@dataclass(frozen=True)
class Outcome:
    """What became of one input.

    Attributes
    ----------
    kind
        What was tried: a format, a command, a way to be killed.
    verdict
        ``accepted``, ``refused``, or ``found`` where something did not hold.
    problem
        What did not hold, in a line; equal for inputs that find the same.
    detail
        More of it, for those who look into it.
    tries
        How many inputs it stands for.
    """

    kind: str
    verdict: str
    problem: str = ""
    detail: str = ""
    tries: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


class Part(Protocol):
    """Inputs by number, each of which depends on the seed and its number alone."""

    #: Seconds of processor time that an input may take.
    limit: float
    #: Seconds on the clock after which its process is taken to hang.
    patience: float

    def prepare(self) -> None:
        """Do what makes the first input slow: import, compile, write files."""
        ...

    def size(self) -> int | None:
        """Return how many inputs there are; None if there is no end."""
        ...

    def run(self, seed: int, index: int) -> Outcome:
        """Try an input."""
        ...

    def keep(self, seed: int, index: int, path: Path) -> None:
        """Write an input as an example that tests run, if there are such examples."""
        ...


def part_of(name: str) -> Part:
    """Make a part by its name."""
    module, _, member = PARTS[name].partition(":")
    return cast(Part, getattr(importlib.import_module(module), member)())


def generator(seed: int, part: str, index: int) -> random.Random:
    """Return the random numbers of one input."""
    return random.Random(f"{seed}:{part}:{index}")
