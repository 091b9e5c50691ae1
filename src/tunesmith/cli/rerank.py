"""``tunesmith rerank``: the best candidates under given weights."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith._version import __version__
from tunesmith.cli.app import Session
from tunesmith.cli.options.common import (
    Candidates,
    Format,
    Json,
    Scores,
    Strict,
    names_of,
    one_standard_input,
    read_candidates,
)
from tunesmith.cli.options.derived import derived_features
from tunesmith.cli.options.forests import (
    USUAL_SIZE,
    ForestFiles,
    ListSize,
    Memory,
    check_size,
    list_writer,
    one_kind,
    read_forest_files,
    set_memory,
)
from tunesmith.cli.options.reading import warn_of_pieces
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tunesmith.arrays import Floats, Ints
    from tunesmith.data.candidates import CandidateSet
    from tunesmith.data.weights import Weights
    from tunesmith.derived.base import Derived

SCHEMA = "tunesmith.rerank/1"
#: What becomes of sentences that have no candidates.
GAPS = ("auto", "empty", "skip", "error")
#: Ids that are shown.
SHOWN = 3


def command(arguments: Sequence[str]) -> Callable[..., None]:
    """Return the command that the arguments mean: on candidates, or on runs."""
    from tunesmith.cli.fuse.options import are_meant

    if are_meant(arguments):
        from tunesmith.cli.fuse import rerank as of_runs

        return of_runs.run
    return run


def run(
    *,
    session: Session,
    weights: Annotated[
        str, typer.Option("--weights", "-w", help="Weights, in any format.", metavar="FILE")
    ],
    candidates: Candidates = [],  # noqa: B006  (typer's way; never changed)
    forests: ForestFiles = [],  # noqa: B006
    scores: Scores = [],  # noqa: B006
    nbest: Annotated[
        bool,
        typer.Option(
            "--nbest",
            help="Write all candidates, the best of a group first; of a forest, the best distinct "
            "--list-size.",
        ),
    ] = False,
    list_size: ListSize = USUAL_SIZE,
    ids: Annotated[
        bool, typer.Option("--ids", help="Write the id of the group and a tab before each text.")
    ] = False,
    rows: Annotated[
        bool,
        typer.Option(
            "--rows",
            help="Write the candidate's number in the input, from 0, and a tab before each text.",
        ),
    ] = False,
    gaps: Annotated[
        str,
        typer.Option(
            help="What to write for sentences without candidates, if ids are numbers: "
            "an empty line, no line, or an error; by default an empty line if at "
            "most half are missing, or with --sentences.",
            metavar="|".join(GAPS),
        ),
    ] = "auto",
    sentences: Annotated[
        int | None,
        typer.Option(
            help="Number of sentences, so that gaps at the end are noticed.",
            metavar="INTEGER",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Format of --nbest [default: that of the ending of --out, or of the first file].",
            metavar="FORMAT",
            show_default=False,
        ),
    ] = None,
    memory: Memory = None,
    out: Annotated[str, typer.Option("--out", "-o", help="Where to write.", metavar="FILE")] = "-",
    format_name: Format = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Write the best candidate of each group under given weights, one per line.

    Runs of documents: rerank --run FILE --help.
    """
    from tunesmith.io.streams import check_writable
    from tunesmith.io.weights.files import read_weights

    one_kind(candidates, forests)
    one_standard_input(*candidates, *forests, weights)
    check_size(list_size)
    if list_size != USUAL_SIZE and not (forests and nbest):
        raise UsageError("--list-size goes with --forests and --nbest; give both, or drop it")
    if forests and (scores or rows):
        raise UsageError(f"--{'scores' if scores else 'rows'} goes with --candidates; drop it")
    if gaps not in GAPS:
        raise UnknownNameError("way with gaps", gaps, GAPS)
    if sentences is not None and sentences < 1:
        raise UsageError(f"--sentences is {sentences}; give 1 or more")
    layout = _Layout(nbest, ids, rows, as_json, gaps, sentences)
    layout.check(to)
    set_memory(memory)
    check_writable(out)
    weights_file = read_weights(weights)
    model = weights_file.weights
    if candidates:
        warn_of_pieces(weights, weights_file)
    derived = derived_features((), (weights, model))
    if forests:
        size = list_size if nbest else None
        candidate_set, values = _of_forests(
            session, forests, model, weights, size, format_name, strict, derived
        )
        usual = None
    else:
        candidate_set = read_candidates(
            candidates,
            [],
            format_name,
            scores,
            keep_rows=rows or as_json,
            derived=derived,
            compares=False,
        )
        session.note(f"{candidate_set!r}")
        usual = format_name or candidate_set.files[0].format
        if not nbest and not candidate_set.has_texts and not (rows or ids or as_json):
            raise TunesmithError(
                "all candidates have an empty text; give texts, or use --rows, --json or --nbest"
            )
        with names_of(weights):
            values = model.matched(candidate_set.features.names, strict)
    layout.write(candidate_set, values, out, to, usual)


