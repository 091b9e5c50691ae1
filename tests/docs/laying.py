"""Files that pages speak of: the bundled lists under the names that the pages use."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from tests.docs.blocks import ROOT

BUNDLED = ROOT / "src" / "tunesmith" / "bundled"
CATALOGS = ROOT / "examples" / "catalogs"


def lay_lists(folder: Path, sentences: int | None) -> None:
    """Lay the bundled lists, or their first sentences; the test lists as dev lists too."""
    for path in BUNDLED.glob("*"):
        if path.suffix in {".gz", ".ref", ".src"} and sentences is not None:
            _lay_some(path, folder / path.name, sentences)
        else:
            shutil.copy(path, folder)
    for kind in ("nbest.gz", "ref", "src"):
        shutil.copy(folder / f"test.{kind}", folder / f"dev.{kind}")


def lay_checkout(folder: Path) -> None:
    """Lay the bundled lists and the examples as they lie in a checkout."""
    shutil.copytree(BUNDLED, folder / "src" / "tunesmith" / "bundled")
    shutil.copytree(ROOT / "docs" / "examples", folder / "docs" / "examples")
    shutil.copytree(ROOT / "examples" / "forests", folder / "examples" / "forests")


def lay_catalogs(folder: Path, pairs: int, sentences: int) -> None:
    """Lay the first lines of the example's parallel text."""
    folder.mkdir(parents=True, exist_ok=True)
    for side in ("de", "en"):
        with gzip.open(CATALOGS / f"train.{side}.gz") as whole:
            head = b"".join(line for line, _ in zip(whole, range(pairs), strict=False))
        (folder / f"train.{side}.gz").write_bytes(gzip.compress(head))
        for name in ("tune", "dev", "test"):
            _head(CATALOGS / f"{name}.{side}", folder / f"{name}.{side}", sentences)


def _lay_some(path: Path, to: Path, sentences: int) -> None:
    if path.suffix != ".gz":
        _head(path, to, sentences)
    elif path.name.endswith(".nbest.gz"):
        with gzip.open(path) as lines:
            some = b"".join(line for line in lines if int(line.split(b" ", 1)[0]) < sentences)
        to.write_bytes(gzip.compress(some, compresslevel=1))


def _head(path: Path, to: Path, count: int) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    to.write_text("".join(lines[:count]), encoding="utf-8")
