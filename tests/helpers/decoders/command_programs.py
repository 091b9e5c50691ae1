"""Command lines of decoders that are programs, with weights and sentences for them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Sentence

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = [sys.executable, "-I", "-S"]
RANKER = shlex.join([*PYTHON, str(PROGRAMS / "ranker.py")])
FILES = RANKER + " {weights} {input} {output} {nbest_size}"
STREAMS = RANKER + " {weights} - - {nbest_size}"
WEIGHTS = Weights.from_dict({"lm": 0.7, "length": -0.1})
SENTENCES = [Sentence(k, text) for k, text in enumerate(["a b c", "c a", "b", "", "d a b", "b a"])]
