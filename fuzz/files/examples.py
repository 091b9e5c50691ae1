"""Inputs that found something, as small files: a seed's files of which some are replaced."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fuzz.files.seeds import Seed


def write_example(path: Path, number: int, seed: Seed, files: Mapping[str, bytes]) -> None:
    """Write an example; ``number`` is that of the seed among those of its kind."""
    changed = {name: _text(data) for name, data in files.items() if data != seed.files[name]}
    found = {"kind": seed.kind, "number": number, "files": changed}
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_example(path: Path, seeds: Sequence[Seed]) -> tuple[Seed, dict[str, bytes]]:
    """Return the seed of an example, and its files."""
    found = json.loads(path.read_text(encoding="utf-8"))
    seed = [one for one in seeds if one.kind == found["kind"]][found["number"]]
    return seed, {**seed.files, **{name: _bytes(one) for name, one in found["files"].items()}}


def number_of(seed: Seed, seeds: Sequence[Seed]) -> int:
    """Return the number of a seed among those of its kind."""
    return [one for one in seeds if one.kind == seed.kind].index(seed)


def _text(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _bytes(shown: str | Mapping[str, str]) -> bytes:
    return shown.encode() if isinstance(shown, str) else base64.b64decode(shown["base64"])
