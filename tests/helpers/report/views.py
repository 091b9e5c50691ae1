"""Views for tests: one with everything in it, and texts that no page should trust."""

from __future__ import annotations

import base64
import dataclasses
import math

import numpy as np

from tunesmith.report.page import view as v

#: Texts that do harm where they are taken for anything but text.
HOSTILE = [
    "</script><script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 1'>",
    '"><svg onload=window.hurt=1>',
    "<b>bold</b> & <a href='javascript:window.hurt=1'>link</a>",
    "<!-- <script>",
    "x" * 3000,
    "مرحبا \u202e evil \u202d אבג",
    "emoji 👩‍👩‍👧‍👦 🇪🇺 e\u0301",
    "nul \x00 bell \x07 escape \x1b[31m del \x7f c1 \x85",
    "lines \u2028 and \u2029 \r\n\t",
    "half \ud83d and \udc00",
    "%{x} ${y} `z` \\u003cb\\u003e",
    "]]>",
    "",
]


def _curve(feature: str, k: int, banded: bool = False) -> v.SurfaceCurve:
    rng = np.random.default_rng(k)
    weight = round(float(rng.normal()), 4)
    edges = np.sort(weight + rng.normal(size=60)).round(6)
    scores = (30 + np.cumsum(rng.normal(size=61) * 0.05)).round(4)
    inside = int(np.searchsorted(edges, weight))
    window = (float(edges[0] - 0.2), float(edges[-1] + 0.2))
    low, high = edges[max(inside - 1, 0)], edges[min(inside, 59)]
    best = int(np.argmax(scores[1:-1])) + 1
    ends = np.linspace(*window, 201)
    band = {
        "ends": tuple(ends.tolist()),
        "low": tuple((30 - np.abs(ends[:-1])).tolist()),
        "high": tuple((30.5 - np.abs(ends[:-1])).tolist()),
    }
    return v.SurfaceCurve(
        feature=feature,
        weight=weight,
        score=float(scores[inside]),
        window=window,
        close=(float(low - 0.2), float(high + 0.2)),
        edges=() if banded else tuple(edges.tolist()),
        scores=() if banded else tuple(scores.tolist()),
        band=band if banded else None,
        close_edges=(float(low), float(high)) if banded else (),
        close_scores=(29.9, float(scores[inside]), 29.8) if banded else (),
        plateau=(float(low), float(high)),
        width=float((high - low) / max(abs(weight), 1e-3)),
        edge=float(min(weight - low, high - weight) / max(abs(weight), 1e-3)),
        best=(float(edges[best - 1]), float(edges[best])),
        best_score=float(scores[best]),
    )


def _map(x: str, y: str) -> v.Map:
    columns, rows = 24, 16
    across, up = np.meshgrid(np.linspace(-1, 1, columns), np.linspace(-1, 1, rows))
    held = np.exp(-(across**2) - 2 * (up - 0.2) ** 2)
    pixels = np.round(65535 * (held - held.min()) / (held.max() - held.min())).astype("<u2")
    return v.Map(
        x,
        y,
        (-1.0, 1.0),
        (-2.0, 2.0),
        columns,
        rows,
        20.0,
        30.0,
        base64.b64encode(pixels.tobytes()).decode(),
        (0.1, 0.2, 29.5),
        (0.0, 0.4, 30.0),
    )


def _sentence(k: int, text: str, features: int) -> v.SentenceView:
    def candidate(rank: int, words: str) -> v.CandidateView:
        shares = tuple(round(math.sin(rank * 3 + d) * (rank > 1), 4) for d in range(features))
        return v.CandidateView(words, 4 - rank, rank, 30.0 - rank, -5.0 + sum(shares), shares)

    after = f"the new text {k} {text}"
    return v.SentenceView(
        id=str(k),
        source=f"la source {k} {text}",
        references=(f"the text {k} {text}", "another one"),
        before=(("the", "same"), ("old", "out"), (f"text {k} {text}", "same")),
        after=(("the", "same"), ("new", "in"), (f"text {k} {text}", "same")),
        score_before=20.0,
        score_after=21.5,
        influence=(-1.0) ** k * 0.1 / (k + 1),
        candidates=(
            candidate(1, after),
            candidate(2, f"the old text {k} {text}"),
            candidate(3, "a third"),
        ),
        count=50,
    )


