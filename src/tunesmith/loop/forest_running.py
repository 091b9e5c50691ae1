"""Loops that tune on forests: those of all rounds so far, or each when a learner comes to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from tunesmith.data.features import Selection
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Decoder, DecoderError, check_decoded, check_forests
from tunesmith.interruption import check, uninterrupted
from tunesmith.kernels.compiling import working_seconds
from tunesmith.loop.forests import DecodedSentences, ForestsSoFar, decoded_forests
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.lists import Lists
from tunesmith.loop.rounds import LoopRound
from tunesmith.loop.running import Run, SoFar, Timed, whole
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

    Sets that nothing is learnt from are decoded to one candidate a sentence.
    """

    tune_on = "forests"
    candidates = "hyperedges"

    def configuration(self) -> dict[str, Any]:
        """Return all that decides what the rounds come to."""
        found = super().configuration()
        found["decoding"]["tune_on"] = self.tune_on
        found["tuning"]["forests"] = self.forest_options.signature()
        return found

    def _so_far(self, which: str, inputs: Inputs) -> SoFar:
        if self.grows(which):
            return ForestsSoFar(inputs, self.metric, self.forest_options)
        return Lists(inputs, self.metric, self.columns, grows=False)

    def _take(self, state: State, step: str, which: str, weights: Weights, timed: Timed) -> None:
        """Have the step done in which a set is decoded, and add what it came to."""
        sentences, held = self.sets[which].sentences, self.lists[which]
        if isinstance(held, ForestsSoFar):
            forests = state.forests(
                step,
                timed(self._asking(lambda who: decoded_forests(who, weights, sentences))),
            )
            check_forests(forests, sentences, self.decoder.names)
            with uninterrupted():
                held.add(forests, weights)
            check()
            return
        assert isinstance(held, Lists)
        found = state.candidates(
            step, timed(self._asking(lambda who: who.outputs(weights, sentences)))
        )
        check_decoded(found, sentences)
        with uninterrupted():
            held.add(found)
        check()

    def _asking(self, ask: Callable[[Decoder], T]) -> Callable[[Path | None], T]:
        """Return what asks the decoder, which leaves what it leaves in a folder."""

        def asked(folder: Path | None) -> T:
            decoder = self.decoder if folder is None else self.decoder.in_folder(folder)
            try:
                found = ask(decoder)
            except DecoderError as error:
                words = decoder.last_words()
                raise DecoderError(f"{error}; {words}" if words else str(error)) from None
            decoder.accepted()
            return found

        return asked


class LiveRun(ForestRun):
    """Each round is an epoch of an online tuner, which decodes every sentence when it comes to it.

    All sets are then decoded under what would be returned after the epoch, the average of the
    weights as a rule (Chiang 2012, section 7). What the learner has in its memory after an epoch
    is kept with the round, so that a run can go on from there.
    """

    tune_on = "live"
    tuner: OnlineTuner

    def grows(self, which: str) -> bool:
        """Tell that nothing is kept from round to round."""
        return False

    def tuner_signature(self) -> str:
        """Return what decides how an epoch learns: not how many there are."""
        return self.tuner.changed(epochs=1).signature()

    def signature(self) -> str:
        """Return what has to be known to score in the same way."""
        return self._tuning.signature()

    @cached_property
    def _tuning(self) -> LiveTuning:
        source = DecodedSentences(self.decoder, self.sets["tune"])
        return LiveTuning(source, self.begin, self.metric, self.forest_options)

    @cached_property
    def _task(self) -> Setup:
        options = self.fit_options
        selection = Selection.of(options["keep"], options["drop"])
        start = self.begin if any(self.begin.values()) else None
        setup = self.tuner.setup(self._tuning, start, HeldOut(), selection, options["strict"])
        check_normalise(options["normalise"], setup.space)
        return setup

    def _start_training(self) -> Training:
        """Return a run that has learnt nothing yet."""
        setup = self._task
        tuning = cast(LiveTuning, setup.tuning)
        if setup.first is None:
            # Under weights that are all 0 anything is usual.
            own = Weights(setup.names, self.tuner.own_start(tuning))
            tuning = tuning.with_start(own)
        training = self.tuner.start_training(tuning, setup.first, generator_of(self.seed))
        is_here = current_engine().name == "threads" and thread_count() > 1
        if self.tuner.learners > 1 and is_here and self.decoder.is_portable:
            tell(
                "learners that decode take turns in threads; with --engine processes they work "
                "side by side, to the same result",
                is_detail=False,
            )
        # What is usual is known now; the forests that told it may go.
        for held in (tuning, setup.tuning, setup.whole):
            cast(LiveTuning, held).forget()
        return training

    def _learnt(
        self, rounds: Sequence[LoopRound], said: Sequence[warnings.WarningMessage]
    ) -> dict[str, Any]:
        """Go over all sentences once."""
        begun = working_seconds()
        number = len(rounds) - 1
        training = self._training_after(rounds)
        try:
            done = training.epoch(number)
        except DecoderError as error:
            raise DecoderError(f"epoch {number + 1}: {error}") from error
        if done.entry.get("changes") == 0 and (why := self.tuner.why_nothing()) is not None:
            warnings.warn(f"nothing was learnt: {why}", stacklevel=2)
        setup = self._task
        found = normalised(done.weights, self.fit_options["normalise"], setup.space)
        weights = setup.begin.updated(setup.zeros).updated(Weights(setup.names, found))
        score = {}
        if training.setup.worth.metric is self.metric:
            score = {"score": float(self.metric.score(training.total))}
        return {
            "weights": dict(weights),
            "score": None,
            "warnings": [str(one.message) for one in said],
            "history": [{**score, "round": number + 1, **done.entry}],
            "certificate": None,
            "line_searches": 0,
            "loop_seconds": working_seconds() - begun,
            "memory": training.memory(),
        }

    def _training_after(self, rounds: Sequence[LoopRound]) -> Training:
        """Return the run after the epochs before: the current one, or as it was then."""
        before = [one.tuned for one in rounds if one.tuned is not None]
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
        """Return the best score that a choice of derivations of the chosen round's forests has."""

        def found() -> dict[str, Any]:
            weights = chosen.weights.aligned(self._tuning.names)
            score, exact = self._tuning.oracle_at(weights)
            return {"score": score, "exact": exact}

        kept = state.record(f"{name}/oracle", found)
        return float(kept["score"]), bool(kept["exact"])
