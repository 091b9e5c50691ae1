"""Every public name is in the reference, and its docstring says what its parameters are."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tunesmith
import tunesmith.testing
from tests.helpers.docs.blocks import ROOT, pages

PAGE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
NAMED = re.findall(r"^   (tunesmith\.[\w.]+)$", PAGE, flags=re.MULTILINE)
PUBLIC = [
    *(f"tunesmith.{name}" for name in tunesmith.__all__ if name != "__version__"),
    *(f"tunesmith.testing.{name}" for name in tunesmith.testing.__all__),
]


def of_integrations() -> set[str]:
    """Return what pages import from the modules for other libraries."""
    found = set()
    for page in pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        imports = re.findall(r"from (tunesmith\.integrations\.\w+) import ([\w, ]+)", text)
        found |= {f"{home}.{name}" for home, names in imports for name in names.split(", ")}
    return found


def value_of(name: str) -> Any:
    home, _, last = name.rpartition(".")
    return getattr(importlib.import_module(home), last)


def parameters_of(value: Any) -> list[str]:
    """Return the names of what a function or class is made with, which its text must say.

    Options of plug-ins say it themselves, in their help.
    """
    if dataclasses.is_dataclass(value):
        # What is neither compared nor shown is state, which a loop sets, and no option.
        fields = (f for f in dataclasses.fields(value) if f.init and (f.compare or f.repr))
        return [field.name for field in fields if not field.metadata.get("help")]
    if inspect.isclass(value) and issubclass(value, BaseException):
        return []
    kinds = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    parameters = inspect.signature(value).parameters.values()
    return [one.name for one in parameters if one.kind not in kinds]


def test_every_public_name_is_in_the_reference_once() -> None:
    assert sorted(NAMED) == sorted(set(NAMED))
    missing = {*PUBLIC, *of_integrations()} - set(NAMED)
    assert missing == set(), "add them to their group in docs/reference.md"
    others = {name for name in set(NAMED) - set(PUBLIC) if ".integrations." not in name}
    assert others == set(), "these are not public"
    assert all(callable(value_of(name)) for name in NAMED)


def examples() -> Iterator[tuple[str, str]]:
    """Yield the names and the code of every example."""
    text = (ROOT / "docs" / "examples" / "reference.py").read_text(encoding="utf-8")
    for names, code in re.findall(
        r"^# === ([^\n]*)\n(.*?)(?=^# ===|\Z)", text, flags=re.DOTALL | re.MULTILINE
    ):
        if "NAME" not in code:
            yield names, code
        else:
            yield from ((name, code.replace("NAME", name)) for name in names.split(", "))


def test_examples_are_of_public_names() -> None:
    names = [name for names, _ in examples() for name in names.split(", ")]
    assert len(names) == len(set(names)) > 50
    assert set(names) <= set(tunesmith.__all__)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("names", "code"), list(examples()), ids=lambda text: text.split(",")[0][:20]
)
def test_an_example_runs(
    names: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(re.search(rf"\bts\.{name}\b|\.{name}\b", code) for name in names.split(", "))
    folders = (ROOT / "src" / "tunesmith" / "bundled", ROOT / "docs" / "examples" / "decoder")
    for path in (path for folder in folders for path in folder.iterdir() if path.is_file()):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, names, "exec"), {"__name__": "example"})


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_says_what_parameters_are(name: str) -> None:
    value = value_of(name)
    said = inspect.getdoc(value) or ""
    assert "__doc__" in vars(value) or not inspect.isclass(value)
    assert len(said.split()) >= 3
    missing = [one for one in parameters_of(value) if not re.search(rf"\b{one}\b", said)]
    assert missing == []
