"""``tunesmith tune --decoder``: a decoder in the loop, taken up again where it ended."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run, bleu, python
from tests.helpers.cli.loop_task import HELD, RANKER, REFERENCES, SENTENCES, START, Task, essence
from tests.helpers.waiting import PATIENCE, wait_until
from tunesmith.cli import main
from tunesmith.decoders.command import CommandDecoder
from tunesmith.decoders.processes import parent_death_prefix
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.tuners.mert.mert import MERT

Make = Callable[[str, str | bytes], Path]

#: A decoder that is told by a file which words to give; it leaves a trace when it is closed.
OWN = """\
import os
from collections.abc import Sequence
from dataclasses import dataclass
import tunesmith as ts
from tunesmith.registry import option

@dataclass(frozen=True)
class Own(ts.Decoder):
    '''Ours.'''
    trace: str = option("", "file that is made at the end", "FILE")
    loud: bool = option(False, "whether it shouts")

    def sentences(self):
        return [ts.Sentence(0, "a b c"), ts.Sentence(1, "d e")]

    def decode(self, weights, sentences):
        candidates = []
        for sentence in sentences:
            words = (sentence.text.upper() if self.loud else sentence.text).split()
            ways = [(words, 1.0), (words[::-1], 0.0)]
            candidates.append(sorted(ways, key=lambda way: -weights["f"] * way[1]))
        return ts.from_arrays(
            groups=[s.id for s in sentences for _ in range(2)],
            features={"f": [way[1] for one in candidates for way in one]},
            texts=[" ".join(way[0]) for one in candidates for way in one],
        )

    def start(self):
        return ts.Weights.from_dict({"f": -1.0})

    def rewritten(self, weights):
        return f"mine: {weights['f']}\\n".encode()

    def close(self):
        if self.trace:
            open(self.trace, "w").close()
"""


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task.make(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What a run without a work directory comes to, on the same files in another folder."""
    task = Task.make(tmp_path_factory.mktemp("whole"))
    out = task.path("out.json")
    assert main(task.arguments("--quiet", out=out)) == 0
    return json.loads(out.read_text())


@pytest.mark.long
def test_the_result_is_that_of_python(task: Task, whole: dict) -> None:
    held = [" ".join(text.split()[1:]) for text in HELD]
    with pytest.warns(UserWarning, match="features without a weight"):
        result = Loop(rounds=2).run(
            CommandDecoder(command=task.command(), nbest_size=2),
            MERT(restarts=1, walks=0),
            Inputs.of(SENTENCES, REFERENCES),
            start=START,
            dev=Inputs.of(HELD, held),
        )
    assert [Path(file["path"]).name for file in whole["data"]] == [
        *("source", "references", "dev.source", "dev.references")
    ]
    assert essence(json.loads(json.dumps(result.to_dict()))) == essence(whole)


def test_scores_are_those_of_the_decoders_output(task: Task, whole: dict, make: Make) -> None:
    for entry in whole["rounds"]:
        weights = make("held.json", json.dumps({"weights": entry["weights"]}))
        program = [sys.executable, str(RANKER), str(weights)]
        for which, key in (("", "score"), ("dev.", "dev_score")):
            source, output = task.path(f"{which}source"), task.path("output")
            subprocess.run([*program, str(source), str(output), "1"], check=True)
            texts = [line.split(" ||| ")[1] for line in output.read_text().splitlines()]
            references = task.path(f"{which}references").read_text().splitlines()
            wanted = bleu(texts, [references]).score
            assert entry[key] == pytest.approx(wanted, rel=0, abs=1e-9)
    assert whole["initial_score"] < whole["score"]


# State


@pytest.mark.long
def test_a_run_that_was_done_is_read(cli: Run, task: Task, whole: dict) -> None:
    run = task.path("run")
    first = cli(*task.arguments("--json", work_dir=run))
    assert essence(first.json()) == essence(whole)
    assert "going on" not in first.err
    # With a decoder that would never end.
    task.path("slow").write_text("0")
    again = cli(*task.arguments("--json", work_dir=run))
    assert again.out == first.out
    assert f"tunesmith: going on after round 2 of {run}\n" in again.err
    assert cli(*task.arguments("--json", "--quiet", work_dir=run)).err == ""


@pytest.mark.long
def test_options_that_change_no_step_may_be_others(cli: Run, task: Task, whole: dict) -> None:
    run = task.path("run")
    cli(*task.arguments(work_dir=run, rounds=1)).lines()
    options = {"jobs": 2, "decoder_time_limit": 30, "decoder_retries": 0}
    longer = cli(*task.arguments("--json", work_dir=run, **options)).json()
    assert essence(longer) == essence(whole)
    last = cli(*task.arguments("--json", work_dir=run, final="last", metric=None)).json()
    assert [one["chosen"] for one in last["rounds"]] == [False, False, True]


