"""Ctrl-C during ``tunesmith tune``: what was found is kept, and marked as interrupted."""

from __future__ import annotations

import contextlib
import json
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Outcome, Run, files_below, python, random_lists
from tests.helpers.cli.loop_task import Task
from tests.helpers.loop.toy import sentences
from tests.helpers.parallel.pickling import PicklingEngine
from tunesmith.cli import app
from tunesmith.cli.options import engine as engine_options
from tunesmith.interruption import whole_or_nothing
from tunesmith.parallel.engine import working_on

pytestmark = pytest.mark.long

Interrupt = Callable[..., None]

#: Options that make a tuner quick, the step after which it is interrupted, and what it says then.
LISTS = {
    "mert": (["--restarts", 6, "--walks", 0], ("tuning", 5), "5 of 7 climbs"),
    "pro": (["--iterations", 4], ("tuning", 2), "2 of 4 rounds"),
    "batch-mira": (["--passes", 5], ("tuning", 3), "3 of 5 rounds"),
    "ramp": (["--passes", 3], ("tuning", 2), "2 of 10 rounds"),
    "min-risk": ([], ("tuning", 2), r"2 of \d+ rounds"),
    **{
        name: (["--epochs", 4], ("tuning", 2), "2 of 4 rounds")
        for name in ("mira", "arow", "sgd", "perceptron")
    },
}
SEVERAL = {
    "strengths": (
        ["--penalty", "l2-normalized", "--strength", "1e-4,1e-3,1e-2", "--restarts", 0],
        ("settings", 2),
        "2 of 3 settings",
    ),
    "the first strength": (
        ["--penalty", "l2-normalized", "--strength", "1e-4,1e-3", "--restarts", 4, "--walks", 0],
        ("tuning", 1),
        "1 of 5 climbs",
    ),
    "objectives": (
        ["--tuner", "pro", "--objective", "bleu+1", "--objective", "scaled", "--iterations", 2],
        ("settings", 1),
        "1 of 2 settings",
    ),
    "rounds for dev": (
        ["--tuner", "mira", "--pick", "dev", "--epochs", 4],
        ("tuning", 3),
        "3 of 4 rounds",
    ),
}


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Interrupt:
    """Have Ctrl-C pressed when a step has been done so often, as whoever looks on is told."""

    def at(step: str, done: int) -> None:
        pressed: list[str] = []

        def show(name: str, so_far: float, total: float | None, remark: str) -> None:
            if (name, so_far) == (step, done) and not pressed:
                pressed.append(name)
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(app, "_progress_bar", lambda _: contextlib.nullcontext(show))

    return at


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Options for a set to tune on, and another one to hold out."""
    folder = tmp_path_factory.mktemp("lists")
    given: list[object] = []
    for seed, which in enumerate(("", "dev-")):
        lines, references = random_lists(seed, groups=20)
        for what, text in (("candidates", lines), ("references", references)):
            path = folder / f"{which}{what}"
            path.write_text("".join(f"{line}\n" for line in text))
            given += [f"--{which}{what}", path]
    return given


def checked(cli: Run, found: Outcome, out: Path, given: list[object]) -> dict:
    """Hold an interrupted result against all that is said of it; return it."""
    assert found.code == 130, found.err
    result = json.loads(out.read_text())
    assert result["interrupted"] is True
    assert re.fullmatch(r"interrupted after .+", result["stopped"])
    after = result["stopped"].removeprefix("interrupted ")
    line = found.err.splitlines()[-1]
    assert line == (
        f"tunesmith: interrupted; the best weights so far (BLEU {result['score']:.2f} {after}) "
        f"are in {out}"
    )
    assert result["stopped"] in found.out
    own = [given[k + d] for k in range(0, len(given), 2) for d in (0, 1)
           if given[k] in ("--candidates", "--forests", "--references")]  # fmt: skip
    afresh = cli("evaluate", *own, "--weights", out, "--json").json()
    assert afresh["score"] == result["score"]
    assert result["oracle_score"] >= result["score"] - 1e-9
    return result


def best_of(result: dict) -> float:
    """Return the best score of the steps that a history tells of, with the start if it counts."""
    has_start = "pick:best" in result["signature"]
    return max(e["score"] for e in result["history"] if has_start or e.get("round") != 0)


@pytest.mark.parametrize("tuner", LISTS)
def test_on_lists(
    cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path, tuner: str
) -> None:
    options, when, steps = LISTS[tuner]
    given = lists[:4]
    interrupt(*when)
    out = tmp_path / "w.json"
    found = cli("tune", *given, "--tuner", tuner, *options, "--out", out)
    result = checked(cli, found, out, given)
    assert re.fullmatch(f"interrupted after {steps}", result["stopped"])
    assert result["score"] == pytest.approx(best_of(result), abs=1e-9)


@pytest.mark.parametrize("tuner", LISTS)
def test_on_forests(
    cli: Run,
    interrupt: Interrupt,
    few: Path,
    tmp_path: Path,
    tuner: str,
) -> None:
    options, (step, done), steps = LISTS[tuner]
    if tuner == "mert":
        # On lists of the forests it climbs as well, and nobody is told apart.
        options, done, steps = [*options, "--list-rounds", 0], 1, "1 of 7 climbs"
    interrupt(step, done)
    given = ["--forests", few / "f.jsonl", "--references", few / "ref"]
    out = tmp_path / "w.json"
    found = cli("tune", *given, "--tuner", tuner, *options, "--out", out)
    result = checked(cli, found, out, given)
    assert re.fullmatch(f"interrupted after {steps}", result["stopped"])
    assert result["score"] == pytest.approx(best_of(result), abs=1e-9)


def test_on_forests_climbs_on_lists_count(
    cli: Run,
    interrupt: Interrupt,
    few: Path,
    tmp_path: Path,
) -> None:
    interrupt("tuning", 1)
    given = ["--forests", few / "f.jsonl", "--references", few / "ref"]
    out = tmp_path / "w.json"
    found = cli("tune", *given, "--restarts", 4, "--walks", 0, "--out", out)
    result = checked(cli, found, out, given)
    assert result["stopped"] == "interrupted after 1 of 5 climbs on lists"


def test_on_forests_rounds_on_lists_count(
    cli: Run,
    few: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tunesmith.tasks.lists import TuningSet

    merged = TuningSet.merged

    def interrupted(*lists):
        signal.raise_signal(signal.SIGINT)
        return merged(*lists)

    monkeypatch.setattr(TuningSet, "merged", interrupted)
    given = ["--forests", few / "f.jsonl", "--references", few / "ref"]
    out = tmp_path / "w.json"
    found = cli("tune", *given, "--restarts", 0, "--out", out)
    result = checked(cli, found, out, given)
    assert result["stopped"] == "interrupted after 1 of 3 rounds on lists"


@pytest.mark.parametrize("search", ["cones", "lazy", "beam"])
def test_exact_search(
    cli: Run,
    interrupt: Interrupt,
    tmp_path: Path,
    search: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tunesmith.search.exact.lazy import search as lazy

    monkeypatch.setattr(lazy.LazySearch, "step", told_step(lazy.LazySearch.step))
    lines, references = random_lists(3, groups=10)
    for name, text in (("candidates", lines), ("references", references)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in text))
    given = ["--candidates", tmp_path / "candidates", "--references", tmp_path / "references"]
    given += ["--metric", "sentence-bleu"]
    names = {"cones": "searching", "lazy": "steps", "beam": "beam search"}
    pressed = first_of(names[search], monkeypatch)
    out = tmp_path / "w.json"
    found = cli("tune", *given, "--tuner", "lp-mert", "--search", search, "--out", out)
    assert pressed
    assert found.code == 130, found.err
    result = json.loads(out.read_text())
    assert re.fullmatch(r"interrupted after \d+ tests", result["stopped"])
    afresh = cli("evaluate", *given, "--weights", out, "--json").json()
    assert afresh["score"] == result["score"]
    if search != "beam":
        assert result["certificate"]["best"] == pytest.approx(result["score"])
        assert result["certificate"]["bound"] >= result["score"] - 1e-9


def told_step(step):
    """Return a step of a search that is told of when it is done."""
    from tunesmith.progress import progress

    def told(self):
        step(self)
        if self.problem.size > 2:  # not one that kernels are compiled for
            progress("steps", 1, None)

    return told


def first_of(step: str, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have Ctrl-C pressed when a step is told of for the first time."""
    pressed: list[float] = []

    def show(name: str, done: float, total: float | None, remark: str) -> None:
        if name == step and not pressed:
            pressed.append(done)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(app, "_progress_bar", lambda _: contextlib.nullcontext(show))
    return pressed


