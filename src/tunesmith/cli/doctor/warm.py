"""Small runs of all commands, so that whatever they need is compiled."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import multiprocessing
import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib import resources
from pathlib import Path

from tunesmith.cli.app import DONE, INTERNAL_ERROR, INTERRUPTED, main
from tunesmith.kernels.cache import cache_folder
from tunesmith.parallel.local import thread_count
from tunesmith.progress import shown

SENTENCES = 6
CANDIDATES = 8
PAIRS = 40

FORMATS = ("cdec", "joshua", "travatar", "marian", "jsonl", "csv", "tsv", "arrow", "parquet")
FOREST_FORMATS = ("arrow", "cdec-forest", "joshua-hypergraph", "moses-hypergraph")
METRICS = ("bleu", "sentence-bleu", "ter", "chrf", "chrf++", "wer", "cer", "sum(bleu,-0.5*ter)")

FEW = "--keep LM0 --keep WordPenalty0 --keep Distortion0"

#: Tuners with their variants, and whether they work on forests too.
TUNERS: tuple[tuple[str, bool], ...] = (
    ("mert --restarts 1", True),
    ("mert --restarts 0 --directions gradient", True),
    ("mert --restarts 0 --directions powell --smoothing mean", False),
    ("mert --restarts 0 --directions random --smoothing min", False),
    ("mert --restarts 0 --penalty l2-normalized --strength 0.01", False),
    ("mert --restarts 0 --penalty l0 --strength 0.01", False),
    ("mert --restarts 0 --metric ter", True),
    ("pro", True),
    ("pro --learn hinge", False),
    ("batch-mira --passes 2", True),
    ("ramp --iterations 1 --passes 1", True),
    ("min-risk --epochs 2 --steps 3", True),
    ("min-risk --method online --epochs 1", True),
    ("mira --epochs 1", True),
    ("mira --epochs 1 --learners 2 --parallel async", True),
    ("mira --epochs 1 --objective document", True),
    ("mira --epochs 1 --metric wer", True),
    ("arow --epochs 1", True),
    ("sgd --epochs 1 --reference bold", True),
    ("perceptron --epochs 1 --reference local", True),
    (f"lp-mert {FEW} --metric sentence-bleu --test-limit 50", False),
    (f"lp-mert {FEW} --metric sentence-bleu --search lazy --test-limit 50", False),
    (f"lp-mert {FEW} --metric sentence-bleu --search beam --beam 20", False),
    (f"plane {FEW} --metric sentence-bleu", False),
)

SPARSE = (
    "mert --restarts 1",
    "mert --restarts 0 --directions gradient",
    "pro",
    "mira --epochs 1",
    "batch-mira --passes 2",
    "min-risk --epochs 1 --steps 3",
)


def warm_up() -> list[str]:
    """Run all commands on a few sentences; return those that failed, which should be none.

    numba compiles one kernel at a time in a process, so lists and forests have a process each.
    """
    show, failed = shown(), []
    with tempfile.TemporaryDirectory(prefix="tunesmith-warm-") as folder:
        write_samples(Path(folder))
        sequences = [list(_list_jobs()), list(_forest_jobs())]
        total = sum(map(len, sequences))
        with _workers(min(len(sequences), thread_count()), folder) as workers:
            jobs = {
                worker.submit(_run, job, thread_count()): job
                for worker, sequence in zip(itertools.cycle(workers), sequences, strict=False)
                for job in sequence
            }
            show("compiling kernels", 0, total, "")
            for done, future in enumerate(as_completed(jobs), 1):
                code, message = _outcome(future)
                if code == INTERRUPTED:
                    raise KeyboardInterrupt
                if code != DONE and "pip install" not in message:  # an extra is not installed
                    failed.append(f"{jobs[future]}: {message}")
                show("compiling kernels", done, total, jobs[future].split(" --")[0])
    return failed


@contextlib.contextmanager
def _workers(count: int, folder: str) -> Iterator[list[ProcessPoolExecutor]]:
    """Start processes that each run their jobs in order; whatever ends this ends them at once."""
    others = set(multiprocessing.active_children())
    workers = [
        ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"), initializer=_enter, initargs=(folder,)
        )
        for _ in range(count)
    ]
    try:
        yield workers
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        for worker in workers:
            worker.shutdown(cancel_futures=True)


def _enter(folder: str) -> None:
    """Begin a worker: Ctrl-C is for the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cache_folder()  # a relative one is meant from where the command began
    os.chdir(folder)


def _outcome(future: Future[tuple[int, str]]) -> tuple[int, str]:
    """Return a job's exit code and its last line; a process that died has one, too."""
    try:
        return future.result()
    except BrokenProcessPool:
        return INTERNAL_ERROR, "the process that compiled it died"


