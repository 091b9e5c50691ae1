"""Grammars as text, of Hiero, cdec and Joshua: a rule a line, plain or compressed."""

from __future__ import annotations

import bisect
import itertools
import math
import os
import re
from collections.abc import Sequence
from functools import partial

import numpy as np

from tunesmith.arrays import Flags, Ids, Ints
from tunesmith.decoders.base import DecoderError
from tunesmith.errors import FormatError, shortened
from tunesmith.hiero.conventions import CDEC, Conventions
from tunesmith.hiero.grammar.grammar import FROM_START, Grammar, joined
from tunesmith.hiero.grammar.rule_checks import FAULTS, MANY_NONTERMINALS, MOST_NONTERMINALS
from tunesmith.hiero.grammar.rule_lines import (
    BAD_INDEX,
    BAD_POINT,
    CATEGORIES_FULL,
    DONE,
    HI,
    INDEX_TWICE,
    LINE,
    LINKS,
    LO,
    MISSING_FIELD,
    NAMES_FULL,
    NO_HEAD,
    NO_INDEX,
    NO_NAME,
    NO_VALUE,
    NUMBER,
    OTHER_CATEGORY,
    PAIRS,
    RULES,
    SLOW,
    SLOW_FULL,
    SOURCES,
    TARGETS,
    TOO_MANY,
    UNLINKED,
    WORDS_FULL,
    RuleBuffers,
    Table,
    parse_rules,
)
from tunesmith.hiero.grammar.rule_trie import RuleRows, build_trie, some_rows
from tunesmith.hiero.vocabulary import Vocabulary
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.text.tokens import Interner
from tunesmith.io.text.utf8 import check_utf8

#: Numbers for the slow way before the kernel hands them over.
SLOW_ROOM = 1 << 12

_NAME, _VALUE = r"""[^\s="'<>]+""", r"""(?:"[^"]*"|'[^']*'|[^\s"'<>]+)"""
_ATTRIBUTE = re.compile(rf"({_NAME})\s*=\s*({_VALUE})")
_SEGMENT = re.compile(rf"\s*<seg((?:\s+{_NAME}\s*=\s*{_VALUE})*)\s*>(.*)</seg>\s*", re.DOTALL)
#: What is meant to be a segment.
_SEGMENT_START = re.compile(r"\s*<seg[\s>]")

#: Problem and remedy of what the kernel stumbles over; {} is the token.
_FAULTS = {
    MISSING_FIELD: (
        "there are fewer than three fields",
        "write [X] ||| source side ||| target side, with white space around |||",
    ),
    NO_HEAD: ("the left side '{}' is no category", "write it as [X], with ||| after it"),
    TOO_MANY: FAULTS[MANY_NONTERMINALS],
    BAD_INDEX: (
        "the index of '{}' cannot be",
        f"count nonterminals from 1 on, to {MOST_NONTERMINALS} at most",
    ),
    INDEX_TWICE: ("the index of '{}' is on the source side twice", "give each index once"),
    NO_INDEX: (
        "the nonterminal '{}' of the target side has no index",
        "write [1] for the first nonterminal of the source side; a word cannot look so",
    ),
    UNLINKED: (
        "the nonterminal '{}' is on the target side only",
        "link it to one of the source side that has its index",
    ),
    OTHER_CATEGORY: (
        "the nonterminal '{}' has another category on the source side",
        "give both the same",
    ),
    NO_NAME: ("the feature '{}' has no name", "write name=value"),
    NO_VALUE: ("the feature '{}' has no value", "write name=value, without white space"),
    NUMBER: (
        "the nonterminal '{}' of the source side has a number for its category",
        "write [X,1], with the category; a word cannot look so",
    ),
    BAD_POINT: ("'{}' is no alignment point", "write two places from 0 on, as in 0-1"),
}


