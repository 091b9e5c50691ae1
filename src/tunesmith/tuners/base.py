"""What a tuner is, and what is done around every algorithm."""

from __future__ import annotations

import contextlib
import functools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.features import FeatureSelection
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UsageError, recorded_warnings, reissue
from tunesmith.interruption import uninterrupted
from tunesmith.kernels.compiling import working_seconds
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.notebook import with_bars
from tunesmith.parallel.device import device_for, is_demanded
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import thread_count
from tunesmith.progress import progress
from tunesmith.randomness import checked_seed, generator_of
from tunesmith.registry import Options, Registry, options_of
from tunesmith.search.space.space import Space
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.fitting.callbacks import Callback, CallbackList, callbacks_of_run, settings_of
from tunesmith.tuners.fitting.combine import check_normalise, check_runs
from tunesmith.tuners.fitting.guards import guard, guard_features, listed
from tunesmith.tuners.fitting.history import history_of, score_of, shown
from tunesmith.tuners.fitting.result import Combine, Scores, TuneResult
from tunesmith.tuners.fitting.secondary import HeldOut, SecondaryMetric
from tunesmith.tuners.fitting.split import Split, baseline_model
from tunesmith.tuners.fitting.stages import Evaluated, Outcome, Setup, check_one, chosen, run_all
from tunesmith.tuners.fitting.verdict import UNKNOWN, Verdict, judge
from tunesmith.tuners.lenpen.options import Lenpen

__all__ = ["TUNERS", "Outcome", "TuneResult", "Tuner", "score_of"]


