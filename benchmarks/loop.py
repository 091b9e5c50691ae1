"""What a loop costs beside decoding and tuning, with a pool of candidates as the decoder.

The pool is drawn: features as in the synthetic task of Hopkins and May, and texts that lose the
more words of their reference the worse they are. With ``--data`` real lists are a second pool. A
pool is the quickest decoder there is, so that the loop's own share is the greatest there can be.
It has a work directory: its files, the merging of lists and the scores of outputs are its own.
"""

from __future__ import annotations

import cProfile
import dataclasses
import pstats
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import tunesmith as ts
from common import announce, arguments
from tunesmith.arrays import Floats
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.data.synthetic import synthetic
from tunesmith.decoders.pool import PoolDecoder
from tunesmith.parallel.local import threads
from tunesmith.tuners.base import TUNERS

WORDS = 20_000
#: Words of a reference: mean and deviation, as of newspaper text.
LENGTH = (22.0, 9.0)


def with_texts(made: CandidateSet, seed: int = 1) -> CandidateSet:
    """Give drawn candidates texts: of each word of the reference a bad one has another."""
    rng = np.random.default_rng(seed)
    sizes = np.diff(made.start)
    lengths = np.maximum(3, rng.normal(*LENGTH, made.groups).astype(np.int64))
    # Words by Zipf's law.
    frequent = 1.0 / np.arange(1, WORDS + 1)
    words = rng.choice(WORDS, lengths.sum(), p=frequent / frequent.sum()).astype(np.int32)
    begin = np.concatenate([[0], np.cumsum(lengths)])
    own = np.repeat(lengths, sizes)
    start = np.concatenate([[0], np.cumsum(own)])
    place = np.arange(start[-1]) - np.repeat(start[:-1], own)
    ids = words[np.repeat(np.repeat(begin[:-1], sizes), own) + place]
    wrong = rng.random(len(ids)) < np.repeat(0.9 - 0.7 * made.columns["score"], own)
    ids[wrong] = rng.integers(WORDS, size=int(wrong.sum()))
    return dataclasses.replace(
        made,
        texts=Texts(start, ids),
        vocabulary=tuple(f"word{k}" for k in range(WORDS)),
        references=References(np.arange(made.groups + 1), Texts(begin, words)),
        columns={},
    )


class Timed(PoolDecoder):
    """The pool, which takes the time of its decodings."""

    name = "pool"

    def decode(self, weights: ts.Weights, sentences: Sequence[ts.Sentence]) -> CandidateSet:
        """Decode, and note the seconds."""
        begun = time.perf_counter()
        found = super().decode(weights, sentences)
        SECONDS.append(time.perf_counter() - begun)
        return found


SECONDS: list[float] = []


@dataclass
class Row:
    """What the repetitions of one tuner on one pool came to."""

    name: str
    pool: CandidateSet
    start: Floats
    tuner: str
    total: list[float] = field(default_factory=list)
    decoding: list[float] = field(default_factory=list)
    tuning: list[float] = field(default_factory=list)
    said: str = ""

    def run(self, rounds: int, nbest: int) -> None:
        """Run a loop in a new work directory."""
        decoder = Timed.of(self.pool, nbest)
        references = tuple(tuple(self.pool.reference_texts(g)) for g in range(self.pool.groups))
        inputs = ts.Inputs(tuple(decoder.sentences()), references)
        start = dict(zip(self.pool.features.names, self.start.tolist(), strict=True))
        SECONDS.clear()
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            loop = ts.Loop(rounds=rounds, weight_tolerance=0.0, final="last")
            result = loop.run(
                decoder, TUNERS.create(self.tuner), inputs, start=start, work_dir=folder
            )
            self.total.append(time.perf_counter() - begun)
        self.decoding.append(sum(SECONDS))
        self.tuning.append(sum(one["tune_seconds"] or 0.0 for one in result.rounds))
        last = result.rounds[-1]
        self.said = (
            f"{len(result.rounds) - 1} rounds, {last['candidates']} candidates, "
            f"{result.initial_score:.2f} -> {result.score:.2f}"
        )

    def show(self) -> None:
        """Print medians."""
        own = [t - d - u for t, d, u in zip(self.total, self.decoding, self.tuning, strict=True)]
        share = statistics.median(o / t for o, t in zip(own, self.total, strict=True))
        figures = [statistics.median(one) for one in (self.total, self.decoding, self.tuning, own)]
        print(
            f"{self.name:24} " + " ".join(f"{f:8.2f}" for f in figures) + f" {share:7.1%}", end=""
        )
        print(f"  {self.said}")


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(repetitions=3)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--pool", type=int, default=1000, help="candidates of a sentence drawn")
    parser.add_argument("--nbest", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tuner", action="append", help="as mert:restarts=5 [default: mert, pro]")
    parser.add_argument("--profile", action="store_true", help="show where the time of each goes")
    options = parser.parse_args()
    announce(options, f"drawn{'' if options.data is None else f', {options.data.name}'}")
    made, gold = synthetic(options.sentences, options.pool, 15, noise=100.0)
    pools = {"drawn": (with_texts(made), np.abs(gold.vector) + 0.1)}
    if options.data is not None:
        real = ts.read(options.data / options.lists, options.data / "val.ref")
        first = ts.read_weights(options.data / "weights.run1.dense").weights
        pools["real"] = (real, first.aligned(real.features.names))
    rows = [
        Row(f"{name}, {tuner}", pool, start, tuner)
        for name, (pool, start) in pools.items()
        for tuner in options.tuner or ("mert", "pro")
    ]
    with threads(options.threads):
        for row in rows:  # kernels are compiled, files are in memory
            Row(row.name, row.pool.with_groups(range(20)), row.start, row.tuner).run(1, 5)
        for _ in range(options.repetitions):
            for row in rows:
                if options.profile:
                    profile = cProfile.Profile()
                    profile.runcall(row.run, options.rounds, options.nbest)
                    pstats.Stats(profile).sort_stats("cumulative").print_stats(60)
                else:
                    row.run(options.rounds, options.nbest)
    print(f"{'seconds':24} {'total':>8} {'decoding':>8} {'tuning':>8} {'own':>8} {'share':>7}")
    for row in rows:
        row.show()


if __name__ == "__main__":
    main()
