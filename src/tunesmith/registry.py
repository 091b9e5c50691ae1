"""From a name to a class: filled by decorators, by built-in modules and by entry points."""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil
import typing
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any, Generic, TypeVar

from tunesmith.errors import UnknownNameError, UsageError

T = TypeVar("T")
C = TypeVar("C", bound=type[Any])


class Registry(Generic[T]):
    """Classes of one kind by name.

    Parameters
    ----------
    kind
        What an error calls it: "metric", "tuner".
    package
        Its built-in modules are imported at the first question, so that their
        decorators have run; a new file there needs no entry anywhere else.

    group
        The entry-point group under which other packages register.
    """

    def __init__(self, kind: str, package: str, group: str) -> None:
        self.kind = kind
        self.package = package
        self.group = group
        self._classes: dict[str, type[T]] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[C], C]:
        """Decorate a class so that it is found under ``name``."""

        def add(cls: C) -> C:
            cls.name = name
            self._classes[name] = cls
            return cls

        return add

    def names(self) -> list[str]:
        """All names, sorted."""
        self._load()
        return sorted(self._classes)

    def get(self, name: str) -> type[T]:
        """Return the class of a name; the nearest names are in the error if there is none."""
        self._load()
        if name not in self._classes:
            raise UnknownNameError(self.kind, name, self._classes)
        return self._classes[name]

    def create(self, spec: str) -> T:
        """Make an object of ``name`` or ``name:option=value,option=value``."""
        name, _, options = spec.partition(":")
        cls = self.get(name)
        given: dict[str, str] = {}
        for part in filter(None, options.split(",")):
            option, equals, value = part.partition("=")
            if not equals:
                raise UsageError(
                    f"'{part}' in {self.kind} '{spec}' has no value; write option=value"
                )
            given[option] = value
        return cls(**parse_options(cls, given, f"{self.kind} '{name}'"))

    def _load(self) -> None:
        if self._loaded:
            return
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self.package}.{module.name}")
        for entry in metadata.entry_points(group=self.group):
            self.register(entry.name)(entry.load())
        self._loaded = True


@dataclasses.dataclass(frozen=True)
class Option:
    """One dataclass field as a user sets it."""

    field: str
    type: type[Any]
    choices: tuple[str, ...]
    default: Any
    help: str

    @property
    def flag(self) -> str:
        """The field's name with hyphens."""
        return self.field.replace("_", "-")

    def parse(self, text: str, owner: str) -> Any:
        """Turn text into the field's type."""
        if self.choices and text not in self.choices:
            raise UnknownNameError(f"{self.flag} of {owner}", text, self.choices)
        if self.type is bool:
            if text not in {"true", "false"}:
                raise UsageError(f"{self.flag} of {owner} is '{text}'; write true or false")
            return text == "true"
        try:
            value = self.type(text)
        except ValueError:
            value = math.nan
        if isinstance(value, float) and not math.isfinite(value):
            kind = "whole number" if self.type is int else "finite number"
            raise UsageError(f"{self.flag} of {owner} is '{text}'; give a {kind}")
        return value


def options_of(cls: type[Any]) -> list[Option]:
    """List the fields of a dataclass as options; ``metadata["help"]`` documents each."""
    hints = typing.get_type_hints(cls)
    options = []
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        choices: tuple[str, ...] = ()
        if typing.get_origin(hint) is typing.Literal:
            choices, hint = typing.get_args(hint), str
        options.append(
            Option(field.name, hint, choices, field.default, field.metadata.get("help", ""))
        )
    return options


def option(default: T, help: str) -> T:  # noqa: A002
    """Declare a dataclass field that is an option, a flag and its documentation at once."""
    return dataclasses.field(default=default, metadata={"help": help})


def parse_options(cls: type[Any], given: Mapping[str, str], owner: str) -> dict[str, Any]:
    """Turn ``option -> text`` into the keyword arguments of a dataclass."""
    known = {option.flag: option for option in options_of(cls)}
    parsed = {}
    for flag, text in given.items():
        if flag not in known:
            if not known:
                raise UsageError(f"{owner} has no options; leave out '{flag}'")
            raise UnknownNameError(f"option of {owner}", flag, known)
        parsed[known[flag].field] = known[flag].parse(text, owner)
    return parsed
