"""Learning: weights that rank the better member of each pair above the worse.

Hopkins and May, "Tuning as ranking" (EMNLP 2011): a linear classifier without bias of the
difference vectors x = h(better) − h(worse). Each is there with both signs, as an example of
"better" and as one of "worse"; both have the same loss, so they are counted twice.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from tunesmith.arrays import Floats, Ints, inner
from tunesmith.data.features import Features
from tunesmith.errors import MissingExtraError, TunesmithError, UsageError
from tunesmith.kernels import kernel
from tunesmith.registry import Options, Registry, option
from tunesmith.search.space.space import Space

#: Values of all pairs together that a learner takes: some gigabytes.
MOST_NUMBERS = 2**28
#: When L-BFGS ends: steps, the slope by a variable in which the curvature at 0 is 1, relative to
#: the root of the number of pairs, and the relative gain of a step.
MOST_STEPS, FLAT, NO_GAIN = 2000, 1e-7, 1e-15
#: Steps that L-BFGS remembers.
MEMORY = 20
#: Features whose differences are all below this get no weight: what they could decide is nothing.
TINY = 1e-100


class Learner(Options, ABC):
    """The fourth step: a ranker. A subclass is a frozen dataclass of options."""

    _owner_is = "learner"
    name: str

    @abstractmethod
    def learn(self, differences: csr_array[Any], strength: float) -> Floats:
        """Return weights [D].

        Parameters
        ----------
        differences : [P, D]
            Features of the better minus those of the worse, one row per pair.
        strength
            How much the square of the weights costs: strength / 2 · ‖w‖², against the sum of
            the losses of all pairs with both signs.
        """

    def learn_within(self, differences: csr_array[Any], strength: float, space: Space) -> Floats:
        """Return the best weights [D] among those of a space."""
        raise UsageError(
            f"learner {self.name} cannot hold restrictions on weights; use logistic or hinge"
        )


LEARNERS: Registry[Learner] = Registry(
    "learner", "tunesmith.tuners.pro", "tunesmith.learners", Learner
)


class _Smooth(Learner):
    """A loss of the margins w·x that has a slope, by L-BFGS.

    The variables are the weights times the root of the objective's curvature at w = 0: there
    features of very different sizes are alike, and few steps are needed. The penalty is still
    that of the weights.
    """

    #: The loss of a pair has at most this curvature by its margin.
    curvature: float

    @abstractmethod
    def losses(self, margins: Floats, slopes: Floats) -> float:
        """Return the sum of the losses of one sign; put the slopes by the margins."""

    def learn(self, differences: csr_array[Any], strength: float) -> Floats:
        """Minimise 2 Σ loss(w·x) + strength / 2 · ‖w‖²."""
        free = _Box.free(differences.shape)
        return self._minimise(differences, strength, free)

    def learn_within(self, differences: csr_array[Any], strength: float, space: Space) -> Floats:
        """Minimise the same over the variables of a space, within their ranges.

        The problem is convex: where its optimum satisfies the restrictions, it is the optimum.
        """
        weights = self.learn(differences, strength)
        if np.array_equal(space.exact(weights), weights):
            return weights
        box = _Box(
            differences @ space.constants,
            space.squares,
            space.low,
            space.high,
        )
        reduced = csr_array(differences @ space.matrix)
        return space.of_variables(self._minimise(reduced, strength, box))

    def _minimise(self, differences: csr_array[Any], strength: float, box: _Box) -> Floats:
        """Return the best variables [V]."""
        from scipy.optimize import minimize  # slow to import, and not always needed
        from threadpoolctl import threadpool_limits

        pairs, width = differences.shape
        values = np.clip(np.zeros(width), box.low, box.high)
        largest = abs(differences).max(axis=0).toarray().ravel() if pairs else np.zeros(width)
        used = np.flatnonzero(largest > TINY)
        if not len(used):
            return values
        problem = _Problem(self, differences, used, largest[used], strength, box)
        # BLAS adds up long vectors in an order that depends on the threads.
        with threadpool_limits(1):
            result = minimize(
                problem.value,
                problem.variables(values[used]),
                jac=True,
                method="L-BFGS-B",
                bounds=problem.bounds,
                options={
                    "maxiter": MOST_STEPS,
                    "maxfun": 2 * MOST_STEPS,
                    "maxcor": MEMORY,
                    "gtol": FLAT * np.sqrt(pairs),
                    "ftol": NO_GAIN,
                },
            )
        if result.nit >= MOST_STEPS:
            warnings.warn(
                f"learning has not come to its end after {result.nit} steps; a greater strength "
                "helps",
                stacklevel=2,
            )
        values[used] = problem.weights(result.x)
        return values


@dataclass(frozen=True)
class _Box:
    """What variables may be, and what the others come to.

    Attributes
    ----------
    offsets : float64[P] or float
        The margin of each pair by weights that do not vary.
    squares : float64[V]
        How much the squared weights of a variable are, where it is 1.
    low, high : float64[V]
        The ranges.
    """

    offsets: Floats | float
    squares: Floats
    low: Floats
    high: Floats

    @classmethod
    def free(cls, shape: tuple[int, ...]) -> _Box:
        """Return one for weights that are all free."""
        return cls(0.0, np.ones(shape[1]), np.full(shape[1], -np.inf), np.full(shape[1], np.inf))


class _Problem:
    """What is minimised, in variables whose curvature is 1 at 0.

    Columns are divided by their largest value first, so that no square overflows.
    """

    def __init__(
        self,
        loss: _Smooth,
        differences: csr_array[Any],
        used: Ints,
        largest: Floats,
        strength: float,
        box: _Box,
    ) -> None:
        self._loss, self._offsets = loss, box.offsets
        scaled = differences[:, used] if len(used) < differences.shape[1] else differences.copy()
        scaled.data /= largest[scaled.indices]
        penalty = np.square(np.sqrt(strength * box.squares[used]) / largest)
        squares = np.bincount(scaled.indices, np.square(scaled.data), minlength=len(used))
        curves = np.sqrt(2.0 * loss.curvature * squares + penalty)
        scaled.data /= curves[scaled.indices]
        self._rows = scaled
        self._columns = scaled.T.tocsr()
        self._penalty = penalty / np.square(curves)
        self._unit = 1.0 / curves / largest
        self._slopes = np.empty(scaled.shape[0])
        low, high = (limit[used] / self._unit for limit in (box.low, box.high))
        is_bounded = np.isfinite(low).any() or np.isfinite(high).any()
        self.bounds = list(zip(low, high, strict=True)) if is_bounded else None

    def value(self, variables: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient."""
        total = 2.0 * self._loss.losses(self._rows @ variables + self._offsets, self._slopes)
        drawn = self._penalty * variables
        gradient = 2.0 * (self._columns @ self._slopes) + drawn
        return total + 0.5 * inner(drawn, variables), gradient

    def weights(self, variables: Floats) -> Floats:
        """Return the weights that variables stand for."""
        result: Floats = variables * self._unit
        return result

    def variables(self, weights: Floats) -> Floats:
        """Return the variables of some weights."""
        result: Floats = weights / self._unit
        return result


