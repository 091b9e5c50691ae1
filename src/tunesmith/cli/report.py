"""``tunesmith report``: a run as a page to look at."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import check_not_read, print_json
from tunesmith.cli.tune.options import files
from tunesmith.errors import UsageError, one_line

if TYPE_CHECKING:
    from tunesmith.report.page.run.reading import SetFiles, UserFiles
    from tunesmith.report.page.view import View

SCHEMA = "tunesmith.report-made/1"


def _instead(description: str, metavar: str = "FILE") -> Any:
    return files(f"{description}, if the run's own are not found.", metavar)


def run(
    *,
    session: Session,
    path: Annotated[
        str,
        typer.Argument(
            help="A work directory, or the .json that `tunesmith tune --out` writes.",
            metavar="RUN",
            show_default=False,
        ),
    ],
    out: Annotated[
        str | None,
        files("Where to write: the page as .html, or what it shows as .json."),
    ] = None,
    figures: Annotated[
        str | None, files("A folder for every picture, as PNG and SVG.", "FOLDER")
    ] = None,
    sentences: Annotated[
        int,
        typer.Option(help="Show at most this many sentences of each set.", metavar="INTEGER"),
    ] = 100,
    maps: Annotated[
        list[str],
        typer.Option(
            "--map",
            help="Map these two features; repeat it for several. By default, the features "
            "with most influence are mapped.",
            show_default=False,
            metavar="NAME,NAME",
        ),
    ] = [],  # noqa: B006  (typer's way; never changed)
    map_features: Annotated[
        int,
        typer.Option(help="Draw maps of all pairs of this many features.", metavar="INTEGER"),
    ] = 8,
    candidates: Annotated[list[str], _instead("The candidates that were tuned on")] = [],  # noqa: B006
    forests: Annotated[list[str], _instead("The forests that were tuned on", "PATH")] = [],  # noqa: B006
    references: Annotated[list[str], _instead("Their references")] = [],  # noqa: B006
    scores: Annotated[list[str], _instead("Their --scores", "NAME=FILE")] = [],  # noqa: B006
    source: Annotated[str | None, _instead("The sentences that were decoded")] = None,
    dev_candidates: Annotated[list[str], _instead("The candidates of the held-out set")] = [],  # noqa: B006
    dev_forests: Annotated[list[str], _instead("Its forests", "PATH")] = [],  # noqa: B006
    dev_references: Annotated[list[str], _instead("Its references")] = [],  # noqa: B006
    dev_scores: Annotated[list[str], _instead("Its --scores", "NAME=FILE")] = [],  # noqa: B006
    dev_source: Annotated[str | None, _instead("Its sentences")] = None,
    test_candidates: Annotated[list[str], _instead("The candidates of the test set")] = [],  # noqa: B006
    test_forests: Annotated[list[str], _instead("Its forests", "PATH")] = [],  # noqa: B006
    test_references: Annotated[list[str], _instead("Its references")] = [],  # noqa: B006
    test_scores: Annotated[list[str], _instead("Its --scores", "NAME=FILE")] = [],  # noqa: B006
    test_source: Annotated[str | None, _instead("Its sentences")] = None,
    certificate: Annotated[
        str | None,
        files("What was proven about the weights: what `tunesmith certify --json` printed."),
    ] = None,
    metric: Annotated[
        str | None,
        files(
            "The metric that was tuned for, if the run does not name it. path/to/file.py:Name "
            "runs that file.",
            "NAME",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a page about a run: scores, weights, error surfaces, sentences and warnings."""
    from tunesmith.io.streams import check_writable, write_atomically
    from tunesmith.report.page.assemble import PageOptions, check_maps, view_of
    from tunesmith.report.page.files import check_ending, content_of
    from tunesmith.report.page.run.certified import read_certified
    from tunesmith.report.page.run.reading import UserFiles, read_run

    if out is None and figures is None:
        raise UsageError("nothing is to be written; give --out FILE.html, or --figures FOLDER")
    if out is not None:
        check_ending(out)
    user_files = UserFiles(
        _files_of(candidates, forests, references, scores, source),
        _files_of(dev_candidates, dev_forests, dev_references, dev_scores, dev_source),
        _files_of(test_candidates, test_forests, test_references, test_scores, test_source),
        metric,
    )
    proofs = [] if certificate is None else [certificate]
    check_not_read("--out", out, [path, *proofs, *_paths(user_files)])
    if out is not None:
        check_writable(out)
    if figures is not None and os.path.exists(figures) and not os.path.isdir(figures):
        raise UsageError(f"--figures {figures} is a file; name a folder")
    pairs = tuple(parse_pair(text) for text in maps) or None
    options = PageOptions(sentences, pairs, map_features)
    record = read_run(path, user_files)
    check_maps(record, options)
    certified = None if certificate is None else read_certified(certificate, record.weights)
    view = view_of(record, options, certified)
    written: list[str] = []
    if out is not None:
        write_atomically(out, content_of(view, out))
        written.append(out)
    if figures is not None:
        from tunesmith.report.page.figures.figures import write_figures

        written += map(os.fspath, write_figures(view, figures))
    _tell(session, view, written, out, figures, as_json)


def _files_of(
    candidates: list[str],
    forests: list[str],
    references: list[str],
    scores: list[str],
    source: str | None,
) -> SetFiles:
    from tunesmith.report.page.run.reading import SetFiles

    if any("=" not in text for text in scores):
        raise UsageError("--scores is written NAME=FILE; write it so")
    return SetFiles(
        tuple(candidates), tuple(forests), tuple(references), tuple(scores), source=source
    )


def parse_pair(text: str) -> tuple[str, str]:
    """Turn NAME,NAME into two names; names with a comma are not supported."""
    first, comma, second = (part.strip() for part in text.partition(","))
    if not comma or not first or not second or "," in second:
        raise UsageError(f"--map is '{text}'; give two features, as LM,WordPenalty")
    return first, second


def _paths(user_files: UserFiles) -> list[str]:
    sets = (user_files.tune, user_files.dev, user_files.test)
    return [path for files in sets for path in (*files.paths, files.source or "")]


def _tell(
    session: Session,
    view: View,
    written: list[str],
    out: str | None,
    figures: str | None,
    as_json: bool,
) -> None:
    """Say what was written, and what to be careful about."""
    for text in view.missing:
        session.say(f"note: {one_line(text)}")
    if as_json:
        report = {
            "schema": SCHEMA,
            "signature": view.summary.signature,
            "written": written,
            "is_running": view.summary.is_running,
            "warnings": [
                {"kind": warning.kind, "text": warning.text, "advice": warning.advice}
                for warning in view.warnings
            ],
            "missing": list(view.missing),
        }
        print_json(report)
        return
    if out is not None:
        typer.echo(f"{out}  {os.path.getsize(out) / 1e6:.1f} MB")
    if figures is not None:
        typer.echo(f"{figures}  {len(written) - (out is not None)} pictures")
    for warning in view.warnings:
        typer.echo(f"careful ({warning.kind}): {one_line(warning.text)}")
