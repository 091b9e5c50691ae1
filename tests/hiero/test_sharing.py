"""Sentences that are searched by copies of the model, in whatever process."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from tests.helpers.hiero.model_files import SENTENCES, WEIGHTS, decoder_of, written
from tests.helpers.parallel.copying import CopyEngine, copied
from tunesmith.decoders.base import DecoderError, Sentence
from tunesmith.hiero.chart import cubes
from tunesmith.hiero.sharing import Counter
from tunesmith.parallel.engine import working_on
from tunesmith.progress import show_with, shown

ALL = [Sentence(f"s{k}", text) for k, text in enumerate([*SENTENCES, "neu", "das alt haus"])]
HELD = {**WEIGHTS, "Own0": 0.5, "Own1": -1.0, "Both": 2.0}
OPTIONS = {
    "plain": {},
    "limited": {"pop_limit": 3, "span_limit": 2, "passes": "unknown", "unknown": "drop"},
    "lexical": {"lexical": 4},
    "several models": {"lm": ("a={lm}", "b={other}")},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sharing")
    for k, word in enumerate(("neu", "alt")):
        text = f"[X] ||| {word} ||| own{k} ||| Own{k}=1 Both=1\n[X] ||| {word} ||| no ||| Both=-1\n"
        (folder / f"g{k}").write_text(text)
    return written(folder)


def made(files, lm=("{lm}",), **options):
    return decoder_of(files, lm=tuple(one.format(**files) for one in lm), **options)


def same_forests(one, other):
    assert (one.ids, one.names, one.vocabulary, one.sources) == (
        *(other.ids, other.names, other.vocabulary, other.sources),
    )
    for left, right in zip(one.arrays, other.arrays, strict=True):
        assert left.dtype == right.dtype
        assert left.tobytes() == right.tobytes()


def same_lists(one, other):
    assert (one.ids, one.features.names) == (other.ids, other.features.names)
    assert [one.text(k) for k in range(len(one))] == [other.text(k) for k in range(len(other))]
    assert one.features.dense.tobytes() == other.features.dense.tobytes()
    assert (one.features.sparse != other.features.sparse).nnz == 0


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_copies_give_the_same_bits(files, options):
    decoder = made(files, **options)
    engine = CopyEngine()
    with working_on(engine):
        forests, best = decoder.forests(HELD, ALL), decoder.outputs(HELD, ALL)
        lists = decoder.decode(HELD, ALL)
    assert engine.pieces > 3
    same_forests(forests, decoder.forests(HELD, ALL))
    same_lists(best, decoder.outputs(HELD, ALL))
    same_lists(lists, decoder.decode(HELD, ALL))


def test_the_model_is_sent_once(files):
    decoder, engine = made(files), CopyEngine()
    with working_on(engine):
        for _ in range(3):
            decoder.outputs(HELD, ALL)
    assert len([one for one, _ in engine.sent if one is decoder._parts]) == 1


def test_a_single_sentence_stays_here(files):
    engine = CopyEngine()
    with working_on(engine):
        assert made(files).forests(HELD, ALL[:1]).groups == 1
    assert engine.sent == []


def test_features_that_are_met_after_the_model_was_sent(files, monkeypatch):
    """Grammars of sentences' own, whose files have names that are relative here alone."""
    folder = files["grammar"].parent
    monkeypatch.chdir(folder)
    own = [
        Sentence(k, f'<seg grammar="g{k}">das {w} haus</seg>') for k, w in enumerate(("neu", "alt"))
    ]
    here, shared, engine = made(files), made(files), CopyEngine()
    orders = [[*ALL], [*ALL, own[1]], [*own[::-1], *ALL], [*own]]
    for sentences in orders:
        wanted = here.forests(HELD, sentences)
        with working_on(engine):
            same_forests(shared.forests(HELD, sentences), wanted)
    assert {"Own0", "Own1", "Both"} <= set(shared.names)
    (parts,) = [copy for one, copy in engine.sent if one is shared._parts]
    assert parts.names == shared.names


def test_a_copy_needs_no_files(files, tmp_path):
    places = {name: tmp_path / name for name in files}
    for name, path in places.items():
        path.write_bytes(files[name].read_bytes())
    decoder = made(places, lexical=3)
    sent = pickle.dumps(decoder)  # before anything was asked
    for path in places.values():
        path.unlink()
    copy = pickle.loads(sent)
    assert copy == decoder
    assert copy.configuration() == decoder.configuration()
    same_forests(copy.forests(HELD, ALL), made(files, lexical=3).forests(HELD, ALL))


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing compiled to count"
)
def test_kernels_are_not_compiled_again_for_copies(files):
    decoder = made(files)
    decoder.forests(HELD, ALL)
    before = list(cubes.search.signatures)
    copy = copied(decoder)
    arrays = copy.engine.grammar.arrays, copy.engine.models.arrays
    assert not any(array.flags.writeable for held in arrays for array in held if array.ndim)
    copy.forests(HELD, ALL)
    assert cubes.search.signatures == before


def test_what_is_kept_of_sentences_is_not_sent(files):
    decoder = made(files)
    small = len(pickle.dumps(decoder))
    decoder.forests(HELD, [Sentence(k, f"das haus ist {k}") for k in range(50)])
    assert len(pickle.dumps(decoder)) == small


def test_an_error_says_which_sentence_it_is_of(files):
    decoder = made(files, passes="none")
    sentences = [Sentence("a", "das haus"), Sentence("b", "das auto"), Sentence("c", "haus")]
    with working_on(CopyEngine()), pytest.raises(DecoderError, match=r"^sentence b: no derivation"):
        decoder.forests(HELD, sentences)


def test_progress_is_shown_here_alone(files):
    seen = []
    show_with(lambda *told: seen.append(told))
    try:
        with working_on(CopyEngine()):
            made(files).outputs(HELD, ALL)
        copied(Counter(5, shown())).count()
    finally:
        show_with(None)
    decoding = [told for told in seen if told[0] == "decoding"]
    assert decoding[-1][:3] == ("decoding", len(ALL), len(ALL))
    assert np.all(np.diff([told[1] for told in decoding]) >= 0)
