"""``tunesmith tune --run`` or ``--letor``: weights of runs, or of the features of a ranker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.fuse.options import Letor, Missing, Qrels, Runs, read_set
from tunesmith.cli.options.common import Json, Strict, check_not_read, names_of
from tunesmith.cli.tune.interrupted import returning_best_so_far, tell_of_interruption
from tunesmith.cli.tune.options import (
    DEFAULT,
    Baseline,
    Drop,
    FoldCount,
    History,
    HoldOut,
    Keep,
    Log,
    Normalise,
    Owned,
    Seed,
    TunerName,
    check_output,
    construct,
    files,
    finish,
    share_of,
    trackers,
    tuner_named,
    with_options,
)
from tunesmith.errors import UsageError
from tunesmith.interruption import uninterrupted
from tunesmith.registry import options_of
from tunesmith.tuners.base import TUNERS

if TYPE_CHECKING:
    from tunesmith.tasks.rankings import RankingTask
    from tunesmith.tuners.fitting.result import TuneResult

#: The tuner where none is named.
USUAL = "mert"


def command(arguments: Sequence[str]) -> Callable[..., None]:
    """Return the command with the options of the tuner that the arguments name."""
    name = tuner_named(arguments)
    tuner = USUAL if name == DEFAULT else name
    options = options_of(TUNERS.get(tuner))
    tune = with_options(run, Owned("tuner_options", {o.field: o for o in options}), tuner=tuner)
    tune.__doc__ = run.__doc__
    return tune


def run(
    *,
    session: Session,
    run_files: Runs = [],  # noqa: B006  (typer's way; never changed)
    letor: Letor = None,
    qrels: Qrels = None,
    metric: Annotated[
        list[str],
        typer.Option(
            "--metric",
            "-m",
            help="Metric, such as ndcg@10, map or rr; the first is tuned for, others are also "
            "reported.",
            metavar="NAME",
        ),
    ] = ["ndcg@10"],  # noqa: B006
    normalisation: Annotated[
        str | None,
        typer.Option(
            help="Normalisation of the scores of each query and run [default: min-max; none with "
            "--letor].",
            show_default=False,
            metavar="none|min-max|z|sum|rank|reciprocal-rank",
        ),
    ] = None,
    missing: Missing = "auto",
    tuner: TunerName = USUAL,
    start: Annotated[str | None, files("Weights to begin with.", "FILE", "--start", "-s")] = None,
    baseline: Baseline = None,
    dev_qrels: Annotated[
        str | None, files("Judgements of held-out queries: what chooses among several settings.")
    ] = None,
    dev_letor: Annotated[str | None, files("The same with --letor.")] = None,
    test_qrels: Annotated[
        str | None, files("Judgements of test queries: reported, without influence.")
    ] = None,
    test_letor: Annotated[str | None, files("The same with --letor.")] = None,
    keep: Keep = [],  # noqa: B006
    drop: Drop = [],  # noqa: B006
    folds: FoldCount = 0,
    hold_out: HoldOut = None,
    normalise: Normalise = "auto",
    seed: Seed = 1,
    out: Annotated[
        str | None,
        files("Where to write the whole result, as JSON; rerank takes it.", "FILE", "--out", "-o"),
    ] = None,
    history: History = False,
    log: Log = [],  # noqa: B006
    strict: Strict = False,
    as_json: Json = False,
    tuner_options: dict[str, Any],
) -> None:
    """Find the weights of runs or features that rank documents best."""
    from tunesmith.data.rankings.normalisation import Normalisation
    from tunesmith.io.weights.files import read_weights
    from tunesmith.metrics.rankings.metric import RankingMetric
    from tunesmith.randomness import checked_seed
    from tunesmith.tasks.rankings import RankingTask
    from tunesmith.tuners.fitting.split import check_split

    held_out = _held_out(letor, {"dev": (dev_qrels, dev_letor), "test": (test_qrels, test_letor)})
    usual = "min-max" if letor is None else "none"
    how = Normalisation.of(normalisation or usual, missing)
    checked_seed(seed)
    algorithm = construct(TUNERS.get(tuner), tuner_options, f"tuner '{tuner}'")
    algorithm.check_rankings(has_rankings=True)
    algorithm.check_choice(held_out["dev"] is not None, "give --dev-qrels or --dev-letor")
    measure, *others = (RankingMetric.of(name) for name in metric)
    share = share_of(hold_out)
    check_split(folds, None, share)
    if start is not None and baseline is not None:
        raise UsageError("--start and --baseline both say where to begin; give one of them")
    check_not_read("--out", out, [qrels, letor, start, *held_out.values()])
    check_output(out, as_json, history)
    if out is not None and out != "-" and not out.endswith(".json"):
        raise UsageError(f"--out is {out}; a result is JSON, so name it .json")
    callbacks = trackers(log)
    start_weights = None if start is None else read_weights(start).weights

    def read(own_qrels: str | None, own_letor: str | None) -> RankingTask:
        rankings = read_set(run_files, own_letor, own_qrels, start)
        session.note(f"{rankings!r}")
        return RankingTask(rankings, measure, how)

    tuning = read(qrels, letor)
    dev, test = (
        None if path is None else read(*((path, None) if letor is None else (None, path)))
        for path in held_out.values()
    )
    inputs = {
        "metrics": list(metric),
        "normalisation": how.to_dict(),
        "tune": {"runs": run_files, "letor": letor, "qrels": qrels},
        **held_out,
    }
    with returning_best_so_far():
        with names_of(start):
            result: TuneResult = algorithm.fit(
                tuning,
                start_weights,
                dev,
                seed,
                strict,
                test=test,
                normalise=normalise,
                keep=keep,
                drop=drop,
                others=others,
                callbacks=callbacks,
                baseline=baseline,
                folds=folds,
                hold_out=share,
            )
        with uninterrupted():
            result = replace(result, inputs=inputs)
            result = finish(session, result, out, as_json, lambda _: None, history)
        tell_of_interruption(result, out)


def _held_out(
    letor: str | None, named: dict[str, tuple[str | None, str | None]]
) -> dict[str, str | None]:
    """Return the file of each held-out set: judgements of the same runs, or rows of features."""
    files = {}
    for name, (of_qrels, of_letor) in named.items():
        wrong = of_qrels if letor is not None else of_letor
        if wrong is not None:
            kind, other = ("qrels", "letor") if letor is not None else ("letor", "qrels")
            raise UsageError(f"--{name}-{kind} does not go with --{other}; give --{name}-{other}")
        files[name] = of_letor if letor is not None else of_qrels
    return files
