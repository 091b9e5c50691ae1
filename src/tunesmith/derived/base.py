"""What a derived feature is, and its name, by which weights say how to derive it again.

A name as ``derived:vote:number`` holds everything that has to be known, so that it travels with
the weights in whatever format they are written. Where a file is part of it, so are the first
digits of the file's SHA-256: ``derived:pieces:tokens.model@0b1c2d3e``.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.registry import Registry

#: What the names of these features begin with.
PREFIX = "derived:"
#: Digits of a file's digest in a name.
DIGITS = 8


@dataclass(frozen=True)
class Derived(ABC):
    """A feature that is derived from a set.

    Attributes
    ----------
    argument
        What stands behind the second colon of its name; empty if nothing does.
    folders
        Where files may be, beside the current folder.
    """

    argument: str = ""
    folders: tuple[str, ...] = field(default=(), compare=False)

    takes_text: ClassVar[str] = "argument"
    #: The kind, as a user writes it.
    name: ClassVar[str]
    #: How a usage line shows the argument: none, ``NAME``, or ``[NAME]`` where it may be left out.
    argument_is: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.argument and not self.argument_is:
            raise UsageError(f"feature '{self.name}' takes nothing after a colon; drop it")
        if not self.argument and self.argument_is and self.argument_is[0] != "[":
            raise UsageError(f"feature '{self.name}' needs more; write {self.usage()}")

    @classmethod
    def usage(cls) -> str:
        """Return how a user writes it."""
        if not cls.argument_is:
            return cls.name
        if cls.argument_is[0] == "[":
            return f"{cls.name}[:{cls.argument_is[1:]}"
        return f"{cls.name}:{cls.argument_is}"

    @property
    def feature(self) -> str:
        """The name of the feature."""
        return PREFIX + self.name + (f":{self.argument}" if self.argument else "")

    def is_sparse(self, candidates: CandidateSet) -> bool:
        """Tell whether it is 0 for most candidates, as what it is derived from is."""
        return False

    @abstractmethod
    def values(self, candidates: CandidateSet) -> Floats:
        """Return the value [N] of each candidate."""


class OfWords(Derived):
    """A feature that is a sum over the words of a text: forests have it on their hyperedges."""

    @abstractmethod
    def of_word(self, word: str) -> int:
        """Return what a word adds."""

    def of_vocabulary(self, vocabulary: Sequence[str]) -> Floats:
        """Return what each word adds."""
        return np.array([self.of_word(word) for word in vocabulary], np.float64)

    def values(self, candidates: CandidateSet) -> Floats:
        """Return the sums; they are whole numbers, and so exact."""
        texts = candidates.texts
        sums = np.append(0.0, np.cumsum(self.of_vocabulary(candidates.vocabulary)[texts.ids]))
        values: Floats = sums[texts.start[1:]] - sums[texts.start[:-1]]
        return values


@dataclass(frozen=True)
class WithFile(Derived):
    """A feature with a file, whose digest is in its name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.argument:
            path, digest = self._split()
            data = self._read(path)
            actual = hashlib.sha256(data).hexdigest()[:DIGITS]
            if digest and digest != actual:
                raise TunesmithError(
                    f"{path} is not the file that '{self.feature}' was derived with: its digest "
                    f"begins with {actual}; have it as it was, or tune again"
                )
            if any(c.isspace() or c == "#" for c in path):
                raise UsageError(
                    f"the name of a feature holds '{path}', and weights files take neither spaces "
                    "nor # in names; rename the file"
                )
            vars(self)["argument"] = f"{path}@{actual}"
            self.load(data, path)

    def _split(self) -> tuple[str, str]:
        path, at, digest = self.argument.rpartition("@")
        is_digest = len(digest) == DIGITS and set(digest) <= set("0123456789abcdef")
        return (path, digest) if at and is_digest else (self.argument, "")

    def _read(self, path: str) -> bytes:
        for folder in ("", *self.folders):
            place = Path(folder) / path
            if place.is_file():
                return place.read_bytes()
        raise TunesmithError(
            f"{path}: there is no such file, and feature '{self.name}' is derived with it; have it "
            "here or beside the weights"
        )

    def load(self, data: bytes, path: str) -> None:
        """Take what is needed out of the file."""


DERIVED: Registry[Derived] = Registry(
    "derived feature", "tunesmith.derived", "tunesmith.derived_features", Derived
)


def derived_of(spec: str, folders: tuple[str, ...] = ()) -> Derived:
    """Return the feature that a user writes as ``words`` or ``vote:number``."""
    kind, _, argument = spec.strip().removeprefix(PREFIX).partition(":")
    if kind not in DERIVED.names():
        raise UnknownNameError("derived feature", kind, DERIVED.names())
    return DERIVED.get(kind)(argument, folders)


def derived_in(names: Iterable[str], path: str | None = None) -> list[Derived]:
    """Return the derived features among the names of weights.

    Parameters
    ----------
    names
        Names of features.
    path
        The file of the weights: it is named in errors, and files of features may be beside it.
    """
    folders = () if path is None or path == "-" else (os.path.dirname(path),)
    features = []
    for name in names:
        if not name.startswith(PREFIX):
            continue
        try:
            features.append(derived_of(name, folders))
        except TunesmithError as error:
            if path is None:
                raise
            raise UsageError(f"{path}: {error}") from None
        if features[-1].feature != name:
            where = "" if path is None else f"{path}: "
            raise UsageError(
                f"{where}'{name}' does not say which file it is derived with; write "
                f"{features[-1].feature}"
            )
    return features
