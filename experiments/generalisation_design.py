"""How the committee was settled: variants of it on sets that no table of results reports on.

Tuned on the tuning sets, or the Dev sets of both catalogs, or on random sentences of the tuning
sets and of lists of news commentary; evaluated on the rest of the tuning set and on Dev (of m30k,
on the first half of its test set). The Test sets of generalisation.py are never read. Needs
TUNESMITH_SHARED_DATA and about half an hour of processor time, and writes
docs/results/generalisation-design.json; cases that are there are not run again.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import tunesmith as ts
from generalisation_sets import SETS, Sets
from tunesmith.arrays import Floats, Stats
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.auto import STEPS, _HeldOutSentences, _not_worse
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.fitting.folds import Folds
from tunesmith.tuners.fitting.verdict import resampled_scores

ROWS = Path(__file__).parent.parent / "docs" / "results" / "generalisation-design.json"
#: What members found is kept here, so that a variant costs seconds.
FOUND = Path(tempfile.gettempdir()) / "tunesmith-design"
MEMBERS = {
    "mert": "mert:restarts=2,walks=1",
    **{name: name for name in ("batch-mira", "ramp", "pro", "mira")},
}
FOUR = ("mert", "batch-mira", "ramp", "pro")
PARTS = 5
#: Set, what of it is tuned on, how many sentences (0 is all), and which draw of them. "tuned start"
#: begins with weights that five rounds of tuning on the same set have led to.
WHOLE = (
    *((name, "tune", 0, 0) for name in ("catalogs-neural", "m30k-de-en", "catalogs-nbest")),
    ("catalogs-neural", "dev", 0, 0),
    ("catalogs-nbest", "dev", 0, 0),
)
TWO_HUNDRED = (
    *(("catalogs-neural", "tune", 200, draw) for draw in range(3)),
    *((name, "tune", 200, draw) for name in ("m30k-de-en", "catalogs-nbest") for draw in range(2)),
)
FIFTY = tuple(
    (name, "tune", 50, draw)
    for draw in range(2)
    for name in ("catalogs-neural", "catalogs-nbest", "m30k-de-en")
)
TUNED_START = (
    *(("m30k-de-en", "tuned start", 50, draw) for draw in range(3)),
    *(("m30k-de-en", "tuned start", 100, draw) for draw in range(2)),
    *(("m30k-de-en", "tuned start", 200, draw) for draw in range(2)),
)
NEWS = tuple(("nc-wmt11-de-en", "tune", 250, draw) for draw in range(4))
CASES = {
    "1000": WHOLE,
    "news": NEWS,
    "200": TWO_HUNDRED,
    "50": FIFTY,
    "tuned start": TUNED_START,
}


def news(shared: Path) -> Sets:
    """Read lists of cdec: news commentary, 12 features, 500 sentences."""
    here = shared / "nc-wmt11-de-en"
    lists = ts.TuningSet(ts.read(here / "dev.kbest.gz", here / "dev.en"))
    return Sets(lists, lists, ts.read_weights(here / "weights.init").weights)


@dataclass(frozen=True)
class Case:
    """A set to tune on, others to evaluate on, and what members found."""

    tuning: TuningSet
    others: Sequence[TuningSet]
    begin: Floats
    found: Mapping[str, Sequence[Floats]]

    def scaled(self, weights: Floats) -> Floats:
        """Return weights at which the deviation of model scores is 1."""
        hypotheses = self.tuning.hypotheses()
        size = hypotheses.deviation(hypotheses.point(weights))
        return weights / size if size > 0.0 else weights

    @cached_property
    def held_out(self) -> _HeldOutSentences:
        """The parts that members were tuned without."""
        return _HeldOutSentences(self.tuning, Folds.of(self.tuning.groups, PARTS), None)

    def outputs(self, names: Sequence[str]) -> dict[str, Stats]:
        """Return what each member chooses in the sentences that it was tuned without."""
        return {name: self.held_out.output(self.found[name][:PARTS]) for name in names}

    def mixed(self, shares: Mapping[str, float]) -> list[Floats]:
        """Return the average without each part, and that of the whole set."""
        return [
            self.scaled(sum(share * self.found[name][k] for name, share in shares.items()))
            for k in range(PARTS + 1)
        ]

    def not_worse(self, names: Sequence[str]) -> dict[str, float]:
        """Return equal shares of those that are not clearly worse."""
        some = _not_worse(self.tuning.metric, self.outputs(names))
        return dict.fromkeys(some, 1.0 / len(some))

    def often_best(self, names: Sequence[str]) -> dict[str, float]:
        """Return as shares in how many samples of sentences each is best."""
        drawn = resampled_scores(self.tuning.metric, list(self.outputs(names).values()))
        counts = np.bincount(drawn.argmax(axis=1), minlength=len(names))
        return dict(zip(names, (counts / len(drawn)).tolist(), strict=True))

    def best_step(self, averages: Sequence[Floats]) -> float:
        """Return the mean of the best steps, at most 1."""
        outputs = [
            self.held_out.output([(1.0 - s) * self.begin + s * own for own in averages[:PARTS]])
            for s in STEPS
        ]
        drawn = resampled_scores(self.tuning.metric, outputs)
        return min(float(np.asarray(STEPS)[drawn.argmax(axis=1)].mean()), 1.0)

    def at(self, averages: Sequence[Floats], step: float) -> Floats:
        """Return the step towards the average of all."""
        average = self.scaled(self.scaled(np.mean(averages[:PARTS], axis=0)) + averages[PARTS])
        return (1.0 - step) * self.begin + step * average

    def lengthened(self, averages: Sequence[Floats], step: float) -> Floats:
        """Return that step, and one more along the weights that predict the length."""
        along = self.scaled(length_weights(self.tuning))
        steps = np.arange(-4, 5) / 10
        towards = [(1.0 - step) * self.begin + step * own for own in averages[:PARTS]]
        outputs = [self.held_out.output([own + s * along for own in towards]) for s in steps]
        best = resampled_scores(self.tuning.metric, outputs).argmax(axis=1)
        return self.at(averages, step) + steps[best].mean() * along

    def gain(self, weights: Floats) -> float:
        """Return the gain over the start on the other sentences."""
        metric = self.tuning.metric
        after, before = (
            float(metric.score(sum(task.winners(w).stats.sum(axis=0) for task in self.others)))
            for w in (weights, self.begin)
        )
        return after - before


def length_weights(tuning: TuningSet) -> Floats:
    """Return the least-squares fit of the number of words within each list."""
    candidates = tuning.candidates
    start, sizes = candidates.start[:-1], np.diff(candidates.start)

    def centred(values: Floats) -> Floats:
        return values - np.repeat(np.add.reduceat(values, start) / sizes, sizes)

    rows = np.array([centred(row) for row in candidates.features.dense])
    spread = rows.std(axis=1)
    spread[spread == 0.0] = 1.0
    rows /= spread[:, None]
    words = centred(np.diff(candidates.texts.start).astype(np.float64))
    ridge = 1e-3 * rows.shape[1] * np.eye(len(rows))
    return np.linalg.solve(rows @ rows.T + ridge, rows @ words) / spread


def variants(case: Case) -> Iterator[tuple[str, Floats]]:
    """Yield the default and what differs from it in one thing; members that are not there last."""
    count = case.tuning.groups
    four = case.mixed(case.not_worse(FOUR))
    best = case.best_step(four)
    usual = best * count / (count + 10)
    yield "the default", case.at(four, usual)
    for name, shares in {
        "with mira": case.not_worse((*FOUR, "mira")),
        **{
            f"without {left}": case.not_worse([name for name in FOUR if name != left])
            for left in FOUR
        },
        "mira for pro": case.not_worse(("mert", "batch-mira", "ramp", "mira")),
        "all members, worse ones too": dict.fromkeys(FOUR, 0.25),
        "shares by how often each is best": case.often_best(FOUR),
    }.items():
        averages = case.mixed(shares)
        yield name, case.at(averages, case.best_step(averages) * count / (count + 10))
    yield "step: the best, without a factor", case.at(four, best)
    yield "step: 40 sentences for the start", case.at(four, best * count / (count + 40))
    yield "step: n / (n + 40), whatever is best", case.at(four, count / (count + 40))
    yield "length corrected", case.lengthened(four, usual)
    for name in MEMBERS:
        yield f"`{name}` alone", case.scaled(case.found[name][PARTS])


def case_of(sets: Sets, shared: Path, about: tuple[str, str, int, int]) -> Case:
    """Tune all members, or read what they found."""
    _, tuned_on, size, draw = about
    whole, others, start = sets.tune, list(sets.more), sets.start
    if tuned_on == "dev":
        whole, others = others[0], [whole]
    if tuned_on == "tuned start":
        start = ts.read_weights(shared / "m30k-de-en" / "weights.run5.dense").weights
    if size:
        order = np.random.default_rng([size, draw, 77]).permutation(whole.groups)
        others = [whole.part(np.sort(order[size:])), *others]
        whole = whole.part(np.sort(order[:size]))
    given = None if start is None else np.asarray(start.aligned(whole.names))
    begin = TUNERS.create("auto").baseline(whole) if given is None else given
    case = Case(whole, others, begin, {})
    found = {
        member: [case.scaled(w) for w in found_by(member, whole, given, draw, about)]
        for member in MEMBERS
    }
    return Case(whole, others, case.scaled(begin), found)


def found_by(
    member: str, tuning: TuningSet, start: Floats | None, seed: int, about: tuple[object, ...]
) -> list[Floats]:
    """Return the weights of a member without each part, and of all."""
    file = FOUND / (".".join(map(str, (*about, member))) + ".pickle")
    if file.exists():
        found: list[Floats] = pickle.loads(file.read_bytes())
        return found
    folds = Folds.of(tuning.groups, PARTS)
    parts = [*(tuning.part(folds.rest(k)) for k in range(PARTS)), tuning]
    generators = np.random.default_rng(1 + seed).spawn(len(parts))
    tuner = TUNERS.create(MEMBERS[member])
    found = [
        tuner.tune(part, start, copy.deepcopy(generator.spawn(1)[0])).weights
        for part, generator in zip(parts, generators, strict=True)
    ]
    FOUND.mkdir(exist_ok=True)
    file.write_bytes(pickle.dumps(found))
    return found


def main() -> None:
    """Evaluate all variants in the cases that are missing."""
    warnings.simplefilter("ignore")
    shared = Path(os.environ["TUNESMITH_SHARED_DATA"])
    read: dict[str, Sets] = {}
    there = json.loads(ROWS.read_text()) if ROWS.exists() else []
    done = {(row["kind"], *row["case"]): row for row in there}
    rows: list[dict[str, Any]] = []
    with ts.threads(1):
        for kind, about in ((kind, about) for kind, cases in CASES.items() for about in cases):
            if (kind, *about) not in done:
                if about[0] not in read:
                    read[about[0]] = (SETS | {"nc-wmt11-de-en": news})[about[0]](shared)
                case = case_of(read[about[0]], shared, about)
                gains = {name: round(case.gain(w), 4) for name, w in variants(case)}
                done[kind, *about] = {"kind": kind, "case": list(about), "gains": gains}
                print(about, gains["the default"], flush=True)
            rows.append(done[kind, *about])
    ROWS.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
