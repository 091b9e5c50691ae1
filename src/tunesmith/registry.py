"""From a name to a class: filled by decorators, by built-in modules and by entry points."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import math
import operator
import os
import pkgutil
import re
import sys
import traceback
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import Any, ClassVar, Generic, TypeVar

from tunesmith.errors import UnknownNameError, UsageError

T = TypeVar("T")
C = TypeVar("C", bound=type[Any])


#: How the modules of users' files are called, before their path in hexadecimal digits: what is
#: sent to another process says by it where its class comes from.
FILE_MODULE = "tunesmith_file_"
#: ``path/to/file.py:Name``
IN_FILE = re.compile(r".+?\.py:[^\W\d]\w*")


class Registry(Generic[T]):
    """Classes of one kind by name.

    Parameters
    ----------
    kind
        What an error calls it: "metric", "tuner".
    package
        Its built-in modules are imported at the first question, so that their
        decorators have run; a new file there needs no entry anywhere else. Several
        packages have spaces between them; ``package:name`` is a module that stands in a
        package of another kind.
    group
        The entry-point group under which other packages register.
    base
        What classes from a user's file must derive from.
    """

    def __init__(self, kind: str, package: str, group: str, base: type[Any] | None = None) -> None:
        self.kind = kind
        entries = [entry.split(":") for entry in package.split()]
        self._packages = [package for package, *name in entries if not name]
        self._modules = [f"{package}.{name}" for package, *names in entries for name in names]
        self.group = group
        self.base = base
        self._classes: dict[str, type[T]] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[C], C]:
        """Decorate a class so that it is found under ``name``."""

        def add(cls: C) -> C:
            known = self._classes.get(name)
            is_ours = known is not None and _is_ours(known)
            if is_ours and not _is_ours(cls):
                raise UsageError(
                    f"the {self.kind} '{name}' comes with tunesmith; register another name"
                )
            cls.name = name
            self._classes[name] = cls
            return cls

        return add

    def names(self) -> list[str]:
        """All names, sorted."""
        self._load()
        return sorted(self._classes)

    def get(self, name: str) -> type[T]:
        """Return the class of a name; the nearest names are in the error if there is none.

        ``path/to/file.py:Name`` runs that file and takes the class from it.
        """
        if self._find(name):
            return self._classes[name]
        self._load()
        if IN_FILE.fullmatch(name):
            return self._from_file(*name.rsplit(":", 1))
        if name.endswith(".py"):
            raise UsageError(f"'{name}' names a file and no class of it; write {name}:Name")
        if name not in self._classes:
            raise UnknownNameError(self.kind, name, self._classes)
        return self._classes[name]

    def _find(self, name: str) -> bool:
        """Tell whether a name is known, or becomes so by importing the file that is called so.

        All others need not be imported then, which takes longer than many a command.
        """
        module = name.replace("-", "_")
        if name not in self._classes and not self._loaded and module.isidentifier():
            inside = (f"{package}.{module}" for package in self._packages)
            for place in [place for place in inside if importlib.util.find_spec(place)]:
                importlib.import_module(place)
            for place in self._modules:
                if place.endswith(f".{module}"):
                    importlib.import_module(place)
        return name in self._classes

    def create(self, spec: str) -> T:
        """Make an object of ``name`` or ``name:option=value,option=value``.

        An option that is true or false is true where it has no value. A class whose
        ``takes_text`` names a field gets all that follows the colon as that field's value.
        """
        # The value of an option may name a file too: wer:transform=norm.py:clean.
        is_known = self._find(spec.partition(":")[0]) or spec.partition(":")[0] in self.names()
        in_file = None if is_known else IN_FILE.match(spec)
        split = in_file.end() if in_file else (spec + ":").index(":")
        name, options = spec[:split], spec[split + 1 :]
        cls = self.get(name)
        if (field := getattr(cls, "takes_text", None)) is not None:
            if not options:
                raise UsageError(f"{self.kind} '{name}' needs a name; write {name}:NAME")
            return cls(**{field: options})
        texts: dict[str, str] = {}
        for part in filter(None, options.split(",")):
            option, equals, value = part.partition("=")
            flags = {o.flag: o for o in options_of(cls)}
            if not equals and part in flags and flags[part].type is bool:
                value = "true"
            elif not equals and part not in flags and flags:
                raise UnknownNameError(f"option of {self.kind} '{name}'", part, flags)
            elif not equals:
                raise UsageError(
                    f"'{part}' in {self.kind} '{spec}' has no value; write option=value"
                )
            if option in texts:
                raise UsageError(f"'{option}' stands twice in {self.kind} '{spec}'; give it once")
            texts[option] = value
        fields = parse_options(cls, texts, f"{self.kind} '{name}'")
        try:
            return cls(**fields)
        except TypeError as error:
            if cls.__module__.partition(".")[0] == __package__:
                raise
            # Methods that it lacks, or arguments that it wants.
            raise UsageError(f"{self.kind} '{name}' cannot be made: {error}; fix it") from error

    def _from_file(self, path: str, name: str) -> type[T]:
        """Run a file and return a class of it."""
        module = _run_file(path, name)
        cls = getattr(module, name, None)
        if not isinstance(cls, type):
            classes = [n for n, c in vars(module).items() if isinstance(c, type)]
            raise UnknownNameError(f"class in {path}", name, classes)
        if self.base is not None and not issubclass(cls, self.base):
            raise UsageError(f"{path}: {name} is no {self.base.__name__}; derive it from that")
        if "name" not in vars(cls):
            cls.name = name  # type: ignore[attr-defined]
        return cls

    def _load(self) -> None:
        if self._loaded:
            return
        for name in self._packages:
            package = importlib.import_module(name)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{name}.{module.name}")
        for name in self._modules:
            importlib.import_module(name)
        for entry in metadata.entry_points(group=self.group):
            try:
                self.register(entry.name)(entry.load())
            except Exception as error:  # noqa: BLE001  (someone else's code)
                problem = f"{self.kind} '{entry.name}' of {entry.value} cannot be loaded"
                warnings.warn(f"{problem} ({type(error).__name__}: {error})", stacklevel=3)
        self._loaded = True


def object_in_file(path: str, name: str) -> Any:
    """Run a user's file and return what a name stands for in it."""
    module = _run_file(path, name)
    if name not in vars(module):
        known = [n for n, value in vars(module).items() if callable(value) and n[0] != "_"]
        raise UnknownNameError(f"name in {path}", name, known)
    return vars(module)[name]


