"""The run of a loop: its rounds of decoding and tuning, and their result."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.features import FeatureSelection
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import (
    Decoder,
    DecoderError,
    ExpectedFeatures,
    Sentence,
    check_decoded,
    count_misranked,
    digest_of,
)
from tunesmith.errors import TunesmithError, recorded_warnings
from tunesmith.interruption import check, uninterrupted, whole_or_nothing
from tunesmith.kernels.compiling import working_seconds
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.lists import AccumulatedLists
from tunesmith.loop.records import damaged_record
from tunesmith.loop.rounds import (
    LoopRound,
    WarningLog,
    check_number,
    check_texts,
    check_tuned,
    history_of_rounds,
)
from tunesmith.loop.state import State
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.parallel.local import thread_count
from tunesmith.progress import progress, tell
from tunesmith.registry import file_of
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.auto import Auto
from tunesmith.tuners.base import Tuner
from tunesmith.tuners.fitting.guards import (
    CALLED,
    guard_scores,
    overlap_of_texts,
    told_overlap,
    unguarded,
)
from tunesmith.tuners.fitting.result import OtherScores, Scores, TuneResult
from tunesmith.tuners.fitting.secondary import scores_of_outputs
from tunesmith.tuners.fitting.verdict import (
    UNKNOWN,
    HeldOutKind,
    PairedStatistics,
    Verdict,
    judge,
)

T = TypeVar("T")


class TimedDecoder(Protocol):
    """Wraps a decoding, so that its time and its warnings are recorded."""

    def __call__(self, make: Callable[[Path | None], T], /) -> Callable[[Path | None], T]:
        """Return the wrapped function."""
        ...


#: Keys that a result of tuning must have.
NEEDED = ("weights", "score", "warnings", "history", "certificate", "line_searches", "loop_seconds")


class RoundData(Protocol):
    """What has been decoded of a set, in all rounds or only in the last."""

    @property
    def output(self) -> TuningSet:
        """The decoder's output in the last round."""
        ...

    @property
    def merged(self) -> Task:
        """The set to tune on."""
        ...

    @property
    def new(self) -> int | None:
        """How many candidates the last round added."""
        ...

    @property
    def size(self) -> int | None:
        """The number of candidates."""
        ...

    def oracle(self, weights: Weights) -> tuple[float, bool]:
        """Return the best score of any choice of candidates, and whether it is exact."""
        ...


