"""The folder of a model: written whole or not at all, refused when it is damaged."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from tunesmith.errors import TunesmithError
from tunesmith.hiero.grammar.grammar import Grammar
from tunesmith.hiero.model import HieroModel, SearchSettings, check_target, writing_model
from tunesmith.hiero.training.train import Recipe, train


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


def test_the_second_rename_fails(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if target == model and self.name.startswith(".tunesmith-"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with (
        pytest.raises(TunesmithError, match=f"^{model}: input/output error; name"),
        writing_model(model) as folder,
    ):
        (folder / "model.json").write_text("new")
    assert [p.name for p in model.parent.iterdir()] == ["model"]
    assert len(HieroModel.load(model).grammar) == 7


def test_the_old_model_can_be_found_in_between(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename
    beside: list[str] = []

    def looking(self: Path, target: Path) -> Path:
        if target == model:
            beside.extend(p.name for p in model.parent.iterdir() if not p.name.startswith("."))
            old = model.parent / beside[0] / "model"
            assert len(HieroModel.load(old).grammar) == 7
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", looking)
    with writing_model(model) as folder:
        (folder / "model.json").write_text("new")
    assert len(beside) == 1
    assert beside[0].startswith("model.old-")


def test_files_that_come_while_it_is_made(model: Path) -> None:
    with pytest.raises(TunesmithError, match="notes in it is no part"), writing_model(model):
        (model / "notes").write_text("mine")
    assert (model / "notes").read_text() == "mine"
    assert len(HieroModel.load(model).grammar) == 7
    assert [p.name for p in model.parent.iterdir()] == ["model"]


def test_a_link_stays_a_link(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(model)
    with writing_model(link) as folder:
        (folder / "model.json").write_text("new")
    assert link.is_symlink()
    assert (model / "model.json").read_text() == "new"


@pytest.mark.parametrize("name", ["notes.txt", ".git", "grammar/mine.txt", "tune.arrow"])
def test_a_model_with_other_files_is_not_replaced(name: str, model: Path) -> None:
    check_target(model)
    (model / name).write_text("mine")
    with pytest.raises(TunesmithError, match=f"^{model}: {name} in it is no part of a model"):
        check_target(model)


@pytest.mark.parametrize("content", ["{}", "[1]", "{", '{"schema": "other.model/1"}', "\udcff"])
def test_a_model_of_others_is_not_replaced(content: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "model.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(TunesmithError, match="something else is there; name another folder"):
        check_target(folder)


def test_a_model_of_another_version_is_replaced(model: Path) -> None:
    (model / "model.json").write_text('{"schema": "tunesmith.hiero/0"}')
    check_target(model)


def test_files_that_are_read_are_not_replaced(model: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(model / "lm.arpa.gz")
    for file in (model / "lm.arpa.gz", model / "lm", model, tmp_path / "link"):
        with pytest.raises(TunesmithError, match=f"^{file}: it is in .*, which would be replaced"):
            check_target(model, [tmp_path / "other", file])
    check_target(model, ["-", tmp_path / "other", f"{model}.txt"])


def test_a_mounted_disk() -> None:
    with pytest.raises(TunesmithError, match="a disk is mounted there; name a folder below"):
        check_target("/")


def test_a_temporary_name_is_not_shown(tmp_path: Path) -> None:
    def fail(error: type[Exception], said: str) -> None:
        with writing_model(tmp_path / "m") as folder:
            raise error(said.format(folder))

    with pytest.raises(TunesmithError) as found:
        fail(TunesmithError, "{}/grammar: no space left on device; name another")
    assert str(found.value) == f"{tmp_path}/m/grammar: no space left on device; name another"
    with pytest.raises(TunesmithError) as found:  # as of numpy
        fail(OSError, "800 requested and 16 written")
    assert str(found.value).startswith(f"{tmp_path}/m: 800 requested and 16 written; ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk(tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What numpy says of it has no cause."""
    grammar = Grammar.load(whole / "grammar")

    def fail() -> None:
        with writing_model(tmp_path / "m") as folder:
            monkeypatch.setattr("tempfile.mkdtemp", lambda **_: _full(folder / "new"))
            grammar.save(folder / "grammar")

    def _full(folder: Path) -> str:
        folder.mkdir()
        (folder / "targets.npy").symlink_to("/dev/full")
        return str(folder)

    with pytest.raises(TunesmithError) as found:
        fail()
    said = f"{tmp_path}/m/grammar: no space left on device; name a folder that can be written"
    assert str(found.value) == said


def test_a_digest_is_of_what_matters(whole: Path, tmp_path: Path) -> None:
    folder = whole.parent
    for name in ("s", "t", "l"):
        shutil.copy(folder / name, tmp_path / f"{name}2")

    def digest(name: str, span: int = 15, **options: object) -> str:
        recipe = Recipe(order=2, settings=SearchSettings(span_limit=span))
        with pytest.warns(UserWarning, match="too small"):
            train(
                tmp_path / "s2",
                tmp_path / "t2",
                tmp_path / name,
                recipe,
                alignment=tmp_path / "l2",
                **options,  # type: ignore[arg-type]
            )
        return HieroModel.load(tmp_path / name).digest

    own = HieroModel.load(whole).digest
    assert len(own) == 64
    assert digest("again") == own
    assert digest("again", as_text=True) == own
    assert digest("wide", span=20) != own
    (tmp_path / "more").write_text("x z\n")
    assert digest("lm", lm_texts=[tmp_path / "more"]) != own
    (tmp_path / "l2").write_text("0-1 1-0\n")
    assert digest("rules") != own


@pytest.mark.parametrize("name", ["grammar/targets.npy", "lm/entries.npy", "words/source.npy"])
def test_exchanged_arrays(name: str, model: Path) -> None:
    held = np.load(model / name)
    np.save(model / name, np.concatenate([held, held]))
    with pytest.raises(TunesmithError, match=f"^{model / name}: it has .* train the model again$"):
        HieroModel.load(model)


def test_a_damaged_rule(model: Path) -> None:
    path = model / "grammar" / "links.npy"
    held = np.load(path)
    held[0] = 9
    np.save(path, held)
    with pytest.raises(TunesmithError) as found:
        HieroModel.load(model)
    folder = model / "grammar"
    problem = "an alignment point is beyond the rule's symbols"
    assert str(found.value) == f"{folder}: {problem}; train the model again"
    with pytest.raises(TunesmithError, match=f"{problem}; make the folder again"):
        Grammar.load(folder)


@pytest.mark.long
def test_frequent_words(tmp_path: Path) -> None:
    """They are those of the text, also where rules are left out."""
    for name, content in (
        ("s", "b a b c\nc d\n"),
        ("t", "y x y z\nz w\n"),
        ("l", "0-0 1-1 2-2 3-3\n0-0 1-1\n"),
        ("f", "d\n"),
    ):
        (tmp_path / name).write_text(content)
    with pytest.warns(UserWarning, match="too small"):
        train(
            tmp_path / "s",
            tmp_path / "t",
            tmp_path / "m",
            Recipe(order=2),
            alignment=tmp_path / "l",
            filters=[tmp_path / "f"],
        )
    model = HieroModel.load(tmp_path / "m")
    assert model.frequent(2) == (("b", "c"), ("y", "z"))
    assert model.frequent(9) == (("b", "c", "a", "d"), ("y", "z", "w", "x"))
    shutil.rmtree(tmp_path / "m" / "words")
    assert HieroModel.load(tmp_path / "m").frequent(9) == (("d",), ("w",))


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
