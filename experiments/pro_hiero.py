"""PRO with the hierarchical decoder in the loop: monsters, and what the fixes do.

python experiments/pro_hiero.py --rounds 12 --out run      # hours of processor time; resumes
python experiments/pro_hiero.py --parts ""                 # nothing is run, the tables are written

Nakov, Guzmán and Vogel (ACL 2013) saw plain PRO collapse when it tuned on the longer half of the
sentences. Here the text is news (nc-wmt11-de-en of TUNESMITH_SHARED_DATA), with its grammar and
language model. ``setups`` are ways to provoke monsters, all with plain PRO; ``fixes`` repeats one
set-up with the paper's fixes, MERT and batch MIRA. Rows are kept in pro-hiero.json, and the tables
of docs/results/pro-live.md are replaced.
"""

from __future__ import annotations

import argparse
import os
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tunesmith as ts
from pro_live_loop import MIRA, MONSTERS, PRO, Protocol, Way, longest_half, part_of, told
from pro_monsters_loop import PAIRS
from result_pages import Rows, keep_row, known_keys, read_rows, with_tables
from tunesmith.hiero.decoder import HieroDecoder
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop

RESULTS = Path(__file__).parents[1] / "docs" / "results"
NUMBERS, PAGE = RESULTS / "pro-hiero.json", RESULTS / "pro-live.md"
KEYS = ("part", "setup", "label", "seed", "rounds_asked")
#: Hyperedges per span and category; cdec's own lists of this text were made with 200.
POPS = 50


@dataclass(frozen=True)
class Setup:
    """What is tuned on, and where tuning begins.

    Attributes
    ----------
    start
        Weights other than those of the data. The word penalty counts -0.4343 a word.
    share
        How much of the new weights is taken in a round: the papers' Ψ.
    drop
        Features without a weight.
    """

    start: Mapping[str, float] = field(default_factory=dict)
    share: float = 1.0
    nbest_size: int = 1000
    longest: bool = True
    drop: tuple[str, ...] = ()
    decoder: Mapping[str, Any] = field(default_factory=dict)


SETUPS = {
    "longest half": Setup(),
    "longest half, Ψ = 0.1": Setup(share=0.1),
    "too short": Setup(start={"WordPenalty": 1.0}),
    "too long": Setup(start={"WordPenalty": -1.0}),
    "no language model, too short": Setup(start={"WordPenalty": 1.0}, drop=("LanguageModel",)),
    "all sentences": Setup(longest=False),
    "100-best": Setup(nbest_size=100),
    "no limit on spans": Setup(decoder={"span_limit": 1000}, start={"WordPenalty": 1.0}),
    "no language model": Setup(drop=("LanguageModel",)),
    "too short, Ψ = 0.1": Setup(start={"WordPenalty": 1.0}, share=0.1),
}
#: The set-up in which the fixes are compared.
FIXED = "longest half"
WAYS = (*(way for way in MONSTERS if way.tuner == "pro" and way != PRO), MIRA, Way("MERT", "mert"))


@dataclass(frozen=True)
class Job:
    """One loop."""

    part: str
    setup: str
    way: Way
    seed: int
    rounds: int

    def key(self) -> dict[str, Any]:
        """Return what tells its row from others."""
        return {
            "part": self.part,
            "setup": self.setup,
            "label": self.way.label,
            "seed": self.seed,
            "rounds_asked": self.rounds,
        }


def jobs(parts: Sequence[str], rounds: int, seeds: Sequence[int]) -> list[Job]:
    """Return all loops of some parts."""
    chosen = [Job("setups", name, PRO, 1, rounds) for name in SETUPS if "setups" in parts]
    if "fixes" in parts:
        chosen += [Job("fixes", FIXED, way, seed, rounds) for seed in seeds for way in WAYS]
    return chosen


