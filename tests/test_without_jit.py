"""Every kernel also runs as plain Python, with the same results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
TESTS = Path(__file__).parent
SMALL = """
import json, sys, warnings
import numpy as np
from tests.helpers.builders import candidate_set
from tunesmith.io.collector import Collector
from tunesmith.io.lists.moses import MosesFormat
from tunesmith.io.streams import Source
from tunesmith.io.text.tokens import tokenize
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT

warnings.simplefilter("ignore", RuntimeWarning)  # unsigned numbers overflow by design
rng = np.random.default_rng(0)
words = "a b c überlanges-wort d".split()
lines, references = [], []
for g in range(6):
    references.append(" ".join(rng.choice(words, 5)))
    for _ in range(5):
        text = " ".join(rng.choice(words, rng.integers(0, 6)))
        values = rng.integers(-3, 4, 3) / 7
        sparse = f"s{rng.integers(9)}= 1 " if rng.random() < 0.2 else ""
        lines.append(f"{g} ||| {text} ||| D= {values[0]} {values[1]} {sparse}E={values[2]} ||| 0")
collector = Collector()
MosesFormat().read(Source("f", ("\\n".join(lines) + "\\n").encode()), collector)
held = tokenize("\\n".join(references).encode(), collector.vocabulary)
tuning = TuningSet(collector.finish([("r", held)]), "bleu:order=2")
found = []
for directions in ("coordinate", "powell", "random"):
    result = MERT(restarts=2, directions=directions).fit(tuning, rng=1)
    found.append([result.score, dict(result.weights), result.history])
found.append([tuning.stats.tolist(), list(tuning.candidates.features.names)])
json.dump(found, sys.stdout)
"""


def run(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SMALL],
        env={**os.environ, **environment},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def same(a, b) -> bool:
    """Compare nested values; a logarithm may differ in its last digit."""
    if isinstance(a, float) and isinstance(b, float):
        return a == pytest.approx(b, rel=1e-12)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return a == b


def test_interpreted_and_compiled_give_the_same():
    compiled = json.loads(run(NUMBA_DISABLE_JIT="0"))
    assert same(json.loads(run(NUMBA_DISABLE_JIT="1")), compiled)


@pytest.mark.parametrize(
    "folders",
    [
        ("inference",),
        ("search", "io/text/test_numbers.py", "io/text/test_utf8.py", "data"),
        ("hiero",),
    ],
)
def test_the_kernels_own_tests_pass_interpreted(folders):
    # Interpreted, real sets would take hours; compiled, each property is tried on more examples.
    environment = {k: v for k, v in os.environ.items() if k != "TUNESMITH_SHARED_DATA"}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-W", "ignore::RuntimeWarning"),
            *("-p", "no:cacheprovider", "--hypothesis-profile", "quick"),
            *(str(TESTS / name) for name in folders),
        ],
        env={**environment, "NUMBA_DISABLE_JIT": "1"},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
