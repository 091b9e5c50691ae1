"""``tunesmith tune --replicates N``: independent runs, each with a file of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import print_json, result_console
from tunesmith.cli.tune.options import finish, write_result
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.tuners.fitting.result import TuneResult


def check_replicates(count: int, out: str | None, log: Sequence[str]) -> list[str]:
    """Return the files of the single runs; raise an error if there cannot be several."""
    if count < 1:
        raise UsageError(f"--replicates is {count}; give 1 or more")
    if count == 1:
        return []
    if log:
        raise UsageError("--log follows one run; drop it, or tune once for each --seed")
    if out == "-":
        raise UsageError("--replicates writes a file for each run; name a file with --out")
    return [] if out is None else [numbered(out, k) for k in range(1, count + 1)]


def numbered(out: str, number: int) -> str:
    """Return the file of one run: w.1.json for w.json."""
    from tunesmith.io.compression import SUFFIXES

    stem, ending = os.path.splitext(out)
    if ending in SUFFIXES:  # it stands after the one that tells a format
        stem, inner = os.path.splitext(stem)
        ending = inner + ending
    return f"{stem}.{number}{ending}"


def finish_replicates(
    session: Session,
    results: Sequence[TuneResult],
    count: int,
    higher_is_better: bool,
    out: str | None,
    beside: Sequence[str],
    as_json: bool,
    rewritten: Callable[[TuneResult], bytes | None],
    history: bool,
) -> TuneResult:
    """Write all runs, and the one in the middle as the result; print how they spread.

    After an interruption there are fewer than ``count``, and only the first may be unfinished.
    """
    from tunesmith.tuners.replicates import Replicates

    beside = beside[: len(results)]
    for result, path in zip(results, beside, strict=False):
        if not result.interrupted:
            write_result(session, result, path, rewritten, history)
    stopped = f"interrupted after {len(results)} of {count} runs"
    if len(results) == 1:
        (only,) = results
        if not only.interrupted:
            only = replace(only, interrupted=True, stopped=stopped)
        return finish(session, only, out, as_json, rewritten, history)
    replicates = Replicates.of(results, higher_is_better)
    if replicates.are_same:
        session.say(
            f"note: all runs score the same; '{replicates.results[0].tuner}' does not depend on "
            "the seed here, and the deviation says nothing"
        )
    if replicates.results[0].test is not None:
        session.say(
            f"note: the result is the run in the middle by the {replicates.by} score; if you "
            "choose a run by its test score, the test score says too much"
        )
    files: list[str | None] = [*beside] or [None] * len(replicates.results)
    middle = replicates.result(files)
    if len(results) < count:
        middle = replace(middle, interrupted=True, stopped=stopped)
    result = write_result(session, middle, out, rewritten, history)
    if as_json:
        print_json(result.to_dict())
        return result
    shown = list(replicates.results)
    shown[replicates.chosen] = result
    result_console().print(replace(replicates, results=tuple(shown)), crop=False)
    return result
