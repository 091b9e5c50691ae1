"""The page of a run as files: from a path, or from a result that is at hand."""

from __future__ import annotations

import json
import os

from tunesmith.errors import UsageError
from tunesmith.io.streams import check_writable, write_atomically
from tunesmith.report.page.assemble import PageOptions, view_of
from tunesmith.report.page.run.files import run_set
from tunesmith.report.page.run.reading import metric_for, read_run
from tunesmith.report.page.run.record import RunRecord, RunSet, Which
from tunesmith.report.page.view import View
from tunesmith.tasks.base import Task
from tunesmith.tuners.fitting.result import TuneResult

#: What a page may be called.
ENDINGS = (".html", ".htm", ".json")


def write_report(
    run: str | os.PathLike[str] | TuneResult,
    path: str | os.PathLike[str] | None,
    tuning: Task | None = None,
    dev: Task | None = None,
    test: Task | None = None,
    *,
    figures: str | os.PathLike[str] | None = None,
    options: PageOptions | None = None,
) -> View:
    """Write the page of a run, whole or not at all.

    Parameters
    ----------
    run
        A work directory, a result file, or the result of a tuner.
    path
        Where to write: the page as .html, or its content as .json; None writes only pictures.
    tuning, dev, test
        The sets of a result in memory. Without ``tuning``, the page has no surfaces, maps or
        sentences. A run on disk names its own sets.
    figures
        A folder for every picture, as PNG and SVG.
    options
        How much to show.

    Returns
    -------
    View
        The content of the page; ``view.warnings`` says what to be careful about.
    """
    if path is None and figures is None:
        raise UsageError("nothing is to be written; give a path, or figures")
    if path is not None:
        check_ending(os.fspath(path))
        check_writable(path)
    if isinstance(run, TuneResult):
        record = record_of(run, tuning, dev, test)
    elif any(task is not None for task in (tuning, dev, test)):
        raise UsageError("sets go with the result of a tuner; a run on disk knows its own")
    else:
        record = read_run(run)
    view = view_of(record, options)
    if path is not None:
        write_atomically(path, content_of(view, os.fspath(path)))
    if figures is not None:
        from tunesmith.report.page.figures.figures import write_figures

        write_figures(view, figures)
    return view


def record_of(
    result: TuneResult,
    tuning: Task | None = None,
    dev: Task | None = None,
    test: Task | None = None,
) -> RunRecord:
    """Return the record of a result and of the sets that it is of."""
    metric = metric_for(result.metric, "the result", False) if tuning is None else tuning.metric
    sets: dict[Which, RunSet] = {}
    tasks: dict[Which, Task | None] = {"tune": tuning, "dev": dev, "test": test}
    for which, task in tasks.items():
        if task is not None:
            sets[which] = run_set(task, result.start, result.weights)
    missing = () if sets else ("The candidates are not shown: they were not given.",)
    # As JSON has it: sections see the same whether a result was read or is at hand.
    result_dict = json.loads(json.dumps(result.to_dict(), default=str))
    arguments = result.tuner, False, result_dict, metric, result.start, result.weights
    return RunRecord(*arguments, sets, missing, is_whole=not result.interrupted)


def check_ending(path: str) -> None:
    """Raise an error if the ending does not say what to write."""
    if not path.lower().endswith(ENDINGS):
        raise UsageError(
            f"the page is to be called '{path}'; end it in .html, or .json for what it shows"
        )


def content_of(view: View, path: str) -> bytes:
    """Return the file: a page, or the JSON of what it shows."""
    if path.lower().endswith(".json"):
        text = json.dumps(view.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        from tunesmith.report.page.html import page_of

        text = page_of(view)
    return text.encode("utf-8", "backslashreplace")
