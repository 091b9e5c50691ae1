"""Sentences for which a program has nothing to say."""

from __future__ import annotations

from pathlib import Path

from tunesmith.decoders.base import Sentence
from tunesmith.io.collector import Collector


def add_blank(
    collector: Collector, sentences: tuple[Sentence, ...], output: Path, blank_lines: bool
) -> None:
    """Add an empty candidate for each sentence that has none and needs none.

    That is a sentence without words, which programs pass over or answer with an empty line.
    With ``blank_lines`` they also answer a sentence so that they cannot translate; one that
    left out a sentence without a word about it is not helped.
    """
    there = set(collector.ids)
    lacking = [i for i in range(len(sentences)) if i not in there]
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
