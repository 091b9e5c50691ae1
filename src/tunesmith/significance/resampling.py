"""Sums of statistics over sentences that are drawn at random, or swapped between systems.

Random numbers are those that sacrebleu draws, in the same order, but never all at once: what is
in memory does not grow with the number of trials times the number of sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ints, Number, Stats
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.bits import STEP, spread_bits
from tunesmith.parallel.local import map_pieces, pieces_of
from tunesmith.progress import progress

#: Random numbers that are in memory at a time, and coins.
AT_ONCE, COINS_AT_ONCE = 1 << 22, 1 << 25
#: Bits of the words that coins are taken from; each call starts a new word.
COINS = 32

_32 = np.uint64(32)


def bootstrap_sums(stats: Stats, resamples: int, seed: int) -> Stats:
    """Return the sums [resamples, C] over as many sentences as there are, drawn with replacement.

    Parameters
    ----------
    stats : [S, C]
        Statistics of each sentence; sums have their type.
    """
    sentences = len(stats)
    rng = np.random.default_rng(seed)
    sums = np.zeros((resamples, stats.shape[1]), stats.dtype)
    for first, last in _steps(resamples, sentences, AT_ONCE, 1, "resampling"):
        drawn = rng.choice(sentences, size=(last - first, sentences), replace=True)
        out = sums[first:last]

        def add(part: slice, drawn: Ints = drawn, out: Stats = out) -> None:
            _add_drawn(drawn[part], stats, out[part])

        map_pieces(add, pieces_of(last - first))
    return sums


def swapped_sums(first: Stats, second: Stats, trials: int, seed: int) -> tuple[Floats, Floats]:
    """Return sums [trials, C] of two systems whose outputs are swapped where a coin says so.

    Parameters
    ----------
    first, second : [S, C]
        Statistics of each sentence of one run each.
    """
    sentences = len(first)
    rng = np.random.default_rng(seed)
    more = np.ascontiguousarray(first.astype(np.float64) - second)
    total = np.asarray(second.sum(axis=0), np.float64)
    both = np.asarray(first.sum(axis=0), np.float64) + total
    sums = np.zeros((trials, more.shape[1]))
    for begin, end in _steps(trials, sentences, COINS_AT_ONCE, COINS, "shuffling"):
        coins = np.packbits(rng.integers(2, size=(end - begin, sentences), dtype=bool), axis=1)
        out = sums[begin:end]

        def add(part: slice, coins: Bytes = coins, out: Floats = out) -> None:
            _add_where(coins[part], more, out[part])

        map_pieces(add, pieces_of(end - begin, per_thread=1))
    sums += total
    return sums, both - sums


def shuffled_sums(first: Stats, second: Stats, trials: int, seed: int) -> tuple[Floats, Floats]:
    """Return sums of two systems of several runs, whose outputs of each sentence are shuffled.

    Where both have as many runs, it is the stratified shuffling of MultEval (Clark et al. 2011):
    for each sentence the runs of one are paired at random with those of the other, and a coin for
    each pair says whether the two outputs are swapped. Otherwise the outputs of each sentence are
    dealt out anew, to each system as many as it has runs.

    Parameters
    ----------
    first, second : [S, R, C]
        Statistics of each sentence in each run; the numbers of runs may differ.
    """
    pool = np.ascontiguousarray(np.concatenate([first, second], axis=1), np.float64)
    both = pool.sum(axis=(0, 1))
    sums = np.zeros((trials, pool.shape[2]))
    key = np.uint64(np.random.default_rng(seed).integers(1 << 63))
    deal = _swap_pairs if first.shape[1] == second.shape[1] else _deal_anew
    for begin, end in _steps(trials, pool[..., 0].size, AT_ONCE, 1, "shuffling"):
        out = sums[begin:end]

        def add(part: slice, begin: int = begin, out: Floats = out) -> None:
            deal(pool, first.shape[1], key, begin + part.start, out[part])

        map_pieces(add, pieces_of(end - begin))
    return sums, both - sums


def _steps(
    trials: int, each: int, at_once: int, multiple: int, label: str
) -> Iterator[tuple[int, int]]:
    """Cut trials into runs with a limit of random numbers, and report progress.

    Each but the last is a multiple of a number of trials.
    """
    size = max(1, at_once // max(1, each * multiple)) * multiple
    edges = [*range(0, trials, size), trials]
    for begin, end in pairwise(edges):
        progress(label, begin, trials)
        yield begin, end
    progress(label, trials, trials)


@kernel
def _add_drawn(drawn: Ints, stats: Stats, out: Stats) -> None:
    for t in range(drawn.shape[0]):
        for s in range(drawn.shape[1]):
            i = drawn[t, s]
            for c in range(out.shape[1]):
                out[t, c] += stats[i, c]


@kernel
def _add_where(coins: Bytes, stats: Floats, out: Floats) -> None:
    """Add the statistics of sentences whose coin is 1; a byte has the coins of 8 sentences.

    The sums of all subsets of these 8 are made once, and looked up for each trial.
    """
    columns = stats.shape[1]
    subsets = np.zeros((256, columns))
    for byte in range(coins.shape[1]):
        for bit in range(8):
            s = 8 * byte + 7 - bit  # the first sentence is the highest bit
            for subset in range(1 << bit):
                for c in range(columns):
                    statistic = stats[s, c] if s < stats.shape[0] else 0.0
                    subsets[(1 << bit) + subset, c] = subsets[subset, c] + statistic
        for t in range(coins.shape[0]):
            subset = coins[t, byte]
            for c in range(columns):
                out[t, c] += subsets[subset, c]


@inlined
def _below(word: Number, count: int) -> Number:
    """Return a number below a small count from the upper bits of a word."""
    return np.int64(((word >> _32) * np.uint64(count)) >> _32)


@kernel
def _swap_pairs(pool: Floats, runs: int, key: Number, first: int, out: Floats) -> None:
    """Pair the runs of two systems at random for each sentence, and swap by coins."""
    order = np.arange(runs)
    for t in range(out.shape[0]):
        for k in range(runs):
            order[k] = k  # a trial does not depend on those before it
        state = spread_bits(key + np.uint64(first + t + 1) * STEP)
        for s in range(pool.shape[0]):
            for k in range(runs):
                state += STEP
                word = spread_bits(state)
                # Fisher and Yates, from the end: whatever the order was, all are as likely.
                last = runs - 1 - k
                other = _below(word, last + 1)
                order[last], order[other] = order[other], order[last]
                is_swapped = word & np.uint64(1)
                source = runs + order[last] if is_swapped else k
                for c in range(out.shape[1]):
                    out[t, c] += pool[s, source, c]


@kernel
def _deal_anew(pool: Floats, runs: int, key: Number, first: int, out: Floats) -> None:
    """Give the first system as many outputs of each sentence as it has runs, drawn from all."""
    cards = pool.shape[1]
    order = np.arange(cards)
    for t in range(out.shape[0]):
        for k in range(cards):
            order[k] = k
        state = spread_bits(key + np.uint64(first + t + 1) * STEP)
        for s in range(pool.shape[0]):
            for k in range(runs):
                state += STEP
                other = k + _below(spread_bits(state), cards - k)
                order[k], order[other] = order[other], order[k]
                for c in range(out.shape[1]):
                    out[t, c] += pool[s, order[k], c]
