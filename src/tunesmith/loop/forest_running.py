"""Loops that tune on forests: of all rounds so far, or of each sentence as it is learnt from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from tunesmith.data.features import FeatureSelection
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Decoder, DecoderError, check_decoded, check_forests
from tunesmith.interruption import check, uninterrupted
from tunesmith.kernels.compiling import working_seconds
from tunesmith.loop.forests import DecodedSentences, ForestsSoFar, decoded_forests
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.lists import AccumulatedLists
from tunesmith.loop.rounds import LoopRound
from tunesmith.loop.running import RoundData, Run, TimedDecoder, whole, with_decoder_output
from tunesmith.loop.state import State
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.local import thread_count
from tunesmith.progress import tell
from tunesmith.randomness import generator_of
from tunesmith.tasks.live import LiveTuning
from tunesmith.tuners.fitting.combine import check_normalise, normalised
from tunesmith.tuners.fitting.secondary import HeldOut
from tunesmith.tuners.fitting.stages import Setup
from tunesmith.tuners.online.training import OnlineTuner, Training

T = TypeVar("T")


class ForestRun(Run):
    """Each round tunes on the forests of all rounds so far.

    Sets that nothing is learnt from are decoded to one candidate per sentence.
    """

    tune_on = "forests"
    candidates = "hyperedges"

    def configuration(self) -> dict[str, Any]:
        """Return all that determines the rounds."""
        configuration = super().configuration()
        configuration["decoding"]["tune_on"] = self.tune_on
        configuration["tuning"]["forests"] = self.forest_options.signature()
        return configuration

    def _so_far(self, set_name: str, inputs: Inputs) -> RoundData:
        if self.grows(set_name):
            return ForestsSoFar(inputs, self.metric, self.forest_options)
        return AccumulatedLists(inputs, self.metric, self.columns, grows=False)

    def _take(
        self, state: State, step: str, set_name: str, weights: Weights, timed: TimedDecoder
    ) -> None:
        """Run the step that decodes a set, unless it is done, and add its forests or candidates."""
        sentences, so_far = self.sets[set_name].sentences, self.lists[set_name]
        if isinstance(so_far, ForestsSoFar):
            forests = state.forests(
                step,
                timed(self._decoding(lambda decoder: decoded_forests(decoder, weights, sentences))),
            )
            check_forests(forests, sentences, self.decoder.names)
            with uninterrupted():
                so_far.add(forests, weights)
            check()
            return
        assert isinstance(so_far, AccumulatedLists)
        decoded = state.candidates(
            step, timed(self._decoding(lambda decoder: decoder.outputs(weights, sentences)))
        )
        check_decoded(decoded, sentences)
        with uninterrupted():
            so_far.add(decoded)
        check()

    def _decoding(self, call: Callable[[Decoder], T]) -> Callable[[Path | None], T]:
        """Return a function that calls the decoder, which puts its files in a folder."""

        def decode(folder: Path | None) -> T:
            decoder = self.decoder if folder is None else self.decoder.in_folder(folder)
            try:
                decoded = call(decoder)
            except DecoderError as error:
                raise with_decoder_output(error, decoder) from None
            decoder.accepted()
            return decoded

        return decode


class LiveRun(ForestRun):
    """Each round is an epoch of an online tuner, which decodes each sentence when it reaches it.

    All sets are then decoded with the weights that would be returned after the epoch, by default
    their average (Chiang 2012, section 7). The learner's state after an epoch is stored with the
    round, so that a run can be resumed there.
    """

    tune_on = "live"
    tuner: OnlineTuner

    def grows(self, set_name: str) -> bool:
        """Tell that nothing is merged from round to round."""
        return False

    def tuner_signature(self) -> str:
        """Return what determines how an epoch learns, which is not the number of epochs."""
        return self.tuner.changed(epochs=1).signature()

    def signature(self) -> str:
        """Return what has to be known to score in the same way."""
        return self._tuning.signature()

    @cached_property
    def _tuning(self) -> LiveTuning:
        source = DecodedSentences(self.decoder, self.sets["tune"])
        return LiveTuning(source, self.start_weights, self.metric, self.forest_options)

    @cached_property
    def _task(self) -> Setup:
        options = self.fit_options
        selection = FeatureSelection.of(options["keep"], options["drop"])
        start = self.start_weights if any(self.start_weights.values()) else None
        setup = self.tuner.setup(self._tuning, start, HeldOut(), selection, options["strict"])
        check_normalise(options["normalise"], setup.space)
        return setup

    def _start_training(self) -> Training:
        """Return a run that has learnt nothing yet."""
        setup = self._task
        tuning = cast(LiveTuning, setup.tuning)
        if setup.first is None:
            # Under weights that are all 0 anything is usual.
            start = Weights(setup.names, self.tuner.own_start(tuning))
            tuning = tuning.with_start(start)
        training = self.tuner.start_training(tuning, setup.first, generator_of(self.seed))
        is_here = current_engine().name == "threads" and thread_count() > 1
        may_be_copied = self.decoder.is_portable and not self.decoder.is_thread_safe
        if self.tuner.learners > 1 and is_here and may_be_copied:
            tell(
                "learners that decode take turns in threads; with --engine processes they work "
                "side by side, to the same result",
                is_detail=False,
            )
        # The usual sizes are known now; the forests behind them may go.
        for task in (tuning, setup.tuning, setup.whole):
            cast(LiveTuning, task).forget()
        return training

    def _learn(
        self, rounds: Sequence[LoopRound], caught: Sequence[warnings.WarningMessage]
    ) -> dict[str, Any]:
        """Learn from all sentences once."""
        start_seconds = working_seconds()
        number = len(rounds) - 1
        training = self._training_after(rounds)
        try:
            done = training.epoch(number)
        except DecoderError as error:
            raise DecoderError(f"epoch {number + 1}: {error}") from error
        if done.entry.get("changes") == 0 and (why := self.tuner.why_nothing()) is not None:
            warnings.warn(f"nothing was learnt: {why}", stacklevel=2)
        setup = self._task
        weights_found = normalised(done.weights, self.fit_options["normalise"], setup.space)
        weights = setup.begin.updated(setup.zeros).updated(Weights(setup.names, weights_found))
        score = {}
        if training.setup.scorer.metric is self.metric:
            score = {"score": float(self.metric.score(training.total))}
        return {
            "weights": dict(weights),
            "score": None,
            "warnings": [str(warning.message) for warning in caught],
            "history": [{**score, "round": number + 1, **done.entry}],
            "certificate": None,
            "line_searches": 0,
            "loop_seconds": working_seconds() - start_seconds,
            "memory": training.memory(),
        }

    def _training_after(self, rounds: Sequence[LoopRound]) -> Training:
        """Return the run after the epochs before: the current one, or as it was then."""
        before = [round_.tuned for round_ in rounds if round_.tuned is not None]
        with whole(f"round-{len(before) - 1:02d}/tuned.json"):
            memory = before[-1].pop("memory") if before else None
        if not hasattr(self, "_training"):
            training = self._start_training()
            if memory is not None:
                with whole(f"round-{len(before) - 1:02d}/tuned.json"):
                    training.recall(memory)
            self._training = training
        return self._training

    def oracle(self, state: State, name: str, chosen: LoopRound) -> tuple[float, bool]:
        """Return the oracle score of the chosen round's forests, and whether it is exact."""

        def compute() -> dict[str, Any]:
            weights = chosen.weights.aligned(self._tuning.names)
            score, exact = self._tuning.oracle_at(weights)
            return {"score": score, "exact": exact}

        oracle = state.record(f"{name}/oracle", compute)
        return float(oracle["score"]), bool(oracle["exact"])
