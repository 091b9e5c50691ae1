"""``tunesmith tune --tuner plane`` and ``tunesmith surface --plane``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tunesmith as ts
from tests.helpers.cli.commands import Run

Refused = Callable[..., str]


@pytest.fixture
def data(lists: Path, refs: Path) -> list[object]:
    return ["--candidates", lists, "--references", refs]


@pytest.fixture
def maps(data: list[object], weights: Path) -> list[object]:
    return ["surface", *data, "--weights", weights]


@pytest.fixture
def real(bundled: Path) -> list[object]:
    return ["--candidates", bundled / "tune.nbest.gz", "--references", bundled / "tune.ref"]


def test_tune(cli: Run, data: list[object]) -> None:
    found = cli("tune", *data, "--tuner", "plane", "--json").json()
    assert found["score"] == 100.0
    certificate = found["certificate"]
    assert {*certificate} == {"best", "bound", "gap", "optimal", "tested", "total", "seconds"}
    assert (certificate["best"], certificate["gap"], certificate["optimal"]) == (100.0, 0.0, True)


@pytest.mark.long
def test_tune_two_of_many(cli: Run, real: list[object], bundled: Path) -> None:
    options = ["tune", *real, "--tuner", "plane", "--start", bundled / "weights.initial", "--json"]
    found = cli(*options, "--features", "LM0,WordPenalty0").json()
    assert found["certificate"]["within"] == "the plane of LM0 and WordPenalty0"
    repeated = cli(*options, "--features", "LM0", "--features", "WordPenalty0").json()
    assert repeated["weights"] == found["weights"]
    # The map marks the same optimum.
    start = ["--weights", bundled / "weights.initial"]
    shown = cli("surface", *real, *start, "--plane", "LM0,WordPenalty0", "--json").json()
    assert shown["proven"] is True
    assert shown["best"]["score"] == found["score"] > shown["best_row"]["score"]
    # Tuned weights have the scale of the start, and the map leaves all others as they are.
    begin = ts.read_weights(bundled / "weights.initial").weights
    scale = found["weights"]["TranslationModel0_1"] / begin["TranslationModel0_1"]
    assert scale * shown["best"]["x"] == pytest.approx(found["weights"]["LM0"])
    assert scale * shown["best"]["y"] == pytest.approx(found["weights"]["WordPenalty0"])
    assert shown["current"]["score"] == found["initial_score"]


def test_tune_refuses(refused: Refused, real: list[object]) -> None:
    plane = ["tune", *real, "--tuner", "plane"]
    assert "--features A,B, --keep three, or use --tuner mert" in refused(*plane)
    assert "unknown feature 'LM1'" in refused(*plane, "--features", "LM1,WordPenalty0")
    assert "give two different ones" in refused(*plane, "--features", "LM0")
    assert "time-limit is 0" in refused(*plane, "--keep", "LM0", "--time-limit", "0")


@pytest.mark.long
def test_map_as_text_and_file(cli: Run, maps: list[object], tmp_path: Path) -> None:
    out = tmp_path / "map.json"
    options = [*maps, "--plane", "f,g", "--range", "-2:2,-1:3"]
    found = cli(*options, "--out", out)
    assert (found.code, found.err) == (0, "")
    first, second = found.lines()
    assert first == "bleu over the weights of f and g: -2 to 2, -1 to 3"
    assert second.startswith("bleu: now 100.0000 at (-1.00")
    held = json.loads(out.read_text(encoding="utf-8"))
    assert held == cli(*options, "--json").json()
    assert held["range"] == [[-2.0, 2.0], [-1.0, 3.0]]
    both = cli(*maps, "--plane", "g, f", "--range=-2:2", "--json").json()
    assert (both["features"], both["range"]) == (["g", "f"], [[-2.0, 2.0], [-2.0, 2.0]])


@pytest.mark.long
@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_map_pictures(cli: Run, maps: list[object], tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"map.{ending}"
    assert cli(*maps, "--plane", "f,g", "--metric", "wer", "--out", out).code == 0
    assert out.stat().st_size > 5000


def test_map_refuses(refused: Refused, maps: list[object], tmp_path: Path) -> None:
    missing = [tmp_path / "missing" if a == maps[2] else a for a in maps]  # before any work
    assert "one of --feature, --direction, --to, --exponent and --plane" in refused(
        *missing, "--plane", "f,g", "--feature", "f"
    )
    assert "one metric" in refused(*missing, "--plane", "f,g", "--metric", "wer", "--metric", "ter")
    assert "the time limit is 0" in refused(*missing, "--plane", "f,g", "--time-limit", "0")
    for text in ("1", "2:1", "0:1,2", "0:1,0:1,0:1", "0:1,", "nan:1"):
        assert refused(*missing, "--plane", "f,g", "--range", text).startswith("the range is '")
    assert "two axes" in refused(*maps, "--plane", "f")
    assert "two axes" in refused(*maps, "--plane", "f,f")
    assert "unknown feature 'h'" in refused(*maps, "--plane", "f,h")
