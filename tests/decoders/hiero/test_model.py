"""The folder of a model: written whole or not at all, refused when it is damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tunesmith.decoders.hiero.model import HieroModel, check_target, writing_model
from tunesmith.decoders.hiero.training.train import Recipe, train
from tunesmith.errors import TunesmithError


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    for name, content in (("s", "a b\n"), ("t", "x y\n"), ("l", "0-0 1-1\n")):
        (folder / name).write_text(content)
    with pytest.warns(UserWarning, match="too small"):
        train(folder / "s", folder / "t", folder / "m", Recipe(order=2), alignment=folder / "l")
    return folder / "m"


@pytest.fixture
def model(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


def test_loading(model: Path) -> None:
    found = HieroModel.load(model)
    assert len(found.grammar) == 7  # a, b, "a b", a X, X b, and two of glue
    assert found.settings.span_limit == 15
    assert found.start["LanguageModel"] > 0


@pytest.mark.parametrize("part", ["grammar", "lm", "weights.json", "model.json"])
def test_what_is_missing(part: str, model: Path) -> None:
    path = model / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(TunesmithError) as error:
        HieroModel.load(model)
    assert str(error.value).startswith(str(model))
    assert "; " in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "it is no JSON"),
        ("[]", "its schema is not tunesmith.hiero/1"),
        ('{"schema": "tunesmith.hiero/2"}', "its schema is not tunesmith.hiero/1"),
        ('{"schema": "tunesmith.hiero/1"}', "it does not say how the model is searched"),
    ],
)
def test_a_damaged_description(content: str, problem: str, model: Path) -> None:
    (model / "model.json").write_text(content)
    with pytest.raises(TunesmithError, match=f"model.json: {problem}; train the model again"):
        HieroModel.load(model)


def test_settings_that_cannot_be(model: Path) -> None:
    about = json.loads((model / "model.json").read_text())
    about["settings"]["span_limit"] = "15"
    (model / "model.json").write_text(json.dumps(about))
    with pytest.raises(TunesmithError, match="how the model is searched; train the model again"):
        HieroModel.load(model)


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(TunesmithError, match="there is no such folder; name a folder that"):
        HieroModel.load(tmp_path / "none")
    with pytest.raises(TunesmithError, match="there is no model in it; name a folder that"):
        HieroModel.load(tmp_path)


def test_a_model_is_replaced_at_the_end(model: Path) -> None:
    before = (model / "model.json").read_text()
    with writing_model(model) as folder:
        (folder / "model.json").write_text("new")
        assert (model / "model.json").read_text() == before
    assert [p.name for p in model.iterdir()] == ["model.json"]
    assert (model / "model.json").read_text() == "new"
    assert [p.name for p in model.parent.iterdir()] == ["model"]


def test_an_error_leaves_the_old_model(model: Path) -> None:
    def fail() -> None:
        with writing_model(model) as folder:
            (folder / "model.json").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [p.name for p in model.parent.iterdir()] == ["model"]
    assert len(HieroModel.load(model).grammar) == 7


def test_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    check_target(tmp_path / "folder")  # empty
    (tmp_path / "folder" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("")
    for path in ("folder", "file"):
        with pytest.raises(TunesmithError, match="something else is there; name another folder"):
            check_target(tmp_path / path)
    for path in ("", "-"):
        with pytest.raises(TunesmithError, match="is no folder; name one"):
            check_target(path)
    with pytest.raises(TunesmithError, match="no permission to write there"):
        check_target(tmp_path / "file" / "below")
