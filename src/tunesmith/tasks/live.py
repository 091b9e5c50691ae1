"""Sentences that are decoded when they are needed: what online tuners work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from tunesmith.arrays import Flags, Floats
from tunesmith.data.candidates import FileDigest
from tunesmith.data.features import FeatureSelection
from tunesmith.data.forests import Forests, SelectedForests
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.examples import Examples
from tunesmith.inference.hypotheses import TuningHypotheses
from tunesmith.inference.live import LiveExamples
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.scored import reference_signature
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.tasks.base import Task
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet

#: What a set of live sentences is made of.
MADE_OF = ("source", "start", "metric", "options", "selected_names")
#: Weights whose outputs are cached: an evaluation asks for the start again and again.
MOST_OUTPUTS = 32
#: Sentences, from all over a set, that tell what is usual: a set may have millions.
ENOUGH = 1000


class LiveSource(Protocol):
    """Whoever decodes the sentences of a set, by their numbers from 0 on."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features of all forests."""
        ...

    @property
    def reference_counts(self) -> Sequence[int]:
        """How many references each sentence has; empty if there are none."""
        ...

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """What the sentences were read from."""
        ...

    def __len__(self) -> int:
        """Return the number of sentences."""
        ...

    def forests(self, weights: Weights, numbers: Sequence[int]) -> Forests:
        """Return the forests of some sentences under weights, with their references.

        Features that have no weight count as 0.
        """
        ...