class Tuner(Options, ABC):
    """Finds weights; a subclass is a frozen dataclass whose fields are its options."""

    name: ClassVar[str]
    #: Whether the metric must be an average over sentences.
    needs_sum: ClassVar[bool] = False
    #: Whether the tuned weights are never worse than the start on the set they are tuned on.
    never_worse: ClassVar[bool] = True
    #: Whether it goes as far as it can on given lists, so that tuning on them again from where it
    #: ended is of no use: a loop ends when a decoder has nothing new for them.
    settles: ClassVar[bool] = True
    #: Whether it can work on forests: on all their derivations, or on lists made of them.
    takes_forests: ClassVar[bool] = False
    #: Whether it can work on rankings, where lines and points are all that can be asked for.
    takes_rankings: ClassVar[bool] = False
    #: Whether lines and points are all that it asks of lists, whose parts may be with workers then.
    takes_shards: ClassVar[bool] = False
    #: Whether a GPU can search for it.
    uses_device: ClassVar[bool] = False
    #: Whether it makes lists of forests to learn from.
    uses_lists: ClassVar[bool] = False
    #: Whether it learns from one sentence after the other, so that each may be decoded when it
    #: comes to it: it is an ``OnlineTuner`` then.
    is_online: ClassVar[bool] = False
    #: Whether other processes may make runs: nothing that a run notes is asked for afterwards.
    runs_apart: ClassVar[bool] = True
    #: What its settings are called.
    settings_are: ClassVar[str] = "settings"

    @abstractmethod
    def tune(self, tuning: Any, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Run the algorithm.

        Parameters
        ----------
        tuning
            The set to tune on: a ``TuningSet``, or a ``Task`` for tuners that take forests.
        start : float64[D]
            The starting weights; None leaves them to the algorithm.
        rng
            The only source of randomness.
        """

    def settings(self) -> list[dict[str, Any]]:
        """Return the settings among which a development set chooses; there is one as a rule."""
        return [{}]

    def check_choice(self, has_dev: bool, remedy: str) -> None:
        """Raise an error if there are several settings, and nothing to choose among them by."""
        if not has_dev:
            check_one(self.settings(), remedy)

    def choose(self, found: Sequence[Evaluated], metric: Metric) -> Evaluated:
        """Return the best of several settings: on the development set, the first among equals."""
        return chosen(found, metric)

    def reason(self, best: Evaluated) -> str | None:
        """Say why a setting was chosen, where it was not the score on the development set."""
        return None

    def prepared(
        self, tuning: Any, start: Floats | None, rng: np.random.Generator
    ) -> tuple[Tuner, Outcome | None]:
        """Do once what all runs need; return who runs, and what that found, if anything."""
        return self, None

    def short_form(self) -> Tuner | None:
        """Return a tuner that only goes uphill from where it begins, in a small part of the time.

        None if there is none, or if the metric alone does not say what is better.
        """
        return None

    @property
    def drawn_towards(self) -> Weights | None:
        """The weights that a penalty draws towards, if there is one."""
        return None

    def stages(
        self, tuning: Any, start: Floats | None, rng: np.random.Generator
    ) -> Iterator[Outcome]:
        """Run the algorithm with each of its settings in turn."""
        yield self.tune(tuning, start, rng)

    def after(self, rounds: Sequence[Weights]) -> Tuner:
        """Return the tuner for the next round of a loop.

        Parameters
        ----------
        rounds
            The weights that the rounds before were decoded with, the last of them being the
            start.
        """
        return self

    def check_features(self, names: tuple[str, ...], strict: bool) -> None:
        """Raise an error, or warn, if options name features that the data do not have."""

    @with_bars
    def fit(
        self,
        tuning: Task,
        start: Mapping[str, float] | None = None,
        dev: Task | None = None,
        rng: np.random.Generator | int | None = None,
        strict: bool = False,
        *,
        test: Task | None = None,
        runs: int = 1,
        combine: Combine = "best",
        normalise: str = "auto",
        keep: str | Sequence[str] = (),
        drop: str | Sequence[str] = (),
        others: Sequence[Metric | str] = (),
        callbacks: Sequence[Callback] = (),
        baseline: str | None = None,
        folds: int = 0,
        fold_column: str | None = None,
        hold_out: float = 0.0,
        lenpen: Lenpen | str | None = None,
    ) -> TuneResult:
        """Tune weights on a set.

        Parameters
        ----------
        tuning
            The set to tune on.
        start
            Starting weights, by name.
        dev
            A held-out set, also evaluated. It chooses among several settings of the tuner, such as
            strengths of a penalty, and has no other influence on the weights.
        rng
            A generator, or a seed; None is the seed 1.
        strict
            Make it an error if names of ``start`` and of the data differ.
        test
            A further set that is evaluated and has no influence at all.
        runs, combine
            How often to tune, each time with other random numbers, and how to combine the
            results: the ``best`` run, or the ``average`` or ``median`` of the weights.
        normalise
            The scale of the tuned weights. ``auto``: the l1 norm of ``start``, or 1 without it;
            but as the algorithm leaves it if a penalty or a fixed weight gives it a meaning.
            ``none``: as the algorithm leaves it. ``l1`` or ``l2``: that norm is 1. A feature's
            name: its weight is 1 or -1. The scale changes no choice, except for rounding.
        keep, drop
            Patterns of features to use or to leave out, such as ``"LM*"``. Features that are left
            out have weight 0, whatever ``start`` says.
        others
            Secondary metrics, which are only reported.
        callbacks
            Called after each step, for example to log it to a tracker of experiments.
        baseline
            A feature, instead of ``start``: begin with this feature alone, with weight 1, or -1 for
            ``"-NAME"``.
        folds, fold_column
            Estimate the gain on other sentences by cross-validation with this many folds. Groups
            with the same value of the column, such as those of a document, stay in one fold.
        hold_out
            Tune on the rest, and estimate the gain on this share of the sentences.
        lenpen
            A length penalty: scores are divided by this feature to the power of an exponent, which
            is tuned along with the weights.

        Raises
        ------
        KeyboardInterrupt
            The run was interrupted. Within :func:`tunesmith.interruptible`, the best weights so far
            are returned instead, if there are any.
        """
        if lenpen is not None:
            from tunesmith.tuners.lenpen.fit import fit_with_lenpen

            options: dict[str, Any] = {
                **{"strict": strict, "test": test, "runs": runs, "combine": combine},
                **{"normalise": normalise, "keep": keep, "drop": drop, "others": others},
                **{"callbacks": callbacks, "baseline": baseline, "folds": folds},
                **{"fold_column": fold_column, "hold_out": hold_out},
            }
            return fit_with_lenpen(self, lenpen, tuning, start, dev, rng, options)
        self.check(tuning)
        check_runs(runs, combine)
        self.check_choice(dev is not None, "give dev")
        if baseline is not None:
            start = baseline_model(baseline, start, tuning.names)
        split = Split.of(tuning, folds, fold_column, hold_out)
        tuning = split.tuning
        held_out = HeldOut(dev, test)
        beside = [SecondaryMetric.of(other, tuning, held_out) for other in others]
        rng = 1 if rng is None else rng
        seed = None if isinstance(rng, np.random.Generator) else checked_seed(rng)
        generator = generator_of(rng)
        selection = FeatureSelection.of(keep, drop)
        fit_options = {"runs": runs, "combine": combine, "normalise": normalise}
        fit_options |= {"keep": ",".join(selection.keep), "drop": ",".join(selection.drop)}
        run_options = {"seed": seed, **fit_options}
        settings = functools.partial(settings_of, self, tuning, dev, test, run_options)
        with callbacks_of_run(callbacks, settings) as callback_list, device_for(self.uses_device):
            result = self._fitted(
                tuning,
                start,
                held_out,
                beside,
                generator,
                selection,
                strict,
                run_options,
                callback_list,
            )

            def fit_part(part: Task) -> TuneResult:
                same = generator_of(1 if seed is None else seed)
                options: dict[str, Any] = {"runs": runs, "combine": combine}
                return self.fit(part, start, dev, same, strict, keep=keep, drop=drop, **options)

            result = split.with_verdict(result, held_out, fit_part)
            with uninterrupted():
                callback_list.on_fit(result)
        return result

    def _fitted(
        self,
        tuning: Task,
        start: Mapping[str, float] | None,
        held_out: HeldOut,
        beside: Sequence[SecondaryMetric],
        generator: np.random.Generator,
        selection: FeatureSelection,
        strict: bool,
        run_options: Mapping[str, Any],
        callback_list: CallbackList,
    ) -> TuneResult:
        """Tune weights, and evaluate them; ``run_options`` are the seed and what ``fit`` takes."""
        seed, runs, combine, normalise = (
            run_options[name] for name in ("seed", "runs", "combine", "normalise")
        )
        started = working_seconds()
        with _recorded() as warned:
            other_metrics = [secondary.metric for secondary in beside]
            guard(tuning, held_out.dev, held_out.test, other_metrics, len(self.settings()))
            setup = self.setup(tuning, start, held_out, selection, strict)
            guard_features(setup.tuning)
            check_normalise(normalise, setup.space)
        with _recorded() as warned_later:
            ready, first = self.prepared(setup.tuning, setup.first, generator)
            is_live = first is None and runs == 1 and len(ready.settings()) == 1
            with callback_list.live_steps(is_live, lambda entry: shown(entry, tuning.metric)):
                stages, stopped = run_all(ready, setup, generator, runs)
        seconds = working_seconds() - started
        has_several = len(ready.settings()) > 1
        # All is found: an interruption that comes now has nothing left to end.
        with uninterrupted(), evaluated_here(stopped is not None):
            with _recorded() as warned_last:
                evaluated = [
                    stage.evaluated(setup, combine, normalise, held_out) for stage in stages
                ]
            best = ready.choose(evaluated, tuning.metric)
            with _recorded() as warned_beside:
                _warn_below_start(best.scores, tuning.metric)
                oracle_score, oracle_exact = tuning.oracle_at(best.weights.aligned(tuning.names))
                _warn_of_no_match(oracle_score, tuning.metric)
            others = tuple(other.scores(setup.begin, best.weights) for other in beside)
        return TuneResult(
            tuner=self.name,
            metric=tuning.metric.name,
            weights=best.weights,
            start=setup.begin,
            score=best.scores.score,
            initial_score=best.scores.initial_score,
            oracle_score=oracle_score,
            oracle_exact=oracle_exact,
            length_ratio=best.scores.length_ratio,
            brevity_penalty=best.scores.brevity_penalty,
            sentence_bleu=best.scores.sentence_bleu,
            dev=best.dev,
            path=[setting.entry(setting is best) for setting in evaluated] if has_several else None,
            history=history_of(stages, tuning.metric, first),
            certificate=_within(best.certificate, setup.zeros),
            line_searches=sum(stage.line_searches for stage in stages)
            + (0 if first is None else first.line_searches),
            seconds=seconds,
            seed=seed,
            threads=thread_count(),
            warnings=list(dict.fromkeys(warned + warned_later + warned_last + warned_beside)),
            data=tuning.files + held_out.files,
            signature=f"{self.signature()}{_unusual(run_options)}|seed:{seed}|{self._searched(tuning)}",
            others=others,
            runs=None if runs == 1 else best.stage.entries(setup, normalise),
            test=best.test,
            prior=ready.drawn_towards,
            reason=ready.reason(best) if has_several else None,
            stopped=None if stopped is None else f"interrupted after {stopped}",
            interrupted=stopped is not None,
            verdict=_own_verdict(best.outcome, setup),
            committee=None if best.outcome is None else best.outcome.committee,
        )

    def _searched(self, tuning: Task) -> str:
        """Return the signature of a task, with the way in which forests are searched in fact."""
        signature = tuning.signature()
        if tuning.has_forests and self.asks_hope(tuning.metric) is False:
            return signature.replace("forests:rerank|", "forests:kbest|")
        return signature

    def setup(
        self,
        tuning: Task,
        start: Mapping[str, float] | None,
        held_out: HeldOut,
        selection: FeatureSelection,
        strict: bool,
    ) -> Setup:
        """Select features, match names, and find out what the weights may be."""
        names = tuning.names
        if not names:
            problem = "the candidates have no features; there is nothing to tune"
            remedy = "give scores with --scores NAME=FILE, or derive features with --feature"
            raise TunesmithError(f"{problem}: {remedy}")
        others = getattr(getattr(tuning, "candidates", tuning), "no_features", ())
        selection.check(names, others=others)
        selected = selection.select(names)
        other_names = held_out.names
        dropped = {*names, *other_names} - {*selected, *selection.select(other_names)}
        whole = tuning
        if dropped:
            tuning = tuning.with_features(selection.keep, selection.drop)
        named = Weights.from_dict({} if start is None else start)
        zeroed = [name for name in named if name in dropped]
        if zeroed:
            warnings.warn(f"weights of dropped features are 0: {listed(zeroed)}", stacklevel=3)
        rest = Weights.from_dict({n: named[n] for n in named if n not in dropped})
        first = None if start is None else rest.matched(selected, strict, unused_are=KEPT)
        for set_name, task in held_out.sets.items():
            # Of weights that neither set has a feature for it has been said above.
            others = [name for name in rest if name in task.names]
            known = Weights.from_dict(dict.fromkeys([*selected, *others], 0.0))
            known.matched(selection.select(task.names), strict, f"{set_name}: ", KEPT)
        self.check_features(selected, strict)
        begin_values = self.own_start(tuning) if first is None else first
        space = self.space(selected, begin_values)
        begin = named
        if first is None:
            # Before anything is decoded there are no deviations.
            usual = begin_values if tuning.is_live else self.baseline(tuning)
            begin = Weights(selected, space.inside(usual))
        everything = dict.fromkeys([*named, *names, *other_names])
        zeros = Weights.from_dict({n: 0.0 for n in everything if n in dropped})
        return Setup(tuning, whole, selected, first, begin, zeros, space)

    def space(self, names: tuple[str, ...], start: Floats) -> Space:
        """Return what the weights may be: anything, for a tuner without restrictions."""
        return Space.free(names)

    def baseline(self, tuning: Task) -> Floats:
        """Return the weights that a result is compared with where none are given.

        Every dense feature counts the same: 1 over its deviation within groups. They are the same
        for all tuners, wherever an algorithm begins.
        """
        weights = equal_weights(tuning)
        # An l1 norm of about 1 is readable; a power of two changes no choice.
        return weights * float(2.0 ** -np.rint(np.log2(np.abs(weights).sum())))

    def own_start(self, tuning: Task) -> Floats:
        """Return the weights that the algorithm begins with where none are given."""
        return equal_weights(tuning)

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if a metric lacks what the algorithm needs, before anything is read."""
        if self.needs_sum:
            metric.check_sum(self.name)

    def check(self, tuning: Any) -> None:
        """Raise an error if the algorithm cannot work on a set, or an option changes nothing."""
        self.check_set(tuning)
        options = getattr(tuning, "options", None)
        if isinstance(options, ForestOptions):
            self.check_searches(options, tuning.metric)

    def check_set(self, tuning: Any) -> None:
        """Raise an error if the algorithm cannot work on a set."""
        if not isinstance(tuning, Task):
            raise UsageError(
                f"{self.name} is given {type(tuning).__name__}, which has no metric; give "
                "TuningSet(candidates, metric), or ForestTuning(forests, metric)"
            )
        self.check_forests(tuning.has_forests)
        self.check_rankings(tuning.has_rankings)
        self.check_shards(tuning.is_sharded)
        self.check_device(is_lists=not (tuning.has_forests or tuning.has_rankings))
        if tuning.is_live and not self.is_online:
            raise UsageError(
                f"{self.name} learns from whole sets, not from one sentence after the other; "
                "give it lists or forests"
            )
        self.check_metric(tuning.metric)
        if self.needs_sum and tuning.lists is not None:
            check_sum(tuning.lists, self.name)

    def check_forests(self, has_forests: bool) -> None:
        """Raise an error if there are forests, and the algorithm cannot work on them."""
        if has_forests and not self.takes_forests:
            able = [name for name in TUNERS.names() if TUNERS.get(name).takes_forests]
            raise UsageError(
                f"{self.name} works on lists; make lists of the forests with `tunesmith convert "
                f"--forests F --nbest N`, or use --tuner {', '.join(able)}"
            )

    def check_device(self, is_lists: bool) -> None:
        """Raise an error if a GPU was asked for, and has nothing to do for the algorithm."""
        if not is_demanded():
            return
        if not self.uses_device:
            able = [name for name in TUNERS.names() if TUNERS.get(name).uses_device]
            raise UsageError(
                f"{self.name} works on the processor; drop --device cuda, or use --tuner "
                f"{' or '.join(able)}"
            )
        if not is_lists:
            raise UsageError("a GPU searches lists of candidates alone; drop --device cuda")

    def check_rankings(self, has_rankings: bool) -> None:
        """Raise an error if there are rankings, and the algorithm cannot work on them."""
        if has_rankings and not self.takes_rankings:
            able = [name for name in TUNERS.names() if TUNERS.get(name).takes_rankings]
            raise UsageError(
                f"{self.name} works on candidates, one of which is chosen, and not on rankings; "
                f"use --tuner {' or '.join(able)}"
            )

    def check_shards(self, is_sharded: bool) -> None:
        """Raise an error if parts of the lists are with workers, and the algorithm needs more."""
        if is_sharded and not self.takes_shards:
            able = [name for name in TUNERS.names() if TUNERS.get(name).takes_shards]
            raise UsageError(
                f"{self.name} looks at whole lists, of which workers have a part each with "
                f"--sharded; use --tuner {' or '.join(able)}, or drop --sharded"
            )

    def asks_hope(self, metric: Metric) -> bool | None:
        """Whether hope and fear are asked of whole forests, or of the best alone; None if never."""
        return None

    def check_searches(self, options: ForestOptions, metric: Metric) -> None:
        """Raise an error if how forests are searched makes no difference to this algorithm."""
        if options.lists == "samples" and not self.uses_lists:
            raise UsageError(
                f"{self.name} makes no lists to learn from, of samples or of others; drop "
                "--forest-lists, or use --tuner pro"
            )
        asks = self.asks_hope(metric)
        if options.search != "auto" and asks is None:
            raise UsageError(f"{self.name} asks for no hope and fear; drop --forest-search")
        is_whole = bool(asks) and options.search != "kbest" and not self.uses_lists
        if is_whole and options.size != type(options)().size:
            raise UsageError(
                f"{self.name} searches whole forests for BLEU and makes no lists; drop "
                "--list-size, or give --forest-search kbest"
            )
        if options.search in {"rerank", "linear"} and not asks:
            raise UsageError(
                f"--forest-search {options.search} is for BLEU with --objective document; drop it, "
                "or give kbest"
            )

    def shown_option(self, field: str) -> object:
        """Return how a signature shows an option."""
        return getattr(self, field)

    def signature(self) -> str:
        """Return what has to be known to run the same again."""
        parts = [self.name]
        for option in options_of(type(self)):
            value = self.shown_option(option.field)
            if option.several and value:
                parts.append(f"{option.field}:{','.join(map(str, getattr(self, option.field)))}")
            elif not option.several and value not in (None, ""):
                parts.append(f"{option.field}:{value}")
        return "|".join(parts)


def equal_weights(tuning: Task) -> Floats:
    """Return weights with which each dense feature counts the same, and sparse ones nothing."""
    weights: Floats = 1.0 / tuning.hypotheses().spread()
    is_dense = tuning.dense
    if is_dense.any():
        weights[~is_dense] = 0.0
    return weights


#: What adding up in another order may change, as a share of a score.
ROUNDING = 1e-9
#: What becomes of weights whose features the data lack.
KEPT = "kept unchanged"


def _warn_below_start(scores: Scores, metric: Metric) -> None:
    """Warn of weights that score less than those that a run began with."""
    before, after = scores.initial_score, scores.score
    worse = after < before if metric.higher_is_better else after > before
    if worse and abs(after - before) > ROUNDING * max(abs(before), 1.0):
        warnings.warn(
            f"the result scores {after:.6g} on the tuning set, and the start "
            f"{before:.6g}: keep the start, or try other options or another tuner",
            stacklevel=2,
        )


def _warn_of_no_match(oracle_score: float, metric: Metric) -> None:
    """Warn if BLEU is 0 whatever is chosen, as with texts that are shorter than its n-grams."""
    if metric.name == "bleu" and oracle_score == 0.0:
        warnings.warn(
            "bleu is 0 for every choice of candidates: they are too short for its n-grams, or "
            "match no word of the references; tune for sentence-bleu or chrf",
            stacklevel=2,
        )


def _own_verdict(outcome: Outcome | None, setup: Setup) -> Verdict:
    """Return the verdict on sentences that the algorithm itself has held out, if any."""
    if outcome is None or outcome.held_out is None:
        return replace(UNKNOWN, higher_is_better=setup.whole.metric.higher_is_better)
    # The start of the result has features that were dropped, and breaks restrictions.
    whole = setup.whole
    before = whole.winners(setup.begin.aligned(whole.names)).stats
    return judge(whole.metric, replace(outcome.held_out, before=before), "folds")


def _unusual(options: Mapping[str, object]) -> str:
    """Return the options of ``fit`` that are not as they usually are."""
    usual = {"runs": 1, "combine": "best", "normalise": "auto", "keep": "", "drop": ""}
    return "".join(
        f"|{key}:{options[key]}" for key, value in usual.items() if options[key] != value
    )


@contextlib.contextmanager
def evaluated_here(is_interrupted: bool) -> Iterator[None]:
    """Evaluate within the block, after an interruption in threads: workers have been ended."""
    if not is_interrupted:
        yield
        return
    progress("evaluating the best weights so far", 0, None, "Ctrl-C again ends at once")
    with working_on(None):
        yield


@contextlib.contextmanager
def _recorded() -> Iterator[list[str]]:
    """Keep what is warned of in a list, and warn of it again at the end."""
    messages: list[str] = []
    with recorded_warnings() as caught:
        yield messages
    reissue(caught)
    messages += [str(w.message) for w in caught if issubclass(w.category, UserWarning)]


def _within(certificate: dict[str, Any] | None, dropped: Weights) -> dict[str, Any] | None:
    """Say that a certificate speaks of the kept features alone, if others were dropped."""
    if certificate is None or not len(dropped):
        return certificate
    parts = [certificate["within"]] if "within" in certificate else []
    return certificate | {"within": " and ".join([*parts, "the kept features"])}


def check_sum(tuning: TuningSet, purpose: str) -> None:
    """Raise an error if the metric is not a sum over the sentences of a set, which is needed."""
    tuning.metric.check_sum(purpose)
    if not tuning.is_sum:
        raise UsageError(
            f"{purpose} needs a metric that is a sum over sentences, and {tuning.metric.name} is "
            "not where the length of the reference depends on the candidate; give one reference, "
            "or use --metric sentence-bleu"
        )


TUNERS: Registry[Tuner] = Registry(
    "tuner", "tunesmith.tuners tunesmith.tuners.online", "tunesmith.tuners", Tuner
)
