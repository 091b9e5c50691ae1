"""The page of a running run, served to this machine only; nothing is ever written."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tunesmith.errors import TunesmithError, UsageError, one_line
from tunesmith.report.page.html import live_page, policy
from tunesmith.report.page.run.folder import is_locked
from tunesmith.report.page.view import View
from tunesmith.report.standalone import embedded

ADDRESS = "127.0.0.1"
#: Files that are not whole yet, and folders of decoders: no steps of a run.
PASSING = (".tunesmith-", "decoder-", ".")
#: The costly sections are made again after at least this multiple of the time they took.
REST = 5.0
#: Seconds after which a browser that says nothing is let go.
PATIENCE = 30.0


@dataclass(frozen=True)
class Making:
    """How views are made.

    Attributes
    ----------
    light
        Makes one without costly sections: surfaces, maps and sentences.
    full
        Makes one with all.
    """

    light: Callable[[], View]
    full: Callable[[], View]


class Follower:
    """What is known of a run, made anew when its files have changed.

    Parameters
    ----------
    path
        The work directory or result file; it may not be there yet.
    making
        How its view is made.
    interval
        Seconds between two looks at the files.
    say
        Told in words what is waited for, or what is wrong; once each time it changes.
    """

    def __init__(
        self,
        path: Path,
        making: Making,
        interval: float = 2.0,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self.interval = interval
        self._say = say
        self._last_message = ""
        self._making = making
        self._lock = threading.Lock()
        self._view: View | None = None
        self._costly: View | None = None
        self._seen: object = None
        self._whole: object = None
        self._rested = 0.0
        self._body, self._tag = b"", ""
        self._publish(None, self._absent, True)

    @property
    def _absent(self) -> str:
        return f"{self.path} is not there yet; the page waits for it"

    def say(self, words: str) -> None:
        """Pass a message to the callback, if there is one."""
        if self._say is not None:
            self._say(words)

    def answer(self) -> tuple[bytes, str]:
        """Return the JSON that the page asks for, and its tag."""
        with self._lock:
            return self._body, self._tag

    def page(self) -> bytes:
        """Return the page itself."""
        with self._lock:
            data = self._data
        title = f"tunesmith: {self.path}"
        return live_page(data, title, self.interval).encode()

    def look(self) -> None:
        """Look at the files once, and make what has to be made."""
        now = state_of(self.path)
        if now is None:
            self._tell(self._absent)
            return
        if now != self._seen:
            self._seen = now
            self._try(self._make_light)
        elif now != self._whole and time.monotonic() >= self._rested:
            self._whole = now
            self._try(self._make_full)

    def check(self) -> None:
        """Make a first view, and raise the error if that cannot be."""
        self._seen = state_of(self.path)
        self._make_light()

    def follow(self, stop: threading.Event | None = None) -> None:
        """Look again and again, until it is interrupted."""
        stop = stop or threading.Event()
        while not stop.is_set():
            self.look()
            stop.wait(self.interval)

    def _make_light(self) -> None:
        view = self._making.light()
        old = self._costly
        if old is not None:
            # What is costly stays from an earlier round until there is time for it.
            view = replace(view, surfaces=old.surfaces, maps=old.maps, sentences=old.sentences)
        words = view.summary.state
        has_some = old is not None and old.surfaces is not None
        more = "surfaces are a step behind" if has_some else "surfaces and sentences follow"
        self._publish(view, f"{words}; {more}", view.summary.is_running)
        if old is None or not view.summary.is_running:
            self._rested = 0.0

    def _make_full(self) -> None:
        begin = time.monotonic()
        view = self._costly = self._making.full()
        self._rested = time.monotonic() + REST * (time.monotonic() - begin)
        words = view.summary.state
        self._publish(view, words, view.summary.is_running)

    def _try(self, make: Callable[[], None]) -> None:
        """Make a view; a run that cannot be read now is looked at again when it has gone on."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the run has said them, and would each time
                make()
        except TunesmithError as error:
            self._tell(one_line(str(error)))
        except (OSError, ValueError, KeyError) as error:
            problem = f"{type(error).__name__}: {error}"
            self._tell(f"the run cannot be read now ({one_line(problem)})")
        else:
            self._last_message = ""

    def _tell(self, words: str) -> None:
        """Report why there is nothing new, on the page and in messages."""
        self._publish(self._view, words, True)
        if words != self._last_message:
            self.say(words)
        self._last_message = words

    def _publish(self, view: View | None, words: str, is_running: bool) -> None:
        data: dict[str, Any] = {
            "view": None if view is None else view.to_dict(),
            "is_running": is_running,
            "words": words,
        }
        body = embedded(data).encode()
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        with self._lock:
            self._view, self._data, self._body, self._tag = view, data, body, tag


