"""The exact search over three weights against a grid: value, time, and how it grows.

The lists are those of sentences with enough candidates, the first ones of each. A grid tries so
many directions in each of two angles, over the same sphere of weights. Every point of it is a
product with the features, the winners and their score; it uses the same threads, and so does
MERT with its defaults.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.sparse import csc_array

import tunesmith as ts
from common import arguments, interleaved, parse
from tunesmith.data.candidates import pack_texts
from tunesmith.inference.lists.hypotheses import ListHypotheses, best
from tunesmith.parallel.local import map_pieces
from tunesmith.search.plane.search import PlaneResult, Slice, search_slice


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--sentences", default="200,400,800", help="how many, in turn")
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--features", default="LM0,WordPenalty0,TranslationModel0_1")
    parser.add_argument("--metrics", default="bleu,wer")
    parser.add_argument("--grid", type=int, default=100, help="points in each of two angles")
    parser.set_defaults(repetitions=3)
    options = parse(parser)
    names = options.features.split(",")
    print(f"features {', '.join(names)}; {options.candidates} candidates per sentence")
    lists = ts.read(options.data / options.lists, references=[options.data / "val.ref"])
    lists = lists.with_features(names)
    print(
        f"{'metric':6} {'sentences':>9} {'lines':>8} {'stretches':>11} {'radius':>8} "
        f"{'exact':>9} {'s':>7} {'grid':>9} {'s':>7} {'mert':>9} {'s':>7}"
    )
    with ts.threads(options.threads):
        for metric in options.metrics.split(","):
            whole = ts.TuningSet(lists, metric)
            compare(options, whole, 20, silent=True)  # kernels are compiled
            for sentences in map(int, options.sentences.split(",")):
                compare(options, whole, sentences)


def compare(
    options: argparse.Namespace,
    whole: ts.TuningSet,
    sentences: int,
    silent: bool = False,
) -> None:
    """Search, try the grid, tune by MERT, and print a line."""
    tuning = part(whole, sentences, options.candidates)
    size = 5 if silent else options.grid
    scores: dict[str, float] = {}
    found: list[PlaneResult] = []

    def exact() -> None:
        hypotheses = ListHypotheses(tuning)
        found.append(search_slice(hypotheses, Slice.whole(hypotheses.spread())))
        weights = found[-1].point.weights
        scores["exact"] = tuning.score(best(tuning.candidates, weights))

    def on_grid() -> None:
        scores["grid"] = grid(tuning, size)

    def mert() -> None:
        scores["mert"] = ts.MERT().fit(tuning).score

    seconds = interleaved(1 if silent else options.repetitions, exact, on_grid, mert)
    last = found[-1]
    if not last.complete:
        raise SystemExit("the search is not complete")
    if not silent:
        print(
            f"{tuning.metric.name:6} {sentences:9} {last.lines:8} {last.stretches:11} "
            f"{last.radius:8.1e}",
            *(f"{scores[name]:9.4f} {s:7.2f}" for name, s in zip(scores, seconds, strict=True)),
            flush=True,
        )


def part(whole: ts.TuningSet, sentences: int, size: int) -> ts.TuningSet:
    """Return the first candidates of the first sentences that have so many."""
    lists = whole.candidates
    begins = lists.start[:-1][np.diff(lists.start) >= size][:sentences]
    if len(begins) < sentences:
        raise SystemExit(f"only {len(begins)} sentences have {size} candidates")
    rows = np.add.outer(begins, np.arange(size)).ravel()
    features = lists.features
    candidates = ts.CandidateSet(
        tuple(range(sentences)),
        np.arange(0, len(rows) + 1, size),
        ts.Features(features.dense_names, features.dense[:, rows], (), csc_array((len(rows), 0))),
        pack_texts([lists.texts[i] for i in rows]),
        lists.vocabulary,
    )
    return ts.TuningSet(candidates, whole.metric, whole.stats[rows])


def grid(tuning: ts.TuningSet, size: int) -> float:
    """Return the best score over directions of the sphere."""
    spread = ListHypotheses(tuning).spread()
    turns = (np.arange(size) + 0.5) / size
    heights, angles = np.meshgrid(2.0 * turns - 1.0, 2.0 * np.pi * turns)
    flat = np.sqrt(1.0 - heights**2)
    points = np.stack([flat * np.cos(angles), flat * np.sin(angles), heights], axis=-1)
    weights = points.reshape(-1, 3) / spread
    scores = map_pieces(lambda w: tuning.score(best(tuning.candidates, w)), list(weights))
    return max(scores) if tuning.metric.higher_is_better else min(scores)


if __name__ == "__main__":
    main()
