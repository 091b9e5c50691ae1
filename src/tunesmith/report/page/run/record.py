"""What is known of a run: its result, and the candidates that it chose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.metrics.base import Metric
from tunesmith.tasks.lists import TuningSet

#: The sets of a run.
Which = Literal["tune", "dev", "test"]


@dataclass(frozen=True)
class RunSet:
    """The candidates of one set of a run, and what was chosen of them.

    Attributes
    ----------
    lists
        All candidates that there are to choose from; those of all rounds of a loop.
    before, after
        The output with the starting weights and with the tuned ones: a candidate per group, the
        groups being those of ``lists``. With a decoder it is what that gave, which need not be
        what the weights would choose from the lists.
    is_partial
        Whether ``lists`` are a part of what there was, as the best derivations of forests are.
    """

    lists: TuningSet
    before: CandidateSet
    after: CandidateSet
    is_partial: bool = False


@dataclass(frozen=True)
class RunRecord:
    """A finished or running run.

    Attributes
    ----------
    path
        The work directory or the result file.
    is_running
        Whether more is to come; ``result`` says what is known so far.
    result
        The JSON object of ``tunesmith tune``, the keys of which may be missing while it runs.
    metric
        What was tuned for.
    start, weights
        The weights before and after.
    sets
        Those whose candidates could be read.
    missing
        What cannot be shown, and what to do about it: a sentence each.
    is_whole
        Whether it came to its own end; false of one that goes on, or was interrupted.
    """

    path: str
    is_running: bool
    result: dict[str, Any]
    metric: Metric
    start: Weights
    weights: Weights
    sets: dict[Which, RunSet]
    missing: tuple[str, ...] = ()
    is_whole: bool = True
