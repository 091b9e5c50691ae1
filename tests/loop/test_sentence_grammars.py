"""Sentences that bring rules of their own, whose features nothing else has."""

from __future__ import annotations

import pytest

from tests.helpers.hiero.model_files import WEIGHTS, decoder_of, written
from tunesmith import Inputs, Loop
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.online.mira import MIRA

START = {**WEIGHTS, "Own0": 0.0, "Own1": 0.0, "Own2": 0.0, "Both": -0.125}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grammars")
    files = written(folder)
    lines = []
    for k, (word, own) in enumerate((("neu", "new"), ("alt", "old"), ("rot", "red"))):
        path = folder / f"g{k}"
        path.write_text(
            f"[X] ||| {word} ||| {own} ||| Own{k}=1 Both=1\n[X] ||| {word} ||| no ||| Own{k}=-1\n"
        )
        lines.append(f'<seg id="{k}" grammar="{path}">das haus ist {word}</seg>')
    wanted = ["the house is new", "the house is old", "the house is red"]
    return files, Inputs.of(lines[:2], wanted[:2]), Inputs.of(lines[2:], wanted[2:])


@pytest.mark.long
@pytest.mark.parametrize("tune_on", ["lists", "forests"])
def test_batch_tuners(sets, tune_on):
    files, tune, test = sets
    result = Loop(rounds=2, tune_on=tune_on).run(
        decoder_of(files, pop_limit=20), MERT(), tune, test=test, start=START
    )
    assert result.weights["Both"] != START["Both"]
    assert result.initial_score < 100.0
    assert result.score == pytest.approx(100.0)


@pytest.mark.long
def test_live_and_taken_up_again(sets, tmp_path):
    files, tune, test = sets

    def run(epochs: int, folder=None):
        return Loop(final="last").run(
            decoder_of(files, pop_limit=20),
            MIRA(epochs=epochs),
            tune,
            dev=test,
            start=START,
            work_dir=folder,
        )

    at_once = run(3)
    run(1, tmp_path / "work")
    again = run(3, tmp_path / "work")
    assert again.weights == at_once.weights
    assert again.weights["Both"] > START["Both"]
    assert again.score == at_once.score
