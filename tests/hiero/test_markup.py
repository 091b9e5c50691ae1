"""Forced translations: what elements of XML say, and what becomes of the words in them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.hiero.joshua import GLUE
from tests.helpers.hiero.model_files import (
    RULES,
    WEIGHTS,
    best_by_text,
    candidates,
    decoder_of,
    written,
)
from tunesmith.decoders.base import DecoderError, Sentence
from tunesmith.errors import UnknownNameError
from tunesmith.hiero import HieroDecoder
from tunesmith.hiero.grammar.grammar import Rule
from tunesmith.hiero.markup import Forced, forced_in

#: A forced translation is no rule, so rules must not count here.
HELD = {**WEIGHTS, "RuleCount": 0.0}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    return written(tmp_path_factory.mktemp("hiero"))


def forcing(files: dict[str, Path], way: str = "exclusive", **options) -> HieroDecoder:
    return decoder_of(
        files, pop_limit=0, nbest_size=1000, passes="unknown", xml_input=way, **options
    )


def scores_of(decoder: HieroDecoder, text: str, weights=None) -> dict[str, float]:
    """Return the score of each translation."""
    weights = weights or HELD
    found = decoder.decode(weights, [text])
    scores = found.features.dot(np.array([weights.get(name, 0.0) for name in found.features.names]))
    return {found.text(row): float(scores[row]) for row in range(len(found))}


# What elements say


def test_elements() -> None:
    one, other = "<x translation='the b'>", '<np.1 translation = "D || d d" prob="0.5||2" >'
    words, forced = forced_in(f"a {one}b</x> c\t{other}d e</np.1>")
    assert words == ("a", "b", "c", "d", "e")
    assert forced == (
        Forced(1, 2, ("the", "b")),
        Forced(3, 5, ("D",), math.log(0.5)),
        Forced(3, 5, ("d", "d"), math.log(2)),
    )
    assert forced_in('<x translation="">a</x>') == (("a",), (Forced(0, 1, ()),))


@pytest.mark.parametrize("text", ["", "a b", "a < b", "a <3 > b", "a<b", "<> </ a>", "&lt;x>"])
def test_words_without_elements(text) -> None:
    assert forced_in(text) == (tuple(text.split()), ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<x translation="a">b', "<x> is not closed; write </x> behind"),
        ("b</x>", "'</x>' closes no element; take it out"),
        ('<x translation="a">b</y>', "'</y>' closes no element; take it out"),
        ('<x translation="a"> </x>', "<x> has no words; put those"),
        ('<x translation="a"><y translation="b">c</y></x>', "is within <x>; close that first"),
        ("<b>c</b>", "<b> has no translation; write <b translation="),
        ("a <wall/> b", "'<wall/>' translates no words; take it out"),
        ("<zone> a </zone>", "'<zone>' translates no words; take it out"),
        ('<x english="a">b</x>', "<x> has the attribute 'english'; give translation and prob"),
        ('<x translation="a ||| b">c</x>', "the translation of <x> has '|||' in it; write || bet"),
        ('<x translation="a||b" prob="1|||2">c</x>', "the prob of <x> has '|||' in it; write ||"),
        ('<x translation="a||||b">c</x>', "the translation of <x> has '|||' in it; write || bet"),
        ('<x translation="a||b" prob="1">c</x>', "2 translations and 1 probabilities; give one"),
        ('<x translation="a" prob="0">c</x>', "<x> has the probability '0'; give numbers above 0"),
        ('<x translation="a" prob="p">c</x>', "<x> has the probability 'p'; give numbers"),
        ('<x translation="a" prob="nan">c</x>', "<x> has the probability 'nan'; give numbers"),
    ],
)
def test_elements_that_are_refused(files, text, said) -> None:
    with pytest.raises(DecoderError) as caught:
        forced_in(text)
    assert said in str(caught.value)
    with pytest.raises(DecoderError, match=r"^sentence 7: "):
        forcing(files).meet([Sentence(7, text)])


# What becomes of words


SPANS = [
    ('<x translation="the big house">das haus</x> ist klein', "UNIT ist klein"),
    ('das haus <x translation="small is">ist</x> klein', "das haus UNIT klein"),
    ('klein <x translation="">ist das</x> neue haus', "klein UNIT neue haus"),
    ('<x translation="house">klein ist das neue haus</x>', "UNIT"),
]


@pytest.mark.parametrize(("text", "masked"), SPANS)
def test_exclusive_words_are_a_unit_with_one_translation(files, text, masked) -> None:
    _, (forced,) = forced_in(text)
    rules = [*RULES, Rule("X", ("UNIT",), forced.translation, {})]
    wanted = best_by_text(candidates(masked, HELD, rules, passes="unknown"))
    assert scores_of(forcing(files), text) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        '<x translation="the big house">das haus</x> ist klein',
        'das haus <x translation="small is">ist</x> klein',
        'klein ist <x translation="a || the || that">das</x> neue haus',
    ],
)
def test_inclusive_translations_are_rules_for_these_words(files, text) -> None:
    words, forced = forced_in(text)
    rules = [
        *RULES,
        *(Rule("X", words[one.begin : one.end], one.translation, {}) for one in forced),
    ]
    wanted = best_by_text(candidates(" ".join(words), HELD, rules, passes="unknown"))
    assert scores_of(forcing(files, "inclusive"), text) == pytest.approx(wanted, abs=1e-5)


def test_a_span_that_is_wider_than_rules_may_be(files) -> None:
    text = 'klein <x translation="the house">ist das neue haus</x> klein'
    rules = [*RULES, Rule("X", ("UNIT",), ("the", "house"), {})]
    wanted = best_by_text(candidates("klein UNIT klein", HELD, rules, 2, passes="unknown"))
    assert scores_of(forcing(files, span_limit=2), text) == pytest.approx(wanted, abs=1e-5)


def test_probabilities_are_a_feature(files) -> None:
    decoder = forcing(files)
    text = '<x translation="house||home" prob="0.125||0.5">das</x>'
    scores = scores_of(decoder, text)
    assert decoder.names[-1] == "Forced"
    weighted = scores_of(decoder, text, {**HELD, "Forced": 2.0})
    assert weighted == pytest.approx(
        {
            "house": scores["house"] + 2.0 * math.log(0.125),
            "home": scores["home"] + 2.0 * math.log(0.5),
        }
    )
    # Sentences without probabilities, and those of before, are not changed by it.
    assert scores_of(decoder, "das haus") == scores_of(forcing(files), "das haus")


def test_the_same_words_with_and_without(files) -> None:
    decoder = forcing(files)
    texts = ["das haus", '<x translation="home">das haus</x>', '<x translation="is">das haus</x>']
    for _ in range(2):  # what was parsed before is not taken for another
        assert decoder.translate(HELD, texts) == ["the house", "home", "is"]


def test_a_grammar_of_its_own_beside_it(files, tmp_path) -> None:
    (tmp_path / "own").write_text("[X] ||| neu ||| new ||| own=1\n")
    decoder = forcing(files)
    text = f'<seg id="1" grammar="{tmp_path}/own">neu <x translation="a" prob="0.5">das</x></seg>'
    found = decoder.decode({**HELD, "own": 9.0}, [text])
    values = dict(zip(found.features.names, found.features.dense[:, 0].tolist(), strict=True))
    assert found.text(0) == "new a"
    assert (values["own"], values["Forced"]) == (1.0, math.log(0.5))


def test_between_the_ends_of_a_sentence(tmp_path, files) -> None:
    (tmp_path / "rules").write_text("[X] ||| das ||| the ||| 1\n")
    (tmp_path / "glue").write_text(GLUE)
    (tmp_path / "config").write_text(
        f"tm = thrax -owner pt -maxspan 5 -path {tmp_path}/rules\n"
        f"tm = thrax -owner glue -maxspan -1 -path {tmp_path}/glue\n"
        f"feature-function = LanguageModel -lm_type kenlm -lm_order 3 -lm_file {files['lm']}\n"
        "lm_0 1\ntm_pt_0 -1\ngoal-symbol = GOAL\n"
    )
    decoder = HieroDecoder(joshua=str(tmp_path / "config"), xml_input="exclusive")
    text = '<x translation="[small] house">neue haus</x> das'
    found, (trace,) = decoder.traced(decoder.start() or {}, [text])
    assert found.text(0) == "[small] house the"
    spans = {step.rule.source: (step.begin, step.end) for step in trace.steps}
    assert spans["neue", "haus"] == (0, 2)


def test_a_trace_has_no_links_for_it(files) -> None:
    _, (trace,) = forcing(files).traced(HELD, ['<x translation="a b">klein ist</x> das haus'])
    assert trace.alignment == "2-2 2-3"
    assert {"rule": "[X] ||| klein ist ||| a b", "span": [0, 2], "tails": []} in trace.to_dict()[
        "steps"
    ]


def test_ways_that_are_not_known(files) -> None:
    with pytest.raises(UnknownNameError, match="xml-input"):
        forcing(files, "constraint")


def test_without_the_option_elements_are_words(files) -> None:
    assert decoder_of(files).translate(WEIGHTS, ["<b> haus"]) == ["<b> house"]
