"""Which device is taken, and what is said where none can be."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Iterator

import pytest

import tunesmith as ts
from tunesmith.errors import UsageError
from tunesmith.parallel import device as devices
from tunesmith.parallel.choice import engine_of
from tunesmith.parallel.device import (
    check_cuda,
    current_device,
    is_demanded,
    say_that_a_gpu_searches,
    takes_gpu,
)
from tunesmith.parallel.engine import working_on

LARGE = devices.LEAST_CANDIDATES


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a GPU, as far as is asked."""
    monkeypatch.setattr(devices, "why_no_cuda", lambda: None)
    monkeypatch.setattr(devices, "_told", set())
    monkeypatch.delenv(devices.VARIABLE, raising=False)
    return


def fake_numba_cuda(monkeypatch: pytest.MonkeyPatch, **members: object) -> None:
    """Have a package of that name, whatever it does."""
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: object() if name == "numba_cuda" else known(name, *rest),
    )
    module = types.ModuleType("numba.cuda")
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, "numba.cuda", module)
    monkeypatch.setattr(sys.modules["numba"], "cuda", module, raising=False)


def test_the_device_that_is_asked_for_is_in_force_within_the_block(gpu: None) -> None:
    assert current_device() == "auto"
    with ts.device("cuda"):
        assert current_device() == "cuda"
        with ts.device("cpu"):
            assert current_device() == "cpu"
            assert not takes_gpu(10 * LARGE)
        with ts.device(None):
            assert current_device() == "cuda"
        assert takes_gpu(1)
    assert current_device() == "auto"


def test_the_variable_is_the_usual_choice(gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.VARIABLE, "cuda")
    assert takes_gpu(1)
    assert not is_demanded()
    with ts.device("cuda"):
        assert is_demanded()
    with ts.device("cpu"):
        assert not takes_gpu(LARGE)


def test_auto_takes_a_gpu_for_large_sets_and_says_so_once(
    gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    monkeypatch.setattr(devices, "tell", lambda text, is_detail: messages.append(text))
    assert not takes_gpu(LARGE - 1)
    assert takes_gpu(LARGE)
    with ts.device("cuda"):
        say_that_a_gpu_searches()
    assert messages == []
    say_that_a_gpu_searches()
    say_that_a_gpu_searches()
    assert messages == [
        "a GPU searches the lists; --device cpu leaves them to the processor",
    ]


@pytest.mark.long
def test_worker_processes_and_a_gpu_exclude_each_other(gpu: None) -> None:
    with engine_of("processes", workers=1) as engine, working_on(engine):
        assert not takes_gpu(LARGE)
        with ts.device("cuda"), pytest.raises(UsageError, match="drop --engine"):
            takes_gpu(1)


@pytest.mark.parametrize("name", ["gpu", "CUDA", ""])
def test_an_unknown_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(UsageError, match=f"device is '{name}'; give cpu, cuda or auto"),
        ts.device(name),
    ):
        pass
    if name:
        monkeypatch.setenv(devices.VARIABLE, name)
        with pytest.raises(UsageError, match=f"TUNESMITH_DEVICE is '{name}'"):
            current_device()


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "numba_cuda" else known(name, *rest),
    )
    with pytest.raises(UsageError, match=r"numba-cuda is not installed; pip install 'tunesmith\["):
        check_cuda()
    assert not takes_gpu(LARGE)


def test_a_driver_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_numba_cuda(monkeypatch, is_available=lambda: False)
    with pytest.raises(UsageError, match="no driver or no device answers"):
        check_cuda()


def failing(message: str) -> object:
    def is_available() -> bool:
        raise AttributeError(message)

    return is_available


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("module 'numpy' has no attribute 'row_stack'", "pip install 'numpy<2.5'"),
        ("libcuda is too old.\nmore lines", r"numba-cuda fails \(libcuda is too old\); check"),
        ("", r"numba-cuda fails \(AttributeError\)"),
    ],
)
def test_a_library_that_fails_is_one_line(
    monkeypatch: pytest.MonkeyPatch, message: str, expected: str
) -> None:
    fake_numba_cuda(monkeypatch, is_available=failing(message))
    with pytest.raises(UsageError, match=expected) as error:
        check_cuda()
    assert "\n" not in str(error.value)
