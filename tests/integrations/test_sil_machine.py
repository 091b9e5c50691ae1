from __future__ import annotations

import sys

import pytest

from tests.helpers.decoders.thot_model import pairs, train
from tunesmith.errors import MissingExtraError, TunesmithError

pytest.importorskip("machine.translation.thot", reason="sil-machine is not installed")
pytest.importorskip("thot.translation", reason="sil-thot is not installed")

from machine.corpora import DictionaryTextCorpus, MemoryText, TextRow
from machine.translation.evaluation import compute_bleu
from machine.translation.thot import (
    ThotSmtModel,
    ThotSmtModelTrainer,
    ThotSmtParameters,
    ThotWordAlignmentModelType,
)
from machine.translation.trainer import TrainStats

from tunesmith.decoders.thot import BOUNDS, ThotDecoder
from tunesmith.decoders.thot_config import FEATURES, single_precision
from tunesmith.integrations.sil_machine import TunesmithParameterTuner, use_tunesmith
from tunesmith.metrics.chrf.metric import CHRF
from tunesmith.tuners.mert.mert import MERT

pytestmark = pytest.mark.long

QUICK = MERT(restarts=2, bound=BOUNDS, fix=("SourceJump=0",))


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return train(tmp_path_factory.mktemp("thot"), 200)


@pytest.fixture(scope="module")
def text():
    return [pair for pair in pairs("tune", 60) if len(pair[0]) <= 12][:20]


def tuned_on(config, text, metric="bleu", seen=None):
    """Tune; return the tuner, its parameters and what it tells the trainer."""
    stats = TrainStats()
    kind = ThotWordAlignmentModelType.FAST_ALIGN
    tuner = TunesmithParameterTuner(kind, QUICK, rounds=2, nbest_size=20, metric=metric)
    before = ThotSmtParameters.load(config)
    sides = [s for s, _ in text], [t for _, t in text]
    shown = seen.append if seen is not None else lambda status: None
    tuned = tuner.tune(before, *sides, stats, shown)
    assert list(before.model_weights) == [1, 1, 1, 1, 1, 1, 1, 0]
    assert tuned.translation_model_filename_prefix == before.translation_model_filename_prefix
    return tuner, tuned, stats


def saved(config, tuned):
    """Have sil-machine write tuned weights into a configuration, beside the first one."""
    other = config.with_name("saved.cfg")
    other.write_text(config.read_text())
    with ThotSmtModelTrainer("fast_align", corpus(pairs("train", 1)), other) as trainer:
        trainer._parameters = tuned
        trainer._save_parameters()
    return other


def corpus(text):
    """Make a corpus of sil-machine's."""
    sides = [
        DictionaryTextCorpus(
            MemoryText("text", [TextRow("text", k, s) for k, s in enumerate(side)])
        )
        for side in zip(*text, strict=True)
    ]
    return sides[0].align_rows(sides[1])


def test_tuning_a_model_in_place_of_its_own_tuner(config, text):
    seen = []
    tuner, tuned, stats = tuned_on(config, text, seen=seen)
    assert len(tuned.model_weights) == len(FEATURES)
    assert tuner.decodings == 20 * len(tuner.result.rounds) <= 20 * 3
    steps = [status.percent_completed for status in seen]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert steps[-1] == 1
    assert list(stats.metrics) == ["bleu"]


def test_the_saved_model_has_the_score_that_is_reported(config, text, monkeypatch):
    searched, plain = [], ThotDecoder._set

    def noted(decoder, weights):
        plain(decoder, weights)
        searched.append(list(decoder._model.weights))

    monkeypatch.setattr(ThotDecoder, "_set", noted)
    tuner, tuned, stats = tuned_on(config, text)
    other = saved(config, tuned)
    written = ThotSmtParameters.load(other).model_weights
    assert written == tuned.model_weights
    # What Thot makes of the file is what it was scored with, but for the digits not written.
    (chosen,) = [k for k, one in enumerate(tuner.result.rounds) if one["chosen"]]
    assert chosen > 0
    assert single_precision(written).tolist() == pytest.approx(searched[chosen], abs=5.1e-7)
    held = [target for _, target in text]
    with ThotSmtModel("fast_align", other) as model:
        found = [model.translate_n(20, source)[0].target_tokens for source, _ in text]
        # Among equal scores it may take another translation if it is asked for one alone.
        single = [model.translate(source).target_tokens for source, _ in text]
    assert compute_bleu(found, held) == pytest.approx(stats.metrics["bleu"], abs=1e-12)
    assert compute_bleu(single, held) == pytest.approx(stats.metrics["bleu"], abs=0.01)
    with ThotSmtModel("fast_align", config) as model:
        first = [model.translate(source).target_tokens for source, _ in text]
    assert compute_bleu(first, held) < stats.metrics["bleu"]


def test_another_metric_is_told_beside_bleu(config, text):
    _, tuned, stats = tuned_on(config, text, "chrf")
    held = [target for _, target in text]
    with ThotSmtModel("fast_align", tuned) as model:
        found = [model.translate_n(20, source)[0].target_tokens for source, _ in text]
    assert stats.metrics["bleu"] == pytest.approx(compute_bleu(found, held), abs=1e-12)
    metric = CHRF()
    rows = [
        metric.stats(" ".join(one), [" ".join(other)])
        for one, other in zip(found, held, strict=True)
    ]
    assert stats.metrics["chrf"] == pytest.approx(float(metric.score(sum(rows))))
    assert sorted(stats.metrics) == ["bleu", "chrf"]


def test_sentences_that_are_too_long_for_thot_are_left_out(config, text):
    plain, expected, stats = tuned_on(config, text)
    long = (["die"] * 201, ["the"] * 201)
    with pytest.warns(UserWarning, match="2 of 22 sentences to tune on left out") as said:
        tuner, tuned, other = tuned_on(config, [long, *text, long])
    assert len(said) == 1
    assert tuned.model_weights == expected.model_weights
    assert other.metrics == stats.metrics
    assert tuner.decodings == plain.decodings
    with pytest.raises(TunesmithError, match="all sentences to tune on have more than 200 words"):
        tuned_on(config, [long])


def test_in_a_trainer_from_text_to_model(tmp_path):
    config = tmp_path / "smt.cfg"
    config.write_text("-tm tm/src_trg\n-lm lm/trg.lm\n-tmw 1 1 1 1 1 1 1 0\n")
    with ThotSmtModelTrainer("fast_align", corpus(pairs("train", 150)), config) as trainer:
        tuner = use_tunesmith(trainer, tuner=QUICK, rounds=1, nbest_size=20)
        trainer.train()
        trainer.save()
        assert trainer.stats.metrics["bleu"] == pytest.approx(tuner.result.score / 100)
    written = ThotSmtParameters.load(config).model_weights
    assert written != [1, 1, 1, 1, 1, 1, 1, 0]
    assert written == trainer.parameters.model_weights
    with ThotSmtModel("fast_align", config) as model:
        assert model.translate("die datei").target_tokens


def test_a_trainer_without_a_tuner():
    with pytest.raises(TunesmithError, match="no tuner to replace"):
        use_tunesmith(object())


def test_sil_machine_is_an_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "tunesmith.integrations.sil_machine")
    monkeypatch.setitem(sys.modules, "machine.translation.thot", None)
    with pytest.raises(MissingExtraError, match=r"tunesmith\[sil-machine\]"):
        import tunesmith.integrations.sil_machine  # noqa: F401
