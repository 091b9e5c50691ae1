"""``tunesmith tune``: from candidates to weights."""

from __future__ import annotations

import dataclasses
import inspect
import json
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options import (
    Candidates,
    Format,
    Json,
    References,
    Scores,
    Strict,
    names_of,
    one_standard_input,
    print_json,
    read_candidates,
)
from tunesmith.registry import Option, options_of, parse_options
from tunesmith.tuners.base import TUNERS

if TYPE_CHECKING:
    from tunesmith.io.weights import WeightsFile
    from tunesmith.tuners.result import Combine, TuneResult

DEFAULT = "mert"


def command(arguments: Sequence[str]) -> Callable[..., None]:
    """Return the command with the options of the tuner that the arguments name."""
    tuner = _value(arguments, "--tuner") or DEFAULT
    options = options_of(TUNERS.get(tuner))

    def tune(**given: Any) -> None:
        own = {o.field: given.pop(o.field) for o in options}
        run(own={k: v for k, v in own.items() if v not in (None, [])}, **given)

    parameters = list(inspect.signature(run, eval_str=True).parameters.values())
    parameters = [p for p in parameters if p.name != "own"] + [_parameter(o) for o in options]
    tune.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    )
    tune.__doc__ = f"{run.__doc__}\n\nOptions of other tuners: --tuner NAME --help."
    return tune


def owners(flag: str) -> list[str]:
    """Return the tuners that have an option."""
    wanted = flag.removeprefix("--").removeprefix("no-")
    return [
        name
        for name in TUNERS.names()
        if any(option.flag == wanted for option in options_of(TUNERS.get(name)))
    ]


def _value(arguments: Sequence[str], option: str) -> str | None:
    for k, argument in enumerate(arguments):
        if argument == option and k + 1 < len(arguments):
            return arguments[k + 1]
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
    return None


def _parameter(option: Option) -> inspect.Parameter:
    """Turn a tuner's field into a flag; its text is parsed by the registry."""
    text = option.help[:1].upper() + option.help[1:]
    if option.type is bool:
        text += f" [default: {'yes' if option.default else 'no'}]"
        info = typer.Option(f"--{option.flag}/--no-{option.flag}", help=text)
        kind: Any = bool | None
    else:
        if option.several:
            numbers = option.type in (int, float)
            text += "; with commas" if numbers else "; repeat it for several"
            if numbers and option.default:
                text += f" [default: {','.join(f'{x:g}' for x in option.default)}]"
        elif option.default not in (None, ""):
            text += f" [default: {option.default}]"
        kinds = {int: "INTEGER", float: "NUMBER"}
        usual = kinds.get(option.type, "TEXT") + (",..." if option.several else "")
        metavar = option.metavar or "|".join(option.choices) or usual
        info = typer.Option(f"--{option.flag}", help=text, show_default=False, metavar=metavar)
        kind = list[str] | None if option.several else str | None
    return inspect.Parameter(
        option.field,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind, info],
    )


def _several(text: str, metavar: str = "FILE") -> Any:
    return typer.Option(help=text, show_default=False, metavar=metavar)


def _patterns(what: str) -> Any:
    return _several(f"{what}, by a pattern as LM*; repeat it for several.", "PATTERN")


