"""The edits of TER (Snover et al. 2006) as sacrebleu counts them: kernels on word ids.

A shift moves a block of words that the reference has elsewhere, and costs one edit. Shifts
are taken greedily, the one first that lowers the edit distance most, until none lowers it.
sacrebleu's limits and its order among equals are part of the result and kept to the
letter. How the distances are found is our own:

- The edit distance is computed a row at a time in the bits of a few numbers (Myers 1999,
  in the form of Hyyrö 2003). A shift is tried from the first row that it changes to where
  the rows are again those without it.
- sacrebleu looks for the distance only in a beam around the diagonal. Where every path
  outside is longer than the distance, this changes nothing; others go cell by cell.
- Words that the reference lacks are all alike, so many candidates of a group are, too.
"""

from __future__ import annotations

import math

import numpy as np

from tunesmith.arrays import Ids, Ints, Number
from tunesmith.kernels import inlined, kernel

#: Words of the longest block that is shifted, and how far at most.
SHIFT_SIZE = 10
SHIFT_DISTANCE = 50
#: A hypothesis is shifted no further once so many shifts were tried.
SHIFTS_TRIED = 1000
#: Columns to either side of the diagonal that the edit distance looks at.
BEAM = 25
#: Words of the reference in one number: the sum of two such numbers must not overflow.
BITS = 62
FULL = (1 << BITS) - 1
#: More than any distance.
FAR = 1 << 30


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
    most, held, widest = 1, 1, 1
    for g in range(first, last):
        most = max(most, start[g + 1] - start[g])
        held = max(held, text_start[start[g + 1]] - text_start[start[g]])
        for r in range(group_references[g], group_references[g + 1]):
            widest = max(widest, reference_start[r + 1] - reference_start[r])
    size = 2
    while size < 2 * most:
        size *= 2
    table = np.empty(size, np.int64)
    local = np.empty(held, np.int32)
    found = np.empty(most, np.int64)
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
                key = 0
                for k in range(len(words)):
                    words[k] = place[tokens[texts[c] + k]]
                    key = (key * 31 + words[k] + 1) & 0xFFFFFFFFFFFF
                slot = _slot(key, c, texts, local, table)
                if table[slot] < 0:
                    table[slot] = c
                    found[c] = _edits(words, reference[:width], following, masks[:, :blocks])
                else:
                    found[c] = found[table[slot]]
                at = start[g] + c
                if r == group_references[g] or found[c] < edits[at]:
                    edits[at] = found[c]
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
            there = texts[other] - texts[0]
            k = 0
            while k < length and local[there + k] == local[base + k]:
                k += 1
            if k == length:
                return slot
        slot = (slot + 1) & mask
    return slot


@kernel
def _index(ids: Ids, place: Ids, masks: Ints, reference: Ids, following: Ids) -> None:
    """Number the words of a reference by their first position, from 1; 0 is any other word.

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
    # A row of distances: the last of them, and for each block of columns in bits those that
    # are one above their left neighbour, those one below it, and those that equal their
    # left neighbour in the row before. The second half is for trying shifts.
    rows = np.empty((2, n + 1, 1 + 3 * blocks), np.int64)
    cells = np.empty((2, 0, 0), np.int32)
    distance = _fill(words, 0, 0, n, width, masks, rows[0], rows[0])
    beam = 0
    if distance >= _shortest_outside(n, width):
        beam = _beam_width(n, width)
        cells = np.empty((2, n + 1, width + 1), np.int32)
        distance = _fill_beam(words, 0, 0, n, reference, beam, cells[0], cells[0])
    fewest = max(n, width) - _common(words, reference)
    align = np.empty(width, np.int64)
    wrong = np.empty((2, max(n, width) + 1), np.int64)
    moves = np.empty((SHIFTS_TRIED + SHIFT_SIZE + 1, 3), np.int64)
    shifts = 0
    tried = 0
    # No order of the words needs fewer edits than ``fewest``.
    while distance > fewest:
        _trace(words, reference, rows[0], beam, cells[0], align, wrong)
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
            _fill_beam(words, a, a, n, reference, beam, cells[0], cells[0])
        else:
            _fill(words, a, a, n, width, masks, rows[0], rows[0])
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
            longest = 0
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

    The highest gain, then the longest block, then the earliest, then the earliest target.
    """
    n, width = len(words), len(reference)
    best = 0
    best_k = -1
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
            if bound < best or bound == 0:
                continue
            earlier = best_k >= 0 and (
                length < moves[best_k, 0]
                or s > moves[best_k, 1]
                or (s == moves[best_k, 1] and to >= moves[best_k, 2])
            )
            if bound == best and earlier:
                continue
            if beam > 0:
                after = _fill_beam(words, a, b, c, reference, beam, cells[0], cells[1])
            else:
                after = _fill(words, a, b, c, width, masks, rows[0], rows[1])
            gain = distance - after
            if gain > best or (gain == best and gain > 0 and not earlier):
                best, best_k = gain, k
                best_a, best_b, best_c = a, b, c
    return best, best_a, best_b, best_c


@inlined
def _source(k: int, a: int, b: int, c: int) -> Number:
    """Return where word k was before the blocks [a, b) and [b, c) were swapped."""
    if k < a or k >= c:
        return k
    return k + b - a if k < a + c - b else k - (c - b)


