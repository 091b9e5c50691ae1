"""What a campaign came to: a page for people, and a line of JSON for each find."""

from __future__ import annotations

import json
import platform
from collections import defaultdict
from pathlib import Path
from typing import Any

from fuzz.campaign import Campaign
from fuzz.part import ACCEPTED, FOUND, REFUSED
from tunesmith._version import __version__

#: Replay commands that are shown of finds that look alike.
SHOWN = 3


def write(campaign: Campaign, path: Path) -> None:
    """Write the page, and beside it the finds as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(campaign), encoding="utf-8")
    lines = [json.dumps(find, ensure_ascii=False) + "\n" for find in campaign.finds]
    path.with_suffix(".jsonl").write_text("".join(lines), encoding="utf-8")


def page(campaign: Campaign) -> str:
    """Return the page in Markdown."""
    lines = [
        "# Fuzz campaign",
        "",
        f"tunesmith {__version__}, Python {platform.python_version()}, seed {campaign.seed}, "
        f"{campaign.elapsed:.0f} seconds, {campaign.workers} workers.",
        "",
        *_parts(campaign),
        *_kinds(campaign),
        *_finds(campaign.finds),
    ]
    return "\n".join(lines) + "\n"


def _parts(campaign: Campaign) -> list[str]:
    lines = ["| part | inputs | inputs a second of a worker | done |", "|---|--:|--:|---|"]
    for name, tally in campaign.tallies.items():
        total = sum(tally.counts.values())
        speed = total / tally.seconds if tally.seconds else 0.0
        done = "all" if tally.is_done else "as time allowed"
        if tally.size is not None and not tally.is_done:
            done = f"{tally.next} of {tally.size}"
        lines.append(f"| {name} | {total} | {speed:.1f} | {done} |")
    return [*lines, ""]


def _kinds(campaign: Campaign) -> list[str]:
    lines: list[str] = []
    for name, tally in campaign.tallies.items():
        rows: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for key, count in tally.counts.items():
            kind, _, verdict = key.partition("\t")
            rows[kind][verdict] += count
        lines += [f"## {name.capitalize()}", "", "| kind | tried | accepted | refused | finds |"]
        lines.append("|---|--:|--:|--:|--:|")
        for kind, found in sorted(rows.items()):
            each = [str(found[verdict]) for verdict in (ACCEPTED, REFUSED, FOUND)]
            lines.append(f"| {kind} | {sum(found.values())} | {' | '.join(each)} |")
        lines.append("")
    return lines


def _finds(finds: list[dict[str, Any]]) -> list[str]:
    if not finds:
        return ["## Finds", "", "None."]
    alike: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for find in finds:
        alike[find["part"], find["kind"], find["problem"]].append(find)
    lines = ["## Finds", ""]
    for (part, kind, problem), found in alike.items():
        lines += [f"- {part}, {kind}: {problem} ({len(found)} times)"]
        lines += [f"  `{find['replay']}`" for find in found[:SHOWN]]
    return lines
