from __future__ import annotations

import itertools
import math
import sys
from collections import Counter

import numpy as np
import pytest

from tests.helpers.decoders.thot_model import DATA, WEIGHTS, train
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, DecoderError, Sentence, check_decoded
from tunesmith.decoders.thot import BOUNDS, PRUNING, ThotDecoder
from tunesmith.decoders.thot_config import FEATURES, ThotConfig, single_precision
from tunesmith.errors import FormatError, MissingExtraError, TunesmithError, UsageError
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.testing.decoders import check_decoder
from tunesmith.tuners.mert.mert import MERT

pytestmark = pytest.mark.long

pytest.importorskip("thot.translation", reason="sil-thot is not installed")

#: Weights that are no round numbers, and negative for one.
NORM = 2.0  # a narrow search is a quick one
SOME = Weights(FEATURES, np.array([-0.21, 0.13, 0.04, 0.09, 0.11, 0.06, 0.12, 0.03]))


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return train(tmp_path_factory.mktemp("thot"), 400)


@pytest.fixture(scope="module")
def decoder(config):
    made = ThotDecoder(str(config), nbest_size=30, norm=NORM)
    yield made
    made.close()


@pytest.fixture(scope="module")
def tune():
    whole = Inputs.read(DATA / "tune.de", DATA / "tune.en")
    short = [k for k, s in enumerate(whole.sentences) if len(s.text.split()) <= 12][:25]
    return Inputs(
        tuple(whole.sentences[k] for k in short), tuple(whole.references[k] for k in short)
    )


def lists(decoded):
    """Texts and features of all groups."""
    dense = decoded.features.dense
    return [
        [(decoded.text(i), tuple(dense[:, i])) for i in range(lo, hi)]
        for lo, hi in zip(decoded.start[:-1], decoded.start[1:], strict=True)
    ]


def raw(decoder, weights, sentences, n):
    """What Thot itself answers, asked without our reading of it."""
    decoder._model.weights = decoder.used(weights).vector.tolist()
    return [decoder._decoder.translate_n(s.text, n) for s in sentences]


def test_it_keeps_the_rules_of_decoders(decoder, tune):
    check_decoder(decoder, tune.sentences[:6], SOME)


def test_features_and_texts_are_thots_and_explain_its_scores(decoder, tune):
    decoded = decoder.decode(SOME, tune.sentences)
    check_decoded(decoded, tune.sentences)
    assert decoded.features.dense_names == FEATURES
    used = decoder.used(SOME).vector
    for own, theirs in zip(lists(decoded), raw(decoder, SOME, tune.sentences, 30), strict=True):
        expected = [(" ".join(t.target), tuple(t.score_components)) for t in theirs]
        assert own == list(dict.fromkeys(expected))
        # Thot adds what is the same for all candidates of a sentence.
        rest = [t.score - used @ np.array(t.score_components) for t in theirs]
        assert np.ptp(rest) < 1e-6
        assert all(a.score >= b.score - 1e-6 for a, b in itertools.pairwise(theirs))


def test_the_first_candidate_is_the_translation(decoder, tune):
    decoded = decoder.decode(SOME, tune.sentences)
    first = [group[0][0] for group in lists(decoded)]
    assert decoder.translate(SOME, tune.sentences) == first
    firsts = [one[0] for one in raw(decoder, SOME, tune.sentences, 30)]
    best = decoder._decoder.translate_batch([s.text for s in tune.sentences])
    # Among equal scores Thot may take another one.
    assert [b.score for b in best] == pytest.approx([f.score for f in firsts], abs=1e-4)
    assert sum(" ".join(b.target) == text for b, text in zip(best, first, strict=True)) >= 22


def test_it_is_the_same_each_time_and_after_other_weights(config, decoder, tune):
    first = lists(decoder.decode(SOME, tune.sentences))
    other = Weights(FEATURES, np.ones(8))
    assert lists(decoder.decode(other, tune.sentences)) != first
    assert lists(decoder.decode(SOME, tune.sentences)) == first
    backwards = decoder.decode(SOME, tune.sentences[::-1])
    assert lists(backwards)[::-1] == first
    assert list(backwards.ids) == [s.id for s in tune.sentences[::-1]]
    again = ThotDecoder(str(config), nbest_size=30, norm=NORM)
    assert lists(again.decode(SOME, tune.sentences)) == first
    again.close()