def test_a_plane(cli: Run, lists: list[object], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tunesmith.search.plane.search.ROUND", 1)
    monkeypatch.setattr("tunesmith.search.plane.search.PIECE", 4)
    assert not first_of("regions", monkeypatch)
    out = tmp_path / "w.json"
    given = [*lists[:4], "--tuner", "plane", "--features", "TM0_1,TM0_2"]
    found = cli("tune", *given, "--out", out, "--threads", 1)
    result = checked(cli, found, out, lists[:4])
    assert re.fullmatch(r"interrupted after \d+ of \d+ lines", result["stopped"])
    assert not result["certificate"]["optimal"]


@pytest.mark.parametrize("which", SEVERAL)
def test_several_settings(
    cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path, which: str
) -> None:
    options, when, steps = SEVERAL[which]
    interrupt(*when)
    out = tmp_path / "w.json"
    found = cli("tune", *lists, *options, "--out", out)
    result = checked(cli, found, out, lists)
    assert result["stopped"] == f"interrupted after {steps}"
    chosen = next(entry for entry in result["path"] if entry["chosen"])
    assert chosen["dev_score"] == result["dev"]["score"]
    assert chosen["dev_score"] == max(entry["dev_score"] for entry in result["path"])
    unfinished = [entry.get("unfinished", False) for entry in result["path"]]
    assert any(unfinished) == (which == "the first strength")


@pytest.mark.parametrize("done", [1, 4])
def test_a_committee(
    cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path, done: int
) -> None:
    """The average of what members have found on some parts of the tuning set."""
    interrupt("committee", done)
    options = ["--tuner", "auto", "--member", "mert:restarts=0", "--member", "pro:iterations=2"]
    out = tmp_path / "w.json"
    found = cli("tune", *lists[:4], *options, "--out", out, "--test-candidates", lists[5],
                "--test-references", lists[7], "--metric", "bleu", "--metric", "ter")  # fmt: skip
    result = checked(cli, found, out, lists[:4])
    assert result["stopped"] == f"interrupted after {done} of 12 runs of members"
    assert result["dev"] is None


@pytest.mark.parametrize("combine", ["best", "average"])
def test_runs(
    cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path, combine: str
) -> None:
    interrupt("runs", 2)
    out = tmp_path / "w.json"
    found = cli(
        "tune", *lists[:4], "--runs", 3, "--combine", combine, "--restarts", 1, "--out", out
    )
    result = checked(cli, found, out, lists[:4])
    assert result["stopped"] == "interrupted after 2 of 3 runs"
    assert len(result["runs"]) == 2
    if combine == "best":
        assert result["score"] == max(run["score"] for run in result["runs"])


def test_replicates(cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path) -> None:
    whole = tmp_path / "whole.json"
    options = [*lists[:4], "--restarts", 4, "--walks", 0]
    assert cli("tune", *options, "--replicates", 2, "--out", whole).code == 0
    count = 0

    def fit(self, *arguments, **named):
        nonlocal count
        count += 1
        if count == 3:
            signal.raise_signal(signal.SIGINT)
        return Tuner.fit(self, *arguments, **named)

    from tunesmith.tuners.base import Tuner
    from tunesmith.tuners.mert.mert import MERT

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MERT, "fit", fit, raising=False)
        out = tmp_path / "w.json"
        found = cli("tune", *options, "--replicates", 5, "--out", out)
    result = checked(cli, found, out, lists[:4])
    assert result["stopped"] == "interrupted after 2 of 5 runs"
    assert [run["seed"] for run in result["replicates"]["runs"]] == [1, 2]
    assert result["weights"] == json.loads(whole.read_text())["weights"]
    assert sorted(path.name for path in tmp_path.glob("w.*")) == ["w.1.json", "w.2.json", "w.json"]
    assert json.loads((tmp_path / "w.1.json").read_text())["interrupted"] is False


