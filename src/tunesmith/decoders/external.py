"""Decoders that are programs: sentences in shards, a process each, and all that may go wrong."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import secrets
import shlex
import shutil
import tempfile
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Decoder, DecoderError, Sentence, with_ids
from tunesmith.decoders.outputs import check_ids, check_there, join_parts
from tunesmith.decoders.processes import Processes, end_of, log_tail
from tunesmith.decoders.program import check_program
from tunesmith.errors import TunesmithError, UsageError, one_line, shortened
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.missing import REMEDY, REMEDY_FOR_SCORES
from tunesmith.io.read import read_into, recognise
from tunesmith.io.streams import Source
from tunesmith.progress import progress
from tunesmith.registry import option

#: How many bytes of standard output are kept where it is not the n-best list.
KEPT = 1 << 20
#: With fewer bytes left a disk is full.
SPACE = 1 << 16
#: What to do about a missing value: a loop has no option for it.
NUMBERS = "have it write a number for every candidate, 0 where a sparse feature does not fire"
#: Characters of a command that an error shows.
SHOWN = 160


@dataclass(frozen=True)
class Shard:
    """The part of a decoding that one process does.

    Attributes
    ----------
    sentences
        Its part of the sentences.
    folder
        A new one for each attempt, so that a process that was given up cannot disturb the next.
    weights, input
        Files that are there.
    output
        Where the n-best list is to be.
    """

    sentences: tuple[Sentence, ...]
    folder: Path
    weights: Path
    input: Path
    output: Path

    @property
    def stdout(self) -> Path:
        """Where standard output goes, unless it is the n-best list."""
        return self.folder / "stdout"

    @property
    def stderr(self) -> Path:
        """Where standard error goes."""
        return self.folder / "stderr"

    @property
    def command(self) -> Path:
        """The command, as a JSON list."""
        return self.folder / "command.json"


@dataclass(frozen=True, kw_only=True)
class ExternalDecoder(Decoder):
    """A decoder that is a program: weights and sentences in files, an n-best list out.

    A subclass says how the command and the weights file look: :meth:`arguments`,
    :meth:`weights_bytes`.
    """

    nbest_size: int = option(100, "candidates per sentence", least=1)
    jobs: int = option(1, "parallel processes, each with a part of the sentences", least=1)
    time_limit: float | None = option(None, "time limit of one process, in seconds", above=0)
    retries: int = option(1, "how many times a failed process is restarted", least=0)
    format: str | None = option(
        None, "format of the n-best list, one of 'tunesmith list formats'; default: recognised"
    )
    #: Where its files stay; None is a temporary folder.
    folder: Path | None = field(default=None, compare=False, repr=False)
    #: The last decoding, if there was one.
    _last: list[_Decoding] = field(default_factory=list, init=False, compare=False, repr=False)

    free_options = ("jobs", "time_limit", "retries")
    #: What the weights file is called.
    weights_name: ClassVar[str] = "weights.json"
    #: Whether the sentences go to standard input.
    reads_stdin: ClassVar[bool] = False
    #: Whether the n-best list comes from standard output.
    writes_stdout: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.format is not None:
            FORMATS.create(self.format)

    @abstractmethod
    def arguments(self, shard: Shard) -> list[str]:
        """Return the program and its arguments; no shell sees them."""

    @abstractmethod
    def weights_bytes(self, weights: Weights) -> bytes:
        """Return the weights file."""

    def beside_weights(self, weights: Weights) -> dict[str, bytes]:
        """Return further files next to the weights file, by name."""
        return {}

    def input_bytes(self, sentences: Sequence[Sentence]) -> bytes:
        """Return the input file: a line for each sentence."""
        return "".join(f"{sentence.text}\n" for sentence in sentences).encode()

    def read_output(self, shard: Shard, collector: Collector) -> None:
        """Add a shard's candidates; the ids of its sentences are 0, 1, ... in its order."""
        check_there(shard.output)
        source = Source(shard.output)
        read_into(collector, FORMATS.create(self.format or recognise(source)), source)

    def remark(self) -> str:
        """Return what may be the reason when a process fails."""
        return ""

    def check(self) -> None:
        """Raise an error for whatever can be known to be wrong before the first process."""

    def in_folder(self, folder: Path) -> Decoder:
        """Return the decoder that keeps logs, commands and weights in a folder."""
        return replace(self, folder=Path(folder))

    def decode(self, weights: Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        """Decode with as many processes as there are jobs; their number changes no bit."""
        if not sentences:
            raise UsageError("there is no sentence to decode; give some")
        _check_texts(sentences)
        self.check()
        with self._place() as folder:
            file = folder / self.weights_name
            with writing_to(file):
                write_plain(file, self.weights_bytes(weights))
                for name, data in self.beside_weights(weights).items():
                    write_plain(folder / name, data)
            decoding = _Decoding(self, folder, file, sentences)
            self._last[:] = [decoding]
            return with_ids(decoding.run(), _ids(sentences))

    def last_output(self) -> str:
        """Return what the processes of the last decoding said, and where it is."""
        return "".join(decoding.words() for decoding in self._last)

    def accepted(self) -> None:
        """Remove what is large of the last decoding."""
        for decoding in self._last:
            decoding.tidy()

    @contextlib.contextmanager
    def _place(self) -> Iterator[Path]:
        if self.folder is not None:
            yield Path(os.path.abspath(self.folder))
            return
        with contextlib.ExitStack() as stack:
            with writing_to(tempfile.gettempdir()):
                temporary = tempfile.TemporaryDirectory(
                    prefix="tunesmith-", ignore_cleanup_errors=True
                )
            yield Path(stack.enter_context(temporary))


def _check_texts(sentences: Sequence[Sentence]) -> None:
    """Raise an error if a sentence is not one line of valid text."""
    for sentence in sentences:
        if "\n" in sentence.text or "\r" in sentence.text:
            raise UsageError(f"sentence {sentence.id} has a line end in it; take it out")
        try:
            sentence.text.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"sentence {sentence.id} holds half of a surrogate pair; write valid Unicode"
            ) from None


