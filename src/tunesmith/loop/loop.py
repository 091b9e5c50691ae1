"""Decode, merge, tune, and again until nothing new appears.

Och, "Minimum error rate training in statistical machine translation" (ACL 2003), section 5: the
lists are representative of what the decoder does under the new weights only if they hold what it
then produces. So they grow, round by round, until nothing new is added.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Decoder
from tunesmith.errors import UsageError
from tunesmith.interruption import Interruption, returns_so_far, uninterrupted
from tunesmith.loop.callbacks import RoundNotifier, key_of, settings_of_loop
from tunesmith.loop.forest_running import ForestRun, LiveRun
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.records import ABOUT, TEXTS
from tunesmith.loop.rounds import LoopRound, average, best_round, change
from tunesmith.loop.running import Run
from tunesmith.loop.state import State, open_state
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.metrics.spec import spec_of
from tunesmith.notebook import with_bars
from tunesmith.randomness import checked_seed
from tunesmith.registry import Options, option
from tunesmith.tuners.base import Tuner, evaluated_here
from tunesmith.tuners.fitting.callbacks import Callback, callbacks_of_run
from tunesmith.tuners.fitting.result import TuneResult, who_works
from tunesmith.tuners.fitting.rounds import Rounds

NEEDED = ("decoder", "tuner", "tune")
#: Classes of runs, by what is tuned on.
RUNS: dict[str, type[Run]] = {"lists": Run, "forests": ForestRun, "live": LiveRun}


@dataclass(frozen=True, kw_only=True)
class Loop(Options):
    """Tuning with a decoder; its fields are options of ``tunesmith tune --decoder``."""

    rounds: int = option(10, "rounds of decoding and tuning at most", least=1)
    final: Literal["auto", "last", "tune", "dev", "average"] = option(
        "auto",
        "whose weights are returned: those of the last round, of the round whose output is best on "
        "the tuning set or on the held-out set, or the average of all rounds; auto is dev where "
        "there is a held-out set, otherwise tune",
    )
    tune_on: Literal["auto", "lists", "forests", "live"] = option(
        "auto",
        "with a decoder that gives forests: lists of its best candidates, the forests of all "
        "rounds, or, live, for online tuners, each sentence decoded when they come to it; auto is "
        "the last of these that the tuner and the metric can work on",
    )
    weight_tolerance: float = option(
        1e-4,
        "stop when the weights, scaled to a sum of sizes of 1, change by less than this",
        least=0,
        below=np.inf,
    )
    score_tolerance: float = option(
        0.0,
        "stop when the output's score changes by less than this from round to round",
        least=0,
        below=np.inf,
    )

    @with_bars
    def run(
        self,
        decoder: Decoder,
        tuner: Tuner,
        tune: Inputs,
        *,
        metric: Metric | str = "bleu",
        start: Mapping[str, float] | None = None,
        dev: Inputs | None = None,
        test: Inputs | None = None,
        seed: int = 1,
        work_dir: str | os.PathLike[str] | None = None,
        others: Sequence[Metric | str] = (),
        strict: bool = False,
        keep: str | Sequence[str] = (),
        drop: str | Sequence[str] = (),
        normalise: str = "none",
        forest_options: ForestOptions | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> TuneResult:
        """Decode and tune in turn.

        Parameters
        ----------
        decoder
            Produces the candidates.
        tuner
            Tunes on the candidates of all rounds; see :meth:`Tuner.after`.
        tune
            The sentences to decode and tune on.
        metric
            The metric to tune for.
        start
            The weights of the first decoding; None takes those of the decoder.
        dev, test
            Further sets, decoded in each round. ``dev`` chooses among settings of the tuner and,
            unless ``final`` says otherwise, among rounds; ``test`` has no influence.
        seed
            The seed of all randomness.
        work_dir
            A folder for the results of every step. The same call with the same folder resumes an
            earlier run, however that ended, with the same bits. Rounds, tolerances and ``final``
            may change, so that a run can be prolonged.
        others
            Secondary metrics, which are only reported.
        strict, keep, drop, normalise
            As in :meth:`Tuner.fit`, in each round.
        forest_options
            How forests are searched, if the loop tunes on forests.
        callbacks
            Called after each round.

        Returns
        -------
        TuneResult
            Its scores are those of the decoder's own output; ``rounds`` has an entry per round.
        """
        for name, value, kind in (
            ("decoder", decoder, Decoder),
            ("tuner", tuner, Tuner),
            ("tune", tune, Inputs),
            ("dev", dev, Inputs),
            ("test", test, Inputs),
        ):
            if not isinstance(value, kind) and (value is not None or name in NEEDED):
                raise UsageError(f"{name} is {value!r:.60}; give an object of {kind.__name__}")
        measure = METRICS.create(metric) if isinstance(metric, str) else metric
        seed = checked_seed(seed)
        if self.final == "dev" and dev is None:
            raise UsageError("final dev needs a held-out set; give one, or another final")
        tuner.check_choice(dev is not None, "give a held-out set")
        tuner.check_metric(measure)
        start_weights = decoder.start() if start is None else Weights.from_dict(start)
        if start_weights is None:
            raise UsageError(f"decoder '{decoder.name}' has no weights of its own; give start")
        # A metric's column must not be a feature, which would be tuned for itself.
        secondary = [METRICS.create(m) if isinstance(m, str) else m for m in others]
        columns = {name for m in (measure, *secondary) for name in m.columns}
        sets = {"tune": tune, "dev": dev, "test": test}
        tuned_on = self.kind(decoder, tuner, sorted(columns))
        if tuned_on == "lists" and forest_options is not None:
            raise UsageError("forest options are given, and lists are tuned on; drop them")
        run = RUNS[tuned_on](
            decoder,
            tuner,
            measure,
            {name: inputs for name, inputs in sets.items() if inputs is not None},
            start_weights,
            seed,
            {"strict": strict, "keep": keep, "drop": drop, "normalise": normalise},
            sorted(columns),
            forest_options,
        )
        limits = self._limits(tuner) if isinstance(run, LiveRun) else self
        options = {f.name: getattr(limits, f.name) for f in dataclasses.fields(limits)}
        with (
            open_state(work_dir, run.configuration(), run.files()) as state,
            callbacks_of_run(
                callbacks,
                lambda: settings_of_loop(run, options, work_dir),
                key_of(run, work_dir) if callbacks else None,
            ) as callback_list,
        ):
            store_description(state, run, self.final, others)
            run.guard()
            why_stop = functools.partial(limits.why_stop, settles=tuner.settles)
            rounds: list[LoopRound] = []
            is_interrupted = False
            try:
                stopped = run.rounds(
                    state, limits.rounds, RoundNotifier(callback_list, why_stop), rounds
                )
                chosen = self._choose(self.final, run, rounds, state)
            except Interruption:
                if len(rounds) < 2 or not returns_so_far():  # nothing learnt has been decoded
                    raise
                is_interrupted = True
                stopped = f"interrupted after {len(rounds) - 1} of {limits.rounds} rounds"
                final = "auto" if self.final == "average" else self.final
                chosen = self._choose(final, run, rounds, state)
            if chosen not in rounds:
                rounds.append(chosen)
            with uninterrupted(), evaluated_here(is_interrupted):
                result = run.result(state, rounds, chosen, others)
            result = dataclasses.replace(
                result,
                stopped=stopped,
                interrupted=is_interrupted,
                signature=f"rounds:{limits.rounds}|final:{self.final}|{result.signature}",
                **who_works(),
            )
            with uninterrupted():
                if not is_interrupted:  # the run can be resumed
                    state.finish(result.to_dict())
                callback_list.on_end(result)
        return result

    def kind(self, decoder: Decoder, tuner: Tuner, columns: Sequence[str] = ()) -> str:
        """Return what is tuned on: ``lists``, ``forests``, or sentences decoded ``live``.

        Forests have all derivations of which lists show some, so they come first where all can
        work on them. Metrics with columns of scores cannot.
        """
        tune_on = self.tune_on
        can_use_forests = decoder.gives_forests and tuner.takes_forests and not columns
        # Learning once, and evaluated by the loop, epoch by epoch.
        is_plain = len(tuner.settings()) == 1 and getattr(tuner, "pick", "last") == "last"
        if tune_on == "auto":
            if not can_use_forests:
                return "lists"
            return "live" if tuner.is_online and is_plain else "forests"
        if tune_on == "lists":
            return tune_on
        if not decoder.gives_forests:
            raise UsageError(f"decoder '{decoder.name}' gives no forests; leave out --tune-on")
        if columns:
            raise UsageError(
                f"forests have no scores '{columns[0]}' of single candidates; give --tune-on lists"
            )
        if not tuner.takes_forests:
            raise UsageError(f"{tuner.name} works on lists; give --tune-on lists")
        if tune_on == "live" and not tuner.is_online:
            raise UsageError(
                f"{tuner.name} learns from whole sets, not from one sentence after the other; give "
                "--tune-on forests"
            )
        if tune_on == "live" and not is_plain:
            raise UsageError(
                "live there is one setting, and --final chooses among its epochs; give one "
                "objective and no --pick, or --tune-on forests"
            )
        return tune_on

    def _limits(self, tuner: Tuner) -> Loop:
        """Return the limits of live tuning, whose rounds are epochs of the tuner."""
        assert isinstance(tuner, Rounds)
        default = Loop()
        for name, remedy in (
            ("rounds", "give the tuner's --epochs"),
            ("weight_tolerance", "leave it out: averages change less and less"),
        ):
            if getattr(self, name) != getattr(default, name):
                flag = name.replace("_", "-")
                raise UsageError(f"{flag} does not go with live tuning; {remedy}")
        return dataclasses.replace(self, rounds=tuner.round_count, weight_tolerance=0.0)

    def why_stop(self, rounds: Sequence[LoopRound], settles: bool) -> str | None:
        """Return why no further round follows the last decoding; None if one does.

        Without new candidates a tuner that ``settles`` has nothing to add. One that takes steps
        may go further on the same lists.
        """
        number = len(rounds) - 1
        if number > 0:
            last, before = rounds[-1], rounds[-2]
            if last.new == 0 and settles:
                return "no new candidates"
            changed = change(before.weights, last.weights)
            if changed < self.weight_tolerance:
                return f"the weights changed by {changed:.2g} only"
            gained = abs(last.score - before.score)
            if gained < self.score_tolerance:
                return f"the score changed by {gained:.2g} only"
        return "the limit of rounds" if number >= self.rounds else None

    def _choose(self, final: str, run: Run, rounds: list[LoopRound], state: State) -> LoopRound:
        """Return the round whose weights are the result; an average is decoded first."""
        if final == "auto":
            final = "dev" if "dev" in run.sets else "tune"
        if final == "average":
            # Without the start weights, which were not learnt.
            weights = average([r.weights for r in rounds[1:]])
            name = f"average-{len(rounds) - 1:02d}"
            return run.decode_round(state, name, weights)
        return rounds[-1] if final == "last" else best_round(rounds, final, run.metric)


SCHEMA = "tunesmith.loop-about/1"


def store_description(state: State, run: Run, final: str, others: Sequence[Metric | str]) -> None:
    """Store what a run does, and the sentences and references that no step stores."""
    state.keep(ABOUT, describe(run, final, others))
    state.keep(TEXTS, {set_name: inputs.to_dict() for set_name, inputs in run.sets.items()})


def describe(run: Run, final: str, others: Sequence[Metric | str]) -> dict[str, Any]:
    """Describe a run.

    Parameters
    ----------
    run
        The loop.
    final
        Whose weights it returns; see ``Loop``.
    others
        Secondary metrics.
    """
    metrics = [run.metric, *others]
    tuner, decoder = run.tuner, run.decoder.name
    files = [file for inputs in run.sets.values() for file in inputs.files]
    return {
        "schema": SCHEMA,
        "tuner": tuner.name,
        "decoder": decoder,
        "tune_on": run.tune_on,
        "final": final,
        "metric": run.metric.name,
        "metrics": [m if isinstance(m, str) else spec_of(m) for m in metrics],
        "seed": run.seed,
        "signature": f"decoder:{decoder}|{tuner.signature()}|seed:{run.seed}",
        "data": [dataclasses.asdict(file) for file in files],
    }
