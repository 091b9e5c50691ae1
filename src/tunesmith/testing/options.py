"""Rules that all kinds of plug-ins share: names, options, equality and signatures."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

from tunesmith.errors import TunesmithError
from tunesmith.registry import Option, Registry, options_of
from tunesmith.testing.checks import Broken, demand

#: Characters that are syntax where a user writes a name with options.
RESERVED = ":,()=*"
KINDS = (bool, int, float, str)


class Probe(Protocol):
    """A plug-in under test."""

    #: Where plug-ins of its kind are registered.
    registry: ClassVar[Registry[Any]]

    @property
    def plugin(self) -> Any:
        """What is checked."""


def has_a_name(probe: Probe) -> None:
    """Have a name that a user can write, and a docstring."""
    cls, registry = type(probe.plugin), probe.registry
    # The registry of the entry points "tunesmith.metrics" is METRICS.
    decorator = f"@{registry.group.rpartition('.')[2].upper()}.register"
    name = getattr(cls, "name", None)
    demand(
        isinstance(name, str) and name,
        f"{cls.__name__} has no name",
        f'decorate the class with {decorator}("some-name")',
    )
    reserved = [c for c in str(name) if c.isspace() or c in RESERVED]
    demand(
        not reserved,
        f"'{name}' cannot be written with options behind it, as it holds '{''.join(reserved)}'",
        "name it with letters, digits and hyphens",
    )
    known = registry.get(str(name)) if name in registry.names() else cls
    demand(
        known is cls,
        f"'{name}' is the name of another {registry.kind}, {known.__module__}.{known.__qualname__}",
        "choose another name",
    )
    docstring = inspect.getdoc(cls) or ""
    is_inherited = registry.base is not None and docstring == inspect.getdoc(registry.base)
    demand(
        docstring and not is_inherited and not docstring.startswith(f"{cls.__name__}("),
        f"{cls.__name__} has no docstring",
        "say in its first line what it is; `tunesmith list` shows that",
    )


def options_are_documented(probe: Probe) -> None:
    """Give every option a default, a help text and a type that can be parsed."""
    for option in _options(probe.plugin):
        flag = option.flag
        remedy = f'declare it as {option.field}: int = option(3, "what it is")'
        demand(option.default is not dataclasses.MISSING, f"option '{flag}' has no default", remedy)
        demand(option.help, f"option '{flag}' has no help text", remedy)
        demand(
            option.type in KINDS,
            f"option '{flag}' has the type {option.type}",
            "make it bool, int, float, str, a Literal of texts, or a tuple of one of these",
        )
        if option.default is None:
            continue  # computed where the user gives none
        texts = [_text(v) for v in option.default] if option.several else _text(option.default)
        try:
            parsed = option.parse(texts, type(probe.plugin).__name__)
        except TunesmithError as error:
            raise Broken(
                f"the default of option '{flag}' is refused where a user writes it ({error}); "
                "give a default of its type"
            ) from None
        demand(
            parsed == option.default,
            f"the default of '{flag}' is {option.default!r} and is read as {parsed!r}",
            "give a default of its type",
        )


def _options(plugin: Any) -> list[Option]:
    try:
        return options_of(type(plugin))
    except (NameError, TypeError) as error:
        raise Broken(f"its fields have types that cannot be found ({error}); import them") from None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def signature_tells_options(probe: Probe) -> None:
    """Return a signature of one line that is another one if an option changes."""
    plugin, signature = probe.plugin, probe.plugin.signature()
    demand(
        isinstance(signature, str) and signature and signature.splitlines() == [signature],
        f"signature() is {signature!r}",
        "return one line of text",
    )
    demand(
        copy.deepcopy(plugin).signature() == signature,
        "an equal object has another signature",
        "make it of the options alone",
    )
    for field, before, after in _changed(plugin):
        demand(
            before.signature() != after.signature(),
            f"the signature is the same for {field}={getattr(before, field)!r} and "
            f"{getattr(after, field)!r}",
            f"put {field} into it: scores that can differ must not look alike",
        )


def equal_options_are_equal(probe: Probe) -> None:
    """Be equal, with the same hash, where options are the same, and nowhere else."""
    remedy = "decorate the class with @dataclass(frozen=True)"
    plugin = probe.plugin
    other = copy.deepcopy(plugin)
    demand(other == plugin, "two objects with the same options are not equal", remedy)
    try:
        same = hash(other) == hash(plugin)
    except TypeError as error:
        raise Broken(f"it cannot be hashed ({error}); {remedy}") from None
    demand(same, "equal objects have different hashes", remedy)
    for field, before, after in _changed(plugin):
        demand(before != after, f"objects that differ in {field} are equal", remedy)


def _changed(plugin: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield, for each option, two objects that differ only in it.

    Where an option is valid only with another one set, that one is set in both.
    """
    if not dataclasses.is_dataclass(plugin):
        return
    options = _options(plugin)
    for option in options:
        others = [o for o in options if o is not option and (o.choices or o.type is bool)]
        bases = [{}, *({o.field: v} for o in others for v in _other_values(o, plugin))]
        pairs = (
            (option.field, before, after)
            for base in bases
            if (before := _replaced(plugin, base)) is not None
            for value in _other_values(option, plugin)
            if (after := _replaced(before, {option.field: value})) is not None
        )
        first = next(pairs, None)
        if first is not None:
            yield first


def _replaced(plugin: Any, values: dict[str, Any]) -> Any:
    try:
        return dataclasses.replace(plugin, **values)
    except TunesmithError:
        return None  # options that exclude each other


def _other_values(option: Option, plugin: Any) -> list[Any]:
    value = getattr(plugin, option.field)
    if option.several:
        return []  # texts with their own syntax
    if option.choices:
        return [choice for choice in option.choices if choice != value]
    if option.type is bool:
        return [not value]
    if option.type is str:
        return [f"{value}x"]
    if value is None:
        return [option.type(1), option.type(2)]
    return [value + 1, value - 1] if option.type is int else [value + 1.0, value / 2 + 0.125]
