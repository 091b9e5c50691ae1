"""HieroDecoder: options, lists and forests, and what changes nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tunesmith as ts
from tests.helpers.hiero.model_files import (
    MODEL,
    OTHER,
    RULES,
    SENTENCES,
    WEIGHTS,
    best_by_text,
    candidates,
    decoder_of,
    text_of,
    written,
)
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError, Sentence
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.hiero import HieroDecoder
from tunesmith.hiero.grammar.grammar import Rule
from tunesmith.hiero.lm.language_model import LanguageModel
from tunesmith.inference.forests.lists import kbest_lists, outputs
from tunesmith.io.forests.read import read_forests
from tunesmith.io.forests.write import write_forests
from tunesmith.testing.decoders import check_decoder, lists_of

HELD = Weights.from_dict(WEIGHTS)
OTHERS = Weights.from_dict({**WEIGHTS, "PhraseModel_0": 1.0, "PassThrough": 1.5})


def sentences(*texts: str) -> list[Sentence]:
    return [Sentence(k, text) for k, text in enumerate(texts)]


ALL = sentences(*SENTENCES)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    return written(tmp_path_factory.mktemp("hiero"))


@pytest.fixture(scope="module")
def decoder(files) -> HieroDecoder:
    return decoder_of(files, pop_limit=0, nbest_size=50)


# Options


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"grammar": (), "lm": ()}, UsageError, "has no model; give"),
        ({"model": "m"}, UsageError, "both model and grammar; give one"),
        ({"joshua": "j"}, UsageError, "both grammar and joshua; give one"),
        ({"grammar": (), "model": "m", "glue": False}, UsageError, "; drop no-glue"),
        ({"grammar": (), "joshua": "j", "glue": False}, UsageError, "; drop no-glue"),
        ({"passes": "some"}, UnknownNameError, "passes"),
        ({"unknown": "keep"}, UnknownNameError, "unknown"),
        ({"nbest_size": 0}, UsageError, "nbest-size of decoder 'hiero' is 0; give 1 or more"),
        ({"pop_limit": -1}, UsageError, "pop-limit of decoder 'hiero' is -1; give 0 or more"),
        ({"span_limit": 0}, UsageError, "span-limit of decoder 'hiero' is 0; give 1 or more"),
        ({"option_limit": -2}, UsageError, "option-limit of decoder 'hiero' is -2; give 0"),
        ({"pop_limit": 10**20}, UsageError, "is 1[0]+; give 10+ or less$"),
        ({"span_limit": 3 * 10**9}, UsageError, "is 3[0]+; give 10+ or less$"),
        ({"lexical": -1}, UsageError, "lexical of decoder 'hiero' is -1; give 0 or more"),
    ],
)
def test_options_that_are_refused(files, options, error, said) -> None:
    with pytest.raises(error, match=said):
        decoder_of(files, **options)


def test_it_is_found_by_its_name(files) -> None:
    assert DECODERS.get("hiero") is HieroDecoder


def test_no_language_model(files) -> None:
    with pytest.raises(UsageError, match="no language model; give --lm"):
        _ = decoder_of(files, lm=()).names


def test_nothing_to_search_with(files) -> None:
    with pytest.raises(UsageError, match="neither a grammar nor glue"):
        _ = decoder_of(files, grammar=(), glue=False).names


def test_glue_for_another_category(files, tmp_path) -> None:
    (tmp_path / "g").write_text("[Y] ||| das ||| the ||| p=1\n")
    with pytest.raises(UsageError, match=r"no rule of the grammar makes \[X\].*; give a file"):
        _ = decoder_of(files, grammar=(str(tmp_path / "g"),)).names
    # With rules that make the top of it, it is a grammar like any other.
    (tmp_path / "glue").write_text("[S] ||| [Y,1] ||| [1]\n[S] ||| [X,1] ||| [1]\n")
    both = (str(tmp_path / "g"), str(tmp_path / "glue"))
    made = decoder_of(files, grammar=both)
    assert made.translate(HELD, sentences("das", "neu")) == ["the", "neu"]


def test_a_sentence_that_cannot_be_derived(files) -> None:
    made = decoder_of(files, passes="none")
    with pytest.raises(DecoderError, match=r"sentence 1: no derivation .*'das neue haus'; let"):
        made.decode(HELD, sentences("das", "das neue haus"))


def test_without_glue_a_rule_must_cover_the_whole(files) -> None:
    made = decoder_of(files, glue=False)
    assert made.translate(HELD, sentences("das haus")) == ["the house"]
    with pytest.raises(TunesmithError, match="no derivation"):
        made.translate(HELD, sentences("klein das"))


def test_nothing_joins_words_that_pass(files, tmp_path) -> None:
    (tmp_path / "g").write_text("[S] ||| das ||| the ||| p=1\n")
    said = (
        r"a word that passes is \[X\].*; add rules with it, as \[S\] \|\|\| \[X,1\] \|\|\| \[1\]$"
    )
    with pytest.raises(TunesmithError, match=said):
        _ = decoder_of(files, grammar=(str(tmp_path / "g"),)).names
    # What it says can be done.
    (tmp_path / "more").write_text("[S] ||| [X,1] ||| [1]\n")
    both = (str(tmp_path / "g"), str(tmp_path / "more"))
    assert decoder_of(files, grammar=both).translate(HELD, sentences("neu")) == ["neu"]


def test_plain_texts_and_weights(decoder) -> None:
    wanted = decoder.translate(HELD, ALL)
    assert decoder.translate(WEIGHTS, SENTENCES) == wanted
    found = decoder.decode(WEIGHTS, SENTENCES)
    assert found.ids == tuple(range(len(SENTENCES)))
    assert [found.text(int(k)) for k in found.start[:-1]] == wanted
    assert decoder.forests(WEIGHTS, SENTENCES).ids == found.ids
    assert decoder.outputs(WEIGHTS, SENTENCES).ids == found.ids
    with pytest.raises(UsageError, match=r"one text is no list of sentences; give \[text\]"):
        decoder.translate(WEIGHTS, "das haus")


def test_no_sentences(decoder) -> None:
    assert decoder.translate(HELD, []) == []
    for call in (decoder.decode, decoder.forests, decoder.outputs):
        with pytest.raises(UsageError, match="no sentences to translate; give at least one"):
            call(HELD, [])


def test_a_damaged_segment_is_told_with_its_sentence(decoder) -> None:
    given = [Sentence("doc", '<seg id="1">das')]
    for call in (lambda: decoder.meet(given), lambda: decoder.decode(HELD, given)):
        with pytest.raises(DecoderError, match="sentence doc: <seg> is not as it should be; write"):
            call()


# Lists


def test_lists_are_the_best_of_all_derivations(decoder) -> None:
    found = decoder.decode(HELD, ALL)
    scores = found.features.dot(HELD.aligned(found.features.names))
    for g, sentence in enumerate(SENTENCES):
        span = range(found.start[g], found.start[g + 1])
        wanted = sorted(best_by_text(candidates(sentence)).items(), key=lambda item: -item[1])
        own = [(found.text(i), float(scores[i])) for i in span]
        assert len(own) == min(50, len(wanted))
        assert [s for _, s in own] == pytest.approx([s for _, s in wanted[: len(own)]], abs=1e-5)
        for text, score in own:
            assert score == pytest.approx(dict(wanted)[text], abs=1e-5)


def test_lists_descend_and_have_no_text_twice(decoder) -> None:
    found = decoder.decode(OTHERS, ALL)
    scores = found.features.dot(OTHERS.aligned(found.features.names))
    for lo, hi in pairwise(found.start.tolist()):
        assert (np.diff(scores[lo:hi]) <= 1e-9).all()
        texts = [found.text(i) for i in range(lo, hi)]
        assert len(set(texts)) == len(texts)


def test_features_are_those_of_a_derivation(decoder) -> None:
    found = decoder.decode(HELD, ALL)
    names = found.features.names
    for g, sentence in enumerate(SENTENCES):
        every = {
            (one.text, tuple(round(one.features.get(name, 0.0), 4) + 0.0 for name in names))
            for one in candidates(sentence)
        }
        for i in range(found.start[g], found.start[g + 1]):
            own = tuple(round(float(v), 4) + 0.0 for v in found.features.dense[:, i])
            assert (found.text(i), own) in every


def test_the_best_only(decoder) -> None:
    whole = decoder.decode(HELD, ALL)
    firsts = [whole.text(int(i)) for i in whole.start[:-1]]
    for alone in (decoder.outputs(HELD, ALL), replace(decoder, nbest_size=1).decode(HELD, ALL)):
        assert [alone.text(k) for k in range(len(alone))] == firsts
        assert np.allclose(alone.features.dense, whole.features.dense[:, whole.start[:-1]])
    assert decoder.translate(HELD, ALL) == firsts
    assert firsts[0] == candidates(SENTENCES[0])[0].text
    assert firsts[1] == ""


def test_conformance(files) -> None:
    check_decoder(decoder_of(files, pop_limit=20, nbest_size=7), ALL, WEIGHTS)


@pytest.mark.parametrize("passes", ["all", "unknown", "none"])
@pytest.mark.parametrize("unknown", ["copy", "drop"])
def test_words_that_stay(files, passes, unknown) -> None:
    made = decoder_of(files, pop_limit=0, nbest_size=1000, passes=passes, unknown=unknown)
    for text in ("das neue haus", "ist klein"):
        every = candidates(text, passes=passes, unknown=unknown)
        if not every:
            with pytest.raises(DecoderError, match="no derivation"):
                made.decode(HELD, sentences(text))
            continue
        found = made.decode(HELD, sentences(text))
        texts = {found.text(i) for i in range(len(found))}
        assert texts == set(best_by_text(every))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_span_limit(files, limit) -> None:
    made = decoder_of(files, pop_limit=0, nbest_size=1000, span_limit=limit)
    found = made.decode(HELD, sentences("das haus ist klein"))
    scores = found.features.dot(HELD.aligned(found.features.names))
    wanted = best_by_text(candidates("das haus ist klein", limit=limit))
    assert {found.text(i): scores[i] for i in range(len(found))} == pytest.approx(wanted, abs=1e-5)


def test_few_options_of_a_source_side(files) -> None:
    made = decoder_of(files, pop_limit=0, option_limit=1, passes="none", nbest_size=1000)
    found = made.decode(Weights.from_dict({"PhraseModel_0": -1.0}), sentences("das klein"))
    assert {found.text(i) for i in range(len(found))} == {"the small"}


# Language models


def test_several_language_models(files) -> None:
    models = (f"First={files['lm']}", f"Second={files['other']}")
    made = decoder_of(files, lm=models, pop_limit=0)
    assert made.names[:2] == ("First", "Second")
    found = made.decode(Weights.from_dict({"First": 1.0, "Second": 0.5}), ALL)
    first, second, unknown = (
        found.features.names.index(name) for name in ("First", "Second", "Second_OOV")
    )
    for i in range(len(found)):
        words = found.text(i).split()
        values = found.features.dense[:, i]
        assert values[first] == pytest.approx(sum(MODEL.sentence([*words, "</s>"])), abs=1e-5)
        assert values[second] == pytest.approx(sum(OTHER.sentence([*words, "</s>"])), abs=1e-5)
        assert values[unknown] == sum(OTHER.word(word) == "<unk>" for word in words)


def test_names_of_language_models(files) -> None:
    lm = str(files["lm"])
    assert decoder_of(files, lm=(lm, lm)).names[:2] == ("LanguageModel", "LanguageModel_1")
    with pytest.raises(UsageError, match="two language models are called A; give NAME=FILE"):
        _ = decoder_of(files, lm=(f"A={lm}", f"A={lm}")).names
    with pytest.raises(TunesmithError, match="language model has the name of another feature"):
        _ = decoder_of(files, lm=(f"PhraseModel_0={lm}",)).names


def test_a_path_with_an_equals_sign(files, tmp_path) -> None:
    path = tmp_path / "a=b"
    path.write_text(MODEL.text())
    assert decoder_of(files, lm=(str(path),)).names[0] == "LanguageModel"


# What changes nothing, and what does


def same(one, other) -> bool:
    return one.vocabulary == other.vocabulary and all(
        np.array_equal(a, b) for a, b in zip(one.arrays, other.arrays, strict=True)
    )


def test_threads_change_no_bit(files) -> None:
    asked = sentences(*(f"{text} neu{k % 7} fremd{k}" for k, text in enumerate(SENTENCES * 6)))
    found = []
    for count in (1, 2, 2, 1):
        with ts.threads(count):
            found.append(decoder_of(files, pop_limit=5).forests(HELD, asked))
    assert all(same(found[0], other) for other in found[1:])


def test_weights_change_without_reading_again(files, monkeypatch) -> None:
    made = decoder_of(files, pop_limit=10)
    before = made.decode(HELD, ALL)
    monkeypatch.setattr(LanguageModel, "read", None)
    after = made.decode(OTHERS, ALL)
    assert lists_of(before) != lists_of(after)
    again = made.decode(HELD, ALL)
    monkeypatch.undo()
    fresh = decoder_of(files, pop_limit=10)
    assert lists_of(after) == lists_of(fresh.decode(OTHERS, ALL))
    assert lists_of(before) == lists_of(again)


def test_forgetting_changes_nothing(files) -> None:
    made = decoder_of(files, pop_limit=10)
    before = made.forests(HELD, ALL)
    made.forget()
    assert same(before, made.forests(HELD, ALL))
    made.close()
    assert same(before, made.forests(HELD, ALL))


def test_weights_that_are_not_finite(decoder) -> None:
    broken = HELD.with_values(HELD.vector)
    broken.__dict__["vector"] = np.where(np.arange(len(HELD)) == 2, np.inf, HELD.vector)
    with pytest.raises(DecoderError, match="weight of 'WordPenalty' is not finite"):
        decoder.decode(broken, ALL)


def test_configuration_tells_models_apart(files, tmp_path) -> None:
    one = decoder_of(files).configuration()
    assert set(one["files"]) == {str(files["grammar"]), str(files["lm"])}
    changed = written(tmp_path, RULES[1:])
    other = decoder_of(changed).configuration()
    assert set(one["files"].values()) != set(other["files"].values())


# Forests


def test_the_best_of_a_forest_is_the_output(files) -> None:
    for pops in (3, 0):
        made = decoder_of(files, pop_limit=pops)
        forests = made.forests(HELD, ALL)
        assert forests.names == made.names
        assert forests.ids == tuple(range(len(ALL)))
        best = outputs(forests, HELD.aligned(forests.names))
        assert [best.text(k) for k in range(len(best))] == made.translate(HELD, ALL)


@pytest.mark.parametrize("ending", ["arrow", "jsonl.gz"])
def test_forests_are_the_same_when_read_again(decoder, tmp_path, ending) -> None:
    forests = decoder.forests(HELD, ALL)
    path = tmp_path / f"forests.{ending}"
    write_forests(forests, path)
    again = read_forests(path).in_memory()
    assert again.ids == forests.ids
    assert np.array_equal(again.edges, forests.edges)
    for weights in (HELD, OTHERS):
        one, other = (kbest_lists(f, weights.aligned(f.names), 20) for f in (forests, again))
        assert [one.text(i) for i in range(len(one))] == [other.text(i) for i in range(len(other))]


def test_sources_are_the_words_alone(decoder) -> None:
    found = decoder.forests(HELD, sentences('<seg id="3">das haus</seg>', "klein"))
    assert found.sources == ("das haus", "klein")


# Grammars of single sentences


def test_own_grammars_are_as_if_they_were_given_to_all(files, tmp_path) -> None:
    half = len(RULES) // 2
    (tmp_path / "all").write_text(text_of(RULES[:half]))
    (tmp_path / "own").write_text(text_of(RULES[half:]))
    made = decoder_of(files, grammar=(str(tmp_path / "all"),), pop_limit=0)
    asked = [f'<seg grammar="{tmp_path / "own"}">{text}</seg>' for text in SENTENCES]
    found = made.decode(HELD, sentences(*asked))
    whole = decoder_of(files, pop_limit=0)
    wanted = whole.decode(HELD, ALL)
    scores, others = (x.features.dot(HELD.aligned(x.features.names)) for x in (found, wanted))
    assert np.allclose(scores, others, atol=1e-5)
    assert np.array_equal(found.start, wanted.start)
    # Equals may come in another order.
    for lo, hi in pairwise(found.start.tolist()):
        texts = [{x.text(i) for i in range(lo, hi)} for x in (found, wanted)]
        assert texts[0] == texts[1] or hi - lo == made.nbest_size


def test_own_grammars_alone(files) -> None:
    made = decoder_of(files, grammar=(), pop_limit=0)
    asked = [f'<seg grammar="{files["grammar"]}">das haus</seg>', "das haus"]
    assert made.translate(HELD, sentences(*asked)) == ["the house", "das haus"]


def test_features_of_own_grammars_keep_their_places(files, tmp_path) -> None:
    made = decoder_of(files)
    for name in ("b", "a"):
        rule = Rule("X", ("neu",), ("new",), {name: 2.0})
        (tmp_path / name).write_text(text_of([rule]))
    before = made.names
    weights = HELD.updated(Weights.from_dict({"a": 1.0, "b": 3.0}))
    asked = {name: f'<seg grammar="{tmp_path / name}">neu</seg>' for name in ("a", "b")}
    first = made.forests(weights, sentences(asked["b"], "das"))
    assert first.names == made.names == (*before, "b")
    second = made.forests(weights, sentences(asked["a"], asked["b"]))
    assert second.names == made.names == (*before, "b", "a")
    best = outputs(second, weights.aligned(second.names))
    values = dict(zip(best.features.names, best.features.dense, strict=True))
    assert values["a"].tolist() == [2.0, 0.0]
    assert values["b"].tolist() == [0.0, 2.0]
    third = made.forests(weights, sentences("das"))
    assert third.names == second.names


def test_an_own_grammar_that_is_not_there(decoder) -> None:
    with pytest.raises(TunesmithError, match=r"nowhere\.gz: no such file"):
        decoder.decode(HELD, sentences('<seg grammar="nowhere.gz">das</seg>'))


def test_an_own_grammar_without_rules(decoder, tmp_path) -> None:
    (tmp_path / "empty").write_text("")
    asked = sentences(f'<seg grammar="{tmp_path / "empty"}">das haus</seg>')
    assert decoder.translate(HELD, asked) == ["the house"]


# Lexical features


def test_lexical_features(files) -> None:
    made = decoder_of(files, lexical=3, pop_limit=0, nbest_size=1000)
    plain = decoder_of(files, pop_limit=0)
    assert made.names[: len(plain.names)] == plain.names
    lexical = made.names[len(plain.names) :]
    assert all(name.startswith("lex(") for name in lexical)
    # What most rules have: ist, das and haus; is, house and the.
    assert {"lex(is)", "lex(house)", "lex(das,the)", "lex(ist,is)", "lex(UNK)"} <= set(lexical)
    found = made.decode(HELD, sentences("das haus ist klein"))
    values = dict(zip(found.features.names, found.features.dense, strict=True))
    for i in range(len(found)):
        words = found.text(i).split()
        # A word that is passed through is said by no rule.
        passed = {w for w in words if w in {"das", "haus", "ist", "klein"}}
        said = [w for w in words if w not in passed]
        for word in ("is", "house", "the"):
            assert values[f"lex({word})"][i] == said.count(word)
        assert values["lex(UNK)"][i] == sum(w not in {"is", "house", "the"} for w in said)


def test_a_lexical_weight_changes_the_output(files) -> None:
    made = decoder_of(files, lexical=100)
    assert made.translate(HELD, sentences("haus")) == ["house"]
    more = HELD.updated(Weights.from_dict({"lex(haus,home)": 5.0}))
    assert made.translate(more, sentences("haus")) == ["home"]


def test_lexical_features_of_own_grammars(files, tmp_path) -> None:
    (tmp_path / "own").write_text(text_of([Rule("X", ("neu",), ("new", "the"))]))
    made = decoder_of(files, lexical=3)
    found = made.outputs(HELD, sentences(f'<seg grammar="{tmp_path / "own"}">neu</seg>'))
    values = dict(zip(found.features.names, found.features.dense[:, 0], strict=True))
    assert found.text(0) == "new the"
    assert values["lex(UNK,the)"] == values["lex(the)"] == values["lex(UNK)"] == 1.0


def test_lexical_features_need_words(files) -> None:
    with pytest.raises(UsageError, match="no words for lexical features; give a grammar"):
        _ = decoder_of(files, grammar=(), lexical=5).names
