"""Templates of commands: split into arguments once, filled in without a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from tunesmith.errors import UsageError, nearest, shortened

#: A doubled brace, a placeholder, or a brace that is neither.
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
BRACES = "write {{ and }} for braces"


@dataclass(frozen=True)
class Template:
    """The arguments of a command, with placeholders in them.

    Attributes
    ----------
    arguments
        As they stand in the template.
    placeholders
        Those that occur.
    """

    arguments: tuple[str, ...]
    placeholders: frozenset[str]

    @classmethod
    def parse(cls, text: str, known: Mapping[str, bool]) -> Template:
        """Split a template as a shell would, but for its expansions.

        Parameters
        ----------
        known
            The placeholders that there are, and whether one must occur.
        """
        try:
            arguments = tuple(shlex.split(text))
        except ValueError as error:
            problem = str(error).lower().rstrip(".")
            raise UsageError(f"the command has {problem}; close its quotes") from None
        if not arguments:
            raise UsageError("the command is empty; name a program and its arguments")
        names: set[str] = set()
        for argument in arguments:
            names.update(_placeholders(argument, known))
        if _placeholders(arguments[0], known):
            raise UsageError("the command begins with a placeholder; begin with a program")
        if "\0" in text:
            raise UsageError("the command holds a NUL character; take it out")
        for name, needed in known.items():
            if needed and name not in names:
                raise UsageError(
                    f"the command has no {{{name}}}, so the {name} would have no effect; "
                    "say where its file goes"
                )
        return cls(arguments, frozenset(names))

    def filled(self, values: Mapping[str, str]) -> list[str]:
        """Return the arguments with values for the placeholders, each as it is."""

        def value(part: re.Match[str]) -> str:
            return part.group()[0] if part.group(1) is None else values[part.group(1)]

        return [_PART.sub(value, argument) for argument in self.arguments]

    @property
    def fixed(self) -> list[str]:
        """The arguments without placeholders, as the program gets them."""
        plain = [a for a in self.arguments if not any(p.group(1) for p in _PART.finditer(a))]
        return [_PART.sub(lambda part: part.group()[0], argument) for argument in plain]


def _placeholders(argument: str, known: Mapping[str, bool]) -> set[str]:
    """Return the placeholders in an argument; raise an error if one is unknown."""
    placeholders = set()
    for part in _PART.finditer(argument):
        name = part.group(1)
        if name is None and len(part.group()) == 1:
            raise UsageError(f"'{shortened(argument)}' has a single brace; {BRACES}")
        if name is not None and name not in known:
            near = nearest(name, list(known), len(known))
            names = " or ".join(f"{{{other}}}" for other in near)
            raise UsageError(f"unknown placeholder {{{shortened(name)}}}; use {names}, or {BRACES}")
        if name is not None:
            placeholders.add(name)
    return placeholders
