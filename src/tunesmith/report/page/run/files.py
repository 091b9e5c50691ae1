"""The sets of a run, read again from the files that it was made from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

from tunesmith.data.candidates import FileDigest
from tunesmith.data.columns import with_columns
from tunesmith.data.forests import Forests
from tunesmith.data.weights import Weights
from tunesmith.derived.adding import with_features_of
from tunesmith.errors import TunesmithError
from tunesmith.inference.forests.lists import kbest_lists, merged
from tunesmith.inference.forests.prune import prune_beam, prune_density, prune_posterior
from tunesmith.io.forests.read import read_forests
from tunesmith.io.read import read
from tunesmith.io.reading import Reading
from tunesmith.metrics.base import Metric
from tunesmith.report.page.run.record import RunSet, Which
from tunesmith.tasks.base import Task
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.fitting import guards

#: The sets, as sentences call them.
CALLED = cast("dict[Which, str]", guards.CALLED)
#: Derivations of a forest that are shown, under the weights before and after.
DERIVATIONS = 50
#: Scores that differ by less, relative to them, are the same.
TOLERANCE = 1e-6
PRUNINGS: dict[str, Callable[..., Forests]] = {
    "posterior": prune_posterior,
    "beam": prune_beam,
    "density": prune_density,
}


@dataclass(frozen=True)
class SetFiles:
    """The files of a set, as a user names them."""

    candidates: tuple[str, ...] = ()
    forests: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    source: str | None = None
    format: str | None = None

    def over(self, named: Mapping[str, Any]) -> SetFiles:
        """Return the files that a result names, those given here taking their place."""
        merged: dict[str, Any] = {}
        for item in fields(self):
            chosen, recorded = getattr(self, item.name), named.get(item.name)
            merged[item.name] = chosen or (
                tuple(recorded) if isinstance(recorded, list) else recorded or chosen
            )
        if self.candidates or self.forests:
            merged |= {"candidates": self.candidates, "forests": self.forests}
            merged |= {"scores": self.scores, "format": self.format}
        return SetFiles(**merged)

    @property
    def paths(self) -> Iterator[str]:
        """All files that are read for a set of lists or forests."""
        yield from (*self.candidates, *self.forests, *self.references)
        yield from (text.partition("=")[2] for text in self.scores)


@dataclass(frozen=True)
class UserFiles:
    """Files that a user names where a run's own are missing or unnamed.

    Attributes
    ----------
    tune, dev, test
        Files of the sets.
    metric
        What was tuned for, with options. Needed for a class of a file of the user's own, which
        is never run because a result names it.
    """

    tune: SetFiles = field(default_factory=SetFiles)
    dev: SetFiles = field(default_factory=SetFiles)
    test: SetFiles = field(default_factory=SetFiles)
    metric: str | None = None

    def of(self, which: Which) -> SetFiles:
        """Return the files of a set."""
        files: SetFiles = getattr(self, which)
        return files


@dataclass(frozen=True)
class FileReader:
    """Reads the sets that a result file names.

    Attributes
    ----------
    result, folder
        The result, and where its file is.
    metric, metrics
        What was tuned for, and all that was reported.
    start, weights
        Before and after.
    user_files
        What a user gives.
    """

    result: Mapping[str, Any]
    folder: Path
    metric: Metric
    metrics: Sequence[Metric]
    start: Weights
    weights: Weights
    user_files: UserFiles

    def sets(self) -> tuple[dict[Which, RunSet], list[str]]:
        """Return the sets that can be read, and why others cannot."""
        sets: dict[Which, RunSet] = {}
        missing: list[str] = []
        inputs = self.result.get("inputs") or {}
        for which, called in CALLED.items():
            named = inputs.get(which) or {}
            files = self.user_files.of(which).over(named)
            is_there = which == "tune" or self.result.get(which) is not None
            if not is_there and not any(files.paths):
                continue
            try:
                sets[which] = self._set(which, files)
                missing += self._doubts(which, sets[which])
            except TunesmithError as error:
                missing.append(f"The {called} is not shown: {error}.")
        return sets, missing

    def _set(self, which: Which, files: SetFiles) -> RunSet:
        option = "" if which == "tune" else f"{which}-"
        if not files.candidates and not files.forests:
            raise TunesmithError(
                f"the result does not say what it was read from; give --{option}candidates"
            )
        is_given = bool(self.user_files.of(which).candidates or self.user_files.of(which).forests)
        files = self._located(files, f"--{option}")
        tuning = self._read(which, files)
        if not is_given:
            self._check_unchanged(tuning.files, f"--{option}candidates")
        return run_set(tuning, self.start, self.weights)

    def _located(self, files: SetFiles, option: str) -> SetFiles:
        """Return the files with the paths at which they are."""

        def at(path: str, ending: str) -> str:
            if path == "-":
                raise TunesmithError(f"it came from standard input; give {option}{ending}")
            for place in places(self.folder, path):
                if os.path.exists(place):  # False, too, for what no name can be
                    return os.fspath(place)
            raise TunesmithError(f"{path} is not there; give {option}{ending}")

        scores = (text.partition("=") for text in files.scores)
        return replace(
            files,
            candidates=tuple(at(path, "candidates") for path in files.candidates),
            forests=tuple(at(path, "forests") for path in files.forests),
            references=tuple(at(path, "references") for path in files.references),
            scores=tuple(f"{name}={at(path, 'scores')}" for name, _, path in scores),
        )

    def _read(self, which: Which, files: SetFiles) -> Task:
        if files.forests:
            forests = read_forests(files.forests, files.references, files.format)
            forests = with_features_of(forests, self.weights)
            prune = (self.result.get("inputs") or {}).get("prune")
            if prune and which == "tune":
                forests = _pruned(forests, prune, self.start)
            return ForestTuning(forests, self.metric)
        scores = dict(text.split("=", 1) for text in files.scores)
        named = (self.result.get("inputs") or {}).get(which) or {}
        costs = frozenset(n for m in self.metrics if not m.higher_is_better for n in m.columns)
        reading = Reading.of_record(named.get("reading") or {}).with_costs(costs)
        reading = reading.including(name for metric in self.metrics for name in metric.columns)
        candidates = read(files.candidates, files.references, files.format, scores, reading=reading)
        present = {*candidates.columns, *candidates.features.names}
        columns = [name for metric in self.metrics for name in metric.columns if name in present]
        candidates = with_features_of(with_columns(candidates, columns), self.weights)
        return TuningSet(candidates, self.metric)

    def _check_unchanged(self, files: Sequence[FileDigest], option: str) -> None:
        """Raise an error if a file has changed since the run read it."""
        known: dict[str, set[str]] = {}
        for input_file in self.result.get("data") or ():
            known.setdefault(os.path.basename(str(input_file.get("path"))), set()).add(
                input_file.get("sha256")
            )
        for file in files:
            before = known.get(os.path.basename(file.path))
            if before is not None and file.sha256 not in before:
                raise TunesmithError(
                    f"{file.path} has changed since; have it as it was, or give {option}"
                )

    def _doubts(self, which: Which, run_set: RunSet) -> Iterator[str]:
        """Say so if a set does not score as the run says."""
        scores = self.result if which == "tune" else (self.result.get(which) or {})
        yield from doubts(which, run_set.lists.metric, run_set, scores.get("score"))


def places(folder: Path, path: str) -> Sequence[Path]:
    """Return where a path of a result may lead: from here, from its folder, from that above it."""
    # The parent of a relative folder may be that folder itself.
    return [place / path for place in (Path(), folder, folder / os.pardir)]


def _pruned(forests: Forests, prune: str, start: Weights) -> Forests:
    """Prune forests as the run did."""
    kind, _, value = prune.partition(":")
    try:
        return PRUNINGS[kind](forests, start.aligned(forests.names), float(value))
    except (KeyError, ValueError):
        raise TunesmithError(f"'{prune}' is no way to prune; fix the result") from None


def doubts(which: Which, metric: Metric, run_set: RunSet, score: Any) -> Iterator[str]:
    """Say so if the output of a run does not score as the run says."""
    try:
        recomputed = TuningSet(run_set.after, metric).output_score()
    except TunesmithError:
        return
    if not isinstance(score, int | float):
        return
    if abs(recomputed - score) > TOLERANCE * max(1.0, abs(score)):
        yield (
            f"The {CALLED[which]} scores {recomputed:.4f} as it is read here, and {score:.4f} in "
            "the run: give the same candidates, references and options of the metric."
        )


def run_set(tuning: Task, start: Weights, weights: Weights) -> RunSet:
    """Return what weights choose from a set, before and after; of forests the best derivations."""
    before, after = (tuning.winners(w.aligned(tuning.names)).candidates for w in (start, weights))
    if tuning.lists is not None:
        return RunSet(tuning.lists, before, after)
    lists = forest_lists(cast(Forests, tuning.inputs), tuning.metric, start, weights)
    return RunSet(lists, before, after, is_partial=True)


def forest_lists(forests: Forests, metric: Metric, start: Weights, weights: Weights) -> TuningSet:
    """Return the best derivations of forests under the weights before and after, as one list."""
    after, before = (
        TuningSet(kbest_lists(forests, w.aligned(forests.names), DERIVATIONS), metric)
        for w in (weights, start)
    )
    return merged(after, before)
