"""``tunesmith tune --decoder NAME``: a decoder in the loop."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import (
    Json,
    References,
    Strict,
    check_not_read,
    names_of,
    one_standard_input,
)
from tunesmith.cli.options.derived import check_underived
from tunesmith.cli.options.forests import Lists as ForestLists
from tunesmith.cli.options.forests import ListSize, Memory, Search, set_memory
from tunesmith.cli.tune.inputs import files_named, shown_path
from tunesmith.cli.tune.interrupted import returning_best_so_far, tell_of_interruption
from tunesmith.cli.tune.options import (
    DEFAULT,
    Drop,
    History,
    Keep,
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
    trackers,
    tuner_named,
    value_of,
    with_options,
)
from tunesmith.errors import UsageError
from tunesmith.interruption import uninterrupted
from tunesmith.registry import Option, options_of
from tunesmith.tuners.base import TUNERS

if TYPE_CHECKING:
    from tunesmith.decoders.base import Decoder
    from tunesmith.io.weights.files import WeightsFile
    from tunesmith.loop.inputs import Inputs
    from tunesmith.metrics.base import Metric

#: Options of decoders that many have, and that are written without a prefix.
PLAIN = ("model", "nbest_size", "jobs")
#: The decoder of ``--decoder-command``.
COMMAND = "command"
#: Options that need a decoder, besides those of the loop.
DECODER_ONLY = ("source", "dev-source", "test-source", "work-dir", "model", "nbest-size", "jobs")
#: What replaces the options that do not go with a decoder.
INSTEAD = {
    "candidates": "a decoder makes candidates itself; lists that are there are "
    "--decoder pool --decoder-candidates FILE",
    "dev-candidates": "a decoder makes candidates itself; give --dev-source",
    "test-candidates": "a decoder makes candidates itself; give --test-source",
    **{
        f"{which}scores": "a decoder makes candidates itself; have it give all features"
        for which in ("", "dev-", "test-")
    },
    "format": "the format is the decoder's business; give --decoder-format",
    **{
        f"{which}forests": "a decoder makes forests itself, if it can; see --tune-on"
        for which in ("", "dev-", "test-")
    },
    "prune": "a decoder prunes by itself; see its own options",
    "runs": "a loop tunes once in each round; start it again with another --seed and --work-dir",
    "replicates": "a loop is one run; start it once for each --seed, with its own --work-dir and "
    "--out",
    "combine": "a loop has one run; --final average averages its rounds",
    **dict.fromkeys(
        ("folds", "fold-column", "hold-out"),
        "a decoder makes other candidates in each round; hold sentences out as --dev-source and "
        "--test-source",
    ),
    "baseline": "the first round decodes with --start; give one feature a weight there",
}


def is_meant(arguments: Sequence[str]) -> bool:
    """Tell whether arguments ask for a decoder."""
    names = [argument.partition("=")[0] for argument in arguments]
    return any(name == "--decoder" or name.startswith("--decoder-") for name in names)


def command(arguments: Sequence[str]) -> Callable[..., None]:
    """Return the command with the options of the decoder, the loop and the tuner."""
    from tunesmith.decoders.base import DECODERS
    from tunesmith.loop.loop import Loop

    name = _decoder_name(arguments)
    tuner_name = tuner_named(arguments)
    of_tuner = options_of(TUNERS.get(tuner_name))
    tuner = Owned("tuner_options", {option.field: option for option in of_tuner})
    # A user's tuner may have an option with the name of one of the loop.
    loop = {
        f"loop_{option.field}" if option.field in tuner.options else option.field: option
        for option in options_of(Loop)
    }
    tune = with_options(
        run,
        Owned("decoder_options", _decoder_options(DECODERS.get(name))),
        Owned("loop_options", loop),
        tuner,
        tuner=tuner_name,
    )
    tune.__doc__ = (
        f"{run.__doc__}\n\n"
        "With a decoder that gives forests an online tuner decodes each sentence when it comes to "
        "it.\n\n"
        "Options of other decoders and tuners: --decoder NAME --tuner NAME --help."
    )
    return tune


def _decoder_name(arguments: Sequence[str]) -> str:
    name = value_of(arguments, "--decoder")
    if sum(a == "--decoder" or a.startswith("--decoder=") for a in arguments) > 1:
        raise UsageError("--decoder is given twice; give it once")
    if name is None:
        if value_of(arguments, "--decoder-command") is None:
            raise UsageError("no decoder is named; give --decoder NAME, or --decoder-command")
        return COMMAND
    return name


def _decoder_options(cls: type[Decoder]) -> Mapping[str, Option]:
    """Return a decoder's options by the names of parameters; those that many have come last.

    A model comes first: it is what a decoder is.
    """
    bases = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
    inherited = {field.name for base in bases for field in dataclasses.fields(base)}
    options = sorted(options_of(cls), key=lambda option: option.field in inherited)
    plain = {option.field: option for option in options if option.field in PLAIN}
    specific = {
        f"decoder_{option.field}": option for option in options if option.field not in plain
    }
    model = {field: plain.pop(field) for field in ("model",) if field in plain}
    return {**model, **specific, **{field: plain[field] for field in PLAIN if field in plain}}


def why_not(flag: str, arguments: Sequence[str]) -> str | None:
    """Return why the command does not have an option; None if it is unknown."""
    from tunesmith.loop.loop import Loop

    name = flag.removeprefix("--").removeprefix("no-")
    if not is_meant(arguments):
        if name in {*DECODER_ONLY, *(option.flag for option in options_of(Loop))}:
            return f"{flag} is for tuning with a decoder; give --decoder NAME"
        return None
    if name in INSTEAD:
        return f"there is no {flag} with a decoder: {INSTEAD[name]}"
    if name in {"model", "nbest-size", "jobs"}:
        decoder = _decoder_name(arguments)
        return f"the decoder '{decoder}' has no option {flag}; leave it out"
    if name.startswith("decoder-"):
        decoder = _decoder_name(arguments)
        return f"the decoder '{decoder}' has no option {flag}; see --help for those that it has"
    return None


def run(
    *,
    session: Session,
    decoder: Annotated[
        str,
        typer.Option(
            help="The decoder; see `tunesmith list decoders`. path/to/file.py:Name runs "
            "that file. Without it --decoder-command is the decoder 'command'.",
            show_default=False,
            metavar="NAME",
        ),
    ] = COMMAND,
    decoder_options: dict[str, Any],
    source: Annotated[
        str | None,
        files("Sentences to tune on, one per line; some decoders know them without."),
    ] = None,
    references: References = [],  # noqa: B006  (typer's way; never changed)
    dev_source: Annotated[
        str | None,
        files(
            "A held-out set, decoded in each round: it chooses among rounds (see --final) and "
            "among several settings of a tuner."
        ),
    ] = None,
    dev_references: Annotated[list[str], files("Its references.")] = [],  # noqa: B006
    test_source: Annotated[
        str | None, files("A test set, decoded in each round, without influence.")
    ] = None,
    test_references: Annotated[list[str], files("Its references.")] = [],  # noqa: B006
    work_dir: Annotated[
        str | None,
        files(
            "Where all that is done is kept, step by step: however a run ends, the same command "
            "goes on from there and comes to the same weights.",
            "FOLDER",
        ),
    ] = None,
    loop_options: dict[str, Any],
    metric: Metrics = ["bleu"],  # noqa: B006
    tuner: TunerName = DEFAULT,
    start: Annotated[
        str | None,
        files("Weights to begin with [default: those of the decoder's own file]."),
    ] = None,
    keep: Keep = [],  # noqa: B006
    drop: Drop = [],  # noqa: B006
    normalise: Normalise = "none",
    seed: Seed = 1,
    forest_search: Search = "auto",
    list_size: ListSize = 100,
    forest_lists: ForestLists = "kbest",
    memory: Memory = None,
    out: Annotated[
        str | None,
        files(
            "Where to write: the whole result as .json, otherwise weights in the format of "
            "--start, or the decoder's own configuration with the new weights."
        ),
    ] = None,
    history: History = False,
    log: Log = [],  # noqa: B006
    strict: Strict = False,
    as_json: Json = False,
    tuner_options: dict[str, Any],
) -> None:
    """Decode, add new candidates to the old ones, tune, and repeat until nothing new appears."""
    from tunesmith.decoders.base import DECODERS
    from tunesmith.io.weights.files import read_weights
    from tunesmith.loop.loop import Loop
    from tunesmith.metrics.base import METRICS
    from tunesmith.metrics.scored_forests import ForestOptions

    held_out = {"dev": (dev_source, dev_references), "test": (test_source, test_references)}
    read = [source, *references, dev_source, *dev_references, test_source, *test_references]
    model = [path for name in ("grammar", "lm") for path in decoder_options.get(name, ())]
    check_not_read("--out", out, [*read, *model])
    one_standard_input(
        *(*read, start),
        *files_of(TUNERS, tuner, tuner_options),
        *files_of(DECODERS, decoder, decoder_options),
    )
    for set_name, (path, set_references) in held_out.items():
        if set_references and path is None:
            raise UsageError(f"--{set_name}-references without --{set_name}-source; give both")
    set_memory(memory)
    searched = ForestOptions(cast("Any", forest_search), list_size, cast("Any", forest_lists))
    loop = construct(Loop, loop_options, "the loop")
    if loop.final == "dev" and dev_source is None:
        raise UsageError("--final dev chooses by a held-out set; give --dev-source")
    algorithm = construct(TUNERS.get(tuner), tuner_options, f"tuner '{tuner}'")
    algorithm.check_choice(dev_source is not None, "give --dev-source")
    measure, *others = (METRICS.create(name) for name in metric)
    check_output(out, as_json, history)
    callbacks = trackers(log)
    start_weights = None if start is None else read_weights(start)
    if start_weights is not None:
        check_underived(start_weights.weights, start)
    metrics = [measure, *others]
    with _closing(
        construct(DECODERS.get(decoder), decoder_options, f"decoder '{decoder}'")
    ) as the_decoder:
        columns = sorted({name for m in metrics for name in m.columns})
        is_searched = loop.kind(the_decoder, algorithm, columns) != "lists"
        if searched != ForestOptions() and not is_searched:
            raise UsageError(
                "--forest-search, --list-size and --forest-lists are for forests, and lists are "
                "tuned on; drop them"
            )
        if is_searched and "nbest_size" in decoder_options:
            raise UsageError(
                "--nbest-size is for lists, and forests are tuned on; drop it, or give --tune-on "
                "lists"
            )
        if start_weights is None and the_decoder.start() is None:
            raise UsageError(f"the decoder '{decoder}' has no weights of its own; give --start")
        inputs = _read(source, references, the_decoder, metrics, "")
        dev, test = (
            None
            if path is None
            else _read(path, set_references, the_decoder, metrics, f"{set_name}-")
            for set_name, (path, set_references) in held_out.items()
        )
        with returning_best_so_far():
            with names_of(start), _hint(session, work_dir):
                result = loop.run(
                    the_decoder,
                    algorithm,
                    inputs,
                    metric=measure,
                    start=None if start_weights is None else start_weights.weights,
                    dev=dev,
                    test=test,
                    seed=seed,
                    work_dir=work_dir,
                    others=metric[1:],
                    strict=strict,
                    keep=keep,
                    drop=drop,
                    normalise=normalise,
                    forest_options=searched if is_searched else None,
                    callbacks=callbacks,
                )
            named = {
                "metrics": list(metric),
                "work_dir": None if work_dir is None else shown_path(work_dir),
                "tune": files_named(source=source, references=references),
                **{
                    set_name: files_named(source=path, references=set_references)
                    for set_name, (path, set_references) in held_out.items()
                },
            }
            result = dataclasses.replace(result, inputs=named)
            with uninterrupted():
                result = finish(
                    session,
                    result,
                    out,
                    as_json,
                    lambda tuned: _rewritten(start_weights, the_decoder, tuned.weights),
                    history,
                )
            more = "" if work_dir is None else f"; the same command goes on from {work_dir}"
            tell_of_interruption(result, out, more)


def _read(
    source: str | None,
    references: list[str],
    decoder: Decoder,
    metrics: Sequence[Metric],
    prefix: str,
) -> Inputs:
    """Read sentences and their references; raise an error if some are lacking."""
    from tunesmith.loop.inputs import Inputs

    known = decoder.sentences()
    if source is None and known is None:
        raise UsageError(f"the decoder '{decoder.name}' needs sentences; give --{prefix}source")
    if source is not None and known is not None:
        raise UsageError(
            f"the decoder '{decoder.name}' has its own sentences; leave out --{prefix}source"
        )
    for metric in metrics:
        if metric.needs_references and not references:
            raise UsageError(f"{metric.name} needs references; give --{prefix}references")
    return Inputs.read(source, references, known)


def _rewritten(start: WeightsFile | None, decoder: Decoder, weights: Any) -> bytes | None:
    """Return weights in the format of the start weights, or in the decoder's own.

    None if there is neither: the result is JSON then.
    """
    if start is None or start.format == "json":
        return decoder.rewritten(weights)
    return start.rewritten(weights)


@contextlib.contextmanager
def _closing(decoder: Decoder) -> Iterator[Decoder]:
    """Close a decoder at the end, however it comes."""
    try:
        yield decoder
    except BaseException:
        with contextlib.suppress(Exception):  # the first error counts
            decoder.close()
        raise
    decoder.close()


@contextlib.contextmanager
def _hint(session: Session, work_dir: str | None) -> Iterator[None]:
    """Say at an interruption how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        if work_dir is not None:
            session.say(f"what is done is kept in {work_dir}; the same command goes on from there")
        raise
