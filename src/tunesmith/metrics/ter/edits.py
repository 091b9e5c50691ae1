"""The edits of TER (Snover et al. 2006) as sacrebleu counts them: kernels on word ids.

A shift moves a block of words that the reference has elsewhere, and costs one edit. Shifts
are taken greedily, the one first that lowers the edit distance most, until none lowers it.
sacrebleu's limits and its order among equals are part of the result and kept to the letter.

Words that the reference lacks are all alike, and so are many candidates of a group; each
kind is computed once.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Ids, Ints, Number
from tunesmith.kernels import kernel
from tunesmith.metrics.ter.distance import (
    BITS,
    beam_width,
    fill,
    fill_beam,
    shortest_outside,
    trace,
)

#: Words of the longest block that is shifted, and how far apart its two places may be.
SHIFT_SIZE = 10
SHIFT_DISTANCE = 50
#: A hypothesis is shifted no further once this many shifts were tried.
SHIFTS_TRIED = 1000


@kernel
def count_edits(
    start: Ints,
    first: int,
    last: int,
    text_start: Ints,
    tokens: Ids,
    group_references: Ints,
    reference_start: Ints,
    reference_tokens: Ids,
    vocabulary: int,
    edits: Ints,
) -> None:
    """Write the fewest edits of the candidates of the groups from ``first`` to ``last``."""
    most, longest, widest = 1, 1, 1
    for g in range(first, last):
        most = max(most, start[g + 1] - start[g])
        longest = max(longest, text_start[start[g + 1]] - text_start[start[g]])
        for r in range(group_references[g], group_references[g + 1]):
            widest = max(widest, reference_start[r + 1] - reference_start[r])
    size = 2
    while size < 2 * most:
        size *= 2
    table = np.empty(size, np.int64)
    local = np.empty(longest, np.int32)
    result = np.empty(most, np.int64)
    place = np.zeros(vocabulary, np.int32)
    masks = np.zeros((widest + 1, (widest + BITS - 1) // BITS), np.int64)
    reference = np.empty(widest, np.int32)
    following = np.empty(widest, np.int32)
    for g in range(first, last):
        texts = text_start[start[g] : start[g + 1] + 1]
        for r in range(group_references[g], group_references[g + 1]):
            ids = reference_tokens[reference_start[r] : reference_start[r + 1]]
            width = len(ids)
            blocks = max(1, (width + BITS - 1) // BITS)
            _index(ids, place, masks, reference, following)
            for k in range(size):
                table[k] = -1
            for c in range(len(texts) - 1):
                words = local[texts[c] - texts[0] : texts[c + 1] - texts[0]]
                key: Number = np.int64(0)
                for k in range(len(words)):
                    words[k] = place[tokens[texts[c] + k]]
                    key = (key * 31 + words[k] + 1) & 0xFFFFFFFFFFFF
                slot = _slot(key, c, texts, local, table)
                if table[slot] < 0:
                    table[slot] = c
                    result[c] = _edits(words, reference[:width], following, masks[:, :blocks])
                else:
                    result[c] = result[table[slot]]
                at = start[g] + c
                if r == group_references[g] or result[c] < edits[at]:
                    edits[at] = result[c]
            for k in range(width):
                place[ids[k]] = 0
                for w in range(blocks):
                    masks[k + 1, w] = 0


@kernel
def _slot(key: int, c: int, texts: Ints, local: Ids, table: Ints) -> Number:
    """Return where a text equal to text c is, or the empty place where it would be."""
    mask = len(table) - 1
    slot = (key ^ (key >> 20)) & mask
    base, length = texts[c] - texts[0], texts[c + 1] - texts[c]
    while table[slot] >= 0:
        other = table[slot]
        if texts[other + 1] - texts[other] == length:
            offset = texts[other] - texts[0]
            k = 0
            while k < length and local[offset + k] == local[base + k]:
                k += 1
            if k == length:
                return slot
        slot = (slot + 1) & mask
    return slot


@kernel
def _index(ids: Ids, place: Ids, masks: Ints, reference: Ids, following: Ids) -> None:
    """Make the first position of each word of a reference, from 1, its number; 0 is others.

    ``masks[word]`` has a bit for each position of the word, ``following[j]`` is the next
    position of the word at j, or -1.
    """
    for j in range(len(ids) - 1, -1, -1):
        following[j] = place[ids[j]] - 1
        place[ids[j]] = j + 1
    for j in range(len(ids)):
        word = place[ids[j]]
        reference[j] = word
        masks[word, j // BITS] |= 1 << (j % BITS)


@kernel
def _edits(text: Ids, reference: Ids, following: Ids, masks: Ints) -> Number:
    """Return the edits of one hypothesis: shifts, and the edit distance after them."""
    n, width, blocks = len(text), len(reference), masks.shape[1]
    if width == 0:
        return n
    words = np.empty(n, np.int32)
    for k in range(n):
        words[k] = text[k]
    # The second half is for trying shifts.
    rows = np.empty((2, n + 1, 1 + 3 * blocks), np.int64)
    cells = np.empty((2, 0, 0), np.int32)
    distance = fill(words, 0, 0, n, width, masks, rows[0], rows[0])
    beam = 0
    if distance >= shortest_outside(n, width):
        beam = beam_width(n, width)
        cells = np.empty((2, n + 1, width + 1), np.int32)
        distance = fill_beam(words, 0, 0, n, reference, beam, cells[0], cells[0])
    fewest = max(n, width) - _common(words, reference)
    align = np.empty(width, np.int64)
    wrong = np.empty((2, max(n, width) + 1), np.int64)
    moves = np.empty((SHIFTS_TRIED + SHIFT_SIZE + 1, 3), np.int64)
    shifts = 0
    tried = 0
    # No order of the words needs fewer edits than ``fewest``, so no shift can help then.
    while distance > fewest:
        trace(words, reference, rows[0], beam, cells[0], align, wrong)
        count = _find_moves(words, reference, following, align, wrong, tried, moves)
        tried += count
        if tried >= SHIFTS_TRIED:
            break
        gain, a, b, c = _best_move(
            words, reference, masks, rows, beam, cells, moves[:count], distance, fewest
        )
        if gain == 0:
            break
        shifts += 1
        distance -= gain
        _reverse(words, a, b)
        _reverse(words, b, c)
        _reverse(words, a, c)
        if beam > 0:
            fill_beam(words, a, a, n, reference, beam, cells[0], cells[0])
        else:
            fill(words, a, a, n, width, masks, rows[0], rows[0])
    return shifts + distance


@kernel
def _reverse(words: Ids, first: int, end: int) -> None:
    for k in range((end - first) // 2):
        words[first + k], words[end - 1 - k] = words[end - 1 - k], words[first + k]


@kernel
def _common(words: Ids, reference: Ids) -> Number:
    """Return how many words of the hypothesis can be matched in any order."""
    left = np.zeros(len(reference) + 1, np.int32)
    for j in range(len(reference)):
        left[reference[j]] += 1
    common = 0
    for k in range(len(words)):
        if left[words[k]] > 0:
            left[words[k]] -= 1
            common += 1
    return common


@kernel
def _find_moves(
    words: Ids,
    reference: Ids,
    following: Ids,
    align: Ints,
    wrong: Ints,
    tried: int,
    moves: Ints,
) -> Number:
    """Write the shifts to try as (length, from, to), and return how many there are."""
    n, width = len(words), len(reference)
    wrong_words, wrong_reference = wrong[0], wrong[1]
    count = 0
    for s in range(n):
        r = np.int64(words[s]) - 1
        while r >= 0:
            longest: Number = 0
            if abs(r - s) <= SHIFT_DISTANCE:
                longest = min(SHIFT_SIZE, n - s, width - r)
            for length in range(1, longest + 1):
                if words[s + length - 1] != reference[r + length - 1]:
                    break
                if (
                    wrong_words[s + length] == wrong_words[s]
                    or wrong_reference[r + length] == wrong_reference[r]
                    or s <= align[r] < s + length
                ):
                    continue
                before = -1
                for j in range(r - 1, r + length):
                    to = align[j] + 1 if j >= 0 else 0
                    if to != before:
                        move = moves[count]
                        move[0], move[1], move[2] = length, s, to
                        count += 1
                    before = to
                if tried + count >= SHIFTS_TRIED:
                    return count
            r = np.int64(following[r])
    return count


@kernel
def _best_move(
    words: Ids,
    reference: Ids,
    masks: Ints,
    rows: Ints,
    beam: int,
    cells: Ids,
    moves: Ints,
    distance: int,
    fewest: int,
) -> Number:
    """Return the gain of the best move and the two neighbouring blocks that it swaps.

    Among equal gains that of the longest block goes first, then that of the earliest, then
    that with the earliest target: for one length this is the order of the moves.
    """
    n, width = len(words), len(reference)
    best = 0
    best_a, best_b, best_c = 0, 0, 0
    longest = 0
    for k in range(len(moves)):
        longest = max(longest, moves[k, 0])
    for length in range(longest, 0, -1):
        for k in range(len(moves)):
            if moves[k, 0] != length:
                continue
            s, to = moves[k, 1], moves[k, 2]
            if to < s:
                a, b, c = to, s, s + length
            elif to > s + length:
                a, b, c = s, s + length, to
            else:
                a, b, c = s, s + length, min(n, to + length)
            # Blocks swapped are at most the shorter one deleted and inserted elsewhere;
            # in a beam that need not be so.
            bound = distance - fewest
            if beam == 0:
                bound = min(bound, 2 * min(b - a, c - b))
            if bound <= best:
                continue
            if beam > 0:
                after = fill_beam(words, a, b, c, reference, beam, cells[0], cells[1])
            else:
                after = fill(words, a, b, c, width, masks, rows[0], rows[1])
            if distance - after > best:
                best = distance - after
                best_a, best_b, best_c = a, b, c
    return best, best_a, best_b, best_c