def test_the_first_of_several_replicates(
    cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path
) -> None:
    interrupt("tuning", 1)
    out = tmp_path / "w.json"
    options = ["--restarts", 4, "--walks", 0, "--replicates", 3]
    found = cli("tune", *lists[:4], *options, "--out", out)
    assert checked(cli, found, out, lists[:4])["stopped"] == "interrupted after 1 of 5 climbs"
    assert [path.name for path in tmp_path.iterdir()] == ["w.json"]


@pytest.mark.parametrize("engine", [[], ["--engine", "processes", "--workers", 2]])
def test_learners(
    cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path, engine: list[object]
) -> None:
    interrupt("tuning", 2)
    out = tmp_path / "w.json"
    options = ["--tuner", "mira", "--learners", 3, "--epochs", 4, *engine]
    found = cli("tune", *lists[:4], *options, "--out", out)
    result = checked(cli, found, out, lists[:4])
    assert result["stopped"] == "interrupted after 2 of 4 rounds"
    assert result["engine"] == ("processes" if engine else "threads")


class Interrupting(PicklingEngine):
    """Has Ctrl-C pressed when two pieces of a piece of work are done."""

    def __init__(self, work: str) -> None:
        super().__init__()
        self.work = work

    def map(self, work, data, pieces, *common, results=None):
        if self.work not in (work.__name__, *(getattr(c, "__name__", "") for c in common)):
            return super().map(work, data, pieces, *common, results=results)
        with whole_or_nothing():  # nobody hears what another process tells
            super().map(work, data, pieces[:2], *common, results=results)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError


