"""``tunesmith compare``: whether systems differ by more than chance."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import (
    Format,
    Json,
    References,
    Scores,
    Strict,
    check_not_read,
    print_json,
    read_candidates,
    result_console,
)
from tunesmith.cli.options.forests import ForestFiles, Memory, read_forest_files, set_memory
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.metrics.base import Metric
    from tunesmith.significance.comparison import Comparison
    from tunesmith.significance.systems import Pool

#: Where sacrebleu's users keep their seed.
SEED_VARIABLE = "SACREBLEU_SEED"


def run(
    *,
    session: Session,
    system: Annotated[
        list[str],
        typer.Option(
            help="A system and its runs: outputs, one text per line, or weights where --candidates "
            "or --forests are given. Repeat it; the first is the baseline.",
            metavar="NAME=FILE,...",
        ),
    ],
    references: References = [],  # noqa: B006  (typer's way; never changed)
    metric: Annotated[
        list[str],
        typer.Option(
            help="Metric with its options, such as bleu:tokenize=13a; repeat it for several. "
            "path/to/file.py:Name runs that file.",
            metavar="NAME",
        ),
    ] = ["bleu"],  # noqa: B006
    candidates: Annotated[
        list[str],
        typer.Option(help="Lists that weights choose from.", show_default=False, metavar="FILE"),
    ] = [],  # noqa: B006
    forests: ForestFiles = [],  # noqa: B006
    scores: Scores = [],  # noqa: B006
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Test every system against every other.")
    ] = False,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.", metavar="INTEGER")] = 1000,
    randomizations: Annotated[
        int,
        typer.Option(
            "--randomizations",
            "--randomisations",
            help="Trials of approximate randomisation.",
            metavar="INTEGER",
        ),
    ] = 10000,
    seed: Annotated[
        int | None,
        typer.Option(
            help=f"Seed of both [default: {SEED_VARIABLE} of the environment, or 12345].",
            show_default=False,
            metavar="INTEGER",
        ),
    ] = None,
    sentences: Annotated[
        int,
        typer.Option(help="Show this many sentences, those that differ most.", metavar="INTEGER"),
    ] = 0,
    sentences_out: Annotated[
        str | None,
        typer.Option(
            help="Write all sentences, those that differ most first: .tsv or .jsonl.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="Also write the tables to a file: .html (a page), .txt, .json or .tex.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    memory: Memory = None,
    format_name: Format = None,
    strict: Strict = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print a table for LaTeX, with booktabs.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare systems: means over runs, paired bootstrap and approximate randomisation."""
    from tunesmith.metrics.base import METRICS
    from tunesmith.significance.comparing import Chance, compare_systems
    from tunesmith.significance.files import (
        check_sentence_file,
        check_table_file,
        is_page,
        write_sentences,
        write_table,
    )
    from tunesmith.significance.systems import check_names, systems_of

    named_paths = [parse_system(text) for text in system]
    check_names([name for name, _ in named_paths])
    paths = [path for _, files in named_paths for path in files]
    _check_options(candidates, forests, scores, format_name, references, paths)
    if latex and as_json:
        raise UsageError("--latex and --json both write to standard output; drop one of them")
    if sentences < 0:
        raise UsageError(f"--sentences is {sentences}; give 0 or more")
    chance = Chance(resamples, randomizations, _seed(seed))
    read = [*paths, *candidates, *forests, *references, *(s.partition("=")[2] for s in scores)]
    for flag, path, check in (
        ("--out", out, check_table_file),
        ("--sentences-out", sentences_out, check_sentence_file),
    ):
        if path is not None:
            check_not_read(flag, path, read)
            check(path)
    set_memory(memory)
    measures = [METRICS.create(name) for name in dict.fromkeys(metric)]
    pool = _read_pool(
        session, candidates, forests, references, format_name, scores, measures, paths
    )
    systems = systems_of(dict(named_paths), references, pool, strict)
    is_ranked = sentences > 0 or sentences_out is not None
    comparison = compare_systems(systems, measures, chance, all_pairs, is_ranked)
    for note in comparison.notes:
        session.say(f"note: {note}")
    if pool is not None:
        _warn_of_bias(paths, measures, pool)
        _warn_of_tuning_set(named_paths, pool)
    if sentences_out is not None:
        write_sentences(comparison.rankings, sentences_out)
    if out is not None and is_page(out):
        from tunesmith.report.comparison import write_comparison

        write_comparison(comparison, out, sentences)
    elif out is not None:
        write_table(comparison, out, sentences)
    _show(comparison, sentences, latex, as_json)


