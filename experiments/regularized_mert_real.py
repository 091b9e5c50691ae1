"""The real part of regularized_mert.py: few features against thousands, with penalties or not."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tunesmith as ts
from tunesmith.inference.lists.hypotheses import best

#: The 14 dense features; the others are sparse.
SMALL = (
    "LexicalReordering0_*",
    "Distortion0",
    "LM0",
    "WordPenalty0",
    "PhrasePenalty0",
    "TranslationModel0_*",
)
#: Dev is the test set up to this sentence, Test the rest.
HALF = 500
#: What l2-fixed holds.
FIXED = "LM0"
#: What is tuned for the small model, whose weights are w0.
BASE = "MERT, coordinate, 20 restarts"
DECODER = "weights that Dev and Test were decoded with"
PENALTIES = {
    "l2-prior": "ℓ2 (v1: towards w0)",
    "l2-fixed": f"ℓ2 (v2: {FIXED} held)",
    "l2-normalized": "ℓ2 (v3: ℓ1-renormalised)",
    "l0": "ℓ0",
}


@dataclass(frozen=True)
class Sets:
    """What is tuned on, what chooses the strength, what is only reported, and what decoded it."""

    tune: ts.TuningSet
    dev: ts.TuningSet
    test: ts.TuningSet
    decoder: ts.Weights


@dataclass(frozen=True)
class Protocol:
    """What is run: seeds, penalties from which starts, their strengths, and scales of the length.

    Strengths go from strong to weak: each begins where the stronger one before it ended.
    """

    seeds: tuple[int, ...]
    starts: tuple[str, ...]
    strengths: Mapping[str, tuple[float, ...]]
    lengths: tuple[float, ...]


def read(shared: Path) -> Sets:
    """Read both rounds as Tune, and halve the test set."""
    here, texts = shared / "m30k-de-en-sparse", shared / "m30k-de-en"
    lists = [here / "run1.nbest.gz", here / "run2.nbest.gz"]
    tune = ts.read(lists, texts / "val.ref")
    test = ts.read(here / "test.nbest.gz", texts / "test.ref")
    halves = (test.with_groups(g) for g in (range(HALF), range(HALF, test.groups)))
    weights = {
        name: weight
        for kind in ("dense", "sparse")
        for name, weight in ts.read_weights(here / f"weights.run2.{kind}").weights.items()
    }
    return Sets(ts.TuningSet(tune), *map(ts.TuningSet, halves), ts.Weights.from_dict(weights))


def uniform(names: Sequence[str]) -> dict[str, float]:
    """Return equal weights that add up to 1."""
    return dict.fromkeys(names, 1.0 / len(names))


def run(sets: Sets, protocol: Protocol, keep: Callable[[dict[str, Any]], None]) -> None:
    """Tune in every way with every seed; hand over each result as it comes."""
    names = sets.tune.candidates.features.names
    small = sets.tune.candidates.with_features(SMALL).features.names
    keep(_decoder_row(sets, protocol.seeds[0]))
    for seed in protocol.seeds:

        def fit(
            tuner: ts.MERT, start: Mapping[str, float], seed: int = seed, **more: Any
        ) -> ts.TuneResult:
            with warnings.catch_warnings():  # the prior and the start lack features: on purpose
                warnings.simplefilter("ignore", UserWarning)
                return tuner.fit(sets.tune, start, sets.dev, seed, test=sets.test, **more)

        on_small = {"keep": SMALL, "normalise": "l1"}
        base = {
            scale: fit(ts.MERT(length_scale=(scale,)), uniform(small), **on_small)
            for scale in (1.0, *protocol.lengths)
        }
        keep(_row(BASE, "uniform", seed, {1.0: base[1.0]}, len(small)))
        if protocol.lengths:
            keep(_row(f"{BASE}, length scaled", "uniform", seed, base, len(small)))
        w0 = {name: base[1.0].weights[name] for name in small}
        starts = {"uniform": uniform(names), "w0": w0}
        for label, start, options in ways(protocol, w0):
            scaled = protocol.lengths if "scaled" in label else ()
            found = {
                scale: fit(
                    ts.MERT(restarts=0, walks=0, length_scale=(scale,), **options), starts[start]
                )
                for scale in (1.0, *scaled)
            }
            keep(_row(label, start, seed, found, len(names)))


def ways(protocol: Protocol, w0: Mapping[str, float]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a label, a start and options of everything that is run on all features."""
    for directions in ("coordinate", "gradient"):
        for start in ("uniform", "w0"):
            yield f"MERT, {directions}", start, {"directions": directions}
    own: dict[str, dict[str, Any]] = {
        "l2-prior": {"prior": w0},
        "l2-fixed": {"fixed_feature": FIXED},
        "l2-normalized": {},
        "l0": {},
    }
    for start in protocol.starts:
        for penalty, label in PENALTIES.items():
            options = {"penalty": penalty, "strength": protocol.strengths[penalty], **own[penalty]}
            yield f"{label}, gradient", start, {"directions": "gradient", **options}
    options = {"penalty": "l2-prior", "strength": protocol.strengths["l2-prior"], "prior": w0}
    yield f"{PENALTIES['l2-prior']}, coordinate", "w0", {"directions": "coordinate", **options}
    if protocol.lengths:
        label = f"{PENALTIES['l2-prior']}, coordinate, length scaled"
        yield label, "w0", {"directions": "coordinate", **options}


