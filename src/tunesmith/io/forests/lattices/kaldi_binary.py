"""Binary archives of Kaldi's lattices: a key, a space, and an FST as OpenFst writes it.

Both types are read: ``lattice4``, whose arcs have a transition id and a word, and
``compactlattice44``, whose weights have the transition ids. A file may also be a single FST.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tunesmith.errors import FormatError

MAGIC = b"\xd6\xfd\xb2\x7e"
_HEAD = re.compile(rb"(?:\S+ )?" + MAGIC)
#: Types of arcs, and whether they are compact.
KINDS = {b"lattice4": False, b"compactlattice44": True}
LONGEST_KEY = 1 << 12

#: Graph cost and acoustic cost.
Costs = tuple[float, float]


def is_binary(head: bytes) -> bool:
    """Tell whether a file begins as a binary archive of lattices."""
    return _HEAD.match(head) is not None


@dataclass
class BinaryLattice:
    """One lattice of an archive.

    Attributes
    ----------
    id
        The utterance; the empty text of a file without keys.
    start
        The first state.
    arcs
        Source, target, word and costs of each arc.
    finals
        Costs of each final state.
    """

    id: str
    start: int
    arcs: list[tuple[int, int, int, Costs]]
    finals: dict[int, Costs]


def binary_lattices(data: memoryview, name: str) -> Iterator[BinaryLattice]:
    """Yield the lattices of an archive."""
    at = 0
    while at < len(data):
        reader = _Reader(data, at, name)
        try:
            yield reader.lattice()
        except (struct.error, IndexError):
            problem = f"the lattice of '{reader.id}' is cut off"
            raise FormatError(name, None, problem, "copy the file again") from None
        at = reader.at


class _Reader:
    """Reads one entry of an archive."""

    def __init__(self, data: memoryview, at: int, name: str) -> None:
        self.data = data
        self.at = at
        self.name = name
        self.id = ""
        self.is_compact = False

    def lattice(self) -> BinaryLattice:
        """Return the lattice."""
        if self.data[self.at : self.at + 4] != MAGIC:
            self.id = self._key()
        if self.data[self.at : self.at + 4] != MAGIC:
            raise self._error("there is no lattice where one should be")
        self.at += 4
        start, states = self._header()
        if not 0 <= start < states:
            raise self._error("the lattice is empty")
        arcs, finals = [], {}
        for state in range(states):
            final = self._costs()
            if not any(map(math.isinf, final)):
                finals[state] = final
            (count,) = self._take("<q")
            # No arc is shorter, so that a damaged number ends soon.
            if not 0 <= count <= len(self.data) // 20:
                raise self._error(f"state {state} has {count} arcs")
            for _ in range(count):
                _, word = self._take("<ii")
                costs = self._costs()
                (target,) = self._take("<i")
                if not 0 <= target < states:
                    raise self._error(f"an arc leads to state {target}, of {states}")
                arcs.append((state, target, word, costs))
        if not finals:
            raise self._error("the lattice has no final state")
        return BinaryLattice(self.id, start, arcs, finals)

    def _header(self) -> tuple[int, int]:
        """Return the first state and the number of states."""
        kind, arcs = self._text(), self._text()
        if kind != b"vector" or arcs not in KINDS:
            shown = f"{kind.decode('utf-8', 'replace')}, {arcs.decode('utf-8', 'replace')}"
            raise self._error(f"it is an FST of another type ({shown})")
        self.is_compact = KINDS[arcs]
        _, flags, _, start, states, _ = self._take("<iiQqqq")
        if flags & 3:
            raise self._error("it has tables of symbols, which lattices have not")
        if states > len(self.data) // 16:
            raise self._error(f"it has {states} states, for which the file is too small")
        return start, states

    def _costs(self) -> Costs:
        graph, acoustic = self._take("<ff")
        if self.is_compact:
            (length,) = self._take("<i")
            if not 0 <= length <= (len(self.data) - self.at) // 4:
                raise self._error(f"a weight has {length} transition ids")
            self.at += 4 * length
        return graph, acoustic

    def _key(self) -> str:
        beginning = bytes(self.data[self.at : self.at + LONGEST_KEY])
        key, space, _ = beginning.partition(b" ")
        try:
            self.id = key.decode()
        except UnicodeDecodeError:
            self.id = ""
        if not space or not self.id or self.id.split() != [self.id]:
            raise self._error("there is no key of an utterance where one should be")
        self.at += len(key) + 1
        return self.id

    def _text(self) -> bytes:
        (length,) = self._take("<i")
        if not 0 <= length <= 64:
            raise self._error("the FST has no type")
        self.at += length
        return bytes(self.data[self.at - length : self.at])

    def _take(self, form: str) -> Any:
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def _error(self, problem: str) -> FormatError:
        where = f"utterance '{self.id}': " if self.id else ""
        remedy = "write it again with lattice-copy"
        return FormatError(self.name, None, f"{where}{problem}, at byte {self.at}", remedy)
