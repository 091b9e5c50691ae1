from __future__ import annotations

import dataclasses
import http.client
import json
import os
import socket
import threading

import pytest

from tests.helpers.report.views import sample
from tests.helpers.waiting import PATIENCE
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.report.page.serve import Follower, Making, Server, state_of


class Maker:
    """Views that count how often they were made."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.running = True
        self.fault: Exception | None = None

    def _make(self, kind: str):
        self.made.append(kind)
        if self.fault is not None:
            raise self.fault
        view = sample(running=self.running)
        if kind == "full":
            return view
        return dataclasses.replace(view, surfaces=None, maps=None, sentences=())

    @property
    def making(self) -> Making:
        return Making(lambda: self._make("light"), lambda: self._make("full"))


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "configuration.json").write_text("{}")
    return folder


@pytest.fixture
def maker():
    return Maker()


@pytest.fixture
def server(run, maker):
    follower = Follower(run, maker.making)
    with Server(follower) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, method="GET", path="/view.json", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=named)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def told(follower):
    return json.loads(follower.answer()[0])


def touch(folder, name):
    (folder / name).write_text("x")


def test_a_run_that_is_not_there_is_waited_for(tmp_path, maker):
    follower = Follower(tmp_path / "later", maker.making)
    follower.look()
    assert told(follower)["view"] is None
    assert "not there yet" in told(follower)["words"]
    assert maker.made == []
    (tmp_path / "later").mkdir()
    follower.look()
    assert told(follower)["view"]["summary"]["state"] == "running"


def test_views_are_made_when_files_have_changed(run, maker):
    follower = Follower(run, maker.making)
    follower.look()
    assert maker.made == ["light"]
    assert told(follower)["view"]["surfaces"] is None
    follower.look()
    assert maker.made == ["light", "full"]
    assert told(follower)["view"]["surfaces"] is not None
    for _ in range(3):
        follower.look()
    assert maker.made == ["light", "full"]
    touch(run, "round-1.json")
    follower.look()
    assert maker.made == ["light", "full", "light"]
    # What is costly stays until it is made again.
    assert told(follower)["view"]["surfaces"] is not None
    assert "behind" in told(follower)["words"]


def test_costly_sections_wait_in_a_run_that_goes_on(run, maker):
    follower = Follower(run, maker.making)
    follower.look()
    follower.look()
    follower._rested = float("inf")
    touch(run, "round-1.json")
    for _ in range(3):
        follower.look()
    assert maker.made == ["light", "full", "light"]
    maker.running = False
    touch(run, "result.json")
    follower.look()
    follower.look()
    assert maker.made == ["light", "full", "light", "light", "full"]
    assert told(follower)["words"] == "ended"
    assert told(follower)["is_running"] is False


@pytest.mark.parametrize("fault", [TunesmithError("no round yet; wait"), OSError("gone")])
def test_a_run_that_cannot_be_read_keeps_what_was_known(run, maker, fault):
    follower = Follower(run, maker.making)
    follower.look()
    maker.fault = fault
    touch(run, "round-1.json")
    follower.look()
    assert told(follower)["view"] is not None
    assert str(fault) in told(follower)["words"]
    maker.fault = None
    touch(run, "round-2.json")
    follower.look()
    assert "follow" in told(follower)["words"]


def test_files_that_are_not_whole_are_no_steps(run):
    before = state_of(run)
    touch(run, ".tunesmith-partial")
    (run / "decoder-tune").mkdir()
    touch(run / "decoder-tune", "log")
    assert state_of(run) == before
    (run / "round-1").mkdir()
    touch(run / "round-1", "tune.json")
    assert state_of(run) != before


def test_the_page_and_its_json_are_served(server, maker):
    server.follower.look()
    answer, body = ask(server, path="/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b'id="view"' in body
    answer, body = ask(server)
    assert answer.headers["Content-Type"] == "application/json"
    assert json.loads(body)["view"]["summary"]["metric"] == "bleu"
    for name, value in (
        ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", "no-store"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ):
        assert answer.headers[name] == value
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "Python" not in answer.headers["Server"]


def test_what_has_not_changed_is_not_sent_again(server):
    server.follower.look()
    answer, _ = ask(server)
    tag = answer.headers["ETag"]
    answer, body = ask(server, If_None_Match=tag)
    assert (answer.status, body) == (304, b"")
    server.follower.look()  # the costly sections
    answer, body = ask(server, If_None_Match=tag)
    assert answer.status == 200
    assert answer.headers["ETag"] != tag


def test_head_has_no_body(server):
    answer, body = ask(server, "HEAD")
    assert (answer.status, body) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 0


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "ODD"])
def test_nothing_can_be_changed(server, method):
    answer, _ = ask(server, method)
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path",
    [
        "/configuration.json",
        "/../run/configuration.json",
        "/%2e%2e/",
        "//etc/passwd",
        "/view.json/",
        "/?x",
    ],
)
def test_there_is_nothing_else(server, path):
    assert ask(server, path=path)[0].status == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80"])
def test_other_names_for_this_machine_are_refused(server, host):
    answer, body = ask(server, Host=host)
    assert answer.status == 403
    assert b"bleu" not in body


def test_localhost_is_answered(server):
    assert ask(server, Host=f"localhost:{server.port}")[0].status == 200


def test_a_fault_of_its_own_is_told_and_ends_nothing(server, monkeypatch):
    heard = []
    monkeypatch.setattr(server.follower, "_say", heard.append)
    monkeypatch.setattr(server.follower, "page", lambda: 1 // 0)
    with pytest.raises(http.client.RemoteDisconnected):
        ask(server, path="/")
    assert ask(server)[0].status == 200
    assert len(heard) == 1
    assert "ZeroDivisionError" in heard[0]


def test_it_listens_on_loopback_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_told(run, maker):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}: .*--port"):
            Server(Follower(run, maker.making), port)


def test_the_folder_is_not_written(server, run, maker):
    before = sorted(os.listdir(run))
    server.follower.look()
    server.follower.look()
    ask(server, path="/")
    assert sorted(os.listdir(run)) == before
