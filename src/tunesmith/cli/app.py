"""What all commands share: options, errors in one line, exit codes."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import inspect
import io
import itertools
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, TextIO, cast

import typer

from tunesmith._version import __version__
from tunesmith.cli.options import device as device_options
from tunesmith.cli.options import engine as engine_options
from tunesmith.cli.options import reading as reading_options
from tunesmith.cli.options.sections import EXECUTION, Sectioned
from tunesmith.errors import TunesmithError, UnknownNameError, one_line, shortened
from tunesmith.progress import time_left

#: Commands in the order of the help; each is a module here with a function ``run``.
COMMANDS = (
    "tune",
    "fuse",
    "rerank",
    "evaluate",
    "surface",
    "compare",
    "report",
    "watch",
    "certify",
    "train",
    "decode",
    "convert",
    "synth",
    "list",
    "doctor",
    "demo",
)

#: Modules of errors that a GPU or its driver is at fault for.
DEVICE_LIBRARIES = ("numba.cuda", "numba_cuda", "cuda.")
#: What people mean by options of other programs, and which commands take that.
MEANT = {
    "--nbest": ("--candidates",),
    "--n-best": ("--candidates",),
    "--lists": ("--candidates",),
    "--hyp": ("--hypotheses",),
    "--hypothesis": ("--hypotheses",),
    "--hyps": ("--hypotheses",),
    "--input": ("--candidates",),
    "--ref": ("--references",),
    "--dev": ("--dev-candidates",),
    "--test": ("--test-candidates",),
    "--refs": ("--references",),
    "--output": ("--out",),
    "--algorithm": ("--tuner",),
    "--init": ("--start",),
    "--initial": ("--start",),
}
#: Commands that take options, those first to which one may have been meant.
_READERS = ("tune", "rerank", "evaluate", "surface", "compare", "certify", "convert")
TAKES = {
    "--candidates": _READERS,
    "--hypotheses": ("evaluate",),
    "--references": ("tune", "evaluate", "surface", "compare", "certify", "convert"),
    "--out": ("tune", "rerank", "surface", "report", "convert", "decode", "synth", "train"),
    "--tuner": ("tune",),
    "--start": ("tune",),
    "--dev-candidates": ("tune",),
    "--test-candidates": ("tune",),
}

#: Options of all commands that may stand before them.
EARLY = frozenset({"--quiet", "-q", "--verbose", "-v", "--debug"})

#: Options that are suggested at most, and how alike one must be.
MOST_SHOWN, ALIKE = 3, 0.75

# Exit codes.
DONE, INTERNAL_ERROR, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130

Threads = Annotated[
    int | None,
    typer.Option(
        help="Threads to use; all cores by default.",
        show_default=False,
        metavar="INTEGER",
        rich_help_panel=EXECUTION,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, notes or warnings.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print more details.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


class _Interrupted(Exception):  # noqa: N818  (not an error)
    """Carries Ctrl-C, with a message, through typer, which would swallow it."""


class _OutputClosed(Exception):  # noqa: N818
    """Carries a closed pipe through typer, which would call it a failure."""


class _EndOfFileError(Exception):
    """Carries an EOFError through typer, which would take it for Ctrl-D."""


class _OutputError(TunesmithError):
    """Standard output cannot be written."""


class _Output(io.FileIO):
    """Standard output with its own error if it cannot be written: the usual one names no file."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            problem = (error.strerror or "it cannot be written").lower()
            raise _OutputError(
                f"standard output: {problem}; send it where it can be written"
            ) from None


