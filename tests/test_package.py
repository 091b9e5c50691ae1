"""The wheel: built, installed in a clean environment, and its demo run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
ROOT = Path(__file__).parent.parent


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT, cwd=out)
    return next(out.glob("*.whl"))


def test_data_and_licences_are_inside(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("tune.nbest.gz", "test.ref", "ATTRIBUTION.md", "LICENCES.txt.gz"):
        assert f"tunesmith/bundled/{name}" in names
    assert "tunesmith/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_an_index_would_take_it(wheel):
    pytest.importorskip("twine", reason="twine is not installed")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, cwd=wheel.parent)


def test_the_demo_runs_in_a_clean_environment(wheel, tmp_path):
    venv.create(tmp_path / "clean", with_pip=True)
    binaries = tmp_path / "clean" / "bin"
    run(binaries / "python", "-m", "pip", "install", "--quiet", f"{wheel}[plot]", cwd=tmp_path)
    printed = run(binaries / "tunesmith", "demo", "--out", "made", cwd=tmp_path)
    assert "made/surface.png" in printed
    assert (tmp_path / "made" / "surface.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads((tmp_path / "made" / "weights.json").read_text())
    assert result["score"] > result["initial_score"]
    _leaves_nothing_behind(binaries, tmp_path)


def _leaves_nothing_behind(binaries: Path, folder: Path) -> None:
    """Uninstall what was used: compiled kernels are elsewhere, and can be removed before."""
    cache = folder / "cache"
    python = binaries / "python"
    where = "import tunesmith; print(tunesmith.__file__)"
    package = Path(run(python, "-c", where, cwd=folder).strip()).parent
    files = "--hypotheses text --references text"
    (folder / "text").write_text("a b c d\n")
    command = (binaries / "tunesmith", "evaluate", *files.split())
    run(*command, cwd=folder, TUNESMITH_CACHE_DIR=str(cache))
    assert list(cache.rglob("*.kernel"))
    assert not [one for one in package.rglob("*") if one.suffix in {".nbi", ".nbc", ".kernel"}]
    run(binaries / "tunesmith", "doctor", "--clear", cwd=folder, TUNESMITH_CACHE_DIR=str(cache))
    assert not cache.exists()
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "tunesmith", cwd=folder)
    assert not package.exists()
    assert not [one.name for one in package.parent.iterdir() if "tunesmith" in one.name]
    spec = "import importlib.util as u; print(u.find_spec('tunesmith'))"
    assert run(python, "-c", spec, cwd=folder).strip() == "None"
