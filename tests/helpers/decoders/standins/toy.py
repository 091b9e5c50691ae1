"""A tiny translator that the stand-ins share: candidates from the words of a sentence alone.

Nothing of tunesmith is used, so that a stand-in starts as quickly as Python does.
"""

import zlib
from itertools import product

#: Words of a sentence that have a choice; all others are copied.
CHOICES = 3
#: What becomes of a word: its ending, and whether it is written twice.
OPTIONS = ("", "en", "er")


def number(*parts):
    """Return a number from -3 to 3 that depends on some texts, with few digits."""
    return zlib.crc32("\0".join(map(str, parts)).encode()) % 601 / 100 - 3


def candidates(sentence):
    """Yield the candidates of a sentence, each as its words and the choices behind them.

    The last choice is made in two ways that give the same words, as decoders do.
    """
    words = sentence.split()
    free = min(CHOICES, len(words))
    for endings in product(OPTIONS, repeat=free):
        target = [w + e for w, e in zip(words, endings, strict=False)] + words[free:]
        for way in ("short", "long"):
            yield target, [*zip(words, endings, strict=False), ("", way)]


def value(name, index, target, choices):
    """Return a feature of a candidate: a sum over its choices, as of a decoder's steps."""
    if name.startswith("WordPenalty"):
        return -float(len(target))
    if name.startswith("UnknownWordPenalty"):
        return -100.0
    return sum(number(name, index, *choice) for choice in choices)


def ranked(sentence, features, score, distinct):
    """Return (words, features, score) of all candidates of a sentence, the best first.

    Parameters
    ----------
    features
        Gives the features of a candidate from its words and choices.
    score
        Gives the score from those.
    distinct
        Whether of several candidates with the same words the best alone stays.
    """
    found = []
    for target, choices in candidates(sentence):
        held = features(target, choices)
        found.append((target, held, score(held)))
    found.sort(key=lambda one: (-one[2], one[0]))
    if distinct:
        met = set()
        found = [one for one in found if not (tuple(one[0]) in met or met.add(tuple(one[0])))]
    return found