def _list_jobs() -> Iterator[str]:
    """Yield command lines on lists, in the order in which they must run."""
    lists = "--candidates small.nbest --references small.ref"
    chosen = "--references small.ref --weights weights"
    weighed = f"--candidates small.nbest {chosen}"
    yield from (f"evaluate {weighed} --metric {metric}" for metric in METRICS)
    for name in FORMATS:
        yield f"convert --candidates small.nbest --references small.ref --to {name} --out as.{name}"
        yield f"evaluate --candidates as.{name} --format {name} {chosen}"
    yield "rerank --candidates small.nbest --weights weights --nbest --out best"
    yield "synth --sentences 5 --candidates 4 --features 6 --out made"
    yield from (f"tune {lists} --start weights --tuner {tuner}" for tuner, _ in TUNERS)
    sparse = "--candidates sparse.cdec --references small.ref"
    yield from (f"tune {sparse} --tuner {tuner}" for tuner in SPARSE)
    yield f"surface {weighed} --feature LM0 --out surface.html"
    yield f"certify {weighed} --metric sentence-bleu --time-limit 0.1"
    yield f"surface {weighed} --plane LM0,WordPenalty0 --time-limit 0.1 --out map.png"
    yield f"tune {lists} --start weights --tuner mert --restarts 0 --out tuned.json"
    yield "report tuned.json --out page.html"
    few = "--resamples 20 --randomizations 20"
    yield f"compare {lists} --system a=weights --system b=tuned.json {few}"
    yield f"compare --references text --system a=text --system b=source {few} --metric ter"


def _forest_jobs() -> Iterator[str]:
    """Yield command lines of the decoder and on forests, in the order in which they must run."""
    train = "train --source source --target text --alignment links --order 3"
    yield f"{train} --out model --text"
    yield "decode --model model --input small.source --nbest 5 --to cdec --out decoded.nbest"
    yield "decode --model model --input small.source --forest decoded.jsonl --to cdec-forest"
    yield "decode --model model --input small.source --lexical 5 --out decoded.text"
    forests = "--forests decoded.jsonl --references small.text"
    weights = "--weights forest.weights"
    judged = f"{weights} --references small.text"
    yield f"tune {forests} --tuner mert --restarts 0 --out forest.weights"
    yield f"tune {forests} --start forest.weights --tuner mert --restarts 0 --prune density:5"
    for name in FOREST_FORMATS:
        yield f"convert --forests decoded.jsonl --to {name} --out forests.{name}"
        yield f"evaluate --forests forests.{name} --format {name} {judged}"
    yield from (f"evaluate {forests} {weights} --metric {metric}" for metric in METRICS)
    yield f"rerank --forests decoded.jsonl {weights} --nbest --list-size 3 --out best"
    for how in ("rerank", "linear", "kbest"):
        yield f"tune {forests} --tuner mira --epochs 1 --forest-search {how}"
    yield from (
        f"tune {forests} --tuner {tuner}" for tuner, is_for_forests in TUNERS if is_for_forests
    )


def write_samples(folder: Path) -> None:
    """Write a few sentences of the bundled lists, and text to train a small model on."""
    bundled = resources.files("tunesmith") / "bundled"
    with gzip.open(io.BytesIO((bundled / "tune.nbest.gz").read_bytes()), "rt") as file:
        groups: dict[str, list[str]] = {}
        for line in file:
            number = line.split(" ", 1)[0]
            if int(number) >= SENTENCES:
                break
            groups.setdefault(number, []).append(line)
    lines = [line for group in groups.values() for line in group[:CANDIDATES]]
    target = (bundled / "tune.ref").read_text("utf-8").splitlines()[:PAIRS]
    source = (bundled / "tune.src").read_text("utf-8").splitlines()[:PAIRS]
    links = [
        " ".join(f"{i}-{min(i, len(there.split()) - 1)}" for i in range(len(here.split())))
        for here, there in zip(source, target, strict=True)
    ]
    _write(folder, "small.nbest", "".join(lines))
    # Features that few candidates have are stored in another way.
    bars = [line.split(" ||| ") for line in lines]
    _write(
        folder,
        "sparse.cdec",
        _joined(
            [f"{name} ||| {text} ||| LM={len(text)} {_rare(text)} ||| 0" for name, text, *_ in bars]
        ),
    )
    _write(folder, "small.ref", _joined(target[:SENTENCES]))
    _write(folder, "weights", (bundled / "weights.initial").read_text("utf-8"))
    _write(folder, "source", _joined(source))
    _write(folder, "text", _joined(target))
    _write(folder, "links", _joined(links))
    short = [k for k in range(PAIRS) if 2 <= len(source[k].split()) <= 8][:4]
    _write(folder, "small.source", _joined([source[k] for k in short]))
    _write(folder, "small.text", _joined([target[k] for k in short]))


def _rare(text: str) -> str:
    return " ".join(f"{word}=1" for word in sorted(set(text.split()))[:2] if "=" not in word)


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, "utf-8")


def _run(job: str, threads: int) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it said last."""
    output = io.StringIO()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(output),
        warnings.catch_warnings(),
    ):
        code = main([*job.split(), "--quiet", "--threads", str(threads)])
    return code, output.getvalue().strip().rpartition("\n")[2]
