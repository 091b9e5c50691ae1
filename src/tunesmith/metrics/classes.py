"""Metrics of classifiers: rows are groups, and the candidates of a row are its classes.

The statistics of a row are counts of its true class and of the class that was chosen; scores are
those of ``sklearn.metrics``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.votes import label_text
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.metrics.base import Metric
from tunesmith.registry import option

Measure = Literal["accuracy", "balanced-accuracy", "f", "micro-f", "macro-f", "mcc", "kappa"]
#: What each measure is.
MEASURES: dict[str, str] = {
    "accuracy": "share of rows whose class is right",
    "balanced-accuracy": "mean recall of the classes",
    "f": "F-beta of one class: f1, f2, f0.5",
    "micro-f": "F-beta of the counts of several classes together: micro-f1",
    "macro-f": "mean F-beta of the classes: macro-f1",
    "mcc": "Matthews correlation coefficient",
    "kappa": "Cohen's kappa, also with linear or quadratic weights of errors",
}
#: Measures that name beta.
F_SCORES = ("f", "micro-f", "macro-f")
_F_NAME = re.compile(r"((?:micro-|macro-)?f)(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class ClassMetric(Metric):
    """A metric of classifiers: ``accuracy``, ``macro-f1``, ``mcc``, ``kappa``.

    A candidate's text is a class, and the reference of a row is its true class. Scores lie
    between 0 and 1, or -1 and 1, as in scikit-learn. A division by 0 gives 0. Means over classes
    are over those that occur, as the true class of a row or as the chosen one.

    Parameters
    ----------
    measure
        Which one.
    labels
        All classes.
    beta
        For F scores: the weight of recall relative to precision.
    positive
        The classes that ``f`` and ``micro-f`` count. By default the last of two, and all.
    distance
        For kappa: how the cost of an error grows with the distance of two classes in ``labels``.
    """

    scale = 1.0
    measure: Measure = option("accuracy", "which measure")
    labels: tuple[str, ...] = option((), "all classes")
    beta: float = option(1.0, "weight of recall beside precision", above=0)
    positive: tuple[str, ...] = option((), "classes that f and micro-f count")
    distance: Literal["none", "linear", "quadratic"] = option("none", "weights of errors in kappa")

    def __post_init__(self) -> None:
        super().__post_init__()
        twice = next((x for k, x in enumerate(self.labels) if x in self.labels[:k]), None)
        if len(self.labels) < 2 or twice is not None:
            problem = f"'{twice}' twice" if twice is not None else "fewer than two classes"
            raise UsageError(f"the labels of {self.measure} have {problem}; give each class once")
        counted = self.positive
        if self.measure in {"f", "micro-f"}:
            if not counted and self.measure == "f" and len(self.labels) > 2:
                raise UsageError(
                    f"f is about one class of {len(self.labels)}; say which, or take macro-f1"
                )
            counted = counted or (self.labels[-1:] if self.measure == "f" else self.labels)
            for label in counted:
                if label not in self.labels:
                    raise UnknownNameError("class", label, self.labels)
            if self.measure == "f" and len(counted) > 1:
                raise UsageError("f is about one class; take micro-f1 for several")
        elif counted:
            raise UsageError(f"positive has no effect on {self.measure}; drop it")
        if self.beta != 1.0 and self.measure not in F_SCORES:
            raise UsageError(f"beta has no effect on {self.measure}; drop it")
        if self.distance != "none" and self.measure != "kappa":
            raise UsageError(f"distance has no effect on {self.measure}; drop it")
        vars(self)["positive"] = counted
        vars(self)["name"] = self._name()
        vars(self)["is_sum"] = self.measure == "accuracy"

    @classmethod
    def of(
        cls, text: str, labels: Sequence[object], positive: object | Sequence[object] = ()
    ) -> Self:
        """Make a metric of its name, as ``accuracy``, ``f0.5``, ``macro-f1``, ``quadratic-kappa``.

        Parameters
        ----------
        text
            The name.
        labels
            All classes.
        positive
            The class that ``f1`` is about, or the classes that ``micro-f1`` counts.
        """
        name = text.strip().lower().replace("_", "-")
        counted = positive if isinstance(positive, list | tuple | set | np.ndarray) else [positive]
        fields: dict[str, Any] = {
            "labels": tuple(label_text(label) for label in labels),
            "positive": tuple(label_text(label) for label in counted),
        }
        f_score = _F_NAME.fullmatch(name)
        if f_score:
            measure: Any = f_score[1]
            return cls(measure, beta=float(f_score[2]), **fields)
        for distance in ("linear", "quadratic"):
            if name == f"{distance}-kappa":
                return cls("kappa", distance=distance, **fields)
        if name not in MEASURES or name in F_SCORES:
            every = [*(m for m in MEASURES if m not in F_SCORES), "f1", "micro-f1", "macro-f1"]
            raise UnknownNameError(
                "metric of classifiers", name, [*every, "linear-kappa", "quadratic-kappa"]
            )
        return cls(name, **fields)  # type: ignore[arg-type]

    def _name(self) -> str:
        if self.measure in F_SCORES:
            return f"{self.measure}{self.beta:g}"
        return self.measure if self.distance == "none" else f"{self.distance}-{self.measure}"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Counts of rows: right ones, those predicted as a class, those that have it."""
        hits, predicted, true = (
            tuple(f"{kind}:{label}" for label in self.labels) for kind in ("hits", "given", "true")
        )
        return {
            "accuracy": ("hits", "rows"),
            "balanced-accuracy": (*hits, *true),
            "f": ("hits", "given", "true"),
            "micro-f": ("hits", "given", "true"),
            "macro-f": (*hits, *predicted, *true),
            "mcc": ("hits", *predicted, *true),
            "kappa": ("error", *predicted, *true),
        }[self.measure]

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of one class, where another one is right, or the same."""
        if len(references) != 1:
            raise TunesmithError(
                f"{self.name} has {len(references)} true classes of a row; give one reference"
            )
        places = {label: k for k, label in enumerate(self.labels)}
        both = [places.get(" ".join(text.split()), -1) for text in (hypothesis, references[0])]
        for place, text in zip(both, (hypothesis, references[0]), strict=True):
            if place < 0:
                raise self._no_class(text)
        counts: Stats = self.counts(np.array(both[:1]), np.array(both[1:]))[0]
        return counts

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics of all candidates."""
        self.check(candidates)
        references = candidates.references
        assert references is not None
        if (references.counts != 1).any():
            g = int(np.flatnonzero(references.counts != 1)[0])
            raise TunesmithError(
                f"group '{candidates.ids[g]}' has {references.counts[g]} references, and a row "
                "has one true class; give one"
            )
        true = self._places(references.texts, candidates.vocabulary)
        of_candidates = np.repeat(true, np.diff(candidates.start))
        return self.counts(self._places(candidates.texts, candidates.vocabulary), of_candidates)

    def _places(self, texts: Texts, vocabulary: tuple[str, ...]) -> Ints:
        """Return the place of each text among the labels."""
        labels = {label: k for k, label in enumerate(self.labels)}
        if len(texts) and (texts.lengths == 1).all():
            of_token = np.array([labels.get(token, -1) for token in vocabulary])
            places: Ints = of_token[texts.ids].astype(np.int64)
        else:
            joined = (" ".join([vocabulary[i] for i in texts[k]]) for k in range(len(texts)))
            places = np.array([labels.get(text, -1) for text in joined], np.int64)
        if (places < 0).any():
            row = int(np.flatnonzero(places < 0)[0])
            raise self._no_class(" ".join([vocabulary[i] for i in texts[row]]))
        return places

    def _no_class(self, text: str) -> TunesmithError:
        return UnknownNameError("class", text, self.labels)

    def counts(self, given: Ints, true: Ints) -> Stats:
        """Return the statistics [N, K] of rows of a predicted and of a true class."""
        every = np.arange(len(self.labels))
        hits = given == true
        of_given, of_true = (places[:, None] == every for places in (given, true))
        columns: list[object]
        if self.measure == "accuracy":
            columns = [hits, np.ones(len(hits))]
        elif self.measure in {"f", "micro-f"}:
            counted = np.array([label in self.positive for label in self.labels])
            columns = [hits & counted[true], counted[given], counted[true]]
        elif self.measure == "balanced-accuracy":
            columns = [of_true & hits[:, None], of_true]
        elif self.measure == "macro-f":
            columns = [of_true & hits[:, None], of_given, of_true]
        elif self.measure == "mcc":
            columns = [hits, of_given, of_true]
        else:
            columns = [self._errors()[given, true], of_given, of_true]
        return np.column_stack(columns).astype(np.int32)  # type: ignore[arg-type]

    def _errors(self) -> Ints:
        """Return what kappa counts for giving one class where another is true [C, C]."""
        every = np.arange(len(self.labels))
        apart: Ints = np.abs(every[:, None] - every)
        return {"none": np.minimum(apart, 1), "linear": apart, "quadratic": apart**2}[self.distance]

    def score(self, stats: Stats) -> Floats:
        """Return the score of summed statistics [..., K]."""
        values, count = np.asarray(stats, np.float64), len(self.labels)
        if self.measure == "accuracy":
            return _share(values[..., 0], values[..., 1])
        if self.measure == "balanced-accuracy":
            hits, true = values[..., :count], values[..., count:]
            return _share(_share(hits, true).sum(axis=-1), (true > 0.0).sum(axis=-1))
        if self.measure in {"f", "micro-f"}:
            return self._f(*np.moveaxis(values, -1, 0))
        predicted, true = values[..., -2 * count : -count], values[..., -count:]
        if self.measure == "macro-f":
            known = (predicted + true > 0.0).sum(axis=-1)
            return _share(self._f(values[..., :count], predicted, true).sum(axis=-1), known)
        rows = true.sum(axis=-1)
        if self.measure == "mcc":  # Gorodkin 2004, of several classes
            above = values[..., 0] * rows - (predicted * true).sum(axis=-1)
            spreads = [rows**2 - (counts**2).sum(axis=-1) for counts in (predicted, true)]
            return _share(above, np.sqrt(spreads[0] * spreads[1]))
        expected = np.einsum(
            "...i,ij,...j->...", predicted, self._errors().astype(np.float64), true
        )
        defined = expected > 0.0
        return np.asarray(
            np.where(defined, 1.0 - _share(values[..., 0] * rows, expected), 0.0), np.float64
        )

    def _f(self, hits: Floats, predicted: Floats, true: Floats) -> Floats:
        """Return (1 + β²) · hits / (predicted + β² · true)."""
        square = self.beta**2
        return _share((1.0 + square) * hits, predicted + square * true)

    def signature(self) -> str:
        """Return what has to be known to compute the same score again."""
        counted = f"|positive:{','.join(self.positive)}" if self.positive else ""
        return f"{self.name}|classes:{','.join(self.labels)}{counted}"


def _share(above: Floats, below: Floats) -> Floats:
    """Return quotients, 0 where nothing is below."""
    divided = np.asarray(below) > 0.0
    return np.asarray(np.where(divided, above / np.where(divided, below, 1.0), 0.0), np.float64)
