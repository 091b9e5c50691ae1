"""``tunesmith watch``: the page of a run while it goes on."""

from __future__ import annotations

import math
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.report.page.serve import Making


def run(
    *,
    session: Session,
    path: Annotated[
        str,
        typer.Argument(
            help="The --work-dir of a run, or its result file; it need not exist yet.",
            metavar="RUN",
            show_default=False,
        ),
    ],
    port: Annotated[
        int, typer.Option(help="Port on this machine; 0 takes any free one.", metavar="INTEGER")
    ] = 0,
    interval: Annotated[
        float,
        typer.Option(help="Seconds between two checks of the run's files.", metavar="SECONDS"),
    ] = 2.0,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Do not open the page in a browser.")
    ] = False,
    sentences: Annotated[
        int,
        typer.Option(help="Show at most this many sentences of each set.", metavar="INTEGER"),
    ] = 100,
    metric: Annotated[
        str | None,
        typer.Option(
            help="The metric that was tuned for, if the run does not name it. "
            "path/to/file.py:Name runs that file.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve the page of a run, to this machine only, while it continues; Ctrl-C ends it."""
    from tunesmith.report.page.serve import Follower, Server

    if not 0 <= port <= 65535:
        raise UsageError(f"the port is {port}; give 0 to 65535")
    if not 0.1 <= interval < math.inf:
        raise UsageError(f"the interval is {interval:g}; give 0.1 seconds or more")
    place = Path(path)
    check_run(place)
    follower = Follower(place, _making(path, sentences, metric), interval, session.say)
    if place.is_file():
        follower.check()
    with Server(follower, port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        typer.echo(server.url)
        sys.stdout.flush()
        if not no_open:
            _open(server.url)
        try:
            follower.follow()
        finally:
            server.shutdown()


def check_run(path: Path) -> None:
    """Raise an error if a folder is there that cannot be the work directory of a run."""
    from tunesmith.loop.records import CONFIGURATION, LOCK

    if not path.is_dir():
        return
    try:
        names = set(os.listdir(path))
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise UsageError(f"{path}: {problem}; name the --work-dir of a run") from None
    if names and not names & {CONFIGURATION, LOCK}:
        raise UsageError(f"{path} is no work directory; name the --work-dir of a run")


def _making(path: str, sentences: int, metric: str | None) -> Making:
    """Return how a view is made, without costly sections and with them."""
    from tunesmith.report.page.assemble import PageOptions, view_of
    from tunesmith.report.page.run.reading import UserFiles, read_run
    from tunesmith.report.page.serve import Making

    user_files = UserFiles(metric=metric)
    few, all_of_it = PageOptions(0, None, 0, 0), PageOptions(sentences)
    return Making(
        lambda: view_of(read_run(path, user_files), few),
        lambda: view_of(read_run(path, user_files), all_of_it),
    )


def _open(url: str) -> None:
    """Open a browser where somebody sees it; one in the terminal would be in the way."""
    import webbrowser

    has_screen = sys.platform in {"darwin", "win32"} or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_screen and sys.stderr.isatty():
        webbrowser.open(url)
