"""Tunes the weights of a linear model over candidates straight for the metric reported.

>>> import tunesmith as ts
>>> candidates = ts.read("tune.nbest.gz", references=["tune.ref"])
>>> result = ts.MERT(restarts=20).fit(ts.TuningSet(candidates, metric="bleu"))
>>> print(result)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tunesmith._version import __version__

if TYPE_CHECKING:
    from tunesmith.data.candidates import CandidateSet
    from tunesmith.data.features import Features
    from tunesmith.data.forests import Forests, ForestSet
    from tunesmith.data.merge import merge
    from tunesmith.data.synthetic import synthetic
    from tunesmith.data.weights import Weights
    from tunesmith.decoders.base import Decoder, DecoderError, Sentence
    from tunesmith.decoders.cdec import CdecDecoder
    from tunesmith.decoders.command import CommandDecoder
    from tunesmith.decoders.joshua import JoshuaDecoder
    from tunesmith.decoders.moses import MosesDecoder
    from tunesmith.decoders.pool import PoolDecoder
    from tunesmith.decoders.thot import ThotDecoder
    from tunesmith.errors import FormatError, TunesmithError
    from tunesmith.inference.rerank import rerank
    from tunesmith.interruption import interruptible
    from tunesmith.io.frames import from_arrays, from_frame
    from tunesmith.io.read import read
    from tunesmith.io.read_forests import read_forests
    from tunesmith.io.tables import to_columns
    from tunesmith.io.weights import read_weights
    from tunesmith.io.write import write
    from tunesmith.io.write_forests import write_forests
    from tunesmith.loop.inputs import Inputs
    from tunesmith.loop.loop import Loop
    from tunesmith.metrics.base import Metric
    from tunesmith.metrics.bleu import BLEU
    from tunesmith.metrics.chrf import CHRF
    from tunesmith.metrics.column import Column, Cost
    from tunesmith.metrics.combination import Harmonic, Minimum, Sum
    from tunesmith.metrics.forest_tuning import ForestOptions, ForestTuning
    from tunesmith.metrics.sentence_bleu import SentenceBLEU
    from tunesmith.metrics.ter import TER
    from tunesmith.metrics.tuning import TuningSet
    from tunesmith.metrics.wer import CER, WER
    from tunesmith.parallel.local import threads
    from tunesmith.report.map import metric_map
    from tunesmith.report.map_files import write_map
    from tunesmith.report.page.files import write_report
    from tunesmith.report.surface import error_surface
    from tunesmith.report.surface_files import write_surface
    from tunesmith.significance.comparing import compare
    from tunesmith.significance.comparison import Comparison
    from tunesmith.tuners.arow import AROW
    from tunesmith.tuners.auto import Auto
    from tunesmith.tuners.base import Tuner, TuneResult
    from tunesmith.tuners.batch_mira import BatchMIRA
    from tunesmith.tuners.certify import certify
    from tunesmith.tuners.listening import Callback, Step
    from tunesmith.tuners.lp_mert import LPMERT
    from tunesmith.tuners.mert import MERT
    from tunesmith.tuners.min_risk import MinRisk
    from tunesmith.tuners.mira import MIRA
    from tunesmith.tuners.perceptron import Perceptron
    from tunesmith.tuners.plane import Plane
    from tunesmith.tuners.pro import PRO
    from tunesmith.tuners.ramp import Ramp
    from tunesmith.tuners.sgd import SGD

# Imported at first use, so that `import tunesmith` and `tunesmith --help` are quick.
_HOME = {
    "AROW": "tuners.arow",
    "Auto": "tuners.auto",
    "BLEU": "metrics.bleu",
    "BatchMIRA": "tuners.batch_mira",
    "CER": "metrics.wer",
    "CHRF": "metrics.chrf",
    "Callback": "tuners.listening",
    "CandidateSet": "data.candidates",
    "CdecDecoder": "decoders.cdec",
    "Column": "metrics.column",
    "CommandDecoder": "decoders.command",
    "Comparison": "significance.comparison",
    "Cost": "metrics.column",
    "Decoder": "decoders.base",
    "DecoderError": "decoders.base",
    "Features": "data.features",
    "ForestOptions": "metrics.forest_tuning",
    "ForestSet": "data.forests",
    "ForestTuning": "metrics.forest_tuning",
    "Forests": "data.forests",
    "FormatError": "errors",
    "Harmonic": "metrics.combination",
    "Inputs": "loop.inputs",
    "JoshuaDecoder": "decoders.joshua",
    "LPMERT": "tuners.lp_mert",
    "Loop": "loop.loop",
    "MERT": "tuners.mert",
    "MIRA": "tuners.mira",
    "Metric": "metrics.base",
    "MinRisk": "tuners.min_risk",
    "Minimum": "metrics.combination",
    "MosesDecoder": "decoders.moses",
    "PRO": "tuners.pro",
    "Perceptron": "tuners.perceptron",
    "Plane": "tuners.plane",
    "PoolDecoder": "decoders.pool",
    "Ramp": "tuners.ramp",
    "SGD": "tuners.sgd",
    "Sentence": "decoders.base",
    "SentenceBLEU": "metrics.sentence_bleu",
    "Step": "tuners.listening",
    "Sum": "metrics.combination",
    "TER": "metrics.ter",
    "ThotDecoder": "decoders.thot",
    "TuneResult": "tuners.base",
    "Tuner": "tuners.base",
    "TunesmithError": "errors",
    "TuningSet": "metrics.tuning",
    "WER": "metrics.wer",
    "Weights": "data.weights",
    "certify": "tuners.certify",
    "compare": "significance.comparing",
    "error_surface": "report.surface",
    "from_arrays": "io.frames",
    "from_frame": "io.frames",
    "interruptible": "interruption",
    "merge": "data.merge",
    "metric_map": "report.map",
    "read": "io.read",
    "read_forests": "io.read_forests",
    "read_weights": "io.weights",
    "rerank": "inference.rerank",
    "synthetic": "data.synthetic",
    "threads": "parallel.local",
    "to_columns": "io.tables",
    "write": "io.write",
    "write_forests": "io.write_forests",
    "write_map": "report.map_files",
    "write_report": "report.page.files",
    "write_surface": "report.surface_files",
}

__all__ = [  # noqa: RUF022  (classes, then functions)
    "AROW",
    "Auto",
    "BLEU",
    "BatchMIRA",
    "CER",
    "CHRF",
    "Callback",
    "CandidateSet",
    "CdecDecoder",
    "Column",
    "CommandDecoder",
    "Comparison",
    "Cost",
    "Decoder",
    "DecoderError",
    "Features",
    "ForestOptions",
    "ForestSet",
    "ForestTuning",
    "Forests",
    "FormatError",
    "Harmonic",
    "Inputs",
    "JoshuaDecoder",
    "LPMERT",
    "Loop",
    "MERT",
    "MIRA",
    "Metric",
    "MinRisk",
    "Minimum",
    "MosesDecoder",
    "PRO",
    "Perceptron",
    "Plane",
    "PoolDecoder",
    "Ramp",
    "SGD",
    "Sentence",
    "SentenceBLEU",
    "Step",
    "Sum",
    "TER",
    "ThotDecoder",
    "TuneResult",
    "Tuner",
    "TunesmithError",
    "TuningSet",
    "WER",
    "Weights",
    "__version__",
    "certify",
    "compare",
    "error_surface",
    "from_arrays",
    "from_frame",
    "interruptible",
    "merge",
    "metric_map",
    "read",
    "read_forests",
    "read_weights",
    "rerank",
    "synthetic",
    "threads",
    "to_columns",
    "write",
    "write_forests",
    "write_map",
    "write_report",
    "write_surface",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tunesmith' has no attribute '{name}'")
    return getattr(importlib.import_module(f"tunesmith.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