class Run:
    """A run of a loop: its parts, and the lists as they grow."""

    #: What the tuner works on; see ``Loop``.
    tune_on: ClassVar[str] = "lists"
    #: What the sizes count.
    candidates: ClassVar[str] = "candidates"
    lists: Mapping[str, RoundData]

    def __init__(
        self,
        decoder: Decoder,
        tuner: Tuner,
        metric: Metric,
        sets: dict[str, Inputs],
        start_weights: Weights,
        seed: int,
        fit_options: dict[str, Any],
        columns: Sequence[str] = (),
        forest_options: ForestOptions | None = None,
    ) -> None:
        self.decoder = decoder
        self.tuner = tuner
        self.metric = metric
        self.sets = sets
        self.start_weights = start_weights
        self.seed = seed
        self.fit_options = fit_options
        self.columns = list(columns)
        self.forest_options = forest_options or ForestOptions()
        # In a fixed order, whatever is decoded first: a resumed run reads some from disk.
        decoder.meet([sentence for inputs in sets.values() for sentence in inputs.sentences])
        self.lists = {name: self._so_far(name, inputs) for name, inputs in sets.items()}
        self.warnings = WarningLog()
        self._expected: ExpectedFeatures | None = None

    @property
    def dev_chooses(self) -> bool:
        """Whether the tuner itself chooses by held-out lists, which are needed for nothing else."""
        several = len(self.tuner.settings()) > 1 or isinstance(self.tuner, Auto)
        return "dev" in self.sets and several

    def grows(self, set_name: str) -> bool:
        """Tell whether the decodings of a set are merged from round to round."""
        return set_name == "tune" or (set_name == "dev" and self.dev_chooses)

    def _so_far(self, set_name: str, inputs: Inputs) -> RoundData:
        return AccumulatedLists(inputs, self.metric, self.columns, self.grows(set_name))

    def configuration(self) -> dict[str, Any]:
        """Return all that determines the rounds: what they decode, and how they tune."""
        selection = FeatureSelection.of(self.fit_options["keep"], self.fit_options["drop"])
        return {
            "decoding": {
                "decoder": self.decoder.configuration(),
                "sets": {name: inputs.digest() for name, inputs in self.sets.items()},
                "start": dict(self.start_weights),
            },
            "tuning": {
                "tuner": self.tuner_signature(),
                "metric": self.metric.signature(),
                "seed": self.seed,
                "normalise": self.fit_options["normalise"],
                "keep": list(selection.keep),
                "drop": list(selection.drop),
                "columns": self.columns,
            },
        }

    def tuner_signature(self) -> str:
        """Return what determines how a round tunes."""
        return self.tuner.signature()

    def files(self) -> dict[str, str]:
        """Return the digests of programs and of classes in users' files."""
        files = [file_of(part) for part in (self.decoder, self.tuner, self.metric)]
        return {**self.decoder.files(), **{file: digest_of(file) for file in files if file}}

    def guard(self) -> None:
        """Warn of sets that overlap."""
        with self._issue_once():
            for first, second in itertools.combinations(self.sets, 2):
                overlap = overlap_of_texts(self.sets[first].pairs, self.sets[second].pairs)
                text = told_overlap(overlap, CALLED[second], CALLED[first])
                if text is not None:
                    warnings.warn(text, stacklevel=2)

    def rounds(
        self,
        state: State,
        most: int,
        why_stop: Callable[[Sequence[LoopRound]], str | None],
        rounds: list[LoopRound],
    ) -> str:
        """Decode and tune in turn; append each round, and return why there are no more."""
        weights = self.start_weights
        while True:
            check()
            name = f"round-{len(rounds):02d}"
            rounds.append(self.decode_round(state, name, weights))
            new = "" if rounds[-1].new is None else f", {rounds[-1].new} new {self.candidates}"
            remark = f"output {rounds[-1].score:.2f}{new}"
            progress("rounds", len(rounds) - 1, most, remark)
            tell(f"round {len(rounds) - 1}: {remark}")
            stopped = why_stop(rounds)
            if stopped is not None:
                return stopped
            weights = self._tune_round(state, name, rounds)

    def decode_round(self, state: State, name: str, weights: Weights) -> LoopRound:
        """Decode all sets, add the lists to those of earlier rounds, and score the outputs."""
        recorded = state.record(f"{name}/weights", lambda: {"weights": dict(weights)})
        if recorded.get("weights") != dict(weights):
            raise TunesmithError(
                f"{name}/weights.json: these are not the weights that the rounds before came to; "
                "remove the folder and those of later rounds, and they are made again"
            )
        notes = [self._add(state, name, set_name, weights) for set_name in self.sets]

        def scores() -> dict[str, Any]:
            return {
                "outputs": {set_name: _output(lists) for set_name, lists in self.lists.items()},
                "new": self.lists["tune"].new,
                "candidates": self.lists["tune"].size,
                "decoded": sum(len(inputs.sentences) for inputs in self.sets.values()),
                "decode_seconds": sum(float(note["seconds"]) for note in notes),
            }

        texts = {set_name: lists.output.candidates for set_name, lists in self.lists.items()}
        with whole(f"{name}/scores.json"):
            loop_round = LoopRound(weights, texts, **state.record(f"{name}/scores", scores))
            loop_round.check(self.lists)
            return loop_round

    def _add(self, state: State, name: str, set_name: str, weights: Weights) -> dict[str, Any]:
        """Decode a set, and add its candidates; return the seconds that took, and its warnings."""
        step = f"{name}/{set_name}"
        notes: list[dict[str, Any]] = []

        def timed(make: Callable[[Path | None], T]) -> Callable[[Path | None], T]:
            def decode(folder: Path | None) -> T:
                start = working_seconds()
                with self._issue_once() as caught:
                    decoded = make(folder)
                seconds = working_seconds() - start
                note = {"seconds": seconds, "warnings": [str(w.message) for w in caught]}
                # Before the candidates: once they are written, nothing is decoded again.
                state.record(f"{step}-decoding", lambda: note)
                notes.append(note)
                return decoded

            return decode

        with _where(f"{name}, {set_name}"):
            self._take(state, step, set_name, weights, timed)
        with whole(f"{step}-decoding.json"):
            note = notes[0] if notes else state.record(f"{step}-decoding", _empty_note)
            check_number(note["seconds"], "seconds")
            check_texts(note["warnings"], "warnings")
            self.warnings.add(note["warnings"])
        return note

    def _take(
        self, state: State, step: str, set_name: str, weights: Weights, timed: TimedDecoder
    ) -> None:
        """Run the step that decodes a set, unless it is done, and add its candidates."""
        sentences, lists = self.sets[set_name].sentences, self.lists[set_name]
        assert isinstance(lists, AccumulatedLists)
        make = timed(lambda folder: self._decode(folder, weights, sentences))
        decoded = state.candidates(step, make)
        check_decoded(decoded, sentences)
        if self._expected is None:
            self._expected = ExpectedFeatures.of(decoded, self.start_weights)
        with uninterrupted():
            lists.add(decoded)
        check()

    def _decode(
        self, folder: Path | None, weights: Weights, sentences: Sequence[Sentence]
    ) -> CandidateSet:
        """Decode sentences, and check the candidates."""
        decoder = self.decoder if folder is None else self.decoder.in_folder(folder)
        decoded = decoder.decode(weights, sentences)
        try:
            check_decoded(decoded, sentences)
            if self._expected is not None:
                self._expected.check(decoded)
        except DecoderError as error:
            raise with_decoder_output(error, decoder) from None
        decoder.accepted()
        wrong, total = count_misranked(decoded, weights)
        if 2 * wrong > total:
            warnings.warn(
                f"in {wrong} of {total} sentences the decoder's first candidate is not the best "
                "under the weights that it was given; does it read them, and write the best first?",
                stacklevel=2,
            )
        return decoded

    def _tune_round(self, state: State, name: str, rounds: list[LoopRound]) -> Weights:
        """Tune on all decodings so far, from the weights of the last one."""
        with self._issue_once() as caught:
            tuned = state.record(f"{name}/tuned", lambda: self._learn(rounds, caught))
        rounds[-1].tuned = tuned
        with whole(f"{name}/tuned.json"):
            missing = [key for key in NEEDED if key not in tuned]
            if missing:
                raise KeyError(missing[0])
            check_tuned(tuned)
            self.warnings.add(tuned["warnings"])
            return Weights.from_dict(tuned["weights"])

    def _learn(
        self, rounds: Sequence[LoopRound], caught: Sequence[warnings.WarningMessage]
    ) -> dict[str, Any]:
        """Return the result of tuning, as JSON; ``caught`` are the warnings so far."""
        start_seconds = working_seconds()
        start = rounds[-1].weights
        tuner = self.tuner.after([r.weights for r in rounds])
        dev = self.lists["dev"].merged if self.dev_chooses else None
        # The sets were checked before the first round, and rounds are resumed whole.
        with unguarded(), whole_or_nothing():
            result = tuner.fit(
                self.lists["tune"].merged,
                start if any(start.values()) else None,
                dev,
                np.random.default_rng([self.seed, len(rounds) - 1]),
                **self.fit_options,
            )
        return {**result.to_dict(), "loop_seconds": working_seconds() - start_seconds}

    @contextmanager
    def _issue_once(self) -> Iterator[list[warnings.WarningMessage]]:
        """Record all warnings within the block, and issue each once in all rounds."""
        caught: list[warnings.WarningMessage] = []
        try:
            with recorded_warnings() as caught:
                yield caught
        except BaseException:
            # They may explain the error; where warnings are errors, the first error counts.
            with suppress(UserWarning):
                self.warnings.issue_new(caught)
            raise
        self.warnings.issue_new(caught)

    def oracle(self, state: State, name: str, chosen: LoopRound) -> tuple[float, bool]:
        """Return the oracle score, and whether it is exact."""
        return self.lists["tune"].oracle(chosen.weights)

    def signature(self) -> str:
        """Return what has to be known to score in the same way."""
        return self.lists["tune"].merged.signature()

    def result(
        self,
        state: State,
        rounds: list[LoopRound],
        chosen: LoopRound,
        others: Sequence[Metric | str],
    ) -> TuneResult:
        """Return the result of all rounds, with the weights of the chosen one."""
        tuned = [r.tuned for r in rounds if r.tuned is not None]
        number = rounds.index(chosen)
        of_chosen = rounds[number - 1].tuned if 0 < number <= len(tuned) else None
        is_average = number > len(tuned)
        name = f"average-{len(tuned):02d}" if is_average else f"round-{number:02d}"
        oracle_score, oracle_exact = self.oracle(state, name, chosen)
        first, output = rounds[0].outputs, chosen.outputs
        scores = {
            set_name: Scores(**{**output[set_name], "initial_score": first[set_name]["score"]})
            for set_name in self.sets
        }
        tune_scores = scores["tune"]
        secondary = [self._secondary(metric, rounds[0], chosen) for metric in others]
        if len(self.sets) > 1 and self.columns:
            with self._issue_once():
                guard_scores(self.metric, self.lists["tune"].output.candidates, others)
        # A tuner keeps all weights that it was given, and adds those of new features.
        names = dict.fromkeys([*self.start_weights, *chosen.weights])
        start = Weights.from_dict({name: self.start_weights.get(name, 0.0) for name in names})
        return TuneResult(
            tuner=self.tuner.name,
            metric=self.metric.name,
            weights=chosen.weights,
            start=start,
            score=tune_scores.score,
            initial_score=tune_scores.initial_score,
            oracle_score=oracle_score,
            oracle_exact=oracle_exact,
            length_ratio=tune_scores.length_ratio,
            brevity_penalty=tune_scores.brevity_penalty,
            sentence_bleu=tune_scores.sentence_bleu,
            dev=scores.get("dev"),
            test=scores.get("test"),
            path=None,
            history=history_of_rounds(rounds),
            certificate=None if of_chosen is None else of_chosen["certificate"],
            line_searches=sum(result["line_searches"] for result in tuned),
            seconds=sum(r.decode_seconds for r in rounds)
            + sum(result["loop_seconds"] for result in tuned),
            seed=self.seed,
            threads=thread_count(),
            warnings=list(self.warnings.texts),
            data=tuple(file for inputs in self.sets.values() for file in inputs.files),
            signature=f"decoder:{self.decoder.name}|{self.tuner.signature()}|seed:{self.seed}|"
            f"{self.signature()}",
            others=tuple(secondary),
            verdict=self._verdict(rounds[0], chosen),
            committee=None if of_chosen is None else of_chosen.get("committee"),
            rounds=[
                r.entry("average" if k > len(tuned) else k, r is chosen)
                for k, r in enumerate(rounds)
            ],
        )

    def _verdict(self, first: LoopRound, chosen: LoopRound) -> Verdict:
        """Compare the decoder's outputs with the first and with the chosen weights."""
        kinds: tuple[HeldOutKind, ...] = ("test", "dev")
        for set_name in kinds:
            if set_name in self.sets:
                before, after = (TuningSet(r.texts[set_name], self.metric) for r in (first, chosen))
                statistics = PairedStatistics(before.stats, after.stats)
                return judge(self.metric, statistics, set_name)
        return UNKNOWN

    def _secondary(self, other: Metric | str, first: LoopRound, chosen: LoopRound) -> OtherScores:
        """Score outputs by a secondary metric."""
        label = other if isinstance(other, str) else other.name
        metric = METRICS.create(other) if isinstance(other, str) else other
        scores: dict[str, Scores] = {}
        signature = ""
        for set_name in self.sets:
            before, after = (TuningSet(r.texts[set_name], metric) for r in (first, chosen))
            scores[set_name] = scores_of_outputs(before, after)
            signature = signature or after.signature()
        tune = scores["tune"]
        figures = tune.score, tune.initial_score, tune.length_ratio
        return OtherScores(label, signature, *figures, scores.get("dev"), scores.get("test"))


def with_decoder_output(error: DecoderError, decoder: Decoder) -> DecoderError:
    """Return an error with the last output of the decoder, if it has some."""
    output = decoder.last_output()
    return DecoderError(f"{error}; {output}" if output else str(error))


def _output(lists: RoundData) -> dict[str, Any]:
    """Return the scores of a decoder's output, as JSON."""
    output = lists.output
    scores = dataclasses.asdict(scores_of_outputs(output, output))
    del scores["initial_score"]
    return scores


@contextmanager
def _where(step: str) -> Iterator[None]:
    """Add the step to the error of a decoder."""
    try:
        yield
    except DecoderError as error:
        raise DecoderError(f"{step}: {error}") from error


def _empty_note() -> dict[str, Any]:
    """Return the note of a decoding that has none."""
    return {"seconds": 0.0, "warnings": []}


@contextmanager
def whole(step: str) -> Iterator[None]:
    """Name the file in an error of a damaged step."""
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise damaged_record(step, error) from None
