"""Each command with each of its calls to the system failing in turn."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.faults.injection import KINDS, Injector
from fuzz.faults.jobs import JOBS, Job, put_inputs
from fuzz.forking import fork
from fuzz.part import ACCEPTED, FOUND, Outcome
from fuzz.programs.running import Ran, run, wrong_end
from fuzz.scratch import folder
from fuzz.timeless import timeless

#: About so many calls fail at most, one at a time; of more, some are left out.
MOST = {"allocation": 24}
USUAL = 80
#: What a file holds that was there before.
OLD = b"what was there before\n"


@dataclass
class Ended:
    """How a command in a child ended, and what had failed."""

    ran: Ran
    fired: str = ""
    calls: int = 0
    left: dict[str, bytes] = field(default_factory=dict)


class Faults:
    """All jobs with all kinds of faults."""

    limit = 500.0
    patience = 600.0

    def prepare(self) -> None:
        """Write the files that commands read, and run each command once."""
        self.inputs = folder("faults-inputs")
        put_inputs(self.inputs)
        self._start(f"{JOBS[0].arguments} --out done.json")
        self._start(f"{next(job for job in JOBS if job.name == 'loop').arguments} --work-dir done")
        self._start("train --source s --target t --out trained --order 2")
        for name in ("out.json", "work"):
            _remove(self.inputs / name)
        self.pairs = all_pairs()
        self._whole: dict[str, Ended] = {}

    def _start(self, arguments: str) -> None:
        """Make what other commands begin with."""
        ended = _here(Job("", arguments), self.inputs, None)
        if ended.ran.code != 0:
            raise RuntimeError(f"{arguments}: {ended.ran.errors}")

    def size(self) -> int | None:
        """Return how many pairs of a command and a kind of fault there are."""
        return len(self.pairs)

    def keep(self, seed: int, index: int, path: Path) -> None:
        """Raise an error: what finds something becomes a test of its own."""
        raise SystemExit("inputs of this part are not kept as files; write a test")

    def run(self, seed: int, index: int) -> Outcome:
        """Let the calls of a kind fail, one after the other, until none is left."""
        job, kind = self.pairs[index]
        problems: list[str] = []
        step = -(-self._calls(job, kind) // MOST.get(kind, USUAL)) or 1
        number, tries, fired = 1 + seed % step, 0, "?"
        while fired:
            tries += 1
            fired, problem = self.tried(job, kind, number)
            if problem is not None:
                problems.append(f"{kind} {number} ({fired}): {problem}")
            number += step
        what = f"{job.name}, {kind}"
        if not problems:
            return Outcome(what, ACCEPTED, tries=tries)
        return Outcome(what, FOUND, problems[0].partition("\n")[0], "\n".join(problems), tries)

    def _calls(self, job: Job, kind: str) -> int:
        """Return how many calls of a kind a command makes if none fails."""
        self._undisturbed(job)
        return _in_child(job, self._fresh(job, with_old=False), (kind, sys.maxsize)).calls

    def tried(self, job: Job, kind: str, number: int) -> tuple[str, str | None]:
        """Let one call fail; return what failed, and what does not hold afterwards."""
        whole = self._undisturbed(job)
        place = self._fresh(job, with_old=number % 2 == 0)
        before = _files(place)
        ended = _in_child(job, place, (kind, number))
        after = _files(place)
        if job.may_lack and ended.ran.code == 0 and "note:" in ended.ran.errors:
            return ended.fired, None
        problem = _wrong(ended, kind, before, after, whole)
        if problem is None and ended.fired and after != before:  # or it would be as the first
            again = _in_child(job, place, None)
            problem = _wrong_afterwards(again, _files(place), whole)
        return ended.fired, problem

    def _undisturbed(self, job: Job) -> Ended:
        """Return what a command comes to if nothing fails."""
        if job.name not in self._whole:
            place = self._fresh(job, with_old=False)
            _here(job, place, None)  # so that kernels are loaded before any child is made
            place = self._fresh(job, with_old=False)
            ended = _in_child(job, place, None)
            if ended.ran.code != 0:
                raise RuntimeError(f"{job.name}: {ended.ran.errors}")
            ended.left = _files(place)
            self._whole[job.name] = ended
        return self._whole[job.name]

    def _fresh(self, job: Job, with_old: bool) -> Path:
        """Return a folder with the inputs, and with outputs of before if they are wanted."""
        place = folder("faults")
        shutil.copytree(self.inputs, place, dirs_exist_ok=True)
        (place / "tmp").mkdir(exist_ok=True)
        for name in job.outputs if with_old else ():
            if not name.endswith("/"):
                (place / name).write_bytes(OLD)
        return place


def all_pairs() -> list[tuple[Job, str]]:
    """Return each command with each kind of fault, in the order of their numbers."""
    return [(job, kind) for job in JOBS for kind in KINDS if not job.kinds or kind in job.kinds]


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _here(job: Job, place: Path, fault: tuple[str, int] | None) -> Ended:
    """Run a command in this process, in a folder."""
    before, now = tempfile.tempdir, os.getcwd()
    (place / "tmp").mkdir(exist_ok=True)
    tempfile.tempdir = str(place / "tmp")
    os.chdir(place)
    injector = None if fault is None else Injector(*fault, place)
    try:
        if injector is not None:
            injector.install()
        ran = run(job.words())
        return Ended(ran) if injector is None else Ended(ran, injector.fired, injector.seen)
    finally:
        os.chdir(now)
        tempfile.tempdir = before


def _in_child(job: Job, place: Path, fault: tuple[str, int] | None) -> Ended:
    """Run a command in a child of its own."""
    reading, writing = os.pipe()
    child = fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            told = pickle.dumps(_here(job, place, fault))
            while told:
                told = told[_WRITE(writing, told) :]
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0 or not said:
        return Ended(Ran(status or 1, "", f"the process ended with {status}\n"), "?")
    ended: Ended = pickle.loads(said)  # of our own child
    return ended


_WRITE = os.write


def _files(place: Path) -> dict[str, bytes]:
    """Return all files of a folder, but for what decoders leave behind, and locks."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        if path.is_file() and not re.search(r"/decoder-|/lock$|/\.lock$", f"/{name}"):
            found[name] = _timeless(name, path.read_bytes())
    return found