def _of_forests(
    session: Session,
    forests: list[str],
    model: Weights,
    weights: str,
    size: int | None,
    format_name: str | None,
    strict: bool,
    derived: list[Derived],
) -> tuple[CandidateSet, Floats]:
    """Return the best derivation of each forest, or the so many best, and the weights."""
    from tunesmith.inference.forests.lists import kbest_lists, outputs

    forest_set = read_forest_files(forests, [], format_name, derived)
    session.note(f"{forest_set!r}")
    with names_of(weights):
        values = model.matched(forest_set.names, strict)
    return (
        outputs(forest_set, values) if size is None else kbest_lists(forest_set, values, size)
    ), values


@dataclass(frozen=True)
class _Layout:
    """What is written, as the options say it."""

    nbest: bool
    ids: bool
    rows: bool
    as_json: bool
    gaps: str
    sentences: int | None

    def check(self, to: str | None) -> None:
        """Raise an error if options do not go together."""
        if self.as_json and (self.ids or self.rows):
            raise UsageError("--json has ids and rows; drop --ids and --rows")
        if self.nbest and (self.ids or self.rows):
            raise UsageError("--nbest writes a format with ids of its own; give --json, or drop it")
        if to is not None and (not self.nbest or self.as_json):
            raise UsageError("--to goes with --nbest, and not with --json; drop it")

    def write(
        self,
        candidate_set: CandidateSet,
        values: Floats,
        out: str,
        to: str | None,
        usual: str | None,
    ) -> None:
        """Write a set under weights."""
        from tunesmith.io.streams import write_atomically, writing

        gaps = self._gaps(candidate_set)
        if self.as_json:
            import json

            whole = json.dumps(
                self._object(candidate_set, values, gaps, usual is None),
                indent=2,
                ensure_ascii=False,
            )
            write_atomically(out, whole + "\n")
        elif self.nbest:
            order, scores = _order(candidate_set, values, is_sorted=usual is None)
            _writer(out, to, usual, candidate_set).write(candidate_set, order, scores, out)
        else:
            lines = list(
                self._lines(candidate_set, _chosen(candidate_set, values, usual is None), gaps)
            )
            with writing(out) as file:
                for line in lines:
                    file.write(line.encode() + b"\n")

    def _gaps(self, candidate_set: CandidateSet) -> list[int]:
        """Return the ids of sentences without candidates that are to have a line; tell of all."""
        numbers = [i for i in candidate_set.ids if isinstance(i, int) and i >= 0]
        if len(numbers) < candidate_set.groups:
            if self.sentences is not None:
                raise UsageError("--sentences counts ids from 0, and some are texts; drop it")
            return []
        count = max(numbers) + 1 if self.sentences is None else self.sentences
        if max(numbers) >= count:
            raise UsageError(
                f"--sentences is {count} and there is an id {max(numbers)}; correct it"
            )
        lacking = count - len(numbers)
        if not lacking:
            return []
        # Ids far apart are numbers of another kind than lines.
        are_lines = self.sentences is not None or lacking <= count // 2
        way = ("empty" if are_lines else "skip") if self.gaps == "auto" else self.gaps
        there = set(numbers)
        some = [str(i) for i in range(min(count, len(numbers) + SHOWN)) if i not in there][:SHOWN]
        more = f" and {lacking - len(some)} more" if lacking > len(some) else ""
        problem = f"{lacking} of {count} ids have no candidates ({', '.join(some)}{more})"
        if way == "error":
            raise TunesmithError(f"{problem}; give them candidates, or --gaps empty or skip")
        is_line = way == "empty" and not (self.nbest or self.as_json)
        became = "their lines are empty" if is_line else "they have no line"
        remedy = "" if self.nbest or self.as_json else "; --gaps says otherwise"
        warnings.warn(f"{problem}: {became}{remedy}", stacklevel=2)
        keep = is_line or (self.as_json and are_lines)
        return [i for i in range(count) if i not in there] if keep else []

    def _lines(self, candidate_set: CandidateSet, chosen: Ints, gaps: list[int]) -> Iterator[str]:
        """Yield a line for each group, and for each gap, in the order of their ids."""
        from tunesmith.io.values import has_line_end

        lines: list[tuple[Any, str]] = [(i, self._head(i, "") if self._heads else "") for i in gaps]
        for g, row in enumerate(chosen):
            text = candidate_set.original(row)
            if has_line_end(text):
                raise TunesmithError(
                    f"the best text of group '{candidate_set.ids[g]}' has several lines, which "
                    "plain text cannot hold; give --json, or --nbest --to jsonl"
                )
            number = "" if candidate_set.rows is None else str(candidate_set.rows[row])
            lines.append((candidate_set.ids[g], self._head(candidate_set.ids[g], number) + text))
        if gaps:
            lines.sort(key=lambda line: int(line[0]))
        return (line for _, line in lines)

    @property
    def _heads(self) -> bool:
        return self.ids or self.rows

    def _head(self, group: object, row: str) -> str:
        return (f"{group}\t" if self.ids else "") + (f"{row}\t" if self.rows else "")

    def _object(
        self, candidate_set: CandidateSet, values: Floats, gaps: list[int], is_sorted: bool
    ) -> dict[str, Any]:
        """Return the JSON object."""
        order, scores = _order(candidate_set, values, is_sorted)

        def shown(row: int) -> dict[str, Any]:
            entry: dict[str, Any] = {
                "text": candidate_set.original(row),
                "score": float(scores[row]),
            }
            if candidate_set.rows is not None:
                entry["row"] = int(candidate_set.rows[row])
            return entry

        groups = []
        for g, row in enumerate(_chosen(candidate_set, values, is_sorted)):
            group = {"id": candidate_set.ids[g], **shown(int(row))}
            if self.nbest:
                every = order[candidate_set.start[g] : candidate_set.start[g + 1]]
                group["candidates"] = [shown(int(k)) for k in every]
            groups.append(group)
        return {
            "schema": SCHEMA,
            "signature": f"rerank|version:{__version__}",
            "groups": groups,
            "gaps": gaps,
        }


