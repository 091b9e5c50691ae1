"""Reading: the format is found from the content, and everything lands in one set."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.columns import with_columns
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError, nearest
from tunesmith.io.collector import Collector
from tunesmith.io.compression import kind_of, without_suffix
from tunesmith.io.forests.base import forest_format_shown
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.missing import Way
from tunesmith.io.reading import Reading
from tunesmith.io.score_files import scores_in
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.text.pieces import in_words, join_bpe, join_pieces, suspicions, without_factors
from tunesmith.io.text.tokens import Interner, is_plain, tokenize
from tunesmith.io.text.utf8 import check_utf8

Path = str | os.PathLike[str]
#: So many lines begin with ids, if the same words begin all lines of another file.
ENOUGH_IDS = 20


def read(
    candidates: Path | Sequence[Path],
    references: Path | Sequence[Path] = (),
    format: str | None = None,  # noqa: A002
    scores: Mapping[str, Path] | None = None,
    columns: Sequence[str] = (),
    keep_rows: bool = False,
    reading: Reading | None = None,
) -> CandidateSet:
    """Read candidates, and the references to score them against.

    Parameters
    ----------
    candidates
        One file or folder, or several whose candidates are merged: the same group in two files
        becomes one, a candidate with the same text and features is kept once.
    references
        Files with one reference per line; the first line belongs to the group with id 0.
    format
        A name from ``tunesmith list formats``, with options if it has some; None recognises
        it from the content.
    scores
        Further features, by name: files with one number per line, one line per candidate, in the
        order of the candidate files.
    columns
        Features that are metrics to tune for, not features: see ``column:NAME``.
    keep_rows
        Keep in ``rows`` the number of each candidate in the files, from 0, counting duplicates,
        and in ``totals`` the score on its line, if there is one.
    reading
        The names of columns and what replaces missing values, if the defaults do not fit.

    Returns
    -------
    CandidateSet
    """
    collector = Collector((reading or Reading()).with_columns(columns), keep_rows)
    first = collect(collector, paths_in(candidates), format)
    if scores:
        sources = {name: Source(path) for name, path in scores.items()}
        rows = len(collector)
        collector.add_features(
            {n: read_scores(s, rows, collector.reading.gaps.of(n)) for n, s in sources.items()}
        )
        collector.files.extend(s.digest("scores") for s in sources.values())
    result, lines = complete(collector, paths_in(references), first)
    warn_of_unused(lines, result.groups)
    return with_columns(result, columns)


def collect(collector: Collector, places: Sequence[Path], format: str | None) -> str:  # noqa: A002
    """Add the candidates of files and folders; return the name of the first file."""
    first = ""
    for place in places:
        paths, spec = files_of(place, format)
        reader = FORMATS.create(spec) if spec else None
        for path in paths:
            source = Source(path)
            first = first or source.name
            name = spec or recognise(source, collector.reading.id_column)
            read_into(collector, reader or FORMATS.create(name), source)
            collector.files.append(source.digest(name.partition(":")[0]))
    return first


def complete(
    collector: Collector, references: Sequence[Path], first: str
) -> tuple[CandidateSet, dict[str, int]]:
    """Return what was collected with its references, and how many lines each of their files has.

    ``first`` is the file that is named where texts look wrong.
    """
    reference_lines = []
    for path in references:
        source = Source(path)
        reference_lines.append((source.name, read_lines(source, collector.vocabulary)))
        collector.files.append(source.digest("text"))
    result = collector.finish(reference_lines)
    ways = {"join_bpe": join_bpe, "detokenise_pieces": join_pieces, "drop_factors": without_factors}
    ways_chosen = [way for name, way in ways.items() if getattr(collector.reading, name)]
    if ways_chosen:
        result = in_words(result, ways_chosen)
    there = {*result.features.names, *result.columns, *result.left_out}
    for name in collector.reading.gaps.by_name.keys() - there:
        near = " or ".join(nearest(name, sorted(there)))
        text = f"{first}: no column is called '{name}', as --missing says (near: {near})"
        warnings.warn(text, stacklevel=2)
    use = collector.reading.use
    for text in suspicions(result, use.ignores_case) if use.compares else ():
        warnings.warn(f"{first}: {text}", stacklevel=2)
    return result, {name: len(texts) for name, texts in reference_lines}


def warn_of_unused(lines: Mapping[str, int], groups: int) -> None:
    """Warn of files of references that have more lines than there are groups."""
    for name, count in lines.items():
        if count > groups:
            warnings.warn(
                f"{name}: {count - groups} of {count} lines have no candidates and do not count",
                stacklevel=3,
            )


def files_of(place: Path, spec: str | None = None) -> tuple[list[Path], str | None]:
    """Return the files to read, those of a folder or the one that is named, and their format.

    Parameters
    ----------
    place
        What the user named.
    spec
        The format, where that is known. The one that is returned is None if the file shows it.
    """
    if not os.path.isdir(place):
        return [place], spec
    folder = os.fspath(place)
    names = FORMATS.names() if spec is None else [spec]
    try:
        for name in names:
            form = FORMATS.create(name) if spec else FORMATS.get(name)
            if files := form.files_in(folder):
                return list(files), name
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(folder, None, problem, "name a folder that can be read") from None
    remedy = "name a file in it, or give a folder of forests with --forests"
    raise FormatError(folder, None, "it is a directory", remedy)


def read_into(collector: Collector, reader: CandidateFormat, source: Source) -> None:
    """Add a file's candidates to a collector; a file without any is an error."""
    before = len(collector)
    reader.read(source, collector)
    if len(collector) == before:
        raise FormatError(source.name, None, "there is no candidate in it", "give some")


