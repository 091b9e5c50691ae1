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
    from tunesmith.data.merge import merge
    from tunesmith.data.weights import Weights
    from tunesmith.errors import FormatError, TunesmithError
    from tunesmith.inference.rerank import rerank
    from tunesmith.io.read import read
    from tunesmith.io.weights import read_weights
    from tunesmith.metrics.bleu import BLEU
    from tunesmith.metrics.tuning import TuningSet
    from tunesmith.parallel.local import threads
    from tunesmith.tuners.base import TuneResult
    from tunesmith.tuners.mert import MERT

# Imported at first use, so that `import tunesmith` and `tunesmith --help` are quick.
_HOME = {
    "BLEU": "metrics.bleu",
    "CandidateSet": "data.candidates",
    "Features": "data.features",
    "FormatError": "errors",
    "MERT": "tuners.mert",
    "TuneResult": "tuners.base",
    "TunesmithError": "errors",
    "TuningSet": "metrics.tuning",
    "Weights": "data.weights",
    "merge": "data.merge",
    "read": "io.read",
    "read_weights": "io.weights",
    "rerank": "inference.rerank",
    "threads": "parallel.local",
}

__all__ = [  # noqa: RUF022  (classes, then functions)
    "BLEU",
    "CandidateSet",
    "Features",
    "FormatError",
    "MERT",
    "TuneResult",
    "TunesmithError",
    "TuningSet",
    "Weights",
    "__version__",
    "merge",
    "read",
    "read_weights",
    "rerank",
    "threads",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tunesmith' has no attribute '{name}'")
    return getattr(importlib.import_module(f"tunesmith.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