def test_the_scale_of_the_weights_does_not_matter_with_a_norm(config, decoder, tune):
    some = tune.sentences[:15]
    larger = Weights(FEATURES, 16 * SOME.vector)  # a power of 2, so that nothing is rounded
    assert lists(decoder.decode(larger, some)) == lists(decoder.decode(SOME, some))
    assert sum(abs(decoder.used(larger)[name]) for name in PRUNING) == pytest.approx(NORM)
    plain = ThotDecoder(str(config), nbest_size=30, norm=0)
    assert np.array_equal(plain.used(larger).vector, single_precision(larger.vector))
    # Thot's own search is narrower with larger weights; otherwise no norm would be needed.
    wide, narrow = plain.decode(SOME, some), plain.decode(larger, some)
    assert len(narrow) < len(wide)
    plain.close()


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-9, -1e-9, 1e-6, 0.1, -3.3, 1e5])
def test_weights_are_known_as_thot_keeps_them(decoder, value):
    decoder._model.weights = [value] * 8
    assert list(decoder._model.weights) == single_precision(np.full(8, value)).tolist()


def test_weights_of_a_rewritten_configuration_are_those_used(config, decoder, tune):
    text = decoder.rewritten(SOME)
    other = config.with_name("tuned.cfg")
    other.write_bytes(text)
    plain = ThotDecoder(str(other), nbest_size=30, norm=0)
    assert np.array_equal(plain.used(plain.start()).vector, decoder.used(SOME).vector)
    some = tune.sentences[:10]
    assert lists(plain.decode(plain.start(), some)) == lists(decoder.decode(SOME, some))
    plain.close()
    lines = [line for line in text.decode().splitlines() if not line.startswith("-tmw")]
    before = config.read_text().splitlines()
    assert lines == [line for line in before if not line.startswith("-tmw")]


def test_sentences_that_are_odd(decoder):
    texts = ["", "  ", "xyzzy", "die ||| datei", "die\u00a0datei", "w " * 200]
    sentences = [Sentence(f"s{k}", text) for k, text in enumerate(texts)]
    decoded = decoder.decode(SOME, sentences)
    check_decoded(decoded, sentences)
    found = lists(decoded)
    assert found[0] == found[1] == [("", (0.0,) * 8)]
    assert found[2][0][0] == "xyzzy"
    assert "|||" in found[3][0][0]
    assert "<3bars>" not in decoded.vocabulary
    assert found[4] == lists(decoder.decode(SOME, [Sentence(0, "die datei")]))[0]
    with pytest.raises(DecoderError, match="sentence 7 has 201 words"):
        decoder.decode(SOME, [Sentence(7, "w " * 201)])


def test_only_blank_sentences(decoder):
    assert lists(decoder.decode(SOME, [Sentence(0, "")])) == [[("", (0.0,) * 8)]]


def test_negative_weights_are_taken(decoder, tune):
    for k in range(8):
        values = np.ones(8)
        values[k] = -1
        decoded = decoder.decode(Weights(FEATURES, values), tune.sentences[:5])
        check_decoded(decoded, tune.sentences[:5])


def test_the_loop_improves_what_thot_says(decoder, tune):
    sacrebleu = pytest.importorskip("sacrebleu")
    # To the end: in between, weights may be tuned to what the lists do not hold yet.
    result = Loop(rounds=9, final="last").run(
        decoder, MERT(restarts=4, bound=BOUNDS, fix=("SourceJump=0",)), tune
    )
    assert result.stopped == "no new candidates"
    *tuned, last = result.rounds
    assert all(one["list_score"] > one["score"] for one in tuned)
    assert last["score"] > tuned[0]["score"]
    assert all(result.weights[text.partition("=")[0]] >= 0 for text in BOUNDS)
    # The score is that of the output, and the output that of the weights.
    output = decoder.translate(result.weights, tune.sentences)
    held = [one for (one,) in tune.references]
    expected = sacrebleu.corpus_bleu(output, [held], tokenize="none", force=True).score
    assert result.score == pytest.approx(expected, abs=1e-9)
    assert output != decoder.translate(result.start, tune.sentences)


