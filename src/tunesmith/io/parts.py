"""Reading one part of a set that is in several files, each of which somebody else reads."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.duplicates import without_duplicates
from tunesmith.data.features import FeatureCounts
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.read import collect, complete
from tunesmith.io.reading import Reading


@dataclass(frozen=True)
class Part:
    """What one file holds, and what has to be known to store it like the other parts.

    Attributes
    ----------
    candidates
        The candidates, with their references.
    counts
        Of their features, before duplicates were dropped.
    widths
        How many values a name stands for, where the format says so.
    lines
        How many lines each file of references has.
    """

    candidates: CandidateSet
    counts: FeatureCounts
    widths: Mapping[str, int]
    lines: Mapping[str, int]


def read_part(
    path: str,
    references: Sequence[str] = (),
    format: str | None = None,  # noqa: A002
    reading: Reading | None = None,
) -> Part:
    """Read one file as a part of a set that has others."""
    collector = Collector(reading, count_features=True)
    first = collect(collector, [path], format)
    candidates, lines = complete(collector, references, first)
    # A file of ours is taken as it is when it is the only one, and merged when there are others.
    candidates = without_duplicates(candidates)[0]
    assert collector.feature_counts is not None
    return Part(candidates, collector.feature_counts, dict(collector.widths), lines)


def part_files(places: Sequence[str]) -> list[str]:
    """Return the files that hold the parts: those that are named, and those of folders by name.

    Numbers in names count as numbers, so that ``part-10`` comes after ``part-9``.
    """
    files: list[str] = []
    for place in places:
        if place == "-":
            raise UsageError("standard input has no parts; give files, or a folder of them")
        if not os.path.isdir(place):
            files.append(place)
            continue
        try:
            names = [name for name in os.listdir(place) if not name.startswith(".")]
        except OSError as error:
            problem = (error.strerror or "it cannot be read").lower()
            raise FormatError(place, None, problem, "name a folder that can be read") from None
        inside = sorted((os.path.join(place, name) for name in names), key=_natural)
        files += [path for path in inside if os.path.isfile(path)]
    if not files:
        raise FormatError(places[0], None, "there is no file in it", "give a folder with parts")
    twice = next((path for k, path in enumerate(files) if path in files[:k]), None)
    if twice is not None:
        raise UsageError(f"{twice} is given twice; give each part once")
    return files


def _natural(path: str) -> list[tuple[int, str]]:
    pieces = re.split(r"([0-9]+)", path)
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in pieces]
