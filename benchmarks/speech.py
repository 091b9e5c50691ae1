"""WER tuning of speech n-best lists, against a grid over the scale of the LM and a word penalty.

The lists are made here, with a seed: utterances of a bigram model, and hypotheses that differ
from them by substitutions, insertions and deletions. The acoustic score is worse where they
differ, but noisy and too fond of more words; the score of the bigram model is too fond of
fewer. The third feature is the number of words.

The grid is what is done today: the acoustic weight is 1, and all pairs of 24 values of each of
the two others are tried. It is vectorised, has the errors of every hypothesis beforehand, and
adds the LM's part once for each of its rows. Both sides take the same errors, counted once by
the same code. "Search only" is from errors to weights, "whole job" from texts to weights and
WER. Beside it, estimated from a few points, a grid that lets jiwer count at every point.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np

import tunesmith as ts
from common import announce, interleaved
from tunesmith.inference.lists.hypotheses import best
from tunesmith.io.tables.frames import from_arrays

NAMES = ("acoustic", "lm", "words")
WORDS = 2000
#: First, last and number of the grid's values.
LM_SCALES = (0.0, 2.0, 24)
WORD_SCORES = (-4.0, 8.0, 24)


@dataclass(frozen=True)
class Speech:
    """References [U], hypotheses [U * M] and their features [3, U * M]."""

    references: list[str]
    hypotheses: list[str]
    features: np.ndarray


class Bigrams:
    """A model in which a few words are likely after each word, and any word is possible."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.common = 1.0 / np.arange(2, WORDS + 2)
        self.common /= self.common.sum()
        self.after = rng.choice(WORDS, (WORDS, 20), p=self.common)
        self.likely = 0.7

    def draw(self, rng: np.random.Generator, length: int) -> np.ndarray:
        """Draw an utterance."""
        words = rng.choice(WORDS, length, p=self.common)
        nearby = rng.integers(20, size=length)
        for i in np.flatnonzero(rng.random(length) < self.likely):
            if i > 0:
                words[i] = self.after[words[i - 1], nearby[i]]
        return words

    def scores(self, texts: list[np.ndarray]) -> np.ndarray:
        """Return the logarithm of each text's probability."""
        lengths = np.array([len(words) for words in texts])
        words = np.concatenate(texts)
        before = np.concatenate([[0], words[:-1]])
        follows = (self.after[before] == words[:, None]).mean(axis=1)
        first = np.cumsum(lengths) - lengths
        follows[first] = self.common[words[first]]
        chance = self.likely * follows + (1 - self.likely) * self.common[words]
        return np.add.reduceat(np.log(chance), first)


def make_speech(utterances: int, hypotheses: int, seed: int) -> Speech:
    """Make n-best lists."""
    rng = np.random.default_rng(seed)
    model = Bigrams(rng)
    sounds_like = rng.integers(WORDS, size=(WORDS, 6))
    references = [model.draw(rng, 4 + rng.poisson(9)) for _ in range(utterances)]
    texts: list[np.ndarray] = []
    acoustic: list[np.ndarray] = []
    for reference in references:
        heard, scores = mishear(reference, hypotheses, sounds_like, rng)
        texts += heard
        acoustic.append(scores)
    lengths = np.array([len(words) for words in texts], float)
    features = np.stack([np.concatenate(acoustic), model.scores(texts), lengths])
    names = np.array([f"w{word}" for word in range(WORDS)])

    def shown(lists):
        return [" ".join(names[words]) for words in lists]

    return Speech(shown(references), shown(texts), features)


def mishear(reference, hypotheses, sounds_like, rng):
    """Return what a recogniser might have heard, and how well each fits the sound.

    About half of the words are unclear: two others sound alike, or the word is missed, or a
    short word is heard beside it. How well each of these fits is the same in all hypotheses,
    and sometimes what was said is not among them.
    """
    count = len(reference)
    heard = np.full((count, 5, 2), -1)
    heard[:, 0, 0] = heard[:, 4, 0] = reference
    heard[:, 1:3, 0] = sounds_like[reference, :2]
    heard[:, 4, 1] = rng.integers(40, size=count)
    lost = rng.random(count) < 0.05
    heard[lost, 0, 0] = heard[lost, 4, 0] = sounds_like[reference[lost], 2]
    cost = rng.normal([0.0, 2.0, 2.0, 3.5, 1.0], 2.0, (count, 5))
    cost[rng.random(count) < 0.5, 1:] = np.inf
    noise = rng.gumbel(size=(hypotheses, count, 5))
    chosen = np.argmax(noise - 0.5 * cost, axis=2)
    places = np.arange(count)
    rows = heard[places, chosen].reshape(hypotheses, -1)
    texts = [row[row >= 0] if (row >= 0).any() else reference[:1] for row in rows]
    return texts, rng.normal(0.0, 0.3, hypotheses) - cost[places, chosen].sum(axis=1)


def candidates_of(speech: Speech, utterances: int) -> ts.CandidateSet:
    """Return the lists as tunesmith holds them."""
    hypotheses = len(speech.hypotheses) // utterances
    return from_arrays(
        np.repeat(np.arange(utterances), hypotheses).tolist(),
        dict(zip(NAMES, speech.features, strict=True)),
        speech.hypotheses,
        {u: [reference] for u, reference in enumerate(speech.references)},
    )


def grid(features, errors, lm_scales, word_scores) -> tuple[int, float, float]:
    """Return the fewest errors on a grid, and the weights of LM and words there.

    Parameters
    ----------
    features : [3, U, M]
    errors : [U, M]
    lm_scales, word_scores
        The values to try.
    """
    acoustic, lm, words = features
    rows = np.arange(len(errors))
    found = (sys.maxsize, 0.0, 0.0)
    base, scores = np.empty_like(acoustic), np.empty_like(acoustic)
    for scale in lm_scales:
        np.multiply(lm, scale, out=base)
        base += acoustic
        for each in word_scores:
            np.multiply(words, each, out=scores)
            scores += base
            total = int(errors[rows, scores.argmax(axis=1)].sum())
            if total < found[0]:
                found = total, float(scale), float(each)
    return found


