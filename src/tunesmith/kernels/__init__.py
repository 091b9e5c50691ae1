"""The decorators of all compiled loops.

``cache`` keeps machine code on disk, ``fingerprint`` says of which code it was made, ``linking``
puts kernels into those that call them, and ``compiling`` knows how long compiling took.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import types
from numba.core.registry import CPUDispatcher

from tunesmith.kernels.cache import KernelCache
from tunesmith.kernels.compiling import watch_compiler
from tunesmith.kernels.linking import call_linked
from tunesmith.kernels.numbering import number_uniquely

F = TypeVar("F", bound=Callable[..., Any])

number_uniquely()
watch_compiler()


def kernel(function: F) -> F:
    """Compile a loop over arrays, without the GIL, and keep the machine code on disk.

    No fast-math: comparisons mean what they say, and a kernel gives the same compiled and
    interpreted (``NUMBA_DISABLE_JIT=1``), up to the last digit of a logarithm.
    """
    return _compile(function, inline="never")


def inlined(function: F) -> F:
    """Compile a few operations on numbers that are copied into other kernels.

    A kernel that comes from the cache on disk is called, which is too much for what runs
    once per byte. Not for arrays: their reference counts would be touched at every copy.
    """
    return _compile(function, inline="always")


def _compile(function: F, inline: str) -> F:
    options: dict[str, Any] = {"inline": inline, "nogil": True, "error_model": "numpy"}
    # Nobody passes a kernel to another as a value: the wrapper for that is not compiled.
    dispatcher: Any = numba.njit(no_cfunc_wrapper=True, **options)(function)
    if isinstance(dispatcher, CPUDispatcher):  # with NUMBA_DISABLE_JIT the function itself
        # What ``cache=True`` does, with our own cache in place of numba's.
        dispatcher._cache = KernelCache(dispatcher)
        call_linked(dispatcher, _plain_type, options)
    return dispatcher  # type: ignore[no-any-return]


def _plain_type(of: Any) -> Any:
    """Let calls from other kernels that differ only in the types of numbers use one version.

    numba would compile a kernel once more for each constant that it is called with, and for
    numbers of 32 bits beside those of 64.
    """
    of = types.unliteral(of)
    return types.int64 if isinstance(of, types.Integer) and of.signed else of
