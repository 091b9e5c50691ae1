"""``tunesmith fuse``: from runs and judgements to the weights of a mix."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.fuse.options import Missing, Qrels, Runs, read_judged
from tunesmith.cli.options.common import Json, check_not_read, print_json, result_console
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.tuners.fusion.fuse import Fused

#: Parts of the queries where no option says how many.
FOLDS = 5


def run(
    *,
    session: Session,
    runs: Runs = [],  # noqa: B006  (typer's way; never changed)
    qrels: Qrels = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            help="ndcg@10, map, rr@10, p@5, recall@100, success@1, rprec, err@20 or bpref, "
            "with or without a cutoff where the metric has one.",
            metavar="NAME",
        ),
    ] = "ndcg@10",
    normalisation: Annotated[
        list[str],
        typer.Option(
            "--normalisation",
            "--normalization",
            help="Normalisation of the scores of each query and run; folds choose "
            "among several. reciprocal-rank:k=10 sets k.",
            metavar="none|min-max|z|sum|rank|reciprocal-rank",
        ),
    ] = ["min-max"],  # noqa: B006
    missing: Missing = "auto",
    folds: Annotated[
        int | None,
        typer.Option(
            help="Folds: each part of the queries is scored with weights tuned on the "
            "others; 0 for none [default: 5].",
            show_default=False,
            metavar="INTEGER",
        ),
    ] = None,
    test_qrels: Annotated[
        str | None,
        typer.Option(
            help="Judgements of other queries of the same runs, which are scored "
            "instead of folds and have no influence.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    allow_negative: Annotated[
        bool,
        typer.Option(
            "--allow-negative",
            help="Let weights be below 0; Elasticsearch and OpenSearch take no such weights.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.", metavar="INTEGER")] = 1,
    export: Annotated[
        list[str],
        typer.Option(
            help="Write the weights for a search engine too, into a file or at the end of the "
            "output; repeat it for several.",
            show_default=False,
            metavar="elasticsearch|opensearch|ranklib[=FILE]",
        ),
    ] = [],  # noqa: B006
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the result as JSON; rerank takes it as --weights.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the weights with which several runs together rank best."""
    from tunesmith.data.rankings.normalisation import Normalisation
    from tunesmith.io.rankings.engines import check_engine
    from tunesmith.io.rankings.read import named_runs, read_rankings
    from tunesmith.io.streams import check_writable, write_atomically
    from tunesmith.metrics.rankings.metric import RankingMetric
    from tunesmith.tuners.fitting.split import check_split
    from tunesmith.tuners.fusion.fuse import fuse

    measure = RankingMetric.of(metric)
    kinds = [
        Normalisation.of(text, missing) for texts in normalisation for text in texts.split(",")
    ]
    if folds is not None and test_qrels is not None:
        raise UsageError("--test-qrels takes the place of folds; drop --folds")
    folds = FOLDS if folds is None else folds
    check_split(folds, None, 0.0)
    if len(runs) == 1:
        raise UsageError("there is one run, and nothing to mix it with; give two or more")
    exports = [_export(text) for text in export]
    for engine, path in exports:
        for kind in kinds:
            check_engine(engine, kind, allow_negative)
        if path is None and as_json:
            raise UsageError(f"--json is one object; write --export {engine}=FILE")
    if as_json and out == "-":
        raise UsageError("--json and --out - both write to standard output; drop one of them")
    read = [*(named_runs(runs).values() if runs else []), qrels, test_qrels]
    for flag, path in [("--out", out), *(("--export", path) for _, path in exports)]:
        check_not_read(flag, path, read)
        if path is not None:
            check_writable(path)
    written = [os.path.realpath(p) for p in (out, *(p for _, p in exports)) if p not in (None, "-")]
    if len({*written}) < len(written):
        raise UsageError("--out and --export are the same file; name one for each")
    if test_qrels is None:
        rankings, test = read_judged(runs, qrels), None
    else:
        with warnings.catch_warnings():  # the queries of one are not judged in the other
            warnings.filterwarnings("ignore", ".* queries have no judgements")
            rankings = read_judged(runs, qrels, test_qrels)
            test = read_rankings(named_runs(runs), test_qrels)
    session.note(f"{rankings!r}")
    fused = fuse(
        *(rankings, measure, kinds),
        folds=folds,
        test=test,
        allow_negative=allow_negative,
        rng=seed,
    )
    if out is not None:
        write_atomically(out, _text(fused))
    if as_json:
        print_json(fused.to_dict())
    elif out != "-":
        result_console().print(fused, crop=False)
    for engine, path in exports:
        _write(fused, engine, path)


def _export(text: str) -> tuple[str, str | None]:
    engine, equals, path = text.partition("=")
    if equals and not path:
        raise UsageError(f"--export is '{text}'; write {engine}=FILE")
    return engine, path or None


def _text(fused: Fused) -> str:
    return json.dumps(fused.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write(fused: Fused, engine: str, path: str | None) -> None:
    """Write weights for an engine, to standard output without a file."""
    from tunesmith.io.rankings.engines import engine_text
    from tunesmith.io.streams import write_atomically

    text = engine_text(engine, fused.weights, fused.normalisation, fused.depth)
    if path is None:
        typer.echo(f"\n{engine}:\n{text}", nl=False)
    else:
        write_atomically(path, text)
