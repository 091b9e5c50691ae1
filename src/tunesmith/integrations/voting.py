"""A vote of classifiers whose weights are tuned for the metric, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.votes import WEIGHTED, Weighted
from tunesmith.errors import MissingExtraError, UsageError
from tunesmith.metrics.classes import ClassMetric
from tunesmith.tuners.fusion.vote import Vote, vote

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, clone
    from sklearn.model_selection import check_cv, cross_val_predict
    from sklearn.utils import Bunch
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d
except ImportError:
    raise MissingExtraError("tunesmith.integrations.sklearn", "sklearn") from None

PREFIT = "prefit"


class VotingError(UsageError, ValueError):
    """Arguments that do not go together; a ValueError, as scikit-learn has it."""


class WeightedVote(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Adds up the probabilities of classifiers, with weights tuned for a metric.

    ``fit`` predicts each row with models trained on other rows, tunes weights on these predictions,
    and then trains the models on all rows. Two weights are proven to be the best.

    Parameters
    ----------
    estimators
        Pairs of a name and a classifier. One without ``predict_proba`` gives all to one class.
    metric
        What is tuned for: ``accuracy``, ``balanced-accuracy``, ``f1`` (``f2``, ``f0.5``),
        ``micro-f1``, ``macro-f1``, ``mcc``, ``kappa``, ``linear-kappa``, ``quadratic-kappa``.
    positive
        The class that ``f1`` scores (of two, by default the second), or a list of those that
        ``micro-f1`` counts.
    weighted
        What has a weight: ``models``; ``classes``, which is a threshold if there are two; or
        ``both``, each class of each model.
    cv
        How rows are predicted: a number of folds, a splitter, or ``prefit``, which means that the
        estimators are fitted already, and that ``fit`` gets rows that they have not seen.
    folds
        The number of parts of these predictions, each scored with weights tuned on the others, for
        ``result_.verdict``. 0 for none.
    n_jobs
        Processes that train models.
    random_state
        The seed of the search for weights, a whole number; None is 1.

    Attributes
    ----------
    classes_ : [C]
        The classes.
    estimators_ : list
        The models, trained on all rows.
    named_estimators_ : Bunch
        The same by name.
    weights_ : dict
        The weights, 0 or more; they add up to 1.
    result_ : Vote
        How the weights came about, compared with equal weights and the best single model, and the
        gain on rows that were not tuned on; prints as tables.
    n_features_in_, feature_names_in_
        As the models have them.
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        metric: str | ClassMetric = "accuracy",
        positive: Any = None,
        weighted: Weighted = "models",
        cv: Any = 5,
        folds: int = 5,
        n_jobs: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.metric = metric
        self.positive = positive
        self.weighted = weighted
        self.cv = cv
        self.folds = folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> WeightedVote:  # noqa: N803
        """Train the models, and tune their weights.

        Parameters
        ----------
        X : [n, d]
            Whatever the models take.
        y : [n]
            The classes.
        """
        self._check()
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        names = [name for name, _ in self.estimators]
        if self.cv == PREFIT:
            self.estimators_ = [model for _, model in self.estimators]
        else:
            self.estimators_ = [clone(model).fit(X, y) for _, model in self.estimators]
        self.named_estimators_ = Bunch(**dict(zip(names, self.estimators_, strict=True)))
        for attribute in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], attribute):
                setattr(self, attribute, getattr(self.estimators_[0], attribute))
        if self.cv == PREFIT:
            for model in self.estimators_:
                check_is_fitted(model)
            known = {label for model in self.estimators_ for label in model.classes_}
            try:
                self.classes_ = np.array(sorted({*self.classes_.tolist(), *known}))
            except TypeError:
                raise VotingError(
                    "the models know classes of another kind than y; fit them on the same"
                ) from None
        if len(self.classes_) < 2:
            raise VotingError("y has one class; there is nothing to vote on")
        votes = self._votes(X) if self.cv == PREFIT else self._out_of_fold(X, y)
        self.result_: Vote = vote(
            votes,
            y,
            self.metric,
            labels=self.classes_.tolist(),
            positive=() if self.positive is None else self.positive,
            weighted=self.weighted,
            folds=self.folds,
            rng=1 if self.random_state is None else self.random_state,
        )
        self.weights_ = dict(self.result_.weights)
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the class of each row."""
        check_is_fitted(self)
        return self.classes_[self.result_.places(self._votes(X))]

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the weighted sums, each row scaled to add up to 1.

        With weights of classes they are no probabilities: a class wins where its share is the
        greatest, and of two classes above a half.
        """
        check_is_fitted(self)
        scores = self.result_.scores(self._votes(X))
        total = scores.sum(axis=1, keepdims=True)
        none = total <= 0.0
        shares: Floats = np.where(none, 1.0 / scores.shape[1], scores / np.where(none, 1.0, total))
        return shares

    def _check(self) -> None:
        """Raise an error if the estimators are no named classifiers."""
        if not isinstance(self.estimators, Sequence) or not len(self.estimators):
            raise VotingError("there are no estimators; give pairs of a name and a classifier")
        names = []
        for pair in self.estimators:
            if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
                raise VotingError(f"{pair!r:.60} is no pair of a name and a classifier; give one")
            names.append(pair[0])
            if not hasattr(pair[1], "fit"):
                raise VotingError(f"'{pair[0]}' is no classifier: it has no fit; give another")
        twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
        if twice is not None:
            raise VotingError(f"two estimators are called '{twice}'; rename one")
        if self.weighted not in WEIGHTED:
            raise VotingError(f"weighted is {self.weighted!r}; give {', '.join(WEIGHTED)}")

    def _out_of_fold(self, X: Any, y: Any) -> dict[str, Floats]:  # noqa: N803
        """Return the probabilities of rows by models that were trained on others."""
        splitter = check_cv(self.cv, y, classifier=True)
        splits = [*splitter.split(X, y)]  # the same for all, also where it is random
        votes = {}
        for name, model in self.estimators:
            method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
            predictions = cross_val_predict(
                clone(model), X, y, cv=splits, method=method, n_jobs=self.n_jobs
            )
            votes[name] = (
                predictions if method == "predict_proba" else self._all_to_one(predictions)
            )
        return votes

    def _votes(self, X: Any) -> dict[str, Floats]:  # noqa: N803
        """Return the probabilities of rows by the models, a column for each class."""
        votes = {}
        for (name, _), model in zip(self.estimators, self.estimators_, strict=True):
            if not hasattr(model, "predict_proba"):
                votes[name] = self._all_to_one(model.predict(X))
                continue
            probabilities = np.asarray(model.predict_proba(X), np.float64)
            columns = np.searchsorted(self.classes_, model.classes_)
            votes[name] = np.zeros((len(probabilities), len(self.classes_)))
            votes[name][:, columns] = probabilities
        return votes

    def _all_to_one(self, predicted: Any) -> Floats:
        return np.asarray(np.asarray(predicted)[:, None] == self.classes_, np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = all(
            getattr(getattr(model, "__sklearn_tags__", lambda: tags)().input_tags, "sparse", False)
            for _, model in self.estimators
        )
        return tags
