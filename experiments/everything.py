"""All experiments behind docs/results: what is done, what is missing, how long it takes.

python experiments/everything.py                       # says it
python experiments/everything.py --render              # and writes all pages from what is there
python experiments/everything.py --run --minutes 60    # and runs what is missing, for an hour
python experiments/everything.py --run --protocol full --pages lp-mert,pro-length

Every experiment keeps its runs beside its page and skips those that are there, so the same command
goes on where it was stopped. What it costs is what runs of the same kind took, or an estimate.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
PROTOCOLS = ("quick", "full")
#: Seconds for one run where none has been made: estimates, by page, or by page and part.
ESTIMATES = {
    "regularized-mert": 300.0,
    "lp-mert figure5": 1.0,
    "lp-mert gaps": 330.0,
    "lp-mert table1": 20.0,
    "lp-mert table2": 900.0,
    "lp-mert certify": 330.0,
    "lp-mert within": 40.0,
    "lp-mert few": 60.0,
    "lp-mert incumbents": 40.0,
    "lp-mert loop": 60.0,
    "lp-mert figure2": 900.0,
    "lp-mert figure6": 1500.0,
    "lp-mert figure7": 1500.0,
    "pro-length": 15.0,
    "pro-live": 1000.0,
    "pro-monsters": 25.0,
    "forest-search": 60.0,
    "hope-and-fear": 270.0,
    "generalisation whole": 40.0,
    "generalisation verdicts": 5.0,
    "generalisation sizes": 5.0,
    "generalisation slow": 60.0,
}
#: The quick protocol's, where they are others.
QUICK = {"regularized-mert synthetic, gradient:paper": 5.0, "regularized-mert priors": 60.0}
#: What renders a page of what is there, without running anything.
RENDER = {
    "regularized-mert": ("regularized_mert.py", "--parts", ""),
    "lp-mert": ("lp_mert.py", "--parts", ""),
    "pro-length": ("pro_length.py", "--tables", ""),
    "pro-live": ("pro_live.py", "--parts", ""),
    "pro-monsters": ("pro_monsters.py", "--parts", ""),
    "forest-search": ("forest_search.py", "--parts", ""),
    "hope-and-fear": ("hope_and_fear.py", "--parts", ""),
    "generalisation": ("generalisation.py", "--render"),
    "index": ("claims.py",),
}
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Part:
    """One part of an experiment.

    Attributes
    ----------
    command
        A file of this folder and its arguments, which make what is missing.
    done, wanted
        Independent runs.
    each
        Seconds of a run.
    """

    page: str
    protocol: str
    name: str
    command: tuple[str, ...]
    done: int
    wanted: int
    each: float

    @property
    def left(self) -> float:
        """Seconds that what is missing takes, about."""
        return (self.wanted - self.done) * self.each


def rows_of(page: str, protocol: str, kind: str | None = None) -> Rows:
    """Return the rows of a page: all of a protocol, or those of one kind."""
    file = RESULTS / f"{page}.json"
    found = json.loads(file.read_text()).get(protocol, {}) if file.exists() else {}
    if isinstance(found, dict):
        return list(found.get(kind, []))
    return list(found)


def part(
    page: str, protocol: str, name: str, command: Sequence[str], rows: Rows, keys: Any, wanted: Any
) -> Part:
    """Compare rows, by what tells them apart, with what is wanted."""
    wanted = set(wanted)
    done = {tuple(row.get(key) for key in keys) for row in rows} & wanted
    seconds = [row.get("cpu", row.get("seconds")) for row in rows]
    known = [each for each in seconds if isinstance(each, int | float)]
    estimates = ESTIMATES | (QUICK if protocol == "quick" else {})
    guess = estimates.get(f"{page} {name}", estimates.get(page, 60.0))
    each = statistics.mean(known) if known else guess
    told = ("--quick", *command[1:]) if protocol == "quick" else tuple(command[1:])
    return Part(page, protocol, name, (command[0], *told), len(done), len(wanted), each)


def regularized_mert(protocol: str) -> Iterator[Part]:
    """Synthetic data, real lists by seed, and priors."""
    import regularized_mert as script
    import regularized_mert_priors as priors
    import regularized_mert_real as real
    import regularized_mert_synthetic as synthetic

    page, file = "regularized-mert", "regularized_mert.py"
    rows = rows_of(page, protocol, "synthetic")
    for finder in synthetic.FINDERS:
        wanted = [
            (finder, d, noise)
            for d in script.SIZES[protocol].features
            for noise in (0.0, synthetic.NOISE)
        ]
        command = [file, "--parts", "synthetic", "--finders", finder]
        same = [row for row in rows if row["finder"] == finder]
        keys = ("finder", "features", "noise")
        yield part(page, protocol, f"synthetic, {finder}", command, same, keys, wanted)
    plan = script.PROTOCOLS[protocol]
    rows = rows_of(page, protocol, "real")
    scaled = [(f"{real.BASE}, length scaled", "uniform")] if plan.lengths else []
    ways = [(real.BASE, "uniform"), *scaled, *(way[:2] for way in real.ways(plan, {}))]
    for seed in (1, 2, 3):
        command = [file, "--parts", "real", "--seeds", str(seed)]
        same = [row for row in rows if row["seed"] == seed and row["seconds"]]
        wanted = [(*way, seed) for way in ways]
        keys = ("label", "start", "seed")
        yield part(page, protocol, f"real, seed {seed}", command, same, keys, wanted)
    if protocol == "quick":
        rows = rows_of(page, protocol, "priors")
        labels = (priors.UNTUNED, priors.SMALL_MERT, priors.PRO, priors.MIRA, priors.SMALL_PRO)
        labels += tuple(f"v1 towards {name}" for name in priors.PRIORS)
        wanted = [
            (label, seed, fold)
            for fold in priors.FOLDS
            for seed in priors.Protocol().seeds
            for label in labels
        ]
        command = [file, "--parts", "priors"]
        yield part(page, protocol, "priors", command, rows, ("label", "seed", "fold"), wanted)


def lp_mert(protocol: str) -> Iterator[Part]:
    """Tables and figures, each of both pairs of lists."""
    import lp_mert as script
    import lp_mert_incumbents as ways
    import lp_mert_loop as loops
    import lp_mert_near as near
    import lp_mert_sets as sets

    plan, page, data = script.PROTOCOLS[protocol], "lp-mert", tuple(sets.USUAL)
    wanted: dict[str, list[tuple[Any, ...]]] = {
        "figure5": [(d, s, k) for d in data for s, n in plan.figure5.items() for k in range(n)],
        "gaps": [
            (d, s, k, limit)
            for d in data
            for s in (24, 32)
            for k in range(plan.gaps)
            for limit in plan.gap_limits
        ],
        "table1": [(d, s, k) for d in data for s in (2, 4, 8) for k in range(plan.lazy)],
        "table2": [(d, s) for d in data for s in plan.sizes2],
        "certify": [(d, limit) for d in data for limit in plan.certify],
        "within": [
            (d, limit, degrees) for d in data for limit in plan.within for degrees in near.CURVE
        ],
        "few": [(d, width) for d in data for width in plan.few],
        "incumbents": [(d, way, s) for d in data for way in ways.WAYS for s in script.SEEDS],
        "loop": [(d, way) for d in loops.POOLS for way in loops.tuners(plan.loop)],
        "figure2": [(width,) for width in plan.widths2],
        # After the first search that is not proven larger ones are not tried.
        "figure6": [(d, width, 1) for d in data for width in plan.widths6],
        "figure7": [(d, cosine, 1) for d in data for cosine in plan.cosines],
    }
    for name, some in wanted.items():
        rows = rows_of(page, protocol, name)
        command = ["lp_mert.py", "--parts", name]
        yield part(page, protocol, name, command, rows, script.KEYS[name], some)


def pro_length(protocol: str) -> Iterator[Part]:
    """All ways of tuning with every seed, by set."""
    import pro_length as script
    import pro_length_ways as ways

    rows = rows_of("pro-length", protocol, "rows")
    for data in ways.DATA:
        wanted = [(data, w.label, s) for w in ways.WAYS for s in script.PROTOCOLS[protocol].seeds]
        same = [row for row in rows if row["data"] == data]
        command = ["pro_length.py", "--data", data]
        keys = ("data", "label", "seed")
        yield part("pro-length", protocol, data, command, same, keys, wanted)


def pro_live(protocol: str) -> Iterator[Part]:
    """Loops with Thot."""
    import pro_live as script
    import pro_live_loop as loops

    rows = rows_of("pro-live", protocol)
    for name in script.PARTS:
        jobs = loops.jobs(script.PROTOCOLS[protocol], [name])
        wanted = [tuple(job.key()[key] for key in script.KEYS) for job in jobs]
        same = [row for row in rows if row["part"] == name]
        command = ["pro_live.py", "--parts", name]
        yield part("pro-live", protocol, name, command, same, script.KEYS, wanted)


def pro_monsters(protocol: str) -> Iterator[Part]:
    """Loops over pools."""
    import pro_monsters as script

    for name in script.PARTS:
        wanted = [
            (pool, tuned, way.label, seed)
            for pool, tuned, way, seed in script.runs(script.PROTOCOLS[protocol], [name])
        ]
        rows = rows_of("pro-monsters", protocol)
        command = ["pro_monsters.py", "--parts", name]
        yield part("pro-monsters", protocol, name, command, rows, script.KEYS, wanted)


def forest_search(protocol: str) -> Iterator[Part]:
    """Figures and MERT on given forests."""
    import forest_search as script
    import forest_search_learning as learning

    plan = script.PROTOCOLS[protocol]
    ways = {
        "searches": learning.searches(plan.epochs, False),
        "mu": learning.loss_weights(plan.epochs, False, script.MU),
    }
    wanted = {
        name: [(name, w.label, start, s) for w in some for start in plan.starts for s in plan.seeds]
        for name, some in ways.items()
    }
    wanted["fear"] = [
        ("fear", "lists", about, 1) for about in ("start", "larger", "paper", "tuned")
    ]
    wanted["mert"] = [
        ("mert", label, about, seed) for about, label, seeds in plan.merts for seed in seeds
    ]
    wanted["tuners"] = [
        ("tuners", w.label, about, seed)
        for w in learning.tuners(plan.passes)
        for about in ("part", "all")
        for seed in plan.tuner_seeds
        if (w.label, about) != ("mert", "all")
    ]
    for name in script.PARTS:
        rows = [row for row in rows_of("forest-search", protocol) if row["part"] == name]
        command = ["forest_search.py", "--parts", name]
        yield part("forest-search", protocol, name, command, rows, script.KEYS, wanted[name])


def hope_and_fear(protocol: str) -> Iterator[Part]:
    """Live runs with the hierarchical decoder, each once however many figures show it."""
    import hope_and_fear_parts as parts

    rows = rows_of("hope-and-fear", protocol)
    wanted = [(run.name,) for run in parts.all_runs(parts.PROTOCOLS[protocol], parts.PARTS)]
    yield part(
        "hope-and-fear", protocol, "all figures", ["hope_and_fear.py"], rows, ("run",), wanted
    )


def generalisation(protocol: str) -> Iterator[Part]:
    """Every tuner on whole sets and on subsets, and verdicts."""
    import generalisation as script

    rows = script.rows_there()
    for name, runs in script.PARTS.items():
        wanted = [run.key for run in runs(script.DRAWS[protocol])]
        same = [row for row in rows if script.key_of(row) in set(wanted)]
        command = ["generalisation.py", "--part", name]
        yield part("generalisation", protocol, name, command, same, script.KEYS, wanted)


EXPERIMENTS = {
    "regularized-mert": regularized_mert,
    "lp-mert": lp_mert,
    "forest-search": forest_search,
    "hope-and-fear": hope_and_fear,
    "pro-length": pro_length,
    "pro-live": pro_live,
    "pro-monsters": pro_monsters,
    "generalisation": generalisation,
}


def all_parts(pages: Sequence[str], protocols: Sequence[str]) -> list[Part]:
    """Return every part of some experiments; those that cannot be loaded are told."""
    found = []
    for page in pages:
        for protocol in protocols:
            try:
                found += list(EXPERIMENTS[page](protocol))
            except ImportError as error:
                print(f"{page}: {error}", file=sys.stderr)
                break
    return found


def shown(seconds: float) -> str:
    """Return a time as one reads it."""
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def report(parts: Sequence[Part]) -> str:
    """Return a table of what is done and missing."""
    lines = [f"{'page':18} {'protocol':8} {'part':28} {'done':>12} {'left, about':>12}"]
    for one in parts:
        done = f"{one.done} of {one.wanted}"
        left = shown(one.left) if one.left else "done"
        lines.append(f"{one.page:18} {one.protocol:8} {one.name:28} {done:>12} {left:>12}")
    for protocol in dict.fromkeys(one.protocol for one in parts):
        same = [one for one in parts if one.protocol == protocol]
        done = f"{sum(one.done for one in same)} of {sum(one.wanted for one in same)}"
        left = shown(sum(one.left for one in same))
        lines.append(f"{'all':18} {protocol:8} {'':28} {done:>12} {left:>12}")
    return "\n".join(lines)


def call(command: Sequence[str]) -> int:
    """Run a file of this folder."""
    print("python experiments/" + " ".join(one or "''" for one in command), flush=True)
    return subprocess.run([sys.executable, HERE / command[0], *command[1:]], check=False).returncode


def main() -> None:
    """Say what is done; run and render what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--run", action="store_true", help="run what is missing, short parts first")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after this time")
    parser.add_argument("--render", action="store_true", help="write all pages from what is there")
    parser.add_argument("--protocol", choices=[*PROTOCOLS, "all"], help="of what is run: quick")
    parser.add_argument(
        "--pages", default=",".join(EXPERIMENTS), help="of " + ",".join(EXPERIMENTS)
    )
    options = parser.parse_args()
    pages = options.pages.split(",")
    if wrong := set(pages) - set(EXPERIMENTS):
        parser.error(f"there is no page {min(wrong)}; give some of {','.join(EXPERIMENTS)}")
    if options.run and "TUNESMITH_SHARED_DATA" not in os.environ:
        parser.error("set TUNESMITH_SHARED_DATA to the folder of the data sets")
    asked = options.protocol or ("quick" if options.run else "all")
    protocols = PROTOCOLS if asked == "all" else (asked,)
    parts = all_parts(pages, protocols)
    print(report(parts))
    failed = []
    if options.run:
        end = time.monotonic() + 60 * options.minutes
        missing = sorted((one for one in parts if one.left), key=lambda one: one.left)
        failed += [
            f"{one.page}, {one.name}"
            for one in missing
            if time.monotonic() < end and call(one.command)
        ]
        print(report(all_parts(pages, protocols)))
    if options.render:
        failed += [page for page, command in RENDER.items() if call(command)]
    if failed:
        sys.exit("failed: " + "; ".join(failed))


if __name__ == "__main__":
    main()
