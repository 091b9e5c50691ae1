"""What a worker does with its part of the lists.

It reads its own files and keeps features, statistics and the scores of points. It answers with
sums, breakpoints, and for evaluation the statistics of winners.
"""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.candidates import FileDigest, GroupId
from tunesmith.data.features import FeatureCounts
from tunesmith.inference.hypotheses import Direction, Envelope, Point
from tunesmith.inference.lists.axes import GroupSample
from tunesmith.inference.lists.expectation import add_squares_within
from tunesmith.inference.lists.hypotheses import FEW, ListHypotheses, best
from tunesmith.inference.lists.shards.envelopes import PackedEnvelope
from tunesmith.inference.lists.shards.questions import (
    Evaluate,
    FeatureNames,
    Making,
    Scale,
    StepRequest,
)
from tunesmith.inference.lists.variables import variable_row
from tunesmith.io.parts import Part, read_part
from tunesmith.io.reading import Reading
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored import ScoredCandidates, improve_choice
from tunesmith.metrics.taken_columns import with_columns_of
from tunesmith.parallel.local import map_pieces

#: Directions that are remembered: a step is mostly taken along the last line that was searched.
REMEMBERED = 64


@dataclass(frozen=True)
class PartFile:
    """A file that a worker reads, and how.

    Attributes
    ----------
    path, references, format, reading
        See :func:`tunesmith.io.read.read`.
    folder
        Where names of files are looked up: a worker may run elsewhere.
    metric
        What is tuned for.
    others
        Metrics that are reported; what they take as columns is no feature either.
    """

    path: str
    references: tuple[str, ...]
    folder: str
    format: str | None
    reading: Reading
    metric: Metric
    others: tuple[Metric, ...] = ()


@dataclass(frozen=True)
class PartFacts:
    """What the driver learns of a part: nothing that grows with it but digests of ids.

    Attributes
    ----------
    counts
        Of features, which decide how they are stored.
    dense_names, sparse_names
        How they are stored so far.
    widths
        How many values a name stands for, where the format says so.
    groups, candidates
        How many there are.
    first, last
        The least and the greatest id, if all are numbers; None otherwise.
    digests : uint64[S]
        Of the ids, if not all are numbers.
    references
        The least and the greatest number of references; None without any.
    is_given
        Whether the statistics were given, not counted.
    is_sum
        Whether the score is an average over the sentences.
    has_fractions
        Whether some statistics are not whole numbers.
    files
        What was read.
    lines
        How many lines each file of references has.
    no_features
        Columns that are no features.
    """

    counts: FeatureCounts
    dense_names: tuple[str, ...]
    sparse_names: tuple[str, ...]
    widths: dict[str, int]
    groups: int
    candidates: int
    first: int | None
    last: int | None
    digests: Ints
    references: tuple[int, int] | None
    is_given: bool
    is_sum: bool
    has_fractions: bool
    files: tuple[FileDigest, ...]
    lines: dict[str, int]
    no_features: tuple[str, ...]


@dataclass(frozen=True)
class ShardLayout:
    """What a shard has to know of the whole set, to compute what that would.

    Attributes
    ----------
    dense_names, sparse_names
        The features of all shards, and how they are stored.
    nonzero : int64[D_sparse]
        On how many candidates of all shards each sparse feature fires.
    candidates
        How many there are in all shards.
    first_group
        How many groups the shards before this one have.
    """

    dense_names: tuple[str, ...]
    sparse_names: tuple[str, ...]
    nonzero: Ints
    candidates: int
    first_group: int


class ShardHypotheses(ListHypotheses):
    """Answers about the groups of one shard, with the bits that the whole set would have."""

    def __init__(self, tuning: ScoredCandidates, nonzero: Ints, candidates: int) -> None:
        super().__init__(tuning)
        self._nonzero, self._candidates = nonzero, candidates

    def _are_rare(self, features: Ints) -> bool:
        together = self._nonzero[features - len(self.features.dense)].sum()
        return bool(together <= FEW * self._candidates)


class _Selected:
    """The candidates with some of the features, and the points that are known with them."""

    def __init__(self, scored: ScoredCandidates, layout: ShardLayout) -> None:
        self.scored = scored
        features = scored.candidates.features
        index = {name: d for d, name in enumerate(layout.sparse_names)}
        columns = np.array([index[name] for name in features.sparse_names], np.int64)
        self.hypotheses = ShardHypotheses(scored, layout.nonzero[columns], layout.candidates)
        self.points: dict[int, Point] = {}


