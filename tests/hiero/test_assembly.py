"""Where the parts of a decoder come from, and how forests get their words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.hiero.enumeration import GLUE
from tests.helpers.hiero.model_files import MODEL, RULES, WEIGHTS, decoder_of, written
from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Sentence
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.hiero import HieroDecoder
from tunesmith.hiero.assembly import KEPT, parts_of, spell_out
from tunesmith.hiero.conventions import CDEC
from tunesmith.hiero.grammar.grammar import FROM_START, glue, grammar_of, joined
from tunesmith.hiero.lm.language_model import LanguageModel
from tunesmith.hiero.model import GRAMMAR, LM, SearchSettings, write_header, writing_model
from tunesmith.testing.decoders import check_decoder, lists_of

HELD = Weights.from_dict(WEIGHTS)
TEXTS = ("das haus ist klein", "klein ist neu", "")
ALL = [Sentence(k, text) for k, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    return written(tmp_path_factory.mktemp("hiero"))


@pytest.fixture(scope="module")
def model(files) -> Path:
    """A folder with the parts of ``files``, whose limits are others than the usual ones."""
    folder = files["grammar"].parent / "model"
    with writing_model(folder) as made:
        joined([grammar_of(RULES, 2), glue()]).save(made / GRAMMAR)
        LanguageModel.read(files["lm"]).save(made / LM)
        settings = SearchSettings(span_limit=2, pop_limit=7)
        write_header(made, settings, WEIGHTS, (FileDigest("s", "0", "text"),), {"pairs": 3})
    return folder


# Models


def test_a_model_is_as_its_parts(files, model) -> None:
    made = HieroDecoder(model=str(model))
    parts = decoder_of(files, span_limit=2, pop_limit=7)
    assert made.start() == HELD
    assert set(made.names) == set(parts.names)
    assert lists_of(made.decode(HELD, ALL)) == lists_of(parts.decode(HELD, ALL))


def test_options_come_before_what_a_model_says(files, model) -> None:
    made = HieroDecoder(model=str(model), span_limit=15, pop_limit=0, passes="unknown")
    parts = decoder_of(files, span_limit=15, pop_limit=0, passes="unknown")
    assert lists_of(made.decode(HELD, ALL)) == lists_of(parts.decode(HELD, ALL))
    engine = made.engine
    assert engine.settings.pop_limit == 0
    limits = engine.grammar.arrays.limits.tolist()
    assert sorted(limits) == [FROM_START, 15]


def test_another_language_model(files, model) -> None:
    made = HieroDecoder(model=str(model), lm=(f"Mine={files['other']}",))
    assert made.names[0] == "Mine"
    assert "LanguageModel" not in made.names


def test_conformance_of_a_model(model) -> None:
    check_decoder(HieroDecoder(model=str(model), nbest_size=5), ALL, WEIGHTS)


def test_the_configuration_names_what_a_model_is_of(files, model) -> None:
    found = HieroDecoder(model=str(model)).configuration()
    assert found["model"] == str(model)
    assert str(model) in found["files"]
    json.dumps(found)


@pytest.mark.parametrize("lacking", ["model.json", "grammar", "lm", "weights.json"])
def test_a_model_without_a_part(files, model, tmp_path, lacking) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(model, broken)
    if (broken / lacking).is_dir():
        shutil.rmtree(broken / lacking)
    else:
        (broken / lacking).unlink()
    with pytest.raises(FormatError, match=str(broken)):
        _ = HieroDecoder(model=str(broken)).names


# Files


def test_several_grammars(files, tmp_path) -> None:
    from tests.helpers.hiero.model_files import text_of

    for name, rules in (("one", RULES[:4]), ("two", RULES[4:])):
        (tmp_path / name).write_text(text_of(rules))
    both = decoder_of(files, grammar=(str(tmp_path / "one"), str(tmp_path / "two")), pop_limit=0)
    whole = decoder_of(files, pop_limit=0)
    assert both.names == whole.names
    one, other = (d.decode(HELD, ALL) for d in (both, whole))
    scores = [x.features.dot(HELD.aligned(x.features.names)) for x in (one, other)]
    assert np.allclose(*scores, atol=1e-5)


def test_glue_in_a_file_stands_in_the_place_of_ours(files, tmp_path) -> None:
    lines = "[S] ||| [X,1] ||| [1]\n[S] ||| [S,1] [X,2] ||| [1] [2] ||| Own=1\n"
    (tmp_path / "glue").write_text(lines)
    made = decoder_of(files, grammar=(str(files["grammar"]), str(tmp_path / "glue")), pop_limit=0)
    assert "Own" in made.names
    assert "Glue" not in made.names
    assert len(GLUE) == 2  # which is what both have
    # Rules of a file may cover no more than others, ours any number of words.
    ours = decoder_of(files, pop_limit=0)
    renamed = Weights.from_dict({"Own" if k == "Glue" else k: v for k, v in WEIGHTS.items()})
    assert made.translate(renamed, ALL) == ours.translate(HELD, ALL)


def test_a_category_that_is_not_there(files, tmp_path) -> None:
    (tmp_path / "g").write_text("[S] ||| das ||| the\n")
    with pytest.raises(TunesmithError, match=r"\[X\], which no rule of the grammar has; add"):
        _ = decoder_of(files, grammar=(str(tmp_path / "g"),)).names


# Words and features of forests


def test_words_are_numbered_as_they_come(files) -> None:
    made = decoder_of(files)
    engine = made.engine
    vector = HELD.aligned(made.names)
    chart = engine.search(("yy", "das", "zz", "yy"), vector)
    arrays = chart.forest(best_only=True)
    found = spell_out(chart, best_only=True, rules=CDEC)
    side = found.arrays.words[found.arrays.words >= 0]
    first = list(dict.fromkeys(side.tolist()))
    assert first == list(range(len(found.words)))
    assert sorted(found.words) == ["the", "yy", "zz"]
    before = [chart.prepared.word(w) for w in arrays.words if w >= 0]
    assert [found.words[w] for w in side] == before


def test_more_grammars_of_single_sentences_than_are_kept(files, tmp_path) -> None:
    made = decoder_of(files, pop_limit=5)
    asked = []
    for k in range(KEPT + 5):
        (tmp_path / f"g{k}").write_text(f"[X] ||| neu ||| new{k} ||| PhraseModel_0=-{k + 1}\n")
        asked.append(Sentence(k, f'<seg id="{k}" grammar="{tmp_path}/g{k}">neu</seg>'))
    weights = HELD.updated(Weights.from_dict({"PhraseModel_0": -9.0}))
    wanted = [f"new{k}" for k in range(KEPT + 5)]
    assert made.translate(weights, asked) == wanted
    assert made.translate(weights, asked[::-1]) == wanted[::-1]


def test_what_a_text_is_made_of(files) -> None:
    parts = parts_of(decoder_of(files))
    one = parts.read(' <seg id="3"  grammar="g.gz" >  das   haus </seg> ')
    assert (one.text, one.words, one.grammar) == ("das   haus", ("das", "haus"), "g.gz")
    assert parts.read("das\u00a0haus <seg>").words == ("das", "haus", "<seg>")
    assert parts.read("").words == ()
    assert MODEL.order == parts.engine.models.arrays.orders[0]


def test_glue_in_a_file_has_no_limit(files, tmp_path) -> None:
    (tmp_path / "g").write_text(
        "[S] ||| [S,1] [X,2] ||| [1] [2] ||| Glue=1\n[S] ||| [X,1] ||| [1]\n"
    )
    given = (str(files["grammar"]), str(tmp_path / "g"))
    asked = [Sentence(0, " ".join(["das haus ist klein"] * 12))]
    wanted = decoder_of(files, pop_limit=10).decode(HELD, asked)
    for paths in (given, given[::-1]):
        found = decoder_of(files, grammar=paths, pop_limit=10).decode(HELD, asked)
        assert [found.text(k) for k in range(len(found))] == [
            wanted.text(k) for k in range(len(wanted))
        ]