@pytest.mark.long
def test_jobs_change_nothing(cli: Run, task: Task, whole: dict) -> None:
    found = cli(*task.arguments("--json", "--quiet", jobs=2)).json()
    assert essence(found) == essence(whole)


def alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 130)])
def test_stopped_while_a_decoder_runs(
    cli: Run, task: Task, whole: dict, number: signal.Signals, code: int
) -> None:
    if number == signal.SIGKILL and not parent_death_prefix():
        pytest.skip("there is no setpriv, without which a decoder outlives us")
    run = task.path("run")
    task.path("slow").write_text("3")  # the held-out set of round 1
    with subprocess.Popen(
        [sys.executable, "-m", "tunesmith", *task.arguments("--json", work_dir=run)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_until(lambda: task.path("pid").exists() or process.poll() is not None)
            assert process.poll() is None
            decoder = int(task.path("pid").read_text())
            assert alive(decoder)
            second = cli(*task.arguments(work_dir=run))
            assert (second.code, second.out) == (2, "")
            told = f"tunesmith: error: {run}: another run is using it; "
            assert second.err.startswith(told)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, out) == (code, "")
    wait_until(lambda: not alive(decoder))
    if number == signal.SIGTERM:
        hint = f"tunesmith: what is done is kept in {run}; the same command goes on from there\n"
        assert err.endswith(f"{hint}tunesmith: interrupted\n")
    assert (run / "round-01" / "tune.arrow").exists()
    assert not (run / "round-01" / "dev.arrow").exists()
    task.path("slow").unlink()
    found = cli(*task.arguments("--json", work_dir=run))
    assert f"tunesmith: going on with round 1 of {run}\n" in found.err
    assert essence(found.json()) == essence(whole)


# What is said and written


@pytest.mark.long
def test_a_line_a_round(cli: Run, task: Task, whole: dict) -> None:
    loud = cli(*task.arguments("--json", "--verbose"))
    lines = re.findall(r"^tunesmith: round (\d): output ([\d.]+), (\d+) new", loud.err, re.M)
    wanted = [(str(k), f"{e['score']:.2f}", str(e["new"])) for k, e in enumerate(whole["rounds"])]
    assert lines == wanted
    assert essence(loud.json()) == essence(whole)


@pytest.mark.long
@pytest.mark.parametrize("columns", [80, 100])
def test_the_table(
    cli: Run, task: Task, whole: dict, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    options = {"test_source": task.path("dev.source"), "test_references": task.path("references")}
    assert cli(*task.arguments(**options)).code == 2  # other lengths
    options["test_references"] = task.path("dev.references")
    found = cli(*task.arguments(**options)).lines()
    assert all(len(line.rstrip()) <= columns for line in found)
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in found]
    begin = found.index(next(line for line in found if line.startswith("rounds")))
    rows = [row for row in cells[begin:] if len(row) == 8]
    for row, entry in zip(rows, whole["rounds"], strict=True):
        assert row[:2] == [str(entry["round"]), str(entry["new"])]
        shown = f"{entry['score']:.2f}", *[f"{entry['dev_score']:.2f}"] * 2
        assert row[2:5] == list(shown)
        assert row[7] == ("chosen" if entry["chosen"] else "")
    assert f"it ended: {whole['stopped']}" in [line.rstrip() for line in found]


@pytest.mark.long
def test_out_is_the_whole_result_or_weights(cli: Run, task: Task, make: Make) -> None:
    moses = make("start.weights", "# mine\nlm= 0.1\nlength= 1\n")
    result, weights, own = (task.path(name) for name in ("result.json", "new", "own"))
    found = cli(*task.arguments("--json", start=moses, out=result)).json()
    assert json.loads(result.read_text()) == found
    cli(*task.arguments(start=moses, out=weights)).lines()
    assert weights.read_text().startswith("# mine\n")
    assert f"length= {found['weights']['length']!r}\n" in weights.read_text()
    # Without weights that are given, those of the decoder, and in its file.
    template = make("template.json", json.dumps({"other": "stays", "weights": START}))
    options = {"decoder_weights_template": template, "start": None}
    kept = cli(*task.arguments("--json", out=own, **options)).json()
    assert kept["weights"] == found["weights"]
    assert json.loads(own.read_text())["weights"] == found["weights"]


def test_weights_to_standard_output(cli: Run, make: Make, tmp_path: Path) -> None:
    own, refs = make("own.py", OWN), make("refs", "a b c\nd e\n")
    arguments = ["tune", "--decoder", f"{own}:Own", "--references", refs, "--metric", "chrf"]
    arguments += ["--tuner", "mert"]
    trace = tmp_path / "trace"
    found = cli(*arguments, "--decoder-trace", trace, "--out", "-")
    assert found.code == 0
    assert float(found.out.removeprefix("mine: ")) > 0
    assert trace.exists()
    loud = cli(*arguments, "--json", "--decoder-loud").json()
    assert loud["score"] == 0
    assert "Own" in loud["signature"]


def test_help(cli: Run, make: Make) -> None:
    found = cli("tune", "--decoder", f"{make('own.py', OWN)}:Own", "--help")
    assert (found.code, found.err) == (0, "")
    for text in ("--decoder-trace FILE", "--decoder-loud / --no-decoder-loud", "--source FILE"):
        assert text in " ".join(found.out.split())
    assert "--nbest-size" not in found.out
    assert "--candidates" not in found.out
    command = cli("tune", "--decoder", "command", "--tuner", "pro", "--help").out
    for option in ("--decoder-command", "--nbest-size", "--jobs", "--work-dir", "--interpolation"):
        assert f"  {option} " in command
    assert "--decoder NAME" in cli("tune", "--help").out


def test_a_tuner_may_have_an_option_of_the_loops_name(cli: Run, task: Task, make: Make) -> None:
    mine = make(
        "mine.py",
        "from dataclasses import dataclass\n"
        "import tunesmith as ts\n"
        "from tunesmith.registry import option\n"
        "@dataclass(frozen=True)\n"
        "class Mine(ts.MERT):\n"
        "    rounds: int = option(3, 'of its own')\n",
    )
    options = {"tuner": f"{mine}:Mine", "rounds": 7, "loop_rounds": 1}
    found = cli(*task.arguments("--json", "--quiet", **options)).json()
    assert len(found["rounds"]) == 2
    assert "rounds:7" in found["signature"]


def test_decoders_are_listed(cli: Run) -> None:
    found = cli("list", "decoders", "--json").json()
    names = {entry["name"]: entry for entry in found["entries"]}
    options = {option["name"] for option in names["command"]["options"]}
    assert options >= {"command", "nbest-size", "jobs", "time-limit", "retries"}


@pytest.mark.long
def test_a_source_from_standard_input(cli: Run, task: Task, whole: dict) -> None:
    stdin = task.path("source").read_bytes()
    found = cli(*task.arguments("--json", "--quiet", source="-"), stdin=stdin).json()
    assert essence(found) == essence(whole)


# A disk that is full


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of files")
def test_a_file_that_may_not_grow(cli: Run, task: Task, whole: dict) -> None:
    run = task.path("run")
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))\n"
        "from tunesmith.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    found = python("-c", program, *task.arguments(work_dir=run), env=dict(os.environ))
    assert (found.returncode, found.stdout) == (2, "")
    *_, last = found.stderr.splitlines()
    assert last.startswith(f"tunesmith: error: {run / 'round-00'}")
    assert "file too large; " in last
    assert "Traceback" not in found.stderr
    assert essence(cli(*task.arguments("--json", work_dir=run)).json()) == essence(whole)


