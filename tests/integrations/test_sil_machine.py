from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.decoders.thot_model import pairs, train
from tunesmith.errors import MissingExtraError, TunesmithError

pytest.importorskip("machine.translation.thot", reason="sil-machine is not installed")
pytest.importorskip("thot.translation", reason="sil-thot is not installed")

from machine.corpora import DictionaryTextCorpus, MemoryText, TextRow
from machine.translation.thot import (
    ThotSmtModel,
    ThotSmtModelTrainer,
    ThotSmtParameters,
    ThotWordAlignmentModelType,
)
from machine.translation.trainer import TrainStats

from tunesmith.decoders.thot_config import FEATURES
from tunesmith.integrations.sil_machine import TunesmithParameterTuner, use_tunesmith
from tunesmith.metrics.bleu import BLEU
from tunesmith.tuners.mert import MERT

QUICK = MERT(restarts=2, fix=("SourceJump=0",))


def bleu(model: ThotSmtModel, text) -> float:
    """BLEU of sil-machine's own translations."""
    metric = BLEU()
    rows = [
        metric.stats(" ".join(model.translate(source).target_tokens), [" ".join(target)])
        for source, target in text
    ]
    return float(metric.score(np.sum(rows, axis=0)))


def test_tuning_a_model_in_place_of_its_own_tuner(tmp_path):
    config = train(tmp_path, 200)
    text = [pair for pair in pairs("tune", 60) if len(pair[0]) <= 12][:20]
    before = ThotSmtParameters.load(config)
    stats, seen = TrainStats(), []
    tuner = TunesmithParameterTuner(
        ThotWordAlignmentModelType.FAST_ALIGN, QUICK, rounds=2, nbest_size=20
    )
    tuned = tuner.tune(before, [s for s, _ in text], [t for _, t in text], stats, seen.append)

    assert list(before.model_weights) == [1, 1, 1, 1, 1, 1, 1, 0]
    assert len(tuned.model_weights) == len(FEATURES)
    assert tuned.translation_model_filename_prefix == before.translation_model_filename_prefix
    assert tuner.decodings == 20 * len(tuner.result.rounds) <= 20 * 3
    steps = [status.percent_completed for status in seen]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert steps[-1] == 1

    # The score is that of what sil-machine then translates itself, up to equal model scores.
    with ThotSmtModel("fast_align", tuned) as model:
        assert bleu(model, text) == pytest.approx(100 * stats.metrics["bleu"], abs=1.0)
    assert 100 * stats.metrics["bleu"] >= tuner.result.initial_score


def test_in_a_trainer_from_text_to_model(tmp_path):
    text = pairs("train", 150)
    sides = [
        DictionaryTextCorpus(
            MemoryText("text", [TextRow("text", k, s) for k, s in enumerate(side)])
        )
        for side in zip(*text, strict=True)
    ]
    config = tmp_path / "smt.cfg"
    config.write_text("-tm tm/src_trg\n-lm lm/trg.lm\n-tmw 1 1 1 1 1 1 1 0\n")
    with ThotSmtModelTrainer("fast_align", sides[0].align_rows(sides[1]), config) as trainer:
        tuner = use_tunesmith(trainer, tuner=QUICK, rounds=1, nbest_size=20)
        trainer.train()
        trainer.save()
        assert trainer.stats.metrics["bleu"] == pytest.approx(tuner.result.score / 100)
    written = ThotSmtParameters.load(config).model_weights
    assert written != [1, 1, 1, 1, 1, 1, 1, 0]
    assert written == pytest.approx(trainer.parameters.model_weights, abs=1e-6)
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
