"""The state of a loop: in memory, or on disk so that the loop can be resumed.

Every step of a loop is a function of the steps before it, and is stored under a name: a step that
is stored is not done again. On disk a name is a file that is written atomically, so whatever moment
a run ends at, the next one resumes with the first step whose file is missing.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

from tunesmith._version import __version__
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.forests import Forests
from tunesmith.errors import MissingExtraError, TunesmithError, UsageError
from tunesmith.io.forests.arrow.writer import ForestWriter, rows_of
from tunesmith.io.tables.arrow import arrow, write_arrow
from tunesmith.loop.records import (
    CONFIGURATION,
    LOCK,
    PARTIAL,
    ROUND,
    SCHEMA,
    bare,
    read_forest_rows,
    read_lists,
    read_record,
)
from tunesmith.progress import tell

T = TypeVar("T")

#: Values that are longer are not shown in full.
LONGEST = 80


class State(Protocol):
    """Steps by name."""

    def record(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a step that is a JSON object; make it if it is not there."""
        ...

    def candidates(self, name: str, make: Callable[[Path | None], CandidateSet]) -> CandidateSet:
        """Return a step that is candidates; make it if it is not there.

        ``make`` is given a folder for logs, None if there is none.
        """
        ...

    def forests(self, name: str, make: Callable[[Path | None], Forests]) -> Forests:
        """Return a step that is forests, likewise."""
        ...

    def keep(self, name: str, record: dict[str, Any]) -> None:
        """Store something for reports; no step depends on it."""
        ...

    def finish(self, result: dict[str, Any]) -> None:
        """Store the result of all steps, in place of one of fewer steps."""
        ...


