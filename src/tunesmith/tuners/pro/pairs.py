"""Pairs of candidates of one group, and how they are sampled.

Pairwise ranking optimisation (PRO; Hopkins and May 2011) learns from pairs whose better member is
known. It has four steps, each of which is a small class that can be replaced: sampling (here),
selection (:mod:`tunesmith.tuners.pro.selection`), acceptance
(:mod:`tunesmith.tuners.pro.acceptance`) and learning (:mod:`tunesmith.tuners.pro.ranking`).
Section 3.1 of Nakov, Guzmán and Vogel, "A tale about PRO and monsters" (ACL 2013), lists them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from tunesmith.arrays import Flags, Floats, Ints
from tunesmith.registry import Options, Registry, option


@dataclass(frozen=True)
class Rivals:
    """The candidates of one group, as the steps see them.

    Attributes
    ----------
    values : float64[n]
        What each is worth, in natural units: 10 points of BLEU are 0.1.
    lengths : float64[n]
        Their words; None where they are not known.
    """

    values: Floats
    lengths: Floats | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Pairs:
    """Pairs of candidates of one group that are not worth the same.

    Attributes
    ----------
    better, worse : int64[P]
        Places in the group: the positive and the negative example.
    """

    better: Ints = field(repr=False)
    worse: Ints = field(repr=False)

    @classmethod
    def of(cls, first: Ints, second: Ints, values: Floats) -> Pairs:
        """Put the member that is worth more first, and leave out pairs of equals."""
        differ = values[first] != values[second]
        first, second = first[differ], second[differ]
        is_right = values[first] > values[second]
        return cls(np.where(is_right, first, second), np.where(is_right, second, first))

    def __len__(self) -> int:
        return len(self.better)

    def __getitem__(self, selection: Flags | Ints) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.better[selection], self.worse[selection])

    def differences(self, values: Floats) -> Floats:
        """Return the difference [P] of a quantity: that of the better minus that of the worse."""
        return values[self.better] - values[self.worse]


class Sampler(Options, ABC):
    """The first step: which pairs are looked at. A subclass is a frozen dataclass of options."""

    _owner_is = "sampler"
    name: str

    @abstractmethod
    def sample(self, rivals: Rivals, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return pairs of a group: the places [P] of their members, in any order.

        No pair should be there twice. Of pairs that are equally good, those that come first are
        accepted first.
        """

    def skip(self, size: int, rng: np.random.Generator) -> None:
        """Draw the random numbers that a group of ``size`` candidates takes.

        Each worker that has a part of a set skips the groups of the others. A sampler for which
        the size is not all that matters leaves this out.
        """
        raise NotImplementedError(f"{type(self).__name__} looks at more than the size of a group")


SAMPLERS: Registry[Sampler] = Registry(
    "sampler", "tunesmith.tuners.pro", "tunesmith.samplers", Sampler
)


@SAMPLERS.register("uniform")
@dataclass(frozen=True)
class Uniform(Sampler):
    """Any two candidates of a group, all pairs being equally likely.

    A group with no more pairs than asked for gives each of them once. Otherwise pairs are drawn
    with replacement, and those that were drawn before are dropped: or the greatest pair of a
    short list would be accepted fifty times. The order is random, so that among equals none is
    preferred for its place in the list.
    """

    pairs: int = option(5000, "pairs to draw from each group at most (the papers' Γ)", least=1)

    def sample(self, rivals: Rivals, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Draw numbers of pairs."""
        drawn = self._draw(len(rivals), rng)
        if self._takes_all(len(rivals)):
            return numbered_pairs(drawn)
        _, first_seen = np.unique(drawn, return_index=True)
        return numbered_pairs(drawn[np.sort(first_seen)])

    def skip(self, size: int, rng: np.random.Generator) -> None:
        """Draw numbers of pairs."""
        self._draw(size, rng)

    def _takes_all(self, size: int) -> bool:
        return size * (size - 1) // 2 <= self.pairs

    def _draw(self, size: int, rng: np.random.Generator) -> Ints:
        total = size * (size - 1) // 2
        if self._takes_all(size):
            return rng.permutation(total)
        return rng.integers(total, size=self.pairs)


def numbered_pairs(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the places i < j of pairs by their numbers, j (j − 1) / 2 + i."""
    upper = ((1.0 + np.sqrt(1.0 + 8.0 * numbers)) / 2.0).astype(np.int64)
    # The root of a large number may be rounded across a whole one.
    upper -= upper * (upper - 1) // 2 > numbers
    upper += upper * (upper + 1) // 2 <= numbers
    return numbers - upper * (upper - 1) // 2, upper
