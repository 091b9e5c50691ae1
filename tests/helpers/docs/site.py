"""The site as ``make docs`` builds it."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.helpers.docs.blocks import ROOT
from tests.helpers.waiting import PATIENCE

BUILD = ROOT / "docs" / "_build"
#: Pages that Sphinx makes of no source.
SPECIAL = {"genindex", "py-modindex", "search"}


@cache
def built_site() -> Path:
    """Bring the site up to date, one process at a time, and return its folder."""
    BUILD.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    with (BUILD / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [*command, str(ROOT / "docs"), str(BUILD / "html")],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return BUILD / "html"


def site_pages() -> list[Path]:
    """Return the pages of the site; what an earlier version left behind is none of them."""
    site = built_site()
    return [page for page in site.rglob("*.html") if _has_source(page.relative_to(site))]


def _has_source(page: Path) -> bool:
    source = ROOT / "docs" / page
    return page.stem in SPECIAL or any(source.with_suffix(s).exists() for s in (".md", ".rst"))
