"""What all kernels of the device are made with: numba-cuda, or its simulator.

The simulator runs a kernel's threads in Python, one group of them after the other, where
``NUMBA_ENABLE_CUDASIM=1`` is set. It is slow, so blocks are small there.
"""

from __future__ import annotations

import math
from typing import Any

from numba import config, cuda

from tunesmith.kernels.device_cache import DeviceKernelCache

#: Whether kernels run in the simulator, on the processor.
SIMULATED = bool(config.ENABLE_CUDASIM)
#: Threads that find the envelope of one group, or its winner.
GROUP_THREADS = 2 if SIMULATED else 64
#: Threads that find the envelope of one group where there are very many: one warp.
WARP_THREADS = 2 if SIMULATED else 32
#: Threads that follow the statistics of one line.
LINE_THREADS = 2 if SIMULATED else 512
#: Breakpoints of a part of a line, and threads that judge it.
PART = 2 if SIMULATED else 256
#: Threads that add up over one group, or over a piece of a row, and candidates of such a piece.
SUM_THREADS, SPAN = (2, 8) if SIMULATED else (128, 8192)
#: Stands for the row of slopes where nothing is to move; and where scores stay as they are.
NO_MOVE, AS_IT_IS = -2.0, -1.0
#: Breakpoints that one block sorts; two for each of its threads.
CHUNK = 4 if SIMULATED else 1024
#: Candidates above the chords of a group that are copied to the fast memory of a block.
ABOVE = 4 if SIMULATED else 256
#: Statistics that a metric may have.
MOST_STATS = 64

INFINITY = math.inf


def on_device(function: Any) -> Any:
    """Compile what kernels call."""
    return cuda.jit(device=True)(function)


def device_kernel(function: Any) -> Any:
    """Compile a kernel, and keep the machine code on disk."""
    dispatcher = cuda.jit(function)
    if not SIMULATED:
        # What ``cache=True`` does, with our own cache in place of numba-cuda's.
        dispatcher._cache = DeviceKernelCache(dispatcher)
    return dispatcher


# A product and a sum must round as on the processor, where winners are compared bit by bit; the
# compiler of the device would fuse them.
if SIMULATED:

    @on_device
    def times(a: float, b: float) -> float:
        """Multiply."""
        return a * b

else:
    from numba.cuda import libdevice

    @on_device
    def times(a: float, b: float) -> float:
        """Multiply and round, whatever the product is added to."""
        return libdevice.dmul_rn(a, b)  # type: ignore[no-any-return]


#: The lanes of a warp.
ALL_LANES = 0xFFFFFFFF


@on_device
def reduce_first(first: Any, second: Any, index: Any, here: int, threads: int) -> None:
    """Bring the entry with the greatest (first, second), least index, to the front.

    Entries with a negative index count as none. ``threads`` is a power of two; all of them call
    this, and see the result after it.
    """
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if here < half:
            other = here + half
            if index[other] >= 0 and (
                index[here] < 0
                or first[other] > first[here]
                or (
                    first[other] == first[here]
                    and (
                        second[other] > second[here]
                        or (second[other] == second[here] and index[other] < index[here])
                    )
                )
            ):
                first[here] = first[other]
                second[here] = second[other]
                index[here] = index[other]
        cuda.syncthreads()
        half //= 2
