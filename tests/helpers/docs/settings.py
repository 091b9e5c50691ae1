"""What a page needs so that its blocks can run: files beside the bundled lists, smaller numbers.

A page ``docs/tutorials/neural-lists.md`` has its settings in the module
``tests/docs/fixtures/tutorials_neural_lists.py``. All of them may be left out:

``SENTENCES``
    How many sentences of the bundled lists are laid, 40 if it is not said; None lays all, for
    pages that show what they come to.
``SHORTER``
    Texts of commands and of Python that are replaced so that they take less time. What the page
    shows of such a command's output is not compared.
``NOT_COMPARED``
    Why nothing that the page shows of outputs is compared; the commands run all the same.
``EVERY_BLOCK_ANEW``
    Every block of commands begins where the page does: its ``cd`` does not hold for the next.
``lay(folder)``
    Writes what the page speaks of.
``after(folder)``
    Checks what the page's commands have left behind.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Sentences of the bundled lists on pages that show no scores.
FEW = 40


def _nothing(_: Path) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Settings:
    """What a page's module says; see above."""

    sentences: int | None = FEW
    shorter: Mapping[str, str] = field(default_factory=dict)
    not_compared: str = ""
    every_block_anew: bool = False
    lay: Callable[[Path], None] = _nothing
    after: Callable[[Path], None] = _nothing


def module_name(page: Path) -> str:
    """Return the name of the module with a page's settings."""
    parts = page.with_suffix("").parts
    return "_".join(parts[1:] if parts[0] == "docs" else parts).replace("-", "_").lower()


def settings_of(page: Path) -> Settings:
    """Return the settings of a page; the defaults where it has no module."""
    name = f"tests.docs.fixtures.{module_name(page)}"
    if importlib.util.find_spec(name) is None:
        return Settings()
    said = vars(importlib.import_module(name))
    known = {f: said[f.upper()] for f in Settings.__dataclass_fields__ if f.upper() in said}
    known |= {f: said[f] for f in ("lay", "after") if f in said}
    return Settings(**known)
