"""What a kernel's machine code depends on, as a digest.

The digest covers the bytecode of a kernel, that of all functions it calls, the options that they
are compiled with, and the global constants that they use. Machine code in the cache is used for
the same digest only: after an edit to a kernel, to one that it calls in another file or to a
constant, it is compiled again. A kernel that uses anything whose value cannot be told has no
digest, and is not cached.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

#: Modules whose contents their versions tell, and whose attributes need no looking into.
LIBRARIES = ("numpy", "numba", "math", "builtins")


#: What ``repr`` describes exactly; not their subclasses, such as enumerations.
PLAIN = (type(None), bool, int, float, complex, str, bytes)


class _UnknownValue(Exception):  # noqa: N818
    """A kernel uses something whose value cannot be told."""


def fingerprint(kernel: Callable[..., Any]) -> str | None:
    """Return the digest of a kernel, or of a plain function, and of all that it uses.

    None says that it uses something that cannot be told.
    """
    digest = hashlib.sha256()
    pending, known = [kernel], {id(_function(kernel))}
    try:
        while pending:
            for part in _parts(pending.pop()):
                if isinstance(part, str):
                    digest.update(part.encode(errors="surrogatepass") + b"\0")
                elif id(_function(part)) not in known:
                    known.add(id(_function(part)))
                    pending.append(part)
    except _UnknownValue:
        return None
    return digest.hexdigest()


def _function(of: Any) -> FunctionType:
    """Return the Python function of a kernel, or of a plain function."""
    function = getattr(of, "py_func", of)
    if not isinstance(function, FunctionType):
        raise _UnknownValue
    return function


def _parts(kernel: Any) -> Iterator[Any]:
    """Yield descriptions of a function and of what it refers to, and the functions among that."""
    function = _function(kernel)
    yield f"{function.__module__}.{function.__qualname__}"
    yield repr(sorted(getattr(kernel, "targetoptions", {}).items()))
    yield _code(function.__code__)
    yield _value((function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items()))))
    names = sorted(_names(function.__code__))
    for cell in function.__closure__ or ():
        yield from _named("cell", cell.cell_contents, names)
    for name in names:
        if name in function.__globals__:  # otherwise a builtin, or an attribute of something
            yield from _named(name, function.__globals__[name], names)


def _named(name: str, value: Any, names: list[str]) -> Iterator[Any]:
    """Yield what a name stands for; of modules of ours and of users, what is used of them."""
    if isinstance(value, ModuleType):
        yield f"{name}={value.__name__}"
        if value.__name__.partition(".")[0] not in LIBRARIES:
            inside = vars(value)
            for used in names:
                if used in inside and inside[used] is not value:
                    yield from _named(f"{name}.{used}", inside[used], names)
    elif isinstance(getattr(value, "py_func", value), FunctionType):
        yield f"{name}="
        if _function(value).__module__.partition(".")[0] in LIBRARIES:
            yield _function(value).__qualname__
        else:
            yield value
    else:
        yield f"{name}={_value(value)}"


def _value(value: Any) -> str:
    """Describe a value exactly."""
    if type(value) in PLAIN:
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufc":
        return f"{type(value).__name__} {value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return f"dtype {value.str}"
    if type(value) is tuple:
        return f"({', '.join(map(_value, value))})"
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, BuiltinFunctionType | np.ufunc):
        return f"{type(value).__name__} {value.__name__}"
    if type(value).__module__.partition(".")[0] == "numba":  # a type of numba's
        return f"numba {value}"
    raise _UnknownValue


def _class(value: type) -> str:
    """Describe a class that a kernel may use: a type of numbers, or a named tuple."""
    name = f"{value.__module__}.{value.__qualname__}"
    if issubclass(value, tuple) and hasattr(value, "_fields"):
        defaults = tuple(sorted(getattr(value, "_field_defaults", {}).items()))
        return f"{name}{value._fields}{_value(defaults)}"
    if value.__module__.partition(".")[0] in LIBRARIES:
        return name
    raise _UnknownValue


@cache
def _code(code: CodeType) -> str:
    """Describe what a function does; where it stands in its file does not matter."""
    constants = [_constant(constant) for constant in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    return f"{code.co_code.hex()} {code.co_argcount} {code.co_flags} {constants} {names}"


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return _code(value)
    # The order of a set is another in every process.
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)


@cache
def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names
