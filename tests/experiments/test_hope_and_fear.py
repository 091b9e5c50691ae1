"""The experiment of hope_and_fear.py on a toy language."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

import tunesmith as ts

pytest.importorskip("thot")
pytest.importorskip("matplotlib")
sys.path.append(str(Path(__file__).parents[2] / "experiments"))

import hope_and_fear as experiment
from hope_and_fear_bootstrap import drawn, p_value
from hope_and_fear_data import Sizes, Task, held_out
from hope_and_fear_parts import PARTS, PROTOCOLS, Parts, Protocol, all_runs
from hope_and_fear_runs import kept, run_and_keep
from hope_and_fear_tables import all_of

TINY = Protocol(
    Sizes(tune=6, dev=5, test=5, held_out=2, lexical=4),
    epochs=2,
    seeds=(1,),
    rates=(0.01,),
    losses=(-1.0,),
    variances=(1.0,),
    confidences=(0.01,),
    learners=2,
    numbers=(2,),
    more=(),
    restarts=1,
)


def _write_text(folder):
    """Write sentences of a language with ambiguous words, every second pair of which is swapped."""
    rng = np.random.default_rng(1)
    for which, count in (("train", 80), ("tune", 6), ("dev", 5), ("test", 5)):
        source = [rng.integers(8, size=rng.integers(5, 8)) for _ in range(count)]
        target = []
        for sentence in source:
            words = [f"{'ab'[rng.integers(2)] if w < 3 else 'e'}{w}" for w in sentence]
            words[1:3] = words[2:0:-1]
            target.append(" ".join(words))
        lines = {"de": [" ".join(f"d{w}" for w in s) for s in source], "en": target}
        for side, some in lines.items():
            (folder / f"{which}.{side}").write_text("".join(f"{one}\n" for one in some))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hope-and-fear")
    _write_text(folder)
    task = Task(folder, folder / "work", TINY.sizes)
    with ts.threads(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the text is too small")
        experiment.run(task, TINY, PARTS)
    return task


@pytest.mark.long
def test_every_run_is_kept_and_dev_chooses_the_epoch(done):
    runs = all_runs(TINY, PARTS)
    assert {one.way for one in runs} == {"serial", "mixing 2", "async 2"}
    for one in runs:
        row = json.loads(kept(done, one).read_text())
        later = row["dev"][1:]
        assert 1 <= len(later) <= TINY.epochs
        assert later[row["epoch"] - 1] == max(later)
        assert len(row["test_stats"]) == 5


@pytest.mark.long
def test_scores_are_those_of_the_weights_that_were_chosen(done):
    runs = all_runs(TINY, PARTS)
    for one in (runs[0], runs[-1]):
        row = json.loads(kept(done, one).read_text())
        decoder = done.decoder(one.model)
        for which, said in (("dev", max(row["dev"][1:])), ("test", row["test"])):
            inputs = done.inputs(which)
            texts = decoder.translate(row["weights"], inputs.sentences)
            references = [held[0] for held in inputs.references]
            bleu = sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True)
            assert said == pytest.approx(bleu.score, abs=1e-3)


@pytest.mark.long
def test_what_is_held_out_is_learnt_from_and_not_trained_on(done):
    trained = (done.folder / "train.de").read_text().splitlines()
    texts = [sentence.text for sentence in done.inputs("tune").sentences]
    assert len(texts) == 6 + 2
    assert not set(texts[6:]) & set(trained)
    assert len(trained) == 80 - 2


@pytest.mark.long
def test_what_is_there_is_not_run_again_and_comes_out_the_same(done):
    first, second, *_ = all_runs(TINY, PARTS)
    before = kept(done, first).stat().st_mtime_ns
    old = json.loads(kept(done, second).read_text())
    kept(done, second).unlink()
    with ts.threads(1):
        for one in (first, second):
            run_and_keep(done, one, TINY.epochs, TINY.restarts)
    assert kept(done, first).stat().st_mtime_ns == before
    new = json.loads(kept(done, second).read_text())
    for key in ("dev", "epoch", "test", "weights"):
        assert new[key] == old[key]


@pytest.mark.long
def test_a_folder_of_other_runs_is_refused(done):
    assert experiment.other_configuration(done, TINY) is None
    other = Task(done.text, done.folder, Sizes(5, 5, 5, 2, 4))
    assert "another --work" in experiment.other_configuration(other, TINY)


@pytest.mark.long
def test_the_page_has_the_numbers(done, tmp_path, monkeypatch):
    rows = experiment.rows_of(done, TINY)
    assert not any("test_stats" in row or "weights" in row for row in rows)
    tables = all_of(rows, Parts(TINY))
    assert all(tables.values())
    by_name = {row["run"]: row for row in rows}
    lines = tables["table1"].splitlines()[2:]
    assert len(lines) == len(Parts(TINY).table1())
    for (_, runs), line in zip(Parts(TINY).table1(), lines, strict=True):
        row = by_name[runs[0].name]
        assert f" {row['epoch']} | {max(row['dev'][1:]):.2f} | {row['test']:.2f} " in line
    monkeypatch.setitem(PROTOCOLS, "quick", TINY)
    page = tmp_path / "hope-and-fear.md"
    page.write_text("<!-- table1 quick -->\nold\n<!-- end table1 quick -->\n")
    experiment.write({"quick": rows}, tmp_path)
    assert (
        page.read_text()
        == f"<!-- table1 quick -->\n{tables['table1']}\n<!-- end table1 quick -->\n"
    )
    assert len(list(tmp_path.glob("hope-and-fear-*.png"))) == 6


def test_the_quick_protocol_has_the_values_of_the_paper():
    for protocol in PROTOCOLS.values():
        assert 0.01 in protocol.rates
        assert -1.0 in protocol.losses
        assert 1.0 in protocol.variances
        assert 0.01 in protocol.confidences
        assert protocol.learners in protocol.numbers


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")), max_size=12))
def test_lines_that_are_held_out_occur_once(pairs):
    counts = [Counter(side) for side in zip(*pairs, strict=True)] or [Counter(), Counter()]
    alone = [
        k
        for k, pair in enumerate(pairs)
        if all(c[x] == 1 for c, x in zip(counts, pair, strict=True))
    ]
    found = held_out(pairs, 2)
    assert set(found) <= set(alone)
    assert len(set(found)) == len(found) == min(2, len(alone))


def _counts(rng, rate):
    """Return lengths, matches and n-grams of 30 sentences of 12 words each."""
    totals = np.tile([12, 11, 10, 9], (30, 1))
    matches = rng.binomial(totals, rate)
    lengths = np.column_stack([totals[:, 0], rng.integers(11, 15, size=30)])
    return np.column_stack([lengths, matches, totals])


def _by_hand(stats):
    words, reference, *counts = stats.sum(axis=0)
    logs = [math.log(m / n) for m, n in zip(counts[:4], counts[4:], strict=True)]
    return 100 * math.exp(sum(logs) / 4 + min(0.0, 1 - reference / words))


def test_p_values_are_those_of_samples_drawn_one_by_one():
    rng = np.random.default_rng(2)
    one, other = _counts(rng, 0.52), _counts(rng, 0.5)
    samples = 50
    differences = []
    for times in drawn(len(one), samples).astype(int):
        picked = [k for k, count in enumerate(times) for _ in range(count)]
        assert len(picked) == len(one)
        differences.append(_by_hand(one[picked]) - _by_hand(other[picked]))
    mean = sum(differences) / samples
    observed = abs(_by_hand(one) - _by_hand(other))
    as_far = sum(abs(one - mean) >= observed for one in differences)
    assert p_value(one, other, samples) == (1 + as_far) / (1 + samples)
    assert 0.0 < as_far < samples


def test_p_values_of_what_is_the_same_and_of_what_is_far_apart():
    rng = np.random.default_rng(3)
    same = _counts(rng, 0.5)
    assert p_value(same, same) == 1.0
    assert p_value(_counts(rng, 0.95), _counts(rng, 0.3)) < 0.01
