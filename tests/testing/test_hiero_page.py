"""The page about the hierarchical decoder: every option and feature is on it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from tunesmith.cli import train
from tunesmith.hiero import HieroDecoder
from tunesmith.hiero.conventions import CDEC, JOSHUA
from tunesmith.hiero.training.train import START
from tunesmith.registry import options_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hiero.md").read_text(encoding="utf-8")


def test_every_option_and_feature_is_on_the_page() -> None:
    named = set(re.findall(r"--([a-z-]+)", PAGE))
    own = {option.field.replace("_", "-") for option in options_of(HieroDecoder)}
    own -= {"nbest-size", "glue"}  # --nbest and --no-glue
    given = {name.replace("_", "-") for name in inspect.signature(train.run).parameters}
    given -= {"session", "as-json", "filter-by"}
    assert (own | given | {"nbest", "no-glue", "filter"}) <= named
    features = set(re.findall(r"`([\w]+)`", PAGE))
    assert set(START) <= features
    assert {JOSHUA.passed, CDEC.passed, CDEC.word_penalty} <= features
