"""Slow readers, written from the formats' descriptions, that others are held against.

They know nothing of the package. Where a description leaves something open they have no opinion
(:class:`Unclear`), and where it forbids something they say so (:class:`Forbidden`).
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from fuzz.files.plain_arpa import compare_model
from fuzz.files.plain_forests import FORESTS, derivations_of, derivations_read
from fuzz.files.plain_lists import LISTS, records_of
from fuzz.files.plain_text import Forbidden, Unclear
from fuzz.files.plain_weights import WEIGHTS
from fuzz.files.seeds import Seed

MAGIC: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
#: Sums of a derivation's features may be made in another order.
NEAR = 1e-9


def plain_bytes(data: bytes) -> bytes:
    """Return a file as it is when it is not compressed, without a byte-order mark."""
    for magic, decompress in MAGIC.items():
        if data.startswith(magic):
            try:
                data = decompress(data)
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise Unclear from error
            break
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        raise Unclear
    return data.removeprefix(b"\xef\xbb\xbf")


def compare(seed: Seed, files: Mapping[str, bytes], found: Any) -> str | None:
    """Return what differs between what was read and what the description says."""
    try:
        held = {name: plain_bytes(data) for name, data in files.items()}
        if seed.reader == "lists":
            return _compare_lists(seed, held, found)
        if seed.reader == "forests":
            return _compare_forests(seed, held, found)
        if seed.reader == "arpa":
            return compare_model(held[seed.first].decode(), found)
        if seed.reader == "weights":
            return _compare_weights(seed, held, found)
    except (Unclear, UnicodeDecodeError, RecursionError):
        pass
    except Forbidden as error:
        return f"what the description forbids is read: {error}"
    return None


def _compare_lists(seed: Seed, files: Mapping[str, bytes], found: Any) -> str | None:
    reader = LISTS.get(found.files[0].format)
    if reader is None:
        return None
    wanted = reader(seed, files)
    read = records_of(found)
    if {str(i) for i in wanted} != {str(i) for i in read}:
        return f"other groups are read than are there: {list(read)} and {list(wanted)}"
    for group, candidates in read.items():
        if wanted[group] != candidates:
            return f"other candidates are read than are there: {candidates} and {wanted[group]}"
    return None


def _compare_weights(seed: Seed, files: Mapping[str, bytes], found: Any) -> str | None:
    reader = WEIGHTS.get(found.format)
    if reader is None:
        return None
    text = files[seed.first].decode()
    if re.search(r"[^\S \t\n]", text) or "==" in text:
        raise Unclear
    wanted = reader(text)
    read = dict(found.weights)
    if wanted != read:
        return f"other weights are read than are there: {read} and {wanted}"
    return None


def _compare_forests(seed: Seed, files: Mapping[str, bytes], found: Any) -> str | None:
    name = found.files[0].format
    options = seed.options.get("format", "")
    if name not in FORESTS or ":" in options:
        return None
    forests = {str(i): one for i, one in FORESTS[name](files[seed.first].decode()).items()}
    if len(forests) != len(found.ids):
        return f"other forests are read than are there: {len(found.ids)} and {len(forests)}"
    if set(forests) != set(map(str, found.ids)):
        return f"forests of other ids are read than are there: {found.ids} and {list(forests)}"
    for index, i in enumerate(found.ids):
        wanted, read = derivations_of(forests[str(i)]), derivations_read(found, index)
        if len(wanted) != len(read):
            return f"other derivations are read than are there: {read} and {wanted}"
        for (words, values), (texts, numbers) in zip(wanted, read, strict=True):
            if words != texts or not _near(values, numbers):
                return f"a derivation differs: {texts} {numbers} and {words} {values}"
    return None


def _near(values: Mapping[str, float], numbers: Mapping[str, float]) -> bool:
    if any(re.search(r"\s", name) for name in values):
        return True
    for name in {*values, *numbers}:
        one, other = values.get(name, 0.0), numbers.get(name, 0.0)
        if not math.isclose(one, other, rel_tol=NEAR, abs_tol=1e-300 + NEAR * abs(one)):
            return False
    return True
