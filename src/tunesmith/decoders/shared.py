"""What the decoders that are programs share: arguments, weights files, and empty outputs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Sentence
from tunesmith.errors import UsageError, shortened
from tunesmith.io.collector import Collector


def split(arguments: str) -> list[str]:
    """Split arguments as a shell does."""
    try:
        return shlex.split(arguments)
    except ValueError as error:
        problem = str(error).lower()
        raise UsageError(f"the arguments '{shortened(arguments)}': {problem}; fix them") from None


def check_extra(
    arguments: str, ours: Collection[str], program: str, normal: Callable[[str], str] = str
) -> None:
    """Raise an error if some arguments are options that we give ourselves.

    ``normal`` makes one of all the ways in which a program lets an option be written.
    """
    for word in split(arguments):
        if word.startswith("-") and normal(word.lstrip("-").partition("=")[0]) in ours:
            raise UsageError(f"'{word}' is for us to give to {program}; leave it out")


def line_end(text: bytes) -> bytes:
    """Return how the first line of a file ends, for lines that are added to it."""
    return b"\r\n" if text.partition(b"\n")[0].endswith(b"\r") else b"\n"


def with_all_names(weights: Weights, names: Iterable[str]) -> Weights:
    """Return weights for some names at least: 0 where none is given.

    The loop takes a weight that is not given as 0. A program must then not take what stands in
    its own configuration.
    """
    return Weights.from_dict({**dict.fromkeys(names, 0.0), **weights})


def add_blank(
    collector: Collector, sentences: tuple[Sentence, ...], output: Path, blank_lines: bool
) -> None:
    """Add an empty candidate for each sentence that has none and needs none.

    That is a sentence without words, which programs pass over or answer with an empty line.
    With ``blank_lines`` they also answer a sentence so that they cannot translate; one that
    left out a sentence without a word about it is not helped.
    """
    present = set(collector.ids)
    lacking = [i for i in range(len(sentences)) if i not in present]
    silent = [i for i in lacking if sentences[i].text.strip()]
    if silent and not (blank_lines and _blank_lines(output) >= len(silent)):
        lacking = [i for i in lacking if i not in set(silent)]
    for i in lacking:
        collector.add(i, "", {})


def says_something(output: Path) -> bool:
    """Tell whether a list has a line that is not empty, or is not even there."""
    if not output.exists():
        return True
    with open(output, "rb") as file:
        return any(line.strip() for line in file)


def _blank_lines(output: Path) -> int:
    with open(output, "rb") as file:
        return sum(1 for line in file if not line.strip())
