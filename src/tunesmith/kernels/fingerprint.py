"""What a kernel's machine code depends on, as a digest.

The digest covers the bytecode of a kernel, that of all functions it calls, and the global
constants that either uses. Machine code in the cache is used for the same digest only: after an
edit to a kernel, to one that it calls in another file or to a constant, it is compiled again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

OURS = __name__.partition(".")[0]


def fingerprint(function: Callable[..., Any]) -> str:
    """Return the digest of a function and all that it uses, as hexadecimal digits."""
    digest = hashlib.sha256()
    pending: list[Any] = [function]
    known = {id(function)}
    while pending:
        for text, used in _parts(pending.pop()):
            digest.update(text.encode(errors="surrogatepass") + b"\0")
            if used is not None and id(used) not in known:
                known.add(id(used))
                pending.append(used)
    return digest.hexdigest()


def _parts(function: FunctionType) -> list[tuple[str, FunctionType | None]]:
    """Describe a function itself, and everything that it refers to by name."""
    parts: list[tuple[str, FunctionType | None]] = [
        (f"{function.__module__}.{function.__qualname__}", None),
        (_code(function.__code__), None),
        (repr(function.__defaults__), None),
    ]
    names = sorted(_names(function.__code__))
    parts += [_value("cell", cell.cell_contents) for cell in function.__closure__ or ()]
    for name in names:
        if name not in function.__globals__:
            continue  # a builtin, or an attribute of something
        value = function.__globals__[name]
        parts.append(_value(name, value))
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == OURS:
            inside = vars(value)
            parts += [_value(f"{name}.{used}", inside[used]) for used in names if used in inside]
    return parts


def _value(name: str, value: Any) -> tuple[str, FunctionType | None]:
    """Describe a global that a kernel uses; functions are described in turn."""
    function = getattr(value, "py_func", value)
    if isinstance(function, FunctionType):
        options = sorted(getattr(value, "targetoptions", {}).items())
        is_ours = function.__module__.partition(".")[0] not in ("numba", "numpy")
        about = f"{name}={function.__module__}.{function.__qualname__} {options}"
        return about, function if is_ours else None
    if isinstance(value, np.ndarray):
        return f"{name}={value.dtype}{value.shape}{value.tobytes().hex()}", None
    if isinstance(value, type):
        fields = getattr(value, "_fields", ())
        return f"{name}={value.__module__}.{value.__qualname__}{fields}", None
    if isinstance(value, ModuleType | BuiltinFunctionType):
        return f"{name}={value.__name__}", None
    return f"{name}={type(value).__name__} {value!r}", None


def _code(code: CodeType) -> str:
    """Describe what a function does; where it stands in its file does not matter."""
    constants = [_constant(one) for one in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    return f"{code.co_code.hex()} {code.co_argcount} {code.co_flags} {constants} {names}"


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return _code(value)
    # The order of a set is another in every process.
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= _names(one)
    return found
