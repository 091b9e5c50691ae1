"""The run of pages itself: what is wrong on a page is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.docs.blocks import Block, blocks_of, commands_of
from tests.helpers.docs.comparing import first_missing
from tests.helpers.docs.running import Page
from tests.helpers.docs.settings import Settings

TABLE = """┏━━━━━━━┳━━━━━━━┳━━━━━━━━━┓
┃ round ┃  tune ┃ seconds ┃
┡━━━━━━━╇━━━━━━━╇━━━━━━━━━┩
│     0 │ 45.06 │     1.4 │
└───────┴───────┴─────────┘
mert: 12 line searches in 10.73 s, seed 1, 2 threads
"""


def run(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **settings) -> Page:
    monkeypatch.chdir(folder)
    page = Page("page.md", text, folder, Settings(**settings))
    page.run()
    return page


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ echo two words\none word\n```",
        "```console\n$ cat nothing.txt\n```",
        "```console\n$ tunesmith evaluate --no-such-option\n```",
        "```sh\necho a | false\n```",
        "```python\nprint(1 + 1)  # 3\n```",
        "```python\nx = 1\n```\n\n```python\nassert x == 2\n```",
        "```python\nprint(2)\n```\n\n<!-- printed -->\n```text\n3\n```",
        "<!-- file: a.txt -->\n```text\none\n```\n\n```console\n$ cat a.txt\ntwo\n```",
        "```console\n$ make no-such-target\n```",
        "```console\n$ printf 'one\\ntwo\\n'\none\n```",
        "```python\nprint(\n    1\n)  # 2\n```",
        "```python\nfor k in range(2):\n    print(k)\n```\n\n```text\n0\n1\n```",
    ],
)
def test_a_page_that_is_wrong_fails(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError):
        run(text, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "text",
    ['```json\n{"a": 1\n```', "```toml\n[a\n```", "```yaml\na: [\n```", "```python\n1 +\n```"],
)
def test_what_does_not_parse_fails(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Exception, match=r".+"):
        run(text, tmp_path, monkeypatch)


def test_a_page_that_is_right_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    page = run(
        "<!-- file: sub/a.json -->\n```json\n{}\n{}\n```\n"
        "```console\n$ cd sub\n$ cat a.json \\\n      | wc -l\n2\n$ tunesmith --version\n```\n"
        "```console\n$ for k in 1 2; do\n>   echo $k\n> done\n1\n...\n```\n"
        "```console\n$ tunesmith evaluate --candidates x --metric column:a\n"
        "tunesmith: error: ...\n```\n"
        "<!-- not run: it would fail -->\n```console\n$ false\n```\n"
        "```python\nx = 2\nprint(x)  # 2\nprint(f'{x} and more')  # 2 and ...\n```\n",
        tmp_path,
        monkeypatch,
    )
    assert page.ran == 5


def test_settings_that_a_page_does_not_use_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "```console\n$ echo 1000\n1000\n```"
    run(text, tmp_path, monkeypatch, shorter={"1000": "10"})  # and 10 is not compared
    with pytest.raises(AssertionError, match="not on the page"):
        run(text, tmp_path, monkeypatch, shorter={"2000": "10"})


def test_lines_are_compared_but_for_the_machines_numbers() -> None:
    shown = ["...", "│     0 │ 45.06 │     0.0 │", "...", "mert: 12 ... in 1 s, ..."]
    assert first_missing(shown, TABLE) is None
    assert first_missing(["...", "│     0 │ 45.07 │     1.4 │", "..."], TABLE) is not None
    assert first_missing(["...", "mert: 13 line searches in 10.73 s, ..."], TABLE) is not None
    assert first_missing(TABLE.splitlines(), TABLE) is None


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("", "a b"),  # nothing is shown, so nothing is compared
        ("a b", "a b"),
        ("...", "a b"),
        ("...", ""),
        ("a ...", "a b c"),
        ("... c", "a b c"),
        ("a ... c", "a b c"),
        ("a ... c", "a c"),
        ("... b ...", "a b c"),
        ("... a ... a", "a b a"),
        ("... a b ... b", "a a b b"),
    ],
)
def test_dots_stand_for_any_lines(shown: str, printed: str) -> None:
    assert first_missing(shown.split(), "\n\n".join(printed.split())) is None


@pytest.mark.parametrize(
    ("shown", "printed", "at"),
    [
        ("a", "", "a"),
        ("a", "a b", "b"),
        ("b", "a b", "b"),
        ("b a", "a b", "b"),
        ("a c", "a b c", "c"),
        ("a ... d", "a b c", "d"),
        ("a ... b", "a b c", "b"),
        ("... b", "a b c", "b"),
        ("b ...", "a b c", "b"),
        ("... a c ...", "a b c", "c"),
        ("... a ... a", "b a", "a"),
        ("a ... b ... c d", "a b c", "d"),
    ],
)
def test_without_dots_all_lines_are_shown(shown: str, printed: str, at: str) -> None:
    assert at in (first_missing(shown.split(), "\n".join(printed.split())) or "")


def test_blocks_and_commands_are_found() -> None:
    text = "A\n\n  <!-- not run: no\n  reason -->\n"
    text += "  ```console\n  $ a \\\n      b\n  out\n  $ c\n  ```\n"
    text += "```{image} x.png\n```\n\n````text\n```python\nno\n```\n````\n"
    first, second = blocks_of(text)
    assert (first.said, first.value, first.line) == ("not run", "no\n  reason", 6)
    assert [(c.text, c.shown, c.line) for c in commands_of(first)] == [
        ("a \\\n    b", ("out",), 6),
        ("c", (), 9),
    ]
    assert (second.kind, second.said) == ("text", "")
    plain = Block("sh", "a --b \\\n  c\n\nd\n", 1)
    assert [command.text for command in commands_of(plain)] == ["a --b \\\n  c", "d"]
    with pytest.raises(ValueError, match="line 2"):
        blocks_of("\n```text\nno end\n")