class InMemory:
    """Nothing is stored: a run that ends is gone."""

    def record(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Make it, with a round trip through JSON as on disk."""
        record: dict[str, Any] = json.loads(json.dumps(make(), allow_nan=False))
        return record

    def candidates(self, name: str, make: Callable[[Path | None], CandidateSet]) -> CandidateSet:
        """Make them."""
        return bare(make(None))

    def forests(self, name: str, make: Callable[[Path | None], Forests]) -> Forests:
        """Make them."""
        return make(None)

    def keep(self, name: str, record: dict[str, Any]) -> None:
        """Do nothing: there is no report of it."""

    def finish(self, result: dict[str, Any]) -> None:
        """Do nothing: the caller has the result."""


class WorkDirectory:
    """A folder with a file for each step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def record(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the content of the file, which is written first if it is missing."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            _write_record(path, make())
        return read_record(path)

    def candidates(self, name: str, make: Callable[[Path | None], CandidateSet]) -> CandidateSet:
        """Return the content of the file, which is written first if it is missing.

        It is read back even if it was written now, so that a resumed run sees the same, to the
        last bit, as one without interruption.
        """
        path = self.folder / f"{name}.arrow"
        self._write(path, make, lambda candidates, file: write_arrow(bare(candidates), file))
        return read_lists(path)

    def forests(self, name: str, make: Callable[[Path | None], Forests]) -> Forests:
        """Return the content of the file, likewise; forests that exceed memory stay on disk."""
        path = self.folder / f"{name}.arrow"
        self._write(path, make, write_forest_rows)
        return read_forest_rows(path)

    def _write(
        self, path: Path, make: Callable[[Path | None], T], write: Callable[[T, BinaryIO], None]
    ) -> None:
        """Make a step and write its file, if that is missing."""
        if path.exists():
            return
        logs = path.parent / f"decoder-{path.stem}"
        with _write_errors(logs):
            logs.mkdir(parents=True, exist_ok=True)
        content = make(logs)
        with _atomic_file(path) as file:
            write(content, file)
        _remove_if_empty(logs)

    def keep(self, name: str, record: dict[str, Any]) -> None:
        """Write it, unless the file says the same already."""
        path = self.folder / f"{name}.json"
        with contextlib.suppress(TunesmithError):  # a missing or damaged file is written
            if read_record(path) == record:
                return
        _write_record(path, record)

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result; one of fewer rounds, or another choice among them, is replaced."""
        _write_record(self.folder / "result.json", result)


def write_forest_rows(forests: Forests, file: BinaryIO) -> None:
    """Write forests, one of them in memory at a time."""
    writer = ForestWriter(file)
    for row in rows_of(forests):
        writer.add(row)
    writer.close()


def _write_record(path: Path, record: dict[str, Any]) -> None:
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with _atomic_file(path) as file:
        file.write(text.encode())


@contextlib.contextmanager
def open_state(
    folder: str | os.PathLike[str] | None,
    configuration: dict[str, Any],
    files: dict[str, str] | None = None,
) -> Iterator[State]:
    """Yield the state of a run; a work directory is locked meanwhile.

    Parameters
    ----------
    folder
        The work directory, which is created if it is missing; None stores nothing.
    configuration
        All that determines the steps. A folder with another configuration is refused.
    files
        Digests of files. A change since the start of the run is warned of.
    """
    if folder is None:
        yield InMemory()
        return
    try:
        arrow()
    except MissingExtraError:
        raise MissingExtraError("a work directory", "formats") from None
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: this is a file; name a folder as work directory")
    with _write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        _check_ours(path)  # before a lock is put there
    with _lock(path):
        _check_configuration(path, configuration, files or {})
        with _write_errors(path):
            for left_over in path.rglob(f"{PARTIAL}*"):
                if left_over.is_file():
                    left_over.unlink(missing_ok=True)
        _tell_where(path)
        yield WorkDirectory(path)


def _check_ours(folder: Path) -> None:
    """Raise an error if a folder has something in it and is no work directory."""
    names = [path.name for path in folder.iterdir()]
    others = [name for name in names if name != LOCK and not name.startswith(PARTIAL)]
    if others and CONFIGURATION not in others:
        raise UsageError(
            f"{folder}: there is something else in it ({sorted(others)[0]}); "
            "name a new or an empty folder as work directory"
        )


def _tell_where(folder: Path) -> None:
    """Tell with which round a run resumes."""
    names = [path.parent.name for path in folder.glob("round-*/weights.json")]
    rounds = [int(name.removeprefix("round-")) for name in names if ROUND.fullmatch(name)]
    if rounds:
        last = max(rounds)
        is_decoded = (folder / f"round-{last:02d}" / "scores.json").exists()
        word = "after" if is_decoded else "with"
        tell(f"going on {word} round {last} of {folder}", is_detail=False)


def _check_configuration(
    folder: Path, configuration: dict[str, Any], files: dict[str, str]
) -> None:
    """Write the configuration, or compare it with the one that is there.

    It may be corrected as long as nothing depends on it: all of it before anything is decoded, and
    that of tuning before anything is tuned.
    """
    path = folder / CONFIGURATION
    # As JSON has it: a tuple is a list there.
    expected = json.loads(json.dumps(configuration, allow_nan=False, default=str))
    written = {
        "schema": SCHEMA,
        "version": __version__,
        "configuration": expected,
        "files": files,
    }
    if not path.exists():
        _write_record(path, written)
        return
    record = _configuration(path)
    differences = list(_differences(record["configuration"], expected, ""))
    if record.get("version") != __version__:
        warnings.warn(
            f"{folder}: the run was started by version {record.get('version')} of tunesmith, and "
            f"this is {__version__}: the rounds to come may differ from what they would have been",
            stacklevel=3,
        )
    if not differences:
        _tell_changes(path, record, files)
        return
    parts = {name.partition(" ")[0] for name, _, _ in differences}
    steps = [step for step in folder.glob("*/*") if step.suffix in {".arrow", ".json"}]
    done = {step.stem for step in steps} - {"weights"}
    if not done or (parts <= {"tuning"} and "tuned" not in done):
        with _write_errors(folder):
            for step in steps:
                if not done or step.stem == "scores":
                    step.unlink()
        _write_record(path, written)
        return
    name, before, now = differences[0]
    raise UsageError(
        f"{folder}: this is the work directory of another run, whose {name.partition(' ')[2]} is "
        f"{_short(before, now)}, not {_short(now, before)}; name another work directory, or give "
        "the same options"
    )


def _tell_changes(path: Path, record: dict[str, Any], files: dict[str, str]) -> None:
    """Warn once of files that have changed since the start of the run."""
    before = record.get("files") or {}
    changed = [name for name in files if name in before and before[name] != files[name]]
    if changed:
        warnings.warn(
            f"{changed[0]} has changed since the run in {path.parent} was started; the rounds "
            "before keep what they came to",
            stacklevel=4,
        )
        _write_record(path, {**record, "files": {**before, **files}})


def _configuration(path: Path) -> dict[str, Any]:
    """Read the configuration of a run."""
    try:
        record = read_record(path)
    except TunesmithError as error:
        raise UsageError(f"{str(error).rpartition(';')[0]}; name another work directory") from None
    if record.get("schema") != SCHEMA or not isinstance(record.get("configuration"), dict):
        raise UsageError(
            f"{path}: it was written by another version of tunesmith; name another work directory"
        )
    return record


def _differences(before: Any, now: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield what differs between two JSON objects: its name and both values."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*before, *now]):
            inside = f"{name} {key}".strip()
            yield from _differences(before.get(key), now.get(key), inside)
    elif before != now:
        yield name, before, now


def _short(value: Any, other: Any) -> str:
    """Show a value that differs from another; of long signatures what differs in them."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > LONGEST and isinstance(value, str) and isinstance(other, str):
        name, *parts = value.split("|")
        parts = [name, "...", *(part for part in parts if part not in other.split("|"))]
        text = json.dumps("|".join(parts), ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:60]} ... {text[-15:]}"


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock the folder; the system releases it when the process ends, however it does."""
    try:
        import fcntl
    except ImportError:  # where there is no such lock
        yield
        return
    with _write_errors(folder):
        file = open(folder / LOCK, "ab")  # noqa: SIM115  (open until the run ends)
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
                raise UsageError(
                    f"{folder}: another run is using it; wait for its end, or name another folder"
                ) from None
            warnings.warn(
                f"{folder}: it cannot be locked there; see that no other run uses it meanwhile",
                stacklevel=3,
            )
        yield


@contextlib.contextmanager
def _atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes its name when it is complete and synced to disk."""
    partial = path.parent / f"{PARTIAL}{path.name}"
    with _write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(partial, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Say what to do if the work directory cannot be written."""
    try:
        yield
    except OSError as error:
        problem = (error.strerror or "it cannot be written").lower()
        raise TunesmithError(
            f"{path}: {problem}; make room or give access, and start the same command again: "
            "what is done is kept"
        ) from None


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if not any(folder.iterdir()):
            shutil.rmtree(folder)
