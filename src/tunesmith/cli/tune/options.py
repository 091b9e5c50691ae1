"""What tuning on lists and tuning with a decoder share: options, and their use."""

from __future__ import annotations

import dataclasses
import inspect
import json
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import print_json, result_console
from tunesmith.cli.options.reading import as_options
from tunesmith.cli.options.sections import TITLES
from tunesmith.errors import UsageError
from tunesmith.registry import Option, Registry, options_of, parse_options
from tunesmith.tuners.base import TUNERS

if TYPE_CHECKING:
    from tunesmith.tuners.fitting.callbacks import Callback
    from tunesmith.tuners.fitting.result import TuneResult
    from tunesmith.tuners.lenpen.options import Lenpen

T = TypeVar("T")

#: The tuner, where neither its name nor its options say which.
DEFAULT = "auto"


def files(text: str, metavar: str = "FILE", *flags: str) -> Any:
    """Describe an option that takes a file, or several."""
    return typer.Option(*flags, help=text, show_default=False, metavar=metavar)


def _patterns(description: str) -> Any:
    return files(f"{description}, by a pattern as LM*; repeat it for several.", "PATTERN")


Metrics = Annotated[
    list[str],
    typer.Option(
        "--metric",
        "-m",
        help="Metric with its options, such as bleu:tokenize=13a; the first is tuned for, "
        "others are also reported. path/to/file.py:Name runs that file.",
        metavar="NAME",
    ),
]
TunerName = Annotated[
    str,
    typer.Option(
        "--tuner",
        "-t",
        help="Algorithm; see `tunesmith list tuners`. path/to/file.py:Name runs that file. "
        "Default: auto, or the only tuner that has the options given.",
        show_default=False,
        metavar="NAME",
    ),
]
Keep = Annotated[list[str], _patterns("The only features that take part")]
Drop = Annotated[list[str], _patterns("Features that are left out")]
Normalise = Annotated[
    str,
    typer.Option(
        "--normalise",
        "--normalize",
        help="Scale of the result: that of --start, or an l1 norm of 1 without it (auto); as the "
        "algorithm leaves it (none); that norm is 1; or the weight of the feature NAME is 1 or -1.",
        metavar="auto|none|l1|l2|NAME",
    ),
]
LengthPenalty = Annotated[
    str | None,
    files(
        "Divide scores by this feature, or by words, to the power of an exponent, which is tuned "
        "along with the weights: as --lenpen of fairseq, --normalize of Marian.",
        "LENGTH",
    ),
]
LenpenRange = Annotated[str | None, files("The range of that exponent [default: 0:2].", "LOW:HIGH")]
LenpenPlain = Annotated[list[str], _patterns("Features that are not divided")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.", metavar="INTEGER")]
Baseline = Annotated[
    str | None,
    files(
        "Instead of --start: begin with, and compare with, this feature alone; -NAME if less "
        "of it is better.",
        "FEATURE",
    ),
]
FoldCount = Annotated[
    int,
    typer.Option(
        "--folds",
        help="Estimate the gain on unseen sentences by cross-validation with this many folds.",
        show_default=False,
        metavar="INTEGER",
    ),
]
FoldColumn = Annotated[
    str | None,
    files(
        "Keep sentences with the same number in this column, such as those of a document, in "
        "one fold.",
        "NAME",
    ),
]
HoldOut = Annotated[
    str | None,
    files("Tune on the rest, and estimate the gain on this share of the sentences.", "PERCENT"),
]
Log = Annotated[
    list[str],
    typer.Option(
        "--log",
        help="Log settings, scores and weights to a tracker of experiments: tensorboard:FOLDER, "
        "mlflow:URI_OR_FOLDER or wandb:PROJECT; repeat it for several.",
        show_default=False,
        metavar="TRACKER:WHERE",
    ),
]

History = Annotated[
    bool,
    typer.Option(
        "--history",
        help="Keep every step of a long history in --out FILE.json; without it, the first and the "
        "last of each climb.",
    ),
]


#: Options of one letter, where what they say decides which options there are.
SHORT = {"--tuner": "-t"}


def value_of(arguments: Sequence[str], option: str) -> str | None:
    """Return the value of an option among arguments that are not parsed yet."""
    for k, argument in enumerate(arguments):
        if argument in {option, SHORT.get(option)} and k + 1 < len(arguments):
            return arguments[k + 1]
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        short = SHORT.get(option)
        if short is not None and argument.startswith(short) and argument != short:
            return argument.removeprefix(short)
    return None


def owners(flag: str) -> set[str]:
    """Return the tuners that have an option."""
    option_name = flag.removeprefix("--").removeprefix("no-")
    return {
        name
        for name in TUNERS.names()
        if any(option.flag == option_name for option in options_of(TUNERS.get(name)))
    }


def tuner_named(arguments: Sequence[str]) -> str:
    """Return the tuner that arguments name, by ``--tuner`` or by options that one alone has."""
    name = value_of(arguments, "--tuner")
    if name is not None:
        return name
    flags = {argument.partition("=")[0] for argument in arguments if argument.startswith("--")}
    flags -= {f"--{option.flag}" for option in options_of(TUNERS.get(DEFAULT))}
    flags.discard("--features")  # of tables, unless the tuner that has it too is named
    able = [tuners for tuners in map(owners, sorted(flags)) if tuners]
    common = set.intersection(*able) if able else {DEFAULT}
    return common.pop() if len(common) == 1 else DEFAULT


@dataclasses.dataclass(frozen=True)
class Owned:
    """Options of a part that a user names: a tuner, a decoder.

    Attributes
    ----------
    part
        Which of the command's parts it is.
    options
        Its options, by the name of the command's parameter.
    """

    part: str
    options: Mapping[str, Option]

    def taken(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take what was given for it out of all that was given, by field."""
        values = {option.field: arguments.pop(name) for name, option in self.options.items()}
        return {field: value for field, value in values.items() if value not in (None, [])}


def with_options(
    run: Callable[..., None], *parts: Owned, tuner: str = DEFAULT
) -> Callable[..., None]:
    """Return a command with the options of its parts, which it gets as dictionaries by field.

    ``tuner`` is what runs unless ``--tuner`` says otherwise.
    """

    def command(**arguments: Any) -> None:
        run(**{owned.part: owned.taken(arguments) for owned in parts}, **arguments)

    names = {owned.part for owned in parts}
    parameters = []
    for parameter in inspect.signature(run, eval_str=True).parameters.values():
        if parameter.name not in names:
            is_tuner = parameter.name == "tuner"
            parameters.append(parameter.replace(default=tuner) if is_tuner else parameter)
            continue
        owned = next(owned for owned in parts if owned.part == parameter.name)
        title = TITLES[owned.part]
        parameters += [_parameter(name, option, title) for name, option in owned.options.items()]
    seen: set[str] = set()
    for parameter in parameters:
        if parameter.name in seen:
            flag = parameter.name.replace("_", "-")
            raise UsageError(f"two options are called --{flag}; rename that of your own class")
        seen.add(parameter.name)
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    )
    return command


def _parameter(name: str, option: Option, title: str) -> inspect.Parameter:
    """Turn a field into a flag in a section of the help; its text is parsed by the registry."""
    flag = name.replace("_", "-")
    text = option.help[:1].upper() + option.help[1:]
    if option.type is bool:
        text += f" [default: {'yes' if option.default else 'no'}]"
        info = typer.Option(f"--{flag}/--no-{flag}", help=text, rich_help_panel=title)
        kind: Any = bool | None
    else:
        if option.several:
            numbers = option.type in (int, float)
            text += "; with commas" if numbers else "; repeat it for several"
            if numbers and option.default:
                text += f" [default: {','.join(f'{x:g}' for x in option.default)}]"
        elif option.default not in (None, "", dataclasses.MISSING):
            text += f" [default: {option.default}]"
        kinds = {int: "INTEGER", float: "NUMBER"}
        usual = kinds.get(option.type, "TEXT") + (",..." if option.several else "")
        metavar = option.metavar or "|".join(option.choices) or usual
        info = typer.Option(
            f"--{flag}", help=text, show_default=False, metavar=metavar, rich_help_panel=title
        )
        kind = list[str] | None if option.several else str | None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind, info],
    )


def construct(cls: type[T], values: dict[str, Any], owner: str) -> T:
    """Construct an object from values of the command line, by field."""
    texts = {
        field.replace("_", "-"): str(value).lower() if isinstance(value, bool) else value
        for field, value in values.items()
    }
    fields = parse_options(cls, texts, owner)
    try:
        return cls(**fields)
    except TypeError as error:
        if cls.__module__.partition(".")[0] == __package__.partition(".")[0]:
            raise
        # Missing abstract methods, or required fields.
        raise UsageError(f"{owner} cannot be made: {error}; fix it") from error


def files_of(registry: Registry[Any], name: str, values: dict[str, Any]) -> list[str]:
    """Return the files that the options of a tuner or a decoder name."""
    paths: list[str] = []
    for option in options_of(registry.get(name)):
        if option.metavar == "FILE" and option.field in values:
            paths += values[option.field] if option.several else [values[option.field]]
    return paths


def share_of(text: str | None) -> float:
    """Return the share that a text as 20% or 0.2 says; 0 without one."""
    if text is None:
        return 0.0
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100.0 if number != text.strip() else 1.0)
    except ValueError:
        share = -1.0
    if not 0.0 < share < 1.0:
        raise UsageError(f"--hold-out {text} is no share of the sentences; give one, as 20%")
    return share


def lenpen_of(length: str | None, span: str | None, plain: Sequence[str]) -> Lenpen | None:
    """Return the length penalty that options ask for."""
    from tunesmith.tuners.lenpen.options import HIGH, LOW, Lenpen

    if length is None:
        if span is not None or plain:
            flag = "--lenpen-range" if span is not None else "--lenpen-plain"
            raise UsageError(f"{flag} goes with --lenpen; give both")
        return None
    low, high = LOW, HIGH
    if span is not None:
        parts = span.split(":")
        try:
            low, high = map(float, parts)
        except ValueError:
            raise UsageError(
                f"the range is '{span}'; give LOW:HIGH, two numbers, the lower one first"
            ) from None
    return Lenpen(length, low, high, tuple(plain))


def trackers(log: Sequence[str]) -> list[Callback]:
    """Return the callbacks that log; only trackers that are named are imported."""
    if not log:
        return []
    from tunesmith.integrations.tracking import tracker_of

    return [tracker_of(text) for text in log]


def check_output(out: str | None, as_json: bool, history: bool = False) -> None:
    """Raise an error if the result cannot be written."""
    from tunesmith.io.streams import check_writable

    if as_json and out == "-":
        raise UsageError("--json and --out - both write to standard output; drop one of them")
    if history and not (out or "").endswith(".json"):
        raise UsageError("--history is of a result that is written; give --out FILE.json")
    if out is not None:
        check_writable(out)


def finish(
    session: Session,
    result: TuneResult,
    out: str | None,
    as_json: bool,
    rewritten: Callable[[TuneResult], bytes | None],
    history: bool,
) -> TuneResult:
    """Write and print a result; return it with all warnings.

    Parameters
    ----------
    rewritten
        Gives the weights in the format that they came in; None where they came in none.
    history
        Whether the file keeps every step of a long history.
    """
    result = write_result(session, result, out, rewritten, history)
    if as_json:
        print_json(result.to_dict())
    elif out != "-":
        result_console().print(result, crop=False)
        if out is not None and sys.stdout.isatty():
            typer.echo(_what_next(result, out, history))
    return result


def _what_next(result: TuneResult, out: str, history: bool) -> str:
    """Return what was written, and the command that uses it, for whoever sits before it."""
    from tunesmith.tuners.fitting.history import without_middles

    written = "weights"
    if out.endswith(".json"):
        steps = len(result.history)
        written_steps = steps if history else len(without_middles(result.history))
        written = (
            "the whole result"
            if written_steps == steps
            else f"{written_steps} of {steps} steps; --history keeps all"
        )
    inputs = result.inputs or {}
    tuned_on = inputs.get("tune") or {}
    if "source" in tuned_on:
        return f"written: {out} ({written})\nnext:    decode new text with these weights"
    named = inputs.get("test") or inputs.get("dev") or {}
    kind = "forests" if tuned_on.get("forests") else "candidates"
    command = ["tunesmith", "rerank"]
    for path in named.get(kind) or [f"NEW.{kind}"]:
        command += [f"--{kind}", path]
    for scores in named.get("scores") or tuned_on.get("scores") or ():
        name = scores.partition("=")[0]
        if name not in result.weights:
            continue  # what was tuned for, and is no feature
        command += ["--scores", scores if named.get("scores") else f"{name}=NEW.{name}"]
    command += [] if tuned_on.get("format") is None else ["--format", tuned_on["format"]]
    command += as_options(tuned_on.get("reading") or {})
    command += ["--weights", out, "--out", "best.txt"]
    return f"written: {out} ({written})\nnext:    {shlex.join(command)}"


def write_result(
    session: Session,
    result: TuneResult,
    out: str | None,
    rewritten: Callable[[TuneResult], bytes | None],
    history: bool,
) -> TuneResult:
    """Write a result, with all warnings so far; return it."""
    from tunesmith.cli.tune.inputs import counted, dated
    from tunesmith.io.streams import write_atomically
    from tunesmith.tuners.fitting.history import without_middles

    result = dated(session, counted(session, result, out))
    if not any(result.weights.values()):
        warnings.warn(
            "all weights are 0: no candidate of a sentence is worth more than another, or no "
            "feature tells them apart; look at the lists, or give --start",
            stacklevel=2,
        )
    every = dict.fromkeys([*result.warnings, *session.warnings])
    result = dataclasses.replace(result, warnings=list(every))
    if out is not None:
        data = None if out.endswith(".json") else rewritten(result)
        steps = result.history if history else without_middles(result.history)
        shown = dataclasses.replace(result, history=steps).to_dict()
        whole = json.dumps(shown, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_atomically(out, whole if data is None else data)
    return result
