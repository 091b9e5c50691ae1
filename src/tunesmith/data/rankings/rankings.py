"""Documents in groups, one group per query, with the scores that several runs give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import FileDigest
from tunesmith.data.features import FeatureSelection
from tunesmith.data.rows import gather_rows
from tunesmith.errors import TunesmithError, UsageError

#: The grade of a document that nobody has judged.
UNJUDGED = -1


@dataclass(frozen=True)
class Judgements:
    """All judged documents of each query, retrieved or not.

    Attributes
    ----------
    start : int64[S + 1]
        Query q has ``grades[start[q]]`` to ``grades[start[q + 1] - 1]``.
    grades : int64[J]
        0 is not relevant.
    """

    start: Ints
    grades: Ints

    def take(self, queries: Ints) -> Judgements:
        """Return those of some queries, in the order given."""
        start, places = gather_rows(self.start, queries)
        return Judgements(start, self.grades[places])


@dataclass(frozen=True)
class Rankings:
    """N documents of S queries, with the scores of D runs.

    Among documents with equal scores, the one stored first is ranked first. So the documents of a
    query are stored in descending order of their names, which is how trec_eval breaks ties;
    without names, in the order in which they were read.

    Attributes
    ----------
    queries
        Name of each query.
    start : int64[S + 1]
        Query q has the documents ``start[q]`` to ``start[q + 1] - 1``.
    documents
        Name of each document.
    names
        The runs, or features.
    scores : float64[D, N]
        NaN if the run did not return the document.
    grades : int64[N]
        -1 if the document is not judged.
    judged
        All judgements.
    files
        The files they were read from.
    """

    queries: tuple[str, ...]
    start: Ints
    documents: tuple[str, ...]
    names: tuple[str, ...]
    scores: Floats
    grades: Ints
    judged: Judgements
    files: tuple[FileDigest, ...] = ()

    def __post_init__(self) -> None:
        shape = len(self.names), len(self.documents)
        if self.scores.shape != shape:
            raise TunesmithError(
                f"{shape[0]} runs with {shape[1]} documents need scores of that shape; "
                f"the array given is {self.scores.shape}"
            )
        if np.isinf(self.scores).any():
            raise TunesmithError("a score is not finite; give finite numbers")

    def __len__(self) -> int:
        return len(self.documents)

    def __repr__(self) -> str:
        return f"<Rankings: {len(self)} documents, {self.groups} queries, {len(self.names)} runs>"

    @property
    def groups(self) -> int:
        """The number S of queries."""
        return len(self.queries)

    def with_features(
        self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()
    ) -> Rankings:
        """Return the same documents with some of the runs."""
        selection = FeatureSelection.of(keep, drop)
        selection.check(self.names)
        selected = set(selection.select(self.names))
        rows = [d for d, name in enumerate(self.names) if name in selected]
        names = tuple(self.names[d] for d in rows)
        return replace(self, names=names, scores=np.ascontiguousarray(self.scores[rows]))

    def with_queries(self, queries: Sequence[int] | Ints) -> Rankings:
        """Return some of the queries, in the order given."""
        chosen = np.asarray(queries, np.int64)
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < self.groups:
            raise UsageError(
                f"there are {self.groups} queries; give indices from 0 to {self.groups - 1}"
            )
        start, rows = gather_rows(self.start, chosen)
        names = tuple(self.queries[q] for q in chosen)
        return self._take(names, start, rows, self.judged.take(chosen))

    def of_run(self, name: str) -> Rankings:
        """Return one run alone: the documents that it returned, of all queries."""
        run = self.with_features([name])
        there = ~np.isnan(run.scores[0])
        query = np.repeat(np.arange(self.groups), np.diff(self.start))
        start = np.append(0, np.cumsum(np.bincount(query[there], minlength=self.groups)))
        return run._take(self.queries, start, np.flatnonzero(there), self.judged)

    def _take(
        self, queries: tuple[str, ...], start: Ints, rows: Ints, judged: Judgements
    ) -> Rankings:
        return replace(
            self,
            queries=queries,
            start=start,
            documents=tuple(map(self.documents.__getitem__, rows.tolist())),
            scores=np.ascontiguousarray(self.scores[:, rows]),
            grades=self.grades[rows],
            judged=judged,
        )
