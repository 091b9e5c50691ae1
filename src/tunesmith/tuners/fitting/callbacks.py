"""Callbacks that follow a run: experiment trackers, and users' own."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tunesmith._version import __version__
from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError, honour_old_names, one_line, shortened
from tunesmith.registry import options_of

if TYPE_CHECKING:
    from tunesmith.tasks.base import Task
    from tunesmith.tuners.base import Tuner
    from tunesmith.tuners.fitting.result import TuneResult


@dataclass(frozen=True)
class Step:
    """The figures of one step of a run: a round of a loop, or an entry of a tuner's history.

    Attributes
    ----------
    number
        The number of the step, from 0. Figures that are known only later come with the same number.
    figures
        Numbers by name, as in the JSON of a result: ``score``, ``dev_score``, ``length_ratio`` ...
    weights
        The weights that the figures belong to, if known.
    """

    number: int
    figures: Mapping[str, float]
    weights: Weights | None = None


#: New names of methods of callbacks, by their deprecated ones.
OLD_NAMES = {"begun": "on_start", "step": "on_step", "ended": "on_end", "failed": "on_failure"}


class Callback:
    """Follows a run without changing it.

    A subclass overrides the methods that it needs. An error in one of them becomes a warning, and
    the run goes on without the callback that raised it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Honour deprecated names of methods."""
        super().__init_subclass__(**options)
        honour_old_names(cls, OLD_NAMES)

    @property
    def label(self) -> str:
        """Its name in warnings."""
        return type(self).__name__

    def on_start(self, settings: Mapping[str, Any], key: str | None) -> None:
        """Handle the start of a run.

        Parameters
        ----------
        settings
            The tuner with its options, the metric, the seed, sizes of the sets ...
        key
            Identifies a run that can be resumed. It is the same when the run is resumed, and all
            its steps then come once more, with the same numbers. None for other runs.
        """

    def on_step(self, step: Step) -> None:
        """Handle a step."""

    def on_end(self, result: TuneResult) -> None:
        """Handle the result of the run."""

    def on_failure(self, error: BaseException) -> None:
        """Handle the end of a run without a result: an error, or an interruption."""

    begun, step, ended, failed = on_start, on_step, on_end, on_failure


#: Called with an entry of a history, the names of features and their weights.
StepHandler = Callable[[dict[str, Any], tuple[str, ...], Floats], None]

_step_handler: ContextVar[StepHandler | None] = ContextVar("step_handler", default=None)


def note_step(entry: dict[str, Any], names: tuple[str, ...], weights: Floats) -> None:
    """Report a step as soon as its figures are known; costs nothing without callbacks."""
    handler = _step_handler.get()
    if handler is not None:
        handler(entry, names, weights)


class CallbackList:
    """The callbacks of one run."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        several = isinstance(callbacks, Sequence)
        for callback in callbacks if several else [callbacks]:
            if not several or not isinstance(callback, Callback):
                raise UsageError(f"callbacks has {callback!r:.60}; give a list of Callback objects")
        self._active = list(callbacks)
        self._steps = 0

    def on_start(self, settings: Callable[[], Mapping[str, Any]], key: str | None) -> None:
        """Call ``on_start``; settings are computed only if there are callbacks."""
        if self._active:
            known = settings()
            self._call(lambda callback: callback.on_start(known, key))

    def on_step(self, step: Step) -> None:
        """Call ``on_step``."""
        self._call(lambda callback: callback.on_step(step))

    def on_failure(self, error: BaseException) -> None:
        """Call ``on_failure``."""
        self._call(lambda callback: callback.on_failure(error))

    def on_end(self, result: TuneResult) -> None:
        """Call ``on_end``."""
        self._call(lambda callback: callback.on_end(result))

    def on_fit(self, result: TuneResult) -> None:
        """Report the steps of a tuner's result that were not reported yet, and the result."""
        if self._active:
            for entry in result.history[self._steps :]:
                self.on_step(Step(int(entry["step"]), figures_of(entry)))
            self.on_step(Step(len(result.history), _result_figures(result), result.weights))
        self.on_end(result)

    @contextlib.contextmanager
    def live_steps(self, is_live: bool, shown: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
        """Report the steps within the block as they are made.

        Parameters
        ----------
        is_live
            Whether they are made in the order of the history. Otherwise none is reported, nor those
            of tuners within tuners.
        shown
            Makes an entry of a history of what an algorithm notes.
        """

        def handle(entry: dict[str, Any], names: tuple[str, ...], weights: Floats) -> None:
            figures = figures_of(shown(entry))
            self.on_step(Step(self._steps, figures, Weights(names, weights.copy())))
            self._steps += 1

        token = _step_handler.set(handle if is_live and self._active else None)
        try:
            yield
        finally:
            _step_handler.reset(token)

    def _call(self, call: Callable[[Callback], None]) -> None:
        for callback in list(self._active):
            try:
                call(callback)
            except Exception as error:  # noqa: BLE001  (a tracker must not lose a result)
                self._active.remove(callback)
                with contextlib.suppress(Exception):
                    callback.on_failure(error)
                problem = shortened(one_line(f"{type(error).__name__}: {error}"))
                warnings.warn(
                    f"{callback.label} failed, and the run goes on without it: {problem}",
                    stacklevel=3,
                )


@contextlib.contextmanager
def callbacks_of_run(
    callbacks: Sequence[Callback],
    settings: Callable[[], Mapping[str, Any]],
    key: str | None = None,
) -> Iterator[CallbackList]:
    """Call callbacks at the start of what runs within the block, and at an error in it."""
    callback_list = CallbackList(callbacks)
    callback_list.on_start(settings, key)
    try:
        yield callback_list
    except BaseException as error:
        callback_list.on_failure(error)
        raise


def settings_of(
    tuner: Tuner,
    tuning: Task,
    dev: Task | None,
    test: Task | None,
    fit_options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the settings of a run: the tuner, the options of its ``fit`` and the sets."""
    named = {"tune": tuning, "dev": dev, "test": test}
    sets = {name: tunable for name, tunable in named.items() if tunable is not None}
    return {
        **tuner_settings(tuner),
        "metric": tuning.signature(),
        **fit_options,
        "features": len(tuning.names),
        **{f"{name}_groups": tunable.groups for name, tunable in sets.items()},
        "files": ", ".join(file.path for tunable in sets.values() for file in tunable.files),
    }


def tuner_settings(tuner: Tuner) -> dict[str, Any]:
    """Return a tuner's name and options, and the version."""
    options = options_of(type(tuner))
    return {
        "version": __version__,
        "tuner": tuner.name,
        **{f"tuner.{option.field}": tuner.shown_option(option.field) for option in options},
    }


def figures_of(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the finite numbers of an entry."""
    return {
        key: float(value)
        for key, value in entry.items()
        if key != "step" and isinstance(value, int | float) and math.isfinite(value)
    }


def _result_figures(result: TuneResult) -> dict[str, float]:
    """Return the scores and the lengths of a result."""
    figures: dict[str, Any] = {"score": result.score, "length_ratio": result.length_ratio}
    for name, scored in (("dev", result.dev), ("test", result.test)):
        if scored is not None:
            figures |= {f"{name}_score": scored.score, f"{name}_length_ratio": scored.length_ratio}
    return figures_of(figures)
