"""A vote as scikit-learn's estimator: its own checks, and what a plain loop gives."""

# ruff: noqa: N806  (X is what scikit-learn calls it)
from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, fbeta_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

from tunesmith.errors import TunesmithError
from tunesmith.integrations.sklearn import WeightedVote


def models():
    return [("line", LogisticRegression()), ("bayes", GaussianNB())]


def rows(seed=0, classes=3, count=200):
    X, y = make_classification(
        count, 8, n_informative=5, n_classes=classes, flip_y=0.2, random_state=seed
    )
    return X, np.array(["ant", "bee", "cat"])[y]


@pytest.mark.long
@pytest.mark.parametrize("more", [{}, {"weighted": "classes", "metric": "macro-f1"}])
def test_scikit_learn_finds_no_fault(more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Models of a few rows gain nothing from threads, which cost ten times the processor time.
        with threadpool_limits(1):
            check_estimator(WeightedVote(models(), **more))


def test_it_predicts_what_the_tuned_sum_says():
    X, y = rows()
    vote = WeightedVote(models(), metric="macro-f1").fit(X[:150], y[:150])
    line, bayes = (model.fit(X[:150], y[:150]) for _, model in models())
    weights = [vote.weights_["line"], vote.weights_["bayes"]]
    both = weights[0] * line.predict_proba(X[150:]) + weights[1] * bayes.predict_proba(X[150:])
    assert vote.predict(X[150:]).tolist() == line.classes_[both.argmax(axis=1)].tolist()
    assert vote.predict_proba(X[150:]) == pytest.approx(both)
    assert vote.result_.mix is not None


def test_weights_are_tuned_on_predictions_of_models_that_saw_other_rows():
    X, y = rows(1)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    vote = WeightedVote(models(), metric="macro-f1", cv=folds, folds=0).fit(X, y)
    votes = [
        cross_val_predict(model, X, y, cv=folds, method="predict_proba") for _, model in models()
    ]
    sums = [(1 - a) * votes[0] + a * votes[1] for a in np.linspace(0.0, 1.0, 201)]
    predicted = [np.unique(y)[one.argmax(axis=1)] for one in sums]
    scores = [f1_score(y, one, average="macro") for one in predicted]
    assert vote.result_.score >= max(scores) - 1e-12


def test_fitted_models_are_weighted_on_rows_that_they_have_not_seen():
    X, y = rows(2, classes=2)
    fitted = [(name, model.fit(X[:100], y[:100])) for name, model in models()]
    vote = WeightedVote(fitted[:1], metric="f2", weighted="classes", cv="prefit").fit(
        X[100:], y[100:]
    )
    assert vote.estimators_[0] is fitted[0][1]
    chances = fitted[0][1].predict_proba(X[100:])[:, 1]
    best = max(fbeta_score(y[100:] == "bee", chances > place, beta=2) for place in [0.0, *chances])
    assert vote.result_.score == pytest.approx(best, abs=1e-12)
    predicted = vote.predict(X[100:])
    assert fbeta_score(y[100:], predicted, beta=2, pos_label="bee") == pytest.approx(best)


def test_models_without_probabilities_give_all_to_one_class():
    X, y = rows(3)
    vote = WeightedVote([("svm", LinearSVC()), ("tree", DecisionTreeClassifier(random_state=0))])
    vote.fit(X, y)
    assert {*vote._votes(X)["svm"].ravel().tolist()} == {0.0, 1.0}
    assert vote.score(X, y) > 0.5


def test_it_goes_with_pipelines_frames_folds_and_pickle():
    X, y = rows(4)
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(8)])
    vote = WeightedVote(
        [("a", make_pipeline(StandardScaler(), LogisticRegression())), *models()[1:]]
    )
    assert len(cross_val_score(vote, frame, y, cv=2)) == 2
    vote.fit(frame, y)
    assert vote.feature_names_in_.tolist() == [*frame.columns]
    again = pickle.loads(pickle.dumps(vote))
    assert again.predict(frame).tolist() == vote.predict(frame).tolist()


@pytest.mark.parametrize(
    ("estimators", "more", "message"),
    [
        ([], {}, "there are no estimators; give pairs of a name and a classifier"),
        ([GaussianNB()], {}, "is no pair of a name and a classifier"),
        ([("a", 3)], {}, "'a' is no classifier: it has no fit"),
        ([("a", GaussianNB()), ("a", GaussianNB())], {}, "two estimators are called 'a'"),
        (models(), {"weighted": "rows"}, "weighted is 'rows'; give models, classes, both"),
        (models(), {"metric": "f1"}, "f is about one class of 3; say which, or take macro-f1"),
        (models(), {"metric": "bleu"}, "unknown metric of classifiers 'bleu'"),
    ],
)
def test_wrong_arguments_are_errors_of_one_line(estimators, more, message):
    X, y = rows()
    with pytest.raises(TunesmithError, match=message) as error:
        WeightedVote(estimators, **more).fit(X, y)
    assert "\n" not in str(error.value)


def test_one_class_is_an_error():
    X, _ = rows()
    with pytest.raises(ValueError, match="y has one class"):
        WeightedVote([("tree", DecisionTreeClassifier())]).fit(X, np.zeros(len(X)))