# A pool


@pytest.mark.long
def test_a_column_of_a_pool_is_no_feature(cli: Run, make: Make) -> None:
    """What is tuned for would tune itself; the same as on lists, when they hold all."""
    rows = ["id,text,f,g,right,wrong"]
    rows += [
        f"{group},t{k},{(k * 7 + group) % 5},{(k + group) % 4},{k % 3},{k % 2}"
        for group in range(6)
        for k in range(4)
    ]
    table, start = make("pool.csv", "\n".join(rows) + "\n"), make("w.json", '{"f": 1, "g": 0}')
    shared = ["--start", start, "--metric", "column:right", "--metric", "column:wrong", "--json"]
    shared += ["--tuner", "mert"]
    lists = cli("tune", "--candidates", table, *shared).json()
    pool = ["--decoder", "pool", "--decoder-candidates", table]
    found = cli("tune", *pool, *shared, "--nbest-size", 4).json()
    assert set(found["weights"]) == {"f", "g"}
    assert found["rounds"][0]["list_score"] == lists["score"] == found["score"]
    assert found["initial_score"] == lists["initial_score"]
    assert [one["initial_score"] for one in found["others"]] == [
        one["initial_score"] for one in lists["others"]
    ]
    assert found["stopped"] == "no new candidates"
    few = cli("tune", *pool, *shared, "--nbest-size", 1).json()
    assert few["rounds"][0]["new"] == 6
