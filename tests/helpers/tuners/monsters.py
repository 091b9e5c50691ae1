"""A set with monsters: far too long candidates with hardly a word right."""

from __future__ import annotations

import numpy as np

import tunesmith as ts

#: Weights of a usual system; not the best.
START = {"faithful": 1.0, "words": 0.1, "other": 0.5}
#: Ordinary candidates of each list.
ORDINARY = 60
#: Words that are cut off from a candidate, or added to it.
LONGER = (-9, -4, -2, -1, 0, 0, 0, 0, 1, 2, 4, 9)


def monster_set(monsters: int, seed: int = 0, sentences: int = 40) -> ts.TuningSet:
    """Make lists of ordinary candidates and some monsters each.

    The feature ``faithful`` tells how much of a candidate is wrong, but for some noise;
    ``words`` counts words, of which ordinary candidates have too many as often as too few.
    Monsters have 60 words and more, none of them right; ``faithful`` finds them no worse than
    the worst of the others. Whoever learns from monsters learns above all to be short.
    """
    rng = np.random.default_rng(seed)
    ids, texts, references = [], [], {}
    columns: dict[str, list[float]] = {"faithful": [], "words": [], "other": []}
    for sentence in range(sentences):
        reference = [f"w{k}" for k in rng.integers(0, 500, rng.integers(22, 30))]
        references[sentence] = [" ".join(reference)]
        for k in range(ORDINARY + monsters):
            if k < ORDINARY:
                wrong, longer = int(rng.integers(0, 4)), int(rng.choice(LONGER))
                words = reference[: len(reference) + min(longer, 0)]
                for place in rng.choice(len(words), wrong, replace=False):
                    words[place] = f"x{rng.integers(1000)}"
                words += [f"x{rng.integers(1000)}" for _ in range(longer)]
                faithful = -wrong - 0.5 * abs(longer) + 0.5 * rng.normal()
            else:
                words = [f"m{w}" for w in rng.integers(0, 1000, rng.integers(90, 120))]
                faithful = -25.0 + rng.normal()
            ids.append(sentence)
            texts.append(" ".join(words))
            for name, value in zip(columns, (faithful, len(words), rng.normal()), strict=True):
                columns[name].append(float(value))
    return ts.TuningSet(ts.from_arrays(ids, columns, texts, references))
