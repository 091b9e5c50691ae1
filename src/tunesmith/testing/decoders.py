"""Conformance of decoders."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DECODERS, Decoder, Sentence
from tunesmith.io.values import feature_values
from tunesmith.registry import Registry
from tunesmith.testing.checks import (
    Broken,
    Check,
    NotApplicable,
    checks_of,
    demand,
    demand_no_global_randomness,
    instance_of,
    name_of,
    run_all,
)
from tunesmith.testing.options import has_a_name, options_are_documented

#: Decoders write scores with few digits: the first may be behind by this share of the largest.
CLOSE = 1e-4

#: A candidate by its text and its features that are not 0, and the candidates of each sentence.
Candidate = tuple[str, tuple[tuple[str, float], ...]]
Lists = dict[GroupId, list[Candidate]]


def check_decoder(
    decoder: Decoder | type[Decoder],
    sentences: Iterable[Sentence | str],
    weights: Mapping[str, float],
    best_first: bool = True,
) -> None:
    """Raise a ConformanceError if a decoder breaks a rule.

    Parameters
    ----------
    decoder
        A decoder with its options, or a class, whose defaults are taken.
    sentences
        At least two that it can decode, as texts or with ids. They are decoded about ten times.
    weights
        Weights to decode with.
    best_first
        Whether the first candidate has the highest score of its list. Set it to False if the
        decoder prunes or has costs beside its features.
    """
    run_all(decoder_checks(decoder, sentences, weights, best_first))


def decoder_checks(
    decoder: Decoder | type[Decoder],
    sentences: Iterable[Sentence | str],
    weights: Mapping[str, float],
    best_first: bool = True,
) -> list[Check[Any]]:
    """Return the checks of a decoder, for ``pytest.mark.parametrize``.

    ``decoder``, ``sentences``, ``weights`` and ``best_first`` are as for :func:`check_decoder`.
    """
    instance = instance_of(decoder)
    requested = [Sentence(k, s) if isinstance(s, str) else s for k, s in enumerate(sentences)]
    if len(requested) < 2:
        raise ValueError("there are fewer than two sentences; give more")
    return checks_of(
        RULES,
        name_of(instance),
        _Probe(instance, requested, Weights.from_dict(weights), best_first),
    )


@dataclass
class _Probe:
    """A decoder under test, with its input."""

    registry: ClassVar[Registry[Any]] = DECODERS

    decoder: Decoder
    sentences: list[Sentence]
    weights: Weights
    best_first: bool

    @property
    def plugin(self) -> Decoder:
        """What is checked."""
        return self.decoder

    @cached_property
    def decoded(self) -> CandidateSet:
        """The candidates of the first call."""
        return self.decoder.decode(self.weights, list(self.sentences))

    @property
    def others(self) -> Weights:
        """Other weights that it can decode with: about as large, in other ratios."""
        factors = np.where(np.arange(len(self.weights)) % 2, 0.5, 1.25)
        return Weights(self.weights.names, self.weights.vector * factors)

    def lists(
        self,
        weights: Weights | None = None,
        sentences: Sequence[Sentence] | None = None,
        decoder: Decoder | None = None,
    ) -> Lists:
        """Decode, and return the candidates of each sentence."""
        requested = self.sentences if sentences is None else sentences
        used = self.decoder if decoder is None else decoder
        return lists_of(used.decode(self.weights if weights is None else weights, list(requested)))


def lists_of(decoded: CandidateSet) -> Lists:
    """Return the candidates of each sentence, independent of how a set stores them."""
    values = feature_values(decoded)
    names = sorted(values)
    lists: Lists = {}
    for group, name in enumerate(decoded.ids):
        lists[name] = [
            (decoded.text(i), tuple((n, float(values[n][i])) for n in names if values[n][i]))
            for i in range(int(decoded.start[group]), int(decoded.start[group + 1]))
        ]
    return lists


def groups_are_the_sentences(probe: _Probe) -> None:
    """Return a group for every sentence, with its id, in the order of the sentences."""
    # A second time the other way round, so that order by id is told from order as given.
    for requested in (probe.sentences, probe.sentences[::-1]):
        decoded = probe.decoder.decode(probe.weights, list(requested))
        demand(
            isinstance(decoded, CandidateSet),
            f"decode returns {type(decoded).__name__}",
            "return a CandidateSet, as Collector.finish makes one",
        )
        ids, expected = list(decoded.ids), [sentence.id for sentence in requested]
        demand(
            ids == expected,
            f"the sentences {expected[:5]} come back as {ids[:5]}",
            "give each a group in its place: number them from 0, and use with_ids at the end",
        )


def features_are_finite(probe: _Probe) -> None:
    """Give features to the candidates, all of them finite."""
    features = probe.decoded.features
    demand(features.names, "the candidates have no features", "give them what is weighted")
    for name, values in feature_values(probe.decoded).items():
        demand(
            np.isfinite(values).all(),
            f"the feature '{name}' is not finite",
            "keep features finite: take a large number for a logarithm of 0",
        )


def features_are_weighted(probe: _Probe) -> None:
    """Have features that the weights are for."""
    unused = [name for name in probe.weights if name not in set(probe.decoded.features.names)]
    demand(
        len(unused) < len(probe.weights),
        f"there are weights for {', '.join(probe.weights.names[:3])} and features "
        f"{', '.join(probe.decoded.features.names[:3])}",
        "call features by the names of their weights",
    )


def lists_are_short(probe: _Probe) -> None:
    """Return no more candidates of a sentence than nbest_size, if it has that option."""
    most = getattr(probe.decoder, "nbest_size", None)
    if most is None:
        raise NotApplicable("it has no nbest_size")
    sizes = np.diff(probe.decoded.start)
    demand(
        sizes.max() <= most,
        f"a sentence has {sizes.max()} candidates and nbest_size is {most}",
        "return the best nbest_size",
    )


def first_is_the_best(probe: _Probe) -> None:
    """Put the candidate with the highest score first, unless best_first is False."""
    if not probe.best_first:
        raise NotApplicable("best_first is False: nothing is promised")
    for weights in (probe.weights, probe.others):
        decoded = probe.decoder.decode(weights, list(probe.sentences))
        scores = decoded.features.dot(weights.aligned(decoded.features.names))
        for name, lo, hi in zip(decoded.ids, decoded.start[:-1], decoded.start[1:], strict=True):
            group = scores[lo:hi]
            slack = CLOSE * max(1.0, float(np.abs(group).max()))
            demand(
                group[0] >= group.max() - slack,
                f"the first candidate of sentence {name} has the score {group[0]:.6g} and "
                f"candidate {int(group.argmax())} has {group.max():.6g}",
                "sort by the weighted sum of features, or pass best_first=False if that is meant",
            )


def same_weights_same_candidates(probe: _Probe) -> None:
    """Return the same candidates for the same weights, whatever the global random numbers."""
    demand_no_global_randomness(probe.lists, lambda first, second: first == second)


def earlier_calls_do_not_matter(probe: _Probe) -> None:
    """Return the same candidates after a call with other weights as before it."""
    before = probe.lists()
    probe.lists(probe.others)
    demand(
        probe.lists() == before,
        "after a call with other weights the candidates are different",
        "set all weights in each call, and keep nothing between calls",
    )


def sentences_do_not_matter_to_each_other(probe: _Probe) -> None:
    """Return the same candidates of a sentence whichever others are decoded with it."""
    whole = probe.lists()
    for subset in (probe.sentences[1:], probe.sentences[:1], probe.sentences[::-1]):
        lists = probe.lists(sentences=subset)
        different = next((s.id for s in subset if lists.get(s.id) != whole.get(s.id)), None)
        demand(
            different is None,
            f"sentence {different} has other candidates where other sentences are decoded with it",
            "decode each sentence by itself",
        )


def jobs_change_nothing(probe: _Probe) -> None:
    """Return the same candidates in one job and in two, if it has that option."""
    if not hasattr(probe.decoder, "jobs"):
        raise NotApplicable("it has no jobs")
    with_one, with_two = (
        probe.lists(decoder=dataclasses.replace(probe.decoder, jobs=jobs))  # type: ignore[type-var]
        for jobs in (1, 2)
    )
    demand(
        with_one == with_two, "candidates differ between one job and two", "join the jobs in order"
    )


def copies_decode_alike(probe: _Probe) -> None:
    """Be pickled and decode as before where is_portable says so."""
    if not probe.decoder.is_portable:
        raise NotApplicable("is_portable is False: it is not sent to other processes")
    probe.decoder.decode(probe.weights, list(probe.sentences[:1]))  # it may have state then
    try:
        copy = pickle.loads(pickle.dumps(probe.decoder))
        make, large = pickle.loads(pickle.dumps(probe.decoder.parted()))
        rebuilt = make(large)
    except Exception as error:  # noqa: BLE001  (whatever its class raises)
        raise Broken(
            f"it cannot be pickled ({type(error).__name__}: {error}); leave out in __getstate__ "
            "what cannot be, or set is_portable to False"
        ) from None
    for decoder, description in ((copy, "a copy of it"), (rebuilt, "what parted() makes")):
        demand(
            probe.lists(decoder=decoder) == probe.lists(),
            f"{description} gives other candidates",
            "let a copy have everything that the candidates depend on",
        )


def configuration_is_json(probe: _Probe) -> None:
    """Return a configuration that is JSON, the same each time."""
    configuration = probe.decoder.configuration()
    try:
        text = json.dumps(configuration, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Broken(
            f"the configuration is not JSON ({error}); put finite numbers and texts into it"
        ) from None
    demand(
        isinstance(configuration, dict) and json.loads(text) == configuration,
        "the configuration is different when it is read again",
        "return a dictionary with texts as keys, and lists instead of tuples",
    )
    demand(
        probe.decoder.configuration() == configuration,
        "the configuration is different the second time",
        "put into it what the candidates depend on, and nothing else",
    )


def start_is_for_its_features(probe: _Probe) -> None:
    """Return from start None, or weights whose names its features have."""
    start = probe.decoder.start()
    if start is None:
        raise NotApplicable("it has no weights of its own")
    demand(
        isinstance(start, Weights),
        f"start returns {type(start).__name__}",
        "return Weights, or None",
    )
    names = set(probe.decoded.features.names)
    unknown = [name for name in start if name not in names]
    demand(
        len(unknown) < len(start),
        f"it starts with a weight of '{(unknown or [''])[0]}' and has no such feature",
        "give weights the names of the features",
    )


def own_sentences_are_decoded(probe: _Probe) -> None:
    """Return from sentences None, or sentences with ids of their own that it can decode."""
    known = probe.decoder.sentences()
    if known is None:
        raise NotApplicable("it knows no sentences by itself")
    ids = [sentence.id for sentence in known]
    demand(len(set(ids)) == len(ids), "two of its sentences have one id", "give each its own")
    requested = known[:2]
    lists = probe.lists(sentences=requested)
    demand(
        list(lists) == [sentence.id for sentence in requested],
        f"its sentences {[s.id for s in requested]} come back as {list(lists)}",
        "decode what sentences() returns",
    )


#: From the simple to the involved: the first that fails is the one to fix first.
RULES = (
    has_a_name,
    options_are_documented,
    groups_are_the_sentences,
    features_are_finite,
    features_are_weighted,
    lists_are_short,
    first_is_the_best,
    same_weights_same_candidates,
    earlier_calls_do_not_matter,
    sentences_do_not_matter_to_each_other,
    jobs_change_nothing,
    copies_decode_alike,
    configuration_is_json,
    start_is_for_its_features,
    own_sentences_are_decoded,
)
