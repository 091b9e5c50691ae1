"""What fuzzing has found stays found: the same inputs through the same checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.faults.part import Faults
from fuzz.files.examples import read_example
from fuzz.files.part import Files
from fuzz.part import FOUND
from fuzz.scratch import scratch

from tunesmith.parallel import local

EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.json"))
#: Commands and faults that were not told in one line.
FAULTS = [("loop", "mmap"), ("report of a loop", "mmap")]

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
def faults():
    with scratch(), local.threads(1):
        part = Faults()
        part.prepare()
        yield part


@pytest.mark.parametrize(("name", "kind"), FAULTS)
def test_a_fault_that_was_found(faults, name, kind):
    index = next(k for k, (job, own) in enumerate(faults.pairs) if (job.name, own) == (name, kind))
    outcome = faults.run(0, index)
    assert outcome.verdict != FOUND, outcome.detail
