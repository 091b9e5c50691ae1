"""Output of fairseq-generate, written from fairseq_cli/generate.py and interactive.py.

S- source, T- target, H- score and text as the model has it, D- score and detokenised text, P-
scores of the tokens; A- alignment, I- steps, E- history, W- time, C- constraints.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.builders import as_records
from tests.helpers.io.list_samples import FAIRSEQ
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.lists.fairseq import FairseqFormat
from tunesmith.io.streams import Source
from tunesmith.io.text.tokens import tokenize


def collect(text: str, spec: str = "fairseq"):
    collector = Collector()
    FORMATS.create(spec).read(Source("test", text.encode()), collector)
    return collector.finish()


def test_samples_out_of_order_with_log_lines_between():
    found = collect(FAIRSEQ)
    assert FairseqFormat.recognises(FAIRSEQ.encode())
    assert as_records(found) == {
        1: [
            ("yes", {"score": -0.125, "logprob": -0.25, "length": 2.0}),
            ("", {"score": -3.0, "logprob": -3.0, "length": 1.0}),
        ],
        4: [
            ("good day.", {"score": -0.25, "logprob": -1.0, "length": 4.0}),
            ("good morning.", {"score": -0.5, "logprob": -2.0, "length": 4.0}),
        ],
    }
    assert [found.reference_texts(g) for g in range(2)] == [["yes"], ["good day."]]
    assert found.sources == ("ja", "guten Tag .")


def test_tokenised_texts_on_request():
    found = collect(FAIRSEQ, "fairseq:text=tokenised")
    assert [text for text, _ in as_records(found)[4]] == ["good day .", "good morning ."]


def test_interactive_output_without_targets_scores_of_tokens_and_detokenised_lines():
    text = "S-0\ta\nW-0\t0.1\tseconds\nC-0\tb\nH-0\t-1.5\tx y\nE-0_0\tz\nI-0\t3\nH-0\t-2\tx\n"
    assert FairseqFormat.recognises(text.encode())
    found = collect(text)
    assert as_records(found) == {0: [("x y", {"score": -1.5}), ("x", {"score": -2.0})]}
    assert found.references is None
    assert found.features.names == ("score",)


def test_a_sample_without_a_hypothesis_is_not_there():
    found = collect("S-7\tx\nT-7\ty\nS-2\tu\nT-2\tv\nH-2\t-1\tw\n")
    assert found.ids == (2,)
    assert found.sources == ("u",)
    assert found.reference_texts(0) == ["v"]


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        ("H-x\t-1\ta", 3, "the sample of 'H-x' is not a whole number"),
        ("H-\t-1\ta", 3, "the sample of 'H-' is not a whole number"),
        ("H-1", 3, "the line H- has fewer than 3 fields"),
        ("H-1\t-1", 3, "the line H- has fewer than 3 fields"),
        ("T-1", 3, "the line T- has fewer than 2 fields"),
        ("H-1\tx\ta", 3, "a score is 'x', not a number"),
        ("H-1\tnan\ta", 3, "a score is nan, which is not finite"),
        ("H-1\t-1\ta\nP-1\t-1 -inf", 4, "a score is -inf, which is not finite"),
        ("P-1\t-1", 3, "the line P-1 has no line H-1 before it"),
        ("D-0\t-1\ta\nD-0\t-1\ta", 4, "the hypothesis has two lines D-"),
        ("S-2\tx\nP-0\t-1", 4, "the line P-0 has no line H-0 before it"),
        ("H-1\t-1\ta\n", 3, "the hypothesis has lines H- and others H-, P-"),
    ],
)
def test_errors_name_the_line(lines, line, problem):
    first = "H-0\t-1\ta\n" + ("P-0\t-1" if problem.endswith("P-") else "")
    with pytest.raises(FormatError) as caught:
        collect(f"{first}\n{lines}\n" if problem.endswith("P-") else f"\n{first}{lines}\n")
    assert problem in str(caught.value)
    assert caught.value.line == line


def test_a_log_without_hypotheses():
    with pytest.raises(FormatError, match=r"there is no line H- in it; run fairseq-generate"):
        collect("2020 | INFO | x\nGenerate test with beam=5: BLEU4 = 1\n")


def test_targets_for_some_samples_alone():
    with pytest.raises(TunesmithError, match="group '1' has no references and others have"):
        collect("T-0\ta\nH-0\t-1\ta\nH-1\t-1\ta\n")


@pytest.mark.parametrize(
    ("names", "values", "references", "problem"),
    [
        (["score", "lm"], [1.0, 2.0], None, "fairseq has the features score, logprob, length"),
        (["lm"], [1.0], None, "fairseq has the features"),
        (["score"], [1.0], [["a", "b"]], "one reference a sample"),
        (["score", "logprob", "length"], [1.0, -1.0, 1.5], None, "not the number of tokens"),
        (["score", "logprob", "length"], [1.0, -1.0, 0.0], None, "not the number of tokens"),
    ],
)
def test_what_cannot_be_written(names, values, references, problem):
    collector = Collector()
    collector.add(0, "a", dict(zip(names, values, strict=True)))
    for texts in references or ():
        tokens = tokenize("\n".join([*texts, ""]).encode(), collector.vocabulary)
        collector.add_references(0, [tokens[r] for r in range(len(texts))], "test")
    found = collector.finish()
    with pytest.raises(UsageError, match=problem):
        list(FairseqFormat().lines(found, np.arange(1), np.zeros(1)))
