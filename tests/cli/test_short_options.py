"""Options of one letter, completion by the shell, and errors about packages that are missing."""

from __future__ import annotations

import builtins
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import Run
from tunesmith.cli import main
from tunesmith.errors import TunesmithError
from tunesmith.io.weights.yaml import YamlWeights


def test_letters_mean_what_the_words_do(
    cli: Run, lists: Path, refs: Path, weights: Path, tmp_path: Path
) -> None:
    long = ("--candidates", lists, "--references", refs, "--weights", weights, "--metric", "wer")
    short = ("-c", lists, "-r", refs, "-w", weights, "-m", "wer", "-f", "moses", "-q")
    assert cli("evaluate", *short).out == cli("evaluate", *long).out
    out = tmp_path / "w.json"
    found = cli("tune", "-c", lists, "-r", refs, "-t", "mert", "-s", weights, "-o", out, "-q")
    assert found.code == 0, found.err
    assert out.exists()
    assert cli("-q", "rerank", "-c", lists, "-w", out).lines() == ["a b c d e", "k l m n"]
    # Options of the tuner are there, however it is named.
    for tuner in (("-t", "mert"), ("-tmert",), ("--tuner=mert",)):
        given = ("tune", "-c", lists, "-r", refs, *tuner, "--restarts", "0", "-q", "--json")
        assert cli(*given).json()["tuner"] == "mert"
    assert cli("rerank", "-h").out == cli("rerank", "--help").out


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("tunesmith tune --cand", "--candidates"),
        ("tunesmith rer", "rerank"),
        ("tunesmith tune --tuner mert --resta", "--restarts"),
        ("tunesmith convert --st", "--statistics"),
    ],
)
def test_shells_complete(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str, wanted: str
) -> None:
    monkeypatch.setenv("_TUNESMITH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert wanted in capsys.readouterr().out.split()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name == "yaml":
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TunesmithError, match=r"needs pyyaml; pip install 'tunesmith\[formats\]'"):
        YamlWeights().read(b"a: 1\n", "w.yaml")


def test_a_terminal_is_told_what_next(
    lists: Path,
    refs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "my weights.json"
    given = ["tune", "-c", str(lists), "-r", str(refs), "-t", "plane", "-o", str(out), "-q"]
    given += ["--test-candidates", str(lists), "--test-references", str(refs)]
    assert main(given) == 0
    assert "next:" not in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(given) == 0
    told = capsys.readouterr().out.splitlines()[-2:]
    assert told[0] == f"written: {out} (the whole result)"
    command = shlex.split(told[1].removeprefix("next:"))
    assert command[0] == "tunesmith"
    best = tmp_path / "best.txt"
    assert main([*command[1:-1], str(best)]) == 0
    assert len(best.read_text().splitlines()) == 2


def test_the_next_command_reads_as_this_one_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(q, f"t {k}", k * q, (k - q) % 3, k == q) for q in range(3) for k in range(3)]
    text = "prompt,answer,a b,c,metrics.ok\n"
    text += "".join(f"{q},{t},{'' if a == 4 else a},{c},{int(ok)}\n" for q, t, a, c, ok in rows)
    Path("t.csv").write_text(text)
    Path("lm").write_text("".join(f"{k}\n" for k in range(9)))
    given = "tune -c t.csv --id-column prompt --text-column answer -m column:ok -t mert -o w.json"
    given += " --restarts 0 --missing mean --features a* --scores lm=lm --format csv -q"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(given.split()) == 0
    command = shlex.split(capsys.readouterr().out.splitlines()[-1].removeprefix("next:"))
    Path("NEW.candidates").write_text(text)
    Path("NEW.lm").write_text(Path("lm").read_text())
    assert main([*command[1:], "--strict"]) == 0
    assert len(Path("best.txt").read_text().splitlines()) == 3