def read_scores(source: Source, count: int, missing: Way = "error") -> Floats:
    """Read one number per line for each of so many candidates; NaN where one may be missing.

    What COMET and MetricX write is read as well.
    """
    written = scores_in(source)
    if written is not None:
        if len(written) != count:
            problem = f"it has {len(written)} scores and there are {count} candidates"
            raise FormatError(source.name, None, problem, "give one for each, in their order")
        return np.array(written, np.float64)
    values = np.full(count, math.nan)
    line = 0
    for line, text in source.lines():
        if line > count:
            break
        if missing != "error" and text.strip().lower() in {"", "nan"}:
            continue
        value = float_or_nan(text.strip().encode())
        if math.isnan(value):
            raise number_error(text.strip().encode(), source.name, line, "a score")
        values[line - 1] = value
    if line != count:
        problem = f"it has {'more' if line > count else 'fewer'} lines than the {count} candidates"
        raise FormatError(source.name, min(line, count + 1), problem, "give one number for each")
    empty = np.flatnonzero(np.isnan(values))
    if len(empty) and missing == "error":
        raise FormatError(source.name, int(empty[0]) + 1, "the line is empty", "give a number")
    return values


def read_hypotheses(hypotheses: Path, references: Path | Sequence[Path]) -> CandidateSet:
    """Read an output, one text per line, as a set with one candidate per group."""
    collector = Collector()
    source = Source(hypotheses)
    texts = read_lines(source, collector.vocabulary)
    collector.files.append(source.digest("text"))
    reference_lines = []
    for path in paths_in(references):
        other = Source(path)
        reference_lines.append((other.name, read_lines(other, collector.vocabulary)))
        collector.files.append(other.digest("text"))
        if len(reference_lines[-1][1]) != len(texts):
            problem = (
                f"it has {len(reference_lines[-1][1])} lines and {source.name} has {len(texts)}"
            )
            raise FormatError(other.name, None, problem, "give one reference line per hypothesis")
    collector.add_piece(Piece.of_texts(collector.groups(range(len(texts))), texts))
    words = collector.vocabulary.words()
    first = _first_words(texts, words)
    for name, lines in reference_lines:
        if len(first) >= ENOUGH_IDS and first == _first_words(lines, words):
            problem = f"every line begins with a word that a line of {source.name} begins with"
            warnings.warn(
                f"{name}: {problem}, and no two of them are alike; if these are ids, which count "
                "as words, cut them off (cut -d' ' -f2-) in both files",
                stacklevel=2,
            )
    return collector.finish(reference_lines)


