"""How the scores of a run become a feature: a part of the model, as weights are.

Scores of two runs are seldom comparable. What makes them so is applied to each query and each run
by itself, over the documents that the run returned; then the documents that it did not return get
a value too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.rankings.rankings import Rankings
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import argsort
from tunesmith.parallel.local import map_pieces

Kind = Literal["none", "min-max", "z", "sum", "rank", "reciprocal-rank"]
KINDS = ("none", "min-max", "z", "sum", "rank", "reciprocal-rank")
#: Kinds whose values are 0 or more, and for which a document that is missing has 0.
WITH_FLOOR = frozenset({"min-max", "sum", "rank", "reciprocal-rank"})
#: The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
RRF_K = 60.0


@dataclass(frozen=True)
class Normalisation:
    """What is done to the scores of each query and run.

    Attributes
    ----------
    kind
        ``none``: nothing. ``min-max``: 0 for the lowest score to 1 for the highest.
        ``z``: minus the mean, over the deviation. ``sum``: minus the lowest, over the sum.
        ``rank``: 1 for the first document, and 1/n less for each that follows.
        ``reciprocal-rank``: 1 / (k + rank).
    k
        The constant of reciprocal ranks.
    missing
        The score of a document that a run did not return: ``lowest``, that of the run's last
        document for the query; ``zero``; or a number. ``auto`` is ``lowest`` with ``none`` and
        ``z``, and ``zero`` otherwise.
    """

    kind: Kind = "min-max"
    k: float = RRF_K
    missing: str | float = "auto"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError("normalisation", self.kind, KINDS)
        if not 0.0 <= self.k < np.inf:
            raise UsageError(f"k of reciprocal ranks is {self.k:g}; give 0 or more")
        if self.k != RRF_K and self.kind != "reciprocal-rank":
            raise UsageError("k goes with the normalisation reciprocal-rank; drop it")
        if isinstance(self.missing, str) and self.missing not in {"auto", "lowest", "zero"}:
            vars(self)["missing"] = _number(self.missing)

    @classmethod
    def of(cls, text: str, missing: str | float = "auto") -> Self:
        """Make one of its name, with k where it has one: ``min-max``, ``reciprocal-rank:k=10``."""
        kind, colon, rest = text.partition(":")
        if kind not in KINDS:
            raise UnknownNameError("normalisation", kind, KINDS)
        if not colon:
            return cls(kind, missing=missing)  # type: ignore[arg-type]
        name, _, value = rest.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = np.nan
        if name != "k" or not np.isfinite(number):
            raise UsageError(f"normalisation is '{text}'; write reciprocal-rank:k=NUMBER")
        return cls(kind, number, missing)  # type: ignore[arg-type]

    @property
    def policy(self) -> str | float:
        """What becomes of missing scores: ``lowest``, ``zero`` or a number."""
        if self.missing != "auto":
            return self.missing
        return "zero" if self.kind in WITH_FLOOR else "lowest"

    def __str__(self) -> str:
        return f"{self.kind}:k={self.k:g}" if self.kind == "reciprocal-rank" else self.kind

    def to_dict(self) -> dict[str, Any]:
        """Return what a model's file says of it."""
        options = {"k": self.k} if self.kind == "reciprocal-rank" else {}
        return {"kind": self.kind, **options, "missing": self.policy}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Self:
        """Make one of what :meth:`to_dict` returns."""
        return cls(found["kind"], float(found.get("k", RRF_K)), found.get("missing", "auto"))

    def features(self, rankings: Rankings) -> Floats:
        """Return the features [D, N] of documents."""
        rows = np.empty(rankings.scores.shape)
        policy = self.policy
        constant = np.nan if policy == "lowest" else 0.0 if policy == "zero" else float(policy)
        kind = KINDS.index(self.kind)

        def fill(d: int) -> None:
            _normalise(rankings.scores[d], rankings.start, kind, self.k, constant, rows[d])

        map_pieces(fill, list(range(len(rows))))
        return rows


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise UsageError(f"missing is '{text}'; give lowest, zero or a number")
    return value


@kernel
def _normalise(
    scores: Floats, start: Ints, kind: int, k: float, constant: float, out: Floats
) -> None:
    """Fill the feature of one run; a missing score is NaN, and so is ``constant`` for lowest."""
    for q in range(start.shape[0] - 1):
        lo, hi = start[q], start[q + 1]
        count, least, most, total = 0, np.inf, -np.inf, 0.0
        for i in range(lo, hi):
            if not np.isnan(scores[i]):
                count += 1
                least, most = min(least, scores[i]), max(most, scores[i])
                total += scores[i]
        mean = total / count if count > 0 else 0.0
        square, above = 0.0, 0.0
        for i in range(lo, hi):
            if not np.isnan(scores[i]):
                square += (scores[i] - mean) ** 2
                above += scores[i] - least
        deviation = np.sqrt(square / count) if count > 0 else 0.0
        if kind >= 4:
            _ranked(scores, lo, hi, count, kind == 4, k, out)
        for i in range(lo, hi):
            if np.isnan(scores[i]) or kind >= 4:
                continue
            if kind == 0:
                out[i] = scores[i]
            elif kind == 1:
                out[i] = (scores[i] - least) / (most - least) if most > least else 1.0
            elif kind == 2:
                out[i] = (scores[i] - mean) / deviation if deviation > 0.0 else 0.0
            else:
                out[i] = (scores[i] - least) / above if above > 0.0 else 1.0 / count
        lowest = np.inf
        for i in range(lo, hi):
            if not np.isnan(scores[i]):
                lowest = min(lowest, out[i])
        fill = constant
        if np.isnan(constant):
            fill = lowest if count > 0 else 0.0
        for i in range(lo, hi):
            if np.isnan(scores[i]):
                out[i] = fill


@kernel
def _ranked(
    scores: Floats, lo: int, hi: int, count: int, linear: bool, k: float, out: Floats
) -> None:
    """Fill what ranks count; of equal scores the first is ranked first."""
    rows, keys = np.empty(count, np.int64), np.empty(count)
    at = 0
    for i in range(lo, hi):
        if not np.isnan(scores[i]):
            rows[at], keys[at] = i, -scores[i]
            at += 1
    ranks = argsort(keys)
    for r in range(count):
        out[rows[ranks[r]]] = 1.0 - r / count if linear else 1.0 / (k + r + 1.0)