def _run_file(path: str, name: str) -> types.ModuleType:
    """Run a user's file, for a name in it."""
    if not os.path.isfile(path):
        raise UsageError(f"{path}: there is no such file; name one that defines {name}")
    try:
        return importlib.import_module(FILE_MODULE + os.fsencode(os.path.abspath(path)).hex())
    except (Exception, SystemExit) as error:
        where = f"{path}:{_line_in(error, path)}"
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{where}: {problem}; fix the file") from error


#: Bounds of an option: what must hold, and what to give where it does not. NaN is in no range.
BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "above": (operator.gt, "a number above {}"),
    "least": (operator.ge, "{} or more"),
    "below": (operator.lt, "a number below {}"),
    "most": (operator.le, "{} or less"),
}


@dataclasses.dataclass(frozen=True)
class Option:
    """One dataclass field as a user sets it.

    ``several``: the field is a tuple, and the option may be given again; ``type`` is that of
    one value. ``metavar`` is how a help writes a value; for ``convert`` and ``bounds`` see
    :func:`option`.
    """

    field: str
    type: type[Any]
    choices: tuple[str, ...]
    default: Any
    help: str
    several: bool = False
    metavar: str = ""
    convert: Callable[[str, Any], Any] | None = None
    bounds: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def flag(self) -> str:
        """The field's name with hyphens."""
        return self.field.replace("_", "-")

    def parse(self, value: str | Sequence[str], owner: str) -> Any:
        """Turn text, or several texts, into the field's type."""
        if self.several:
            texts = [value] if isinstance(value, str) else list(value)
            if self.type in (int, float):  # numbers, with commas between them
                texts = [part.strip() for text in texts for part in text.split(",")]
            return tuple(self._parse(text, owner) for text in texts)
        if not isinstance(value, str):
            raise UsageError(f"{self.flag} of {owner} is given more than once; give it once")
        return self._parse(value, owner)

    def _parse(self, text: str, owner: str) -> Any:
        if self.choices and text not in self.choices:
            raise UnknownNameError(f"{self.flag} of {owner}", text, self.choices)
        if self.type is bool:
            if text not in {"true", "false"}:
                raise UsageError(f"{self.flag} of {owner} is '{text}'; write true or false")
            return text == "true"
        try:
            # Python also takes 1_0 and digits of other scripts.
            numeric = self.type not in (int, float) or (text.isascii() and "_" not in text)
            value = self.type(text) if numeric else math.nan
        except ValueError:
            value = math.nan
        if isinstance(value, float) and not math.isfinite(value):
            kind = "whole number" if self.type is int else "finite number"
            raise UsageError(f"{self.flag} of {owner} is '{text}'; give a {kind}")
        return value

    def checked(self, argument: Any, owner: str) -> Any:
        """Return the field's value for what is given in Python, if there is such a value."""
        value = argument if self.convert is None else self.convert(self.flag, argument)
        if self.convert and self.default and value == ():
            raise UsageError(f"there is no {self.flag}; give one or more")
        for element in value if isinstance(value, tuple) else (value,):
            if self.choices and element not in (*self.choices, self.default):
                raise UnknownNameError(f"{self.flag}{owner}", str(element), self.choices)
            for name, bound in self.bounds.items():
                holds, requirement = BOUNDS[name]
                if element is not None and not holds(element, bound):
                    problem = f"{self.flag}{owner} is {_shown(element)}"
                    nearest = (
                        "a finite number"
                        if math.isinf(bound)
                        else requirement.format(_shown(bound))
                    )
                    raise UsageError(f"{problem}; give {nearest}")
        return value