def state_of(path: Path) -> object:
    """Return what changes when a step of a run is done; None if there is no run."""
    try:
        if not path.is_dir():
            status = path.stat()
            return status.st_mtime_ns, status.st_size
        # A run that is killed changes no file, and one that ends has written its last before.
        return is_locked(path), *sorted(_files(path))
    except OSError:
        return None


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(PASSING):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path))
            else:
                status = entry.stat()
                yield entry.path, status.st_mtime_ns, status.st_size


class Server(ThreadingHTTPServer):
    """Answers this machine's questions for the page and for what is known of the run.

    Parameters
    ----------
    follower
        Who knows.
    port
        Where; 0 is any that is free.
    """

    daemon_threads = True
    # A browser opens several connections at once; one that waits in vain asks again after seconds.
    request_queue_size = 64

    def __init__(self, follower: Follower, port: int = 0) -> None:
        self.follower = follower
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            problem = (error.strerror or "it cannot be used").lower()
            raise UsageError(f"port {port}: {problem}; give another --port, or none") from None

    @property
    def port(self) -> int:
        """Where it answers."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://{ADDRESS}:{self.port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that is closed while it is answered: it is no fault."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            problem = one_line(f"{type(error).__name__}: {error}")
            self.follower.say(f"a browser got no answer ({problem})")


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Answer a question."""
        hosts = {f"{name}:{self.server.port}" for name in (ADDRESS, "localhost")}
        if self.headers.get("Host", "").lower() not in hosts:
            # The name of another site may have been made to point here.
            self._send(HTTPStatus.FORBIDDEN, b"this server answers to 127.0.0.1 alone\n")
        elif self.path == "/":
            self._send(HTTPStatus.OK, self.server.follower.page(), "text/html; charset=utf-8")
        elif self.path == "/view.json":
            body, tag = self.server.follower.answer()
            if tag in self.headers.get("If-None-Match", ""):
                self._send(HTTPStatus.NOT_MODIFIED, b"", "application/json", tag)
            else:
                self._send(HTTPStatus.OK, body, "application/json", tag)
        else:
            self._send(HTTPStatus.NOT_FOUND, b"there is / and /view.json\n")

    do_HEAD = do_GET  # noqa: N815  (the name that http.server looks for)

    def __getattr__(self, name: str) -> Any:
        """Refuse every other method: there is nothing to change here."""
        if name.startswith("do_"):
            return lambda: self._send(HTTPStatus.METHOD_NOT_ALLOWED, b"GET and HEAD alone\n")
        raise AttributeError(name)

    def _send(
        self, status: HTTPStatus, body: bytes, kind: str = "text/plain", tag: str | None = None
    ) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": f"{policy(live=True)}; frame-ancestors 'none'",
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        if tag is not None:
            headers["ETag"] = tag
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and status != HTTPStatus.NOT_MODIFIED:
            self.wfile.write(body)

    def version_string(self) -> str:
        """Hide the version of Python."""
        return "tunesmith"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing on the terminal."""
