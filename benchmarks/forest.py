"""Hyperedges per second: Viterbi, expected uses, envelopes, the k best, batch MIRA.

Real forests are those of nc-wmt11-de-en: 27 directions, the axes and random ones, as cdec's
dpmert was given (its figure is quoted from the data's README, and is of CPU time too). Each is
measured in CPU seconds on one thread. Batch MIRA goes 60 times over the graphs of m30k-forests,
as Moses' kbmira did in hypergraph mode (quoted likewise). Then a direction over a thousand large
synthetic forests (one hundred, ten times), on all threads, in seconds on the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import tunesmith as ts
from common import announce, arguments, interleaved
from minkowski import minkowski_of_block
from tunesmith.data.forests import ForestArrays, ForestSet, joined
from tunesmith.data.raw_forest import RawForest
from tunesmith.inference.forests.derivations import best_derivations, edge_scores
from tunesmith.inference.forests.envelope.search import forest_envelopes
from tunesmith.inference.forests.inside import expected_uses, shares
from tunesmith.inference.forests.kbest.search import kbest_derivations
from tunesmith.io.forests.read import read_forests
from tunesmith.kernels import kernel

#: cdec's dpmert: hyperedges a second and direction, of CPU time.
DPMERT = 335_000
#: Moses' kbmira in hypergraph mode: 35.6 s for 60 passes over 200 graphs.
KBMIRA = 35.6e3 / (60 * 200)
FEATURES = 12
#: Of synthetic forests: words, longest span, derivations of a span that are told apart.
WORDS, LONGEST, VARIANTS = 40, 10, 6


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--skip-synthetic", action="store_true", help="real forests alone")
    parser.set_defaults(repetitions=3)
    options = parser.parse_args()
    if options.data is None:
        parser.error("set TUNESMITH_SHARED_DATA or give --data")
    folder = options.data.parent / "nc-wmt11-de-en"
    announce(options, folder.name)
    forests = read_forests(folder / "dev.forests.jsonl.gz").in_memory()
    start = ts.read_weights(folder / "weights.init").weights.aligned(forests.names)
    with ts.threads(1):
        real(forests, start, options.repetitions)
        batch_mira(options.data.parent / "m30k-forests")
    if not options.skip_synthetic:
        with ts.threads(options.threads):
            large(options.repetitions)


def real(forests: ForestSet, start: np.ndarray, repetitions: int) -> None:
    """Measure everything on real forests, on one thread."""
    drawn = np.random.default_rng(1).standard_normal((15, len(start)))
    directions = np.concatenate([np.eye(len(start)), drawn])
    print(f"{forests}; {len(directions)} directions; one thread, CPU seconds")
    lines: dict[str, int] = {}

    def envelopes() -> None:
        found = [len(forest_envelopes(forests, start, d).at) for d in directions]
        lines["envelope"] = sum(found)

    def minkowski() -> None:
        block = forests.block(0, forests.groups)
        lines["minkowski"] = sum(minkowski_of_block(*block, start, d) for d in directions)

    works: dict[str, tuple[Callable[[], object], int]] = {
        "Viterbi": (partial(best_derivations, forests, start), 1),
        "expected uses": (
            partial(uses_of_goals, *forests.block(0, forests.groups), start),
            1,
        ),
        "envelope": (envelopes, len(directions)),
        "envelope, Minkowski sums": (minkowski, len(directions)),
        "100 best": (partial(kbest_derivations, forests, start, 100, unique=False), 1),
        "100 best, different texts": (
            partial(kbest_derivations, forests, start, 100, unique=True),
            1,
        ),
    }
    for work, _ in works.values():
        work()  # kernels are compiled
    seconds = interleaved(repetitions, *(w for w, _ in works.values()), clock=time.process_time)
    rates = {}
    for (name, (_, times)), taken in zip(works.items(), seconds, strict=True):
        rates[name] = times * int(forests.edges.sum()) / taken
        print(f"{name:26} {taken:8.3f} s {rates[name] / 1e6:8.2f} million hyperedges a second")
    print(
        f"lines that win: {lines['envelope']}; with Minkowski sums, which keep lines that win "
        f"by no more than rounding: {lines['minkowski']}"
    )
    ours = rates["envelope"]
    print(
        f"times as fast: {ours / rates['envelope, Minkowski sums']:.1f} as our Minkowski sums, "
        f"{ours / DPMERT:.1f} as cdec's dpmert ({DPMERT} a second, quoted, not measured here)"
    )


def batch_mira(folder: Path) -> None:
    """Measure 60 passes of batch MIRA, which evaluates the set after each."""
    forests = read_forests(folder / "hg", folder / "ref")
    start = ts.read_weights(folder / "hg" / "weights").weights
    tuning = ts.ForestTuning(forests)
    ts.BatchMIRA(passes=1).fit(tuning, start)  # kernels are compiled, and graphs counted
    begun = time.process_time()
    found = ts.BatchMIRA(passes=60).fit(tuning, start)
    each = 1e3 * (time.process_time() - begun) / (60 * forests.groups)
    print(
        f"batch MIRA, 60 passes over {forests.groups} graphs: {each:.2f} ms of CPU time a graph "
        f"and pass, BLEU {found.initial_score:.2f} -> {found.score:.2f}; {KBMIRA / each:.1f} times "
        f"as fast as Moses' kbmira ({KBMIRA:.2f} ms, quoted, not measured here)"
    )


@kernel
def uses_of_goals(arrays: ForestArrays, first: int, last: int, weights: np.ndarray) -> float:
    """Add up how often the last hyperedge of each forest is used."""
    total = 0.0
    for s in range(first, last):
        scores = edge_scores(arrays, s, weights)
        total += expected_uses(arrays, s, shares(arrays, s, scores)[1])[-1]
    return total


def large(repetitions: int) -> None:
    """Measure a direction over large synthetic forests."""
    rng = np.random.default_rng(1)
    parts = [synthetic(rng) for _ in range(100)]
    names = tuple(f"f{k}" for k in range(FEATURES))
    forests = ForestSet(tuple(range(100)), joined(parts), names, ("w",))
    start, direction = rng.standard_normal((2, FEATURES))
    lines = len(forest_envelopes(forests, start, direction).at)

    def thousand() -> None:
        for _ in range(10):
            forest_envelopes(forests, start, direction)

    (seconds,) = interleaved(repetitions, thousand)
    (busy,) = interleaved(1, thousand, clock=time.process_time)
    print(
        f"1000 synthetic forests of {forests.edges.mean():.0f} hyperedges, "
        f"{lines / 100:.0f} lines each: {seconds:.2f} s a direction, {busy:.2f} s of CPU time"
    )


def synthetic(rng: np.random.Generator) -> ForestArrays:
    """Return a forest of spans up to a length, joined from the left."""
    spans = [(i, i + n) for n in range(1, LONGEST + 1) for i in range(WORDS - n + 1)]
    number = {span: k for k, span in enumerate(spans)}
    prefix = VARIANTS * len(spans)
    heads, tails = [], []
    for i, j in spans:
        for variant in range(VARIANTS):
            for _ in range(4):
                cut = int(rng.integers(i, j))
                parts = [(i, cut), (cut, j)] if cut > i else []
                heads.append(VARIANTS * number[i, j] + variant)
                tails.append([VARIANTS * number[p] + int(rng.integers(VARIANTS)) for p in parts])
    for j in range(1, WORDS + 1):
        for i in range(max(0, j - LONGEST), j):
            for variant in range(VARIANTS):
                own = VARIANTS * number[i, j] + variant
                heads.append(prefix + j - 1)
                tails.append([prefix + i - 1, own] if i else [own])
    edges = len(heads)
    sides = [[-k - 1 for k in range(len(own))] for own in tails]
    raw = RawForest(
        0,
        prefix + WORDS,
        prefix + WORDS - 1,
        np.array(heads),
        np.cumsum([0, *map(len, tails)]),
        np.array([t for own in tails for t in own], np.int64),
        np.arange(0, FEATURES * edges + 1, FEATURES),
        np.tile(np.arange(FEATURES, dtype=np.int32), edges),
        rng.standard_normal(FEATURES * edges),
        np.cumsum([0, *map(len, sides)]),
        np.array([w for side in sides for w in side], np.int32),
        np.full(prefix + WORDS, -1, np.int32),
    )
    return raw.ordered()[0]


if __name__ == "__main__":
    main()
