"""What the formats of lattices share, and how they are told apart."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.io.test_forest_htk import DECODED
from tests.io.test_forest_joshua import DUMPED
from tests.io.test_forest_kaldi import DOCUMENTED
from tests.io.test_forest_plf import MANUAL
from tunesmith.io.forest_formats import FOREST_FORMATS
from tunesmith.io.forest_lattice import id_of, number_of
from tunesmith.io.numbers import parse_slowly

SAMPLES = {
    "plf": MANUAL,
    "kaldi-lattice": DOCUMENTED,
    "htk": DECODED,
    "joshua-hypergraph": DUMPED,
    "moses-hypergraph": "# target ||| features ||| source-covered\n1 1\n1\na ||| b=1 ||| 1\n",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_is_recognised_as_one_format(name):
    head = SAMPLES[name].encode()
    assert [n for n in FOREST_FORMATS.names() if FOREST_FORMATS.get(n).recognises(head)] == [name]


@given(st.text("0123456789+-.eE_ \n\tnaif\N{ARABIC-INDIC DIGIT FIVE}") | st.floats().map(repr))
def test_numbers_are_those_of_all_other_files(text):
    value, wanted = number_of(text), parse_slowly(text.encode())
    assert value == wanted or (math.isnan(value) and math.isnan(wanted))
    assert math.copysign(1.0, value) == math.copysign(1.0, wanted) or math.isnan(value)


def test_an_id_is_a_number_only_if_it_is_written_as_one():
    assert [id_of(text) for text in ["0", "17", "017", "-1", "a-1", "²", "9" * 19]] == [
        *(0, 17, "017", "-1", "a-1", "²", "9" * 19)
    ]
