"""Comparisons as files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

from tunesmith.errors import UsageError
from tunesmith.io.compression import SUFFIXES
from tunesmith.io.streams import check_writable, write_atomically, writing
from tunesmith.significance.comparison import Comparison
from tunesmith.significance.sentences import Ranking

TABLES = (".txt", ".json", ".tex")
#: What stands for tables as a page, which ``report`` writes.
PAGE = ".html"
SENTENCES = (".tsv", ".jsonl")
#: What would break a line or a cell.
_BREAKS = {c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160))}
_BREAKS |= {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r", ord("\\"): "\\\\"}
_BREAKS |= {0x2028: "\\u2028", 0x2029: "\\u2029"}


def check_table_file(path: str) -> None:
    """Raise an error unless tables can be written to a file."""
    _check(path, (*TABLES, PAGE))


def check_sentence_file(path: str) -> None:
    """Raise an error unless sentences can be written to a file."""
    _check(path, SENTENCES)


def _check(path: str, endings: Sequence[str]) -> None:
    if _ending(path) not in endings:
        known = ", ".join(endings[:-1])
        raise UsageError(f"{path}: the ending is not known; use {known} or {endings[-1]}")
    check_writable(path)


def _ending(path: str) -> str:
    stem, ending = os.path.splitext(path)
    return os.path.splitext(stem)[1] if ending in SUFFIXES else ending


def is_page(path: str) -> bool:
    """Say whether a name asks for a page."""
    return _ending(path) == PAGE


def write_table(comparison: Comparison, path: str, most: int = 0) -> None:
    """Write a comparison as text, JSON or LaTeX, by the file's ending."""
    kind = _ending(path)
    if kind == ".json":
        table = comparison.to_dict(most)
        text = json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        text = comparison.to_latex() if kind == ".tex" else f"{comparison}\n"
    write_atomically(path, text)


def write_sentences(rankings: Sequence[Ranking], path: str) -> None:
    """Write all sentences of all rankings, as a table with tabs or as JSON lines."""
    lines = _jsonl(rankings) if _ending(path) == ".jsonl" else _tsv(rankings)
    with writing(path) as file:
        for line in lines:
            file.write(f"{line}\n".encode())


def _jsonl(rankings: Sequence[Ranking]) -> Iterator[str]:
    for ranking in rankings:
        whose = {"metric": ranking.metric, "a": ranking.a, "b": ranking.b}
        for sentence in ranking.sentences():
            row = {**whose, **vars(sentence)}
            yield json.dumps(row, ensure_ascii=False, allow_nan=False)


def _tsv(rankings: Sequence[Ranking]) -> Iterator[str]:
    """Yield one row per sentence; several references share a cell, with ||| between."""
    heads = ("metric", "a", "b", "sentence", "score_a", "score_b", "difference")
    yield "\t".join([*heads, "references", "text_a", "text_b"])
    for ranking in rankings:
        for sentence in ranking.sentences():
            numbers = (repr(sentence.score_a), repr(sentence.score_b), repr(sentence.difference))
            cells = (ranking.metric, ranking.a, ranking.b, str(sentence.sentence), *numbers)
            texts = (" ||| ".join(sentence.references), sentence.text_a, sentence.text_b)
            yield "\t".join(cell.translate(_BREAKS) for cell in (*cells, *texts))
