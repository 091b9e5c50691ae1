"""Decoders that fail: one line with their last words, all of it kept, nothing left running."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from tests.helpers.decoders.command_programs import (
    FILES,
    PROGRAMS,
    RANKER,
    SENTENCES,
    STREAMS,
    WEIGHTS,
)
from tests.helpers.decoders.processes import let_time_fly
from tests.helpers.waiting import PATIENCE, wait_until
from tunesmith.decoders import external
from tunesmith.decoders.base import (
    DecoderError,
    ExpectedFeatures,
    check_decoded,
)
from tunesmith.decoders.command import CommandDecoder


def failing(fault: str, **options) -> CommandDecoder:
    return CommandDecoder(command=f"{FILES} {fault}", **{"retries": 0, **options})


def message(decoder: CommandDecoder, sentences=SENTENCES) -> str:
    """Return the error of a decoding, which is one line."""
    with pytest.raises(DecoderError) as error:
        decoder.decode(WEIGHTS, sentences)
    text = str(error.value)
    assert text.isprintable()
    return text


FAULTS = {
    "exit": ["ended with exit code 3"],
    "segfault": ["killed by the signal SIGSEGV"],
    "cut": ["output: the last line has no end", "may be cut off"],
    "few": ["no candidate of sentence 5,", "of 6 counted from 0"],
    "many": ["candidates of sentence '99'", "input has 6"],
    "from-1": ["no candidate of sentence 0,", "counted from 0"],
    "nan": ["output:24:", "nan"],
    "inf": ["output:24:", "inf"],
    "empty": ["output: it is empty"],
    "nothing": ["output: it is not there"],
    "prose": ["output:1:", "format is not recognised", "--decoder-format"],
    "latin": ["output:24:", "UTF-8"],
    "noisy": ["ended with exit code 3"],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_last_words_and_kept(tmp_path, fault):
    text = message(failing(fault).in_folder(tmp_path))
    for part in FAULTS[fault]:
        assert part in text
    said = "exit" if fault == "noisy" else fault
    assert f"about to fail: {said};" in text
    assert ("its last words: about" in text) == (fault != "noisy")  # lines before are many
    assert text.endswith("the same command goes on from there")
    assert len(text) < 1500
    (folder,) = tmp_path.glob("part-*")
    assert sys.executable in json.loads((folder / "command.json").read_text())
    assert f"; see {folder};" in text
    kept = {path.name for path in folder.iterdir()}
    assert {"input", "stderr", "stdout", "command.json"} <= kept
    assert ("output" in kept) == (fault not in {"exit", "segfault", "nothing", "noisy"})


def test_one_that_hangs_is_ended(tmp_path, monkeypatch):
    def hang() -> bool:
        return sum("hang" in log.read_text() for log in tmp_path.glob("part-*/stderr")) == 2

    let_time_fly(monkeypatch, 1001, hang)
    text = message(failing("hang", time_limit=1000, jobs=2).in_folder(tmp_path))
    assert "took longer than its limit of 1000 seconds" in text
    assert "--decoder-time-limit" in text
    assert "its last words: about to fail: hang;" in text
    assert not running(tmp_path)


def running(folder: Path) -> list[str]:
    """Return the commands of processes that work in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes()
            if os.fsencode(folder) in command and int(process.name) != os.getpid():
                found.append(command.decode())
    return found


def test_a_fault_of_one_part_ends_the_others(tmp_path):
    script = 'case "$(cat "$1")" in *d*) echo bad luck >&2; exit 9;; *) exec sleep 5000;; esac'
    command = f"sh -c {shlex.quote(script)} sh {{input}} {{weights}} {{output}}"
    decoder = CommandDecoder(command=command, jobs=3, retries=0).in_folder(tmp_path)
    begin = time.monotonic()
    text = message(decoder)
    assert time.monotonic() - begin < PATIENCE
    assert "exit code 9" in text
    assert "its last words: bad luck;" in text
    assert not running(tmp_path)


def test_features_under_other_names_than_before_are_found():
    expected = ExpectedFeatures.of(
        CommandDecoder(command=FILES).decode(WEIGHTS, SENTENCES), WEIGHTS
    )
    assert "lm" in expected.certain
    after = failing("renamed").decode(WEIGHTS, SENTENCES)
    with pytest.raises(DecoderError, match="no longer gives the feature 'lm' and has 'LM'"):
        expected.check(after)