class ListShard:
    """A part of the lists in a worker.

    Parameters
    ----------
    part
        What it reads.
    layout
        What is known of all shards; None before all have been read.
    """

    def __init__(self, part: PartFile, layout: ShardLayout | None) -> None:
        given = {os.path.join(part.folder, path): path for path in (part.path, *part.references)}
        path, *references = given
        read = read_part(path, references, part.format, part.reading)
        candidates = with_columns_of(read.candidates, (part.metric, *part.others))
        self._scored = ScoredCandidates(candidates, part.metric)
        names = {*candidates.features.names}
        self._facts = _facts(self._scored, replace(read, counts=read.counts.only(names)), given)
        self._layout: ShardLayout | None = None
        self._selected: dict[FeatureNames, _Selected] = {}
        self._choices: dict[int, Ints] = {}
        self._directions: OrderedDict[tuple[bytes, bytes, bool], Direction] = OrderedDict()
        if layout is not None:
            self.arrange(layout)

    def facts(self) -> PartFacts:
        """Return what the driver has to know."""
        return self._facts

    def nonzero(self, dense_names: tuple[str, ...], sparse_names: tuple[str, ...]) -> Ints:
        """Store features as all shards do; return on how many candidates sparse ones fire."""
        candidates = self._scored.candidates
        arranged = candidates.features.arranged(dense_names, sparse_names)
        if arranged is not candidates.features:
            self._scored = self._scored.of(
                replace(candidates, features=arranged), self._scored.stats
            )
        counts: Ints = np.diff(arranged.sparse.indptr).astype(np.int64)
        return counts

    def arrange(self, layout: ShardLayout) -> None:
        """Take in what is known of all shards."""
        self.nonzero(layout.dense_names, layout.sparse_names)
        self._layout = layout

    def _of(self, selection: FeatureNames) -> _Selected:
        selected = self._selected.get(selection)
        if selected is None:
            assert self._layout is not None
            scored = self._scored
            if selection.names is not None:
                candidates = scored.candidates
                features = candidates.features.only(selection.names)
                scored = scored.of(replace(candidates, features=features), scored.stats)
            selected = self._selected[selection] = _Selected(scored, self._layout)
        return selected

    # Points and lines.

    def make(
        self,
        selection: FeatureNames,
        makings: Sequence[tuple[int, Making]],
        dropped: Sequence[int],
    ) -> list[Stats]:
        """Make points, and forget others; return the sums of the winners' statistics."""
        selected = self._of(selection)
        points = selected.points
        for number in dropped:
            points.pop(number, None)
        totals = []
        for number, making in makings:
            point = points[number] = self._point(selected, making)
            totals.append(point.total)
        return totals

    def remake(
        self,
        selection: FeatureNames,
        steps: Sequence[tuple[tuple[int, Making], Sequence[int]]],
    ) -> None:
        """Make points one after the other, and forget each when it is needed no more."""
        for making, unneeded in steps:
            self.make(selection, [making], [])
            self.make(selection, [], unneeded)

    def _point(self, selected: _Selected, making: Making) -> Point:
        hypotheses, points = selected.hypotheses, selected.points
        match making:
            case StepRequest(before, direction, step):
                return hypotheses.move(points[before], self._known(direction), step)
            case Scale(before, factor):
                return hypotheses.scaled(points[before], factor)
            case Evaluate(weights):
                return hypotheses.point(weights)

    def _known(self, direction: Direction) -> Direction:
        """Return the same direction as before: slopes are remembered for the object."""
        key = direction.features.tobytes(), direction.values.tobytes(), direction.recurs
        known = self._directions.setdefault(key, direction)
        self._directions.move_to_end(key)
        if len(self._directions) > REMEMBERED:
            self._directions.popitem(last=False)
        return known

    def follow(
        self, selection: FeatureNames, lines: Sequence[tuple[int, Direction]]
    ) -> list[PackedEnvelope]:
        """Return the envelopes along lines through points."""
        selected = self._of(selection)
        known = [(selected.points[number], self._known(way)) for number, way in lines]
        return selected.hypotheses.map_envelopes(_packed, known)

    # What is asked once.

    def dense_squares(
        self, selection: FeatureNames, squares: Floats, sizes: Floats, factors: Floats
    ) -> tuple[Floats, Floats]:
        """Add up squares of dense features where the shards before have stopped."""
        scored = self._of(selection).scored
        rows, start = scored.candidates.features.dense, scored.candidates.start
        squares, sizes = squares.copy(), sizes.copy()

        def measure(d: int) -> None:
            row = rows[d] if factors[d] == 1.0 else rows[d] / factors[d]
            squares[d], sizes[d] = add_squares_within(row, start, squares[d], sizes[d])

        map_pieces(measure, list(range(len(rows))))
        return squares, sizes

    def largest(self, selection: FeatureNames, columns: Sequence[int]) -> list[float]:
        """Return the largest absolute values of dense features."""
        dense = self._of(selection).scored.candidates.features.dense
        return [float(np.abs(dense[d]).max()) for d in columns]

    def sparse_means(self, selection: FeatureNames, sums: Floats) -> Floats:
        """Add up squared means of sparse features where the shards before have stopped."""
        sums = sums.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self._of(selection).hypotheses.squares_of_means()
            np.add.at(sums, squares.col, squares.data)
        return sums

    def sparse_squares(self, selection: FeatureNames, first: int, last: int) -> tuple[Ints, Floats]:
        """Return how many squares some sparse features have, and the squares, one after another."""
        sparse = self._of(selection).scored.candidates.features.sparse[:, first:last]
        with np.errstate(over="ignore", invalid="ignore"):
            squares = sparse.multiply(sparse).tocsc()
        return np.diff(squares.indptr).astype(np.int64), squares.data

    def sample(self, selection: FeatureNames, basis: Floats, step: int) -> tuple[Floats, Ints]:
        """Return what variables [V, D_dense] change in every step-th group of all shards."""
        candidates = self._of(selection).scored.candidates
        assert self._layout is not None
        sample = GroupSample.of_groups(candidates.start, -self._layout.first_group % step, step)
        chosen = slice(None) if step == 1 else sample.candidates
        dense = candidates.features.dense
        rows = map_pieces(lambda v: variable_row(dense, basis[v], chosen), range(len(basis)))
        return np.array(rows), np.diff(sample.start)

    # What weights choose.

    def total(self, selection: FeatureNames, weights: Floats) -> Stats:
        """Return the sum of the statistics of what weights choose."""
        scored = self._of(selection).scored
        return scored.total(best(scored.candidates, weights))

    def winners(
        self, selection: FeatureNames, weights: Floats, metric: Metric | None
    ) -> tuple[Stats, bool]:
        """Return the statistics of what weights choose, and whether they were given."""
        scored = self._of(selection).scored
        chosen = best(scored.candidates, weights)
        if metric is None:
            return scored.stats[chosen], scored.given
        other = ScoredCandidates(scored.candidates.chosen(chosen), metric)
        return other.stats, other.given

    def changed(self, selection: FeatureNames, before: Floats, after: Floats) -> int:
        """Return in how many groups other weights choose another candidate."""
        candidates = self._of(selection).scored.candidates
        first, second = (best(candidates, weights) for weights in (before, after))
        return int((first != second).sum())

    def work(self, selection: FeatureNames, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``work(candidates, *arguments)``: what a tuner does with the lists themselves."""
        return work(self._of(selection).scored, *arguments)

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if the candidates lack what a metric needs."""
        self._scored.check_metric(metric)

    def gain_range(self, metric: Metric) -> tuple[float, float]:
        """Return the least and the greatest gain of single candidates."""
        gains = metric.gain(self._scored.stats)
        return float(gains.min()), float(gains.max())

    def begin_choice(self, number: int, selection: FeatureNames, weights: Floats | None) -> Stats:
        """Begin to look for the best choice, with the first candidates or with what weights choose.

        Returns the sum of its statistics.
        """
        scored = self._of(selection).scored
        first = scored.candidates.start[:-1].copy()
        chosen = first if weights is None else best(scored.candidates, weights)
        self._choices = {number: chosen}
        return scored.total(chosen)

    def improve_choice(
        self, number: int, metric: Metric, total: Stats, worst: bool
    ) -> tuple[Stats, bool] | None:
        """Let each group choose again; None if the choice was lost with another worker."""
        chosen = self._choices.get(number)
        if chosen is None:
            return None
        scored = self._scored.with_metric(metric)
        return improve_choice(scored, chosen, total, worst)


def make_shard(data: Any, seed: tuple[PartFile, ShardLayout | None]) -> ListShard:
    """Make a shard in a worker, which is sent nothing but names of files."""
    del data
    return ListShard(*seed)


def _packed(point: Point, direction: Direction, envelope: Envelope) -> PackedEnvelope:
    del point, direction
    return PackedEnvelope.of(envelope)


def _facts(scored: ScoredCandidates, read: Part, given: Mapping[str, str]) -> PartFacts:
    """Return what is known of a part; files are called what they were given as."""
    candidates = scored.candidates
    features, references = candidates.features, candidates.references
    numbers = [i for i in candidates.ids if isinstance(i, int)]
    are_numbers = len(numbers) == len(candidates.ids)
    nrefs = None if references is None else references.counts
    return PartFacts(
        read.counts,
        features.dense_names,
        features.sparse_names,
        dict(read.widths),
        candidates.groups,
        len(candidates),
        min(numbers) if are_numbers else None,
        max(numbers) if are_numbers else None,
        np.zeros(0, np.uint64) if are_numbers else _digests(candidates.ids),
        None if nrefs is None else (int(nrefs.min()), int(nrefs.max())),
        scored.given,
        scored.is_sum,
        scored.stats.dtype.kind == "f",
        tuple(replace(file, path=given.get(file.path, file.path)) for file in candidates.files),
        {given.get(name, name): count for name, count in read.lines.items()},
        candidates.no_features,
    )


def _digests(ids: Sequence[GroupId]) -> Any:
    marks = (hashlib.blake2b(str(i).encode("utf-8", "surrogatepass"), digest_size=8) for i in ids)
    return np.frombuffer(b"".join(mark.digest() for mark in marks), np.uint64)
