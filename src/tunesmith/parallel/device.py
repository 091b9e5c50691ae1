"""Which device does the passes over lists: the processor, or a GPU.

A GPU needs a driver and the extra ``gpu``; nothing here imports it before somebody asks for one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from contextvars import ContextVar

from tunesmith.errors import UsageError
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.threads import ThreadEngine
from tunesmith.progress import tell

DEVICES = ("cpu", "cuda", "auto")
VARIABLE = "TUNESMITH_DEVICE"
#: Candidates below which the processor is done before a GPU is. MERT with 20 restarts took 16 cores
#: 7.7 µs for each of 678,225 candidates (1.5 s for 200,000), and an H200 1.0, after a second in
#: which it starts and loads its kernels.
LEAST_CANDIDATES = 200_000

_device: ContextVar[str | None] = ContextVar("device", default=None)
_told: set[str] = set()


@contextlib.contextmanager
def device(name: str | None) -> Iterator[None]:
    """Search lists on a device within the block.

    Parameters
    ----------
    name
        ``cpu``; ``cuda``, an NVIDIA GPU, with an error if there is none; or ``auto``, a GPU if
        there is one and the set is large enough to benefit. None changes nothing.
    """
    if name is None:
        yield
        return
    _check(name, "device")
    if name == "cuda":
        check_cuda()
    token = _device.set(name)
    try:
        yield
    finally:
        _device.reset(token)


def current_device() -> str:
    """Return the device in force: what was asked for, or ``TUNESMITH_DEVICE``, or ``auto``."""
    name = _device.get()
    if name is None:
        name = os.environ.get(VARIABLE) or "auto"
        _check(name, VARIABLE)
    return name


def is_demanded() -> bool:
    """Tell whether a GPU was asked for by :func:`device`, and not as the usual choice."""
    return _device.get() == "cuda"


def takes_gpu(candidates: int) -> bool:
    """Tell whether lists of that size are a GPU's work."""
    name = current_device()
    if name == "cpu":
        return False
    is_one_process = isinstance(current_engine(), ThreadEngine)
    if name == "cuda":
        check_cuda()
        if not is_one_process:
            raise UsageError("a GPU is used by one process; drop --engine, or use --device cpu")
        return True
    return candidates >= LEAST_CANDIDATES and is_one_process and why_no_cuda() is None


def say_that_a_gpu_searches() -> None:
    """Tell once that a GPU is taken, if nobody asked for it."""
    if current_device() == "auto" and "gpu" not in _told:
        _told.add("gpu")
        tell("a GPU searches the lists; --device cpu leaves them to the processor", is_detail=False)


def device_for(uses_device: bool) -> contextlib.AbstractContextManager[None]:
    """Leave to the processor, within the block, what has nothing for a GPU to do."""
    return device(None if uses_device else "cpu")


def check_cuda() -> None:
    """Raise an error if there is no GPU to be used."""
    why = why_no_cuda()
    if why is not None:
        raise UsageError(f"no GPU can be used: {why}; or use --device cpu")


def why_no_cuda() -> str | None:
    """Return what is missing for a GPU, and what to do; None if nothing is."""
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed; pip install 'tunesmith[gpu]'"
    try:
        from numba import cuda

        if cuda.is_available():
            return None
    except Exception as error:  # noqa: BLE001  (libraries and drivers fail in many ways)
        if "row_stack" in str(error):
            return "numba-cuda does not work with this numpy; pip install 'numpy<2.5'"
        return f"numba-cuda fails ({_first_line(error)}); check its version and nvidia-smi"
    return "no driver or no device answers; check with nvidia-smi"


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".:") if lines else type(error).__name__


def _check(name: str, where: str) -> None:
    if name not in DEVICES:
        raise UsageError(f"{where} is '{name}'; give cpu, cuda or auto")
