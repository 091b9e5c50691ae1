"""Sparse lexical features of rules, from their words and alignments.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 13,
2012), section 7: lex(e) fires when an output word e is generated, lex(f,e) when it is generated
aligned to an input word f, lex(NULL,e) when it is generated unaligned. Words that are not frequent
are UNK. A word with several links fires lex(f,e) for each; a feature that fires twice counts 2.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Number
from tunesmith.errors import TunesmithError
from tunesmith.hiero.grammar.grammar import Grammar
from tunesmith.hiero.grammar.rule_trie import with_features
from tunesmith.hiero.store import frozen
from tunesmith.hiero.tables import GrammarArrays
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.kernels.sorting import sorted_copy

#: What stands for words that are not frequent, and for none.
UNKNOWN, NONE = "UNK", "NULL"
# Rows of the table of features: lex(e), lex(NULL,e), lex(UNK,e), and one for each source word.
_ALONE, _UNALIGNED, _RARE = 0, 1, 2
#: What means something in a name, or in the files that names stand in.
_SPECIAL = re.compile(r"[%,=|;#\s]|^(?=(?:NULL|UNK)$)(?:N|U)")


def with_lexical(grammar: Grammar, sources: Collection[str], targets: Collection[str]) -> Grammar:
    """Add lexical features to all rules.

    Parameters
    ----------
    grammar
        Rules with alignments.
    sources, targets
        The words that have features of their own.

    Returns
    -------
        A grammar with the names ``lex(e)``, ``lex(f,e)`` and ``lex(NULL,e)`` after the others, see
        :func:`lexical_name`; only those that some rule has.
    """
    arrays = grammar.arrays
    if len(arrays.links) == 0 and bool((arrays.targets >= 0).any()):
        raise TunesmithError(
            "the rules have no alignments, which lexical features are made of; "
            "give a grammar whose fifth field has them"
        )
    rows = _numbers(grammar, sources, _RARE)
    columns = _numbers(grammar, targets, 0)
    width = int(columns.max(initial=0)) + 1
    start, codes, counts = _fired_features(arrays, rows, columns, width)
    used, places = np.unique(codes, return_inverse=True)
    names = _names(grammar, rows, columns, used.tolist(), width)
    clash = set(grammar.names).intersection(names)
    if clash:
        raise TunesmithError(f"the grammar has a feature '{min(clash)}' already; leave it out")
    ids = (places + len(grammar.names)).astype(np.int32)
    changed = with_features(arrays, start, ids, counts)
    return Grammar(
        changed, grammar.vocabulary, grammar.categories, (*grammar.names, *names), grammar.files
    )


def lexical_name(*words: str | None) -> str:
    """Return the name of a feature: of a target word, or of a source and a target word.

    Characters that mean something in names or in files of weights are written as in addresses,
    ``%2C`` for a comma, and so is the first letter of the words NULL and UNK themselves.

    Parameters
    ----------
    words
        e, or f and e; None for a word that is not frequent.
    """
    return f"lex({','.join(UNKNOWN if word is None else _escaped(word) for word in words)})"


def unaligned_name(word: str | None) -> str:
    """Return the name of lex(NULL,e); None for a word that is not frequent."""
    return f"lex({NONE},{UNKNOWN if word is None else _escaped(word)})"


def _escaped(word: str) -> str:
    return _SPECIAL.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()), word
    )


def frequent_in_rules(
    grammar: Grammar, most: int | None = None, at_least: int = 1
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that most rules have on their source sides, and on their target sides."""
    arrays, size = grammar.arrays, len(grammar.vocabulary)
    sources, targets = np.zeros(size, np.int64), np.zeros(size, np.int64)
    _count_words(arrays, sources, targets)
    words = grammar.vocabulary.words
    return (
        most_frequent(words, sources, most, at_least),
        most_frequent(words, targets, most, at_least),
    )


def most_frequent(
    words: Sequence[str], counts: Ints, most: int | None, at_least: int = 1
) -> tuple[str, ...]:
    """Return the words that are counted most often, the most frequent first."""
    enough = np.flatnonzero(counts >= max(at_least, 1)).tolist()
    # Of equally frequent words, those that come first in the alphabet.
    return tuple(words[k] for k in sorted(enough, key=lambda k: (-counts[k], words[k]))[:most])


