"""Lattices: what is found in one is what is found in the sentences of all its paths."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, vector
from tests.helpers.hiero.enumeration import drawn_rules, everything
from tests.helpers.hiero.joshua import GLUE
from tests.helpers.hiero.model_files import (
    MODEL,
    WEIGHTS,
    Candidate,
    candidates,
    decoder_of,
    written,
)
from tests.helpers.hiero.plf import LatticeArc, drawn_lattices, paths_of, plf_of
from tests.helpers.parallel.copying import CopyEngine
from tests.helpers.tiers import examples
from tunesmith.decoders.base import DecoderError, Sentence
from tunesmith.errors import UsageError
from tunesmith.hiero import HieroDecoder
from tunesmith.hiero import lattice as lattice_module
from tunesmith.hiero.engine import HieroEngine, Settings
from tunesmith.hiero.grammar.grammar import glue, grammar_of, joined
from tunesmith.hiero.lattice import lattice_in
from tunesmith.hiero.lm.language_model import LanguageModel, LanguageModels
from tunesmith.hiero.traces import Trace
from tunesmith.parallel.engine import working_on

#: das or dies, then haus; ist, or nothing; klein, or the whole as one arc from the first node.
ARCS = [
    LatticeArc(0, 1, "das", (-0.5, 1.0)),
    LatticeArc(0, 1, "dies", (-1.5, 0.0)),
    LatticeArc(0, 2, "haus", (-3.0, 0.0)),
    LatticeArc(1, 2, "haus", (-0.25, 0.5)),
    LatticeArc(2, 3, "ist", (-0.25, 0.0)),
    LatticeArc(2, 3, "", (-2.0, 2.0)),
    LatticeArc(3, 4, "klein", (0.0, 0.25)),
]
BY_HAND = {
    "das haus ist klein": (-1.0, 1.75),
    "dies haus ist klein": (-2.0, 0.75),
    "haus ist klein": (-3.25, 0.25),
    "das haus klein": (-2.75, 3.75),
    "dies haus klein": (-3.75, 2.75),
    "haus klein": (-5.0, 2.25),
}
SCORED = {**WEIGHTS, "PLF_1": 0.75, "PLF_2": 0.25}
LETTERS = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    return written(tmp_path_factory.mktemp("hiero"))


@pytest.fixture(scope="module")
def models(files) -> LanguageModels:
    return LanguageModels({"LanguageModel": LanguageModel.read(files["lm"])})


def reading(files: dict[str, Path], way: str = "plain", **options) -> HieroDecoder:
    return decoder_of(
        files, **{"pop_limit": 0, "nbest_size": 10000, "lattice_input": way, **options}
    )


def of_all_paths(found: dict[str, tuple[float, ...]]) -> list[Candidate]:
    """Return all derivations of all paths, with the scores of their arcs."""
    every = []
    for text, scores in found.items():
        arcs = {f"PLF_{k}": value for k, value in enumerate(scores, 1)}
        added = sum(SCORED[name] * value for name, value in arcs.items())
        every += [
            Candidate(one.text, {**one.features, **arcs}, one.score + added)
            for one in candidates(text)
        ]
    return every


def counted(every: list[Candidate], names: tuple[str, ...]) -> Counter:
    return Counter(
        (one.text, tuple(round(one.features.get(name, 0.0), 4) + 0.0 for name in names))
        for one in every
    )


def scored(decoder: HieroDecoder, text: str, weights=SCORED) -> dict[str, float]:
    found = decoder.decode(weights, [text])
    scores = found.features.dot(np.array([weights.get(name, 0.0) for name in found.features.names]))
    return {found.text(row): float(scores[row]) for row in range(len(found))}


def best_of(every: list[Candidate]) -> dict[str, float]:
    best: dict[str, float] = {}
    for one in every:
        best[one.text] = max(one.score, best.get(one.text, -math.inf))
    return best


# What is found


def test_paths_enumerated_by_hand(files) -> None:
    text = plf_of(ARCS, 4)
    assert {" ".join(path.words): path.scores for path in paths_of(ARCS, 4)} == BY_HAND
    decoder = reading(files)
    assert scored(decoder, text) == pytest.approx(best_of(of_all_paths(BY_HAND)), abs=1e-5)
    assert decoder.names[-2:] == ("PLF_1", "PLF_2")


def test_a_forest_has_all_derivations_of_all_paths(files) -> None:
    forests = reading(files).forests(SCORED, [plf_of(ARCS, 4)])
    found = Counter(
        (
            " ".join(forests.vocabulary[w] for w in tree.words),
            tuple(np.round(vector(forests.arrays, tree, len(forests.names)), 4) + 0.0),
        )
        for tree in derivations(forests.arrays)
    )
    assert found == counted(of_all_paths(BY_HAND), forests.names)


@settings(max_examples=examples(150))
@given(data=st.data(), passes=st.sampled_from(["all", "unknown", "none"]))
@pytest.mark.parametrize("categories", [("X",), ("X", "Y", "Z")])
def test_random_lattices(models, data, categories, passes) -> None:
    rules = data.draw(drawn_rules(categories))
    size = data.draw(st.integers(0, 2))
    arcs, goal = data.draw(drawn_lattices(LETTERS, size))
    _check(models, rules, arcs, goal, size, 15, passes)


@settings(max_examples=examples(100))
@given(data=st.data(), limit=st.integers(1, 3))
def test_spans_are_limited_as_in_sentences(models, data, limit) -> None:
    # Where all paths between two nodes have as many words; elsewhere the shortest counts.
    rules = data.draw(drawn_rules())
    arcs, goal = data.draw(drawn_lattices(LETTERS, 1, nearest=True))
    _check(models, rules, arcs, goal, 1, limit, "all")


def _check(models, rules, arcs, goal, size, limit, passes) -> None:
    arc_names = [] if size == 0 else ["PLF"] if size == 1 else ["PLF_1", "PLF_2"]
    wanted: Counter = Counter()
    for path in paths_of(arcs, goal):
        every = everything(rules, path.words, limit, passes)
        assume(len(every) < 3000)
        for one in every:
            values = dict(one.features)
            values["LanguageModel"] = sum(MODEL.sentence([*one.words, "</s>"]))
            for name, value in zip(arc_names, path.scores, strict=True):
                values[name] = values.get(name, 0.0) + value
            wanted[one.words, frozenset((k, round(v, 3)) for k, v in values.items() if v)] += 1
    settings_ = Settings(pop_limit=0, passes=passes, names=tuple(arc_names))
    engine = HieroEngine(joined([grammar_of(rules, limit), glue()]), models, settings_)
    lattice = lattice_in(plf_of(arcs, goal), False)
    numbers = {name: k for k, name in enumerate(engine.names)}
    weights = np.linspace(-1.0, 1.0, len(engine.names))
    if not wanted:
        with pytest.raises(Exception, match="no derivation of the grammar covers"):
            engine.search(lattice, weights, (), numbers)
        return
    translation = engine.search(lattice, weights, (), numbers)
    arrays = translation.forest()
    trees = derivations(arrays)
    vectors = [vector(arrays, tree, len(engine.names)) for tree in trees]
    found = Counter(
        (
            tuple(translation.prepared.word(w) for w in tree.words),
            frozenset((engine.names[k], round(v, 3)) for k, v in enumerate(row.tolist()) if v),
        )
        for tree, row in zip(trees, vectors, strict=True)
    )
    assert found == wanted
    best = max(float(row @ weights) for row in vectors)
    assert float(translation.chart.scores[-1]) == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("pops", [1, 3, 200])
def test_with_a_pop_limit_what_is_found_is_among_what_there_is(files, pops) -> None:
    every = best_of(of_all_paths(BY_HAND))
    found = scored(reading(files, pop_limit=pops), plf_of(ARCS, 4))
    assert found
    assert all(score <= every[text] + 1e-5 for text, score in found.items())


def test_a_chain_without_scores_is_the_sentence_to_the_bit(files) -> None:
    lattice = "((('das',1),),(('haus',1),),(('ist',1),),)"
    one = reading(files).forests(WEIGHTS, [lattice]).arrays
    other = decoder_of(files, pop_limit=0).forests(WEIGHTS, ["das haus ist"]).arrays
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_the_span_limit_counts_the_shortest_path(files) -> None:
    # "das haus" with a detour of three words, over nodes in between.
    detour = "((('das',1),('so',2),),(('haus',3),),(('ein',1),),(('haus',1),),)"
    found = scored(reading(files, span_limit=2, passes="unknown"), detour)
    assert "the house" in found


def test_probabilities(files) -> None:
    found = scored(reading(files, "probabilities"), "((('das',0.25,1),('haus',0.5,1),),)", {
        **WEIGHTS, "PLF": 2.0,
    })  # fmt: skip
    plain = scored(reading(files), "((('das',1),('haus',1),),)")
    assert found["that"] == pytest.approx(plain["that"] + 2.0 * math.log(0.25))
    assert found["home"] == pytest.approx(plain["home"] + 2.0 * math.log(0.5))


def test_features_with_names_of_their_own(files) -> None:
    text = "((('das',{'speech':0.5,'PhraseModel_0':4},1),('haus',1),),)"
    found = reading(files).decode(WEIGHTS, [text])
    values = found.features.dense[[found.features.names.index("speech")], :].ravel()
    assert dict(zip(map(found.text, range(len(found))), values.tolist(), strict=True)) == {
        **dict.fromkeys(("the", "that", "das"), 0.5),
        **dict.fromkeys(("house", "home", "haus"), 0.0),
    }
    # A feature of the grammar too: they are added up.
    row = found.features.dense[found.features.names.index("PhraseModel_0")]
    assert row[[found.text(k) for k in range(len(found))].index("the")] == 0.25 + 4.0


def test_lattices_between_the_ends_of_a_sentence(tmp_path, files) -> None:
    (tmp_path / "rules").write_text("[X] ||| das ||| the ||| 1\n")
    (tmp_path / "glue").write_text(GLUE)
    (tmp_path / "config").write_text(
        f"tm = thrax -owner pt -maxspan 5 -path {tmp_path}/rules\n"
        f"tm = thrax -owner glue -maxspan -1 -path {tmp_path}/glue\n"
        f"feature-function = LanguageModel -lm_type kenlm -lm_order 3 -lm_file {files['lm']}\n"
        "lm_0 1\ntm_pt_0 -1\ngoal-symbol = GOAL\nmaxlen = 3\n"
    )
    decoder = HieroDecoder(joshua=str(tmp_path / "config"), lattice_input="plain")
    text = "((('das',2,1),('neue',-1,2),),(('haus',0,1),),)"
    weights = {**(decoder.start() or {}), "PLF": 100.0}
    found, (trace,) = decoder.traced(weights, [text])
    assert found.text(0) == "the haus"
    assert trace.path == ("das", "haus")
    assert decoder.translate({**weights, "PLF": -100.0}, [text]) == ["neue"]
    with pytest.raises(DecoderError, match="sentence 0: the lattice has 5 nodes, and by the josh"):
        decoder.translate(weights, ["(" + "(('das',1,1),)," * 4 + ")"])


# Traces


def said_by(trace: Trace) -> tuple[str, list[str]]:
    """Apply the rules of a trace; return its source words and its translation."""
    source: list[str] = []

    def of(number: int) -> list[str]:
        step = trace.steps[number]
        fillers = []
        assert step.begin == len(source)
        for symbol in step.rule.source:
            if isinstance(symbol, str):
                source.append(symbol)
            else:
                fillers.append(of(step.tails[len(fillers)]))
        assert step.end == len(source)
        words: list[str] = []
        for symbol in step.rule.target:
            words += fillers[symbol - 1] if isinstance(symbol, int) else [symbol]
        return words

    said = of(0)
    return " ".join(source), said


def test_traces_follow_the_path(files) -> None:
    found, traces = reading(files).traced(SCORED, [plf_of(ARCS, 4)], 40)
    names = found.features.names
    paths = set()
    for row, trace in enumerate(traces):
        source, said = said_by(trace)
        paths.add(source)
        assert trace.path == tuple(source.split())
        assert trace.to_dict()["path"] == source
        assert " ".join(said) == found.text(row)
        values = tuple(float(found.features.dense[names.index(f"PLF_{k}"), row]) for k in (1, 2))
        assert values == BY_HAND[source]
        assert all(0 <= i < len(trace.path) and 0 <= j < len(said) for i, j in trace.links)
    assert len(paths) > 2


# What is refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("das haus", "it is no lattice (PLF): at character 1, 'das haus': '(' is missing here; "),
        ("((('das',1,1),)", "it is no lattice (PLF): at the end of the line: "),
        ("((('das',x,1),),)", "it is no lattice (PLF): a score is 'x', not a number; give"),
        ("((('das',1,2),),)", "it is no lattice (PLF): at the end of the line: an arc leads to no"),
        ("((('das',1),),(),(('haus',1),),)", "no path of the lattice leads from its first node"),
        ("((('*EPS*',1,1),('das',1,1),),)", "a path of the lattice has no words; take it out"),
        ("((('das',{'LanguageModel':1},1),),)", "feature 'LanguageModel', as a language model; r"),
    ],
)  # fmt: skip
def test_lattices_that_are_refused(files, text, said) -> None:
    with pytest.raises(DecoderError) as caught:
        reading(files).meet([Sentence(7, text)])
    assert str(caught.value).startswith("sentence 7: ")
    assert said in str(caught.value)


def test_lattices_that_are_too_large(files, monkeypatch) -> None:
    monkeypatch.setattr(lattice_module, "MOST_NODES", 8)
    monkeypatch.setattr(lattice_module, "MOST_ARCS", 100)
    decoder = reading(files)
    decoder.translate(WEIGHTS, ["(" + "(('a',1),)," * 8 + ")"])
    with pytest.raises(DecoderError, match="the lattice has 10 nodes, and 9 are the most; prune"):
        decoder.translate(WEIGHTS, ["(" + "(('a',1),)," * 9 + ")"])
    with pytest.raises(DecoderError, match="the lattice has more than 100 arcs without those that"):
        decoder.translate(WEIGHTS, ["(" + "(('*EPS*',1),('a',1),('*EPS*',1),)," * 8 + ")"])


def test_all_lattices_have_as_many_scores(files) -> None:
    texts = ["((('das',1,1),),)", "((('das',1,2,1),),)"]
    with pytest.raises(
        DecoderError, match=r"^sentence 1: its arcs have 2 scores, and those before"
    ):
        reading(files).translate(WEIGHTS, texts)


def test_a_lattice_is_not_taken_for_words(files) -> None:
    with pytest.raises(DecoderError, match=r"^sentence 0: it is a lattice \(PLF\), and words are"):
        decoder_of(files).translate(WEIGHTS, ["((('das',1,1),),)"])
    with pytest.raises(UsageError, match="stand in sentences, not in lattices; drop xml-input or"):
        reading(files, xml_input="exclusive")


def test_a_sentence_without_words_and_segments(files, tmp_path) -> None:
    (tmp_path / "own").write_text("[X] ||| neu ||| new ||| own=1\n")
    decoder = reading(files)
    text = f"<seg id='3' grammar='{tmp_path}/own'>((('neu',0.5,1),('das',0.5,1),),)</seg>"
    weights = {**WEIGHTS, "own": 50.0, "PLF": 1.0}
    assert decoder.translate(weights, ["", text, "((('das',0,1),),)"]) == ["", "new", "the"]


# Elsewhere


def test_arcs_without_words_belong_to_the_word_before_them() -> None:
    text = "((('*EPS*',1,1),('a',2,2),),(('b',4,1),),(('*EPS*',8,2),('c',16,1),),(('d',32,1),),)"
    lattice = lattice_in(text, False)
    assert lattice.size == 3
    assert list(lattice.ends) == sorted(lattice.ends)
    arcs = zip(lattice.begins, lattice.ends, lattice.words, lattice.scores, strict=True)
    # No word leads to the second node of the file, which has no number here.
    assert sorted((begin, end, word, score) for begin, end, word, ((_, score),) in arcs) == [
        (0, 1, "a", 2.0),
        (0, 1, "b", 1.0 + 4.0),
        (0, 3, "a", 2.0 + 8.0),
        (0, 3, "b", 1.0 + 4.0 + 8.0),
        (1, 2, "c", 16.0),
        (2, 3, "d", 32.0),
    ]


def test_copies_find_the_same(files) -> None:
    texts = [plf_of(ARCS, 4), plf_of(ARCS[:1] + ARCS[3:5] + ARCS[6:], 4), "((('das',1,0,1),),)"]
    here = reading(files).decode(SCORED, texts)
    with working_on(CopyEngine()):
        there = reading(files).decode(SCORED, texts)
    assert [here.text(k) for k in range(len(here))] == [there.text(k) for k in range(len(there))]
    assert np.array_equal(here.features.dense, there.features.dense)