def _chosen(candidate_set: CandidateSet, values: Floats, is_sorted: bool) -> Ints:
    """Return the best candidate of each group."""
    from tunesmith.inference.lists.hypotheses import best

    return candidate_set.start[:-1] if is_sorted else best(candidate_set, values)


def _order(candidate_set: CandidateSet, values: Floats, is_sorted: bool) -> tuple[Ints, Floats]:
    """Return all candidates, the best of each group first, and their scores.

    Those of forests are in this order already, and rounding does not change it.
    """
    import numpy as np

    from tunesmith.inference.lists.rerank import ranking

    if is_sorted:
        return np.arange(len(candidate_set)), candidate_set.features.dot(values)
    return ranking(candidate_set, values)


def _writer(out: str, to: str | None, usual: str | None, candidate_set: CandidateSet) -> Any:
    """Return who writes lists: of ``--to``, of the first file, or of the ending of ``--out``.

    A format that can be read only gives way to JSON lines.
    """
    from tunesmith.cli.convert import warn_of_lost
    from tunesmith.io.lists.base import FORMATS, CandidateFormat

    if to is not None or usual is None:
        writer = list_writer(out, to)
    else:
        writer = FORMATS.create(usual)
        kind = type(writer)
        if kind.lines is CandidateFormat.lines and kind.write is CandidateFormat.write:
            name = os.fspath(out)
            warnings.warn(f"{name}: {writer.name} can be read only; this is jsonl", stacklevel=2)
            writer = FORMATS.create("jsonl")
    warn_of_lost(writer, candidate_set, out)
    return writer
