"""The worker's side of a remote engine, whatever the transport.

A :class:`WorkerServer` holds blocks by number and answers messages, both packed by
:mod:`tunesmith.parallel.remote.packing`. :mod:`tunesmith.parallel.remote.engine` writes the
messages and reads the answers; the transport between the two carries opaque bytes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pickle
import platform
import runpy
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import tunesmith.registry  # noqa: F401  (it finds the modules of files that users name)
from tunesmith._version import __version__
from tunesmith.errors import TunesmithError
from tunesmith.parallel.device import VARIABLE
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import SHARERS, threads
from tunesmith.parallel.remote.packing import PackedValue, pack, unpack

#: Seconds after which no further piece of a message is started: it was expected to take far less.
LONG = 0.5


@dataclass(frozen=True)
class Hello:
    """Request the versions; the first message to every worker."""


@dataclass(frozen=True)
class MapTask:
    """What the pieces of a map have in common; a block of its own, as data are."""

    work: Callable[..., Any]
    data: Any
    common: tuple[Any, ...]


@dataclass(frozen=True)
class BlockReference:
    """Stands for the object in the block of this number."""

    number: int


@dataclass(frozen=True)
class PieceRequest:
    """Do some pieces of the task in the block of this number."""

    task: int
    pieces: tuple[Any, ...]


@dataclass(frozen=True)
class Make:
    """Create an actor."""

    actor: int
    make: Callable[[Any, Any], Any]
    data: Any
    seed: Any


@dataclass(frozen=True)
class Call:
    """Call a method of an actor."""

    actor: int
    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Forget:
    """Delete an actor."""

    actor: int


CaughtWarning = tuple[type[Warning], str, str, int]


@dataclass(frozen=True)
class PieceOutcome:
    """The result of a message.

    Attributes
    ----------
    value
        What was returned; of pieces, a list of those that were done: the others are assigned
        again.
    error
        What was raised instead.
    warned
        Category, text, file and line of each warning.
    """

    value: Any = None
    error: PortableError | None = None
    warned: tuple[CaughtWarning, ...] = ()


@dataclass(frozen=True)
class PortableError:
    """An error in a form that can be sent to another process.

    Errors whose ``__init__`` does not take their ``args`` cannot be pickled: they are rebuilt
    without it.
    """

    error: BaseException | None
    kind: type[BaseException] = TunesmithError
    arguments: tuple[Any, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)

    def restored(self) -> BaseException:
        """Return the error."""
        if self.error is not None:
            return self.error
        error = self.kind.__new__(self.kind, *self.arguments)
        error.args = self.arguments
        error.__dict__.update(self.state)
        return error


def portable_error(error: BaseException) -> PortableError:
    """Return an error in a form that can be pickled, with the same text."""
    if not isinstance(error, TunesmithError):
        lines = traceback.format_exception(error)
        error.add_note("In a worker:\n" + "".join(lines).rstrip())
    stripped = PortableError(None, type(error), error.args, dict(error.__dict__))
    for form in (PortableError(error), stripped, PortableError(None, type(error), (str(error),))):
        with contextlib.suppress(Exception):
            copy = pickle.loads(pickle.dumps(form)).restored()
            if type(copy) is type(error) and str(copy) == str(error):
                return form
    text = f"{type(error).__name__} in a worker: {error}; work in threads to see where"
    return PortableError(TunesmithError(text))


class WorkerServer:
    """Holds the blocks and actors of one worker, and answers its messages."""

    def __init__(self) -> None:
        self._blocks: dict[int, Any] = {}
        self._values: dict[int, Any] = {}
        self._actors: dict[int, Any] = {}
        self._skipped: set[int] = set()

    def hold(self, number: int, block: Any) -> None:
        """Store a block; it is unpacked when first needed."""
        self._blocks[number] = block

    def drop(self, number: int) -> None:
        """Forget the block of a number, if there is one."""
        self._blocks.pop(number, None)
        self._values.pop(number, None)
        self._skipped.discard(number)

    def skip(self, task: int) -> None:
        """Skip the remaining pieces of a task; any thread may call this."""
        self._skipped.add(task)

    def answer(self, message: Any) -> PackedValue:
        """Return the packed :class:`PieceOutcome` of a packed message; this raises nothing."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")  # each place once for every message
            value: Any = []
            error = None
            try:
                value = self._handle(_load(message), value)
            except BaseException as problem:  # noqa: BLE001  (the driver raises it)
                error = portable_error(problem)
        warned = tuple({(w.category, str(w.message), w.filename, w.lineno): None for w in caught})
        try:
            return pack(PieceOutcome(value, error, warned))
        except Exception as problem:  # noqa: BLE001
            return pack(PieceOutcome(error=portable_error(problem)))

    def _handle(self, message: Any, results: list[Any]) -> Any:
        match message:
            case PieceRequest(number, pieces):
                end = time.monotonic() + LONG
                for piece in pieces:
                    if number in self._skipped or (results and time.monotonic() > end):
                        break
                    task: MapTask = self._value(number)
                    results.append(task.work(task.data, piece, *task.common))
                return results
            case Call(actor, method, arguments):
                return getattr(self._actors[actor], method)(*arguments)
            case Make(actor, make, data, seed):
                self._actors[actor] = make(self._resolve(data), seed)
            case Forget(actor):
                self._actors.pop(actor, None)
            case Hello():
                return versions()
        return None

    def _value(self, number: int) -> Any:
        if number not in self._values:
            value = _load(self._blocks[number])
            if isinstance(value, MapTask):
                value = MapTask(value.work, self._resolve(value.data), value.common)
            self._values[number] = value
            del self._blocks[number]
        return self._values[number]

    def _resolve(self, data: Any) -> Any:
        """Return data with objects in place of references to them."""
        if isinstance(data, BlockReference):
            return self._value(data.number)
        if type(data) is tuple:
            return tuple(self._resolve(part) for part in data)
        return data


