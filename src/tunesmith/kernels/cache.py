"""Machine code of kernels, cached in the user's cache folder.

In the place of numba's own cache, which writes into the installed package, knows nothing of
changes in other files, and whose index two processes can damage. Here each kernel and signature
has a file of its own, whose name and contents say what it was made of: the digest of the kernel
and of all that it calls, the types of its arguments, the versions of Python, numba, llvmlite and
numpy, the processor, and the settings of the compiler. A file that was made of anything else, or
that is not whole, is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import platform
import re
import stat
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config, types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from tunesmith._version import __version__
from tunesmith.errors import TunesmithError
from tunesmith.kernels.fingerprint import fingerprint

#: Names another folder for compiled kernels.
VARIABLE = "TUNESMITH_CACHE_DIR"
SUFFIX = ".kernel"
_MAGIC = b"tunesmith kernel 2\n"
_SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "USING_SVML",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
    "ENABLE_AVX",
    "FORCE_INLINE",
)


class KernelCache(_Cache):  # type: ignore[misc]
    """The compiled versions of one kernel; what numba asks in place of its own cache."""

    #: How many kernels this process has loaded.
    loaded = 0

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._is_enabled = True
        #: What a version was going to be made of when it began to be compiled, by its types.
        self._compiling: dict[str, str] = {}

    @property
    def cache_path(self) -> str:
        """The folder of all kernels."""
        return str(cache_folder())

    def enable(self) -> None:
        """Load and save from here on."""
        self._is_enabled = True

    def disable(self) -> None:
        """Neither load nor save from here on."""
        self._is_enabled = False

    def flush(self) -> None:
        """Forget all versions of this kernel."""
        for path in current_folder().glob(f"{self._stem()}-*{SUFFIX}"):
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any | None:
        """Return the version for a signature; None if it must be compiled."""
        target_context.refresh()
        if not self._is_enabled:
            return None
        key = self._key(sig, target_context.codegen())
        payload = _read(self._path(key), key) if key else None
        if payload is None:
            self._compiling[str(sig)] = key
            return None
        try:
            loaded = self._rebuild(target_context, payload)
        except (pickle.UnpicklingError, AttributeError, ImportError, TypeError, ValueError):
            self._compiling[str(sig)] = key
            return None
        KernelCache.loaded += 1
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a version that was just compiled, if the folder can be written."""
        if not self._is_enabled or not self._can_be_kept(data):
            return
        # A constant that was changed meanwhile may or may not be in the code.
        key = self._key(sig, data.codegen)
        if not key or self._compiling.pop(str(sig), None) != key:
            return
        if is_writable():
            _write(self._path(key), key, self._reduced(data))
        else:
            _warn(cache_folder())

    # What other compilers do otherwise.

    def _can_be_kept(self, data: Any) -> bool:
        """Tell whether nothing points into the memory of this process."""
        return not data.lifted and not data.library.has_dynamic_globals

    def _reduced(self, data: Any) -> bytes:
        reduced: bytes = dumps(data._reduce())
        return reduced

    def _rebuild(self, target_context: Any, payload: bytes) -> Any:
        return CompileResult._rebuild(target_context, *pickle.loads(payload))

    def _compiler(self) -> str:
        return compiler()

    def _key(self, sig: Any, codegen: Any) -> str:
        """Return everything that the machine code depends on; nothing if that cannot be told."""
        made_of = fingerprint(self._kernel)
        if made_of is None:
            return ""
        arguments = getattr(sig, "args", sig)
        described = ", ".join(map(_type_name, arguments))
        where = " ".join(map(str, codegen.magic_tuple()))
        return f"{self._stem()}({described})\n{made_of}\n{self._compiler()}\n{where}\n"

    def _stem(self) -> str:
        function = self._kernel.py_func
        name = f"{function.__module__}.{function.__qualname__}"
        return re.sub(r"[^\w.]", "_", name.removeprefix("tunesmith."))

    def _path(self, key: str) -> Path:
        digest = hashlib.sha256(key.encode()).hexdigest()
        return current_folder() / f"{self._stem()}-{digest[:20]}{SUFFIX}"


def cache_folder() -> Path:
    """Return the folder of everything that can be computed again."""
    return _folder(os.environ.get(VARIABLE))