def read_grammar(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    limit: int = CDEC.span,
    conventions: Conventions = CDEC,
    owner: str = "pt",
    may_be_empty: bool = False,
    whole: str | None = None,
) -> Grammar:
    """Read a grammar from one file or several.

    Parameters
    ----------
    paths
        Files; ``-`` is standard input.
    limit
        How many words of the source a rule may cover; -1 for rules that cover any number from
        the sentence's first word on.
    conventions
        What values without names are called, and whether their sign changes.
    owner
        What Joshua calls the grammar in those names.
    may_be_empty
        Whether there may be no rule at all, as in the grammar of a single sentence.
    whole
        Rules that make this category, and begin with it, are glue: they have the limit -1.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    reader = _GrammarReader(conventions)
    files = []
    for path in several:
        source = Source(path)
        reader.read(source)
        files.append(source.digest("grammar"))
    names = ", ".join(reader.files)
    if reader.rules == 0 and not may_be_empty:
        raise FormatError(names, None, "there is no rule in it", "give a grammar")
    rows, features = reader.rows(owner)
    categories = tuple(reader.categories.words())
    is_glue = _is_glue(rows, categories.index(whole)) if whole in categories else rows.heads < 0
    shared = Vocabulary.of(reader.words.words()), categories, features, tuple(files)
    parts: list[Grammar] = []
    for is_in_part, own_limit in ((~is_glue, limit), (is_glue, FROM_START)):
        if not is_in_part.any() and (parts or is_glue.any()):
            continue
        rows_of_part = np.flatnonzero(is_in_part)
        arrays, order = build_trie(
            rows if is_in_part.all() else some_rows(rows, rows_of_part), own_limit
        )
        part = Grammar(arrays, *shared)
        part.check(names, partial(_place, reader, rows_of_part[order]))
        parts.append(part)
    return joined(parts)


def _place(reader: _GrammarReader, rows: Ints, rule: int) -> tuple[str, int | None]:
    return reader.place(int(rows[rule]))


def _is_glue(rows: RuleRows, category: int) -> Flags:
    """Return which rules add something to what has the category already."""
    begins = rows.source_start[:-1]
    has_some = begins < rows.source_start[1:]
    first = rows.sources[np.minimum(begins, max(0, len(rows.sources) - 1))]
    is_glue: Flags = (rows.heads == category) & has_some & (first == -1 - category)
    return is_glue


def segment(line: str) -> tuple[dict[str, str], str]:
    """Return the attributes and the words of ``<seg id="0" grammar="g.0.gz">words</seg>``.

    A line without markup has no attributes. Values are between quotes of either kind, or bare.
    """
    match = _SEGMENT.fullmatch(line)
    if match is None or "</seg>" in match.group(2):
        if _SEGMENT_START.match(line):
            raise DecoderError(
                '<seg> is not as it should be; write <seg id="0">words</seg>, and nothing after it'
            )
        return {}, line
    pairs = _ATTRIBUTE.findall(match.group(1))
    attributes = {name: value[1:-1] if value[0] in "\"'" else value for name, value in pairs}
    return attributes, match.group(2).strip()


class _GrammarReader:
    """Runs the kernel over the blocks of files and collects the rules."""

    def __init__(self, conventions: Conventions) -> None:
        self.conventions = conventions
        self.words, self.categories, self.names = Interner(), Interner(1 << 6), Interner(1 << 8)
        self.pieces: list[tuple[Ints, RuleRows]] = []
        self.rules = 0
        #: The files, and the first rule of each.
        self.files: list[str] = []
        self.first: list[int] = []
        self.room = _room(0, SLOW_ROOM)

    def read(self, source: Source) -> None:
        """Add the rules of a file."""
        self.files.append(source.name)
        self.first.append(self.rules)
        if not source.head():
            return
        source.check_line_ends()
        line = 1
        for block in source.blocks():
            check_utf8(block, source.name, line)
            self._parse(block, source.name, line)
            line += block.count(b"\n")

    def place(self, rule: int) -> tuple[str, int]:
        """Return the file and the line of a rule."""
        file = bisect.bisect_right(self.first, rule) - 1
        for lines, _ in self.pieces:
            if rule < len(lines):
                return self.files[file], int(lines[rule])
            rule -= len(lines)
        raise IndexError(rule)

    def _parse(self, block: bytes, name: str, line: int) -> None:
        if len(block) > 2 * (len(self.room.sources) - 1):
            self.room = _room(len(block), len(self.room.slow))
        data = np.frombuffer(block, np.uint8)
        info = np.zeros(10, np.int64)
        info[LINE] = line
        status = -1
        while status != DONE:
            status = parse_rules(
                data,
                self.conventions.counts_labelled,
                self.conventions.negated,
                info,
                self.room,
                *(
                    Table(*interner.tables)
                    for interner in (self.words, self.categories, self.names)
                ),
            )
            self._resolve(block, name, line, info)
            if status == WORDS_FULL:
                self.words.grow(len(block))
            elif status == CATEGORIES_FULL:
                self.categories.grow(len(block))
            elif status == NAMES_FULL:
                self.names.grow(len(block))
            elif status == SLOW_FULL:
                self.room = self.room._replace(
                    slow=np.empty((2 * len(self.room.slow), 3), np.int64)
                )
            elif status != DONE:
                problem, remedy = _FAULTS[status]
                shown = shortened(block[info[LO] : info[HI]].decode("utf-8", "replace"))
                raise FormatError(name, int(info[LINE]), problem.format(shown), remedy)
        if info[RULES]:
            self.pieces.append(_copy_rules(self.room, info))
            self.rules += int(info[RULES])

    def _resolve(self, block: bytes, name: str, line: int, info: Ints) -> None:
        """Read the numbers that the kernel left to Python."""
        room = self.room
        for pair, lo, hi in room.slow[: info[SLOW]].tolist():
            value = float_or_nan(block[lo:hi])
            if math.isnan(value):
                at = line + block.count(b"\n", 0, lo)
                raise number_error(block[lo:hi], name, at, "a feature value")
            unnamed = room.feature_ids[pair] < 0
            room.feature_values[pair] = -value if unnamed and self.conventions.negated else value
        info[SLOW] = 0

    def rows(self, owner: str) -> tuple[RuleRows, tuple[str, ...]]:
        """Return all rules, and the names of features."""
        if not self.pieces:
            self.pieces.append(_copy_rules(self.room, np.zeros(10, np.int64)))
        rows = _together([piece for _, piece in self.pieces])
        self.pieces = [(lines, _NONE) for lines, _ in self.pieces]
        unnamed = max(0, -int(rows.feature_ids.min(initial=0)))
        named = self.conventions.unlabelled_name
        ids = {named(owner, index): index for index in range(unnamed)}
        known = [ids.setdefault(name, len(ids)) for name in self.names.words()]
        feature_ids = rows.feature_ids
        renamed = np.array([*known, 0], np.int32)[np.maximum(feature_ids, 0)]
        return rows._replace(
            feature_ids=np.where(feature_ids < 0, -1 - feature_ids, renamed)
        ), tuple(ids)


def _room(size: int, slow: int) -> RuleBuffers:
    """Return room for the rules in ``size`` bytes: a symbol has two, a rule or a link more."""
    most = size // 2 + 2

    def start() -> Ints:
        return np.zeros(size // 8 + 2, np.int64)

    def ids() -> Ids:
        return np.empty(most, np.int32)

    return RuleBuffers(
        lines=start(),
        heads=np.empty(size // 8 + 2, np.int32),
        source_start=start(),
        sources=ids(),
        target_start=start(),
        targets=ids(),
        feature_start=start(),
        feature_ids=ids(),
        feature_values=np.empty(most, np.float64),
        link_start=start(),
        links=np.empty((size // 4 + 2, 2), np.int32),
        slow=np.empty((slow, 3), np.int64),
        places=np.zeros(MOST_NONTERMINALS + 1, np.int64),
        kinds=np.zeros(MOST_NONTERMINALS + 1, np.int64),
    )


def _copy_rules(room: RuleBuffers, info: Ints) -> tuple[Ints, RuleRows]:
    """Copy the rules out of the room: their lines, and themselves."""
    rules = int(info[RULES])
    starts = rules + 1
    return room.lines[:rules].copy(), RuleRows(
        room.heads[:rules].copy(),
        room.source_start[:starts].copy(),
        room.sources[: info[SOURCES]].copy(),
        room.target_start[:starts].copy(),
        room.targets[: info[TARGETS]].copy(),
        room.feature_start[:starts].copy(),
        room.feature_ids[: info[PAIRS]].copy(),
        room.feature_values[: info[PAIRS]].copy(),
        room.link_start[:starts].copy(),
        room.links[: info[LINKS]].copy(),
    )


def _together(pieces: Sequence[RuleRows]) -> RuleRows:
    """Join the rules of all blocks."""
    joined = []
    for name in RuleRows._fields:
        parts = [getattr(piece, name) for piece in pieces]
        if name.endswith("_start"):
            ends = itertools.accumulate((int(part[-1]) for part in parts), initial=0)
            parts = [part[1:] + end for part, end in zip(parts, ends, strict=False)]
            parts.insert(0, np.zeros(1, np.int64))
        joined.append(np.concatenate(parts))
    return RuleRows(*joined)


_NONE = _copy_rules(_room(0, 1), np.zeros(10, np.int64))[1]
