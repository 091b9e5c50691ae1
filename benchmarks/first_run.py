"""CPU seconds of commands: the first time, when kernels are compiled, and later.

Each command runs in a process of its own with a cache of its own, on the bundled lists, the
forests of ``examples/forests`` and a small model that is trained before.

    python benchmarks/first_run.py [--baseline FOLDER]

``--baseline`` is a checkout of an earlier version, whose commands are run beside ours.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUNDLED = ROOT / "src" / "tunesmith" / "bundled"
FORESTS = ROOT / "examples" / "forests"
LISTS = f"--candidates {BUNDLED}/tune.nbest.gz --references {BUNDLED}/tune.ref"
START = f"--start {BUNDLED}/weights.initial"

COMMANDS = {
    "--help": "--help",
    "evaluate": f"evaluate {LISTS} --weights {BUNDLED}/weights.initial",
    "tune (mert)": f"tune {LISTS} {START} --tuner mert --restarts 2",
    "tune (pro)": f"tune {LISTS} {START} --tuner pro",
    "tune (mira)": f"tune {LISTS} {START} --tuner mira",
    "tune --forests (mert)": f"tune --tuner mert --forests {FORESTS}/tune.jsonl.gz "
    f"--references {FORESTS}/tune.ref --start {FORESTS}/weights",
    "decode": "decode --model model --input small.source --nbest 5 --to cdec",
}


def cpu_seconds(command: str, source: Path, cache: Path, folder: Path) -> float:
    """Return what a command takes, in all its threads."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(source / "src")}
    # An earlier version has its kernels where numba's are.
    environment |= {"TUNESMITH_CACHE_DIR": str(cache), "NUMBA_CACHE_DIR": str(cache)}
    subprocess.run(
        [sys.executable, "-m", "tunesmith", *command.split()],
        env=environment,
        cwd=folder,
        capture_output=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def prepare(folder: Path) -> None:
    """Train a small model."""
    program = (
        "from pathlib import Path; from tunesmith.cli.doctor.warm import write_samples; "
        "write_samples(Path())"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, check=True)
    train = "train --source source --target text --alignment links --order 3 --out model"
    cpu_seconds(train, ROOT, folder / "training", folder)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baseline", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--repeats", type=int, default=3, help="runs with compiled kernels")
    options = parser.parse_args()
    sources = [ROOT] if options.baseline is None else [options.baseline.absolute(), ROOT]
    names = ["this version"] if options.baseline is None else ["baseline", "this version"]
    print("| command |" + "".join(f" {name}: first | later |" for name in names))
    print("|---|" + "---|---|" * len(names))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        prepare(folder)
        for name, command in COMMANDS.items():
            row = f"| `{name}` |"
            for source in sources:
                cache = folder / "cache"
                shutil.rmtree(cache, ignore_errors=True)
                first = cpu_seconds(command, source, cache, folder)
                later = statistics.median(
                    cpu_seconds(command, source, cache, folder) for _ in range(options.repeats)
                )
                row += f" {first:.1f} | {later:.1f} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
