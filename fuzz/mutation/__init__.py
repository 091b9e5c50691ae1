"""Files made wrong: by their structure, and byte by byte."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable

from fuzz.mutation import nodes, raw, text

Change = Callable[[random.Random, bytes], bytes]

#: How many changes are made, drawn from these.
CHANGES = (1, 1, 1, 1, 1, 1, 2, 2, 3, 5)


def mutated(rng: random.Random, data: bytes, is_text: bool) -> bytes:
    """Return a file with some changes; now and then it is compressed, too."""
    if rng.random() < 0.01:
        return data
    for _ in range(rng.choice(CHANGES)):
        data = _change(rng, data, is_text)(rng, data)
    if rng.random() < 0.02:
        data = compressed(rng, data)
        if rng.random() < 0.5:
            data = raw.changed(rng, data)
    return data


def _change(rng: random.Random, data: bytes, is_text: bool) -> Change:
    if not is_text:
        return raw.changed
    drawn = rng.random()
    if drawn < 0.15:
        return raw.changed
    if drawn < 0.6 and data.lstrip()[:1] in (b"{", b"["):
        return nodes.changed
    return text.changed


def compressed(rng: random.Random, data: bytes) -> bytes:
    """Return the same, compressed in one way or another."""
    ways: list[Callable[[bytes], bytes]] = [
        lambda plain: gzip.compress(plain, 1, mtime=0),
        lambda plain: bz2.compress(plain, 1),
        lambda plain: lzma.compress(plain, preset=0),
        _zstandard,
    ]
    way = rng.choice(ways)
    cut = rng.randrange(len(data) + 1) if rng.random() < 0.2 else None
    # Several members are read one after the other.
    return way(data) if cut is None else way(data[:cut]) + way(data[cut:])


def _zstandard(plain: bytes) -> bytes:
    import zstandard

    return bytes(zstandard.ZstdCompressor(level=1).compress(plain))
