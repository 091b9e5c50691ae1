"""Tunes the weights of a linear model over candidates straight for the metric reported.

>>> import tunesmith as ts
>>> candidates = ts.read("tune.nbest.gz", references=["tune.ref"])
>>> result = ts.MERT(restarts=20).fit(ts.TuningSet(candidates, metric="bleu"))
>>> print(result)
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from tunesmith._version import __version__ as __version__

# The stub beside this file says where every public name lives; type checkers read it, and so does
# this. Modules are imported at first use, so that `import tunesmith` and `--help` are quick.
with open(f"{__file__}i", encoding="utf-8") as _file:
    _STUB = _file.read()
_HOME = {
    name: module
    for module, names in re.findall(r"^from (\S+) import (\([^)]*\)|.*)$", _STUB, re.MULTILINE)
    for name in re.findall(r"as (\w+)", names)
}
__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tunesmith' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
