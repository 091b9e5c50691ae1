"""A linear reranker, and a vote of classifiers, as scikit-learn has its estimators.

>>> reranker = LinearReranker().fit(X, y, groups)
>>> X.iloc[reranker.choose(X, groups)]
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csc_array, issparse

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.features import Features
from tunesmith.errors import MissingExtraError, UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.integrations.voting import WeightedVote
from tunesmith.metrics.column import Column
from tunesmith.registry import options_of
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import TUNERS, Tuner
from tunesmith.tuners.fitting.result import TuneResult

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d
except ImportError:
    raise MissingExtraError("tunesmith.integrations.sklearn", "sklearn") from None

__all__ = ["ArgumentError", "LinearReranker", "OneGroupWarning", "WeightedVote", "mean_of_winners"]

#: Seeds that are drawn are below this.
SEEDS = 2**31 - 1


class ArgumentError(UsageError, ValueError):
    """Arguments that do not go together; a ValueError, as scikit-learn has it."""


class OneGroupWarning(UserWarning):
    """All rows are one group, because none are given."""


def mean_of_winners(
    y_true: Any, y_pred: Any, groups: Any = None, sample_weight: Any = None
) -> float:
    """Return the mean worth of the rows with the highest score in their group.

    For ``sklearn.metrics.make_scorer``, with ``set_score_request(groups=True)``: some versions of
    scikit-learn do not pass groups on to the ``score`` of an estimator in a pipeline.

    Parameters
    ----------
    y_true, y_pred : [n]
        What rows are worth, and their scores.
    groups : [n]
        The group of each row; None makes all rows one group.
    sample_weight : [n]
        How much a row counts where it wins; all alike unless given.
    """
    scores = _column("y_pred", y_pred)
    count = len(scores)
    _warn_of_one_group(groups, count)
    numbers = _group_numbers(groups, count)
    order = np.lexsort((-scores, numbers))
    chosen = order[np.flatnonzero(np.diff(numbers[order], prepend=-1))]
    worth = _column("y", y_true, count)[chosen]
    if sample_weight is None:
        return float(worth.mean())
    weights = _column("sample_weight", sample_weight, count)[chosen]
    if (weights < 0).any() or not weights.any():
        raise ArgumentError(
            "sample_weight of the winners has numbers below 0, or nothing but 0; give weights"
        )
    return float(np.average(worth, weights=weights))


class LinearReranker(BaseEstimator):  # type: ignore[misc]
    """Tunes weights so that the best candidate of each group comes first.

    Every row of ``X`` is a candidate, and ``groups`` says which candidates belong together. The
    winner of a group is the row with the highest weighted sum of its features; among equals, the
    first. The weights maximise the mean of ``y`` over the winners.

    Parameters
    ----------
    tuner
        The algorithm: a name of ``tunesmith list tuners``, or a tuner.
    tuner_options
        Options of a tuner that is given by its name.
    start
        Starting weights: an array with one number per feature, or a mapping by name.
    bounds
        The ranges of weights, ``{name: (low, high)}``, or one ``(low, high)`` for all; None leaves
        a side open. For tuners that take restrictions.
    normalise
        The scale of the weights: ``none``; ``l1`` or ``l2``, that norm being 1; or a feature's
        name, whose weight becomes 1 or -1.
    random_state
        A seed, or a ``numpy.random.RandomState``. None is the seed 1: the same data give the same
        weights.
    group_column
        The column of ``X`` that names groups: its name or, for an array, its index. It is not a
        feature. With it you need not pass groups, so ``cross_val_score`` needs no metadata routing.
    one_group
        Treat all rows as one group if no groups are given. Otherwise that is an error.

    Attributes
    ----------
    coef_ : float64[d]
        The weights.
    result_ : TuneResult
        How the weights came about; prints as tables.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : object[d]
        Their names, if ``X`` was a frame; otherwise results call them x0, x1 ...

    Notes
    -----
    More of ``y`` is better; negate costs. Metrics of whole corpora, such as BLEU, need texts: use
    ``TuningSet`` for them.
    """

    # With metadata routing, groups that are passed reach all who need them.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self,
        tuner: str | Tuner = "mert",
        *,
        tuner_options: Mapping[str, Any] | None = None,
        start: Sequence[float] | Mapping[str, float] | None = None,
        bounds: Mapping[str, tuple[float | None, float | None]]
        | tuple[float | None, float | None]
        | None = None,
        normalise: str = "auto",
        random_state: Any = None,
        group_column: str | int | None = None,
        one_group: bool = False,
    ) -> None:
        self.tuner = tuner
        self.tuner_options = tuner_options
        self.start = start
        self.bounds = bounds
        self.normalise = normalise
        self.random_state = random_state
        self.group_column = group_column
        self.one_group = one_group

    def fit(self, X: Any, y: Any, groups: Any = None) -> LinearReranker:  # noqa: N803
        """Tune the weights.

        Parameters
        ----------
        X : array, frame or sparse matrix [n, d]
            One row per candidate, one column per feature.
        y : [n]
            What each candidate is worth, more being better: a reward, or 0 and 1.
        groups : [n]
            The group of each row: numbers or texts, in any order. Needed, unless
            ``group_column`` names them.
        """
        X, groups = self._parted(X, groups)  # noqa: N806
        rows, worth = _validated(self, X, y=y, y_numeric=True)
        names = self._names(X)
        self._check_groups(groups, rows.shape[0])
        candidates, _ = _grouped(rows, names, groups, worth)
        result = self._tuner(names).fit(
            TuningSet(candidates, Column("y")),
            self._start(names),
            rng=self._seed(),
            normalise=self.normalise,
        )
        self.coef_: Floats = result.weights.aligned(names)
        self.result_: TuneResult = result
        return self

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the score of each row under the weights; compare those of one group."""
        rows = self._checked(self._parted(X, None)[0])
        return _features(rows, _numbered(rows)).dot(self.coef_)

    def rank(self, X: Any, groups: Any = None) -> Ints:  # noqa: N803
        """Return each row's place in its group: 1 is the best, the first among equals."""
        candidates, order = self._of(X, groups)
        scores = candidates.features.dot(self.coef_)
        sizes = np.diff(candidates.start)
        owners = np.repeat(np.arange(candidates.groups), sizes)
        best_first = np.lexsort((-scores, owners))
        places = np.empty(len(order), np.int64)
        behind = np.arange(len(order)) - np.repeat(candidates.start[:-1], sizes)
        places[order[best_first]] = behind + 1
        return places

    def choose(self, X: Any, groups: Any = None) -> Ints:  # noqa: N803
        """Return the row of each group's winner, groups being in the order of their first rows."""
        candidates, order = self._of(X, groups)
        chosen: Ints = order[best(candidates, self.coef_)]
        return chosen

    def score(
        self,
        X: Any,  # noqa: N803
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Return the mean of ``y`` over the winners of all groups.

        Parameters
        ----------
        X, y, groups
            As for :meth:`fit`.
        sample_weight : [n]
            How much a row counts where it wins; all alike unless given.
        """
        predicted = self.predict(X)
        _, groups = self._parted(X, groups)
        self._check_groups(groups, len(predicted))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if groups is None else "default", OneGroupWarning)
            return mean_of_winners(y, predicted, groups, sample_weight)

    def _parted(self, X: Any, groups: Any) -> tuple[Any, Any]:  # noqa: N803
        """Return the features, and the groups, which may be a column of them."""
        column = self.group_column
        if column is None:
            return X, groups
        if isinstance(column, str):
            if not hasattr(X, "columns"):
                raise ArgumentError(
                    f"group_column is '{column}' and X has no names; give a frame, or an index"
                )
            if column not in list(X.columns):
                if groups is None:
                    raise ArgumentError(f"X has no column '{column}'; give it, or groups")
                return X, groups
            column_values = X[column]
            rest = X[[name for name in X.columns if name != column]]
        else:
            if issparse(X):
                raise ArgumentError("group_column goes with frames and arrays; give groups")
            whole = np.asarray(X)
            column_values, rest = whole[:, column], np.delete(whole, column, axis=1)
        return rest, column_values if groups is None else groups

    def _check_groups(self, groups: Any, count: int) -> None:
        """Raise an error, or warn, where groups are missing: one winner of all is hardly meant."""
        if groups is not None or count < 2:
            return
        if not self.one_group:
            raise ArgumentError(
                f"groups is not given, and all {count} rows would be one group; give groups or "
                "group_column (in cross-validation, too: it passes groups to the splitter alone, "
                "unless metadata routing is on)"
            )
        _warn_of_one_group(groups, count)

    def _of(self, X: Any, groups: Any) -> tuple[CandidateSet, Ints]:  # noqa: N803
        X, groups = self._parted(X, groups)  # noqa: N806
        rows = self._checked(X)
        return _grouped(rows, _numbered(rows), groups, None)

    def _checked(self, X: Any) -> Any:  # noqa: N803
        check_is_fitted(self)
        return _validated(self, X, reset=False)

    def _names(self, X: Any) -> tuple[str, ...]:  # noqa: N803
        named = getattr(self, "feature_names_in_", None)
        if named is None:
            return _numbered(X)
        names = tuple(named.tolist())
        twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
        if twice is not None:
            raise ArgumentError(f"two columns are called '{twice}'; rename one")
        return names

    def _tuner(self, names: tuple[str, ...]) -> Tuner:
        """Return the algorithm with its options."""
        if isinstance(self.tuner, Tuner):
            if self.tuner_options or self.bounds:
                raise ArgumentError(
                    "tuner is an object, and options are given too; give them to the object"
                )
            return self.tuner
        if not isinstance(self.tuner, str):
            raise ArgumentError(f"tuner is {self.tuner!r:.60}; give a name, or a tuner")
        options = dict(self.tuner_options or {})
        tuner_class = TUNERS.get(self.tuner)
        if self.bounds is not None:
            if "bound" not in {option.field for option in options_of(tuner_class)}:
                raise ArgumentError(
                    f"tuner '{self.tuner}' takes no bounds; leave them out, or take mert"
                )
            bounds = self.bounds
            if not isinstance(bounds, Mapping):
                bounds = dict.fromkeys(names, bounds)
            ranges = {name: _range(name, pair) for name, pair in bounds.items()}
            options["bound"] = {name: text for name, text in ranges.items() if text != ":"}
        try:
            return tuner_class(**options)
        except TypeError as error:
            problem = str(error).partition(") ")[2] or str(error)
            raise ArgumentError(f"tuner '{self.tuner}': {problem}; see its options") from None

    def _start(self, names: tuple[str, ...]) -> Mapping[str, float] | None:
        if self.start is None or isinstance(self.start, Mapping):
            return self.start
        values = np.asarray(self.start, np.float64)
        if values.shape != (len(names),):
            raise ArgumentError(
                f"start has the shape {values.shape}; give one number for each of "
                f"{len(names)} features"
            )
        return dict(zip(names, values.tolist(), strict=True))

    def _seed(self) -> int:
        if self.random_state is None:
            return 1
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(SEEDS))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.single_output = True
        tags.input_tags.sparse = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        """Return the same before scikit-learn 1.6."""
        return {"requires_y": True}


def _validated(estimator: Any, X: Any, **more: Any) -> Any:  # noqa: N803
    """Check arguments as scikit-learn does; return them as arrays of numbers."""
    options = {"accept_sparse": "csr", "dtype": np.float64, **more}
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before 1.6
        return estimator._validate_data(X, **options)
    return validate_data(estimator, X, **options)


def _grouped(
    rows: Any, names: tuple[str, ...], groups: Any, worth: Floats | None
) -> tuple[CandidateSet, Ints]:
    """Return candidates with those of a group together, and the row that each of them was."""
    count = rows.shape[0]
    numbers = _group_numbers(groups, count)
    order = np.argsort(numbers, kind="stable")
    sizes = np.bincount(numbers)
    nothing = Texts(np.zeros(count + 1, np.int64), np.zeros(0, np.int32))
    candidates = CandidateSet(
        tuple(range(len(sizes))),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        _features(rows[order], names),
        nothing,
        (),
        columns={} if worth is None else {"y": worth[order].astype(np.float64)},
    )
    return candidates, order


def _group_numbers(groups: Any, count: int) -> Ints:
    """Return groups as numbers, in the order of their first rows."""
    if groups is None:
        return np.zeros(count, np.int64)
    shape = np.shape(groups)
    if len(shape) != 1 and shape[1:] != (1,):
        raise ArgumentError(f"groups has the shape {shape}; give one group a row")
    values = column_or_1d(groups).tolist()
    if len(values) != count:
        raise ArgumentError(f"X has {count} rows and groups {len(values)}; give one group a row")
    seen: dict[Any, int] = {}
    numbers = np.empty(count, np.int64)
    for k, value in enumerate(values):
        if _is_missing(value):
            raise ArgumentError(f"the group of row {k} is missing; fill the gaps")
        numbers[k] = seen.setdefault(value, len(seen))
    return numbers


def _is_missing(value: Any) -> bool:
    """Tell None, NaN, and pandas' NA and NaT, which are not equal to themselves, from groups."""
    try:
        return value is None or not bool(value == value)  # noqa: PLR0124
    except TypeError:  # NA is neither equal nor not
        return True


def _features(rows: Any, names: tuple[str, ...]) -> Features:
    """Return rows as features: dense, or sparse."""
    count, is_sparse = rows.shape[0], bool(issparse(rows))
    if not is_sparse:
        return Features(names, rows.T, (), csc_array((count, 0)))
    columns = csc_array(rows, dtype=np.float64)
    columns.sum_duplicates()
    columns.eliminate_zeros()
    return Features((), np.zeros((0, count)), names, columns)


def _numbered(rows: Any) -> tuple[str, ...]:
    """Return names for columns that have none."""
    return tuple(f"x{k}" for k in range(rows.shape[1]))


def _column(name: str, values: Any, count: int | None = None) -> Floats:
    """Return numbers, one per row."""
    column: Floats = column_or_1d(check_array(values, ensure_2d=False, dtype=np.float64))
    if count is not None and len(column) != count:
        raise ArgumentError(f"X has {count} rows and {name} {len(column)}; give one number per row")
    return column


def _warn_of_one_group(groups: Any, count: int) -> None:
    """Warn where groups are missing: one winner of all rows is hardly ever what is meant."""
    if groups is None and count > 1:
        warnings.warn(
            f"groups is not given: all {count} rows are one group, of which one row is chosen; "
            "give groups (in cross-validation, by metadata routing)",
            OneGroupWarning,
            stacklevel=3,
        )


def _range(name: str, pair: Any) -> str:
    """Return a pair of bounds as an option has it."""
    try:
        low, high = pair
        sides = ["" if side is None else repr(float(side)) for side in (low, high)]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"the bounds of '{name}' are {pair!r:.60}; give a pair of numbers or None"
        ) from None
    return ":".join(sides)
