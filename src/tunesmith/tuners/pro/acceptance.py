"""Acceptance: which of the selected pairs of a group are learnt from.

Sections 3.1 and 3.3 of Nakov, Guzmán and Vogel, "A tale about PRO and monsters" (ACL 2013).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.registry import Options, Registry, option
from tunesmith.tuners.pro.pairs import Pairs, Rivals


class Acceptance(Options, ABC):
    """The third step: a choice of pairs. A subclass is a frozen dataclass of options."""

    _owner_is = "acceptance"
    name: str
    #: Whether it may draw random numbers. One that does not can work on parts of a set apart.
    is_random: ClassVar[bool] = True

    @abstractmethod
    def accept(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Ints:
        """Return the places, among the selected pairs of a group, of those that are accepted."""


ACCEPTANCES: Registry[Acceptance] = Registry(
    "acceptance", "tunesmith.tuners.pro", "tunesmith.acceptances", Acceptance
)


@ACCEPTANCES.register("greatest")
@dataclass(frozen=True)
class Greatest(Acceptance):
    """The pairs with the greatest differences in worth; among equals those sampled first."""

    pairs: int = option(50, "pairs of each group at most (the papers' Ξ)", least=1)

    is_random = False

    def accept(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Ints:
        """Sort by difference."""
        order = np.argsort(-pairs.differences(rivals.values), kind="stable")
        return order[: self.pairs]


@ACCEPTANCES.register("random")
@dataclass(frozen=True)
class RandomAcceptance(Acceptance):
    """Any of the pairs, each being equally likely."""

    pairs: int = option(50, "pairs of each group at most (the papers' Ξ)", least=1)

    def accept(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Ints:
        """Draw without replacement."""
        return rng.permutation(len(pairs))[: self.pairs]


@ACCEPTANCES.register("all")
@dataclass(frozen=True)
class AcceptAll(Acceptance):
    """All pairs that were selected; groups with long lists then count more."""

    is_random = False

    def accept(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Ints:
        """Accept all."""
        return np.arange(len(pairs))