def parse_system(text: str) -> tuple[str, list[str]]:
    """Turn NAME=FILE,FILE into a name and files."""
    name, equals, rest = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise UsageError(f"--system is '{text}'; write NAME=FILE,FILE")
    if "," in name:
        raise UsageError(f"the name '{name}' of a system holds a comma; choose another one")
    # A file may have a comma in its name.
    paths = [rest] if "," in rest and os.path.exists(rest) else rest.split(",")
    if not all(path.strip() for path in paths):
        raise UsageError(f"system '{name}' has an empty file name; write NAME=FILE,FILE")
    return name, paths


def _check_options(
    candidates: list[str],
    forests: list[str],
    scores: list[str],
    format_name: str | None,
    references: list[str],
    paths: list[str],
) -> None:
    """Raise an error if options do not go together."""
    if candidates and forests:
        raise UsageError("--candidates and --forests are both given; give one of them")
    if scores and not candidates:
        raise UsageError("--scores goes with --candidates; give both, or drop it")
    if format_name is not None and not (candidates or forests):
        raise UsageError("--format goes with --candidates and --forests; drop it")
    everything = [*paths, *candidates, *forests, *references]
    if "-" in everything:
        raise UsageError("compare does not read standard input; give files")
    if not candidates and not forests:
        for path in paths:
            if path.endswith(".json"):
                raise UsageError(
                    f"{path} looks like weights, which choose from lists; give --candidates or "
                    "--forests, or an output with one text per line"
                )


def _seed(seed: int | None) -> int:
    """Return the seed that a user gave here or for sacrebleu; a new one where it is 'none'."""
    import secrets

    from tunesmith.significance.comparing import SEED

    if seed is not None:
        return seed
    text = os.environ.get(SEED_VARIABLE, str(SEED)).strip()
    if text.lower() == "none":
        return secrets.randbelow(1 << 32)
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{SEED_VARIABLE} is '{text}'; give a whole number, or none")
    return int(text)


def _read_pool(
    session: Session,
    candidates: list[str],
    forests: list[str],
    references: list[str],
    format_name: str | None,
    scores: list[str],
    metrics: list[Metric],
    paths: list[str],
) -> Pool | None:
    """Read what weights choose from, if that is what is compared."""
    pool: Pool | None = None
    if candidates:
        from tunesmith.io.weights.files import read_weights

        weighted = {name for path in paths for name in read_weights(path).weights}
        pool = read_candidates(
            candidates, references, format_name, scores, metrics, weighted=weighted
        )
    elif forests:
        pool = read_forest_files(forests, references, format_name)
    if pool is not None:
        session.note(f"{pool!r}")
    return pool


def _warn_of_bias(paths: list[str], metrics: list[Metric], pool: Pool) -> None:
    """Warn of a model's scores that weights were tuned for, where nothing else is reported."""
    from tunesmith.data.candidates import CandidateSet
    from tunesmith.tuners.fitting.guards import metric_bias

    tuned = {name for path in paths if (name := _tuned_for(path)) is not None}
    for metric in metrics:
        if metric.name in tuned and isinstance(pool, CandidateSet):
            others = [other for other in metrics if other.name not in tuned]
            warning = metric_bias(metric, pool, others)
            if warning is not None:
                warnings.warn(warning, stacklevel=2)


def _tuned_for(path: str) -> str | None:
    """Return the metric that weights were tuned for, if their file says so."""
    from tunesmith.io.weights.files import read_weights

    weights_file = read_weights(path)
    if weights_file.format != "json":
        return None
    result = json.loads(weights_file.text)
    name = result.get("metric") if isinstance(result, dict) else None
    return name if isinstance(name, str) else None


def _warn_of_tuning_set(named_paths: list[tuple[str, list[str]]], pool: Pool) -> None:
    """Warn of systems that are compared on what they were tuned on."""
    from tunesmith.cli.tune.inputs import is_tuned_on

    for name, paths in named_paths:
        if any(is_tuned_on(path, pool.files) for path in paths):
            warnings.warn(
                f"'{name}' was tuned on the set that systems are compared on: its scores say "
                "little of other sentences; give another set",
                stacklevel=2,
            )


def _show(comparison: Comparison, sentences: int, latex: bool, as_json: bool) -> None:
    """Write the result to standard output."""
    if as_json:
        print_json(comparison.to_dict(sentences))
        return
    if latex:
        typer.echo(comparison.to_latex(), nl=False)
        return
    from tunesmith.significance.tables import ranking_lines

    console = result_console()
    console.print(comparison, crop=False)
    if sentences:
        for ranking in comparison.rankings:
            console.print()
            console.print(ranking_lines(ranking, sentences), crop=False)
