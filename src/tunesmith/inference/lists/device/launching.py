"""Kernels launched again and again with the same arrays, and copies without ceremony.

A line search is a handful of short kernels. numba-cuda looks at every argument of every launch,
which takes longer than they do. So what it passes to a kernel is remembered after the first launch,
and passed as it is from then on. The arrays must stay where they are.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
from numba import cuda

from tunesmith.errors import TunesmithError
from tunesmith.inference.lists.device.compiling import SIMULATED

if not SIMULATED:
    from cuda.bindings import driver  # type: ignore[import-untyped]
    from cuda.core import LaunchConfig, launch  # type: ignore[import-untyped]

#: Whether launches pass by what numba-cuda does for each; off for comparison.
DIRECT = not SIMULATED

_threads = threading.local()


def attach() -> None:
    """Make the GPU's context that of this thread, as copies and direct launches need it."""
    if not getattr(_threads, "is_attached", False):
        cuda.current_context()
        _threads.is_attached = True


class Launch:
    """A kernel with its arguments.

    Parameters
    ----------
    kernel
        What is launched.
    arguments
        Arrays on the device, and integers.
    """

    def __init__(self, kernel: Any, *arguments: Any) -> None:
        self._kernel, self._arguments = kernel, arguments
        self._compiled: tuple[Any, Any, list[Any]] | None = None
        self._shapes: dict[tuple[int, int, int], Any] = {}

    def __call__(self, blocks: int, lines: int, threads: int) -> None:
        """Launch, with a grid of blocks by lines."""
        if self._compiled is None:
            self._launch_anyhow(blocks, lines, threads)
            return
        shape = blocks, lines, threads
        config = self._shapes.get(shape)
        if config is None:
            config = LaunchConfig(grid=(blocks, lines, 1), block=(threads, 1, 1))
            self._shapes[shape] = config
        stream, compiled, passed = self._compiled
        launch(stream, config, compiled, *passed)

    def _launch_anyhow(self, blocks: int, lines: int, threads: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few blocks
            configured = self._kernel[(blocks, lines), threads]
        seen: list[Any] = []
        if DIRECT:
            configured.pre_launch_callbacks.append(lambda kernel, _: seen.append(kernel))
        configured(*self._arguments)
        if seen:
            kernel = seen[-1]
            passed: list[Any] = []
            for kind, value in zip(kernel.argument_types, self._arguments, strict=True):
                kernel._prepare_args(kind, value, 0, [], passed)
            self._compiled = configured.stream, kernel._codelibrary.get_cufunc().kernel, passed


class Pair:
    """An array on the device, and one of the same shape on the processor that copies go through."""

    def __init__(self, shape: tuple[int, ...], kind: Any = np.float64) -> None:
        self.there = cuda.device_array(shape, kind)
        self.here = cuda.pinned_array(shape, kind)
        self.here[...] = 0
        self._from = self.here.ctypes.data
        self._row = self.here[:1].nbytes
        self._to = 0 if SIMULATED else self.there.__cuda_array_interface__["data"][0]

    def send(self, rows: int) -> None:
        """Copy the first rows to the device."""
        attach()
        if not DIRECT:
            self.there[:rows].copy_to_device(self.here[:rows])
            return
        _check(driver.cuMemcpyHtoDAsync(self._to, self._from, rows * self._row, 0)[0])

    def fetch(self, rows: int) -> Any:
        """Copy the first rows from the device, when all that was launched is over."""
        if not DIRECT:
            self.there[:rows].copy_to_host(self.here[:rows])
        else:
            _check(driver.cuMemcpyDtoH(self._from, self._to, rows * self._row)[0])
        return self.here[:rows].copy()

    def clear(self, rows: int) -> None:
        """Fill the first rows, of numbers of 4 bytes, with zeros on the device."""
        if not DIRECT:
            self.there[:rows].copy_to_device(np.zeros(rows, self.here.dtype))
            return
        _check(driver.cuMemsetD32Async(self._to, 0, rows * self._row // 4, 0)[0])


def _check(result: Any) -> None:
    if int(result) != 0:
        raise TunesmithError(f"the GPU failed: {result.name}; run it again, or use --device cpu")