def run(job: Job, folder: Path, out: Path) -> dict[str, Any]:
    """Go through one loop, or go on with it; return what its rounds found."""
    began = time.process_time()
    setup = SETUPS[job.setup]
    decoder = HieroDecoder(
        grammar=(str(folder / "nc-wmt11.grammar.gz"),),
        lm=(str(folder / "lm" / "en.4gram.arpa.gz"),),
        nbest_size=setup.nbest_size,
        pop_limit=POPS,
        **setup.decoder,
    )
    tune, test = (Inputs.read(folder / f"{s}.de", folder / f"{s}.en") for s in ("dev", "test"))
    protocol = Protocol(job.rounds, setup.nbest_size, (job.seed,), setup.share, test_step=2)
    name = re.sub(r"\W+", "-", " ".join(map(str, job.key().values())))
    start = {**ts.read_weights(folder / "weights.init").weights, **setup.start}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        Loop(rounds=job.rounds, final="last").run(
            decoder,
            job.way.made(protocol),
            longest_half(tune) if setup.longest else tune,
            start=start,
            test=part_of(test, range(0, len(test.sentences), protocol.test_step)),
            seed=job.seed,
            drop=setup.drop,
            work_dir=out / name,
        )
    rounds = [told(path) for path in sorted((out / name).glob("round-*"))]
    return job.key() | {"rounds": rounds, "seconds": round(time.process_time() - began, 1)}


def main() -> None:
    """Run the parts asked for, then write the tables of all that is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--parts", default="setups,fixes", help="of setups,fixes")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seeds", default="1", help="of the fixes")
    parser.add_argument("--out", type=Path, default=Path("pro-hiero-runs"), help="keeps all loops")
    options = parser.parse_args()
    parts = options.parts.split(",") if options.parts else []
    if parts:
        shared = os.environ.get("TUNESMITH_SHARED_DATA")
        if not shared:
            parser.error("set TUNESMITH_SHARED_DATA to the folder of the data sets")
        seeds = [int(seed) for seed in options.seeds.split(",")]
        known = known_keys(NUMBERS, "loops", KEYS)
        for job in jobs(parts, options.rounds, seeds):
            if tuple(job.key()[key] for key in KEYS) in known:
                continue
            row = run(job, Path(shared) / "nc-wmt11-de-en", options.out)
            keep_row(NUMBERS, "loops", row, KEYS)
            last = row["rounds"][-1]
            print(job.setup, job.way.label, last, row["seconds"], flush=True)
    if PAGE.exists():
        rows = read_rows(NUMBERS).get("loops", [])
        PAGE.write_text(with_tables(PAGE.read_text(), "news", tables(rows)))


def tables(rows: Rows) -> dict[str, str]:
    """Return all tables by name."""
    first = [row for row in rows if row["label"] == PRO.label and row["part"] == "setups"]
    fixes = [row for row in rows if row["part"] == "fixes"]
    return {
        "setups": summary(first, "setup"),
        "fixes": summary(fixes, "label"),
        "pairs": pairs(first),
    }


def summary(rows: Rows, by: str) -> str:
    """Show each loop: its end, its longest output, and how often PRO warned of monsters."""
    lines = [
        "| | Tune BLEU | length | Test BLEU | length | longest output on Tune "
        "| rounds with monsters |",
        "|---" * 7 + "|",
    ]
    for row in rows:
        rounds = row["rounds"]
        fitted = [entry for entry in rounds if "monsters" in entry]
        last = rounds[-1]
        cells = [row[by]]
        for which in ("tune", "test"):
            cells += [f"{last[f'{which}_bleu']:.2f}", f"{last[f'{which}_ratio']:.3f}"]
        cells.append(f"{max(entry['tune_ratio'] for entry in rounds[1:]):.3f}")
        warned = sum(entry["monsters"] for entry in fitted)
        cells.append(f"{warned} of {len(fitted)}" if PAIRS[0] in fitted[0] else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def pairs(rows: Rows) -> str:
    """Show what PRO's pairs are like in some rounds, as the paper's Table 1."""
    lines = [
        "| | round | length pos | neg | ref | BLEU+1 pos | neg | Tune BLEU after it | length |",
        "|---" * 9 + "|",
    ]
    for row in rows:
        rounds = row["rounds"]
        for k in sorted({0, 1, 2, len(rounds) - 2}):
            if k + 1 >= len(rounds):
                continue
            cells = [row["setup"], str(k + 1)]
            cells += [f"{rounds[k][key]:.1f}" if key in rounds[k] else "" for key in PAIRS]
            cells += [f"{rounds[k + 1]['tune_bleu']:.2f}", f"{rounds[k + 1]['tune_ratio']:.3f}"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
