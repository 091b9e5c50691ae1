"""The upper envelopes of all groups along many lines.

A block of threads has one group and one line. It finds the best candidates of the least and of the
greatest slope, copies the few candidates above the chords from them to the winner into fast memory,
and goes from corner to corner: the next one is where the line of the current winner is first met,
among lines that meet it there the steepest, among these the highest (two scores that differ by a
rounding may meet it at one number), among equals the first in the order read.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, float64, int32

from tunesmith.inference.lists.device.compiling import (
    ABOVE,
    ALL_LANES,
    GROUP_THREADS,
    INFINITY,
    SIMULATED,
    WARP_THREADS,
    device_kernel,
    on_device,
    reduce_first,
)


@on_device
def reduce_steepest(first: Any, second: Any, third: Any, index: Any, here: int) -> None:
    """Bring the entry of the greatest (first, second, third), least index, to the front."""
    cuda.syncthreads()
    half = index.shape[0] // 2
    while half > 0:
        if here < half:
            i, j = here, here + half
            if index[j] >= 0 and (
                index[i] < 0
                or first[j] > first[i]
                or (
                    first[j] == first[i]
                    and (
                        second[j] > second[i]
                        or (
                            second[j] == second[i]
                            and (
                                third[j] > third[i]
                                or (third[j] == third[i] and index[j] < index[i])
                            )
                        )
                    )
                )
            ):
                first[i], second[i], third[i] = first[j], second[j], third[j]
                index[i] = index[j]
        cuda.syncthreads()
        half //= 2


@on_device
def reduce_in_registers(first: Any, second: Any, third: Any, index: Any, here: int) -> None:
    """Do the same where the block is one warp; the simulator has no such exchanges."""
    a, b, c, i = first[here], second[here], third[here], index[here]
    lanes = WARP_THREADS // 2
    while lanes > 0:
        d = cuda.shfl_down_sync(ALL_LANES, a, lanes)
        e = cuda.shfl_down_sync(ALL_LANES, b, lanes)
        f = cuda.shfl_down_sync(ALL_LANES, c, lanes)
        j = cuda.shfl_down_sync(ALL_LANES, i, lanes)
        if j >= 0 and (
            i < 0 or d > a or (d == a and (e > b or (e == b and (f > c or (f == c and j < i)))))
        ):
            a, b, c, i = d, e, f, j
        lanes //= 2
    if here == 0:
        first[0], second[0], third[0], index[0] = a, b, c, i
    cuda.syncthreads()


def envelopes_of(threads: int, reduce_all: Any) -> Any:
    """Return the kernel for blocks of some threads, with a way to bring the steepest first."""

    @device_kernel
    def find_envelopes(
        scores: Any,
        rows: Any,
        start: Any,
        winners: Any,
        ask: Any,
        first: Any,
        count: Any,
        at: Any,
        left: Any,
        right: Any,
    ) -> None:
        """Find all breakpoints of all groups along some lines.

        Parameters
        ----------
        scores : float64[P, N]
            Model scores at points; ``winners`` [P, S] win there.
        rows : float64[R, N]
            Slopes along directions.
        start : int64[S + 1]
            Where groups begin.
        ask : float64[L, 5]
            Of each line the numbers of its point and of its row of slopes; the rest is for others.
        first : int32[L, S]
            Filled with the winners at γ = −∞.
        count : int32[L]
            Counts breakpoints, from 0 on, even where there is no room for more.
        at, left, right : [L, room]
            Filled with γ and the candidates that win before and after it, in any order.
        """
        g, line, here = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
        lo, hi = start[g], start[g + 1]
        score = scores[int(ask[line, 0])]
        slope = rows[int(ask[line, 1])]
        key = cuda.shared.array(threads, float64)
        second = cuda.shared.array(threads, float64)
        third = cuda.shared.array(threads, float64)
        index = cuda.shared.array(threads, int32)
        near_slope = cuda.shared.array(ABOVE, float64)
        near_score = cuda.shared.array(ABOVE, float64)
        near = cuda.shared.array(ABOVE, int32)
        size = cuda.shared.array(1, int32)

        # The best candidates of the least and of the greatest slope.
        low, high = -1, -1
        low_slope, low_score, high_slope, high_score = 0.0, 0.0, 0.0, 0.0
        for i in range(lo + here, hi, threads):
            s, b = slope[i], score[i]
            if low < 0 or s < low_slope or (s == low_slope and b > low_score):
                low, low_slope, low_score = i, s, b
            if high < 0 or s > high_slope or (s == high_slope and b > high_score):
                high, high_slope, high_score = i, s, b
        key[here], second[here], index[here] = -low_slope, low_score, low
        reduce_first(key, second, index, here, threads)
        least = index[0]
        cuda.syncthreads()
        key[here], second[here], index[here] = high_slope, high_score, high
        reduce_first(key, second, index, here, threads)
        greatest = index[0]
        if here == 0:
            first[line, g] = least
            size[0] = 0
        now_slope, now_score = slope[least], score[least]
        last_slope, last_score = slope[greatest], score[greatest]
        if now_slope == last_slope:
            return
        cuda.syncthreads()

        # Those above the chords; and the ends of the chords.
        top = winners[int(ask[line, 0]), g]
        x, y = slope[top], score[top]
        rise = (y - now_score) / (x - now_slope) if x > now_slope else 0.0
        fall = (last_score - y) / (last_slope - x) if last_slope > x else 0.0
        for i in range(lo + here, hi, threads):
            d = slope[i] - x
            is_end = i == top or i == greatest  # noqa: PLR1714  (numbers of two types)
            if is_end or score[i] - y > (rise if d < 0.0 else fall) * d:
                k = cuda.atomic.add(size, 0, 1)
                if k < ABOVE:
                    near[k], near_slope[k], near_score[k] = i, slope[i], score[i]
        cuda.syncthreads()
        many = size[0]
        is_near = many <= ABOVE
        if not is_near:
            many = hi - lo

        # From corner to corner.
        now, before = least, -INFINITY
        room = at.shape[1]
        while now_slope < last_slope:
            step, steep, high_now, best = INFINITY, 0.0, 0.0, -1
            for k in range(here, many, threads):
                if is_near:
                    i, s, b = near[k], near_slope[k], near_score[k]
                else:
                    i, s, b = lo + k, slope[lo + k], score[lo + k]
                if s > now_slope:
                    meets = (now_score - b) / (s - now_slope)
                    if (
                        best < 0
                        or meets < step
                        or (
                            meets == step
                            and (
                                s > steep
                                or (s == steep and (b > high_now or (b == high_now and i < best)))
                            )
                        )
                    ):
                        step, steep, high_now, best = meets, s, b, i
            key[here], second[here], third[here], index[here] = -step, steep, high_now, best
            reduce_all(key, second, third, index, here)
            after = index[0]
            meets = max(-key[0], before)
            if here == 0:
                place = cuda.atomic.add(count, line, 1)
                if place < room:
                    at[line, place], left[line, place], right[line, place] = meets, now, after
            now, before = after, meets
            now_slope, now_score = slope[now], score[now]
            cuda.syncthreads()

    return find_envelopes


#: For few lines, where every group has a block at once; and for many.
find_envelopes = envelopes_of(GROUP_THREADS, reduce_steepest)
find_many_envelopes = envelopes_of(
    WARP_THREADS, reduce_steepest if SIMULATED else reduce_in_registers
)
