"""Weights of sil-machine's Thot models, tuned by a loop in place of its Nelder-Mead search.

>>> with ThotSmtModelTrainer("hmm", corpus, "smt.cfg") as trainer:
...     use_tunesmith(trainer)
...     trainer.train()
...     trainer.save()
"""

from __future__ import annotations

import contextvars
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tunesmith.decoders.thot import BOUNDS, MOST_WORDS, ThotDecoder
from tunesmith.errors import MissingExtraError, TunesmithError
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.bleu import BLEU
from tunesmith.progress import show_with
from tunesmith.tuners.base import Tuner
from tunesmith.tuners.fitting.result import TuneResult
from tunesmith.tuners.mert.mert import MERT

try:
    from machine.translation.thot import ThotSmtModelTrainer, ThotSmtParameters
    from machine.translation.thot.parameter_tuner import ParameterTuner
    from machine.translation.thot.thot_word_alignment_model_type import ThotWordAlignmentModelType
    from machine.translation.trainer import TrainStats
    from machine.utils import ProgressStatus
except ImportError:
    raise MissingExtraError("tunesmith.integrations.sil_machine", "sil-machine") from None

#: Where sil-machine's trainer keeps its tuner.
HELD = "_model_weight_tuner"
#: So many digits behind the point does sil-machine write of a weight.
DIGITS = 6


class TunesmithParameterTuner(ParameterTuner):
    """Tunes the eight weights of a Thot model: decode, merge the lists, tune, and again.

    Parameters
    ----------
    word_alignment_model_type
        The kind of the model's alignments: sil-machine's type, or its name.
    tuner
        The tuner; by default MERT with the restrictions of :func:`default_tuner`.
    rounds
        The most rounds of tuning. The sentences are decoded once more than that.
    nbest_size
        The number of candidates per sentence.
    norm
        The scale of the weights, on which the width of Thot's search depends; see
        :class:`tunesmith.decoders.thot.ThotDecoder`.
    metric
        The metric to tune for. The statistics of the training always get BLEU, from 0 to 1, and
        another metric under its own name.
    seed
        The seed of all randomness.

    Attributes
    ----------
    result
        The result of the last tuning, round by round; None before.
    decodings
        The number of sentences decoded.
    """

    def __init__(
        self,
        word_alignment_model_type: ThotWordAlignmentModelType | str,
        tuner: Tuner | None = None,
        *,
        rounds: int = 5,
        nbest_size: int = 100,
        norm: float = 0.5,
        metric: str = "bleu",
        seed: int = 1,
    ) -> None:
        name = getattr(word_alignment_model_type, "name", word_alignment_model_type)
        self.alignment: Any = str(name).lower().replace("_", "-")
        self.tuner = tuner
        self.loop = Loop(rounds=rounds, final="tune")
        self.nbest_size = nbest_size
        self.norm = norm
        self.metric = metric
        self.seed = seed
        self.result: TuneResult | None = None
        self.decodings = 0

    def tune(
        self,
        parameters: ThotSmtParameters,
        tune_source_corpus: Sequence[Sequence[str]],
        tune_target_corpus: Sequence[Sequence[str]],
        stats: TrainStats,
        # Declared as a status there, and called.
        progress: Callable[[ProgressStatus], None],  # type: ignore[override]
    ) -> ThotSmtParameters:
        """Return the parameters with tuned weights; ``stats`` gets their score.

        Pairs with a source that is too long for Thot are left out, with a warning.
        """
        inputs = _inputs(tune_source_corpus, tune_target_corpus)
        others = () if METRICS.create(self.metric) == BLEU() else (BLEU(),)
        tuner = self.tuner or default_tuner(parameters.model_non_monotonicity == 0)
        with tempfile.TemporaryDirectory(prefix="tunesmith-") as folder:
            config = Path(folder, "smt.cfg")
            config.write_text(_config(parameters), encoding="utf-8")
            decoder = ThotDecoder(
                str(config), self.nbest_size, alignment=self.alignment, norm=self.norm
            )

            def run() -> TuneResult:
                show_with(_shown(progress))
                return self.loop.run(
                    decoder, tuner, inputs, metric=self.metric, seed=self.seed, others=others
                )

            try:
                # In a context of its own, so that nobody else's progress is reported there.
                result = contextvars.copy_context().run(run)
                weights = decoder.used(result.weights)
            finally:
                decoder.close()
        self.result = result
        self.decodings = sum(entry["decoded"] for entry in result.rounds or ())
        if others:
            stats.metrics[self.metric] = result.score
        # As sil-machine has it: between 0 and 1.
        stats.metrics["bleu"] = (result.others[0].score if others else result.score) / 100
        progress(ProgressStatus.from_step(self.loop.rounds, self.loop.rounds))
        tuned = parameters.copy()
        # As they are saved, so that the model in memory is the one on disk.
        tuned.model_weights = [round(weight, DIGITS) for weight in weights.vector.tolist()]
        return tuned


