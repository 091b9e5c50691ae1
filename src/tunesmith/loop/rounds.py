"""Records of the rounds of a loop; averages and changes of weights; warnings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.errors import reissue
from tunesmith.metrics.base import Metric
from tunesmith.tuners.fitting.result import Scores


@dataclass(eq=False)
class LoopRound:
    """One round: a decoding, and what was learnt from it.

    Attributes
    ----------
    weights
        The weights of the decoding.
    outputs
        By set (``tune``, ``dev``, ``test``): the scores of the decoder's output.
    texts
        By set: the decoder's output, a candidate per group.
    new, candidates
        How many candidates, or hyperedges of forests, it added, and how many there are; None
        where rounds are not merged.
    decoded
        How many sentences were decoded.
    tuned
        The result of tuning on all lists, as JSON; None for the last decoding.
    """

    weights: Weights
    texts: dict[str, CandidateSet]
    outputs: dict[str, dict[str, Any]]
    new: int | None
    candidates: int | None
    decoded: int
    decode_seconds: float
    tuned: dict[str, Any] | None = None

    def check(self, sets: Iterable[str]) -> None:
        """Raise an error if what was read from a file is not what a run writes."""
        known = {field.name for field in fields(Scores)} - {"initial_score"}
        for set_name in sets:
            output = self.outputs[set_name]
            wrong = (output.keys() - known) | ({"score", "length_ratio"} - output.keys())
            if wrong:
                raise KeyError(sorted(wrong)[0])
            for name, value in output.items():
                check_number(0.0 if value is None and name != "score" else value, name)
        check_number(self.decode_seconds, "decode_seconds")
        for name in ("new", "candidates", "decoded"):
            value = getattr(self, name)
            check_number(0 if value is None and name != "decoded" else value, name)

    @property
    def score(self) -> float:
        """The score of the output on the tuning set."""
        return float(self.outputs["tune"]["score"])

    def entry(self, number: int | str, is_chosen: bool) -> dict[str, Any]:
        """Return its entry in a result."""
        others = "dev", "test"
        return {
            "round": number,
            "score": self.score,
            **{f"{set_name}_score": self._output_figure(set_name, "score") for set_name in others},
            "length_ratio": self.outputs["tune"]["length_ratio"],
            **{
                f"{set_name}_length_ratio": self._output_figure(set_name, "length_ratio")
                for set_name in others
            },
            "new": self.new,
            "candidates": self.candidates,
            "decoded": self.decoded,
            "list_score": None if self.tuned is None else self.tuned["score"],
            "decode_seconds": self.decode_seconds,
            "tune_seconds": None if self.tuned is None else self.tuned["loop_seconds"],
            "weights": dict(self.weights),
            "chosen": is_chosen,
        }

    def _output_figure(self, set_name: str, name: str) -> float | None:
        return self.outputs[set_name][name] if set_name in self.outputs else None


def check_number(value: object, name: str) -> None:
    """Raise an error if a value of a file is no finite number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError(f"'{name}' is no number")


def check_texts(values: object, name: str) -> None:
    """Raise an error if a value of a file is no list of texts."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"'{name}' is no list of texts")


def check_tuned(tuned: Mapping[str, Any]) -> None:
    """Raise an error if the result of tuning on a round's lists is not what a run writes."""
    for name in ("score", "loop_seconds", "line_searches"):
        if name != "score" or tuned[name] is not None:  # there is none while learning live
            check_number(tuned[name], name)
    check_texts(tuned["warnings"], "warnings")
    if not isinstance(tuned["weights"], dict):
        raise ValueError("'weights' is no object")
    for name, value in tuned["weights"].items():
        check_number(value, name)
    history = tuned["history"]
    if not isinstance(history, list) or not all(isinstance(entry, dict) for entry in history):
        raise ValueError("'history' is no list of objects")


def change(before: Weights, after: Weights) -> float:
    """Return the greatest change of a weight, both sets being scaled to a sum of sizes of 1."""
    names = tuple(dict.fromkeys([*before, *after]))
    return float(np.abs(_scaled(before.aligned(names)) - _scaled(after.aligned(names))).max())


def average(every: Sequence[Weights]) -> Weights:
    """Return the average of weights, each scaled to one sum of sizes, in the last one's size."""
    names = tuple(dict.fromkeys(name for weights in every for name in weights))
    vectors = np.array([_scaled(weights.aligned(names)) for weights in every])
    size = float(np.abs(every[-1].vector).sum())
    return Weights(names, size * vectors.mean(axis=0))


def _scaled(vector: Any) -> Any:
    return vector / (np.abs(vector).sum() or 1.0)


def best_round(rounds: Sequence[LoopRound], set_name: str, metric: Metric) -> LoopRound:
    """Return the round whose output is best on a set, the first among equals."""
    sign = 1.0 if metric.higher_is_better else -1.0
    return max(rounds, key=lambda r: sign * float(r.outputs[set_name]["score"]))


def history_of_rounds(rounds: Sequence[LoopRound]) -> list[dict[str, Any]]:
    """Return the steps of all tunings, one after the other."""
    history: list[dict[str, Any]] = []
    for number, loop_round in enumerate(rounds):
        for entry in [] if loop_round.tuned is None else loop_round.tuned["history"]:
            history.append({**entry, "step": len(history), "loop_round": number})
    return history


class WarningLog:
    """Warnings of a loop, of which each is issued once and not in every round."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def issue_new(self, caught: Sequence[warnings.WarningMessage]) -> None:
        """Issue those recorded warnings that are new."""
        for warning in caught:
            is_user_warning = issubclass(warning.category, UserWarning)
            text = str(warning.message)
            is_new = text not in self.texts
            if is_user_warning:
                self.add([text])
            if is_new or not is_user_warning:
                reissue([warning])

    def add(self, texts: Sequence[str]) -> None:
        """Add warnings that have been issued."""
        self.texts += [text for text in texts if text not in self.texts]
