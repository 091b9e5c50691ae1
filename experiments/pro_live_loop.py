"""The loops of pro_live.py: ways of tuning, where they begin, and what their rounds come to."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tunesmith as ts
from pro_length_ways import PLAIN
from pro_monsters_loop import PAIRS
from tunesmith.data.candidates import CandidateSet
from tunesmith.decoders.base import Sentence
from tunesmith.decoders.thot import BOUNDS, ThotDecoder
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.tuners.base import TUNERS

DATA = Path(__file__).parents[1] / "examples" / "catalogs"


@dataclass(frozen=True)
class Protocol:
    """How large the experiment is.

    Attributes
    ----------
    share
        How much of the new weights PRO takes: the papers' Ψ.
    test_step
        Of Test every so manieth sentence is taken.
    """

    rounds: int
    nbest_size: int
    seeds: tuple[int, ...]
    share: float
    test_step: int


@dataclass(frozen=True)
class Way:
    """A way of tuning: a row of the tables."""

    label: str
    tuner: str
    options: dict[str, Any] = field(default_factory=dict)

    def made(self, protocol: Protocol) -> ts.Tuner:
        """Return the tuner."""
        usual = {"interpolation": protocol.share} if self.tuner == "pro" else {}
        return TUNERS.get(self.tuner)(**usual | self.options)


def pro(label: str, **options: Any) -> Way:
    """Return PRO: the papers' but for some options."""
    return Way(label, "pro", PLAIN | options)


#: As the project's example has it: log-probabilities that a translation should not flee.
MERT = Way("MERT", "mert", {"bound": BOUNDS})
MIRA = Way("batch MIRA", "batch-mira")
PRO = pro("PRO")
LENGTHS = (
    PRO,
    # One of these is a protocol's own.
    pro("PRO, Ψ = 0.1", interpolation=0.1),
    pro("PRO, Ψ = 1", interpolation=1.0),
    pro("PRO, PC-unsmoothed", objective=("unsmoothed",)),
    pro("PRO, PC-grounded", objective=("grounded",)),
    pro("PRO, BP-smoothed", objective=("brevity-smoothed",)),
    pro("PRO, BP-smoothed, PC-grounded", objective=("brevity-smoothed-grounded",)),
    pro("PRO, scaled by r′/c′", objective=("scaled",)),
    pro("PRO, unclipped", objective=("unclipped",)),
    pro("PRO, corpus-BLEU", objective=("document",)),
    MIRA,
    MERT,
)
MONSTERS = (
    PRO,
    pro("BLEU+1 max=10", select=("difference:least=0.05,most=0.1",)),
    pro("LEN max=10", select=("difference:least=0.05", "length:most=10")),
    pro("PRO, rand", select=("all",), accept="random:pairs=50"),
    MIRA,
    MERT,
)


@dataclass(frozen=True)
class Start:
    """Where tuning begins.

    Attributes
    ----------
    words
        The weight of WordPenalty; the others are the configuration's.
    drop
        Features that have no weight at all.
    """

    words: float
    drop: tuple[str, ...] = ()


STARTS = {
    "as configured": Start(1.0),
    # Moses has no feature for the length of a sentence, and it would hold the output back.
    "too short": Start(10.0, ("SentenceLength",)),
    "too long": Start(-10.0),
}


@dataclass(frozen=True)
class Job:
    """One loop: a row of the results. ``part`` is "lengths" or "monsters"."""

    part: str
    start: str
    way: Way
    seed: int

    def key(self) -> dict[str, Any]:
        """Return what tells its row from others."""
        return {
            "part": self.part,
            "start": self.start,
            "label": self.way.label,
            "seed": self.seed,
        }


def jobs(protocol: Protocol, parts: Sequence[str]) -> list[Job]:
    """Return all loops of some parts."""
    found: list[Job] = []
    for seed in protocol.seeds:
        if "lengths" in parts:
            ways = [w for w in LENGTHS if w.options.get("interpolation") != protocol.share]
            found += [Job("lengths", "as configured", way, seed) for way in ways]
        if "monsters" in parts:
            found += [Job("monsters", start, way, seed) for start in STARTS for way in MONSTERS]
    return found


_known: dict[Any, CandidateSet] = {}


class Thot(ThotDecoder):
    """Thot, which translates a set once with the weights that several loops begin with."""

    def decode(self, weights: ts.Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        """Translate, or remember."""
        if weights["LanguageModel"] != 1.0:
            return super().decode(weights, sentences)
        key = (tuple(weights.items()), tuple(sentences), self.nbest_size)
        if key not in _known:
            _known[key] = super().decode(weights, sentences)
        return _known[key]


_loaded: dict[Any, Thot] = {}


def read(which: str) -> Inputs:
    """Read a set."""
    return Inputs.read(DATA / f"{which}.de", DATA / f"{which}.en")


def part_of(whole: Inputs, kept: Sequence[int]) -> Inputs:
    """Return some sentences of a set."""
    texts = [whole.sentences[k].text for k in kept]
    return Inputs.of(texts, [whole.references[k] for k in kept])


def longest_half(whole: Inputs) -> Inputs:
    """Return the half of a set whose references are the longest, in its order."""
    lengths = [len(references[0].split()) for references in whole.references]
    order = sorted(range(len(lengths)), key=lambda k: (-lengths[k], k))
    return part_of(whole, sorted(order[: len(order) // 2]))


def run(job: Job, protocol: Protocol, model: Path, out: Path) -> dict[str, Any]:
    """Go through one loop, or go on with it; return what its rounds came to."""
    begun = time.perf_counter()
    loaded = (model, protocol.nbest_size)
    if loaded not in _loaded:
        _loaded[loaded] = Thot(str(model / "smt.cfg"), protocol.nbest_size, alignment="hmm")
    decoder = _loaded[loaded]
    start = STARTS[job.start]
    tune, test = read("tune"), read("test")
    name = re.sub(r"\W+", "-", f"{job.part} {job.start} {job.way.label} {job.seed}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        Loop(rounds=protocol.rounds, final="last").run(
            decoder,
            job.way.made(protocol),
            tune if job.part == "lengths" else longest_half(tune),
            start={**decoder.start(), "WordPenalty": start.words},
            test=part_of(test, range(0, len(test.sentences), protocol.test_step)),
            seed=job.seed,
            drop=start.drop,
            work_dir=out / name,
        )
    rounds = [told(folder) for folder in sorted((out / name).glob("round-*"))]
    return job.key() | {"rounds": rounds, "seconds": round(time.perf_counter() - begun, 1)}


def told(folder: Path) -> dict[str, Any]:
    """Return what the files of a round say."""
    scores = json.loads((folder / "scores.json").read_text())
    weights = json.loads((folder / "weights.json").read_text())["weights"]
    size = sum(map(abs, weights.values()))
    found: dict[str, Any] = {"new": scores["new"]}
    for which, one in scores["outputs"].items():
        found[f"{which}_bleu"] = round(one["score"], 3)
        found[f"{which}_ratio"] = round(one["length_ratio"], 4)
    found["weights"] = [round(value / size, 4) for value in weights.values()]
    if (folder / "tuned.json").exists():
        tuned = json.loads((folder / "tuned.json").read_text())
        last = tuned["history"][-1]
        found |= {key: round(last[key], 2) for key in PAIRS if key in last}
        found["monsters"] = any("monsters in" in one for one in tuned["warnings"])
    return found
