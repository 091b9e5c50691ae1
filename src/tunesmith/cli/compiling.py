"""What a terminal shows while kernels are compiled: one line, and a bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: Kernels that a first run of a command compiles, as counted on small sets, for the progress bar.
KERNELS = {"rerank": 20, "surface": 60, "compare": 40, "certify": 90, "train": 110, "decode": 130}
LISTS, FORESTS, TUNING, EXACT = 25, 100, 40, 90
EXACT_TUNERS = {"lp-mert", "plane", "auto"}
#: Seconds for each of them, on one core.
EACH = 0.22


def expected_kernels(arguments: Sequence[str]) -> int:
    """Return about how many kernels a command needs."""
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    count = KERNELS.get(command, LISTS)
    if command in {"tune", "demo"}:
        count += EXACT if EXACT_TUNERS.intersection(arguments) else TUNING
    if any("forests" in argument or argument.startswith("--decoder") for argument in arguments):
        count += FORESTS
    return count


class CompilingBar:
    """Told by the compiler; says once what is going on, and shows how far it is.

    Parameters
    ----------
    say
        Writes a line.
    show
        Shows progress; None where there is no bar.
    expected
        About how many kernels there will be.
    """

    def __init__(self, say: Callable[[str], None], show: Any, expected: int) -> None:
        self._say = say
        self._show = show
        self._expected = expected
        self._before: int | None = None

    def __call__(self, compiled: int, is_busy: bool) -> None:
        """Say how many kernels this process has compiled so far."""
        if self._before is None:
            from tunesmith.kernels.cache import KernelCache  # there if anything is compiled

            self._before = compiled
            self._expected = max(1, self._expected - KernelCache.loaded)
            seconds = max(1, round(self._expected * EACH))
            self._say(f"compiling kernels, once per installation: about {seconds} s")
        if self._show is not None:
            done = compiled - self._before
            total = max(self._expected, done + is_busy)
            self._show("compiling kernels", done, total, f"{done} of about {total}")
