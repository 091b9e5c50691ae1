"""Python of the README and the tutorials has types that hold, as users' type checkers see them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.docs.blocks import ROOT, blocks_of

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]

#: What users write, and what would be refused if options had the types of what they become.
CALLS = """
import tunesmith as ts

ts.MERT(bound={"lm": "0:"}, fix={"tm": 1}, strength=[0.1, 1], length_scale=1.02, tie="a=b")
ts.PRO(strength=[10, 100], objective="bleu+1", select=["all"])
ts.MIRA(initial={"lm*": 1.0}, feature_rate=["lm=0.1"])
ts.Ramp(strength=1, start_scale=[1, 10])
ts.BatchMIRA(c=[0.01, 0.1])
ts.MinRisk(strength=0.5)
ts.Reading(missing="mean", features=["a*"])
ts.from_frame({"q": [1]}, group="q", reading=ts.Reading(missing={"lm": 0.0}))
"""

#: What has to be refused: otherwise the package's types were not seen.
WRONG = """
import tunesmith as ts

found: int = ts.MERT(restarts=3)
"""


@pytest.mark.long
def test_python_of_pages_passes_mypy(tmp_path: Path) -> None:
    files = [tmp_path / "calls.py", tmp_path / "wrong.py"]
    files[0].write_text(CALLS)
    files[1].write_text(WRONG)
    for page in PAGES:
        blocks = [b for b in blocks_of(page.read_text(encoding="utf-8")) if b.kind == "python"]
        files.append(tmp_path / f"{page.stem.replace('-', '_').lower()}.py")
        files[-1].write_text("\n".join(block.text for block in blocks), encoding="utf-8")
    # With the settings that the package itself is checked with (they are strict), what `make types`
    # has cached is used again.
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--explicit-package-bases", *files],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    # Libraries without types of their own are not ours.
    told = [line for line in found.stdout.splitlines() if "import-untyped" not in line]
    told = [line for line in told if "error:" in line]
    assert len(told) == 1, found.stdout + found.stderr
    assert "wrong.py:4: error: Incompatible types" in told[0]
