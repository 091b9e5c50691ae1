"""A loop as it runs: what its rounds decode, what they learn, and what they come to."""

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
from tunesmith.data.features import Selection
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import (
    Decoder,
    DecoderError,
    Expected,
    Sentence,
    check_decoded,
    digest_of,
    disobedient,
)
from tunesmith.errors import TunesmithError
from tunesmith.interruption import check, uninterrupted, whole_or_nothing
from tunesmith.kernels.compiling import working_seconds
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.lists import Lists
from tunesmith.loop.records import damaged
from tunesmith.loop.rounds import (
    LoopRound,
    Said,
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

T = TypeVar("T")


class Timed(Protocol):
    """Has a decoding noted: how long it took, and what was warned of."""

    def __call__(self, make: Callable[[Path | None], T], /) -> Callable[[Path | None], T]:
        """Return what does the same, and notes it."""
        ...


#: What is needed of a result of tuning.
NEEDED = ("weights", "score", "warnings", "history", "certificate", "line_searches", "loop_seconds")


class SoFar(Protocol):
    """What has been decoded of a set, in all rounds or in the last one alone."""

    @property
    def output(self) -> TuningSet:
        """The decoder's output in the last round."""
        ...

    @property
    def merged(self) -> Task:
        """What there is to tune on."""
        ...

    @property
    def new(self) -> int | None:
        """How many candidates the last round added."""
        ...

    @property
    def size(self) -> int | None:
        """How many there are."""
        ...

    def oracle(self, weights: Weights) -> tuple[float, bool]:
        """Return the best score that a choice of candidates has, and whether it is certain."""
        ...


class Run:
    """A loop as it runs: what it is made of, and the lists as they grow."""

    #: What the tuner works on; see ``Loop``.
    tune_on: ClassVar[str] = "lists"
    #: What it counts.
    candidates: ClassVar[str] = "candidates"
    lists: Mapping[str, SoFar]

    def __init__(
        self,
        decoder: Decoder,
        tuner: Tuner,
        metric: Metric,
        sets: dict[str, Inputs],
        begin: Weights,
        seed: int,
        fit_options: dict[str, Any],
        columns: Sequence[str] = (),
        forest_options: ForestOptions | None = None,
    ) -> None:
        self.decoder = decoder
        self.tuner = tuner
        self.metric = metric
        self.sets = sets
        self.begin = begin
        self.seed = seed
        self.fit_options = fit_options
        self.columns = list(columns)
        self.forest_options = forest_options or ForestOptions()
        # In one order, whatever is decoded first: a run that is taken up again reads from disk.
        decoder.meet([sentence for inputs in sets.values() for sentence in inputs.sentences])
        self.lists = {name: self._so_far(name, inputs) for name, inputs in sets.items()}
        self.said = Said()
        self._expected: Expected | None = None

    @property
    def dev_chooses(self) -> bool:
        """Whether the tuner itself chooses by held-out lists; nobody else needs them."""
        several = len(self.tuner.settings()) > 1 or isinstance(self.tuner, Auto)
        return "dev" in self.sets and several

    def grows(self, which: str) -> bool:
        """Tell whether what is decoded of a set is kept from round to round."""
        return which == "tune" or (which == "dev" and self.dev_chooses)

    def _so_far(self, which: str, inputs: Inputs) -> SoFar:
        return Lists(inputs, self.metric, self.columns, self.grows(which))

    def configuration(self) -> dict[str, Any]:
        """Return all that decides what the rounds come to: what they decode, and how they tune."""
        selection = Selection.of(self.fit_options["keep"], self.fit_options["drop"])
        return {
            "decoding": {
                "decoder": self.decoder.configuration(),
                "sets": {name: inputs.digest() for name, inputs in self.sets.items()},
                "start": dict(self.begin),
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
        """Return what decides how a round tunes."""
        return self.tuner.signature()

    def files(self) -> dict[str, str]:
        """Return the digests of programs and of classes in users' files."""
        made = [file_of(part) for part in (self.decoder, self.tuner, self.metric)]
        return {**self.decoder.files(), **{file: digest_of(file) for file in made if file}}

    def guard(self) -> None:
        """Warn of sets that overlap."""
        with self._warnings():
            for one, other in itertools.combinations(self.sets, 2):
                found = overlap_of_texts(self.sets[one].pairs, self.sets[other].pairs)
                text = told_overlap(found, CALLED[other], CALLED[one])
                if text is not None:
                    warnings.warn(text, stacklevel=2)

    def rounds(
        self,
        state: State,
        most: int,
        why_stop: Callable[[Sequence[LoopRound]], str | None],
        rounds: list[LoopRound],
    ) -> str:
        """Decode and tune in turn; add all rounds as they come, and say why there are no more."""
        weights = self.begin
        while True:
            check()
            name = f"round-{len(rounds):02d}"
            rounds.append(self.decoded(state, name, weights))
            new = "" if rounds[-1].new is None else f", {rounds[-1].new} new {self.candidates}"
            remark = f"output {rounds[-1].score:.2f}{new}"
            progress("rounds", len(rounds) - 1, most, remark)
            tell(f"round {len(rounds) - 1}: {remark}")
            stopped = why_stop(rounds)
            if stopped is not None:
                return stopped
            weights = self._tuned(state, name, rounds)

    def decoded(self, state: State, name: str, weights: Weights) -> LoopRound:
        """Decode all sets, add the lists to those of earlier rounds, and score the outputs."""
        kept = state.record(f"{name}/weights", lambda: {"weights": dict(weights)})
        if kept.get("weights") != dict(weights):
            raise TunesmithError(
                f"{name}/weights.json: these are not the weights that the rounds before came to; "
                "remove the folder and those of later rounds, and they are made again"
            )
        notes = [self._add(state, name, which, weights) for which in self.sets]

        def scores() -> dict[str, Any]:
            return {
                "outputs": {which: _output(lists) for which, lists in self.lists.items()},
                "new": self.lists["tune"].new,
                "candidates": self.lists["tune"].size,
                "decoded": sum(len(inputs.sentences) for inputs in self.sets.values()),
                "decode_seconds": sum(float(note["seconds"]) for note in notes),
            }

        texts = {which: lists.output.candidates for which, lists in self.lists.items()}
        with whole(f"{name}/scores.json"):
            found = LoopRound(weights, texts, **state.record(f"{name}/scores", scores))
            found.check(self.lists)
            return found

    def _add(self, state: State, name: str, which: str, weights: Weights) -> dict[str, Any]:
        """Decode a set, and add what it gives; return how long that took, and its warnings."""
        step = f"{name}/{which}"
        noted: list[dict[str, Any]] = []

        def timed(make: Callable[[Path | None], T]) -> Callable[[Path | None], T]:
            def decode(folder: Path | None) -> T:
                begun = working_seconds()
                with self._warnings() as said:
                    found = make(folder)
                seconds = working_seconds() - begun
                note = {"seconds": seconds, "warnings": [str(one.message) for one in said]}
                # Before the candidates: once they are there, nobody decodes again.
                state.record(f"{step}-decoding", lambda: note)
                noted.append(note)
                return found

            return decode

        with _where(f"{name}, {which}"):
            self._take(state, step, which, weights, timed)
        with whole(f"{step}-decoding.json"):
            note = noted[0] if noted else state.record(f"{step}-decoding", _nothing)
            check_number(note["seconds"], "seconds")
            check_texts(note["warnings"], "warnings")
            self.said.note(note["warnings"])
        return note

    def _take(self, state: State, step: str, which: str, weights: Weights, timed: Timed) -> None:
        """Have the step done in which a set is decoded, and add what it came to."""
        sentences, lists = self.sets[which].sentences, self.lists[which]
        assert isinstance(lists, Lists)
        make = timed(lambda folder: self._decoded(folder, weights, sentences))
        found = state.candidates(step, make)
        check_decoded(found, sentences)
        if self._expected is None:
            self._expected = Expected.of(found, self.begin)
        with uninterrupted():
            lists.add(found)
        check()

    def _decoded(
        self, folder: Path | None, weights: Weights, sentences: Sequence[Sentence]
    ) -> CandidateSet:
        """Decode, and see that what comes is what was asked for."""
        decoder = self.decoder if folder is None else self.decoder.in_folder(folder)
        found = decoder.decode(weights, sentences)
        try:
            check_decoded(found, sentences)
            if self._expected is not None:
                self._expected.check(found)
        except DecoderError as error:
            words = decoder.last_words()
            raise DecoderError(f"{error}; {words}" if words else str(error)) from None
        decoder.accepted()
        wrong, of = disobedient(found, weights)
        if 2 * wrong > of:
            warnings.warn(
                f"in {wrong} of {of} sentences the decoder's first candidate is not the best "
                "under the weights that it was given; does it read them, and write the best first?",
                stacklevel=2,
            )
        return found

    def _tuned(self, state: State, name: str, rounds: list[LoopRound]) -> Weights:
        """Tune on all that was decoded so far, from the weights of the last decoding."""
        with self._warnings() as said:
            found = state.record(f"{name}/tuned", lambda: self._learnt(rounds, said))
        rounds[-1].tuned = found
        with whole(f"{name}/tuned.json"):
            lacking = [key for key in NEEDED if key not in found]
            if lacking:
                raise KeyError(lacking[0])
            check_tuned(found)
            self.said.note(found["warnings"])
            return Weights.from_dict(found["weights"])

    def _learnt(
        self, rounds: Sequence[LoopRound], said: Sequence[warnings.WarningMessage]
    ) -> dict[str, Any]:
        """Return what tuning comes to, as JSON; ``said`` is what has been warned of meanwhile."""
        begun = working_seconds()
        start = rounds[-1].weights
        tuner = self.tuner.after([one.weights for one in rounds])
        dev = self.lists["dev"].merged if self.dev_chooses else None
        # The sets were looked at before the first round, and a round goes on from a whole one.
        with unguarded(), whole_or_nothing():
            found = tuner.fit(
                self.lists["tune"].merged,
                start if any(start.values()) else None,
                dev,
                np.random.default_rng([self.seed, len(rounds) - 1]),
                **self.fit_options,
            )
        return {**found.to_dict(), "loop_seconds": working_seconds() - begun}

    @contextmanager
    def _warnings(self) -> Iterator[list[warnings.WarningMessage]]:
        """Let each warning through once in all rounds; give all of them."""
        held: list[warnings.WarningMessage] = []
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                held = caught
                yield held
        except BaseException:
            # What led to the error above all; where warnings are errors, the first error counts.
            with suppress(UserWarning):
                self.said.again(held)
            raise
        self.said.again(held)

    def oracle(self, state: State, name: str, chosen: LoopRound) -> tuple[float, bool]:
        """Return the best score that a choice has, and whether it is certain."""
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
        """Say what all rounds came to, and the chosen one above all."""
        tuned = [one.tuned for one in rounds if one.tuned is not None]
        number = rounds.index(chosen)
        of_chosen = rounds[number - 1].tuned if 0 < number <= len(tuned) else None
        is_average = number > len(tuned)
        name = f"average-{len(tuned):02d}" if is_average else f"round-{number:02d}"
        oracle_score, oracle_exact = self.oracle(state, name, chosen)
        first, output = rounds[0].outputs, chosen.outputs
        scores = {
            which: Scores(**{**output[which], "initial_score": first[which]["score"]})
            for which in self.sets
        }
        own = scores["tune"]
        beside = [self._other(one, rounds[0], chosen) for one in others]
        if len(self.sets) > 1 and self.columns:
            with self._warnings():
                guard_scores(self.metric, self.lists["tune"].output.candidates, others)
        # A tuner keeps all weights that it was given, and adds those of new features.
        names = dict.fromkeys([*self.begin, *chosen.weights])
        begin = Weights.from_dict({name: self.begin.get(name, 0.0) for name in names})
        return TuneResult(
            tuner=self.tuner.name,
            metric=self.metric.name,
            weights=chosen.weights,
            start=begin,
            score=own.score,
            initial_score=own.initial_score,
            oracle_score=oracle_score,
            oracle_exact=oracle_exact,
            length_ratio=own.length_ratio,
            brevity_penalty=own.brevity_penalty,
            sentence_bleu=own.sentence_bleu,
            dev=scores.get("dev"),
            test=scores.get("test"),
            path=None,
            history=history_of_rounds(rounds),
            certificate=None if of_chosen is None else of_chosen["certificate"],
            line_searches=sum(one["line_searches"] for one in tuned),
            seconds=sum(one.decode_seconds for one in rounds)
            + sum(one["loop_seconds"] for one in tuned),
            seed=self.seed,
            threads=thread_count(),
            warnings=list(self.said.every),
            data=tuple(file for inputs in self.sets.values() for file in inputs.files),
            signature=f"decoder:{self.decoder.name}|{self.tuner.signature()}|seed:{self.seed}|"
            f"{self.signature()}",
            others=tuple(beside),
            rounds=[
                one.entry("average" if k > len(tuned) else k, one is chosen)
                for k, one in enumerate(rounds)
            ],
        )

    def _other(self, other: Metric | str, first: LoopRound, chosen: LoopRound) -> OtherScores:
        """Score outputs by another metric."""
        label = other if isinstance(other, str) else other.name
        metric = METRICS.create(other) if isinstance(other, str) else other
        found: dict[str, Scores] = {}
        signature = ""
        for which in self.sets:
            before, after = (TuningSet(one.texts[which], metric) for one in (first, chosen))
            found[which] = scores_of_outputs(before, after)
            signature = signature or after.signature()
        own = found["tune"]
        figures = own.score, own.initial_score, own.length_ratio
        return OtherScores(label, signature, *figures, found.get("dev"), found.get("test"))


def _output(lists: SoFar) -> dict[str, Any]:
    """Return the scores of a decoder's output, as JSON."""
    output = lists.output
    scores = dataclasses.asdict(scores_of_outputs(output, output))
    del scores["initial_score"]
    return scores


@contextmanager
def _where(step: str) -> Iterator[None]:
    """Say in which step a decoder failed."""
    try:
        yield
    except DecoderError as error:
        raise DecoderError(f"{step}: {error}") from error


def _nothing() -> dict[str, Any]:
    """Return what is known of a decoding of which nothing was noted."""
    return {"seconds": 0.0, "warnings": []}


@contextmanager
def whole(step: str) -> Iterator[None]:
    """Say which file it is if a step lacks something."""
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise damaged(step, error) from None