class Session:
    """Messages of a command.

    Attributes
    ----------
    warnings
        The warnings so far; each also goes to standard error.
    arguments
        The command line, without the program's name.
    """

    def __init__(self, quiet: bool, verbose: bool, arguments: Sequence[str] = ()) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.arguments = list(arguments)
        self.warnings: list[str] = []

    def say(self, text: str) -> None:
        """Write a line to standard error."""
        if not self.quiet:
            sys.stderr.write(f"tunesmith: {text}\n")

    def note(self, text: str) -> None:
        """Write a line to standard error with --verbose only."""
        if self.verbose:
            self.say(text)

    def warn(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        """Take the place of ``warnings.showwarning``."""
        if not issubclass(category, UserWarning):
            return
        self.warnings.append(str(message))
        if not self.quiet:
            sys.stderr.write(f"tunesmith: warning: {one_line(str(message))}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    with _standard_output():
        return _main(arguments)


def _main(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that is not UTF-8 gets escapes
            stream.reconfigure(errors="backslashreplace")
    # Options of all commands may also precede the command.
    early = list(itertools.takewhile(EARLY.__contains__, arguments))
    arguments = arguments[len(early) :] + early
    try:
        code = build(_completed() or arguments)(
            args=arguments, prog_name="tunesmith", standalone_mode=False
        )
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except (_Interrupted, KeyboardInterrupt, typer.Abort) as error:
        message = "; ".join(["interrupted", *map(str, error.args)])
        sys.stderr.write(f"tunesmith: {one_line(message)}\n")
        return INTERRUPTED
    except (_OutputClosed, BrokenPipeError):
        # The reader of the output has closed it; nothing more can be flushed.
        _drop_output()
        return DONE
    except _OutputError as error:
        _drop_output()
        return _fail(str(error), WRONG_INPUT, arguments)
    except TunesmithError as error:
        return _fail(str(error), WRONG_INPUT, arguments)
    except MemoryError:
        message = "there is not enough memory; set TUNESMITH_MEMORY lower, so that more is on disk"
        return _fail(message, WRONG_INPUT, arguments)
    except Exception as error:  # noqa: BLE001  (whatever is left)
        if hasattr(error, "format_message"):  # typer's own usage errors
            message = error.format_message().replace("\n", " ").rstrip(".")
            return _fail(_usage(error, message, arguments), WRONG_INPUT, arguments)
        from tunesmith.registry import place_in_file

        if isinstance(error, _EndOfFileError) and isinstance(error.__cause__, EOFError):
            error = error.__cause__
        description = f"{type(error).__name__}: {error}"
        if type(error).__module__.startswith(DEVICE_LIBRARIES):
            message = f"the GPU failed: {shortened(description)}; run it again, or use --device cpu"
            return _fail(message, WRONG_INPUT, arguments)
        if (place := place_in_file(error)) is not None:
            return _fail(f"{place}: {shortened(description)}; fix the file", WRONG_INPUT, arguments)
        return _fail(f"{description}; please report it", INTERNAL_ERROR, arguments)


def _completed() -> list[str]:
    """Return the words of a command line that a shell completes, if it does that now."""
    if "_TUNESMITH_COMPLETE" not in os.environ:
        return []
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return line.split()[1:]


@contextlib.contextmanager
def _standard_output() -> Iterator[None]:
    """Write through :class:`_Output`, where standard output is a plain file, pipe or device."""
    before = sys.stdout
    buffer = getattr(before, "buffer", None)
    if type(getattr(buffer, "raw", buffer)) is not io.FileIO:
        yield
        return
    before.flush()
    raw = _Output(before.fileno(), "w", closefd=False)
    is_buffered = buffer is not getattr(buffer, "raw", buffer)
    output = io.TextIOWrapper(
        io.BufferedWriter(raw) if is_buffered else cast(Any, raw),
        encoding=before.encoding,
        line_buffering=before.isatty(),
        write_through=not is_buffered,
    )
    with contextlib.redirect_stdout(output):
        yield


def _drop_output() -> None:
    """Discard what is left to be written: it would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: Exception, message: str, arguments: Sequence[str]) -> str:
    """Return what is wrong with the arguments; for `tune`, also to whom an option belongs."""
    option = getattr(error, "option_name", None)
    if option is None:
        if "extra argument" in message and arguments[:1] == ["fuse"]:
            return f"{message}; write --run before each run, and --qrels before the judgements"
        return f"{message}; see --help"
    usual = [name for name in MEANT.get(option, ()) if _takes(arguments, name)]
    command = getattr(getattr(error, "ctx", None), "command", None)
    there = [name for parameter in getattr(command, "params", ()) for name in parameter.opts]
    longer = [name for name in there if name.startswith(option) and len(option) > len("--")]
    if matches := usual or longer[:MOST_SHOWN]:
        return f"there is no option {option}; did you mean {' or '.join(matches)}?"
    if arguments[:1] == ["tune"]:
        from tunesmith.cli.tune.command import why_not

        reason = why_not(option, arguments)
        if reason is not None:
            return reason
    if _takes(arguments, option):
        return f"{option} does not go with the other options; see --help"
    if option in TAKES:
        return f"there is no option {option} here; {' and '.join(TAKES[option][:2])} take it"
    if near := difflib.get_close_matches(option, there, 1, cutoff=ALIKE):
        return f"there is no option {option}; did you mean {near[0]}?"
    return f"No such option: {option}; see --help"


def _takes(arguments: Sequence[str], option: str) -> bool:
    """Tell whether the command that is asked for takes an option of candidates and texts."""
    command = next((a for a in arguments if not a.startswith("-")), None)
    return command in TAKES.get(option, ())


def _fail(message: str, code: int, arguments: Sequence[str]) -> int:
    if "--debug" in arguments:
        traceback.print_exc()
    kind = "internal error" if code == INTERNAL_ERROR else "error"
    sys.stderr.write(f"tunesmith: {kind}: {one_line(message)}\n")
    return code


def build(arguments: Sequence[str]) -> typer.Typer:
    """Build the application; only the requested command is imported."""
    app = typer.Typer(
        context_settings={"help_option_names": ["--help", "-h"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Tune the weights of a linear model over candidates straight for your metric.",
    )
    app.callback(invoke_without_command=True)(_root)
    requested = next((a for a in arguments if not a.startswith("-")), None)
    if requested is not None and requested not in COMMANDS and not _completed():
        raise UnknownNameError("command", requested, COMMANDS)
    for name in COMMANDS:
        if name == requested:
            module = importlib.import_module(f"tunesmith.cli.{MODULES.get(name, name)}")
            function = module.command(arguments) if hasattr(module, "command") else module.run
            has_engine = name in engine_options.COMMANDS
            has_reading = reading_options.reads_candidates(name, arguments)
            if has_reading:
                function = reading_options.with_reading(function)
            if has_engine:
                function = engine_options.with_engine(function)
            has_device = name in device_options.COMMANDS
            if has_device:
                function = device_options.with_device(function)
            wrapped = _with_session(function, arguments)
            has_sections = has_engine or has_reading or has_device
            app.command(name, cls=Sectioned if has_sections else None)(wrapped)
        else:
            app.command(name, help=HELP[name])(_placeholder)
    return app


#: Commands that are packages.
MODULES = {
    "tune": "tune.command",
    "decode": "decode.command",
    "fuse": "fuse.command",
    "doctor": "doctor.command",
}

HELP = {
    "tune": "Find the weights that maximise the metric.",
    "fuse": "Find the weights with which several runs together rank best.",
    "rerank": "Write the best candidate of each group under given weights.",
    "evaluate": "Score an output, or the best candidates under given weights.",
    "surface": "Show the metric along a weight, and how wide the plateau is.",
    "compare": "Test whether systems differ by more than chance.",
    "report": "Write one page about a run: scores, weights, sentences.",
    "watch": "Serve the page of a run while it continues.",
    "certify": "Prove how much better any other weights can be.",
    "train": "Train a hierarchical model on parallel text.",
    "decode": "Translate with a hierarchical model: texts, lists or forests.",
    "convert": "Convert candidates, or weights, from one format to another.",
    "synth": "Make candidates whose best weights are known.",
    "list": "List tuners, metrics, formats and decoders.",
    "doctor": "Check this installation.",
    "demo": "Rerank the bundled lists of a neural translator.",
}


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        typer.echo(f"tunesmith {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def _placeholder() -> None:
    """Stand in the help for a command that is not requested."""


def _with_session(function: Callable[..., None], arguments: Sequence[str]) -> Callable[..., None]:
    """Add the options that all commands share, and pass the command its ``session``."""

    def wrapped(
        threads: Threads = None,
        quiet: Quiet = False,
        verbose: Verbose = False,
        debug: Debug = False,
        **options: Any,
    ) -> None:
        session = Session(quiet, verbose, arguments)
        try:
            with _graceful_shutdown(), _session(session, threads, arguments):
                function(session=session, **options)
                sys.stdout.flush()
        except KeyboardInterrupt as error:
            raise _Interrupted(*error.args) from None
        except BrokenPipeError:
            raise _OutputClosed from None
        except EOFError as error:
            raise _EndOfFileError from error
        except SystemExit as error:  # of a user's file
            raise TunesmithError("a class of yours ended the program; let it raise") from error

    own_parameters = inspect.signature(function, eval_str=True).parameters.values()
    shared_parameters = inspect.signature(wrapped, eval_str=True).parameters.values()
    parameters = [
        p.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for p in (*own_parameters, *shared_parameters)
        if p.name not in {"session", "options"}
    ]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    wrapped.__doc__ = function.__doc__
    return wrapped


@contextlib.contextmanager
def _graceful_shutdown() -> Iterator[None]:
    """Treat SIGTERM, or a closed terminal, as Ctrl-C, so that worker processes end too."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        for number in (getattr(signal, name) for name in names):
            if signal.getsignal(number) is signal.SIG_DFL:  # nohup stays as it is
                before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _session(session: Session, threads: int | None, arguments: Sequence[str]) -> Iterator[None]:
    from tunesmith.cli.compiling import CompilingBar, expected_kernels
    from tunesmith.parallel import local
    from tunesmith.progress import show_with, tell_of_compiling, tell_with

    with warnings.catch_warnings(), local.threads(threads), _progress_bar(session) as show:
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = session.warn
        show_with(show)
        # Without a terminal, output must not depend on what is compiled already.
        say = session.note if show is None else session.say
        tell_of_compiling(CompilingBar(say, show, expected_kernels(arguments)))
        tell_with(lambda line, is_detail: session.note(line) if is_detail else session.say(line))
        try:
            yield
        finally:
            show_with(None)
            tell_of_compiling(None)
            tell_with(None)


class _Results:
    """Standard output that ends the progress bar when something is written to it.

    Both may be the same terminal, where a bar that is drawn again wipes out lines.
    """

    def __init__(self, stdout: TextIO, stop: Callable[[], None]) -> None:
        self._stdout = stdout
        self._stop = stop

    def write(self, text: str) -> int:
        self._stop()
        return self._stdout.write(text)

    def __getattr__(self, name: str) -> Any:
        if name in {"buffer", "writelines"}:
            self._stop()
        return getattr(self._stdout, name)


@contextlib.contextmanager
def _progress_bar(session: Session) -> Iterator[Any]:
    """Show progress on a terminal."""
    if session.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[remark]}"),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # or results would go where the bar is
    )
    tasks: dict[str, Any] = {}
    with bar, contextlib.redirect_stdout(cast(TextIO, _Results(sys.stdout, bar.stop))):

        def show(step: str, done: float, total: float | None, remark: str) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total, remark=remark, left="")
            left = time_left(bar.tasks[tasks[step]].elapsed or 0.0, done, total)
            bar.update(tasks[step], completed=done, total=total, remark=remark, left=left)

        yield show
