"""What a second core gains, in threads, in processes and on Ray, on sets of a thousand sentences.

MERT on lists (catalogs-nbest), inference on forests and decoding (nc-wmt11-de-en, whose forests
come twice). Engines are started and have seen the data before the clock runs. All find the same,
which is looked at. Where the data are not there, lists and forests are synthetic, and nothing is
decoded. How busy the machine was before and after is printed: others' work spoils the ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tunesmith as ts
from common import announce, interleaved
from forest import FEATURES
from forest import synthetic as synthetic_forest
from tunesmith.data.forests import ForestSet, joined
from tunesmith.data.synthetic import synthetic
from tunesmith.decoders.base import Sentence
from tunesmith.hiero import HieroDecoder
from tunesmith.inference.forests.derivations import best_derivations
from tunesmith.inference.forests.envelope.search import forest_envelopes
from tunesmith.inference.forests.expectation import expected_counts
from tunesmith.inference.forests.kbest.search import kbest_derivations
from tunesmith.inference.forests.sample import sampled_derivations
from tunesmith.inference.hypotheses import Direction
from tunesmith.io.forests.read import read_forests
from tunesmith.parallel.choice import ENGINES, engine_of
from tunesmith.parallel.engine import Engine, current_engine, working_on

SENTENCES = 1000
#: Fewer restarts than usual: the benchmark is to end.
RESTARTS = 8
POP_LIMIT = 30

FORESTS = "forests: "

Work = Callable[[], Any]
Seconds = dict[str, float]


def main() -> None:
    """Measure and print."""
    options = arguments()
    folder = options.data
    announce(options, "synthetic" if folder is None else "catalogs-nbest, nc-wmt11-de-en")
    print(f"busy before: {busy():.0%} of the cores")
    programs = {**lists(folder), **forests(folder), **decoding(folder)}
    engines = {
        name: engine_of(name, None if name == "threads" else options.threads)
        for name in options.engine
    }
    try:
        table(programs, engines, options)
    finally:
        for engine in engines.values():
            engine.close()
    print(f"busy after: {busy():.0%} of the cores")


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    folder = os.environ.get("TUNESMITH_SHARED_DATA")
    default = Path(folder) if folder else None
    parser.add_argument("--data", type=Path, default=default, help="folder of all data sets")
    has_ray = importlib.util.find_spec("ray") is not None
    parser.add_argument(
        "--engine",
        action="append",
        choices=ENGINES,
        help="who works, beside one thread; may be repeated [default: all that there are]",
    )
    parser.add_argument("--threads", type=int, default=2, help="threads, or workers")
    parser.add_argument("--repeats", dest="repetitions", type=int, default=3)
    parser.add_argument("--only", default="", help="programs whose name has this in it")
    options = parser.parse_args()
    options.engine = options.engine or list(ENGINES if has_ray else ENGINES[:2])
    return options


def lists(folder: Path | None) -> dict[str, Work]:
    """Return MERT on lists."""
    if folder is None:
        candidates, _ = synthetic(SENTENCES, 200, 14, noise=100.0)
        tuning, start = ts.TuningSet(candidates, "column:score"), None
    else:
        own = folder / "catalogs-nbest"
        tuning = ts.TuningSet(ts.read(own / "tune.nbest.gz", own / "tune.ref"))
        start = ts.read_weights(own / "weights.initial").weights
    tuner = ts.MERT(restarts=RESTARTS)

    def mert() -> Any:
        found = tuner.fit(tuning, start)
        return found.score, dict(found.weights), found.history

    return {f"MERT on lists, {RESTARTS} restarts": mert}


def forests(folder: Path | None) -> dict[str, Work]:
    """Return what forests are asked."""
    held = synthetic_set() if folder is None else real_set(folder / "nc-wmt11-de-en")
    weights, direction = np.random.default_rng(1).standard_normal((2, len(held.names)))
    if folder is not None:
        path = folder / "nc-wmt11-de-en" / "weights.init"
        weights = ts.read_weights(path).weights.aligned(held.names)
    works: dict[str, Work] = {
        "best derivations": partial(best_derivations, held, weights),
        "100 best": partial(kbest_derivations, held, weights, 100),
        "20 samples": partial(sampled_derivations, held, weights, 1.0, 20, 1),
        "envelope of a line": partial(forest_envelopes, held, weights, direction),
    }
    if held.references is not None:
        tuning = ts.ForestTuning(held)
        hypotheses = tuning.hypotheses()
        point = hypotheses.point(weights)
        line = Direction.of(direction, "line")

        def search() -> Any:
            found = hypotheses.envelope(point, line)
            return found.total, found.at, found.change

        def gradient() -> Any:
            (found,) = hypotheses.expected([point], [1.0])
            return found.gain, found.gradient

        works |= {"line of MERT": search, "expected BLEU, gradient": gradient}
    else:
        works["expected counts"] = partial(expected_counts, held, weights, 1.0)

    return {f"{FORESTS}{name}": work for name, work in works.items()}


def real_set(folder: Path) -> ForestSet:
    """Return the forests of the development set, several times."""
    held = read_forests(folder / "dev.forests.jsonl.gz", folder / "dev.en").in_memory()
    groups = np.arange(SENTENCES) % held.groups
    return replace(held.with_groups(groups), ids=tuple(range(SENTENCES)))


def synthetic_set() -> ForestSet:
    """Return synthetic forests, ten times a hundred."""
    rng = np.random.default_rng(1)
    parts = [synthetic_forest(rng) for _ in range(SENTENCES // 10)] * 10
    names = tuple(f"f{k}" for k in range(FEATURES))
    return ForestSet(tuple(range(SENTENCES)), joined(parts), names, ("w",))


def decoding(folder: Path | None) -> dict[str, Work]:
    """Return the decoder on both sets of sentences, parsing too."""
    if folder is None:
        return {}
    own = folder / "nc-wmt11-de-en"
    texts = [(own / name).read_text(encoding="utf-8") for name in ("dev.de", "test.de")]
    lines = [line for text in texts for line in text.split("\n")[:-1]][:SENTENCES]
    sentences = [Sentence(k, line) for k, line in enumerate(lines)]
    weights = ts.read_weights(own / "weights.init").weights
    decoder = HieroDecoder(
        grammar=(str(own / "nc-wmt11.grammar.gz"),),
        lm=(str(own / "lm" / "en.4gram.arpa.gz"),),
        pop_limit=POP_LIMIT,
        span_limit=15,
    )

    calls: Counter[tuple[str, int]] = Counter()

    def decode() -> Any:
        # Parses are kept, by workers too: whoever comes back finds one more word to pass on.
        engine = current_engine()
        calls[engine.name, engine.workers] += 1
        decoder.forget()
        more = f" {calls[engine.name, engine.workers]}"
        return decoder.translate(weights, [Sentence(s.id, s.text + more) for s in sentences])

    return {f"decoding {len(lines)} sentences, {POP_LIMIT} pops": decode}


def table(
    programs: dict[str, Work], engines: dict[str, Engine], options: argparse.Namespace
) -> None:
    """Print seconds on one core, and how many times as fast each engine is."""
    columns = "".join(f"{name:>15} {options.threads:2}" for name in engines)
    print(f"{'':34}{'1 thread':>10}{columns}   ray against threads, processes")
    whole: Seconds = dict.fromkeys(["1", *engines], 0.0)
    for program, work in programs.items():
        if options.only not in program:
            continue
        ways = {"1": partial(done, work, None, 1)}
        for name, engine in engines.items():
            ways[name] = partial(done, work, engine, options.threads)
        digests = {name: digest(way()) for name, way in ways.items()}
        seconds = dict(zip(ways, interleaved(options.repetitions, *ways.values()), strict=True))
        wrong = [name for name, own in digests.items() if own != digests["1"]]
        show(program, seconds, f"   OTHER RESULT: {', '.join(wrong)}" if wrong else "")
        if program.startswith(FORESTS):
            whole = {name: whole[name] + seconds[name] for name in whole}
    if whole["1"]:
        show(f"{FORESTS}all of these", whole)


def show(program: str, seconds: Seconds, remark: str = "") -> None:
    """Print a row."""
    one, *rest = seconds.values()
    cells = "".join(f"{taken:9.3f} s {one / taken:5.2f}x" for taken in rest)
    more = [
        f"{seconds['ray'] / seconds[name] - 1.0:+8.0%}"
        for name in ("threads", "processes")
        if {"ray", name} <= {*seconds}
    ]
    print(f"{program:34}{one:8.3f} s{cells}   {' '.join(more)}{remark}", flush=True)


def done(work: Work, engine: Engine | None, threads: int) -> Any:
    """Do some work with an engine."""
    with ts.threads(threads), working_on(engine):
        return work()


def digest(value: Any) -> str:
    """Return a digest of all numbers and texts of a value."""
    return hashlib.sha256(pickle.dumps(_plain(value))).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return [(repr(key), _plain(own)) for key, own in value.items()]
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    return repr(value)


def busy(seconds: float = 1.0) -> float:
    """Return the share of the cores' time that is not idle while this process waits."""
    first = list(_ticks())
    time.sleep(seconds)
    spent = [b - a for a, b in zip(first, _ticks(), strict=True)]
    return 1.0 - sum(spent[3:5]) / max(1, sum(spent)) if spent else 0.0


def _ticks() -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from map(
            int, Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]
        )


if __name__ == "__main__":
    main()