@LEARNERS.register("logistic")
@dataclass(frozen=True)
class Logistic(_Smooth):
    """Logistic regression: the loss of a pair is log(1 + exp(−w·x))."""

    curvature = 0.25

    def losses(self, margins: Floats, slopes: Floats) -> float:
        """Add up the losses."""
        return logistic_losses(margins, slopes)


@LEARNERS.register("hinge")
@dataclass(frozen=True)
class Hinge(_Smooth):
    """A linear support vector machine: the loss of a pair is max(0, 1 − w·x)²."""

    curvature = 2.0

    def losses(self, margins: Floats, slopes: Floats) -> float:
        """Add up the losses."""
        lacking = np.maximum(0.0, 1.0 - margins)
        np.multiply(lacking, -2.0, out=slopes)
        return inner(lacking, lacking)


@LEARNERS.register("sklearn")
@dataclass(frozen=True)
class Sklearn(Learner):
    """Logistic regression by scikit-learn, the same problem; pip install 'tunesmith[sklearn]'."""

    solver: Literal["lbfgs", "liblinear", "newton-cg"] = option("lbfgs", "scikit-learn's solver")
    tolerance: float = option(1e-6, "when the solver ends", above=0)
    steps: int = option(10_000, "steps of the solver at most", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            import sklearn  # noqa: F401
        except ImportError:
            raise MissingExtraError("learning by scikit-learn", "sklearn") from None

    def learn(self, differences: csr_array[Any], strength: float) -> Floats:
        """Let scikit-learn tell the difference vectors from their opposites."""
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits

        pairs = differences.shape[0]
        if not pairs:
            return np.zeros(differences.shape[1])
        model = LogisticRegression(
            C=1.0 / strength,
            fit_intercept=False,
            solver=self.solver,
            tol=self.tolerance,
            max_iter=self.steps,
            random_state=1,
        )
        both = vstack([differences, -differences], format="csr")
        with threadpool_limits(1):
            model.fit(both, np.repeat([1, 0], pairs))
        result: Floats = np.asarray(model.coef_[0], np.float64)
        return result


@kernel
def logistic_losses(margins: Floats, slopes: Floats) -> float:
    """Return Σ log(1 + exp(−m)); put its derivatives, −1 / (1 + exp(m))."""
    total = 0.0
    for p in range(margins.shape[0]):
        margin = margins[p]
        # Of a number that is not positive the exponential never overflows.
        small = np.exp(-abs(margin))
        if margin >= 0.0:
            total += np.log1p(small)
            slopes[p] = -small / (1.0 + small)
        else:
            total += np.log1p(small) - margin
            slopes[p] = -1.0 / (1.0 + small)
    return total


def difference_vectors(features: Features, better: Ints, worse: Ints) -> csr_array[Any]:
    """Return the features of some candidates minus those of others, one row per pair.

    Memory is in proportion to what is not 0.
    """
    rows = csr_array(features.sparse)
    counts = np.diff(rows.indptr)
    numbers = len(better) * len(features.dense) + int(counts[better].sum() + counts[worse].sum())
    if numbers > MOST_NUMBERS:
        raise UsageError(
            f"{len(better)} accepted pairs have about {numbers} values, more than "
            f"{MOST_NUMBERS}; accept fewer, as --accept random:pairs=50"
        )
    dense = np.empty((len(better), features.dense.shape[0]))
    with np.errstate(over="ignore"):
        for d, row in enumerate(features.dense):
            np.subtract(row[better], row[worse], out=dense[:, d])
        sparse = rows[better] - rows[worse]
    result: csr_array[Any] = hstack([csr_array(dense), sparse], format="csr")
    result.eliminate_zeros()
    result = with_short_indices(result)
    bad = np.flatnonzero(~np.isfinite(result.data))
    if len(bad):
        name = features.names[result.indices[bad[0]]]
        raise TunesmithError(
            f"differences of feature '{name}' are too large for numbers; divide its values by "
            "something, or drop it"
        )
    return result


def with_short_indices(rows: csr_array[Any]) -> csr_array[Any]:
    """Return rows with indices of 32 bits if they suffice: liblinear takes no longer ones."""
    if rows.nnz < 2**31:
        rows.indices, rows.indptr = (a.astype(np.int32) for a in (rows.indices, rows.indptr))
    return rows
