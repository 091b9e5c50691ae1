"""A format of candidates under test: files that it writes to a temporary folder, and reads."""

from __future__ import annotations

import contextlib
import inspect
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.read import read_into
from tunesmith.io.streams import Source
from tunesmith.registry import Registry
from tunesmith.testing.checks import Broken, NotApplicable
from tunesmith.testing.format_samples import sets


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written, in a separate folder with the files that belong to it."""

    path: str
    data: bytes
    description: str
    candidates: CandidateSet | None

    @property
    def folder(self) -> str:
        """Where it is."""
        return os.path.dirname(self.path)

    @property
    def is_text(self) -> bool:
        """Whether it consists of lines."""
        return self.data.endswith(b"\n") and b"\0" not in self.data

    def siblings(self) -> list[str]:
        """Return the names of the other files."""
        return [name for name in os.listdir(self.folder) if name != os.path.basename(self.path)]


class InBlocks(Source):
    """A source that comes in blocks of a given number of lines."""

    def __init__(self, path: str, data: bytes, lines: int) -> None:
        super().__init__(path, data)
        self.size = lines

    def blocks(self, size: int = 0) -> Iterator[bytes]:
        """Yield that many lines at a time."""
        lines = b"".join(super().blocks()).splitlines(keepends=True)
        for lo in range(0, len(lines), self.size):
            yield b"".join(lines[lo : lo + self.size])


@dataclass
class FormatProbe:
    """A format under test, with a sample file and the names of its features."""

    registry: ClassVar[Registry[Any]] = FORMATS

    format: CandidateFormat
    sample: bytes | None
    features: tuple[str, ...]

    @property
    def plugin(self) -> CandidateFormat:
        """What is checked."""
        return self.format

    @property
    def can_write(self) -> bool:
        """Whether it has a writer."""
        cls = type(self.format)
        return cls.write is not CandidateFormat.write or cls.lines is not CandidateFormat.lines

    @property
    def is_recognised(self) -> bool:
        """Whether files show their format; others must be named."""
        recognises = inspect.getattr_static(type(self.format), "recognises")
        function = getattr(recognises, "__func__", recognises)
        return function is not CandidateFormat.recognises

    def needs_recognition(self) -> None:
        """Skip a rule about recognition if nothing is recognised."""
        if not self.is_recognised:
            raise NotApplicable("it recognises nothing: users name it with --format")

    @contextlib.contextmanager
    def files(self) -> Iterator[list[WrittenFile]]:
        """Write a file for every set that the format can hold."""
        with tempfile.TemporaryDirectory() as folder:
            files = []
            refused = "it has no writer"
            if self.can_write:
                samples = sets(self.format.holds, self.features)
                for k, (description, candidates) in enumerate(samples.items()):
                    try:
                        files.append(
                            self.written(candidates, description, os.path.join(folder, str(k)))
                        )
                    except UsageError as error:
                        refused = str(error)
            if self.sample is not None:
                path = os.path.join(folder, f"sample{self._suffix()}")
                with open(path, "wb") as file:
                    file.write(self.sample)
                files.append(WrittenFile(path, self.sample, "the sample", None))
            if not files and self.can_write:
                raise Broken(
                    f"it refuses to write any set that it is given ({refused}); "
                    "give check_format names of features that it takes, or a sample"
                )
            if not files:
                raise NotApplicable("it can be read only; give check_format a sample of a file")
            yield files

    @contextlib.contextmanager
    def file(self) -> Iterator[WrittenFile]:
        """Write the richest file that the format can hold."""
        with self.files() as (richest, *_):
            self.read(richest.path, richest.data)  # skips if options are needed
            yield richest

    def written(self, candidates: CandidateSet, description: str, folder: str) -> WrittenFile:
        """Write a set to a new folder."""
        os.makedirs(folder)
        path = os.path.join(folder, f"sample{self._suffix()}")
        order, scores = np.arange(len(candidates)), np.linspace(0.0, 1.0, len(candidates))
        self.format.write(candidates, order, scores, path)
        with open(path, "rb") as file:
            return WrittenFile(path, file.read(), description, candidates)

    def _suffix(self) -> str:
        return self.format.suffixes[0] if self.format.suffixes else ".txt"

    def read(self, path: str, data: bytes, lines: int | None = None) -> CandidateSet:
        """Read bytes as if they were in a file."""
        collector = Collector()
        self.read_into(collector, path, data, lines)
        return collector.finish()

    def read_into(
        self, collector: Collector, path: str, data: bytes, lines: int | None = None
    ) -> None:
        """Read bytes into a collector, in blocks of a given number of lines, if any."""
        source = Source(path, data) if lines is None else InBlocks(path, data, lines)
        try:
            read_into(collector, self.format, source)
        except UsageError as error:
            if self.format == type(self.format)():  # with defaults only: options may be missing
                raise NotApplicable(f"it needs options to be read: {error}") from None
            raise
