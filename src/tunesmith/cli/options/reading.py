"""Options of commands that read candidates: names of columns, and what stands for gaps."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.options.adding import with_options
from tunesmith.cli.options.sections import READING
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.io.reading import Reading
    from tunesmith.io.weights.files import WeightsFile

#: Commands that read candidates.
COMMANDS = ("tune", "rerank", "evaluate", "surface", "compare", "certify", "convert")
#: The options of sets, one of which has to be there.
SETS = ("candidates", "dev_candidates", "test_candidates")

#: How the command that runs reads candidates.
_reading: ContextVar[Reading | None] = ContextVar("reading", default=None)


def _option(help_text: str, metavar: str, *flags: str) -> Any:
    return typer.Option(
        *flags, help=help_text, metavar=metavar, show_default=False, rich_help_panel=READING
    )


MissingValues = Annotated[
    list[str],
    _option(
        "How to replace values missing from a table, JSON lines or a score file: zero, mean, "
        "worst, a number, or drop, which leaves the candidate out; NAME=WAY is for one "
        "column; repeat it for several. Without it a missing value is an error.",
        "WAY|NAME=WAY",
    ),
]
IdColumn = Annotated[
    str | None, _option("The column that names the group of each candidate [default: id].", "NAME")
]
TextColumn = Annotated[str | None, _option("The column of texts [default: text].", "NAME")]
IndexColumn = Annotated[
    list[str],
    _option("A column that numbers rows and is not a feature; repeat it for several.", "NAME"),
]


def _flag(flag: str, help_text: str) -> Any:
    return typer.Option(flag, help=help_text, rich_help_panel=READING)


JoinBpe = Annotated[bool, _flag("--join-bpe", "Join pieces of texts that end in @@.")]
DetokenisePieces = Annotated[
    bool, _flag("--detokenise-pieces", "Join SentencePiece's pieces of texts: ▁ begins a word.")
]
DropFactors = Annotated[
    bool,
    _flag("--drop-factors", "Reduce word|POS to word, and drop marks such as |0-1|."),
]
_FEATURES = "Read only these columns as features, such as lm,*_score."
FeatureColumns = Annotated[
    str | None, _option(_FEATURES, "PATTERN,...", "--features", "--feature-columns")
]
#: The same for a command that has an option --features of its own.
OtherFeatureColumns = Annotated[str | None, _option(_FEATURES, "PATTERN,...", "--feature-columns")]


def with_reading(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading; :func:`reading` returns what they say."""

    def run(
        missing: MissingValues = [],  # noqa: B006  (typer's way; never changed)
        id_column: IdColumn = None,
        text_column: TextColumn = None,
        index_column: IndexColumn = [],  # noqa: B006
        feature_columns: FeatureColumns = None,
        join_bpe: JoinBpe = False,
        detokenise_pieces: DetokenisePieces = False,
        drop_factors: DropFactors = False,
        **options: Any,
    ) -> None:
        values = {
            "missing": missing,
            "id_column": id_column,
            "text_column": text_column,
            "index_column": index_column,
            "features": None if feature_columns is None else feature_columns.split(","),
            "join_bpe": join_bpe,
            "detokenise_pieces": detokenise_pieces,
            "drop_factors": drop_factors,
        }
        changed = {name: value for name, value in values.items() if value not in (None, [], False)}
        if changed and not any(options.get(name) for name in SETS):
            flag = next(iter(changed)).replace("_", "-")
            raise UsageError(f"--{flag} goes with --candidates; drop it")
        with _read_as(changed):
            function(**options)

    has_features = "features" in inspect.signature(function, eval_str=True).parameters
    renamed = {"feature_columns": OtherFeatureColumns} if has_features else None
    return with_options(function, run, renamed)


def reading() -> Reading:
    """Return how the command reads candidates."""
    from tunesmith.io.reading import Reading

    return _reading.get() or Reading()


def warn_of_pieces(path: str, weights: WeightsFile) -> None:
    """Warn if weights were tuned on words that texts are not made into here."""
    from tunesmith.io.reading import FLAGS

    if weights.format != "json":
        return
    try:
        record = json.loads(weights.text)["inputs"]["tune"]["reading"]
    except (ValueError, LookupError, TypeError):
        return  # not written by tune
    how = reading()
    for name in FLAGS:
        if isinstance(record, dict) and record.get(name) is True and not getattr(how, name):
            flag = f"--{name.replace('_', '-')}"
            text = f"{path}: these weights were tuned with {flag}, and texts are left as they are"
            warnings.warn(f"{text}; give {flag}", stacklevel=3)


def as_options(record: Mapping[str, Any]) -> list[str]:
    """Return the options that say what a record of :class:`Reading` says."""
    options = []
    for name, value in record.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            options += [flag] if value else []
        elif name == "features":
            options += ["--feature-columns", ",".join(value)]
        else:
            for text in [value] if isinstance(value, str) else value:
                options += [flag, text]
    return options


@contextmanager
def _read_as(changed: dict[str, Any]) -> Iterator[None]:
    if not changed:
        yield
        return
    from tunesmith.io.reading import Reading

    token = _reading.set(Reading(**changed))
    try:
        yield
    finally:
        _reading.reset(token)


def reads_candidates(name: str, arguments: Sequence[str]) -> bool:
    """Tell whether a command reads candidates; one with a decoder or with runs does not."""
    from tunesmith.cli.fuse.options import TAKING_RUNS, are_meant

    if name in TAKING_RUNS and are_meant(arguments):
        return False
    if name == "tune":
        from tunesmith.cli.tune.loop import is_meant

        return not is_meant(arguments)
    return name in COMMANDS
