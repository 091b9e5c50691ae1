"""``tunesmith list``, ``doctor`` and ``demo``, and the help of every command."""

from __future__ import annotations

import json
import os
from importlib import metadata
from pathlib import Path

import pytest

import tunesmith
from tests.helpers.cli.commands import Run, bleu, python
from tunesmith.metrics.base import METRICS
from tunesmith.tuners.base import TUNERS

COMMANDS = ("tune", "rerank", "evaluate", "surface", "convert", "synth", "list", "doctor", "demo")
KINDS = {
    "tuners": {"mert"},
    "metrics": {
        *("bleu", "sentence-bleu", "ter", "chrf", "chrf++", "wer", "cer"),
        *("column", "cost", "sum(METRIC,...)", "harmonic(METRIC,...)", "min(METRIC,...)"),
    },
    "formats": {
        *("moses", "jsonl", "cdec", "joshua", "travatar", "marian", "fairseq", "kaldi", "nemo"),
        *("parallel", "moses-data", "csv", "tsv", "parquet", "arrow"),
    },
    "forest-formats": {
        *("arrow", "cdec-forest", "cdec-json", "moses-hypergraph", "joshua-hypergraph"),
        *("htk", "kaldi-lattice", "plf"),
    },
    "weights-formats": {"json", "moses", "moses-ini", "cdec", "travatar", "yaml"},
    "directions": {"coordinate", "powell", "random"},
}


# Help


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help(cli: Run, arguments: list[str]) -> None:
    found = cli(*arguments)
    assert (found.code, found.err) == (0, "")
    assert all(f"  {command} " in found.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(cli: Run, command: str) -> None:
    found = cli(command, "--help")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith(f"Usage: tunesmith {command} ")
    for option in ("--threads", "--quiet", "--verbose", "--debug"):
        assert option in found.out
    wanted = {
        "tune": "--candidates --references --metric --tuner --start --dev-candidates "
        "--dev-references --seed --out --format --strict --json",
        "rerank": "--candidates --weights --nbest --out --format --strict",
        "evaluate": "--hypotheses --references --candidates --weights --metric --json",
        "surface": "--candidates --weights --metric --feature --direction --to --range --out",
        "convert": "--candidates --references --scores --column --statistics --weights --to --out",
        "synth": "--sentences --candidates --features --noise --seed --out --json",
        "list": "tuners metrics formats --json",
        "doctor": "--json",
        "demo": "--out --seed",
    }
    assert all(option in found.out for option in wanted[command].split())


def test_help_of_a_tuner(cli: Run) -> None:
    found = cli("tune", "--tuner", "mert", "--help")
    assert found.code == 0
    for option in ("--restarts", "--directions", "--walks"):
        assert option in found.out
    for name in KINDS["directions"]:
        assert name in found.out


def test_version(cli: Run) -> None:
    found = cli("--version")
    assert (found.code, found.err) == (0, "")
    assert found.out == f"tunesmith {tunesmith.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["tun"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from tunesmith.cli import main\n"
        f"main({arguments!r})\n"
        "print('\\n' + ' '.join(sorted(sys.modules)))\n"
    )
    found = python("-c", program)
    assert found.returncode == 0, found.stderr
    loaded = set(found.stdout.splitlines()[-1].split())
    assert "typer" in loaded
    heavy = {"numpy", "scipy", "numba", "llvmlite", "matplotlib", "sacrebleu", "rich.progress"}
    assert loaded & heavy == set()


def test_import_is_light() -> None:
    found = python("-c", "import sys, tunesmith; print(' '.join(sys.modules))")
    assert found.returncode == 0, found.stderr
    assert {"numpy", "numba", "scipy"} & set(found.stdout.split()) == set()


def test_program_has_help() -> None:
    found = python("-m", "tunesmith", "--help")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("Usage: tunesmith ")


# List


@pytest.mark.parametrize("kind", KINDS)
def test_list(cli: Run, kind: str) -> None:
    found = cli("list", kind)
    assert (found.code, found.err) == (0, "")
    names = {line.split(":")[0] for line in found.out.splitlines() if not line.startswith(" ")}
    assert names >= KINDS[kind]
    assert all(line.split(":", 1)[1].strip() for line in found.out.splitlines())


def test_list_of_everything(cli: Run) -> None:
    found = cli("list")
    assert (found.code, found.err) == (0, "")
    for kind, names in KINDS.items():
        assert kind in found.out
        assert all(f"\n{name}:" in found.out for name in names)


@pytest.mark.parametrize("kind", KINDS)
def test_list_as_json(cli: Run, kind: str) -> None:
    found = cli("list", kind, "--json").json()
    assert found["schema"] == "tunesmith.list/1"
    assert isinstance(found["signature"], str)
    entries = {entry["name"]: entry for entry in found["entries"]}
    assert set(entries) >= {name.partition("(")[0] for name in KINDS[kind]}
    assert all(entry["help"] for entry in entries.values())
    if kind == "tuners":
        options = {o["name"]: o for o in entries["mert"]["options"]}
        assert options["restarts"]["default"] is None
        assert options["window"]["default"] == 3
        assert options["directions"]["default"] == "coordinate"
    if kind == "metrics":
        options = {o["name"]: o for o in entries["bleu"]["options"]}
        assert options["order"]["default"] == 4
        assert set(options["reference-length"]["choices"]) == {"closest", "shortest", "average"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "option"),
    [("metrics", "--metric"), ("directions", "--directions"), ("tuners", "--tuner")],
)
def test_what_is_listed_can_be_used(
    cli: Run, lists: Path, refs: Path, kind: str, option: str
) -> None:
    for entry in cli("list", kind, "--json").json()["entries"]:
        arguments: list[object] = ["--candidates", lists, "--references", refs, "--json"]
        # The list has a feature g, which may serve as a column too.
        name = entry["usage"].replace("NAME", "g").replace("METRIC,...", "bleu,column:g")
        if kind != "tuners" or name == "mert":
            arguments += ["--restarts", "1"]
        elif TUNERS.get(name).needs_sum:
            arguments += ["--metric", "sentence-bleu"]
        found = cli("tune", *arguments, option, name).json()
        lower = kind == "metrics" and not METRICS.create(name).higher_is_better
        sign = -1 if lower else 1
        assert sign * found["score"] >= sign * found["initial_score"]


