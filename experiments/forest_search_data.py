"""The forests of forest_search.py, and the weights that learning starts with."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tunesmith as ts

#: The first so many sentences of nc-wmt11 are tuned on where others are held out.
TUNED = 350
#: Section 7 of the paper: models of probabilities begin with 1, all else with 0. Which values of
#: the grammar are probabilities (−log10) its numbers tell; being costs, they begin with −1.
AS_PAPER = {"LanguageModel": 1.0, "PhraseModel_0": -1.0, "PhraseModel_3": -1.0}
AS_PAPER |= {"PhraseModel_4": -1.0}


class Source(NamedTuple):
    """Forests, the weights they came with, and weights that are not tuned."""

    forests: ts.ForestSet
    start: ts.Weights
    fix: tuple[str, ...]


class Data:
    """What is tuned on, read when it is first asked for."""

    def __init__(self, shared: Path) -> None:
        self._shared = shared

    @cached_property
    def nc(self) -> Source:
        """The 500 forests of nc-wmt11."""
        here = self._shared / "nc-wmt11-de-en"
        forests = ts.read_forests(here / "dev.forests.jsonl.gz", here / "dev.en")
        start = ts.read_weights(here / "weights.init").weights
        return Source(forests.in_memory(), start, ())

    @cached_property
    def m30k(self) -> Source:
        """The 100 search graphs of Moses."""
        here = self._shared / "m30k-forests"
        forests = ts.read_forests(here / "hg", here / "ref")
        start = ts.read_weights(here / "hg" / "weights").weights
        return Source(forests.in_memory(), start, ("UnknownWordPenalty0=1",))

    def named(self, name: str) -> Source:
        """Return a source by its name on the page."""
        return self.nc if name == "nc-wmt11" else self.m30k

    @cached_property
    def tune(self) -> ts.ForestSet:
        """The sentences of nc-wmt11 that are learnt from."""
        return self.nc.forests.with_groups(np.arange(TUNED))

    @cached_property
    def dev(self) -> ts.ForestSet:
        """Those that are held out."""
        return self.nc.forests.with_groups(np.arange(TUNED, self.nc.forests.groups))

    @cached_property
    def paper_start(self) -> ts.Weights:
        """Return weights like the paper's."""
        zeros = dict.fromkeys(self.nc.forests.names, 0.0)
        return ts.Weights.from_dict(zeros | AS_PAPER)
