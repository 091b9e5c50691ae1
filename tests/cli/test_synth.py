"""``tunesmith synth``: the files it writes, and what other commands make of them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tunesmith as ts
from tests.helpers.cli.commands import Run, files_below
from tunesmith._version import __version__
from tunesmith.io.tables import arrow

Refused = Callable[..., str]
SMALL = ("--sentences", 30, "--candidates", 8, "--features", 5, "--seed", 3)


def test_what_is_written(cli: Run, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    found = cli("synth", *SMALL, "--noise", 200, "--out", out)
    assert (found.code, found.err) == (0, "")
    assert sorted(p.name for p in out.iterdir()) == ["candidates.arrow", "gold.json"]
    assert str(out / "candidates.arrow") in found.out
    assert str(out / "gold.json") in found.out
    expected, gold = ts.synthetic(30, 8, 5, 200.0, 3)
    candidates = ts.read(out / "candidates.arrow")
    assert candidates.ids == tuple(range(30))
    assert candidates.start.tolist() == list(range(0, 241, 8))
    assert candidates.features.names == ("h1", "h2", "h3", "h4", "h5")
    assert candidates.features.dense.tolist() == expected.features.dense.tolist()
    assert candidates.columns["score"].tolist() == expected.columns["score"].tolist()
    assert ts.read_weights(out / "gold.json").weights == gold


def test_json(cli: Run, tmp_path: Path) -> None:
    found = cli("synth", *SMALL, "--noise", 0.25, "--out", tmp_path / "d", "--json").json()
    files = found.pop("files")
    assert files == {
        "candidates": str(tmp_path / "d" / "candidates.arrow"),
        "gold": str(tmp_path / "d" / "gold.json"),
    }
    assert found == json.loads((tmp_path / "d" / "gold.json").read_text())
    assert {k: v for k, v in found.items() if k not in {"score", "weights"}} == {
        "schema": "tunesmith.synth/1",
        "signature": "synth|sentences:30|candidates:8|features:5|noise:0.25|seed:3"
        f"|version:tunesmith-{__version__}",
        "sentences": 30,
        "candidates": 8,
        "features": 5,
        "noise": 0.25,
        "seed": 3,
    }


@pytest.mark.parametrize("noise", [0, 300])
def test_the_gold_weights_reach_what_is_said(cli: Run, tmp_path: Path, noise: int) -> None:
    said = cli("synth", *SMALL, "--noise", noise, "--out", tmp_path, "--json").json()
    files = ["--candidates", tmp_path / "candidates.arrow", "--weights", tmp_path / "gold.json"]
    found = cli("evaluate", *files, "--metric", "column:score", "--json").json()
    assert found["score"] == said["score"]
    assert found["oracle_score"] == 1.0
    assert found["anti_oracle_score"] == 0.0
    if noise == 0:
        assert said["score"] == 1.0
    else:
        assert 0.4 < said["score"] < 0.9


def test_tuning_for_the_score_finds_the_gold_weights(cli: Run, tmp_path: Path) -> None:
    cli("synth", "--sentences", 200, "--candidates", 30, "--features", 4, "--out", tmp_path)
    tune = ["tune", "--candidates", tmp_path / "candidates.arrow", "--metric", "column:score"]
    tune += ["--tuner", "mert"]
    found = cli(*tune, "--json").json()
    assert found["score"] > 0.999
    gold = json.loads((tmp_path / "gold.json").read_text())["weights"]
    a, b = (np.array([w[name] for name in gold]) for w in (found["weights"], gold))
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.99
    started = cli(*tune, "--start", tmp_path / "gold.json", "--restarts", 0, "--json").json()
    assert started["initial_score"] == 1.0


def test_same_seed_same_bytes_for_any_number_of_threads(cli: Run, tmp_path: Path) -> None:
    def made(folder: str, seed: int, threads: int) -> dict[str, bytes | None]:
        options = ["--noise", 50, "--seed", seed, "--threads", threads]
        assert cli("synth", *SMALL, *options, "--out", tmp_path / folder).code == 0
        return files_below(tmp_path / folder)

    first = made("a", 4, 1)
    assert made("b", 4, 2) == first
    other = made("c", 5, 1)
    assert all(other[name] != first[name] for name in first)


def test_files_are_replaced(cli: Run, tmp_path: Path) -> None:
    cli("synth", *SMALL, "--out", tmp_path)
    before = files_below(tmp_path)
    (tmp_path / "other").write_text("stays")
    assert cli("synth", *SMALL, "--seed", 9, "--out", tmp_path).code == 0
    after = files_below(tmp_path)
    assert after.pop("other") == b"stays"
    assert set(after) == set(before)
    assert all(after[name] != before[name] for name in after)


def test_nothing_is_replaced_when_writing_fails(
    cli: Run, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("synth", *SMALL, "--out", tmp_path)

    def full(*_: object, **__: object) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(arrow, "_cells", full)
    said = refused("synth", *SMALL, "--seed", 9, "--out", tmp_path)
    assert "no space left" in said


# Bad input

BAD = [
    (["--sentences", 0], "sentences is 0"),
    (["--candidates", -5], "candidates is -5"),
    (["--features", 0], "features is 0"),
    (["--features", "many"], "--features"),
    (["--noise", -1], "noise is -1"),
    (["--noise", "nan"], "noise is nan"),
    (["--noise", "inf"], "noise is inf"),
    (["--noise", "1e200"], "noise is 1e+200"),
    (["--noise", "loud"], "--noise"),
    (["--seed", -1], "seed is -1"),
    (["--sentences", 10**12, "--candidates", 10**12], "GB are free"),
    (["--features", 10**9], "GB are free"),
    (["--threads", 0], "threads is 0"),
]


@pytest.mark.parametrize(("arguments", "mention"), BAD, ids=str)
def test_bad_values(refused: Refused, tmp_path: Path, arguments: list[Any], mention: str) -> None:
    assert mention in refused("synth", "--out", tmp_path / "out", *arguments)


def test_there_must_be_a_folder(refused: Refused) -> None:
    assert "--out" in refused("synth", *SMALL)
    assert "name a folder" in refused("synth", *SMALL, "--out", "-")
    assert "name a folder" in refused("synth", *SMALL, "--out", "")


def test_the_folder_is_a_file(refused: Refused, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("as it was")
    refused("synth", *SMALL, "--out", file, file=file)
    refused("synth", *SMALL, "--out", file / "below", file=file / "below")


@pytest.mark.parametrize("name", ["candidates.arrow", "gold.json"])
def test_a_folder_where_a_file_should_be(refused: Refused, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    refused("synth", *SMALL, "--out", tmp_path, file=tmp_path / name)


def test_a_folder_without_permission(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root has every permission, the system's answers are put in its mouth."""
    folder = tmp_path / "locked"
    folder.mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "permission" in refused("synth", *SMALL, "--out", folder)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", denied)
    below = folder / "below"
    assert "permission denied" in refused("synth", *SMALL, "--out", below, file=below)


def test_a_disk_without_room(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert "are free" in refused("synth", *SMALL, "--out", tmp_path / "out")


def test_without_pyarrow(refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = refused("synth", *SMALL, "--out", tmp_path / "out")
    assert "pip install 'tunesmith[formats]'" in said
