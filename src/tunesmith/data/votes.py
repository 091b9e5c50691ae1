"""Rows of classifiers as groups: the candidates of a row are its classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.data.features import Features
from tunesmith.data.rows import offsets
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError

#: What has a weight: each model, each class, or each class of each model.
Weighted = Literal["models", "classes", "both"]
WEIGHTED = ("models", "classes", "both")
#: The feature that every row has.
INTERCEPT = "intercept"


def from_votes(
    votes: Mapping[str, Any],
    y: Any = None,
    labels: Sequence[object] | None = None,
    weighted: Weighted = "models",
) -> CandidateSet:
    """Make candidates from the probabilities that models give to classes.

    A row is a group, and its candidates are the classes, in the order of the labels. The class with
    the highest weighted sum of probabilities wins; among equals, the first.

    Parameters
    ----------
    votes : name -> [n, C]
        The probabilities of each model: arrays, or frames whose columns are the classes. For two
        classes, the probabilities [n] of the second are enough. Other scores work too.
    y : [n]
        The true classes; None if they are unknown.
    labels
        The classes. By default the columns of frames, else the sorted classes of ``y``, else
        numbers from 0.
    weighted
        What has a weight: each of the ``models``; each of the ``classes``, applied to the mean of
        the models (``argmax(w · proba)``); or ``both``, each class of each model.

    Raises
    ------
    TunesmithError
        Shapes differ, a number is not finite, or a class is not among the labels.
    """
    if not isinstance(votes, Mapping) or not votes:
        raise UsageError("there are no votes; give probabilities by the names of models")
    if weighted not in WEIGHTED:
        raise UnknownNameError("value of weighted", str(weighted), WEIGHTED)
    classes = labels_of(votes, y, labels)
    names = tuple(map(str, votes))
    arrays = [_probabilities(name, votes[name], classes) for name in votes]
    rows = len(arrays[0])
    for name, array in zip(names, arrays, strict=True):
        if len(array) != rows:
            problem = f"'{names[0]}' has {rows} rows and '{name}' {len(array)}"
            raise TunesmithError(f"votes: {problem}; give all models the same rows")
    stacked = np.stack(arrays)
    count = len(classes)
    if weighted == "classes":
        stacked, names = stacked.mean(axis=0, keepdims=True), ()
    if weighted == "models":
        dense = stacked.reshape(len(names), rows * count)
    else:
        alone = np.einsum("mnc,kc->mknc", stacked, np.eye(count))
        dense = alone.reshape(len(stacked) * count, rows * count)
        shown = tuple(map(label_text, classes))
        names = tuple(f"{name}.{label}" for name in names for label in shown) or shown
    return _classified(names, dense, rows, classes, y)


def from_two_classes(X: Any, y: Any, labels: Sequence[object] | None = None) -> CandidateSet:  # noqa: N803
    """Make candidates from rows of two classes, for a linear classifier with an intercept.

    The second class scores ``w · x + intercept`` and the first 0, so the second is chosen where
    the sum is above 0. With ``plane`` or ``lp-mert`` and ``accuracy`` the weights with the fewest
    errors are proven.

    Parameters
    ----------
    X : [n, d]
        The features of rows: an array or a frame.
    y : [n]
        Their classes.
    labels
        The two classes; by default those of ``y``, sorted.
    """
    rows = _matrix("X", X)
    named = getattr(X, "columns", None)
    names = (
        tuple(f"x{k}" for k in range(rows.shape[1])) if named is None else tuple(map(str, named))
    )
    if labels is None:
        labels = np.unique(_labels("y", y)).tolist()
    if len(labels) != 2:
        raise UsageError(f"there are {len(labels)} classes; give rows of two, or from_votes")
    if INTERCEPT in names:
        raise UsageError(f"a column is called '{INTERCEPT}', as what is added; rename it")
    values = np.column_stack([rows, np.ones(len(rows))])
    dense = np.zeros((len(names) + 1, 2 * len(rows)))
    dense[:, 1::2] = values.T
    return _classified((*names, INTERCEPT), dense, len(rows), tuple(labels), y)


def _classified(
    names: tuple[str, ...], dense: Floats, rows: int, labels: Sequence[object], y: Any
) -> CandidateSet:
    """Return candidates whose texts are classes; the reference of a row is its true one."""
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise UsageError(f"two features are called '{twice}'; rename one")
    shown = [label_text(label) for label in labels]
    words = [label.split() for label in shown]
    vocabulary = tuple(dict.fromkeys(word for label in words for word in label))
    tokens = [np.array([vocabulary.index(word) for word in label], np.int32) for label in words]
    count = len(labels)
    references = None
    if y is not None:
        references = References(np.arange(rows + 1), _texts(tokens, places_of(y, labels, rows)))
    return CandidateSet(
        tuple(range(rows)),
        count * np.arange(rows + 1),
        Features(names, dense, (), csc_array((rows * count, 0))),
        _texts(tokens, np.tile(np.arange(count), rows)),
        vocabulary,
        references,
    )


def _texts(tokens: Sequence[Ids], places: Ints) -> Texts:
    """Return the texts of classes at some places among the labels."""
    lengths = np.array([len(ids) for ids in tokens])
    if (lengths == 1).all():
        return Texts(np.arange(len(places) + 1), np.concatenate(tokens)[places])
    chosen = [tokens[place] for place in places.tolist()]
    return Texts(offsets(lengths[places]), np.concatenate([np.zeros(0, np.int32), *chosen]))


def labels_of(
    votes: Mapping[str, Any], y: Any, labels: Sequence[object] | None = None
) -> tuple[object, ...]:
    """Return the classes that votes are about."""
    if not isinstance(votes, Mapping) or not votes:
        raise UsageError("there are no votes; give probabilities by the names of models")
    columns = {
        name: tuple(frame.columns) for name, frame in votes.items() if hasattr(frame, "columns")
    }
    classes = None if labels is None else tuple(getattr(labels, "tolist", lambda: labels)())
    for name, column_classes in columns.items():
        first = classes is None
        classes = column_classes if classes is None else classes
        if not first and list(map(label_text, column_classes)) != list(map(label_text, classes)):
            raise UsageError(
                f"the columns of '{name}' are not {_shown(classes)}; give all the same"
            )
    if classes is None and y is not None:
        classes = tuple(np.unique(_labels("y", y)).tolist())
    if classes is None:
        shape = np.shape(next(iter(votes.values())))
        classes = tuple(range(shape[1] if len(shape) > 1 else 2))
    texts = list(map(label_text, classes))
    if len(texts) < 2 or len({*texts}) < len(texts):
        raise UsageError(f"the classes are {_shown(classes)}; give two or more, each once")
    return classes


def places_of(y: Any, labels: Sequence[object], rows: int) -> Ints:
    """Return the place of each true class among the labels."""
    classes = _labels("y", y)
    if len(classes) != rows:
        raise TunesmithError(f"votes have {rows} rows and y {len(classes)}; give a class for each")
    known = {label_text(label): k for k, label in enumerate(labels)}
    distinct, inverse = np.unique(classes, return_inverse=True)
    places = []
    for value in distinct.tolist():
        text = label_text(value)
        if text not in known:
            raise UnknownNameError("class", text, list(known))
        places.append(known[text])
    return np.array(places, np.int64)[inverse]


def label_text(label: object) -> str:
    """Return a class as a text: whole numbers without a point, words with single spaces."""
    if isinstance(label, float | np.floating):
        if np.isnan(label):
            raise TunesmithError("a class is missing; fill the gaps")
        label = int(label) if float(label).is_integer() else label
    text = " ".join(str(label).split())
    if label is None or not text:
        raise TunesmithError("a class is missing, or has an empty name; fill the gaps")
    return text


def _probabilities(name: str, values: Any, labels: Sequence[object]) -> Floats:
    array = _numbers(name, values)
    count = len(labels)
    if array.ndim == 1 and count == 2:
        array = np.column_stack([1.0 - array, array])
    if array.ndim != 2 or array.shape[1] != count:
        raise TunesmithError(
            f"'{name}' has the shape {array.shape}, and there are {count} classes "
            f"({_shown(labels)}); give a column for each"
        )
    return array


def _matrix(name: str, values: Any) -> Floats:
    array = _numbers(name, values)
    if array.ndim != 2 or not array.size:
        raise TunesmithError(f"'{name}' has the shape {array.shape}; give rows of features")
    return array


def _numbers(name: str, values: Any) -> Floats:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise TunesmithError(f"'{name}' holds more than numbers; give numbers") from None
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise TunesmithError(f"'{name}' has a number that is not finite in row {row}; fill the gap")
    return array


def _labels(name: str, values: Any) -> Any:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not len(array):
        raise TunesmithError(f"{name} has the shape {array.shape}; give a class for each row")
    if array.dtype.kind == "O":
        for value in array.tolist():
            label_text(value)
        array = array.astype(str) if any(isinstance(v, str) for v in array.tolist()) else array
    return array


def _shown(labels: Sequence[object]) -> str:
    return ", ".join(map(str, labels[:5])) + (" ..." if len(labels) > 5 else "")
