"""The quadratic programme of one example: cutting planes, a working set, pairs of multipliers.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012),
Algorithm 2, with Σ = ηI for MIRA and a diagonal Σ for AROW (Algorithm 3)::

    minimise  ½ (w' − w)ᵀ Σ⁻¹ (w' − w) + max_d v_d(w')
    v_d(w) = B(d_i) − B(d) − w·(h(d_i) − h(d))

Its dual has a multiplier α_d ≥ 0 for each derivation, which sum to 1, and w' = w + Σ x with
x = Σ_d α_d (h(d_i) − h(d)). The working set holds derivations that matter; w stays as it is until
the end, and everything is done on the few numbers v_d(w) and on the products of the differences.

The printed algorithm sets α back whenever the set grows, though w has moved already, and so does
not end at the optimum. Here α is kept, and a derivation that joins the set begins with 0.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.inference.examples import Derivation, Example, write_difference
from tunesmith.kernels import kernel

#: Members, and numbers of their differences, that there is room for at first.
MEMBERS, NUMBERS = 16, 1024


class WorkingSet:
    """Solves the programme of one example after the other.

    Parameters
    ----------
    width
        Number of features.
    epsilon
        By how much a derivation must be worse than all members to join them, and by how much
        members with a multiplier may differ: the conditions of the optimum hold within twice
        of it.
    iterations
        Pairs of multipliers that are looked at whenever the set has grown, and members that
        join it, at most.

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
        self._starts = np.zeros(MEMBERS + 1, np.int64)
        self._places = np.empty(NUMBERS, np.int32)
        self._values = np.empty(NUMBERS)
        self._place_of = np.zeros(width, np.int32)
        self._features = np.empty(NUMBERS, np.int32)
        self._before = np.empty(NUMBERS)
        self._rates = np.empty(NUMBERS)
        self._sum = np.empty(NUMBERS)
        self._scratch = np.empty(NUMBERS)
        # One number a member, and one a pair.
        self._base = np.zeros(MEMBERS)
        self._alpha = np.zeros(MEMBERS)
        self._violation = np.zeros(MEMBERS)
        self._gram = np.zeros((MEMBERS, MEMBERS))

    @property
    def alpha(self) -> Floats:
        """The multipliers of the members."""
        return self._alpha[: len(self.members)].copy()

    def solve(
        self, example: Example, target: Derivation, weights: Floats, rates: Floats
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
        """
        self.members = [target]
        self._base[0] = self._violation[0] = 0.0
        self._alpha[0] = 1.0
        self._gram[0, 0] = 0.0
        self._starts[1] = 0
        known, touched = {target.key}, 0
        for _ in range(self.iterations):
            fear = example.augmented(weights, -1.0)
            if fear.key in known:
                break
            found, excess = self._append(fear, weights, rates, touched)
            if not excess > self.epsilon:
                break
            known.add(fear.key)
            self.members.append(fear)
            touched = found
            self._optimise()
            self._sum_up(touched)
            self._move(weights, touched)
        features = self._features[:touched].copy()
        weights[features] = self._before[:touched]
        return features, self._sum[:touched].copy()

    def _append(
        self, one: Derivation, weights: Floats, rates: Floats, touched: int
    ) -> tuple[int, float]:
        """Put a derivation behind the members; return by how much it is worse than all."""
        target, count = self.members[0], len(self.members)
        self._make_room(len(target.features) + len(one.features))
        found: tuple[int, float] = append_member(
            target.features,
            target.values,
            one.features,
            one.values,
            target.worth - one.worth,
            weights,
            rates,
            count,
            touched,
            self._starts,
            self._places,
            self._values,
            self._place_of,
            self._features,
            self._before,
            self._rates,
            self._scratch,
            self._base,
            self._alpha,
            self._violation,
            self._gram,
        )
        return found

    def _make_room(self, more: int) -> None:
        count = len(self.members)
        needed, held = int(self._starts[count]) + more, len(self._values)
        if needed > held:
            for name in ("_places", "_values", "_features", "_before", "_rates"):
                setattr(self, name, np.resize(getattr(self, name), 2 * needed))
            self._sum, self._scratch = np.empty(2 * needed), np.empty(2 * needed)
        if count == len(self._base):
            for name in ("_base", "_alpha", "_violation"):
                setattr(self, name, np.resize(getattr(self, name), 2 * count))
            self._starts = np.resize(self._starts, 2 * count + 1)
            gram = np.zeros((2 * count, 2 * count))
            gram[:count, :count] = self._gram
            self._gram = gram

    def _optimise(self) -> None:
        count = len(self.members)
        optimise_pairs(
            self._base[:count],
            self._gram,
            self._alpha[:count],
            self._violation[:count],
            self.epsilon,
            self.iterations,
        )

    def _sum_up(self, touched: int) -> None:
        sum_differences(
            self._starts,
            self._places,
            self._values,
            self._alpha,
            len(self.members),
            self._sum[:touched],
        )

    def _move(self, weights: Floats, touched: int) -> None:
        """Let the weights be w + Σ x."""
        now = self._before[:touched] + self._rates[:touched] * self._sum[:touched]
        weights[self._features[:touched]] = now


@kernel
def append_member(
    target_features: Ids,
    target_values: Floats,
    features: Ids,
    values: Floats,
    loss: float,
    weights: Floats,
    rates: Floats,
    count: int,
    touched: int,
    starts: Ints,
    places: Ids,
    entries: Floats,
    place_of: Ids,
    known: Ids,
    before: Floats,
    known_rates: Floats,
    scratch: Floats,
    base: Floats,
    alpha: Floats,
    violation: Floats,
    gram: Floats,
) -> tuple[int, float]:
    """Write a derivation behind ``count`` members, with a multiplier of 0.

    Return the number of features that differ so far, and by how much v of the derivation, at
    the weights of the multipliers, is more than that of any member.
    """
    first = starts[count]
    size = write_difference(
        target_features, target_values, features, values, places[first:], entries[first:]
    )
    starts[count + 1] = first + size
    own_places, own = places[first : first + size], entries[first : first + size]
    margin = 0.0
    for k in range(size):
        feature = own_places[k]
        place = place_of[feature]
        if place >= touched or known[place] != feature:
            # The first difference in this feature: nothing has moved its weight yet.
            place = touched
            place_of[feature] = place
            known[place], before[place] = feature, weights[feature]
            known_rates[place] = rates[feature]
            touched += 1
        own_places[k] = place
        margin += before[place] * own[k]
    scratch[:touched] = 0.0
    for k in range(size):
        scratch[own_places[k]] = known_rates[own_places[k]] * own[k]
    moved = 0.0
    for other in range(count + 1):
        product = 0.0
        for k in range(starts[other], starts[other + 1]):
            product += entries[k] * scratch[places[k]]
        gram[other, count] = gram[count, other] = product
        if other < count:
            moved += alpha[other] * product
    base[count], alpha[count] = loss - margin, 0.0
    violation[count] = base[count] - moved
    worst = violation[0]
    for other in range(1, count):
        worst = max(worst, violation[other])
    return touched, violation[count] - worst


@kernel
def optimise_pairs(
    base: Floats, gram: Floats, alpha: Floats, violation: Floats, epsilon: float, iterations: int
) -> None:
    """Move multipliers from one member to another until that gains nothing (OPTIMIZESET).

    Of the pairs that SELECTPAIR may choose it is the one that violates the conditions most:
    the greatest v, and the least v that has a multiplier.
    """
    count = base.shape[0]
    for d in range(count):
        total = base[d]
        for e in range(count):
            total -= alpha[e] * gram[d, e]
        violation[d] = total
    for _ in range(iterations):
        up = down = -1
        for d in range(count):
            if up < 0 or violation[d] > violation[up]:
                up = d
            if alpha[d] > 0.0 and (down < 0 or violation[d] < violation[down]):
                down = d
        gap = violation[up] - violation[down]
        if not gap > epsilon:
            return
        # OPTIMIZEPAIR; where both have the same features only the bound stops the step.
        curvature = gram[up, up] + gram[down, down] - 2.0 * gram[up, down]
        step = alpha[down]
        if gap < curvature * step:
            step = gap / curvature
            alpha[down] -= step
        else:
            alpha[down] = 0.0
        alpha[up] += step
        ups, downs = gram[up], gram[down]
        for d in range(count):
            violation[d] -= step * (ups[d] - downs[d])


@kernel
def sum_differences(
    starts: Ints, places: Ids, entries: Floats, alpha: Floats, count: int, total: Floats
) -> None:
    """Add up the members' differences, each times its multiplier: x."""
    total[:] = 0.0
    for d in range(count):
        if alpha[d] > 0.0:
            for k in range(starts[d], starts[d + 1]):
                total[places[k]] += alpha[d] * entries[k]
