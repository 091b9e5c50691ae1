"""``tunesmith tune``: from candidates to weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.fuse.options import are_meant
from tunesmith.cli.options.common import (
    Candidates,
    Format,
    Json,
    References,
    Scores,
    Strict,
    check_not_read,
    names_of,
    one_standard_input,
    read_candidates,
)
from tunesmith.cli.options.derived import DerivedFeatures, derived_features
from tunesmith.cli.options.forests import (
    ForestFiles,
    Lists,
    ListSize,
    Memory,
    Prune,
    Pruning,
    Search,
    forest_options,
    one_kind,
    read_forest_files,
    set_memory,
)
from tunesmith.cli.tune import loop as tune_loop
from tunesmith.cli.tune import rankings as tune_rankings
from tunesmith.cli.tune.inputs import files_named
from tunesmith.cli.tune.interrupted import returning_best_so_far, tell_of_interruption
from tunesmith.cli.tune.options import (
    DEFAULT,
    Baseline,
    Drop,
    FoldColumn,
    FoldCount,
    History,
    HoldOut,
    Keep,
    LengthPenalty,
    LenpenPlain,
    LenpenRange,
    Log,
    Metrics,
    Normalise,
    Owned,
    Seed,
    TunerName,
    check_output,
    construct,
    files,
    files_of,
    finish,
    lenpen_of,
    owners,
    share_of,
    trackers,
    tuner_named,
    with_options,
)
from tunesmith.cli.tune.replicates import check_replicates, finish_replicates
from tunesmith.cli.tune.sharded import Sharded, check_sharded, read_sharded
from tunesmith.interruption import uninterrupted
from tunesmith.registry import options_of
from tunesmith.tuners.base import TUNERS

if TYPE_CHECKING:
    from tunesmith.tasks.base import Task
    from tunesmith.tuners.fitting.result import Combine, TuneResult


def command(arguments: Sequence[str]) -> Callable[..., None]:
    """Return the command with the options of the tuner, and decoder, that the arguments name."""
    if tune_loop.is_meant(arguments):
        return tune_loop.command(arguments)
    if are_meant(arguments):
        return tune_rankings.command(arguments)
    tuner = tuner_named(arguments)
    options = options_of(TUNERS.get(tuner))
    tune = with_options(
        run, Owned("tuner_options", {option.field: option for option in options}), tuner=tuner
    )
    tune.__doc__ = (
        f"{run.__doc__}\n\nOptions of other tuners: --tuner NAME --help. "
        "With a decoder that makes new candidates in each round: --decoder NAME --help. "
        "Of rankings: --run FILE --help."
    )
    return tune


def why_not(flag: str, arguments: Sequence[str]) -> str | None:
    """Return to whom an option belongs that the command does not have; None if to nobody."""
    reason = tune_loop.why_not(flag, arguments)
    tuners = sorted(owners(flag))
    if reason is None and tuners:
        kind = "tuner" if len(tuners) == 1 else "tuners"
        return f"{flag} is an option of the {kind} {', '.join(tuners)}; name yours with --tuner"
    return reason


def run(
    *,
    session: Session,
    candidates: Candidates = [],  # noqa: B006  (typer's way; never changed)
    forests: ForestFiles = [],  # noqa: B006
    references: References = [],  # noqa: B006
    scores: Scores = [],  # noqa: B006
    metric: Metrics = ["bleu"],  # noqa: B006
    tuner: TunerName = DEFAULT,
    start: Annotated[str | None, files("Starting weights.", "FILE", "--start", "-s")] = None,
    baseline: Baseline = None,
    dev_candidates: Annotated[
        list[str], files("A held-out set: reported, and used to choose among several settings.")
    ] = [],  # noqa: B006
    dev_forests: Annotated[list[str], files("The same as forests.", "PATH")] = [],  # noqa: B006
    dev_references: Annotated[list[str], files("Its references.")] = [],  # noqa: B006
    dev_scores: Annotated[list[str], files("Its --scores.", "NAME=FILE")] = [],  # noqa: B006
    test_candidates: Annotated[list[str], files("A test set: reported, never used.")] = [],  # noqa: B006
    test_forests: Annotated[list[str], files("The same as forests.", "PATH")] = [],  # noqa: B006
    test_references: Annotated[list[str], files("Its references.")] = [],  # noqa: B006
    test_scores: Annotated[list[str], files("Its --scores.", "NAME=FILE")] = [],  # noqa: B006
    feature: DerivedFeatures = [],  # noqa: B006
    keep: Keep = [],  # noqa: B006
    drop: Drop = [],  # noqa: B006
    runs: Annotated[
        int,
        typer.Option(
            help="Tune this many times, with different random numbers.", metavar="INTEGER"
        ),
    ] = 1,
    combine: Annotated[
        str,
        typer.Option(
            help="How to combine several runs: the best of them, or the average or median of "
            "their weights.",
            metavar="best|average|median",
        ),
    ] = "best",
    replicates: Annotated[
        int,
        typer.Option(
            help="Independent runs with consecutive seeds: reports mean and deviation of "
            "their scores, and writes the median run to --out and each run to a file "
            "next to it.",
            metavar="INTEGER",
        ),
    ] = 1,
    folds: FoldCount = 0,
    fold_column: FoldColumn = None,
    hold_out: HoldOut = None,
    lenpen: LengthPenalty = None,
    lenpen_range: LenpenRange = None,
    lenpen_plain: LenpenPlain = [],  # noqa: B006
    normalise: Normalise = "auto",
    seed: Seed = 1,
    forest_search: Search = "auto",
    list_size: ListSize = 100,
    forest_lists: Lists = "kbest",
    prune: Prune = None,
    memory: Memory = None,
    sharded: Sharded = False,
    out: Annotated[
        str | None,
        files(
            "Where to write: the whole result as .json, otherwise weights in the format of "
            "--start.",
            "FILE",
            "--out",
            "-o",
        ),
    ] = None,
    history: History = False,
    log: Log = [],  # noqa: B006
    format_name: Format = None,
    strict: Strict = False,
    as_json: Json = False,
    tuner_options: dict[str, Any],
) -> None:
    """Find the weights that maximise the metric."""
    from tunesmith.errors import UsageError
    from tunesmith.io.weights.files import read_weights
    from tunesmith.metrics.base import METRICS
    from tunesmith.randomness import checked_seed
    from tunesmith.tasks.forests import ForestTuning
    from tunesmith.tasks.lists import TuningSet
    from tunesmith.tuners.fitting.combine import check_runs
    from tunesmith.tuners.fitting.split import check_split
    from tunesmith.tuners.lenpen.fit import check_lenpen
    from tunesmith.tuners.replicates import replicate

    one_kind(candidates, forests)
    tune_files = _Files(candidates, forests, references, scores)
    held_out = {
        "dev": _Files(dev_candidates, dev_forests, dev_references, dev_scores),
        "test": _Files(test_candidates, test_forests, test_references, test_scores),
    }
    _check_files(tune_files, start, held_out, files_of(TUNERS, tuner, tuner_options))
    beside = check_replicates(replicates, out, log)
    for set_files in (tune_files, *held_out.values()):
        for path in (out, *beside):
            check_not_read("--out", path, set_files.paths)
    set_memory(memory)
    has_forests = any(set_files.forests for set_files in (tune_files, *held_out.values()))
    options = forest_options(forest_search, list_size, forest_lists, has_forests)
    if prune is not None and not (forests and start is not None):
        raise UsageError("--prune goes with --forests and --start; give them, or drop it")
    pruning = None if prune is None else Pruning.of(prune)
    checked_seed(seed)
    algorithm = construct(TUNERS.get(tuner), tuner_options, f"tuner '{tuner}'")
    algorithm.check_forests(bool(forests))
    algorithm.check_choice(held_out["dev"].is_given, "give --dev-candidates, or --dev-forests")
    measure, *others = (METRICS.create(name) for name in metric)
    algorithm.check_metric(measure)
    check_runs(runs, combine)
    share = share_of(hold_out)
    check_split(folds, fold_column, share)
    penalty = lenpen_of(lenpen, lenpen_range, lenpen_plain)
    check_lenpen(penalty, has_forests)
    if sharded:
        needing = {"--scores": bool(scores), "--feature": bool(feature)}
        needing |= {"--folds": folds > 0, "--hold-out": share > 0, "--lenpen": penalty is not None}
        check_sharded(algorithm, candidates, needing)
    quotient = next((spec for spec in feature if spec.startswith("per:")), None)
    if penalty is not None and quotient is not None:
        raise UsageError(f"--lenpen finds the exponent itself; drop --feature {quotient}")
    if start is not None and baseline is not None:
        raise UsageError("--start and --baseline both say where to begin; give one of them")
    if combine != "best" and runs == 1:
        raise UsageError(f"--combine {combine} has one run to combine; give --runs 2 or more")
    for path in (out, *beside):
        check_output(path, as_json, history)
    callbacks = trackers(log)
    start_weights = None if start is None else read_weights(start)
    begin = [] if start_weights is None else [(start, start_weights.weights)]
    derived = derived_features(feature, *begin)

    def read_set(paths: _Files) -> Task:
        # --format names one of lists or of forests: of what is tuned on.
        set_format = format_name if bool(paths.forests) == bool(forests) else None
        if sharded and paths is tune_files:
            files = paths.candidates, paths.references
            shards = read_sharded(*files, set_format, measure, others)
            session.note(f"{shards!r}")
            return shards
        if not paths.forests:
            metrics = [measure, *others]
            lists = read_candidates(
                paths.candidates,
                paths.references,
                set_format,
                paths.scores,
                metrics,
                derived=derived,
                needed=[] if fold_column is None else [fold_column],
            )
            session.note(f"{lists!r}")
            return TuningSet(lists, measure)
        forest_set = read_forest_files(paths.forests, paths.references, set_format, derived)
        session.note(f"{forest_set!r}")
        task = ForestTuning(forest_set, measure, options)
        if paths is tune_files and pruning is not None and start_weights is not None:
            with names_of(start):
                task = pruning.applied(task, start_weights.weights.matched(task.names))
            session.note(f"{task.forests!r}, pruned")
        return task

    tuning = read_set(tune_files)
    dev, test = (read_set(paths) if paths.is_given else None for paths in held_out.values())

    inputs = {
        "metrics": list(metric),
        "prune": prune,
        **({"features": list(feature)} if feature else {}),
        **{
            name: _named(paths, format_name)
            for name, paths in {"tune": tune_files, **held_out}.items()
        },
    }

    def fit(with_seed: int) -> TuneResult:
        result = algorithm.fit(
            tuning,
            None if start_weights is None else start_weights.weights,
            dev,
            with_seed,
            strict,
            test=test,
            runs=runs,
            combine=cast("Combine", combine),
            normalise=normalise,
            keep=keep,
            drop=drop,
            others=metric[1:],
            callbacks=callbacks,
            baseline=baseline,
            folds=folds,
            fold_column=fold_column,
            hold_out=share,
            lenpen=penalty,
        )
        return replace(result, inputs=inputs)

    def rewritten(result: TuneResult) -> bytes | None:
        if start_weights is None or start_weights.format == "json":
            return None
        return start_weights.rewritten(result.weights)

    with returning_best_so_far():
        with names_of(start):
            results = [fit(seed)] if replicates == 1 else replicate(fit, seed, replicates)
        with uninterrupted():
            if replicates == 1:
                result = finish(session, results[0], out, as_json, rewritten, history)
            else:
                better = measure.higher_is_better
                result = finish_replicates(
                    session, results, replicates, better, out, beside, as_json, rewritten, history
                )
        tell_of_interruption(result, out)


@dataclass(frozen=True)
class _Files:
    """The files of a set, as options name them."""

    candidates: list[str]
    forests: list[str]
    references: list[str]
    scores: list[str]

    @property
    def is_given(self) -> bool:
        """Whether there is a set."""
        return bool(self.candidates or self.forests)

    @property
    def paths(self) -> list[str]:
        """All files."""
        scores = (text.partition("=")[2] for text in self.scores)
        return [*self.candidates, *self.forests, *self.references, *scores]


def _named(paths: _Files, format_name: str | None) -> Any:
    return files_named(
        format_name,
        candidates=paths.candidates,
        forests=paths.forests,
        references=paths.references,
        scores=paths.scores,
    )


def _check_files(
    tune_files: _Files, start: str | None, held_out: dict[str, _Files], others: list[str]
) -> None:
    """Raise an error if files do not go together, or standard input is read twice."""
    from tunesmith.errors import UsageError

    for set_name, paths in {"": tune_files, **held_out}.items():
        option = f"--{set_name}-" if set_name else "--"
        if paths.candidates and paths.forests:
            raise UsageError(f"{option}candidates and {option}forests; give one of them")
        if paths.forests and paths.scores:
            raise UsageError(f"{option}scores goes with {option}candidates; drop it")
        if (paths.references or paths.scores) and not paths.is_given:
            extra = "references" if paths.references else "scores"
            raise UsageError(
                f"{option}{extra} without {option}candidates or {option}forests; give both"
            )
    every = [path for paths in (tune_files, *held_out.values()) for path in paths.paths]
    one_standard_input(*every, start, *others)
