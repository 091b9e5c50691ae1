"""All parts of a page, made from the record of a run."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tunesmith._version import __version__
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.progress import progress
from tunesmith.report.page.cautions import cautions_of
from tunesmith.report.page.maps import maps_of
from tunesmith.report.page.rounds import number, pairs_of, replicates_of, rounds_of
from tunesmith.report.page.run.record import RunRecord
from tunesmith.report.page.sentences import sentences_of
from tunesmith.report.page.surfaces import surfaces_of
from tunesmith.report.page.view import Sentences, SetScores, Summary, View
from tunesmith.report.page.weight_table import weights_of
from tunesmith.report.page.words import metric_name
from tunesmith.tuners.fitting.verdict import Verdict

#: Bytes of JSON that a page may hold.
MOST_BYTES = 4_500_000
#: Parts of the work, as the progress bar shows them.
PARTS = 5


@dataclass(frozen=True)
class PageOptions:
    """How much of a run is shown.

    Attributes
    ----------
    sentences
        How many sentences of each set whose output changed.
    maps
        Pairs of features that there are maps of; None leaves it to what the weights say.
    map_features
        Of how many features there are maps of all pairs, where none are named.
    curves, weights
        How many features there are curves of, and weights.
    """

    sentences: int = 100
    maps: tuple[tuple[str, str], ...] | None = None
    map_features: int = 8
    curves: int = 40
    weights: int = 200

    def __post_init__(self) -> None:
        for name, least in (("sentences", 0), ("map_features", 0), ("curves", 0), ("weights", 1)):
            if getattr(self, name) < least:
                flag = name.replace("_", "-")
                raise UsageError(f"{flag} is {getattr(self, name)}; give {least} or more")


def view_of(
    record: RunRecord,
    options: PageOptions | None = None,
    certified: dict[str, Any] | None = None,
) -> View:
    """Return all that a page shows; ``certified`` is what was proven about the weights."""
    options = options or PageOptions()
    check_maps(record, options)
    progress("report", 0, PARTS, "surfaces")
    surfaces = surfaces_of(record, options.curves) if options.curves else None
    progress("report", 1, PARTS, "maps")
    maps = maps_of(record, surfaces, options.maps, options.map_features)
    progress("report", 2, PARTS, "sentences")
    sentences = sentences_of(record, options.sentences)
    progress("report", 3, PARTS, "rounds")
    rounds = rounds_of(record)
    result = record.result
    view = View(
        version=__version__,
        summary=summary_of(record),
        warnings=cautions_of(record, rounds, surfaces),
        rounds=rounds,
        weights=weights_of(record, options.weights),
        surfaces=surfaces,
        maps=maps,
        sentences=(),
        pairs=pairs_of(record),
        certificate=result.get("certificate"),
        path=result.get("path"),
        missing=record.missing,
        replicates=replicates_of(record),
        verdict=result.get("verdict"),
        certified=certified,
    )
    progress("report", 4, PARTS, "size")
    view = replace(view, sentences=fitting(sentences, MOST_BYTES - _bytes(view.to_dict())))
    progress("report", PARTS, PARTS)
    return view


def check_maps(record: RunRecord, options: PageOptions) -> None:
    """Raise an error if a requested map has features that the run does not have."""
    names = tuple(dict.fromkeys([*record.weights, *record.start]))
    for pair in options.maps or ():
        for name in pair:
            if name not in names:
                raise UnknownNameError("feature", name, names)
        if pair[0] == pair[1]:
            raise UsageError(f"a map is of two features, and both are {pair[0]}; name another one")


def fitting(sets: Sequence[Sentences], budget: int) -> tuple[Sentences, ...]:
    """Return as many sentences as fit, of each set the first ones, in turns."""
    sizes = [[_bytes(asdict(sentence)) for sentence in sentence_set.shown] for sentence_set in sets]
    counts = [0] * len(sets)
    for rank in range(max((len(sizes_of_set) for sizes_of_set in sizes), default=0)):
        for k, sizes_of_set in enumerate(sizes):
            if rank < len(sizes_of_set) and counts[k] == rank and sizes_of_set[rank] <= budget:
                budget -= sizes_of_set[rank]
                counts[k] += 1
    return tuple(
        replace(sentence_set, shown=sentence_set.shown[:count])
        for sentence_set, count in zip(sets, counts, strict=True)
    )


def _bytes(value: object) -> int:
    """Return how long something is as JSON, with a comma."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")) + 1