def with_jiwer(speech: Speech, features: np.ndarray, points: int) -> float:
    """Return the seconds a point of the grid takes where jiwer counts at every point."""
    import jiwer

    acoustic, lm, words = features
    count = acoustic.shape[1]
    begun = time.perf_counter()
    for scale in np.linspace(*LM_SCALES[:2], points):
        chosen = (acoustic + scale * lm + words).argmax(axis=1)
        output = [speech.hypotheses[u * count + c] for u, c in enumerate(chosen.tolist())]
        jiwer.wer(speech.references, output)
    return (time.perf_counter() - begun) / points


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--utterances", type=int, default=1000)
    parser.add_argument("--hypotheses", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first set of lists")
    parser.add_argument("--sets", type=int, default=6, help="sets of lists, a seed each")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    shape = (options.utterances, options.hypotheses)
    seeds = range(options.seed, options.seed + options.sets)
    about = f"{shape[0]} utterances x {shape[1]}, 3 features, seeds {seeds[0]} to {seeds[-1]}"
    announce(options, f"synthetic speech, {about}")
    with ts.threads(options.threads):
        tasks = [Task.of(make_speech(*shape, seed), shape) for seed in seeds]
        scores = np.array([[task.score(way) for way in WAYS] for task in tasks])
        show(tasks, scores, options.repetitions)
    above = (scores[:, 2:] > scores[:, :1]).any()
    sys.exit("WER is above the grid's" if above else 0)


#: None is the grid.
WAYS: dict[str, ts.MERT | None] = {
    f"grid of {LM_SCALES[2]} x {WORD_SCORES[2]}": None,
    "MERT, one climb": ts.MERT(restarts=0, walks=0),
    "MERT, one climb, two walks": ts.MERT(restarts=0),
    "MERT, defaults": ts.MERT(),
}


@dataclass(frozen=True)
class Task:
    """One set of lists, with its errors."""

    speech: Speech
    shape: tuple[int, int]
    candidates: ts.CandidateSet
    tuning: ts.TuningSet

    @classmethod
    def of(cls, speech: Speech, shape: tuple[int, int]) -> Task:
        """Count the errors."""
        candidates = candidates_of(speech, shape[0])
        return cls(speech, shape, candidates, ts.TuningSet(candidates, "wer"))

    @property
    def features(self) -> np.ndarray:
        """The features [3, U, M]."""
        return self.speech.features.reshape(3, *self.shape)

    def search(self, way: str, tuning: ts.TuningSet) -> np.ndarray:
        """Go from errors to weights."""
        tuner = WAYS[way]
        if tuner is not None:
            return tuner.tune(tuning, None, np.random.default_rng(1)).weights
        errors = tuning.stats[:, 0].reshape(self.shape)
        found = grid(self.features, errors, np.linspace(*LM_SCALES), np.linspace(*WORD_SCORES))
        return np.array([1.0, *found[1:]])

    def score(self, way: str, tuning: ts.TuningSet | None = None) -> float:
        """Go from errors to WER."""
        tuning = tuning or self.tuning
        return tuning.score(best(self.candidates, self.search(way, tuning)))

    def whole(self, way: str) -> float:
        """Go from texts to WER."""
        return self.score(way, ts.TuningSet(self.candidates, "wer"))

    def searches(self, way: str) -> str:
        """Say how much is searched."""
        tuner = WAYS[way]
        if tuner is None:
            return f"{LM_SCALES[2] * WORD_SCORES[2]} points"
        return f"{tuner.tune(self.tuning, None, np.random.default_rng(1)).line_searches} lines"


def show(tasks: list[Task], scores: np.ndarray, repetitions: int) -> None:
    """Measure on the first set of lists, and print a line for each way."""
    first = tasks[0]
    works = [lambda w=way: first.search(w, first.tuning) for way in WAYS]
    works += [lambda w=way: first.whole(w) for way in WAYS]
    works += [lambda: ts.TuningSet(first.candidates, "wer")]
    *seconds, counting = interleaved(repetitions, *works)
    search, whole = seconds[: len(WAYS)], seconds[len(WAYS) :]
    print(f"errors of all hypotheses, for both sides: {1e3 * counting:.1f} ms (first set)")
    print(f"{'':28} mean WER  sets above grid  searched    search only    whole job")
    for k, way in enumerate(WAYS):
        above = int((scores[:, k] > scores[:, 0]).sum())
        print(
            f"{way:28} {scores[:, k].mean():8.3f}  {above:6} of {len(tasks):<5} "
            f"{first.searches(way):>11}  {1e3 * search[k]:8.1f} ms  {1e3 * whole[k]:8.1f} ms"
        )
    print("times as fast as the grid:")
    for k, way in enumerate(WAYS):
        if k:
            print(f"{way:28} search only {search[0] / search[k]:.2f}", end="")
            print(f", whole job {whole[0] / whole[k]:.2f}")
    point = with_jiwer(first.speech, first.features, 8)
    grid_seconds = point * LM_SCALES[2] * WORD_SCORES[2]
    print(
        f"a grid that lets jiwer count at every point: {1e3 * point:.1f} ms a point (8 tried), so "
        f"{grid_seconds:.0f} s in all; one climb, two walks, whole job: "
        f"{grid_seconds / whole[2]:.0f} times as fast"
    )


if __name__ == "__main__":
    main()