@pytest.mark.parametrize(
    ("work", "options", "steps"),
    [
        ("_run_apart", ["--runs", 4, "--restarts", 0], "2 of 4 runs"),
        (
            "_learnt_apart",
            ["--tuner", "batch-mira", "--c", "0.1,0.01,0.001", "--passes", 2],
            "2 of 3 settings",
        ),
        ("climb_and_walk", ["--restarts", 4, "--walks", 0], "3 of 5 climbs"),
    ],
)
def test_what_other_processes_have_done_counts(
    cli: Run, lists: list[object], tmp_path: Path, monkeypatch, work: str, options, steps: str
) -> None:
    @contextlib.contextmanager
    def opened(*_):
        with working_on(Interrupting(work)):
            yield None

    monkeypatch.setattr(engine_options, "_opened", opened)
    out = tmp_path / "w.json"
    found = cli("tune", *lists, *options, "--out", out)
    assert checked(cli, found, out, lists)["stopped"] == f"interrupted after {steps}"


def test_before_the_first_step_nothing_is_written(
    cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path
) -> None:
    out, start = tmp_path / "w.json", tmp_path / "start"
    out.write_text("as it was")
    start.write_text("TM0= 1 1\nWP0= -1\n")
    before = files_below(tmp_path)
    for tuner, options, when in (
        ("mert", ["--runs", 2], ("runs", 0)),
        ("auto", ["--member", "mert:restarts=0"], ("committee", 0)),
        ("auto", ["--start", start, "--drop", "s_*"], ("committee", 0)),  # the start is no step
    ):
        interrupt(*when)
        found = cli("tune", *lists, "--tuner", tuner, *options, "--out", out)
        assert found == Outcome(130, "", "tunesmith: interrupted\n")
        assert files_below(tmp_path) == before


def test_the_report_says_so(
    cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path
) -> None:
    interrupt("tuning", 1)
    out, page = tmp_path / "w.json", tmp_path / "page.json"
    assert cli("tune", *lists[:4], "--restarts", 4, "--walks", 0, "--out", out).code == 130
    interrupt("nothing", 0)
    assert cli("report", out, "--out", page).code == 0
    summary = json.loads(page.read_text())["summary"]
    assert summary["state"] == "interrupted"
    told = "The run was interrupted after 1 of 5 climbs"
    assert any(note.startswith(told) for note in summary["notes"])


