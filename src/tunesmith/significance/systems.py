"""Systems that are compared: each has the outputs of one run of an optimizer, or of several."""

from __future__ import annotations

import os
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.forests import Forests
from tunesmith.data.weights import Weights
from tunesmith.derived.adding import with_features_of
from tunesmith.errors import TunesmithError, UsageError, WeightNamesError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.io.read import read_hypotheses
from tunesmith.io.tables.frames import from_arrays
from tunesmith.io.weights.files import read_weights

Path = str | os.PathLike[str]
#: What weights choose from.
Pool = CandidateSet | Forests


@dataclass(frozen=True)
class SystemRun:
    """What one run of a system puts out.

    Attributes
    ----------
    name
        Its file, or its number.
    outputs
        One candidate for each group.
    """

    name: str
    outputs: CandidateSet


@dataclass(frozen=True)
class System:
    """A system by name, with its runs."""

    name: str
    runs: tuple[SystemRun, ...]


def systems_of(
    texts_by_name: Mapping[str, Any],
    references: Path | Sequence[Any] = (),
    candidates: Pool | None = None,
    strict: bool = False,
) -> tuple[System, ...]:
    """Read the outputs of systems, or have weights choose them.

    Parameters
    ----------
    texts_by_name
        The runs of each system, by its name: a run, or a list of runs. A run is a file (of
        outputs, one per line, or of weights where there are candidates), a list of texts, weights
        by name, the result of a tuner, or a set with one candidate for each group.
    references
        Files, or lists with a text for each sentence; outputs are given alike.
    candidates
        Lists or forests that weights choose from, with their references.
    strict
        Whether names of weights and features must be the same.
    """
    check_names(list(texts_by_name))
    if isinstance(references, str | os.PathLike):
        references = [references]
    # Beside references that are texts, a list of strings is an output, not a list of files.
    are_files = candidates is not None or all(_is_path(source) for source in references)
    systems = []
    for name, runs in texts_by_name.items():
        several = _several(runs, are_files)
        if not several:
            raise UsageError(f"system '{name}' has no run; give a file for each")
        runs_of_system = [
            _run(run, k, references, candidates, strict) for k, run in enumerate(several, 1)
        ]
        systems.append(System(name, tuple(runs_of_system)))
    check_groups(systems)
    _warn_of_files(systems)
    return tuple(systems)


def check_names(names: Sequence[str]) -> None:
    """Raise an error unless there are two names or more that can be shown."""
    if len(names) < 2:
        raise UsageError("one system has nothing to be compared with; give two or more")
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"the name of a system is {name!r}; give a text")
        if not name.strip():
            raise UsageError("a system has no name; write NAME=FILE,FILE")
        if any(unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") for c in name):
            raise UsageError(f"the name {name!r} holds a control character; choose another one")
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(
            f"two systems are called '{twice}'; rename one, or name their files together"
        )


def check_groups(systems: Sequence[System]) -> None:
    """Raise an error unless all runs have one output for each of the same groups."""
    runs = [(system.name, run) for system in systems for run in system.runs]
    first = runs[0][1]
    for name, run in runs:
        if len(run.outputs) != run.outputs.groups:
            raise TunesmithError(
                f"{run.name} of system '{name}' has several candidates for a group; give outputs"
            )
        if run.outputs.groups != first.outputs.groups:
            raise TunesmithError(
                f"{run.name} of system '{name}' has {run.outputs.groups} lines and {first.name} "
                f"has {first.outputs.groups}; give outputs of the same sentences"
            )
    if not first.outputs.groups:
        raise TunesmithError(f"{first.name} has no line; give outputs")


def _several(runs: Any, are_files: bool) -> list[Any]:
    """Return the runs of a system; a single one need not be in a list."""
    if isinstance(runs, str | os.PathLike | Mapping | CandidateSet) or hasattr(runs, "weights"):
        return [runs]
    listed = _listed(runs)
    is_one = not are_files and listed and all(isinstance(text, str) for text in listed)
    return [listed] if is_one else listed


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, Iterable):
        raise UsageError(f"a run is {value!r}; give a file, a list of texts, or weights")
    return list(value)


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def _run(
    run: Any, number: int, references: Sequence[Any], candidates: Pool | None, strict: bool
) -> SystemRun:
    if isinstance(run, CandidateSet):
        return SystemRun(f"run {number}", run)
    if isinstance(run, str | os.PathLike):
        path = os.fspath(run)
        if candidates is None and not all(map(_is_path, references)):
            raise UsageError(f"'{path}' is a file and references are texts; give files, or texts")
        if candidates is None:
            return SystemRun(path, read_hypotheses(path, references))
        return SystemRun(
            path, chosen_by(read_weights(path).weights, candidates, strict, f"{path}: ")
        )
    weights = getattr(run, "weights", run)
    if isinstance(weights, Mapping):
        if candidates is None:
            raise UsageError("weights choose from candidates; give these too")
        matched_weights = Weights.from_dict(weights)
        return SystemRun(f"run {number}", chosen_by(matched_weights, candidates, strict))
    if candidates is not None:
        raise UsageError("with candidates systems are weights; give them, or drop the candidates")
    return SystemRun(f"run {number}", _of_texts(_listed(run), references))


def chosen_by(
    weights: Weights, candidates: Pool, strict: bool = False, where: str = ""
) -> CandidateSet:
    """Return what weights choose, one candidate for each group."""
    path = where.removesuffix(": ") or None
    candidates = with_features_of(candidates, weights, path)
    if isinstance(candidates, CandidateSet):
        values = weights.matched(candidates.features.names, strict, where)
        return candidates.chosen(best(candidates, values))
    from tunesmith.inference.forests.lists import outputs

    try:
        return outputs(candidates, weights.matched(candidates.names, strict))
    except WeightNamesError as error:
        raise WeightNamesError(f"{where}{error}") from None


def _of_texts(texts: list[Any], references: Sequence[Any]) -> CandidateSet:
    """Make a set of texts, with references that are lists of texts too."""
    if not all(isinstance(text, str) for text in texts):
        raise TunesmithError(
            "a run is a list that holds more than texts; give one text per sentence"
        )
    for source in references:
        if _is_path(source):
            raise UsageError("outputs are texts and references files; give files, or texts")
        if len(source) != len(texts):
            raise TunesmithError(
                f"there are {len(texts)} outputs and {len(source)} references; give one for each"
            )
    groups = range(len(texts))
    by_group: dict[int | str, list[str]] = {g: [r[g] for r in references] for g in groups}
    return from_arrays(groups, {}, texts, by_group if references else None)


def _warn_of_files(systems: Sequence[System]) -> None:
    """Warn of files that are given more than once."""
    seen: dict[str, str] = {}
    for system in systems:
        for run in system.runs:
            if not os.path.exists(run.name):
                continue
            path = os.path.realpath(run.name)
            if seen.get(path) == system.name:
                warnings.warn(
                    f"{run.name} is given twice for system '{system.name}': copies of a run say "
                    "nothing about optimizer instability",
                    stacklevel=3,
                )
            elif path in seen:
                warnings.warn(
                    f"{run.name} is given for '{seen[path]}' and for '{system.name}': the same "
                    "output cannot differ",
                    stacklevel=3,
                )
            seen[path] = system.name