def _numbers(grammar: Grammar, words: Collection[str], rare: int) -> Ids:
    """Give numbers to words that have features, from ``rare`` + 1 on; all others are ``rare``."""
    numbers = np.full(len(grammar.vocabulary) + 1, rare, np.int32)
    ids = grammar.vocabulary.ids_of(sorted(set(words)))
    known = ids[ids >= 0]
    numbers[known] = rare + 1 + np.arange(len(known))
    return frozen(numbers)


def _names(grammar: Grammar, rows: Ids, columns: Ids, used: Sequence[int], width: int) -> list[str]:
    """Return the names of features that some rule has."""
    sources = {int(rows[k]): k for k in np.flatnonzero(rows[:-1] > _RARE).tolist()}
    targets = {int(columns[k]): k for k in np.flatnonzero(columns[:-1] > 0).tolist()}
    names = []
    for code in used:
        row, column = divmod(code, width)
        target = grammar.vocabulary[targets[column]] if column else None
        if row == _ALONE:
            names.append(lexical_name(target))
        elif row == _UNALIGNED:
            names.append(unaligned_name(target))
        else:
            source = grammar.vocabulary[sources[row]] if row > _RARE else None
            names.append(lexical_name(source, target))
    return names


def _fired_features(
    arrays: GrammarArrays, rows: Ids, columns: Ids, width: int
) -> tuple[Ints, Ints, Floats]:
    """Return which features each rule fires, ascending, and how often."""
    room = 2 * len(arrays.targets) + len(arrays.links)
    codes, counts = np.empty(room, np.int64), np.empty(room, np.float64)
    start = np.zeros(len(arrays.heads) + 1, np.int64)
    used = _fire(arrays, rows, columns, width, start, codes, counts)
    return start, codes[:used].copy(), counts[:used].copy()


@kernel
def _fire(
    arrays: GrammarArrays,
    rows: Ids,
    columns: Ids,
    width: int,
    start: Ints,
    codes: Ints,
    counts: Floats,
) -> Number:
    source = np.zeros(1 << 8, np.int64)
    used = 0
    for node in range(arrays.parents.shape[0]):
        if arrays.rule_start[node] == arrays.rule_start[node + 1]:
            continue
        source = _spell(arrays, node, source)
        for rule in range(arrays.rule_start[node], arrays.rule_start[node + 1]):
            links = arrays.links[arrays.link_start[rule] : arrays.link_start[rule + 1]]
            first = used
            for j in range(arrays.target_start[rule + 1] - arrays.target_start[rule]):
                symbol = arrays.targets[arrays.target_start[rule] + j]
                if symbol < 0:
                    continue
                column = np.int64(columns[symbol])
                codes[used] = _ALONE * width + column
                used += 1
                before = used
                for k in range(links.shape[0]):
                    if links[k, 1] == j and not _repeats(links, k):
                        codes[used] = np.int64(rows[source[links[k, 0]]]) * width + column
                        used += 1
                if used == before:
                    codes[used] = _UNALIGNED * width + column
                    used += 1
            copy_to(codes, first, sorted_copy(codes[first:used]))
            last = first
            for k in range(first, used):
                if k > first and codes[k] == codes[last - 1]:
                    counts[last - 1] += 1.0
                else:
                    codes[last] = codes[k]
                    counts[last] = 1.0
                    last += 1
            used = last
            start[rule + 1] = used
    return used


@kernel
def _spell(arrays: GrammarArrays, node: int, source: Ints) -> Ints:
    """Write down the source side that ends in a node, in an array that is long enough."""
    depth = 0
    above: Number = node
    while arrays.parents[above] >= 0:
        depth += 1
        above = np.int64(arrays.parents[above])
    if depth > source.shape[0]:
        source = np.zeros(2 * depth, np.int64)
    above = node
    while depth > 0:
        depth -= 1
        source[depth] = arrays.symbols[above]
        above = np.int64(arrays.parents[above])
    return source


@kernel
def _repeats(links: Ids, k: int) -> bool:
    """Tell whether an alignment point is there before."""
    for before in range(k):
        if links[before, 0] == links[k, 0] and links[before, 1] == links[k, 1]:
            return True
    return False


@kernel
def _count_words(arrays: GrammarArrays, sources: Ints, targets: Ints) -> None:
    for symbol in arrays.targets:
        if symbol >= 0:
            targets[symbol] += 1
    for node in range(arrays.parents.shape[0]):
        rules = arrays.rule_start[node + 1] - arrays.rule_start[node]
        above: Number = node
        while rules > 0 and arrays.parents[above] >= 0:
            if arrays.symbols[above] >= 0:
                sources[arrays.symbols[above]] += rules
            above = np.int64(arrays.parents[above])