def _ids(sentences: Sequence[Sentence]) -> list[int | str]:
    return [sentence.id for sentence in sentences]


class _FaultError(Exception):
    """What a process did wrong; it may do better when it is started again."""


class _Decoding:
    """One decoding: its parts, which attempt each is at, and what was read."""

    def __init__(
        self, decoder: ExternalDecoder, folder: Path, weights: Path, sentences: Sequence[Sentence]
    ) -> None:
        self.decoder = decoder
        self.folder = folder
        self.weights = weights
        self.parts = contiguous(sentences, decoder.jobs)
        self.shards: dict[int, Shard] = {}
        self.commands: dict[int, list[str]] = {}
        self.found: dict[int, Collector] = {}
        self.attempts = [0] * len(self.parts)

    def run(self) -> CandidateSet:
        """Run all parts and return their candidates, in the sentences' order."""
        with Processes(self.decoder.time_limit) as processes:
            for part in range(len(self.parts)):
                self._start(processes, part)
            while processes:
                progress("decoding", len(self.found), len(self.parts))
                part, code = processes.wait()
                try:
                    self.found[part] = self._read(self.shards[part], code)
                except _FaultError as fault:
                    self._again(processes, part, str(fault))
        progress("decoding", len(self.found), len(self.parts))
        try:
            whole = join_parts([self.found[part] for part in range(len(self.parts))])
        except TunesmithError as error:
            raise DecoderError(f"the decoder's outputs do not go together: {error}") from None
        return whole

    def _start(self, processes: Processes, part: int) -> None:
        self.attempts[part] += 1
        sentences = self.parts[part]
        folder = self.folder / f"part-{part:03d}-{secrets.token_hex(4)}"
        shard = Shard(sentences, folder, self.weights, folder / "input", folder / "output")
        self.shards[part] = shard
        with writing_to(folder):
            folder.mkdir()
            write_plain(shard.input, self.decoder.input_bytes(sentences))
            arguments = self.commands[part] = self.decoder.arguments(shard)
            write_plain(shard.command, (json.dumps(arguments) + "\n").encode())
        check_program(arguments)
        stdin = shard.input if self.decoder.reads_stdin else None
        stdout = shard.output if self.decoder.writes_stdout else shard.stdout
        try:
            processes.start(part, arguments, stdin, stdout, shard.stderr)
        except OSError as error:
            if error.errno in FULL:
                raise full(error, folder) from None
            reason = (error.strerror or str(error)).lower()
            raise DecoderError(
                f"'{shortened(arguments[0])}' cannot be started: {reason}; name a program "
                "that can be"
            ) from None

    def _read(self, shard: Shard, code: int | None) -> Collector:
        """Return what a process that has ended found."""
        if code is None:
            raise _FaultError(
                f"took longer than its limit of {self.decoder.time_limit:g} seconds, "
                "--decoder-time-limit, and was ended"
            )
        if code != 0:
            raise _FaultError(end_of(code))
        collector = Collector()
        try:
            self.decoder.read_output(shard, collector)
            check_ids(collector, len(shard.sentences))
        except TunesmithError as error:
            reason = str(error).replace("--format", "--decoder-format")
            for remedy in (REMEDY, REMEDY_FOR_SCORES):
                reason = reason.replace(remedy, NUMBERS)
            raise _FaultError(f"gave no n-best list that can be used: {reason}") from None
        except OSError as error:
            reason = f"{shard.output}: {(error.strerror or str(error)).lower()}"
            raise _FaultError(f"gave no n-best list that can be read: {reason}") from None
        return collector

    def _again(self, processes: Processes, part: int, fault: str) -> None:
        """Start a part again after a fault, or raise an error if that was done often enough."""
        message = self._described(part, fault)
        if self.attempts[part] > self.decoder.retries:
            remedy = "fix it, and the same command goes on from there"
            is_kept = self.decoder.folder is not None
            raise DecoderError(f"{message}; {remedy if is_kept else 'fix it and start again'}")
        warnings.warn(f"{message}; it is started again", stacklevel=5)
        self._start(processes, part)

    def _described(self, part: int, fault: str) -> str:
        """Return an error text: what happened, the command, its last output and the log folder."""
        shard = self.shards[part]
        parts = [f"the decoder {fault}"]
        if self.decoder.folder is None:  # gone before anyone could look
            output = os.fspath(shard.output)
            fault = fault.replace(f"{output}: ", "").replace(f"{output}:", "line ")
            command = shlex.join(self.commands[part])
            command = command if len(command) <= SHOWN else f"{command[:SHOWN]} ..."
            parts = [f"the decoder {fault} (command: {command})"]
        parts.append(self._last_words([shard]))
        if remark := self.decoder.remark():
            parts.append(remark)
        if _is_full(self.folder):
            parts.append("no space is left on the disk")
        if self.decoder.folder is not None:
            parts.append(f"see {shard.folder}")
        return one_line("; ".join(parts))

    def words(self) -> str:
        """Return what all parts said last, and where it is."""
        is_kept = self.decoder.folder is not None
        return one_line(
            self._last_words(self.shards.values()) + (f"; see {self.folder}" if is_kept else "")
        )

    def _last_words(self, shards: Iterable[Shard]) -> str:
        """Return the last output of some processes: of standard error, or of standard output."""
        room = (2, 300) if self.decoder.folder is not None else (6, 1200)
        for shard in shards:
            words = log_tail(shard.stderr, *room)
            if not words and not self.decoder.writes_stdout:
                words = log_tail(shard.stdout, *room)
            if words:
                return f"its last words: {words}"
        return "it said nothing"

    def tidy(self) -> None:
        """Remove what is large of all attempts, those of an earlier run too."""
        with contextlib.suppress(OSError):  # leftovers are no reason for an error
            for folder in self.folder.glob("part-*"):
                for name in ("input", "output"):
                    (folder / name).unlink(missing_ok=True)
                stdout = folder / "stdout"
                if stdout.exists() and not 0 < stdout.stat().st_size <= KEPT:
                    stdout.unlink()


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < SPACE
    except OSError:
        return False


def contiguous(sentences: Sequence[Sentence], jobs: int) -> list[tuple[Sentence, ...]]:
    """Return the sentences in ``jobs`` parts, one after the other, about equally long."""
    parts = min(jobs, len(sentences))
    ends = [k * len(sentences) // parts for k in range(parts + 1)]
    return [tuple(sentences[lo:hi]) for lo, hi in itertools.pairwise(ends)]


#: Errors of a disk that has no room for us.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def full(error: OSError, path: str | os.PathLike[str]) -> DecoderError:
    """Return the error of a file that cannot be written."""
    reason = (error.strerror or "it cannot be written").lower()
    where = os.fspath(error.filename or path)
    remedy = "free some space" if error.errno in FULL else "make it writable"
    return DecoderError(f"{where}: {reason}; {remedy} and start the same command again")


@contextlib.contextmanager
def writing_to(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of writing within the block into lines that say what to do."""
    try:
        yield
    except OSError as error:
        raise full(error, path) from None


def write_plain(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with writing_to(path):
        path.write_bytes(data)
