"""The pool of pro_monsters.py: real candidates, and long ones that no list holds yet.

A decoder can be made to produce outputs many times as long as the reference: weights that gain
something by one more phrase gain it again by the next. Fixed lists of sensible weights hold no
such output, so the pool is given them: a real candidate with up to a hundred phrases put into
it. Their texts are phrases of other candidates; their features go on linearly, as a decoder's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

import tunesmith as ts
from tunesmith.arrays import Flags, Floats, Ids, Ints
from tunesmith.data.candidates import CandidateSet, References, Texts, pack_texts
from tunesmith.data.features import Features
from tunesmith.inference.lists.rerank import nbest

#: The number of phrases put into a candidate.
COUNTS = (1, 2, 3, 4, 6, 9, 13, 19, 28, 40)
#: Words of such a phrase; Moses' phrases have at most 7.
FEWEST_WORDS, MOST_WORDS = 2, 7
#: Sentences with fewer real candidates are left out.
FEWEST_REAL = 300
MODEL, WORDS, PHRASES = "LM0", "WordPenalty0", "PhrasePenalty0"


@dataclass(frozen=True)
class Kinds:
    """Phrases to put in.

    Attributes
    ----------
    words : int64[K]
        How many words one has.
    features : float64[K, D]
        What one adds to the features.
    """

    words: Ints
    features: Floats


@dataclass(frozen=True)
class Pool:
    """All candidates of some sentences.

    Attributes
    ----------
    all
        Real and long ones; those of a sentence together, the real ones first.
    real : bool[N]
        Which are real.
    """

    all: ts.TuningSet
    real: Flags

    @property
    def start(self) -> Ints:
        """Where sentences begin [S + 1]."""
        return self.all.candidates.start

    def revealed(self, rows: Flags) -> ts.TuningSet:
        """Return some of the candidates as lists; texts are left out, their counts are known."""
        everything = self.all.candidates
        features = everything.features
        found = np.flatnonzero(rows)
        start = np.searchsorted(found, self.start)
        empty = Texts(np.zeros(len(found) + 1, np.int64), np.zeros(0, np.int32))
        lists = CandidateSet(
            everything.ids,
            start,
            Features(
                features.dense_names, features.dense[:, found], (), csc_array((len(found), 0))
            ),
            empty,
            everything.vocabulary,
        )
        return ts.TuningSet(lists, self.all.metric, self.all.stats[found])

    def best(self, weights: Floats, count: int) -> Flags:
        """Return which candidates are the best so many of their sentence."""
        found = np.zeros(len(self.real), np.bool_)
        found[nbest(self.all.candidates, weights, count)[0]] = True
        return found


def kinds_of(
    lists: ts.TuningSet, count: int, worse: tuple[float, float], rng: np.random.Generator
) -> Kinds:
    """Make long phrases that are so many times as bad as what the lists have.

    The language model's score of a word is that of one more word within a list; all other
    features are those of the lists' average phrase, of however many words.
    """
    features = lists.candidates.features
    language_model, word, phrase = (features.names.index(n) for n in (MODEL, WORDS, PHRASES))
    words = rng.integers(FEWEST_WORDS, MOST_WORDS + 1, count)
    average = features.dense.sum(axis=1) / features.dense[phrase].sum()
    made = np.tile(average, (count, 1))
    made[:, language_model] = words * _slope(lists, language_model)
    made *= rng.uniform(*worse, made.shape)
    made[:, word], made[:, phrase] = -words, 1.0
    return Kinds(words, made)


def _slope(lists: ts.TuningSet, feature: int) -> float:
    """Return the slope of a feature on lengths, both taken from the mean of their sentence."""
    start = lists.candidates.start
    sizes = np.diff(start)

    def centred(values: Floats) -> Floats:
        return values - np.repeat(np.add.reduceat(values, start[:-1]) / sizes, sizes)

    away = centred(lists.stats[:, 0].astype(np.float64))
    return float(centred(lists.candidates.features.dense[feature]) @ away / (away @ away))


class Maker:
    """Makes pools; what a sentence gets depends on the seed and the sentence alone.

    Parameters
    ----------
    lists
        The real candidates.
    kinds, kinds_of_sentence
        Kinds of phrases altogether, and how many of them each sentence gets: the fewer, the
        rarer are long candidates that some weights prefer.
    worse
        How many times as bad as those of the lists they are, at least and at most.
    seed
        Of all that is random.
    """

    def __init__(
        self,
        lists: ts.TuningSet,
        kinds: int,
        kinds_of_sentence: int,
        worse: tuple[float, float],
        seed: int,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.lists = lists
        self.seed = seed
        self.kinds = kinds_of(lists, kinds, worse, rng)
        self.kinds_of_sentence = kinds_of_sentence
        texts = lists.candidates.texts
        self._stock = {m: _phrases(texts, m, rng) for m in range(FEWEST_WORDS, MOST_WORDS + 1)}

    def pool(self, sentences: Sequence[int]) -> Pool:
        """Put long candidates behind the real ones of some sentences."""
        real = self.lists.candidates
        texts: list[Ids] = []
        blocks: list[Floats] = []
        flags: list[Flags] = []
        for s in sentences:
            rows = np.arange(real.start[s], real.start[s + 1])
            made, features = self._long(s, rows)
            texts += [*(real.texts[row] for row in rows), *made]
            blocks += [real.features.dense[:, rows], features]
            flags += [np.ones(len(rows), np.bool_), np.zeros(len(made), np.bool_)]
        sizes = [len(a) + len(b) for a, b in zip(flags[::2], flags[1::2], strict=True)]
        dense = np.concatenate(blocks, axis=1)
        everything = CandidateSet(
            tuple(real.ids[s] for s in sentences),
            np.concatenate([[0], np.cumsum(sizes)]),
            Features(real.features.names, dense, (), csc_array((dense.shape[1], 0))),
            pack_texts(texts),
            real.vocabulary,
            _references(real, sentences),
        )
        return Pool(ts.TuningSet(everything, self.lists.metric), np.concatenate(flags))

    def _long(self, sentence: int, rows: Ints) -> tuple[list[Ids], Floats]:
        """Return texts and features [D, n] of the long candidates of a sentence."""
        rng = np.random.default_rng([self.seed, sentence])
        own = rng.permutation(len(self.kinds.words))[: self.kinds_of_sentence]
        chosen, counts = np.repeat(own, len(COUNTS)), np.tile(COUNTS, len(own))
        bases = rng.choice(rows, len(chosen))
        texts: list[Ids] = []
        for base, kind, count in zip(bases, chosen, counts, strict=True):
            phrases = self._stock[int(self.kinds.words[kind])]
            put = phrases[rng.integers(len(phrases), size=count)]
            texts.append(_with_phrases(self.lists.candidates.texts[base], put, rng))
        dense = self.lists.candidates.features.dense[:, bases]
        return texts, dense + (counts[:, None] * self.kinds.features[chosen]).T


def _phrases(texts: Texts, words: int, rng: np.random.Generator, count: int = 5000) -> Ids:
    """Return so many successive words from anywhere in the lists [count, words]."""
    long_enough = np.flatnonzero(texts.lengths >= words)
    chosen = rng.choice(long_enough, count)
    begin = texts.start[chosen] + rng.integers(texts.lengths[chosen] - words + 1)
    return texts.ids[begin[:, None] + np.arange(words)]


def _with_phrases(base: Ids, phrases: Ids, rng: np.random.Generator) -> Ids:
    """Put phrases [k, m] at random places between the words of a text."""
    places = rng.integers(len(base) + 1, size=len(phrases))
    keys = np.concatenate([np.arange(len(base)) + 0.5, np.repeat(places, phrases.shape[1])])
    found: Ids = np.concatenate([base, phrases.ravel()])[np.argsort(keys, kind="stable")]
    return found


def _references(real: CandidateSet, sentences: Sequence[int]) -> References:
    given = real.references
    if given is None:
        raise ValueError("there are no references")
    own = [range(given.group_start[s], given.group_start[s + 1]) for s in sentences]
    texts = pack_texts([given.texts[r] for several in own for r in several])
    return References(np.concatenate([[0], np.cumsum([len(one) for one in own])]), texts)


def split(lists: ts.TuningSet, seed: int = 1) -> tuple[list[int], list[int]]:
    """Return the sentences to tune on and those to test on, two halves at random.

    Those with short lists are left out: they would be filled up with long candidates at once.
    """
    many = np.flatnonzero(np.diff(lists.candidates.start) >= FEWEST_REAL)
    order = np.random.default_rng(seed).permutation(many)
    half = len(many) // 2
    return sorted(order[:half].tolist()), sorted(order[half:].tolist())


def longest_half(lists: ts.TuningSet, sentences: Sequence[int]) -> list[int]:
    """Return the half of some sentences with the longest references, in their order."""
    lengths = lists.stats[lists.candidates.start[:-1], 1]
    ordered = sorted(sentences, key=lambda s: -lengths[s])
    return sorted(ordered[: len(ordered) // 2])