class LiveTuning(Task):
    """Sentences whose forests are made when they are asked for, under the weights of the moment.

    Chiang, "Hope and fear" (JMLR 2012), section 7: the decoder sees every change of the weights
    in the next sentence. Nothing is kept of a sentence. What has to be known of the whole set
    before (how much features vary, what is usual) is that of forests under ``start``.

    Parameters
    ----------
    source
        Who decodes.
    start
        The weights to begin with.
    metric
        A metric of texts, or its name with options.
    options
        How derivations are looked for.
    kept
        The features that take part; None is all.
    """

    is_live = True

    def __init__(
        self,
        source: LiveSource,
        start: Weights,
        metric: Metric | str = "bleu",
        options: ForestOptions | None = None,
        selected_names: tuple[str, ...] | None = None,
    ) -> None:
        metric = METRICS.create(metric) if isinstance(metric, str) else metric
        if metric.columns:
            raise UsageError(
                f"{metric.name} needs a score for each candidate, and forests have none; tune on "
                "lists"
            )
        if metric.needs_references and not source.reference_counts:
            raise UsageError(f"{metric.name} needs references; give --references")
        self.source = source
        self.start = start
        self.metric = metric
        self.options = options or ForestOptions()
        self.selected_names = selected_names
        self._outputs: dict[bytes, TuningSet] = {}

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in MADE_OF)
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def is_portable(self) -> bool:
        """Whether the decoder can be sent to other processes."""
        return bool(getattr(self.source, "is_portable", False))

    @property
    def is_thread_safe(self) -> bool:
        """Whether threads may have sentences decoded at the same time."""
        return bool(getattr(self.source, "is_thread_safe", False))

    def hypotheses(self) -> TuningHypotheses:
        """Return what line searches and gradients ask, of the forests under the start."""
        return self.usual.hypotheses()

    def examples(self) -> Examples:
        """Return the sentences, one at a time; each is decoded at its first question."""
        return LiveExamples(self.names, self.groups, self._forest_examples, self.is_thread_safe)

    def _forest_examples(self, group: int, weights: Floats) -> Examples:
        return self.forests(weights, [group]).examples()

    def winners(self, weights: Floats) -> TuningSet:
        """Decode all sentences, and return the best derivation of each.

        What was returned for a few weights before is cached: beside forests, texts are small.
        """
        key = (weights + 0.0).tobytes()
        if key not in self._outputs:
            outputs = self.forests(weights).winners(weights)
            while len(self._outputs) >= MOST_OUTPUTS:
                self._outputs.pop(next(iter(self._outputs)))
            self._outputs[key] = outputs
        return self._outputs[key]

    def usual_lists(self, weights: Floats) -> TuningSet:
        """Return a few of the best derivations of the forests under the start."""
        return self.usual.usual_lists(weights)

    def learning_lists(self, weights: Floats, rng: np.random.Generator) -> TuningSet:
        """Return lists of the forests under the weights."""
        return self.forests(weights).learning_lists(weights, rng)

    def oracle_at(self, weights: Floats, worst: bool = False) -> tuple[float, bool]:
        """Return the best score in the forests under the weights, and whether none is better."""
        return self.forests(weights).oracle_at(weights, worst)

    def split_for_workers(self) -> tuple[Callable[[Any], LiveTuning], Any]:
        """Return what makes a copy elsewhere, and what is large in it, which workers may have."""
        settings = self.start, self.metric, self.options, self.selected_names
        parted = getattr(self.source, "parted", None)
        make, large = (_as_it_is, self.source) if parted is None else parted()
        return partial(_of_source, make, settings), large

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: forests that were made stay behind."""
        return {**{name: getattr(self, name) for name in MADE_OF}, "_outputs": {}}

    @property
    def names(self) -> tuple[str, ...]:
        """The features."""
        return self.source.names if self.selected_names is None else self.selected_names

    @property
    def dense(self) -> Flags:
        """Which features most derivations have, under the starting weights."""
        return self.usual.dense

    @property
    def common(self) -> Flags:
        """Which features are in half of the forests under the starting weights."""
        return self.usual.common

    @property
    def groups(self) -> int:
        """The number of sentences."""
        return len(self.source)

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """What the sentences were read from."""
        return self.source.files

    @cached_property
    def _named(self) -> Weights:
        return Weights(self.names, np.zeros(len(self.names)))

    def forests(self, weights: Floats, sentences: Sequence[int] | None = None) -> ForestTuning:
        """Decode some sentences, or all of them, under weights [D]."""
        numbers = range(self.groups) if sentences is None else sentences
        forests = self.source.forests(self._named.with_values(weights), numbers)
        if self.selected_names is not None:
            forests = SelectedForests(forests, self.selected_names)
        return ForestTuning(forests, self.metric, self.options)

    @cached_property
    def usual(self) -> ForestTuning:
        """The forests under the starting weights; of a large set those of some of its sentences."""
        numbers = None
        if self.groups > ENOUGH:
            numbers = np.linspace(0, self.groups - 1, ENOUGH).astype(np.int64).tolist()
        return self.forests(self.start.aligned(self.names), numbers)

    def forget(self) -> None:
        """Let go of the forests under the starting weights; they are made again if need be."""
        self.__dict__.pop("usual", None)

    def with_start(self, start: Weights) -> LiveTuning:
        """Return the same with other weights to begin with."""
        return LiveTuning(self.source, start, self.metric, self.options, self.selected_names)

    def with_features(
        self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()
    ) -> LiveTuning:
        """Return the same with some of the features; the others have no weight."""
        selection = FeatureSelection.of(keep, drop)
        selection.check(self.names)
        names = selection.select(self.names)
        settings = self.start, self.metric, self.options
        return self if names == self.names else LiveTuning(self.source, *settings, names)

    def with_metric(self, metric: Metric) -> LiveTuning:
        """Return the same sentences with another metric."""
        return LiveTuning(self.source, self.start, metric, self.options, self.selected_names)

    def signature(self) -> str:
        """Return the metric's signature, and how forests are searched."""
        signature = (
            f"{self.metric.signature()}|live|{self.options.signature(type(self.metric) is BLEU)}"
        )
        counts = self.source.reference_counts
        return f"{signature}|{reference_signature(counts)}" if counts else signature


def _as_it_is(source: LiveSource) -> LiveSource:
    return source


def _of_source(
    make: Callable[[Any], LiveSource], settings: tuple[Any, ...], large: Any
) -> LiveTuning:
    return LiveTuning(make(large), *settings)
