"""State on disk: a run is taken up at any step, and a folder is one run's alone."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.loop.runs import DEV, QUICK, TUNE, plain
from tests.helpers.loop.toy import Toy, sentences
from tunesmith._version import __version__
from tunesmith.decoders.base import DECODERS, DecoderError
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.io.read import read
from tunesmith.loop import state
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.tuners.mert.mert import MERT

LOOP = Loop(rounds=2, final="average", weight_tolerance=0.0)


def run(folder, loop=LOOP, decoder=None, tuner=QUICK, tune=TUNE, **options):
    options = {"dev": DEV, **options}
    return loop.run(decoder or Toy(), tuner, tune, work_dir=folder, **options)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A finished run, and its steps in the order in which they were done."""
    folder = tmp_path_factory.mktemp("done") / "run"
    steps = []
    replace = os.replace

    def noting(source, target):
        replace(source, target)
        if Path(target).is_relative_to(folder):  # kernels are written too
            steps.append(os.path.relpath(target, folder))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state.os, "replace", noting)
        result = run(folder)
    return folder, steps, result


def test_all_kinds_of_steps_are_on_disk(done):
    _, steps, _ = done
    assert steps[:3] == ["configuration.json", "about.json", "texts.json"]
    both = [f"{which}{end}" for which in ("tune", "dev") for end in ("-decoding.json", ".arrow")]
    first = ["weights.json", *both, "scores.json", "tuned.json"]
    assert steps[3:10] == [f"round-00/{name}" for name in first]
    assert steps[-1] == "result.json"
    assert steps[-7:-1] == [f"average-02/{name}" for name in first[:-1]]
    assert "round-02/tuned.json" not in steps


@pytest.mark.long
def test_a_run_is_taken_up_after_every_step(done, tmp_path):
    folder, steps, result = done
    for count in range(len(steps)):
        again = tmp_path / str(count)
        for step in steps[:count]:
            (again / step).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / step, again / step)
        if count % 2:  # half a file of the step that did not end
            partial = again / os.path.dirname(steps[count])
            partial.mkdir(parents=True, exist_ok=True)
            (partial / f"{state.PARTIAL}{os.path.basename(steps[count])}").write_bytes(b'{"we')
        assert plain(run(again)) == plain(result), steps[count]
        assert not list(again.rglob(f"{state.PARTIAL}*"))


def test_a_finished_run_decodes_nothing_again(done):
    folder, _, result = done

    class Idle(Toy):
        def decode(self, weights, sentences):
            raise AssertionError("this is done already")

    assert plain(run(folder, decoder=Idle())) == plain(result)


