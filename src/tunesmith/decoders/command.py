"""Any program that takes a weights file and sentences and writes an n-best list.

Its command is a template: split into arguments once, filled in without a shell.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, digest_of
from tunesmith.decoders.external import ExternalDecoder, Shard
from tunesmith.decoders.program import check_program, find_program, shell_syntax
from tunesmith.errors import UsageError, nearest, shortened
from tunesmith.io.weights.base import WEIGHTS_FORMATS
from tunesmith.io.weights.files import WeightsFile, read_weights
from tunesmith.registry import option

#: The placeholders of a command, and whether one must occur.
PLACEHOLDERS = {"weights": True, "input": False, "nbest_size": False, "output": False}
#: Changes are reported of files that a command names and that are smaller than this.
SMALL = 1 << 20


@DECODERS.register("command")
@dataclass(frozen=True, kw_only=True)
class CommandDecoder(ExternalDecoder):
    """A program that takes a weights file and sentences and writes an n-best list."""

    command: str = option(
        "",
        "the program and its arguments, run without a shell; {weights}, {input}, {output} stand "
        "for files and {nbest_size} for a number; without {input} the sentences go to standard "
        "input, without {output} the n-best list is standard output",
        "COMMAND",
    )
    weights_format: str | None = option(
        None, "format of the weights file; default: that of the weights template, or json", "NAME"
    )
    weights_template: str | None = option(
        None,
        "weights file in the decoder's own format: its values are replaced, "
        "the rest is kept, and tuning starts from them",
        "FILE",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.command.strip():
            raise UsageError("the decoder 'command' needs a command; give --decoder-command")
        _ = self._template, self.weights_name  # so that errors in them are raised now
        if self._file is not None and self._format != self._file.format:
            raise UsageError(
                f"{self.weights_template} is in the format {self._file.format} and not "
                f"{self._format}; leave out the weights format"
            )

    @cached_property
    def _template(self) -> Template:
        return Template.parse(self.command, PLACEHOLDERS)

    @cached_property
    def _file(self) -> WeightsFile | None:
        return None if self.weights_template is None else read_weights(self.weights_template)

    @property
    def _format(self) -> str:
        return self.weights_format or ("json" if self._file is None else self._file.format)

    @property
    def weights_name(self) -> str:  # type: ignore[override]
        """The weights file has the ending of its format."""
        suffixes = getattr(WEIGHTS_FORMATS.get(self._format), "suffixes", ())
        return "weights" + (suffixes[0] if suffixes else ".txt")

    @property
    def reads_stdin(self) -> bool:  # type: ignore[override]
        """Whether no file takes the sentences."""
        return "input" not in self._template.placeholders

    @property
    def writes_stdout(self) -> bool:  # type: ignore[override]
        """Whether no file takes the n-best list."""
        return "output" not in self._template.placeholders

    def arguments(self, shard: Shard) -> list[str]:
        """Fill in the template."""
        values = {
            "weights": os.fspath(shard.weights),
            "input": os.fspath(shard.input),
            "output": os.fspath(shard.output),
            "nbest_size": str(self.nbest_size),
        }
        return self._template.filled(values)

    def weights_bytes(self, weights: Weights) -> bytes:
        """Write the weights into the template, or into a file of their own."""
        return WEIGHTS_FORMATS.get(self._format)().write(weights, self._text)

    @property
    def _text(self) -> bytes:
        return b"" if self._file is None else self._file.text

    def start(self) -> Weights | None:
        """Return the weights of the template."""
        return None if self._file is None else self._file.weights

    def rewritten(self, weights: Weights) -> bytes | None:
        """Return the weights template with other weights."""
        return None if self._file is None else self._file.rewritten(weights)

    def remark(self) -> str:
        """Say what a shell would have been needed for."""
        return shell_syntax(self._template.fixed)

    def check(self) -> None:
        """Raise an error if the program cannot be started."""
        check_program(self._template.fixed)

    def configuration(self) -> dict[str, Any]:
        """Return the options, and the digest of the weights template."""
        settings = {**super().configuration(), "weights_format": self._format}
        if self.weights_template is not None:
            settings["weights_template"] = digest_of(self.weights_template)
        return settings

    def files(self) -> dict[str, str]:
        """Return the digests of the program and of small files that the command names."""
        named = {argument: _file_of(argument) for argument in self._template.fixed}
        program = self._template.fixed[0]
        named[program] = find_program(program)
        return {
            argument: digest_of(path)
            for argument, path in named.items()
            if path is not None and os.path.isfile(path) and os.path.getsize(path) < SMALL
        }


def _file_of(argument: str) -> str | None:
    """Return the file that an argument names, alone or as --option=FILE."""
    for path in (argument, argument.partition("=")[2]):
        if path and os.path.isfile(path):
            return path
    return None


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
