"""``python -m fuzz``: run a campaign, or one of its inputs again."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from fuzz.campaign import SHARES, Campaign
from fuzz.part import FOUND, PARTS, part_of
from fuzz.report import write
from fuzz.scratch import scratch
from fuzz.slot import ONE_THREAD
from fuzz.worker import attempt


def pairs(text: str) -> dict[str, float]:
    """Read ``files=0.5,kills=0.5``."""
    found = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"'{name}' is no part; there are {', '.join(PARTS)}")
        found[name] = float(value)
    return found


def parser() -> argparse.ArgumentParser:
    """Return what reads the arguments."""
    made = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    made.add_argument("--seconds", type=float, help="how long; without it until --inputs are done")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    made.add_argument("--shares", type=pairs, default=SHARES, help="files=0.5,kills=0.5")
    made.add_argument("--inputs", type=pairs, default={}, help="at most: files=1000,kills=3")
    made.add_argument("--report", type=Path, default=Path("fuzz-out/report.md"))
    made.add_argument("--replay", metavar="PART:SEED:INDEX", help="try one input again")
    made.add_argument("--keep", type=Path, help="with --replay of files: write it as an example")
    return made


def replay(text: str, keep: Path | None) -> int:
    """Try one input in this process, and tell what became of it."""
    name, seed, index = text.split(":")
    with scratch():
        part = part_of(name)
        part.prepare()
        if keep is not None:
            part.keep(int(seed), int(index), keep)
        outcome = attempt(part, int(seed), int(index))
    for said in (f"{outcome.kind}: {outcome.verdict}", outcome.problem, outcome.detail):
        sys.stdout.write(f"{said}\n")
    return int(outcome.verdict == FOUND)


def main() -> int:
    """Run what the arguments say; 1 if something was found."""
    given = parser().parse_args()
    if given.replay:
        if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
            os.environ.update(ONE_THREAD)  # read when libraries are loaded: begin again
            os.execv(sys.executable, [sys.executable, "-m", "fuzz", *sys.argv[1:]])
        return replay(given.replay, given.keep)
    shares = given.inputs and given.seconds is None and dict.fromkeys(given.inputs, 1.0)
    inputs = {name: int(count) for name, count in given.inputs.items()}
    campaign = Campaign(given.seed, given.seconds, given.workers, shares or given.shares, inputs)
    campaign.run()
    write(campaign, given.report)
    sys.stderr.write(f"{campaign.progress()}\nfuzz: {given.report}\n")
    return int(bool(campaign.finds))


if __name__ == "__main__":
    sys.exit(main())