def test_an_order_to_end_writes_nothing(
    cli: Run, lists: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def show(name: str, done: float, total: float | None, remark: str) -> None:
        if (name, done) == ("tuning", 1):
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(app, "_progress_bar", lambda _: contextlib.nullcontext(show))
    found = cli("tune", *lists[:4], "--restarts", 4, "--out", tmp_path / "w.json")
    assert found == Outcome(130, "", "tunesmith: interrupted\n")
    assert not files_below(tmp_path)


def test_weights_keep_the_format_of_the_start(
    cli: Run, interrupt: Interrupt, lists: list[object], tmp_path: Path
) -> None:
    start, out = tmp_path / "start", tmp_path / "out"
    start.write_text("TM0= 1 1\nWP0= -1\n")
    interrupt("tuning", 1)
    options = ["--start", start, "--restarts", 4, "--walks", 0, "--keep", "TM0*", "--keep", "WP0"]
    found = cli("tune", *lists[:4], *options, "--out", out, "--json")
    assert found.code == 130
    assert out.read_text().startswith("TM0= ")
    assert json.loads(found.out)["interrupted"] is True
    shown = f"{json.loads(found.out)['score']:.2f}"
    assert found.err.splitlines()[-1] == (
        f"tunesmith: interrupted; the best weights so far (BLEU {shown} after 1 of 5 climbs) are "
        f"in {out}"
    )


def test_when_all_is_done_the_result_is_whole(
    cli: Run, lists: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tunesmith.tasks.lists import TuningSet

    whole, out = tmp_path / "whole.json", tmp_path / "w.json"
    options = [*lists[:4], "--restarts", 1, "--walks", 0]
    assert cli("tune", *options, "--out", whole).code == 0
    oracle_at = TuningSet.oracle_at

    def interrupted(*about):
        signal.raise_signal(signal.SIGINT)
        return oracle_at(*about)

    monkeypatch.setattr(TuningSet, "oracle_at", interrupted)
    found = cli("tune", *options, "--out", out)
    assert found.code == 130
    assert found.err == f"tunesmith: interrupted; all was done; the weights are in {out}\n"
    first, second = (json.loads(path.read_text()) for path in (whole, out))
    assert second["interrupted"] is False
    for result in (first, second):
        del result["inputs"]["command"], result["inputs"]["date"]
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


# Loops


def test_a_loop_is_taken_up_again(cli: Run, interrupt: Interrupt, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("whole", "cut")]
    for folder in folders:
        folder.mkdir()
    tasks = [Task.make(folder) for folder in folders]
    whole, cut = ([*task.arguments(out=task.path("w.json"))] for task in tasks)
    assert cli(*whole).code == 0
    work = tasks[1].path("work")
    with pytest.MonkeyPatch.context() as patch:
        pressed = loop_interrupted(patch, 1)
        found = cli(*cut, "--work-dir", work)
    assert pressed
    assert found.code == 130, found.err
    out = tasks[1].path("w.json")
    result = json.loads(out.read_text())
    assert (result["interrupted"], len(result["rounds"])) == (True, 2)
    assert result["stopped"] == "interrupted after 1 of 2 rounds"
    key = "score" if result["dev"] is None else "dev_score"
    chosen = next(one for one in result["rounds"] if one["chosen"])
    assert chosen[key] == max(one[key] for one in result["rounds"])
    assert chosen["weights"] == result["weights"]
    assert found.err.splitlines()[-1].endswith(
        f"are in {out}; the same command goes on from {work}"
    )
    assert not (work / "result.json").exists()
    page = tmp_path / "page.json"
    assert cli("report", out, "--out", page).code == 0
    assert json.loads(page.read_text())["summary"]["state"] == "interrupted"
    assert cli(*cut, "--work-dir", work).code == 0
    again, first = (json.loads(task.path("w.json").read_text()) for task in reversed(tasks))
    assert again["interrupted"] is False
    assert again["weights"] == first["weights"]
    assert again["rounds"][-1]["score"] == first["rounds"][-1]["score"]


def loop_interrupted(patch: pytest.MonkeyPatch, done: int) -> list[str]:
    """Have Ctrl-C pressed while a loop tunes after so many rounds."""
    from tunesmith.loop.running import Run as LoopRun

    learnt = LoopRun._learn
    pressed: list[str] = []

    def interrupted(self, rounds, said):
        if len(rounds) - 1 == done and not pressed:
            pressed.append("")
            signal.raise_signal(signal.SIGINT)
        return learnt(self, rounds, said)

    patch.setattr(LoopRun, "_learn", interrupted)
    return pressed


def test_a_loop_before_its_first_round(cli: Run, tmp_path: Path) -> None:
    task = Task.make(tmp_path)
    out = task.path("w.json")
    with pytest.MonkeyPatch.context() as patch:
        loop_interrupted(patch, 0)
        found = cli(*task.arguments(out=out), "--work-dir", task.path("work"))
    assert found.code == 130
    assert found.err.splitlines()[-1] == "tunesmith: interrupted"
    assert "the same command goes on from there" in found.err
    assert not out.exists()


LIVE = """\
from dataclasses import dataclass
from tests.helpers.loop.forest_toy import ForestToy

@dataclass(frozen=True)
class Own(ForestToy):
    '''Ours.'''
    beam: float = 0.12
"""


@pytest.mark.parametrize(
    "options", [["--tuner", "mira", "--epochs", 4], ["--restarts", 0, "--rounds", 4]]
)
def test_forests_of_a_decoder(
    cli: Run, interrupt: Interrupt, tmp_path: Path, options: list[object]
) -> None:
    (tmp_path / "own.py").write_text(LIVE)
    given: list[object] = ["--decoder", f"{tmp_path / 'own.py'}:Own"]
    for what, lines in zip(("source", "references"), sentences(8, 1), strict=True):
        (tmp_path / what).write_text("".join(f"{line}\n" for line in lines))
        given += [f"--{what}", tmp_path / what]
    outs = [tmp_path / name for name in ("whole.json", "w.json")]
    assert cli("tune", *given, *options, "--out", outs[0]).code == 0
    whole = json.loads(outs[0].read_text())
    if len(whole["rounds"]) < 3:
        pytest.fail("it is done before it can be interrupted")
    interrupt("rounds", 1)
    work = ["--work-dir", tmp_path / "work"]
    assert cli("tune", *given, *options, *work, "--out", outs[1]).code == 130
    cut = json.loads(outs[1].read_text())
    assert cut["interrupted"] is True
    assert cut["stopped"] == "interrupted after 1 of 4 rounds"
    best = max(whole["rounds"][:2], key=lambda one: one["score"])
    assert (cut["weights"], cut["score"]) == (best["weights"], best["score"])
    interrupt("nothing", 0)
    assert cli("tune", *given, *options, *work, "--out", outs[1]).code == 0
    assert json.loads(outs[1].read_text())["weights"] == whole["weights"]


# The second Ctrl-C

SECOND = """\
import os, signal, sys, threading
from tunesmith.cli import main
from tunesmith.tasks.lists import TuningSet

oracle_at = TuningSet.oracle_at

def again(*about):
    sys.stderr.write("evaluating\\n")
    sys.stderr.flush()
    signal.raise_signal(signal.SIGINT)
    os.write(2, b"not ended\\n")
    return oracle_at(*about)

TuningSet.oracle_at = again
from tunesmith.tuners.mert import mert
progress = mert.progress

def interrupted(*about):
    progress(*about)
    signal.raise_signal(signal.SIGINT)

mert.progress = interrupted
sys.exit(main(sys.argv[1:]))
"""


def test_the_second_ends_at_once(lists: list[object], tmp_path: Path) -> None:
    out = tmp_path / "w.json"
    out.write_text("as it was")
    found = python("-c", SECOND, "tune", *lists[:4], "--restarts", 4, "--out", out)
    assert found.returncode == 130
    assert found.stdout == ""
    assert found.stderr == "evaluating\ntunesmith: interrupted\n"
    assert files_below(tmp_path) == {"w.json": b"as it was"}


#: The main thread computes for hours, without a look at signals.
BUSY = """\
import hashlib, os, signal, sys, threading, time
from tunesmith.cli import main
from tunesmith.tasks.lists import TuningSet

def press():
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)

def busy(*about):
    threading.Thread(target=press, daemon=True).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)

TuningSet.oracle_at = busy
sys.exit(main(sys.argv[1:]))
"""


def test_the_second_ends_at_once_within_a_kernel(lists: list[object], tmp_path: Path) -> None:
    found = python("-c", BUSY, "tune", *lists[:4], "--restarts", 0, "--out", tmp_path / "w.json")
    assert found.returncode == 130
    assert found.stderr == "tunesmith: interrupted\n"
    assert not files_below(tmp_path)
