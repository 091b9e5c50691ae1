from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.helpers.cli.commands import LISTS, REFERENCES, files_below
from tests.helpers.waiting import PATIENCE, wait_until
from tunesmith.cli.app import main


def tune(cli, folder):
    """Make a small run with a work directory, and a result file."""
    (folder / "lists").write_text(LISTS)
    (folder / "references").write_text(REFERENCES)
    (folder / "start.json").write_text('{"f": 1, "g": 0.1}')
    arguments = """tune --decoder pool --decoder-candidates lists --references references
        --start start.json --rounds 2 --restarts 1 --walks 0 --work-dir run --out result.json"""
    with contextlib.chdir(folder):
        cli(*arguments.split()).lines()


class Watching:
    """A server in a process of its own."""

    def __init__(self, *arguments: object, cwd) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tunesmith", "watch", *map(str, arguments), "--no-open"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            start_new_session=True,
        )
        self.url = self.process.stdout.readline().strip()

    def told(self):
        with urllib.request.urlopen(f"{self.url}view.json", timeout=PATIENCE) as answer:
            return json.load(answer)

    def wait(self, condition):
        wait_until(lambda: condition(self.told()))
        return self.told()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, err


@pytest.fixture
def watch(tmp_path):
    begun = []

    def begin(*arguments):
        begun.append(Watching(*arguments, cwd=tmp_path))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.mark.long
def test_a_run_is_waited_for_and_shown(cli, tmp_path, watch):
    server = watch("run", "--interval", "0.1")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", server.url)
    told = server.told()
    assert told["view"] is None
    assert "run is not there yet" in told["words"]
    tune(cli, tmp_path)
    before = files_below(tmp_path / "run")
    told = server.wait(lambda found: found["words"] == "ended")
    assert told["is_running"] is False
    result = json.loads((tmp_path / "result.json").read_text())
    (row,) = (one for one in told["view"]["summary"]["scores"] if one["which"] == "tune")
    assert row["after"] == pytest.approx(result["score"])
    assert told["view"]["surfaces"]["curves"]
    with urllib.request.urlopen(server.url, timeout=PATIENCE) as answer:
        assert b"tunesmith" in answer.read()
    code, err = server.end()
    assert (code, files_below(tmp_path / "run")) == (130, before)
    assert err.splitlines()[0] == "tunesmith: run is not there yet; the page waits for it"
    assert "Traceback" not in err


@pytest.mark.long
def test_a_result_file_is_shown(cli, tmp_path, watch):
    tune(cli, tmp_path)
    server = watch("result.json", "--interval", "0.1")
    assert server.wait(lambda found: found["view"])["view"]["summary"]["metric"] == "bleu"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["run", "--port", "70000"], "the port is 70000; give 0 to 65535"),
        (["run", "--interval", "0"], "the interval is 0; give 0.1 seconds or more"),
        (["run", "--interval", "nan"], "the interval is nan"),
        (["some.txt"], "some.txt: this is no result of a run"),
        (["folder"], "folder is no work directory; name the --work-dir of a run"),
        ([], "Missing argument 'RUN'"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path, monkeypatch, capsys, arguments, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.txt").write_text("hello\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "letter.txt").write_text("hello\n")
    assert main(["watch", *arguments, "--no-open"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tunesmith: error: ")
    assert problem in err
    assert err.count("\n") == 1


def test_a_port_in_use_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["watch", "run", "--port", str(port), "--no-open"]) == 2
    problem = os.strerror(errno.EADDRINUSE).lower()
    assert capsys.readouterr().err == (
        f"tunesmith: error: port {port}: {problem}; give another --port, or none\n"
    )
