"""What a comparison says, computed another way."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sacrebleu.metrics import BLEU

import tunesmith as ts
from tunesmith.data.weights import Weights
from tunesmith.significance.comparing import compare

BUNDLED = Path(ts.__file__).parent / "bundled"
FEW = {"resamples": 300, "randomizations": 500}


@pytest.fixture(scope="module")
def found(outputs: dict[str, list[list[str]]], test_references: list[str]) -> ts.Comparison:
    """Two systems of three runs each, by two metrics."""
    return compare(outputs, ["bleu", "wer"], [test_references], rank=True, **FEW)


def test_means_and_deviations_over_runs(
    found: ts.Comparison, outputs: dict[str, list[list[str]]], test_references: list[str]
) -> None:
    bleu = BLEU(tokenize="none", force=True)
    for system in found.metrics[0].systems:
        scores = [bleu.corpus_score(run, [test_references]).score for run in outputs[system.name]]
        assert [run.score for run in system.runs] == pytest.approx(scores, abs=1e-9)
        assert system.mean == pytest.approx(sum(scores) / 3)
        mean = sum(scores) / 3
        assert system.deviation == pytest.approx((sum((s - mean) ** 2 for s in scores) / 2) ** 0.5)
        assert (system.minimum, system.maximum) == pytest.approx((min(scores), max(scores)))
        assert system.interval[0] < system.mean < system.interval[1]


def test_bootstrap_and_its_variances_by_hand(
    found: ts.Comparison, outputs: dict[str, list[list[str]]], test_references: list[str]
) -> None:
    bleu = BLEU(tokenize="none", force=True)
    stats = {
        name: [np.array(bleu._extract_corpus_statistics(run, [test_references])) for run in runs]
        for name, runs in outputs.items()
    }
    drawn = np.random.default_rng(12345).choice(len(test_references), (300, len(test_references)))
    scores = {
        name: np.array(
            [[bleu._compute_score_from_stats(s).score for s in run[drawn].sum(1)] for run in runs]
        )
        for name, runs in stats.items()
    }
    for system in found.metrics[0].systems:
        wanted = scores[system.name].std(axis=1, ddof=1).mean()
        assert system.selection_deviation == pytest.approx(wanted, rel=1e-5)
    (test,) = found.metrics[0].tests
    differences = (scores["pro"] - scores["mert"]).mean(axis=0)
    assert test.variance_selection == pytest.approx(differences.var(ddof=1), rel=1e-4)
    sizes = np.abs(differences)
    beyond = (sizes - sizes.mean() > abs(test.difference)).sum()
    assert test.p_bootstrap == pytest.approx((beyond + 1) / 301, abs=0.004)
    first, second = found.metrics[0].systems
    assert first.deviation is not None
    assert second.deviation is not None
    wanted = (first.deviation**2 + second.deviation**2) / 3
    assert test.variance_optimizer == pytest.approx(wanted)


def test_a_lower_error_rate_is_better(found: ts.Comparison) -> None:
    for one in found.metrics:
        (test,) = one.tests
        first, second = one.systems
        assert test.difference == pytest.approx(second.mean - first.mean)
        wanted = max if one.higher_is_better else min
        assert test.better == wanted(one.systems, key=lambda system: system.mean).name
    assert [one.higher_is_better for one in found.metrics] == [True, False]


def test_it_is_json_with_the_first_metric_at_the_top(found: ts.Comparison) -> None:
    held = json.loads(json.dumps(found.to_dict(2), allow_nan=False))
    assert held["schema"] == "tunesmith.compare/1"
    for key in ("metric", "signature", "systems", "tests"):
        assert held[key] == held["metrics"][0][key]
    assert [one["metric"] for one in held["metrics"]] == ["bleu", "wer"]
    assert [len(one["sentences"]) for one in held["differences"]] == [2, 2]


def test_sentences_come_by_the_size_of_their_difference(
    found: ts.Comparison, outputs: dict[str, list[list[str]]], test_references: list[str]
) -> None:
    ranking = found.rankings[1]
    held = list(ranking.sentences())
    sizes = [abs(one.difference) for one in held]
    assert sizes == sorted(sizes, reverse=True)
    assert sorted(one.sentence for one in held) == list(range(1, len(test_references) + 1))
    wer = ts.WER()
    for one in held[:20]:
        g = one.sentence - 1
        for name, score, text in (
            ("mert", one.score_a, one.text_a),
            ("pro", one.score_b, one.text_b),
        ):
            texts = [run[g] for run in outputs[name]]
            own = [float(wer.score(wer.stats(t, [test_references[g]]))) for t in texts]
            assert score == pytest.approx(sum(own) / 3)
            assert texts.count(text) == max(map(texts.count, texts))
        assert one.references == (test_references[g],)


@pytest.mark.filterwarnings("ignore:all runs of")
def test_weights_choose_from_candidates() -> None:
    held = ts.read(BUNDLED / "test.nbest.gz", [BUNDLED / "test.ref"])
    initial = ts.read_weights(BUNDLED / "weights.initial").weights
    final = ts.read_weights(BUNDLED / "weights.final").weights
    chosen = compare(
        {"initial": initial, "final": [dict(final), BUNDLED / "weights.final"]},
        candidates=held,
        **FEW,
    )
    first, second = chosen.metrics[0].systems
    assert first.mean == pytest.approx(ts.TuningSet(held).score(_winners(held, initial)))
    assert [run.score for run in second.runs] == [second.mean] * 2
    assert "same output" in " ".join(chosen.warnings)


def _winners(held: ts.CandidateSet, weights: Weights) -> Any:
    values = held.features.dense.T @ weights.matched(held.features.names)
    starts = held.start
    return np.array([a + np.argmax(values[a:b]) for a, b in pairwise(starts)])


@pytest.mark.filterwarnings("ignore:.*few for a bootstrap", "ignore:.*many shufflings")
class TestSmall:
    """Small sets, of which everything is known."""

    def test_the_same_output_is_no_difference(self) -> None:
        with pytest.warns(UserWarning, match="are the same by bleu"):
            found = compare({"a": ["x y", "z"], "b": ["x y", "z"]}, references=[["x", "z"]], **FEW)
        (test,) = found.metrics[0].tests
        assert (test.p_bootstrap, test.p_randomization, test.better) == (1.0, 1.0, None)

    def test_metrics_that_differ_in_their_options_are_told_apart(self) -> None:
        asked = ["bleu", "bleu:order=2", "wer"]
        found = compare(
            {"a": ["x y z u"] * 60, "b": ["x y z"] * 60},
            asked,
            [["x y z u"] * 60],
            rank=True,
            **FEW,
        )
        assert [one.metric for one in found.metrics] == asked
        assert [one.metric for one in found.rankings] == asked
        assert "bleu:order=2 (higher is better)" in str(found)
        assert "\nbleu:order=2 & a" in found.to_latex()

    def test_scores_that_are_always_0_are_no_difference(self) -> None:
        # Other outputs, of which none ever has a match: nothing is known of a difference.
        with pytest.warns(UserWarning, match="are the same by bleu"):
            found = compare({"a": ["x y", "z"], "b": ["u", "v"]}, references=[["w", "q"]], **FEW)
        (test,) = found.metrics[0].tests
        assert (test.p_bootstrap, test.p_randomization, test.difference) == (1.0, 1.0, 0.0)

    def test_tables_fit_into_80_columns(self) -> None:
        rng = np.random.default_rng(3)
        quality, features = rng.uniform(-0.9, 0.9, 120), rng.normal(size=(120, 2))
        held = ts.from_arrays(
            np.repeat(np.arange(60), 2).tolist(),
            {"f": features[:, 0], "g": features[:, 1]},
            columns={"quality": quality + 0.5},
        )
        runs = [[{"f": f, "g": g} for f in (1.0, -1.0)] for g in (0.1, 1.0, 9.0)]
        systems = dict(zip(("first", "second", "third"), runs, strict=True))
        found = compare(systems, "column:quality", candidates=held, all_pairs=True, **FEW)
        out = io.StringIO()
        Console(file=out, width=80).print(found, crop=False)
        assert max(map(len, out.getvalue().split("\n"))) <= 80
        assert all(f"{one.mean:.4f}" in out.getvalue() for one in found.metrics[0].systems)

    @pytest.mark.filterwarnings("ignore:all runs of")
    def test_copies_of_runs_are_no_evidence(
        self, outputs: dict[str, list[list[str]]], test_references: list[str]
    ) -> None:
        a, b = outputs["mert"][0], outputs["pro"][0]
        once = compare({"a": a, "b": b}, references=[test_references], **FEW).metrics[0]
        systems = {"a": [a, a, a], "b": [b, b]}
        copied = compare(systems, references=[test_references], **FEW).metrics[0]
        for one, other in zip(once.tests, copied.tests, strict=True):
            assert one.p_randomization == other.p_randomization
            assert one.p_bootstrap == pytest.approx(other.p_bootstrap, abs=0.004)

    def test_ties_are_told(self) -> None:
        first, second = ["x y"] * 40, ["x y"] * 39 + ["x"]
        with pytest.warns(UserWarning, match="if these count, p is 1.0000"):
            found = compare({"a": first, "b": second}, "wer", [["x y"] * 40], **FEW)
        assert found.metrics[0].tests[0].p_randomization_with_ties == 1.0

    def test_scores_of_a_column(self) -> None:
        rng = np.random.default_rng(1)
        rewards = rng.normal(size=(60, 4))
        quality = rewards[:, 0] + rng.normal(size=60)
        held = ts.from_arrays(
            np.repeat(np.arange(30), 2).tolist(),
            {"f": rewards[:, 0], "g": rewards[:, 1]},
            columns={"reward": quality},
        )
        weights = {"f": {"f": 1.0, "g": 0.0}, "g": {"f": 0.0, "g": 1.0}}
        found = compare(weights, "column:reward", candidates=held, **FEW)
        best = rewards[:, :2].reshape(30, 2, 2).argmax(axis=1)
        wanted = [quality.reshape(30, 2)[np.arange(30), best[:, k]].mean() for k in range(2)]
        systems = found.metrics[0].systems
        assert [system.mean for system in systems] == pytest.approx(wanted)
        assert "note: a system has a single run" in str(found)

    def test_runs_without_texts_are_told_apart_by_their_scores(self) -> None:
        rng = np.random.default_rng(2)
        features, quality = rng.normal(size=(120, 2)), rng.normal(size=120)
        held = ts.from_arrays(
            np.repeat(np.arange(60), 2).tolist(),
            {"f": features[:, 0], "g": features[:, 1]},
            columns={"reward": quality},
        )
        f, g, both = {"f": 1.0, "g": 0.0}, {"f": 0.0, "g": 1.0}, {"f": 1.0, "g": 1.0}
        found = compare(
            {"one": [f, both], "other": [g, both]}, "column:reward", candidates=held, **FEW
        )
        assert found.warnings == ()
        with pytest.warns(UserWarning, match="all runs of 'one' have the same output"):
            compare({"one": [f, f], "other": [g]}, "column:reward", candidates=held, **FEW)

    def test_systems_are_tested_against_the_first_or_all(self) -> None:
        texts = {"a": ["x y z w"] * 9, "b": ["x y z"] * 9, "c": ["x y w z"] * 9}
        found = compare(texts, references=[["x y z w"] * 9], **FEW)
        assert [(t.a, t.b) for t in found.metrics[0].tests] == [("a", "b"), ("a", "c")]
        found = compare(texts, references=[["x y z w"] * 9], all_pairs=True, **FEW)
        tests = found.metrics[0].tests
        assert [(t.a, t.b) for t in tests] == [("a", "b"), ("a", "c"), ("b", "c")]
        assert all(t.p_bootstrap <= t.p_bootstrap_holm <= 1 for t in tests)
        assert any("report it on another set" in note for note in found.notes)
        assert "Holm" in str(found)

    @pytest.mark.filterwarnings("ignore:.*are the same by bleu")
    def test_latex_escapes_names(self) -> None:
        texts = {r"a_b&c%$#{}~^\<>|": ["x"] * 9, "[red]": ["y"] * 9, "a---b": ["z"] * 9}
        table = compare(texts, references=[["x"] * 9], **FEW).to_latex()
        rows = [line for line in table.split("\n") if line.endswith(r"\\")]
        assert {line.count(" & ") for line in rows} == {8}
        assert " a-{}-{}-b " in table
        assert r"a\_b\&c\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}" in table

    @pytest.mark.parametrize(
        ("systems", "message"),
        [
            ({"a": ["x"]}, "nothing to be compared with"),
            ({"a": ["x"], " ": ["x"]}, "no name"),
            ({"a": ["x"], "b\n": ["x"]}, "control character"),
            ({"a": ["x"], "b": []}, "no run"),
            ({"a": ["x"], "b": ["x", "y"]}, "2 outputs and 1 references"),
            ({"a": ["x"], "b": [{"f": 1.0}]}, "weights choose from candidates"),
            ({"a": ["x"], "b": Path("nosuch")}, "is a file and references are texts"),
            ({"a": ["x"], "b": 5}, "a run is 5"),
            ({"a": ["x"], "b": [5]}, "a run is 5"),
            ({"a": ["x"], 2: ["x"]}, "name of a system is 2"),
        ],
    )
    def test_wrong_systems(self, systems: dict[str, Any], message: str) -> None:
        with pytest.raises(ts.TunesmithError, match=message):
            compare(systems, references=[["x"]])


def test_a_sentence_of_bleu_has_the_score_that_a_page_shows(
    found: ts.Comparison, outputs: dict[str, list[list[str]]], test_references: list[str]
) -> None:
    single = ts.SentenceBLEU()
    for one in list(found.rankings[0].sentences())[:20]:
        g = one.sentence - 1
        own = [
            float(single.score(single.stats(run[g], [test_references[g]])))
            for run in outputs["mert"]
        ]
        assert one.score_a == pytest.approx(sum(own) / 3, abs=1e-6)