def summary_of(record: RunRecord) -> Summary:
    """Return the head of the page."""
    result = record.result
    metric = _metric_of(result) or record.metric.name
    path = os.fspath(record.path).rstrip("/") or "/"
    return Summary(
        title=os.path.basename(os.path.abspath(path)),
        tuner=str(result.get("tuner", "")),
        metric=metric,
        higher_is_better=record.metric.higher_is_better,
        state="running" if record.is_running else "ended" if record.is_whole else "interrupted",
        scores=tuple(_scores(result, metric)),
        signature=str(result.get("signature", "")),
        settings=tuple(_settings(result)),
        data=tuple({key: str(value) for key, value in file.items()} for file in result["data"])
        if result.get("data")
        else (),
        notes=tuple(_notes(record)),
        called=metric_name(metric),
        verdict=_verdict(result),
        date=str((result.get("inputs") or {}).get("date") or ""),
        version=_version(str(result.get("signature", ""))),
        command=_command(result),
    )


def _version(signature: str) -> str:
    """Return the version of tunesmith that a signature names."""
    named = re.search(r"\|version:tunesmith-([^|]+)", signature)
    return named[1] if named else ""


def _command(result: Mapping[str, Any]) -> str:
    """Return the command that runs the same again, as a shell takes it."""
    arguments = (result.get("inputs") or {}).get("command")
    return shlex.join(["tunesmith", *arguments]) if arguments else ""


def _verdict(result: Mapping[str, Any]) -> str:
    """Return what held-out sentences say of the weights, as a sentence."""
    entry = result.get("verdict")
    if not entry:
        return ""
    verdict = Verdict(**{f.name: entry[f.name] for f in fields(Verdict) if f.name in entry})
    text = verdict.text(str(result.get("metric", "")), bool(result.get("rounds")))
    return f"{text[0].upper()}{text[1:]}."


def _notes(record: RunRecord) -> Iterator[str]:
    """Yield further remarks: why the run ended, what was chosen, what is unknown."""
    result = record.result
    if result.get("interrupted"):
        reason = result.get("stopped") or "interrupted"
        yield f"The run was {reason}: these are the best weights that it had found by then."
    elif result.get("stopped"):
        yield f"Why the loop ended: {result['stopped']}."
    if result.get("reason"):
        yield str(result["reason"])
    held_out = ("dev", "test", "verdict")  # a verdict says itself that nothing was held out
    if not record.is_running and not any(result.get(which) for which in held_out):
        yield (
            "The tuning set alone was scored: whether this holds for other sentences, a held-out "
            "set would tell."
        )


def _metric_of(result: Mapping[str, Any]) -> str | None:
    """Return the metric as the user wrote it."""
    metrics = (result.get("inputs") or {}).get("metrics")
    return str(metrics[0]) if isinstance(metrics, list) and metrics else None


def _scores(result: Mapping[str, Any], metric: str) -> Iterator[SetScores]:
    """Yield the scores of all sets, by the metric that was tuned for and by others."""
    others = result.get("others") or ()
    every = [(metric, result), *((str(other.get("metric")), other) for other in others)]
    for label, entry in every:
        for which in ("tune", "dev", "test"):
            scores = entry if which == "tune" else entry.get(which)
            if not isinstance(scores, Mapping) or number(scores.get("score")) is None:
                continue
            yield SetScores(
                which,
                label,
                number(scores.get("initial_score")),
                number(scores.get("score")),
                number(scores.get("oracle_score")),
                scores.get("oracle_exact") is True,
                number(scores.get("length_ratio")),
                number(scores.get("brevity_penalty")),
                metric_name(label),
            )


def _settings(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what was set: the parts of the signature up to the seed, and what else is known."""
    before, seed, _ = str(result.get("signature", "")).partition("|seed:")
    for part in before.split("|") if seed else ():
        name, colon, value = part.partition(":")
        yield (name.replace("_", " "), value) if colon else ("tuner", name)
    for key in ("seed", "threads", "engine", "workers", "line_searches"):
        if result.get(key) is not None:
            yield key.replace("_", " "), str(result[key])
    if isinstance(result.get("seconds"), int | float):
        yield "seconds", f"{result['seconds']:.1f}"
