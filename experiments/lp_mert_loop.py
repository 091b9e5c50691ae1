"""LP-MERT and MERT in a loop with a decoder: weights give new candidates, these new weights."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lp_mert_sets as sets
import tunesmith as ts
from tunesmith.decoders.pool import PoolDecoder
from tunesmith.inference.lists.hypotheses import best as best_of

Keep = Callable[[dict[str, Any]], None]
#: Lists that are decoded from, and how many candidates of a sentence are shown at a time.
POOLS = {"catalogs": 50, "m30k-big": 100}
#: Rounds, at most, and sentences.
ROUNDS, SENTENCES = 10, 64


def tuners(limit: float) -> dict[str, ts.Tuner]:
    """Return what is compared."""
    return {"MERT": ts.MERT(restarts=20), "LP-MERT": ts.LPMERT(search="beam", time_limit=limit)}


def loop(names: list[str], limit: float, keep: Keep) -> None:
    """Tune the same sentences from the same start in both ways, in time of one thread."""
    shared = Path(os.environ["TUNESMITH_SHARED_DATA"])
    for name in names:
        lists, references = sets.FILES[name]
        pool = ts.read(shared / lists, references=[shared / references])
        rng = np.random.default_rng([1, SENTENCES])
        chosen = np.sort(rng.permutation(pool.groups)[:SENTENCES])
        whole = ts.TuningSet(pool, sets.METRIC).part(chosen)
        decoder = PoolDecoder.of(pool, nbest_size=POOLS[name])
        known = ts.Inputs.read(None, shared / references, decoder.sentences())
        every = ts.Inputs(
            tuple(known.sentences[k] for k in chosen), tuple(known.references[k] for k in chosen)
        )
        start = dict.fromkeys(pool.features.names, 1.0)
        for way, tuner in tuners(limit).items():
            with sets.processor_time() as clock, tempfile.TemporaryDirectory() as folder:
                begun = clock()
                # Rounds are over when the pool shows nothing new.
                running = ts.Loop(rounds=ROUNDS)
                result = running.run(
                    decoder, tuner, every, metric=sets.METRIC, start=start, work_dir=folder
                )
                passed = clock() - begun
            weights = np.array([result.weights[one] for one in pool.features.names])
            score = whole.score(best_of(whole.candidates, weights))
            rounds = [[one["round"], one["new"], one["score"]] for one in result.rounds]
            about = {"data": name, "way": way, "sentences": len(chosen), "score": score}
            keep({**about, "rounds": rounds, "stopped": result.stopped, "seconds": passed})


def table_loop(rows: list[dict[str, Any]]) -> str:
    """Show what the last weights choose from the pool, and when it ended."""
    lines = [
        "| pool | tuner | sentences | rounds | ended by | last lists | whole pool | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        number, _, score = row["rounds"][-1]
        lines.append(
            f"| {row['data']} | {row['way']} | {row['sentences']} | {number} | {row['stopped']} "
            f"| {score:.2f} | {row['score']:.2f} | {row['seconds']:.0f} |"
        )
    return "\n".join(lines)
