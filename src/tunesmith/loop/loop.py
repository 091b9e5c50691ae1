"""Decode, merge, tune, and again until nothing new appears."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tunesmith.decoders.base import Decoder
from tunesmith.loop.inputs import Inputs
from tunesmith.metrics.base import Metric
from tunesmith.registry import option
from tunesmith.tuners.base import Tuner
from tunesmith.tuners.result import TuneResult


@dataclass(frozen=True, kw_only=True)
class Loop:
    """Tuning with a decoder; its fields are options of ``tunesmith tune --decoder``."""

    rounds: int = option(10, "rounds of decoding and tuning at most")
    final: Literal["auto", "last", "tune", "dev", "average"] = option(
        "auto",
        "whose weights are returned: those of the last round, of the round whose output is best on "
        "the tuning set or on the held-out set, or the average of all rounds; auto is dev where "
        "there is a held-out set, otherwise tune",
    )
    weight_tolerance: float = option(
        1e-4, "stop when the weights, scaled to a sum of sizes of 1, change by less than this"
    )
    score_tolerance: float = option(
        0.0, "stop when the output's score changes by less than this from round to round"
    )

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
    ) -> TuneResult:
        """Decode and tune in turn.

        Returns
        -------
        TuneResult
            Its scores are those of the decoder's own output; ``rounds`` says what each round
            came to.
        """
        raise NotImplementedError