def _row(
    label: str, start: str, seed: int, several: Mapping[float, ts.TuneResult], features: int
) -> dict[str, Any]:
    """Take what is best on Dev, of every strength and every scale of the length."""
    scale = max(several, key=lambda one: _held_out(several[one])[0].score)
    found = several[scale]
    dev, test = _held_out(found)
    paths = [{"length_scale": one, **e} for one in several for e in several[one].path or []]
    chosen = [entry for entry in found.path or [] if entry["chosen"]]
    return {
        "label": label,
        "start": start,
        "seed": seed,
        "features": features,
        "tune": found.score,
        "dev": dev.score,
        "test": test.score,
        "length_ratio": test.length_ratio,
        "nonzero": sum(weight != 0.0 for weight in found.weights.values()),
        "strength": chosen[0]["strength"] if chosen else None,
        "length_scale": scale if len(several) > 1 else None,
        "line_searches": sum(one.line_searches for one in several.values()),
        "seconds": sum(one.seconds for one in several.values()),
        "path": paths,
    }


def _decoder_row(sets: Sets, seed: int) -> dict[str, Any]:
    """Evaluate the weights that Dev and Test were decoded with, for comparison."""
    row: dict[str, Any] = {"label": DECODER, "start": "", "seed": seed}
    for which in ("tune", "dev", "test"):
        held: ts.TuningSet = getattr(sets, which)
        chosen = best(held.candidates, sets.decoder.aligned(held.candidates.features.names))
        row[which] = held.score(chosen)
        row["length_ratio"] = held.metric.details(held.total(chosen))["length_ratio"]
    nonzero = sum(weight != 0.0 for weight in sets.decoder.values())
    row |= {"features": len(sets.tune.candidates.features.names), "nonzero": nonzero}
    return row | {"strength": None, "length_scale": None, "seconds": 0.0, "path": []}


def _held_out(found: ts.TuneResult) -> tuple[Any, Any]:
    if found.dev is None or found.test is None:
        raise ValueError("held-out sets are missing")
    return found.dev, found.test


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Show a line for every way of tuning, the mean over the seeds, and their range."""
    seeds = sorted({row["seed"] for row in rows})
    told = "one seed" if len(seeds) == 1 else f"the mean of {len(seeds)} seeds (least to most)"
    lines = [
        f"BLEU, {told}. The strength is the one that was best on Dev; length is that of the Test "
        "output over that of the references; seconds are those of the whole path.",
        "",
        "| method | start | features | Tune | Dev | Test | strength | not 0 | length | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for label, start in dict.fromkeys((row["label"], row["start"]) for row in rows):
        same = [row for row in rows if (row["label"], row["start"]) == (label, start)]
        scores = [_mean([row[which] for row in same]) for which in ("tune", "dev", "test")]
        strengths = sorted({row["strength"] for row in same if row["strength"] is not None})
        shown = ", ".join(f"{x:g}" for x in strengths)
        scales = sorted({row["length_scale"] for row in same if row["length_scale"] is not None})
        if scales:
            shown += "; length × " + ", ".join(f"{x:g}" for x in scales)
        nonzero = round(statistics.mean(row["nonzero"] for row in same))
        length = statistics.mean(row["length_ratio"] for row in same)
        seconds = statistics.mean(row["seconds"] for row in same)
        cells = [label, start, same[0]["features"], *scores, shown, nonzero]
        cells += [f"{length:.3f}", f"{seconds:.0f}" if seconds else ""]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _mean(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    if len(values) == 1:
        return mean
    return f"{mean} ({min(values):.2f} to {max(values):.2f})"
