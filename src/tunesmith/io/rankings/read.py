"""Rankings from files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tunesmith.data.rankings.building import from_runs
from tunesmith.data.rankings.rankings import Rankings
from tunesmith.errors import UsageError
from tunesmith.io.rankings.trec import read_qrels, read_run, run_name

Path = str | os.PathLike[str]


def read_rankings(
    runs: Path | Sequence[Path] | Mapping[str, Path],
    qrels: Path | Mapping[str, Mapping[str, int]] | None = None,
) -> Rankings:
    """Read runs and judgements in the formats of TREC (for rows of features see ``read_letor``).

    Parameters
    ----------
    runs
        Files, each of which is a feature. Give a mapping to name them; otherwise the names of the
        files are used.
    qrels
        A file of judgements, or grades by query and document; None if nothing is judged.
    """
    if isinstance(runs, str | os.PathLike):
        runs = [runs]
    if not isinstance(runs, Mapping):
        runs = named_runs([os.fspath(path) for path in runs])
    by_run, files = {}, []
    for name, path in runs.items():
        by_run[name], file = read_run(path)
        files.append(file)
    if isinstance(qrels, str | os.PathLike):
        qrels, file = read_qrels(qrels)
        files.append(file)
    return from_runs(by_run, qrels, files)


def named_runs(texts: Sequence[str]) -> dict[str, str]:
    """Return files by names, of texts as ``FILE`` or ``NAME=FILE``."""
    named: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or os.path.exists(text):
            name, path = run_name(text), text
        if not name or not path:
            raise UsageError(f"--run is '{text}'; write FILE or NAME=FILE")
        if name in named:
            raise UsageError(
                f"two runs are called '{name}': {named[name]} and {path}; write NAME=FILE"
            )
        named[name] = path
    return named
