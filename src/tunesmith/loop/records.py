"""Reading the files of a work directory, for a resumed run and for reports."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.forests import Forests
from tunesmith.errors import FormatError, TunesmithError, shortened
from tunesmith.io.forests.arrow.format import opened as open_arrow_forests
from tunesmith.io.forests.read import in_memory_if_small
from tunesmith.io.read import read
from tunesmith.io.streams import Source
from tunesmith.io.text import checked_json

SCHEMA = "tunesmith.loop/1"
CONFIGURATION, LOCK = "configuration.json", "lock"
#: Files for reports: what a run does, and its sentences and references.
ABOUT, TEXTS = "about", "texts"
#: Files that are not whole yet.
PARTIAL = ".tunesmith-"
#: Folders of rounds.
ROUND = re.compile(r"round-[0-9]+")


def read_lists(path: Path) -> CandidateSet:
    """Read candidates that were written here."""
    try:
        return bare(read(path, format="arrow"))
    except FormatError as error:
        raise damaged_record(path, error) from None


def read_forest_rows(path: Path) -> Forests:
    """Read forests that were written here; they stay there if memory does not hold them."""
    try:
        return in_memory_if_small(open_arrow_forests(Source(path)))
    except FormatError as error:
        raise damaged_record(path, error) from None


def bare(candidates: CandidateSet) -> CandidateSet:
    """Return candidates as a file stores them: without sources, references and file names."""
    return dataclasses.replace(
        candidates,
        features=dataclasses.replace(candidates.features, gaps={}),
        references=None,
        sources=None,
        files=(),
    )


def read_record(path: Path) -> dict[str, Any]:
    """Read a JSON object that was written here."""
    try:
        record = checked_json.loads(path.read_bytes())
        if not isinstance(record, dict):
            raise ValueError("it is no object")
        return record
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise TunesmithError(f"{path}: {problem}; name a work directory of your own") from None
    except ValueError as error:
        raise damaged_record(path, error) from None


def damaged_record(path: Path | str, error: Exception) -> TunesmithError:
    """Return the error of a step whose file does not hold what was written."""
    problem = shortened(str(error).partition(";")[0])
    return TunesmithError(f"{path}: it is damaged ({problem}); remove it, and it is made again")
