"""Options that say who works; the result is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run
from tests.helpers.cli.loop_task import essence
from tests.helpers.hiero.model_files import decoder_of, written
from tests.helpers.loop.toy import sentences
from tests.helpers.waiting import wait_until
from tunesmith.cli.options import engine as engine_options
from tunesmith.parallel.choice import ENGINES
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.remote.processes import ProcessEngine

ROOT = Path(__file__).parents[2]
#: A decoder that can be copied; it waits while its files say so, for a run to be ended.
OWN = """\
import time
from dataclasses import dataclass
from pathlib import Path
from tests.helpers.loop.forest_toy import ForestToy

@dataclass(frozen=True)
class Own(ForestToy):
    '''Ours.'''
    is_portable = True
    beam: float = 0.12

    def forests(self, weights, sentences):
        here = Path(__file__).parent
        while (here / "held").exists() and (here / "work/round-01/weights.json").exists():
            time.sleep(0.02)
        return super().forests(weights, sentences)
"""
TWO = ["--engine", "processes", "--workers", "2"]


@pytest.fixture
def model(tmp_path: Path) -> list[str]:
    files = written(tmp_path)
    (tmp_path / "input").write_text("das haus ist klein\nklein ist das neue haus\n" * 40)
    names = {"grammar": "grammar", "lm": "lm", "weights": "weights", "input": "input"}
    return ["decode", *(text for n, f in names.items() for text in (f"--{n}", str(files[f])))]


@pytest.fixture
def tune(tmp_path: Path) -> Callable[..., list[str]]:
    (tmp_path / "own.py").write_text(OWN)
    found = ["tune", "--decoder", f"{tmp_path / 'own.py'}:Own", "--quiet", "--json"]
    for what, lines in zip(("source", "references"), sentences(10, 1), strict=True):
        (tmp_path / what).write_text("".join(f"{line}\n" for line in lines))
        found += [f"--{what}", str(tmp_path / what)]
    return lambda *more: [*found, *map(str, more)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "proceses"], "unknown engine 'proceses'; did you mean processes"),
        (["--workers", 2], "the engine threads has no workers; give"),
        (["--engine", "processes", "--workers", 0], "workers is 0; give 1 or more"),
        (["--engine", "processes", "--workers", "two"], "--workers"),
        (["--engine", "processes", "--address", "host:1"], "has no address; give --engine ray"),
        (["--engine", "processes", "--worker-timeout", -1], "--worker-timeout is -1; give seconds"),
        (["--worker-timeout", -1], "--worker-timeout is -1; give seconds, or 0 for never"),
        (["--engine", "processes", "--worker-timeout", "nan"], "--worker-timeout is nan; give"),
    ],
)
def test_options_that_are_refused(refused, model, options, said) -> None:
    assert said in refused(*model, *options)


@pytest.mark.parametrize("command", engine_options.COMMANDS)
def test_commands_that_have_them(cli: Run, command: str) -> None:
    text = cli(command, "--help").out
    for flag in ("--engine", "--workers", "--address", "--worker-timeout"):
        assert flag in text
    assert "|".join(ENGINES) in text


def test_the_help_has_sections(cli: Run) -> None:
    text = cli("tune", "--decoder", "hiero", "--tuner", "mira", "--help").out
    titles = [line for line in text.split("\n") if line.endswith(":") and line[:1] != " "]
    wanted = ["Options", *(f"Options of the {part}" for part in ("decoder", "loop", "tuner"))]
    assert titles == [f"{title}:" for title in (*wanted, "Execution")]
    sections = dict(zip(wanted, text.split("\n\nOptions")[1:], strict=True))
    of_section = {
        "Options": ("--source", "--json", "--help"),
        "Options of the decoder": ("--decoder-lm", "--nbest-size"),
        "Options of the loop": ("--rounds", "--tune-on"),
        "Options of the tuner": ("--epochs", "--learners", "--parallel"),
    }
    for title, flags in of_section.items():
        assert all(f" {flag} " in sections[title] for flag in flags)
    for flag in ("--engine", "--threads"):
        assert f"  {flag} " in text.partition("\nExecution:\n")[2]


def test_an_option_of_the_same_name(refused, tune, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from tunesmith.registry import option\n"
        "from tunesmith.tuners.online.mira import MIRA\n\n"
        "@dataclass(frozen=True)\n"
        "class Mine(MIRA):\n"
        "    '''Mine.'''\n"
        "    workers: int = option(3, 'mine')\n"
    )
    said = refused(*tune("--tuner", f"{tmp_path / 'mine.py'}:Mine"))
    assert said == "two options are called --workers; rename that of your own class"


def test_the_engine_is_in_force_and_closed(cli: Run, model, monkeypatch) -> None:
    """Whatever happens; nothing is started that has nothing to do."""
    closed, seen = [], []
    monkeypatch.setattr(ProcessEngine, "close", lambda engine: closed.append(id(engine)))
    monkeypatch.setattr(
        "tunesmith.cli.decode.command.set_memory", lambda _: seen.append(current_engine()) or 1 / 0
    )
    assert cli(*model, "--engine", "processes", "--workers", 5, "--worker-timeout", 0).code == 1
    assert closed == [id(seen[0])]
    assert (seen[0].name, seen[0].workers, seen[0].timeout) == ("processes", 5, None)
    assert cli(*model, "--engine", "processes", "--threads", 3).code == 1
    assert seen[1].workers == 3
    assert current_engine().name == "threads"


@pytest.mark.long
def test_decoding_by_processes(cli: Run, model, tmp_path: Path) -> None:
    """Rules of a sentence's own come late, in a file that is named from here."""
    own = tmp_path / "own"
    own.write_text("[X] ||| neue ||| new ||| Own=1\n")
    with open(tmp_path / "input", "a") as file:
        file.write(f'<seg grammar="{os.path.relpath(own)}">das neue haus</seg>\n' * 2)
    options = ["--nbest", 9, "--to", "jsonl", "--quiet"]
    wanted = cli(*model, *options)
    found = cli(*model, *options, *TWO)
    assert wanted.code == 0
    assert (found.code, found.err) == (0, "")
    assert found.out == wanted.out
    assert '"Own"' in found.out
    assert decoder_of({"grammar": tmp_path / "grammar", "lm": tmp_path / "lm"}).is_portable