# Doctor


def test_doctor(cli: Run) -> None:
    found = cli("doctor")
    assert (found.code, found.err) == (0, "")
    assert tunesmith.__version__ in found.out
    assert "NOT" not in found.out


def test_doctor_as_json(cli: Run) -> None:
    found = cli("doctor", "--json", "--threads", 1).json()
    assert found["schema"] == "tunesmith.doctor/1"
    assert isinstance(found["signature"], str)
    assert found["version"] == tunesmith.__version__
    assert found["threads"] == 1
    assert found["kernels_work"] is True
    assert found["engines"].keys() == {"threads", "processes", "ray"}
    assert bool(found["engines"]["ray"]) == found["extras"]["ray"]


def test_doctor_without_a_cluster_s_engine(cli: Run, monkeypatch) -> None:
    def version(name: str) -> str:
        if name == "ray":
            raise metadata.PackageNotFoundError(name)
        return "1.2"

    monkeypatch.setattr("tunesmith.cli.doctor.command.metadata.version", version)
    assert cli("doctor", "--json").json()["engines"]["ray"] is False
    assert "threads, processes, ray (not installed)\n" in cli("doctor").out


def test_doctor_removes_compiled_kernels(
    cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUNESMITH_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "kernels" / "0.0.1-other-123"
    folder.mkdir(parents=True)
    (folder / "a-1.kernel").write_bytes(b"12345")
    assert cli("doctor", "--clear").out == f"{tmp_path}/cache: 1 compiled kernel removed (0.0 MB)\n"
    assert not (tmp_path / "cache").exists()
    found = cli("doctor", "--clear", "--json").json()
    assert (found["removed"], found["bytes"]) == (0, 0)
    refused = cli("doctor", "--clear", "--warm")
    assert refused.code == 2
    assert "exclude each other" in refused.err


@pytest.mark.long
def test_doctor_without_compilation() -> None:
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    found = python("-m", "tunesmith", "doctor", "--json", env=plain)
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["kernels_work"] is True


# Demo

DEMO_FILES = {
    *("weights.json", "surface.png", "NOTICES.txt"),
    *(f"{name}.{kind}" for name in ("tune", "dev", "test") for kind in ("jsonl.gz", "ref")),
}


def test_demo(cli: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "demo"
    found = cli("demo", "--out", folder)
    assert found.code == 0
    assert found.err.startswith("tunesmith: tuning")
    assert {path.name for path in folder.iterdir()} == DEMO_FILES
    picture = folder / "surface.png"
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert picture.stat().st_size > 5000
    for path in (picture, folder / "weights.json", folder / "test.jsonl.gz"):
        assert str(path) in found.out

    result = json.loads((folder / "weights.json").read_text(encoding="utf-8"))
    assert (result["schema"], result["tuner"]) == ("tunesmith.tune/1", "auto")
    references = (folder / "test.ref").read_text(encoding="utf-8").split("\n")[:-1]
    model = folder / "model.json"
    model.write_text('{"forward": 1}')
    scores = {}
    for key, weights in (("score", folder / "weights.json"), ("initial_score", model)):
        arguments = ["--candidates", folder / "test.jsonl.gz", "--weights", weights]
        scores[key] = bleu(cli("rerank", *arguments).lines(), [references]).score
        assert result["test"][key] == pytest.approx(scores[key], rel=0, abs=1e-9)
        assert f"{scores[key]:.2f}" in found.out
    assert scores["score"] > scores["initial_score"] + 5
    verdict = result["verdict"]
    assert (verdict["recommendation"], verdict["on"]) == ("use", "test")
    assert f"{verdict['gain']:+.2f} BLEU" in found.out
    for name in result["weights"]:
        assert name in found.out
    # The commands that it names work.
    for line in found.out.splitlines():
        if line.startswith("  tunesmith report"):
            command = [*line.split()[1:-1], tmp_path / "page.html"]
            assert cli(*command).code == 0
            assert (tmp_path / "page.html").stat().st_size > 100_000
            break
    else:
        pytest.fail("no command comes next")


@pytest.mark.long
def test_demo_again_replaces_its_files(cli: Run, tmp_path: Path) -> None:
    for name in ("weights.json", "surface.png", "other"):
        (tmp_path / name).write_text("something old")
    found = cli("demo", "--out", tmp_path, "--seed", 4)
    assert found.code == 0, found.err
    result = json.loads((tmp_path / "weights.json").read_text(encoding="utf-8"))
    assert result["seed"] == 4
    assert (tmp_path / "other").read_text() == "something old"
    assert {path.name for path in tmp_path.iterdir()} == {*DEMO_FILES, "other"}
