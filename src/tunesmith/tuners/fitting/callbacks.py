"""Those who are told how a run goes: trackers of experiments, and whoever else wants to know."""

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
from tunesmith.errors import UsageError, one_line, shortened
from tunesmith.registry import options_of

if TYPE_CHECKING:
    from tunesmith.tasks.base import Task
    from tunesmith.tuners.base import Tuner
    from tunesmith.tuners.fitting.result import TuneResult


@dataclass(frozen=True)
class Step:
    """What one step of a run came to: a round of a loop, or an entry of a tuner's history.

    Attributes
    ----------
    number
        From 0. What is known of a step only later comes with the same number.
    figures
        Numbers by name, as the JSON of a result calls them: ``score``, ``dev_score``,
        ``length_ratio`` ...
    weights
        Those that the figures are of, where they are known.
    """

    number: int
    figures: Mapping[str, float]
    weights: Weights | None = None


class Callback:
    """Is told how a run goes; nothing that it does changes the run.

    A subclass has those of the methods that it wants. An error in one of them becomes a warning,
    and the run goes on without whoever raised it.
    """

    @property
    def label(self) -> str:
        """What a warning calls it."""
        return type(self).__name__

    def begun(self, settings: Mapping[str, Any], key: str | None) -> None:
        """Hear that a run begins.

        Parameters
        ----------
        settings
            The tuner with its options, the metric, the seed, sizes of the sets ...
        key
            What tells a run that can be taken up again from all others. It is the same when the
            run goes on, and all its steps then come once more, with the same numbers. None for a
            run that can not.
        """

    def step(self, step: Step) -> None:
        """Hear what a step came to."""

    def ended(self, result: TuneResult) -> None:
        """Hear what the run came to."""

    def failed(self, error: BaseException) -> None:
        """Hear that the run ended without a result: an error, or an interruption."""


#: Called with an entry of a history, the names of features and their weights.
Hear = Callable[[dict[str, Any], tuple[str, ...], Floats], None]

_hear: ContextVar[Hear | None] = ContextVar("hear", default=None)


def note_step(entry: dict[str, Any], names: tuple[str, ...], weights: Floats) -> None:
    """Say what a step has come to as soon as that is known; costs nothing if nobody listens."""
    hear = _hear.get()
    if hear is not None:
        hear(entry, names, weights)


class Audience:
    """All who listen to one run."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        several = isinstance(callbacks, Sequence)
        for one in callbacks if several else [callbacks]:
            if not several or not isinstance(one, Callback):
                raise UsageError(f"callbacks has {one!r:.60}; give a list of Callback objects")
        self._listening = list(callbacks)
        self._heard = 0

    def begun(self, settings: Callable[[], Mapping[str, Any]], key: str | None) -> None:
        """Tell that a run begins; settings are put together only if somebody listens."""
        if self._listening:
            known = settings()
            self._tell(lambda one: one.begun(known, key))

    def step(self, step: Step) -> None:
        """Tell what a step came to."""
        self._tell(lambda one: one.step(step))

    def failed(self, error: BaseException) -> None:
        """Tell that there is no result."""
        self._tell(lambda one: one.failed(error))

    def ended(self, result: TuneResult) -> None:
        """Tell what the run came to."""
        self._tell(lambda one: one.ended(result))

    def fitted(self, result: TuneResult) -> None:
        """Tell what a tuner came to: the steps that were not heard of yet, and the result."""
        if self._listening:
            for entry in result.history[self._heard :]:
                self.step(Step(int(entry["step"]), figures_of(entry)))
            self.step(Step(len(result.history), _of_result(result), result.weights))
        self.ended(result)

    @contextlib.contextmanager
    def hearing(self, is_live: bool, shown: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
        """Listen to steps within the block as they are made.

        Parameters
        ----------
        is_live
            Whether they are made in the order of the history. Otherwise nobody is told, which
            goes for tuners within tuners too.
        shown
            Makes an entry of a history of what an algorithm notes.
        """

        def hear(entry: dict[str, Any], names: tuple[str, ...], weights: Floats) -> None:
            figures = figures_of(shown(entry))
            self.step(Step(self._heard, figures, Weights(names, weights.copy())))
            self._heard += 1

        token = _hear.set(hear if is_live and self._listening else None)
        try:
            yield
        finally:
            _hear.reset(token)

    def _tell(self, what: Callable[[Callback], None]) -> None:
        for one in list(self._listening):
            try:
                what(one)
            except Exception as error:  # noqa: BLE001  (a tracker must not lose a result)
                self._listening.remove(one)
                with contextlib.suppress(Exception):
                    one.failed(error)
                said = shortened(one_line(f"{type(error).__name__}: {error}"))
                warnings.warn(
                    f"{one.label} failed, and the run goes on without it: {said}", stacklevel=3
                )


@contextlib.contextmanager
def telling(
    callbacks: Sequence[Callback],
    settings: Callable[[], Mapping[str, Any]],
    key: str | None = None,
) -> Iterator[Audience]:
    """Tell callbacks of what is run within the block, and of an error in it."""
    audience = Audience(callbacks)
    audience.begun(settings, key)
    try:
        yield audience
    except BaseException as error:
        audience.failed(error)
        raise


def settings_of(
    tuner: Tuner,
    tuning: Task,
    dev: Task | None,
    test: Task | None,
    own: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what a tuner is run with, on which sets; ``own`` are options of its ``fit``."""
    named = {"tune": tuning, "dev": dev, "test": test}
    sets = {which: one for which, one in named.items() if one is not None}
    return {
        **options_told(tuner),
        "metric": tuning.signature(),
        **own,
        "features": len(tuning.names),
        **{f"{which}_groups": one.groups for which, one in sets.items()},
        "files": ", ".join(file.path for one in sets.values() for file in one.files),
    }


def options_told(tuner: Tuner) -> dict[str, Any]:
    """Return a tuner's name and options, and the version."""
    options = options_of(type(tuner))
    return {
        "version": __version__,
        "tuner": tuner.name,
        **{f"tuner.{option.field}": tuner.shown_option(option.field) for option in options},
    }


def figures_of(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers among what is said of a step."""
    return {
        key: float(value)
        for key, value in entry.items()
        if key != "step" and isinstance(value, int | float) and math.isfinite(value)
    }


def _of_result(result: TuneResult) -> dict[str, float]:
    """Return the scores and the lengths of a result."""
    found: dict[str, Any] = {"score": result.score, "length_ratio": result.length_ratio}
    for which, held in (("dev", result.dev), ("test", result.test)):
        if held is not None:
            found |= {f"{which}_score": held.score, f"{which}_length_ratio": held.length_ratio}
    return figures_of(found)