@cache  # a relative one is meant from where the process began
def _folder(path: str | None) -> Path:
    if path:
        try:
            return Path(path).expanduser().absolute()
        except (OSError, RuntimeError):  # no such user, or no current folder
            raise TunesmithError(
                f"{VARIABLE} is '{path}', which is no folder; name one, or leave it unset"
            ) from None
    import platformdirs

    return Path(platformdirs.user_cache_dir("tunesmith", appauthor=False))


def current_folder() -> Path:
    """Return the folder of the kernels of this version, for this processor and these libraries."""
    return cache_folder() / "kernels" / _folder_name()


@cache
def compiler() -> str:
    """Describe what turns kernels into machine code."""
    python = f"{platform.python_implementation()} {sys.version_info[:3]} {sys.abiflags}"
    settings = " ".join(f"{name}={getattr(config, name, None)}" for name in _SETTINGS)
    return (
        f"tunesmith {__version__}, {python}, numba {numba.__version__}, "
        f"llvmlite {llvmlite.__version__}, numpy {np.__version__}, {settings}"
    )


@cache
def _folder_name() -> str:
    from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

    processor = config.CPU_NAME or get_host_cpu_name()
    features = config.CPU_FEATURES or get_host_cpu_features().flatten()
    digest = hashlib.sha256(f"{compiler()} {processor} {features}".encode()).hexdigest()
    return re.sub(r"[^\w.-]", "_", f"{__version__}-{processor}-{digest[:12]}")


def is_writable() -> bool:
    """Tell whether kernels can be cached: in a folder of this user that nobody else can write.

    Whoever can write a file here has it run by us.
    """
    return _is_writable(current_folder())


@cache
def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return _is_ours(folder)
    except OSError:
        return False


@cache
def _warn(folder: Path) -> None:
    """Warn, once for a folder, that compiled kernels cannot be cached."""
    message = (
        f"{folder}: compiled kernels cannot be kept there, so that every command compiles "
        f"them again; set {VARIABLE} to a folder of yours"
    )
    warnings.warn(message, stacklevel=2)


def clear() -> tuple[int, int]:
    """Remove all compiled kernels, of all versions; return how many there were, and their bytes.

    What is not a kernel of ours stays, and so do folders that something else is in.
    """
    folder = cache_folder() / "kernels"
    count = size = 0
    for path in sorted(folder.glob(f"*/*{SUFFIX}")) + sorted(folder.glob("*/.*.tmp")):
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            size += path.stat().st_size
            path.unlink()
            count += path.suffix == SUFFIX
    for below in (*folder.glob("*/"), folder, folder.parent):
        with contextlib.suppress(OSError):  # something else is in it, or it is not there
            below.rmdir()
    _is_writable.cache_clear()
    _is_ours.cache_clear()
    return count, size


@cache
def _is_ours(folder: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    others = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid == os.getuid() and not status.st_mode & others


def read_entry(path: Path) -> tuple[str, bytes] | None:
    """Return what a file was made of, and its contents; None unless it is whole and ours."""
    try:
        data = path.read_bytes()
        if not _is_ours(path.parent):
            return None
    except OSError:
        return None
    begin = len(_MAGIC) + 32
    body = data[begin:]
    if data[:begin] != _MAGIC + hashlib.sha256(body).digest():
        return None
    key, _, payload = body.partition(b"\0")
    return key.decode(), payload


def _read(path: Path, key: str) -> bytes | None:
    entry = read_entry(path)
    return entry[1] if entry is not None and entry[0] == key else None


def _write(path: Path, key: str, payload: bytes) -> None:
    """Write a file whole or not at all; whoever comes last wins, with the same code."""
    body = key.encode() + b"\0" + payload
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(body).digest() + body)
        os.replace(temporary, path)
    except OSError:  # a full disk, say: it is compiled again next time
        _remove(temporary)
    except BaseException:
        _remove(temporary)
        raise


def _remove(temporary: str | None) -> None:
    if temporary is not None:
        Path(temporary).unlink(missing_ok=True)


def _type_name(of: Any) -> str:
    """Name a type; numba's own names say nothing of the module of a class."""
    if isinstance(of, types.BaseNamedTuple):
        inner = ", ".join(map(_type_name, of.types))
        owner = of.instance_class
        return f"{owner.__module__}.{owner.__qualname__}{owner._fields}({inner})"
    if isinstance(of, types.BaseTuple):
        return f"({', '.join(map(_type_name, of.types))})"
    return str(of)