def test_an_output_that_is_no_plain_file(tmp_path):
    for make in ("mkdir", "mkfifo"):
        text = message(CommandDecoder(command=f"{make} {{output}} {{weights}}x", retries=0))
        assert "this is no plain file; have the program write one" in text


def test_large_files_go_when_they_are_accepted(tmp_path):
    stumbling = CommandDecoder(command=FILES, jobs=2).in_folder(tmp_path)
    (tmp_path / "part-000-old").mkdir()
    (tmp_path / "part-000-old" / "output").write_text("of an earlier run")
    stumbling.decode(WEIGHTS, SENTENCES)
    assert len(list(tmp_path.glob("part-*/output"))) == 3
    assert str(tmp_path) in stumbling.last_output()
    stumbling.accepted()
    assert {path.name for path in tmp_path.glob("part-*/*")} == {"command.json", "stderr"}


def test_without_a_folder_more_of_its_words_are_shown():
    text = message(failing("nan"))
    assert "used: line 24:" in text
    assert "; see " not in text
    script = "for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; exit 1"
    quoted = shlex.quote(script)
    text = message(CommandDecoder(command=f"sh -c {quoted} {{weights}}", retries=0))
    assert "its last words: line 2 / line 3 / line 4 / line 5 / line 6 / line 7;" in text


def test_standard_output_has_last_words_too(tmp_path):
    command = "sh -c 'echo no model; exit 1' {weights} {output}"
    text = message(CommandDecoder(command=command, retries=0).in_folder(tmp_path))
    assert "its last words: no model;" in text
    text = message(CommandDecoder(command="sh -c 'exit 1' {weights}", retries=0))
    assert "it said nothing" in text


# Again.


@pytest.mark.parametrize("command", [FILES, STREAMS])
def test_a_process_that_failed_is_started_again(tmp_path, command):
    decoder = CommandDecoder(command=f"{command} once:{tmp_path}/done")
    with pytest.warns(UserWarning, match="the first time I fail; .*; it is started again") as told:
        found = decoder.in_folder(tmp_path).decode(WEIGHTS, SENTENCES)
    assert len(told) == 1
    check_decoded(found, SENTENCES)
    assert len(list(tmp_path.glob("part-*/stderr"))) == 2


@pytest.mark.parametrize("fault", ["exit", "few"])
def test_it_is_started_as_often_as_was_said(tmp_path, fault):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        message(failing(fault, retries=2).in_folder(tmp_path), SENTENCES[:2])
    assert len(told) == 2
    assert len(list(tmp_path.glob("part-*"))) == 3


# Programs that cannot be started are not started again: a warning would be an error here.


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("no-such-program {weights}", ["no program 'no-such-program'", "PATH"]),
        ("./no/such {weights}", ["no program './no/such'", "exists"]),
        ("{folder} {weights}", ["is a folder"]),
        ("{folder}/plain {weights}", ["not executable", "chmod +x"]),
        ("{folder}/bare {weights}", ["#!/bin/sh"]),
        ("{folder}/lost {weights}", ["script for '/no/python'"]),
        ("~/dec {weights}", ["without a shell", "'~/dec'", "script"]),
        ("cd-nowhere x && dec {weights}", ["without a shell", "'&&'"]),
        ("nowhere {weights} | sort", ["without a shell", "'|'"]),
        ("nowhere {weights} 2>/dev/null", ["without a shell", "'2>/dev/null'"]),
        ("nowhere {weights} > list", ["without a shell", "'>'"]),
        ("$DECODER {weights}", ["without a shell", "'$DECODER'"]),
        ("LC_ALL=C dec {weights}", ["without a shell", "'LC_ALL=C'"]),
    ],
)
def test_a_program_that_cannot_be_started(tmp_path, command, words):
    for name, text, mode in (
        ("plain", "#!/bin/sh\n", 0o644),
        ("bare", "echo x\n", 0o755),
        ("lost", "#!/no/python -s\n", 0o755),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    text = message(CommandDecoder(command=command.replace("{folder}", str(tmp_path)), retries=3))
    for word in words:
        assert word in text


@pytest.mark.parametrize("code", [errno.ENOEXEC, errno.EACCES, errno.ENOENT, errno.E2BIG])
def test_a_program_that_the_system_does_not_start(monkeypatch, code):
    def refuse(*arguments):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(external.Processes, "start", refuse)
    text = message(CommandDecoder(command=FILES, retries=3))
    assert f"cannot be started: {os.strerror(code).lower()};" in text


def test_arguments_for_a_shell_are_remarked_on():
    text = message(CommandDecoder(command=f"{FILES} exit ~/model", retries=0))
    assert "without a shell, which '~/model' needs" in text


# A disk that is full.


def limited(folder: Path, sentences: int) -> subprocess.CompletedProcess[str]:
    """Decode where no file may have more than 4096 bytes."""
    program = f"""
import resource, signal, sys
from pathlib import Path
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DecoderError, Sentence
from tunesmith.decoders.command import CommandDecoder
decoder = CommandDecoder(command={FILES!r}, retries=0).in_folder(Path({str(folder)!r}))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    sentences = [Sentence(k, "a b c d") for k in range({sentences})]
    decoder.decode(Weights.from_dict({{"lm": 1}}), sentences)
except DecoderError as error:
    print(error)
"""
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )


@pytest.mark.long
def test_a_file_that_cannot_be_written_whole_is_told(tmp_path):
    done = limited(tmp_path, 2000)  # the input is too large
    assert "/input: file too large; free some space and start the same command" in done.stdout
    assert done.stdout.count("\n") == 1


@pytest.mark.long
def test_a_decoder_that_cannot_write_is_told(tmp_path):
    done = limited(tmp_path, 100)  # the list is too large, and the program says so or is killed
    assert "the decoder" in done.stdout
    assert "SIGXFSZ" in done.stdout or "File too large" in done.stdout
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("name", ["weights.json", "input", "command.json"])
def test_a_full_disk_is_told(tmp_path, monkeypatch, name):
    write = Path.write_bytes

    def full(path, data):
        if path.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    text = message(CommandDecoder(command=FILES).in_folder(tmp_path))
    assert text.startswith(str(tmp_path))
    assert text.endswith(
        f"{name}: no space left on device; free some space and start the same command again"
    )
    monkeypatch.undo()
    found = CommandDecoder(command=FILES).in_folder(tmp_path).decode(WEIGHTS, SENTENCES)
    check_decoded(found, SENTENCES)


def test_a_disk_that_is_full_when_a_decoder_fails_is_remarked_on(tmp_path, monkeypatch):
    usage = external.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(external.shutil, "disk_usage", lambda path: usage._replace(free=0))
    text = message(failing("cut").in_folder(tmp_path))
    assert "no space is left on the disk" in text


def test_a_folder_that_is_gone_is_told(tmp_path):
    text = message(CommandDecoder(command=FILES).in_folder(tmp_path / "gone"))
    assert "gone/weights.json: no such file or directory;" in text


# An interrupt.


@pytest.mark.long
def test_an_interrupt_ends_all_processes(tmp_path):
    program = f"""
from pathlib import Path
from tests.helpers.decoders.command_programs import SENTENCES, WEIGHTS
from tunesmith.decoders.command import CommandDecoder
decoder = CommandDecoder(command={f"{RANKER} {{weights}} {{input}} {{output}} 9 hang"!r}, jobs=2)
decoder.in_folder(Path({str(tmp_path)!r})).decode(WEIGHTS, SENTENCES)
"""
    ours = subprocess.Popen(
        [sys.executable, "-c", program], cwd=PROGRAMS.parents[3], stderr=subprocess.PIPE
    )
    wait_until(
        lambda: len(list(tmp_path.glob("part-*/stderr"))) == 2 and len(running(tmp_path)) > 2
    )
    ours.send_signal(signal.SIGINT)
    _, complained = ours.communicate(timeout=PATIENCE)
    assert b"KeyboardInterrupt" in complained
    # One that was started in that very moment ends with us, when the kernel comes to it.
    wait_until(lambda: not running(tmp_path))