def test_features_are_what_their_names_say(decoder, tune):
    several = 0
    for one in raw(decoder, SOME, tune.sentences, 30):
        of_text: dict[tuple[str, ...], list[tuple[float, ...]]] = {}
        for found in one:
            row = dict(zip(FEATURES, found.score_components, strict=True))
            words, phrases = len(found.target), len(found.target_segment_cuts)
            assert max(row.values()) < 1e-9  # 0 but for rounding
            assert row["WordPenalty"] == pytest.approx(words * math.log(0.3), rel=1e-4)
            # Cuts after phrases are a geometric distribution; phrases follow one another.
            for name in ("TargetSegmentLength", "SourceJump"):
                before = dict(zip(FEATURES, one[0].score_components, strict=True))[name]
                share = phrases / len(one[0].target_segment_cuts)
                assert row[name] == pytest.approx(before * share, rel=1e-4)
            # Natural logarithms: no word has a chance below that of one of 10,000, on average.
            assert -math.log(10_000) < row["LanguageModel"] / (words + 1) < -math.log(2)
            alone = ("WordPenalty", "LanguageModel", "SentenceLength")
            of_text.setdefault(tuple(found.target), []).append(tuple(row[name] for name in alone))
        for rows in of_text.values():
            several += len(rows) > 1
            assert np.ptp(np.array(rows), axis=0).max() < 1e-4
    assert several > 10


def test_jumps_in_the_source_are_a_feature(config):
    free = config.with_name("free.cfg")
    free.write_text(config.read_text().replace("-nomon 0", "-nomon 2"))
    made = ThotDecoder(str(free), norm=0.2)
    (found,) = raw(made, SOME, [Sentence(0, "anzahl der benutzer")], 60)
    made.close()
    jumped = 0
    for one in found:
        spans = [tuple(span) for span in one.source_segmentation]
        skipped = sum(abs(b[0] - a[1] - 1) for a, b in itertools.pairwise([(0, 0), *spans]))
        row = dict(zip(FEATURES, one.score_components, strict=True))
        # The model's file has 0.999 for going on, so that each word skipped has 0.001.
        expected = len(spans) * math.log(0.999) + skipped * math.log(0.001)
        assert row["SourceJump"] == pytest.approx(expected, rel=1e-3)
        jumped += skipped > 0
    assert 0 < jumped < len(found)


def test_phrase_models_are_each_what_the_table_says(config):
    table = {}
    for line in (config.parent / "src_trg.ttable").read_text(encoding="utf-8").splitlines():
        target, source, counts = line.split(" ||| ")
        table[source, target] = float(counts.split()[1])
    of_source, of_target = Counter(), Counter()
    for (source, target), count in table.items():
        of_source[source] += count
        of_target[target] += count
    options = Counter(source for source, _ in table)
    words = [word for word, n in options.items() if n >= 4 and " " not in word][:15]
    wide = ThotDecoder(str(config), nbest_size=50, norm=0.05)
    decoded = lists(wide.decode(SOME, [Sentence(k, word) for k, word in enumerate(words)]))
    wide.close()
    compared = 0
    for word, group in zip(words, decoded, strict=True):
        for text, values in group:
            if (word, text) not in table:
                continue
            row = dict(zip(FEATURES, values, strict=True))
            for name, total in (
                ("PhraseTargetGivenSource", of_source[word]),
                ("PhraseSourceGivenTarget", of_target[text]),
            ):
                # The model has 0.7 of the phrases' frequencies and 0.3 of their words' model.
                part = 0.7 * table[word, text] / total
                assert math.log(part) - 1e-4 <= row[name] <= math.log(part + 0.3) + 1e-4
            compared += of_source[word] != of_target[text]
    assert compared > 20