@inlined
def _step(
    match: Number, above: Number, below: Number, rise: Number, fall: Number
) -> tuple[Number, Number, Number, Number, Number]:
    """Go from one row to the next in one block of columns (Hyyrö 2003, figure 5).

    ``above`` and ``below`` mark columns whose distance is one more or less than their left
    neighbour's; ``rise`` and ``fall`` say so of the last column of the block to the left,
    as compared with the row before.
    """
    match |= fall
    equal = (((match & above) + above) ^ above) | match | below
    rises = (below | ~(equal | above)) & FULL
    falls = equal & above
    left = ((rises << 1) | rise) & FULL
    return (
        (((falls << 1) | fall) | ~(equal | left)) & FULL,
        left & equal,
        equal & FULL,
        rises,
        falls,
    )


@kernel
def _fill(
    words: Ids, a: int, b: int, c: int, width: int, masks: Ints, known: Ints, rows: Ints
) -> Number:
    """Return the edit distance once the blocks [a, b) and [b, c) have been swapped.

    The rows after a are computed, until they are again the ``known`` ones without the swap.
    """
    n, blocks = len(words), masks.shape[1]
    shift = (width - 1) % BITS
    if c == n and a == 0 and b == 0:
        known[0, 0] = width
        for w in range(blocks):
            known[0, 1 + w], known[0, 1 + blocks + w] = FULL, 0
    row = known[a]
    for k in range(a, n):
        if k >= c:
            w = 1
            while w <= 2 * blocks and row[w] == known[k, w]:
                w += 1
            if w > 2 * blocks:
                return known[n, 0]
        after, mask = rows[k + 1], masks[words[_source(k, a, b, c)]]
        rise, fall, rises, falls = 1, 0, 0, 0
        for w in range(blocks):
            above, below, equal, rises, falls = _step(
                mask[w], row[1 + w], row[1 + blocks + w], rise, fall
            )
            after[1 + w] = above
            after[1 + blocks + w] = below
            after[1 + 2 * blocks + w] = equal
            rise, fall = rises >> (BITS - 1), falls >> (BITS - 1)
        after[0] = row[0] + ((rises >> shift) & 1) - ((falls >> shift) & 1)
        row = after
    return row[0]


@kernel
def _fill_beam(
    words: Ids, a: int, b: int, c: int, reference: Ids, beam: int, known: Ids, rows: Ids
) -> Number:
    """Do the same within the beam; of the cells outside only those next to it are set."""
    n, width = len(words), len(reference)
    if c == n and a == 0 and b == 0:
        for j in range(width + 1):
            known[0, j] = j
    row = known[a]
    first, end = _window(a + 1, n, width, beam)
    for k in range(a, n):
        after, word = rows[k + 1], words[_source(k, a, b, c)]
        if first > 0:
            after[first - 1] = FAR
        for j in range(first, end):
            least = row[j] + 1
            if j > 0:
                least = min(least, after[j - 1] + 1, row[j - 1] + (word != reference[j - 1]))
            after[j] = min(least, FAR)
        row = after
        if k + 1 >= c:
            j = first
            while j < end and row[j] == known[k + 1, j]:
                j += 1
            if j == end:
                return np.int64(known[n, width])
        first, last = _window(k + 2, n, width, beam)
        for j in range(end, last):
            row[j] = FAR
        end = last
    return np.int64(row[width])


@kernel
def _trace(
    words: Ids, reference: Ids, rows: Ints, beam: int, cells: Ids, align: Ints, wrong: Ints
) -> None:
    """Align the reference with the hypothesis, and count errors from the start of each.

    Among equals a match or substitution goes before a deletion, that before an insertion.
    """
    i, j = len(words), len(reference)
    blocks = (rows.shape[1] - 1) // 3
    while i > 0 or j > 0:
        same, deletes = False, j == 0
        replaces = i > 0 and j > 0
        if replaces:
            same = words[i - 1] == reference[j - 1]
            if beam > 0:
                replaces = cells[i, j] == cells[i - 1, j - 1] + (not same)
                deletes = cells[i, j] == cells[i - 1, j] + 1
            else:
                w, bit = (j - 1) // BITS, (j - 1) % BITS
                replaces = same or not (rows[i, 1 + 2 * blocks + w] >> bit) & 1
                deletes = bool((rows[i - 1, 1 + blocks + w] >> bit) & 1)
        error = not (replaces and same)
        if replaces or not deletes:
            align[j - 1] = i - 1
            wrong[1, j] = error
            j -= 1
        if replaces or deletes:
            wrong[0, i] = error
            i -= 1
    for side, length in enumerate((len(words), len(reference))):
        wrong[side, 0] = 0
        for k in range(length):
            wrong[side, k + 1] += wrong[side, k]


@kernel
def _beam_width(n: int, width: int) -> Number:
    ratio = width / n if n > 0 else 1.0
    return math.ceil(ratio / 2 + BEAM) if ratio / 2 > BEAM else BEAM


@kernel
def _window(i: int, n: int, width: int, beam: int) -> tuple[Number, Number]:
    """Return the first column of row i that the beam holds, and the one after its last."""
    middle = math.floor(i * (width / n))
    return max(0, middle - beam), width + 1 if i == n else min(width + 1, middle + beam)


@kernel
def _shortest_outside(n: int, width: int) -> Number:
    """Return a length that no path of edits through a cell outside of the beam is below.

    A path through column j of row i is at least |j - i| + |(width - j) - (n - i)| long.
    """
    shortest = FAR
    beam = _beam_width(n, width)
    low, high = min(0, width - n), max(0, width - n)
    for i in range(1, n + 1):
        first, end = _window(i, n, width, beam)
        if first > 0:
            shortest = min(shortest, high - low + 2 * max(0, low - (first - 1 - i)))
        if end <= width:
            shortest = min(shortest, high - low + 2 * max(0, end - i - high))
    return shortest
