"""``tunesmith tune --decoder``: what is wrong is told in one line, and nothing is lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import PREFIX, Run
from tests.helpers.cli.loop_task import Task, essence
from tunesmith.loop import state

Make = Callable[[str, str | bytes], Path]
Refused = Callable[..., str]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task.make(tmp_path)


# Options


@pytest.mark.parametrize(
    "option",
    [
        *("--source", "--dev-source", "--test-source", "--work-dir", "--nbest-size", "--jobs"),
        *("--rounds", "--final", "--weight-tolerance", "--score-tolerance"),
    ],
)
def test_options_of_a_loop_want_a_decoder(
    refused: Refused, lists: Path, refs: Path, option: str
) -> None:
    found = refused("tune", "--candidates", lists, "--references", refs, option, "1")
    assert found == f"{option} is for tuning with a decoder; give --decoder NAME"


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("--candidates", "lists that are there are --decoder pool --decoder-candidates FILE"),
        ("--dev-candidates", "give --dev-source"),
        ("--test-candidates", "give --test-source"),
        ("--scores", "have it give all features"),
        ("--format", "give --decoder-format"),
        ("--runs", "start it again with another --seed and --work-dir"),
        ("--combine", "--final average averages its rounds"),
    ],
)
def test_options_of_lists_want_none(refused: Refused, task: Task, option: str, remedy: str) -> None:
    found = refused(*task.arguments(option, "1"))
    assert found.startswith(f"there is no {option} with a decoder: ")
    assert found.endswith(f"; {remedy}")


@pytest.mark.long
def test_options_that_a_decoder_lacks(refused: Refused, make: Make) -> None:
    own = make("own.py", "import tunesmith\nclass Own(tunesmith.Decoder):\n    pass\n")
    begin = ["tune", "--decoder", f"{own}:Own"]
    for option in ("--jobs", "--nbest-size"):
        found = refused(*begin, option, "2")
        assert found == f"the decoder '{own}:Own' has no option {option}; leave it out"
    found = refused("tune", "--decoder", "command", "--decoder-beam", "2")
    assert found.startswith("the decoder 'command' has no option --decoder-beam; ")
    assert "cannot be made: Can't instantiate abstract class Own" in refused(*begin)
    assert "is an option of the tuner mert" in refused(*begin, "--tuner", "pro", "--restarts", 1)
    assert "No such option: --nonsense" in refused(*begin, "--nonsense")


def test_decoders_that_are_none(refused: Refused, task: Task, make: Make) -> None:
    assert (
        refused("tune", "--decoder-beam", "3")
        == "no decoder is named; give --decoder NAME, or --decoder-command"
    )
    assert "unknown decoder 'comand'" in refused("tune", "--decoder", "comand")
    other = make("other.py", "class Own:\n    pass\n")
    assert "Own is no Decoder" in refused("tune", "--decoder", f"{other}:Own")


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"source": None}, "the decoder 'command' needs sentences; give --source"),
        ({"references": None}, "bleu needs references; give --references"),
        ({"dev_references": None}, "bleu needs references; give --dev-references"),
        ({"dev_source": None}, "--dev-references without --dev-source; give both"),
        ({"start": None}, "the decoder 'command' has no weights of its own; give --start"),
        ({"final": "best"}, "unknown final of the loop 'best'"),
        ({"rounds": 0}, "rounds is 0; give 1 or more"),
        ({"rounds": "x"}, "rounds of the loop is 'x'; give a whole number"),
        ({"weight_tolerance": -1}, "weight-tolerance is -1; give 0 or more"),
        ({"jobs": 0}, "jobs is 0; give 1 or more"),
        ({"jobs": "many"}, "jobs of decoder 'command' is 'many'; give a whole number"),
        ({"seed": -1}, "seed"),
        ({"source": "-", "references": "-"}, "standard input can be read once"),
        ({"source": "nowhere"}, "nowhere: "),
        ({"out": "nowhere/out"}, "nowhere"),
        ({"work_dir": "source"}, "this is a file; name a folder as work directory"),
        ({"decoder_command": "decode"}, "the command has no {weights}"),
        ({"decoder_command": "no-such-program {weights}"}, "there is no program"),
        ({"tuner": "pro", "restarts": None, "walks": None, "interpolation": 2}, "interpolation"),
    ],
)
def test_wrong_options(
    refused: Refused,
    task: Task,
    changed: dict[str, object],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(task.folder)
    assert text in refused(*task.arguments(**changed), stdin=b"a\n")


def test_a_pool_has_its_own_sentences(refused: Refused, lists: Path, refs: Path) -> None:
    pool = ("tune", "--decoder", "pool", "--decoder-candidates", lists, "--references", refs)
    found = refused(*pool, "--source", refs)
    assert found == "the decoder 'pool' has its own sentences; leave out --source"
    for option in ("dev", "test"):
        found = refused(*pool, f"--{option}-source", refs, f"--{option}-references", refs)
        assert found == f"the decoder 'pool' has its own sentences; leave out --{option}-source"


def test_one_decoder_alone(refused: Refused, lists: Path) -> None:
    found = refused("tune", "--decoder", "pool", "--decoder=moses", "--decoder-candidates", lists)
    assert found == "--decoder is given twice; give it once"


def test_two_options_of_one_name(refused: Refused, make: Make, task: Task) -> None:
    own = make(
        "own.py",
        "from dataclasses import dataclass\nfrom tunesmith.tuners.mert.mert import MERT\n"
        "@dataclass(frozen=True)\nclass Own(MERT):\n    source: str = ''\n",
    )
    found = refused(*task.arguments("--tuner", f"{own}:Own"))
    assert found == "two options are called --source; rename that of your own class"


def test_choices_want_a_held_out_set(refused: Refused, task: Task) -> None:
    assert "give --dev-source" in refused(*task.arguments(dev=False, final="dev"))
    options = {"penalty": "l2-prior", "prior": task.path("start.json"), "strength": "1,2"}
    assert "give --dev-source" in refused(*task.arguments(dev=False, **options))


def test_json_and_weights_on_standard_output(refused: Refused, task: Task) -> None:
    assert "both write to standard output" in refused(*task.arguments("--json", out="-"))


# The work directory


@pytest.fixture
def done(cli: Run, task: Task) -> dict:
    return cli(*task.arguments("--json", "--quiet", work_dir=task.path("run"))).json()


@pytest.mark.long
def test_another_run_is_refused(refused: Refused, task: Task, done: dict, make: Make) -> None:
    run = task.path("run")
    other = make("other", task.path("source").read_text().replace("a", "q"))
    fewer = make("fewer.json", '{"lm": 0.5, "length": 1.0}')
    for changed, text in (
        ({"seed": 2}, "seed is 1, not 2"),
        ({"metric": "chrf"}, "metric is "),
        ({"source": other}, "sets tune sha256 is "),
        ({"nbest_size": 3}, "decoder nbest_size is 2, not 3"),
        ({"decoder_command": task.command() + " noisy"}, "decoder command is "),
        ({"restarts": 2}, "tuner is "),
        ({"start": fewer}, "start lm is 0.1, not 0.5"),
        ({"normalise": "l1"}, 'normalise is "none", not "l1"'),
    ):
        found = refused(*task.arguments(work_dir=run, **changed))
        assert found.startswith(f"{run}: this is the work directory of another run, whose {text}")
        assert found.endswith("; name another work directory, or give the same options")


@pytest.mark.long
def test_a_program_that_has_changed_is_told(cli: Run, task: Task, done: dict) -> None:
    program = task.path("slow.py")
    program.write_text(program.read_text() + "# a new version\n")
    found = cli(*task.arguments(work_dir=task.path("run")))
    assert found.code == 0
    assert f"tunesmith: warning: {program} has changed since the run in " in found.err


@pytest.mark.long
def test_a_damaged_file(refused: Refused, cli: Run, task: Task, done: dict) -> None:
    for name in ("round-01/dev.arrow", "round-00/tuned.json"):
        path = task.path("run") / name
        path.write_bytes(path.read_bytes()[:100])
        # A note, and the error.
        found = cli(*task.arguments("--quiet", work_dir=task.path("run")))
        assert (found.code, found.out) == (2, "")
        assert found.err.startswith(f"{PREFIX}{path}: it is damaged")
        assert found.err.endswith("; remove it, and it is made again\n")
        path.unlink()
        again = cli(*task.arguments("--json", "--quiet", work_dir=task.path("run")))
        assert essence(again.json()) == essence(done)


@pytest.mark.long
@pytest.mark.parametrize("step", [1, 3, 6])
def test_a_full_disk(cli: Run, task: Task, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    calls = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == step:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    arguments = task.arguments("--json", "--quiet", work_dir=task.path("run"))
    with monkeypatch.context() as patch:
        patch.setattr(state.os, "fsync", full)
        found = cli(*arguments)
    assert (found.code, found.out) == (2, "")
    assert found.err.count("\n") == 1
    assert "no space left on device; make room" in found.err
    again = cli(*arguments).json()
    assert essence(again) == essence(cli(*task.arguments("--json", "--quiet")).json())


@pytest.mark.long
def test_a_decoder_that_fails_is_quoted_and_goes_on(cli: Run, task: Task) -> None:
    """It fails in the first round; mended without a new command, it goes on."""
    mark = task.path("mark")
    command = task.command(f"once:{mark}")
    options = {"decoder_command": command, "decoder_retries": 0, "work_dir": task.path("run")}
    found = cli(*task.arguments("--quiet", **options))
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(f"{PREFIX}round-00, tune: the decoder ended with exit code 1; ")
    assert " / the first time I fail; see " in found.err
    assert found.err.endswith("the same command goes on from there\n")
    assert cli(*task.arguments("--quiet", **options)).code == 0
