"""What a decoder is: weights and sentences in, candidates out."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.data.forests import Forests, ForestSet
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UsageError, honour_old_names
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.threads import ThreadEngine
from tunesmith.registry import Options, Registry, options_of

#: Sentences that are decoded at once; for each worker; and at most.
BLOCK, PER_WORKER, LARGEST_BLOCK = 64, 16, 1024
#: A feature that fires in this share of at least this many sentences is not sparse.
COMMON, MANY = 0.9, 20


class DecoderError(TunesmithError):
    """A decoder has failed, or its output is wrong."""


@dataclass(frozen=True)
class Sentence:
    """One input.

    Attributes
    ----------
    id
        Its name: the number of its line, from 0, where it comes from a file.
    text
        What is decoded; never with a line end in it.
    """

    id: GroupId
    text: str


class Decoder(Options, ABC):
    """Produces candidates; a subclass is a frozen dataclass whose fields are its options.

    On the command line a field is the flag ``--decoder-FIELD``, except that ``nbest_size`` and
    ``jobs`` are ``--nbest-size`` and ``--jobs``.
    """

    name: ClassVar[str]
    #: Options that do not change what comes out: a run may be taken up again with others.
    free_options: ClassVar[tuple[str, ...]] = ("jobs",)
    #: Whether it has :meth:`forests`.
    gives_forests: ClassVar[bool] = False
    #: Whether it can be pickled, and copies of it in other processes decode as it does.
    is_portable: ClassVar[bool] = False
    #: Whether several threads may ask it for forests at the same time.
    is_thread_safe: ClassVar[bool] = False
    #: Whether it has its sentences decoded by the engine in force itself.
    shares_out: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Honour deprecated names of methods."""
        super().__init_subclass__(**options)
        honour_old_names(cls, {"last_words": "last_output"})

    @abstractmethod
    def decode(self, weights: Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        """Return the best candidates of each sentence under some weights.

        The result has one group per sentence, in their order and with their ids. The first
        candidate of a group is the decoder's output. The same weights and sentences must give the
        same candidates, with any number of jobs. A decoder does not see references.
        """

    def outputs(self, weights: Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        """Return the best candidate of each sentence alone: the first that ``decode`` gives.

        For sets that nothing is learnt from. A decoder that is quicker without lists says how.
        """
        decoded = self.decode(weights, sentences)
        check_decoded(decoded, sentences)
        return decoded.with_candidates(decoded.start[:-1])

    def forests(self, weights: Weights, sentences: Sequence[Sentence]) -> ForestSet:
        """Return the forest of each sentence under some weights: what it searched, or found good.

        There is a forest for every sentence, with its id and in its place; the best derivation
        is the decoder's output. Features are those that :attr:`names` has, in its order, in all
        calls. The same weights and sentences give the same forests, one by one or together. It
        is asked for one sentence at a time too, and should be quick then.
        """
        raise UsageError(f"the decoder '{self.name}' gives no forests; tune on lists")

    def meet(self, sentences: Sequence[Sentence]) -> None:
        """Learn of sentences whatever has to be known before any is decoded, as new features.

        A loop calls it first, with the sentences of all sets.
        """

    @property
    def names(self) -> tuple[str, ...]:
        """The features of its forests."""
        raise UsageError(f"the decoder '{self.name}' gives no forests; tune on lists")

    def parted(self) -> tuple[Callable[[Any], Decoder], Any]:
        """Return a function that makes a copy in a worker, and the large part that it needs.

        What is large is what an engine is given to decode with: workers have it once.
        """
        return _as_it_is, self

    def start(self) -> Weights | None:
        """Return the weights in its own configuration, if it has one."""
        return None

    def sentences(self) -> list[Sentence] | None:
        """Return the sentences that it knows by itself; None if they must be given."""
        return None

    def in_folder(self, folder: Path) -> Decoder:
        """Return the decoder with a folder for its logs and other files.

        The folder exists. In-process decoders write nothing into it.
        """
        return self

    def last_output(self) -> str:
        """Return its last messages and the place of its logs, for an error about its output."""
        return ""

    last_words = last_output

    def accepted(self) -> None:
        """Delete what it kept for such an error, because its last output was right."""

    def files(self) -> dict[str, str]:
        """Return files with digests whose changes are only reported when a run is resumed.

        An example is a script, which may have been fixed. Files that determine the output, such as
        a model, belong to :meth:`configuration`.
        """
        return {}

    def configuration(self) -> dict[str, Any]:
        """Return everything that determines its output, as JSON; a resumed run must have the same.

        A decoder with a model adds the digests of its files: see :func:`digest_of`.
        """
        options = [o.field for o in options_of(type(self)) if o.field not in self.free_options]
        return {"decoder": self.name, **{field: _plain(getattr(self, field)) for field in options}}

    def rewritten(self, weights: Weights) -> bytes | None:
        """Return its own configuration file with other weights, if it has one."""
        return None

    def close(self) -> None:
        """Release its resources."""


def _as_it_is(decoder: Decoder) -> Decoder:
    return decoder


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


DECODERS: Registry[Decoder] = Registry(
    "decoder", "tunesmith.decoders tunesmith:hiero", "tunesmith.decoders", Decoder
)


def check_decoded(decoded: CandidateSet, sentences: Sequence[Sentence]) -> None:
    """Raise an error if candidates are not those of some sentences."""
    if not isinstance(decoded, CandidateSet):
        raise DecoderError(
            f"the decoder gave a {type(decoded).__name__}; have it return a CandidateSet"
        )
    _check_ids(decoded.ids, sentences, "candidate")
    if not decoded.features.names:
        raise DecoderError("the decoder gave no features; have it write them with the candidates")
    for values in (decoded.features.dense, decoded.features.sparse.data):
        if not np.isfinite(values).all():
            raise DecoderError("the decoder gave a feature that is not finite; fix its model")
    for name, values in decoded.columns.items():
        if not np.isfinite(values).all():
            raise DecoderError(f"the decoder gave a score '{name}' that is not finite; fix it")


def check_forests(decoded: Forests, sentences: Sequence[Sentence], names: tuple[str, ...]) -> None:
    """Raise an error if forests are not those of some sentences, with all features."""
    if not isinstance(decoded, Forests):
        raise DecoderError(
            f"the decoder gave a {type(decoded).__name__}; have it return a ForestSet"
        )
    _check_ids(decoded.ids, sentences, "forest")
    if decoded.names != names:
        raise DecoderError(
            "the decoder gave forests whose features are not its names; have it give the same "
            "names, in the same order, in all rounds"
        )
    # Those on disk are looked at whenever they are read.
    if isinstance(decoded, ForestSet) and not np.isfinite(decoded.arrays.feature_values).all():
        raise DecoderError("the decoder gave a feature that is not finite; fix its model")


def _check_ids(ids: Sequence[GroupId], sentences: Sequence[Sentence], product: str) -> None:
    """Raise an error if something is lacking for a sentence, or stands in another place."""
    expected = [sentence.id for sentence in sentences]
    if list(ids) == expected:
        return
    present = set(ids)
    lacking = [i for i in expected if i not in present]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise DecoderError(
            f"the decoder gave no {product} for sentence {lacking[0]}{more}; look at its output"
        )
    known = set(expected)
    strange = next((i for i in ids if i not in known), None)
    where = "in another order" if strange is None else f"of a sentence {strange} that is none"
    raise DecoderError(f"the decoder gave {product}s {where}; look at its output")


@dataclass(frozen=True)
class ExpectedFeatures:
    """The features of a first decoding, which later ones must give again.

    A sparse feature may come and go. One that fires in nearly all of many sentences does not,
    nor does one that fires so and has a weight from the start.

    Attributes
    ----------
    names
        All that are not sparse.
    certain, likely
        Those that must be there again, and those whose loss is only told.
    """

    names: frozenset[str]
    certain: tuple[str, ...]
    likely: tuple[str, ...]

    @classmethod
    def of(cls, decoded: CandidateSet, start: Weights) -> ExpectedFeatures:
        """Learn from a decoding under the starting weights."""
        names = decoded.features.dense_names
        begins = decoded.start[:-1]
        fires = np.logical_or.reduceat(decoded.features.dense != 0.0, begins, axis=1)
        # A sentence without words has a candidate without features.
        fires = fires[:, fires.any(axis=0)]
        count = fires.shape[1]
        common = [n for n, row in zip(names, fires, strict=True) if row.sum() >= COMMON * count > 0]
        certain = tuple(name for name in common if count >= MANY or name in start)
        likely = tuple(name for name in common if name not in certain)
        return cls(frozenset(names), certain, likely)

    def check(self, decoded: CandidateSet) -> None:
        """Raise an error, or warn, if features of the first decoding are no longer given."""
        now = decoded.features.names
        present = set(now)
        lost = [name for name in self.certain if name not in present]
        unsure = [name for name in self.likely if name not in present]
        if not present & self.names and self.names:
            lost = lost or sorted(self.names)
        if not lost and not unsure:
            return
        new = next((name for name in now if name not in self.names), None)
        also = "" if new is None else f" and has '{new}'"
        text = f"the decoder no longer gives the feature '{(lost or unsure)[0]}'{also}"
        if lost:
            raise DecoderError(f"{text}; give it the same model in all rounds")
        warnings.warn(text, stacklevel=2)


def count_misranked(decoded: CandidateSet, weights: Weights) -> tuple[int, int]:
    """Return in how many groups the first candidate is not the best, and of how many.

    Groups in which all candidates are worth the same do not count.
    """
    scores = decoded.features.dot(weights.aligned(decoded.features.names))
    begins = decoded.start[:-1]
    best, worst = np.maximum.reduceat(scores, begins), np.minimum.reduceat(scores, begins)
    # Programs write few digits.
    slack = 1e-3 * (1.0 + np.abs(best))
    differ = best - worst > slack
    return int((differ & (best - scores[begins] > slack)).sum()), int(differ.sum())


def block_size() -> int:
    """Return how many sentences to decode at once, so that all workers have something to do."""
    engine = current_engine()
    if isinstance(engine, ThreadEngine):
        return BLOCK
    return min(LARGEST_BLOCK, max(BLOCK, PER_WORKER * engine.workers))


def with_ids(decoded: CandidateSet, ids: Sequence[GroupId]) -> CandidateSet:
    """Return candidates whose groups, in their order, have other ids."""
    return dataclasses.replace(decoded, ids=tuple(ids))


def digest_of(path: str | os.PathLike[str]) -> str:
    """Return the digest of a file that decides what a decoder does."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise DecoderError(f"{os.fspath(path)}: {problem}; name a file that can be read") from None