def versions() -> dict[str, str]:
    """Return what driver and workers must have in common, for the same bits and pickles."""
    from importlib import metadata

    python = ".".join(platform.python_version_tuple()[:2])
    libraries = {name: metadata.version(name) for name in ("numpy", "numba")}
    return {"tunesmith": __version__, "python": python, **libraries}


@contextlib.contextmanager
def as_worker(share: int, sharers: int) -> Iterator[WorkerServer]:
    """Be a worker within the block, with ``share`` threads and a part of the machine's memory."""
    global _is_worker  # noqa: PLW0603  (a process is a worker or is not)
    _is_worker = True
    os.environ[SHARERS] = str(sharers)
    os.environ[VARIABLE] = "cpu"  # a GPU is used by one process
    with working_on(None), threads(share):
        yield WorkerServer()


_is_worker = False


def is_worker() -> bool:
    """Tell whether this process is a worker, which has no workers of its own."""
    return _is_worker


_main: tuple[str | None, str | None] | None = None


def main_module() -> tuple[str | None, str | None]:
    """Return the driver's main module, by name or by file, for :func:`set_main_module`."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    path = getattr(main, "__file__", None)
    return name, os.path.abspath(path) if path else None


def set_main_module(main: tuple[str | None, str | None]) -> None:
    """Set where to look for definitions of the driver's main module."""
    global _main  # noqa: PLW0603
    _main = main


def _load(block: Any) -> Any:
    """Unpack a block, importing the driver's script if it needs its definitions."""
    try:
        try:
            return unpack(block)
        except AttributeError as error:
            if _main is None or "__main__" not in str(error):
                raise
            _import_main()
            return unpack(block)
    except (AttributeError, ImportError) as error:
        raise TunesmithError(
            f"a worker does not find what it needs: {error}; "
            "define it in a module that workers can import"
        ) from error


def _import_main() -> None:
    """Run the driver's main module under another name than ``__main__``, as spawning does."""
    global _main  # noqa: PLW0603
    name, path = _main or (None, None)
    _main = None
    if name is not None and importlib.util.find_spec(name) is not None:
        content = runpy.run_module(name, run_name="__mp_main__", alter_sys=True)
    elif path is not None and os.path.isfile(path):
        content = runpy.run_path(path, run_name="__mp_main__")
    else:
        return
    module = types.ModuleType("__mp_main__")
    module.__dict__.update(content)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
