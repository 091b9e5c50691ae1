"""The suite for decoders: ours pass, deliberately broken ones are caught."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from tests.helpers.builders import candidate_set
from tests.helpers.conformance import caught, failing
from tunesmith.data.features import Features
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Decoder, Sentence, with_ids
from tunesmith.decoders.pool import PoolDecoder
from tunesmith.registry import option
from tunesmith.testing import ConformanceError, NotApplicable, check_decoder, decoder_checks

SENTENCES = [Sentence(3, "a bc def"), Sentence(1, ""), Sentence(2, "gh ijk l m")]
WEIGHTS = {"f0": 1.0, "f1": -0.7}


@dataclass(frozen=True)
class Subsets(Decoder):
    """Any of the words may be left out; features are words and letters."""

    name = "subsets"
    nbest_size: int = option(4, "candidates of a sentence")
    jobs: int = option(1, "nothing")

    def decode(self, weights, sentences):
        return with_ids(self.made(weights, sentences), [s.id for s in sentences])

    def made(self, weights, sentences):
        lists = [self.ranked(weights, sentence) for sentence in sentences]
        texts = [text for one in lists for text, _ in one]
        return candidate_set([[v for _, v in one] for one in lists], texts=texts)

    def ranked(self, weights, sentence):
        words = sentence.text.split()
        found = []
        for kept in itertools.product((0, 1), repeat=len(words)):
            text = " ".join(itertools.compress(words, kept))
            found.append((text, [float(sum(kept)), float(len(text))]))
        return sorted(found, key=lambda one: -self.score(weights, one[1]))[: self.nbest_size]

    def score(self, weights, vector):
        return sum(weights.get(f"f{d}", 0.0) * value for d, value in enumerate(vector))


def checks(decoder, **options):
    return decoder_checks(decoder, SENTENCES, WEIGHTS, **options)


def test_the_decoder_that_the_broken_ones_derive_from_conforms():
    assert failing(checks(Subsets)) == {}
    assert failing(checks(Copied)) == {}
    check_decoder(Subsets(nbest_size=1), ["a b", "c"], Weights.from_dict(WEIGHTS))


def test_the_pool_conforms():
    rng = np.random.default_rng(1)
    pool = candidate_set(rng.normal(size=(4, 6, 2)).tolist(), [1], ["a"] * 24)
    decoder = PoolDecoder.of(pool, nbest_size=3)
    assert failing(decoder_checks(decoder, decoder.sentences(), WEIGHTS)) == {}


class BadName(Subsets):
    """Has a name that cannot be written with options."""

    name = "sub:sets"


class SortsIds(Subsets):
    """Gives groups in the order of their ids."""

    def decode(self, weights, sentences):
        return super().decode(weights, sorted(sentences, key=lambda s: s.id))


class Numbers(Subsets):
    """Gives groups the numbers of their places."""

    def decode(self, weights, sentences):
        return self.made(weights, sentences)


class ReturnsAList(Subsets):
    """Gives texts alone."""

    def decode(self, weights, sentences):
        return [[text for text, _ in self.ranked(weights, s)] for s in sentences]


class Infinite(Subsets):
    """Takes the logarithm of the length."""

    def decode(self, weights, sentences):
        found = super().decode(weights, sentences)
        dense = found.features.dense.copy()
        with np.errstate(divide="ignore"):
            dense[1] = np.log(dense[1])
        return replace(found, features=replace(found.features, dense=dense))


class NoFeatures(Subsets):
    """Keeps its features to itself."""

    def decode(self, weights, sentences):
        found = super().decode(weights, sentences)
        none = np.zeros((0, len(found)))
        return replace(found, features=Features((), none, (), found.features.sparse))


class OtherNames(Subsets):
    """Calls its features otherwise."""

    def decode(self, weights, sentences):
        found = super().decode(weights, sentences)
        return replace(found, features=replace(found.features, dense_names=("words", "letters")))


class TooMany(Subsets):
    """Gives twice as many as wanted."""

    def ranked(self, weights, sentence):
        return (
            super(TooMany, replace(self, nbest_size=2 * self.nbest_size)).ranked(weights, sentence)
            if self.nbest_size < 8
            else super().ranked(weights, sentence)
        )


class WorstFirst(Subsets):
    """Sorts the wrong way."""

    def score(self, weights, vector):
        return -super().score(weights, vector)


class Random(Subsets):
    """Leaves out candidates at random."""

    def ranked(self, weights, sentence):
        first, *others = super().ranked(weights, sentence)
        return [first, *(one for one in others if random.random() < 0.5)]


class Remembers(Subsets):
    """Decodes with the weights of the call before."""

    held: list[Weights] = []  # noqa: RUF012  (the fault)

    def decode(self, weights, sentences):
        self.held.append(weights)
        return super().decode(self.held[max(0, len(self.held) - 2)], sentences)


class Batches(Subsets):
    """Gives shorter lists where there are many sentences."""

    def made(self, weights, sentences):
        size = max(1, self.nbest_size - len(sentences))
        return super(Batches, replace(self, nbest_size=size)).made(weights, sentences)


class JobsMatter(Subsets):
    """Gives shorter lists in more jobs."""

    def ranked(self, weights, sentence):
        return super().ranked(weights, sentence)[: self.nbest_size - self.jobs]


class NoJson(Subsets):
    """Has a set in its configuration."""

    def configuration(self):
        return {"options": {1, 2}}


class Tuples(Subsets):
    """Has a tuple in its configuration."""

    def configuration(self):
        return {"options": (1, 2)}


class Clock(Subsets):
    """Has another configuration each time."""

    calls = itertools.count()

    def configuration(self):
        return {"number": next(self.calls)}


class StartsElsewhere(Subsets):
    """Starts with weights of another model."""

    def start(self):
        return Weights.from_dict({"lm": 1.0})


class KnowsTwice(Subsets):
    """Knows sentences with one id."""

    def sentences(self):
        return [Sentence(0, "a"), Sentence(0, "b")]


class Copied(Subsets):
    """Can be sent to other processes."""

    is_portable = True


class NoCopy(Copied):
    """Says so and cannot."""

    def __getstate__(self):
        return lambda: None


class OtherCopy(Copied):
    """Forgets its options on the way."""

    def __getstate__(self):
        return {"nbest_size": 2, "jobs": 1}


class OtherParts(Copied):
    """Forgets its options where it is put together again."""

    def parted(self):
        return partial(OtherParts, 2), 1  # candidates, and a job


BROKEN = [
    (BadName, "has_a_name", set(), "letters, digits and hyphens"),
    (SortsIds, "groups_are_the_sentences", set(), "come back as [1, 2, 3]"),
    (Infinite, "features_are_finite", {"first_is_the_best"}, "'f1' is not finite"),
    (OtherNames, "features_are_weighted", set(), "by the names of their weights"),
    (TooMany, "lists_are_short", set(), "8 candidates and nbest_size is 4"),
    (WorstFirst, "first_is_the_best", set(), "best_first=False"),
    (
        Random,
        "same_weights_same_candidates",
        {"earlier_calls_do_not_matter", "sentences_do_not_matter_to_each_other"}
        | {"jobs_change_nothing"},
        "global random numbers",
    ),
    (Batches, "sentences_do_not_matter_to_each_other", set(), "other candidates where"),
    (JobsMatter, "jobs_change_nothing", set(), "one job and two"),
    (NoCopy, "copies_decode_alike", set(), "leave out in __getstate__ what cannot be"),
    (OtherCopy, "copies_decode_alike", set(), "a copy of it gives other candidates"),
    (OtherParts, "copies_decode_alike", set(), "what parted() makes gives other candidates"),
    (NoJson, "configuration_is_json", set(), "not JSON"),
    (Tuples, "configuration_is_json", set(), "lists instead of tuples"),
    (Clock, "configuration_is_json", set(), "the second time"),
    (StartsElsewhere, "start_is_for_its_features", set(), "a weight of 'lm'"),
    (KnowsTwice, "own_sentences_are_decoded", set(), "have one id"),
]


@pytest.mark.parametrize(
    ("decoder", "first", "others", "said"), BROKEN, ids=[case[0].__name__ for case in BROKEN]
)
def test_broken_decoders_are_caught(decoder, first, others, said):
    caught(checks(decoder), first, others, said)


@pytest.mark.parametrize(
    ("decoder", "check", "said"),
    [
        (ReturnsAList, "groups_are_the_sentences", "decode returns list"),
        (Numbers, "groups_are_the_sentences", "come back as [0, 1, 2]"),
        (NoFeatures, "features_are_finite", "have no features"),
        (Remembers, "earlier_calls_do_not_matter", "set all weights in each call"),
    ],
)
def test_faults_that_break_several_rules(decoder, check, said):
    assert said in failing(checks(decoder))[check]


def test_an_undocumented_option_is_caught():
    made = dataclass(frozen=True)(
        type("Undocumented", (Subsets,), {"__annotations__": {"x": int}, "x": 3, "__doc__": "X."})
    )
    assert "option 'x' has no help text" in failing(checks(made))["options_are_documented"]


def test_a_decoder_that_prunes_promises_less():
    assert failing(checks(WorstFirst, best_first=False)) == {}
    found = {check.name: check for check in checks(WorstFirst, best_first=False)}
    with pytest.raises(NotApplicable, match="nothing is promised"):
        found["first_is_the_best"]()


def test_rules_that_say_nothing_are_passed_over():
    found = {check.name: check for check in checks(Subsets)}
    nothing = ("copies_decode_alike", "start_is_for_its_features", "own_sentences_are_decoded")
    for name in nothing:
        with pytest.raises(NotApplicable):
            found[name]()


def test_the_whole_suite_reports_the_first_that_fails():
    with pytest.raises(ConformanceError, match="subsets fails first_is_the_best"):
        check_decoder(WorstFirst, SENTENCES, WEIGHTS)
    with pytest.raises(ValueError, match="fewer than two sentences"):
        check_decoder(Subsets, ["a"], WEIGHTS)
