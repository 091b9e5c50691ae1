"""Who reads what: each takes a folder with the files of a seed, and returns what was read."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.files.checks import check_candidates, check_forests, check_weights
from fuzz.files.seeds import Seed
from fuzz.toy import sentences
from fuzz.toy_decoder import Toy
from tunesmith.hiero.conventions import CDEC, JOSHUA
from tunesmith.hiero.grammar.text import read_grammar
from tunesmith.hiero.joshua_config import JoshuaConfig
from tunesmith.hiero.lm.language_model import LanguageModel
from tunesmith.hiero.model import HieroModel
from tunesmith.io.forests.read import read_forests
from tunesmith.io.read import read
from tunesmith.io.weights.files import read_weights
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.report.page.assemble import PageOptions, view_of
from tunesmith.report.page.files import content_of
from tunesmith.report.page.run.reading import read_run
from tunesmith.tuners.mert.mert import MERT

#: The loop whose work directories are damaged.
LOOP = Loop(rounds=1, weight_tolerance=0.0)
TUNER = MERT(restarts=1, walks=0)


@functools.cache
def loop_inputs() -> Inputs:
    """Return what the loop tunes on."""
    return Inputs.of(*sentences(3, 1))


def _paths(folder: Path, seed: Seed, option: str) -> list[Path]:
    return [folder / name for name in seed.options.get(option, "").split()]


def _format(folder: Path, seed: Seed) -> str | None:
    text = seed.options.get("format")
    return None if text is None else text.replace("{folder}", str(folder))


def lists(folder: Path, seed: Seed) -> Any:
    """Read candidates."""
    found = read(
        folder / seed.first,
        references=_paths(folder, seed, "references"),
        format=_format(folder, seed),
        scores={path.stem: path for path in _paths(folder, seed, "scores")},
    )
    check_candidates(found)
    return found


def forests(folder: Path, seed: Seed) -> Any:
    """Read forests."""
    found = read_forests(
        folder / seed.first,
        references=_paths(folder, seed, "references"),
        format=_format(folder, seed),
    )
    check_forests(found)
    return found


def weights(folder: Path, seed: Seed) -> Any:
    """Read weights, write others in their place, and read these."""
    path = folder / seed.first
    found = read_weights(path)
    check_weights(found.weights)
    path.write_bytes(found.rewritten(found.weights))
    again = read_weights(path)
    if dict(again.weights) != dict(found.weights):
        raise AssertionError("weights that were written again are read as others")
    return found


def grammar(folder: Path, seed: Seed) -> Any:
    """Read rules."""
    conventions = {"cdec": CDEC, "joshua": JOSHUA}[seed.options["conventions"]]
    found = read_grammar(folder / seed.first, conventions=conventions)
    list(found.rules())
    return found


def arpa(folder: Path, seed: Seed) -> Any:
    """Read a language model, and ask it."""
    found = LanguageModel.read(folder / seed.first)
    found.score(["the", "house", "x"])
    return found


def joshua_config(folder: Path, seed: Seed) -> Any:
    """Read a configuration of Joshua."""
    found = JoshuaConfig.read(folder / seed.first)
    check_weights(found.weights)
    return found


def result(folder: Path, seed: Seed) -> Any:
    """Make the page of a result file."""
    record = read_run(folder / seed.first)
    return content_of(view_of(record, PageOptions(2, (), 2)), "a.json")


def work_directory(folder: Path, seed: Seed) -> Any:
    """Make the page of a work directory."""
    record = read_run(folder)
    return content_of(view_of(record, PageOptions(2, (), 2)), "a.json")


def resumed(folder: Path, seed: Seed) -> Any:
    """Go on with a run."""
    found = LOOP.run(Toy(), TUNER, loop_inputs(), work_dir=folder)
    check_weights(found.weights)
    return found


def model(folder: Path, seed: Seed) -> Any:
    """Load a trained model."""
    found = HieroModel.load(folder)
    list(found.grammar.rules())
    return found


READERS: dict[str, Callable[[Path, Seed], Any]] = {
    function.__name__: function
    for function in (
        *(lists, forests, weights, grammar, arpa, joshua_config),
        *(result, work_directory, resumed, model),
    )
}


def read_seed(folder: Path, seed: Seed) -> Any:
    """Read the files of a seed, without a word about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return READERS[seed.reader](folder, seed)