def default_tuner(monotone: bool = True) -> MERT:
    """Return MERT that keeps weights at 0 or above as sil-machine's own tuner does.

    Where phrases keep the order of the source, the jumps are as many as the phrases, which is
    another feature already: their weight then stays 0.
    """
    return MERT(bound=BOUNDS, fix=("SourceJump=0",) if monotone else ())


def use_tunesmith(trainer: ThotSmtModelTrainer, **options: Any) -> TunesmithParameterTuner:
    """Have a trainer tune its weights with tunesmith; return the tuner.

    Parameters
    ----------
    trainer
        sil-machine's trainer, before ``train``.
    options
        Those of :class:`TunesmithParameterTuner`.
    """
    kind = getattr(trainer, "_word_alignment_model_type", None)
    if kind is None or not hasattr(trainer, HELD):
        raise TunesmithError(
            "this trainer has no tuner to replace; use a ThotSmtModelTrainer of sil-machine 1.8"
        )
    tuner = TunesmithParameterTuner(kind, **options)
    setattr(trainer, HELD, tuner)
    return tuner


def _inputs(source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> Inputs:
    """Return the pairs that Thot can translate; sil-machine's own tuner passes over others."""
    pairs = [
        (" ".join(words), " ".join(translation))
        for words, translation in zip(source, target, strict=True)
    ]
    short = [pair for pair in pairs if len(pair[0].split()) <= MOST_WORDS]
    limit = f"more than {MOST_WORDS} words, which Thot does not translate"
    if pairs and not short:
        raise TunesmithError(f"all sentences to tune on have {limit}; give shorter ones")
    if (left := len(pairs) - len(short)) > 0:
        warnings.warn(
            f"{left} of {len(pairs)} sentences to tune on left out: {limit}", stacklevel=3
        )
    return Inputs.of((source for source, _ in short), (target for _, target in short))


def _config(parameters: ThotSmtParameters) -> str:
    """Return the parameters that a translation depends on as a file of Thot's."""
    lines = [
        f"-tm {Path(parameters.translation_model_filename_prefix).absolute()}",
        f"-lm {Path(parameters.language_model_filename_prefix).absolute()}",
        f"-W {parameters.model_w!r}",
        f"-A {parameters.model_a}",
        f"-S {parameters.decoder_s}",
        f"-h {int(parameters.model_heuristic)}",
        f"-nomon {parameters.model_non_monotonicity}",
    ]
    if not parameters.decoder_breadth_first:
        lines.append("-be")
    if len(parameters.model_weights):
        lines.append("-tmw " + " ".join(repr(float(w)) for w in parameters.model_weights))
    return "".join(f"{line}\n" for line in lines)


def _shown(
    progress: Callable[[ProgressStatus], None],
) -> Callable[[str, float, float | None, str], None]:
    """Report rounds as sil-machine reports steps."""

    def show(step: str, done: float, total: float | None, remark: str) -> None:
        if step == "rounds" and total is not None:
            progress(ProgressStatus.from_step(int(done), int(total), remark))

    return show
