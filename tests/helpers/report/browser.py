"""A browser for tests: headless Chromium, told what to do by its driver's own protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from tests.helpers.waiting import PATIENCE, wait_until

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-device-scale-factor=1",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def why_not() -> str | None:
    """Say why there is no browser; None if there is one."""
    if shutil.which("chromedriver") is None:
        return "chromedriver is not installed"
    if not any(shutil.which(name) for name in BROWSERS):
        return "chromium is not installed"
    return None


class Browser:
    """A window; pages are asked by scripts, and by keys and a pointer."""

    def __init__(self, session: str) -> None:
        self._session = session

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(
            self._session + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:2000]) from None

    def open(self, where: Path | str) -> None:
        url = where if isinstance(where, str) else where.resolve().as_uri()
        self.ask("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run the body of a function."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str) -> Any:
        """Wait until an expression is true."""
        found = None

        def is_so() -> Any:
            nonlocal found
            found = self.run(f"return {condition}")
            return found

        wait_until(is_so, f"never true: {condition}")
        return found

    def complaints(self) -> list[str]:
        """Return what the console got since the last question: errors and warnings."""
        return [one["message"] for one in self.ask("POST", "/se/log", {"type": "browser"})]

    def size(self, width: int, height: int) -> None:
        """Give the page a size, below what a window can have."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.tell("Emulation.setDeviceMetricsOverride", size)

    def dark(self, is_dark: bool) -> None:
        value = "dark" if is_dark else "light"
        features = {"prefers-color-scheme": value, "prefers-reduced-motion": "reduce"}
        named = [{"name": name, "value": held} for name, held in features.items()]
        self.tell("Emulation.setEmulatedMedia", {"features": named})

    def tell(self, command: str, parameters: dict[str, Any]) -> Any:
        """Give an order of Chromium's own protocol."""
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def click(self, selector: str) -> None:
        self.run(
            "const e = document.querySelector(arguments[0]);"
            "e.scrollIntoView({block: 'center'}); e.focus(); e.click()",
            selector,
        )

    def mouse(self, *steps: tuple[str, int, int]) -> None:
        """Move, press and release the pointer, at places of the window."""
        actions: list[dict[str, Any]] = []
        last = None
        for kind, x, y in steps:
            if (x, y) != last:  # two clicks at a place follow each other at once
                actions.append({"type": "pointerMove", "duration": 60, "x": x, "y": y})
            last = x, y
            if kind != "move":
                actions.append({"type": f"pointer{kind}", "button": 0})
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}}
        self.ask("POST", "/actions", {"actions": [{**pointer, "actions": actions}]})

    def keys(self, text: str) -> None:
        """Type where the focus is."""
        actions = [{"type": kind, "value": c} for c in text for kind in ("keyDown", "keyUp")]
        self.ask(
            "POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]}
        )

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("GET", "/screenshot")))


@contextlib.contextmanager
def browser(width: int = 1280, height: int = 900) -> Iterator[Browser]:
    """Start a browser, and end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    binary = next(found for name in BROWSERS if (found := shutil.which(name)))
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = [*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        wanted = {
            "goog:chromeOptions": {"binary": binary, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        try:
            session = _begin(f"http://127.0.0.1:{port}", wanted)
            yield session
            session.ask("DELETE", "")
        finally:
            driver.terminate()
            driver.wait(PATIENCE)


def _begin(address: str, wanted: dict[str, Any]) -> Browser:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            made = Browser(address).ask(
                "POST", "/session", {"capabilities": {"alwaysMatch": wanted}}
            )
            return Browser(f"{address}/session/{made['sessionId']}")
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def violations(window: Browser) -> list[tuple[str, str, list[str]]]:
    """Return what axe-core objects to: how bad it is, the rule, and elements."""
    script = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    window.tell("Page.setBypassCSP", {"enabled": True})
    window.run(
        script + "; window.axeFound = null; axe.run().then(r => { window.axeFound = { found: "
        "r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html.slice(0, 200))]) } });"
    )
    found = window.wait("window.axeFound")["found"]
    window.tell("Page.setBypassCSP", {"enabled": False})
    return [tuple(one) for one in found]


def draw_all(window: Browser) -> None:
    """Bring every chart into view."""
    for k in range(window.run("return document.querySelectorAll('.chart').length")):
        window.run(
            "document.querySelectorAll('.chart')[arguments[0]]"
            ".scrollIntoView({block: 'center', behavior: 'instant'})",
            k,
        )
        window.wait(f"document.querySelectorAll('.chart')[{k}].drawn === true")


def text_of(window: Browser, selector: str) -> str:
    return window.run("return document.querySelector(arguments[0]).innerText", selector)


def choose(window: Browser, selector: str, value: str) -> None:
    window.run(
        "const s = document.querySelector(arguments[0]);"
        "s.value = [...s.options].find(o => o.textContent === arguments[1]).value;"
        "s.dispatchEvent(new Event('change', {bubbles: true}))",
        selector,
        value,
    )


def contrast(window: Browser, selector: str) -> float:
    """Return the ratio of luminances (WCAG 2) of a text and what is behind it."""
    return window.run(
        """
        const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
          .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
        let held = document.querySelector(arguments[0]);
        const ink = light(rgb(getComputedStyle(held).color));
        const behind = (e) => rgb(getComputedStyle(e).backgroundColor);
        while (behind(held).length === 4 && behind(held)[3] === 0) held = held.parentElement;
        const paper = light(behind(held));
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        """,
        selector,
    )