def _timeless(name: str, data: bytes) -> bytes:
    """Return a file without what differs from run to run."""
    if name.endswith(".json"):
        try:
            return json.dumps(timeless(json.loads(data)), sort_keys=True).encode()
        except ValueError:
            return data
    if name.endswith((".html", ".gz", ".svg")):
        return b"" if name.endswith((".html", ".svg")) and data.rstrip().endswith(b">") else data
    return data


def _wrong(
    ended: Ended, kind: str, before: dict[str, bytes], after: dict[str, bytes], whole: Ended
) -> str | None:
    """Return what does not hold after a fault."""
    problem = wrong_end(ended.ran)
    if problem is not None:
        return f"{problem}\n{ended.ran.errors}"
    for name, data in after.items():
        if before.get(name) == data or whole.left.get(name) == data:
            continue
        if name not in before and name not in whole.left:
            if kind != "unlink":
                return f"{name} is left behind"
            continue
        return f"{name} is neither as it was nor whole"
    gone = [name for name in before if name not in after]
    if gone:
        return f"{gone[0]} is gone"
    if ended.ran.code == 0:
        missing = [name for name in whole.left if after.get(name) != whole.left[name]]
        if missing:
            return f"exit code 0, but {missing[0]} is not what it should be"
    return None


def _wrong_afterwards(again: Ended, after: dict[str, bytes], whole: Ended) -> str | None:
    """Return what does not hold after a run without faults that follows one with."""
    if again.ran.code != 0:
        return f"a later run fails: {again.ran.errors[-300:]}"
    for name, data in whole.left.items():
        if after.get(name) != data:
            return f"after a later run, {name} is not what it should be"
    return None
