"""Transforms of texts that users bring: a transform of jiwer, or a function of their own."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.registry import IN_FILE, object_in_file

#: Digits of a file's digest in the name of a transform, as in ``norm.py:clean@0b1c2d3e``.
DIGITS = 8
_DIGEST = re.compile(rf"@[0-9a-f]{{{DIGITS}}}")


@dataclass(frozen=True)
class Transform:
    """What is done to texts before they are compared.

    Attributes
    ----------
    spec
        ``path/to/file.py:Name@digest``, which says that of the file that it was made with; of what
        Python brought, its name.
    apply
        A text in; a text out, or one list of words (or characters) in a list, as from jiwer's
        ``Reduce...`` transforms.
    """

    spec: str
    apply: Callable[[str], Any] = field(compare=False)
    brought: int = 0  # two functions of one name differ

    def __str__(self) -> str:
        return self.spec

    def __reduce__(self) -> tuple[Any, ...]:
        """Run a file again where it is needed."""
        if self.brought:
            return type(self), (self.spec, self.apply, self.brought)
        return transform_of, (self.spec,)

    def __call__(self, text: str) -> str | list[str]:
        """Return a text, or its units."""
        result = self.apply(text)
        if isinstance(result, str):
            return result
        if isinstance(result, list) and len(result) == 1:
            (only,) = result
            if isinstance(only, str):
                return only
            if isinstance(only, list) and all(isinstance(unit, str) for unit in only):
                return only
        raise TunesmithError(
            f"transform {self.spec} makes {result!r} of {text!r}; return a text, or its words as "
            "jiwer's ReduceToListOfListOfWords does"
        )


def transform_of(transform: object) -> Transform | str:
    """Return a transform: of a file, or what Python brings; the empty text for none."""
    if transform == "" or isinstance(transform, Transform):
        return transform
    if isinstance(transform, str):
        return _from_file(transform)
    if not callable(transform):
        raise UsageError(f"transform is {transform!r}; give a function, or path/to/file.py:Name")
    name = getattr(transform, "__qualname__", type(transform).__qualname__)
    if isinstance(transform, type):
        raise UsageError(f"transform is the class {name}; give an object of it, as {name}()")
    return Transform(name, transform, id(transform))


def _from_file(spec: str) -> Transform:
    plain, digest = (spec[:-9], spec[-8:]) if _DIGEST.fullmatch(spec[-9:]) else (spec, "")
    if not IN_FILE.fullmatch(plain):
        raise UsageError(f"transform is '{spec}'; write path/to/file.py:Name")
    path, name = plain.rsplit(":", 1)
    function = object_in_file(path, name)
    if isinstance(function, type):
        try:
            function = function()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise UsageError(f"{path}: {name}() is not made, {problem}; give a function") from error
    if not callable(function):
        raise UsageError(f"{path}: {name} is no function; give one that takes a text")
    actual = _digest_of(os.path.abspath(path))
    if digest and digest != actual:
        raise TunesmithError(
            f"{path} is not the file of transform '{spec}': its digest begins with {actual}; have "
            "it as it was, or leave the digest out"
        )
    return Transform(f"{plain}@{actual}", function)


@functools.cache
def _digest_of(path: str) -> str:
    """Return the first digits of a file's SHA-256 as it was when it was run, which is once."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:DIGITS]
