"""The statistics of single derivations of forests, exactly as a metric counts them in lists.

What hyperedges count is an approximation (unclipped matches). After a derivation is found, its
words are counted again, without any (Chiang 2012, the end of section 5.2).
"""

from __future__ import annotations

import threading

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Ids, Ints, Stats
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.data.features import Features
from tunesmith.data.forests import Forests
from tunesmith.errors import TunesmithError
from tunesmith.inference.forests.cache import cached
from tunesmith.kernels import kernel
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.ngrams.counts import REFERENCE_LENGTHS
from tunesmith.metrics.ngrams.tables import NgramTables, count_text
from tunesmith.metrics.preparation import WORD_BY_WORD, numbered, replace_tokens
from tunesmith.parallel.local import map_pieces, pieces_of


class ExactStatistics:
    """Counts what a metric counts in texts of forests.

    Attributes
    ----------
    metric
        Any; BLEU has tables of the references that are made once.
    """

    def __init__(self, forests: Forests, metric: Metric) -> None:
        if metric.needs_references and forests.references is None:
            raise TunesmithError(
                f"{metric.name} needs references, and the forests have none; give --references"
            )
        self.metric = metric
        self._forests = forests
        self._fast = _TextCounter.of(forests, metric)

    def of_texts(self, groups: Ints, texts: Texts) -> Stats:
        """Return the statistics [n, K] of texts, of the forests given, which ascend."""
        if self._fast is not None:
            return self._fast.of_texts(groups, texts)
        if len(texts) == 0:
            return np.zeros((0, len(self.metric.stat_names)))
        return self.metric.candidate_stats(self._as_list(np.asarray(groups, np.int64), texts))

    def of_text(self, group: int, words: Ids) -> Stats:
        """Return the statistics [K] of one text of a forest."""
        if self._fast is not None:
            return self._fast.of_text(group, words)
        text = Texts(np.array([0, len(words)]), np.asarray(words, np.int32))
        row: Stats = self.of_texts(np.array([group]), text)[0]
        return row

    def _as_list(self, groups: Ints, texts: Texts) -> CandidateSet:
        """Return texts as candidates of the groups that occur.

        The vocabulary has their words alone: many metrics prepare it word by word, and that of
        all forests is large beside a text.
        """
        count = len(texts)
        first = np.flatnonzero(np.diff(groups, prepend=-1))
        chosen = groups[first]
        forests = self._forests
        references = None if forests.references is None else forests.references.take(chosen)
        reference_texts = Texts.empty() if references is None else references.texts
        words, number = np.unique(
            np.concatenate([texts.ids, reference_texts.ids]), return_inverse=True
        )
        ids, held_ids = np.split(number.astype(np.int32), [len(texts.ids)])
        if references is not None:
            references = References(references.group_start, Texts(reference_texts.start, held_ids))
        return CandidateSet(
            tuple(forests.ids[g] for g in chosen),
            np.append(first, count),
            Features((), np.zeros((0, count)), (), csc_array((count, 0))),
            Texts(texts.start, ids),
            tuple(forests.vocabulary[word] for word in words),
            references,
            sources=None if forests.sources is None else tuple(forests.sources[g] for g in chosen),
        )


class _TextCounter:
    """Counts n-grams of texts against tables of all references."""

    def __init__(self, forests: Forests, metric: BLEU) -> None:
        assert forests.references is not None
        self._order = metric.order
        self._mode = REFERENCE_LENGTHS.index(metric.reference_length)
        average = metric.reference_length == "average"
        self._kind = np.float64 if average else np.int32
        self._parts, references = prepared_references(forests, metric)
        self._tables = NgramTables.of(references, 0, forests.groups, self._order)
        self._most = int(np.diff(self._tables.node_start).max(initial=1))
        # Threads that count at the same time need counters of their own.
        self._local = threading.local()

    @classmethod
    def of(cls, forests: Forests, metric: Metric) -> _TextCounter | None:
        """Return one for BLEU of words that are tokenised one by one; None for all else."""
        plain = isinstance(metric, BLEU) and type(metric).candidate_stats is BLEU.candidate_stats
        if not plain or metric.tokenize not in WORD_BY_WORD:  # type: ignore[attr-defined]
            return None
        bleu: BLEU = metric  # type: ignore[assignment]
        return cached(forests, "tables", counting(bleu), lambda: cls(forests, bleu))

    def of_text(self, group: int, words: Ids) -> Stats:
        row = np.empty(2 + 2 * self._order, self._kind)
        if self._parts is not None:
            text = Texts(np.array([0, len(words)]), np.asarray(words, np.int32))
            words = replace_tokens(text, self._parts).ids
        count_text(self._tables, group, words, self._order, self._mode, self._scratch(), row)
        return row

    def of_texts(self, groups: Ints, texts: Texts) -> Stats:
        rows = np.empty((len(texts), 2 + 2 * self._order), self._kind)
        if self._parts is not None:
            texts = replace_tokens(texts, self._parts)
        group_ids = np.asarray(groups, np.int64)

        def count(piece: slice) -> None:
            start = texts.start[piece.start : piece.stop + 1]
            arguments = (group_ids[piece], start, texts.ids, self._order, self._mode)
            _count_texts(self._tables, *arguments, self._scratch(), rows[piece])

        map_pieces(count, pieces_of(len(texts), weights=texts.lengths + 1))
        return rows

    def _scratch(self) -> Ids:
        counts: Ids | None = getattr(self._local, "count", None)
        if counts is None:
            counts = self._local.count = np.zeros(self._most, np.int32)
        return counts


def counting(metric: BLEU) -> tuple[int, str, bool, str]:
    """Return the options that what BLEU counts depends on."""
    return metric.order, metric.tokenize, metric.lowercase, metric.reference_length


def prepared_references(forests: Forests, metric: BLEU) -> tuple[Texts | None, References]:
    """Return the tokens that BLEU sees in place of each word, and the references so made.

    None stands for words that are left as they are.
    """
    references = forests.references
    assert references is not None
    if metric.tokenize == "none" and not metric.lowercase:
        return None, references
    words = metric.preparation.words
    parts = numbered([words(word) for word in forests.vocabulary], {})
    return parts, References(references.group_start, replace_tokens(references.texts, parts))


@kernel
def _count_texts(
    tables: NgramTables,
    groups: Ints,
    start: Ints,
    words: Ids,
    order: int,
    mode: int,
    count: Ids,
    rows: Stats,
) -> None:
    for i in range(groups.shape[0]):
        text = words[start[i] : start[i + 1]]
        count_text(tables, groups[i], text, order, mode, count, rows[i])
