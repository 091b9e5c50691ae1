"""The text of hope_and_fear.py, the models that are trained on it, and where learning starts."""

from __future__ import annotations

import functools
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tunesmith as ts
from tunesmith.hiero.decoder import HieroDecoder
from tunesmith.hiero.training.train import train
from tunesmith.loop.inputs import Inputs

CATALOGS = Path(__file__).parents[1] / "examples" / "catalogs"
SETS = ("tune", "dev", "test")
SIDES = ("de", "en")
POP_LIMIT = 30
#: Section 7 of the paper: the language model and the phrase probabilities begin with 1, all else
#: with 0. Ours are logarithms of probabilities, and good weights are above 0 as there.
PROBABILITIES = ("LanguageModel", "TargetGivenSource", "SourceGivenTarget")


@dataclass(frozen=True)
class Sizes:
    """How much text.

    Attributes
    ----------
    tune, dev, test
        Sentences at most.
    held_out
        Pairs that are taken from the training text, and learnt from with those of Tune.
    lexical
        Frequent words of each side, of which the large model has lexical features.
    """

    tune: int
    dev: int
    test: int
    held_out: int
    lexical: int


@dataclass(frozen=True)
class Task:
    """A model, and the sets that it translates.

    Attributes
    ----------
    text
        A folder with train, tune, dev and test, each in two languages.
    folder
        Where the model is, and all that comes of it.
    """

    text: Path
    folder: Path
    sizes: Sizes

    @property
    def model(self) -> Path:
        """The folder of the trained model."""
        return self.folder / "model"

    def prepare(self) -> None:
        """Train the model unless it is there."""
        if (self.model / "model.json").exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        pairs = list(zip(*(_lines(self.text, "train", side) for side in SIDES), strict=True))
        taken = set(held_out(pairs, self.sizes.held_out))
        rest = [pair for k, pair in enumerate(pairs) if k not in taken]
        for which, some in (("train", rest), ("held-out", [pairs[k] for k in sorted(taken)])):
            for k, side in enumerate(SIDES):
                text = "".join(f"{pair[k]}\n" for pair in some)
                (self.folder / f"{which}.{side}").write_text(text, encoding="utf-8")
        source, target = (self.folder / f"train.{side}" for side in SIDES)
        filters = [self.text / f"{which}.{SIDES[0]}" for which in SETS]
        if taken:
            filters.append(self.folder / f"held-out.{SIDES[0]}")
        train(source, target, self.model, filters=filters)

    def inputs(self, which: str) -> Inputs:
        """Return a set; what was held out of the training text follows Tune."""
        most = getattr(self.sizes, which)
        sides = [_lines(self.text, which, side)[:most] for side in SIDES]
        if which == "tune":
            more = [_lines(self.folder, "held-out", side) for side in SIDES]
            sides = [own + held for own, held in zip(sides, more, strict=True)]
        return Inputs.of(*sides)

    def decoder(self, model: str) -> HieroDecoder:
        """Return the decoder with the features of the small or the large model."""
        lexical = self.sizes.lexical if model == "large" else 0
        return HieroDecoder(model=str(self.model), pop_limit=POP_LIMIT, lexical=lexical)


@functools.cache
def loaded(task: Task, model: str) -> tuple[HieroDecoder, dict[str, Inputs]]:
    """Return a decoder and the sets, read once in a process."""
    return task.decoder(model), {which: task.inputs(which) for which in SETS}


def start(names: tuple[str, ...]) -> ts.Weights:
    """Return the weights that learning begins with."""
    return ts.Weights(names, np.array([float(name in PROBABILITIES) for name in names]))


def held_out(pairs: list[tuple[str, str]], count: int) -> list[int]:
    """Choose pairs of whose sides neither occurs a second time."""
    seen: list[dict[str, int]] = [{}, {}]
    for pair in pairs:
        for side, line in zip(seen, pair, strict=True):
            side[line] = side.get(line, 0) + 1
    alone = [k for k, (a, b) in enumerate(pairs) if seen[0][a] == 1 == seen[1][b]]
    return sorted(np.random.default_rng(1).permutation(alone)[:count].tolist())


def _lines(folder: Path, which: str, side: str) -> list[str]:
    plain = folder / f"{which}.{side}"
    if plain.exists():
        text = plain.read_text(encoding="utf-8")
    else:
        text = gzip.decompress(Path(f"{plain}.gz").read_bytes()).decode()
    return text.removesuffix("\n").split("\n") if text else []