def _first_words(texts: Texts, words: Sequence[str]) -> set[str]:
    """Return the words that texts begin with; none where two are alike, or a text is empty."""
    first = [words[texts[line][0]] for line in range(len(texts)) if len(texts[line])]
    distinct = set(first)
    return distinct if len(distinct) == len(texts) else set()


def read_lines(source: Source, vocabulary: Interner) -> Texts:
    """Read plain text, one text per line."""
    return read_lines_kept(source, vocabulary)[0]


def read_lines_kept(source: Source, vocabulary: Interner) -> tuple[Texts, dict[int, str]]:
    """Read plain text, one text per line, and keep lines with white space of their own."""
    source.check_line_ends()
    parts: list[Texts] = []
    originals: dict[int, str] = {}
    line = 1
    for block in source.blocks():
        check_utf8(block, source.name, line)
        whole = block if block.endswith(b"\n") else block + b"\n"
        parts.append(tokenize(whole, vocabulary))
        if not is_plain(whole, parts[-1], vocabulary):
            for number, text in enumerate(whole.decode().split("\n")[:-1], line - 1):
                original = text.removesuffix("\r")
                if original != " ".join(original.split()):
                    originals[number] = original
        line += whole.count(b"\n")
    lengths = np.concatenate([part.lengths for part in parts])
    return Texts(offsets(lengths), np.concatenate([part.ids for part in parts])), originals


def paths_in(paths: Path | Sequence[Path]) -> list[Path]:
    """Return one path, or several, as a list."""
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


def recognise(source: Source, id_column: str = "id") -> str:
    """Return the name of the format that a file shows; tables have a column of ids."""
    names = FORMATS.names()
    shown = next((name for name in names if FORMATS.get(name).recognises(source.head())), None)
    # JSON and Arrow files may be either.
    forests = forest_format_shown(source.head()) if shown in {None, "jsonl", "arrow"} else None
    if forests is not None:
        problem = f"these are forests ({forests}), not lists"
        raise FormatError(source.name, None, problem, "give them with --forests")
    if shown is not None:
        return shown
    for name in ("csv", "tsv"):
        table: Any = FORMATS.get(name)
        named = without_suffix(source.name).lower().endswith(table.suffixes)
        if source.head() and (named or table.has_column(source.head(), id_column)):
            return name
    check_content(source)
    raise unrecognised(source, "the format is not recognised", names)


def check_content(source: Source) -> None:
    """Raise an error if there is nothing in a file, or nothing that shows its format."""
    if not source.head():
        raise FormatError(source.name, None, "the file is empty", "give a file with content")
    if kind_of(source.head()) is not None:
        problem = "it is compressed twice"
        raise FormatError(source.name, None, problem, "decompress it yourself first")


def unrecognised(source: Source, problem: str, names: Sequence[str]) -> FormatError:
    """Return the error for a file of no known format; raise another if it is no UTF-8."""
    # Another encoding hides every format. The last character may be cut.
    line = source.head().partition(b"\n")[0].rstrip(bytes(range(0x80, 0x100)))
    check_utf8(line, source.name, 1)
    remedy = f"name it with --format, one of {', '.join(names)}"
    if "parallel" in names and not any(sign in source.head() for sign in (b"|||", b"\t", b"{")):
        remedy += "; a text on each line is parallel:per-source=N"
    return FormatError(source.name, 1, problem, remedy)
