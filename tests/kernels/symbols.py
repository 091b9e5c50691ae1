"""Which functions compiled kernels hold, by their symbols."""

from __future__ import annotations

import pickle
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from llvmlite import binding

from tunesmith.kernels.cache import read_entry

#: The number that numba gives each function that it compiles, in its symbol.
NUMBER = re.compile(r"B\d+v(\d+)B")


def functions_of(path: Path) -> dict[str, str]:
    """Return the functions that a file of the cache defines, as text without local numbers."""
    entry = read_entry(path)
    assert entry is not None, path
    _, _, (_, bitcode) = pickle.loads(entry[1])[0]
    module = binding.parse_bitcode(bitcode)
    return {one.name: _plain(str(one)) for one in module.functions if not one.is_declaration}


def clashes(paths: Iterable[Path]) -> dict[str, list[str]]:
    """Return the symbols under which different files hold different functions."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in paths:
        for name, code in functions_of(path).items():
            found[name][code].append(path.name)
    return {
        name: [files[0] for files in versions.values()]
        for name, versions in found.items()
        if len(versions) > 1
    }


def numbers_of(path: Path, part: str) -> list[int]:
    """Return the numbers of the functions in a file whose symbols contain something."""
    found = [NUMBER.search(name) for name in functions_of(path) if part in name]
    return [int(one.group(1)) for one in found if one is not None]


def _plain(text: str) -> str:
    text = re.sub(r"[#!]\d+", "", text)  # attributes and metadata of the module
    return re.sub(r"%[-\w.\"]+", "%", text)
