"""Runs and judgements in the formats of TREC."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import FileDigest
from tunesmith.data.rankings.rankings import Rankings
from tunesmith.errors import FormatError
from tunesmith.io.streams import Source, writing

#: Endings that are no part of a run's name.
SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".run", ".txt", ".trec", ".tsv", ".res", ".eval")
#: Lines that are written at a time.
BLOCK = 10_000


def read_run(path: str | os.PathLike[str]) -> tuple[dict[str, dict[str, float]], FileDigest]:
    """Read a run: lines of query, Q0, document, rank, score and a tag.

    Returns
    -------
    run, file
        Scores by query and document. Ranks in the file do not count, as in trec_eval.
    """
    source = Source(path)
    run: dict[str, dict[str, float]] = {}
    for number, line in source.lines():
        parts = line.split()
        if len(parts) not in (5, 6):
            raise FormatError(
                source.name,
                number,
                f"this line has {len(parts)} columns",
                "give query, Q0, document, rank, score and a tag",
            )
        query, document, text = parts[0], parts[2], parts[4]
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            problem = f"the score is '{text}'"
            raise FormatError(source.name, number, problem, "give a finite number")
        documents = run.setdefault(query, {})
        if document in documents:
            problem = f"document '{document}' is given twice for query '{query}'"
            raise FormatError(source.name, number, problem, "give it once")
        documents[document] = score
    return run, source.digest("trec-run")


def read_qrels(path: str | os.PathLike[str]) -> tuple[dict[str, dict[str, int]], FileDigest]:
    """Read judgements: lines of query, iteration, document and grade."""
    source = Source(path)
    qrels: dict[str, dict[str, int]] = {}
    for number, line in source.lines():
        parts = line.split()
        if len(parts) != 4:
            problem = f"this line has {len(parts)} columns"
            remedy = "give query, iteration (0), document and grade"
            raise FormatError(source.name, number, problem, remedy)
        query, _, document, text = parts
        try:
            grade = int(text)
        except ValueError:
            problem = f"the grade is '{text}'"
            raise FormatError(source.name, number, problem, "give a whole number") from None
        if abs(grade) > 1_000_000:
            problem = f"the grade is {text[:20]}"
            raise FormatError(source.name, number, problem, "give a grade below a million")
        judged = qrels.setdefault(query, {})
        if judged.get(document, grade) != grade:
            problem = f"document '{document}' has two grades for query '{query}'"
            raise FormatError(source.name, number, problem, "give one")
        judged[document] = grade
    return qrels, source.digest("trec-qrels")


def run_name(path: str | os.PathLike[str]) -> str:
    """Return what a run is called whose name is not given: its file without folder and ending."""
    name = os.path.basename(os.fspath(path))
    while (stem := _without_suffix(name)) != name:
        name = stem
    return name or os.fspath(path)


def _without_suffix(name: str) -> str:
    for suffix in SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name


def run_lines(
    rankings: Rankings, order: Ints, scores: Floats, tag: str, depth: int | None = None
) -> Iterator[str]:
    """Yield the lines of a run.

    Programs that read runs keep scores in single precision, and break ties by names. So a score
    that would tie with the one above it, or pass it, is lowered by the least that makes a
    difference: whoever reads the run ranks it in the same order.

    Parameters
    ----------
    order : int64[N]
        The documents in the order of their ranks, query by query.
    scores : float64[N]
        Those of all documents.
    depth
        The last rank that is written; None is all.
    """
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    for q, query in enumerate(rankings.queries):
        lo, hi = int(rankings.start[q]), int(rankings.start[q + 1])
        rows = order[lo:hi] if depth is None else order[lo : min(hi, lo + depth)]
        above = np.float32(np.inf)
        for rank, row in enumerate(rows.tolist(), 1):
            score = min(single[row], np.nextafter(above, np.float32(-np.inf)))
            above = score
            yield f"{query} Q0 {rankings.documents[row]} {rank} {float(score)!r} {tag}\n"


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Write lines whole or not at all; ``-`` is standard output."""
    with writing(path) as file:
        block: list[str] = []
        for line in lines:
            block.append(line)
            if len(block) == BLOCK:
                file.write("".join(block).encode())
                block.clear()
        file.write("".join(block).encode())
