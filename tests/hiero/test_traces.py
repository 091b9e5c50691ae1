"""Traces and alignments: the rules of a trace, applied, say what the candidate says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.hiero.joshua import GLUE
from tests.helpers.hiero.model_files import MODEL, SENTENCES, WEIGHTS, decoder_of, written
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.hiero import HieroDecoder
from tunesmith.hiero.grammar.grammar import Nonterminal, Rule
from tunesmith.hiero.traces import Trace, text_of

HELD = Weights.from_dict(WEIGHTS)
#: Words that change places, that go with several others, and with none.
ALIGNED = """\
[X] ||| das ||| the ||| p=1 ||| 0-0
[X] ||| haus ||| small house ||| p=1 ||| 0-1
[X] ||| [X,1] von [X,2] ||| [2] 's own [1] ||| p=1 ||| 1-1 1-2
[X] ||| nicht [X,1] mehr ||| no [1] any more ||| p=1 ||| 0-0 0-2 2-3
[X] ||| peter ||| peter ||| p=1
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    return written(tmp_path_factory.mktemp("hiero"))


@pytest.fixture(scope="module")
def decoder(files) -> HieroDecoder:
    return decoder_of(files, pop_limit=0, nbest_size=20)


def applied(trace: Trace, sentence: list[str]) -> list[tuple[str, frozenset[int]]]:
    """Apply the rules of a trace; return each word of the target with those that it goes with."""

    def of(number: int, at: int) -> tuple[int, list[tuple[str, frozenset[int]]]]:
        step = trace.steps[number]
        assert step.begin == at
        fillers, places = [], {}
        for place, symbol in enumerate(step.rule.source):
            if isinstance(symbol, Nonterminal):
                tail = step.tails[len(fillers)]
                assert trace.steps[tail].rule.head == symbol.category
                at, filler = of(tail, at)
                fillers.append(filler)
            else:
                assert sentence[at] == symbol
                places[place] = at
                at += 1
        assert step.end == at
        said: list[tuple[str, frozenset[int]]] = []
        for place, symbol in enumerate(step.rule.target):
            if isinstance(symbol, int):
                said += fillers[symbol - 1]
            else:
                own = frozenset(places[i] for i, j in step.rule.links if j == place)
                said.append((symbol, own))
        return at, said

    if not trace.steps:
        return []
    end, said = of(0, 0)
    assert end == len(sentence)
    return said


def test_the_rules_of_a_trace_say_what_the_candidate_says(decoder) -> None:
    found, traces = decoder.traced(HELD, SENTENCES, 20)
    names = found.features.names
    groups = np.repeat(np.arange(len(SENTENCES)), np.diff(found.start))
    assert len(traces) == len(found) > 60
    for row, (group, trace) in enumerate(zip(groups.tolist(), traces, strict=True)):
        said = applied(trace, SENTENCES[group].split())
        assert " ".join(word for word, _ in said) == found.text(row)
        links = {(i, j) for j, (_, places) in enumerate(said) for i in places}
        assert trace.links == tuple(sorted(links))
        values: Counter[str] = Counter()
        for step in trace.steps:
            values.update(step.rule.features)
            passed = not step.rule.features and step.rule.head == "X"
            values["PassThrough"] += passed
            values["RuleCount"] += step.rule.head == "X" and not passed
        own = dict(zip(names, found.features.dense[:, row].tolist(), strict=True))
        for name in ("PhraseModel_0", "PhraseModel_1", "Glue", "RuleCount", "PassThrough"):
            assert own[name] == pytest.approx(values[name])


@pytest.mark.parametrize("size", [1, 20])
def test_candidates_are_those_of_lists(decoder, size) -> None:
    found, _ = decoder.traced(HELD, SENTENCES, size)
    wanted = decoder.decode(HELD, SENTENCES) if size > 1 else decoder.outputs(HELD, SENTENCES)
    assert found.ids == wanted.ids
    np.testing.assert_array_equal(found.start, wanted.start)
    texts = [[lists.text(row) for row in range(len(lists))] for lists in (found, wanted)]
    assert texts[0] == texts[1]
    np.testing.assert_array_equal(found.features.dense, wanted.features.dense)


def test_links_move_with_their_rules(tmp_path) -> None:
    (tmp_path / "rules").write_text(ALIGNED)
    (tmp_path / "lm").write_text(MODEL.text())
    made = HieroDecoder(grammar=(str(tmp_path / "rules"),), lm=(str(tmp_path / "lm"),))
    weights = {"p": 1.0, "PassThrough": -10.0, "Glue": -10.0}
    found, traces = made.traced(weights, ["nicht haus von peter mehr", "das neu"])
    said = ["no peter 's own small house any more", "the neu"]
    assert [found.text(row) for row in range(2)] == said
    assert [trace.alignment for trace in traces] == ["0-0 0-6 1-5 2-2 2-3 4-7", "0-0 1-1"]
    assert traces[1].to_dict() == {
        "alignment": "0-0 1-1",
        "steps": [
            {"rule": "[S] ||| [S,1] [X,2] ||| [1] [2]", "span": [0, 2], "tails": [1, 3]},
            {"rule": "[S] ||| [X,1] ||| [1]", "span": [0, 1], "tails": [2]},
            {"rule": "[X] ||| das ||| the", "span": [0, 1], "tails": []},
            {"rule": "[X] ||| neu ||| neu", "span": [1, 2], "tails": []},
        ],
    }


def test_the_ends_of_a_sentence_are_no_words_of_links(tmp_path) -> None:
    (tmp_path / "rules").write_text("[X] ||| das haus ||| the house ||| 1 ||| 0-0 1-1\n")
    (tmp_path / "glue").write_text(GLUE)
    (tmp_path / "lm").write_text(MODEL.text())
    (tmp_path / "config").write_text(
        f"tm = thrax -owner pt -maxspan 5 -path {tmp_path}/rules\n"
        f"tm = thrax -owner glue -maxspan -1 -path {tmp_path}/glue\n"
        f"feature-function = LanguageModel -lm_type kenlm -lm_order 3 -lm_file {tmp_path}/lm\n"
        "lm_0 1\ntm_pt_0 -1\ngoal-symbol = GOAL\n"
    )
    made = HieroDecoder(joshua=str(tmp_path / "config"))
    found, (trace,) = made.traced(made.start() or {}, ["das haus"])
    assert found.text(0) == "the house"
    assert trace.alignment == "0-0 1-1"
    assert {(step.begin, step.end) for step in trace.steps} <= {(0, 0), (0, 2)}


def test_a_rule_as_text() -> None:
    rule = Rule("X", ("a", Nonterminal("Y"), Nonterminal("X")), (2, "b", 1))
    assert text_of(rule) == "[X] ||| a [Y,1] [X,2] ||| [2] b [1]"


def test_no_derivations_are_asked_for(decoder) -> None:
    with pytest.raises(UsageError, match="0 derivations of each sentence are asked for; give 1"):
        decoder.traced(HELD, SENTENCES, 0)
