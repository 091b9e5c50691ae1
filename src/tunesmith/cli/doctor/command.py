"""``tunesmith doctor``: whether this installation works."""

from __future__ import annotations

import importlib.util
import platform
from importlib import metadata
from typing import Annotated, Any

import typer

from tunesmith.cli.app import INTERNAL_ERROR, Session
from tunesmith.cli.options.common import Json, print_json
from tunesmith.errors import TunesmithError, UsageError

SCHEMA = "tunesmith.doctor/1"
LIBRARIES = (
    "numpy",
    "scipy",
    "numba",
    "rapidfuzz",
    "typer",
    "rich",
    "threadpoolctl",
    "platformdirs",
)
EXTRAS = {
    "matplotlib": "plot",
    "pyarrow": "formats",
    "yaml": "formats",
    "zstandard": "formats",
    "sacrebleu": "tokenizers",
    "sklearn": "sklearn",
    "tensorboard": "tensorboard",
    "mlflow": "mlflow",
    "wandb": "wandb",
    "thot": "thot",
    "machine": "sil-machine",
    "ray": "ray",
    "numba_cuda": "gpu",
}


def run(
    *,
    session: Session,
    warm: Annotated[
        bool,
        typer.Option(
            "--warm",
            help="Compile the kernels of all commands in advance, which takes a few minutes.",
        ),
    ] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all compiled kernels, and do nothing else.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check this installation: versions, cores, kernels, extras."""
    if warm and clear:
        raise UsageError("--warm and --clear exclude each other; give one of them")
    if clear:
        _clear(as_json)
        return
    from tunesmith._version import __version__
    from tunesmith.kernels.cache import SUFFIX, VARIABLE, cache_folder, current_folder, is_writable
    from tunesmith.parallel.device import why_no_cuda
    from tunesmith.parallel.local import thread_count

    if warm and not is_writable():
        raise TunesmithError(
            f"{cache_folder()}: compiled kernels cannot be kept there; "
            f"set {VARIABLE} to a folder of yours"
        )
    failed = _warmed() if warm else []
    kernels, seconds = _kernels()
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "signature": f"doctor|version:tunesmith-{__version__}",
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "threads": thread_count(),
        "engines": _engines(),
        "libraries": {name: metadata.version(name) for name in LIBRARIES},
        "extras": {name: importlib.util.find_spec(name) is not None for name in EXTRAS},
        "gpu": why_no_cuda() or "works",
        "kernel_cache": str(cache_folder()),
        "kernel_cache_writable": is_writable(),
        "kernels_compiled": len(list(current_folder().glob(f"*{SUFFIX}"))),
        "kernels_work": kernels,
        "kernel_seconds": seconds,
    }
    if as_json:
        print_json(report)
    else:
        typer.echo(f"tunesmith {__version__}, Python {report['python']}, {report['platform']}")
        typer.echo(f"threads: {report['threads']}")
        typer.echo(f"engines: {', '.join(_named(*engine) for engine in report['engines'].items())}")
        typer.echo(", ".join(f"{name} {v}" for name, v in report["libraries"].items()))
        for name, there in report["extras"].items():
            remedy = "" if there else f": pip install 'tunesmith[{EXTRAS[name]}]'"
            typer.echo(f"{name} (optional): {'there' if there else 'not installed'}{remedy}")
        typer.echo(f"GPU (optional): {report['gpu']}")
        note = "" if report["kernel_cache_writable"] else "; NOT WRITABLE, so that none is kept"
        count = report["kernels_compiled"]
        typer.echo(f"kernel cache: {report['kernel_cache']} ({count} kernels{note})")
        state = "work" if kernels else "DO NOT WORK, please report it"
        typer.echo(f"kernels: {state} ({seconds:.1f} s for a small task)")
    for job in failed:
        session.say(f"warning: {job}")
    if not kernels or failed:
        raise typer.Exit(INTERNAL_ERROR)


def _engines() -> dict[str, str | bool]:
    """Return who can work here: the version of what an engine needs, or whether it is there."""
    from tunesmith.parallel.choice import ENGINES

    engines: dict[str, str | bool] = dict.fromkeys(ENGINES, True)
    try:
        engines["ray"] = metadata.version("ray")
    except metadata.PackageNotFoundError:
        engines["ray"] = False
    return engines


def _named(engine: str, state: str | bool) -> str:
    if state is True:
        return engine
    return f"{engine} {state}" if state else f"{engine} (not installed)"


def _kernels() -> tuple[bool, float]:
    """Tune two groups of two candidates, of which one choice is right."""
    from tunesmith.io.collector import Collector
    from tunesmith.io.lists.moses import MosesFormat
    from tunesmith.io.streams import Source
    from tunesmith.io.text.tokens import tokenize
    from tunesmith.kernels.compiling import working_seconds
    from tunesmith.tasks.lists import TuningSet
    from tunesmith.tuners.mert.mert import MERT

    start = working_seconds()
    collector = Collector()
    lists = b"0 ||| a b ||| f= 1 ||| 0\n0 ||| a c ||| f= 0 ||| 0\n1 ||| c d ||| f= 0.5 ||| 0\n"
    MosesFormat().read(Source("doctor", lists), collector)
    references = tokenize(b"a c\nc d\n", collector.vocabulary)
    tuning = TuningSet(collector.finish([("doctor", references)]), "bleu:order=2")
    result = MERT(restarts=0).fit(tuning, {"f": 1.0})
    right = abs(result.score - 100.0) < 1e-9 and result.weights["f"] < 0
    return right, working_seconds() - start


def _warmed() -> list[str]:
    """Compile everything, with the optimisation and the types of ordinary runs."""
    from tunesmith.cli.doctor.warm import warm_up

    return warm_up()


def _clear(as_json: bool) -> None:
    """Remove the folder of compiled kernels."""
    from tunesmith._version import __version__
    from tunesmith.kernels.cache import cache_folder, clear

    folder = str(cache_folder())
    count, size = clear()
    if as_json:
        header = {"schema": SCHEMA, "signature": f"doctor|version:tunesmith-{__version__}"}
        print_json({**header, "kernel_cache": folder, "removed": count, "bytes": size})
        return
    kernels = "compiled kernel" if count == 1 else "compiled kernels"
    typer.echo(f"{folder}: {count} {kernels} removed ({size / 1e6:.1f} MB)")
