"""What a decoder is: weights and sentences in, candidates out."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError
from tunesmith.registry import Registry, options_of

#: A feature that fires in each of so many sentences is not sparse.
MANY = 20


class DecoderError(TunesmithError):
    """A decoder has failed, or its output is not what it should be."""


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


class Decoder(ABC):
    """Produces candidates; a subclass is a frozen dataclass whose fields are its options.

    On the command line a field is the flag ``--decoder-FIELD``; ``nbest_size`` and ``jobs``
    are ``--nbest-size`` and ``--jobs``, for those decoders that have them.
    """

    name: ClassVar[str]
    #: Options that do not change what comes out: a run may be taken up again with others.
    free_options: ClassVar[tuple[str, ...]] = ("jobs",)

    @abstractmethod
    def decode(self, weights: Weights, sentences: Sequence[Sentence]) -> CandidateSet:
        """Return the best candidates of each sentence under some weights.

        There is a group for every sentence, with its id and in its place; the first candidate
        of a group is the decoder's choice, that is its output. The same weights and sentences
        give the same candidates, in whatever number of jobs. References are not its business.
        """

    def start(self) -> Weights | None:
        """Return the weights that its own configuration has, if it has one."""
        return None

    def sentences(self) -> list[Sentence] | None:
        """Return the sentences that it knows by itself; None where they must be given."""
        return None

    def in_folder(self, folder: Path) -> Decoder:
        """Return the decoder that leaves whatever it leaves behind, as logs, in a folder.

        The folder is there. In-process decoders leave nothing behind.
        """
        return self

    def configuration(self) -> dict[str, Any]:
        """Return all that decides what comes out, as JSON; a run is refused another.

        A decoder with files adds their digests: see :func:`digest_of`.
        """
        options = [o.field for o in options_of(type(self)) if o.field not in self.free_options]
        return {"decoder": self.name, **{field: _plain(getattr(self, field)) for field in options}}

    def rewritten(self, weights: Weights) -> bytes | None:
        """Return its own configuration file with other weights, where it has one."""
        return None

    def close(self) -> None:  # noqa: B027
        """Let go of whatever it holds."""


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


DECODERS: Registry[Decoder] = Registry(
    "decoder", "tunesmith.decoders", "tunesmith.decoders", Decoder
)


def check_decoded(decoded: CandidateSet, sentences: Sequence[Sentence]) -> None:
    """Raise an error if candidates are not those of some sentences."""
    if not isinstance(decoded, CandidateSet):
        raise DecoderError(
            f"the decoder gave a {type(decoded).__name__}; have it return a CandidateSet"
        )
    wanted = [sentence.id for sentence in sentences]
    if list(decoded.ids) != wanted:
        there = set(decoded.ids)
        lacking = [i for i in wanted if i not in there]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise DecoderError(
                f"the decoder gave no candidate for sentence {lacking[0]}{more}; look at its output"
            )
        known = set(wanted)
        strange = next((i for i in decoded.ids if i not in known), None)
        what = "in another order" if strange is None else f"of a sentence {strange} that is none"
        raise DecoderError(f"the decoder gave candidates {what}; look at its output")
    if not decoded.features.names:
        raise DecoderError("the decoder gave no features; have it write them with the candidates")
    for values in (decoded.features.dense, decoded.features.sparse.data):
        if not np.isfinite(values).all():
            raise DecoderError("the decoder gave a feature that is not finite; mend its model")
    for name, values in decoded.columns.items():
        if not np.isfinite(values).all():
            raise DecoderError(f"the decoder gave a score '{name}' that is not finite; mend it")


def common_features(decoded: CandidateSet) -> tuple[str, ...]:
    """Return the features that are not 0 on some candidate of every sentence."""
    begins = decoded.start[:-1]
    fires = np.logical_or.reduceat(decoded.features.dense != 0.0, begins, axis=1)
    return tuple(
        name
        for name, by_group in zip(decoded.features.dense_names, fires, strict=True)
        if by_group.all()
    )


def check_features(decoded: CandidateSet, common: Sequence[str], groups: int) -> None:
    """Raise an error, or warn, if features of an earlier decoding are no longer given.

    A sparse feature may come and go. One that fires in each of many sentences does not.

    Parameters
    ----------
    common
        The features that fired in every sentence: see :func:`common_features`.
    groups
        How many sentences these were.
    """
    names = set(decoded.features.names)
    lost = [name for name in common if name not in names]
    if not lost:
        return
    new = [name for name in decoded.features.names if name not in set(common)]
    also = f" and has '{new[0]}'" if new else ""
    text = f"the decoder no longer gives the feature '{lost[0]}'{also}"
    if groups >= MANY or len(lost) == len(common):
        raise DecoderError(f"{text}; give it the same model in all rounds")
    warnings.warn(text, stacklevel=2)


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
