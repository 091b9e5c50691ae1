"""Candidates that come one by one, made into pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import GroupId
from tunesmith.errors import FormatError
from tunesmith.io.text.tokens import tokenize_kept

if TYPE_CHECKING:
    from tunesmith.io.collector import Collector

#: Candidates of one piece.
FULL = 1 << 14

Place = tuple[str, int | None]


@dataclass
class Rows:
    """A buffer of candidates, a list a field."""

    groups: list[GroupId] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    features: list[Mapping[str, float]] = field(default_factory=list)
    columns: list[Mapping[str, float]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    def add(
        self,
        group: GroupId,
        text: str,
        features: Mapping[str, float],
        columns: Mapping[str, float],
        place: Place,
    ) -> None:
        """Add a candidate."""
        self.groups.append(group)
        self.texts.append(text)
        self.features.append(features)
        self.columns.append(columns)
        self.places.append(place)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def full(self) -> bool:
        """Whether it is time to make a piece."""
        return len(self) >= FULL

    def pieces(self, collector: Collector) -> Iterator[Piece]:
        """Yield the candidates as pieces; rows with other external scores begin a new one."""
        first = 0
        for last in range(1, len(self) + 1):
            if last == len(self) or self.columns[last].keys() != self.columns[first].keys():
                yield self._piece(first, last, collector)
                first = last

    def _piece(self, first: int, last: int, collector: Collector) -> Piece:
        features, part = self.features[first:last], slice(first, last)
        self._check_texts(part)
        names = list(dict.fromkeys(name for m in features for name in m))
        column = dict(zip(names, collector.columns(names).tolist(), strict=True))
        rows = np.repeat(np.arange(last - first), [len(m) for m in features])
        columns = np.array([column[name] for m in features for name in m], np.int64)
        values = np.array([v for m in features for v in m.values()], np.float64)
        self._check_finite(values, rows + first, [n for m in features for n in m])
        nonzero = values != 0
        texts, originals = tokenize_kept(self.texts[part], collector.vocabulary)
        groups = self.groups[part]
        for group, place in zip(groups, self.places[part], strict=True):
            collector.note_place(group, place)
        return Piece(
            collector.groups(groups),
            texts,
            np.zeros(0, np.int64),
            np.zeros((0, last - first)),
            rows[nonzero],
            columns[nonzero],
            values[nonzero],
            *np.unique(columns, return_counts=True),
            self._external(part),
            shown_place(self.places[first]),
            originals,
        )

    def _external(self, part: slice) -> dict[str, Floats]:
        columns = {}
        rows = np.arange(part.start, part.stop)
        for name in self.columns[part.start]:
            values = np.array([m[name] for m in self.columns[part]], np.float64)
            self._check_finite(values, rows, [name] * len(rows))
            columns[name] = values
        return columns

    def _check_finite(self, values: Floats, rows: Ints, names: list[str]) -> None:
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            first = bad[0]
            problem = f"'{names[first]}' is {values[first]}, which is not finite"
            path, line = self.places[rows[first]]
            raise FormatError(path, line, problem, "give finite numbers or drop the candidate")

    def _check_texts(self, part: slice) -> None:
        whole = "".join(self.texts[part])
        try:
            if "\0" not in whole and whole.encode() is not None:
                return
        except UnicodeEncodeError:
            pass
        for text, place in zip(self.texts[part], self.places[part], strict=True):
            if "\0" in text:
                raise FormatError(*place, "a text holds a NUL character", "write text alone")
            try:
                text.encode()
            except UnicodeEncodeError:
                problem = "a text holds half of a surrogate pair"
                raise FormatError(*place, problem, "write valid Unicode") from None


def shown_place(place: Place) -> str:
    """Return a place as it stands in errors."""
    path, line = place
    return path if line is None else f"{path}:{line}"
