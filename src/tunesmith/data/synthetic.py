"""The synthetic task of Hopkins and May (2011): a metric that is linear in known weights.

As Galley et al. (2013) set it up in sections 5 and 6 of "Regularized minimum error rate
training". The best weights are known, so the loss of a search can be measured exactly.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.features import Features
from tunesmith.data.memory import own_pages
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.parallel.local import map_pieces, thread_count
from tunesmith.progress import progress
from tunesmith.randomness import generator_of

#: The column of pseudo-BLEU.
COLUMN = "score"
#: Features are drawn uniformly from 0 to this.
LARGEST = 500.0
#: Model scores must stay finite.
LARGEST_NOISE = 1e100
#: Numbers drawn from one random stream. Streams do not depend on the number of threads.
STREAM = 1 << 20


def synthetic(
    sentences: int = 1000,
    candidates: int = 500,
    features: int = 100,
    noise: float = 0.0,
    rng: np.random.Generator | int = 1,
) -> tuple[CandidateSet, Weights]:
    """Generate candidates whose metric is linear in known weights.

    The gold weights are drawn from a standard normal distribution, features uniformly from
    [0, 500]. Pseudo-BLEU is the model score under the gold weights, scaled from 0 for the worst
    candidate of a group to 1 for the best. Noise is then added to the features.

    Parameters
    ----------
    sentences, candidates
        Number of groups, and of candidates in each.
    features
        Number of features.
    noise
        Standard deviation of the Gaussian noise. Without noise, the gold weights reach 1.
    rng
        The random number generator, or a seed. With the same seed, the gold weights and
        pseudo-BLEU do not depend on the noise.

    Returns
    -------
    CandidateSet, Weights
        The candidates, without texts and with pseudo-BLEU as the column ``score``; the gold
        weights.
    """
    groups, size, width = check_sizes(sentences, candidates, features, noise)
    generator = generator_of(rng)
    dense: Floats = own_pages((width, groups * size), np.float64)
    gold = generator.standard_normal(width)
    entropy: list[int] = generator.integers(1 << 32, size=4).tolist()

    def uniform(block: Floats, stream: np.random.Generator) -> None:
        stream.random(out=block)
        block *= LARGEST

    def normal(block: Floats, stream: np.random.Generator) -> None:
        drawn = stream.standard_normal(block.shape)
        drawn *= noise
        block += drawn

    _for_all(dense, [0, *entropy], uniform, "features")
    names = tuple(f"h{d:0{len(str(width))}d}" for d in range(1, width + 1))
    values = Features(names, dense, (), csc_array((groups * size, 0)))
    start = np.arange(0, groups * size + 1, size)
    columns = {COLUMN: _normalised(values.dot(gold), size)}
    if noise > 0.0:
        _for_all(dense, [1, *entropy], normal, "noise")
    texts = Texts(np.zeros(groups * size + 1, np.int64), np.zeros(0, np.int32))
    candidate_set = CandidateSet(tuple(range(groups)), start, values, texts, (), columns=columns)
    return candidate_set, Weights(names, gold)


def check_sizes(
    sentences: int, candidates: int, features: int, noise: float
) -> tuple[int, int, int]:
    """Return the sizes as whole numbers; raise an error if an argument is out of range."""
    sizes = {"sentences": sentences, "candidates": candidates, "features": features}
    for name, value in sizes.items():
        try:
            sizes[name] = operator.index(value)
        except TypeError:
            raise UsageError(f"{name} is {value!r}; give a whole number") from None
        if value < 1:
            raise UsageError(f"{name} is {value}; give 1 or more")
    if not 0.0 <= noise <= LARGEST_NOISE:
        raise UsageError(f"noise is {noise}; give a number from 0 to {LARGEST_NOISE:g}")
    return sizes["sentences"], sizes["candidates"], sizes["features"]


def _for_all(
    dense: Floats,
    entropy: list[int],
    change: Callable[[Floats, np.random.Generator], None],
    step: str,
) -> None:
    """Change all rows in place, block by block, each block with its own random stream."""
    width, n = dense.shape
    rows = max(1, STREAM // n)
    blocks = range(math.ceil(width / rows))

    def work(k: int) -> None:
        stream = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(k,)))
        change(dense[k * rows : (k + 1) * rows], stream)

    at_once = 8 * thread_count()
    for lo in range(0, len(blocks), at_once):
        progress(step, lo, len(blocks))
        map_pieces(work, blocks[lo : lo + at_once])
    progress(step, len(blocks), len(blocks))


def _normalised(scores: Floats, size: int) -> Floats:
    """Scale the scores of each group to [0, 1]; if all are equal, all are 1."""
    by_group = scores.reshape(-1, size)
    least = by_group.min(axis=1, keepdims=True)
    spread = by_group.max(axis=1, keepdims=True) - least
    scaled = np.ones_like(by_group)
    np.divide(by_group - least, spread, out=scaled, where=spread > 0.0)
    return scaled.reshape(-1)
