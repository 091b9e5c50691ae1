"""What the cache of compiled kernels uses, and what it does not."""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from tunesmith.kernels import cache
from tunesmith.kernels.fingerprint import fingerprint

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

INNER = """
from tunesmith.kernels import inlined, kernel

FACTOR = 3

@kernel
def times(x):
    return FACTOR * x

@inlined
def plus(x):
    return x + 1
"""
OUTER = """
import {inner}
from {inner} import plus, times
from tunesmith.kernels import kernel

@kernel
def both(x):
    return plus(times(x))
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let kernels be kept in a folder of this test."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache"
    monkeypatch.undo()
    forget()


def forget() -> None:
    for one in (cache._is_writable, cache._is_ours, cache._warn):
        one.cache_clear()


class Modules:
    """Modules of a test, which are written and loaded again and again, as processes would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"inner_{folder.name}".replace("-", "_")
        self.inner = INNER

    def load(self) -> Any:
        """Return the kernel as a new process would have it."""
        for name, text in (("outer", OUTER.format(inner=self.name)), (self.name, self.inner)):
            (self.folder / f"{name}.py").write_text(text)
        self._loaded(self.name)
        return self._loaded("outer").both

    def _loaded(self, name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, self.folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        # Not from bytecode on disk, whose time stamps have seconds.
        source = (self.folder / f"{name}.py").read_text()
        exec(compile(source, str(self.folder / f"{name}.py"), "exec"), module.__dict__)
        return module


@pytest.fixture
def modules(tmp_path: Path) -> Iterator[Modules]:
    made = Modules(tmp_path)
    yield made
    for name in (made.name, "outer"):
        sys.modules.pop(name, None)


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{cache.SUFFIX}"))


def test_what_was_compiled_is_loaded(modules: Modules, own_folder: Path):
    first = modules.load()
    assert first(5) == 16
    assert hits(first) == 0
    assert len(files(own_folder)) == 2  # an inlined function has no code of its own
    second = modules.load()
    assert second(5) == 16
    assert hits(second) == 1
    assert second(5.0) == 16.0  # other types are another version
    assert hits(second) == 1


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("FACTOR * x", "FACTOR * x + 7", 23),  # a kernel in another file
        ("FACTOR = 3", "FACTOR = 4", 21),  # a constant that it uses
        ("x + 1", "x + 2", 17),  # what is copied into it
    ],
)
def test_stale_code_is_never_used(modules: Modules, before: str, after: str, expected: int):
    assert modules.load()(5) == 16
    modules.inner = INNER.replace(before, after)
    changed = modules.load()
    assert changed(5) == expected
    assert hits(changed) == 0


def test_a_comment_changes_nothing(modules: Modules):
    assert modules.load()(5) == 16
    modules.inner = "# a comment\n" + INNER
    again = modules.load()
    assert again(5) == 16
    assert hits(again) == 1


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "of another"])
def test_damaged_files_are_not_used(modules: Modules, own_folder: Path, damage: str):
    assert modules.load()(5) == 16
    outer = next(one for one in files(own_folder) if one.name.startswith("outer.both"))
    inner = next(one for one in files(own_folder) if one != outer)
    data = outer.read_bytes()
    changed = {
        "cut": data[: len(data) // 2],
        "flipped": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
        "empty": b"",
        "of another": inner.read_bytes(),
    }
    outer.write_bytes(changed[damage])
    again = modules.load()
    assert again(5) == 16
    assert hits(again) == 0
    third = modules.load()  # it was written anew
    assert third(5) == 16
    assert hits(third) == 1


@pytest.mark.parametrize("of", ["tunesmith", "numba", "llvmlite", "numpy", "CPython", "OPT"])
def test_code_of_another_version_is_not_used(
    modules: Modules, monkeypatch: pytest.MonkeyPatch, of: str
):
    assert modules.load()(5) == 16
    described = cache.compiler()
    assert of in described
    monkeypatch.setattr(cache, "compiler", lambda: described.replace(of, f"{of} other"))
    again = modules.load()
    assert again(5) == 16
    assert hits(again) == 0


def test_code_for_another_processor_is_not_used(modules: Modules, own_folder: Path):
    kernel = modules.load()
    kernel(5)
    codegen = kernel.targetctx.codegen()
    own = kernel._cache._key((numba.int64,), codegen)

    class Other:
        def magic_tuple(self) -> tuple[str, str, str]:
            triple, name, features = codegen.magic_tuple()
            return triple, name, features + ",+another"

    assert kernel._cache._key((numba.int64,), Other()) != own


def test_a_folder_that_others_can_write_is_not_trusted(modules: Modules, own_folder: Path):
    modules.load()(5)
    folder = files(own_folder)[0].parent
    folder.chmod(folder.stat().st_mode | stat.S_IWOTH)
    forget()
    again = modules.load()
    with pytest.warns(UserWarning, match="compiled kernels cannot be kept"):
        assert again(5) == 16
    assert hits(again) == 0


def test_a_folder_that_cannot_be_written_is_told_once(
    modules: Modules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file" / "below"))
    forget()
    with pytest.warns(UserWarning, match="every command compiles them again") as told:
        assert modules.load()(5) == 16
    assert len(told) == 1
    assert cache.VARIABLE in str(told[0].message)


def test_several_threads_write_at_once(modules: Modules, own_folder: Path):
    kernels = [modules.load() for _ in range(4)]
    found: list[int] = []
    threads = [threading.Thread(target=lambda k=k: found.append(k(5))) for k in kernels]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [16] * 4
    assert len(files(own_folder)) == 2
    assert not list(own_folder.rglob(".*.tmp"))


def test_everything_is_removed(modules: Modules, own_folder: Path):
    modules.load()(5)
    size = sum(one.stat().st_size for one in files(own_folder))
    assert cache.clear() == (2, size)
    assert not own_folder.exists()
    assert cache.clear() == (0, 0)
    assert modules.load()(5) == 16


def test_what_else_is_in_the_folder_stays(modules: Modules, own_folder: Path):
    modules.load()(5)
    (own_folder / "mine").write_text("mine")
    cache.clear()
    assert [one.name for one in own_folder.iterdir()] == ["mine"]


@pytest.mark.long
def test_fingerprints_do_not_depend_on_the_process():
    program = (
        "from tunesmith.inference.envelope import envelope\n"
        "from tunesmith.kernels.fingerprint import fingerprint\n"
        "print(fingerprint(envelope.py_func))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_constants_of_all_kinds_count():
    def with_global(value: object) -> str:
        names: dict[str, Any] = {"VALUE": value}
        exec("def f(x):\n    return x + VALUE", names)
        return fingerprint(names["f"])

    values = [1, 1.0, True, np.int32(1), np.float32(1), (1,), np.array([1]), np.array([1.0]), "1"]
    assert len({with_global(value) for value in values}) == len(values)


def test_the_cache_of_a_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    platformdirs = pytest.importorskip("platformdirs")
    monkeypatch.delenv(cache.VARIABLE)
    assert cache.cache_folder() == Path(platformdirs.user_cache_dir("tunesmith", appauthor=False))
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "x"))
    assert cache.cache_folder() == tmp_path / "x"
    shutil.rmtree(tmp_path / "x", ignore_errors=True)