def options_of(cls: type[Any]) -> list[Option]:
    """List the fields of a dataclass as options; ``metadata["help"]`` documents each.

    Fields that can be given by name alone come last: those that a class inherits. Those that
    make no difference to equality are no options, but state.
    """
    if not dataclasses.is_dataclass(cls):
        return []
    hints = typing.get_type_hints(cls)
    options = []
    fields = [field for field in dataclasses.fields(cls) if field.compare]
    for field in sorted(fields, key=lambda f: bool(f.kw_only)):
        hint = hints[field.name]
        choices: tuple[str, ...] = ()
        several = typing.get_origin(hint) is tuple
        if several:  # tuple[str, ...]
            hint = typing.get_args(hint)[0]
        # int | None, or Literal[...] | None: of a text the first is made
        if typing.get_origin(hint) in (types.UnionType, typing.Union):
            hint = typing.get_args(hint)[0]
        if typing.get_origin(hint) is typing.Literal:
            choices, hint = typing.get_args(hint), str
        names = ("metavar", "convert", "bounds")
        settings = {name: field.metadata[name] for name in names if name in field.metadata}
        text = field.metadata.get("help", "")
        options.append(Option(field.name, hint, choices, field.default, text, several, **settings))
    return options


def option(
    default: T,
    help: str,  # noqa: A002
    metavar: str = "",
    *,
    convert: Callable[[str, Any], Any] | None = None,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> T:
    """Declare a dataclass field that is an option, a flag and its documentation at once.

    A field of type ``tuple[str, ...]`` is an option that may be given again.

    Parameters
    ----------
    convert
        Makes the field's value of its flag and of what is given in Python, as one text for
        several.
    above, least, below, most
        Bounds of the value, or of each of several; ``least`` and ``most`` are within. None is
        in every range.
    """
    limits = {"above": above, "least": least, "below": below, "most": most}
    bounds = {name: bound for name, bound in limits.items() if bound is not None}
    settings = {"help": help, "metavar": metavar, "convert": convert, "bounds": bounds}
    return dataclasses.field(default=default, metadata=settings)


#: Types are slow to find.
_options_of = functools.cache(options_of)


if typing.TYPE_CHECKING:
    #: Fields whose options convert what is given: a text or number, several, or a mapping. Type
    #: checkers know no converters of dataclass fields, and would ask for the tuple alone.
    Texts: typing.TypeAlias = Any
    Numbers: typing.TypeAlias = Any
else:
    Texts, Numbers = tuple[str, ...], tuple[float, ...]


class Options:
    """A frozen dataclass of options, which are converted and checked when it is made.

    A subclass with a ``__post_init__`` of its own calls this one first.
    """

    #: What an error calls it, before its name; nothing where its options are flags.
    _owner_is: ClassVar[str] = ""

    def __post_init__(self) -> None:
        name = getattr(type(self), "name", type(self).__name__)
        owner = f" of {self._owner_is} '{name}'" if self._owner_is else ""
        for option in _options_of(type(self)):  # type: ignore[arg-type]
            value = option.checked(getattr(self, option.field), owner)
            if option.convert is not None:
                vars(self)[option.field] = value  # nobody has seen another one


def texts(flag: str, values: str | Iterable[str]) -> tuple[str, ...]:
    """Convert one text, or several."""
    return (values,) if isinstance(values, str) else tuple(values)


def distinct_texts(flag: str, values: str | Iterable[str]) -> tuple[str, ...]:
    """Convert one text, or several of which none may be there twice."""
    distinct = texts(flag, values)
    _check_distinct(flag, distinct)
    return distinct


def numbers(flag: str, values: float | str | Iterable[float]) -> tuple[float, ...]:
    """Convert one number, or several of which none may be there twice."""
    several = isinstance(values, Iterable) and not isinstance(values, str)
    try:
        parsed = tuple(map(float, values if several else (values,)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UsageError(f"{flag} is {values!r}; give numbers") from None
    _check_distinct(flag, parsed)
    return parsed


def _check_distinct(flag: str, values: Sequence[str] | Sequence[float]) -> None:
    twice = next((value for value in values if list(values).count(value) > 1), None)
    if twice is not None:
        raise UsageError(f"{flag} {_shown(twice)} is given twice; give each once")


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse_options(
    cls: type[Any], texts: Mapping[str, str | Sequence[str]], owner: str
) -> dict[str, Any]:
    """Turn ``option -> text`` (or several texts) into the keyword arguments of a dataclass."""
    known = {option.flag: option for option in options_of(cls)}
    parsed = {}
    for flag, text in texts.items():
        if flag not in known:
            if not known:
                raise UsageError(f"{owner} has no options; leave out '{flag}'")
            raise UnknownNameError(f"option of {owner}", flag, known)
        parsed[known[flag].field] = known[flag].parse(text, owner)
    return parsed


class _UsersFiles:
    """Finds the modules of users' files, in any process."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return where a module comes from; None if it is none of these."""
        if not name.startswith(FILE_MODULE):
            return None
        file = os.fsdecode(bytes.fromhex(name.removeprefix(FILE_MODULE)))
        if not os.path.isfile(file):
            raise UsageError(f"{file}: a worker has no such file; put it where all can read it")
        return importlib.util.spec_from_file_location(name, file, loader=_UsersFile(name, file))


class _UsersFile(SourceFileLoader):
    """Runs a user's file; classes of our kinds have the names that they have there, or give."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the file."""
        super().exec_module(module)
        for name, cls in list(vars(module).items()):
            is_own = isinstance(cls, type) and cls.__module__ == module.__name__
            if is_own and "name" not in vars(cls) and any(map(_is_ours, cls.__mro__)):
                cls.name = name


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __package__


sys.meta_path.append(_UsersFiles)


def file_of(instance: object) -> str | None:
    """Return the user's file that an object's class comes from, None if it comes from none."""
    module = type(instance).__module__
    return sys.modules[module].__file__ if module.startswith(FILE_MODULE) else None


def _line_in(error: BaseException, path: str) -> int:
    """Return the line of a file at which an error came up."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    whole = os.path.abspath(path)
    lines = (f.lineno for f in reversed(frames) if os.path.abspath(f.filename) == whole)
    return next(lines, None) or 1


def place_in_file(error: BaseException) -> str | None:
    """Return file and line where an error came up in a user's file, None if it did not."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    names = [frame.f_globals.get("__name__", "") for frame in frames]
    inside = [k for k, name in enumerate(names) if name.startswith(FILE_MODULE)]
    if not inside:
        return None
    summary = traceback.extract_tb(error.__traceback__)[inside[-1]]
    return f"{os.path.relpath(summary.filename)}:{summary.lineno}"