def _rounds(names: tuple[str, ...]) -> v.RoundsView:
    return v.RoundsView(
        unit="round",
        names=names,
        series={
            "tune": (25.0, 27.5, 28.2, 28.9),
            "dev": (24.0, 26.0, 26.4, 26.1),
            "promised": (None, 29.0, 29.1, 29.2),
        },
        length_ratios={"tune": (0.93, 0.97, 0.99, 1.0), "dev": (0.92, 0.95, 0.97, 0.96)},
        chosen=2,
        table={"candidates": (100, 180, 210, 230), "why": (None, "grew", "grew", "same")},
    )


def sample(text: str = "", running: bool = False) -> v.View:
    """Return a view with every section; a text stands wherever texts of data can be."""
    features = (f"LM0{text}", "WordPenalty0", "TranslationModel0_1", "TranslationModel0_2")
    summary = v.Summary(
        title=f"run/{text}",
        tuner=f"pro{text}",
        metric="bleu",
        higher_is_better=True,
        state="running" if running else "ended",
        scores=(
            v.SetScores("tune", "bleu", 25.0, 28.2, 35.1, False, 0.99, 0.98),
            v.SetScores("dev", "bleu", 24.0, 26.4, length_ratio=0.97),
            v.SetScores("test", "bleu", 24.4, 24.1),
            v.SetScores("test", f"chrf{text}", 50.4, 51.1),
        ),
        signature=f"tunesmith|tuner:pro|seed:1{text}",
        settings=(("rounds", "4"), (f"start{text}", f"weights{text}")),
        data=({"path": f"tune.nbest{text}", "sha256": "ab" * 32, "format": "moses"},),
        notes=(f"The loop ended because nothing was new.{text}",),
        verdict=f"On 500 unseen sentences +0.84 BLEU (95 %: +0.35 to +1.31): use it.{text}",
    )
    curves = tuple(_curve(name, k, banded=k == 1) for k, name in enumerate(features))
    flat = dataclasses.replace(
        curves[3], edges=(), scores=(30.0,), plateau=(None, None), width=None, edge=None
    )
    rows = tuple(
        v.WeightRow(name, 0.5 - 0.2 * k, 0.7 - 0.3 * k, (0.5, 0.6, 0.65, 0.7 - 0.3 * k), 2.0)
        for k, name in enumerate(features)
    )
    pairs = tuple(
        v.PairRound(
            f"{k}{text}",
            5000,
            50,
            {"length": 20.0 - k, "score": 0.3},
            {"length": 21.0 + k, "score": 0.2},
            reference_length=20.5,
        )
        for k in (1, 2, 3)
    )
    shown = tuple(_sentence(k, text, len(features)) for k in range(12))
    return v.View(
        version="0.1.0",
        summary=summary,
        warnings=(
            v.Caution("overfitting", f"Dev fell by 0.30 in round 4.{text}", "Take round 3."),
        ),
        rounds=_rounds((f"0{text}", "1", "2", "3")),
        weights=v.WeightTable(("0", "1", "2", "3"), rows, 3),
        surfaces=v.Surfaces("tune", (*curves[:3], flat), 2, f"the best of forests{text}"),
        maps=v.Maps((_map(features[0], features[1]), _map(features[0], features[2])), 4),
        sentences=(
            v.Sentences("tune", 100, 12, 6, 6, features, "sentence BLEU+1", shown),
            v.Sentences("dev", 50, 0, 0, 0, (), "sentence BLEU+1", ()),
        ),
        pairs=pairs,
        certificate={
            "best": 0.281,
            "bound": 0.3,
            "gap": 0.019,
            "optimal": False,
            "tested": 10,
            "total": f"1e99{text}",
            "seconds": 1.5,
        },
        path=[
            {"strength": 0.1, "score": 28.0, "dev_score": 26.0, "chosen": False},
            {"strength": 0.01, "score": 28.2, "dev_score": 26.4, "chosen": True, "name": text},
        ],
        missing=(f"There is no test output; give --test.{text}",),
        verdict={"recommendation": "use", "gain": 0.84, "low": 0.35, "high": 1.31},
    )
