"""The quadratic programme of one example: cutting planes, a working set, pairs of multipliers.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012),
Algorithm 2, with Σ = ηI for MIRA and a diagonal Σ for AROW (Algorithm 3)::

    minimise  ½ (w' − w)ᵀ Σ⁻¹ (w' − w) + max_d v_d(w')
    v_d(w) = B(d_i) − B(d) − w·(h(d_i) − h(d))

Its dual has a multiplier α_d ≥ 0 for each derivation, which sum to 1, and w' = w + Σ x with
x = Σ_d α_d (h(d_i) − h(d)). The working set holds derivations that matter; w stays as it is until
the end, and everything is done on the few numbers v_d(w) and on the products of the differences.

Learners that work side by side (Algorithm 4) send each other their working sets. The sets of
other examples add a maximum each to what is minimised, over their members alone, and have
multipliers of their own that sum to 1. They do not grow.

The printed algorithms set α back whenever the set grows, though w has moved already, and so do
not end at the optimum. Here α is kept, and a derivation that joins the set begins with 0. Sets
that were received are optimised even where nothing joins the own one.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.errors import UsageError
from tunesmith.inference.examples import Derivation, Example
from tunesmith.search.working_set.kernels import (
    measure_set,
    multiply_member,
    optimise_pairs,
    optimise_sets,
    sum_differences,
    write_member,
    write_received,
)

#: Members, and numbers of their differences, that there is room for at first.
MEMBERS, NUMBERS = 16, 1024


@dataclass(frozen=True)
class SharedSet:
    """The working set of an example as other learners need it: m members and the reference d_i.

    Attributes
    ----------
    losses : float64[m]
        B(d_i) − B(d) of each member but the reference derivation.
    start : int64[m+1]
        Where the difference of each member begins.
    features : int32[start[m]]
        Features in which members differ from d_i, ascending within each.
    values : float64[start[m]]
        h(d_i) − h(d) in these.
    """

    losses: Floats = field(repr=False)
    start: Ints = field(repr=False)
    features: Ids = field(repr=False)
    values: Floats = field(repr=False)

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def bytes(self) -> int:
        """How many bytes are sent."""
        return len(self._block)

    @cached_property
    def _block(self) -> builtins.bytes:
        """All of it: made once, however many learners it is sent to."""
        sizes = np.array([len(self), len(self.features)], np.int64)
        arrays = sizes, self.losses, self.start, self.values, self.features
        return b"".join(array.tobytes() for array in arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_block, (self._block,)


def _of_block(block: bytes) -> SharedSet:
    """Return the set that was sent, with arrays that can be written: kernels know no others."""
    copy = bytearray(block)
    count, numbers = np.frombuffer(copy, np.int64, 2).tolist()
    place, arrays = 16, []
    for kind, size in (("f8", count), ("i8", count + 1), ("f8", numbers), ("i4", numbers)):
        array = np.frombuffer(copy, kind, size, place)
        arrays.append(array)
        place += array.nbytes
    losses, start, values, features = arrays
    shared = SharedSet(losses, start, features, values)
    shared.__dict__["_block"] = block
    return shared


class WorkingSet:
    """Solves the programme of one example after the other.

    Parameters
    ----------
    width
        Number of features.
    epsilon
        By how much a derivation must be worse than all members to join them, and by how much
        members with a multiplier may differ: the conditions of the optimum hold within twice
        of it, and within once for sets that were received.
    iterations
        Pairs of multipliers of each set that are looked at whenever the own one has grown, and
        members that join it, at most.

    Attributes
    ----------
    members
        The derivations of the last example's set, the reference derivation first.
    """

    def __init__(self, width: int, epsilon: float = 0.01, iterations: int = 1000) -> None:
        self.epsilon = epsilon
        self.iterations = iterations
        self.members: list[Derivation] = []
        # Differences, of all members one after the other; features are counted as they come up.
        # Received sets come first, and the own one, from member ``_first`` on, last.
        self._first = self._touched = 0
        self._set_starts = np.zeros(2, np.int64)
        self._starts = np.zeros(MEMBERS + 1, np.int64)
        self._places = np.empty(NUMBERS, np.int32)
        self._values = np.empty(NUMBERS)
        self._place_of = np.zeros(width, np.int32)
        self._features = np.empty(NUMBERS, np.int32)
        self._before = np.empty(NUMBERS)
        self._rates = np.empty(NUMBERS)
        self._now = np.empty(NUMBERS)
        self._sum = np.empty(NUMBERS)
        self._scratch = np.empty(NUMBERS)
        # One number a member, and one a pair of the own set.
        self._losses = np.zeros(MEMBERS)
        self._base = np.zeros(MEMBERS)
        self._alpha = np.zeros(MEMBERS)
        self._violation = np.zeros(MEMBERS)
        self._gram = np.zeros((MEMBERS, MEMBERS))

    @property
    def alpha(self) -> Floats:
        """The multipliers of the members."""
        return self._alpha[self._first : self._first + len(self.members)].copy()

    @property
    def received_alpha(self) -> list[Floats]:
        """The multipliers of each set that was received and not empty, its reference first."""
        ends = self._set_starts[:-1].tolist()
        return [self._alpha[first:last].copy() for first, last in pairwise(ends)]

    def shared(self) -> SharedSet:
        """Return the set of the last example, to be sent to others: all members, whatever α."""
        first, last = self._first + 1, self._first + len(self.members)
        start = self._starts[first : last + 1]
        numbers = slice(start[0], start[-1])
        return SharedSet(
            self._losses[first:last].copy(),
            start - start[0],
            self._features[self._places[numbers]],
            self._values[numbers].copy(),
        )

    def solve(
        self,
        example: Example,
        target: Derivation,
        weights: Floats,
        rates: Floats,
        received: Sequence[SharedSet] = (),
    ) -> tuple[Ids, Floats]:
        """Return x of the optimum: features, and their values.

        Parameters
        ----------
        example
            Where fear derivations are looked for.
        target
            The reference derivation d_i.
        weights : float64[D]
            w; it is changed meanwhile, and the same again in the end.
        rates : float64[D]
            The diagonal of Σ.
        received
            Working sets of other examples, over which x is optimised too.
        """
        self._receive([shared for shared in received if len(shared)], weights, rates)
        self._begin(target)
        known, due = {target.key}, self._first > 0
        for _ in range(self.iterations):
            fear = example.augmented(weights, -1.0)
            if fear.key not in known and self._join(fear, weights, rates):
                known.add(fear.key)
            elif not due:
                break
            due = False
            self._optimise()
            self._move(weights)
        features = self._features[: self._touched].copy()
        weights[features] = self._before[: self._touched]
        x = self._sum[: self._touched].copy()
        if self._first:  # of what is received much may not matter
            return features[x != 0.0], x[x != 0.0]
        return features, x

    def _receive(self, received: list[SharedSet], weights: Floats, rates: Floats) -> None:
        """Let these be the first sets, before the own one."""
        self._first = self._touched = 0
        self._set_starts = np.zeros(len(received) + 2, np.int64)
        if not received:
            return
        features = np.concatenate([shared.features for shared in received])
        count = sum(map(len, received)) + len(received)
        self._make_room(count, len(features))
        touched = write_received(
            np.array([len(shared) for shared in received]),
            np.concatenate([shared.losses for shared in received]),
            np.concatenate([shared.start for shared in received]),
            features,
            np.concatenate([shared.values for shared in received]),
            weights,
            rates,
            self._set_starts,
            self._losses,
            self._starts,
            self._places,
            self._values,
            self._place_of,
            self._features,
            self._before,
            self._rates,
            self._alpha,
        )
        if touched < 0:
            raise UsageError(
                f"a working set that was received has a feature of number {-1 - touched}, of "
                f"{len(self._place_of)} features; give all learners the same features"
            )
        self._first, self._touched = count, touched
        self._now[:touched] = self._before[:touched]

    def _begin(self, target: Derivation) -> None:
        """Let the own set be the reference derivation alone."""
        self.members = [target]
        first = self._first
        self._make_room(first + 1, 0)
        self._losses[first] = self._base[first] = self._violation[first] = 0.0
        self._alpha[first] = 1.0
        self._gram[0, 0] = 0.0
        self._starts[first + 1] = self._starts[first]

    def _join(self, derivation: Derivation, weights: Floats, rates: Floats) -> bool:
        """Add a derivation to the members if it is worse than all of them."""
        target, count = self.members[0], self._first + len(self.members)
        numbers = len(target.features) + len(derivation.features)
        self._make_room(count + 1, int(self._starts[count]) + numbers)
        touched: int = write_member(
            target.features,
            target.values,
            derivation.features,
            derivation.values,
            target.gain - derivation.gain,
            weights,
            rates,
            count,
            self._touched,
            self._starts,
            self._places,
            self._values,
            self._place_of,
            self._features,
            self._before,
            self._rates,
            self._losses,
            self._alpha,
        )
        excess = self._excess(touched) if self._first else self._multiply(touched)
        if not excess > self.epsilon:
            return False
        self.members.append(derivation)
        self._touched = touched
        return True

    def _multiply(self, touched: int) -> float:
        """Return by how much what was written is worse than all members, which are all there is."""
        count = len(self.members)
        if count == len(self._gram):
            gram = np.zeros((2 * count, 2 * count))
            gram[:count, :count] = self._gram
            self._gram = gram
        excess: float = multiply_member(
            count,
            touched,
            self._losses,
            self._starts,
            self._places,
            self._values,
            self._before,
            self._rates,
            self._scratch,
            self._base,
            self._alpha,
            self._violation,
            self._gram,
        )
        return excess

    def _excess(self, touched: int) -> float:
        """Return by how much what was written is worse than all members, at the weights of now."""
        first, count = self._first, len(self.members)
        self._now[self._touched : touched] = self._before[self._touched : touched]
        measure_set(
            first,
            first + count + 1,
            self._losses,
            self._starts,
            self._places,
            self._values,
            self._now,
            self._violation,
        )
        members = self._violation[first : first + count]
        return float(self._violation[first + count] - members.max())

    def _make_room(self, members: int, numbers: int) -> None:
        if numbers > len(self._values):
            for name in ("_places", "_values", "_features", "_before", "_rates", "_now", "_sum"):
                setattr(self, name, np.resize(getattr(self, name), 2 * numbers))
            self._scratch = np.empty(2 * numbers)
        if members > len(self._alpha):
            for name in ("_losses", "_base", "_alpha", "_violation"):
                setattr(self, name, np.resize(getattr(self, name), 2 * members))
            self._starts = np.resize(self._starts, 2 * members + 1)

    def _optimise(self) -> None:
        first, last = self._first, self._first + len(self.members)
        if not first:
            optimise_pairs(
                self._base[:last],
                self._gram,
                self._alpha[:last],
                self._violation[:last],
                self.epsilon,
                self.iterations,
            )
            return
        self._set_starts[-1] = last
        optimise_sets(
            self._set_starts,
            self._losses,
            self._starts,
            self._places,
            self._values,
            self._rates,
            self._now[: self._touched],
            self._alpha,
            self._violation,
            self._scratch,
            self.epsilon,
            self.iterations,
        )

    def _move(self, weights: Floats) -> None:
        """Let the weights be w + Σ x."""
        touched = self._touched
        sum_differences(
            self._starts,
            self._places,
            self._values,
            self._alpha,
            self._first + len(self.members),
            self._sum[:touched],
        )
        now = self._before[:touched] + self._rates[:touched] * self._sum[:touched]
        self._now[:touched] = weights[self._features[:touched]] = now
