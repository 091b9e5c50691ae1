"""A fixed pool of candidates as a decoder: it returns the best of them under the weights."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, Decoder, DecoderError, Sentence
from tunesmith.errors import UsageError
from tunesmith.inference.lists.rerank import nbest
from tunesmith.io.read import read
from tunesmith.registry import option, texts


@DECODERS.register("pool")
@dataclass(frozen=True, kw_only=True)
class PoolDecoder(Decoder):
    """A fixed pool of candidates: the best of each sentence under the current weights.

    For experiments, for tests, and for lists that are too large to be tuned on as a whole. The
    pool is read when it is first used. Candidates keep their texts, columns, references and
    inputs.
    """

    candidates: tuple[str, ...] = option((), "file with all candidates", "FILE", convert=texts)
    format: str | None = option(None, "its format [default: recognised from the content]", "NAME")
    nbest_size: int = option(100, "candidates per sentence", least=1)
    _candidates: CandidateSet | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, candidates: CandidateSet, nbest_size: int = 100) -> PoolDecoder:
        """Make a decoder from candidates in memory."""
        return cls(nbest_size=nbest_size, _candidates=candidates)

    @cached_property
    def pool(self) -> CandidateSet:
        """All candidates."""
        if self._candidates is not None:
            return self._candidates
        if not self.candidates:
            raise UsageError("the decoder 'pool' needs candidates; give --decoder-candidates FILE")
        return read(self.candidates, format=self.format)

    @cached_property
    def _groups(self) -> dict[GroupId, int]:
        return {name: group for group, name in enumerate(self.pool.ids)}

    def sentences(self) -> list[Sentence]:
        """Return the sentences of the pool; their texts are empty if it does not have them."""
        pool = self.pool
        texts = [""] * pool.groups if pool.sources is None else pool.sources
        return [Sentence(*pair) for pair in zip(pool.ids, texts, strict=True)]

    def start(self) -> Weights:
        """Return weights of 0, under which the first of the pool are the best."""
        names = self.pool.features.names
        return Weights(names, np.zeros(len(names)))

    def decode(self, weights: Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        """Return the best candidates of each sentence; among equals the first of the pool."""
        pool = self.pool
        names = pool.features.names
        unknown = [sentence.id for sentence in sentences if sentence.id not in self._groups]
        if unknown:
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            raise DecoderError(
                f"the pool has no candidates of sentence {unknown[0]}{more}; decode those that it "
                "has"
            )
        if not set(names) & set(weights):
            raise DecoderError(
                "no weight has the name of a feature of the pool; give the weights that belong to "
                "it"
            )
        groups = np.array([self._groups[sentence.id] for sentence in sentences], np.int64)
        rows, _ = nbest(pool, weights.aligned(names), self.nbest_size, groups)
        return dataclasses.replace(pool.with_candidates(rows), files=())

    def configuration(self) -> dict[str, Any]:
        """Return the digests of the files, wherever they are, and the size of lists."""
        digests = [file.sha256 for file in self.pool.files] if self.candidates else []
        return {
            "decoder": self.name,
            "candidates": digests or [_digest(self.pool)],
            "nbest_size": self.nbest_size,
        }


def _digest(candidates: CandidateSet) -> str:
    """Return the digest of all that a decoding may return."""
    features = candidates.features
    sparse = features.sparse
    arrays = [candidates.start, features.dense, sparse.indptr, sparse.indices, sparse.data]
    arrays += [candidates.texts.start, candidates.texts.ids, *candidates.columns.values()]
    if candidates.references is not None:
        references = candidates.references
        arrays += [references.group_start, references.texts.start, references.texts.ids]
    names = [candidates.ids, features.names, candidates.vocabulary, tuple(candidates.columns)]
    names.append(candidates.sources or ())
    digest = hashlib.sha256(repr(names).encode())
    for values in arrays:
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()
