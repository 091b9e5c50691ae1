"""The page of a run on 2000 sentences: time to make it, its size, and time to open it.

The lists are two of the data set one after the other, up to 100 candidates per sentence, tuned by
MERT, with a held-out set beside. The page is opened in headless Chromium, by a new process each
time: until its text is painted, and until its first chart is drawn. Without a browser only the
first part is measured.
"""

from __future__ import annotations

import gzip
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import arguments, parse
from tunesmith.report.page.assemble import view_of
from tunesmith.report.page.html import page_of
from tunesmith.report.page.run.reading import read_run

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.helpers.report.browser import browser, why_not

PAINTED = (
    "return performance.getEntriesByType('paint')"
    ".find(e => e.name === 'first-contentful-paint').startTime / 1000"
)
DRAWN = "document.querySelector('#rounds .chart').drawn === true"


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__.split("\n")[0])
    parser.set_defaults(repetitions=5, lists="run5.nbest.gz and test.nbest.gz")
    options = parse(parser)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sentences, lines = join(options.data, folder)
        tune(options.data, folder)
        print(f"{sentences} sentences, {lines} candidates")
        page = make(folder)
        if (reason := why_not()) is not None:
            print(f"the page is not opened: {reason}")
            return
        opened = [open_once(page) for _ in range(options.repetitions)]
    for k, what in enumerate(("text painted", "first chart drawn")):
        times = [one[k] for one in opened]
        print(f"{what:18} {statistics.median(times):6.2f} s (longest {max(times):.2f} s)")


def join(data: Path, folder: Path) -> tuple[int, int]:
    """Write two sets one after the other; return how many sentences and candidates they have."""
    first = (data / "val.ref").read_text().splitlines()
    second = (data / "test.ref").read_text().splitlines()
    (folder / "references").write_text("\n".join([*first, *second, ""]))
    lines = 0
    with gzip.open(folder / "lists.gz", "wt", compresslevel=1) as out:
        for name, shift in (("run5.nbest.gz", 0), ("test.nbest.gz", len(first))):
            with gzip.open(data / name, "rt") as held:
                for line in held:
                    group, bars, rest = line.partition(" ||| ")
                    out.write(f"{int(group) + shift}{bars}{rest}")
                    lines += 1
    return len(first) + len(second), lines


def tune(data: Path, folder: Path) -> None:
    """Tune on them, with the test set beside as a held-out set."""
    command = [sys.executable, "-m", "tunesmith", "tune", "--candidates", "lists.gz"]
    command += ["--references", "references", "--start", str(data / "weights.run1.dense")]
    command += ["--dev-candidates", str(data / "test.nbest.gz")]
    command += ["--dev-references", str(data / "test.ref"), "--restarts", "1", "--quiet"]
    subprocess.run(
        [*command, "--out", "weights.json"], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )


def make(folder: Path) -> Path:
    """Make the page, and print how long its parts take and how large it is."""
    begun = time.perf_counter()
    record = read_run(folder / "weights.json")
    read = time.perf_counter()
    view = view_of(record)
    made = time.perf_counter()
    page = folder / "page.html"
    page.write_text(page_of(view), encoding="utf-8")
    print(f"read               {read - begun:6.2f} s")
    print(f"view               {made - read:6.2f} s")
    print(f"page written       {time.perf_counter() - made:6.2f} s")
    shown = sum(len(held.shown) for held in view.sentences)
    print(f"size               {page.stat().st_size / 1e6:6.2f} MB, {shown} sentences in it")
    return page


def open_once(page: Path) -> tuple[float, float]:
    """Return the seconds until text is painted, and until a chart is drawn, in a new browser."""
    with browser() as window:
        window.open("about:blank")
        begun = time.perf_counter()
        window.open(page)
        window.wait(DRAWN)
        drawn = time.perf_counter() - begun
        return window.run(PAINTED), drawn


if __name__ == "__main__":
    main()
