"""From the work directory of a loop to a record of the run, finished or running."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Sentence, check_decoded
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.loop.forests import ForestsSoFar
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.lists import AccumulatedLists
from tunesmith.loop.records import (
    ABOUT,
    CONFIGURATION,
    LOCK,
    SCHEMA,
    TEXTS,
    read_forest_rows,
    read_lists,
    read_record,
)
from tunesmith.loop.rounds import LoopRound, best_round, history_of_rounds
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.report.page.run.files import CALLED, UserFiles, doubts, forest_lists
from tunesmith.report.page.run.record import RunRecord, RunSet, Which
from tunesmith.report.page.run.result import read_result
from tunesmith.tuners.fitting.result import SCHEMA as RESULT_SCHEMA

#: Makes a metric of its name, for a file, given by the user or not.
MakeMetric = Callable[[str, str, bool], Metric]


def read_folder(folder: Path, user_files: UserFiles, make: MakeMetric) -> RunRecord:
    """Read a work directory; nothing is written, and no lock is taken."""
    run = _Folder.of(folder, user_files, make)
    rounds = list(run.rounds())
    result, is_ended = run.result(rounds)
    locked = is_locked(folder)
    is_running = locked is True or (not is_ended and locked is None)
    if not is_ended and locked is False:
        run.missing.append(
            "The run ended before its last round, and nobody seems to work on it: the same command "
            "goes on from there."
        )
    try:
        start, weights = (Weights.from_dict(result[key]) for key in ("start", "weights"))
    except TunesmithError as error:
        raise TunesmithError(f"{folder / 'result.json'}: {error}") from None
    chosen = next((k for k, entry in enumerate(result["rounds"]) if entry.get("chosen")), None)
    sets = {} if chosen is None else run.sets(result["rounds"], chosen, start, weights)
    return RunRecord(
        os.fspath(folder),
        is_running,
        result,
        run.metric,
        start,
        weights,
        sets,
        tuple(run.missing),
        is_ended,
    )


def is_locked(folder: Path) -> bool | None:
    """Return whether a run has locked the folder; None if the system does not say.

    To try and take the lock would be in the way of a run that begins at that moment.
    """
    try:
        number = (folder / LOCK).stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    lock_places = [line.split()[-3] for line in lines if " FLOCK " in line and "->" not in line]
    return any(place.rpartition(":")[2] == str(number) for place in lock_places)


@dataclass
class _Folder:
    """A work directory as it is read."""

    path: Path
    configuration: Mapping[str, Any]
    about_run: Mapping[str, Any]
    metric: Metric
    user_files: UserFiles
    missing: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path, user_files: UserFiles, make: MakeMetric) -> _Folder:
        """Read what a run is about; raise an error if the folder is no run's."""
        if not (path / CONFIGURATION).is_file():
            raise UsageError(
                f"{path}: this is no work directory of `tunesmith tune --decoder`; name one, or a "
                "result file"
            )
        record = _unless_damaged(read_record, path / CONFIGURATION)
        configuration = record.get("configuration")
        if record.get("schema") != SCHEMA or not isinstance(configuration, dict):
            raise UsageError(
                f"{path / CONFIGURATION}: it was written by another version of tunesmith; make the "
                "report with that version"
            )
        about_run: Mapping[str, Any] = {}
        if (path / f"{ABOUT}.json").is_file():
            about_run = _unless_damaged(read_record, path / f"{ABOUT}.json")
        try:
            signature = str(configuration["tuning"]["metric"])
            configuration["decoding"]["start"]
            if not all(
                isinstance(configuration[section], dict) for section in ("tuning", "decoding")
            ):
                raise TypeError("an object")
            sets = configuration["decoding"]["sets"]
            if not isinstance(sets, dict) or not all(isinstance(o, dict) for o in sets.values()):
                raise TypeError("'sets'")
        except (KeyError, TypeError) as error:
            raise UsageError(
                f"{path / CONFIGURATION}: it lacks {error}; name another work directory"
            ) from None
        metrics = about_run.get("metrics")
        spec = metrics[0] if isinstance(metrics, list) and metrics else None
        spec = user_files.metric or spec or about_run.get("metric") or signature.partition("|")[0]
        metric = make(str(spec), os.fspath(path), user_files.metric is not None)
        if metric.signature() != signature:
            raise UsageError(
                f"{path}: it was tuned for {signature}, not {metric.signature()}; give --metric "
                "with the same options"
            )
        return cls(path, configuration, about_run, metric, user_files)

    @property
    def tuned_on(self) -> str:
        """What was tuned on: ``lists``, ``forests``, ``live``."""
        return str(self.configuration["decoding"].get("tune_on", "lists"))

    def rounds(self) -> Iterator[LoopRound]:
        """Yield the rounds that have been decoded; what comes after a damaged file is left out."""
        number = 0
        while (self.path / f"round-{number:02d}" / "scores.json").is_file():
            try:
                yield self._round(f"round-{number:02d}")
            except TunesmithError as error:
                self.missing.append(f"Rounds from {number} on are not shown: {error}.")
                return
            number += 1

    def _round(self, name: str) -> LoopRound:
        folder = self.path / name
        weights, scores = (read_record(folder / f"{name}.json") for name in ("weights", "scores"))
        tuned = read_record(folder / "tuned.json") if (folder / "tuned.json").is_file() else None
        try:
            loop_round = LoopRound(Weights.from_dict(weights["weights"]), {}, **scores, tuned=tuned)
            loop_round.check(scores["outputs"])
            loop_round.entry(0, False)
        except (KeyError, OverflowError, TypeError, ValueError, AttributeError) as error:
            raise TunesmithError(f"{folder} lacks something ({error}); remove it") from None
        return loop_round

    def result(self, rounds: Sequence[LoopRound]) -> tuple[dict[str, Any], bool]:
        """Return the result, or what is known so far; and whether it is the end."""
        path = self.path / "result.json"
        if path.is_file():
            try:
                result = read_result(path)
                plain = [
                    entry for entry in result["rounds"] or () if isinstance(entry["round"], int)
                ]
                if len(plain) >= len(rounds):
                    return result, True
            except (TunesmithError, KeyError) as error:
                self.missing.append(f"The result is not shown: {error}.")
        return self._so_far(rounds), False

    def _so_far(self, rounds: Sequence[LoopRound]) -> dict[str, Any]:
        """Return a result of the rounds that there are."""
        start = self.configuration["decoding"]["start"]
        chosen = self._best(rounds) if rounds else None
        tuned = [round_.tuned for round_ in rounds if round_.tuned is not None]
        record: dict[str, Any] = {
            "schema": RESULT_SCHEMA,
            "tuner": self.about_run.get("tuner", ""),
            "metric": self.metric.name,
            "signature": self.about_run.get("signature", ""),
            "seed": self.configuration["tuning"].get("seed"),
            "start": start,
            "weights": start if chosen is None else dict(chosen.weights),
            "rounds": [round_.entry(k, round_ is chosen) for k, round_ in enumerate(rounds)],
            "history": history_of_rounds(rounds),
            "warnings": list(
                dict.fromkeys(w for round_ in tuned for w in round_.get("warnings", ()))
            ),
            "certificate": None,
            "path": None,
            "others": [],
            "dev": None,
            "test": None,
            "data": self.about_run.get("data", []),
            "seconds": sum(round_.decode_seconds for round_ in rounds)
            + sum(round_["loop_seconds"] for round_ in tuned),
        }
        if chosen is not None:
            first = rounds[0].outputs
            for which, scores in chosen.outputs.items():
                scores_of_set = {**scores, "initial_score": first[which]["score"]}
                record |= scores_of_set if which == "tune" else {which: scores_of_set}
        return record

    def _best(self, rounds: Sequence[LoopRound]) -> LoopRound:
        """Return the round that would be chosen if there were no more."""
        final = self.about_run.get("final", "auto")
        if final in {"last", "average"}:
            return rounds[-1]
        has_dev = "dev" in rounds[0].outputs
        which = "dev" if has_dev and final in {"auto", "dev"} else "tune"
        return best_round(rounds, which, self.metric)

    def sets(
        self, rounds: Sequence[Mapping[str, Any]], chosen: int, start: Weights, weights: Weights
    ) -> dict[Which, RunSet]:
        """Return the sets whose candidates can be read; rounds are as a result has them."""
        sets: dict[Which, RunSet] = {}
        texts = self._texts()
        last = sum(isinstance(entry.get("round"), int) for entry in rounds) - 1
        names = [
            f"round-{k:02d}" if isinstance(entry.get("round"), int) else f"average-{last:02d}"
            for k, entry in enumerate(rounds)
        ]
        for which, called in CALLED.items():
            if which not in self.configuration["decoding"]["sets"]:
                continue
            try:
                inputs = self._inputs(which, texts)
                sets[which] = self._set(which, inputs, names, chosen, start, weights)
                key = "score" if which == "tune" else f"{which}_score"
                self.missing += doubts(which, self.metric, sets[which], rounds[chosen].get(key))
            except (TunesmithError, AttributeError, KeyError, TypeError, ValueError) as error:
                self.missing.append(f"The {called} is not shown: {error}.")
        return sets

    def _texts(self) -> Mapping[str, Any]:
        path = self.path / f"{TEXTS}.json"
        try:
            return read_record(path) if path.is_file() else {}
        except TunesmithError as error:
            self.missing.append(f"Sentences and references are not shown: {error}.")
            return {}

    def _inputs(self, which: Which, texts: Mapping[str, Any]) -> Inputs:
        """Return sentences and references: those that the run has stored, or that a user gives."""
        expected = self.configuration["decoding"]["sets"][which].get("sha256")
        set_files = self.user_files.of(which)
        recorded = texts.get(which)
        if isinstance(recorded, dict) and not set_files.references and not set_files.source:
            try:
                inputs = Inputs.from_dict(recorded)
            except (KeyError, TypeError, ValueError):
                raise TunesmithError(f"{TEXTS}.json lacks something; remove it") from None
            if inputs.digest()["sha256"] == expected:
                return inputs
        option = "" if which == "tune" else f"{which}-"
        if self.metric.needs_references and not set_files.references:
            raise TunesmithError(
                f"the run has kept no references of it, as older versions did not; give "
                f"--{option}references"
            )
        are_forests = self.tuned_on == "forests" and which == "tune"
        names = _ids(self.path / "round-00" / f"{which}.arrow", are_forests)
        known = [Sentence(name, "") for name in names]
        return Inputs.read(set_files.source, set_files.references, known)

    def _set(
        self,
        which: Which,
        inputs: Inputs,
        names: Sequence[str],
        chosen: int,
        start: Weights,
        weights: Weights,
    ) -> RunSet:
        """Put the decodings of all rounds together."""
        paths = [self.path / name / f"{which}.arrow" for name in names]
        if self.tuned_on == "forests" and which == "tune":
            return self._forests(inputs, paths, chosen, start, weights)
        columns = self.configuration["tuning"].get("columns") or ()
        lists = AccumulatedLists(inputs, self.metric, columns)
        outputs = []
        for path in paths:
            decoded = read_lists(path)
            check_decoded(decoded, inputs.sentences)
            lists.add(decoded)
            outputs.append(lists.output.candidates)
        is_partial = self.tuned_on != "lists"
        return RunSet(lists.merged, outputs[0], outputs[chosen], is_partial)

    def _forests(
        self, inputs: Inputs, paths: Sequence[Path], chosen: int, start: Weights, weights: Weights
    ) -> RunSet:
        so_far = ForestsSoFar(inputs, self.metric, ForestOptions())
        outputs = []
        for path in paths:
            record = read_record(path.parent / "weights.json")
            so_far.add(read_forest_rows(path), Weights.from_dict(record["weights"]))
            outputs.append(so_far.output.candidates)
        lists = forest_lists(so_far.merged.forests, self.metric, start, weights)
        return RunSet(lists, outputs[0], outputs[chosen], is_partial=True)


def _ids(path: Path, are_forests: bool) -> Sequence[int | str]:
    """Return the names of the sentences of a decoding."""
    return read_forest_rows(path).ids if are_forests else read_lists(path).ids


def _unless_damaged(read: Callable[[Path], dict[str, Any]], path: Path) -> dict[str, Any]:
    """Read a record without which there is no run to show."""
    try:
        return read(path)
    except TunesmithError as error:
        raise UsageError(f"{str(error).rpartition(';')[0]}; name another work directory") from None