def test_a_run_is_prolonged(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    longer = Loop(rounds=4, final="last", weight_tolerance=0.0)
    assert plain(run(folder, longer)) == plain(run(tmp_path / "other", longer))


def test_what_a_run_is_about_is_kept_for_those_who_look(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    texts = json.loads((folder / "texts.json").read_text())
    assert list(texts) == ["tune", "dev"]
    assert Inputs.from_dict(texts["tune"]) == TUNE
    assert Inputs.from_dict(texts["dev"]) == DEV
    configured = json.loads((folder / "configuration.json").read_text())["configuration"]
    assert texts["dev"]["sha256"] == configured["decoding"]["sets"]["dev"]["sha256"]
    about = json.loads((folder / "about.json").read_text())
    assert (about["tuner"], about["metrics"], about["final"]) == ("mert", ["bleu"], "average")
    # What is not there, as in folders of older versions, or is damaged, is written.
    (folder / "about.json").unlink()
    (folder / "texts.json").write_text('{"tune": ')
    assert plain(run(folder)) == plain(done[2])
    assert json.loads((folder / "about.json").read_text()) == about
    assert json.loads((folder / "texts.json").read_text()) == texts


def test_files_are_for_other_tools(done):
    folder, _, result = done
    candidates = read(folder / "round-00" / "tune.arrow")
    assert candidates.groups == len(TUNE.sentences)
    weights = json.loads((folder / "round-01" / "weights.json").read_text())["weights"]
    assert weights == result.rounds[1]["weights"]
    scores = json.loads((folder / "round-01" / "scores.json").read_text())
    assert scores["outputs"]["dev"]["score"] == result.rounds[1]["dev_score"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seed": 2}, "whose seed is 1, not 2"),
        ({"metric": "chrf"}, 'whose metric is "bleu.*not "chrf'),
        ({"tuner": MERT(restarts=2, walks=0)}, "whose tuner is .*restarts:1.* not .*restarts:2"),
        ({"decoder": Toy(nbest_size=5)}, "whose decoder nbest_size is 4, not 5"),
        ({"dev": None}, "whose sets dev .*not null"),
        ({"tune": Inputs.of(*sentences(12, 5))}, "whose sets tune sha256"),
        ({"start": {"f0": 1.0}}, "whose start f0 is 0.1, not 1.0"),
        ({"drop": ["f1"]}, r'whose drop is \[\], not \["f1"\]'),
    ],
)
def test_another_configuration_is_refused(done, options, text):
    with pytest.raises(UsageError, match=text):
        run(done[0], **options)


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match=r"there is something else in it \(thesis.tex\)"):
        run(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(UsageError, match="this is a file"):
        run(tmp_path / "thesis.tex")


def test_a_folder_belongs_to_one_run_at_a_time(done):
    code = (
        "import fcntl, sys; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX)\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    lock = str(done[0] / state.LOCK)
    with subprocess.Popen(
        [sys.executable, "-c", code, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(UsageError, match="another run is using it"):
            run(done[0])
        other.stdin.close()
        other.wait()
    run(done[0])


@pytest.mark.parametrize("name", ["tune.arrow", "scores.json", "tuned.json"])
def test_a_damaged_file_is_told(done, tmp_path, name):
    folder = shutil.copytree(done[0], tmp_path / "run")
    path = folder / "round-01" / name
    half = path.read_bytes()[:-30]
    for left in [half] if name.endswith("arrow") else [half, b"{}", b"[]", b'{"weights": 1}']:
        path.write_bytes(left)
        with pytest.raises(TunesmithError, match=rf"round-01/{name}: it is damaged .*; remove it"):
            run(folder)
    path.unlink()
    assert plain(run(folder)) == plain(done[2])


def test_a_damaged_configuration_is_told(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    (folder / "configuration.json").write_text("{")
    with pytest.raises(UsageError, match=r"configuration.json: it is damaged .*; name another"):
        run(folder)
    (folder / "configuration.json").write_text('{"schema": "tunesmith.loop/0"}')
    with pytest.raises(UsageError, match="another version of tunesmith"):
        run(folder)


def test_another_version_is_told(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    path = folder / "configuration.json"
    path.write_text(path.read_text().replace(__version__, "0.0.7", 1))
    with pytest.warns(UserWarning, match=r"started by version 0\.0\.7"):
        run(folder)


def test_weights_that_are_of_another_run(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    path = folder / "round-00" / "tuned.json"
    tuned = json.loads(path.read_text())
    tuned["weights"]["f0"] += 1.0
    path.write_text(json.dumps(tuned))
    with pytest.raises(TunesmithError, match=r"round-01/weights\.json: these are not the weights"):
        run(folder)


def test_copies_and_logs_in_a_work_directory(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    shutil.copytree(folder / "round-01", folder / "round-01.bak")
    (folder / ".tunesmith-mine").mkdir()
    (folder / "log").write_text("mine\n")
    assert plain(run(folder)) == plain(done[2])


def test_candidates_of_another_set(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    shutil.copy(folder / "round-00" / "dev.arrow", folder / "round-00" / "tune.arrow")
    with pytest.raises(DecoderError, match="no candidate for sentence 9"):
        run(folder)


def test_a_failing_decoder_loses_nothing(done, tmp_path):
    class Failing(Toy):
        def decode(self, weights, sentences):
            if weights != self.start() and len(sentences) == len(DEV.sentences):
                raise DecoderError("it fell over; pick it up")
            return super().decode(weights, sentences)

    with pytest.raises(DecoderError, match="round-01, dev: it fell over"):
        run(tmp_path / "run", decoder=Failing())
    assert (tmp_path / "run" / "round-01" / "tune.arrow").exists()
    assert plain(run(tmp_path / "run")) == plain(done[2])


@pytest.mark.parametrize("step", range(1, 7))
def test_a_full_disk_loses_nothing(done, tmp_path, monkeypatch, step):
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == step:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(state.os, "fsync", full)
    with pytest.raises(TunesmithError, match="no space left on device; make room"):
        run(tmp_path / "run")
    monkeypatch.undo()
    assert plain(run(tmp_path / "run")) == plain(done[2])


def test_what_a_decoder_leaves_behind_is_kept(tmp_path):
    class Telling(Toy):
        folder = None

        def in_folder(self, folder):
            other = Telling()
            object.__setattr__(other, "folder", folder)
            return other

        def decode(self, weights, sentences):
            if len(sentences) == len(TUNE.sentences):
                (self.folder / "log").write_text("done\n")
            return super().decode(weights, sentences)

    run(tmp_path / "run", decoder=Telling())
    assert (tmp_path / "run" / "round-00" / "decoder-tune" / "log").read_text() == "done\n"
    assert not (tmp_path / "run" / "round-00" / "decoder-dev").exists()


def test_what_tuning_depends_on_may_be_mended_before_it(done, tmp_path):
    with pytest.raises(TunesmithError, match="nope"):
        run(tmp_path / "run", keep=["nope"], metric="chrf", seed=9)
    decoded = (tmp_path / "run" / "round-00" / "tune.arrow").stat().st_mtime_ns
    with pytest.raises(UsageError, match="nbest_size"):
        run(tmp_path / "run", decoder=Toy(nbest_size=9))
    assert plain(run(tmp_path / "run")) == plain(done[2])
    assert (tmp_path / "run" / "round-00" / "tune.arrow").stat().st_mtime_ns == decoded


def test_steps_of_another_configuration_are_not_taken(done, tmp_path):
    folder = shutil.copytree(done[0], tmp_path / "run")
    for path in folder.rglob("*.arrow"):
        path.unlink()
    with pytest.raises(UsageError, match="whose metric is"):
        run(folder, metric="chrf")


def test_warnings_of_a_decoding_are_kept(tmp_path):
    class Warning(Toy):  # noqa: A001
        def decode(self, weights, sentences):
            warnings.warn(f"so many sentences: {len(sentences)}", stacklevel=2)
            return super().decode(weights, sentences)

    with pytest.warns(UserWarning, match="so many"):
        first = run(tmp_path / "run", decoder=Warning())
    assert [text[:8] for text in first.warnings] == ["so many "] * 2
    assert plain(run(tmp_path / "run", decoder=Warning())) == plain(first)


def test_it_is_told_if_the_code_of_a_decoder_has_changed(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("from tests.helpers.loop.toy import Toy\nclass Own(Toy):\n    pass\n")
    first = DECODERS.create(f"{file}:Own")
    result = run(tmp_path / "run", decoder=first)
    file.write_text("from tests.helpers.loop.toy import Toy\nclass Own(Toy):\n    ours = 1\n")
    with pytest.warns(UserWarning, match="own.py has changed since the run in .* was started"):
        assert plain(run(tmp_path / "run", decoder=first)) == plain(result)
    run(tmp_path / "run", decoder=first)  # told once


def test_seeds_and_paths_are_written(tmp_path):
    @dataclasses.dataclass(frozen=True)
    class Own(Toy):
        model: Path = Path("a")

    run(tmp_path / "run", decoder=Own(), seed=np.int64(3))
    with pytest.raises(UsageError, match='whose decoder model is "a", not "b"'):
        run(tmp_path / "run", decoder=Own(model=Path("b")), seed=3)


def test_a_run_that_has_decoded_nothing_may_be_mended(done, tmp_path):
    class Failing(Toy):
        def decode(self, weights, sentences):
            raise DecoderError("there is no such program; name one")

    with pytest.raises(DecoderError):
        run(tmp_path / "run", decoder=Failing(nbest_size=3), start={"f0": 5.0})
    assert plain(run(tmp_path / "run")) == plain(done[2])


def test_warnings_before_an_error_are_given():
    class Failing(Toy):
        def decode(self, weights, sentences):
            warnings.warn("it stumbled", stacklevel=2)
            raise DecoderError("it fell over; pick it up")

    with pytest.warns(UserWarning, match="it stumbled"), pytest.raises(DecoderError):
        run(None, decoder=Failing())
