"""What error rates count in forests: words or characters, normalised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.data.candidates import References, Texts
from tunesmith.data.forests import Block, Forests, cut
from tunesmith.inference.forests.ngrams.counts import replaced_words
from tunesmith.metrics.base import Metric
from tunesmith.metrics.preparation import numbered, replace_tokens
from tunesmith.metrics.wer import CER, WER, ErrorRate


class Units(NamedTuple):
    """Forests and references in the units of an error rate.

    Where these are characters, a space follows each word, the last one too: at the end of both
    texts it is no edit. Only texts without words lack it, so that their edits are one too many.

    Attributes
    ----------
    parts
        The units of each word; None where they are the words.
    references
        In units.
    lengths : int64[R]
        How many units of each reference the metric counts.
    """

    parts: Texts | None
    references: References
    lengths: Ints

    @classmethod
    def of(cls, forests: Forests, metric: Metric) -> Units | None:
        """Return them for WER and CER; None for all else, and where there are no references.

        There are none either where a transform is given whole texts.
        """
        references = forests.references
        is_ours = type(metric) in {WER, CER}  # another class may count in another way
        if references is None or not is_ours or not isinstance(metric, ErrorRate):
            return None
        normalisation = metric.normalisation
        if not normalisation.is_word_by_word:
            return None
        if type(metric) is WER and normalisation.is_plain:
            return cls(None, references, references.texts.lengths)
        words = [normalisation.words(word) for word in forests.vocabulary]
        spaced = isinstance(metric, CER)
        if spaced:
            words = [[c for word in several for c in (*word, " ")] for several in words]
        parts = numbered(words, {})
        texts = replace_tokens(references.texts, parts)
        lengths = np.maximum(texts.lengths - spaced, 0)
        return cls(parts, References(references.group_start, texts), lengths)

    def seen(self, block: Block) -> Block:
        """Return forests with units in place of words; hyperedges stay as they are."""
        if self.parts is None:
            return block
        arrays = cut(block)  # not the words of all other forests
        sides = (arrays.word_start, arrays.words, self.parts.start, self.parts.ids)
        start, units = replaced_words(*sides)
        seen = arrays._replace(word_start=start, words=units)
        return Block(seen, 0, block.last - block.first)
