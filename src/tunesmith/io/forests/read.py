"""Reading forests: the format is found from the content, and everything lands in one set."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tunesmith.arrays import Ids, Ints
from tunesmith.data import memory
from tunesmith.data.candidates import FileDigest, GroupId, References, Texts, pack_texts
from tunesmith.data.forests import ForestArrays, Forests, ForestSet, joined
from tunesmith.data.raw_forest import RawForest
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.forests.arrow.format import opened
from tunesmith.io.forests.arrow.store import StoredForests
from tunesmith.io.forests.arrow.temporary import TemporaryForests
from tunesmith.io.forests.base import (
    FOREST_FORMATS,
    FileOrder,
    ForestFormat,
    Numbering,
    forest_format_shown,
    is_pipe,
    number_in,
    warn_of_numbers,
)
from tunesmith.io.forests.folders import files_in
from tunesmith.io.keyed import are_keyed, by_id
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.read import check_content, paths_in, read_lines, unrecognised
from tunesmith.io.rows import Place, shown_place
from tunesmith.io.streams import Source
from tunesmith.io.text.tokens import Interner
from tunesmith.io.text.utf8 import check_utf8

Path = str | os.PathLike[str]
#: The part of the memory that forests may take; there are other things, and joining them takes
#: as much again for a moment.
SHARE = 1 / 4


def read_forests(
    forests: Path | Sequence[Path],
    references: Path | Sequence[Path] = (),
    format: str | None = None,  # noqa: A002
    sources: Path | Sequence[Path] = (),
) -> Forests:
    """Read forests or lattices, and the references to score them against.

    Forests that do not fit into memory (``TUNESMITH_MEMORY``) stay on disk: in the file itself if
    it is a single Arrow file written by tunesmith, otherwise in a temporary one. Numeric ids are
    sorted.

    Parameters
    ----------
    forests
        Files, or folders with one file per forest.
    references
        Files with one reference per line; a forest's id is its line number, from 0, or each
        line begins with an id, as in Kaldi's ``text``.
    format
        A name from ``tunesmith list forest-formats``, with options if it has some; None recognises
        it from the content.
    sources
        A file with one input per line, likewise.

    Returns
    -------
    Forests
    """
    if len(paths_in(sources)) > 1:
        raise UsageError("sources are in more than one file; give one")
    forest_set = _read(paths_in(forests), format)
    words = Numbering(forest_set.vocabulary)
    files = list(forest_set.files)
    texts = []
    for path in paths_in(references):
        source = Source(path)
        lines_of_file = _lines_as_ids(source, words)
        texts.append(_references(forest_set, lines_of_file, list(words), source.name))
        files.append(source.digest("text"))
    for file in forest_set.files if texts and forest_set.vocabulary else ():
        if table := FOREST_FORMATS.get(file.format).word_table:
            transcribed = list(words)[len(forest_set.vocabulary) :]
            warn_of_numbers(file.path, forest_set.vocabulary, transcribed, table)
            break
    inputs = None
    for path in paths_in(sources):
        source = Source(path)
        lines = _lines(source)
        _check_lines(forest_set, len(lines), source.name, "source")
        inputs = tuple(lines[i] for i in forest_set.ids if isinstance(i, int))
        files.append(source.digest("text"))
    packed = forest_set.references
    if texts:
        packed = _packed([list(row) for row in zip(*texts, strict=True)])
    return _with_texts(forest_set, tuple(words), packed, inputs or forest_set.sources, tuple(files))


def _with_texts(
    forest_set: ForestSet | StoredForests,
    vocabulary: tuple[str, ...],
    references: References | None,
    sources: tuple[str, ...] | None,
    files: tuple[FileDigest, ...],
) -> Forests:
    return replace(
        forest_set, vocabulary=vocabulary, references=references, sources=sources, files=files
    )


def _read(paths: list[Path], spec: str | None) -> ForestSet | StoredForests:
    """Read forests without what is in other files."""
    collected = _Collected()
    for path in paths:
        if os.path.isdir(path):
            collected.add_folder(os.fspath(path), spec)
            continue
        # Opened once: a pipe can be read but once.
        source = Source(path)
        name = spec or recognise_forests(source)
        if name == "arrow" and len(paths) == 1:
            return _of_one_file(opened(source), source.digest("arrow"))
        collected.add_file(source, collected.reader(name))
        collected.files.append(source.digest(name.partition(":")[0]))
    return collected.finish()


def recognise_forests(source: Source) -> str:
    """Return the name of the format that a file shows."""
    name = forest_format_shown(source.head())
    if name is not None:
        return name
    check_content(source)
    for listed in FORMATS.names():
        if FORMATS.get(listed).recognises(source.head()):
            problem = f"there are no forests in it, it looks like lists ({listed})"
            raise FormatError(source.name, None, problem, "give lists with --candidates")
    raise unrecognised(source, "this is no format of forests", FOREST_FORMATS.names())


def _of_one_file(stored: StoredForests, digest: FileDigest) -> ForestSet | StoredForests:
    """Return what is in a file of our own: in memory if there is room for it."""
    order = _order(stored.ids)
    references, sources = stored.references, stored.sources
    stored = replace(
        stored,
        ids=tuple(stored.ids[k] for k in order),
        edges=stored.edges[order],
        rows=order,
        references=None if references is None else references.take(order),
        sources=None if sources is None else tuple(sources[k] for k in order),
        files=(digest,),
    )
    return in_memory_if_small(stored)


def in_memory_if_small(stored: StoredForests) -> ForestSet | StoredForests:
    """Return forests in memory if there is room for them, otherwise as they are."""
    size = stored.bytes_per_edge * float(stored.edges.sum())
    return stored.in_memory() if size <= SHARE * memory.budget() else stored


class _Collected:
    """Forests of several files, in memory, or on disk from some point on."""

    def __init__(self) -> None:
        self.names, self.words = Numbering(), Numbering()
        self.files: list[FileDigest] = []
        self._readers: dict[str, ForestFormat] = {}
        self._ids: list[GroupId] = []
        self._places: dict[str, Place] = {}
        self._parts: list[ForestArrays] = []
        self._held = 0
        self._on_disk: TemporaryForests | None = None
        self._references: list[tuple[Ids, ...]] = []
        self._sources: list[str | None] = []

    def add_folder(self, folder: str, spec: str | None) -> None:
        """Add the forests of a folder; all its files have one digest."""
        formats = [spec.partition(":")[0]] if spec else FOREST_FORMATS.names()
        suffixes = tuple(s for name in formats for s in FOREST_FORMATS.get(name).suffixes)
        digest = hashlib.sha256()
        name_of_format = spec or ""
        for path in files_in(folder, suffixes):
            source = Source(path)
            name_of_format = spec or recognise_forests(source)
            self.add_file(source, self.reader(name_of_format))
            digest.update(f"{source.sha256}  {os.path.basename(path)}\n".encode(errors="replace"))
        shown = os.fsencode(folder).decode("utf-8", "backslashreplace")
        self.files.append(FileDigest(shown, digest.hexdigest(), name_of_format.partition(":")[0]))

    def reader(self, spec: str) -> ForestFormat:
        """Return the format of files; it is made once, and so are the tables that it reads."""
        if spec not in self._readers:
            self._readers[spec] = FOREST_FORMATS.create(spec)
        return self._readers[spec]

    def add_file(self, source: Source, reader: ForestFormat) -> None:
        """Add the forests of a file; one without any is an error."""
        order = FileOrder(source.name)
        before = len(self._ids)
        for raw in reader.read(source, self.names, self.words):
            if reader.one_a_file:
                number = None if is_pipe(source.path) else number_in(source.path)
                named: GroupId = len(self._ids) if number is None else number
                forest = replace(raw, id=named)
            else:
                forest = raw
            self._take_id(forest, source.name)
            self._keep(order.ordered(forest))
            self._references.append(forest.references)
            self._sources.append(forest.source)
        if len(self._ids) == before:
            raise FormatError(source.name, None, "there is no forest in it", "give some")
        if reader.ends_lines and source.open_line is not None:
            problem = "the last line has no end, the file may be truncated"
            remedy = "write it again, or end the line if it is whole"
            raise FormatError(source.name, source.open_line, problem, remedy)
        order.warn()

    def _take_id(self, raw: RawForest, name: str) -> None:
        # A number and a text that look alike are one id: no file tells them apart.
        first = self._places.setdefault(str(raw.id), (name, raw.line))
        if len(self._places) == len(self._ids):
            problem = f"forest '{raw.id}' is in {shown_place(first)} too"
            raise FormatError(name, raw.line, problem, "give each forest once")
        self._ids.append(raw.id)

    def _keep(self, arrays: ForestArrays) -> None:
        self._held += arrays.bytes
        if self._on_disk is None and self._held <= SHARE * memory.budget():
            self._parts.append(arrays)
            return
        if self._on_disk is None:
            self._on_disk = TemporaryForests()
        for part in self._waiting():
            self._on_disk.add(part)
        self._on_disk.add(arrays)

    def _waiting(self) -> Iterator[ForestArrays]:
        """Yield what is in memory, which it leaves."""
        self._parts.reverse()
        while self._parts:
            yield self._parts.pop()

    def finish(self) -> ForestSet | StoredForests:
        """Return the set, in the order of its ids."""
        if not self._ids:
            raise TunesmithError("there is no forest; give a file with some")
        order = _order(self._ids)
        ids = tuple(self._ids[k] for k in order)
        names, words = tuple(self.names), tuple(self.words)
        known = None not in self._sources
        sources = tuple(str(self._sources[k]) for k in order) if known else None
        texts = self._held_references(order)
        files = tuple(self.files)
        if self._on_disk is not None:
            return self._on_disk.finish(ids, names, words, texts, sources, files, order)
        arrays = joined([self._parts[k] for k in order])
        return ForestSet(ids, arrays, names, words, texts, sources, files)

    def _held_references(self, order: Ints) -> References | None:
        if not any(self._references):
            return None
        for i, references in zip(self._ids, self._references, strict=True):
            if not references:
                problem = f"forest '{i}' has no references and others have"
                place = shown_place(self._places[str(i)])
                raise TunesmithError(f"{place}: {problem}; give them to all")
        return _packed([self._references[k] for k in order])


def _order(ids: Sequence[GroupId]) -> Ints:
    """Return the order of ids that are numbers; others stay as they are."""
    if all(isinstance(i, int) for i in ids):
        return np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    return np.arange(len(ids))


def _packed(rows: Sequence[Sequence[Ids]]) -> References:
    texts = pack_texts([text for row in rows for text in row])
    return References(offsets([len(row) for row in rows]), texts)


def _references(
    forest_set: ForestSet | StoredForests, texts: Texts, words: Sequence[str], name: str
) -> list[Ids]:
    """Return the reference of each forest: its line, or the one that begins with its id."""
    ids = forest_set.ids
    if not are_keyed(texts, words, ids):
        _check_lines(forest_set, len(texts), name, "reference")
        return [texts[i] for i in ids if isinstance(i, int)]
    keyed = by_id(name, texts, words, ids)
    _warn_of_unused(len(texts), len(ids), name)
    return [keyed[i] for i in ids]


def _check_lines(forest_set: ForestSet | StoredForests, lines: int, name: str, kind: str) -> None:
    """Raise an error if a forest has no line; warn if a line has no forest."""
    ids = forest_set.ids
    for i in ids:
        if not isinstance(i, int):
            problem = f"forest '{i}' has no line here, its id is not a number"
            raise FormatError(name, None, problem, _remedy(forest_set.files, kind))
        if not 0 <= i < lines:
            problem = f"no {kind} for id {i}, the file has {lines} lines"
            raise FormatError(name, None, problem, f"give one {kind} line per forest")
    _warn_of_unused(lines, len(ids), name)


def _warn_of_unused(lines: int, forests: int, name: str) -> None:
    if lines > forests:
        more = f"{lines - forests} of {lines} lines have no forest and do not count"
        warnings.warn(f"{name}: {more}", stacklevel=4)


def _remedy(files: Sequence[FileDigest], kind: str) -> str:
    """Say what can be done in place of lines for forests whose ids are texts."""
    if any(f"{kind}s" in FOREST_FORMATS.get(file.format).holds for file in files):
        return f"put each {kind} into the file of the forests"
    return "give the forests numbers as ids, from 0 on"


def _lines_as_ids(source: Source, words: Numbering) -> Texts:
    """Read one text per line; its tokens get the numbers of the set."""
    vocabulary = Interner()
    texts = read_lines(source, vocabulary)
    numbers = np.array([words[word] for word in vocabulary.words()], np.int32)
    return Texts(texts.start, numbers[texts.ids] if len(numbers) else texts.ids)


def _lines(source: Source) -> list[str]:
    """Return all lines, empty ones too."""
    source.check_line_ends()
    data = source.read()
    check_utf8(data, source.name, 1)
    lines = data.decode().split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
