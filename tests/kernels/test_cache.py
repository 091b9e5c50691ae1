"""What the cache of compiled kernels uses, and what it does not."""

from __future__ import annotations

import enum
import importlib
import importlib.util
import math
import os
import pkgutil
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

import tunesmith
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
    assert len(files(own_folder)) == 1  # what it calls has no code of its own
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


def test_a_constant_that_changes_between_two_versions(modules: Modules):
    first = modules.load()
    assert first(5) == 16
    inner = sys.modules[modules.name]
    inner.FACTOR = 4  # numba has the old one in what it has compiled, and takes the new one now
    assert inner.times(5.0) == 20.0
    modules.load()
    assert sys.modules[modules.name].times(5.0) == 15.0


def test_options_of_the_compiler_count(modules: Modules):
    def divided(x: float, y: float) -> float:
        return x / y

    def compiled(model: str) -> Any:
        found = numba.njit(error_model=model)(divided)
        found._cache = cache.KernelCache(found)
        return found

    assert compiled("numpy")(1.0, 0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        compiled("python")(1.0, 0.0)


def test_contents_that_cannot_be_loaded_are_compiled_again(modules: Modules, own_folder: Path):
    assert modules.load()(5) == 16
    outer = next(one for one in files(own_folder) if one.name.startswith("outer.both"))
    key, _ = cache.read_entry(outer) or ("", b"")
    cache._write(outer, key, b"not a pickle")
    again = modules.load()
    assert again(5) == 16
    assert hits(again) == 0


def test_a_comment_changes_nothing(modules: Modules):
    assert modules.load()(5) == 16
    modules.inner = "# a comment\n" + INNER
    again = modules.load()
    assert again(5) == 16
    assert hits(again) == 1


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "of another"])
def test_damaged_files_are_not_used(modules: Modules, own_folder: Path, damage: str):
    assert modules.load()(5) == 16
    assert sys.modules[modules.name].times(5) == 15
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


@pytest.mark.long
def test_several_processes_at_once(tmp_path: Path, own_folder: Path):
    """All begin when the last of them is there, and compile the same kernels."""
    program = (
        "import sys, os, time, pathlib\n"
        "from tunesmith.kernels.sorting import kth_smallest, sorted_copy\n"
        "import numpy as np\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "(here / f'ready-{os.getpid()}').touch()\n"
        "while len(list(here.glob('ready-*'))) < 3: time.sleep(0.01)\n"
        "print(sorted_copy(np.array([3, 1, 2])), kth_smallest(np.array([3., 1., 2.]), 1))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [one.communicate()[0] for one in running]
    assert printed == ["[1 2 3] 2.0\n"] * 3
    assert all(cache.read_entry(one) is not None for one in files(own_folder))
    assert not list(own_folder.rglob(".*.tmp"))


def test_everything_is_removed(modules: Modules, own_folder: Path):
    modules.load()(5)
    size = sum(one.stat().st_size for one in files(own_folder))
    assert cache.clear() == (1, size)
    assert not own_folder.exists()
    assert cache.clear() == (0, 0)
    assert modules.load()(5) == 16


def test_what_else_is_in_the_folder_stays(modules: Modules, own_folder: Path):
    modules.load()(5)
    others = [own_folder / "mine", own_folder / "kernels" / "cuda" / "mine.cu"]
    others[1].parent.mkdir()
    for one in others:
        one.write_text("mine")
    assert cache.clear()[0] == 1
    assert [one for one in sorted(own_folder.rglob("*")) if one.is_file()] == sorted(others)


@pytest.mark.long
def test_fingerprints_do_not_depend_on_the_process():
    program = (
        "from tunesmith.inference.lists.envelope import envelope\n"
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


class Pair(NamedTuple):
    """Two numbers."""

    a: int
    b: int = 1


def test_constants_of_all_kinds_count():
    def with_global(value: object) -> str | None:
        names: dict[str, Any] = {"VALUE": value}
        exec("def f(x):\n    return x + VALUE", names)
        return fingerprint(names["f"])

    large = np.zeros(2000)
    other = large.copy()
    other[1000] = 1e-12
    values = [1, 1.0, True, np.int32(1), np.float32(1), (1,), np.array([1]), np.array([1.0]), "1"]
    values += [(large,), (other,), np.int32, Pair, math.floor, np.exp]
    found = {with_global(value) for value in values}
    assert None not in found
    assert len(found) == len(values)


def test_what_cannot_be_told_has_no_fingerprint():
    class Kind(enum.IntEnum):
        ONE = 1

    for value in (Kind, Kind.ONE, {"a": 1}, [1], object()):
        names: dict[str, Any] = {"VALUE": value}
        exec("def f(x):\n    return VALUE", names)
        assert fingerprint(names["f"]) is None


def test_defaults_closures_and_modules_count():
    def made(default: int, bound: int, keyword: int, constant: int) -> str | None:
        module = ModuleType("of_a_user")
        module.CONSTANT = constant
        names: dict[str, Any] = {"module": module}
        text = (
            f"def outer(bound):\n    def f(x, y={default}, *, z={keyword}):\n"
            "        return x + y + z + bound + module.CONSTANT\n    return f"
        )
        exec(text, names)
        return fingerprint(names["outer"](bound))

    found = {
        made(1, 1, 1, 1),
        made(2, 1, 1, 1),
        made(1, 2, 1, 1),
        made(1, 1, 2, 1),
        made(1, 1, 1, 2),
    }
    assert None not in found
    assert len(found) == 5


def test_every_kernel_has_a_fingerprint():
    without = []
    for info in pkgutil.walk_packages(tunesmith.__path__, "tunesmith."):
        if ".integrations." in info.name or info.name.endswith(("__main__", "ray_worker")):
            continue  # no kernels, and what they need may not be there
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if isinstance(value, CPUDispatcher) and fingerprint(value) is None:
                without.append(f"{info.name}.{name}")
    assert without == []


def test_the_cache_of_a_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    platformdirs = pytest.importorskip("platformdirs")
    monkeypatch.delenv(cache.VARIABLE)
    assert cache.cache_folder() == Path(platformdirs.user_cache_dir("tunesmith", appauthor=False))
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "x"))
    assert cache.cache_folder() == tmp_path / "x"
    shutil.rmtree(tmp_path / "x", ignore_errors=True)
