"""Runs and judgements as other packages have them, as scores or grades by query and document.

Dictionaries are what ``pytrec_eval`` and ``ranx`` take; ``ranx`` has objects that turn into them,
``ir_measures`` rows with names, and ``pyterrier``, ``trectools`` and ``ranx`` data frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tunesmith.errors import UsageError

#: What columns, or attributes of rows, are called.
QUERY = ("query_id", "qid", "q_id", "query")
DOCUMENT = ("doc_id", "docno", "docid")
VALUES = {
    "run": ("score",),
    "qrels": ("relevance", "label", "rel", "grade", "score"),
}


def by_query(values: Any, kind: str, called: str) -> Mapping[str, Mapping[str, Any]]:
    """Return scores of a ``run`` or grades of ``qrels`` by query and document.

    Parameters
    ----------
    called
        What an error calls it.
    """
    if isinstance(values, Mapping):
        return values
    if hasattr(values, "columns"):
        return _of_frame(values, kind, called)
    if hasattr(values, "to_dict"):
        converted = values.to_dict()
        if isinstance(converted, Mapping):
            return converted
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return _of_rows(values, kind, called)
    raise _unknown(kind, called)


def _of_frame(frame: Any, kind: str, called: str) -> dict[str, dict[str, Any]]:
    there = [str(name) for name in frame.columns]
    columns = (QUERY, DOCUMENT, VALUES[kind])
    names = [next((name for name in known if name in there), None) for known in columns]
    if None in names:
        lacking = columns[names.index(None)]
        raise UsageError(
            f"{called} has no column {' or '.join(lacking)} (it has {', '.join(there)}); rename one"
        )
    return _grouped(zip(*(frame[name].to_numpy().tolist() for name in names), strict=True), called)


def _of_rows(rows: Iterable[Any], kind: str, called: str) -> dict[str, dict[str, Any]]:
    def values() -> Iterable[tuple[Any, Any, Any]]:
        for row in rows:
            try:
                yield row.query_id, row.doc_id, getattr(row, VALUES[kind][0])
            except AttributeError:
                raise _unknown(kind, called) from None

    return _grouped(values(), called)


def _grouped(rows: Iterable[tuple[Any, Any, Any]], called: str) -> dict[str, dict[str, Any]]:
    queries: dict[str, dict[str, Any]] = {}
    for query, document, value in rows:
        documents = queries.setdefault(str(query), {})
        if str(document) in documents:
            raise UsageError(
                f"{called} has document '{document}' twice for query '{query}'; give it once"
            )
        documents[str(document)] = value
    return queries


def _unknown(kind: str, called: str) -> UsageError:
    value = "score" if kind == "run" else "grade"
    return UsageError(
        f"{called} is no {kind}; give {{query: {{document: {value}}}}}, a data frame, or what ranx "
        "and ir_measures have"
    )
