"""Every code block of the documentation runs, in its order, and prints what the page shows."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

from tests.helpers.docs.blocks import CODE, COMMANDS, PROSE, ROOT, blocks_of, commands_of, pages
from tests.helpers.docs.laying import lay_lists
from tests.helpers.docs.running import Page
from tests.helpers.docs.settings import module_name, settings_of
from tunesmith.cli import main
from tunesmith.decoders.base import DECODERS
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.weights.base import WEIGHTS_FORMATS
from tunesmith.metrics.base import METRICS
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.pro.selection import SELECTIONS

#: Options whose values bring options of their own.
CHOOSING = {"--tuner", "--decoder"}
PAGES = [str(page) for page in pages()]
#: Pages whose blocks take seconds.
LONG = {
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            *(
                "choosing",
                "classifiers",
                "commands",
                "compare",
                "files",
                "gallery",
                "hiero",
                "loop",
                "mert",
            ),
            *("migrating", "plane", "plugins", "python", "quickstart", "rankings", "recipes"),
            *("report", "tracking", "online", "penalties", "pro", "restrictions", "results/mert"),
            *("formats", "tables", "tune"),
            "tutorials/best-of-n",
            "tutorials/fifteen-runs",
            *("tutorials/moses-list", "tutorials/neural-nbest", "tutorials/speech"),
            *("forests", "learning", "lp-mert", "moses", "sklearn", "thot"),
        )
    ),
}
REGISTRIES = (DECODERS, FORMATS, METRICS, SELECTIONS, TUNERS, WEIGHTS_FORMATS)

compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="too slow interpreted")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Forget what pages register and import from their folders."""
    held = {}
    for registry in REGISTRIES:
        registry.names()
        held[registry] = dict(registry._classes)
    modules, paths = set(sys.modules), list(sys.path)
    yield
    for registry, classes in held.items():
        registry._classes.clear()
        registry._classes.update(classes)
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        place = getattr(sys.modules[name], "__file__", None) or ""
        if name.startswith("tunesmith_file_") or "pytest-" in place:
            del sys.modules[name]


@compiled
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.long) if page in LONG else page
        for page in PAGES
        if any(b.is_code for b in blocks_of(text_of(page)))
    ],
)
def test_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(Path(page))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")  # where the page is, wherever it goes
    monkeypatch.setenv("COLUMNS", "200")
    folders = tmp_path / "bin", Path(sys.executable).parent, os.environ["PATH"]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))
    lay_lists(tmp_path, settings.sentences)
    settings.lay(tmp_path)
    Page(page, text_of(page), tmp_path, settings).run()
    settings.after(tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_left_out_in_silence(page: str) -> None:
    for block in blocks_of(text_of(page)):
        where = f"{page}:{block.line}"
        assert block.kind in CODE | PROSE, f"{where}: say what kind of block it is"
        if block.said == "not run":
            assert len(block.value.split()) >= 2, f"{where}: say why it is not run"
        elif block.kind in PROSE and not block.said:
            commands = [
                line for line in block.text.splitlines() if line.startswith(("$ ", "tunesmith "))
            ]
            assert not commands, f"{where}: commands are a console block, or say why it is not run"
        if block.said == "file":
            assert block.value, f"{where}: name the file"


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_run_names_what_is_there(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks_of(text_of(page)):
        if block.said != "not run":
            continue
        for path in re.findall(r"\b(?:benchmarks|examples|experiments)/[\w/]+\.py\b", block.text):
            assert (ROOT / path).exists(), f"{page}:{block.line}: {path}"
        for command in commands_of(block) if block.kind in COMMANDS else []:
            words = command.text.replace("\\\n", " ").partition(" #")[0].split()
            if words[0] != "tunesmith":
                continue
            asked = [word for word in words if {word, words[words.index(word) - 1]} & CHOOSING]
            if "--decoder-command" in words:
                asked += ["--decoder", "command"]
            asked = [word.replace("NAME", "pool") for word in asked]
            assert main([words[1], *asked, "--help"]) == 0
            known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
            used = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert used <= known, f"{page}:{command.line}: {used - known}"


def test_settings_belong_to_pages() -> None:
    assert set(PAGES) >= LONG
    named = {path.stem for path in (Path(__file__).parent / "fixtures").glob("[a-z]*.py")}
    assert named <= {module_name(page) for page in pages()}