def test_settings_of_the_search_are_taken_from_the_options_first(config, decoder, tune):
    assert decoder.configuration()["w"] == 0.4
    narrow = ThotDecoder(str(config), nbest_size=30, s=1, a=1, w=0.9, heuristic=0, norm=NORM)
    about = narrow.configuration()
    assert [about[name] for name in ("s", "a", "w", "heuristic")] == [1, 1, 0.9, 0]
    assert about["files"] == decoder.configuration()["files"]
    assert "src_trg.ttable" in about["files"]
    assert len(narrow.decode(SOME, tune.sentences)) < len(decoder.decode(SOME, tune.sentences))
    narrow.close()
    narrow.close()


def test_weights_without_a_known_name(decoder, tune):
    with pytest.raises(TunesmithError, match="no weight has the name"):
        decoder.decode(Weights(("LM",), np.ones(1)), tune.sentences[:1])


def test_a_model_that_does_not_name_its_alignment(config, tmp_path):
    for file in config.parent.iterdir():
        if not file.name.endswith(".yml"):
            (tmp_path / file.name).symlink_to(file)
    with pytest.raises(UsageError, match="give alignment"):
        ThotDecoder(str(tmp_path / "smt.cfg")).decode(SOME, [Sentence(0, "a")])
    made = ThotDecoder(str(tmp_path / "smt.cfg"), alignment="fast-align")
    assert len(made.decode(SOME, [Sentence(0, "a")])) >= 1
    made.close()


def test_thot_is_an_extra(config, monkeypatch):
    monkeypatch.setitem(sys.modules, "thot.translation", None)
    with pytest.raises(MissingExtraError, match=r"tunesmith\[thot\]"):
        ThotDecoder(str(config)).decode(SOME, [Sentence(0, "a")])


def test_it_is_registered():
    assert DECODERS.get("thot") is ThotDecoder
    with pytest.raises(UsageError, match="needs a configuration"):
        ThotDecoder()
    with pytest.raises(UsageError, match="nbest-size"):
        ThotDecoder("smt.cfg", nbest_size=0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("heuristic", value) for value in (-1, 1, 5, 99, 4.0, 2**40, True)),
        *((name, value) for name in ("a", "s", "nbest_size") for value in (0, 1.5, 2**32, 10**400)),
        *(("w", value) for value in (-0.1, math.nan, math.inf, 1e39, 3e38, 10**400, "x")),
        *(("norm", value) for value in (-1, math.nan, math.inf, 10**400, None)),
    ],
)
def test_options_that_thot_would_not_take(field, value):
    with pytest.raises(
        UsageError, match=f"{field.replace('_', '-')} of decoder 'thot' is"
    ) as found:
        ThotDecoder("smt.cfg", **{field: value})
    assert "\n" not in str(found.value)


def test_the_largest_settings_are_taken(config, decoder):
    most = 2**31 - 1
    one = [Sentence(0, "die datei")]
    for heuristic in (0, 4, 6):
        made = ThotDecoder(
            str(config), most, norm=NORM, w=most, a=most, s=np.int64(most), heuristic=heuristic
        )
        assert len(made.decode(SOME, one)) >= len(decoder.decode(SOME, one))
        made.close()


@pytest.mark.parametrize(
    ("given", "norm", "message"),
    [
        ({"LanguageModel": 1e-42, "SentenceLength": 1}, 0.5, "so small beside the others"),
        ({"LanguageModel": 5e-324, "SentenceLength": 0}, 0.5, "so small beside the others"),
        ({"LanguageModel": 1, "SentenceLength": -1e39}, 0, "'SentenceLength' is larger than"),
        ({"LanguageModel": 1e308, "WordPenalty": 1e308}, 0.5, "'WordPenalty' is larger than"),
    ],
)
def test_weights_that_are_too_large_for_thot(given, norm, message):
    weights = Weights.from_dict({**dict.fromkeys(FEATURES, 0.0), **given})
    with pytest.raises(DecoderError, match=message):
        ThotDecoder("smt.cfg", norm=norm).used(weights)


