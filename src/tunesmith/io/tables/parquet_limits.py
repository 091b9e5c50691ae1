"""How large a Parquet file would become, found before anything is decompressed.

What the footer says of sizes need not be true. The header of each page must be: a reader makes
room for just so many bytes as it names. Footer and headers are structs of Thrift's compact
protocol (FileMetaData and PageHeader in parquet.thrift of the Parquet format).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: Encodings (parquet.thrift) under which values take about the room that they have in the page.
PLAIN_VALUES = {0, 3, 4, 5, 6, 9}
DICTIONARY_VALUES = {2, 8}
#: A file ends in the length of its footer, in four bytes, and this.
MAGIC = b"PAR1"
FOOTER_END = 4 + len(MAGIC)
# Fields of the footer, of a row group, and of a column in it.
ROW_GROUPS, COLUMNS, CHUNK_METADATA = 4, 1, 3
PATH, TOTAL_COMPRESSED, DATA_OFFSET, DICTIONARY_OFFSET = 3, 7, 9, 11
#: Kinds of pages.
DICTIONARY_PAGE = 2
# Fields of a page header; in a data page's own header the encoding is the second or fourth.
KIND, UNCOMPRESSED, COMPRESSED = 1, 2, 3
DATA_PAGE, DATA_PAGE_V2 = 5, 8
ENCODING = {DATA_PAGE: 2, DATA_PAGE_V2: 4}
VALUES = 1
#: Structs within structs; those of the format have a few levels.
DEEPEST = 16
# Types of the compact protocol.
STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12


@dataclass
class Pages:
    """What the pages of one column say.

    Attributes
    ----------
    total, largest
        Uncompressed bytes of all pages, and of the largest.
    encodings
        Those of the values, by number.
    values
        How many there are, which in lists need not be as many as rows.
    """

    total: int = 0
    largest: int = 0
    encodings: set[int] = field(default_factory=set)
    values: int = 0

    @property
    def has_dictionary(self) -> bool:
        """Whether values are numbers of entries of a dictionary, which may be long."""
        return bool(self.encodings & DICTIONARY_VALUES)

    @property
    def is_plain(self) -> bool:
        """Whether values are as long as they are in the page, or in the dictionary."""
        return self.encodings <= PLAIN_VALUES | DICTIONARY_VALUES


def pages_of(data: memoryview) -> dict[str, Pages]:
    """Read the headers of all pages of a file, by the path of their column.

    Raises
    ------
    ValueError, LookupError
        If the file is damaged.
    """
    size = int.from_bytes(data[-FOOTER_END : -len(MAGIC)], "little")
    if len(data) < size + FOOTER_END + len(MAGIC):
        raise ValueError("the footer is cut off")
    footer = Struct(data, len(data) - FOOTER_END - size)
    pages: dict[str, Pages] = {}
    for group in footer.structs(ROW_GROUPS):
        for chunk in group.structs(COLUMNS):
            column = chunk.struct(CHUNK_METADATA)
            path = ".".join(column.texts(PATH))
            first, dictionary = column.number(DATA_OFFSET), column.number(DICTIONARY_OFFSET, 0)
            if 0 < dictionary < first:
                first = dictionary
            last = first + column.number(TOTAL_COMPRESSED)
            _walk(data, first, last, pages.setdefault(path, Pages()))
    return pages


def _walk(data: memoryview, at: int, end: int, pages: Pages) -> None:
    if not 0 <= at <= end <= len(data):
        raise ValueError("a column lies outside of the file")
    while at < end:
        header = Struct(data, at)
        size, expanded = header.number(COMPRESSED), header.number(UNCOMPRESSED)
        if size < 0 or expanded < 0:
            raise ValueError("a page has no size")
        pages.total += expanded
        pages.largest = max(pages.largest, expanded)
        if header.number(KIND) != DICTIONARY_PAGE:
            for key in ENCODING.keys() & header.fields.keys():
                page = header.struct(key)
                pages.encodings.add(page.number(ENCODING[key]))
                pages.values += abs(page.number(VALUES))
        at = header.end + size


class Struct:
    """A struct of the compact protocol.

    Attributes
    ----------
    fields
        Whole numbers, bytes, lists and structs by the number of their field.
    end
        The byte after it.
    """

    def __init__(self, data: memoryview, at: int, depth: int = 0) -> None:
        self.data = data
        self.end = at
        self.fields: dict[int, Any] = {}
        key = 0
        while (head := self._byte()) != STOP:
            step, kind = head >> 4, head & 15
            key = key + step if step else _signed(self._varint())
            # Truth values have no byte of their own here.
            whole = kind in (TRUE, FALSE)
            self.fields[key] = kind == TRUE if whole else self._value(kind, depth)

    def number(self, key: int, default: int | None = None) -> int:
        """Return a whole number."""
        value = self.fields.get(key, default)
        if not isinstance(value, int):
            raise ValueError("its metadata lack a number")
        return value

    def struct(self, key: int) -> Struct:
        """Return a struct within this one."""
        value = self.fields[key]
        if not isinstance(value, Struct):
            raise ValueError("its metadata lack a part")
        return value

    def texts(self, key: int) -> list[str]:
        """Return a list of texts."""
        texts = self.fields[key]
        if not isinstance(texts, list) or not all(isinstance(text, memoryview) for text in texts):
            raise ValueError("its metadata lack a list")
        return [bytes(text).decode() for text in texts]

    def structs(self, key: int) -> list[Struct]:
        """Return a list of structs."""
        structs = self.fields.get(key, [])
        if not isinstance(structs, list) or not all(
            isinstance(element, Struct) for element in structs
        ):
            raise ValueError("its metadata lack a list")
        return structs

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("its metadata are nested too deep")
        if BYTE < kind < DOUBLE:
            return _signed(self._varint())
        if kind == STRUCT:
            inner = Struct(self.data, self.end, depth + 1)
            self.end = inner.end
            return inner
        if kind in (LIST, SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind == MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            pair = (kinds >> 4, kinds & 15)
            return [[self._value(kind, depth + 1) for kind in pair] for _ in range(count)]
        return self._bytes(kind)

    def _bytes(self, kind: int) -> memoryview:
        if kind in (TRUE, FALSE, BYTE):
            length = 1
        elif kind == DOUBLE:
            length = 8
        elif kind == BINARY:
            length = self._varint()
        else:
            raise ValueError("its metadata are damaged")
        first = self.end
        self.end += length
        if self.end > len(self.data):
            raise ValueError("its metadata are cut off")
        return self.data[first : self.end]

    def _byte(self) -> int:
        value = self.data[self.end]
        self.end += 1
        return int(value)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("its metadata are damaged")


def _signed(number: int) -> int:
    return (number >> 1) ^ -(number & 1)
