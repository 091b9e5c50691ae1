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
from tunesmith.inference.lists import best
from tunesmith.io.frames import from_arrays

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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    shape = (options.utterances, options.hypotheses)
    announce(options, f"synthetic speech, {shape[0]} utterances x {shape[1]}, 3 features")
    speech = make_speech(*shape, options.seed)
    with ts.threads(options.threads):
        compare(options, speech, candidates_of(speech, options.utterances), shape)


def compare(options, speech: Speech, candidates: ts.CandidateSet, shape) -> None:
    """Run all ways in turn and print WER and times."""
    features = speech.features.reshape(3, *shape)
    tuning = ts.TuningSet(candidates, "wer")
    errors = tuning.stats[:, 0].reshape(shape)
    length = int(tuning.stats[:: shape[1], 1].sum())
    axes = np.linspace(*LM_SCALES), np.linspace(*WORD_SCORES)
    climb, default = ts.MERT(restarts=0, walks=0), ts.MERT()

    def tune(tuner, tuning=tuning):
        return tuner.tune(tuning, None, np.random.default_rng(1))

    def whole(tuner):
        fresh = ts.TuningSet(candidates, "wer")
        return fresh.score(best(candidates, tune(tuner, fresh).weights))

    def whole_grid():
        fresh = ts.TuningSet(candidates, "wer").stats[:, 0].reshape(shape)
        return 100 * grid(features, fresh, *axes)[0] / length

    def wer_of(tuner):
        return tuning.score(best(candidates, tune(tuner).weights))

    found = grid(features, errors, *axes)
    scores = [100 * found[0] / length, wer_of(climb), wer_of(default)]
    works = [lambda: grid(features, errors, *axes), lambda: tune(climb), lambda: tune(default)]
    works += [whole_grid, lambda: whole(climb), lambda: whole(default)]
    works += [lambda: ts.TuningSet(candidates, "wer")]
    *seconds, counting = interleaved(options.repetitions, *works)
    searches = [tune(tuner).line_searches for tuner in (climb, default)]
    show(scores, seconds, counting, searches, found[1:])
    point = with_jiwer(speech, features, 8)
    points = len(axes[0]) * len(axes[1])
    print(
        f"a grid that lets jiwer count at every point: {1e3 * point:.1f} ms a point, "
        f"about {points * point:.0f} s in all; one climb, whole job, is "
        f"{points * point / seconds[4]:.0f} times as fast"
    )
    sys.exit(0 if max(scores[1:]) <= scores[0] else "WER is above the grid's")


def show(scores, seconds, counting, searches, at) -> None:
    """Print a line for each way, and what is how many times as fast."""
    print(f"errors of all hypotheses, for both sides {1e3 * counting:8.1f} ms")
    ways = [
        f"grid of {LM_SCALES[2]} x {WORD_SCORES[2]}",
        f"MERT, one climb ({searches[0]} line searches)",
        f"MERT, defaults ({searches[1]} line searches)",
    ]
    for k, way in enumerate(ways):
        print(
            f"{way:40} WER {scores[k]:.3f}  search only {1e3 * seconds[k]:8.1f} ms  "
            f"whole job {1e3 * seconds[3 + k]:8.1f} ms"
        )
    print(f"the grid's best: LM {at[0]:.3f}, words {at[1]:.3f}")
    for k in (1, 2):
        print(
            f"times as fast as the grid, {ways[k].partition(' (')[0]}: search only "
            f"{seconds[0] / seconds[k]:.2f}, whole job {seconds[3] / seconds[3 + k]:.2f}"
        )


if __name__ == "__main__":
    main()
