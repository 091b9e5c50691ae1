"""The default of `tune`, a committee, against MERT with 20 restarts, 1000 x 100 candidates.

Processor seconds are those of all threads; kernels are compiled before the clocks run.
"""

from __future__ import annotations

import time

import numpy as np

import tunesmith as ts
from common import announce, arguments, interleaved

CANDIDATES = 100


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(repetitions=3)
    options = parser.parse_args()
    if options.data is None:
        parser.error("set TUNESMITH_SHARED_DATA or give --data")
    here = options.data.parent / "catalogs-nbest"
    announce(options, f"{here.name}/tune.nbest.gz, {CANDIDATES} candidates")
    tuning = shortened(ts.TuningSet(ts.read(here / "tune.nbest.gz", here / "tune.ref")))
    start = ts.read_weights(here / "weights.initial").weights
    tuners = {"auto": ts.Auto(), "mert, 20 restarts": ts.MERT(restarts=20)}
    for tuner in tuners.values():
        tuner.fit(tuning.part(range(20)), start)

    def run(tuner: ts.Auto | ts.MERT) -> None:
        with ts.threads(options.threads):
            tuner.fit(tuning, start, rng=1)

    works = [lambda tuner=tuner: run(tuner) for tuner in tuners.values()]
    for clock, name in ((time.perf_counter, "wall"), (time.process_time, "processor")):
        seconds = interleaved(options.repetitions, *works, clock=clock)
        shown = ", ".join(f"{n} {s:.1f} s" for n, s in zip(tuners, seconds, strict=True))
        print(f"{name:10} {shown}; {seconds[0] / seconds[1]:.2f} times")


def shortened(tuning: ts.TuningSet) -> ts.TuningSet:
    """Keep the first candidates of each sentence."""
    start = tuning.candidates.start
    rank = np.arange(len(tuning.candidates)) - np.repeat(start[:-1], np.diff(start))
    rows = np.flatnonzero(rank < CANDIDATES)
    return ts.TuningSet(tuning.candidates.with_candidates(rows), tuning.metric, tuning.stats[rows])


if __name__ == "__main__":
    main()