@pytest.mark.long
def test_workers_that_are_lost_are_told(cli: Run, tune, tmp_path: Path) -> None:
    """The first piece of work ends its worker, once."""
    own = (tmp_path / "own.py").read_text()
    mortal = (
        "        from pathlib import Path\n"
        "        from tunesmith.parallel.remote.worker import is_worker\n"
        "        if is_worker() and not Path(__file__).with_name('died').exists():\n"
        "            Path(__file__).with_name('died').touch()\n"
        "            import os\n"
        "            os.kill(os.getpid(), 9)\n"
    )
    options = ["--tuner", "mert", "--restarts", 0, "--rounds", 1]
    wanted = cli(*tune(*options)).json()
    (tmp_path / "own.py").write_text(own.replace("        here = ", f"{mortal}        here = "))
    command = tune(*options, "--engine", "processes", "--workers", 1)
    command.remove("--quiet")
    found = cli(*command)
    assert essence(found.json()) == essence(wanted)
    assert "tunesmith: a worker was lost and replaced (killed by signal 9)\n" in found.err


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_run_is_killed_and_goes_on_with_others(cli: Run, tune, tmp_path: Path) -> None:
    """SIGKILL of the one that began; its workers end by themselves."""
    options = ["--tuner", "mert", "--restarts", 1, "--rounds", 3, "--weight-tolerance", 0]
    wanted = cli(*tune(*options)).json()
    assert (wanted["engine"], wanted["workers"]) == ("threads", 0)
    work = tmp_path / "work"
    options += ["--work-dir", work]
    (tmp_path / "held").touch()  # when the second round begins
    command = [sys.executable, "-m", "tunesmith", *tune(*options), *TWO]
    driver = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        wait_until(
            lambda: (work / "round-01" / "weights.json").exists() or driver.poll() is not None
        )
        assert driver.poll() is None, "it has ended by itself"
        workers = _children(driver.pid)
        assert workers
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    wait_until(lambda: not any(_is_there(worker) for worker in workers))
    assert not (work / "round-01" / "tune.arrow").exists()
    (tmp_path / "held").unlink()
    found = cli(*tune(*options)).json()
    assert essence(found) == essence(wanted)


def _children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(status.parent.name))
    return found


def _is_there(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
