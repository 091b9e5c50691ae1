"""Selection: which of the sampled pairs may be learnt from.

Section 3.2 of Nakov, Guzmán and Vogel, "A tale about PRO and monsters" (ACL 2013). All can be
combined with each other and with any acceptance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tunesmith.arrays import Flags, Floats
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.registry import Options, Registry, option
from tunesmith.tuners.pro.pairs import Pairs, Rivals

#: What candidates are compared by.
Quantity = Literal["score", "length"]


class Selection(Options, ABC):
    """The second step: a filter of pairs. A subclass is a frozen dataclass of options."""

    _owner_is = "selection"
    name: str
    #: Whether it may draw random numbers. One that does not can work on parts of a set apart.
    is_random: ClassVar[bool] = True

    @property
    def needs_lengths(self) -> bool:
        """Whether it asks for the candidates' lengths."""
        return False

    @abstractmethod
    def keep(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Flags:
        """Tell of each pair of a group [P] whether it may be accepted."""


SELECTIONS: Registry[Selection] = Registry(
    "selection", "tunesmith.tuners.pro", "tunesmith.selections", Selection
)


@SELECTIONS.register("all")
@dataclass(frozen=True)
class Everything(Selection):
    """Every pair whose members are not worth the same."""

    is_random = False

    def keep(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Flags:
        """Keep all."""
        return np.ones(len(pairs), np.bool_)


@SELECTIONS.register("difference")
@dataclass(frozen=True)
class DifferenceSelection(Selection):
    """Pairs whose members differ in worth by so much, in natural units: 5 points are 0.05."""

    least: float = option(0.05, "the least difference (the papers' α)", least=0)
    most: float | None = option(None, "the greatest difference [default: any]")

    is_random = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most is not None and not self.most > self.least:
            raise UsageError(
                f"most of selection 'difference' is {self.most:g} and least is {self.least:g}; "
                "give a greater one, in natural units: 10 points are 0.1"
            )

    def keep(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Flags:
        """Keep pairs within the limits; the limits belong to them."""
        apart = pairs.differences(rivals.values)
        selected: Flags = apart >= self.least
        return selected if self.most is None else selected & (apart <= self.most)


@SELECTIONS.register("length")
@dataclass(frozen=True)
class Length(Selection):
    """Pairs whose lengths differ by so many words at most; the paper advises it."""

    most: float = option(10.0, "the greatest difference in words", least=0)

    is_random = False

    @property
    def needs_lengths(self) -> bool:
        """Always."""
        return True

    def keep(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Flags:
        """Keep pairs of similar length."""
        return np.abs(pairs.differences(quantity_of(rivals, "length"))) <= self.most


@SELECTIONS.register("outliers")
@dataclass(frozen=True)
class Outliers(Selection):
    """Pairs neither of whose members is far from the mean of its group.

    Far is more than so many standard deviations of the group's candidates. It cannot see
    monsters where they are many, for then they are the norm; nor a single one among few: of n
    candidates none is more than √(n − 1) deviations away.
    """

    of: Literal["score", "length"] = option("score", "what candidates are compared by")
    deviations: float = option(
        2.0, "standard deviations that are not far yet (the paper's λ)", above=0
    )

    is_random = False

    @property
    def needs_lengths(self) -> bool:
        """Where lengths are compared."""
        return self.of == "length"

    def keep(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Flags:
        """Keep pairs of two candidates that are not far from the mean."""
        away = np.abs(centred(quantity_of(rivals, self.of)))
        is_near: Flags = away <= self.deviations * np.sqrt(np.mean(np.square(away)))
        selected: Flags = is_near[pairs.better] & is_near[pairs.worse]
        return selected


@SELECTIONS.register("stochastic")
@dataclass(frozen=True)
class Stochastic(Selection):
    """Pairs at random, the more likely the more usual their difference is in its group.

    Differences of two normal variables have the variance 2σ². The paper selects "according to
    N(0, 2σ²)"; a density is no probability, so it is taken relative to its peak: a pair that
    is Δ apart is kept with the probability exp(−Δ² / 4σ²).
    """

    of: Literal["score", "length"] = option("score", "what candidates are compared by")

    @property
    def needs_lengths(self) -> bool:
        """Where lengths are compared."""
        return self.of == "length"

    def keep(self, pairs: Pairs, rivals: Rivals, rng: np.random.Generator) -> Flags:
        """Keep pairs with the probability of their difference."""
        values = quantity_of(rivals, self.of)
        variance = float(np.mean(np.square(centred(values))))
        # Where all are equal so are the pairs.
        apart = np.square(pairs.differences(values)) / (4.0 * variance or 1.0)
        return rng.random(len(pairs)) < np.exp(-apart)


def centred(values: Floats) -> Floats:
    """Return values minus their mean."""
    away: Floats = values - values.mean()
    return away


def quantity_of(rivals: Rivals, of: Quantity) -> Floats:
    """Return what candidates are compared by."""
    if of == "score":
        return rivals.values
    if rivals.lengths is None:
        raise TunesmithError("lengths are not known; select by score")
    return rivals.lengths
