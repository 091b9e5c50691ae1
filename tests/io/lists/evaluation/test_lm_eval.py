"""Samples of lm-evaluation-harness, as its ``--log_samples`` writes them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tunesmith as ts
from tests.helpers.builders import as_records
from tunesmith.errors import FormatError


def sample(doc, **more):
    return {
        "doc_id": doc,
        "doc": {"question": "?"},
        "doc_hash": "0",
        "prompt_hash": "1",
        "target_hash": "2",
        **more,
    }


def choices(doc, logprobs, target, arguments=None):
    texts = [f" choice {k}" for k in range(len(logprobs))]
    named = {f"gen_args_{k}": {"arg_0": "?", "arg_1": text} for k, text in enumerate(texts)}
    return sample(
        doc,
        target=target,
        arguments=arguments or named,
        resps=[[[str(lp), "False"]] for lp in logprobs],
        filtered_resps=[[str(lp), "False"] for lp in logprobs],
        filter="none",
        metrics=["acc"],
        acc=0.0,
    )


def answers(doc, texts, target, name="none"):
    return sample(
        doc,
        target=target,
        arguments={"gen_args_0": {"arg_0": "?", "arg_1": {"until": ["\n"]}}},
        resps=[texts],
        filtered_resps=[texts[0]],
        filter=name,
        metrics=["exact_match"],
        exact_match=1.0,
    )


def written(path, *samples):
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in samples))
    return path


def test_choices_have_log_probabilities_and_one_is_right(tmp_path):
    old = [["?", " yes"], ["?", " no"]]
    path = written(
        tmp_path / "samples_arc_easy_2024.jsonl",
        choices(0, [-4.5, -1.25, -9.0], "1"),
        choices(3, [-2.0, -3.0], 0, old),
    )
    found = ts.read(path)
    assert found.files[0].format == "lm-eval"
    assert found.ids == (0, 3)
    assert [found.text(k) for k in range(5)] == ["choice 0", "choice 1", "choice 2", "yes", "no"]
    assert found.features.values(found.features.names.index("logprob")).tolist() == [
        -4.5,
        -1.25,
        -9.0,
        -2.0,
        -3.0,
    ]
    assert found.columns["correct"].tolist() == [0, 1, 0, 1, 0]
    tuning = ts.TuningSet(found, "column:correct")
    weights = {"logprob": 1.0, "characters": 0.0}
    assert ts.rerank(found, weights) == ["choice 1", "yes"]
    assert tuning.score(np.array([1, 3])) == 1.0


def test_answers_are_candidates_and_the_target_a_reference(tmp_path):
    path = written(
        tmp_path / "s.jsonl",
        answers(0, ["a b", "a c\nd"], "a b", "strict-match"),
        answers(1, ["x"], "y", "strict-match"),
        answers(0, ["a b", "a c\nd"], "a b", "flexible-extract"),
        answers(1, ["x"], "y", "flexible-extract"),
    )
    (tmp_path / "reward").write_text("0.5\n0.25\n1\n")
    found = ts.read(path, scores={"reward": tmp_path / "reward"})
    assert [found.original(k) for k in range(len(found))] == ["a b", "a c\nd", "x"]
    assert [found.reference_texts(g) for g in range(2)] == [["a b"], ["y"]]
    assert found.features.dense.tolist() == [[0.5, 0.25, 1.0]]


def test_choices_asked_for_without_their_question_have_that_too(tmp_path):
    texts = [["?", " a"], ["?", " b"], ["", " a"], ["", " b"]]
    path = written(tmp_path / "s.jsonl", choices(0, [-4.5, -1.25, -9.0, -2.0], "0", texts))
    found = ts.read(path)
    assert as_records(found) == {
        0: [
            ("a", {"logprob": -4.5, "unconditional": -9.0, "characters": 1.0}),
            ("b", {"logprob": -1.25, "unconditional": -2.0, "characters": 1.0}),
        ]
    }
    assert found.columns["correct"].tolist() == [1, 0]


def test_questions_may_differ_instead_of_answers(tmp_path):
    # As Winogrande does, whose target is the text that follows.
    texts = [["Ann", " is tall"], ["Bea", " is tall"]]
    path = written(tmp_path / "s.jsonl", choices(0, [-4.5, -1.25], "is tall", texts))
    with pytest.warns(UserWarning, match="'target' of 1 samples names no choice"):
        found = ts.read(path)
    assert [found.text(k) for k in range(2)] == ["Ann is tall", "Bea is tall"]
    assert found.columns == {}


@pytest.mark.parametrize(
    ("target", "right"),
    [("[0, 2]", [1, 0, 1]), ([1], [0, 1, 0]), ("choice 2", [0, 0, 1]), ("['choice 1']", [0, 1, 0])],
)
def test_targets_are_numbers_or_texts_of_choices(tmp_path, target, right):
    path = written(tmp_path / "s.jsonl", choices(0, [-1, -2, -3], target))
    assert ts.read(path).columns["correct"].tolist() == right


def test_several_targets_are_references(tmp_path):
    # Written as str() of a list, as of TriviaQA's aliases.
    samples = [answers(k, ["x"], str(t)) for k, t in enumerate([["a", "it's b"], ["c"], "[d]"])]
    found = ts.read(written(tmp_path / "s.jsonl", *samples))
    assert [found.reference_texts(g) for g in range(3)] == [["a", "it's b"], ["c"], ["[d]"]]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"doc_id": None}, "no 'doc_id'"),
        ({"resps": "x"}, "'resps' is no list"),
        ({"resps": [[["-1", "False"]]]}, "nothing to choose from"),
        ({"arguments": {}}, "has 0 choices and 'resps' 2"),
        ({"resps": [[["x", "False"]], [["-1", "True"]]]}, "choice 0 has no log-probability"),
    ],
)
def test_samples_that_cannot_be(tmp_path, change, told):
    path = written(tmp_path / "s.jsonl", choices(0, [-1, -2], 0), choices(1, [-1, -2], 0) | change)
    with pytest.raises(FormatError, match=told) as caught:
        ts.read(path)
    assert caught.value.line == 2
