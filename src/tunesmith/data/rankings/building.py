"""Rankings made of runs and judgements: scores and grades by query and document."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tunesmith.data.candidates import FileDigest
from tunesmith.data.rankings.objects import by_query
from tunesmith.data.rankings.rankings import UNJUDGED, Judgements, Rankings
from tunesmith.data.rows import offsets
from tunesmith.errors import TunesmithError, UsageError

#: Scores by query and document.
Run = Mapping[str, Mapping[str, float]]
#: Grades by query and document.
Qrels = Mapping[str, Mapping[str, int]]


def from_runs(
    runs: Mapping[str, Any], qrels: Any | None = None, files: Sequence[FileDigest] = ()
) -> Rankings:
    """Combine runs: the documents that any of them returned, with their scores and grades.

    Queries are those that have judgements and are in a run, as in trec_eval; without judgements,
    all queries.

    Parameters
    ----------
    runs
        By the name of each run, scores by query and document: the dictionaries of ``ranx`` and
        ``pytrec_eval``, runs of ``ranx``, rows of ``ir_measures``, or data frames.
    qrels
        Grades by query and document in the same forms; 0 is judged and not relevant. With None
        nothing is judged, and the documents can only be ranked.
    files
        The files that they were read from.
    """
    if not runs:
        raise UsageError("there is no run; give one or more")
    runs = {name: by_query(run, "run", f"run '{name}'") for name, run in runs.items()}
    for name, run in runs.items():
        if not run:
            raise UsageError(f"run '{name}' has no query; give one with content")
        _check_types(name, run)
    retrieved = dict.fromkeys(query for run in runs.values() for query in run)
    if qrels is None:
        qrels = {query: {} for query in retrieved}
    qrels = by_query(qrels, "qrels", "the judgements")
    queries = tuple(query for query in qrels if query in retrieved)
    if not queries:
        raise UsageError(
            "no query of the runs has judgements; give runs and qrels of the same queries"
        )
    _tell_of_others(queries, qrels, retrieved)
    for name, run in runs.items():
        if run.keys().isdisjoint(queries):
            warnings.warn(f"run '{name}' has none of the judged queries", stacklevel=2)
    documents: list[str] = []
    sizes = []
    for query in queries:
        union = {document for run in runs.values() for document in run.get(query, ())}
        documents += sorted(union, key=_bytes, reverse=True)
        sizes.append(len(union))
    start = offsets(sizes)
    scores = np.full((len(runs), len(documents)), np.nan)
    grades = np.empty(len(documents), np.int64)
    for q, query in enumerate(queries):
        names = documents[start[q] : start[q + 1]]
        where = {name: int(start[q]) + k for k, name in enumerate(names)}
        judged = qrels[query]
        grades[start[q] : start[q + 1]] = [judged.get(name, UNJUDGED) for name in names]
        for d, run in enumerate(runs.values()):
            scored = run.get(query)
            if scored:
                scores[d, [where[name] for name in scored]] = list(scored.values())
    return Rankings(
        queries,
        start,
        tuple(documents),
        tuple(runs),
        scores,
        np.maximum(grades, UNJUDGED),
        judgements(queries, qrels),
        tuple(files),
    )


def judgements(queries: Sequence[str], qrels: Qrels) -> Judgements:
    """Return all judgements of some queries."""
    rows = [[*qrels[query].values()] for query in queries]
    every = [grade for row in rows for grade in row]
    return Judgements(offsets([len(row) for row in rows]), np.array(every, np.int64))


def _bytes(name: str) -> bytes:
    """Return what names are compared by."""
    return name.encode("utf-8", "surrogatepass")


def _check_types(name: str, run: Run) -> None:
    for query, documents in run.items():
        if not isinstance(query, str) or not isinstance(documents, Mapping):
            raise UsageError(
                f"run '{name}' is no dictionary of texts; give {{query: {{document: score}}}}"
            )
        if not all(map(math.isfinite, documents.values())):
            raise TunesmithError(
                f"run '{name}' has a score for query '{query}' that is not finite; give numbers"
            )


def _tell_of_others(queries: Sequence[str], qrels: Qrels, retrieved: Collection[str]) -> None:
    """Warn of queries that do not count."""
    missing = [query for query in qrels if query not in retrieved]
    if missing:
        warnings.warn(
            f"{len(missing)} of {len(qrels)} judged queries are in no run, as '{missing[0]}'; "
            "they do not count, as in trec_eval",
            stacklevel=3,
        )
    unjudged = len(retrieved) - len(queries)
    if unjudged:
        warnings.warn(f"{unjudged} queries have no judgements and do not count", stacklevel=3)
