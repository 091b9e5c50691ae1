"""What fuzzing has found stays found: the same inputs through the same checks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fuzz.faults.part import all_pairs
from fuzz.files.examples import read_example
from fuzz.files.part import Files
from fuzz.part import FOUND
from fuzz.programs.running import run, wrong_end
from fuzz.programs.sets import drawn_set
from fuzz.scratch import scratch
from fuzz.slot import Request, Slot, board_folder

from tunesmith.parallel import local

EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.json"))
#: Commands and faults that were not told in one line.
FAULTS = [("loop", "mmap"), ("report of a loop", "mmap")]

#: Options of `tune` that were not refused in one line.
PROGRAMS = ["--tuner plane --features f0,f1,f0"]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def files():
    with scratch(), local.threads(1):
        part = Files()
        part.prepare()
        yield part


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_file_that_was_found(files, path):
    outcome = files.tried(*read_example(path, files.seeds))
    assert outcome.verdict != FOUND, f"{outcome.problem}\n{outcome.detail}"


@pytest.fixture(scope="module")
def slot():
    """A process of its own, with one thread: it forks."""
    with board_folder() as folder:
        slot = Slot(folder, 0)
        yield slot
        slot.close()


@pytest.mark.long
@pytest.mark.parametrize(("name", "kind"), FAULTS)
def test_a_fault_that_was_found(slot, name, kind):
    pairs = [(job.name, own) for job, own in all_pairs()]
    slot.ask(Request("faults", 0, pairs.index((name, kind)), 1, 600.0))
    answer = slot.answer()
    assert isinstance(answer, dict), answer
    assert answer["finds"] == []


@pytest.mark.parametrize("options", PROGRAMS)
def test_a_command_line_that_was_found(tmp_path, options):
    drawn = drawn_set(random.Random(4), tmp_path)
    given = ["--candidates", drawn.files["candidates"][0], "--references", str(tmp_path / "r0")]
    ran = run(["tune", *given, *options.split(), "--threads", "1"])
    assert ran.code == 2
    assert wrong_end(ran) is None