def test_the_configuration_as_read(config):
    found = ThotConfig.read(config)
    assert found.weights == tuple(map(float, WEIGHTS.split()))
    assert (found.w, found.s, found.a, found.heuristic) == (0.4, 10, 10, 6)
    assert found.alignment() == "fast-align"
    assert found.breadth_first


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("-lm trg.lm", "there is no -tm"),
        ("-tm src_trg", "there is no -lm"),
        ("-tm nowhere\n-lm trg.lm", "nowhere.ttable"),
        ("-tm src_trg\n-lm nowhere", "nowhere"),
        ("-tm src_trg\n-lm trg.lm\n-W x", ":3: -W is 'x'"),
        ("-tm src_trg\n-lm trg.lm\n-S 1.5", ":3: -S is '1.5'"),
        ("-tm src_trg\n-lm trg.lm\n-S 0", ":3: -S is '0'; give a whole number from 1"),
        ("-tm src_trg\n-lm trg.lm\n-A 4294967296", ":3: -A is '4294967296'"),
        ("-tm src_trg\n-lm trg.lm\n-nomon 4294967296", ":3: -nomon is '4294967296'"),
        ("-tm src_trg\n-lm trg.lm\n-h 5", ":3: -h is '5'; give 0, 4 or 6"),
        ("-tm src_trg\n-lm trg.lm\n-h -1", ":3: -h is '-1'; give 0, 4 or 6"),
        ("-tm src_trg\n-lm trg.lm\n-W 1e39", ":3: -W is '1e39'"),
        ("-tm src_trg\n-lm trg.lm\n-tmw 1 2 3", ":3: -tmw is '1 2 3'"),
        ("-tm src_trg\n-lm trg.lm\n-tmw 1 2 3 4 5 6 7 nan", ":3: -tmw"),
    ],
)
def test_configurations_that_are_wrong(config, lines, message):
    other = config.with_name("wrong.cfg")
    other.write_text(lines)
    with pytest.raises(FormatError, match=message):
        ThotDecoder(str(other)).start()


def test_a_configuration_that_is_not_there(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        ThotDecoder(str(tmp_path / "smt.cfg")).start()


def test_weights_are_put_in_once(config):
    several = config.with_name("several.cfg")
    several.write_text("-tmw 1 1 1 1 1 1 1 1\n-tm src_trg\n-lm trg.lm\n-tmw 2 2 2 2 2 2 2 2\n-S 9")
    assert ThotConfig.read(several).weights == (2.0,) * 8
    text = ThotConfig.read(several).with_weights(np.full(8, 0.5)).decode()
    assert text == "-tm src_trg\n-lm trg.lm\n-tmw 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5\n-S 9"
    none = config.with_name("none.cfg")
    none.write_text("-tm src_trg\n-lm trg.lm\n")
    text = ThotConfig.read(none).with_weights(np.full(8, 0.5)).decode()
    assert text.splitlines()[2] == "-tmw 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5"
    # Thot has weights of its own.
    made = ThotDecoder(str(none))
    assert made.start()["LanguageModel"] == 1.0
    made.close()


HALVES = "-tmw " + " ".join(["0.5"] * 8)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("-tmw 1 1 1 1 1 1 1 1|-tm src_trg|-lm trg.lm|", f"{HALVES}|-tm src_trg|-lm trg.lm|"),
        ("-tm src_trg|-lm trg.lm|-tmw 1 1 1 1 1 1 1 1", f"-tm src_trg|-lm trg.lm|{HALVES}"),
        ("-tm src_trg||-lm trg.lm", f"-tm src_trg||-lm trg.lm|{HALVES}|"),
        (
            "-tm src_trg|# a\u2028-S x\x0b-W x\x85-A x|-lm trg.lm|",
            f"-tm src_trg|# a\u2028-S x\x0b-W x\x85-A x|-lm trg.lm|{HALVES}|",
        ),
    ],
)
def test_all_else_of_a_configuration_stays_to_the_byte(config, mark, end, before, after):
    other = config.with_name("other.cfg")
    other.write_bytes((mark + before.replace("|", end)).encode())
    found = ThotConfig.read(other)
    assert found.with_weights(np.full(8, 0.5)) == (mark + after.replace("|", end)).encode()
    other.write_bytes(found.with_weights(np.full(8, 0.5)))
    assert ThotConfig.read(other).weights == (0.5,) * 8
