from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import FormatError
from tunesmith.io.text.utf8 import check_utf8

pieces = st.one_of(
    st.binary(max_size=6),
    st.text(max_size=20).map(lambda t: t.encode("utf-8", "surrogatepass")),
    st.sampled_from([b"\n", b"x" * 70, b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"]),
)


@given(st.lists(pieces, max_size=12).map(b"".join))
def test_refuses_what_python_refuses_at_the_same_line(data):
    try:
        data.decode()
        bad = data.find(b"\0")
    except UnicodeDecodeError as error:
        nul = data.find(b"\0")
        bad = error.start if nul < 0 else min(error.start, nul)
    if bad < 0:
        check_utf8(data, "f", 1)
    else:
        with pytest.raises(FormatError) as caught:
            check_utf8(data, "f", 1)
        assert caught.value.line == 1 + data.count(b"\n", 0, bad)
        said = "a NUL byte; is it" if data[bad] == 0 else f"byte 0x{data[bad]:02x} is not UTF-8; "
        assert said in str(caught.value)
