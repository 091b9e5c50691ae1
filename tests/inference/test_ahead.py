"""What is decoded ahead is used under the right weights alone."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tiers import examples
from tests.helpers.waiting import PATIENCE
from tunesmith.decoders.base import DecoderError
from tunesmith.inference.ahead import ENOUGH, DecodingAhead


def decode(group, weights):
    return group, weights.tolist()


@settings(max_examples=examples(200))
@given(st.permutations(range(12)), st.lists(st.booleans(), min_size=12, max_size=12))
def test_each_sentence_is_that_of_its_own_weights(order, changes):
    """Whether or not weights change between two, and although they change in place."""
    weights = np.zeros(2)
    with DecodingAhead(decode, order) as ahead:
        for group, is_changed in zip(order, changes, strict=True):
            assert ahead(group, weights) == (group, weights.tolist())
            weights[0] += is_changed


def test_where_weights_stay_all_but_the_first_are_there():
    with DecodingAhead(decode, range(30)) as ahead:
        for group in range(30):
            ahead(group, np.ones(1))
    assert ahead.taken == 29


def test_two_sentences_are_decoded_at_the_same_time():
    both = threading.Barrier(2)

    def wait_for_the_other(group, weights):
        both.wait(PATIENCE)
        return decode(group, weights)

    with DecodingAhead(wait_for_the_other, [3, 5]) as ahead:
        assert ahead(3, np.ones(1)) == (3, [1.0])
        assert ahead(5, np.ones(1)) == (5, [1.0])


def test_where_weights_always_change_nothing_is_decoded_in_vain_for_long():
    decoded = []

    def note(group, weights):
        decoded.append(group)
        return decode(group, weights)

    with DecodingAhead(note, range(200)) as ahead:
        for group in range(200):
            assert ahead(group, np.array([float(group)])) == (group, [float(group)])
    assert ahead.taken == 0
    # The share of those that stay falls from 1 by a tenth with each sentence.
    assert len(decoded) <= 200 + 1 + np.ceil(np.log(ENOUGH) / np.log(0.9))


def test_an_error_is_that_of_the_sentence_it_is_about():
    def fail(group, weights):
        if group == 1 and weights[0] == 0.0:
            raise DecoderError("sentence 1: no rule")
        return decode(group, weights)

    with DecodingAhead(fail, range(3)) as ahead:
        assert ahead(0, np.zeros(1)) == (0, [0.0])
        assert ahead(1, np.ones(1)) == (1, [1.0])  # what failed was not needed
    with DecodingAhead(fail, range(3)) as ahead:
        ahead(0, np.zeros(1))
        with pytest.raises(DecoderError, match=r"^sentence 1: no rule$"):
            ahead(1, np.zeros(1))
