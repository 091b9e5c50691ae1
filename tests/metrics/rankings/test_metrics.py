from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.rankings.builders import OTHERS, TREC, orders, plain_value, random_runs
from tunesmith.data.rankings.building import from_runs
from tunesmith.errors import TunesmithError
from tunesmith.metrics.rankings.metric import RankingMetric
from tunesmith.tasks.rankings import RankingTask

pytestmark = pytest.mark.filterwarnings("ignore:.* count:UserWarning")

seeds = st.integers(0, 2**31)


@given(seeds, st.sampled_from(list(TREC)))
def test_values_are_those_of_trec_eval_to_the_last_digit(seed, metric):
    trec = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    runs, qrels = random_runs(seed)
    found = trec.RelevanceEvaluator(qrels, {TREC[metric]}).evaluate(runs["r0"])
    task = RankingTask(from_runs({"r0": runs["r0"]}, qrels), metric, "none")
    expected = [found[query][TREC[metric]] for query in task.rankings.queries]
    assert task.values(np.ones(1)).tolist() == expected


@given(seeds, st.sampled_from([*OTHERS, "ndcg", "ndcg@3", "ap", "ap@4", "rr"]))
def test_grades_below_zero_are_judged_and_not_relevant(seed, metric):
    runs, qrels = random_runs(seed)
    lower = {q: {d: grade - 2 for d, grade in judged.items()} for q, judged in qrels.items()}
    task = RankingTask(from_runs(runs, lower), metric, "none")
    weights = np.array([1.0, 0.5])
    expected = [plain_value(metric, names, lower[q]) for q, names in orders(task, weights).items()]
    assert task.values(weights) == pytest.approx(expected, abs=1e-12)


@given(seeds, st.sampled_from([*OTHERS, "ndcg@3", "ap"]))
def test_values_are_those_of_the_definition(seed, metric):
    runs, qrels = random_runs(seed)
    task = RankingTask(from_runs(runs, qrels), metric, "none")
    weights = np.array([1.0, 0.5])
    expected = [plain_value(metric, names, qrels[q]) for q, names in orders(task, weights).items()]
    assert task.values(weights) == pytest.approx(expected, abs=1e-12)
    assert task.score_at(weights) == pytest.approx(np.mean(expected), abs=1e-11)


@given(seeds, st.sampled_from(["ndcg", "ap", "rr", "p@3", "bpref", "err@5"]))
def test_no_weights_are_better_than_the_oracle(seed, metric):
    runs, qrels = random_runs(seed)
    task = RankingTask(from_runs(runs, qrels), metric)
    best, is_exact = task.oracle_at(np.zeros(2))
    worst, _ = task.oracle_at(np.zeros(2), worst=True)
    assert is_exact
    for weights in np.random.default_rng(seed).normal(size=(5, 2)):
        assert worst <= task.score_at(weights) <= best


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("map", "ap"),
        ("NDCG@10", "ndcg@10"),
        ("mrr@10", "rr@10"),
        ("hit@1", "success@1"),
        ("ap:relevant=2", "ap:relevant=2"),
        ("ndcg@5:gains=exponential", "ndcg@5:gains=exponential"),
        ("err@20:max-grade=3", "err@20:max-grade=3"),
    ],
)
def test_names_and_other_names(text, name):
    metric = RankingMetric.of(text)
    assert metric.name == name
    assert RankingMetric.of(metric.name) == metric


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndgc@10", "unknown metric of rankings 'ndgc'; did you mean ndcg"),
        ("p", "p needs a last rank; write p@10"),
        ("rprec@5", "rprec has no last rank; write rprec"),
        ("ndcg@ten", "has no whole number above 0 after @; write ndcg@10"),
        ("ndcg@0", "has no whole number above 0 after @"),
        ("ndcg:relevant=2", "relevant has no effect on ndcg"),
        ("ap:gains=exponential", "gains has no effect on ap"),
        ("ap:cutoff=3", "'cutoff=3' in metric 'ap:cutoff=3' is no option"),
    ],
)
def test_wrong_names_are_errors_of_one_line(text, message):
    with pytest.raises(TunesmithError, match=message.replace("(", r"\(")) as error:
        RankingMetric.of(text)
    assert "\n" not in str(error.value)


def test_a_grade_above_the_highest_of_err_is_an_error():
    found = from_runs({"a": {"q": {"d": 1.0}}}, {"q": {"d": 7}})
    with pytest.raises(TunesmithError, match="there is a grade 7; give err:max-grade=7"):
        RankingTask(found, "err").score_at(np.ones(1))


def test_queries_without_relevant_documents_count_nothing():
    qrels = {"q": {"d": 1}, "none": {"d": 0}}
    found = from_runs({"a": {q: {"d": 1.0, "e": 0.5} for q in qrels}}, qrels)
    assert RankingTask(found, "ndcg@10").score_at(np.ones(1)) == 0.5
