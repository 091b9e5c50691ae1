"""What the callbacks of all trackers share: names, the weights that are logged, silence."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import logging
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tunesmith.errors import MissingExtraError, UnknownNameError, UsageError, shortened
from tunesmith.tuners.fitting.callbacks import Callback, Step

if TYPE_CHECKING:
    from tunesmith.data.weights import Weights
    from tunesmith.tuners.fitting.result import TuneResult

#: Sets whose figures stand side by side: ``dev_score`` becomes ``score/dev``.
SETS = ("dev", "test")
SPLIT = ("score", "length_ratio")
#: The end of sanitized names, which keeps them distinct.
SANITIZED = re.compile(r"_[0-9a-f]{8}$")
#: Where each kind of ``--log KIND:WHERE`` is.
KINDS = {
    "mlflow": ("tunesmith.integrations.mlflow", "MLflowCallback"),
    "tensorboard": ("tunesmith.integrations.tensorboard", "TensorBoardCallback"),
    "wandb": ("tunesmith.integrations.wandb", "WandbCallback"),
}


class Tracker(Callback):
    """A callback that logs to a tracker of experiments.

    Parameters
    ----------
    weights
        How many weights are logged in each step at most: of more, the largest. The result has
        them all.
    """

    #: The tracker's name, which is its extra too, and the package that it needs.
    name: ClassVar[str]
    package: ClassVar[str]
    #: Environment variables that are set while it is called, unless the user has set them.
    environment: ClassVar[Mapping[str, str]] = {}

    def __init__(self, weights: int = 100) -> None:
        if weights < 0:
            raise UsageError(f"weights is {weights}; give 0 or more")
        spec = importlib.util.find_spec(self.package)
        # A folder that a tracker has made is taken for a package without code.
        if spec is None or spec.origin is None:
            raise MissingExtraError(f"logging to {self.name}", self.name)
        self.weights = weights

    @property
    def label(self) -> str:
        """Its name in warnings."""
        return f"logging to {self.name}"

    def on_start(self, settings: Mapping[str, Any], key: str | None) -> None:
        """Open a run, or resume one."""
        with quiet(self.environment):
            texts = {name: as_text(value) for name, value in settings.items()}
            self._open({name: text for name, text in texts.items() if text}, key)

    def on_step(self, step: Step) -> None:
        """Log a step."""
        figures = {figure_name(name): value for name, value in step.figures.items()}
        if step.weights is not None:
            for name, value in largest(step.weights, self.weights).items():
                figures[f"weights/{self._sanitized(name)}"] = value
        with quiet(self.environment):
            self._log(step.number, figures)

    def on_end(self, result: TuneResult) -> None:
        """Log the result, and close the run."""
        with quiet(self.environment):
            self._finish(result)

    def on_failure(self, error: BaseException) -> None:
        """Close the run, which has no result."""
        with quiet(self.environment):
            self._abandon(error)

    def _sanitized(self, name: str) -> str:
        """Return a feature's name as the tracker takes it."""
        return name

    def _open(self, settings: Mapping[str, str], key: str | None) -> None:
        raise NotImplementedError

    def _log(self, number: int, figures: Mapping[str, float]) -> None:
        raise NotImplementedError

    def _finish(self, result: TuneResult) -> None:
        raise NotImplementedError

    def _abandon(self, error: BaseException) -> None:
        raise NotImplementedError


def tracker_of(text: str) -> Callback:
    """Make a callback of ``KIND:WHERE``, as ``tensorboard:runs/first``."""
    kind, _, where = text.partition(":")
    if kind not in KINDS:
        raise UnknownNameError("tracker", kind, KINDS)
    if not where:
        raise UsageError(f"--log {kind} does not say where to; give {kind}:{USUAL[kind]}")
    module, name = KINDS[kind]
    callback: Callback = getattr(importlib.import_module(module), name)(where)
    return callback


#: What stands behind the colon, as messages call it.
USUAL = {"mlflow": "URI_OR_FOLDER", "tensorboard": "FOLDER", "wandb": "PROJECT"}


@contextlib.contextmanager
def quiet(environment: Mapping[str, str]) -> Iterator[None]:
    """Keep a tracker's own warnings and notes from the user, who can do nothing about them."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    unset = [name for name in environment if name not in os.environ]
    os.environ.update({name: environment[name] for name in unset})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        for name in unset:
            os.environ.pop(name, None)


def figure_name(name: str) -> str:
    """Return what a figure is called, so that those of all sets stand in one group."""
    set_name, _, rest = name.partition("_")
    if set_name in SETS and rest in SPLIT:
        return f"{rest}/{set_name}"
    return f"{name}/tune" if name in SPLIT else name


def largest(weights: Weights, most: int) -> dict[str, float]:
    """Return at most ``most`` weights, the largest in size, in their order."""
    names = list(weights)
    if len(names) > most:
        names = sorted(names, key=lambda name: -abs(weights[name]))[:most]
    shown = set(names)
    return {name: float(value) for name, value in weights.items() if name in shown}


def sanitized(name: str, refused: re.Pattern[str], longest: int) -> str:
    """Return a name without the characters that a tracker refuses; distinct names stay distinct.

    A name that was changed, or looks like it, ends with a digest of the original.
    """
    clean = refused.sub("_", name)
    if clean == name and 0 < len(name) <= longest and not SANITIZED.search(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{clean[: longest - 9]}_{digest}"


def as_text(value: Any) -> str:
    """Return a setting as text."""
    if isinstance(value, list | tuple):
        return shortened(",".join(map(str, value)))
    return shortened("" if value is None else str(value))


def as_json(result: TuneResult) -> str:
    """Return a result as the file that ``tune --out`` writes."""
    return json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def scores_of(result: TuneResult) -> dict[str, float]:
    """Return the final figures of a result, by the names that trackers show."""
    figures: dict[str, float | None] = {
        "score": result.score,
        "initial_score": result.initial_score,
        "oracle_score": result.oracle_score,
        "length_ratio": result.length_ratio,
        "dev_score": None if result.dev is None else result.dev.score,
        "test_score": None if result.test is None else result.test.score,
        "seconds": result.seconds,
    }
    for other in result.others:
        figures[other.metric] = other.score
    return {f"final/{name}": value for name, value in figures.items() if value is not None}


def folder_of(path: str | Path, tracker: str) -> Path:
    """Create a folder; raise an error if that fails."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or "it cannot be made").lower()
        raise UsageError(f"{folder}: {why}; give {tracker} a folder to write to") from None
    return folder