def run(
    *,
    session: Session,
    own: dict[str, Any],
    candidates: Candidates,
    references: References = [],  # noqa: B006  (typer's way; never changed)
    scores: Scores = [],  # noqa: B006
    metric: Annotated[
        list[str],
        typer.Option(
            help="Metric with its options, as bleu:tokenize=13a; the first is tuned for, "
            "others are reported beside it. path/to/file.py:Name runs that file.",
            metavar="NAME",
        ),
    ] = ["bleu"],  # noqa: B006
    tuner: Annotated[
        str,
        typer.Option(
            help="Algorithm; see `tunesmith list tuners`. path/to/file.py:Name runs that file.",
            metavar="NAME",
        ),
    ] = DEFAULT,
    start: Annotated[
        str | None,
        typer.Option(help="Weights to begin with.", show_default=False, metavar="FILE"),
    ] = None,
    dev_candidates: Annotated[
        list[str], _several("A held-out set: reported, and what chooses among several settings.")
    ] = [],  # noqa: B006
    dev_references: Annotated[list[str], _several("Its references.")] = [],  # noqa: B006
    dev_scores: Annotated[list[str], _several("Its --scores.", "NAME=FILE")] = [],  # noqa: B006
    test_candidates: Annotated[
        list[str], _several("A test set: reported, without influence.")
    ] = [],  # noqa: B006
    test_references: Annotated[list[str], _several("Its references.")] = [],  # noqa: B006
    test_scores: Annotated[list[str], _several("Its --scores.", "NAME=FILE")] = [],  # noqa: B006
    keep: Annotated[list[str], _patterns("Features that alone take part")] = [],  # noqa: B006
    drop: Annotated[list[str], _patterns("Features that are left out")] = [],  # noqa: B006
    runs: Annotated[
        int, typer.Option(help="Times to tune, with other random numbers.", metavar="INTEGER")
    ] = 1,
    combine: Annotated[
        str,
        typer.Option(
            help="What becomes of several runs: the best of them, or the average or median "
            "of their weights.",
            metavar="best|average|median",
        ),
    ] = "best",
    normalise: Annotated[
        str,
        typer.Option(
            "--normalise",
            "--normalize",
            help="Scale of the result: that norm is 1, or the weight of the feature NAME is "
            "1 or -1.",
            metavar="none|l1|l2|NAME",
        ),
    ] = "none",
    seed: Annotated[int, typer.Option(help="Seed of all randomness.", metavar="INTEGER")] = 1,
    out: Annotated[
        str | None,
        typer.Option(
            help="Where to write: the whole result as .json, otherwise weights in the format "
            "of --start.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    format_name: Format = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Find the weights that make the metric as good as it can be."""
    from tunesmith.errors import UsageError
    from tunesmith.io.streams import check_writable, write_atomically
    from tunesmith.io.weights import read_weights
    from tunesmith.metrics.base import METRICS
    from tunesmith.metrics.tuning import TuningSet
    from tunesmith.randomness import checked_seed
    from tunesmith.tuners.combine import check_runs

    if as_json and out == "-":
        raise UsageError("--json and --out - both write to standard output; drop one of them")
    held_out = {
        "dev": (dev_candidates, dev_references, dev_scores),
        "test": (test_candidates, test_references, test_scores),
    }
    _check_files(candidates, references, scores, start, held_out, _files(tuner, own))
    checked_seed(seed)
    cls = TUNERS.get(tuner)
    texts = {
        k.replace("_", "-"): str(v).lower() if isinstance(v, bool) else v for k, v in own.items()
    }
    algorithm = cls(**parse_options(cls, texts, f"tuner '{tuner}'"))
    algorithm.check_choice(bool(dev_candidates), "give --dev-candidates")
    measure, *others = (METRICS.create(name) for name in metric)
    algorithm.check_metric(measure)
    check_runs(runs, combine)
    if combine != "best" and runs == 1:
        raise UsageError(f"--combine {combine} has one run to combine; give --runs 2 or more")
    if out is not None:
        check_writable(out)
    begun = None if start is None else read_weights(start)

    metrics = [measure, *others]
    found = read_candidates(candidates, references, format_name, scores, metrics)
    tuning = TuningSet(found, measure)
    session.note(f"{tuning.candidates!r}")
    dev, test = (
        TuningSet(read_candidates(own, refs, format_name, numbers, metrics), measure)
        if own
        else None
        for own, refs, numbers in held_out.values()
    )
    with names_of(start):
        result = algorithm.fit(
            tuning,
            None if begun is None else begun.weights,
            dev,
            seed,
            strict,
            test=test,
            runs=runs,
            combine=cast("Combine", combine),
            normalise=normalise,
            keep=keep,
            drop=drop,
            others=metric[1:],
        )
    if not any(result.weights.values()):
        warnings.warn(
            "all weights are 0: no candidate of a sentence is worth more than another, or no "
            "feature tells them apart; look at the lists, or give --start",
            stacklevel=2,
        )
    result = dataclasses.replace(result, warnings=list(session.warnings))
    if out is not None:
        write_atomically(out, _text(result, begun, out))
    if as_json:
        print_json(result.to_dict())
    elif out != "-":
        from rich.console import Console

        Console().print(result, crop=False)


def _check_files(
    candidates: list[str],
    references: list[str],
    scores: list[str],
    start: str | None,
    held_out: dict[str, tuple[list[str], list[str], list[str]]],
    others: list[str],
) -> None:
    """Raise an error if standard input is read twice, or a held-out set lacks candidates."""
    from tunesmith.errors import UsageError

    files = [*candidates, *references, *(text.partition("=")[2] for text in scores)]
    for which, (own, refs, numbers) in held_out.items():
        files += [*own, *refs, *(text.partition("=")[2] for text in numbers)]
        if (refs or numbers) and not own:
            option = f"--{which}-references" if refs else f"--{which}-scores"
            raise UsageError(f"{option} without --{which}-candidates; give both")
    one_standard_input(*files, start, *others)


def _files(tuner: str, own: dict[str, Any]) -> list[str]:
    """Return the files that the tuner's own options name."""
    fields = [o.field for o in options_of(TUNERS.get(tuner)) if o.metavar == "FILE"]
    return [own[field] for field in fields if field in own]


def _text(result: TuneResult, begun: WeightsFile | None, out: str) -> bytes | str:
    if begun is None or begun.format == "json" or out.endswith(".json"):
        return json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return begun.rewritten(result.weights)
