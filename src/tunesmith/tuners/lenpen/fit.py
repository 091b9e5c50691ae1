"""``Tuner.fit`` with a length penalty."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tunesmith.data.weights import Weights
from tunesmith.derived.lengths import without_quotients
from tunesmith.errors import UsageError
from tunesmith.interruption import uninterrupted
from tunesmith.kernels.compiling import working_seconds
from tunesmith.randomness import checked_seed, generator_of
from tunesmith.tasks.base import Task
from tunesmith.tuners.fitting.callbacks import callbacks_of_run, settings_of
from tunesmith.tuners.fitting.result import TuneResult
from tunesmith.tuners.fitting.secondary import (
    HeldOut,
    SecondaryMetric,
    scores_on,
    with_quotients,
)
from tunesmith.tuners.fitting.split import Split, baseline_model
from tunesmith.tuners.fitting.verdict import UNKNOWN
from tunesmith.tuners.lenpen.normalised import NormalisedLists
from tunesmith.tuners.lenpen.options import Lenpen
from tunesmith.tuners.lenpen.search import LenpenSearch

if TYPE_CHECKING:
    from tunesmith.tuners.base import Tuner


def fit_with_lenpen(
    tuner: Tuner,
    lenpen: Lenpen | str,
    tuning: Task,
    start: Mapping[str, float] | None,
    dev: Task | None,
    rng: Any,
    options: Mapping[str, Any],
) -> TuneResult:
    """Tune an exponent and the weights; the options are those of ``Tuner.fit``."""
    if isinstance(lenpen, str):
        lenpen = Lenpen(lenpen)
    every = {**options}
    test, others = every.pop("test"), every.pop("others")
    callbacks, baseline = every.pop("callbacks"), every.pop("baseline")
    split_options = [every.pop(name) for name in ("folds", "fold_column", "hold_out")]
    if baseline is not None:
        start = baseline_model(baseline, start, tuning.names)
    rng = 1 if rng is None else rng
    seed = None if isinstance(rng, type(generator_of(1))) else checked_seed(rng)
    split = Split.of(tuning, *split_options)
    run_options = {"seed": seed, "lenpen": lenpen.length, **every}
    settings = functools.partial(settings_of, tuner, split.tuning, dev, test, run_options)
    with callbacks_of_run(callbacks, settings) as callback_list:

        def fit(part: Task, rng: Any, is_whole: bool = False) -> TuneResult:
            sets = (dev, test) if is_whole else (dev, None)
            return _fitted(tuner, lenpen, part, start, sets, rng, others if is_whole else (), every)

        result = fit(split.tuning, rng, is_whole=True)
        signature = result.signature.replace("|seed:None|", f"|seed:{seed}|")
        result = replace(result, seed=seed, signature=signature)
        result = split.with_verdict(
            result, HeldOut(dev, test), lambda part: fit(part, 1 if seed is None else seed)
        )
        with uninterrupted():
            callback_list.on_fit(result)
    return result


def _fitted(
    tuner: Tuner,
    lenpen: Lenpen,
    tuning: Task,
    start: Mapping[str, float] | None,
    sets: tuple[Task | None, Task | None],
    rng: Any,
    others: Any,
    options: Mapping[str, Any],
) -> TuneResult:
    """Search, and evaluate what was found from scratch, by the names that weights have."""
    started = working_seconds()
    lists = NormalisedLists(tuning, lenpen)
    dev, test = (None if task is None else NormalisedLists(task, lenpen) for task in sets)
    plain, begin = without_quotients(start, lists.length)
    for other in others:
        SecondaryMetric.of(other, tuning, HeldOut(*sets))  # before it takes long
    generator = generator_of(rng)

    def fit(exponent: float, weights: Mapping[str, float] | None) -> TuneResult:
        (child,) = generator.spawn(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the result are issued at the end
            return tuner.fit(
                lists.at(exponent),
                weights,
                None if dev is None else dev.at(exponent),
                child,
                test=None if test is None else test.at(exponent),
                **options,
            )

    short = tuner.short_form()
    keep, drop = options["keep"], options["drop"]

    def climb(exponent: float, weights: Weights) -> Weights:
        assert short is not None
        at = lists.at(exponent).with_features(keep, drop)
        (child,) = generator.spawn(1)
        outcome = short.tune(at, weights.aligned(at.names), child)
        return weights.updated(Weights(at.names, outcome.weights))

    walker = generator.spawn(1)[0]
    search = LenpenSearch(lists, fit, None if short is None else climb, walker)
    search.run(plain, begin)
    with uninterrupted():  # all is found
        assert search.best is not None
        _, exponent, weights, last = search.best
        tuned = lists.named(weights, exponent)
        # Features that a start lacks begin at 0; without one, it is that of the scores as they are.
        initial = Weights(lists.names, tuner.baseline(lists.lists))
        if start is not None:
            initial = Weights.from_dict({**dict.fromkeys(lists.names, 0.0), **start})
        tuning_set = with_quotients(tuning, initial, tuned)
        scores = scores_on(tuning_set, initial, tuned)
        beside = HeldOut(
            *(None if task is None else with_quotients(task, initial, tuned) for task in sets)
        )
        for text in last.warnings:
            warnings.warn(text, stacklevel=4)
        return replace(
            last,
            weights=tuned,
            start=initial,
            score=scores.score,
            initial_score=scores.initial_score,
            length_ratio=scores.length_ratio,
            brevity_penalty=scores.brevity_penalty,
            sentence_bleu=scores.sentence_bleu,
            dev=None if beside.dev is None else scores_on(beside.dev, initial, tuned),
            test=None if beside.test is None else scores_on(beside.test, initial, tuned),
            others=tuple(
                SecondaryMetric.of(other, tuning_set, beside).scores(initial, tuned)
                for other in others
            ),
            line_searches=search.line_searches,
            seconds=working_seconds() - started,
            data=tuning.files + HeldOut(*sets).files,
            signature=f"{last.signature}|lenpen:{lists.length}^{exponent!r}",
            verdict=UNKNOWN,
            committee=None,
            certificate=None,
            lenpen=search.told(),
            stopped=search.stopped,
            interrupted=search.stopped is not None,
        )


def check_lenpen(lenpen: Lenpen | None, has_forests: bool) -> None:
    """Raise an error if there is nothing that a length penalty could divide: before reading."""
    if lenpen is not None and has_forests:
        raise UsageError(
            "--lenpen divides the scores of whole candidates, and forests have none; make lists "
            "with `tunesmith convert --forests F --nbest N`"
        )
